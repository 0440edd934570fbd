#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Nodes join and leave running jobs; results stay identical, bit by bit.

    test_members.py TEST --build DIR [--app NAME] [--seed N]

Test `app`: an application with nodes that come and go at random moments, each run
with another protocol, source of faults, way to distribute threads and budget of
memory, drawn from the seed.
"""
import argparse
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time

import jobs

APPS = {
    "jacobi": ("--size", 256, "--iterations", 800, "--threads", 8),
    "sor": ("--size", 256, "--iterations", 600, "--threads", 8),
    "matmul": ("--size", 96, "--iterations", 300, "--threads", 6),
    "gauss": ("--size", 400, "--iterations", 200, "--threads", 6),
    "nbody": ("--size", 256, "--iterations", 300, "--threads", 6),
    "motion": ("--size", 64, "--iterations", 300, "--threads", 6),
    "vq": ("--size", 64, "--iterations", 400, "--threads", 6),
    "layers": ("--size", 96, "--iterations", 400, "--threads", 6),
}
N_RUNS = 4  # of test `app`
N_THREADS = 6
IDENTICAL = "result: identical to the sequential program's"
USAGE, UNREACHABLE, NODE_LOST, MISMATCH = 64, 69, 75, 76
ENDED = (0, USAGE, NODE_LOST)  # a command comes too late if the program is short


class Members:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        # The control sockets are in a folder of the test's own.
        self.variables = {"TMPDIR": folder, "XDG_RUNTIME_DIR": ""}
        self.stop_file = os.path.join(folder, "stop")

    def path(self, *parts):
        return os.path.join(self.options.build, *parts)

    def start(self, n_nodes, program, *words, **variables):
        command = ["-n", n_nodes, *words, *program]
        job = jobs.Job(self.path("cli", "teamster"), command,
                       {**self.variables, **variables})
        if not jobs.wait_until(lambda: job.process.poll() is not None or
                               str(job.process.pid) in self.ask("ps")[1],
                               jobs.DEADLINE_S):
            job.fail("teamster ps does not list it", job.kill_all())
        return job

    def start_endless(self, n_nodes, *words, program=None, **variables):
        """A run that goes on until expect_right()."""
        return self.start(n_nodes, (program or self.path("tests", "cluster",
                                                         "until"),
                                    self.stop_file, N_THREADS),
                          *words, **variables)

    def ask(self, *words):
        """A command. @return exit code, output"""
        done = subprocess.run(
            [self.path("cli", "teamster"), *map(str, words)], text=True,
            env={**os.environ, **self.variables}, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=jobs.DEADLINE_S, check=False)
        return done.returncode, done.stdout

    def when_running(self, job, *words):
        """The same, as soon as the program has begun."""
        result = (NODE_LOST, "")

        def is_answered():
            nonlocal result
            result = self.ask(words[0], job.process.pid, *words[1:])
            return "has not begun yet" not in result[1]

        jobs.wait_until(is_answered, jobs.DEADLINE_S)
        return result

    @staticmethod
    def has_handler(pid):
        """Of SIGTERM: other nodes may have it a little later than the root begins."""
        caught = re.search(rb"^SigCgt:\s*([0-9a-f]+)$",
                           jobs.read_bytes(f"/proc/{pid}/status"), re.M)
        return caught and int(caught[1], 16) >> signal.SIGTERM - 1 & 1

    def await_handler(self, job, pid):
        if not jobs.wait_until(lambda: self.has_handler(pid)):
            job.fail("SIGTERM would end it", job.kill_all())

    def terminate(self, job, pid):
        self.await_handler(job, pid)
        os.kill(pid, signal.SIGTERM)

    def terminate_if_it_lives(self, job, pid):
        """For runs that may have ended: their own SIGTERM ends nobody else."""
        if pid is not None and jobs.wait_until(
                lambda: not jobs.is_running(pid) or self.has_handler(pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        elif pid is not None:
            job.fail("SIGTERM would end it", job.kill_all())

    def expect(self, job, answer, code, text):
        if answer[0] != code or not re.search(text, answer[1]):
            job.fail(f"answer {answer}, not {code} and {text!r}",
                     job.kill_all())

    def finish(self, job):
        """An endless run. @return exit code, output"""
        with open(self.stop_file, "w", encoding="ascii"):
            pass
        result = job.finish()
        os.unlink(self.stop_file)
        return result

    def expect_right(self, job):
        code, output = self.finish(job)
        if code != 0:
            job.fail(f"exit code {code}", output)
        return self.expect_result(job, output, " 0 words wrong")

    def expect_identical(self, job):
        return self.expect_result(job, job.expect_success(), IDENTICAL)

    def expect_result(self, job, output, right):
        if right not in output:
            job.fail("the result differs", output)
        if os.listdir(self.folder):
            job.fail(f"left behind: {os.listdir(self.folder)}", output)
        return output

    # ---- tests

    def change_at_random(self, job, n_nodes, chance):
        """Nodes come and go until the program has ended. @return how many did"""
        n_changes = 0
        self.when_running(job, "remove", 0)
        live = set(range(1, n_nodes))
        for _ in range(6):
            time.sleep(chance.uniform(0, 0.3))
            if job.process.poll() is not None:
                break
            node = chance.choice(sorted(live)) if live else None
            if node is None or (len(live) < 4 and chance.random() < 0.5):
                code, text = self.ask("add", job.process.pid)
                match = re.search(r"node (\d+) has joined", text)
                live |= {int(match.group(1))} if match else set()
            elif chance.random() < 0.3:
                self.terminate_if_it_lives(job, job.node(node))
                live.discard(node)
                code, text = 0, ""
            else:
                code, text = self.ask("remove", job.process.pid, node)
                live.discard(node)
            if code not in (*ENDED, 78):
                job.fail(f"{code}: {text}", job.kill_all())
            n_changes += code == 0
        return n_changes

    def app(self):
        name = self.options.app
        chance = random.Random(f"{self.options.seed} {name}")
        n_changes = 0
        for run in range(4 * N_RUNS):  # short runs may meet no change
            if run >= N_RUNS and n_changes > 0:
                break
            arguments = list(APPS[name])
            protocol = chance.choice(jobs.PROTOCOLS)
            words = ["--protocol", protocol]
            if protocol == "eager-release" and chance.random() < 0.4:
                words += ["--race-check", "--strict"]
            if chance.random() < 0.5:
                words += ["--shuffle", chance.randint(1, 1000)]
            if chance.random() < 0.4:
                words += ["--memory", "2M" if name == "gauss" else "1M"]
                arguments[3] //= 4  # pages go out when few nodes are left
            n_nodes = chance.randint(1, 3)
            job = self.start(
                n_nodes, (self.path("apps", name), *arguments, "--verify"),
                *words,
                TEAMSTER_POLICY=chance.choice(("none", "cpu-mem")),
                TEAMSTER_FAULT_SOURCE=chance.choice(("userfaultfd",
                                                     "mprotect")))
            n_changes += self.change_at_random(job, n_nodes, chance)
            self.expect_identical(job)
        print(f"{name}: nodes came or went {n_changes} times")
        if n_changes == 0:
            raise jobs.Failure("no node came or went")

    def a_node_that_is_removed_has_ended(self):
        job = self.start_endless(3)
        pid = jobs.wait_until(lambda: job.node(1), 5)
        self.expect(job, self.when_running(job, "remove", 1), 0,
                    "^node 1 has left$")
        if jobs.is_running(pid):
            job.fail("it has not ended", job.kill_all())
        self.expect(job, self.ask("remove", job.process.pid, 1), USAGE,
                    "there is no node 1")
        output = self.expect_right(job)
        if "node 1 " not in output:
            job.fail("nobody is told that it has left", output)

    def a_node_that_is_terminated_leaves(self):
        job = self.start_endless(3)
        self.expect(job, self.when_running(job, "remove", 0), USAGE, "root")
        pid = job.node(2)
        self.terminate(job, pid)
        if not jobs.wait_until(lambda: not jobs.is_running(pid), 20):
            job.fail("it has not left", job.kill_all())
        output = self.expect_right(job)
        if "it leaves the run" not in output:
            job.fail("it does not say that it leaves", output)

    @staticmethod
    def n_doorbells(pid):
        """Of nodes that it can ring, and its own."""
        return jobs.read_bytes(f"/proc/{pid}/maps").count(b"teamster-doorbell")

    def who_leaves_right_behind_another_is_forgotten(self):
        """Nothing of a node that has left stays with the others."""
        job = self.start_endless(4)
        self.expect(job, self.when_running(job, "remove", 3), 0, "has left")
        self.expect(job, self.ask("remove", job.process.pid, 2), 0, "has left")
        root = job.node(0)
        if not jobs.wait_until(lambda: self.n_doorbells(root) == 2):
            job.fail(f"of 2 nodes {self.n_doorbells(root)} doorbells are there",
                     job.kill_all())
        self.expect_right(job)

    def a_period_is_looked_for_when_nodes_have_left(self):
        """What was known of the program's barriers was forgotten with the rest."""
        rounds = self.path("tests", "cluster", "rounds")
        job = self.start(3, (rounds, 6, 1000), "--move-at", "barriers",
                         "--explain", TEAMSTER_POLICY="cpu-mem")
        self.expect(job, self.when_running(job, "remove", 0), USAGE, "root")
        job.await_line("an iteration is found to be 2 barriers")
        self.expect(job, self.ask("remove", job.process.pid, 2), 0, "has left")
        output = job.expect_success()
        known = list(map(int, re.findall(r"teamster: (\d+) iterations;",
                                         output)))
        print(known)
        if "wrong: 0" not in output or not known or known[-1] < 50:
            job.fail(f"iterations: {known}", output)
        if "no regularity" in output:
            job.fail("there is a period", output)

    def a_node_leaves_before_a_period_is_known(self):
        """It goes at an iteration's end, so that must be found out first."""
        job = self.start(3, (self.path("tests", "cluster", "rounds"), 6, 1000,
                             "held"), "--move-at", "barriers", "--explain",
                         TEAMSTER_POLICY="cpu-mem")
        job.await_line("held")
        self.expect(job, self.ask("remove", job.process.pid, 2), 0, "has left")
        output = job.expect_success()
        known = re.findall(r"teamster: (\d+) iterations;", output)
        if "wrong: 0" not in output or not known or int(known[-1]) < 50:
            job.fail(f"iterations: {known}", output)

    def a_node_that_has_left_pages_no_more(self):
        job = self.start(3, (self.path("apps", "jacobi"), "--size", 256,
                             "--iterations", 800, "--threads", 6, "--report",
                             "--verify"), "--memory", "300K")
        self.expect(job, self.when_running(job, "remove", 0), USAGE, "root")
        job.await_line(r"pages of iterations .*: in \d+ \d+ [1-9]")
        self.expect(job, self.ask("remove", job.process.pid, 2), 0, "has left")
        output = self.expect_identical(job)
        ins = [list(map(int, line.split())) for line in
               re.findall("pages of iterations .*: in(.*), out", output)]
        if max(map(max, ins)) > 10**6:
            job.fail("pages that cannot be", output)
        if not any(line[2] > 0 for line in ins):
            job.fail("it has never paged", output)
        if ins[-1][2] != 0:
            job.fail("it pages", output)

    def an_end_that_is_heard_before_the_root_is_told(self):
        """The launcher hears of both at once, when it goes on."""
        job = self.start_endless(2)
        self.when_running(job, "remove", 0)
        pid = job.node(1)
        self.await_handler(job, pid)
        job.process.send_signal(signal.SIGSTOP)
        os.kill(pid, signal.SIGTERM)
        has_left = jobs.wait_until(lambda: not jobs.is_running(pid), 20)
        job.process.send_signal(signal.SIGCONT)
        if not has_left:
            job.fail("it has not left", job.kill_all())
        self.ask("remove", job.process.pid, 1)  # answered when the launcher knows
        output = self.expect_right(job)
        if not re.search(r"node 1 \(pid \d+\) has left the run", output):
            job.fail("nobody is told that it has left", output)

    def who_has_left_has_no_numbers(self):
        job = self.start_endless(3, "--stats")
        self.expect(job, self.when_running(job, "remove", 1), 0, "has left")
        output = self.expect_right(job)
        rows = re.findall(r"^\[0\] +(\d) [01]\.\d{3} ", output, re.MULTILINE)
        if rows != ["0", "2"]:
            job.fail(f"numbers of nodes {rows}", output)
        if "of 3 nodes are alive: 0 2\n" not in output:
            job.fail("who is alive is not told", output)

    def a_thread_is_not_sent_to_who_has_left(self):
        """It was to go there when that node was a member, and computed meanwhile."""
        job = self.start(3, (self.path("tests", "cluster", "sent_away"),
                             self.stop_file))
        job.await_line("it is to go to node 2")
        self.expect(job, self.ask("remove", job.process.pid, 2), 0, "has left")
        code, output = self.finish(job)
        if code != 0 or "it has gone on at node 1" not in output:
            job.fail(f"exit code {code}", output)

    def the_root_cannot_leave(self):
        job = self.start_endless(2)
        self.expect(job, self.when_running(job, "remove", 0), USAGE,
                    "it is the root, where main\\(\\) runs: it cannot leave")
        self.expect_right(job)

    def nodes_come_after_all_have_left(self):
        job = self.start_endless(3)
        self.expect(job, self.when_running(job, "remove", 2), 0, "has left")
        self.expect(job, self.ask("remove", job.process.pid, 1), 0, "has left")
        self.expect(job, self.ask("add", job.process.pid), 0,
                    "^teamster: .*\nnode 3 has joined")
        self.expect(job, self.ask("add", job.process.pid), 0,
                    "node 4 has joined")
        self.expect(job, self.ask("remove", job.process.pid, 3), 0, "has left")
        self.expect_right(job)

    def tasks_go_on_while_nodes_come_and_go(self):
        program = (self.path("tests", "cluster", "tasks"), "members")
        for workers in ("1", "2"):
            job = self.start(2, program, TEAMSTER_WORKERS=workers)
            self.expect(job, self.when_running(job, "remove", 1), 0, "node 1 has left")
            self.expect(job, self.ask("add", job.process.pid), 0, "node 2 has joined")
            self.expect_result(job, job.expect_success(), "members: good")

    def loops_are_whole_while_nodes_come_and_go(self):
        """A loop that begins while a node is about to leave has no share there, and those
        whose pieces have been placed have."""
        program = (self.path("tests", "cluster", "shelves"), "new", 60, 256)
        job = self.start(4, program, "--memory=1M", f"--swap-dir={self.folder}",
                         "--swap-rate=20M", TEAMSTER_POLICY="cpu-mem")
        job.await_line("10 entries")
        n_changes = self.change_at_random(job, 4, random.Random(self.options.seed))
        job.expect_success()
        print(f"{n_changes} nodes came or went")

    def nodes_come_to_one_that_was_alone(self):
        for policy in ("none", "cpu-mem"):
            job = self.start_endless(1, TEAMSTER_POLICY=policy)
            self.expect(job, self.when_running(job, "add"), 0,
                        "node 1 has joined" +
                        ("; threads stay" if policy == "none" else "$"))
            self.expect(job, self.ask("add", job.process.pid), 0,
                        "node 2 has joined")
            self.expect(job, self.ask("remove", job.process.pid, 1), 0,
                        "has left")
            self.expect_right(job)

    def a_host_that_cannot_be_reached_harms_nobody(self):
        """Nodes that come here afterwards share memory, or not, as before."""
        for n_nodes in (1, 2):
            job = self.start_endless(n_nodes, "--ssh=false")
            self.expect(job, self.when_running(job, "add", "no-such-host"),
                        UNREACHABLE, "cannot reach host no-such-host: the "
                        "connection has ended; try: false no-such-host ")
            self.expect(job, self.ask("add", job.process.pid, "a:0"), USAGE,
                        "a:0")
            self.expect(job, self.ask("add", job.process.pid), 0,
                        f"node {n_nodes} has joined")
            self.expect(job, self.ask("remove", job.process.pid, n_nodes), 0,
                        "has left")
            self.expect_right(job)

    def another_program_cannot_join(self):
        script = os.path.join(self.folder, "program")
        with open(script, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n"
                       f'p={self.path("tests", "cluster", "until")}\n'
                       f'[ "$TEAMSTER_NODE" = 2 ] && p={self.path("apps", "jacobi")}\n'
                       "exec $p \"$@\"\n")
        os.chmod(script, 0o755)
        job = self.start_endless(2, program=script)
        answer = self.when_running(job, "add")
        self.expect(job, answer, MISMATCH, "build-id")
        self.expect(job, self.ask("add", job.process.pid), 0,
                    "node 3 has joined")
        os.unlink(script)
        self.expect_right(job)

    def a_death_in_a_change_ends_the_run(self):
        chance = random.Random(self.options.seed)
        for _ in range(6):
            job = self.start_endless(3)
            self.expect(job, self.when_running(job, "remove", 0), USAGE, "root")
            victim = job.node(chance.choice((1, 2)))
            command = subprocess.Popen(
                [self.path("cli", "teamster"), "remove", str(job.process.pid),
                 "1"], env={**os.environ, **self.variables},
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0, 0.03))
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it had left
            if command.wait(20) not in ENDED:
                job.fail("the command does not tell", job.kill_all())
            code, output = self.finish(job)
            if code not in (0, NODE_LOST):
                job.fail(f"exit code {code}", output)
            if os.listdir(self.folder):
                job.fail(f"left behind: {os.listdir(self.folder)}", output)

    def nothing_is_left_of_a_killed_launcher(self):
        job = self.start_endless(2)
        sockets = [os.path.join(where, name) for where, _, names
                   in os.walk(self.folder) for name in names]
        if len(sockets) != 1 or os.stat(sockets[0]).st_mode & 0o7777 != 0o600:
            job.fail(f"sockets: {sockets}", job.kill_all())
        if os.stat(os.path.dirname(sockets[0])).st_mode & 0o777 != 0o700:
            job.fail("others may look into the folder", job.kill_all())
        job.process.send_signal(signal.SIGKILL)
        job.process.communicate()
        job.expect_nothing_left()
        if not jobs.wait_until(lambda: not os.listdir(self.folder), 10):
            job.fail(f"left behind: {os.listdir(self.folder)}")


def main():
    tests = [name for name in vars(Members) if not name.startswith("_")]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("test", choices=tests)
    parser.add_argument("--build", required=True)
    parser.add_argument("--app", choices=APPS, default="sor")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    return jobs.run_test(options.test, lambda folder: getattr(
        Members(options, folder), options.test)())


if __name__ == "__main__":
    sys.exit(main())
