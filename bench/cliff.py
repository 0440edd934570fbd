#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What an iteration takes when there is less memory than the program uses.

    cliff.py --build DIR [--swap-dir DIR] [--runs R] [--workers W]
             [--quick] [--svg FILE]

One node, 16 threads. Demand is the program's shared data; each point is the
median of R runs, each the mean of the last half of its iterations, with the
smallest and the largest run. Three ways:

  pager    --memory: the runtime pages, to a swap file of its own
  kernel   the same program in a memory control group, with a swap file of the
           kernel's in the same folder. Its limit is the budget plus what the
           program takes besides its data, found out by a run without a limit.
  turns    the same with --memory-by=kernel: threads run forwards and backwards

The last two need root, and control groups (version 1 or 2) that take a memory
limit; else they are left out, and it is said why. The swap file and the groups
are removed at the end. Exit code 1 if a run failed, but for those that the
kernel killed for want of memory: these are said in the table.
"""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # nothing is left in the sources
import measure  # noqa: E402

RATIOS = [0.9, 1.0, 1.1, 1.25, 1.5, 2.0]
N_THREADS = 16
MIB = 1 << 20
SWAP_MIB = 512
TRIES = 3  # of a program that the kernel kills for want of memory
MEAN_LINE = re.compile(r"iteration_ms=([\d.]+)")
# Size, bytes of the data, iterations with the pager and by the kernel.
APPS = {
    "jacobi": (2048, 2 * 2050 * 2050 * 8, 40, 12),
    "sor": (2896, 2898 * 2898 * 8, 24, 8),
}


class NoGroups(Exception):
    """The machine does not let us limit memory."""


class Group:
    """A memory control group, of either version."""

    def __init__(self):
        v1 = "/sys/fs/cgroup/memory"
        name = f"teamster-cliff-{os.getpid()}"
        if os.path.exists(f"{v1}/memory.limit_in_bytes"):
            version = 1
            self.folder = f"{v1}/{name}"
            self.limit_file, self.most_file = (
                "memory.limit_in_bytes", "memory.max_usage_in_bytes")
            self.no_limit = "-1"
        else:
            version = 2
            self.folder = f"/sys/fs/cgroup/{name}"
            self.limit_file, self.most_file = "memory.max", "memory.peak"
            self.no_limit = "max"
        try:
            os.mkdir(self.folder)
            self.write(self.limit_file, self.no_limit)
            if version == 1:
                self.write("memory.swappiness", 100)
        except OSError as error:
            if os.path.isdir(self.folder):
                os.rmdir(self.folder)
            raise NoGroups(f"no memory control group: {error}") from error

    def write(self, file, value):
        with open(f"{self.folder}/{file}", "w", encoding="ascii") as to:
            to.write(str(value))

    def set_limit(self, limit):
        self.write(self.limit_file, self.no_limit if limit is None else limit)

    def most(self):
        with open(f"{self.folder}/{self.most_file}", encoding="ascii") as file:
            return int(file.read())

    def command(self, command):
        return ["sh", "-c", f'echo $$ > {self.folder}/cgroup.procs; exec "$@"',
                "sh", *command]

    def close(self):
        for _ in range(100):  # what was killed takes a while to go
            try:
                os.rmdir(self.folder)
                return
            except OSError:
                time.sleep(0.1)
        print(f"{self.folder} is left behind", file=sys.stderr)


class Swap:
    """A swap file of the kernel's."""

    def __init__(self, folder):
        self.file = os.path.join(folder, "swap")
        try:
            for command in (["fallocate", "-l", f"{SWAP_MIB}M", self.file],
                            ["chmod", "600", self.file],
                            ["mkswap", self.file],
                            ["swapon", "-p", "100", self.file]):
                subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise NoGroups(f"no swap file: {error}") from error

    def close(self):
        subprocess.run(["swapoff", self.file], check=True)
        os.unlink(self.file)


class Cliff:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.failures = []
        self.group = self.swap = None
        self.why_not = ""
        self.besides = {}
        self.n_killed = 0

    def open_kernel(self):
        try:
            if os.geteuid() != 0:
                raise NoGroups("not root")
            self.swap = Swap(self.folder)
            self.group = Group()
        except NoGroups as reason:
            self.why_not = str(reason)

    def close(self):
        if self.swap is not None:
            self.swap.close()
        if self.group is not None:
            self.group.close()

    def command(self, app, n_iterations, *arguments):
        build = os.path.abspath(self.options.build)
        return [f"{build}/cli/teamster", "run", "-n", "1", "-w",
                str(self.options.workers), "--policy", "none", *arguments, f"{build}/apps/{app}", "--size",
                str(APPS[app][0]), "--threads", str(N_THREADS), "--time",
                "--iterations", str(n_iterations)]

    def take(self, command):
        return float(measure.find(MEAN_LINE, measure.run(command, timeout_s=60), command))

    def pager(self, app, ratio):
        _, data, n, _ = APPS[app]
        return self.take(self.command(
            app, n, "--memory", str(int(data / ratio)),
            "--swap-dir", self.folder))

    def in_group(self, app, ratio, *arguments):
        _, data, _, n = APPS[app]
        if app not in self.besides:
            self.group.set_limit(None)
            self.take(self.group.command(self.command(app, 2)))
            self.besides[app] = self.group.most() - data
        self.group.set_limit(int(data / ratio) + self.besides[app])
        for _ in range(TRIES):
            try:
                return self.take(self.group.command(
                    self.command(app, n, *arguments)))
            except measure.Failure as failure:
                if "SIGKILL" not in str(failure):
                    raise
                self.n_killed += 1
        raise measure.Failure(f"{app}: killed {TRIES} times")

    def kernel(self, app, ratio):
        return self.in_group(app, ratio)

    def turns(self, app, ratio):
        return self.in_group(app, ratio, "--memory-by", "kernel")

    def ways(self):
        return ["pager"] if self.group is None else ["pager", "kernel", "turns"]

    def point(self, app, ratio):
        """-> way: (median, least, most), or None"""
        times = {way: [] for way in self.ways()}
        for _ in range(self.options.runs):
            for way in self.ways():  # in turn: see measure.py
                try:
                    times[way].append(getattr(self, way)(app, ratio))
                except measure.Failure as failure:
                    self.note(way, failure)
        return {way: (statistics.median(all_), min(all_), max(all_))
                if all_ else None for way, all_ in times.items()}

    def note(self, way, failure):
        print(f"    {way}: {failure}", file=sys.stderr, flush=True)
        if way == "pager":
            self.failures.append(str(failure))


def cell(time):
    if time is None:
        return "killed"
    return f"{time[0]:.1f} ({time[1]:.1f} to {time[2]:.1f})"


def ratio_cell(point, way):
    if point.get(way) is None or point["pager"] is None:
        return "-"
    return f"{point[way][0] / point['pager'][0]:.1f}"


def print_table(app, points, ways):
    print(f"\n{app}, {APPS[app][1] / MIB:.1f} MiB, ms an iteration\n")
    titles = ["demand/budget", *ways,
              *(f"{way}/pager" for way in ways if way != "pager")]
    print("| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|")
    for ratio, point in points.items():
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
    results = {}
    with tempfile.TemporaryDirectory(dir=options.swap_dir) as folder:
        cliff = Cliff(options, folder)
        try:
            cliff.open_kernel()
            if cliff.why_not:
                print(f"Paging by the kernel is left out: {cliff.why_not}")
            for app in options.apps:
                results[app] = {ratio: cliff.point(app, ratio)
                                for ratio in options.ratios}
                print_table(app, results[app], cliff.ways())
            if cliff.n_killed > 0:
                print(f"\nThe kernel killed {cliff.n_killed} runs for want of "
                      "memory; they were tried again.")
        finally:
            cliff.close()
        if options.svg is not None:
            draw(options.svg, results, cliff.ways())
    return 1 if cliff.failures else 0


if __name__ == "__main__":
    sys.exit(main())
