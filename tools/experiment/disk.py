# SPDX-License-Identifier: BSD-3-Clause
"""How slow swap files must be to be those of the papers.

Neither paper tells what its disks did. But [Liang03] Table 3 is what its search
finds for SOR only if paging one thread's data in and out takes 8 to 10 times as
long as the thread computes (gamma). So one rate is chosen for all applications:
that at which SOR's gamma is 9 on an emulated node. SOR goes over its grid twice in
an iteration, red points and black ones, and pages as often.

That is the disk alone. What handling a page costs the processor comes on top, also
with today's disk; so SOR is run once more, short of memory, with both disks, and
the report says what gamma really is.
"""
from . import papers
from .cells import DISKS, Cell, THEN
from .sizes import work

SWEEPS = {"sor": 2}
ITERATIONS = 24


class NotCalibrated(Exception):
    """The programs could not be run."""


def thread_seconds(run, iterations):
    """What a thread computes in an iteration on the fastest node; the start
    values are about one more."""
    return sum(run["computed_s"]) / (papers.N_THREADS * (iterations + 1))


def rate(thread_bytes, seconds, gamma=papers.SOR_GAMMA):
    """Bytes a second, in and out together."""
    return 2 * SWEEPS["sor"] * thread_bytes / (gamma * seconds)


def gamma(app, thread_bytes, seconds, bytes_per_s):
    """What gamma another application has at a rate."""
    return 2 * SWEEPS.get(app, 1) * thread_bytes / bytes_per_s / seconds


def real_gamma(run, its_work, seconds):
    """Gamma out of a run of SOR on equal nodes: what the node that pages most
    takes beyond computing, a page, times the pages of a thread. None if
    nobody paged."""
    ins = run["page_ins"]
    if not ins or max(ins) < 1:
        return None
    node = ins.index(max(ins))
    extra = run["iteration_ms"] / 1e3 - run["counts"][node] * seconds
    thread_pages = its_work.data_bytes / papers.N_THREADS / 4096
    return extra / ins[node] * SWEEPS["sor"] * thread_pages / seconds


def with_paging(runner, scale, found):
    """What gamma comes to, by disk; those that failed are left out."""
    runner.swap_rate = found["bytes_per_s"]
    gammas = {}
    for kind in DISKS:
        cell = Cell(papers.LIU06, "1B", "sor", "none", kind)
        its_work = work(cell.paper, "sor", scale, ITERATIONS)
        run = runner(cell, its_work)
        if "failure" not in run:
            gammas[kind] = real_gamma(run, its_work,
                                      found["sor"]["thread_ms"] / 1e3)
    return gammas


def calibrate(runner, scale):
    """Run those of [Liang03] that sweep over their data, with memory enough.

    @return a dict for the report: rate, and gamma of each
    """
    found = {}
    for app in ("sor", "jacobi"):
        cell = Cell(papers.LIU06, "1A", app, "none", THEN)
        its_work = work(cell.paper, app, scale, ITERATIONS)
        run = runner(cell, its_work, has_memory=False)
        if "failure" in run:
            raise NotCalibrated(f"{app} with memory enough: {run['failure']}")
        seconds = thread_seconds(run, ITERATIONS)
        thread_bytes = its_work.data_bytes / papers.N_THREADS
        if app == "sor":
            found["bytes_per_s"] = rate(thread_bytes, seconds)
        found[app] = {"thread_ms": seconds * 1e3, "gamma": gamma(
            app, thread_bytes, seconds, found["bytes_per_s"])}
    return {**found, "real_gamma": with_paging(runner, scale, found)}
