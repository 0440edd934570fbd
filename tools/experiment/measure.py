# SPDX-License-Identifier: BSD-3-Clause
"""Measures cells, one after the other, and goes on where it stopped.

A cell is done when it has as many good runs as were asked for. What fails is kept
too: a cell is tried `repeats` times more at most each time this is started.
"""
from . import search
from .sizes import work


def good_runs(result):
    return [run for run in (result or {}).get("runs", [])
            if "failure" not in run]


def is_done(result, repeats):
    return len(good_runs(result)) >= repeats


class Measurement:
    """@param settings  see experiments.py
    @param runner    called as run.Runner
    @param progress  progress.Progress
    """

    def __init__(self, store, settings, runner, progress):
        self.store = store
        self.settings = settings
        self.runner = runner
        self.progress = progress

    def _work(self, cell):
        return work(cell.paper, cell.app, self.settings["scale"],
                    self.settings["iterations"])

    def _complete(self, cell):
        repeats = self.settings["repeats"]
        result = self.store.load(cell) or {"runs": []}
        tries = repeats
        while not is_done(result, repeats) and tries > 0:
            run = self.runner(cell, self._work(cell))
            result["runs"].append(run)
            self.store.save(cell, result)
            self.progress.step(cell, run)
            tries -= 1

    def _search(self, cell):
        result = self.store.load(cell) or {"runs": []}
        if result.get("is_done"):
            return

        def tell(run):
            result["runs"].append(run)
            self.store.save(cell, result)
            self.progress.step(cell, run)

        starts = search.starts(self.store, cell, self.settings["policies"])
        search.best_counts(
            starts, lambda counts: self.runner(cell, self._work(cell), counts),
            tell, result["runs"], self.settings["search_runs"])
        result["is_done"] = True
        self.store.save(cell, result)
        self.progress.drop(cell)

    def measure(self, cells):
        for cell in cells:
            if cell.policy == "best":
                self._search(cell)
            else:
                self._complete(cell)

    def runs_left(self, cell):
        """How many runs a cell still needs, at most."""
        result = self.store.load(cell)
        if cell.policy == "best":
            if (result or {}).get("is_done"):
                return 0
            return max(0, self.settings["search_runs"] -
                       len((result or {}).get("runs", [])))
        return max(0, self.settings["repeats"] - len(good_runs(result)))
