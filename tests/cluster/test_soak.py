#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What soak.py says of failures, shown by builds whose programs fail when they are told to.

    test_soak.py TEST

Tests: failures_are_told, all_is_well.
"""
import os
import re
import subprocess
import sys

import jobs

SOAK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "soak.py")
PROTOCOL_TEST = """#!/bin/sh
# Fails at odd seeds, if it is to: after three that are good.
test -e {folder}/is_good && exit 0
if [ $(($2 % 2)) -eq 1 ]; then
    test $# -gt 2 && echo "$1 seed $(($2 + 2)): the end does not hold, line 1" >&2
    test $# -gt 2 || echo "again: $1 $2"
    kill -ABRT $$
fi
"""


class Tests:
    def __init__(self, folder):
        self.folder = folder
        path = os.path.join(folder, "tests", "conformance")
        os.makedirs(path)
        for name in ("protocol_test", "fairness_test"):
            with open(os.path.join(path, name), "w", encoding="ascii") as file:
                file.write(PROTOCOL_TEST.format(folder=folder))
            os.chmod(file.name, 0o755)

    def soak(self, *words):
        done = subprocess.run(
            [sys.executable, SOAK, "0.05", "--build", self.folder, *words],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            check=False, timeout=jobs.DEADLINE_S)
        return done.returncode, done.stdout

    def expect(self, is_so, what, output):
        if not is_so:
            raise jobs.Failure(f"{what}:\n{output[-5000:]}")

    def failures_are_told(self):
        """Each with a line that repeats it; and the others are left out."""
        code, output = self.soak()
        self.expect(code == 1, f"exit code {code}, not 1", output)
        told = re.findall(r"^FAILED conformance, ended by SIGABRT; repeat with: "
                          r"(.*/protocol_test \S+ \d+)$", output, re.M)
        self.expect(told, "no line repeats a failure", output)
        again = subprocess.run(told[0].split(), text=True, check=False,
                               capture_output=True)
        self.expect(again.returncode < 0 and "again: " in again.stdout,
                    f"{told[0]} does not", again.stdout)
        self.expect("programs is left out" in output, "nothing is left out",
                    output)
        row = re.search(r"^conformance +(\d+) +0 +(\d+) ", output, re.M)
        commands = re.findall(r"min conformance: ", output)
        failures = re.findall(r"^FAILED conformance, ", output, re.M)
        self.expect(row and int(row[1]) == len(commands) and
                    int(row[2]) == len(failures) and len(failures) ==
                    len(re.findall(r"^FAILED conformance; ", output, re.M)),
                    "the counts differ", output)
        log = jobs.read_bytes(os.path.join(self.folder, "failures.log"))
        self.expect(log.count(b"repeat with: ") == len(failures),
                    "failures are not kept", output)

    def all_is_well(self):
        with open(os.path.join(self.folder, "is_good"), "w", encoding="ascii"):
            pass
        code, output = self.soak("--parts", "conformance")
        self.expect(code == 0 and "FAILED" not in output and
                    re.search(r"^[1-9]\d* commands .* 0 failures$", output, re.M),
                    f"exit code {code}", output)
        code, output = self.soak("--parts", "litmus")
        self.expect(code == 1, "nothing at all was run", output)


def main():
    return jobs.run_test(sys.argv[1], lambda folder: getattr(
        Tests(folder), sys.argv[1])())


if __name__ == "__main__":
    sys.exit(main())
