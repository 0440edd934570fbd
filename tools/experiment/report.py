# SPDX-License-Identifier: BSD-3-Clause
"""Writes report.md out of a folder of results."""
import statistics

from . import cells as every_cell
from . import claims, papers, sizes
from .cells import Cell, THEN, TODAY

NO = "–"


def number(value, digits=2):
    return NO if value is None else f"{value:.{digits}f}"


def pages(values):
    return NO if values is None else "/".join(f"{value:.0f}"
                                              for value in values)


def counts(values):
    return NO if values is None else "(" + ",".join(map(str, values)) + ")"


def table(head, rows):
    """A table in Markdown; numbers to the right is left to the reader."""
    lines = ["| " + " | ".join(head) + " |",
             "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return lines


def setting(settings, machine, disk):
    scale = settings["scale"]
    rows = []
    for paper, apps in ((papers.LIU06, papers.LIU06_APPS),
                        (papers.LIANG03, papers.LIANG03_APPS)):
        for app in apps:
            work = sizes.work(paper, app, scale, settings["iterations"])
            rows.append([paper, app, str(work.size),
                         f"{work.data_bytes / papers.MIB:.2f}",
                         f"{work.memory_factor:.5f}",
                         f"{work.first}–{work.last} of {work.iterations}"])
    lines = [
        "## How it was measured", "",
        f"- {machine['processor']}, {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB, Linux {machine['kernel']}; Teamster "
        f"{machine['version']}.",
        f"- Four emulated nodes with one worker each, {papers.N_THREADS} "
        f"threads, {settings['repeats']} runs a cell. What is as in the "
        "papers and what differs: docs/experiments.md.",
        f"- **Scale {scale:g}**: data and memories are this part of the "
        "papers', or less (table).",
    ]
    if disk:
        lines.append(
            f"- Disk of the papers: swap files give or take "
            f"{disk['bytes_per_s'] / 1e6:.2f} MB/s a node"
            + (", as told by --swap-rate." if "sor" not in disk else
               f"; then paging a thread's data takes {disk['sor']['gamma']:.1f}"
               " times as long as the thread computes for SOR (as [Liang03] "
               f"Table 3 implies), {disk['jacobi']['gamma']:.1f} times for "
               "Jacobi."))
    real = (disk or {}).get("real_gamma") or {}
    if any(real.values()):
        lines.append(
            "- With what the processor does for a page, SOR really came to "
            f"{number(real.get(THEN), 0)} times with the papers' disk and "
            f"{number(real.get(TODAY), 0)} times with today's.")
    return lines + [""] + table(
        ["paper", "application", "size", "shared MiB", "memory of nodes, part "
         "of the paper's", "iterations measured"], rows) + [""]


def quality(results):
    """Loads, checksums, failures: what the numbers are worth."""
    loads = [run["load"] for result in results.raw.values()
             for run in result["runs"]]
    lines = ["## What the numbers are worth", ""]
    if loads:
        lines.append(f"- Load of the machine before a run: median "
                     f"{statistics.median(loads):.1f}, most {max(loads):.1f}. "
                     "A run itself makes 1 to 4; what is much more comes from "
                     "others, and then times tell little.")
    differing = [f"{paper} {app}" for (paper, app), found
                 in sorted(results.checksums().items()) if len(found) > 1]
    lines.append("- Results (checksums) differ between runs of: "
                 + ", ".join(differing) + ": **wrong results**." if differing
                 else "- Results: all runs of an application printed the same "
                 "checksum.")
    failures = results.failures()
    if failures:
        lines.append(f"- Runs that failed: {len(failures)}.")
        lines += [f"  - {cell.name}: {reason}"
                  for cell, reason in failures[:40]]
    return lines + [""]


def claim_lines(results, disk):
    rows, details = [], []
    for claim in claims.all_claims(disk):
        word, n_held, failed = claims.verdict(claim, results.ms)
        rows.append([claim.key, claim.source, claim.text,
                     f"**{word}**" if word == claims.FAILS else word,
                     f"{n_held} of {len(claim.checks)}"])
        for check in failed:
            own = results.ms(check.cell)
            others = ", ".join(f"{other.policy} {results.ms(other):.2f}"
                               for other in check.others)
            details.append(f"- {claim.key}: {check.cell.app} in "
                           f"{check.cell.env}: {check.cell.policy} "
                           f"{own:.2f} ms, to be {check.relation} of {others}")
    return table(["", "figure", "claim", "here", "comparisons that hold"],
                 rows) + [""] + (["Where they do not hold:", "", *details, ""]
                                 if details else [])


def table3(results):
    rows = []
    for (app, policy), theirs in papers.LIANG03_COUNTS.items():
        row = [app, policy, counts(theirs)]
        for disk in (THEN, TODAY):
            cell = Cell(papers.LIANG03, "T2", app, policy, disk)
            own = results.get(cell)
            row.append(counts(own and own.counts))
            if policy == "cpu-mem":
                short = results.get(cell.beside(policy="liang03"))
                row[-1] += f"; liang03 {counts(short and short.counts)}"
        rows.append(row)
    return ["## Thread counts and [Liang03] Table 3", ""] + table(
        ["application", "policy", "[Liang03]", "here, papers' disk",
         "here, today's disk"], rows) + [""]


def best_rows(results, policies):
    rows = []
    for paper, env, app in every_cell.SEARCHED:
        best = results.get(Cell(paper, env, app, "best", THEN))
        if best is None:
            continue
        row = [paper, env, app, f"{best.ms:.2f}", counts(best.counts),
               str(best.n_runs)]
        for policy in policies:
            own = results.get(Cell(paper, env, app, policy, THEN))
            row.append(NO if own is None else
                       f"{own.ms / best.ms:.2f} {counts(own.counts)}")
        rows.append(row)
    return rows


def best_lines(results):
    policies = papers.LIU06_POLICIES
    rows = best_rows(results, policies)
    if not rows:
        return []
    return ["## The best counts among real runs", "",
            "Found by search within the runs given; each policy's time is "
            "beside it as a multiple. Below 1 the search has missed "
            "something, or the times vary that much.", ""] + table(
        ["paper", "environment", "application", "ms", "counts", "runs",
         *policies], rows) + [""]


def cell_lines(results, disk):
    rows = []
    for cell, own in results.summaries.items():
        if cell.disk != disk or cell.policy == "best":
            continue
        rows.append([
            cell.paper, cell.env, cell.app, cell.policy, f"{own.ms:.2f}",
            f"{own.least:.2f}–{own.most:.2f}", f"{own.deviation:.2f}",
            number(own.predicted_ms), counts(own.counts)
            + ("" if own.agree == own.n_runs
               else f" in {own.agree} of {own.n_runs}"),
            pages(own.page_ins), pages(own.page_outs)])
    return table(["paper", "environment", "application", "policy", "ms",
                  "runs", "deviation", "predicted", "counts", "pages in",
                  "pages out"], rows) + [""]


def chart_lines(names, reason):
    lines = [f"![{name}]({name}.svg)" for name in names]
    return ([*lines, ""] if names else []) + ([reason, ""] if reason else [])


def render(results, settings, machine, disk, charts):
    """The whole text.

    @param disk    calibrate()'s; None without
    @param charts  charts.draw()'s
    """
    lines = ["# Experiments of [Liu06] and [Liang03]", "",
             "Written by tools/experiments.py.", ""]
    lines += setting(settings, machine, disk) + quality(results)
    lines += ["## Claims, papers' disk", "",
              "*Shorter* means by more than 5 %; *tied* is what is within "
              "that, *best* is shorter or tied. Times are medians of a cell's "
              "runs.", ""]
    lines += claim_lines(results, THEN)
    lines += ["## Claims, today's disk", "",
              "N-Body, MPEG4 (motion) and VQ do not page: they were not run "
              "again.", ""] + claim_lines(results, TODAY)
    lines += table3(results) + best_lines(results)
    lines += ["## Figures", ""] + chart_lines(*charts)
    lines += ["## All cells", "",
              "*ms*: time of an iteration, the mean of those measured, median "
              "of the runs; *runs*: least and most of them; *deviation*: "
              "standard deviation from iteration to iteration; *predicted*: "
              "by the model for the mapping the run ended with, if something "
              "was decided; pages are those of each node in an iteration.", "",
              "### Papers' disk", ""] + cell_lines(results, THEN)
    lines += ["### Today's disk", ""] + cell_lines(results, TODAY)
    return "\n".join(lines).rstrip() + "\n"
