#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Nodes die at any message: while the program runs, while a checkpoint is made or copied, and while the
run goes back after another death. It comes to what it would have come to.

    test_deaths.py anywhere --build DIR [--seed N] [--runs N]

Each run is drawn from its seed: nodes, where checkpoints are, how often they are made, the program, and at
the how-manieth message which node dies, at first and each time that the run has gone back.
"""
import argparse
import math
import random
import sys

import jobs
from test_buddies import Buddies
from test_recovery import BACK

DEATHS_MAX = 4
TRIES = 5  # more than there are deaths
MESSAGES_MAX = 6000


class Deaths(Buddies):
    def draw_number(self, most):
        """As many below ten as between ten and a hundred."""
        return int(math.exp(self.random.uniform(0, math.log(most))))

    def draw_places(self, n_nodes):
        """@return words for the launcher"""
        every = self.random.randrange(1, 12)
        if self.random.random() < 0.4:
            return ("-n", n_nodes, f"--checkpoint={self.folder},every={every}", f"--recover={TRIES}")
        hosts, left = [], n_nodes
        while left > 0:
            n = min(left, self.random.randrange(1, 3))
            hosts.append(f"{chr(ord('a') + len(hosts))}:{n}")
            left -= n
        return ("--ssh", self.ssh, "-H", ",".join(hosts), f"--buddy=every={every}", f"--recover={TRIES}")

    def draw_program(self):
        words = ["-t", self.random.randrange(2, 8), "-i", self.random.randrange(20, 150)]
        if self.random.random() < 0.5:
            words += ["-b", self.random.randrange(1, 300)]
        return words

    def die(self, seed):
        self.random = random.Random(seed)
        n_nodes = self.random.randrange(2, 6)
        program = self.draw_program()
        right = self.right(self.program("resumed", *program))
        deaths = [f"{self.random.randrange(n_nodes)}:{self.draw_number(MESSAGES_MAX)}"
                  for _ in range(self.random.randrange(1, DEATHS_MAX + 1))]
        pause = self.random.choice((0, 500, 2000))
        self.variables["TEAMSTER_TEST_DIE_AT"] = ",".join(deaths)
        job = jobs.Job(self.path("cli", "teamster"), [
            *self.draw_places(n_nodes), *self.draw_words(),
            *self.program("resumed", *program, "-p", pause)], self.variables)
        code, output = job.finish()
        del self.variables["TEAMSTER_TEST_DIE_AT"]
        if code != 0 or self.result(output) != right:
            job.fail(f"seed {seed}: exit code {code}", output)
        return len(BACK.findall(output)) + output.count("back to the beginning")

    def anywhere(self):
        n_back = sum(self.die(self.options.seed + i) for i in range(self.options.runs))
        print(f"{self.options.runs} runs, {n_back} times back")
        if self.options.runs > 2 and n_back == 0:
            raise jobs.Failure("nobody has died")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=1)
    return jobs.main(Deaths, parser)


if __name__ == "__main__":
    sys.exit(main())
