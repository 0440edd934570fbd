#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measure Teamster over four hosts, against MPI over the same.

The hosts are a lab made out of this machine (tests/lab/lab.py), with network
cards of 100 Mbit, then of 1 Gbit; so it needs root. They share the machine's
processors, for both alike. Programs that are compared run in turn, see
measure.py; a ratio below 1 means that Teamster is faster. Exit code 0 if all
could be measured; 1 if something failed; 77 if no lab can be made here.
"""
import os
import signal
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # nothing is left in the sources
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "..", "tests", "lab"))
import lab  # noqa: E402
import measure  # noqa: E402
import slurm  # noqa: E402
from run import Bench, header, make_parser, row  # noqa: E402

HOSTS = ["n1", "n2", "n3", "n4"]
RATES_MBIT = [100, 1000]
RUNS = [("jacobi", 2048, 60), ("sor", 2048, 60), ("matmul", 1024, 8)]
# What happens to n3 until the run has ended.
LOSSES = ["kill -9 of the node", "SIGSTOP of the node", "power off",
          "cable cut"]
PARTS = ["steady", "start", "ends"]


class Hosts(Bench):
    """Commands that run on n1."""

    def __init__(self, build, quick, bed):
        super().__init__(build, quick)
        self.bed = bed
        self.n_pairs = 3 if quick else 5

    def on_first(self, *command):
        return self.bed.command_on(
            "n1", "env", "-C", self.bed.folder,
            f"TEAMSTER_SSH={self.bed.ssh()}", *map(str, command))

    def over_hosts(self, name, *arguments):
        return self.on_first(
            self.program("teamster"), "run", "-H", ",".join(HOSTS), "-w", 1,
            "--policy", "none", self.program(name), *arguments)

    def mpi_over_hosts(self, name, *arguments):
        return self.on_first(
            "mpirun", "--allow-run-as-root", "-n", len(HOSTS), "--host",
            ",".join(HOSTS), "--bind-to", "none",
            "--mca", "plm_rsh_agent", self.bed.ssh(),
            "--mca", "oob_tcp_if_include", "eth0",
            "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "eth0",
            "--mca", "pml", "ob1", "--mca", "mpi_yield_when_idle", 1,
            self.program(name), *arguments)


def compare_row(bench, what, unit, *arguments):
    ratio = bench.attempt(what, measure.compare, *arguments, bench.n_pairs)
    if ratio is None:
        row(what, "", "", "failed", "")
        return
    row(what, f"{ratio.ours:.2f} {unit}", f"{ratio.theirs:.2f} {unit}",
        f"{ratio.median:.2f}", f"{ratio.least:.2f} to {ratio.most:.2f}")


def steady(bench, rates):
    print("\n## Iterations, steady, four hosts\n")
    header("what", "Teamster", "MPI", "ratio", "spread")
    for rate in rates:
        for host in HOSTS:
            bench.bed.set_link(host, rate)
        for app, size, n in RUNS:
            compare_row(bench, f"{app} {size}, {rate} Mbit", "ms",
                        bench.over_hosts(app, "--size", size, "--iterations",
                                         n),
                        bench.mpi_over_hosts(f"{app}_mpi", size, n),
                        measure.TIME_LINE)


def seconds_of(command):
    start = time.monotonic()
    measure.run(command)
    return time.monotonic() - start


def ways_to_start(bench):
    """What is run on n1, by name; the first is what others are compared with."""
    work = ("--size", 64, "--iterations", 6, "--threads", len(HOSTS))
    tiny = (bench.program("jacobi"), *work)
    ways = {"teamster run -H": bench.over_hosts("jacobi", *work),
            "mpirun": bench.mpi_over_hosts("jacobi", *work),
            "mpirun, an MPI program": bench.mpi_over_hosts("barrier_mpi")}
    try:
        slurm.check()
    except lab.Skip as reason:
        print(f"hosts.py: no srun: {reason}", file=sys.stderr)
        return ways
    conf = f"SLURM_CONF={slurm.start(bench.bed)}"
    ways["srun --mpi=pmix"] = bench.on_first(
        "env", conf, "srun", "--mpi=pmix", "-N", len(HOSTS), *tiny)
    ways["salloc, teamster run"] = bench.on_first(
        "env", "-u", "TEAMSTER_SSH", conf, "salloc", "--quiet", "-N",
        len(HOSTS), bench.program("teamster"), "run", "-w", 1, "--policy",
        "none", *tiny)
    return ways


def start(bench):
    """From the command until a program that does next to nothing has ended."""
    print("\n## Start and end, four hosts\n")
    header("what", "s", "spread", "to teamster run", "spread")
    ways = ways_to_start(bench)
    times = {what: [] for what in ways}
    ratios = {what: [] for what in ways}
    for _ in range(2 * bench.n_pairs + 1):
        first = None
        for what, command in ways.items():
            took = bench.attempt(what, seconds_of, command)
            if took is not None:
                first = first or took
                times[what].append(took)
                ratios[what].append(took / first)
    for what, found in times.items():
        if not found:
            row(what, "failed", "", "", "")
            continue
        row(what, f"{statistics.median(found):.2f}",
            f"{min(found):.2f} to {max(found):.2f}",
            f"{statistics.median(ratios[what]):.2f}",
            f"{min(ratios[what]):.2f} to {max(ratios[what]):.2f}")


def tell(what, found):
    if found:
        row(what, f"{statistics.median(found):.2f}",
            f"{min(found):.2f} to {max(found):.2f}")
    else:
        row(what, "failed", "")


def node_of(bench, host):
    return next((pid for pid, text in bench.bed.processes(host).items()
                 if text.split()[0].endswith("/jacobi")), None)


def lose(bench, what):
    node = node_of(bench, "n3")
    if node is None:
        raise measure.Failure(f"{what}: the run has ended before")
    if what == LOSSES[0]:
        os.kill(node, signal.SIGKILL)
    elif what == LOSSES[1]:
        os.kill(node, signal.SIGSTOP)
    elif what == LOSSES[2]:
        bench.bed.power_off("n3")
    else:
        bench.bed.cut("n3")


def seconds_to_the_end(bench, what):
    command = bench.over_hosts("jacobi", "--size", 512, "--iterations",
                               1000000)
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
    try:
        lab.wait_until(lambda: all(node_of(bench, host) for host in HOSTS),
                       "the nodes do not start")
        time.sleep(1)  # it computes
        began = time.monotonic()
        lose(bench, what)
        code = run.wait(timeout=60)
    except (subprocess.TimeoutExpired, TimeoutError) as failure:
        run.kill()
        raise measure.Failure(f"{what}: {failure}")
    if code != 75:
        raise measure.Failure(f"{what}: exit code {code}")
    return time.monotonic() - began


def ends(bench, n_times):
    """Each loss in a lab of its own, for some hosts do not come back."""
    print("\n## From the loss of a host to the end of the run\n")
    header("what", "s", "spread")
    for what in LOSSES:
        found = []
        for _ in range(n_times):
            with lab.lab(n_hosts=len(HOSTS)) as bench.bed:
                took = bench.attempt(what, seconds_to_the_end, bench, what)
            if took is not None:
                found.append(took)
        tell(what, found)


def measure_parts(parts, options):
    print("# Measurements over hosts\n")
    header("machine", "")
    for name, value in measure.machine():
        row(name, value)
    with lab.lab(n_hosts=len(HOSTS)) as bed:
        bench = Hosts(options.build, options.quick, bed)
        if "start" in parts:
            start(bench)
        if "steady" in parts:
            steady(bench, options.rate or RATES_MBIT)
    if "ends" in parts:
        ends(bench, 1 if options.quick else 3)
    if bench.failures:
        print("\n## Failed\n")
        for failure in bench.failures:
            print(f"- {failure}")
    return 1 if bench.failures else 0


def main():
    parser = make_parser(__doc__, "fewer repetitions", PARTS)
    parser.add_argument("--rate", action="append", metavar="MBIT", type=int,
                        help="of the network cards, for steady")
    options = parser.parse_args()
    try:
        return measure_parts(options.only or PARTS, options)
    except lab.Skip as reason:
        print(f"hosts.py: no lab here: {reason}", file=sys.stderr)
        return lab.SKIPPED


if __name__ == "__main__":
    sys.exit(main())
