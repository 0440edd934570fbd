#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A program of bench/irregular gives on 1, 2 and 3 nodes, and under each
protocol, what it gives with POSIX threads.

    test_irregular.py PROGRAM --build DIR

Each also looks whether its own result is right.
"""
import argparse
import os
import re
import sys

sys.path.insert(1, os.path.join(os.path.dirname(__file__), "..", "cluster"))
import jobs  # noqa: E402
import test_apps  # noqa: E402

# Threads, and sizes that take a moment.
ARGUMENTS = {
    "hash": (3, 600),
    "radix_sort": (3, 20000),
    "pipe": (3, 60),
    "pingpong": (4, 60),
    "pipeline": (3, 60),
    "barnes": (3, 300, 2),
    "quicksort": (3, 30000),
    "bfs": (3, 8000),
    "fft": (3, 32),
    "lu": (3, 160),
    "cg": (3, 3000, 20),
    "gups": (3, 3000, 2),
    "gups_exchange": (3, 3000, 4),
    "tsp": (3, 8),
}
N_NODES = (1, 2, 3)


class Build(test_apps.Build):
    def program(self, name):
        path = os.path.join(self.folder, "bench", name)
        return path if os.access(path, os.X_OK) else super().program(name)


def check(build, name):
    arguments = [str(argument) for argument in ARGUMENTS[name]]
    plain, _ = test_apps.run([build.program(f"{name}_threads"), *arguments])
    expected = test_apps.checksum_of(plain)
    for protocol in jobs.PROTOCOLS:
        for n_nodes in N_NODES:
            output, errors = test_apps.run(
                [build.program("teamster"), "run", "-n", str(n_nodes),
                 build.program(name), *arguments],
                {"TEAMSTER_PROTOCOL": protocol})
            where = f"{name}, {n_nodes} nodes, {protocol}"
            if not re.search("^result: right$", output, re.M):
                raise test_apps.Failure(f"{where}: not right\n"
                                        f"{output}{errors}")
            if test_apps.checksum_of(output) != expected:
                raise test_apps.Failure(f"{where}: not the checksum "
                                        f"{expected}\n{output}{errors}")
            print(f"{where}: the same")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=ARGUMENTS)
    parser.add_argument("--build", required=True)
    options = parser.parse_args()
    try:
        check(Build(options.build), options.program)
    except test_apps.Failure as failure:
        print(f"FAILED: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
