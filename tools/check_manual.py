#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check the manual: each function that the library exports, and each command, has a
page with what a page has to have; mandoc finds no fault in any. Without mandoc that
part is skipped (exit 77).

usage: check_manual.py MANUAL_FOLDER LIBRARY TEAMSTER
"""
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(1, str(pathlib.Path(__file__).parent / "manual"))
import help_text  # noqa: E402

SKIPPED = 77
NEEDED = ("NAME", "SYNOPSIS", "DESCRIPTION", "SEE ALSO")
REFERENCE = re.compile(r"^\.BR (\S+) \((\d)\)", re.M)


def exported(library):
    listed = subprocess.run(["nm", "-D", "--defined-only", library], check=True,
                            text=True, stdout=subprocess.PIPE).stdout
    return sorted(set(re.findall(r" T (tm_\w+)$", listed, re.M)))


def pages(folder):
    """@return {"name(section)": path}"""
    return {f"{path.stem}({path.suffix[1:]})": path
            for path in folder.glob("*/man?/*.?")}


def complaints_about(name, path, known):
    text = path.read_text()
    for section in NEEDED:
        if f'.SH "{section}"' not in text:
            yield f"{name}: has no section {section}"
    for other, section in REFERENCE.findall(text):
        other = other.replace("\\-", "-")
        if f"{other}({section})" not in known:
            yield f"{name}: there is no {other}({section}), to which it refers"
    summary = text.split('.SH "NAME"\n')[1].split("\n")[0].split(" \\- ")[1]
    if len(summary) < 8:
        yield f"{name}: says nothing of itself: {summary}"


def mandoc(paths):
    done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", *paths],
                          check=False, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return [line for line in done.stdout.splitlines() if line]


def main():
    folder, library, teamster = sys.argv[1:]
    known = pages(pathlib.Path(folder))
    wanted = [f"{name}(3)" for name in [*exported(library), "teamster.h"]]
    wanted += [f"teamster-{name}(1)" for name in help_text.commands(teamster)]
    complaints = [f"{name}: has no page"
                  for name in [*wanted, "teamster(1)"] if name not in known]
    for name, path in sorted(known.items()):
        complaints += complaints_about(name, path, known)
    has_mandoc = shutil.which("mandoc") is not None
    if has_mandoc:
        complaints += mandoc(sorted(known.values()))
    count = len(complaints)
    print("\n".join(complaints + [f"{len(known)} pages, {count} complaint"
                                  f"{'' if count == 1 else 's'}"]))
    if complaints:
        sys.exit(1)
    if not has_mandoc:
        print("skipped: no mandoc; run tools/setup.sh check")
        sys.exit(SKIPPED)


if __name__ == "__main__":
    main()
