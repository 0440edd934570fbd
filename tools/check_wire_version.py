#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that WIRE_VERSION was raised with the last change of what is sent.

usage: check_wire_version.py [ROOT]

src/cluster/bootstrap.h has a checksum beside the version: of the rows of SOURCES, without
comments, blanks and what stands in quotes, none of which is sent. Two branches that both
raise the version change the same line, so that who merges them sees it.
"""
import hashlib
import pathlib
import re
import sys

SOURCES = ("src/net/messages.def", "src/cluster/boot_frames.def")
HEADER = "src/cluster/bootstrap.h"
VERSION = re.compile(r"^#define WIRE_VERSION (\d+)u(?: // rows ([0-9a-f]+))?$", re.M)
DIGITS = 12  # of the checksum


def rows_of(text):
    """What is sent, of the text of a source."""
    text = re.sub(r'"[^"\n]*"', '""', text)
    return re.sub(r"\s+", "", re.sub(r"//.*", "", text))


def checksum(root):
    rows = "\n".join(rows_of((root / name).read_text(encoding="utf-8"))
                     for name in SOURCES)
    return hashlib.sha256(rows.encode()).hexdigest()[:DIGITS]


def complaint(root):
    """What is wrong, or None."""
    text = (root / HEADER).read_text(encoding="utf-8")
    found = VERSION.search(text)
    if not found:
        return f"{HEADER}: there is no WIRE_VERSION"
    now = checksum(root)
    if found[2] == now:
        return None
    line = text.count("\n", 0, found.start()) + 1
    return (f"{HEADER}:{line}: what is sent has changed since version {found[1]}: say\n"
            f"#define WIRE_VERSION {int(found[1]) + 1}u // rows {now}")


def main():
    wrong = complaint(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    if wrong:
        print(wrong)
    print(f"{1 if wrong else 0} complaints")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
