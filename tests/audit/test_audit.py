#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs are recorded, access by access, and each read is judged (judge.c).

    test_audit.py TEST --build DIR [--seeds SEED,...] [--minutes M]

Tests: apps, calls; litmus and random, with seeds as test_random.py takes them, and app, one
application each; altered, which alters a value that a run has read and wants the judge
to see it.
"""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "../cluster"))
import jobs  # noqa: E402
import test_random  # noqa: E402

APPS = {
    "jacobi": ("--size", 64, "--iterations", 6),
    "sor": ("--size", 64, "--iterations", 6),
    "matmul": ("--size", 40, "--iterations", 2),
    "gauss": ("--size", 60),
    "nbody": ("--size", 96, "--iterations", 3),
    "motion": ("--size", 64, "--range", 2, "--iterations", 3),
    "vq": ("--size", 64, "--codebook", 16, "--iterations", 6),
    "layers": ("--size", 16, "--iterations", 6),
}
MODES = ("mutex", "one-mutex", "atomic", "semaphore", "condition", "barrier",
         "iteration", "relaxed", "seq-cst")
SOURCES = ("userfaultfd", "mprotect")
# Of a program's reads at most so many may be left unjudged: of words that atomic
# functions use at a time.
MOST_UNJUDGED = 0.01
RESULT = re.compile(r"audit: (\d+) reads, (\d+) not judged .*, (\d+) writes "
                    r"\((\d+) race\), (\d+) events, (\d+) wrong reads; "
                    r"([0-9.]+) million a second")


class Tests(test_random.Tests):
    def __init__(self, options, folder):
        super().__init__(options, folder)
        self.logs = os.path.join(folder, "audit")
        self.n_accesses = 0

    def program(self, name):
        return self.members.path("tests", "audit", f"audited_{name}")

    def launch(self, n_nodes, name, arguments, *words, **variables):
        """Start a program that is recorded."""
        shutil.rmtree(self.logs, ignore_errors=True)
        os.mkdir(self.logs)
        return self.members.start(n_nodes, (self.program(name), *arguments),
                                  *words, TM_AUDIT=self.logs, **variables)

    def check(self, name, *words):
        """@return exit code, output"""
        done = subprocess.run(
            [self.members.path("tests", "audit", "audit_check"),
             f"--program={self.program(name)}", *words, self.logs], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout

    def expect_right(self, job, name, may_be_unjudged=False):
        code, verdict = self.check(name)
        match = RESULT.search(verdict)
        if code != 0 or not match:
            job.fail(f"exit code {code} of the audit: {verdict}")
        n_reads, n_unjudged, n_writes, n_wild = map(int, match.groups()[:4])
        if n_reads == 0 or n_writes == 0:
            job.fail(f"nothing was recorded: {verdict}")
        if not may_be_unjudged and (n_wild > 0 or
                                    n_unjudged > MOST_UNJUDGED * n_reads):
            job.fail(f"too little is judged: {verdict}")
        self.n_accesses += n_reads + n_writes
        print(f"{name}: {verdict}", end="", flush=True)

    # ---- random programs: hooks of test_random

    def start(self, case):
        self.name = case.program
        return self.launch(case.n_nodes, case.program,
                           (*case.arguments, "-f", 5), *self.words(case))

    def look_at(self, job, output):
        super().look_at(job, output)
        self.expect_right(job, self.name)

    def run(self, seed):
        try:
            return super().run(seed)
        except jobs.Failure as failure:
            verdict = self.check(self.name)[1]
            raise jobs.Failure(f"{failure}\n{verdict}") from None

    # ---- tests

    def apps(self):
        for i, (name, arguments) in enumerate(APPS.items()):
            for k, protocol in enumerate(jobs.PROTOCOLS):
                job = self.launch(
                    2 + (i + k) % 3, name,
                    (*arguments, "--threads", 6, "--verify"), "-w", 1 + i % 2,
                    "-p", protocol, "--shuffle", 1 + i)
                output = job.expect_success()
                if "result: identical" not in output:
                    job.fail("not verified", output)
                self.expect_right(job, name)

    def app(self):
        """One application, on any number of nodes."""
        for seed in self.seeds():
            print(f"seed {seed}", flush=True)
            dice = random.Random(seed)
            name = dice.choice(sorted(APPS))
            words = ["-w", dice.choice((1, 2)), "-p", dice.choice(jobs.PROTOCOLS),
                     f"--fault-source={dice.choice(SOURCES)}"]
            if dice.random() < 0.5:
                words += ["--shuffle", 1 + dice.randrange(1000)]
            job = self.launch(
                1 + dice.randrange(8), name,
                (*APPS[name], "--threads", 1 + dice.randrange(12), "--init",
                 dice.choice(("threads", "root")), "--verify"), *words)
            if "result: identical" not in job.expect_success():
                job.fail("not verified")
            self.expect_right(job, name)

    def litmus(self):
        for seed in self.seeds():
            print(f"seed {seed}", flush=True)
            self.litmus_once(seed)
            if not self.options.seeds:
                return

    def litmus_once(self, seed):
        for i, mode in enumerate(MODES):
            job = self.launch(
                2 + i % 3, "litmus", ("-m", mode, "-s", seed, "-r", 1),
                "-w", 1, "-p", jobs.PROTOCOLS[(i + seed) % len(jobs.PROTOCOLS)])
            job.expect_success()
            self.expect_right(job, "litmus", may_be_unjudged=mode in (
                "atomic", "relaxed", "seq-cst"))

    def calls(self):
        """What ports of POSIX programs call is recorded, too."""
        for i, test in enumerate(("times", "races", "kinds", "ends",
                                  "book", "first", "own",
                                  "blocks")):
            job = self.launch(2 + i % 2, "posix", (test,), "-w", 2)
            job.expect_success()
            self.expect_right(job, "posix")

    def altered(self):
        """Wherever a read gives another value, it is told."""
        dice = random.Random(1)
        job = self.launch(3, "random_program", ("-s", 3, "-f", 4), "-w", 2)
        job.expect_success()
        self.expect_right(job, "random_program")
        n_reads = int(RESULT.search(self.check("random_program")[1]).group(1))
        n_found = 0
        n_tries = 10
        for _ in range(n_tries):
            number = dice.randint(1, n_reads)
            code, verdict = self.check("random_program", f"--alter={number}")
            n_found += code == 1 and " 1 wrong reads" in verdict and bool(
                re.search(r"WRONG READ: thread \d+, \w+[.][ch]:\d+, reads", verdict))
        if n_found < n_tries - 1:  # one may be of those that are not judged
            job.fail(f"{n_found} of {n_tries} altered reads were found")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("test", choices=("apps", "app", "litmus", "calls",
                                         "random", "altered"))
    test_random.add_options(parser)
    options = parser.parse_args()
    options.words = [options.test]
    return jobs.run_test(options.test, lambda folder: getattr(
        Tests(options, folder), options.test)())


if __name__ == "__main__":
    sys.exit(main())
