#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A node in a control group, where somebody else takes and gives back memory.

    test_budget.py TEST --build DIR [--nodes N]

Tests: the_budget_follows (of the last node of N), threads_go_where_memory_is,
nodes_keep_to_their_parts (of one group, where they need unlike amounts).
"""
import argparse
import os
import re
import subprocess
import sys
import time

import jobs
from groups import MemoryGroup

MIB = 1 << 20
N_THREADS = 16
BUDGET = r"debug: the control group leaves (\d+) MiB for shared data now, "
# Takes so many bytes more for each line that it reads, until there are no more.
OTHER = """\
import sys
taken = []
for line in sys.stdin:
    taken.append(b"x" * int(line))
    print(flush=True)
"""


class Other:
    """Another program in a group."""

    def __init__(self, group):
        self.process = subprocess.Popen(
            ["sh", "-c", group.join() + '; exec "$@"', "sh", sys.executable,
             "-c", OTHER], text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)

    def take(self, n_bytes):
        try:
            self.process.stdin.write(f"{n_bytes}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        if not self.process.stdout.readline():
            raise jobs.Failure("the kernel has killed the other program")

    def end(self):
        self.process.stdin.close()
        if self.process.wait(jobs.DEADLINE_S) != 0:
            raise jobs.Failure("the other program was killed")


class Tests:
    def __init__(self, options, folder):
        self.build = options.build
        self.folder = folder
        self.over = os.path.join(folder, "over")  # it ends when there is such
        self.n_nodes = options.nodes

    def start(self, group, first, n_words, *options):
        """A run until told to end; from the `first` on nodes are in the group."""
        path = os.path.join(self.folder, "program")
        until = os.path.join(self.build, "tests", "cluster", "until")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n[ $TEAMSTER_NODE -ge {first} ] && "
                       f"{group.join()}\n"
                       f'exec {until} "$@"\n')
        os.chmod(path, 0o700)
        nodes = () if "--hostfile" in options else ("-n", self.n_nodes)
        # With ASan, what is freed is to be free: nobody else is killed for it then.
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
        return jobs.Job(os.path.join(self.build, "cli", "teamster"), [
            *nodes, "--verbose", "--swap-dir", self.folder, *options, path,
            self.over, N_THREADS, n_words],
            {"ASAN_OPTIONS": sanitizer})

    def end(self, job):
        """@return the output"""
        with open(self.over, "w", encoding="ascii"):
            pass
        return job.expect_success()

    def wait_for_calm(self, job, group, data):
        """All data are there, and use does not change."""
        seen = []

        def is_calm():
            time.sleep(0.2)
            seen.append(group.used())
            return (job.process.poll() is not None or seen[-1] > data and
                    len(seen) > 3 and max(seen[-3:]) - min(seen[-3:]) < MIB)

        if not jobs.wait_until(is_calm) or job.process.poll() is not None:
            job.fail(f"bytes used: {seen}", job.kill_all())

    def press(self, group, data, lack):
        """Leave memory for all but `lack` of the node's data. The other program takes
        a piece when there is room: how soon the node gives way is not asked. (It
        leaves a twentieth of its data free at least.) @return the other program"""
        room = data // 32
        other = Other(group)
        other.take(0)  # it runs
        to_take = group.left() + lack
        while to_take > 0:
            if not jobs.wait_until(lambda: group.left() > room):
                raise jobs.Failure("the node does not give way")
            piece = max(group.left() // 4, room // 4)
            other.take(piece)
            to_take -= piece
        return other

    def the_budget_follows(self):
        """Pages go before the kernel kills somebody, and come back."""
        n_words = 1 << 19
        data = N_THREADS * n_words * 8 // self.n_nodes  # bytes of a node
        with MemoryGroup(600 * MIB) as group:  # a node needs most of it under ASan
            job = self.start(group, self.n_nodes - 1, n_words)
            try:
                self.wait_for_calm(job, group, data)
                before = group.left()
                self.press(group, data, data // 4).end()
                if not jobs.wait_until(lambda: group.left() < before + MIB):
                    raise jobs.Failure("it takes nothing back")
            except jobs.Failure as failure:
                job.fail(str(failure), job.kill_all())
            output = self.end(job)
        budgets = list(map(int, re.findall(BUDGET, output)))
        paged = re.search(r"debug: memory: .*; in (\d+) .* out (\d+), ", output)
        print(f"budgets, MiB: {budgets}; pages in, out: {paged.groups()}")
        if not re.search(r"^\[0\] \d+ iterations, 0 words wrong$", output, re.M):
            job.fail("words are wrong", output)
        if not budgets or min(budgets) * MIB >= data or int(paged.group(2)) == 0:
            job.fail("nothing had to go", output)
        if budgets[-1] * MIB < data:
            job.fail("it gets nothing back", output)

    def threads_go_where_memory_is(self):
        """The node's memory shrinks while the program runs, and a thread leaves it for
        the first node. Of a little only: pages on their way are copies that nobody
        has foreseen."""
        n_words = 1 << 20
        moves = f"teamster: n{self.n_nodes - 1} -> n0: threads"
        hosts = os.path.join(self.folder, "hosts")
        with open(hosts, "w", encoding="ascii") as file:
            for i in range(self.n_nodes):
                file.write(f"n{i} speed=100 workers=1\n")
        data = N_THREADS * n_words * 8 // self.n_nodes
        with MemoryGroup(600 * MIB) as group:
            job = self.start(group, self.n_nodes - 1, n_words, "--hostfile",
                             hosts, "--emulate", "--policy", "cpu-mem",
                             "--explain")
            try:
                self.wait_for_calm(job, group, data)
                n_before = job.n_told(moves)  # memory was not the reason
                other = self.press(group, data, data // 16)
                job.await_line(moves, n_before)
                other.end()
            except jobs.Failure as failure:
                job.fail(str(failure), job.kill_all())
            output = self.end(job)
        if not re.search(r"^\[0\] \d+ iterations, 0 words wrong$", output, re.M):
            job.fail("words are wrong", output)

    def nodes_keep_to_their_parts(self):
        """One needs more than its part, the others have less each: their budgets
        stay, but for what is private."""
        with MemoryGroup(400 * MIB) as group:
            job = self.start(group, 0, 3 << 19, "--counts", "14,1,1")  # 192 MiB
            jobs.wait_until(lambda: group.left() < 200 * MIB)
            time.sleep(2)
            output = self.end(job)
        print(re.findall(r"debug: (memory: \d+ of \d+ pages|the control.*)", output))
        for now, before in re.findall(BUDGET + r"(\d+) before", output):
            if int(now) < 0.8 * int(before):
                job.fail("a budget was lowered", output)
        if not re.search(r"memory: \d+ of .*; in [1-9]\d* ", output):
            job.fail("nobody paged", output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=2)
    sys.exit(jobs.main(Tests, parser))
