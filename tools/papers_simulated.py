#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The experiments of [Liu06] and [Liang03] at the papers' own size, in virtual time.

  tools/papers_simulated.py                         all cells, then the report
  tools/papers_simulated.py --app sor --env 1B      some of them
  tools/papers_simulated.py --seeds 1 --disk "of the time"

Profiles of real runs, answers and report.md are in --folder; a command that was stopped
goes on. A claim holds if it does under each seed, does not hold if it does under none,
and else cannot be told. docs/experiments.md says what is the papers' and what is chosen.
"""
import argparse
import concurrent.futures
import os
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from experiment import cells, claims, laboratory, papers  # noqa: E402
from experiment.store import Mismatch  # noqa: E402
from experiment.tables import counts, table  # noqa: E402

CANNOT = "cannot be told"
UNAVAILABLE = 69
FIGURES = (("[Liu06] Fig. 3", papers.LIU06, ("1A", "1B")),
           ("[Liu06] Fig. 4", papers.LIU06, ("2A", "2B")),
           ("[Liu06] Fig. 5", papers.LIU06, ("3A", "3B")),
           ("[Liang03] Fig. 1 to 3", papers.LIANG03, ("T2",)))


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--app", action="append", choices=papers.LIU06_APPS,
        help="only these; may be given several times")
    add("--env", action="append", choices=[*papers.LIU06_CLUSTERS, "T2"],
        help="only these environments of [Liu06] Table 1; T2: [Liang03] Table 2")
    add("--disk", action="append", choices=[laboratory.TIME, laboratory.FITTED],
        help="one of the time, by its maker's figures; or one whose gamma is fitted "
        "to [Liang03] Table 3; default both")
    add("--seeds", type=int, default=3, metavar="N", help="of each cell, default 3")
    add("--iterations", type=int, default=laboratory.ITERATIONS, metavar="K",
        help="default %(default)s")
    add("--slower", type=float, default=laboratory.SLOWER, metavar="X", help="how many "
        "times as slow as a core here a processor of 500 MHz is, default %(default)s")
    add("--jobs", type=int, default=os.cpu_count(), help="default: the processors")
    add("--build", type=pathlib.Path, default=ROOT / "build/release")
    add("--folder", type=pathlib.Path, default=None,
        help="default build/papers-SLOWER-ITERATIONS: answers of other settings are others")
    return parser.parse_args()


def wanted_cells(arguments):
    return [cell for cell in cells.all_cells()
            if cell.disk == cells.THEN and cell.policy != "best" and
            (not arguments.app or cell.app in arguments.app) and
            (not arguments.env or cell.env in arguments.env)]


def tell(text):
    """On a terminal, in place of what was there."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def run_all(lab, wanted, kinds, seeds, n_jobs):
    """@return (cell, disk, seed) -> what it came to"""
    for cell in wanted:  # one after the other: they are measured
        tell(f"profile of {cell.app}")
        lab.profile(cell.paper, cell.app)
    keys = [(cell, kind, seed) for seed in seeds for kind in kinds for cell in wanted]
    found = {}
    with concurrent.futures.ThreadPoolExecutor(n_jobs) as pool:
        jobs = {pool.submit(lab.cell, *key): key for key in keys}
        try:
            for done in concurrent.futures.as_completed(jobs):
                found[jobs[done]] = done.result()
                tell(f"{len(found)} of {len(keys)} cells")
        except BaseException:
            for job in jobs:
                job.cancel()
            raise
    tell("")
    return found


def spread(values, digits=1):
    values = list(values)
    middle = f"{statistics.median(values):.{digits}f}"
    return middle if len(values) < 2 else (
        f"{middle} ({min(values):.{digits}f} to {max(values):.{digits}f})")


def figure_lines(found, title, paper, envs, kind, seeds):
    policies = papers.LIU06_POLICIES if paper == papers.LIU06 else papers.LIANG03_POLICIES
    rows = []
    for env in envs:
        for app in papers.LIU06_APPS if paper == papers.LIU06 else papers.LIANG03_APPS:
            own = [[found.get((cells.Cell(paper, env, app, policy, cells.THEN), kind, seed))
                    for seed in seeds] for policy in policies]
            if not all(all(answers) for answers in own):
                continue
            rows.append([env, app,
                         *(spread(one["iteration_s"] for one in answers) for answers in own),
                         *(f"{statistics.median(one['first_s'] for one in answers):.0f}"
                           for answers in own),
                         counts(own[policies.index("cpu-mem")][0]["counts"])])
    if not rows:
        return []
    return [f"### {title}", ""] + table(
        ["", "", *policies, *(f"{policy}, first {laboratory.FIRST}" for policy in policies),
         "cpu-mem's threads"], rows) + [""]


def word_of(claim, found, kind, seeds):
    """A claim's verdict, and how many of its comparisons hold under how many seeds."""
    outcomes = []
    for seed in seeds:
        def seconds(cell, seed=seed):
            one = found.get((cell, kind, seed))
            return one and one["iteration_s"]

        outcomes.append(claims.verdict(claim, seconds))
    words = {word for word, _, _ in outcomes}
    return (words.pop() if len(words) == 1 else CANNOT,
            spread((n for _, n, _ in outcomes), 0))


def claim_lines(found, kind, seeds):
    rows = [[claim.key, claim.source, claim.text, *word_of(claim, found, kind, seeds),
             str(len(claim.checks))] for claim in claims.all_claims()]
    return ["### Claims", ""] + table(
        ["", "figure", "claim", "here", "comparisons that hold", "of"], rows) + [""]


def table3_lines(found, kind):
    rows = []
    for (app, policy), theirs in papers.LIANG03_COUNTS.items():
        one = found.get((cells.Cell(papers.LIANG03, "T2", app, policy, cells.THEN), kind, 1))
        if one:
            rows.append([app, policy, counts(theirs), counts(one["counts"])])
    return ["### [Liang03] Table 3", ""] + table(
        ["application", "policy", "the paper's", "here"], rows) + [""] if rows else []


def report(found, lab, kinds, seeds):
    lines = ["# The papers at their own size, in the laboratory", "",
             f"Seconds an iteration, the median of the last quarter of {lab.iterations}; medians "
             f"over {len(seeds)} seeds (least to most). Behind them seconds of the first "
             f"{laboratory.FIRST}, and the threads of the nodes under cpu-mem in the end. "
             f"Processors {lab.slower:g} times as slow as here.", ""]
    for kind in kinds:
        lines += [f"## Disk {kind}: {lab.disk_keys(kind)}", ""]
        for title, paper, envs in FIGURES:
            lines += figure_lines(found, title, paper, envs, kind, seeds)
        lines += table3_lines(found, kind) + claim_lines(found, kind, seeds)
    return "\n".join(lines)


def main():
    arguments = parse_arguments()
    folder = arguments.folder or (
        ROOT / f"build/papers-{arguments.slower:g}-{arguments.iterations}")
    lab = laboratory.Laboratory(arguments.build, folder, arguments.slower,
                                arguments.iterations)
    kinds = arguments.disk or [laboratory.TIME, laboratory.FITTED]
    seeds = range(1, arguments.seeds + 1)
    try:
        found = run_all(lab, wanted_cells(arguments), kinds, seeds, arguments.jobs)
    except (laboratory.Failure, Mismatch, FileNotFoundError) as reason:
        print(f"tools/papers_simulated.py: {reason}", file=sys.stderr)
        return UNAVAILABLE
    except KeyboardInterrupt:
        print("tools/papers_simulated.py: stopped; the same command goes on",
              file=sys.stderr)
        return 130
    path = lab.folder / "report.md"
    path.write_text(report(found, lab, kinds, seeds), encoding="utf-8")
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
