# SPDX-License-Identifier: BSD-3-Clause
"""How run.py runs programs and reads what they print.

Programs that are compared run in turn, A B B A A B ..., so that whatever
changes slowly on the machine meets both. A ratio is the median of the pairs'
ratios, its spread their smallest and largest, beside the quartiles.
"""
import contextlib
import os
import re
import signal
import statistics
import subprocess
import sys

TIME_LINE = re.compile(r"time per iteration: ([\d.]+) ms")
TOTAL_LINE = re.compile(r"total time: ([\d.]+) s")
CHECKSUM_LINE = re.compile(r"checksum: ([0-9a-f]+)")
SAMPLES_LINE = re.compile(r"^(\S+) +([\d.]+) +([\d.]+) +\d+$", re.M)


class Failure(Exception):
    """A program did not do what it should have done."""


def run(command, environment=None, timeout_s=300):
    """Run a program, see that it succeeds, and return what it printed."""
    process = subprocess.Popen(
        command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True,
        env={**os.environ, **(environment or {})})
    try:
        output, errors = process.communicate(timeout=timeout_s)
    except BaseException as reason:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(reason, subprocess.TimeoutExpired):
            raise Failure(f"{' '.join(command)}: no end after {timeout_s} s")
        raise
    if process.returncode != 0:
        last = (errors.strip() or output.strip() or "no output").splitlines()
        raise Failure(f"{' '.join(command)}: exit code {process.returncode}: "
                      f"{last[-1]}")
    return output


def find(pattern, output, command):
    match = pattern.search(output)
    if match is None:
        raise Failure(f"{' '.join(command)}: printed no '{pattern.pattern}'")
    return match.group(1)


class Ratio:
    """Times of two programs that ran in turn."""

    def __init__(self, times):
        pairs = [ours / theirs for ours, theirs in times]
        self.ours = statistics.median(ours for ours, _ in times)
        self.theirs = statistics.median(theirs for _, theirs in times)
        self.median = statistics.median(pairs)
        self.least, self.most = min(pairs), max(pairs)
        self.low, self.high = self.least, self.most
        if len(pairs) > 2:
            self.low, _, self.high = statistics.quantiles(
                pairs, n=4, method="inclusive")


def in_turn(commands, pattern, n_rounds, environment=None):
    """Run commands in turn; for each, the numbers that `pattern` finds.

    Their checksums must agree: it is no use to be fast and wrong.
    """
    times = [[] for _ in commands]
    checksums = set()
    for i in range(n_rounds):
        pairs = list(zip(commands, times))
        for command, found in pairs if i % 2 == 0 else reversed(pairs):
            output = run(command, environment)
            found.append(float(find(pattern, output, command)))
            checksums.add(find(CHECKSUM_LINE, output, command))
    if len(checksums) != 1:
        raise Failure("results differ: "
                      + "; ".join(" ".join(command) for command in commands))
    return times


def compare(ours, theirs, pattern, n_pairs, environment=None):
    """Run two commands in turn and compare the number that `pattern` finds."""
    return Ratio(list(zip(*in_turn([ours, theirs], pattern, n_pairs, environment))))


def cells(ratio, aim):
    """What a row says of a ratio: both numbers, median, quartiles, the aim, if there is
    one, and whether it is met."""
    if ratio is None:
        return ["", "", "failed", "", "", ""]
    return [f"{ratio.ours:.4f}", f"{ratio.theirs:.4f}", f"{ratio.median:.2f}",
            f"{ratio.low:.2f} to {ratio.high:.2f}",
            "" if aim is None else f"{aim:.2f}",
            "" if aim is None else
            "met" if ratio.median <= aim else "**missed**"]


def latency(command, line):
    """Run a command that prints samples.

    Returns p50 and p99 of the line with this name, in microseconds.
    """
    for name, p50, p99 in SAMPLES_LINE.findall(run(command)):
        if name == line:
            return float(p50), float(p99)
    raise Failure(f"{' '.join(command)}: printed no line '{line}'")


@contextlib.contextmanager
def all_cores_computing():
    """Keep a process busy on each core while the block runs."""
    burners = []
    try:
        for core in os.sched_getaffinity(0):
            burners.append(subprocess.Popen(
                [sys.executable, "-c",
                 f"import os\nos.sched_setaffinity(0, [{core}])\n"
                 f"while os.getppid() == {os.getpid()}:\n"
                 " for i in range(1000000): pass\n"]))
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def first_line(command, default="not found"):
    try:
        result = subprocess.run(command, text=True, capture_output=True,
                                check=True)
        return result.stdout.strip().splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return default


def machine():
    """What should be known about the machine, as pairs of strings."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = re.findall(r"^model name\s*: (.*)$", file.read(), re.M)
    with open("/proc/meminfo", encoding="utf-8") as file:
        memory_kb = int(re.search(r"MemTotal: *(\d+)", file.read()).group(1))
    return [
        ("processor", models[0] if models else "unknown"),
        ("cores", str(len(os.sched_getaffinity(0)))),
        ("memory", f"{memory_kb / 2**20:.1f} GiB"),
        ("kernel", os.uname().release),
        ("MPI", first_line(["mpirun", "--version"])),
        ("UCX", first_line(["ucx_info", "-v"]).lstrip("# ")),
    ]
