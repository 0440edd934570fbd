# SPDX-License-Identifier: BSD-3-Clause
"""Looks for the best thread counts among real runs, within a number of them.

Begins with the counts that the policies came to, then goes downhill from the best:
a thread from the node that pages most, or else has the most threads a MHz, to each
other node; then from the next. A step counts if it gains more than 2 %. What was
run before the search was interrupted is not run again.
"""
from . import papers
from .output import run_ms

GAIN = 0.02


def starts(store, cell, policies):
    """Counts that other cells of the same application and cluster ended with."""
    found = []
    for policy in policies:
        result = store.load(cell.beside(policy=policy))
        for run in (result or {}).get("runs", []):
            if "failure" not in run and run["counts"] not in found:
                found.append(run["counts"])
    even = [papers.N_THREADS // papers.N_NODES] * papers.N_NODES
    return found if even in found else [even, *found]


def neighbours(run):
    """The counts that are one thread away, most promising first."""
    counts = run["counts"]
    ins = run.get("page_ins") or [0] * len(counts)
    n = range(len(counts))
    sources = sorted((x for x in n if counts[x] > 0),
                     key=lambda x: (-ins[x], -counts[x], x))
    for source in sources:
        for target in sorted((x for x in n if x != source),
                             key=lambda x: (ins[x], counts[x], x)):
            yield [c + (x == target) - (x == source)
                   for x, c in enumerate(counts)]


def best_counts(first, execute, tell, before, n_runs):
    """Search.

    @param first    counts to begin with
    @param execute  execute(counts) is a run
    @param tell     told of each new run
    @param before   runs of this search that were made already
    @param n_runs   how many runs in all
    @return the best run; None if none succeeded
    """
    known = {tuple(run["asked"]): run for run in before}
    left = n_runs - len(before)
    best = None

    def evaluate(counts):
        nonlocal left
        key = tuple(counts)
        if key not in known:
            if left <= 0:
                return None
            left -= 1
            known[key] = {"asked": list(counts), **execute(counts)}
            tell(known[key])
        run = known[key]
        return None if "failure" in run else run

    for counts in first:
        run = evaluate(counts)
        if run and (not best or run_ms(run) < run_ms(best)):
            best = run
    improves = best is not None
    while improves:
        improves = False
        for counts in neighbours(best):
            run = evaluate(counts)
            if run and run_ms(run) < run_ms(best) * (1 - GAIN):
                best, improves = run, True
                break
    return best
