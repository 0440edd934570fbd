# SPDX-License-Identifier: BSD-3-Clause
"""Says on stderr how far the experiments are, and how much time is left.

Runs of one application take alike; so the time left is the runs left of each
application times their mean, or the mean of all where none has been seen yet.
"""
import statistics
import sys
import time

from .cells import is_slow


def span(seconds):
    """A time for people."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def kind(cell):
    """Runs of cells of one kind take alike."""
    return "slow" if is_slow(cell) else cell.app


class Progress:
    def __init__(self, runs_left, out=sys.stderr, clock=time.monotonic):
        """@param runs_left  cell -> how many runs it still needs"""
        self.n_done = 0
        self.seconds = {}  # application -> [of each run]
        self.out = out
        self.clock = clock
        self.start = clock()
        self.expect(runs_left)

    def expect(self, runs_left):
        self.left = {cell: n for cell, n in runs_left.items() if n > 0}
        self.n_all = sum(self.left.values())

    def usual(self, cell):
        """The longest that a run of this application took so far; if none is known,
        what is plenty at the default scale."""
        return max(self.seconds.get(kind(cell), [200.0 if is_slow(cell) else 10.0]))

    def time_left(self):
        """Seconds; None while nothing is known."""
        seen = [s for times in self.seconds.values() for s in times]
        if not seen:
            return None
        usual = statistics.fmean(seen)
        return sum(n * statistics.fmean(self.seconds.get(kind(cell), [usual]))
                   for cell, n in self.left.items())

    def drop(self, cell):
        """Nothing more comes of a cell."""
        self.n_all -= self.left.pop(cell, 0)

    def step(self, cell, run):
        self.n_done += 1
        self.seconds.setdefault(kind(cell), []).append(run["seconds"])
        if self.left.get(cell, 0) > 0:
            self.left[cell] -= 1
        else:
            self.n_all += 1  # a run that had to be made again
        if "failure" in run:
            what = f"FAILED: {run['failure']}"
        else:
            what = (f"{run['iteration_ms']:.2f} ms "
                    f"({','.join(map(str, run['counts']))})")
        if run.get("others", 0.0) >= 0.1:
            what += f"; others used {run['others']:.1f} processors"
        print(f"[{self.n_done}/{self.n_all}] {cell.name}: {what}; "
              f"{span(self.time_left())} left", file=self.out, flush=True)

    def end(self):
        print(f"{self.n_done} runs in {span(self.clock() - self.start)}",
              file=self.out)
