#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measure Teamster against what it should be as fast as, and print a report.

Everything is measured in this one run, compared programs in turn; see
measure.py. A ratio below 1 means that Teamster is faster. Exit code 0 if all
could be measured, whether aims are met or not; 1 if something failed.
"""
import argparse
import os
import re
import statistics
import sys

sys.dont_write_bytecode = True  # nothing is left in the sources
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "..", "tools"))
import irregular  # noqa: E402
import measure  # noqa: E402
import scheme_cost  # noqa: E402
import tasks  # noqa: E402
import unchanged  # noqa: E402
from experiment.machine import Busy  # noqa: E402

N_STEADY = 60       # iterations of a steady run
N_PAIRS = 400       # of short runs of a balanced program
N_PRODUCTS = 8      # of matrices
N_NEWCOMER = 20     # iterations of the newcomer's
OTHERS_MOST = 0.2   # processors that others may use meanwhile
PARTS = ["steady", "balanced", "newcomer", "latencies", "diffs", "placing",
         "irregular", "unchanged", "tasks"]
PLACINGS = (  # nodes, threads, how these share; the aim, ms
    (16, 512, "chain", 1), (16, 512, "unlike", 1), (16, 512, "scattered", 1),
    (16, 512, "grid", 1), (16, 512, "all", 1), (4096, 1000000, "chain", 1000))
PLACE_LINE = re.compile(r"^  cpu-mem +([\d.]+) ms", re.M)


class Bench:
    def __init__(self, build, quick):
        self.build = os.path.abspath(build)
        self.quick = quick
        self.n_pairs = 3 if quick else 9
        self.sizes = [2048] if quick else [2048, 4096]
        self.failures = []

    def program(self, name):
        for folder in ("apps", "bench", "cli"):
            path = os.path.join(self.build, folder, name)
            if os.access(path, os.X_OK):
                return path
        raise measure.Failure(f"{name}: not built in {self.build}")

    def teamster(self, n_nodes, name, *arguments, policy=None):
        return [self.program("teamster"), "run", "-n", str(n_nodes), "-w", "1",
                *(["--policy", policy] if policy else []),
                self.program(name), *map(str, arguments)]

    def mpi(self, n_ranks, name, *arguments):
        command = ["mpirun", "-n", str(n_ranks)]
        if os.geteuid() == 0:
            command.append("--allow-run-as-root")
        if n_ranks > len(os.sched_getaffinity(0)):
            command += ["--oversubscribe", "--bind-to", "none"]
        else:
            command += ["--bind-to", "core"]
        return [*command, self.program(name), *map(str, arguments)]

    def plain(self, name, *arguments):
        return [self.program(name), *map(str, arguments)]

    def attempt(self, what, function, *arguments):
        """Call a function; if it fails, say so and remember it."""
        print(f"... {what}", file=sys.stderr, flush=True)
        try:
            return function(*arguments)
        except measure.Failure as failure:
            print(f"    FAILED: {failure}", file=sys.stderr, flush=True)
            self.failures.append(str(failure))
            return None


def row(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def header(*cells):
    row(*cells)
    row(*["---"] * len(cells))


def verdict(ratio, aim):
    return "met" if ratio <= aim else "**missed**"


def ratio_row(what, ratio, aim, unit):
    if ratio is None:
        row(what, "", "", "failed", "", f"{aim:.2f}", "")
        return
    row(what, f"{ratio.ours:.3f} {unit}", f"{ratio.theirs:.3f} {unit}",
        f"{ratio.median:.3f}", f"{ratio.least:.3f} to {ratio.most:.3f}",
        f"{aim:.2f}", verdict(ratio.median, aim))


def steady(bench):
    print("\n## Iterations, steady\n")
    header("what", "Teamster", "compared", "ratio", "spread", "aim", "")
    runs = [*((app, size, N_STEADY) for app in ("jacobi", "sor")
              for size in bench.sizes),
            ("matmul", 1024, N_PRODUCTS), ("gauss", 2048, N_STEADY)]
    for app, size, n in runs:
        what = f"{app} {size}, 1 node, to plain memory"
        ratio_row(what, bench.attempt(what, lambda: measure.compare(
            bench.teamster(1, app, "--size", size, "--iterations", n),
            bench.plain(f"{app}_plain", size, n),
            measure.TIME_LINE, bench.n_pairs)), 1.05, "ms")
    for app, size, n in runs:
        what = f"{app} {size}, 2 nodes, to MPI"
        ratio_row(what, bench.attempt(what, lambda: measure.compare(
            bench.teamster(2, app, "--size", size, "--iterations", n),
            bench.mpi(2, f"{app}_mpi", size, n),
            measure.TIME_LINE, bench.n_pairs)), 1.10, "ms")


def balanced(bench):
    print("\n## A balanced program with the scheme, to none\n\n"
          "Pairs of short runs; the ratio and where it is with 95 %.\n")
    header("what", "pairs", "ratio", "95 %", "aim", "")
    for app in ("jacobi", "sor"):
        bench.attempt(f"{app} 2048, 2 equal nodes",
                      lambda: balanced_row(bench, app))


def balanced_row(bench, app):
    options = scheme_cost.arguments().parse_args(["--build", bench.build])
    runs = scheme_cost.Runs(options, app, os.environ)
    ratio, low, high, n_calm = scheme_cost.interval(
        [runs.pair(i) for i in range(50 if bench.quick else N_PAIRS)])
    row(f"{app} 2048, 2 equal nodes", str(n_calm), f"{ratio:.4f}",
        f"{low:.4f} to {high:.4f}", "1.01", verdict(ratio, 1.01))


def placing(bench):
    """The least of three runs: others on the machine only add."""
    print("\n## A mapping by cpu-mem, processor time\n")
    header("what", "ms", "aim, ms", "")
    for n_nodes, n_threads, kind, aim in PLACINGS:
        what = f"{n_nodes} nodes, {n_threads} threads, {kind}"
        found = bench.attempt(what, lambda: min(
            float(measure.find(PLACE_LINE, measure.run(
                [bench.program("micro_place"), str(n_nodes), str(n_threads),
                 kind]), [what])) for _ in range(3)))
        if found is not None:
            row(what, f"{found:.2f}", str(aim), verdict(found, aim))


def newcomer(bench):
    print(f"\n## The newcomer's program: {N_NEWCOMER} iterations, main() "
          "writes all start values, 2 nodes, first touches included\n")
    header("what", "Teamster", "compared", "ratio", "spread", "aim", "")
    for app in ("jacobi", "sor"):
        for where, arguments in (("MPI", []), ("MPI that scatters", ["root"])):
            what = f"{app} 2048, to {where}"
            ratio_row(what, bench.attempt(what, lambda: measure.compare(
                bench.teamster(2, app, "--size", 2048, "--iterations",
                               N_NEWCOMER, "--init", "root"),
                bench.mpi(2, f"{app}_mpi", 2048, N_NEWCOMER, *arguments),
                measure.TOTAL_LINE, bench.n_pairs)), 2.0, "s")


def latency_commands(bench):
    """Name -> (command, line of its output)."""
    def micro(n_nodes, test, policy=None):
        return bench.teamster(n_nodes, "micro", test, policy=policy), test

    return {
        "page fetch": micro(2, "fetch"),
        "page fetch, its owner computes": micro(2, "fetch-busy"),
        "page, streamed": micro(2, "stream"),
        "UCX ping 4 KiB, polling":
            (bench.plain("ucx_ping", "poll"), "poll"),
        "UCX ping 4 KiB, sleeping":
            (bench.plain("ucx_ping", "event"), "event"),
        "fault, userfaultfd": (bench.plain("fault_cost"), "userfaultfd"),
        "fault, mprotect": (bench.plain("fault_cost"), "mprotect"),
        "barrier, 2 nodes": micro(2, "barrier"),
        "MPI_Barrier, 2":
            (bench.mpi(2, "barrier_mpi"), "barrier"),
        "MPI_Barrier, 2, yielding when idle":
            (["mpirun", "--mca", "mpi_yield_when_idle", "1",
              *bench.mpi(2, "barrier_mpi")[1:]], "barrier"),
        "barrier, 4 nodes": micro(4, "barrier"),
        "MPI_Barrier, 4": (bench.mpi(4, "barrier_mpi"), "barrier"),
        "lock and unlock, again on one node": micro(2, "lock"),
        "lock that another node had": micro(2, "lock-remote"),
        "unlock to locked by a waiting node, with a word":
            micro(2, "hand-off"),
        "thread switch": micro(1, "yield"),
        "iteration end, 1 thread": micro(2, "iteration"),
        # With a policy threads stay where it wants them.
        "the same with a move, 8 KiB of stack": micro(2, "migrate", "none"),
    }


def latencies_measure(bench):
    """Name -> [(p50, p99) with cores free, (p50, p99) while they compute]."""
    commands = bench.attempt("latencies", latency_commands, bench) or {}
    found = {name: [] for name in commands}

    def collect(state):
        rounds = {name: [] for name in commands}
        for i in range(1 if bench.quick else 5):
            for name, (command, line) in commands.items():
                if None not in rounds[name]:
                    rounds[name].append(bench.attempt(
                        f"{name}, {state}, round {i + 1}", measure.latency,
                        command, line))
        for name, of_name in rounds.items():
            found[name].append(None if None in of_name else tuple(
                statistics.median(r[i] for r in of_name) for i in (0, 1)))

    collect("cores free")
    with measure.all_cores_computing():
        collect("all cores computing")
    return found


def latency_table(found):
    print("\n## Latencies, in microseconds\n")
    header("what", "p50", "p99", "p50, cores computing",
           "p99, cores computing")
    for name, states in found.items():
        cells = []
        for state in states:
            cells += [f"{us:.2f}" for us in state] if state else ["failed"] * 2
        row(name, *cells)


def latency_ratios(found):
    """The ratios with an aim, of medians."""
    print("\n## Latencies compared, medians\n")
    header("what", "ratio", "ratio, cores computing", "aim", "")

    def ratio_of(ours, theirs):
        ratios = []
        for state in (0, 1):
            if not all(found.get(n, [None] * 2)[state]
                       for n in (ours, *theirs)):
                ratios.append(None)
                continue
            ratios.append(found[ours][state][0] /
                          sum(found[n][state][0] for n in theirs))
        return ratios

    for what, ours, theirs, aim in (
            ("page fetch to UCX ping, polling, and a fault", "page fetch",
             ["UCX ping 4 KiB, polling", "fault, userfaultfd"], 1.5),
            ("page fetch to UCX ping, sleeping, and a fault", "page fetch",
             ["UCX ping 4 KiB, sleeping", "fault, userfaultfd"], 1.5),
            ("barrier of 2 nodes to MPI_Barrier, yielding when idle",
             "barrier, 2 nodes", ["MPI_Barrier, 2, yielding when idle"], 2.0),
            ("barrier of 4 nodes to MPI_Barrier", "barrier, 4 nodes",
             ["MPI_Barrier, 4"], 2.0)):
        free, computing = ratio_of(ours, theirs)
        row(what, *(f"{r:.2f}" if r else "failed" for r in (free, computing)),
            f"{aim:.2f}", verdict(free, aim) if free else "")


# A line of micro_diff: what, bytes, p50 p99, p50 p99, ratio, p50 p99.
DIFF_LINE = re.compile(
    r"^(\S.*?) +\d+ +([\d.]+) +[\d.]+ +([\d.]+) +[\d.]+ +([\d.]+) +"
    r"([\d.]+) +[\d.]+$", re.M)


def diffs(bench):
    print("\n## Diff of a page, to memcmp and memcpy of it, in nanoseconds\n")
    header("what changed", "pages", "encode", "memcmp and memcpy", "ratio",
           "aim", "", "apply")
    for n_pages in (1, 1024):
        output = bench.attempt(f"diffs of {n_pages} pages", lambda: measure.run(
            [bench.program("micro_diff"), str(n_pages),
             "50" if bench.quick else "200"]))
        for what, memory, encode, ratio, apply in DIFF_LINE.findall(
                output or ""):
            row(what, str(n_pages), encode, memory, ratio, "2.00",
                verdict(float(ratio), 2.0), apply)


def make_parser(description, quick, parts):
    """What measurements in parts are asked for with.
    @param quick  what --quick does"""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--build", default="build/release",
                        help="a build of the release preset (%(default)s)")
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--only", action="append", metavar="PART",
                        choices=parts, help="one of " + ", ".join(parts))
    return parser


def main():
    options = make_parser(__doc__, "fewer repetitions, one size",
                          PARTS).parse_args()
    bench = Bench(options.build, options.quick)
    parts = options.only or PARTS

    print("# Measurements\n")
    header("machine", "")
    for name, value in measure.machine():
        row(name, value)
    busy = Busy()
    if "steady" in parts:
        steady(bench)
    if "balanced" in parts:
        balanced(bench)
    if "newcomer" in parts:
        newcomer(bench)
    if "irregular" in parts:
        irregular.report(bench, header, row)
    if "unchanged" in parts:
        unchanged.report(bench, header, row)
    if "tasks" in parts:
        tasks.report(bench, header, row)
    if "latencies" in parts:
        found = latencies_measure(bench)
        latency_table(found)
        latency_ratios(found)
    if "diffs" in parts:
        diffs(bench)
    if "placing" in parts:
        placing(bench)
    others = busy.others()
    print(f"\nOther programs, the kernel and other virtual machines used "
          f"{others:.2f} processors meanwhile"
          + (": **do not trust these numbers**." if others > OTHERS_MOST
             else "."))
    if bench.failures:
        print("\n## Failed\n")
        for failure in bench.failures:
            print(f"- {failure}")
    return 1 if bench.failures else 0


if __name__ == "__main__":
    sys.exit(main())
