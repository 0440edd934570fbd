# SPDX-License-Identifier: BSD-3-Clause
"""Programs that were not written for Teamster, for run.py: what `teamster cc` makes of
them against the same source by the compiler, with two threads.

Those of bench/irregular are POSIX threads' there, those of bench/unchanged OpenMP's.
"""
import measure

N_THREADS = 2
ONE_NODE = 1.15  # aim: one node with 2 workers to 2 threads
# Name; arguments.
POSIX = (("hash", (40000,)), ("radix_sort", (1 << 20,)), ("pipe", (5000,)),
         ("barnes", (8192, 4)), ("quicksort", (1 << 19,)), ("bfs", (1 << 18,)),
         ("fft", (256,)), ("lu", (512,)), ("tsp", (11,)), ("pingpong", (10000,)),
         ("pipeline", (5000,)), ("gups", (1 << 16, 50)), ("cg", (1 << 16, 60)))
OPENMP = (("heat", (2048, 40)), ("queens", (13, 3)), ("collatz", (3000000,)))
WAYS = (("1 node with 2 workers", ("-n", "1", "-w", "2"), ONE_NODE),
        ("2 nodes", ("-n", "2", "-w", "1"), None))


def programs(bench):
    """@return name, what the compiler made, what `teamster cc` made, arguments"""
    for name, arguments in POSIX:
        words = [str(N_THREADS), *map(str, arguments)]
        yield (name, bench.program(f"{name}_threads"),
               bench.program(f"{name}_unchanged"), words)
    for name, arguments in OPENMP:
        yield (name, bench.program(f"{name}_openmp"),
               bench.program(f"{name}_unchanged"), [*map(str, arguments)])


def compare(bench, way, native, unchanged, words):
    return measure.compare(
        [bench.program("teamster"), "run", *way, "--policy", "none", unchanged, *words],
        [native, *words], measure.TOTAL_LINE, bench.n_pairs,
        {"OMP_NUM_THREADS": str(N_THREADS)})


def report(bench, header, row):
    """Print the table. @param header, row  what prints a line of one"""
    print("\n## Programs that were not written for Teamster\n\n"
          "Seconds of their work, to the same source by the compiler with two threads.\n")
    header("what", "teamster cc", "compiler", "ratio", "quartiles", "aim", "")
    for name, native, unchanged, words in bench.attempt(
            "what is compared", lambda: list(programs(bench))) or ():
        for told, way, aim in WAYS:
            what = f"{name}, {told}"
            ratio = bench.attempt(what, compare, bench, way, native, unchanged, words)
            row(what, *measure.cells(ratio, aim))
