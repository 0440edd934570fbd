#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What an iteration takes when there is less memory than the program uses.

    cliff.py --build DIR [--swap-dir DIR] [--runs R] [--workers W]
             [--quick] [--svg FILE]

One node, 16 threads. Demand is the program's shared data; each point is the
median of R runs, each the mean of the last half of its iterations, with the
smallest and the largest run. Three ways:

  pager         --memory: the runtime pages, to a swap file of its own
  kernel-plain  --memory-by=kernel-plain in a memory control group, with a swap
                file of the kernel's in the same folder: the kernel pages, and
                nobody helps it. The group's limit is the budget plus what the
                program takes besides its data, found out by a run without a
                limit.
  kernel        the same with --memory-by=kernel: the runtime tells the kernel
                what should go

The last two need root, and control groups (version 1 or 2) that take a memory
limit; else they are left out, and it is said why. The swap file and the groups
are removed at the end. Exit code 1 if a run failed, but for those that the
kernel killed for want of memory: these are said in the table.
"""
import argparse
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing is left in the sources
import kernel_swap  # noqa: E402
import measure  # noqa: E402

WAYS = ["pager", "kernel-plain", "kernel"]
RATIOS = [0.9, 1.0, 1.1, 1.25, 1.5, 2.0]
N_THREADS = 16
MIB = 1 << 20
MEAN_LINE = re.compile(r"iteration_ms=([\d.]+)")
# Size, bytes of the data, and iterations each way.
APPS = {
    "jacobi": (2048, 2 * 2050 * 2050 * 8,
               {"pager": 40, "kernel-plain": 8, "kernel": 12}),
    "sor": (2896, 2898 * 2898 * 8,
            {"pager": 24, "kernel-plain": 6, "kernel": 10}),
}


class Cliff:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.failures = []
        self.group = None
        self.why_not = ""
        self.besides = {}
        self.n_killed = {}

    def open_kernel(self):
        try:
            self.group = kernel_swap.KernelSwap(self.folder)
        except kernel_swap.NotHere as reason:
            self.why_not = str(reason)

    def close(self):
        if self.group is not None:
            self.group.close()

    def command(self, app, n_iterations, *arguments):
        build = os.path.abspath(self.options.build)
        return [f"{build}/cli/teamster", "run", "-n", "1", "-w",
                str(self.options.workers), "--policy", "none", *arguments,
                f"{build}/apps/{app}", "--size", str(APPS[app][0]),
                "--threads", str(N_THREADS), "--time",
                "--iterations", str(n_iterations)]

    def take(self, command):
        output = measure.run(command, timeout_s=60)
        return float(measure.find(MEAN_LINE, output, command))

    def pager(self, app, ratio):
        _, data, n = APPS[app]
        return self.take(self.command(
            app, n["pager"], "--memory", str(int(data / ratio)),
            "--swap-dir", self.folder))

    def in_group(self, app, ratio, who):
        _, data, n = APPS[app]
        if app not in self.besides:
            self.besides[app] = self.group.most_of(
                lambda: self.take(self.group.command(
                    self.command(app, 2, "--memory-by",
                                 "kernel-plain")))) - data
        self.group.set_limit(int(data / ratio) + self.besides[app])

        def note():
            self.n_killed[who] = self.n_killed.get(who, 0) + 1

        return kernel_swap.until_not_killed(lambda: self.take(self.group.command(
            self.command(app, n[who], "--memory-by", who))), measure.Failure, note)

    def time(self, way, app, ratio):
        if way == "pager":
            return self.pager(app, ratio)
        return self.in_group(app, ratio, way)

    def ways(self):
        return WAYS[:1] if self.group is None else WAYS

    def point(self, app, ratio):
        """-> way: (median, least, most), or None"""
        times = {way: [] for way in self.ways()}
        for _ in range(self.options.runs):
            for way in self.ways():  # in turn: see measure.py
                try:
                    times[way].append(self.time(way, app, ratio))
                except (measure.Failure, kernel_swap.Killed) as failure:
                    self.note(way, failure)
        return {way: (statistics.median(all_), min(all_), max(all_))
                if all_ else None for way, all_ in times.items()}

    def note(self, way, failure):
        print(f"    {way}: {failure}", file=sys.stderr, flush=True)
        if not isinstance(failure, kernel_swap.Killed):
            self.failures.append(str(failure))


def cell(time):
    if time is None:
        return "none ended"
    return f"{time[0]:.1f} ({time[1]:.1f} to {time[2]:.1f})"


def ratio_cell(point, way):
    if point.get(way) is None or point["pager"] is None:
        return "-"
    return f"{point[way][0] / point['pager'][0]:.1f}"


def print_head(app, ways):
    print(f"\n{app}, {APPS[app][1] / MIB:.1f} MiB, ms an iteration\n")
    titles = ["demand/budget", *ways,
              *(f"{way}/pager" for way in ways if way != "pager")]
    print("| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|",
          flush=True)


def print_row(ratio, point, ways):
    print("| " + " | ".join(
        [f"{ratio:.2f}", *(cell(point[way]) for way in ways),
         *(ratio_cell(point, way) for way in ways if way != "pager")])
        + " |", flush=True)


def draw(file, results, ways):
    """One curve for each program and way, with gnuplot if it is there."""
    if shutil.which("gnuplot") is None:
        print("no gnuplot: no curve", file=sys.stderr)
        return
    blocks = [(f"{app}, {way}", [(ratio, *point[way])
                                 for ratio, point in points.items()
                                 if point[way] is not None])
              for app, points in results.items() for way in ways]
    blocks = [(title, rows) for title, rows in blocks if rows]
    plots = ", ".join(f"$d{i} using 1:2:3:4 with yerrorlines title '{title}'"
                      for i, (title, _) in enumerate(blocks))
    data = "".join(f"$d{i} << EOD\n" + "".join(
        " ".join(map(str, row)) + "\n" for row in rows) + "EOD\n"
        for i, (_, rows) in enumerate(blocks))
    script = (f"{data}set terminal svg size 720,440\nset output '{file}'\n"
              "set logscale y\nset key outside\n"
              "set xlabel 'demand / budget'\nset ylabel 'ms an iteration'\n"
              f"plot {plots}\n")
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--swap-dir", default=None)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--quick", action="store_true",
                        help="one run, two points")
    parser.add_argument("--apps", nargs="+", default=list(APPS), choices=APPS)
    parser.add_argument("--ratios", nargs="+", type=float, default=RATIOS)
    parser.add_argument("--svg", default=None)
    options = parser.parse_args()
    if options.quick:
        options.runs, options.ratios = 1, [1.0, 1.25]
    # Whoever ends it has the swap file and the group removed all the same.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    results = {}
    with tempfile.TemporaryDirectory(dir=options.swap_dir) as folder:
        cliff = Cliff(options, folder)
        try:
            cliff.open_kernel()
            if cliff.why_not:
                print(f"Paging by the kernel is left out: {cliff.why_not}")
            for app in options.apps:
                results[app] = {}
                print_head(app, cliff.ways())
                for ratio in options.ratios:
                    results[app][ratio] = cliff.point(app, ratio)
                    print_row(ratio, results[app][ratio], cliff.ways())
            for who, n_runs in cliff.n_killed.items():
                print(f"\nThe kernel killed {n_runs} runs of {who} for want of "
                      "memory; they were tried again.")
        finally:
            cliff.close()
        if options.svg is not None:
            draw(options.svg, results, cliff.ways())
    return 1 if cliff.failures else 0


if __name__ == "__main__":
    sys.exit(main())
