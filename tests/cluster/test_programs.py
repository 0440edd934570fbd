#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The test programs of this folder in real processes, over numbers of nodes,
protocols, fault sources and workers; and what happens when nodes are killed.

    test_programs.py TEST --build DIR [--mode M] [--protocol P] [--source S]
                     [--seeds FIRST,...] [--runs N] [--nodes N]

Tests: litmus, litmus_of_many, random, random_of_many, meeting, ways, random_bound, filled, race_free, race_found, migrate, posix, settled, cells, grain,
bound, bound_messages, flags, tasks, tasks_short_of_memory, tasks_race,
tasks_send_nothing, tasks_mistakes, vast, pace, kill_node, kill_starting, unlike_transports, kill_launcher, signals, start_fails. soak.py runs them with ever
new seeds.
"""
import argparse
import itertools
import os
import random
import re
import signal
import sys
import time

import jobs

SOURCES = ("userfaultfd", "mprotect")
MANY_NODES = 20
WAYS = 10  # connections of a node that talks to few, with slack
NODE_MIB = 16  # of memory, with slack
MODES = ("relaxed", "seq-cst", "mutex", "one-mutex", "atomic", "semaphore",
         "condition", "barrier", "iteration", "bound")
POSIX_TESTS = ("times", "races", "kinds", "ends", "main_exits",
               "main_exits_as_posix", "long_waits",
               "book", "first", "places", "own",
               "blocks", "naps", "streams")
POSIX_WORDS = {"main_exits": "the last word",
               "main_exits_as_posix": "the last word"}
LOSS_S = 10 * jobs.SLOWDOWN  # until the loss of a node has ended a run
# So long only where many others compute on the same processors.
TEST_S = 600 * jobs.SLOWDOWN  # until ctest ends a test
RUN_S = 240 * jobs.SLOWDOWN
TASKS = ("fib", "queens", "sort", "matmul", "tree", "nested", "threads", "locks",
         "room", "owners", "few_parts")
TASKS_MISTAKES = {
    "barrier": "calls tm_barrier_wait\\(\\) in a task",
    "thread_exit": "calls tm_thread_exit\\(\\) in a task",
    "no_wait": "ended without tm_wait\\(\\) for a group",
    "thread_ends": "has ended without tm_wait\\(\\) for a group",
}
LAST_S = 20 * jobs.SLOWDOWN  # of TEST_S, to say which run has not ended


class Tests:
    def __init__(self, options):
        self.options = options
        self.build = os.path.abspath(options.build)
        self.end_s = time.monotonic() + TEST_S - LAST_S
        self.teamster = self.path("cli", "teamster")

    def path(self, folder, name):
        path = os.path.join(self.build, folder, name)
        if not os.access(path, os.X_OK):
            raise jobs.Failure(f"{path} is not built")
        return path

    def program(self, name):
        return self.path("tests/cluster", name)

    def start(self, n_nodes, *command, variables=None):
        return jobs.Job(self.teamster, ["-n", n_nodes, *command], variables)

    # ---- programs that check themselves

    def succeed(self, n_nodes, *command, variables):
        """One run; if the test's time is over, it is this one that fails."""
        left_s = self.end_s - time.monotonic()
        deadline_s = min(RUN_S, max(left_s, 1))
        job = self.start(n_nodes, *command, variables=variables)
        return job.expect_success(deadline_s)

    def litmus_once(self, seed, mode, n_nodes, n_runs, variables):
        if mode == "relaxed":
            # Two threads on two processors of one node see the processor's
            # own memory model.
            variables = dict(variables, TEAMSTER_WORKERS="1")
        self.succeed(n_nodes, self.program("litmus"), "-m", mode, "-s", seed,
                     "-p", 1 + seed // 2 % 2, "-r", n_runs,
                     *(["-c"] if self.options.scoped else []),
                     variables=variables)

    def litmus(self, seed):
        mode = self.options.mode
        for n_nodes in (2, 3, 4):
            for i in range(2):
                self.litmus_once(seed + i * 2, mode, n_nodes, self.options.runs,
                                 self.variables(seed + n_nodes + i))

    def litmus_of_many(self, seed):
        """More nodes than meet at a barrier without some that lead others."""
        self.succeed(MANY_NODES, self.program("litmus"), "-m", self.options.mode,
                     "-s", seed, "-r", self.options.runs, "-o", MANY_NODES,
                     *(["-c"] if self.options.scoped else []),
                     variables=self.variables(seed))

    def meeting(self, _seed):
        """At a barrier of many nodes none has to tell all the others."""
        self.succeed(MANY_NODES, self.program("meeting"), MANY_NODES // 2,
                     variables={"TEAMSTER_WORKERS": "1"})

    def ways(self, _seed):
        """A node is connected with those that it talks to, and not with all."""
        n_nodes = self.options.nodes
        available = re.search(rb"MemAvailable: *(\d+)", jobs.read_bytes("/proc/meminfo"))
        if int(available[1]) < n_nodes * NODE_MIB * jobs.SLOWDOWN * 1024:
            raise jobs.Skip(f"{n_nodes} nodes take more memory than there is")
        self.succeed(n_nodes, self.program("ways"), WAYS,
                     variables={"TEAMSTER_WORKERS": "1"})

    def random_of_many(self, seed):
        """Sums of doubles have the same bits, however many nodes there are."""
        sums = {n_nodes: self.random_once(seed, n_nodes, self.variables(seed),
                                          "-t", MANY_NODES + seed)
                for n_nodes in (1, 16, MANY_NODES)}
        if len(set(sums.values())) != 1:
            raise jobs.Failure(f"seed {seed}: checksums by nodes: {sums}")

    def random_once(self, seed, n_nodes, variables, *options):
        output = self.succeed(n_nodes, self.program("random_program"), "-s",
                              seed, *options, variables=variables)
        return re.search("checksum: ([0-9a-f]+)", output).group(1)

    def random(self, seed):
        sums = {}
        for n_nodes in (1, 2, 3, 4):
            variables = self.variables(seed + n_nodes)
            if seed % 3 == 0:
                variables["TEAMSTER_SHUFFLE"] = str(seed)
            sums[n_nodes] = self.random_once(seed, n_nodes, variables)
        if len(set(sums.values())) != 1:
            raise jobs.Failure(f"seed {seed}: checksums by nodes: {sums}")

    def random_bound(self, seed):
        """What mutexes guard is bound to them: the checksum is the same."""
        sums = {self.random_once(seed, n_nodes, self.variables(seed + n_nodes),
                                 *options)
                for n_nodes in (1, 2, 3, 5) for options in ((), ("-b",))}
        if len(sums) != 1:
            raise jobs.Failure(f"seed {seed}: checksums: {sums}")

    def filled(self, _seed):
        """What main() has written is on all nodes, whoever asks for it first."""
        for n_nodes in (3, 4, 5):
            self.succeed(n_nodes, self.program("filled"),
                         variables=self.variables(n_nodes))

    def race_free(self, seed):
        """--race-check says nothing of a program without races."""
        for n_nodes in (2, 3):
            variables = dict(self.variables(seed + n_nodes),
                             TEAMSTER_PROTOCOL="eager-release",
                             TEAMSTER_RACE_CHECK="1", TEAMSTER_STRICT="1",
                             TEAMSTER_SHUFFLE=str(seed % 3))
            output = self.succeed(n_nodes, self.program("random_program"),
                                  "-s", seed, variables=variables)
            if "race check: no data race between nodes" not in output:
                raise jobs.Failure(f"seed {seed}: {output}")

    def race_found(self, seed):
        """The same program, made racy."""
        for n_nodes in (2, 3):
            variables = dict(self.variables(seed + n_nodes),
                             TEAMSTER_PROTOCOL="eager-release",
                             TEAMSTER_RACE_CHECK="1")
            output = self.succeed(n_nodes, self.program("random_program"),
                                  "-r", "-t", 2 * n_nodes, "-s", seed,
                                  variables=variables)
            races = re.findall(r"data race: .*", output)
            if len(races) != 1 or "variable 'contested'" not in races[0]:
                raise jobs.Failure(f"seed {seed}: {output}")

    def migrate(self, seed):
        for n_nodes in (1, 2, 3, 4):
            variables = self.variables(seed + n_nodes)
            self.succeed(n_nodes, self.program("migrate"), "-s", seed,
                         variables=variables)
            variables["TEAMSTER_SHUFFLE"] = str(seed)
            self.succeed(n_nodes, self.program("migrate"), "-n", "-s", seed,
                         variables=variables)

    def posix(self, seed):
        """What ports of POSIX programs call; some with races looked for."""
        for i, test in enumerate(POSIX_TESTS):
            for n_nodes in (1, 2, 3):
                variables = self.variables(seed + i + n_nodes)
                variables["TEAMSTER_DEADLOCK_AFTER"] = "1"
                if (i + n_nodes) % 2 == 0:
                    variables["TEAMSTER_SHUFFLE"] = str(seed)
                if (i + n_nodes) % 3 == 0:
                    variables.update(TEAMSTER_PROTOCOL="eager-release",
                                     TEAMSTER_RACE_CHECK="1",
                                     TEAMSTER_STRICT="1")
                output = self.succeed(n_nodes, self.program("posix"), test,
                                      variables=variables)
                if POSIX_WORDS.get(test, f"{test}: good") not in output:
                    raise jobs.Failure(f"{test}, {n_nodes} nodes: {output}")

    def settled(self, _seed):
        """Pages are soon with those that use them, whoever wrote them first.
        (With `implicit` a page stays with its first writer.)"""
        for protocol, source in itertools.product(jobs.PROTOCOLS[:2], SOURCES):
            for n_nodes in (2, 3, 4):
                output = self.succeed(
                    n_nodes, self.program("settled"),
                    variables={"TEAMSTER_PROTOCOL": protocol,
                               "TEAMSTER_FAULT_SOURCE": source})
                lines = re.findall(r"node (\d): (\d+) fetched, (\d+) updates, "
                                   r"(\d) edges, (\d+) iterations", output)
                if len(lines) != n_nodes:
                    raise jobs.Failure(f"not a line for each node\n{output}")
                for line in lines:
                    self.expect_settled(protocol, *map(int, line))

    def expect_settled(self, protocol, node, n_fetched, n_updates, n_edges,
                       n_iterations):
        """With `sequential` a page goes to its reader and comes back."""
        most_fetched, most_updates = 0, n_edges * n_iterations
        if protocol == "sequential":
            most_fetched, most_updates = 2 * n_edges * n_iterations, 0
        if n_fetched > most_fetched or n_updates > most_updates:
            raise jobs.Failure(
                f"{protocol}, node {node}: {n_fetched} pages fetched, at most "
                f"{most_fetched}; {n_updates} updates, at most {most_updates}")

    def cells(self, _seed):
        """Small blocks cost next to no messages."""
        for protocol, n_nodes in itertools.product(jobs.PROTOCOLS, (2, 4)):
            self.succeed(n_nodes, self.program("cells"),
                         variables={"TEAMSTER_PROTOCOL": protocol})

    def grain(self, _seed):
        """Blocks that lie in one page are not taken from each other; and are right, with
        little memory too."""
        output = self.succeed(2, self.program("grain"), "mistakes", variables={})
        lines = re.findall(r"tm_alloc\(\) at .*grain\.c:\d+: .*attr\.", output)
        if len(lines) != 9:
            raise jobs.Failure(f"not 9 lines: {output}")
        for n_nodes, source in zip((2, 4), SOURCES):
            self.succeed(n_nodes, self.program("grain"), "counters",
                         variables={"TEAMSTER_FAULT_SOURCE": source})
        self.succeed(2, self.program("grain"), "blocks", "pressed",
                     variables={"TEAMSTER_FAULT_SOURCE": SOURCES[0],
                                "TEAMSTER_MEMORY": "500K"})
        self.succeed(4, self.program("grain"), "blocks",
                     variables={"TEAMSTER_FAULT_SOURCE": SOURCES[1],
                                "TEAMSTER_WORKERS": "2"})

    def flags(self, _seed):
        """Atomic operations order what is written before and read behind them."""
        for protocol in jobs.PROTOCOLS:
            self.succeed(3, self.program("flags"),
                         variables={"TEAMSTER_PROTOCOL": protocol})

    def bound(self, seed):
        """Data that are bound to mutexes: right to the bit, also with little memory and
        more nodes than processors."""
        for i, n_nodes in enumerate((1, 2, 3, 8)):
            variables = self.variables(seed + i)
            self.succeed(n_nodes, self.program("bound"), "mixed", seed, 300,
                         variables=variables)
        self.succeed(3, self.program("bound"), "mixed", seed, 300,
                     variables=dict(self.variables(seed),
                                    TEAMSTER_MEMORY="192K"))
        for n_nodes, memory in ((3, "auto"), (4, "auto"), (2, "512K")):
            self.succeed(n_nodes, self.program("bound"), "large", seed, 20,
                         variables=dict(self.variables(seed),
                                        TEAMSTER_MEMORY=memory))

    def bound_messages(self, _seed):
        """What is bound travels with its mutex: few messages, no more bytes."""
        for source in SOURCES:
            for n_nodes in (2, 4, 8):
                self.succeed(n_nodes, self.program("bound"), "migratory", 1,
                             200, variables={"TEAMSTER_FAULT_SOURCE": source})

    def vast(self, _seed):
        """More shared memory than there is memory."""
        runs = [("64G", 60, *which)
                for which in itertools.product(jobs.PROTOCOLS, SOURCES)]
        # The largest space that there may be.
        runs += [("1T", 300, *which) for which in zip(jobs.PROTOCOLS, SOURCES)]
        for space, size, protocol, source in runs:
            self.succeed(3, self.program("vast"), size,
                         variables={"TEAMSTER_PROTOCOL": protocol,
                                    "TEAMSTER_FAULT_SOURCE": source,
                                    "TEAMSTER_SPACE": space})

    def pace(self, _seed):
        """A service thread has no real-time priority for ever."""
        if len(os.sched_getaffinity(0)) > 4:
            raise jobs.Skip("with so many processors it has all it can use")
        job = self.start(8, self.program("pace"))
        code, output = job.finish(RUN_S)
        if code == 77:
            raise jobs.Skip(output)
        if code != 0:
            job.fail(f"exit code {code}", output)

    def tasks(self, _seed):
        """Tasks and loops get what a sequential program gets, on any nodes."""
        for i, (what, n_nodes) in enumerate(itertools.product(TASKS, (1, 2, 3, 4))):
            variables = self.variables(i + n_nodes)
            if i % 3 == 0:
                variables["TEAMSTER_SHUFFLE"] = str(i + 1)
            self.succeed(n_nodes, self.program("tasks"), what, variables=variables)

    def tasks_short_of_memory(self, seed):
        """The same with little memory."""
        for i, what in enumerate(TASKS):
            variables = dict(self.variables(seed + i), TEAMSTER_MEMORY="400K")
            self.succeed(2 + i % 2, self.program("tasks"), what, variables=variables)

    def tasks_race(self, _seed):
        """Tasks are ordered by spawning and waiting, and by nothing else."""
        variables = {"TEAMSTER_PROTOCOL": "eager-release", "TEAMSTER_RACE_CHECK": "1",
                     "TEAMSTER_WORKERS": "1"}
        for what in TASKS:
            output = self.succeed(3, self.program("tasks"), what,
                                  variables=dict(variables, TEAMSTER_STRICT="1"))
            if "race check: no data race between nodes" not in output:
                raise jobs.Failure(f"{what}: {output}")
        output = self.succeed(3, self.program("tasks"), "race", variables=variables)
        if not re.search(r"data race: .*a task of .*variable 'contested'", output):
            raise jobs.Failure(output)

    def tasks_send_nothing(self, _seed):
        """Tasks of a node cost no messages."""
        for n_nodes in (2, 3):
            self.succeed(n_nodes, self.program("tasks"), "local",
                         variables={"TEAMSTER_WORKERS": "2"})

    def tasks_fetch(self, _seed):
        """Of tasks that wait for pages a worker begins few."""
        for n_nodes in (2, 3):
            self.succeed(n_nodes, self.program("tasks"), "fetches",
                         variables={"TEAMSTER_WORKERS": "1"})

    def tasks_mistakes(self, _seed):
        """What a task must not do is told, and so is one that never ends."""
        self.succeed(2, self.program("tasks"), "arguments", variables={})
        for what, told in TASKS_MISTAKES.items():
            job = self.start(2, self.program("tasks"), what)
            output = self.expect_end(job, 70, what)
            if len(re.findall(f"error of the program: .*{told}", output)) != 1:
                raise jobs.Failure(f"{what}: {output}")
        for n_workers in (1, 2):
            job = self.start(2, self.program("tasks"), "never",
                             variables={"TEAMSTER_DEADLOCK_AFTER": "1",
                                        "TEAMSTER_WORKERS": str(n_workers)})
            output = self.expect_end(job, 124, "never")
            if "waits for semaphore" not in output or "runner" in output:
                raise jobs.Failure(output)
        for _ in range(4):
            self.expect_end(self.start(3, self.program("tasks"), "exit"), 3, "exit")

    def variables(self, number):
        """Protocol and source as asked for, or as the number says."""
        return {
            "TEAMSTER_PROTOCOL":
                self.options.protocol or jobs.PROTOCOLS[number // 2 % len(jobs.PROTOCOLS)],
            "TEAMSTER_FAULT_SOURCE":
                self.options.source or SOURCES[number // 4 % 2],
            "TEAMSTER_WORKERS": str(1 + number % 2),
        }

    # ---- violence

    def long_run(self, n_nodes):
        return self.start(n_nodes, self.path("apps", "jacobi"), "--size", 300,
                          "--iterations", 1000000)

    def wait_for_nodes(self, job, n_nodes):
        """All nodes have been started. @return their processes"""
        nodes = []

        def all_there():
            nodes[:] = [job.node(i) for i in range(n_nodes)]
            return None not in nodes
        if not jobs.wait_until(all_there, jobs.DEADLINE_S):
            job.fail("the nodes do not start", job.kill_all())
        return nodes

    def expect_end(self, job, code, what):
        """@return the output"""
        began_s = time.monotonic()
        is_code, output = job.finish()
        if is_code != code:
            job.fail(f"{what}: exit code {is_code}, not {code}", output)
        if time.monotonic() - began_s > LOSS_S:
            job.fail(f"{what}: the end took more than {LOSS_S} s", output)
        return output

    def kill_node(self, seed):
        dice = random.Random(seed)
        n_nodes = dice.randint(2, 4)
        victim = dice.randrange(n_nodes)
        job = self.long_run(n_nodes)
        nodes = self.wait_for_nodes(job, n_nodes)
        delay_s = dice.random() * dice.choice((0.05, 1.0))
        time.sleep(delay_s)
        os.kill(nodes[victim], signal.SIGKILL)
        self.expect_end(job, 75, f"seed {seed}: node {victim} of {n_nodes} "
                        f"killed after {delay_s:.3f} s")

    def start_and_kill(self, dice, what):
        """Kill a node at a random moment of the start, or soon after. Nothing
        but the line that names it is said."""
        n_nodes = dice.randint(2, 4)
        victim = dice.randrange(n_nodes)
        job = self.long_run(n_nodes)
        delay_s = dice.random() * dice.choice((0.03, 0.03, 0.06, 0.3))
        time.sleep(delay_s)
        if not jobs.wait_until(lambda: job.node(victim), jobs.DEADLINE_S):
            job.fail(f"{what}: no node {victim}", job.kill_all())
        pid = job.node(victim)
        os.kill(pid, signal.SIGKILL)
        what += f": node {victim} of {n_nodes} killed after {delay_s:.4f} s"
        output = self.expect_end(job, 75, what)
        if not re.fullmatch(rf"teamster run: node {victim} \(pid {pid}\) died: "
                            r"killed by SIGKILL after \d+\.\d s"
                            r"(, iteration \d+)?(\. \d+ of \d+ threads? lost\.)?"
                            r"\n", output):
            job.fail(f"{what}: the output is not the one line", output)

    def kill_starting(self, seed):
        dice = random.Random(seed)
        for i in range(self.options.runs):
            self.start_and_kill(dice, f"seed {seed}, run {i}")

    def unlike_transports(self, _seed):
        """Nodes that cannot reach each other, and live, are told why."""
        script = ("test $TEAMSTER_NODE = 1 && export UCX_TLS=tcp "
                  "UCX_MODULES=none UCX_NET_DEVICES=lo; exec $0")
        job = self.start(3, "sh", "-c", script, self.path("apps", "hello"))
        output = self.expect_end(job, 78, "nodes of unlike UCX_TLS")
        if not re.search(r"cannot connect to node \d: .*UCX_TLS", output):
            job.fail("the output does not name UCX_TLS", output)

    def kill_launcher(self, seed):
        dice = random.Random(seed)
        n_nodes = dice.randint(1, 4)
        job = self.long_run(n_nodes)
        self.wait_for_nodes(job, n_nodes)
        time.sleep(dice.random() * dice.choice((0.05, 1.0)))
        job.process.kill()
        output = self.expect_end(job, -signal.SIGKILL, f"seed {seed}: launcher killed")
        said = f"teamster run: the launcher, process {job.process.pid}, has been killed, so all nodes end\n"
        if output.count(said) != 1:
            job.fail(f"seed {seed}: not said once: {said}", output)

    def signals(self, seed):
        dice = random.Random(seed)
        for number in (signal.SIGTERM, signal.SIGINT):
            n_nodes = dice.randint(1, 4)
            job = self.long_run(n_nodes)
            self.wait_for_nodes(job, n_nodes)
            time.sleep(dice.random() * 0.5)
            job.process.send_signal(number)
            self.expect_end(job, 128 + number, f"seed {seed}: signal {number}")

    def start_fails(self, _seed):
        job = self.start(3, "/nowhere/program")
        self.expect_end(job, 127, "a program that is not there")
        job = self.start(2, self.path("apps", "jacobi"),
                         variables={"TEAMSTER_PROTOCOL": "hope"})
        self.expect_end(job, 78, "a protocol that is not there")


def keep_failure(build, text):
    """In a file of its own: the next run of ctest overwrites the last log."""
    with open(os.path.join(build, "failures.log"), "a",
              encoding="utf-8") as file:
        file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} "
                   f"{' '.join(sys.argv[1:])}\n{text}\n\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("test")
    parser.add_argument("--build", required=True)
    parser.add_argument("--mode", choices=MODES, default="mutex")
    parser.add_argument("--protocol", choices=jobs.PROTOCOLS)
    parser.add_argument("--source", choices=SOURCES)
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--nodes", type=int, default=MANY_NODES)
    parser.add_argument("--scoped", action="store_true",
                        help="litmus: variables are in a block of TM_SCOPE")
    options = parser.parse_args()
    try:
        tests = Tests(options)
        for seed in options.seeds.split(","):
            getattr(tests, options.test)(int(seed))
    except jobs.Skip as skip:
        print(f"skipped: {skip}")
        return 77
    except jobs.Failure as failure:
        print(f"{options.test}: {failure}")
        keep_failure(options.build, failure)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
