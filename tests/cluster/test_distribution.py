#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The distribution of threads over unequal nodes, in real runs.

    test_distribution.py TEST --build DIR

Nodes are emulated (docs/emulation.md). Times are compared with times of the same
test only. A machine that is busy with something else cannot give each node its
share, so what depends on times is tried N_ATTEMPTS times, with growing pauses; a
scheme that is wrong is wrong each time. Mappings are compared by their quickest
iterations, as in `make demo-long`: some machines compute slower for seconds. What two halves
of the runs of one differ by is noise; where that is more than SAME after MOST_ROUNDS
nothing can be said.
"""
import argparse
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import time

import jobs

sys.path.append(os.path.join(os.path.dirname(__file__), "../../bench"))
import scheme_cost  # noqa: E402
sys.path.append(os.path.join(os.path.dirname(__file__), "../../tools"))
from experiment.machine import Busy  # noqa: E402
from experiment.output import iteration_times, quiet  # noqa: E402

SPEEDS = (500, 400, 400, 300)
N_THREADS = 32
BY_HAND = ("10,8,8,6", "11,8,8,5", "9,8,8,7", "10,9,8,5", "10,8,7,7")
OTHERS_MOST = 0.3  # of a processor
WORSE = 0.05  # than the best mapping by hand; noise comes to that
SAME = 0.05  # by which two halves of the runs of one mapping may differ
LEAST_ROUNDS = 3  # with all mappings
MOST_ROUNDS = 30
N_ITERATIONS = 160
N_BY_HAND = 40  # iterations
N_BALANCED = 80
BALANCED_COSTS = 1.01  # times an iteration, where nothing is to be gained
LEAST_PAIRS = 200
MOST_PAIRS = 2000
N_ATTEMPTS = 6
# Enough work that nodes differ by more than what messages take; little memory, since
# nodes share the machine's.
APPS = {
    "jacobi": ("--size", "1536", "--effort", "10"),
    "sor": ("--size", "1536", "--effort", "9"),
    "matmul": ("--size", "256", "--effort", "3"),
    "gauss": ("--size", "768", "--effort", "12", "--steps", "320"),
}
POLICIES = ("cpu", "mem", "mem-share", "cpu-mem", "liang03", "cvm", "jiajia",
            "cohesion", "gate", "waterfill", "fpm", "halda", "ccm", "peris",
            "optimal")


@contextlib.contextmanager
def burner_on(processor):
    """A process of the same priority that computes there, and nothing else."""
    burner = subprocess.Popen(
        [sys.executable, "-c",
         f"import os\nos.sched_setaffinity(0, [{processor}])\n"
         f"while os.getppid() == {os.getpid()}:\n"
         " for i in range(1000000): pass\n"])
    try:
        yield
    finally:
        burner.kill()
        burner.wait()


def counts_carried_out(output):
    """Threads of node 1 after each change."""
    return [int(n) for n in re.findall(
        r"teamster: n1 .*\| +(\d+) +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+$",
        output, re.M)]


def others_busy():
    """How many processors are busy while this process does nothing."""
    busy = Busy()
    time.sleep(0.5)
    return busy.others()


def quick_ms(runs, n_alike):
    """What an iteration takes on a quiet machine, out of several runs of equal
    length: others only ever add time. Of n_alike iterations in a row, which are
    taken to be alike, what a quarter of them are below in the quickest run."""
    return statistics.fmean(
        min(quiet(times[i:i + n_alike]) for times in runs)
        for i in range(0, len(runs[0]), n_alike))


def noise_of(series, n_alike):
    """By how much two halves of the runs of one mapping differ, at most."""
    halves = [[quick_ms(runs[i::2], n_alike) for i in (0, 1)]
              for runs in series]
    return max(max(both) / min(both) - 1 for both in halves)


def expect_iterations(output, least, most):
    """As many are known to the scheme."""
    known = re.search(r"teamster: (\d+) iterations;", output)
    if not known or not least <= int(known[1]) <= most:
        raise jobs.Failure(f"iterations:\n{output}")


class Tests:
    def __init__(self, options, folder):
        self.build = options.build
        self.folder = folder
        self.teamster = os.path.join(self.build, "cli", "teamster")

    def app(self, name):
        return os.path.join(self.build, "apps", name)

    def program(self, name):
        """Of this folder."""
        return os.path.join(self.build, "tests", "cluster", name)

    def hosts(self, speeds, memory=None):
        """@param memory  of the last node"""
        path = os.path.join(self.folder, "hosts")
        with open(path, "w", encoding="utf-8") as file:
            for i, speed in enumerate(speeds):
                is_last = i == len(speeds) - 1
                file.write(f"n{i} speed={speed} workers=1" +
                           (f" memory={memory}" if memory and is_last else "")
                           + "\n")
        return path

    def run(self, *command, variables=None):
        job = jobs.Job(self.teamster, command,
                       {"TEAMSTER_POLICY": "cpu-mem",
                        "TEAMSTER_FIRST_MAPPING": "equal", **(variables or {})})
        return job.expect_success()

    def emulate(self, *command, speeds=SPEEDS, memory=None, variables=None):
        return self.run("--hostfile", self.hosts(speeds, memory), "--emulate",
                        *command, variables=variables)

    # ---- times

    def times(self, name, n_iterations, *options):
        """Milliseconds of the last half of a run's iterations; the output."""
        command = [*options, self.app(name), *APPS[name], "--threads",
                   N_THREADS, "--report"]
        # Iterations of gauss become shorter: as many of them each time.
        if name == "gauss":
            n_iterations = N_ITERATIONS
        output = self.emulate(*command, "--iterations", n_iterations)
        return iteration_times(output, n_iterations // 2 + 1,
                               n_iterations), output

    def by_hand(self, name, counts):
        return self.times(name, N_BY_HAND, "--counts", counts)[0]

    def compare(self, name):
        """cpu-mem beside mappings by hand, in turn: some rounds with all of these,
        then with the two best, until two halves of the runs of each agree.
        @return its time as a multiple of the best one's, noise, output"""
        n_alike = 10 if name == "gauss" else N_ITERATIONS

        def quick(mapping):
            return quick_ms(runs[mapping], n_alike)

        by_hand = BY_HAND
        runs = {mapping: [] for mapping in (*BY_HAND, "cpu-mem")}
        for i in range(MOST_ROUNDS):
            if i == LEAST_ROUNDS:
                by_hand = sorted(BY_HAND, key=quick)[:2]
            for counts in by_hand:
                runs[counts].append(self.by_hand(name, counts))
            times, output = self.times(name, N_ITERATIONS, "--explain")
            runs["cpu-mem"].append(times)
            if i < LEAST_ROUNDS:
                continue
            noise = noise_of(
                [runs[mapping] for mapping in (*by_hand, "cpu-mem")],
                n_alike)
            if noise <= SAME:
                break
        shown = {mapping: round(quick(mapping), 3) for mapping in runs}
        ratio = shown["cpu-mem"] / min(shown[counts] for counts in BY_HAND)
        print(f"{name}: cpu-mem over the best by hand {ratio:.3f}, noise "
              f"{noise:.3f}, rounds {i + 1}, ms {shown}", flush=True)
        return ratio, noise, output

    def reaches_the_best(self, name):
        """cpu-mem comes within 5 % and noise of the best mapping by hand, and
        is shorter than without it."""
        ratio, noise, output = self.compare(name)
        if noise > SAME:
            raise jobs.Skip("halves of the runs of one mapping differ by "
                            f"{noise:.0%}")
        if ratio > 1 + WORSE + noise or ", policy cpu-mem" not in output:
            raise jobs.Failure(f"{name}: not within {WORSE:.0%} and noise of "
                               f"the best mapping by hand; the last:\n{output}")

    def jacobi_reaches_the_best_mapping(self):
        self.reaches_the_best("jacobi")

    def sor_reaches_the_best_mapping(self):
        self.reaches_the_best("sor")

    def matmul_reaches_the_best_mapping(self):
        self.reaches_the_best("matmul")

    def gauss_reaches_the_best_mapping(self):
        self.reaches_the_best("gauss")

    def what_a_round_under_way_finds_is_known(self):
        """--track asks for an iteration just before the scheme does, or just after:
        both get what is found, and the plan knows all threads."""
        for iteration in (3, 4):
            sets = os.path.join(self.folder, f"sets{iteration}")
            output = self.run(
                "-n", 2, "-w", 1, "--explain", self.app("jacobi"), "--size",
                "128", "--threads", 8, "--iterations", 600,
                variables={"TEAMSTER_POLICY": "mem-share",
                           "TEAMSTER_TRACK": f"{iteration}:{sets}"})
            if ("1 tracked, 1 plans" not in output or
                    "is not known" in output or "no plan" in output):
                raise jobs.Failure(f"a plan made blind:\n{output}")
            with open(sets, encoding="utf-8") as file:
                if file.read().count("round") != 1:
                    raise jobs.Failure("--track has found nothing")

    # ---- where threads start

    def threads_start_by_what_is_known(self):
        """By speed; where memory is short no more than fit; by workers, without a speed;
        and as many everywhere if that is wanted, or nobody goes on from there."""
        def begun(*options, policy="cpu-mem", how="known", mib=1):
            output = self.run(*options, self.program("starts"), 16, mib,
                              variables={"TEAMSTER_POLICY": policy,
                                         "TEAMSTER_FIRST_MAPPING": how})
            return re.search(r"begun: (.*)", output)[1]

        unequal = ("--hostfile", self.hosts((400, 100, 300)), "--emulate")
        for counts, found in (
                ("8,2,6", begun(*unequal)),
                ("8,2,6", begun(*unequal, policy="cpu")),
                ("5,5,6", begun(*unequal, policy="mem")),
                ("5,5,6", begun(*unequal, how="equal")),
                ("5,5,6", begun(*unequal, policy="none")),
                ("5,5,6", begun(*unequal, policy="initial"))):
            if found != counts:
                raise jobs.Failure(f"begun on nodes: {found}, not {counts}")
        for attempt in range(N_ATTEMPTS):  # other work may slow one of them down
            time.sleep(attempt)
            found = begun("-n", 3, "-w", 1)
            if found == "5,5,6":
                break
        else:
            raise jobs.Failure(f"begun on nodes that are alike: {found}")
        short = ("--hostfile", self.hosts((400, 100, 300), "8M"), "--emulate")
        for policy, counts in (("cpu-mem", "11,3,2"), ("cpu", "8,2,6")):
            found = begun(*short, policy=policy, mib=60)
            if found != counts:
                raise jobs.Failure(f"{policy}, where memory is for two: {found}")

    # ---- programs in balance

    def balanced(self, *options):
        return self.emulate(*options, self.app("jacobi"), "--size", "1536",
                            "--effort", "5", "--threads", "16", "--report",
                            "--iterations", N_BALANCED, speeds=(400,) * 4)

    def a_balanced_program_is_left_alone(self):
        """No thread moves, and the root takes under 1 % of the time to see that."""
        for attempt in range(N_ATTEMPTS):
            time.sleep(attempt)
            output = self.balanced("--explain")
            moved = int(re.search(r", (\d+) threads moved$", output,
                                  re.M).group(1))
            percent = float(re.search(r"on the root, ([\d.]+) % of the run",
                                      output).group(1))
            if moved == 0 and 0 < percent < 1:
                return
        raise jobs.Failure(f"{moved} threads moved, {percent} % for "
                           f"collecting:\n{output}")

    def a_balanced_program_is_as_quick_as_if_left_alone(self):
        """cpu-mem beside a policy that neither collects nor moves anything, in pairs
        of short runs, until it is clear whether it costs less than it may."""
        options = scheme_cost.arguments().parse_args(["--build", self.build])
        runs = scheme_cost.Runs(options, "jacobi", jobs.environment())
        logs = []
        for i in range(MOST_PAIRS):
            logs.append(runs.pair(i))
            if i < LEAST_PAIRS:
                continue
            ratio, low, high, _ = scheme_cost.interval(logs)
            if high < BALANCED_COSTS or low > BALANCED_COSTS:
                break
        told = f"{ratio:.4f} ({low:.4f} to {high:.4f}) of {i + 1} pairs"
        print(f"cpu-mem over initial {told}", flush=True)
        if low > BALANCED_COSTS:
            raise jobs.Failure(f"takes {told} times as long as if left alone")
        if high >= BALANCED_COSTS:
            raise jobs.Skip(f"not clear: {told}")

    # ---- nodes that the kernel makes slow

    def slowed_job(self, *options):
        """@return a job whose nodes control groups make slow, while it runs"""
        job = jobs.Job(self.teamster, [
            "--hostfile", self.hosts(SPEEDS), "--emulate", "--emulate-by",
            "cgroup", *options, self.app("jacobi"), "--size", "768",
            "--effort", "20", "--threads", "8", "--iterations", "100"])
        if not jobs.wait_until(lambda: self.groups_of(job) or
                               job.process.poll() is not None):
            job.fail("no groups, and no end")
        if not self.groups_of(job):
            _, output = job.finish()
            if "cannot have a control group" in output:
                raise jobs.Skip(jobs.last_lines(output))
            job.fail("no groups", output)
        return job

    @staticmethod
    def groups_of(job):
        """Folders of its groups, by node."""
        name = f"teamster-{job.process.pid}-"
        return {int(folder.rpartition("-")[2]): os.path.join(above, folder)
                for above, folders, _ in os.walk("/sys/fs/cgroup")
                for folder in folders if folder.startswith(name)}

    @staticmethod
    def share_of(folder):
        """Of a processor, as the kernel has it."""
        def read(name):
            with open(os.path.join(folder, name), encoding="ascii") as file:
                return file.read().split()

        if os.path.exists(os.path.join(folder, "cpu.max")):
            quota, period = read("cpu.max")
        else:
            quota, = read("cpu.cfs_quota_us")
            period, = read("cpu.cfs_period_us")
        return int(quota) / int(period)

    def control_groups_make_nodes_slow_if_asked_for(self):
        job = self.slowed_job("--stats")
        for i, speed in enumerate(SPEEDS):
            if not jobs.wait_until(lambda i=i: job.node(i) and str(job.node(
                    i)) in jobs.read_bytes(os.path.join(self.groups_of(job)[
                        i], "cgroup.procs")).decode().split()):
                job.fail(f"node {i} is not in {self.groups_of(job)}")
            share = self.share_of(self.groups_of(job)[i])
            if abs(share / (speed / SPEEDS[0] * self.share_of(
                    self.groups_of(job)[0])) - 1) > 0.01:
                job.fail(f"node {i} has {share} of a processor")
        groups = self.groups_of(job)
        shares = [self.share_of(groups[i]) for i in range(len(SPEEDS))]
        output = job.expect_success()
        told = re.findall(r"^\[0\] +\d (0\.\d+) ", output, re.M)
        if [float(share) for share in told] != [round(share, 3)
                                                for share in shares]:
            job.fail(f"{told} are told, {shares} there", output)
        if self.groups_of(job):
            job.fail(f"left behind: {self.groups_of(job)}", output)

    def groups_of_a_killed_launcher_are_removed_at_the_end(self):
        job = self.slowed_job()
        job.process.kill()
        job.process.communicate()
        if not jobs.wait_until(lambda: not self.groups_of(job)):
            job.fail(f"left behind: {self.groups_of(job)}")
        job.expect_nothing_left()

    # ---- what is collected

    def what_nodes_send_each_other_is_known(self):
        """Rows of a grid go to neighbours, and everybody's news to the root; what is
        told of iterations comes to what the nodes have counted in all."""
        size, n_iterations = 512, 2000
        output = self.run("-n", 3, "-w", 1, "--explain", "--stats", "--counts",
                          "2,2,2", self.app("jacobi"), "--size", size,
                          "--threads", 6, "--iterations", n_iterations)
        told = re.findall(r"n(\d) an iteration: .*; \d+ MiB free; ([\d.]+) KiB "
                          r"sent: (.*)", output)
        mib = re.findall(r"^\[0\] +\d 1.000 .* ([\d.]+)$", output, re.M)
        sent = [{int(to): float(kib) for kib, to in
                 re.findall(r"([\d.]+) to n(\d)", peers)}
                for _, _, peers in told]
        row_kib = size * 8 / 1024
        are_right = len(told) == len(mib) == 3 and all(
            row_kib / 2 < sent[node].get(to, 0) < 3 * row_kib
            for node, to in ((0, 1), (1, 0), (1, 2), (2, 1))) and all(
                sent[node].get(to, 0) < row_kib / 2
                for node, to in ((0, 2), (2, 0)))
        for (_, kib, _), counted in zip(told, mib):
            in_all = float(kib) * n_iterations / 1024
            are_right = are_right and 0.8 < in_all / float(counted) < 1.1
        if not are_right:
            raise jobs.Failure(f"KiB sent an iteration: {sent}\n{output}")

    def what_nodes_page_is_known(self):
        """Each goes through twice its memory in an iteration."""
        output = self.run("-n", 2, "-w", 1, "--memory", "4M", "--explain",
                          "--counts", "4,4", self.app("jacobi"), "--size",
                          "1024", "--threads", 8, "--iterations", 40)
        told = re.findall(r"n\d an iteration: ([\d.]+) pages came, ([\d.]+) "
                          r"went;", output)
        if len(told) != 2 or not all(
                500 < float(pages) < 4000 for each in told for pages in each):
            raise jobs.Failure(f"{told}\n{output}")

    def what_paging_threads_compute_is_known(self):
        """Both nodes have threads alike; those of the one that pages do not seem to
        compute next to nothing, nor several times as much. Handling a fault is no computation, and what it takes by
        the clock, while others have the processor, is more than what it computes.
        What an iteration computes in --explain is by the clock where a node does not
        page, so that it says nothing of threads while others have the processors; what
        the plan takes the threads to compute does. `cvm` leaves them on their nodes, and
        the run ends before there is another plan, of nodes that page less."""
        path = os.path.join(self.folder, "program")
        profile = os.path.join(self.folder, "profile.json")
        with open(path, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n[ $TEAMSTER_NODE = 1 ] && "
                       "export TEAMSTER_MEMORY=5M\n"
                       f'exec {self.app("jacobi")} "$@"\n')
        os.chmod(path, 0o700)
        for n_iterations in (30, 60, 120):
            output = self.run("-n", 2, "-w", 1, "--policy", "cvm", "--explain",
                              "--save-profile", profile, path, "--size", "1024",
                              "--threads", 32, "--effort", "4", "--iterations",
                              n_iterations)
            if os.path.exists(profile):  # something has been decided
                break
        else:
            raise jobs.Failure(f"no plan\n{output}")
        with open(profile, encoding="utf-8") as file:
            known = json.load(file)
        computed_ms = [statistics.fmean(
            1e3 * thread["computation_s"]
            for thread, node in zip(known["threads"], known["node_of"])
            if node == number) for number in range(2)]
        print(computed_ms)
        pages_in = re.findall(r"n1 an iteration: ([\d.]+) pages came", output)
        if (not 1 / 4 < computed_ms[1] / computed_ms[0] < 4 or
                max(map(float, pages_in), default=0) < 100):
            raise jobs.Failure(f"{computed_ms}:\n{output}")

    # ---- results

    def results_stay_identical(self):
        """Whatever a policy does with the threads, the bits are the same."""
        for i, policy in enumerate(POLICIES):
            for name in ("jacobi", "sor", "matmul", "gauss"):
                output = self.emulate(
                    "--policy", policy, "--explain", self.app(name), "--size",
                    "160", "--iterations", "40", "--threads", "12",
                    "--verify", variables={
                        "TEAMSTER_PROTOCOL":
                        jobs.PROTOCOLS[i % len(jobs.PROTOCOLS)]})
                if "result: identical" not in output:
                    raise jobs.Failure(f"{policy}, {name}:\n{output}")

    def policies_of_today_move_threads(self):
        """On unequal nodes, one of them short of memory."""
        for policy in ("waterfill", "fpm", "halda", "ccm", "peris"):
            output = self.emulate(
                "--policy", policy, "--explain", self.app("jacobi"), "--size",
                "768", "--effort", "10", "--iterations", "80", "--threads",
                "16", "--verify", memory="1M")
            moved = re.search(r", (\d+) threads moved$", output, re.M)
            if ("result: identical" not in output or moved is None or
                    int(moved[1]) == 0):
                raise jobs.Failure(f"{policy}:\n{output}")

    def a_mapping_by_hand_is_carried_out(self):
        output = self.run("-n", 3, "-w", 1, "--counts", "1,5,2",
                          self.app("jacobi"), "--size", "200", "--threads", "8",
                          "--iterations", "20", "--stats")
        rows = re.findall(r"^\[0\] +(\d) +(\d+) +\d+ +[\d.]+ ", output, re.M)
        if [int(n) for _, n in rows] != [1, 5, 2]:
            raise jobs.Failure(f"threads are {rows}:\n{output}")

    def wrong_counts_are_refused(self):
        for counts, message in (("1,2", "names 2 nodes, there are 3"),
                                ("1,x,2", "numbers of threads")):
            job = jobs.Job(self.teamster, ["-n", 3, "--counts", counts,
                                           self.app("hello")])
            code, output = job.finish()
            if code != 78 and code != 64 or message not in output:
                job.fail(f"exit code {code}", output)

    def profiles_that_cannot_be_written_are_refused(self):
        """Before the program has done anything."""
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        for path, words in (("/nowhere/p.json", "No such file or directory"),
                            (self.folder, "is a folder"),
                            (pipe, "is not a file")):
            job = jobs.Job(self.teamster, ["-n", 2, "--save-profile", path,
                                           self.app("jacobi")])
            code, output = job.finish()
            if (code != 73 or words not in output or "points" in output or
                    output.count("could not be written") != 1):
                job.fail(f"exit code {code}", output)
        os.unlink(pipe)
        path = os.path.join(self.folder, "kept.json")
        with open(path, "w", encoding="ascii") as file:
            file.write("what was there before")
        self.run("-n", 1, "--save-profile", path, self.app("hello"))
        with open(path, encoding="ascii") as file:
            if file.read() != "what was there before":
                raise jobs.Failure("a run that decided nothing wrote over it")
        if os.listdir(self.folder) != ["kept.json"]:
            raise jobs.Failure(f"left behind: {os.listdir(self.folder)}")

    # ---- nodes of several workers

    def busiest(self, output):
        """Work of the busiest worker, at first and at the end."""
        found = [int(n) for n in re.findall(r"busiest worker: (\d+)", output)]
        if len(found) != 2 or "wrong: 0" not in output:
            raise jobs.Failure(output)
        return found

    def workers_share_the_work_of_threads(self):
        """One thread has as much work as six others: its worker has no other, or one.
        And of nodes with two workers and with one, the first gets twice as many."""
        workers = self.program("workers")
        path = os.path.join(self.folder, "hosts")
        with open(path, "w", encoding="utf-8") as file:
            file.write("n0 speed=100 workers=2\nn1 speed=100 workers=1\n")
        for options, (threads, iterations, heavy), first, last in (
                (("-n", 2, "-w", 2), (12, 100, 6), 8, 7),
                (("--hostfile", path, "--emulate", "--explain"), (24, 250, 1),
                 12, 10)):
            for attempt in range(N_ATTEMPTS):  # on a busy machine it takes longer
                time.sleep(attempt)
                output = self.run(*options, workers, threads,
                                  iterations * (attempt + 1), heavy)
                found = self.busiest(output)
                print(found)
                if found[0] == first and found[1] <= last:
                    break
            else:
                raise jobs.Failure(f"{found}:\n{output}")

    # ---- threads that end and come

    def iterations_go_on_with_other_threads(self):
        """All that the program ends are known, but for those in which threads come."""
        lengths = (40, 30, 50)
        output = self.run("-n", 3, "-w", 1, "--explain",
                          self.program("generations"), 6, *lengths)
        if f"{sum(lengths)} iterations\n" not in output:
            raise jobs.Failure(output)
        expect_iterations(output, sum(lengths) - 2 * len(lengths),
                          sum(lengths))

    # ---- programs that do not say where iterations end

    def a_period_of_barriers_is_found_if_asked_for(self):
        program = self.program("rounds")
        for attempt in range(N_ATTEMPTS):
            time.sleep(attempt)
            output = self.emulate("--explain", "--move-at", "barriers",
                                  program, 12, 150, speeds=(400, 100))
            if ("an iteration is found to be 2 barriers" not in output or
                    "wrong: 0" not in output):
                raise jobs.Failure(f"not found:\n{output}")
            if ", policy cpu-mem" in output:
                break
        else:
            raise jobs.Failure(f"found, and not used:\n{output}")
        output = self.emulate("--explain", program, 12, 20,
                              speeds=(400, 100))
        if ", policy cpu-mem" in output or "wrong: 0" not in output:
            raise jobs.Failure(f"threads moved unasked:\n{output}")
        if "never called tm_iteration_end()" not in output:
            raise jobs.Failure(f"not told what could be asked for:\n{output}")

    def another_period_is_looked_for(self):
        output = self.run("-n", 2, "-w", 1, "--explain", "--move-at",
                          "barriers", self.program("rounds"), 6, 60, "phases")
        for words in ("an iteration is found to be 2 barriers",
                      "the program's barriers are others now",
                      "an iteration is found to be 3 barriers", "wrong: 0"):
            if output.count(words) != 1:
                raise jobs.Failure(f"not there once: {words}\n{output}")
        expect_iterations(output, 75, 120)

    def iterations_after_a_vain_search_are_known(self):
        output = self.run("-n", 2, "-w", 1, "--explain", "--move-at",
                          "barriers", self.program("rounds"), 6, 300, "late")
        if ("no regularity in the program's barriers" not in output or
                "wrong: 0" not in output):
            raise jobs.Failure(output)
        expect_iterations(output, 298, 300)

    def no_regularity_is_told(self):
        """Of a program that has none, and of one too short to show it; also to
        who has not asked for explanations."""
        program = self.program("rounds")
        told = "no regularity was found in the program's barriers"
        for n_rounds, more in ((700, ["irregular"]), (3, [])):
            output = self.emulate("--move-at", "barriers", program, 6,
                                  n_rounds, *more, speeds=(400, 100))
            if output.count(told) != 1 or "wrong: 0" not in output:
                raise jobs.Failure(f"not told:\n{output}")
        output = self.emulate("--move-at", "barriers", program, 6, 60,
                              speeds=(400, 100))
        if told in output:
            raise jobs.Failure(f"a period is there:\n{output}")

    # ---- another program on a node's processor

    def start_pinned(self, *command):
        """Two nodes, each on a processor of its own. @return job, processors"""
        processors = sorted(os.sched_getaffinity(0))[:2]
        if len(processors) < 2:
            raise jobs.Skip("one processor: nodes would disturb each other")
        job = jobs.Job(self.teamster, command, {"TEAMSTER_POLICY": "cpu-mem"})
        for node, processor in enumerate(processors):
            pid = jobs.wait_until(lambda n=node: job.node(n), 10)
            for task in os.listdir(f"/proc/{pid}/task"):
                with contextlib.suppress(ProcessLookupError):  # it has ended
                    os.sched_setaffinity(int(task), [processor])
        return job, processors

    def another_program_is_answered_and_so_is_its_end(self):
        """While somebody else computes on its processor a node has fewer
        threads; when that is over it gets some back."""
        others = 0
        for attempt in range(N_ATTEMPTS):
            time.sleep(attempt)
            others = max(others, others_busy())
            job, processors = self.start_pinned(
                "-n", 2, "-w", 1, "--explain", self.app("matmul"), "--size",
                "256", "--threads", 16, "--iterations", 1500, "--verify")
            time.sleep(1)
            with burner_on(processors[1]):
                time.sleep(3)
            output = job.expect_success(2 * jobs.DEADLINE_S)  # others may compute
            if "result: identical" not in output:
                raise jobs.Failure(f"wrong:\n{output}")
            counts = counts_carried_out(output)
            print(f"threads of the node: {counts}")
            # Away from where they were, and then towards it again.
            least = min(counts, default=8)
            if least < 8 and max(counts[counts.index(least):]) > least:
                return
        if others > OTHERS_MOST:
            raise jobs.Skip(f"other programs use {others:.0%} of a processor")
        raise jobs.Failure(f"threads of the node: {counts}\n{output}")

    # ---- pages

    def pages_have_left_with_their_threads(self):
        """No update for a node that does not use a page, and few faults: a
        copy that was made while threads moved one after the other is given up
        with the next update, and with `same` there is none. Each thread has
        16 pages."""
        program = self.program("leaving")
        for policy, mode in (("cpu-mem", "changing"), ("cpu-mem", "same"),
                             ("jiajia", "changing"), ("jiajia", "same")):
            for attempt in range(N_ATTEMPTS):
                time.sleep(attempt)
                output = self.emulate("--policy", policy, "--explain", program,
                                      12, 300 * (attempt + 1), mode,
                                      speeds=(400, 100))
                found = re.search(
                    r"wrong: 0, moved: (\d+), borders: (\d+), iterations: "
                    r"(\d+), updates: (\d+), write faults: (\d+)", output)
                if found is None:
                    raise jobs.Failure(f"wrong:\n{output}")
                moved, borders, n, updates, faults = map(int, found.groups())
                print(f"{policy}, {mode}: {found.group(0)}")
                if (moved > 0 and updates <= (borders + 0.5) * n and
                        faults <= (2 * borders + moved + 0.5) * n):
                    break
            else:
                raise jobs.Failure(f"{policy}, {mode}:\n{output}")

    # ---- profiles

    def plan_repeats_what_the_run_decided(self):
        """The latest decision: carried out, or not, and why."""
        path = os.path.join(self.folder, "profile.json")
        for policy, model, speeds, memory in (
                ("cpu-mem", "measured", (500, 100), None),
                ("cpu-mem", "measured", SPEEDS, "4M"),
                ("liang03", "measured", (400, 300, 200), None),
                ("cpu-mem", "liu06", SPEEDS, "4M")):
            for n_iterations in (250, 1000, 4000):
                output = self.emulate(
                    "--policy", policy, "--model", model, "--explain",
                    "--save-profile", path,
                    self.app("jacobi"), "--size", "1024", "--threads", N_THREADS,
                    "--iterations", n_iterations, speeds=speeds, memory=memory)
                with open(path, encoding="utf-8") as file:
                    profile = json.load(file)
                decision = profile["decision"]
                if decision is not None:  # on a busy machine it may take longer
                    break
            else:
                raise jobs.Failure(f"{policy}: no decision\n{output}")
            if profile["model"]["kind"] != model:
                raise jobs.Failure(f"asked for {model}: {profile['model']}")
            if decision["is_carried_out"] and decision["acceptance"] is None:
                raise jobs.Failure(f"carried out and not weighed: {decision}")
            plan = subprocess.run([self.teamster, "plan", path], text=True,
                                  capture_output=True, check=False)
            if ("as the run decided: the same mapping and times" not in
                    plan.stdout):
                raise jobs.Failure(plan.stdout + plan.stderr)
            again = subprocess.run([self.teamster, "simulate", path, "-i", "20"],
                                   text=True, capture_output=True, check=False)
            if again.returncode != 0 or "has no script" in again.stdout:
                raise jobs.Failure(again.stdout + again.stderr)

    def nodes_are_called_as_in_the_hostfile(self):
        """In what a run explains, in its profile, and in questions about it; by
        their numbers if two have the same name."""
        path = os.path.join(self.folder, "profile.json")
        hosts = os.path.join(self.folder, "named")
        for names, called in ((("n1", "n0"), ("n1", "n0")),
                              (("here", "here"), ("n0", "n1"))):
            with open(hosts, "w", encoding="utf-8") as file:
                file.write(f"{names[0]} speed=500 workers=1\n"
                           f"{names[1]} speed=100 workers=1\n")
            for n_iterations in (250, 1000, 4000):
                output = self.run("--hostfile", hosts, "--emulate", "--explain",
                                  "--save-profile", path, self.app("jacobi"),
                                  "--size", "1024", "--threads", N_THREADS,
                                  "--iterations", n_iterations)
                if f"teamster: {called[1]} -> {called[0]}: threads " in output:
                    break  # on a busy machine it may take longer
            else:
                raise jobs.Failure(output)
            with open(path, encoding="utf-8") as file:
                found = [node["name"] for node in json.load(file)["nodes"]]
            if found != list(called):
                raise jobs.Failure(f"the profile has {found}")
        plan = subprocess.run([self.teamster, "plan", path, "--what-if",
                               "n1.speed=2x"], text=True, capture_output=True,
                              check=False)
        if plan.returncode != 0 or "n1: " not in plan.stdout:
            raise jobs.Failure(plan.stdout + plan.stderr)


TESTS = [name for name in vars(Tests)
         if name.endswith(("_mapping", "_identical", "_alone", "_out",
                           "_refused",
                           "_for", "_told", "_decided", "_threads", "_end",
                           "_hostfile", "_known"))]


if __name__ == "__main__":
    sys.exit(jobs.main(Tests, argparse.ArgumentParser(description=__doc__),
                       TESTS))
