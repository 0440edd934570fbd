#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random programs in random surroundings: one seed draws the program
(random_program.c, random_wide.c) and all that it runs with.

    test_random.py --build DIR --seeds SEED,...     these
    test_random.py --build DIR --minutes M          new ones, until the time is over

Each seed is printed before it runs, with what it stands for. What a failure prints
begins with the line that repeats it.
"""
import argparse
import os
import random
import re
import secrets
import shlex
import sys
import tempfile
import time

import jobs
import test_members

NODES = (1, 2, 2, 3, 3, 4, 5, 8)  # more than there are processors, too
POLICIES = ("cpu-mem",) * 6 + ("cpu", "mem", "mem-share", "liang03", "cvm",
                               "jiajia", "cohesion", "gate", "waterfill",
                               "fpm", "halda", "ccm", "peris", "optimal")
WORKING_SETS = (1, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20)  # of what a run needs at least


class Case:
    """What a seed stands for."""

    def __init__(self, seed, tests):
        dice = random.Random(seed)
        self.seed = seed
        self.chance = dice
        self.n_nodes = dice.choice(NODES)
        self.has_members = dice.random() < 0.2
        self.speeds = None  # of emulated nodes, if these are unlike
        if self.has_members:
            self.n_nodes = min(self.n_nodes, 3)
        is_pressed = dice.random() < 0.25
        n_workers = 2 if is_pressed else dice.choice((1, 2))
        self.n_workers = n_workers
        protocol = dice.choice(("eager-release", *jobs.PROTOCOLS))
        source = dice.choice(("userfaultfd", "mprotect"))
        self.words = ["-w", n_workers, "-p", protocol,
                      f"--fault-source={source}"]
        self.program = dice.choice(("random_globals", "random_globals",
                                    "random_program"))
        if is_pressed or dice.random() < 0.3:
            self.draw_memory(dice, tests, n_workers, is_pressed)
        self.draw_placement(dice, is_pressed)
        if protocol == "eager-release" and dice.random() < 0.15:
            self.words += ["--race-check", "--strict"]
        self.arguments = ["-w", "-s", seed]
        if self.has_members:
            self.arguments += ["-m"]
        if seed % 4 == 3:
            self.arguments += ["-b"]
        if dice.random() < 0.3:
            self.arguments += ["-t", self.n_nodes * n_workers]

    def draw_memory(self, dice, tests, n_workers, is_pressed):
        self.program = "random_program"
        sets = dice.choice(WORKING_SETS[:4] if is_pressed else WORKING_SETS)
        kib = int(tests.least_kib(n_workers) * sets) + 4 * dice.randrange(8)
        self.words += [f"--memory={kib}K"]

    def draw_placement(self, dice, is_pressed):
        """Threads stay, or go where a policy says, or anywhere."""
        kind = dice.random()
        is_decided = kind > (0.2 if is_pressed else 0.4)
        policy = dice.choice(POLICIES) if is_decided else "none"
        self.words += [f"--policy={policy}"]
        if kind < 0.3:
            self.words += [f"--shuffle={1 + dice.randrange(1000)}"]
        if is_decided and dice.random() < 0.3:
            self.words += ["--move-at=barriers"]
        if is_decided and not self.has_members and dice.random() < 0.4:
            self.speeds = [dice.choice((100, 300, 500))
                           for _ in range(self.n_nodes)]
        if dice.random() < 0.15:
            self.words += [f"--track=/{3 + dice.randrange(4)}:{os.devnull}"]

    def __str__(self):
        more = ", nodes come and go" if self.has_members else ""
        if self.speeds:
            more += f", speeds {','.join(map(str, self.speeds))}"
        return (f"seed {self.seed}: -n {self.n_nodes} "
                f"{' '.join(map(str, self.words))} {self.program} "
                f"{' '.join(map(str, self.arguments))}{more}")


class Tests:
    new_case = Case
    sign = "goes on: phase"  # of a run that takes long
    deadline_s = jobs.DEADLINE_S  # for a sign, or the end

    def __init__(self, options, folder):
        self.options = options
        self.case = None
        self.members = test_members.Members(options, folder)
        self.hostfile = os.path.join(folder, "hosts")
        self.least = {}

    def least_kib(self, n_workers):
        """The smallest budget that the program is started with."""
        if n_workers not in self.least:
            job = jobs.Job(self.members.path("cli", "teamster"), [
                "-n", 1, "-w", n_workers, "--memory=64K",
                self.members.path("tests", "cluster", "random_program")])
            code, output = job.finish()
            match = re.search(r"needs (\d+) KiB at least", output)
            if code != jobs.CONFIGURATION or not match:
                job.fail(f"exit code {code}: how little is too little?", output)
            self.least[n_workers] = int(match.group(1))
        return self.least[n_workers]

    def program_of(self, case):
        return self.members.path("tests", "cluster", case.program)

    def start(self, case):
        return self.members.start(
            case.n_nodes, (self.program_of(case), *case.arguments),
            *self.words(case))

    def words(self, case):
        """Options of a run, with what they name."""
        if not case.speeds:
            return case.words
        with open(self.hostfile, "w", encoding="ascii") as file:
            for i, speed in enumerate(case.speeds):
                print(f"n{i} workers={case.n_workers} speed={speed}",
                      file=file)
        return [*case.words, "--emulate", f"--hostfile={self.hostfile}"]

    def look_at(self, job, output):
        """A run that has ended well."""
        if "checksum: " not in output:
            job.fail("no checksum", output)

    def run(self, seed):
        """@return how many nodes came or went"""
        self.case = case = self.new_case(seed, self)
        print(case, flush=True)
        n_changes = 0
        try:
            job = self.start(case)
            if case.has_members:
                n_changes = self.members.change_at_random(job, case.n_nodes,
                                                          case.chance)
            self.look_at(job, job.expect_success(self.deadline_s,
                                                    self.sign))
        except jobs.Failure as failure:
            repeat = shlex.join([sys.argv[0], *self.options.words, "--build",
                                 self.options.build, "--seeds", str(seed)])
            raise jobs.Failure(f"repeat with: {repeat}\n{failure}") from None
        return n_changes

    def seeds(self):
        if self.options.seeds:
            yield from map(int, self.options.seeds.split(","))
            return
        end_s = time.monotonic() + 60 * self.options.minutes
        while time.monotonic() < end_s:
            yield secrets.randbelow(1 << 32)

    def random(self):
        n_runs = n_changes = 0
        failures = []
        for seed in self.seeds():
            n_runs += 1
            try:
                n_changes += self.run(seed)
            except jobs.Failure as failure:
                print(failure, flush=True)
                failures.append(str(seed))
                if not self.options.go_on:
                    break
        print(f"{n_runs} programs, {n_changes} changes of the nodes, "
              f"{len(failures)} failures: {','.join(failures) or 'none'}")
        if failures:
            raise jobs.Failure(f"seeds {','.join(failures)}")


def add_options(parser):
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--seeds")
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--go-on", action="store_true",
                        help="after a failure, too")
    parser.set_defaults(words=[])  # of the command that repeats a seed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    options = parser.parse_args()
    return jobs.run_test("random",
                         lambda folder: Tests(options, folder).random())


if __name__ == "__main__":
    sys.exit(main())
