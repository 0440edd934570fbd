#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A neural network that is larger than any node's memory: who decides where its layers lie?

    layers.py --build DIR [--swap-dir DIR] [--runs R] [--size N] [--effort E]
              [--tries N] [--ratio F]

Four emulated nodes of equal speed, one worker each, with memory as 2.4 : 4.1 : 9.7 : 1.9,
in all F times the data of `layers` (1.15); 32 threads, one for each layer, which are of
unequal size. Each time is the median of R runs, each the mean of the last half of its
iterations, with the smallest and the largest run:

  default   the policy that a run has if nothing is said, from its first mapping on
  best      the best counts of threads found by trying neighbours, in N short runs, first
            of those that the default ended with, and of shares by memory
  equal     eight threads on each node
  kernel    one process with the memory of the largest node: the kernel pages, to a swap
            file in the same folder, as it does without Teamster

The last one needs root and memory control groups; else it is left out, and it is said why.
Exit code 1 if a run failed, but for those that the kernel killed for want of memory.
"""
import argparse
import itertools
import os
import re
import statistics
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing is left in the sources
import kernel_swap  # noqa: E402
import measure  # noqa: E402

GIB = (2.4, 4.1, 9.7, 1.9)
N_THREADS = 32
SHARE = 0.2  # of a processor, for each node
MIB = 1 << 20
MEAN_LINE = re.compile(r"iteration_ms=([\d.]+)")
NODE_LINE = re.compile(r"^ +\d+ +(\d+) +\d+ +[\d.]+ +\d+ +\d+ +\d+$", re.M)
DATA_LINE = re.compile(r"--size \d+ +([\d.]+) MiB  \(the default\)")
DEFAULT_SIZE = 1024


def by_memory():
    """So many threads for each node, in proportion to its memory."""
    shares = [N_THREADS * gib / sum(GIB) for gib in GIB]
    counts = [int(share) for share in shares]
    order = sorted(range(4), key=lambda i: counts[i] - shares[i])
    for i in order[:N_THREADS - sum(counts)]:
        counts[i] += 1
    return tuple(counts)


def neighbours(counts):
    """Those with one thread elsewhere, or two."""
    for n, (source, target) in itertools.product((1, 2), itertools.permutations(range(4), 2)):
        if counts[source] > n:
            changed = list(counts)
            changed[source] -= n
            changed[target] += n
            yield tuple(changed)


class Layers:
    def __init__(self, options, folder):
        self.options = options
        self.folder = os.path.abspath(folder)
        self.app = os.path.abspath(f"{options.build}/apps/layers")
        at_default = float(measure.find(DATA_LINE, measure.run([self.app, "--help"]), ["layers"]))
        self.data = int(at_default * MIB * (options.size / DEFAULT_SIZE) ** 2)
        self.memory = [int(self.data * options.ratio * gib / sum(GIB)) for gib in GIB]
        self.hosts = os.path.join(self.folder, "hosts")
        with open(self.hosts, "w", encoding="ascii") as file:
            for i, size in enumerate(self.memory):
                file.write(f"n{i} speed=500 workers=1 memory={size}\n")

    def command(self, n_iterations, *arguments):
        return [os.path.abspath(f"{self.options.build}/cli/teamster"), "run",
                "--swap-dir", self.folder, *map(str, arguments), self.app,
                "--size", str(self.options.size), "--effort", str(self.options.effort),
                "--threads", str(N_THREADS), "--iterations", str(n_iterations), "--time",
                "--stats"]

    def on_four(self, n_iterations, *arguments):
        """Milliseconds of an iteration, and how many threads each node has in the end."""
        command = self.command(n_iterations, "--hostfile", self.hosts, "--emulate",
                               "--share", SHARE, *arguments)
        output = measure.run(command, timeout_s=600)
        counts = tuple(map(int, NODE_LINE.findall(output)))
        return float(measure.find(MEAN_LINE, output, command)), counts

    def with_counts(self, counts, n_iterations):
        return self.on_four(n_iterations, "--counts", ",".join(map(str, counts)))[0]

    def search(self, *starts):
        """The best counts that a few short runs find."""
        known = {}

        def time_of(counts):
            if counts not in known and len(known) < self.options.tries:
                known[counts] = self.with_counts(counts, 12)
                print(f"    {counts}: {known[counts]:.1f} ms", file=sys.stderr, flush=True)
            return known.get(counts, float("inf"))

        best = min(starts, key=time_of)
        while len(known) < self.options.tries:
            better = next((counts for counts in neighbours(best)
                           if time_of(counts) < 0.98 * time_of(best)), None)
            if better is None:
                break
            best = better
        return min(known, key=known.get)


class Kernel:
    """One process in a memory control group."""

    def __init__(self, layers):
        self.layers = layers
        self.group = kernel_swap.KernelSwap(layers.folder)
        self.besides = self.group.most_of(lambda: self.run(2)) - layers.data

    def run(self, n_iterations):
        command = self.group.command(self.layers.command(
            n_iterations, "-n", 1, "-w", 1, "--policy", "none", "--emulate", "--hostfile",
            self.one_host(), "--share", SHARE, "--memory-by", "kernel-plain"))
        return float(measure.find(MEAN_LINE, measure.run(command, timeout_s=600), command))

    def one_host(self):
        path = os.path.join(self.layers.folder, "host")
        with open(path, "w", encoding="ascii") as file:
            file.write("n2 speed=500 workers=1\n")
        return path

    def time(self):
        self.group.set_limit(max(self.layers.memory) + max(self.besides, 0))
        return kernel_swap.until_not_killed(lambda: self.run(4), measure.Failure)


def report(name, times, counts, best):
    median = statistics.median(times)
    print(f"| {name} | {counts} | {median:.1f} ({min(times):.1f} to {max(times):.1f}) | "
          f"{median / best:.2f} |", flush=True)


def measure_ways(layers, kernel, options):
    _, ended = layers.on_four(60)
    best = layers.search(ended, by_memory())
    ways = {"default": [], "best": [], "equal": [], "kernel": []}
    for _ in range(options.runs):  # in turn: see measure.py
        time, ended = layers.on_four(60)
        ways["default"].append(time)
        ways["best"].append(layers.with_counts(best, 40))
        ways["equal"].append(layers.with_counts((8, 8, 8, 8), 12))
        if kernel is not None:
            ways["kernel"].append(kernel.time())
    least = statistics.median(ways["best"])
    texts = {"default": ended, "best": best, "equal": (8, 8, 8, 8), "kernel": "32 on one"}
    for name, times in ways.items():
        if times:
            report(name, times, texts[name], least)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--swap-dir", default=None)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--size", type=int, default=DEFAULT_SIZE)
    parser.add_argument("--effort", type=int, default=8)
    parser.add_argument("--tries", type=int, default=24)
    parser.add_argument("--ratio", type=float, default=1.15)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(dir=options.swap_dir) as folder:
        layers = Layers(options, folder)
        print(f"layers, {layers.data / MIB:.1f} MiB; nodes of "
              f"{', '.join(f'{size / MIB:.1f}' for size in layers.memory)} MiB\n\n"
              "| way | threads | ms an iteration | to best |\n|---|---|---|---|", flush=True)
        kernel = None
        try:
            kernel = Kernel(layers)
        except kernel_swap.NotHere as reason:
            print(f"without the kernel: {reason}", file=sys.stderr)
        try:
            measure_ways(layers, kernel, options)
        except (measure.Failure, kernel_swap.Killed) as failure:
            print(failure, file=sys.stderr)
            return 1
        finally:
            if kernel is not None:
                kernel.group.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
