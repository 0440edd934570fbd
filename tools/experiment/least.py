# SPDX-License-Identifier: BSD-3-Clause
"""Pages that came in, beside the least possible.

For a sweep over pages in a fixed order Belady's number is what does not fit: M_lack
in each sweep. That is known without a trace for SOR and Jacobi, whose threads have
equal shares of the data; a page that two nodes use at a border is left out. GE and MM
use other pages in each iteration, or the same ones several times.
"""
from . import papers, sizes
from .cells import THEN
from .disk import SWEEPS
from .tables import counts, table


def least(cell, work, node_counts, extra_pages):
    """Pages an iteration, of all nodes, with so many pages on top of the papers'."""
    thread_pages = work.data_bytes / papers.N_THREADS / 4096
    lack = 0.0
    for n, (_, mb) in zip(node_counts,
                          papers.cluster(cell.paper, cell.env, cell.app)):
        memory = mb * papers.MIB * work.memory_factor / 4096 + extra_pages
        lack += max(0.0, n * thread_pages - memory)
    return lack * SWEEPS.get(cell.app, 1)


def least_lines(results, settings):
    rows = []
    for cell, own in results.summaries.items():
        if (cell.app not in ("sor", "jacobi") or cell.disk != THEN
                or own.page_ins is None or own.agree != own.n_runs):
            continue
        work = sizes.work(cell.paper, cell.app, settings["scale"],
                          settings["iterations"])
        bounds = [least(cell, work, own.counts, extra)
                  for extra in (work.extra_pages, 0)]
        if bounds[0] < 20:
            continue
        ins = sum(own.page_ins)
        rows.append([cell.paper, cell.env, cell.app, cell.policy,
                     counts(own.counts), f"{ins:.0f}",
                     *(f"{bound:.0f}: {ins / bound:.2f}" for bound in bounds)])
    if not rows:
        return []
    return ["## Page-ins beside the least possible", "",
            "Of all nodes in an iteration, SOR and Jacobi; least: M_lack in each "
            "sweep, which is Belady's number for it, with the budget, and with "
            "what is left of it when the pager has its pages for what is on its "
            "way. Behind it the page-ins as a multiple. Cells whose runs ended "
            "with the same counts, and lack 20 pages or more.", "", *table(
                ["paper", "environment", "application", "policy", "counts",
                 "pages in", "least, all of the budget", "least, without those"],
                rows), ""]
