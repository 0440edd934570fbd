# SPDX-License-Identifier: BSD-3-Clause
"""Numbered invariants: where they are defined, and which rows of the tables break one.

A comment that begins `// I1 ...`, or ` * I1 ...` in a longer one, defines I1 of its file; in
docs/protocols.md and ARCHITECTURE.md it is `- **I1** ...`. README.md says how a row names one,
and what without.list is.
"""
import collections
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
FOLDERS = ("src", "cli", "frontend")
PROTOCOLS = "docs/protocols.md"
TEXTS = (PROTOCOLS, "ARCHITECTURE.md")
# What these files do is in PROTOCOLS. A number there is the one of the code, if that has it.
OF_PROTOCOLS = ("src/protocol", "src/pages")
IN_COMMENT = re.compile(
    r"^(?://| \*|/\*\*?)[ \t]+([A-Z]\d{1,2})[ \t]+(?=[A-Za-z`])(?!(?:in|of|and) )", re.M)
IN_TEXT = re.compile(r"^- \*\*([A-Z]\d{1,2})\*\* ", re.M)
NAMED = r"(?:[\w/]+\.\w+ )?[A-Z]\d{1,2}"
HEAD = re.compile(rf"({NAMED}(?:, {NAMED})*):")

Invariant = collections.namedtuple("Invariant", "file number")


def folder_of(file):
    """Where a file lies."""
    return str(pathlib.PurePath(file).parent)


class Invariants:
    """All that are defined in a tree."""

    def __init__(self, root):
        self.files = collections.defaultdict(list)  # number: files that define it
        for folder in FOLDERS:
            for path in sorted((root / folder).rglob("*.[ch]")):
                if not path.name.endswith("_test.c"):
                    self.read(path, root, IN_COMMENT)
        for name in TEXTS:
            self.read(root / name, root, IN_TEXT)

    def read(self, path, root, pattern):
        """One file."""
        for number in pattern.findall(path.read_text()):
            self.files[number].append(str(path.relative_to(root)))

    def twice(self):
        """Numbers that one file defines twice."""
        for number, files in sorted(self.files.items()):
            for file in sorted({f for f in files if files.count(f) > 1}):
                yield f"{file}: {number} is defined twice"

    def to_be_broken(self):
        """Those that need a mutant: of the code, and of the text what the code has not."""
        for number, files in self.files.items():
            in_code = any(folder_of(file) in OF_PROTOCOLS for file in files)
            for file in sorted(set(files)):
                if file not in TEXTS or file == PROTOCOLS and not in_code:
                    yield Invariant(file, number)

    def places(self, file):
        """Where to look for a number that a row of this file names, nearest first."""
        folder = folder_of(file)
        stem = file.rpartition(".")[0]
        yield lambda other: other == file
        yield lambda other: other in (stem + ".h", stem + ".c")
        yield lambda other: folder_of(other) == folder
        if folder in OF_PROTOCOLS:
            yield lambda other: folder_of(other) in OF_PROTOCOLS
            yield lambda other: other == PROTOCOLS
        yield lambda other: other in TEXTS[1:]

    def find(self, name, file):
        """What a row of this file names. @return an Invariant, or what is wrong"""
        said, _, number = name.rpartition(" ")
        files = sorted(set(self.files.get(number, [])))
        places = [lambda other: ("/" + other).endswith("/" + said)] if said \
            else self.places(file)
        for place in places:
            found = [other for other in files if place(other)]
            if len(found) == 1:
                return Invariant(found[0], number)
            if found:
                return (f"{number} is an invariant of {', '.join(found)}: write "
                        f"which, as in '{pathlib.PurePath(found[0]).name} {number}'")
        return f"no {name}: neither a comment of the source nor a text defines it"


def named_by(mutant):
    """What a row names in front of its rule's text."""
    head = HEAD.match(mutant.get("rule"))
    return head.group(1).split(", ") if head else []


def read_without(path):
    """{Invariant: why there is no mutant of it}; lines are `file number why`."""
    found = {}
    for line in path.read_text().splitlines():
        if line.strip() and line[0] != "#":
            file, number, why = (line.split(maxsplit=2) + ["", ""])[:3]
            found[Invariant(file, number)] = why
    return found


def complaints(root, mutants, without=HERE / "without.list"):
    """Invariants that nothing breaks, and rows that name one which there is not."""
    known = Invariants(root)
    yield from known.twice()
    broken = set()
    for mutant in mutants:
        for name in named_by(mutant):
            found = known.find(name, mutant.file)
            if isinstance(found, Invariant):
                broken.add(found)
            else:
                yield f"{mutant.where}: {mutant.name}: {found}"
    excused = read_without(without)
    wanted = set(known.to_be_broken())
    for invariant in sorted(wanted - broken - excused.keys()):
        yield (f"{invariant.file}: nothing breaks {invariant.number}; write a mutant, "
               f"or in {without.name} why there can be none")
    for invariant, why in sorted(excused.items()):
        if invariant not in wanted:
            yield f"{without.name}: {invariant.file} has no {invariant.number}"
        elif invariant in broken:
            yield (f"{without.name}: there is a mutant of {invariant.file} "
                   f"{invariant.number}")
        elif not why:
            yield f"{without.name}: {invariant.file} {invariant.number}: why?"
