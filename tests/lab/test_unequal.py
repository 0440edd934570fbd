#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs over hosts of unequal speed and memory, however they are started.

    test_unequal.py TEST --build DIR

Each of the seven programs runs unchanged on four hosts, which give workers a part of a
processor only (TEAMSTER_SHARE). Its threads are equal in number at first; cpu-mem finds
out how the hosts differ and moves them. Bits are those of the sequential program.

Each program is started in one way at least; with TM_TEST_ALL=1 in all three.

A machine that is busy with something else does not give hosts their shares. So threads
that do not follow have N_ATTEMPTS, after pauses; what is wrong is wrong each time.
"""
import os
import re
import shlex
import sys
import time

import lab
import test_runs
from test_pmix import HOSTS, Mpirun, Srun
from test_runs import Failure, Run

# Of a processor, memory for shared data, what the disk takes and gives in a second.
SPEEDS = {
    "n1": ("0.3", "64M", "64M"),
    "n2": ("0.15", "64M", "64M"),
    "n3": ("0.15", "400K", "8M"),
    "n4": ("0.05", "64M", "64M"),
}
MEMORIES = {
    "n1": ("0.15", "64M", "64M"),
    "n2": ("0.15", "64M", "64M"),
    "n3": ("0.15", "240K", "4M"),
    "n4": ("0.15", "64M", "64M"),
}
# Long enough to find out and to move.
APPS = {
    "jacobi": ("--size=340", "--effort=200", "--iterations=80"),
    "sor": ("--size=340", "--effort=200", "--iterations=80"),
    "matmul": ("--size=200", "--iterations=80"),
    "gauss": ("--size=340", "--effort=200", "--iterations=80"),
    "nbody": ("--size=2000", "--iterations=80"),
    "motion": ("--size=256", "--range=7", "--iterations=80"),
    "vq": ("--size=512", "--codebook=64", "--iterations=80"),
}
N_ATTEMPTS = 5
N_THREADS = 16
VARIABLES = {"TEAMSTER_POLICY": "cpu-mem", "TEAMSTER_FIRST_MAPPING": "equal",
             "TEAMSTER_EXPLAIN": "1"}


def by_ssh(bed, build, *command):
    return Run(bed, build, "-H", ",".join(HOSTS), *command, **VARIABLES)


def by_mpirun(bed, _, *command):
    Mpirun.check()
    return Mpirun(bed).start(*command, **VARIABLES)


class BySrun:
    """Slurm is started once."""

    def __init__(self):
        self.starter = None

    def __call__(self, bed, _, *command):
        if self.starter is None:
            Srun.check()
            self.starter = Srun(bed)
        return self.starter.start(*command, **VARIABLES)


class Tests:
    def __init__(self, build):
        self.build = os.path.abspath(build)

    def program(self, bed, nodes):
        """What makes a host what it is, and then the program."""
        path = os.path.join(bed.folder, "program")
        lines = [f"{host}) export TEAMSTER_SHARE={share} "
                 f"TEAMSTER_MEMORY={memory} TEAMSTER_SWAP_RATE={rate};;"
                 for host, (share, memory, rate) in nodes.items()]
        with open(path, "w", encoding="ascii") as file:
            file.write("\n".join(["#!/bin/sh", "export TEAMSTER_WORKERS=1",
                                  "case $(hostname) in", *lines, "esac",
                                  'exec "$@"\n']))
        os.chmod(path, 0o700)
        return path

    def counts(self, output):
        """Threads of each node, as they were distributed last."""
        rows = re.findall(r"(?m)teamster: \S+ .*\| +(\d+)(?: +[\d.]+){4}$",
                          output)
        return [int(n) for n in rows[-len(HOSTS):]]

    def run_right(self, run):
        """@return threads of each node, and the output"""
        output = run.finish()
        if ("identical to the sequential" not in output or
                f"nodes: {len(HOSTS)}" not in output):
            raise Failure(f"{shlex.join(run.command)}\n{output}")
        return self.counts(output), output

    def expect_to_follow(self, bed, start, nodes, names, follows):
        """Threads of programs go where there is speed, or memory."""
        program = self.program(bed, nodes)
        left = {name: "" for name in names}  # what those said that do not
        for attempt in range(N_ATTEMPTS):
            time.sleep(5 * attempt * bool(left))
            for name in tuple(left):
                counts, left[name] = self.run_right(start(
                    bed, self.build, program,
                    os.path.join(self.build, "apps", name),
                    f"--threads={N_THREADS}", "--verify", *APPS[name]))
                print(f"{name}: {counts}", flush=True)
                if counts and follows(*counts):
                    del left[name]
        if left:
            raise Failure("threads do not follow:\n" + "\n".join(left.values()))

    def follow(self, start, some, short):
        """The programs of some, and of short where memory differs; or all."""
        if os.environ.get("TM_TEST_ALL"):
            some, short = APPS, ("jacobi", "gauss")
        with lab.lab(n_hosts=len(HOSTS)) as bed:
            self.expect_to_follow(bed, start, SPEEDS, some,
                                  lambda n1, n2, _, n4: n1 > n4 < n2)
            self.expect_to_follow(bed, start, MEMORIES, short,
                                  lambda _, n2, n3, n4: n2 > n3 < n4)

    def mappings_follow_by_ssh(self):
        self.follow(by_ssh, ("jacobi", "sor", "nbody", "vq"), ("jacobi",))

    def mappings_follow_by_mpirun(self):
        self.follow(by_mpirun, ("matmul", "gauss"), ())

    def mappings_follow_by_srun(self):
        self.follow(BySrun(), ("sor", "motion"), ("gauss",))


if __name__ == "__main__":
    sys.exit(test_runs.main(Tests))
