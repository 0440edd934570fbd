#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that words which have been given up do not come back.

usage: check_words.py [ROOT]

The field has words of its own, and docs/glossary.md has those of this project. A row
says, as a regular expression, what is not written, and what is written instead: NAMES
in file names and in identifiers, TEXTS anywhere in comments and documents.
"""
import pathlib
import re
import sys

NAMES = {
    r"(.*_)?seats?(_.*)?": "worker affinity",
    r"(.*_)?patrol(s|led)?(_.*)?": "idle polling, periodic polling",
    r".*_look": "poll, polling",
    r"look(ed)?_(ns|for_more)": "poll, polling",
    r"(.*_)?haste(_.*)?": "service priority",
    r"(.*_)?is_rung": "has_doorbell",
    r"late_(updates?|items?)": "pending updates",
    r"handover(_.*)?": "manager change, hand-off; of ownership hand_over",
    r"(.*_)?laws?(_.*)?": "demand curve, replacement rule",
    r"(n|is)_far": "remote",
    r"swap_clusters?": "swap transfer",
    r"(.*_)?bells?(_.*)?": "doorbell",
    r"(.*_)?statics(_.*)?": "capacity",
    r"(.*_)?tall(y|ies)(_.*)?": "load table",
    r"books?_.*": "sample history",
}
TEXTS = {
    r"(?<!threadsafe-)statics": "capacity",  # but for the compiler's option
    r"tall(y|ies)": "load table",
    r"seats?": "worker affinity",
    r"patrol(s|led|ling)?": "idle polling, periodic polling",
    r"handovers?": "manager change, hand-off; of ownership hand-over",
    r"laws?": "demand curve, replacement rule",
    r"placement polic(y|ies)": "mapping policy",
}
TOPS = ("include", "src", "cli", "planner", "simulate", "apps", "bench", "tests", "tools", "docs",
        "cmake")
SUFFIXES = {".c", ".h", ".def", ".pml", ".py", ".sh", ".md", ".txt", ".cmake"}
# Those that name what is not written; and what was measured under the names of its time.
EXCEPT = ("tools/check_words.py", "tests/lint/lints_test.py", "docs/results/")
IDENTIFIER = re.compile(r"[A-Za-z]\w*_\w*")  # words alone are TEXTS's


def files(root):
    """Yield each file in question, and its name from the root on."""
    for folder in (root.glob("*.md"), *((root / top).rglob("*") for top in TOPS)):
        for path in sorted(folder):
            name = path.relative_to(root).as_posix()
            if path.suffix in SUFFIXES and path.is_file() and \
                    name != "CHANGELOG.md" and not name.startswith(EXCEPT):
                yield path, name


def one_of(table):
    """All rows in one expression; each is a group, named for its number."""
    return re.compile("|".join(f"(?P<row{i}>{row})" for i, row in enumerate(
        re.sub(r"\((?!\?)", "(?:", row) for row in table)), re.I)


def complaint(table, match):
    row = int(match.lastgroup.removeprefix("row"))
    return f"{match[0]}: say {list(table.values())[row]}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    names = one_of(NAMES)
    texts = re.compile(rf"\b(?:{one_of(TEXTS).pattern})\b", re.I)
    complaints = []
    n_files = 0
    for path, file in files(root):
        n_files += 1
        match = names.fullmatch(path.stem) or texts.fullmatch(path.stem)
        if match:
            table = NAMES if match.re is names else TEXTS
            complaints.append(f"{file}: {complaint(table, match)}")
        lines = path.read_text(errors="replace").splitlines()
        for number, line in enumerate(lines, 1):
            found = [(NAMES, names.fullmatch(word))
                     for word in IDENTIFIER.findall(line)]
            found += [(TEXTS, match) for match in texts.finditer(line)]
            complaints += [f"{file}:{number}: {complaint(table, match)}"
                           for table, match in found if match]
    print("\n".join(complaints + [f"{n_files} files, "
                                  f"{len(complaints)} complaints"]))
    return 1 if complaints or n_files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
