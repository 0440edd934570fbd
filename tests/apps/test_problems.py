#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The problems of bench/tasks come to the same result in all versions: with tasks on 1, 2 and 3
nodes and under each protocol, with OpenMP and with MPI, if these are there; and the loop
over unequal nodes to what splits that are fixed come to.

    test_problems.py PROBLEM|loop --build DIR [--alone]

--alone: without OpenMP and MPI, whose libraries are not made for sanitizers.
"""
import argparse
import os
import sys

import test_apps

sys.path.insert(1, os.path.join(os.path.dirname(__file__), "..", "cluster"))
import jobs  # noqa: E402

# Size, a cut for one leaf, and one for some hundred; the result, where it is known.
PROBLEMS = {
    "fib": (20, 21, 8, 6765),
    "queens": (8, 0, 3, 92),
    "tree": (8, 0, 4, None),
    "quicksort": (30000, 30000, 200, None),
    "matmul": (96, 96, 3, None),
}
SHAPES = ("even", "rising", "heap")
LITTLE_WORK = "0.01"


class Build(test_apps.Build):
    def program(self, name):
        return self.find(name) or super().program(name)

    def find(self, name):
        """None: it was not built, because what it needs is missing."""
        path = os.path.join(self.folder, "bench", name)
        return path if os.access(path, os.X_OK) else None

    def on_nodes(self, n_nodes, name, *arguments):
        return [self.program("teamster"), "run", "-n", str(n_nodes), self.program(name),
                *map(str, arguments)]


def others(build, arguments):
    """Versions that are not Teamster's: what they are, the command."""
    openmp = build.find("problems_openmp")
    mpi = build.find("problems_mpi")
    if openmp is not None:
        yield "OpenMP", [openmp, *arguments]
    if mpi is not None:
        yield "MPI, the master alone", [mpi, *arguments]
        for n_ranks in (2, 3):
            yield f"MPI, {n_ranks} processes", [
                "mpirun", "--oversubscribe", "--bind-to", "none",
                *(["--allow-run-as-root"] if os.geteuid() == 0 else []),
                "-n", str(n_ranks), mpi, *arguments]


def expect(expected, what, command, environment=None):
    """@return the checksum, which must be the one expected, if one is"""
    output, errors = test_apps.run(command, environment)
    found = test_apps.checksum_of(output)
    if expected not in (None, found):
        raise test_apps.Failure(f"{what}: not the checksum {expected}\n{output}{errors}")
    print(f"{what}: {found}")
    return found


def problem(build, name, alone):
    size, whole, cut, known = PROBLEMS[name]
    arguments = [name, str(size), str(cut)]
    expected = expect(None if known is None else f"{known:016x}", "one leaf",
                      build.on_nodes(1, "problems_tasks", name, size, whole))
    for protocol in jobs.PROTOCOLS:
        for n_nodes in (1, 2, 3):
            expect(expected, f"{n_nodes} nodes, {protocol}",
                   build.on_nodes(n_nodes, "problems_tasks", *arguments),
                   {"TEAMSTER_PROTOCOL": protocol})
    for what, command in () if alone else others(build, arguments):
        expect(expected, what, command)


def loop(build):
    for shape in SHAPES:
        expected = expect(None, f"{shape}, 1 node",
                          build.on_nodes(1, "unequal_loop", shape, LITTLE_WORK))
        for n_nodes in (2, 3):
            for weights in ([], range(1, n_nodes + 1)):
                expect(expected, f"{shape}, {n_nodes} nodes, {list(weights) or 'no'} weights",
                       build.on_nodes(n_nodes, "unequal_loop", shape, LITTLE_WORK, *weights))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problem", choices=[*PROBLEMS, "loop"])
    parser.add_argument("--build", required=True)
    parser.add_argument("--alone", action="store_true")
    options = parser.parse_args()
    build = Build(options.build)
    try:
        if options.problem == "loop":
            loop(build)
        else:
            problem(build, options.problem, options.alone)
    except test_apps.Failure as failure:
        print(f"FAILED: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
