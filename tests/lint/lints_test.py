# SPDX-License-Identifier: BSD-3-Clause
"""The lints find what they are for: each is run on a small tree with one fault.

usage: lints_test.py TOOLS_FOLDER C_COMPILER
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS, COMPILER = pathlib.Path(sys.argv[1]), sys.argv[2]
LICENCE = "// SPDX-License-Identifier: BSD-3-Clause\n"
CLEAN = {
    "include/teamster.h": "/** Do it.\n * @return TM_OK */\n"
                          "TM_API tm_status tm_do(const char *what_is_to_be_done,"
                          "\n                       unsigned how_often_to_do_it);\n",
    "src/base/status.h": '#include "teamster.h"\n',
    "src/base/protocols.def":
        'PROTOCOL(eager_release, TM_EAGER_RELEASE, "eager-release", NULL)\n'
        'PROTOCOL(sequential, TM_SEQUENTIAL, "sequential", "")\n',
    "src/base/log.h": "/** Say it. */\nvoid log_say(int what);\n"
                      "void log_shout(int what);\n",
    "src/base/log.c": '#include "base/log.h"\n\n#include <stdio.h>\n',
    "src/net/port.h": '#include "base/log.h"\n',
    "src/net/port_priv.h": "int port_secret(void);\n",
    "src/net/port.c": '#include "net/port.h"\n#include "net/port_priv.h"\n',
    "src/cluster/join.c": '#include "net/port.h"\n',
    "apps/sum.c": '#include <mpi.h>\n#include <teamster.h>\n',
}


class Tree:
    """A folder with the clean files, some of them changed."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        for name, text in CLEAN.items():
            self.write(name, text)

    def write(self, name, text, licence=LICENCE):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(licence + text)

    def run(self, tool, *arguments):
        done = subprocess.run([TOOLS / tool, *(arguments or [self.root])],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


class LintTest(unittest.TestCase):
    def setUp(self):
        self.tree = Tree()
        self.addCleanup(self.tree.folder.cleanup)

    def expect(self, tool, complaint, *arguments):
        status, text = self.tree.run(tool, *arguments)
        self.assertEqual(status, 1, text)
        self.assertIn(complaint, text)
        self.assertRegex(text, r"\b1 (complaint|to lay out)")

    def expect_clean(self, tool, *arguments):
        status, text = self.tree.run(tool, *arguments)
        self.assertEqual(status, 0, text)


class LayersTest(LintTest):
    def test_a_clean_tree_passes(self):
        self.expect_clean("check_layers.py")

    def test_a_lower_layer_may_not_include_a_higher_one(self):
        self.tree.write("src/base/log.c", '#include "net/port.h"\n')
        self.expect("check_layers.py",
                    "src/base/log.c:2: net/port.h may not include the layer net")

    def test_two_files_of_one_name_are_found(self):
        self.tree.write("src/cluster/port.c", "")
        self.expect("check_layers.py", "src/cluster/port.c: has the name of "
                    "src/net/port.c")

    def test_a_part_of_which_nothing_is_saved_says_so(self):
        self.tree.write("src/runtime/saving.c",
                        "const struct part part_log = {.save = nothing};\n"
                        "const struct part part_other = {NULL};\n")
        self.expect("check_layers.py",
                    "src/runtime/saving.c:3: part_other does not say what is saved")

    def test_angle_brackets_hide_nothing(self):
        self.tree.write("src/base/log.c", '#  include <net/port.h>\n')
        self.expect("check_layers.py", "may not include the layer net")

    def test_a_private_header_stays_in_its_folder(self):
        self.tree.write("src/cluster/join.c", '#include "net/port_priv.h"\n')
        self.expect("check_layers.py", "is private to its folder")

    def test_the_public_header_is_for_programs(self):
        self.tree.write("src/net/port.c", '#include "teamster.h"\n')
        self.expect("check_layers.py", "by base/status.h only")

    def test_programs_may_not_use_internals(self):
        self.tree.write("apps/sum.c", '#include "base/log.h"\n')
        self.expect("check_layers.py", "programs use teamster.h only")

    def test_a_layer_that_is_not_in_the_table_is_refused(self):
        self.tree.write("src/extra/x.c", "")
        self.expect("check_layers.py", "src/extra: is not in the table")

    def test_an_include_names_its_layer(self):
        self.tree.write("src/net/port.c", '#include "port.h"\n')
        self.expect("check_layers.py", "does not name its layer")

    def test_what_tests_have_in_common_is_for_tests(self):
        self.tree.write("tests/harness/fake.h", "")
        self.tree.write("src/net/port_test.c", '#include "harness/fake.h"\n')
        self.expect_clean("check_layers.py")
        self.tree.write("src/net/port_test.c", '#include "harness/none.h"\n')
        self.expect("check_layers.py", "harness/none.h does not exist")
        self.tree.write("src/net/port_test.c", "")
        self.tree.write("src/net/port.c", '#include "harness/fake.h"\n')
        self.expect("check_layers.py", "harness/fake.h is for tests")

    def test_only_the_table_knows_protocols_by_name(self):
        complaint = "src/pages/fetch.c:2: asks for a protocol"
        for line in ("int i = TM_SEQUENTIAL;", "use(&protocol_sequential);",
                     'say("sequential");', 'say("--protocol=sequential does");',
                     'say("with eager-release a page");'):
            self.tree.write("src/pages/fetch.c", line + "\n")
            self.expect("check_layers.py", complaint)
        self.tree.write("src/pages/fetch.c",
                        '// TM_SEQUENTIAL\nsay("in sequential order");\n')
        self.tree.write("src/protocol/sequential.c", "int i = TM_SEQUENTIAL;\n")
        self.expect_clean("check_layers.py")

    def test_the_planner_knows_no_more_than_the_model(self):
        self.tree.write("planner/plan.h", "")
        self.tree.write("planner/plan.c", '#include "planner/plan.h"\n')
        self.tree.write("cli/plan_command.c", '#include "planner/plan.h"\n')
        self.expect_clean("check_layers.py")
        self.tree.write("planner/plan.c", '#include "net/port.h"\n')
        self.expect("check_layers.py",
                    "planner/plan.c:2: net/port.h may not include the layer net")

    def test_the_library_does_not_know_the_planner(self):
        self.tree.write("planner/plan.h", "")
        self.tree.write("src/net/port.c", '#include "planner/plan.h"\n')
        self.expect("check_layers.py", "may not include the layer planner")


class KnotsTest(LintTest):
    def build(self, **files):
        """Compile SRC_FOLDER__NAME="code", as CMake places object files."""
        self.tree.write("tools/exports.list", "tm_*\nread\n", licence="")
        for name, code in files.items():
            source = f"src/{name.replace('__', '/')}.c"
            self.tree.write(source, code)
            folder, _, file = source.rpartition("/")
            to = self.tree.root / "build" / folder / "CMakeFiles/x.dir" / file
            to.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([COMPILER, "-c", self.tree.root / source, "-o",
                            f"{to}.o"], check=True)
        return self.tree.root, self.tree.root / "build"

    def test_what_only_goes_down_passes(self):
        self.expect_clean("check_knots.py", *self.build(
            base__log="void log_say(void)\n{\n}\n",
            net__port="void log_say(void);\nvoid port(void)\n"
                      "{\n    log_say();\n}\n"))

    def test_a_symbol_of_a_layer_above_is_found_without_an_include(self):
        self.expect("check_knots.py",
                    "src/base/log.c: uses port of src/net/port.c, a layer above",
                    *self.build(
                        base__log="void port(void);\nvoid log_say(void)\n"
                                  "{\n    port();\n}\n",
                        net__port="void port(void)\n{\n}\n"))

    def test_files_that_need_each_other_in_a_circle_are_found(self):
        self.expect("check_knots.py", "6 files need each other, 5 may", *self.build(
            **{f"mem__f{i}": f"void f{(i + 1) % 6}(void);\nvoid f{i}(void)\n"
                             f"{{\n    f{(i + 1) % 6}();\n}}\n"
               for i in range(6)}))

    def test_the_global_is_for_the_edge(self):
        self.expect("check_knots.py", "47 uses of the global", *self.build(
            base__a="extern int this_node;\nint a(void);\n"
                    "int a(void) { return 0" + " + this_node" * 46 + "; }\n"))

    def test_a_function_of_the_c_library_is_nobodys(self):
        self.expect_clean("check_knots.py", *self.build(
            base__log="int read(void);\nint log_say(void)\n"
                      "{\n    return read();\n}\n",
            net__port="int read(void)\n{\n    return 0;\n}\n"))


class OptionsTable(LintTest):
    ROWS = ('OPTION(nodes, NODES, "nodes", \'n\', "N", "1",\n       ANY, "nodes")\n'
            'OPTION(strict, STRICT, "strict", 0, NULL, "0", SWITCH, "strict")\n'
            'OPTION(hosts, HOSTS, "hosts", 0, "LIST", "none",\n'
            '       ANY, "hosts")\n')
    TABLE = ("| `-n`, `--nodes=N` | nodes | 1 |\n| `--strict` | strict | off |\n"
             "| `--hosts=LIST` | hosts | the local one |\n")

    def write(self, table):
        self.tree.write("src/base/options.def", self.ROWS)
        self.tree.write("README.md", table)

    def test_a_table_that_agrees_passes(self):
        self.write(self.TABLE)
        self.expect_clean("options_table.py")

    def test_another_default_is_found(self):
        self.write(self.TABLE.replace("| 1 |", "| 2 |"))
        self.expect("options_table.py", "--nodes: the default is 1, not 2")

    def test_another_letter_is_found(self):
        self.write(self.TABLE.replace("`-n`", "`-N`"))
        self.expect("options_table.py", "--nodes: letter and argument are")

    def test_an_option_that_is_missing_is_found(self):
        self.write(self.TABLE.replace("| `--strict` | strict | off |\n", ""))
        self.expect("options_table.py", "--strict: is not in README.md")


class CommentsTest(LintTest):
    def test_a_clean_tree_passes(self):
        self.expect_clean("check_comments.py")

    def test_a_public_function_needs_a_comment(self):
        header = CLEAN["include/teamster.h"]
        self.tree.write("include/teamster.h",
                        header + "\nTM_API int tm_more(void);\n")
        self.expect("check_comments.py", "tm_more() has no comment")

    def test_a_status_needs_its_values(self):
        self.tree.write("include/teamster.h",
                        "/** Do it. */\nTM_API tm_status tm_do(void);\n")
        self.expect("check_comments.py", "tm_do() has no @return")

    def test_a_function_that_another_layer_uses_needs_a_comment(self):
        header = CLEAN["src/base/log.h"]
        self.tree.write("src/base/log.h", header +
                        "\nstruct pair {\n    int (*call)(int a);\n};\n"
                        "\nvoid log_whisper(int what,\n"
                        "                 int how);\n")
        self.expect("check_comments.py",
                    "src/base/log.h:10: log_whisper() has no comment")

    def test_a_file_needs_its_licence_line(self):
        self.tree.write("apps/sum.c", "int x;\n", licence="")
        self.expect("check_comments.py", "apps/sum.c:1: no licence line")


class WordsTest(LintTest):
    def test_a_clean_tree_passes(self):
        self.expect_clean("check_words.py")

    def test_a_name_in_code_is_found(self):
        self.tree.write("src/net/port.c", "int handover_receive(void);\n")
        self.expect("check_words.py",
                    "src/net/port.c:2: handover_receive: say manager change")

    def test_a_name_in_upper_case_is_found(self):
        self.tree.write("src/net/port.c", "enum { SWAP_CLUSTER = 64 };\n")
        self.expect("check_words.py", "SWAP_CLUSTER: say swap transfer")

    def test_a_word_in_a_comment_is_found(self):
        self.tree.write("src/net/port.c", "// A worker goes to its seat.\n")
        self.expect("check_words.py", "src/net/port.c:2: seat: say worker affinity")

    def test_a_word_in_a_document_is_found(self):
        self.tree.write("docs/model.md", "By the Law of replacement.\n")
        self.expect("check_words.py", "docs/model.md:2: Law: say demand curve")

    def test_a_word_that_stands_alone_in_code_is_found(self):
        self.tree.write("src/net/port.c", "struct tally;\n")
        self.expect("check_words.py", "src/net/port.c:2: tally: say load table")

    def test_a_file_name_is_found(self):
        self.tree.write("src/net/remote_look.c", "")
        self.expect("check_words.py",
                    "src/net/remote_look.c: remote_look: say poll, polling")

    def test_other_words_are_left_alone(self):
        self.tree.write("src/net/port.c",
                        "// A later look at what is lawful.\nint look_at_it(void);\n")
        self.expect_clean("check_words.py")


class ReferencesTest(LintTest):
    def test_what_is_there_passes(self):
        self.tree.write("src/net/port.c", "// See net/port.h, x.c and NAME.c.\n"
                        "// begin() and port_end() are called by strlen().\n"
                        "int port_begin(void);\nint port_end(void);\n"
                        "int n = strlen(\"\");\n")
        self.tree.write("docs/model.md", "`port_begin()` is in `src/net/port.c`.\n")
        self.expect_clean("check_references.py")

    def test_a_file_that_has_gone_is_found(self):
        self.tree.write("src/net/port.c", "// See net/bells.c.\n")
        self.expect("check_references.py", "src/net/port.c:2: there is no net/bells.c")

    def test_a_function_that_is_only_named_is_found(self):
        self.tree.write("src/net/port.c", "/* Called by ring(). */\nint x;\n")
        self.expect("check_references.py", "src/net/port.c:2: there is no ring()")
        self.tree.write("src/net/port.c", "int x;\n")
        self.tree.write("docs/model.md", "See `port_ring()`.\n")
        self.expect("check_references.py", "docs/model.md:2: there is no port_ring()")
        self.tree.write("docs/model.md", "Or `port_bell`, not port_bell.\n")
        self.expect("check_references.py", "docs/model.md:2: there is no port_bell\n")

    def test_a_row_that_leads_to_another_file_is_found(self):
        row = "| Where is it said? | `net/port.h` | `log_say()` |\n"
        self.tree.write("ARCHITECTURE.md", row)
        self.expect("check_references.py", "there is no log_say in net/port.h")
        self.tree.write("ARCHITECTURE.md", row.replace("net/port.h", "base/log.h"))
        self.expect_clean("check_references.py")


class WireVersionTest(LintTest):
    MESSAGES = "src/net/messages.def"
    ROW = 'MESSAGE(1, pages, hello, "a node is there", FIELD(u8, what), NONE)\n'

    def setUp(self):
        super().setUp()
        self.tree.write(self.MESSAGES, self.ROW)
        self.tree.write("src/cluster/boot_frames.def", 'FRAME(1, bye, "up", "it ends", NONE)\n')
        self.say_version("7u")
        said = self.tree.run("check_wire_version.py")[1]
        self.next_line = re.search("WIRE_VERSION (.*)", said)[1]
        self.say_version(self.next_line)

    def say_version(self, version):
        self.tree.write("src/cluster/bootstrap.h", f"#define WIRE_VERSION {version}\n")

    def test_the_line_that_is_told_is_right(self):
        self.assertTrue(self.next_line.startswith("8u // rows "), self.next_line)
        self.expect_clean("check_wire_version.py")

    def test_a_new_field_without_a_new_version_is_found(self):
        self.tree.write(self.MESSAGES, self.ROW.replace("NONE", "BYTES"))
        self.expect("check_wire_version.py", "has changed since version 8: say\n"
                    "#define WIRE_VERSION 9u")

    def test_a_new_frame_without_a_new_version_is_found(self):
        self.tree.write("src/cluster/boot_frames.def", "")
        self.expect("check_wire_version.py", "has changed since version 8")

    def test_a_version_without_a_checksum_is_found(self):
        self.say_version("9u")
        self.expect("check_wire_version.py", "has changed since version 9")

    def test_no_version_at_all_is_found(self):
        self.tree.write("src/cluster/bootstrap.h", "")
        self.expect("check_wire_version.py", "there is no WIRE_VERSION")

    def test_remarks_and_layout_are_not_sent(self):
        self.tree.write(self.MESSAGES, "// Says hello.\n" + self.ROW.replace(
            "a node", "who").replace(", FIELD", ",\n    FIELD"))
        self.expect_clean("check_wire_version.py")


class SymbolsTest(LintTest):
    VIEW = "struct node_view {\n    double power; ///< C\n};\n"
    REST = "".join(f"struct {name} {{\n    double a;\n}};\n" for name in (
        "reference", "correction", "node_prediction", "prediction"))
    HEAD = "| symbol | meaning | unit | in the code | from |\n|---|---|---|---|---|\n"
    POWER = "| C | power | 1 | `node_view.power` | [Liu06] |\n"
    OTHERS = "| a | all | s | `reference.a`, `correction.a`, " \
             "`node_prediction.a`, `prediction.a` | ours |\n"

    def describe(self, *table):
        self.tree.write("src/model/view.h", self.VIEW + self.REST)
        self.tree.write("docs/model.md", "".join((self.HEAD, *table)))

    def test_a_whole_table_passes(self):
        self.describe(self.POWER, self.OTHERS)
        self.expect_clean("check_symbols.py")

    def test_a_field_that_is_not_in_the_table_is_found(self):
        self.describe(self.OTHERS)
        self.expect("check_symbols.py", "node_view.power is not in the table")

    def test_a_field_that_is_not_in_the_code_is_found(self):
        self.describe(self.POWER.replace("power`", "power`, `speed`"),
                      self.OTHERS)
        self.expect("check_symbols.py",
                    "docs/model.md:4: C: there is no node_view.speed")

    def test_a_symbol_without_a_unit_is_found(self):
        self.describe(self.POWER, self.OTHERS, "| L | lack | | `l()` | final |\n")
        self.expect("check_symbols.py", "L: a cell is empty or missing")


class PythonTest(LintTest):
    def setUp(self):
        super().setUp()
        self.tree.write("tests/a/jobs.py", "def run(job):\n    return job\n", "")
        self.tree.write("tests/a/test_a.py", "import jobs\njobs.run(1)\n", "")
        if self.tree.run("check_python.sh")[0] == 77:
            self.skipTest("no pylint")

    def test_neighbours_are_known(self):
        self.expect_clean("check_python.sh")

    def test_a_name_that_does_not_exist(self):
        self.tree.write("tests/a/test_a.py", "import jobs\njobs.start(1)\n", "")
        self.expect("check_python.sh", "no-member")

    def test_each_has_the_neighbours_of_its_own_folder(self):
        self.tree.write("tests/b/jobs.py", "def start(job):\n    return job\n", "")
        self.tree.write("tests/b/test_b.py", "import jobs\njobs.start(1)\n", "")
        self.expect_clean("check_python.sh")


class FormatTest(LintTest):
    def setUp(self):
        super().setUp()
        style = (TOOLS.parent / ".clang-format").read_text()
        (self.tree.root / ".clang-format").write_text(style)
        if self.tree.run("check_format.sh")[0] == 77:
            self.skipTest("no clang-format 14")

    def test_a_clean_tree_passes(self):
        self.expect_clean("check_format.sh")

    def test_a_brace_on_the_wrong_line_is_found(self):
        self.tree.write("apps/sum.c", "int main(void) {\n    return 0;\n}\n")
        self.expect("check_format.sh", "+int main(void)\n+{")

    def test_a_table_may_be_left_as_it_is(self):
        self.tree.write("apps/sum.c", "// clang-format off\nint  table [ ] =\n"
                        "{ 1,2 };\n// clang-format on\n")
        self.expect_clean("check_format.sh")


class ExportsTest(LintTest):
    def build(self, code, *flags):
        root = self.tree.root
        (root / "list").write_text("# comment\ntm_*\nread\n")
        (root / "x.c").write_text(code)
        subprocess.run([COMPILER, "-shared", "-fPIC", *flags, root / "x.c",
                        "-o", root / "libx.so"], check=True)
        return (root / "libx.so", root / "list", root / "include/teamster.h")

    def test_a_library_as_declared_passes(self):
        self.expect_clean("check_exports.sh", *self.build(
            "int tm_do, read; static int other; int *use(void);\n"
            "__attribute__((visibility(\"hidden\"))) int *use(void)"
            "{ return &other; }\n"))

    def test_a_name_too_many_is_found(self):
        self.expect("check_exports.sh", "nor in the list: log_say",
                    *self.build("int tm_do, read, log_say;\n"))

    def test_an_undeclared_tm_name_is_found(self):
        self.expect("check_exports.sh", "nor in the list: tm_spare",
                    *self.build("int tm_do, read, tm_spare;\n"))

    def test_a_missing_function_is_found(self):
        self.expect("check_exports.sh", "with TM_API, but not there: tm_do",
                    *self.build("int read;\n"))

    def test_a_missing_wrapper_is_found(self):
        self.expect("check_exports.sh", "in the list, but not there: read",
                    *self.build("int tm_do;\n"))


@unittest.skipIf(shutil.which("abidw") is None or shutil.which("git") is None,
                 "no libabigail, or no git")
class AbiTest(LintTest):
    """Of the real header."""

    def setUp(self):
        super().setUp()
        self.header = self.tree.root / "include/teamster.h"
        self.header.write_text((TOOLS.parent / "include/teamster.h").read_text())
        self.baseline = self.tree.root / "tools/teamster.abi"
        self.baseline.parent.mkdir()
        self.arguments = self.header, self.baseline, COMPILER
        self.baseline.write_text((TOOLS / "teamster.abi").read_text())

    def git(self, *words):
        subprocess.run(["git", "-C", self.tree.root, "-c", "user.name=x", "-c",
                        "user.email=x@example.org", *words], check=True, capture_output=True)

    def test_the_header_as_it_was_passes(self):
        self.expect_clean("check_abi.py", *self.arguments)

    def test_an_argument_of_another_type_is_found(self):
        text = self.header.read_text()
        self.assertIn("tm_mutex_lock(tm_mutex *mutex)", text)
        self.header.write_text(text.replace("tm_mutex_lock(tm_mutex *mutex)",
                                            "tm_mutex_lock(tm_mutex *mutex, int how)"))
        self.expect("check_abi.py", "would not run with this library", *self.arguments)

    def test_a_tag_that_is_newer_than_the_baseline_is_found(self):
        self.git("init")
        self.git("add", ".")
        self.git("commit", "-m", "x")
        self.git("tag", "v0.0.1")
        self.expect_clean("check_abi.py", *self.arguments)
        self.git("tag", "-d", "v0.0.1")
        self.git("tag", "v99.0.0")
        self.expect("check_abi.py", "the last tag is v99.0.0", *self.arguments)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
