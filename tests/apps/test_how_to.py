#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What docs/how-to/ has its readers type works, and shows what it says.

    test_how_to.py PAGE --sources DIR --build DIR

Each block of commands is run by a shell, in one folder with the files that the page has them
write; a comment behind it says what the output must have, as a regular expression.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```sh\n(.*?)^```\n<!-- shows: ([^\n]*) -->$", re.M | re.S)
COMMANDS = re.compile(r"^```sh$", re.M)
FILE = re.compile(r"to a file `([^`]+)`:?[^`]*?\n\n```\n(.*?)^```", re.M | re.S)
DEADLINE_S = 120 * float(os.environ.get("TM_TEST_SLOWDOWN", "1"))


def run(build, folder, commands):
    path = os.pathsep.join((os.path.join(build, "cli"), os.path.join(build, "apps"),
                            os.environ["PATH"]))
    done = subprocess.run(["sh", "-ec", commands], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, cwd=folder, timeout=DEADLINE_S,
                          stdin=subprocess.DEVNULL, env={**os.environ, "PATH": path},
                          check=False)
    if done.returncode != 0:
        sys.exit(f"{commands}exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page")
    parser.add_argument("--sources", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=os.path.abspath, required=True)
    options = parser.parse_args()
    text = (options.sources / "docs/how-to" / f"{options.page}.md").read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    if not blocks or len(blocks) != len(COMMANDS.findall(text)):
        sys.exit("of some commands it is not said what they show")
    with tempfile.TemporaryDirectory() as folder:
        for name, content in FILE.findall(text):
            pathlib.Path(folder, name).write_text(content, encoding="utf-8")
        for commands, pattern in blocks:
            output = run(options.build, folder, commands)
            if not re.search(pattern, output):
                sys.exit(f"{commands}shows no {pattern}\n{output}")
            print(commands, output, sep="", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
