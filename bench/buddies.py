#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How much memory checkpoints in memory take: --buddy, two hosts, processes of this machine.

    bench/buddies.py BUILD

Of each program: MB of a whole checkpoint, of what was new in the last one, and the most that the
folders of both hosts had together, in times of a whole checkpoint. Figures are of
docs/checkpoints.md.
"""
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "..", "tests", "cluster"))

import logins  # pylint: disable=wrong-import-position

LOOK_S = 0.02
PROGRAMS = (
    ("jacobi", 10, ("--size", 2000, "--iterations", 400, "--threads", 4)),
    ("sor", 10, ("--size", 2000, "--iterations", 400, "--threads", 4)),
    ("gauss", 200, ("--size", 2000, "--iterations", 1999, "--threads", 4)),
)
SAVED = re.compile(r"checkpoint (\d+): iteration \d+, \d+ threads, (\d+) bytes, (\d+) of "
                   "them new")


def bytes_in_memory():
    """Of all files of checkpoints; one with several names counts once."""
    sizes = {}
    for name in os.listdir("/dev/shm"):
        place = os.path.join("/dev/shm", name, "checkpoints")
        for folder, _, files in os.walk(place):
            for file in files:
                try:
                    state = os.stat(os.path.join(folder, file))
                    sizes[state.st_ino] = state.st_blocks * 512
                except FileNotFoundError:
                    pass  # it has gone meanwhile
    return sum(sizes.values())


def run(build, ssh, every, program, words):
    """@return what it has said, and the most that was in memory"""
    process = subprocess.Popen(
        [os.path.join(build, "cli", "teamster"), "run", "--ssh", ssh, "-H", "a,b",
         "--verbose", f"--buddy=every={every}", os.path.join(build, "apps", program),
         *map(str, words)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True)
    most = 0
    with tempfile.TemporaryFile("w+") as said:
        with subprocess.Popen(["cat"], stdin=process.stdout, stdout=said):
            while process.poll() is None:
                most = max(most, bytes_in_memory())
                time.sleep(LOOK_S)
        said.seek(0)
        return said.read(), most


def main():
    build = os.path.abspath(sys.argv[1])
    print(f"{'program':10} {'checkpoints':>11} {'whole MB':>9} {'new MB':>9} {'most MB':>9}"
          f" {'times':>6}")
    with tempfile.TemporaryDirectory() as folder:
        hosts = logins.Hosts(folder)
        for program, every, words in PROGRAMS:
            text, most = run(build, hosts.ssh, every, program, words)
            found = SAVED.findall(text)
            if not found:
                sys.exit(text)
            whole = max(int(n) for _, n, _ in found)
            print(f"{program:10} {len(found):11} {whole / 1e6:9.1f}"
                  f" {int(found[-1][2]) / 1e6:9.1f} {most / 1e6:9.1f} {most / whole:6.1f}",
                  flush=True)


if __name__ == "__main__":
    main()
