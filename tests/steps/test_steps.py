#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Are the steps that pages make those that their protocols' tables allow (rows.c)?

    test_steps.py TEST --build DIR --protocol NAME [--seed N]

Tests: taken, which rows of the table the standard seeds of the simulated network take: those
that must be and are not are an error, the others are told; real, nodes write down their
steps, which are judged; altered, a step of such a run is altered, which must be found.
"""
import argparse
import collections
import os
import re
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "../cluster"))
import jobs  # noqa: E402
import test_members  # noqa: E402

# Of tests/conformance: variants, and how many seeds of each at most.
VARIANTS = ("", "/budget", "/early", "/globals", "/members", "/budget/members", "/crossing",
            "/members/globals")
MORE = {"eager-release": ("/budget/pending",), "adaptive": ("/guarded",)}
# A world of its own: bytes are bound to locks.
ENTRY = ("", "/budget", "/members", "/budget/members")
N_SEEDS = 80
STEP = 5
ROW = re.compile(r"^step (\S+) (\S+) (\S+) (\d+)( seldom)?$", re.M)
RESULT = re.compile(r"steps: (\d+) steps, (\d+) wrong")
# Programs, with what they are run with.
RUNS = (
    (("tests/cluster/random_program", "-w"), (2, "-w", 1)),
    (("tests/cluster/random_globals", "-w"), (3, "-w", 2, "--shuffle", 3)),
    (("tests/cluster/random_program", "-w"), (3, "-w", 1, "--memory=1M")),
    (("apps/jacobi", "--size", 64, "--iterations", 6, "--threads", 6, "--verify"),
     (3, "-w", 1)),
)


ENTRY_RUNS = (
    (("tests/cluster/bound", "mixed", 1, 100), (3, "-w", 1)),
    (("tests/cluster/bound", "mixed", 2, 100), (2, "-w", 2, "--memory=1M")),
    (("tests/cluster/bound", "large", 3, 4), (3, "-w", 1)),
)


class Tests:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.members = test_members.Members(options, folder)
        is_entry = options.protocol == "entry"
        self.variants = ENTRY if is_entry else VARIANTS + MORE.get(options.protocol, ())
        self.test = "entry_test" if is_entry else "protocol_test"
        self.runs = ENTRY_RUNS if is_entry else RUNS
        # Of blocks only, which ask for it.
        self.words = () if is_entry else ("-p", options.protocol)
        self.counts = collections.Counter()
        self.is_seldom = {}

    def add(self, output):
        """Add up what a run says of rows of this protocol."""
        for name, event, row, count, seldom in ROW.findall(output):
            if name == self.options.protocol:
                self.counts[event, row] += int(count)
                self.is_seldom[event, row] = bool(seldom)

    def say_untaken(self):
        """Of all rows."""
        if not self.counts:
            raise jobs.Failure(f"no table is of {self.options.protocol}")
        untaken = [key for key, count in self.counts.items() if count == 0]
        for event, row in untaken:
            print(f"not taken: {event} {row}", flush=True)
        print(f"{len(self.counts) - len(untaken)} of {len(self.counts)} rows "
              f"taken by {sum(self.counts.values())} steps")

    def run_seeds(self, variant, first, last):
        name = self.options.protocol + variant
        done = subprocess.run(
            [self.members.path("tests", "conformance", self.test), name,
             str(first), str(last)], text=True,
            env={**os.environ, "TELL_STEPS": "1"}, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            raise jobs.Failure(f"{name}: {done.stdout[-4000:]}")
        self.add(done.stdout)

    def untaken(self):
        """@return the rows that should have been taken and were not"""
        return [row for row, count in self.counts.items()
                if count == 0 and not self.is_seldom[row]]

    def taken(self):
        """A few seeds of each variant, then more, until no row is left."""
        for first in range(1, N_SEEDS, STEP):
            for variant in self.variants:
                self.run_seeds(variant, first, first + STEP - 1)
            if not self.untaken():
                break
        self.say_untaken()
        if self.untaken():
            raise jobs.Failure(f"no seed takes {self.untaken()}")

    # ---- real runs

    def write(self, program, words, number):
        """Run a program. @return the files that its nodes have written"""
        folder = os.path.join(self.folder, f"steps{number}")
        os.mkdir(folder)
        path, *arguments = program
        if "random" in path:
            arguments += ["-s", self.options.seed + number]
        job = self.members.start(
            words[0], (os.path.join(self.options.build, path), *arguments),
            *words[1:], *self.words,
            TEAMSTER_TEST_STEPS=folder)
        job.expect_success()
        return job, [os.path.join(folder, name)
                     for name in sorted(os.listdir(folder))]

    def check(self, files, *words):
        """@return exit code, output"""
        done = subprocess.run(
            [self.members.path("tests", "steps", "steps_check"), *words, *files],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            check=False)
        return done.returncode, done.stdout

    def real(self):
        for number, (program, words) in enumerate(self.runs):
            job, files = self.write(program, words, number)
            code, verdict = self.check(files)
            match = RESULT.search(verdict)
            if code != 0 or not match:
                job.fail(f"exit code {code} of the check: {verdict[:4000]}")
            if len(files) < words[0] or int(match.group(1)) == 0:
                job.fail(f"steps of {len(files)} nodes only: {match.group()}")
            print(f"{program[0]}: {match.group()}", flush=True)
            self.add(verdict)
        self.say_untaken()

    def altered(self):
        job, files = self.write(*self.runs[0], 0)
        for number in (1, 20, 300):
            code, verdict = self.check(files, f"--alter={number}")
            if code != 1 or "no row of its table fits" not in verdict:
                job.fail(f"step {number} was altered; exit code {code}: "
                         f"{verdict[:4000]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--protocol", required=True)
    parser.add_argument("--seed", type=int, default=1)
    sys.exit(jobs.main(Tests, parser, ("taken", "real", "altered")))
