#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs/failures.md names tests that exist, and nothing looks at the time of day.

    failures_test.py SOURCE BUILD
"""
import json
import pathlib
import re
import subprocess
import sys

N_ROWS = 30
N_PROMISES = 11
# Clocks that somebody may set.
WRONG_CLOCKS = re.compile(
    r"CLOCK_REALTIME|gettimeofday\(|\btime\(NULL\)|pthread_cond_timedwait\(")


def names_of_tests(build):
    shown = subprocess.run(
        ["ctest", "--test-dir", build, "--show-only=json-v1"], text=True,
        stdout=subprocess.PIPE, check=True).stdout
    return {test["name"] for test in json.loads(shown)["tests"]}


def complaints_about_table(source, build):
    text = (source / "docs" / "failures.md").read_text()
    tests = names_of_tests(build)
    methods = set()
    for path in (source / "tests").rglob("*.py"):
        methods |= set(re.findall(r"def (test_\w+)", path.read_text()))
    rows = re.findall(r"^\| (P?\d+) \|.*\|", text, re.M)
    wanted = ([str(row) for row in range(1, N_ROWS + 1)] +
              [f"P{row}" for row in range(1, N_PROMISES + 1)])
    for row in wanted:
        if row not in rows:
            yield f"there is no row {row}"
    for name in re.findall(r"\*\*([\w./-]+)\*\*", text):
        if not (any(test.startswith(name) for test in tests)
                if name.endswith("/") else name in tests):
            yield f"there is no test {name}"
    for name in re.findall(r"`(test_\w+)`", text):
        if name not in methods:
            yield f"there is no method {name}"


# By which the program, or a batch system, gives deadlines; what a reader is told.
MAY_BE_SET = ("// the program's clock", "// the batch system's clock", "// for people")


def complaints_about_clocks(source):
    for folder in ("src", "cli"):
        for path in sorted((source / folder).rglob("*.[ch]")):
            if path.stem.endswith("_test"):
                continue # seeds
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if (WRONG_CLOCKS.search(line) and
                        not any(why in line for why in MAY_BE_SET)):
                    yield f"{path}:{number}: a clock that may be set: {line.strip()}"


def main():
    source, build = map(pathlib.Path, sys.argv[1:3])
    complaints = [*complaints_about_table(source, build),
                  *complaints_about_clocks(source)]
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
