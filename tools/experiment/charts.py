# SPDX-License-Identifier: BSD-3-Clause
"""A bar chart for each figure of the papers, drawn by gnuplot.

Applications differ by orders of magnitude, so bars are iteration times beside those
of one policy; the table has the milliseconds. The whiskers are the shortest and
the longest of a cell's runs.
"""
import shutil
import subprocess

from . import papers
from .cells import Cell, THEN, TODAY

COLORS = {"initial": "#9a9a9a", "cpu": "#4878a8", "mem-share": "#d98c3f",
          "mem": "#d98c3f", "cpu-mem": "#3f8f5f", "liang03": "#8f6fb0"}

HEAD = """\
set terminal svg size {width},420 font "sans-serif,12" background "white"
set output "{name}.svg"
set title "{title}" noenhanced
set ylabel "iteration time, {base} = 1"
set yrange [0:{top}]
set grid ytics lc rgb "#d8d8d8"
set style data histogram
set style histogram errorbars gap 1.5 lw 1
set style fill solid border lc rgb "#404040"
set xtics rotate by -30 noenhanced
set key outside top horizontal noenhanced
"""


def figures(disk):
    """name, title, base, policies, and (label, paper, env, app) of each
    cluster of bars."""
    suffix = "" if disk == THEN else "-today"
    kind = ("disk slowed to the papers' ratio" if disk == THEN
            else "today's disk")
    for number, group in ((3, "1"), (4, "2"), (5, "3")):
        yield (f"liu06-fig{number}{suffix}",
               f"[Liu06] Fig. {number}: group {group}; {kind}", "initial",
               papers.LIU06_POLICIES,
               [(f"{app} {group}{env}", papers.LIU06, group + env, app)
                for env in "AB" for app in papers.LIU06_APPS
                if disk == THEN or app in papers.HUNGRY])
    for number, app in enumerate(papers.LIANG03_APPS, 1):
        yield (f"liang03-fig{number}{suffix}",
               f"[Liang03] Fig. {number}: {app}; {kind}", "cpu",
               papers.LIANG03_POLICIES, [(app, papers.LIANG03, "T2", app)])


def data(results, base, policies, clusters, disk):
    """Lines of a file for gnuplot: label, then of each policy the time, and
    from there to the median of the runs. NaN where nothing was measured. And the largest value."""
    lines, top = [], 0.0
    for label, paper, env, app in clusters:
        by = results.get(Cell(paper, env, app, base, disk))
        if by is None:
            continue
        words = [f'"{label}"']
        for policy in policies:
            own = results.get(Cell(paper, env, app, policy, disk))
            values = ([own.ms, own.ms, own.median] if own
                      else [float("nan")] * 3)
            words += [f"{value / by.ms:.4f}" for value in values]
            top = max(top, values[2] / by.ms if own else 0)
        lines.append(" ".join(words))
    return lines, top


def script(name, title, base, policies, n_clusters, top):
    text = HEAD.format(name=name, title=title, base=base,
                       width=300 + 60 * n_clusters, top=f"{1.1 * top:.3f}")
    bars = [f'"{name}.dat" using {2 + 3 * i}:{3 + 3 * i}:{4 + 3 * i}'
            + (":xtic(1)" if i == 0 else "")
            + f' title "{policy}" lc rgb "{COLORS[policy]}"'
            for i, policy in enumerate(policies)]
    return text + "plot " + ", \\\n     ".join(bars) + "\n"


def measured(results, policies, clusters, disk):
    """Policies that have a value: gnuplot draws no histogram of none."""
    return [policy for policy in policies
            if any(results.get(Cell(paper, env, app, policy, disk))
                   for _, paper, env, app in clusters)]


def draw(results, folder):
    """Write the charts.

    @return (names of those drawn, why there are no others or "")
    """
    names = []
    for disk in (THEN, TODAY):
        for name, title, base, policies, clusters in figures(disk):
            policies = measured(results, policies, clusters, disk)
            lines, top = data(results, base, policies, clusters, disk)
            if not lines:
                continue
            (folder / f"{name}.dat").write_text("\n".join(lines) + "\n",
                                                encoding="utf-8")
            (folder / f"{name}.gp").write_text(
                script(name, title, base, policies, len(lines), top),
                encoding="utf-8")
            names.append(name)
    gnuplot = shutil.which("gnuplot")
    if gnuplot is None:
        return [], ("gnuplot is not installed: `tools/setup.sh experiments` "
                    "installs it; the charts' data are in *.dat, and *.gp "
                    "draws them")
    drawn = []
    for name in names:
        done = subprocess.run([gnuplot, f"{name}.gp"], cwd=folder, text=True,
                              capture_output=True, check=False, timeout=60)
        if done.returncode != 0:
            return drawn, f"gnuplot, {name}: {done.stderr.strip()[:200]}"
        drawn.append(name)
    return drawn, ""
