#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What it costs a node to begin when there are many of them on one machine.

    many_starts.py --build DIR [--nodes N,N,...]

Real processes: `teamster run -n N hello`, once counted by perf, once by strace. What does
not depend on how busy the machine is says most. Of a node:

  processor   milliseconds, all that it computes for itself at the start included
  faults      page faults
  calls       of the system; and those that open, close and map files
  launcher    KiB that the launcher sends

Of more than 128 nodes strace makes a run so long that it counts what they do by time.

Each column that rises with N does so with what a node has to do for each other one; the
last line is by how much, for each further node, from the second to the last row.
Exit code 1 if a run failed, 77 if there is no perf or strace.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

COLUMNS = ("nodes", "processor ms", "faults", "calls", "open, close, map", "launcher KiB")
FILES = ("openat", "close", "mmap", "munmap", "lseek", "newfstatat")
SENT = re.compile(r"^(\d+) +(?:sendto|sendmsg)\(.* = (\d+)$")
RESUMED = re.compile(r"^(\d+) +<\.\.\. (?:sendto|sendmsg) resumed>.* = (\d+)$")


def run(options, n_nodes, watcher):
    command = watcher + [os.path.join(options.build, "cli", "teamster"), "run", "-n",
                         str(n_nodes), os.path.join(options.build, "apps", "hello")]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def read_back(file):
    file.seek(0)
    return file.read()


def with_perf(options, n_nodes):
    """Milliseconds of processor time, and page faults."""
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as said:
        run(options, n_nodes, ["perf", "stat", "-x,", "-e", "task-clock,page-faults",
                               "-o", said.name])
        values = {row.split(",")[2].split(":")[0]: float(row.split(",")[0])
                  for row in read_back(said).splitlines() if row.count(",") > 3}
    return values["task-clock"], values["page-faults"]


def with_strace(options, n_nodes):
    """How many calls, how many of FILES, and bytes that the launcher has sent."""
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as said:
        run(options, n_nodes, ["strace", "-f", "-c", "-o", said.name])
        rows = [row.split() for row in read_back(said).splitlines()]
    counts = {row[-1]: int(row[3]) for row in rows if len(row) > 4 and row[3].isdigit()}
    total = sum(n for name, n in counts.items() if name != "total")
    with tempfile.NamedTemporaryFile("r", encoding="utf-8", errors="replace") as said:
        run(options, n_nodes, ["strace", "-f", "-e", "trace=execve,sendto,sendmsg", "-e",
                               "signal=none", "-o", said.name])
        rows = read_back(said).splitlines()
    launcher = rows[0].split()[0]
    found = [SENT.match(row) or RESUMED.match(row) for row in rows]
    sent = sum(int(match[2]) for match in found if match and match[1] == launcher)
    return total, sum(counts.get(name, 0) for name in FILES), sent


def row_of(options, n_nodes):
    processor_ms, faults = with_perf(options, n_nodes)
    calls, of_files, sent = with_strace(options, n_nodes)
    return [n_nodes] + [value / n_nodes
                        for value in (processor_ms, faults, calls, of_files, sent / 1024)]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--nodes", default="4,8,16,32,64")
    options = parser.parse_args()

    if not shutil.which("perf") or not shutil.which("strace"):
        print("perf and strace are needed", file=sys.stderr)
        return 77
    print("| " + " | ".join(COLUMNS) + " |")
    print("|" + "---|" * len(COLUMNS), flush=True)
    rows = []
    for n_nodes in map(int, options.nodes.split(",")):
        try:
            rows.append(row_of(options, n_nodes))
        except subprocess.CalledProcessError as failed:
            print(f"{n_nodes} nodes: exit code {failed.returncode}", file=sys.stderr)
            return 1
        print("| " + " | ".join([str(n_nodes)] + [f"{value:.1f}" for value in rows[-1][1:]])
              + " |", flush=True)
    if len(rows) > 2:
        further = rows[-1][0] - rows[1][0]
        print("| each further | " + " | ".join(
            f"{(last - first) / further:.2f}"
            for first, last in zip(rows[1][1:], rows[-1][1:])) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
