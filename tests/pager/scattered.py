#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Page-ins of writes that are scattered, and how many there must be.

    scattered.py [--build DIR]

tests/cluster/radix.c sorts N_KEYS keys on three nodes of one thread each. Which pages a
thread uses, in which order, follows from the keys; for each budget that gives
  least  Belady's number, if nothing but the pages themselves took memory
  lru    least recently used goes, and a page that is written takes two (its twin)
of one node, the mean of the three. With a build folder the sort is run, too, with
each protocol: page-ins of a node, without those that were read ahead.
The table is in docs/paging.md.
"""
import argparse
import collections
import heapq
import os
import re
import subprocess
import sys

sys.path.insert(1, os.path.join(os.path.dirname(__file__), "..", "cluster"))
from jobs import PROTOCOLS, environment  # noqa: E402

N_KEYS, N_NODES, N_PASSES = 61440, 3, 2
BITS = 8
A_PAGE = 1024  # keys
BUDGETS = (144, 240, 288, 400, 1024)  # KiB
WORD = (1 << 64) - 1


def mix(a, b):
    """As in tests/cluster/program.h."""
    z = (a * 0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019) & WORD
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & WORD
    z = (z ^ z >> 27) * 0x94d049bb133111eb & WORD
    return z ^ z >> 31


def traces():
    """Of each thread: (page, is written)."""
    found = [[] for _ in range(N_NODES)]
    keys = [mix(1, i) & 0xffff for i in range(N_KEYS)]
    n_pages = N_KEYS // A_PAGE
    for n in range(N_PASSES):
        source, target = n % 2 * n_pages, (1 - n % 2) * n_pages
        order = sorted(range(N_KEYS),
                       key=lambda i, shift=n * BITS: keys[i] >> shift & 255)
        places = {i: place for place, i in enumerate(order)}
        for thread, trace in enumerate(found):
            part = range(N_KEYS * thread // N_NODES,
                         N_KEYS * (thread + 1) // N_NODES)
            trace += [(source + i // A_PAGE, False) for i in part]
            for i in part:
                trace.append((source + i // A_PAGE, False))
                trace.append((target + places[i] // A_PAGE, True))
        keys = [keys[i] for i in order]
    return found


def least(trace, memory):
    next_use, after = [0] * len(trace), {}
    for i in range(len(trace) - 1, -1, -1):
        next_use[i] = after.get(trace[i][0], len(trace) + i)
        after[trace[i][0]] = i
    resident, heap, n_in = {}, [], 0
    for i, (page, _) in enumerate(trace):
        if page not in resident:
            n_in += 1
            while len(resident) >= memory:
                use, victim = heapq.heappop(heap)
                if resident.get(victim) == -use:
                    del resident[victim]
        resident[page] = next_use[i]
        heapq.heappush(heap, (-next_use[i], page))
    return n_in


def lru(trace, memory):
    sizes, used, n_in = collections.OrderedDict(), 0, 0
    for page, is_written in trace:
        before = sizes.pop(page, 0)
        sizes[page] = max(before, 1 + is_written)
        used += sizes[page] - before
        n_in += before == 0
        while used > memory:
            used -= sizes.popitem(last=False)[1]
    return n_in


def measured(build, protocol, kib):
    done = subprocess.run(
        [os.path.join(build, "cli", "teamster"), "run", "-n", str(N_NODES),
         "-w", "1", "-p", protocol, f"--memory={kib}K", "--verbose",
         os.path.join(build, "tests", "cluster", "radix"), str(N_NODES),
         str(N_KEYS)], env=environment({"TEAMSTER_POLICY": "none"}),
        capture_output=True, text=True, timeout=600, check=True)
    found = re.findall(r"memory: .*; in (\d+) \(ahead (\d+)", done.stderr)
    return sum(int(n) - int(ahead) for n, ahead in found) // N_NODES


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=os.path.abspath)
    build = parser.parse_args().build
    all_traces = traces()
    print("| KiB | least | lru |", *(f"{name} |" for name in PROTOCOLS))
    for kib in BUDGETS:
        row = [sum(rule(trace, kib // 4) for trace in all_traces) // N_NODES
               for rule in (least, lru)]
        if build:
            row += [measured(build, protocol, kib) for protocol in PROTOCOLS]
        print(f"| {kib} | " + " | ".join(f"{n:,}" for n in row) + " |",
              flush=True)


if __name__ == "__main__":
    sys.exit(main())
