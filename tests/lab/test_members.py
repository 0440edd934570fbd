#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Nodes on the hosts of a lab join running jobs and leave them.

    test_members.py TEST --build DIR

The launcher is on n1. Results are the same bits as without changes, and who asks
for one that cannot be made is told in one line, while the job goes on.
"""
import os
import pathlib
import random
import re
import signal
import subprocess
import time

import lab
import test_runs
from jobs import PROTOCOLS
from test_runs import DEADLINE_S, MISMATCH, NODE_LOST, UNREACHABLE

SOR = ("--verify", "--size=200", "--threads=6", "--iterations=8000")
IDENTICAL = "result: identical to the sequential program's"
RIGHT = " iterations, 0 words wrong"
USAGE, CONFIG = 64, 78
SOON_S = 0.25  # in which a node that is started joins


class Tests(test_runs.Tests):
    def until(self):
        return os.path.join(self.build, "tests", "cluster", "until")

    def stop_file(self, bed):
        return pathlib.Path(bed.folder) / "stop"

    def start(self, bed, *command, program=None, policy="none"):
        """A run on n1 that goes on until expect_right()."""
        self.stop_file(bed).unlink(missing_ok=True)
        run = self.run(bed, *command, program or self.until(),
                       str(self.stop_file(bed)), "6",
                       TEAMSTER_POLICY=policy, **self.variables(bed))
        self.wait_for_begin(run, bed)
        return run

    def wait_for_begin(self, run, bed):
        def has_begun():
            if run.process.poll() is not None:
                run.fail("it does not begin", run.process.communicate()[0])
            return "it is the root" in self.ask(bed, "remove", 0)[1]

        lab.wait_until(has_begun, "it does not begin", DEADLINE_S)

    def variables(self, bed):
        return {"TMPDIR": bed.folder, "XDG_RUNTIME_DIR": ""}

    def command(self, bed, *words):
        """To the job; if words are given, to the one that there is."""
        return bed.command_on("n1", os.path.join(self.build, "cli", "teamster"),
                              *map(str, words))

    def begin_call(self, bed, *words):
        return subprocess.Popen(self.command(bed, *words), text=True,
                                env={**os.environ, **self.variables(bed)},
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def end_call(self, asker):
        with asker:
            try:
                text = asker.communicate(timeout=DEADLINE_S)[0]
            except subprocess.TimeoutExpired:
                asker.kill()
                raise
        return asker.returncode, text

    def call(self, bed, *words):
        return self.end_call(self.begin_call(bed, *words))

    def job(self, bed):
        """Its number; one that is no job's if there is none."""
        match = re.search(r"(?m)^ *(\d+) .*(?:sor|until|program)$",
                          self.call(bed, "ps")[1])
        return match.group(1) if match else "1"

    def ask(self, bed, what, *words):
        """@return exit code and what is said"""
        return self.call(bed, what, self.job(bed), *words)

    def begin_to_add(self, bed, host):
        """@return who asks, for end_call()"""
        return self.begin_call(bed, "add", self.job(bed), host)

    def expect_answer(self, run, answer, code, text):
        if answer[0] != code or not re.search(text, answer[1]):
            run.give_up(f"answer {answer}, not {code} and {text!r}")

    def expect_right(self, run, bed, but_hosts=(), what=RIGHT):
        self.stop_file(bed).touch()
        output = run.finish(0, but_hosts)
        self.expect(what in output, "the right result", output)
        self.expect(not list(pathlib.Path(bed.folder).glob("teamster-*")),
                    "no socket is left", output)
        return output

    def expect_empty(self, run, bed, host):
        """Nothing of the run is on a host that its nodes have left."""
        try:
            lab.wait_until(lambda: not bed.processes(host), "",
                           test_runs.LEFTOVER_S)
        except TimeoutError:
            run.give_up(f"left on {host}: {bed.processes(host)}")

    # ---- what works

    def nodes_come_and_go(self):
        with lab.lab(n_hosts=3) as bed:
            for hosts in (("-n", 1), ("-H", "n1,n2")):
                self.change_much(bed, *hosts)

    def who_gives_for_long_is_not_forgotten(self):
        """What it owns takes five seconds, and others would forget it after two."""
        with lab.lab(n_hosts=2, rate_mbit=20) as bed:
            run = self.run(bed, "-H", "n1,n2", self.until(),
                           str(self.stop_file(bed)), "2", "1500000",
                           TEAMSTER_POLICY="none", **self.variables(bed))
            self.wait_for_begin(run, bed)
            self.expect_answer(run, self.ask(bed, "remove", 1), 0,
                               "node 1 has left")
            self.expect_right(run, bed)

    def sor_is_the_same(self):
        with lab.lab(n_hosts=3) as bed:
            run = self.run(bed, "-H", "n1,n2", self.app("sor"), *SOR,
                           **self.variables(bed))
            self.wait_for_begin(run, bed)
            self.expect_answer(run, self.ask(bed, "add", "n3"), 0,
                               "node 2 has joined")
            self.expect_answer(run, self.ask(bed, "remove", 1), 0,
                               "node 1 has left")
            self.expect_right(run, bed, what=IDENTICAL)

    def change_much(self, bed, *hosts):
        run = self.start(bed, *hosts)
        first = 1 if hosts[1] == 1 else 2
        for number, host in enumerate(("n3", "n2", "n1", "n3"), first):
            self.expect_answer(run, self.ask(bed, "add", host), 0,
                               f"node {number} has joined")
        self.expect_answer(run, self.ask(bed, "remove", first), 0,
                           f"^node {first} has left$")
        self.expect_answer(run, self.ask(bed, "remove", first), USAGE,
                           f"there is no node {first}")
        os.kill(run.program("n3", "until"), signal.SIGTERM)
        self.expect_empty(run, bed, "n3")
        self.expect_answer(run, self.ask(bed, "add"), 0,
                           f"node {first + 4} has joined")
        output = self.expect_right(run, bed)
        self.expect("it leaves the run" in output, "the owner is answered",
                    output)

    def a_node_that_joins_gets_threads(self):
        with lab.lab(n_hosts=2) as bed:
            for first in (1, 2):
                run = self.start(bed, "-n", first, policy="cpu-mem")
                self.expect_answer(run, self.ask(bed, "add", "n2"), 0,
                                   f"node {first} has joined$")
                self.expect_right(run, bed)

    def nodes_come_and_go_at_random(self):
        chance = random.Random(os.environ.get("TM_TEST_SEED", "1"))
        for _ in range(int(os.environ.get("TM_TEST_ROUNDS", "3"))):
            with lab.lab(n_hosts=3) as bed:
                run = self.start(bed, "--protocol", chance.choice(PROTOCOLS),
                                 *chance.choice((
                                     ("-n", 1), ("-n", 2), ("-H", "n1,n2"),
                                     ("-H", "n2,n3:2"))))
                n_changes = 0
                for _ in range(6):
                    time.sleep(chance.uniform(0, 0.3))
                    if chance.random() < 0.6:
                        code, text = self.ask(bed, "add",
                                              chance.choice(("n1", "n2", "n3")))
                    else:
                        code, text = self.ask(bed, "remove",
                                              chance.randint(1, 6))
                    if code not in (0, USAGE, NODE_LOST):
                        run.give_up(f"{code}: {text}")
                    n_changes += code == 0
                output = self.expect_right(run, bed)
                self.expect(n_changes > 0, "something has changed", output)

    # ---- what does not

    def program(self, bed, **apps):
        """One that is different on each host."""
        for host, app in apps.items():
            bed.inside(host, "cp", app, "/run/program")
        return "/run/program"

    def who_cannot_join_is_told(self):
        with lab.lab(n_hosts=4) as bed:
            bed.cut("n4")
            run = self.start(bed, "-H", "n1,n2",
                             program=self.program(
                                 bed, n1=self.until(), n2=self.until(),
                                 n3=self.app("jacobi")))
            self.expect_answer(run, self.ask(bed, "add", "n9"), UNREACHABLE,
                               "^teamster add: cannot reach host n9: .*; try: "
                               "ssh .* n9 teamster --version\n$")
            self.expect_answer(run, self.ask(bed, "add", "n4"), UNREACHABLE,
                               "^teamster add: cannot reach host n4: ")
            self.expect_answer(run, self.ask(bed, "add", "n3"), MISMATCH,
                               "\nteamster add: node 2 has not joined: .*"
                               "build-id|^teamster add: .*build-id")
            bed.inside("n3", "rm", "/run/program")
            self.expect_answer(run, self.ask(bed, "add", "n3"), UNREACHABLE,
                               "^teamster add: host n3 cannot start "
                               "'/run/program': No such file")
            self.expect_answer(run, self.ask(bed, "add", "n2:2"), USAGE,
                               "one node at a time")
            self.expect_empty(run, bed, "n3")
            self.program(bed, n3=self.until())
            self.expect_answer(run, self.ask(bed, "add", "n3"), 0,
                               "node 3 has joined")
            self.expect_right(run, bed, ["n4"])

    def a_host_that_not_all_reach_cannot_join(self):
        with lab.lab(n_hosts=3) as bed:
            run = self.start(bed, "-H", "n1,n2")
            bed.part("n2", "n3")
            answer = self.ask(bed, "add", "n3")
            bed.rejoin("n2", "n3")
            self.expect(answer[0] in (UNREACHABLE, NODE_LOST) and
                        "node 2 has not joined: " in answer[1], "it is told",
                        str(answer))
            self.expect_answer(run, self.ask(bed, "add", "n3"), 0,
                               "node 3 has joined")
            self.expect_right(run, bed)

    # ---- what dies

    def a_host_that_dies_before_its_node_joins_harms_nobody(self):
        """Its program does not get to tm_init() before that."""
        with lab.lab(n_hosts=3) as bed:
            program = "/run/program"
            for host, wait in (("n1", ""), ("n2", ""), ("n3", "sleep 100;")):
                bed.inside(host, "sh", "-c",
                           f"echo '#!/bin/sh\n{wait} exec {self.until()} "
                           f"\"$@\"' > {program}; chmod +x {program}")
            run = self.start(bed, "-H", "n1,n2", program=program)
            for kill in (self.kill_node, self.kill_agent):
                self.expect_not_joined(run, self.ask_and_kill(bed, program, kill))
                self.expect_empty(run, bed, "n3")
            self.expect_not_joined(run, self.ask_and_kill(
                bed, program, lambda bed: bed.power_off("n3")))
            self.expect_answer(run, self.ask(bed, "add", "n2"), 0,
                               r"node \d has joined")
            self.expect_right(run, bed, ["n3"])

    def expect_not_joined(self, run, answer):
        """Its node has a number if the launcher has heard that it runs."""
        if answer[0] == UNREACHABLE:
            self.expect_answer(run, answer, UNREACHABLE, "teamster add: host n3: "
                               r"(the connection has ended|silent for \d+ s)\n")
        else:
            self.expect_answer(run, answer, NODE_LOST,
                               r"node \d has not joined: ")

    def ask_and_kill(self, bed, program, kill):
        """@return the answer to who has asked for a node on n3"""
        asker = self.begin_to_add(bed, "n3")
        lab.wait_until(lambda: any(program in text for text in
                                   bed.processes("n3").values()),
                       "no node on n3", DEADLINE_S)
        kill(bed)
        return self.end_call(asker)

    def kill_node(self, bed):
        for pid, text in bed.processes("n3").items():
            if "/run/program" in text:
                os.kill(pid, signal.SIGKILL)

    def kill_agent(self, bed):
        os.kill(bed.agent("n3"), signal.SIGKILL)

    def a_host_that_dies_while_its_node_joins_leaves_nothing(self):
        """At a random moment: the job goes on, or has lost a member."""
        chance = random.Random(os.environ.get("TM_TEST_SEED", "1"))
        ends = []
        for _ in range(int(os.environ.get("TM_TEST_ROUNDS", "3"))):
            with lab.lab(n_hosts=3) as bed:
                run = self.start(bed, "-H", "n1,n2")
                asker = self.begin_to_add(bed, "n3")
                try:
                    pid = run.program("n3", "until")
                except TimeoutError:
                    run.give_up(f"no node: {self.end_call(asker)}")
                time.sleep(chance.uniform(0, SOON_S))
                has_power = chance.random() < 0.5
                if has_power:
                    os.kill(pid, signal.SIGKILL)
                else:
                    bed.power_off("n3")
                ends.append(self.expect_lost_or_right(
                    run, bed, asker, () if has_power else ("n3",)))
        print("ends:", ends)

    def a_host_that_loses_power_when_its_node_has_joined_ends_the_run(self):
        """In time, although nobody listened for signs of life before it came."""
        for hosts in (("-n", 2), ("-H", "n1,n2")):
            with lab.lab(n_hosts=3) as bed:
                run = self.start(bed, *hosts)
                self.expect_answer(run, self.ask(bed, "add", "n3"), 0,
                                   "node 2 has joined")
                bed.power_off("n3")
                self.expect_loss(run, r"n3 \(node 2\) is lost: silent for 5 s|"
                                 "host n3 is lost, with 1 of 3 nodes: silent",
                                 ["n3"])

    def expect_lost_or_right(self, run, bed, asker, but_hosts=()):
        """@return exit codes of who has asked, and of the run"""
        answer = self.end_call(asker)
        self.expect(answer[0] in (0, NODE_LOST, UNREACHABLE, CONFIG), "an answer",
                    str(answer))
        self.stop_file(bed).touch()
        output, _ = run.process.communicate(timeout=DEADLINE_S)
        code = run.process.returncode
        self.expect(code == NODE_LOST or (code == 0 and RIGHT in output),
                    "lost, or right", f"{output}{answer}")
        run.expect_nothing_left(output, but_hosts)
        return answer[0], code


if __name__ == "__main__":
    raise SystemExit(test_runs.main(Tests))
