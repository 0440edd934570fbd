# SPDX-License-Identifier: BSD-3-Clause
"""Programs that are not grids, for run.py: locks, a bag of tasks, pipes, data
without a pattern (bench/irregular), against POSIX threads and MPI.

Besides with the processors free everything is measured with all of them
computing something else: who owns a page or has a mutex is busy then.
"""
import re
import statistics

import measure

N_THREADS = 2
# Messages for each operation of a program, as it prints them.
MESSAGES_LINE = re.compile(r": \d+, each [\d.e+-]+ us, ([\d.e+-]+) messages")

# Name; arguments behind the number of threads; aims: 2 nodes to 2 threads, 1 node with
# 2 workers to 2 threads, messages for each operation on 2 nodes. None: no aim.
PROGRAMS = (
    ("hash", (40000,), 20, 1.5, None),
    ("radix_sort", (1 << 20,), 10, 1.5, None),
    ("pipe", (5000,), 6, 1.5, 6),
    ("barnes", (8192, 4), 4, 1.5, None),
    ("quicksort", (1 << 19,), 4, 1.5, None),
    ("bfs", (1 << 18,), 4, None, None),
    ("fft", (256,), 4, None, None),
    ("lu", (512,), 3, None, None),
    ("tsp", (11,), None, 1.5, None),
    ("pingpong", (10000,), None, 1.5, None),
    ("pipeline", (5000,), None, None, None),
    ("gups", (1 << 18, 200), None, None, None),
    ("gups_exchange", (1 << 18, 200), None, None, None),
    ("cg", (1 << 16, 60), None, None, None),
)
# Name, that of the MPI program, arguments of each, aim.
TO_MPI = (
    ("cg", "cg", (1 << 16, 60), (1 << 16, 60), 1.5),
    ("radix_sort", "radix_sort", (1 << 20,), (1 << 20, 1), 3),
    ("pingpong", "pingpong", (10000,), (10000, 1), 5),
    ("pipeline", "pipeline", (5000,), (5000, 1), 2.5),
    ("gups", "gups", (1 << 18, 200), (1 << 18, 200), 10),
    ("gups_exchange", "gups", (1 << 18, 200), (1 << 18, 200), 10),
)


def with_workers(bench, n_nodes, n_workers, name, arguments):
    return [bench.program("teamster"), "run", "-n", str(n_nodes), "-w",
            str(n_workers), "--policy", "none", bench.program(name),
            str(N_THREADS), *map(str, arguments)]


def threads(bench, name, arguments):
    return bench.plain(f"{name}_threads", N_THREADS, *arguments)


def rows_of(bench):
    """What is compared: text, command, the other one, aim."""
    for name, arguments, two_nodes, two_workers, _ in PROGRAMS:
        yield (f"{name}, 2 nodes, to threads",
               with_workers(bench, 2, 1, name, arguments),
               threads(bench, name, arguments), two_nodes)
        yield (f"{name}, 1 node with 2 workers, to threads",
               with_workers(bench, 1, 2, name, arguments),
               threads(bench, name, arguments), two_workers)
    for name, to, arguments, theirs, aim in TO_MPI:
        yield (f"{name}, 2 nodes, to MPI",
               with_workers(bench, 2, 1, name, arguments),
               bench.mpi(2, f"{to}_mpi", *theirs), aim)
    yield ("jacobi 256, 2 nodes, to MPI",
           bench.teamster(2, "jacobi", "--size", 256, "--iterations", 200),
           bench.mpi(2, "jacobi_mpi", 256, 200), 1.5)


def messages(bench, header, row):
    print("\n### Messages for each operation, 2 nodes\n")
    header("what", "messages", "aim", "")
    for name, arguments, _, _, aim in PROGRAMS:
        command = with_workers(bench, 2, 1, name, arguments)
        found = bench.attempt(f"{name}, messages", lambda: float(measure.find(
            MESSAGES_LINE, measure.run(command), command)))
        if found is not None:
            row(name, f"{found:.2f}", str(aim or ""),
                "" if aim is None else
                "met" if found <= aim else "**missed**")


def measure_rows(bench, n_pairs, state, header, row):
    print(f"\n### Time, {state}\n")
    header("what", "Teamster", "compared", "ratio", "quartiles", "aim", "")
    found = bench.attempt("what is compared", lambda: list(rows_of(bench)))
    for what, ours, theirs, aim in found or ():
        pattern = (measure.TIME_LINE if what.startswith("jacobi")
                   else measure.TOTAL_LINE)
        ratio = bench.attempt(f"{what}, {state}", measure.compare, ours,
                              theirs, pattern, n_pairs)
        row(what, *measure.cells(ratio, aim))


def pairs(bench, header, row):
    """Operations of two threads of one node, to threads that spin."""
    print("\n### Two threads of one node, us an operation\n")
    header("what", "Teamster", "threads that spin", "ratio", "threads",
           "aim", "")
    ours = [bench.program("teamster"), "run", "-n", "1", "-w", "2", "--policy",
            "none", bench.program("pair")]
    for line in ("pair-barrier", "pair-pingpong", "pair-add", "pair-lock"):
        times = [[], [], []]
        for _ in range(bench.n_pairs):
            for found, command in zip(times, (
                    ours, bench.plain("pair_spins"),
                    bench.plain("pair_threads"))):
                found.append(measure.latency(command, line)[0])
        us, spins, sleeps = (statistics.median(found) for found in times)
        row(line, f"{us:.3f}", f"{spins:.3f}", f"{us / spins:.2f}",
            f"{sleeps:.3f}", "1.5",
            "met" if us / spins <= 1.5 else "**missed**")


def report(bench, header, row):
    """Print the tables. @param header, row  what prints a line of one"""
    print("\n## Programs that are not grids\n\n"
          "Seconds; of jacobi, milliseconds for an iteration.")
    messages(bench, header, row)
    bench.attempt("two threads of one node", pairs, bench, header, row)
    measure_rows(bench, bench.n_pairs, "cores free", header, row)
    with measure.all_cores_computing():
        measure_rows(bench, 3, "all cores computing something else", header,
                     row)
