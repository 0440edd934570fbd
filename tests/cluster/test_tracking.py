#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tracking in real processes: what it finds is what the threads have done, and
programs that are tracked all the time give the results they always give.

    test_tracking.py TEST --build DIR [--protocol P] [--source S]

Tests: exact, once, apps, random, litmus, moving, late, unmapped.
"""
import argparse
import os
import re
import sys

import jobs

SOURCES = ("userfaultfd", "mprotect")
PAGE = 4096


def read_sets(path):
    """The rounds of a file of --track: for each a dictionary from threads to the
    (address, flags, diff) of their pages, and the lines about nodes."""
    rounds = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if words[0] == "round":
                rounds.append(({}, []))
            elif words[0] == "node":
                rounds[-1][1].append(line.strip())
            elif words[0] == "thread":
                pages = rounds[-1][0][int(words[1])] = []
            else:
                first = int(words[0], 16)
                pages += [(first + i * PAGE, words[2], int(words[3]))
                          for i in range(int(words[1]))]
    return rounds


class Tests:
    def __init__(self, options, folder):
        self.options = options
        self.build = options.build
        self.teamster = os.path.join(self.build, "cli", "teamster")
        self.sets = os.path.join(folder, "sets")

    def run(self, n_nodes, program, *arguments, track, workers=1, **variables):
        """A run to its end. @return its output, and the rounds if any"""
        if os.path.exists(self.sets):
            os.remove(self.sets)
        variables = {f"TEAMSTER_{name.upper()}": str(value)
                     for name, value in variables.items()}
        variables.setdefault("TEAMSTER_FAULT_SOURCE", self.options.source)
        variables.setdefault("TEAMSTER_PROTOCOL", self.options.protocol)
        variables["TEAMSTER_WORKERS"] = str(workers)
        if track is not None:
            variables["TEAMSTER_TRACK"] = track + ":" + self.sets
        job = jobs.Job(self.teamster, [
            "-n", n_nodes, os.path.join(self.build, program), *arguments],
            variables)
        output = job.expect_success()
        rounds = read_sets(self.sets) if os.path.exists(self.sets) else []
        return job, output, rounds

    # ---- the tests

    def expected(self, output):
        threads = {}
        for match in re.finditer(r"expect (\d+) (0x[0-9a-f]+) (\w+) (\d+)",
                                 output):
            threads.setdefault(int(match[1]), []).append(
                (int(match[2], 16), match[3], int(match[4])))
        return threads

    def compare(self, job, output, found):
        expected = self.expected(output)
        for thread in sorted(set(expected) | set(found)):
            should, has = expected.get(thread, []), found.get(thread, [])
            for i in range(max(len(should), len(has))):
                left = should[i] if i < len(should) else None
                right = has[i] if i < len(has) else None
                if left != right:
                    job.fail(f"thread {thread}, page {i}: found {right}, "
                             f"used {left}")

    def exact(self):
        """Sets of a program that says what it does."""
        for n_nodes in (1, 2, 3, 4):
            for workers in (1, 2, 3):
                job, output, rounds = self.run(
                    n_nodes, "tests/cluster/tracked", "-t", 5 + workers,
                    "-n", 30, track="/3", workers=workers)
                if len(rounds) < 3:
                    job.fail(f"{len(rounds)} rounds only")
                for found, nodes in rounds:
                    self.compare(job, output, found)
                    if len(nodes) != n_nodes or any("given" in node
                                                    for node in nodes):
                        job.fail(f"nodes: {nodes}")

    def once(self):
        """Without --save-profile, a barrier within the iteration ends no turn: each use
        of a page is caught once."""
        job, _, rounds = self.run(1, "tests/cluster/tracked", "-t", 1, "-n", 30,
                                  track="/3")
        for found, nodes in rounds:
            n_uses = sum(len(flags) for pages in found.values() for _, flags, _ in pages)
            n_caught = int(re.search(r"(\d+) accesses caught", nodes[0])[1])
            if n_caught != n_uses:
                job.fail(f"{n_caught} accesses caught, {n_uses} uses of pages")

    def apps(self):
        """Bit by bit as ever, tracked in every third iteration, and with threads
        that move."""
        for app in ("sor", "jacobi"):
            for n_nodes in (1, 2, 4):
                for shuffle in (0, 7):
                    job, _, rounds = self.run(
                        n_nodes, f"apps/{app}", "--size", 200, "--iterations",
                        40, "--verify", track="/3", workers=1 + n_nodes % 3,
                        shuffle=shuffle)
                    if len(rounds) < 3:
                        job.fail(f"{len(rounds)} rounds only")

    def random(self):
        """Random programs: checksums by nodes are the same, and as untracked."""
        for seed in (2, 6, 27):
            sums = {}
            for n_nodes in (1, 3, 4):
                _, output, _ = self.run(
                    n_nodes, "tests/cluster/random_program", "-s", seed, "-f",
                    24, track="/3", workers=1 + (seed + n_nodes) % 3,
                    shuffle=seed if seed % 3 == 0 else 0)
                sums[n_nodes] = re.search("checksum: ([0-9a-f]+)",
                                          output).group(1)
            if len(set(sums.values())) != 1:
                raise jobs.Failure(f"seed {seed}: checksums by nodes: {sums}")

    def litmus(self):
        """Litmus tests, whose threads meet at iteration ends in one mode."""
        for mode in ("iteration", "mutex", "barrier", "seq-cst"):
            for n_nodes in (2, 3):
                self.run(n_nodes, "tests/cluster/litmus", "-m", mode, "-s",
                         n_nodes, "-r", 3, track="/3", workers=2)

    def moving(self):
        """Threads that move all the time."""
        for n_nodes in (2, 3, 4):
            self.run(n_nodes, "tests/cluster/migrate", "-n", "-s", n_nodes,
                     track="/3", workers=1 + n_nodes % 2, shuffle=n_nodes)
            self.run(n_nodes, "tests/cluster/migrate", "-s", n_nodes,
                     track="/3", workers=1 + n_nodes % 2)

    def late(self):
        """An iteration that never comes is said, and does no harm."""
        job, output, _ = self.run(2, "tests/cluster/tracked", "-n", 10,
                                  track="500")
        if "no iteration was tracked, 10 have ended" not in output:
            job.fail("nothing is said", output)

    def unmapped(self):
        """Pages that the kernel has unmapped."""
        self.run(1, "tests/cluster/tracked", "-u", track=None)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--protocol", choices=jobs.PROTOCOLS, default=jobs.PROTOCOLS[0])
    parser.add_argument("--source", choices=("auto", *SOURCES),
                        default="auto")
    return jobs.main(Tests, parser)


if __name__ == "__main__":
    sys.exit(main())
