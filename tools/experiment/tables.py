# SPDX-License-Identifier: BSD-3-Clause
"""Tables of the report: the figures in numbers, and how good predictions were."""
import itertools
import statistics

from . import papers
from .cells import Cell, THEN, TODAY
from .measure import good_runs

NO = "–"


def table(head, rows):
    """A table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return lines


def counts(values):
    return NO if values is None else "(" + ",".join(map(str, values)) + ")"


def ratio(own, base):
    """A cell as a multiple of another's time, then the median of its runs as one
    of the other's."""
    if own is None or base is None:
        return NO
    if own.n_runs == 1:
        return f"{own.ms / base.ms:.2f}"
    return (f"{own.ms / base.ms:.2f} "
            f"({own.median / base.median:.2f})")


def _row(results, cell, base, policies):
    first = results.get(cell.beside(policy=base))
    if first is None:
        return None
    row = [cell.env, cell.app, f"{first.ms:.1f} "
           f"({first.median:.1f})"]
    row += [ratio(results.get(cell.beside(policy=policy)), first)
            for policy in policies if policy != base]
    best = results.get(cell.beside(policy="cpu-mem"))
    return [*row, counts(best and best.counts)]


def figures(results, disk):
    """The bars of each figure as numbers."""
    lines = []
    for number, group in ((3, "1"), (4, "2"), (5, "3")):
        rows = [_row(results, Cell(papers.LIU06, group + env, app, "initial",
                                   disk), "initial", papers.LIU06_POLICIES)
                for app in papers.LIU06_APPS for env in "AB"
                if disk == THEN or app in papers.HUNGRY]
        rows = [row for row in rows if row]
        if rows:
            lines += [f"[Liu06] Fig. {number}", "", *table(
                ["env", "application", "initial, ms",
                 *papers.LIU06_POLICIES[1:], "threads, cpu-mem"], rows), ""]
    rows = [_row(results, Cell(papers.LIANG03, "T2", app, "cpu", disk), "cpu",
                 papers.LIANG03_POLICIES) for app in papers.LIANG03_APPS]
    rows = [row for row in rows if row]
    if rows:
        lines += ["[Liang03] Fig. 1 to 3", "", *table(
            ["env", "application", "cpu, ms", *papers.LIANG03_POLICIES[1:],
             "threads, cpu-mem"], rows), ""]
    return lines


MODELS = (("measured", "predicted_ms"), ("liu06", "predicted_liu06_ms"))


def errors(results, key, wanted):
    """Predicted over measured less 1, of each run whose last mapping was
    predicted."""
    return [run[key] / run["iteration_ms"] - 1
            for cell, result in results.raw.items() if wanted(cell)
            for run in good_runs(result) if run.get(key) is not None]


def _error_row(model, policy, disk, apps, found):
    size = sorted(abs(error) for error in found)
    return [model, policy, disk, apps, str(len(found)),
            f"{100 * statistics.median(found):+.0f} %",
            f"{100 * statistics.median(size):.0f} %",
            f"{100 * size[int(0.9 * (len(size) - 1))]:.0f} %"]


def error_lines(results):
    rows = []
    for (model, key), policy, disk, (name, apps) in itertools.product(
            MODELS, ("cpu", "mem-share", "mem", "cpu-mem", "liang03"),
            (THEN, TODAY), (("short of memory", papers.HUNGRY),
                            ("the others", papers.FRUGAL))):
        found = errors(results, key, lambda cell, policy=policy, disk=disk,
                       apps=apps: cell.policy == policy
                       and cell.disk == disk and cell.app in apps)
        if found:
            rows.append(_error_row(model, policy, disk, name, found))
    if not rows:
        return []
    return ["## Predictions", "", "Of the mapping a run ended with when it was last "
            "looked at, against the median of the iterations measured; by the model "
            "`measured` with what it had learned, which decides, and by the equations "
            "of [Liu06].", "", *table(
                ["model", "policy", "disk", "applications", "runs", "median",
                 "median of its size", "90 % are below"], rows), ""]
