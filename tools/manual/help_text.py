# SPDX-License-Identifier: BSD-3-Clause
"""What `teamster` says of itself: its commands, and the help of each, taken apart. The
help is the one place where options are described, and that of `run` follows from
src/base/options.def."""
import collections
import re
import subprocess

OPTION = re.compile(r"^  (?:-(\w), |    )--([a-z-]+)(?:=(\S+)|\[=(\S+)\])?(?:  +(.*))?$")
TEXT_COLUMN = 24   # what is indented deeper belongs to an option, as it is
LISTED = re.compile(r"^  ([a-z-]+)  +(\S.*)$")

Option = collections.namedtuple("Option", "letter name argument lines")


def said(program, *arguments):
    return subprocess.run([program, *arguments], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def commands(program):
    """@return {name: summary}"""
    text = said(program, "--help")
    listed = text.split("Commands:\n")[1].split("\n\n")[0]
    return dict(LISTED.match(line).groups() for line in listed.split("\n"))


def version(program):
    return said(program, "--version").split()[1]


class Help:
    """`usage` [lines], and `parts`: ("text", str), ("code", [line]), ("title", str)
    and ("option", Option), in order."""

    def __init__(self, text):
        lines = text.rstrip("\n").split("\n")
        self.usage = [lines[0].removeprefix("Usage: ")]
        self.parts = []
        self.read(lines[1:])

    def options(self):
        return [part for kind, part in self.parts if kind == "option"]

    def read(self, lines):
        before = ""
        for i, line in enumerate(lines):
            following = lines[i + 1] if i + 1 < len(lines) else ""
            if line:
                self.take(line, before, following)
            before = line

    def take(self, line, before, following):
        found = OPTION.match(line)
        kind, part = self.parts[-1] if self.parts else ("", None)
        if found:
            self.parts.append(("option", Option(
                found[1], found[2], found[3] or found[4],
                [found[5]] if found[5] else [])))
        elif line.startswith(" "):
            if before and kind in ("option", "code"):
                (part.lines if kind == "option" else part).append(line)
            else:
                self.parts.append(("code", [line]))
        elif re.match(r"[A-Z][\w ]*:$", line) and following.startswith(" "):
            self.parts.append(("title", line[:-1]))
        elif before and kind == "text":
            self.parts[-1] = ("text", f"{part} {line}")
        else:
            self.parts.append(("text", line))


def of_command(program, name):
    return Help(said(program, name, "--help"))
