# SPDX-License-Identifier: BSD-3-Clause
"""run.py --check of tests/mutants tells numbered invariants without a mutant, and rows that
name one which there is not.

usage: invariants_test.py MUTANTS_FOLDER
"""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv.pop(1))

import invariants  # pylint: disable=wrong-import-position
import table  # pylint: disable=wrong-import-position

FILES = {
    "src/pages/fetch.c": "// A page is asked for.\n//\n// I1 It comes once.\n// I2  Nobody\n",
    "src/pages/list.h": "/**\n * A list.\n *\n * L1 It is sorted.\n */\n",
    "src/pages/list.c": "// I1. It is not defined here.\n// L1: nor here\n// I2 of fetch.c\n",
    "src/pages/list_test.c": "// T1 Tests promise nothing.\n",
    "src/net/tcp.c": "//   L1 Who is heard lives.\n",
    "cli/mux.c": "/* M1 A channel has a window. */\n",
    "docs/protocols.md": "- **I1** A page comes once.\n- **E1** It has one owner.\n",
    "ARCHITECTURE.md": "- **A1** Nobody waits.\n",
}
ALL = {"src/pages/fetch.c": "I1, I2, E1", "src/pages/list.c": "L1", "src/net/tcp.c": "L1",
       "cli/mux.c": "M1"}


class InvariantsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, text in FILES.items():
            self.write(name, text)
        self.write("without.list", "# none\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def complaints(self, rules):
        """@param rules  what a row of each file names, as (file, numbers) or a dictionary"""
        mutants = []
        for file, numbers in rules.items() if isinstance(rules, dict) else rules:
            mutant = table.Mutant("a_fault", "some.txt:1")
            mutant.said["file"].append(file)
            mutant.said["rule"].append(f"{numbers}: in words")
            mutants.append(mutant)
        return "\n".join(invariants.complaints(self.root, mutants,
                                               self.root / "without.list"))

    def test_all_are_broken(self):
        self.assertEqual(self.complaints(ALL), "")

    def test_each_that_is_left_out_is_told(self):
        for left_out, number in ((file, number) for file, numbers in ALL.items()
                                 for number in numbers.split(", ")):
            rules = [(file, each) for file, numbers in ALL.items()
                     for each in numbers.split(", ")
                     if (file, each) != (left_out, number)]
            where = {"L1": "list.h" if "list" in left_out else "tcp.c",
                     "E1": "protocols.md"}.get(number, left_out)
            text = self.complaints(rules)
            self.assertIn(f"{where}: nothing breaks {number};", text)
            self.assertEqual(text.count("\n"), 0, text)

    def test_numbers_of_nowhere_are_told(self):
        for name in ("I9", "T1", "mux.c I1"):
            self.assertIn(f"no {name}: neither",
                          self.complaints([*ALL.items(), ("src/pages/fetch.c", name)]))

    def test_a_number_of_two_files_needs_its_file(self):
        self.write("src/pages/other.c", "// I1 Something else.\n")
        self.write("src/pages/third.c", "")
        rules = [*ALL.items(), ("src/pages/other.c", "I1")]
        self.assertEqual(self.complaints(rules), "")
        self.assertIn("I1 is an invariant of src/pages/fetch.c, src/pages/other.c: write which",
                      self.complaints([*rules, ("src/pages/third.c", "I1")]))
        self.assertEqual(self.complaints([*rules, ("src/pages/third.c", "other.c I1")]), "")

    def test_a_number_twice_in_a_file_is_told(self):
        self.write("src/net/tcp.c", "// L1 Who is heard lives.\n// L1 Who is not dies.\n")
        self.assertEqual(self.complaints(ALL), "src/net/tcp.c: L1 is defined twice")

    def test_what_is_excused_has_a_reason_and_no_mutant(self):
        rules = {file: numbers for file, numbers in ALL.items() if file != "cli/mux.c"}
        self.write("without.list", "cli/mux.c M1 it is a cost\n")
        self.assertEqual(self.complaints(rules), "")
        self.assertIn("there is a mutant of cli/mux.c M1", self.complaints(ALL))
        self.write("without.list", "cli/mux.c M1\n")
        self.assertIn("cli/mux.c M1: why?", self.complaints(rules))
        self.write("without.list", "cli/mux.c M1 a cost\ncli/mux.c M2 a cost\n")
        self.assertIn("cli/mux.c has no M2", self.complaints(rules))


if __name__ == "__main__":
    unittest.main()
