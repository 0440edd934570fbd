#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Applications in random surroundings, against their sequential versions: one seed
draws the application, its sizes and all that it runs with, as in test_random.py.

    test_random_apps.py --build DIR --seeds SEED,...     these
    test_random_apps.py --build DIR --minutes M          new ones, until the time is over

Each run is checked twice: by the program (--verify), and by its checksum against that
of `--sequential` in a process of its own.
"""
import argparse
import os
import re
import subprocess
import sys

import jobs
import test_members
import test_paging
import test_random

# So many times as long, for nodes to come and go, and for policies to move threads.
LONGER = {"jacobi": 20, "sor": 20, "matmul": 40, "motion": 8, "vq": 10}
IDENTICAL = test_members.IDENTICAL


class Case(test_random.Case):
    budgets = None  # of a node, of which one is drawn

    def __init__(self, seed, tests):
        self.is_short = False
        super().__init__(seed, tests)
        dice = self.chance
        self.program = dice.choice(sorted(test_paging.APPS))
        sizes, budgets = test_paging.APPS[self.program]
        if self.is_short:
            self.words += ["--memory=" + dice.choice(budgets)]
        self.sizes = list(map(str, sizes))
        self.draw_sizes(dice)
        self.arguments = [*self.sizes, "--threads", 1 + dice.randrange(12)]
        if dice.random() < 0.3:
            self.arguments += ["--uneven", 1 + dice.randrange(4)]
        if dice.random() < 0.3:
            self.arguments += ["--init", "root"]
        self.arguments += ["--verify"]

    def draw_memory(self, dice, tests, n_workers, is_pressed):
        self.is_short = True

    def draw_sizes(self, dice):
        """Odd ones, so that parts of threads end within pages."""
        if self.program in ("jacobi", "sor", "gauss"):
            self.sizes[1] = str(int(self.sizes[1]) - dice.randrange(60))
        is_long = self.has_members or dice.random() < 0.3
        if is_long and self.program in LONGER:
            self.sizes[-1] = str(int(self.sizes[-1]) * LONGER[self.program])


class Tests(test_random.Tests):
    new_case = Case
    sign = None
    deadline_s = 4 * jobs.DEADLINE_S

    def program_of(self, case):
        return self.members.path("apps", case.program)

    def look_at(self, job, output):
        if IDENTICAL not in output:
            job.fail("the result differs", output)
        found = re.findall(r"checksum: ([0-9a-f]{16})", output)
        alone = subprocess.run(
            [self.program_of(self.case), *map(str, self.case.arguments),
             "--sequential"], text=True, capture_output=True, check=False,
            timeout=self.deadline_s, env=jobs.environment())
        if alone.returncode != 0 or len(found) != 1 or (
                f"checksum: {found[0]}" not in alone.stdout):
            job.fail(f"checksum {found}, alone {alone.returncode}: "
                     f"{alone.stdout}{alone.stderr}", output)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    test_random.add_options(parser)
    options = parser.parse_args()
    return jobs.run_test("random applications",
                         lambda folder: Tests(options, folder).random())


if __name__ == "__main__":
    sys.exit(main())
