# SPDX-License-Identifier: BSD-3-Clause
"""Runs that were never made. Whatever is stored of them says "fake"."""
from experiment import papers


class Stopped(Exception):
    """Somebody pressed Ctrl-C."""


def fake_run(ms, counts=(8, 8, 8, 8), **changes):
    return {"iteration_ms": ms, "iteration_deviation_ms": ms / 50,
            "iterations_ms": [ms] * 4, "counts": list(counts),
            "moved_in": [0] * 4, "computed_s": [1.0] * 4,
            "predicted_ms": ms * 0.9, "predicted_liu06_ms": ms * 0.8,
            "page_ins": [0, 0, 3, 7], "page_outs": [0, 0, 2, 6],
            "checksum": "c0ffee", "load": 0.5,
            "seconds": 2.0, **changes}


# Milliseconds of each policy, as the papers have them where memory is short.
PAPER_LIKE = {"none": 100.0, "initial": 100.0, "cpu": 100.0, "mem": 60.0,
              "mem-share": 60.0, "cpu-mem": 50.0, "liang03": 55.0}
COUNTS = {"mem": (15, 4, 5, 8), "cpu-mem": (14, 5, 5, 8)}


class FakeRunner:
    """Instead of run.Runner."""

    def __init__(self, stop_after=None, fail=()):
        self.calls = []
        self.stop_after = stop_after
        self.fail = set(fail)  # names of cells

    def __call__(self, cell, work, counts=None, has_memory=True):
        if self.stop_after is not None and len(self.calls) >= self.stop_after:
            raise Stopped()
        self.calls.append(cell.name)
        if cell.name in self.fail:
            return {"failure": "exit code 70: made up", "load": 0.1,
                    "seconds": 1.0}
        if counts is not None:  # one valley, at (11,7,7,7)
            away = sum(abs(a - b) for a, b in zip(counts, (11, 7, 7, 7)))
            return fake_run(40.0 + 5 * away, counts)
        return fake_run(PAPER_LIKE[cell.policy],
                        COUNTS.get(cell.policy, (8, 8, 8, 8)))


def fake_times(times):
    """cell -> milliseconds, by (env, app, policy); the rest from PAPER_LIKE,
    N-Body and its like."""
    def ms(cell):
        key = (cell.env, cell.app, cell.policy)
        if key in times:
            return times[key]
        if cell.app in papers.FRUGAL:
            return {"mem-share": 130.0}.get(cell.policy, 100.0)
        return PAPER_LIKE[cell.policy]
    return ms
