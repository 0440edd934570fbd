# SPDX-License-Identifier: BSD-3-Clause
"""Writes report.md out of a folder of results."""
import statistics

from . import cells as every_cell
from . import claims, papers, sizes
from .cells import Cell, KERNEL, THEN, TODAY
from .measure import MOST_OTHERS
from .least import least_lines
from .results import WIDE_TIE
from .tables import NO, counts, error_lines, figures, table


def number(value, digits=2):
    return NO if value is None else f"{value:.{digits}f}"


def pages(values):
    return NO if values is None else "/".join(f"{value:.0f}"
                                              for value in values)


def disk_lines(disk):
    if not disk:
        return []
    if "gamma" not in disk:
        return [f"- Disk of the papers: swap files give or take "
                f"{disk['bytes_per_s'] / 1e6:.2f} MB/s a node, as told by "
                "--swap-rate."]
    speed = f"{disk['bytes_per_s'] / 1e6:.0f} MB/s a node, in and out together"
    gammas = ", ".join(f"{name} {value:.1f}"
                       for name, value in disk["gamma"].items())
    return [
        f"- Disk of the papers: swap files in memory, {speed}. A page that comes "
        f"and one that goes for it take {disk['page_ms'][THEN]:.3f} ms then "
        f"({disk['page_ms'][TODAY]:.3f} ms with today's disk): measured gammas, "
        f"the time to page a thread's data over that to compute: {gammas}; "
        f"SOR with today's disk {disk['sor_gamma'][TODAY]:.1f}. [Liang03] Table 3 "
        "implies 8 to 10 for SOR and 2 to 3 for Jacobi."]


def setting(settings, machine, disk):
    scale = settings["scale"]
    rows = []
    for paper, apps in ((papers.LIU06, papers.LIU06_APPS),
                        (papers.LIANG03, papers.LIANG03_APPS)):
        for app in apps:
            work = sizes.work(paper, app, scale, settings["iterations"])
            rows.append([paper, app, str(work.size),
                         " ".join(work.options),
                         f"{work.data_bytes / papers.MIB:.2f}",
                         f"{work.memory_factor:.5f}"
                         + (f" + {work.extra_pages} pages"
                            if work.extra_pages else ""),
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
    lines += disk_lines(disk)
    return lines + [""] + table(
        ["paper", "application", "size", "options", "shared MiB", "memory of nodes, part "
         "of the paper's", "iterations measured"], rows) + [""]


def quality(results):
    """Loads, checksums, failures: what the numbers are worth."""
    loads = [run["load"] for result in results.raw.values()
             for run in result["runs"]]
    lines = ["## What the numbers are worth", ""]
    if loads:
        lines.append(f"- Load of the machine before a run: median "
                     f"{statistics.median(loads):.1f}, most {max(loads):.1f}; a "
                     "run itself makes 1 to 4.")
    others = [run["others"] for result in results.raw.values()
              for run in result["runs"] if "others" in run]
    if others:
        n = sum(1 for value in others if value > MOST_OTHERS)
        lines.append(f"- Others used {statistics.median(others):.2f} processors "
                     f"beside a run in the median; {n} of {len(others)} runs "
                     f"beside which it was more than {MOST_OTHERS} do not "
                     "count.")
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
        wide = claims.verdict(claim, results.ms, WIDE_TIE)
        rows.append([claim.key, claim.source, claim.text,
                     f"**{word}**" if word == claims.FAILS else word,
                     f"{n_held} of {len(claim.checks)}",
                     f"{wide[1]}, {wide[0]}"])
        for check in failed:
            own = results.ms(check.cell)
            others = ", ".join(f"{other.policy} {results.ms(other):.2f}"
                               for other in check.others)
            details.append(f"- {claim.key}: {check.cell.app} in "
                           f"{check.cell.env}: {check.cell.policy} "
                           f"{own:.2f} ms, to be {check.relation} of {others}")
    return table(["", "figure", "claim", "here", "comparisons that hold",
                  f"ties within {100 * WIDE_TIE:.0f} %"],
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


def kernel_lines(results):
    """The same program under the same limit, without the pager."""
    rows = []
    for cell, own in results.summaries.items():
        pager = results.get(cell.beside(disk=TODAY))
        if cell.disk == KERNEL and pager is not None:
            rows.append([cell.env, cell.app, f"{pager.ms:.1f} ({pager.median:.1f})",
                         f"{own.ms:.1f} ({own.median:.1f})",
                         f"{own.ms / pager.ms:.1f} "
                         f"({own.median / pager.median:.1f})"])
    if not rows:
        return []
    return ["## The pager beside the kernel's paging", "",
            "Milliseconds an iteration with `initial`, least of the runs and their "
            "median: nodes with the pager and today's disk; and nodes in control "
            "groups with the same memory on top of what they need besides shared "
            "data, whose pages the kernel swaps to the same disk. Runs that it "
            "killed for want of memory are among the failures.", "",
            *table(["env", "application", "pager", "kernel", "kernel/pager"], rows),
            ""]


def cell_lines(results, disk):
    rows = []
    for cell, own in results.summaries.items():
        if cell.disk != disk or cell.policy == "best":
            continue
        rows.append([
            cell.paper, cell.env, cell.app, cell.policy, f"{own.ms:.2f}",
            f"{own.median:.2f}, {own.most:.2f} of {own.n_runs}",
            f"{own.deviation:.2f}",
            number(own.predicted_ms), number(own.predicted_liu06_ms),
            counts(own.counts)
            + ("" if own.agree == own.n_runs
               else f" in {own.agree} of {own.n_runs}"),
            pages(own.page_ins), pages(own.page_outs)])
    return table(["paper", "environment", "application", "policy", "ms",
                  "runs", "deviation", "predicted", "liu06", "counts",
                  "pages in", "pages out"], rows) + [""]


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
              "that, *best* is shorter or tied. A run's time is the lower "
              "quartile of its iterations, a cell's the least of its runs.", ""]
    lines += claim_lines(results, THEN)
    lines += ["## Claims, today's disk", "",
              "N-Body, MPEG4 (motion) and VQ do not page: they were not run "
              "again.", ""] + claim_lines(results, TODAY)
    lines += table3(results) + best_lines(results) + error_lines(results)
    lines += least_lines(results, settings) + kernel_lines(results)
    lines += ["## Figures", "", "Multiples of the first policy's time; in "
              "brackets medians of the runs. Lines of the charts go up to these.",
              ""]
    lines += figures(results, THEN)
    today = figures(results, TODAY)
    if today:
        lines += ["Today's disk:", "", *today]
    lines += chart_lines(*charts)
    lines += ["## All cells", "",
              "*ms*: time of an iteration, the lower quartile of those "
              "measured, least of the runs; *runs*: their median and most, of how "
              "many; *deviation*: "
              "standard deviation from iteration to iteration; *predicted*: "
              "by the model for the mapping the run ended with, if something "
              "was decided, and *liu06* by the equations of that paper; pages "
              "are those of each node in an iteration.", "",
              "### Papers' disk", ""] + cell_lines(results, THEN)
    lines += ["### Today's disk", ""] + cell_lines(results, TODAY)
    return "\n".join(lines).rstrip() + "\n"
