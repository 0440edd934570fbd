#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What docs/api.md and README.md show is so.

    guide_test.py SOURCES TEAMSTER ROD_PTHREADS ROD_TEAMSTER

 1  The program with threads of POSIX and the one with Teamster print the same,
    on 1 to 4 nodes, with each protocol, also when threads move.
 2  They differ in as many lines as docs/api.md says; it shows all of them.
 3  README.md shows apps/hello.c as it is.
 4  What the documents link to is there.
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys

N_CHANGED = 15
DEADLINE_S = 30 * float(os.environ.get("TM_TEST_SLOWDOWN", "1"))


class Failure(Exception):
    """A fact that should hold does not."""


def run(*command):
    process = subprocess.run(command, text=True, capture_output=True,
                             stdin=subprocess.DEVNULL, timeout=DEADLINE_S,
                             check=False)
    if process.returncode != 0:
        raise Failure(f"{' '.join(command)}: exit code {process.returncode}\n"
                      f"{process.stdout}{process.stderr}")
    return process.stdout


def programs_print_the_same(teamster, rod_pthreads, rod_teamster):
    expected = run(rod_pthreads)
    ways = [[rod_teamster]]
    for protocol in ("eager-release", "sequential"):
        for nodes in "1234":
            ways.append([teamster, "run", "-n", nodes, "-p", protocol,
                         rod_teamster])
        ways.append([teamster, "run", "-n", "3", "-p", protocol,
                     "--shuffle", "7", rod_teamster])
    for command in ways:
        output = run(*command)
        if output != expected:
            raise Failure(f"{' '.join(command)}: prints {output!r}, not "
                          f"{expected!r}")


def code_blocks(document):
    """The fenced blocks of a document, in order."""
    parts = document.read_text(encoding="utf-8").split("\n```")
    return [part.partition("\n")[2] + "\n" for part in parts[1::2]]


def guide_shows_the_changes(sources):
    before, after = (
        (sources / "apps/guide" / name).read_text(encoding="utf-8").split("\n")
        for name in ("rod_pthreads.c", "rod_teamster.c"))
    changes = [line for line in difflib.unified_diff(before, after, n=0,
                                                     lineterm="")
               if not line.startswith(("---", "+++", "@@"))]
    n_changed = sum(line.startswith("+") for line in changes)
    blocks = code_blocks(sources / "docs/api.md")
    if n_changed != N_CHANGED:
        raise Failure(f"the programs differ in {n_changed} lines, not "
                      f"{N_CHANGED}")
    if "\n".join(changes) + "\n" not in blocks:
        raise Failure("docs/api.md does not show these changes:\n" +
                      "\n".join(changes))
    if "\n".join(before) not in blocks:
        raise Failure("docs/api.md does not show rod_pthreads.c as it is")


def readme_shows_hello(sources):
    hello = (sources / "apps/hello.c").read_text(encoding="utf-8")
    program = hello.partition("\n")[2]  # without the licence
    if program not in code_blocks(sources / "README.md"):
        raise Failure("README.md does not show apps/hello.c as it is")


def links_lead_somewhere(sources):
    for document in [*sources.glob("*.md"), *sources.glob("docs/**/*.md")]:
        text = document.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            if not (document.parent / target).exists():
                raise Failure(f"{document.relative_to(sources)}: there is no "
                              f"{target}")


def main():
    sources = pathlib.Path(sys.argv[1])
    try:
        links_lead_somewhere(sources)
        readme_shows_hello(sources)
        guide_shows_the_changes(sources)
        programs_print_the_same(*sys.argv[2:5])
    except (Failure, subprocess.TimeoutExpired) as failure:
        print(failure)
        return 1
    return 0


sys.exit(main())
