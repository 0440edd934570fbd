#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Command lines are completed in real shells, on a terminal: somebody types the
beginning and the tabulator, and the shell says what its line is then.

usage: completion_test.py bash|zsh|fish TEAMSTER COMPLETION_FOLDER
"""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
PATIENCE_S = 20 * float(os.environ.get("TM_TEST_SLOWDOWN", "1"))
HOME, END = "\x01", "\x05"

# What is typed, and the line after the tabulator.
LINES = [
    ("teamster pl", "teamster plan "),
    ("teamster run --pol", "teamster run --policy="),
    ("teamster run --policy=lia", "teamster run --policy=liang03 "),
    ("teamster run -n 2 -p seq", "teamster run -n 2 -p sequential "),
    ("teamster run --hostfile my_ho", "teamster run --hostfile my_hosts.txt "),
    ("teamster run -n 2 ./my_pro", "teamster run -n 2 ./my_program "),
    ("teamster run -n 2 ./my_program my_ho",
     "teamster run -n 2 ./my_program my_hosts.txt "),
    ("teamster info --no", "teamster info --node "),
    ("teamster plan --policy=op", "teamster plan --policy=optimal "),
    ("teamster simulate --policy=lia", "teamster simulate --policy=liang03 "),
    ("teamster simulate -p non", "teamster simulate -p none "),
    ("teamster simulate --protocol=ada", "teamster simulate --protocol=adaptive "),
    ("teamster simulate -f eq", "teamster simulate -f equal "),
]
STARTS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"],
             "bind 'set enable-bracketed-paste off'; source {0}/teamster.bash"),
    "zsh": (["zsh", "-f", "-i"],
            "unset zle_bracketed_paste; unsetopt prompt_sp; bindkey -e; fpath=({0} $fpath); "
            "autoload -Uz compinit; compinit -u -d {1}/dump"),
}


class Shell:
    """One on a terminal."""

    def __init__(self, name, completion, folder, environment):
        command, begin = STARTS[name]
        self.main, side = pty.openpty()
        self.process = subprocess.Popen(
            command, stdin=side, stdout=side, stderr=side, cwd=folder,
            env=environment, start_new_session=True)
        os.close(side)
        self.n_asked = 0
        self.type(begin.format(completion, folder) + "\n")
        self.type("PS1=; stty -echo\n")
        self.line_of("")

    def type(self, text):
        os.write(self.main, text.encode())

    def until(self, pattern):
        seen, end = "", time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if select.select([self.main], [], [], 0.1)[0]:
                seen += os.read(self.main, 4096).decode(errors="replace")
            found = re.search(pattern, seen)
            if found:
                return found
        raise AssertionError(f"the shell does not say {pattern!r}: {seen!r}")

    def line_of(self, typed):
        """What the line is after the tabulator: it is made an argument of printf."""
        self.n_asked += 1
        tab = "\t" if typed else ""
        self.type(f"{typed}{tab}{HOME}printf '<%d|%s>\\n' {self.n_asked} "
                  f"'{END}'\n")
        return self.until(f"<{self.n_asked}\\|([^>]*)>")[1]

    def close(self):
        os.close(self.main)
        self.process.kill()
        self.process.wait()


def fish_line(typed, completion, folder, environment):
    """The same of fish, which can be asked."""
    said = subprocess.run(
        ["fish", "--no-config", "-c",
         f"source {completion}/teamster.fish; complete -C '{typed}'"],
        check=True, text=True, cwd=folder, env=environment,
        stdout=subprocess.PIPE).stdout.split("\n")
    words = [line.split("\t")[0] for line in said if line]
    if len(words) != 1:
        raise AssertionError(f"{typed}: {said}")
    space = "" if words[0].endswith("=") else " "
    return typed.rsplit(" ", 1)[0] + " " + words[0] + space


def check(typed, expected, line):
    """zsh and fish take the "=" behind an option away again if a blank is typed."""
    if line.rstrip(" =") != expected.rstrip(" ="):
        raise AssertionError(f"{typed!r} becomes {line!r}, not {expected!r}")


def main():
    name, program, completion = sys.argv[1:]
    if not shutil.which(name):
        print(f"skipped: no {name}; run tools/setup.sh check")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.abspath(program), f"{folder}/teamster")
        pathlib.Path(folder, "my_hosts.txt").touch()
        pathlib.Path(folder, "my_program").touch(0o755)
        environment = {"PATH": f"{folder}:{os.environ['PATH']}", "TERM": "dumb",
                       "HOME": folder, "LC_ALL": "C.UTF-8"}
        shell = None if name == "fish" else Shell(
            name, os.path.abspath(completion), folder, environment)
        for typed, expected in LINES:
            line = shell.line_of(typed) if shell else fish_line(
                typed, os.path.abspath(completion), folder, environment)
            check(typed, expected, line)
        if shell:
            shell.close()
    print(f"{name}: {len(LINES)} lines are completed")


if __name__ == "__main__":
    main()
