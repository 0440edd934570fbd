#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`tools/demo.py --quick` shows what it promises: all of it, and, in one of a few runs
at least, that `cpu-mem` takes threads from nodes that are slow or short of memory. Nothing
about times: other tests use the processors.

    test_demo.py DEMO BUILD
"""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(1, os.path.join(os.path.dirname(__file__), "..", "cluster"))
import jobs  # noqa: E402

POLICIES = ["initial", "cpu", "mem", "cpu-mem"]
N_THREADS = 32
N_ATTEMPTS = 4
LAST = "All results have the same bits as those of one process."

# A policy, the threads of its nodes, two times, and what else is told.
ROW = re.compile(r"^(\S+) +((?:\d+ ){4}) *([\d.]+) ms +([\d.]+) ms +(.*)$",
                 re.M)


def require(condition, text):
    if not condition:
        raise jobs.Failure(text)


def demo(*arguments):
    # What the user has set must not lead the runs elsewhere.
    run = subprocess.run(arguments, check=False, text=True,
                         env=jobs.environment(),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return run.returncode, run.stdout, run.stderr


def check_table(rows):
    require([row[0] for row in rows] == POLICIES, f"not all policies: {rows}")
    for policy, threads, *times, _ in rows:
        counts = [int(word) for word in threads.split()]
        require(sum(counts) == N_THREADS, f"{policy}: {counts} threads")
        require(all(float(time) > 0 for time in times), f"{policy}: {times}")
    require(rows[0][1].split() == ["8"] * 4, f"initial moved: {rows[0]}")


def threads_of(rows, node):
    """@param rows  of one table, of which the last is of `cpu-mem`"""
    return int(rows[-1][1].split()[node])


def all_is_shown(program, build):
    """@return its two tables"""
    code, out, err = demo(program, "--quick", build)
    text = f"exit code {code}\n{out}{err}"
    require(code == 0, text)
    require(out.splitlines()[-1] == LAST, text)
    rows = ROW.findall(out)
    require(len(rows) == 2 * len(POLICIES), text)
    check_table(rows[:len(POLICIES)])
    check_table(rows[len(POLICIES):])
    moves = [int(row[-1].split()[0]) for row in rows[:len(POLICIES)]]
    require(moves[0] == 0, f"initial has moved threads\n{out}")
    pages = [int(word) for word in rows[len(POLICIES)][-1].split()]
    require(len(pages) == 4, text)
    require(pages[2] > 0, f"n3 pages in nothing under initial\n{out}")
    return rows[:len(POLICIES)], rows[len(POLICIES):]


def cpu_mem_moves_threads(program, build):
    for _ in range(N_ATTEMPTS):
        speeds, memory = all_is_shown(program, build)
        if (threads_of(speeds, 3) < 8 < threads_of(speeds, 0) and
                threads_of(memory, 2) < 8):
            return
    raise jobs.Failure(f"no thread leaves the slow node: {speeds}, or the one "
                       f"that is short of memory: {memory}")


def missing_programs_are_told(program):
    with tempfile.TemporaryDirectory() as empty:
        code, out, err = demo(program, empty)
    require(code == 69 and not out, f"exit code {code}\n{out}{err}")
    require("make programs" in err and len(err.splitlines()) == 1, err)


def main():
    program, build = sys.argv[1:]
    try:
        missing_programs_are_told(program)
        cpu_mem_moves_threads(program, build)
    except jobs.Failure as reason:
        sys.exit(f"test_demo: {reason}")


if __name__ == "__main__":
    main()
