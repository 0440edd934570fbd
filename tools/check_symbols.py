#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that the table of symbols in docs/model.md is whole.

usage: check_symbols.py [ROOT]

Each number of STRUCTS in src/model/ is in a row's column "in the code" as
`struct.field`, or as `field` behind a `struct.other` there. What is there of
these structs must exist; and each row has a unit and says where it is from.
"""
import pathlib
import re
import sys

STRUCTS = ("node_view", "reference", "correction", "node_prediction",
           "prediction")
STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\};", re.M | re.S)
NUMBER = re.compile(r"\b(?:double|unsigned|uint\d+_t)\s+(\w+);")
CODE = re.compile(r"`(?:(\w+)\.)?(\w+)`")


def fields(root):
    """Of each struct its numbers."""
    found = {}
    for header in sorted((root / "src/model").glob("*.h")):
        text = re.sub(r"//.*", "", header.read_text(encoding="utf-8"))
        for name, body in STRUCT.findall(text):
            if name in STRUCTS:
                found[name] = NUMBER.findall(body)
    return found


def rows(root):
    """The cells of each row, with the number of its line."""
    text = (root / "docs/model.md").read_text(encoding="utf-8")
    is_inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("| symbol |"):
            is_inside = True
        elif not line.startswith("|"):
            is_inside = False
        elif is_inside and not line.startswith("|---"):
            yield number, [cell.strip() for cell in line.split("|")[1:-1]]


def named(cell):
    """The pairs of struct and field in a cell."""
    struct = None
    for other, field in CODE.findall(cell):
        struct = other or struct
        if struct in STRUCTS:
            yield struct, field


def check(root):
    known = fields(root)
    missing = {(struct, field) for struct in known for field in known[struct]}
    complaints = [f"src/model: there is no struct {struct}"
                  for struct in STRUCTS if struct not in known]
    for number, row in rows(root):
        where = f"docs/model.md:{number}: {row[0]}"
        if len(row) != 5 or not all(row):
            complaints.append(f"{where}: a cell is empty or missing")
            continue
        for struct, field in named(row[3]):
            if field not in known.get(struct, []):
                complaints.append(f"{where}: there is no {struct}.{field}")
            missing.discard((struct, field))
    complaints += [f"docs/model.md: {struct}.{field} is not in the table"
                   for struct, field in sorted(missing)]
    return complaints


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    complaints = check(root)
    print("\n".join(complaints + [f"{len(complaints)} complaints"]))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
