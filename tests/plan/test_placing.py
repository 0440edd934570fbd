#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How long `cpu-mem` takes for a mapping, in predictions of one.

usage: test_placing.py MICRO_PLACE

The aims are 1 ms for 512 threads on 16 nodes and 1 s for a million on 4096, where one
prediction takes 0.02 ms and 0.1 s (docs/mapping.md). How fast this machine is and what
else it does makes both longer, so predictions are what is counted in: twice as many as
the aims leave room for. (Where all threads use all pages, reading who uses what is most of it.)
"""
import re
import subprocess
import sys

N_TRIES = 3
# Nodes, threads, how they share; the most that a mapping may take.
CASES = ((16, 512, "chain", 40), (16, 512, "unlike", 100),
         (16, 512, "scattered", 40), (16, 512, "grid", 100),
         (16, 512, "all", 8), (4096, 1000000, "chain", 20))


def predictions(program, *arguments):
    """What cpu-mem takes, as a multiple of one prediction."""
    output = subprocess.run(
        [program, *map(str, arguments)], check=True, text=True,
        stdout=subprocess.PIPE).stdout
    times = dict(re.findall(r"^  (\S+) +([\d.]+) ms", output, re.M))
    return float(times["cpu-mem"]) / float(times["predict"])


def main():
    program = sys.argv[1]
    slow = []
    for *case, most in CASES:
        for _ in range(N_TRIES):
            found = predictions(program, *case)
            if found <= most:
                break
        print(f"{case}: {found:.1f} predictions, {most} at most", flush=True)
        if found > most:
            slow.append(case)
    sys.exit(f"too slow: {slow}" if slow else 0)


if __name__ == "__main__":
    main()
