#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Joins that are held at a certain point, and what may happen there.

    test_joins.py TEST --build DIR

The launcher is on n1, the job on n1 and n2, and a node is to join on n3. A join is
held by what the network and processes do, not by waiting: without a way to n3 the
node on n2 cannot connect with the new one; while the agent of n2 is stopped the
launcher does not hear that it has.
"""
import os
import pathlib
import random
import re
import signal
import time

import lab
import test_members
import test_runs
from test_members import CONFIG
from test_runs import DEADLINE_S, NODE_LOST, UNREACHABLE

ESTABLISHED, SYN_SENT = "01", "02"  # as /proc/net/tcp has them
RECVFROM = "45 "  # as /proc/PID/syscall has it, of x86-64
WIRE_MS, N_WAYS = 100, 16  # of a slow wire, and ways that a change takes


class Tests(test_members.Tests):
    def connections(self, bed, host, other):
        """The states of a host's connections with another one."""
        address = f"{lab.SUBNET}.{other[1:]}"
        remote = "".join(f"{int(part):02X}"
                         for part in reversed(address.split("."))) + ":"
        rows = (row.split() for row in bed.inside(
            host, "cat", "/proc/net/tcp").splitlines()[1:])
        return {row[3] for row in rows if row[2].startswith(remote)}

    def hold_in_vain(self, bed):
        """Ask for a node on n3, which has given its card; n2's node is told of it,
        and does not reach it. @return who has asked"""
        bed.part("n2", "n3")
        asker = self.begin_to_add(bed, "n3")
        lab.wait_until(
            lambda: SYN_SENT in self.connections(bed, "n2", "n3"),
            "n2's node does not connect", DEADLINE_S)
        return asker

    def hold_at_go(self, run, bed):
        """The same, but it is connected with all and waits to be let in: n2's agent
        is stopped, so that n2's node cannot say that it is.
        @return who has asked, and the agent"""
        asker = self.hold_in_vain(bed)
        agent = bed.agent("n2")
        os.kill(agent, signal.SIGSTOP)
        bed.rejoin("n2", "n3")
        guest = run.program("n3", "until")
        lab.wait_until(
            lambda: ESTABLISHED in self.connections(bed, "n3", "n2") and
            pathlib.Path(f"/proc/{guest}/syscall").read_text().startswith(
                RECVFROM), "it does not wait for the launcher", DEADLINE_S)
        return asker, agent

    def expect_one_answer(self, run, answer, codes):
        answers = re.findall(r"(?m)^teamster add: .+", answer[1])
        if answer[0] not in codes or len(answers) != 1:
            run.give_up(f"answer {answer}, not one line and {codes}")

    # ---- what happens then

    def a_host_that_loses_power_before_its_node_is_connected_harms_nobody(self):
        with lab.lab(n_hosts=3) as bed:
            run = self.start(bed, "-H", "n1,n2")
            asker = self.hold_in_vain(bed)
            bed.power_off("n3")
            answer = self.end_call(asker)
            self.expect_one_answer(run, answer, (UNREACHABLE, NODE_LOST))
            self.expect("node 2 has not joined: " in answer[1], "it is told",
                        str(answer))
            self.expect_answer(run, self.ask(bed, "add", "n2"), 0,
                               "node 3 has joined")
            self.expect_right(run, bed, ["n3"])

    def a_host_that_loses_power_when_its_node_is_let_in_harms_nobody(self):
        """All wait for it, until the root gives up the change: before the launcher
        gives up the host."""
        with lab.lab(n_hosts=3) as bed:
            run = self.start(bed, "-H", "n1,n2")
            asker, agent = self.hold_at_go(run, bed)
            bed.power_off("n3")
            os.kill(agent, signal.SIGCONT)
            answer = self.end_call(asker)
            self.expect_one_answer(run, answer, (CONFIG,))
            self.expect("node 2 has not joined: it is silent" in answer[1],
                        "it is told", str(answer))
            self.expect_answer(run, self.ask(bed, "add", "n2"), 0,
                               "node 3 has joined")
            self.expect_right(run, bed, ["n3"])

    def a_host_that_loses_power_in_a_change_leaves_nothing(self):
        """At a random moment of one that takes long, for the host's wire is slow."""
        chance = random.Random(os.environ.get("TM_TEST_SEED", "1"))
        wire = os.path.join(self.build, "tests", "lab", "wire")
        ends = []
        for _ in range(int(os.environ.get("TM_TEST_ROUNDS", "3"))):
            with (lab.lab(n_hosts=3) as bed,
                  bed.bad_wire("n3", wire, delay_ms=WIRE_MS)):
                run = self.start(bed, "-H", "n1,n2")
                asker, agent = self.hold_at_go(run, bed)
                os.kill(agent, signal.SIGCONT)
                time.sleep(chance.uniform(0, N_WAYS * WIRE_MS / 1000))
                bed.power_off("n3")
                ends.append(self.expect_lost_or_right(run, bed, asker, ["n3"]))
        print("ends:", ends)

    def a_change_that_cannot_be_made_is_refused_and_another_can(self):
        """The nodes cannot stand still: one is stopped, longer than it may be in a
        change, and shorter than it may be in a run."""
        with lab.lab(n_hosts=3) as bed:
            run = self.start(bed, "-H", "n1,n2", "--peer-timeout=120")
            asker, agent = self.hold_at_go(run, bed)
            stopped = run.program("n2", "until")
            os.kill(stopped, signal.SIGSTOP)
            os.kill(agent, signal.SIGCONT)
            self.expect_answer(run, self.end_call(asker), CONFIG,
                               "did not come to a standstill")
            os.kill(stopped, signal.SIGCONT)
            self.expect_empty(run, bed, "n3")
            self.expect_answer(run, self.ask(bed, "add", "n3"), 0,
                               "node 3 has joined")
            self.expect_answer(run, self.ask(bed, "remove", 1), 0,
                               "node 1 has left")
            self.expect_right(run, bed)


if __name__ == "__main__":
    raise SystemExit(test_runs.main(Tests))
