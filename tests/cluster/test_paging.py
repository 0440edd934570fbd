#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs whose nodes have less memory than their threads use.

    test_paging.py TEST --build DIR [--app NAME] [--all]

Tests: app (of --app), policies (of --app), random, uneven, crossing,
scattered, litmus, calls, end, numbers, full_disk, bad_disk, too_little, slots, resident, calm, home, travel, loops, kernel. --all: not a
choice of the combinations, but all.
"""
import argparse
import itertools
import os
import re
import signal
import subprocess
import sys
import tempfile

import jobs

sys.path.append(os.path.join(os.path.dirname(__file__), "../../bench"))
import kernel_swap  # noqa: E402

SOURCES = ("userfaultfd", "mprotect")
SHORT = 71

# Arguments, and budgets from ample to what one thread uses, or the least.
APPS = {
    "jacobi": (["--size", 200, "--iterations", 5], ("8M", "512K", "240K")),
    "sor": (["--size", 200, "--iterations", 5], ("8M", "400K", "240K")),
    "matmul": (["--size", 130, "--iterations", 2], ("8M", "500K", "300K")),
    "gauss": (["--size", 150], ("8M", "1M", "600K")),
    "nbody": (["--size", 3000, "--iterations", 1], ("8M", "300K", "200K")),
    "motion": (["--size", 256, "--range", 2, "--iterations", 4],
               ("8M", "600K", "300K")),
    "vq": (["--size", 1024, "--codebook", 16, "--iterations", 5],
           ("8M", "800K", "400K")),
    "layers": (["--size", 160, "--iterations", 5], ("8M", "1M", "700K")),
}
# On four unequal nodes, long enough for policies to move threads. The nodes have so
# many KiB, times the number behind.
POLICY_NODES = ((500, 800), (400, 320), (400, 480), (300, 280))
POLICY_APPS = {
    "jacobi": (["--size", 340, "--iterations", 40], 1),
    "sor": (["--size", 420, "--iterations", 40], 0.9),
    "matmul": (["--size", 130, "--iterations", 40], 0.65),
    "gauss": (["--size", 340, "--steps", 60], 1),
    "nbody": (["--size", 2000, "--iterations", 40], 0.5),
    "motion": (["--size", 256, "--range", 2, "--iterations", 150], 0.9),
    "vq": (["--size", 1024, "--codebook", 16, "--iterations", 30], 0.8),
    "layers": (["--size", 160, "--iterations", 40], 0.9),
}
POLICIES = ("initial", "cpu", "mem", "mem-share", "cpu-mem", "liang03", "cvm",
            "jiajia", "cohesion", "gate", "waterfill", "fpm", "halda", "ccm",
            "peris", "optimal")
N_GROUPS = 3  # of policies: an application is run with one of them, and with "cpu-mem"

# Where the kernel pages: arguments, and bytes of the data.
KERNEL_APPS = {
    "jacobi": (["--size", 1000, "--iterations", 12], 2 * 1002 * 1002 * 8),
    "sor": (["--size", 1400, "--iterations", 8], 1402 * 1402 * 8),
    "gauss": (["--size", 1000], 1000 * 1000 * 8),
}


class Tests:
    def __init__(self, options, folder):
        self.options = options
        self.build = options.build
        self.folder = folder  # of swap files

    def path(self, folder, name):
        return os.path.join(self.build, folder, name)

    def start(self, n_nodes, memory, *command, variables=None):
        """A run with a budget of each node, and a swap folder of its own."""
        return jobs.Job(self.path("cli", "teamster"),
                        ["-n", n_nodes, "--memory", memory, "--verbose",
                         "--swap-dir", self.folder, *command], variables)

    def run(self, n_nodes, memory, *command, variables=None):
        """One that succeeds. @return its output"""
        job = self.start(n_nodes, memory, *command, variables=variables)
        output = job.expect_success(jobs.DEADLINE_S * 2)
        self.expect_empty(job)
        return output

    def run_paged(self, *arguments, **variables):
        """One in which pages went to a swap file. @return its output"""
        output = self.run(*arguments, **variables)
        if self.counted(output, " out") == 0:
            raise jobs.Failure(f"no page went to a swap file\n{output}")
        return output

    def expect_empty(self, job):
        if os.listdir(self.folder):
            job.fail(f"left in the swap folder: {os.listdir(self.folder)}")

    def expect_short(self, job, words):
        """Ends with one line that says that memory is short, of each node at most:
        some may notice at the same time."""
        code, output = job.finish()
        if code != SHORT:
            job.fail(f"exit code {code}, not {SHORT}", output)
        lines = [line for line in output.splitlines() if words in line]
        speakers = {line.partition("]")[0] for line in lines}
        if not lines or len(speakers) != len(lines):
            job.fail(f"{len(lines)} lines say '{words}'", output)
        self.expect_empty(job)

    @staticmethod
    def counted(output, what):
        """A number that nodes print when they end, summed over nodes."""
        return sum(int(number) for number in
                   re.findall(rf"debug: memory: .*{what} (\d+)", output))

    # ---- results are the same

    def variants(self):
        """Number of nodes, protocol, source, and a number to choose by."""
        for i, (source, protocol, n_nodes) in enumerate(itertools.product(
                SOURCES, jobs.PROTOCOLS, (1, 2, 3, 4))):
            # Half of them: each value with each other.
            chosen = (n_nodes + (source == SOURCES[0]) +
                      (protocol == jobs.PROTOCOLS[0])) % 2 == 0
            if self.options.all or chosen:
                yield n_nodes, {"TEAMSTER_PROTOCOL": protocol,
                                "TEAMSTER_FAULT_SOURCE": source}, i

    def app(self):
        name = self.options.app
        arguments, budgets = APPS[name]
        n_outs = 0
        for n_nodes, variables, i in self.variants():
            number = i + i // 4
            variables["TEAMSTER_WORKERS"] = str(1 + number % 2)
            if number // 2 % 2:
                variables["TEAMSTER_SHUFFLE"] = str(1 + i)
            for budget in budgets if self.options.all else (
                    budgets[2 if n_nodes < 3 else number % 3],):
                output = self.run(n_nodes, budget, self.path("apps", name),
                                  *arguments, "--threads", 6, "--verify",
                                  variables=variables)
                if "result: identical" not in output:
                    raise jobs.Failure(f"{name}: not verified\n{output}")
                n_outs += self.counted(output, " out")
        if n_outs == 0:
            raise jobs.Failure(f"{name}: no page went to a swap file")

    def policies(self):
        """Whatever a policy does with threads while pages are out: all of them, each with
        two or three of the applications."""
        name = self.options.app
        first = list(POLICY_APPS).index(name) % N_GROUPS
        arguments, factor = POLICY_APPS[name]
        with tempfile.NamedTemporaryFile("w", suffix=".hosts") as hosts:
            hosts.write("".join(
                f"n{i} workers=1 speed={speed} memory={factor * kib:.0f}K\n"
                for i, (speed, kib) in enumerate(POLICY_NODES)))
            hosts.flush()
            n_moved = sum(self.moved_by(policy, hosts.name, arguments, i)
                          for i, policy in enumerate(POLICIES)
                          if i % N_GROUPS == first or policy == "cpu-mem")
            longer = arguments
            while n_moved == 0 and longer[-1] < 16 * arguments[-1]:
                # On a busy machine times are too uncertain for long.
                longer = [*longer[:-1], 4 * longer[-1]]
                n_moved = self.moved_by("cpu-mem", hosts.name, longer, 0)
        print(f"{name}: {n_moved} threads moved")
        if n_moved == 0:
            raise jobs.Failure(f"{name}: no policy moved a thread")

    def moved_by(self, policy, hosts, arguments, i):
        """@return how many threads moved in a run that is right, and short of memory"""
        name = self.options.app
        job = jobs.Job(self.path("cli", "teamster"), [
            "--emulate", f"--hostfile={hosts}", "--verbose", "--explain",
            "--swap-dir", self.folder, f"--policy={policy}",
            self.path("apps", name), *arguments, "--threads", 12, "--verify"],
            {"TEAMSTER_FIRST_MAPPING": "equal",  # else none is short
             "TEAMSTER_PROTOCOL": jobs.PROTOCOLS[i % 2],
             "TEAMSTER_FAULT_SOURCE": SOURCES[i // 2 % 2]})
        output = job.expect_success(jobs.DEADLINE_S * 4)
        if "result: identical" not in output:
            job.fail(f"{policy}: not verified", output)
        if self.given_up(name, output) == 0:
            job.fail(f"{policy}: memory was not short", output)
        return sum(map(int, re.findall(r", (\d+) threads moved", output)))

    def given_up(self, name, output):
        """Pages that went to swap files. A node of N-Body holds more copies of the
        others' bodies than bodies of its own, and gives those up first."""
        n = self.counted(output, " out")
        if name == "nbody":
            n += self.counted(output, "copies dropped")
        return n

    def random(self):
        """With memory for a ninth of the data (2.2 MB and more) on each node."""
        program = self.path("tests/cluster", "random_program")
        for seed in (3, 10) if self.options.all else (3,):
            sums = set()
            for n_nodes, variables, i in self.variants():
                if i % 3 == 0:
                    variables["TEAMSTER_SHUFFLE"] = str(seed + i)
                variables["TEAMSTER_WORKERS"] = str(1 + i % 2)
                output = self.run_paged(n_nodes, "240K", program, "-s", seed,
                                        "-x", 100, variables=variables)
                sums.add(re.search("checksum: ([0-9a-f]+)", output).group(1))
            if len(sums) != 1:
                raise jobs.Failure(f"seed {seed}: checksums {sums}")

    def uneven(self):
        """Threads that are dealt to other workers and back within a round."""
        program = self.path("tests/cluster", "uneven")
        for seed, (n_workers, n_threads, budget) in enumerate(
                ((2, 9, "160K"), (3, 12, "248K"), (3, 9, "200K"),
                 (4, 16, "288K"))):
            self.run_paged(2, budget, program, n_threads, 16, 300, seed,
                           variables={"TEAMSTER_WORKERS": str(n_workers),
                                      "TEAMSTER_FAULT_SOURCE":
                                          SOURCES[seed % 2]})

    def crossing(self):
        """Instructions that need up to four pages, with few more than that."""
        program = self.path("tests/cluster", "crossing")
        for seed, (n_nodes, source, protocol, budget) in enumerate(
                itertools.product((1, 2), SOURCES, jobs.PROTOCOLS,
                                  ("136K", "152K", "200K"))):
            chosen = seed % 2 == seed // 6 % 2
            if self.options.all or chosen:
                self.run_paged(n_nodes, budget, program, 6, 20, 40, seed,
                               variables={"TEAMSTER_WORKERS": "2",
                                          "TEAMSTER_SHUFFLE": str(1 + seed),
                                          "TEAMSTER_PROTOCOL": protocol,
                                          "TEAMSTER_FAULT_SOURCE": source})

    def scattered(self):
        """Who has far too little memory for what he writes anywhere is told so, once
        by each node, and nobody else is."""
        program = self.path("tests/cluster", "radix")
        said = "KiB for shared data, far too little"
        for budget, is_told in (("132K", True), ("8M", False)):
            output = self.run(3, budget, program, 3, 30720,
                              variables={"TEAMSTER_WORKERS": "1",
                                         "TEAMSTER_POLICY": "none"})
            if not is_told <= output.count(said) <= 3 * is_told:
                raise jobs.Failure(f"{budget}: said {output.count(said)} times"
                                   f"\n{output}")
        output = self.run_paged(1, "240K", self.path("apps", "jacobi"), "--size",
                                200, "--iterations", 20, "--threads", 6,
                                variables={"TEAMSTER_WORKERS": "1"})
        if said in output:
            raise jobs.Failure(f"an order of use that repeats\n{output}")

    def litmus(self):
        modes = ("seq-cst", "mutex", "barrier", "one-mutex", "relaxed", "atomic",
                 "semaphore", "condition", "iteration")
        for i, mode in enumerate(modes if self.options.all
                                 else modes[:3]):
            self.run(2 + i % 2, "160K", self.path("tests/cluster", "litmus"),
                     "-m", mode, "-s", 1 + i, "-r", 1,
                     variables={"TEAMSTER_WORKERS": "1",
                                "TEAMSTER_PROTOCOL": jobs.PROTOCOLS[i // 2 % len(jobs.PROTOCOLS)],
                                "TEAMSTER_FAULT_SOURCE": SOURCES[i % 2]})

    def calls(self):
        """The C library's on buffers that are larger than the budget."""
        names = ("file", "vector", "vector_at", "at", "stream", "stream_pipe",
                 "stream_unlocked")
        for source, name in itertools.product(SOURCES, names):
            self.run_paged(2, "512K", self.path("tests/cluster", "calls"), name,
                           1024 * 1024 + 17,
                           variables={"TEAMSTER_FAULT_SOURCE": source})

    # ---- the end

    def long_run(self, memory, *words, variables=None):
        return self.start(1, memory, *words, self.path("apps", "jacobi"),
                          "--size", 300, "--iterations", 6, "--verify",
                          variables=variables)

    @staticmethod
    def check_tables(output):
        """--stats: each page that came in came for a thread, or several."""
        nodes = {int(node): int(ins) for node, ins in re.findall(
            r"^\[0\] +(\d)(?: +[\d.]+){3} +(\d+) +\d+ +\d+ +[\d.]+ +[\d.]+$",
            output, re.M)}
        threads = {}
        for node, ins in re.findall(
                r"^\[0\] +\d+ +(\d) +(\d+) +[\d.]+ +[\d.]+$", output,
                re.M):
            threads[int(node)] = threads.get(int(node), 0) + int(ins)
        if not nodes or sum(nodes.values()) == 0:
            raise jobs.Failure(f"--stats says nothing of nodes\n{output}")
        for node, n_ins in nodes.items():
            if n_ins > 100 and not n_ins / 2 < threads.get(node, 0) < n_ins * 2:
                raise jobs.Failure(f"node {node}: {n_ins} pages in, of its "
                                   f"threads {threads}\n{output}")

    def end(self):
        """exit() and what is written at the end, with pages out."""
        for n_nodes, source in itertools.product((1, 2), SOURCES):
            variables = {"TEAMSTER_FAULT_SOURCE": source}
            with tempfile.TemporaryDirectory() as folder:
                sets = os.path.join(folder, "sets")
                output = self.run(
                    n_nodes, "300K", "--track", f"3:{sets}", "--save-profile",
                    os.path.join(folder, "profile"), "--stats",
                    self.path("apps", "jacobi"), "--size", 200, "--verify",
                    "--iterations", 8, variables=variables)
                if not os.path.getsize(sets):
                    raise jobs.Failure(f"nothing was tracked\n{output}")
                self.check_tables(output)
        job = self.start(2, "200K", "--deadlock-after", 1,
                         self.path("tests/cluster", "waits"), "crossed")
        code, output = job.finish()
        if code != 124:
            job.fail(f"a deadlock ends with {code}", output)

    def numbers(self):
        """Numbers of threads in --stats are those that messages name them by: long ones
        where they have stacks that others have had before. Columns fit."""
        for seed in range(3, 20):
            output = self.run(2, "200K", "--stats",
                              self.path("tests/cluster", "random_program"),
                              "-s", seed, variables={"TEAMSTER_WORKERS": "1"})
            table = re.search(r"^\[0\] +thread node .*\n((?:\[0\] +\d.*\n)+)",
                              output, re.M)
            if table is None:
                raise jobs.Failure(f"there is no table of threads\n{output}")
            if len({len(line) for line in table[0].splitlines()}) != 1:
                raise jobs.Failure(f"columns do not fit\n{table[0]}")
            if re.search(r"\d{10} +\d ", table[1]):
                return
        raise jobs.Failure(f"no number is long\n{output}")

    def full_disk(self):
        for n_nodes in (1, 2, 3):
            self.expect_short(
                self.start(n_nodes, "240K", "--swap-max", "128K",
                           self.path("apps", "jacobi"), "--size", 400,
                           "--iterations", 3), "its swap file is full")
        # What does not fit into memory fits into the file, just about.
        self.run(1, "1M", "--swap-max", "1M", self.path("apps", "jacobi"),
                 "--size", 300, "--iterations", 3, "--verify")

    def bad_disk(self):
        library = self.path("tests/cluster", "libbad_disk.so")
        for variable, words in (("OUT=1", "its swap file has failed"),
                                ("OUT=9", "its swap file has failed"),
                                ("IN=1", "cannot be read back"),
                                ("IN=20", "cannot be read back"),
                                ("TEAR=1", "cannot be read back"),
                                ("TEAR=5", "cannot be read back")):
            self.expect_short(self.long_run(
                "240K", "env", f"BAD_DISK_{variable}",
                f"LD_PRELOAD={library}"), words)

    def too_little(self):
        job = self.long_run("64K")
        code, output = job.finish()
        match = re.search(r"may use 64 KiB for shared data and needs (\d+) KiB",
                          output)
        if code != jobs.CONFIGURATION or match is None:
            job.fail(f"64K is not refused: exit code {code}", output)
        self.run(1, f"{match.group(1)}K", self.path("apps", "jacobi"),
                 "--size", 100, "--iterations", 3, "--verify")

    # ---- what is used

    def slots(self):
        """1000 iterations do not need more of the swap file than 100."""
        used = []
        for n_iterations in (100, 1000):
            output = self.run(1, "180K", "--swap-max", "320K",
                              self.path("apps", "jacobi"), "--size", 120,
                              "--iterations", n_iterations, "--verify")
            used.append(self.counted(output, "out"))
        if used[1] < 5 * used[0]:
            raise jobs.Failure(f"pages that went out: {used}")

    @staticmethod
    def memory_of(pid):
        """KiB: of the space's file, and of what the process has of it."""
        file_kib = 0
        for name in os.listdir(f"/proc/{pid}/fd"):
            path = f"/proc/{pid}/fd/{name}"
            if "memfd:teamster" in os.readlink(path):
                file_kib = max(file_kib, os.stat(path).st_blocks // 2)
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            status = file.read()
        return file_kib, int(re.search(r"RssShmem:\s+(\d+)", status).group(1))

    def calm(self):
        """When nothing is to be done, nothing is done."""
        for protocol in jobs.PROTOCOLS:
            self.run_paged(2, "700K", self.path("tests/cluster", "calm"),
                           variables={"TEAMSTER_PROTOCOL": protocol})

    def home(self):
        """A node short of memory does not keep pages that it does not use. (With
        `lazy-release` and `homeless` it does: a page that there have been copies of
        stays, Z7.)"""
        protocols = [name for name in jobs.PROTOCOLS
                     if name not in ("lazy-release", "homeless")]
        for protocol, source in itertools.product(protocols, SOURCES):
            output = self.run_paged(
                2, "1M", self.path("tests/cluster", "home"),
                variables={"TEAMSTER_PROTOCOL": protocol,
                           "TEAMSTER_FAULT_SOURCE": source})
            n_updates = int(re.search(r"updates: (\d+)", output)[1])
            # 64 pages, 10 rounds; a page may have stayed by chance.
            if n_updates > 60:
                raise jobs.Failure(f"{protocol}: {n_updates} updates\n{output}")

    def run_travel(self, budgets, threads):
        """With each protocol, at once: they wait for slow disks.
        @return [protocol, the job, its output]"""
        with tempfile.NamedTemporaryFile("w", suffix=".hosts") as hosts:
            hosts.write("".join(f"n{i} memory={kib}K workers=1\n"
                                for i, kib in enumerate(budgets)))
            hosts.flush()
            runs = [(protocol, jobs.Job(
                self.path("cli", "teamster"),
                ["--hostfile", hosts.name, "--emulate", "--verbose",
                 "--swap-dir", self.folder, "--swap-rate", "40M", "--policy",
                 "mem-share", self.path("tests/cluster", "travel"), *threads, 18],
                {"TEAMSTER_PROTOCOL": protocol})) for protocol in jobs.PROTOCOLS]
            return [(protocol, job, job.expect_success())
                    for protocol, job in runs]

    def travel(self):
        """Threads move, with their pages, into a node that is full, or from one that has
        these in its swap file: neither takes more memory than it may, and 64 pages."""
        budgets_of = {  # KiB of two nodes: threads and pages of each
            (6656, 6144): (12, 128, 2, 1024), (2048, 4096): (8, 256, 4, 256)}
        for budgets, protocol, job, output in [
                (budgets, *run) for budgets, threads in budgets_of.items()
                for run in self.run_travel(budgets, threads)]:
            n_come = int(re.search(r"node 1: threads come: (\d+)", output)[1])
            most = {int(node): int(pages) for node, pages in re.findall(
                r"n(\d): debug: memory: .* most (\d+);", output)}
            print(f"{protocol}: {n_come} threads came, most pages {most}, budgets "
                  f"{[kib // 4 for kib in budgets]}")
            if n_come < 4:
                job.fail("threads have stayed", output)
            if not most or any(pages > budgets[node] // 4 + 64
                               for node, pages in most.items()):
                job.fail("too many pages", output)
            self.expect_empty(job)

    def enter_loops(self, how, n_entries, policy, budgets=("32M", "4M", "32M"),
                    n_rows=2048, variables=None):
        """@return pages that came in, and messages, in the last entries; the output"""
        with tempfile.NamedTemporaryFile("w", suffix=".hosts") as hosts:
            hosts.write("".join(f"n{i} speed=100 memory={budget}\n"
                                for i, budget in enumerate(budgets)))
            hosts.flush()
            job = jobs.Job(
                self.path("cli", "teamster"),
                ["--hostfile", hosts.name, "--emulate", "--explain",
                 "--swap-dir", self.folder, "--swap-rate", "20M", "--policy",
                 policy, self.path("tests/cluster", "shelves"), how, n_entries,
                 n_rows, 500], variables or {})
            output = job.expect_success(jobs.DEADLINE_S * 4)
        costs = re.search(r"the last 8: (\d+) pages in, (\d+) messages", output)
        print(f"{how}, {policy}: {costs[0]}")
        return int(costs[1]), int(costs[2]), output

    def loops(self):
        """A node that is short of memory gives pieces of its loops away, and they stay
        away: hardly a page comes in any more. Of two loops over the same rows, too. Pieces
        that others take while it waits for the disk stay away, too, after some entries: so
        what comes in without a policy is that of the first ones."""
        for how, i in (("one", 0), ("two", 1)):
            n_before, _, output = self.enter_loops(how, 9, "none")
            if n_before < 200 or "loop " in output:
                raise jobs.Failure(f"{how}: not as it should be\n{output}")
            for n_entries in (50, 100, 200, 200):  # on a busy machine times
                # are too uncertain for long
                n_now, _, output = self.enter_loops(
                    how, n_entries, "cpu-mem", variables={
                        "TEAMSTER_FAULT_SOURCE": SOURCES[i]})
                if n_now < 50 and re.search(
                        r"loop .*: iteration \d+: \d+ threads move", output):
                    break
            else:
                raise jobs.Failure(f"{how}: {n_before}, then {n_now} pages came in\n{output}")

    def loops_with_ranges(self):
        """Results are right whatever the range, and by whichever policy, with all memory
        short; where nobody is short, an entry costs as many messages as without a
        policy."""
        for i, (how, policy) in enumerate((
                ("shrinking", "cpu-mem"), ("ranges", "cpu-mem"),
                ("one", "mem"), ("two", "optimal"), ("one", "mem-share"))):
            self.enter_loops(how, 20, policy, ("1M",) * 3, 256, {
                "TEAMSTER_WORKERS": str(1 + i % 2),
                "TEAMSTER_FAULT_SOURCE": SOURCES[i % 2]})
        for _ in range(6):  # a node that is late has others come for its share
            n_without, n_with = [
                self.enter_loops("idle", 24, policy, ("32M",) * 3, 256)[1]
                for policy in ("none", "cpu-mem")]
            if n_with <= n_without + 16:
                return
        raise jobs.Failure(f"messages: {n_without}, then {n_with}")

    def resident(self):
        """What the kernel sees stays within the budget, and 64 pages.

        The file's blocks count each page once. RssShmem counts each mapping of a
        page, and a page may be mapped in both views.
        """
        budget_kib = 4096
        for source in SOURCES:
            job = self.start(
                1, f"{budget_kib}K", self.path("apps", "jacobi"), "--size", 600,
                "--iterations", 60, variables={"TEAMSTER_FAULT_SOURCE": source})
            most = [0, 0]
            while job.process.poll() is None:
                try:
                    seen = self.memory_of(job.node(0) or job.process.pid)
                except (OSError, AttributeError):
                    continue
                most = [max(pair) for pair in zip(most, seen)]
                try:
                    job.process.wait(0.02)
                except subprocess.TimeoutExpired:
                    pass
            job.expect_success()
            print(f"{source}: file {most[0]} KiB, mapped {most[1]} KiB, "
                  f"budget {budget_kib} KiB")
            if not budget_kib // 2 < most[0] <= budget_kib + 256:
                job.fail(f"the file had {most[0]} KiB")
            if most[1] > 2 * (budget_kib + 256):
                job.fail(f"{most[1]} KiB were mapped")

    # ---- when the kernel pages

    def in_group(self, swap, source, app, n_workers, *more):
        """@return code and output; the program is in the group, the launcher not"""
        job = jobs.Job(self.path("cli", "teamster"), [
            "-n", 1, "-w", n_workers, "--memory-by", "kernel", "--verbose",
            *swap.command([self.path("apps", app), *KERNEL_APPS[app][0],
                           "--threads", 6, *more])],
            {"TEAMSTER_FAULT_SOURCE": source})
        return job.finish(jobs.DEADLINE_S * 2)

    def with_much(self, swap, app):
        code, output = self.in_group(swap, SOURCES[0], app, 1)
        if code != 0:
            raise jobs.Failure(f"{app}: {code}\n{output}")

    def with_little(self, swap, source, app, n_workers):
        """@return pages that came in; None if the kernel ends it again and again"""
        for _ in range(kernel_swap.TRIES):
            code, output = self.in_group(swap, source, app, n_workers,
                                         "--verify")
            if kernel_swap.is_killed(output):
                continue
            if code != 0 or "result: identical" not in output:
                raise jobs.Failure(f"{app}, {source}: {code}\n{output}")
            return int(re.search(r"by the kernel, (\d+) pages in",
                                 output).group(1))
        return None

    def kernel(self):
        """Results are the same in a control group that is too small."""
        try:
            swap = kernel_swap.KernelSwap(self.folder)
        except kernel_swap.NotHere as reason:
            raise jobs.Skip(str(reason)) from reason
        n_all = 0
        try:
            for i, (app, (_, size)) in enumerate(KERNEL_APPS.items()):
                most = swap.most_of(lambda a=app: self.with_much(swap, a))
                swap.set_limit(most - size // 8)
                for source in SOURCES:
                    n_ins = self.with_little(swap, source, app, 1 + i % 2)
                    print(f"{app}, {source}: {n_ins} pages came in")
                    n_all += n_ins or 0
            if n_all == 0:
                raise jobs.Skip("the kernel ends all programs that it should "
                                "page for, or pages nothing")
        finally:
            swap.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--app", choices=APPS, default="jacobi")
    parser.add_argument("--all", action="store_true")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # with all `finally`
    return jobs.main(Tests, parser)


if __name__ == "__main__":
    sys.exit(main())
