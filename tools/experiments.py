#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run the experiments of [Liu06] and [Liang03] on emulated nodes.

Goes on where it stopped: results are in FOLDER, a file a cell. Then writes
FOLDER/report.md, with charts if gnuplot is there. See docs/experiments.md.

  tools/experiments.py                            all cells
  tools/experiments.py --app sor --env 3 --policy cpu-mem
  tools/experiments.py --paper liang03 --scale 1
  tools/experiments.py --report                   of what there is
"""
import argparse
import fractions
import os
import pathlib
import signal
import sys
import time

sys.dont_write_bytecode = True  # nothing is left in the sources
from experiment import cells, charts, disk, machine, papers  # noqa: E402
from experiment import report, sizes  # noqa: E402
from experiment.measure import Measurement, OutOfTime  # noqa: E402
from experiment.progress import Progress, span  # noqa: E402
from experiment.results import Results  # noqa: E402
from experiment.run import Runner  # noqa: E402
from experiment.store import Mismatch, Store  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
USAGE, UNAVAILABLE, INTERRUPTED = 64, 69, 130
DEFAULT_SCALE = "1/64"
USUAL_S = 3  # of a run at that scale, to begin with


def scale(text):
    """"1/32", "0.05" or 1."""
    value = float(fractions.Fraction(text))
    if not 1 / 4096 <= value <= 1:
        raise argparse.ArgumentTypeError("from 1/4096 to 1")
    return value


def at_least(least):
    def parse(text):
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"at least {least}")
        return value
    return parse


def fast_folder():
    return "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    which = "run only cells with this; may be given several times"
    envs = [*papers.LIU06_CLUSTERS, "1", "2", "3", "T2"]
    add("--paper", action="append", choices=[papers.LIU06, papers.LIANG03],
        help=which)
    add("--app", action="append", choices=papers.LIU06_APPS, help=which)
    add("--env", action="append", choices=envs, help="environment of [Liu06] "
        "Table 1, or a group of two; T2: those of [Liang03] Table 2")
    add("--policy", action="append", help=which,
        choices=[*papers.LIU06_POLICIES, "mem", "liang03", "best"])
    add("--disk", action="append", choices=cells.ALL_DISKS, help="then: slowed "
        "to the papers' ratio of disk to processor; today: as it is; kernel: "
        "no pager, the kernel pages (root, control groups)")
    add("--scale", type=scale, default=scale(DEFAULT_SCALE), metavar="F",
        help=f"part of the papers' sizes and memories, default {DEFAULT_SCALE}")
    add("--repeats", type=at_least(1), default=2, metavar="N",
        help="runs of each cell, default 2")
    add("--iterations", type=at_least(sizes.SHORTEST), metavar="K",
        default=sizes.ITERATIONS, help=f"of a run, default {sizes.ITERATIONS}; "
        f"with less than {sizes.LEAST_ITERATIONS} a policy has not done its "
        "work, so only --policy initial may have them")
    add("--search-runs", type=at_least(1), default=10, metavar="N",
        help="runs to look for the best counts of a cell, default 10")
    add("--swap-rate", type=float, metavar="BYTES", help="of the papers' disk, "
        "a second; else it is measured what comes to the papers' ratio")
    add("--swap-dir", metavar="DIR", default=fast_folder(), help="where the "
        "papers' disk is, which is slowed from there: in memory, if there is "
        "such a folder (default %(default)s)")
    add("--timeout", type=float, default=300, metavar="S",
        help="of a run, default 300")
    add("--stop-after", type=float, metavar="S", help="begin no run that would "
        "not end within so many seconds; the same command goes on later")
    add("--build", type=pathlib.Path, default=ROOT / "build/release",
        help="where teamster and the applications are")
    add("--folder", type=pathlib.Path, default=ROOT / "build/experiments",
        help="of the results, default build/experiments")
    add("--report", action="store_true", help="measure nothing")
    add("--list", action="store_true", help="print the cells, measure nothing")
    return parser.parse_args()


def rate_of_disk(arguments, store, runner, wanted):
    """The papers' disk, measured once for a folder; None if no cell has it."""
    if arguments.swap_rate:
        return arguments.swap_rate
    if all(cell.disk != cells.THEN for cell in wanted):
        return None
    found = store.note("disk") or store.note(
        "disk", disk.calibrate(runner, arguments.scale))
    return found["bytes_per_s"]


def settings_of(arguments):
    return {"scale": arguments.scale, "iterations": arguments.iterations,
            "swap_rate": arguments.swap_rate, "swap_dir": arguments.swap_dir}


def measure(arguments, store, wanted):
    deadline = (time.monotonic() + arguments.stop_after
                if arguments.stop_after else None)
    runner = Runner(arguments.build, arguments.timeout, arguments.swap_dir)
    runner.swap_rate = rate_of_disk(arguments, store, runner, wanted)
    store.note("machine", machine.describe(ROOT))
    settings = {**settings_of(arguments), "repeats": arguments.repeats,
                "search_runs": arguments.search_runs,
                "policies": papers.LIU06_POLICIES}
    progress = Progress({})
    measurement = Measurement(store, settings, runner, progress, deadline)
    progress.expect({cell: measurement.runs_left(cell) for cell in wanted})
    usual = USUAL_S * max(1, arguments.scale / scale(DEFAULT_SCALE))
    print(f"{progress.n_all} runs, some {span(usual * progress.n_all)}",
          file=sys.stderr)
    try:
        measurement.measure(wanted)
    except OutOfTime:
        print("out of time; the same command goes on", file=sys.stderr)
    progress.end()


def write_report(arguments, store):
    results = Results(store, cells.all_cells())
    text = report.render(
        results, {**settings_of(arguments), "repeats": arguments.repeats},
        store.note("machine") or machine.describe(ROOT), store.note("disk"),
        charts.draw(results, store.folder))
    (store.folder / "report.md").write_text(text, encoding="utf-8")
    print(store.folder / "report.md")


def is_too_short(arguments, wanted):
    return (arguments.iterations < sizes.LEAST_ITERATIONS and
            any(cell.policy != "initial" for cell in wanted))


def main():
    arguments = parse_arguments()
    wanted = cells.select({field: getattr(arguments, field) for field in
                           ("paper", "env", "app", "policy", "disk")})
    if arguments.list:
        print("\n".join(cell.name for cell in wanted))
        return 0
    if not wanted:
        print("tools/experiments.py: no cell is like that", file=sys.stderr)
        return USAGE
    if is_too_short(arguments, wanted):
        print(f"tools/experiments.py: --iterations {arguments.iterations}: at "
              f"least {sizes.LEAST_ITERATIONS} where threads are to move",
              file=sys.stderr)
        return USAGE
    store = Store(arguments.folder)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        store.open(settings_of(arguments))
        if not arguments.report:
            measure(arguments, store, wanted)
        write_report(arguments, store)
    except (Mismatch, disk.NotCalibrated, FileNotFoundError) as reason:
        print(f"tools/experiments.py: {reason}", file=sys.stderr)
        return UNAVAILABLE
    except KeyboardInterrupt:
        print("tools/experiments.py: stopped; the same command goes on",
              file=sys.stderr)
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
