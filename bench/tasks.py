# SPDX-License-Identifier: BSD-3-Clause
"""Tasks and loops, for run.py: problems that are divided into tasks (bench/tasks), against
OpenMP's tasks and an MPI program with a master and workers; and a loop that is entered again and
again on nodes that are not alike, against the best split that is fixed.
"""
import os
import re
import statistics
import tempfile

import measure

PROBLEMS = ("fib", "queens", "tree", "quicksort", "matmul")
TO_OPENMP = 1.3
TO_MPI = 1.15
TO_SPLIT = 1.05
CLUSTERS = ((3, 1), (4, 2, 1))  # emulated: speeds of their nodes
SHAPES = ("even", "rising", "heap")
FOURTH_LINE = re.compile(r"^entry 4: ([\d.]+) ms$", re.M)
COLUMNS = ("ratio", "quartiles", "aim", "")


def on_nodes(bench, n_nodes, n_workers, name):
    return [bench.program("teamster"), "run", "-n", str(n_nodes), "-w", str(n_workers),
            "--policy", "none", bench.program("problems_tasks"), name]


def rows_of(bench):
    """What is compared: text, command, the other one, aim."""
    for name in PROBLEMS:
        openmp = bench.plain("problems_openmp", name)
        yield (f"{name}, 1 node with 2 workers, to OpenMP",
               on_nodes(bench, 1, 2, name), openmp, TO_OPENMP)
        yield (f"{name}, 2 nodes, to MPI", on_nodes(bench, 2, 1, name),
               bench.mpi(2, "problems_mpi", name), TO_MPI)
        yield f"{name}, 2 nodes, to OpenMP", on_nodes(bench, 2, 1, name), openmp, None


def problems(bench, header, row):
    print("\n### Problems divided into tasks, seconds\n")
    header("what", "Teamster", "compared", *COLUMNS)
    for what, ours, theirs, aim in bench.attempt(
            "what is compared", lambda: list(rows_of(bench))) or ():
        row(what, *measure.cells(bench.attempt(
            what, measure.compare, ours, theirs, measure.TOTAL_LINE, bench.n_pairs,
            {"OMP_NUM_THREADS": "2"}), aim))


def loop_commands(bench, hosts, speeds, shape):
    """The loop, and splits that are fixed: by the speeds, and beside that."""
    loop = [bench.program("teamster"), "run", "--hostfile", hosts, "--emulate", "-w", "1",
            "--policy", "none", bench.program("unequal_loop"), shape, "1"]
    return [loop, *([*loop, str(speeds[0] * more), *map(str, speeds[1:])]
                    for more in (1, 0.95, 1.05))]


def to_best_split(bench, speeds, shape):
    """The fourth entry of the loop to that of the split with the least median."""
    with tempfile.TemporaryDirectory() as folder:
        hosts = os.path.join(folder, "hosts")
        with open(hosts, "w", encoding="ascii") as file:
            file.writelines(f"n{i} speed={speed}\n" for i, speed in enumerate(speeds))
        commands = loop_commands(bench, hosts, speeds, shape)
        times = measure.in_turn(commands, FOURTH_LINE, bench.n_pairs)
    best = min(times[1:], key=statistics.median)
    return measure.Ratio(list(zip(times[0], best)))


def loops(bench, header, row):
    print("\n### A loop over unequal nodes, its fourth entry, milliseconds\n")
    header("what", "Teamster", "best split", *COLUMNS)
    for speeds in CLUSTERS:
        for shape in SHAPES:
            what = f"{shape}, speeds {' '.join(map(str, speeds))}"
            row(what, *measure.cells(
                bench.attempt(what, to_best_split, bench, speeds, shape), TO_SPLIT))


def report(bench, header, row):
    """Print the tables. @param header, row  what prints a line of one"""
    print("\n## Tasks and loops")
    problems(bench, header, row)
    loops(bench, header, row)
