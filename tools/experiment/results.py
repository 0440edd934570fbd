# SPDX-License-Identifier: BSD-3-Clause
"""What the runs of a cell come to, and how two cells compare.

Other users of a machine only ever add time, and to a virtual machine they add up to
a half for longer than a run takes, so that medians of a few runs say more about them
than about the policy. The time of a run is the lower quartile of its iterations, and
that of a cell the least of its runs; the median of the runs is given beside it.
"""
import statistics
from collections import Counter
from dataclasses import dataclass

from .measure import good_runs
from .output import run_ms

TIE = 0.05  # cells within this part of each other are equally good
WIDE_TIE = 0.15  # about what runs of one cell differ by on a small machine


@dataclass
class Summary:
    """A cell that has runs."""
    ms: float          # least of its runs' times
    median: float      # of its runs' times
    most: float
    deviation: float   # from iteration to iteration, median of the runs
    counts: tuple      # those that most runs ended with
    agree: int         # how many did
    n_runs: int
    predicted_ms: float = None        # for the mapping that the run ended with
    predicted_liu06_ms: float = None  # by [Liu06]'s equations
    page_ins: list = None   # an iteration, of each node; mean of the runs
    page_outs: list = None


def _median(runs, name):
    values = [run[name] for run in runs if run.get(name) is not None]
    return statistics.median(values) if values else None


def _means(lists):
    lists = [values for values in lists if values is not None]
    return [statistics.fmean(column) for column in zip(*lists)] or None


def summarize(result):
    """@return None if a cell has no good run"""
    runs = good_runs(result)
    if not runs:
        return None
    times = [run_ms(run) for run in runs]
    counts, agree = Counter(tuple(run["counts"]) for run in runs).most_common(
        1)[0]
    return Summary(
        ms=min(times), median=statistics.median(times), most=max(times),
        deviation=statistics.median(run["iteration_deviation_ms"]
                                    for run in runs),
        counts=counts, agree=agree, n_runs=len(runs),
        predicted_ms=_median(runs, "predicted_ms"),
        predicted_liu06_ms=_median(runs, "predicted_liu06_ms"),
        page_ins=_means([run["page_ins"] for run in runs]),
        page_outs=_means([run["page_outs"] for run in runs]))


def summarize_best(result):
    """The same of the best run of a search."""
    runs = good_runs(result)
    if not runs:
        return None
    best = min(runs, key=run_ms)
    summary = summarize({"runs": [best]})
    summary.n_runs = len(runs)
    return summary


class Results:
    """All cells of a folder, by cell."""

    def __init__(self, store, cells):
        self.raw = {cell: store.load(cell) for cell in cells}
        self.raw = {cell: result for cell, result in self.raw.items() if result}
        self.summaries = {}
        for cell, result in self.raw.items():
            summary = (summarize_best if cell.policy == "best" else summarize)(
                result)
            if summary is not None:
                self.summaries[cell] = summary

    def get(self, cell):
        return self.summaries.get(cell)

    def ms(self, cell):
        summary = self.summaries.get(cell)
        return summary.ms if summary else None

    def failures(self):
        """(cell, reason) of each run that failed."""
        return [(cell, run["failure"]) for cell, result in self.raw.items()
                for run in result["runs"] if "failure" in run]

    def checksums(self):
        """(paper, app) -> the different results its runs printed. matmul has
        another size in each paper."""
        found = {}
        for cell, result in self.raw.items():
            for run in good_runs(result):
                found.setdefault((cell.paper, cell.app), set()).add(
                    run["checksum"])
        return found


def is_shorter(a, b, tie=TIE):
    """a beats b by more than a tie."""
    return a < b * (1 - tie)


def is_tied(a, b, tie=TIE):
    return not is_shorter(a, b, tie) and not is_shorter(b, a, tie)


def is_best_or_tied(a, others, tie=TIE):
    return not any(is_shorter(other, a, tie) for other in others)
