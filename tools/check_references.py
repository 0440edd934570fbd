#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that files, functions and names which comments and documents name are there.

usage: check_references.py [ROOT]

A file is what ends as a source file, document or script does: it must be the end of some
file's path; one whose name is of one letter, or has capitals (NAME.c), stands for any. A
function is what has "()" behind it: it must be a name in the code, ours or one that it
calls; in x.c and x.h close() may be x_close(). In documents the same holds of names in
backquotes that have a "_". In the table "Where is what" of ARCHITECTURE.md what a row says
to begin with must be in one of the row's files.
"""
import pathlib
import re
import sys

# Of the system and of libraries, in examples and in what programs print.
ELSEWHERE = {"atexit", "execve", "mlockall", "pthread_cleanup_push", "sigset", "sigvec",
             "syslog", "cmocka.h", "file.c", "prog.c", "stuck.c", "policy_deal.c", "program.py",
             "heat.c", "histogram.c", "job.sh"}
TOPS = ("include", "src", "frontend", "cli", "planner", "simulate", "apps", "bench", "bindings", "tests",
        "tools", "docs", "cmake")
CODE = {".c", ".h", ".def", ".S", ".pml", ".py", ".sh", ".cmake", ".txt", ".in", ".hpp", ".cc", ".f90"}
C_LIKE = {".c", ".h", ".def"}
# History, and what is made by tests of checks like this.
EXCEPT = ("CHANGELOG.md", "docs/results/", "docs/decisions/", "tests/lint/",
          "tests/mutants/")
ANY = re.compile(r"(?:.*/)?(?:\w|\w_test|.*[A-Z].*|\w_priv)\.\w+$")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", re.S)
FILE = re.compile(r"(?<![\w./*<$}-])[\w/.-]*\w\.(?:c|h|def|py|sh|md|pml)\b(?![\w*(/-])")
QUOTED = re.compile(r"`([^`]+)`")
NAME = re.compile(r"(?<![\w./=-])[a-z]\w*_\w+(?![\w./(*-])")
# Names that are patterns, and families of the system's and of libraries'.
PATTERN = re.compile(r"x_|(tm_)?noun|(pthread|posix|sem|fputs|sys|crypto)_")
ROW = re.compile(r"\| [^|]*\? \| ([^|]*) \| ([^|]*) \|$")
FUNCTION = re.compile(r"(?<![\w.>-])([A-Za-z_]\w{2,})\(\)")


def texts(root):
    """Yield the name from the root on and the contents of each file in question."""
    for folder in (root.glob("*"), *((root / top).rglob("*") for top in TOPS)):
        for path in sorted(folder):
            name = path.relative_to(root).as_posix()
            if path.suffix in CODE | {".md"} and path.is_file():
                yield name, path.read_text(errors="replace")


def prose_of(name, text):
    """The text with all but comments blank; documents whole."""
    if name.endswith(".md"):
        return text
    prose = []
    at = 0
    for match in COMMENT.finditer(text):
        prose.append(re.sub(r"[^\n]", " ", text[at:match.start()]))
        said = match[0]
        prose.append(said if said[0] == "/" else re.sub(r"[^\n]", " ", said))
        at = match.end()
    return "".join(prose)


def code_of(name, text):
    """What is no comment; strings of scripts may hold code."""
    if pathlib.PurePath(name).suffix not in C_LIKE:
        return text
    return COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else " ", text)


class Tree:
    def __init__(self, root):
        self.contents = dict(texts(root))
        self.names = set()
        for name, text in self.contents.items():
            if not name.endswith(".md"):
                self.names.update(re.findall(r"[A-Za-z_]\w+", code_of(name, text)))
        self.ends = {"/".join(name.split("/")[k:]) for name in self.contents
                     for k in range(name.count("/") + 1)}

    def has_file(self, word):
        path = word.removeprefix("../").removeprefix("./")
        return path in self.ends or ANY.match(path) or path.startswith("build/") or \
            path.rpartition("/")[2] in ELSEWHERE

    def has_function(self, word, stem):
        return word in self.names or f"{stem}_{word}" in self.names or \
            word in ELSEWHERE or re.search("[A-Z]{2}", word)

    def text_of(self, word):
        """Of a file, by the end of its path."""
        return "".join(text for name, text in self.contents.items()
                       if f"/{name}".endswith(f"/{word}"))

    def missing_in(self, line, path):
        """What a line names that is not there."""
        quoted = QUOTED.findall(line) if path.suffix == ".md" else []
        missing = [word for word in FILE.findall(line) if not self.has_file(word)]
        missing += [f"{word}()" for word in FUNCTION.findall(line)
                    if not self.has_function(word, path.stem)]
        missing += [word for words in quoted for word in NAME.findall(words)
                    if word not in self.names and not PATTERN.match(word)]
        row = ROW.match(line)
        if row and path.name == "ARCHITECTURE.md":
            there = "".join(map(self.text_of, FILE.findall(row[1])))
            missing += [f"{word} in {', '.join(FILE.findall(row[1]))}"
                        for word in re.findall(r"`(\w+)(?:\(\))?`", row[2])
                        if not re.search(rf"\b{word}\b", there)]
        return missing


def main():
    tree = Tree(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())
    complaints = []
    n_files = 0
    for name, text in tree.contents.items():
        path = pathlib.PurePath(name)
        if name.startswith(EXCEPT) or path.suffix not in C_LIKE | {".md"}:
            continue
        n_files += 1
        for number, line in enumerate(prose_of(name, text).splitlines(), 1):
            complaints += [f"{name}:{number}: there is no {word}"
                           for word in tree.missing_in(line, path)]
    n = len(complaints)
    print("\n".join([*complaints,
                     f"{n_files} files, {n} complaint{'s' * (n != 1)}"]))
    return 1 if complaints or n_files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
