#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the scheme costs a program in balance: many short runs with cpu-mem and with
initial in turn, on two equal nodes, and the time that the root counts for collecting.

    scheme_cost.py --build DIR [--pairs N] [--iterations K] [--size S]
                   [--effort E] [APP ...]

Runs are short, so that the two of a pair find the machine alike; it takes a thousand
pairs to tell a ratio to half a percent. A ratio is the mean of the pairs' ratios (of
their logarithms), of the mean time of an iteration in the whole run but the first five,
with its 95 % interval; pairs that are off by more than a third were disturbed, are left
out and counted. The quiet ratio is that of the lower quartile of the runs' lower
quartiles of iterations, which others on the machine disturb least; its interval is
drawn from the runs (bootstrap).
"""
import argparse
import math
import os
import random
import re
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True  # nothing is left in the sources
import measure  # noqa: E402
sys.path.insert(1, os.path.join(os.path.dirname(__file__), "..", "tools"))
from experiment import output  # noqa: E402

DISTURBED = math.log(4 / 3)
POLICIES = ("cpu-mem", "initial")
N_DRAWS = 2000


class Runs:
    def __init__(self, options, app, environment):
        self.environment = environment
        self.command = [
            os.path.join(options.build, "cli", "teamster"), "run", "-n", "2",
            "-w", "1", "--explain", os.path.join(options.build, "apps", app),
            "--size", str(options.size), "--effort", str(options.effort),
            "--threads", "16", "--iterations",
            str(options.iterations), "--report"]
        self.n_iterations = options.iterations
        self.quiet_ms = {policy: [] for policy in POLICIES}
        self.parts, self.n_tracked, self.n_moved = [], 0, 0

    def time_ms(self, policy):
        done = subprocess.run(
            self.command, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, check=True, timeout=300,
            env={**self.environment, "TEAMSTER_POLICY": policy})
        found = re.search(r"on the root, ([\d.]+) %", done.stdout)
        if found:
            self.parts.append(float(found.group(1)))
            counted = re.search(r"; (\d+) tracked.* (\d+) threads moved",
                                done.stdout)
            self.n_tracked += int(counted.group(1))
            self.n_moved += int(counted.group(2))
        self.quiet_ms[policy].append(output.quiet(
            output.iteration_times(done.stdout, 1, self.n_iterations)))
        return float(measure.find(measure.TIME_LINE, done.stdout,
                                  self.command))

    def pair(self, i):
        """@return logarithm of the ratio"""
        times = {}
        for policy in POLICIES[::1 if i % 2 == 0 else -1]:
            times[policy] = self.time_ms(policy)
        return math.log(times["cpu-mem"] / times["initial"])

    def quiet_ratio(self):
        """@return the ratio, and from where to where 95 % of draws have it"""
        def ratio(choose):
            found = [output.quiet(choose(self.quiet_ms[policy]))
                     for policy in POLICIES]
            return found[0] / found[1]

        draw = random.Random(1)
        drawn = sorted(ratio(lambda runs: draw.choices(runs, k=len(runs)))
                       for _ in range(N_DRAWS))
        return (ratio(lambda runs: runs), drawn[N_DRAWS // 40],
                drawn[-1 - N_DRAWS // 40])


def interval(logs):
    """@return the mean ratio, from where to where it is with 95 %, calm pairs"""
    calm = [log for log in logs if abs(log) < DISTURBED]
    if len(calm) < 2:
        raise measure.Failure("all pairs were disturbed")
    mean = statistics.mean(calm)
    error = 1.96 * statistics.stdev(calm) / math.sqrt(len(calm))
    return (math.exp(mean), math.exp(mean - error), math.exp(mean + error),
            len(calm))


def report(app, runs, logs):
    mean, low, high, n_calm = interval(logs)
    quiet, least, most = runs.quiet_ratio()
    print(f"| {app} | {quiet:.4f} | {least:.4f} to {most:.4f} "
          f"| {mean:.4f} | {low:.4f} to {high:.4f} "
          f"| {math.exp(statistics.median(logs)):.4f} | {n_calm} of "
          f"{len(logs)} | {statistics.median(runs.parts):.3f} % "
          f"| {runs.n_tracked} | {runs.n_moved} |", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--pairs", type=int, default=1200)
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--effort", type=int, default=1)
    parser.add_argument("apps", nargs="*", default=["jacobi", "sor"])
    return parser


def main():
    options = arguments().parse_args()
    print("| program | quiet ratio | 95 % | ratio | 95 % | median | pairs "
          "| collecting, root | tracked | moved |\n"
          "|---|---|---|---|---|---|---|---|---|---|", flush=True)
    runs = {app: Runs(options, app, os.environ) for app in options.apps}
    logs = {app: [] for app in options.apps}
    for i in range(options.pairs):
        for app in options.apps:
            logs[app].append(runs[app].pair(i))
    for app in options.apps:
        report(app, runs[app], logs[app])


if __name__ == "__main__":
    try:
        main()
    except measure.Failure as failure:
        sys.exit(f"scheme_cost.py: {failure}")
