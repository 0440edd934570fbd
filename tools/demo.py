#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Show Teamster at work on this machine: programs with shared memory, each on
four nodes, and their results against those of one sequential process; then
what each policy makes of nodes that are not alike.

Other users of a machine only ever add time to a run, and to a virtual machine
they add it for tens of iterations at once: often more than one policy is
better than another. So policies run in turn, several rounds, and more as long as the
two quickest rounds of one differ; they are compared by the quickest quarter of
iterations in the quickest round.
"""
import argparse
import collections
import os
import re
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing is left in the sources
from experiment import output  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
POLICIES = ("initial", "cpu", "mem", "cpu-mem")
NAMES = ("n1", "n2", "n3", "n4")
SPEEDS = (500, 400, 400, 300)
SAME = 1.04         # times of a quiet machine are within it of each other
TIMEOUT_S = 300     # of a run
EXIT_UNAVAILABLE = 69

Effort = collections.namedtuple("Effort", [
    "n_equal",       # iterations on nodes that are alike
    "n_speeds",      # on nodes of unequal speed; the last half is counted
    "n_memories",    # on nodes of unequal memory; the same
    "least_rounds",  # over the policies, speeds being unequal
    "most_rounds",
])
FULL = Effort(100, 200, 160, 10, 25)
QUICK = Effort(10, 50, 20, 1, 1)

MEAN = re.compile(r"^iteration_ms=([\d.]+) median_ms=([\d.]+)", re.M)
MOVED = re.compile(r" taken back, (\d+) threads moved$", re.M)
KEPT = re.compile(r": kept; measured ([\d.]+) ms before, [\d.]+ ms now, "
                  r"predicted ([\d.]+) ms$", re.M)
PAGES_IN = re.compile(r"^teamster: (\S+): debug: memory: .*; in (\d+) ",
                      re.M)


class Failure(Exception):
    """A program did not do what it should have done."""


class Show:
    """Prints, in bold where that can be seen, and says what is running."""

    def __init__(self):
        self.is_bold = sys.stdout.isatty() and not os.environ.get("NO_COLOR")

    def title(self, text):
        print(f"\n\033[1m{text}\033[0m" if self.is_bold else f"\n{text}",
              flush=True)

    @staticmethod
    def running(text):
        """One line on a terminal, which the next one overwrites."""
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


class Demo:
    def __init__(self, build, effort, show):
        self.build = build
        self.effort = effort
        self.show = show
        self.teamster = os.path.join(build, "cli", "teamster")

    def app(self, name):
        return os.path.join(self.build, "apps", name)

    def check(self):
        for program in (self.teamster, *map(self.app, ("hello", "jacobi",
                                                       "sor"))):
            if not os.access(program, os.X_OK):
                raise Failure(f"{program} is not there; 'make programs' "
                              "builds it")

    def program(self, what, name, *arguments):
        """Say what comes, print the command and run it."""
        self.show.title(what)
        shown = " ".join(("teamster run -n 4", f"apps/{name}", *arguments))
        print(f"$ {shown}\n", flush=True)
        status = subprocess.run([self.teamster, "run", "-n", "4",
                                 self.app(name), *arguments], check=False)
        if status.returncode != 0:
            raise Failure(f"'{shown}' ended with {status.returncode}")

    def checksum(self, *plate):
        """Of a plate that one process computed, without Teamster."""
        run = subprocess.run([self.app("jacobi"), *plate, "--sequential"],
                             check=True, text=True, timeout=TIMEOUT_S,
                             stdout=subprocess.PIPE)
        return output.CHECKSUM.search(run.stdout).group(1)

    def emulate(self, memories, policy, checksum, *arguments):
        """Jacobi on four unequal nodes, 32 threads, its result compared.
        @return all that was printed"""
        with tempfile.NamedTemporaryFile("w", suffix=".hosts") as hosts:
            for name, speed, memory in zip(NAMES, SPEEDS, memories):
                hosts.write(f"{name} speed={speed} workers=1{memory}\n")
            hosts.flush()
            run = subprocess.run(
                [self.teamster, "run", "--hostfile", hosts.name, "--emulate",
                 "--policy", policy, "--first-mapping", "equal", "--explain",
                 "--verbose",
                 self.app("jacobi"), "--threads", "32", "--report", "--time",
                 "--stats", *arguments], check=False, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                timeout=TIMEOUT_S)
        if run.returncode != 0:
            raise Failure(f"policy {policy} ended with {run.returncode}:\n"
                          f"{run.stdout}")
        if output.CHECKSUM.search(run.stdout).group(1) != checksum:
            raise Failure(f"policy {policy}: not the sequential program's "
                          f"result:\n{run.stdout}")
        return run.stdout


def threads_at_end(text):
    return " ".join(map(str, output.node_rows(text)[0]))


# ---- nodes of unequal speed

class Round:
    """What a run under a policy came to."""

    def __init__(self, text, n_iterations):
        times = output.iteration_times(text, n_iterations // 2 + 1,
                                       n_iterations)
        self.median_ms = statistics.median(times)
        self.quick_ms = output.quiet(times)
        self.threads = threads_at_end(text)
        moved = MOVED.search(text)
        self.n_moved = int(moved.group(1)) if moved else 0
        kept = KEPT.findall(text)
        self.gain = None  # predicted for the mapping that it ended with
        if kept:
            self.gain = float(kept[0][0]) / float(kept[-1][1])


def print_row(policy, rounds, initial_ms):
    best = min(rounds, key=lambda r: r.quick_ms)
    median_ms = statistics.median(r.median_ms for r in rounds)
    measured = initial_ms / best.quick_ms
    gains = [r.gain for r in rounds if r.gain is not None]
    row = (f"{policy:8} {best.threads:14} {best.quick_ms:6.2f} ms "
           f"{median_ms:6.2f} ms {best.n_moved:6}     ")
    if gains:
        gain = statistics.median(gains)
        row += (f"{gain:8.2f} {measured:9.2f} "
                f"{100 * (measured / gain - 1):+7.1f} %")
    else:
        row += f"{'':8} {measured:9.2f}"
    print(row)


def is_seen_twice(rounds):
    """Was the machine quiet in two rounds?"""
    first, second = sorted(r.quick_ms for r in rounds)[:2]
    return second <= SAME * first


def run_in_turn(demo, *arguments, checksum):
    """@return rounds by policy, as many as it takes"""
    rounds = collections.defaultdict(list)
    least, most = demo.effort.least_rounds, demo.effort.most_rounds
    for i in range(1, most + 1):
        for policy in POLICIES:
            demo.show.running(f"round {i} of {least} to {most}: {policy}")
            rounds[policy].append(Round(demo.emulate(
                [""] * len(SPEEDS), policy, checksum, *arguments),
                demo.effort.n_speeds))
        if least <= i < most and all(map(is_seen_twice, rounds.values())):
            break
    demo.show.running("")
    return rounds


def unequal_speeds(demo):
    demo.show.title("Heat in a plate on nodes of unequal speed: "
                    f"{', '.join(map(str, SPEEDS))}, emulated; 32 threads")
    n = demo.effort.n_speeds
    plate = ("--size", "768", "--iterations", str(n))
    rounds = run_in_turn(demo, *plate, "--effort", "24",
                         checksum=demo.checksum(*plate))
    print(f"""\
All in turn, rounds: {len(rounds["initial"])}. Of the last half of {n} iterations: the quickest \
quarter, in
the quickest round, whose threads are shown; and the median of all. Gain: how
much longer iterations are with 'initial': what was measured before the first
change of a run over what was predicted for the mapping that it ended with
(median of the rounds), and as measured.

policy   threads at end   quickest    median  moves  gain: predicted  \
measured   error""")
    initial_ms = min(r.quick_ms for r in rounds["initial"])
    for policy in POLICIES:
        print_row(policy, rounds[policy], initial_ms)


# ---- nodes of unequal memory

def unequal_memories(demo):
    demo.show.title("A plate (64 MiB) on the same nodes; the third may use "
                    "10 MiB of memory only")
    n = demo.effort.n_memories
    print(f"last {n // 2} of {n} iterations; in the first ones every policy "
          "pages\n"
          "policy   threads at end  median it.    mean it.   pages in from the "
          "swap file, by node")
    plate = ("--size", "2048", "--iterations", str(n))
    checksum = demo.checksum(*plate)
    for policy in POLICIES:
        demo.show.running(policy)
        text = demo.emulate(
            [" memory=64M", " memory=64M", " memory=10M", " memory=64M"],
            policy, checksum, *plate)
        demo.show.running("")
        mean_ms, median_ms = map(float, MEAN.search(text).groups())
        pages = dict(PAGES_IN.findall(text))
        print(f"{policy:8} {threads_at_end(text):14} "
              f"{median_ms:8.2f} ms {mean_ms:8.2f} ms   "
              + " ".join(f"{pages[name]:>7}" for name in NAMES),
              flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", metavar="BUILD",
                        default=os.path.join(TOP, "build", "release"),
                        help="where programs are built; build/release if not "
                             "given")
    parser.add_argument("--quick", action="store_const", dest="effort",
                        const=QUICK, default=FULL,
                        help="one round, and few iterations: to see that all "
                             "of it runs, not what is gained")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    demo = Demo(arguments.build, arguments.effort, Show())
    try:
        demo.check()
    except Failure as reason:
        print(f"demo: {reason}", file=sys.stderr)
        sys.exit(EXIT_UNAVAILABLE)
    try:
        demo.program("A sum: 8 threads on 4 nodes, one shared array", "hello")
        plate = ("--size", "2048", "--threads", "16",
                 "--iterations", str(demo.effort.n_equal), "--verify", "--stats")
        demo.program("Heat in a plate, 2048 x 2048 points, by Jacobi: "
                     "16 threads on 4 nodes", "jacobi", *plate)
        demo.program("The same plate by red/black over-relaxation", "sor",
                     *plate)
        unequal_speeds(demo)
        unequal_memories(demo)
    except (Failure, subprocess.TimeoutExpired) as reason:
        sys.exit(f"demo: {reason}")
    demo.show.title("All results have the same bits as those of one process.")


if __name__ == "__main__":
    main()
