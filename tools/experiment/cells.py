# SPDX-License-Identifier: BSD-3-Clause
"""Cells: one application in one environment under one policy with one disk."""
from dataclasses import dataclass

from . import papers

THEN = "then"    # swap files slowed to the papers' ratio of disk to processor
TODAY = "today"  # as fast as they are
DISKS = (THEN, TODAY)
# No pager: the kernel pages, to a swap file of its own on the machine's disk.
KERNEL = "kernel"
ALL_DISKS = (*DISKS, KERNEL)
KERNEL_ENVS = ("1A", "1B", "3A", "3B")  # where memory is short


@dataclass(frozen=True, order=True)
class Cell:
    paper: str
    env: str     # of [Liu06] Table 1; for [Liang03] "T2", its Table 2
    app: str
    policy: str  # or "best": the counts that were found by search
    disk: str

    @property
    def name(self):
        return "-".join((self.paper, self.env, self.app, self.policy,
                         self.disk))

    def beside(self, **changes):
        """The cell that differs in this."""
        return Cell(**{**self.__dict__, **changes})


# Where the best counts are looked for among real runs.
SEARCHED = (
    (papers.LIU06, "1B", "sor"), (papers.LIU06, "1B", "matmul"),
    (papers.LIU06, "2B", "jacobi"), (papers.LIU06, "3A", "gauss"),
    (papers.LIU06, "3B", "sor"), (papers.LIU06, "3B", "jacobi"),
    (papers.LIANG03, "T2", "sor"),
)


def _disks(app):
    # Without paging there is no difference.
    return DISKS if app in papers.HUNGRY else (THEN,)


def is_slow(cell):
    return cell.paper == papers.LIANG03 and cell.app == "matmul"


def all_cells():
    """Every cell of both papers, those with the papers' disk first."""
    cells = [Cell(papers.LIU06, env, app, policy, disk)
             for env in papers.LIU06_CLUSTERS
             for app in papers.LIU06_APPS
             for policy in papers.LIU06_POLICIES
             for disk in _disks(app)]
    cells += [Cell(papers.LIANG03, "T2", app, policy, disk)
              for app in papers.LIANG03_APPS
              for policy in papers.LIANG03_POLICIES
              for disk in _disks(app)]
    cells += [Cell(papers.LIU06, env, app, "initial", KERNEL)
              for env in KERNEL_ENVS for app in papers.HUNGRY]
    cells += [Cell(paper, env, app, "best", THEN)
              for paper, env, app in SEARCHED]
    # What starts the search is measured before it. [Liang03]'s product of matrices
    # takes a minute a run: all nodes but one page B for each of their threads.
    return sorted(cells, key=lambda cell: (is_slow(cell),
                                           ALL_DISKS.index(cell.disk),
                                           cell.policy == "best"))


def is_wanted(cell, wishes):
    """Whether a cell is among those asked for.

    @param wishes  field -> list of values; an env "3" stands for 3A and 3B
    """
    for field, values in wishes.items():
        value = getattr(cell, field)
        if values and not any(value == wish or
                              (field == "env" and value[:-1] == wish)
                              for wish in values):
            return False
    return True


def select(wishes):
    """Cells that the kernel pages for take long: only if they are asked for."""
    return [cell for cell in all_cells() if is_wanted(cell, wishes)
            and (cell.disk != KERNEL or wishes.get("disk"))]
