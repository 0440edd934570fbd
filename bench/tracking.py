#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What tracking an iteration costs: how long it takes against those around it, and
whether the one after it is as fast as any.

    tracking.py --build DIR [--size N] [--runs R]

Of each run every tenth iteration is tracked; the rows are over all of them.
Times are ms, median and quartiles; a ratio is that of a tracked iteration, or the
one behind it, to the median of the others of the same run.
"""
import argparse
import os
import re
import statistics
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing is left in the sources
import measure  # noqa: E402

EVERY = 10
N_ITERATIONS = 80


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


class Times:
    """Iterations of runs of one kind."""

    def __init__(self):
        self.tracked, self.after, self.others = [], [], []
        self.tracked_ratios, self.after_ratios = [], []

    def add(self, iterations):
        """One run; it may take an iteration more until tracking begins."""
        at = {max(range(max(near - 1, 1), min(near + 2, len(iterations) + 1)),
                  key=lambda i: iterations[i - 1]) for near in range(EVERY, len(iterations), EVERY)}
        after = {i + 1 for i in at}
        others = [time for i, time in enumerate(iterations, 1)
                  if i > 5 and i not in at and i not in after]
        usual = statistics.median(others)
        self.others += others
        for i in sorted(at):
            self.tracked.append(iterations[i - 1])
            self.tracked_ratios.append(iterations[i - 1] / usual)
        for i in sorted(after):
            if i <= len(iterations):
                self.after.append(iterations[i - 1])
                self.after_ratios.append(iterations[i - 1] / usual)


def run_tracked(build, app, size, n_nodes, source, file=""):
    return measure.run(
        [f"{build}/cli/teamster", "run", "-n", str(n_nodes), "-w", "1",
         "--fault-source", source, "--track", f"/{EVERY}{file}",
         f"{build}/apps/{app}", "--size", str(size), "--iterations",
         str(N_ITERATIONS), "--threads", "8", "--report"])


def count_touches(*run):
    """Accesses that are caught, in each round on each node."""
    with tempfile.TemporaryDirectory() as folder:
        sets = os.path.join(folder, "sets")
        run_tracked(*run, file=":" + sets)
        with open(sets, encoding="utf-8") as file:
            return [int(n) for n in
                    re.findall(r"(\d+) accesses caught", file.read())]


def time_iterations(times, *run):
    """Without a file, since writing it takes time that belongs to no program."""
    output = run_tracked(*run)
    times.add([float(time) for time in
               re.findall(r"^iteration \d+: ([\d.]+) ms", output, re.M)])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    print("| program, nodes, source | others | tracked | ratio | after | ratio "
          "| caught, a node | us each |\n|---|---|---|---|---|---|---|---|")
    for app in ("sor", "jacobi"):
        for n_nodes in (1, 2):
            for source in ("userfaultfd", "mprotect"):
                times = Times()
                run = options.build, app, options.size, n_nodes, source
                for _ in range(options.runs):
                    time_iterations(times, *run)
                caught = statistics.median(count_touches(*run))
                extra = (statistics.median(times.tracked) -
                         statistics.median(times.others))
                print(f"| {app}, {n_nodes}, {source} "
                      f"| {quartiles(times.others)} "
                      f"| {quartiles(times.tracked)} "
                      f"| {quartiles(times.tracked_ratios)} "
                      f"| {quartiles(times.after)} "
                      f"| {quartiles(times.after_ratios)} "
                      f"| {caught:.0f} | {1000 * extra / caught:.1f} |",
                      flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
