# SPDX-License-Identifier: BSD-3-Clause
"""Reads what a run printed."""
import re
import statistics

# With --tag-output or without; thread 0 may be anywhere.
ITERATION = re.compile(r"^(?:\[\d+\] )?iteration (\d+): ([\d.]+) ms$", re.M)
PAGES = re.compile(r"^pages of iterations (\d+)-(\d+): in ([\d ]+), "
                   r"out ([\d ]+)$", re.M)
NODE = re.compile(r"^ +(\d+) +(\d+) +(\d+) +([\d.]+) +\d+ +\d+ +\d+$", re.M)
CHECKSUM = re.compile(r"^checksum: ([0-9a-f]+)$", re.M)


class Unreadable(Exception):
    """A run has not printed what it should have."""


def iteration_times(text, first, last):
    """Milliseconds of the iterations from `first` to `last`."""
    times = {int(k): float(ms) for k, ms in ITERATION.findall(text)}
    missing = [k for k in range(first, last + 1) if k not in times]
    if missing:
        raise Unreadable(f"no time of iteration {missing[0]}")
    return [times[k] for k in range(first, last + 1)]


def paging(text, first, last):
    """Pages in and out an iteration, [node] each, of the groups of iterations
    that begin in [first, last]. None if no node had a budget."""
    ins, outs, n = None, None, 0
    for start, end, coming, going in PAGES.findall(text):
        if not first <= int(start) <= last:
            continue
        n += int(end) - int(start) + 1
        coming = [int(value) for value in coming.split()]
        going = [int(value) for value in going.split()]
        ins = [a + b for a, b in zip(ins or [0] * len(coming), coming)]
        outs = [a + b for a, b in zip(outs or [0] * len(going), going)]
    if n == 0:
        return None, None
    return [value / n for value in ins], [value / n for value in outs]


def node_rows(text):
    """Of each node: threads in the last iteration, threads that moved in,
    seconds computed. Out of the application's --stats."""
    rows = NODE.findall(text)
    if not rows:
        raise Unreadable("no table of nodes")
    return ([int(row[1]) for row in rows], [int(row[2]) for row in rows],
            [float(row[3]) for row in rows])


def read_run(text, work):
    """What is kept of one run, but for predictions."""
    times = iteration_times(text, work.first, work.last)
    counts, moved_in, computed_s = node_rows(text)
    ins, outs = paging(text, work.first, work.last)
    checksum = CHECKSUM.search(text)
    if checksum is None:
        raise Unreadable("no checksum")
    return {
        "iteration_ms": statistics.median(times),
        "iteration_mean_ms": statistics.fmean(times),
        "iteration_deviation_ms": statistics.pstdev(times),
        "iterations_ms": times,
        "counts": counts,
        "moved_in": moved_in,
        "computed_s": computed_s,
        "page_ins": ins,
        "page_outs": outs,
        "checksum": checksum.group(1),
    }


def quiet(times):
    """The time that a quarter of the times are below: what others do disturbs it
    little."""
    return sorted(times)[len(times) // 4]


def run_ms(run):
    """Time of an iteration of a run that others disturb as little as can be."""
    return quiet(run["iterations_ms"])
