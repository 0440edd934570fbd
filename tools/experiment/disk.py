# SPDX-License-Identifier: BSD-3-Clause
"""How slow swap files must be to be those of the papers.

Neither paper tells what its disks did. But [Liang03] Table 3 is what its search
finds for SOR only if paging one thread's data in and out takes 8 to 10 times as
long as the thread computes (gamma). So one rate is chosen for all applications:
that at which SOR's gamma is 9 on an emulated node. SOR goes over its grid twice in
an iteration, red points and black ones, and pages as often.

Handling a page costs the processor something too, and the disk works while threads
compute. So SOR is run short of memory, first with the rate that would do if threads
waited for the disk only, and the rate is changed until gamma is near 9.
"""
from . import papers
from .cells import DISKS, Cell, THEN
from .sizes import work

SWEEPS = {"sor": 2}
ITERATIONS = 24
TRIES = 5
NEAR = 0.6  # of gamma


class NotCalibrated(Exception):
    """The programs could not be run."""


def thread_seconds(run, iterations):
    """What a thread computes in an iteration on the fastest node; the start
    values are about one more."""
    return sum(run["computed_s"]) / (papers.N_THREADS * (iterations + 1))


def rate(thread_bytes, seconds):
    """Bytes a second, in and out together, with which the disk alone would take as
    long as SOR's gamma says."""
    return 2 * SWEEPS["sor"] * thread_bytes / (papers.SOR_GAMMA * seconds)


def page_seconds(run, seconds):
    """What a page that comes, and one that goes for it, take beyond computing:
    on the node of equal ones that pages most. None if nobody paged."""
    ins = run["page_ins"]
    if not ins or max(ins) < 1:
        return None
    node = ins.index(max(ins))
    return (run["iteration_ms"] / 1e3 - run["counts"][node] * seconds) / ins[node]


def gamma(app, its_work, seconds, page_s):
    """How many times as long as computing it takes to page a thread's data."""
    thread_pages = its_work.data_bytes / papers.N_THREADS / 4096
    return page_s * SWEEPS.get(app, 1) * thread_pages / seconds


def _run(runner, cell, scale, **options):
    its_work = work(cell.paper, cell.app, scale, ITERATIONS)
    run = runner(cell, its_work, **options)
    if "failure" in run:
        raise NotCalibrated(f"{cell.app}: {run['failure']}")
    return its_work, run


def paging_gamma(runner, scale, disk, seconds):
    """SOR's, short of memory; 0 if nobody pages."""
    its_work, run = _run(runner, Cell(papers.LIU06, "1B", "sor", "none", disk),
                         scale)
    page_s = page_seconds(run, seconds) or 0.0
    return gamma("sor", its_work, seconds, page_s), page_s


def near_rate(runner, scale, seconds, bytes_per_s):
    """The rate of those tried that comes nearest to SOR's gamma."""
    tried = {}
    for _ in range(TRIES):
        runner.swap_rate = bytes_per_s
        real, _ = paging_gamma(runner, scale, THEN, seconds)
        tried[abs(real - papers.SOR_GAMMA)] = bytes_per_s
        if min(tried) <= NEAR or real <= 0:
            break
        bytes_per_s *= real / papers.SOR_GAMMA
    return tried[min(tried)]


def calibrate(runner, scale):
    """Run those of [Liang03] that sweep over their data, with memory enough, and
    SOR without.

    @return a dict for the report: rate, or None; a page; gamma of each
    """
    found = {"gamma": {}, "thread_ms": {}}
    works = {}
    for paper, app in ((papers.LIU06, "sor"), (papers.LIU06, "jacobi"),
                       (papers.LIANG03, "jacobi")):
        env = "1A" if paper == papers.LIU06 else "T2"
        its_work, run = _run(runner, Cell(paper, env, app, "none", THEN), scale,
                             has_memory=False)
        works[paper, app] = its_work, thread_seconds(run, ITERATIONS)
    its_work, seconds = works[papers.LIU06, "sor"]
    found["bytes_per_s"] = near_rate(
        runner, scale, seconds,
        rate(its_work.data_bytes / papers.N_THREADS, seconds))
    runner.swap_rate = found["bytes_per_s"]
    found["sor_gamma"] = {}
    for disk in DISKS:
        found["sor_gamma"][disk], page_s = paging_gamma(runner, scale, disk,
                                                        seconds)
        found.setdefault("page_ms", {})[disk] = page_s * 1e3
    for (paper, app), (its_work, seconds) in works.items():
        found["gamma"][f"{paper} {app}"] = gamma(
            app, its_work, seconds, found["page_ms"][THEN] / 1e3)
        found["thread_ms"][f"{paper} {app}"] = seconds * 1e3
    return found
