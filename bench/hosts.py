#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measure Teamster over four hosts, against MPI over the same.

The hosts are a lab made out of this machine (tests/lab/lab.py), with network
cards of 100 Mbit, then of 1 Gbit; so it needs root. They share the machine's
processors, for both alike. Programs that are compared run in turn, see
measure.py; a ratio below 1 means that Teamster is faster. Exit code 0 if all
could be measured; 1 if something failed; 77 if no lab can be made here.
"""
import contextlib
import os
import re
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
from run import Bench, header, make_parser, row, verdict  # noqa: E402

HOSTS = ["n1", "n2", "n3", "n4"]
RATES_MBIT = [100, 1000]
RUNS = [("jacobi", 2048, 60), ("sor", 2048, 60), ("matmul", 1024, 8)]
# What happens, to hosts whose nodes do not end by that; seconds in which it should
# be noticed.
LOSSES = {
    "kill -9 of a node":
        (lambda bed: os.kill(node_of(bed, "n3"), signal.SIGKILL), ["n3"], 0),
    "SIGSTOP of a node":
        (lambda bed: os.kill(node_of(bed, "n3"), signal.SIGSTOP), ["n3"], 5),
    "a host frozen": (lambda bed: bed.freeze("n3"), ["n3"], 5),
    "power off": (lambda bed: bed.power_off("n3"), ["n3"], 5),
    "cable cut": (lambda bed: bed.cut("n3"), [], 5),
    "two hosts cut off from two": (lambda bed: bed.partition("n3", "n4"), [], 5),
}
MPI_SETTINGS = {"btl": "tcp,self", "btl_tcp_if_include": "eth0", "pml": "ob1",
                "mpi_yield_when_idle": "1"}
START_AIM_S = 3
END_AIM_S = 2  # from the notice on
PARTS = ["steady", "start", "ends", "members"]


class Hosts(Bench):
    """Commands that run on n1."""

    def __init__(self, options, bed):
        super().__init__(options.build, options.quick)
        self.bed = bed
        self.n_pairs = 3 if options.quick else 5
        self.rows = re.compile(options.rows)

    def on_first(self, *command):
        return self.bed.command_on(
            "n1", "env", "-C", self.bed.folder, f"TMPDIR={self.bed.folder}",
            "XDG_RUNTIME_DIR=", f"TEAMSTER_SSH={self.bed.ssh()}",
            *map(str, command))

    def over_hosts(self, name, *arguments, hosts=HOSTS, policy="none",
                   options=()):
        return self.on_first(
            self.program("teamster"), "run", "-H", ",".join(hosts), "-w", 1,
            "--policy", policy, *options, self.program(name), *arguments)

    def mpi_over_hosts(self, name, *arguments):
        return self.on_first(
            "mpirun", "--allow-run-as-root", "-n", len(HOSTS), "--host",
            ",".join(HOSTS), "--bind-to", "none",
            "--mca", "plm_rsh_agent", self.bed.ssh(),
            "--mca", "oob_tcp_if_include", "eth0",
            *(word for name_and_value in MPI_SETTINGS.items()
              for word in ("--mca", *name_and_value)),
            self.program(name), *arguments)

    def srun_over_hosts(self, conf, name, *arguments):
        return self.on_first(
            "env", conf, *(f"OMPI_MCA_{setting}={value}"
                           for setting, value in MPI_SETTINGS.items()),
            "srun", "--mpi=pmix", "-N", len(HOSTS), self.program(name),
            *arguments)


def compare_row(bench, what, unit, *arguments):
    if not bench.rows.search(what):
        return
    ratio = bench.attempt(what, measure.compare, *arguments, bench.n_pairs)
    if ratio is None:
        row(what, "", "", "failed", "")
        return
    row(what, f"{ratio.ours:.2f} {unit}", f"{ratio.theirs:.2f} {unit}",
        f"{ratio.median:.2f}", f"{ratio.least:.2f} to {ratio.most:.2f}")


def steady(bench, rates):
    print("\n## Iterations, steady, four hosts\n")
    header("what", "Teamster", "compared", "ratio", "spread")
    for rate in rates:
        for host in HOSTS:
            bench.bed.set_link(host, rate)
        for app, size, n in RUNS:
            arguments = (app, "--size", size, "--iterations", n)
            what = f"{app} {size}, {rate} Mbit"
            compare_row(bench, f"{what}, to MPI", "ms",
                        bench.over_hosts(*arguments),
                        bench.mpi_over_hosts(f"{app}_mpi", size, n),
                        measure.TIME_LINE)
            compare_row(bench, f"{what}, to --trust-network", "ms",
                        bench.over_hosts(*arguments),
                        bench.over_hosts(*arguments,
                                         options=["--trust-network"]),
                        measure.TIME_LINE)


def seconds_of(command):
    start = time.monotonic()
    measure.run(command)
    return time.monotonic() - start


def ways_to_start(bench):
    """What is run on n1, by name, each with the one that it is compared with."""
    work = ("--size", 64, "--iterations", 6, "--threads", len(HOSTS))
    ssh = bench.bed.ssh()
    ways = {"mpirun, MPI": (bench.mpi_over_hosts("jacobi_mpi", 64, 6), None),
            "mpirun, Teamster": (bench.mpi_over_hosts("jacobi", *work),
                                 "mpirun, MPI"),
            "teamster run -H": (bench.over_hosts("jacobi", *work),
                                "mpirun, MPI"),
            "ssh HOST true, three at once": (bench.on_first(
                "sh", "-c", " ".join(f"{ssh} {host} true &" for host in HOSTS[1:])
                + " wait"), "mpirun, MPI")}
    try:
        slurm.check()
    except lab.Skip as reason:
        print(f"hosts.py: no srun: {reason}", file=sys.stderr)
        return ways
    conf = f"SLURM_CONF={slurm.start(bench.bed)}"
    ways["srun, MPI"] = (bench.srun_over_hosts(conf, "jacobi_mpi", 64, 6), None)
    ways["srun, Teamster"] = (bench.srun_over_hosts(conf, "jacobi", *work),
                              "srun, MPI")
    ways["salloc, teamster run"] = (bench.on_first(
        "env", "-u", "TEAMSTER_SSH", conf, "salloc", "--quiet", "-N",
        len(HOSTS), bench.program("teamster"), "run", "-w", 1, "--policy",
        "none", bench.program("jacobi"), *work), "srun, MPI")
    return ways


def start(bench):
    """From the command until a program that does next to nothing has ended."""
    print("\n## Start and end, four hosts\n")
    header("what", "s", "spread", "aim", "", "to", "ratio", "spread")
    ways = ways_to_start(bench)
    times = {what: [] for what in ways}
    for _ in range(2 * bench.n_pairs + 1):
        for what, (command, _) in ways.items():
            times[what].append(bench.attempt(what, seconds_of, command))
    for what, (_, base) in ways.items():
        found = [took for took in times[what] if took is not None]
        ratios = [took / other for took, other in
                  zip(times[what], times[base] if base else [])
                  if took is not None and other is not None]
        tell(what, found, START_AIM_S if "eamster" in what else None,
             *((base, *middle_and_spread(ratios)) if ratios else ("", "", "")))


def middle_and_spread(found):
    return (f"{statistics.median(found):.2f}",
            f"{min(found):.2f} to {max(found):.2f}")


def tell(what, found, aim_s, *more):
    if not found:
        row(what, "failed", "", "", "", *more)
        return
    row(what, *middle_and_spread(found), *(("", "") if aim_s is None else (
        f"{aim_s}", verdict(max(found), aim_s))), *more)


def node_of(bed, host):
    """A process of `processes(host)` that is a node of the run; None: not yet."""
    return next((pid for pid, text in bed.processes(host).items()
                 if text.partition(" ")[0].endswith("/jacobi")), None)


@contextlib.contextmanager
def endless_run(bench, **options):
    """A run that computes until something ends it."""
    with subprocess.Popen(
            bench.over_hosts("jacobi", "--size", 512, "--iterations", 1000000,
                             **options),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            lab.wait_until(lambda: all(node_of(bench.bed, host) for host in
                                       options.get("hosts", HOSTS)),
                           "the nodes do not start")
            time.sleep(1)  # it computes
            yield process
        except TimeoutError as failure:
            raise measure.Failure(str(failure)) from failure
        finally:
            launcher = lab.child_of(process.pid)  # behind nsenter
            if launcher != 0:
                os.kill(launcher, signal.SIGTERM)


def seconds_to_the_end(bench, what):
    """@return until the launcher and all nodes have ended that can"""
    happens, lost, _ = LOSSES[what]
    with endless_run(bench) as process:
        survivors = [node_of(bench.bed, host) for host in HOSTS
                     if host not in lost]
        began = time.monotonic()
        happens(bench.bed)
        lab.wait_until(lambda: process.poll() is not None and
                       not any(map(lab.is_alive, survivors)), f"{what}: no end")
        took = time.monotonic() - began
    if process.returncode != 75:
        raise measure.Failure(f"{what}: exit code {process.returncode}")
    return took


def ends(bench, n_times):
    """Each loss in a lab of its own, for some hosts do not come back."""
    print("\n## From a loss to the end of launcher and all surviving nodes, "
          "four hosts\n")
    header("what", "s", "spread", "aim", "")
    for what, (_, _, notice_s) in LOSSES.items():
        found = []
        for _ in range(n_times if bench.rows.search(what) else 0):
            with lab.lab(n_hosts=len(HOSTS)) as bench.bed:
                took = bench.attempt(what, seconds_to_the_end, bench, what)
            if took is not None:
                found.append(took)
        if bench.rows.search(what):
            tell(what, found, notice_s + END_AIM_S)


def call(bench, *words):
    return measure.run(bench.on_first(bench.program("teamster"), *words))


def come_and_go(bench, policy, n_times):
    """@return seconds of each `add` of a host, and of each `remove`"""
    came, went = [], []
    with endless_run(bench, hosts=HOSTS[:3], policy=policy):
        job = re.search(r"(?m)^ *(\d+) ", call(bench, "ps")).group(1)
        for number in range(len(HOSTS) - 1, len(HOSTS) - 1 + n_times):
            for found, words in ((came, ("add", job, "n4")),
                                 (went, ("remove", job, number))):
                began = time.monotonic()
                call(bench, *words)
                found.append(time.monotonic() - began)
                time.sleep(2)  # threads may move
    return came, went


def members(bench, n_times):
    print("\n## A host joins a run over three, and leaves it\n")
    header("what", "s", "spread")
    ssh = bench.on_first(*bench.bed.ssh().split(), "n4", "true")
    row("ssh n4 true", *middle_and_spread([seconds_of(ssh)
                                           for _ in range(n_times)]))
    for policy in ("none", "cpu-mem"):
        what = f"--policy={policy}"
        took = bench.attempt(what, come_and_go, bench, policy, n_times)
        for name, found in zip(("add", "remove"), took or ([], [])):
            row(f"teamster {name}, {what}", *(
                middle_and_spread(found) if found else ("failed", "")))


def measure_parts(parts, options):
    print("# Measurements over hosts\n")
    header("machine", "")
    for name, value in measure.machine():
        row(name, value)
    with lab.lab(n_hosts=len(HOSTS)) as bed:
        bench = Hosts(options, bed)
        if "start" in parts:
            start(bench)
        if "members" in parts:
            members(bench, 2 * bench.n_pairs)
        if "steady" in parts:
            steady(bench, options.rate or RATES_MBIT)
    if "ends" in parts:
        ends(bench, bench.n_pairs)
    if bench.failures:
        print("\n## Failed\n")
        for failure in bench.failures:
            print(f"- {failure}")
    return 1 if bench.failures else 0


def main():
    parser = make_parser(__doc__, "fewer repetitions", PARTS)
    parser.add_argument("--rate", action="append", metavar="MBIT", type=int,
                        help="of the network cards, for steady")
    parser.add_argument("--rows", default="", metavar="REGEX",
                        help="of steady and ends: those with such a name")
    options = parser.parse_args()
    try:
        return measure_parts(options.only or PARTS, options)
    except lab.Skip as reason:
        print(f"hosts.py: no lab here: {reason}", file=sys.stderr)
        return lab.SKIPPED


if __name__ == "__main__":
    sys.exit(main())
