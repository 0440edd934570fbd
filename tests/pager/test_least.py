#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Real runs with too little memory page in little more than the least possible.

    test_least.py --build DIR

A run with ample memory is tracked: which pages each thread uses, in which order.
From that comes the trace of a node that runs its threads one after the other,
again and again, and for a number of pages of memory Belady's number: the fewest
that must come in in an iteration. It is compared with what comes in in an
iteration of a run with that memory, the difference of a long and a short run.
Memory of a few MiB only pages in more: what is read ahead, kept free, and may be
come back to is some 500 pages, or an eighth of less.
"""
import argparse
import heapq
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(1, os.path.join(os.path.dirname(__file__), "..", "cluster"))
from jobs import environment  # noqa: E402

N_THREADS = 8
SHORT, LONG = 20, 60  # iterations
MOST = 1.2            # times Belady's number
# How often an iteration goes over each thread's pages, and demand over memory.
CASES = (("jacobi", 1, 1.25), ("sor", 2, 1.6))
PAGE = 4096


def run(build, variables, *command):
    done = subprocess.run(
        [os.path.join(build, "cli", "teamster"), "run", "-n", "1", "-w", "1",
         *command], env=environment({"TEAMSTER_POLICY": "none", **variables}),
        capture_output=True, text=True,
        timeout=300, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit code {done.returncode}\n"
                             f"{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def app(build, name, iterations):
    return [os.path.join(build, "apps", name), "--size", "2048", "--threads",
            str(N_THREADS), "--iterations", str(iterations)]


def tracked_sets(build, name):
    """Of each thread: its pages in order of first use."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "sets")
        run(build, {"TEAMSTER_TRACK": f"6:{path}"}, *app(build, name, 10))
        with open(path, encoding="utf-8") as file:
            lines = file.readlines()
    sets = {}
    thread = None
    for line in lines:
        begin = re.match(r"thread (\d+) on node 0", line)
        use = re.match(r"  0x([0-9a-f]+) (\d+) ", line)
        if begin:
            thread = sets.setdefault(int(begin[1]), [])
        elif use:
            first = int(use[1], 16) // PAGE
            thread.extend(range(first, first + int(use[2])))
    assert len(sets) == N_THREADS, sorted(sets)
    return [sets[number] for number in sorted(sets)]


def belady(sweep, memory, n_warm=2, n_counted=3):
    """Page-ins of a sweep, on the average, with the best of all choices."""
    trace = sweep * (n_warm + n_counted)
    next_use = [0] * len(trace)
    after = {}
    for i in range(len(trace) - 1, -1, -1):
        next_use[i] = after.get(trace[i], len(trace))
        after[trace[i]] = i
    resident = {}  # page: its next use
    heap = []      # (-next use, page), entries may be old
    n_in = 0
    for i, page in enumerate(trace):
        if page not in resident:
            n_in += i >= n_warm * len(sweep)
            while len(resident) >= memory:
                use, victim = heapq.heappop(heap)
                if resident.get(victim) == -use:
                    del resident[victim]
        resident[page] = next_use[i]
        heapq.heappush(heap, (-next_use[i], page))
    return n_in / n_counted


def measured(build, name, memory):
    """Page-ins of an iteration."""
    n_in = {}
    for n in (SHORT, LONG):
        output = run(build, {"TEAMSTER_VERBOSE": "1",
                             "TEAMSTER_MEMORY": str(memory * PAGE)},
                     *app(build, name, n))
        n_in[n] = int(re.search(r"memory: .* most \d+; in (\d+) ", output)[1])
    return (n_in[LONG] - n_in[SHORT]) / (LONG - SHORT)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    build = os.path.abspath(parser.parse_args().build)
    worst = 0
    for name, n_sweeps, shortage in CASES:
        sets = tracked_sets(build, name)
        sweep = [page for pages in sets for page in pages]
        demand = len(set(sweep))
        memory = int(demand / shortage)
        least = belady(sweep, memory) * n_sweeps
        found = measured(build, name, memory)
        print(f"{name}: {demand} pages, memory {memory}: {found:.0f} come in "
              f"in an iteration, {least:.0f} must; {found / least:.3f}",
              flush=True)
        worst = max(worst, found / least)
    assert worst <= MOST, f"more than {MOST} times the least"
    print("all well")


if __name__ == "__main__":
    sys.exit(main())
