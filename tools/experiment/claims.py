# SPDX-License-Identifier: BSD-3-Clause
"""The claims of both papers' section 5, each one a list of comparisons of cells.

A claim holds if all its comparisons do. One whose cells were not all measured is
open, unless a comparison has failed already.
"""
from dataclasses import dataclass, field

from . import papers, results
from .cells import Cell

MEM = "mem-share"  # [Liu06]'s MEM-based policy
HOLDS, FAILS, OPEN = "holds", "does not hold", "not measured"


@dataclass
class Claim:
    key: str
    source: str
    text: str
    checks: list = field(default_factory=list)


@dataclass
class Check:
    """`better` against each of `others`: "shorter", "tied", or "best" for
    shorter or tied."""
    relation: str
    cell: Cell
    others: tuple


def judge(check, ms, tie=results.TIE):
    """@param ms  cell -> milliseconds or None
    @return True, False, or None if something is missing"""
    own = ms(check.cell)
    others = [ms(other) for other in check.others]
    if own is None or None in others:
        return None
    if check.relation == "shorter":
        return all(results.is_shorter(own, other, tie) for other in others)
    if check.relation == "tied":
        return all(results.is_tied(own, other, tie) for other in others)
    return results.is_best_or_tied(own, others, tie)


def verdict(claim, ms, tie=results.TIE):
    """(HOLDS, FAILS or OPEN; how many checks hold; checks that do not)."""
    outcomes = [judge(check, ms, tie) for check in claim.checks]
    failed = [check for check, outcome in zip(claim.checks, outcomes)
              if outcome is False]
    if failed:
        word = FAILS
    else:
        word = OPEN if None in outcomes else HOLDS
    return word, outcomes.count(True), failed


def _checks(relation, envs, apps, policy, others, disk, paper=papers.LIU06):
    checks = []
    for env in envs:
        for app in apps:
            cell = Cell(paper, env, app, policy, disk(app))
            checks.append(Check(relation, cell, tuple(
                cell.beside(policy=other) for other in others)))
    return checks


def _liu06(disk):
    def checks(relation, envs, apps, policy, *others):
        return _checks(relation, envs.split(), apps, policy, others, disk)

    hungry, frugal = papers.HUNGRY, papers.FRUGAL
    no_matmul = ("sor", "gauss", "jacobi")
    no_jacobi = ("sor", "matmul", "gauss")
    every = papers.LIU06_APPS
    return [
        Claim("U1", "Fig. 3 to 5", "CPU&MEM-based is best or tied in all 42 "
              "cells", checks("best", "1A 1B 2A 2B 3A 3B", every, "cpu-mem",
                              "initial", "cpu", MEM)),
        Claim("U2", "Fig. 3", "group 1: CPU-based is no different from initial",
              checks("tied", "1A 1B", every, "cpu", "initial")),
        Claim("U3", "Fig. 3", "group 1: CPU&MEM-based shortens SOR, MM, GE and "
              "Jacobi", checks("shorter", "1A 1B", hungry, "cpu-mem",
                               "initial")),
        Claim("U4", "Fig. 3", "group 1: MEM-based shortens them too, but for MM "
              "in 1B", checks("shorter", "1A", hungry, MEM, "initial") +
              checks("shorter", "1B", no_matmul, MEM, "initial")),
        Claim("U5", "Fig. 3", "1B: CPU-based beats MEM-based for MM",
              checks("shorter", "1B", ("matmul",), "cpu", MEM)),
        Claim("U6", "Fig. 3", "group 1, memory ample (N-Body, MPEG4, VQ): "
              "CPU-based rivals CPU&MEM-based",
              checks("tied", "1A 1B", frugal, "cpu", "cpu-mem")),
        Claim("U7", "Fig. 3", "group 1, memory ample: MEM-based loses",
              checks("shorter", "1A 1B", frugal, "cpu", MEM)),
        Claim("U8", "Fig. 4", "group 2: CPU-based beats MEM-based for SOR, MM "
              "and GE, and for Jacobi in 2A",
              checks("shorter", "2A 2B", no_jacobi, "cpu", MEM) +
              checks("shorter", "2A", ("jacobi",), "cpu", MEM)),
        Claim("U9", "Fig. 4", "2B: MEM-based beats CPU-based for Jacobi",
              checks("shorter", "2B", ("jacobi",), MEM, "cpu")),
        Claim("U10", "Fig. 4", "group 2: CPU&MEM-based is best for SOR, MM, GE "
              "and Jacobi", checks("best", "2A 2B", hungry, "cpu-mem",
                                   "initial", "cpu", MEM)),
        Claim("U11", "Fig. 4", "group 2, memory ample: MEM-based is no better "
              "than initial", checks("best", "2A 2B", frugal, "initial",
                                     MEM)),
        Claim("U12", "Fig. 4", "group 2, memory ample: CPU&MEM-based is the "
              "same as CPU-based", checks("tied", "2A 2B", frugal, "cpu-mem",
                                          "cpu")),
        Claim("U13", "Fig. 5", "group 3: MEM-based beats CPU-based for SOR and "
              "Jacobi", checks("shorter", "3A 3B", ("sor", "jacobi"), MEM,
                               "cpu")),
        Claim("U14", "Fig. 5", "group 3: CPU&MEM-based is best for all",
              checks("best", "3A 3B", every, "cpu-mem", "initial", "cpu",
                     MEM)),
    ]


def _liang03(disk):
    def checks(relation, apps, policy, *others):
        return _checks(relation, ["T2"], apps.split(), policy, others, disk,
                       papers.LIANG03)

    return [
        Claim("L1", "Fig. 1", "memory-based is shorter than cpu-based for SOR",
              checks("shorter", "sor", "mem", "cpu")),
        Claim("L2", "Fig. 2, 3", "memory-based is longer than cpu-based for "
              "Jacobi and MM", checks("shorter", "jacobi matmul", "cpu",
                                      "mem")),
        Claim("L3", "Fig. 1 to 3", "cpu&memory-based is best for all three",
              checks("best", "sor jacobi matmul", "cpu-mem", "cpu", "mem")),
        Claim("L4", "Fig. 1 to 3", "the same with that paper's own search",
              checks("best", "sor jacobi matmul", "liang03", "cpu", "mem")),
    ]


def all_claims(disk="then"):
    """With one disk for those applications that were run with both."""
    def disk_of(app):
        return disk if app in papers.HUNGRY else "then"

    return _liu06(disk_of) + _liang03(disk_of)
