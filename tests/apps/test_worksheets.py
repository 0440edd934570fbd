#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What docs/lab/ has its readers type works, and shows what it says.

    test_worksheets.py SHEET --sources DIR --build DIR

Each block of commands is run in one folder with the files that the sheet has them write; the
comments behind it say what the output must have, as regular expressions.
"""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```sh\n(.*?)^```\n((?:<!-- shows: [^\n]* -->\n)*)", re.M | re.S)
FILE = re.compile(r"to a file `([^`]+)`:\n\n```\n(.*?)^```", re.M | re.S)
DEADLINE_S = 120 * float(os.environ.get("TM_TEST_SLOWDOWN", "1"))


def run(build, folder, line):
    words = shlex.split(line)
    at = next(i for i, word in enumerate(words)
              if i > 1 and os.path.isfile(os.path.join(build, "apps", word)))
    words[0] = os.path.join(build, "cli", words[0])
    words[at] = os.path.join(build, "apps", words[at])
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE, cwd=folder,
                          stderr=subprocess.STDOUT, timeout=DEADLINE_S,
                          stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        sys.exit(f"{line}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sheet")
    parser.add_argument("--sources", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=os.path.abspath, required=True)
    options = parser.parse_args()
    text = (options.sources / "docs/lab" / f"{options.sheet}.md").read_text(
        encoding="utf-8")
    blocks = BLOCK.findall(text)
    with tempfile.TemporaryDirectory() as folder:
        for name, content in FILE.findall(text):
            pathlib.Path(folder, name).write_text(content, encoding="utf-8")
        for commands, comments in blocks:
            output = [run(options.build, folder, line)
                      for line in commands.splitlines()]
            wanted = re.findall("<!-- shows: (.*) -->", comments)
            for pattern in wanted:
                if not any(re.search(pattern, part) for part in output):
                    sys.exit(f"{commands}shows no {pattern}\n{output}")
            if not wanted:
                sys.exit(f"nothing is said of what it shows: {commands}")
    return 0 if blocks else f"no commands in {options.sheet}"


if __name__ == "__main__":
    sys.exit(main())
