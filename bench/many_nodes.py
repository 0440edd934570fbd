#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a node costs when there are many of them, in the laboratory.

    many_nodes.py --build DIR [--nodes N,N,...] [--threads T] [--iterations I]
                  [--own PAGES] [--protocol NAME] [--kinds]

A program goes from one grid to another and back: T threads a node, each with four (or PAGES)
pages of each grid, of which its neighbours read one. `teamster simulate` plays its
profile, without a policy. The work of a node is the same for any number of nodes, so
what rises in a row of the table grows faster than the work:

  start         messages and KiB a node, up to the end of the first iteration
  an iteration  messages and KiB a node; and the messages of the busiest node
  processor     seconds of processor time, of all nodes together; and microseconds
                of a node and iteration
  memory        MiB of all nodes together; and KiB of a node

--kinds adds how many messages of each kind there were, a node, the most first.
Exit code 1 if a simulation failed.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

FIRST = 256
READ, WRITE = 1, 2
NODE = {"power": 1, "n_processors": 1, "memory_pages": 1 << 20, "free_pages": 1 << 20,
        "total_pages": 1 << 20, "swap_in_s": 1e-4, "swap_out_s": 1e-4, "fetch_s": 4e-5,
        "packet_s": 2e-5, "packet_bytes": 8192}
MODEL = {"kind": "measured", "replacement": "kept-set", "overlap": "none",
         "reference": {"power": 0, "lack_pages": 0, "free_pages": 0, "total_pages": 0,
                       "swap_in_s": 0, "swap_out_s": 0}, "corrections": None}
COLUMNS = ("nodes", "threads", "start: messages", "KiB", "an iteration: messages", "KiB",
           "busiest", "processor s", "us", "memory MiB", "KiB of a node")


def grid_round(n_threads, own, source, target):
    """From one grid to the other: a thread reads a page of each neighbour."""
    threads = []
    for i in range(n_threads):
        first, end = i * own, (i + 1) * own
        low, high = max(first - 1, 0), min(end + 1, n_threads * own)
        threads.append([source + low, high - low, READ, 0,
                        target + first, own, WRITE, 800])
    return threads


def profile_of(n_nodes, threads_a_node, own, protocol):
    n_threads = n_nodes * threads_a_node
    pages = n_threads * own
    other = FIRST + (pages + 255) // 256 * 256
    return {
        "teamster_profile": 1, "teamster": "0.1.0", "program": "grid", "page_bytes": 4096, "iteration": 3,
        "unit_speed": 500, "nodes": [{"name": f"n{x}", **NODE} for x in range(n_nodes)],
        "threads": [{"computation_s": 1e-3, "uses": []} for _ in range(n_threads)],
        "node_of": [i // threads_a_node for i in range(n_threads)], "group_pages": [],
        "model": MODEL, "measured": None, "decision": None,
        "script": {"protocol": protocol, "n_barriers": 1,
                   "blocks": [[FIRST, pages], [other, pages]],
                   "rounds": [
                       {"iteration": 4, "threads": grid_round(n_threads, own, FIRST, other)},
                       {"iteration": 7, "threads": grid_round(n_threads, own, other, FIRST)}]}}


def simulate(options, path, n_iterations):
    """What --json says, seconds of processor time, and KiB of memory at most."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [os.path.join(options.build, "cli", "teamster"), "simulate", path, "--json",
             "--policy=none", f"--iterations={n_iterations}"],
            stdin=subprocess.DEVNULL, stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"teamster simulate: exit code {process.returncode}")
        output.seek(0)
        return json.load(output), usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def row_of(options, path, n_nodes):
    """Two simulations, one of which is longer; what it has more is the iterations'."""
    short, short_s, _ = simulate(options, path, 4)
    said, processor_s, memory_kib = simulate(options, path, 4 + options.iterations)
    of_node = [after["messages"] - before["messages"]
               for before, after in zip(short["nodes"], said["nodes"])]
    first, third = said["iterations"][0], said["iterations"][3]
    last = said["iterations"][-1]
    counted = n_nodes * options.iterations

    def more(key):
        return (last[key] - third[key]) / counted

    return said, (
        n_nodes, n_nodes * options.threads,
        f"{first['messages_so_far'] / n_nodes:.1f}",
        f"{first['bytes_so_far'] / n_nodes / 1024:.1f}",
        f"{more('messages_so_far'):.2f}", f"{more('bytes_so_far') / 1024:.2f}",
        f"{max(of_node) / options.iterations:.1f}", f"{processor_s:.2f}",
        f"{(processor_s - short_s) / counted * 1e6:.0f}",
        f"{memory_kib / 1024:.0f}", f"{memory_kib / n_nodes:.0f}")


def kinds_of(said, n_nodes):
    """The kinds of messages that take most bytes."""
    kinds = sorted(said["messages"].items(), key=lambda kind: -kind[1]["bytes"])
    return "; ".join(f"{name} {kind['n'] / n_nodes:.1f}, {kind['bytes'] / n_nodes / 1024:.1f} KiB"
                     for name, kind in kinds[:6])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--nodes", default="4,16,64,256,1024")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--own", type=int, default=4)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--protocol", default="adaptive")
    parser.add_argument("--kinds", action="store_true")
    options = parser.parse_args()

    print("| " + " | ".join(COLUMNS) + " |")
    print("|" + "---|" * len(COLUMNS), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "profile.json")
        for n_nodes in map(int, options.nodes.split(",")):
            with open(path, "w", encoding="utf-8") as file:
                json.dump(profile_of(n_nodes, options.threads, options.own, options.protocol), file)
            try:
                said, row = row_of(options, path, n_nodes)
            except RuntimeError as reason:
                print(f"{n_nodes} nodes: {reason}", file=sys.stderr)
                return 1
            print("| " + " | ".join(map(str, row)) + " |", flush=True)
            if options.kinds:
                print(f"{n_nodes} nodes: {kinds_of(said, n_nodes)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
