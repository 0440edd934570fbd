#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What ways to share data cost under each protocol: messages and KB an operation.

Runs bench/patterns under every protocol and prints a table; the last columns say how
`adaptive` compares with the best of the others, each half of a run by itself. Counts, so
a busy machine does not matter much; medians of some runs. Exit code 1 if a run failed.
"""
import argparse
import os
import re
import statistics
import sys

sys.dont_write_bytecode = True  # nothing is left in the sources
import measure  # noqa: E402

PATTERNS = ("migratory", "dense", "bag", "objects", "false", "producer",
            "neighbours", "inherited")
PROTOCOLS = ("eager-release", "lazy-release", "homeless", "sequential", "adaptive")
LINE = re.compile(r"^(\S+) +(first|then) +([\d.]+) +([\d.]+) +([\d.]+) +"
                  r"([\d.]+) +([\d.]+)$", re.M)
HALVES = ("first", "then")


def counts(build, protocol, pattern, n_nodes, rounds):
    """(messages, KB, pages, diffs, faults) of both halves."""
    output = measure.run([os.path.join(build, "cli", "teamster"), "run", "-n",
                          str(n_nodes), "-w", "1", f"--protocol={protocol}",
                          os.path.join(build, "bench", "patterns"), pattern,
                          str(rounds)])
    return {half: tuple(map(float, numbers))
            for _, half, *numbers in LINE.findall(output)}


def median(build, protocol, pattern, n_nodes, arguments):
    runs = [counts(build, protocol, pattern, n_nodes, arguments.rounds)
            for _ in range(arguments.runs)]
    return {half: [statistics.median(run[half][i] for run in runs)
                   for i in range(5)] for half in HALVES}


def cell(numbers):
    return "{:.1f} / {:.1f}".format(*numbers[:2])


def ratio(found, half, i):
    best = min(found[protocol][half][i] for protocol in found
               if protocol != "adaptive")
    return f"{found['adaptive'][half][i] / best:.2f}"


def table(arguments):
    print("| pattern | nodes | rounds | "
          + " | ".join(arguments.protocols) + " | messages | KB |")
    print("|---" * (5 + len(arguments.protocols)) + "|")
    for pattern in arguments.patterns:
        for n_nodes in arguments.nodes:
            found = {protocol: median(arguments.build, protocol, pattern,
                                      n_nodes, arguments)
                     for protocol in arguments.protocols}
            for half in HALVES:
                ratios = (["", ""] if "adaptive" not in found or
                          len(found) == 1 else
                          [ratio(found, half, 0), ratio(found, half, 1)])
                print("| " + " | ".join(
                    [pattern, str(n_nodes), half,
                     *(cell(found[protocol][half]) for protocol in found),
                     *ratios]) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--nodes", type=int, nargs="+", default=[4, 8])
    parser.add_argument("--patterns", nargs="+", default=PATTERNS)
    parser.add_argument("--protocols", nargs="+", default=PROTOCOLS)
    try:
        table(parser.parse_args())
    except measure.Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
