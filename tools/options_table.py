#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compare the table of options in README.md with src/base/options.def.

usage: options_table.py [ROOT]

Each option has one row, with its letter, its argument and its default. A switch
is "off"; for a default that only stands for something (auto, none, any, 0, nothing)
the row may say in words what that is.
"""
import pathlib
import re
import sys

OPTION = re.compile(
    r"OPTION\(\s*\w+,\s*[A-Z_]+,\s*\"([^\"]+)\",\s*(0|'.'),"
    r"\s*(NULL|\"[^\"]*\"),\s*\"([^\"]*)\",")
ROW = re.compile(
    r"\| (?:`-(.)`, )?`--([a-z-]+)(?:=(.+?)|\[=(.+?)\])?` \| .* \| ([^|]*) \|$", re.M)
IN_WORDS = {"auto", "none", "any", "0", ""}


def rows_of_table(text):
    """Return {name: (letter, argument, default)}."""
    rows = {}
    for name, letter, argument, default in OPTION.findall(text):
        rows[name] = (letter.strip("'").replace("0", ""),
                      "" if argument == "NULL" else argument.strip('"'),
                      default)
    return rows


def complaints_about(name, said, row):
    letter, argument, default = row
    if said[:2] != (letter, argument):
        yield (f"--{name}: letter and argument are {letter!r}, {argument!r}, "
               f"not {said[0]!r}, {said[1]!r}")
    told = said[2].replace("`", "")
    expected = "off" if argument == "" else default
    if expected not in IN_WORDS and told != expected:
        yield f"--{name}: the default is {expected}, not {told}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    rows = rows_of_table((root / "src/base/options.def").read_text())
    complaints = []
    seen = set()
    for letter, name, must, may, told in ROW.findall(
            (root / "README.md").read_text()):
        if name not in rows or name in seen:
            complaints.append(f"--{name}: is no option, or twice in README.md")
            continue
        seen.add(name)
        complaints += complaints_about(name, (letter, must or may, told), rows[name])
    complaints += [f"--{name}: is not in README.md"
                   for name in sorted(rows.keys() - seen)]
    print("\n".join(complaints + [f"{len(rows)} options, "
                                  f"{len(complaints)} complaints"]))
    return 1 if complaints or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
