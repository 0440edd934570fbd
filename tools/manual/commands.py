#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the pages of section 1, teamster(1) and one for each command, out of what
`teamster` prints with --help.

usage: commands.py TEAMSTER FOLDER

Writes FOLDER/man1/*.1.
"""
import pathlib
import re
import sys

import help_text
import roff

MANUAL = "Teamster manual"
SUMMARY = "run one shared-memory C program over several machines"
INDENT = 2


def put_option(page, option):
    tag = f"-{option.letter}, " if option.letter else ""
    tag += f"--{option.name}"
    tag += f"={option.argument}" if option.argument else ""
    text, deeper = [], []
    for line in option.lines:
        is_deep = line.startswith(" " * (help_text.TEXT_COLUMN + 1))
        (deeper if is_deep or deeper else text).append(line)
    page.item(tag, " ".join(text))
    if deeper:
        page.item_lines(line[help_text.TEXT_COLUMN:] for line in deeper)


def put_part(page, kind, part, titles):
    """@param titles  of the sections so far"""
    title = None
    if kind == "option" or kind == "text" and part.startswith("Options"):
        title = "OPTIONS"
    elif kind == "title" or kind == "text" and part.startswith("Exit codes"):
        title = part.split(":")[0].upper().replace("EXIT CODES", "EXIT STATUS")
    elif titles[-1] == "OPTIONS":
        title = "NOTES"
    if title and title not in titles:
        page.section(title)
        titles.append(title)
    if kind == "option":
        put_option(page, part)
    elif kind == "text":
        page.paragraph(roff.sentence(re.sub("^(Options;|Exit codes:) ", "", part)))
    elif kind == "code":
        page.verbatim(line[INDENT:] for line in part)


def page_of(name, summary, usage, parts, version, day):
    page = roff.Page(name, 1, version, day, MANUAL)
    page.summary(summary)
    page.section("SYNOPSIS")
    for line in usage:
        page.bold(line)
    page.section("DESCRIPTION")
    titles = ["DESCRIPTION"]
    for kind, part in parts:
        put_part(page, kind, part, titles)
    return page


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2]) / "man1"
    version, day = help_text.version(program), roff.day_of(program)
    folder.mkdir(parents=True, exist_ok=True)
    commands = help_text.commands(program)
    names = [f"teamster-{name}" for name in commands]
    top = help_text.Help(help_text.said(program, "--help"))
    page = page_of("teamster", SUMMARY, top.usage, top.parts, version, day)
    page.see_also([(name, 1) for name in names] + [("teamster.h", 3)])
    (folder / "teamster.1").write_text(page.text())
    for name, summary in commands.items():
        text = help_text.of_command(program, name)
        page = page_of(f"teamster-{name}", summary, text.usage, text.parts,
                       version, day)
        page.see_also([("teamster", 1)]
                      + [(other, 1) for other in names
                         if other != f"teamster-{name}"])
        (folder / f"teamster-{name}.1").write_text(page.text())
    print(f"{len(commands) + 1} pages of section 1")


if __name__ == "__main__":
    main()
