# SPDX-License-Identifier: BSD-3-Clause
"""Measures cells, one after the other, and goes on where it stopped.

A cell is done when it has as many good runs as were asked for. All cells get their
first run before any gets its second: so what there is soon covers everything, and a
machine that changes with time changes all cells alike. A run beside which others used
the processors is kept, does not count, and is made again. The papers' disk comes first,
then the searches, then today's disk, then the kernel's paging. What fails is kept too: a
cell is tried once more at most in each round.
"""
import time

from . import search
from .cells import ALL_DISKS, is_slow
from .sizes import work


class OutOfTime(Exception):
    """There is no time for another run."""


MOST_OTHERS = 0.35  # processors that others may use while a cell runs


def is_disturbed(run):
    return run.get("others", 0.0) > MOST_OTHERS


def good_runs(result):
    return [run for run in (result or {}).get("runs", [])
            if "failure" not in run and not is_disturbed(run)]


def is_done(result, repeats):
    return len(good_runs(result)) >= repeats


class Measurement:
    """@param settings  see experiments.py
    @param runner    called as run.Runner
    @param progress  progress.Progress
    @param deadline  of time.monotonic(); None: none
    """

    def __init__(self, store, settings, runner, progress, deadline=None):
        self.deadline = deadline
        self.store = store
        self.settings = settings
        self.runner = runner
        self.progress = progress

    def _work(self, cell):
        return work(cell.paper, cell.app, self.settings["scale"],
                    self.settings["iterations"])

    def _repeat(self, cell, n):
        """Have n good runs, if it had n - 1."""
        result = self.store.load(cell) or {"runs": []}
        if is_done(result, n):
            return
        self.check_time(cell)
        run = self.runner(cell, self._work(cell))
        result["runs"].append(run)
        self.store.save(cell, result)
        self.progress.step(cell, run)

    def check_time(self, cell):
        """@raise OutOfTime if a run of a cell would not end in time"""
        if self.deadline is not None and self.deadline < (
                time.monotonic() + self.progress.usual(cell)):
            raise OutOfTime

    def _search(self, cell):
        result = self.store.load(cell) or {"runs": []}
        if result.get("is_done"):
            return

        def execute(counts):
            self.check_time(cell)
            return self.runner(cell, self._work(cell), counts)

        def tell(run):
            result["runs"].append(run)
            self.store.save(cell, result)
            self.progress.step(cell, run)

        starts = search.starts(self.store, cell, self.settings["policies"])
        search.best_counts(
            starts, execute, tell, result["runs"], self.settings["search_runs"])
        result["is_done"] = True
        self.store.save(cell, result)
        self.progress.drop(cell)

    def measure(self, cells):
        for disk in ALL_DISKS:
            own = [cell for cell in cells
                   if cell.disk == disk and not is_slow(cell)]
            for n in range(1, self.settings["repeats"] + 1):
                for cell in own:
                    if cell.policy != "best":
                        self._repeat(cell, n)
            for cell in own:
                if cell.policy == "best":
                    self._search(cell)
        for cell in filter(is_slow, cells):
            self._repeat(cell, 1)

    def runs_left(self, cell):
        """How many runs a cell still needs, at most."""
        result = self.store.load(cell)
        if cell.policy == "best":
            if (result or {}).get("is_done"):
                return 0
            return max(0, self.settings["search_runs"] -
                       len((result or {}).get("runs", [])))
        wanted = 1 if is_slow(cell) else self.settings["repeats"]
        return max(0, wanted - len(good_runs(result)))
