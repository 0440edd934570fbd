#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The line of --progress: on a terminal it is there while the program writes nothing, says
what is so, and is gone afterwards; elsewhere only if asked for, and then its lines stay.

usage: test_progress.py TEAMSTER PLATE
"""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time

import jobs
import logins

TEAMSTER, PLATE = map(os.path.abspath, sys.argv[1:])
CLEAR = "\r\033[K"
COLUMNS = 120
LINE = re.compile(r"teamster: (\d+) s(?:, iteration (\d+): ([\d.]+ ms each|\d+ s so far))?"
                  r"; threads((?: \d+)+)(; \S+ pages \d+/s(?:, \d+ more do)?)?"
                  r"(; \d+ moved|; tracks pages)?$")


def require(condition, text):
    if not condition:
        raise jobs.Failure(text)


def on_terminal(arguments, out=None, columns=COLUMNS):
    """Run with stderr on a terminal, and stdout too if nothing else is given.
    @return (exit code, what the terminal got)"""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    seen, end = b"", time.monotonic() + jobs.DEADLINE_S * 2
    with subprocess.Popen([TEAMSTER, "run", *arguments], env=jobs.environment(),
                          stdin=subprocess.DEVNULL, stdout=side if out is None else out,
                          stderr=side, start_new_session=True) as process:
        os.close(side)
        while time.monotonic() < end:
            if select.select([main], [], [], 0.1)[0]:
                try:
                    seen += os.read(main, 65536)
                except OSError:
                    break  # all have closed it
        code = process.wait(jobs.DEADLINE_S)
    os.close(main)
    return code, seen.decode()


def lines_of(text):
    """What has been shown, one after the other; the last is the rest."""
    return text.replace("\r\n", "\n").split(CLEAR)


def it_is_there_while_the_program_is_silent():
    code, seen = on_terminal(["-n", "2", "sleep", "3"])
    require(code == 0 and "threads" not in seen,
            f"shown for a program that is none of Teamster's: {seen!r}")
    with open(os.devnull, "w", encoding="ascii") as nothing:
        code, seen = on_terminal(["-n", "2", PLATE, "4"], nothing)
    require(code == 0, f"exit code {code}: {seen!r}")
    *shown, rest = lines_of(seen)
    require(rest == "", f"not taken away: {seen!r}")
    found = [LINE.match(line) for line in shown]
    require(found and all(found), f"not as it should be: {shown}")
    counts = [sum(map(int, line[4].split())) for line in found]
    require(32 <= max(counts) <= 33, f"not all threads: {shown}")
    numbers = [int(line[2]) for line in found if line[2]]
    require(numbers and numbers == sorted(numbers), f"iterations: {shown}")


def it_is_there_on_several_hosts():
    """A run that is saved there, since nobody says that it is not to be, says nothing at its start."""
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w", encoding="ascii") as nothing:
        code, seen = on_terminal(["--ssh", logins.Hosts(folder).ssh, "-H", "a,b", PLATE, "4"], nothing)
    *shown, rest = lines_of(seen)
    require(code == 0 and rest == "", f"exit code {code}: {seen!r}")
    require(shown and all(map(LINE.match, shown)), f"not as it should be: {seen!r}")


def it_is_not_wider_than_the_terminal():
    with open(os.devnull, "w", encoding="ascii") as nothing:
        code, seen = on_terminal(["-n", "2", PLATE, "2"], nothing, 20)
    shown = lines_of(seen)
    require(code == 0 and max(map(len, shown)) == 19, f"not cut: {shown}")


def it_goes_when_the_program_writes():
    code, seen = on_terminal(["-n", "2", PLATE, "2"])
    require(code == 0 and "checksum" in seen, f"exit code {code}: {seen!r}")
    after = seen[seen.index("\ni 2 "):]
    require(CLEAR not in after and "threads" not in after,
            f"shown beside what the program writes: {seen!r}")


def asked_for_it_stays_beside_what_the_program_writes():
    code, seen = on_terminal(["--progress=on", "-n", "2", PLATE, "3"])
    require(code == 0, f"exit code {code}: {seen!r}")
    shown = re.findall(r"teamster: \d+ s, iteration[^\r]*", seen)
    require(shown and all(LINE.match(line) for line in shown), f"{seen!r}")
    plain = seen.replace("\r\n", "\n")
    for line in shown:
        plain = plain.replace(line + CLEAR, "", 1)
    bad = [line for line in plain.splitlines()
           if not re.match(r"(i \d+ [\d.]+|nodes( \d+:\d+)+|checksum \w+)?$", line)]
    require(not bad, f"lines of the program are not whole: {bad}")


def off_or_elsewhere_there_is_none():
    with open(os.devnull, "w", encoding="ascii") as nothing:
        code, seen = on_terminal(["--progress=off", "-n", "2", PLATE, "2"], nothing)
    require(code == 0 and not seen, f"exit code {code}: {seen!r}")
    for option, is_there in (("auto", False), ("on", True)):
        run = subprocess.run([TEAMSTER, "run", f"--progress={option}", "-n", "2", PLATE,
                              "3"], check=False, text=True, env=jobs.environment(),
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        require(run.returncode == 0 and bool(run.stderr) == is_there, run.stderr)
        require(all(LINE.match(line) for line in run.stderr.splitlines()), run.stderr)


def who_pages_is_said():
    with tempfile.NamedTemporaryFile("w", suffix=".hosts") as hosts:
        hosts.write("first memory=64M workers=1\nlittle memory=10M workers=1\n")
        hosts.flush()
        run = subprocess.run(
            [TEAMSTER, "run", "--progress=on", "--policy=none", "--hostfile", hosts.name,
             "--emulate", PLATE, "6"], check=False, text=True, env=jobs.environment(),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    require(run.returncode == 0, run.stderr)
    require(re.search(r"; little pages [1-9]\d*/s", run.stderr), run.stderr)


def main():
    try:
        it_is_there_while_the_program_is_silent()
        it_is_there_on_several_hosts()
        it_is_not_wider_than_the_terminal()
        it_goes_when_the_program_writes()
        asked_for_it_stays_beside_what_the_program_writes()
        off_or_elsewhere_there_is_none()
        who_pages_is_said()
    except jobs.Failure as reason:
        sys.exit(f"test_progress: {reason}")


if __name__ == "__main__":
    main()
