# SPDX-License-Identifier: BSD-3-Clause
"""The tables of mutants: what README.md says of them, read and looked up."""
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
TOKEN = re.compile(r"\w+|[^\w\s]")
KEYS = ("file", "in", "rule", "by", "alive")


class BadTable(Exception):
    """A table that cannot be used, and where."""


class Mutant:
    """One row: a fault that is put into one file."""

    def __init__(self, name, where):
        self.name = name
        self.where = where  # table:line
        self.before = []
        self.after = []
        self.said = {key: [] for key in KEYS}

    def get(self, key):
        """What the row says under a key, as one text."""
        return " ".join(self.said[key])

    @property
    def file(self):
        return self.get("file")

    @property
    def alive(self):
        """Why no test can kill it, or nothing."""
        return self.get("alive")

    @property
    def expected(self):
        """Tests that are known to kill it."""
        return self.get("by").split()

    def fail(self, what):
        raise BadTable(f"{self.where}: {self.name}: {what}")

    def body_of(self, text):
        """Where the text is in which to look: [start, end)."""
        function = self.get("in")
        if not function:
            return 0, len(text)
        heads = list(re.finditer(
            rf"^(?!\s|//|#)[^;\n]*\b{re.escape(function)}\((?:[^;{{]*?)\)\n\{{",
            text, re.M))
        if len(heads) != 1:
            self.fail(f"{self.file} has {len(heads)} functions {function}()")
        end = text.find("\n}", heads[0].end())
        return heads[0].start(), end if end >= 0 else len(text)

    def apply(self, text):
        """The file's text with the fault in it. White space does not count when
        the line is looked for."""
        start, end = self.body_of(text)
        tokens = TOKEN.findall("\n".join(self.before))
        pattern = r"\s*".join(re.escape(token) for token in tokens)
        pattern = (r"\b" if tokens[0][0].isalnum() else "") + pattern
        found = list(re.compile(pattern).finditer(text, start, end))
        if len(found) != 1:
            self.fail(f"its line is {len(found)} times in {self.file}, not "
                      "once; write the line that has the same task now, or "
                      "delete the row if the rule is gone")
        return (text[:found[0].start()] + "\n".join(self.after).strip()
                + text[found[0].end():])

    def complaints(self):
        """What a row lacks."""
        for key in ("file", "rule"):
            if not self.said[key]:
                yield f"{self.where}: {self.name}: no '{key}'"
        if not self.before:
            yield f"{self.where}: {self.name}: no line to change"
        if TOKEN.findall(" ".join(self.before)) == \
                TOKEN.findall(" ".join(self.after)):
            yield f"{self.where}: {self.name}: changes nothing"


class Tables:
    """All rows; the tests that each table's mutants are tried with; and what has
    to be built for a test besides its own program."""

    def __init__(self, folder=HERE):
        self.mutants = []
        self.tests = {}  # table: names in order
        self.needs = {}  # beginning of a test's name: targets
        for path in sorted(folder.glob("*.txt")):
            if path.name != "CMakeLists.txt":
                self.read(path)

    def read(self, path):
        """One table."""
        mutant = None
        self.tests[path.stem] = []
        for number, line in enumerate(path.read_text().splitlines(), 1):
            where = f"{path.name}:{number}"
            word, _, rest = line.partition(" ")
            if not line.strip() or line[0] == "#" and line[:2] != "##":
                continue
            if word == "##":
                mutant = Mutant(rest.strip(), where)
                mutant.table = path.stem
                self.mutants.append(mutant)
            elif mutant is None and word == "tests":
                self.tests[path.stem] += rest.split()
            elif mutant is None and word == "needs":
                name, *targets = rest.split()
                self.needs[name] = targets
            elif mutant is not None and word in KEYS:
                mutant.said[word].append(rest.strip())
            elif mutant is not None and line[0] in "-+":
                (mutant.before if line[0] == "-" else mutant.after).append(
                    line[1:])
            else:
                raise BadTable(f"{where}: what does this say: {line}")

    def candidates(self, mutant):
        """Tests to try, those first that should kill it."""
        return list(dict.fromkeys(mutant.expected +
                                  self.tests[mutant.table]))

    def targets(self, test):
        """What has to be built for a test besides its own program."""
        found = [targets for name, targets in self.needs.items()
                 if test.startswith(name)]
        return max(found, key=len, default=[])

    def complaints(self, root, known_tests=None):
        """Rows that cannot be used with this tree."""
        names = [mutant.name for mutant in self.mutants]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield f"{name}: twice in the tables"
        for mutant in self.mutants:
            yield from mutant.complaints()
            try:
                mutant.apply((root / mutant.file).read_text())
            except (BadTable, OSError) as error:
                yield str(error)
            for test in self.candidates(mutant) if known_tests else []:
                if test not in known_tests:
                    yield f"{mutant.where}: {mutant.name}: no test {test}"
