#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Signs of life over a lab's hosts, from the first greeting on.

    test_signs.py TEST --build DIR
    test_signs.py cuts SECONDS --build DIR     a grid of cuts, for that long a cell
    test_signs.py many NODES --build DIR       so many nodes on four hosts

Ways to the hosts may be slow, and may be cut again and again; agents, launchers and
hosts may be stopped, or die at any step of a start.
"""
import contextlib
import os
import re
import signal
import sys
import time

import lab
import test_network
import test_runs

SLOWDOWN = test_runs.SLOWDOWN
LOGIN_S = 7 * SLOWDOWN
# Up for longer than TCP's pause between two tries, which is 1 s at most: else a way may be
# up and nothing goes over it, and nodes hear nothing for longer than they are patient.
CUT_S, UP_S, N_CUTS = 2, 1.5, 4
STOPPED_S = 11 * SLOWDOWN  # longer than launcher and agents are patient
STEP_S = (5 + 2) * SLOWDOWN


class Tests(test_network.Tests):
    """With ways to the hosts that are not as they should be."""

    def slow_login(self, bed, host):
        """For --ssh: one that takes LOGIN_S to a host."""
        path = os.path.join(bed.folder, "slow_ssh")
        with open(path, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n"
                       f'case " $* " in *" {host} "*) sleep {LOGIN_S};; esac\n'
                       f'exec {bed.ssh()} -T -oBatchMode=yes "$@"\n')
        os.chmod(path, 0o700)
        return path

    def agent(self, bed, host):
        """Wait for it. @return its process"""
        return lab.wait_until(lambda: bed.agent(host), f"no agent on {host}")

    def finish_right(self, run):
        output = run.finish()
        self.expect("identical to the sequential" in output, "right", output)
        self.expect(not re.search(test_runs.LOST, output), "nobody is lost", output)

    def work(self, bed, *options, hosts="n1,n2,n3"):
        return self.run(bed, "-H", hosts, *options, self.app("jacobi"), "--verify",
                        "--size=200", "--iterations=30", "--threads=8")

    # ---- the start

    def a_slow_login_harms_nobody(self):
        with lab.lab(n_hosts=3) as bed:
            self.finish_right(self.work(bed, "--ssh", self.slow_login(bed, "n2")))

    def a_host_that_dies_while_another_logs_in_is_named(self):
        """Its agent has said hello, and is to start nobody yet."""
        with lab.lab(n_hosts=3) as bed:
            run = self.work(bed, "--ssh", self.slow_login(bed, "n2"))
            self.agent(bed, "n3")
            time.sleep(0.5) # it says hello
            bed.power_off("n3")
            output = run.finish(test_runs.UNREACHABLE, ["n3"])
            self.expect(re.search(r"^teamster run: cannot reach host n3: silent for "
                                  r"\d+ s;", output, re.M), "who, and why", output)
            self.expect("reach host n2" not in output, "n2 is fine", output)
            test_runs.expect_in_time(run.ended - run.start, LOGIN_S + STEP_S,
                                     "it has ended", output)

    def a_host_that_dies_before_its_node_joins_is_named(self):
        """Its node runs, but has not come to tm_init()."""
        with lab.lab(n_hosts=3) as bed:
            for host in bed.hosts:
                wait = "sleep 1000; " if host == "n3" else ""
                bed.inside(host, "sh", "-c", f"echo '#!/bin/sh\n{wait}exec "
                           f"{self.app('jacobi')} \"$@\"' > /run/program; "
                           "chmod +x /run/program")
            run = self.run(bed, "-H", "n1,n2,n3", "/run/program")
            lab.wait_until(lambda: "sleep 1000" in bed.processes("n3").values(),
                           "no program on n3")
            time.sleep(0.5)
            bed.power_off("n3")
            self.expect_loss(run, "host n3 is lost, with 1 of 3 nodes: silent for",
                             ["n3"], test_runs.BY_LAUNCHER_S)

    def many_nodes_of_few_hosts_meet_among_strangers(self):
        self.many(64)

    def many(self, n_nodes):
        """More of them than processors: each is slow."""
        first, last = test_network.PORT, test_network.PORT + n_nodes // 4 - 1
        hosts = ("n1", "n2", "n3", "n4")
        with lab.lab(n_hosts=5) as bed, contextlib.ExitStack() as strangers:
            for port in (first, last):
                strangers.enter_context(self.stranger(
                    bed, "n5", "attack", "n4", port))
            output = self.run(
                bed, "-H", ",".join(f"{host}:{n_nodes // 4}" for host in hosts),
                f"--port-range={first}-{last}", "--workers=1",
                self.app("hello")).finish(0, ["n5"])
        self.expect(f"nodes: {n_nodes}" in output, "all are there", output)
        self.expect("refused: others came" not in output,
                    "there is a place for each", output)
        return 0

    # ---- the way from the launcher

    def cut_again_and_again(self, bed, host, cut_s=CUT_S, up_s=UP_S,
                            n_cuts=N_CUTS):
        for _ in range(n_cuts):
            bed.cut(host)
            time.sleep(cut_s)
            bed.mend(host)
            time.sleep(up_s)

    def cuts_that_nodes_survive_do_no_harm(self):
        with lab.lab(n_hosts=3) as bed:
            run = self.long_run(bed)
            self.cut_again_and_again(bed, "n3")
            self.expect_alive(run, 1)

    def a_stopped_agent_does_no_harm(self):
        with lab.lab(n_hosts=3) as bed:
            run = self.long_run(bed)
            agent = self.agent(bed, "n3")
            os.kill(agent, signal.SIGSTOP)
            self.expect_running(run, STOPPED_S / SLOWDOWN)
            os.kill(agent, signal.SIGCONT)
            self.expect_alive(run, 2)

    def a_stopped_launcher_says_that_it_was(self):
        with lab.lab(n_hosts=3) as bed:
            run = self.long_run(bed)
            launcher = run.launcher()
            os.kill(launcher, signal.SIGSTOP)
            time.sleep(STOPPED_S)
            os.kill(launcher, signal.SIGCONT)
            run.process.send_signal(signal.SIGCONT) # nsenter stops with it
            output = run.finish(test_runs.NODE_LOST)
            self.expect(re.search(
                r"^teamster run: the launcher itself was stopped for \d+ s, and nodes "
                r"have ended without it", output, re.M), "who was away", output)
            self.expect(not re.search(test_runs.LOST, output),
                        "nobody else is blamed", output)

    # ---- a grid, by hand

    def cuts(self, seconds):
        """What becomes of runs: a line for each cell."""
        n_bad = 0
        for cut_s in (1, 2, 3, 4):
            for up_s in (0.5, 1, 2, 3):
                n_bad += self.cell(cut_s, up_s, seconds)
        return n_bad

    def cell(self, cut_s, up_s, seconds):
        """@return 1 if launcher or agents have ended what nodes had survived"""
        with lab.lab(n_hosts=3) as bed:
            run = self.long_run(bed)
            n_cuts = int(seconds / (cut_s + up_s)) + 1
            with contextlib.suppress(test_runs.Failure):
                self.cut_again_and_again(bed, "n3", cut_s, up_s, n_cuts)
            if run.process.poll() is None:
                self.expect_alive(run, 1)
                said = "goes on"
            else:
                output = run.process.communicate()[0]
                said = next((line for line in output.splitlines()
                             if re.search(test_runs.LOST, line)), output)
        is_bad = said != "goes on" and "--peer-timeout" not in said
        print(f"cut {cut_s} s, up {up_s} s: {said}{' BAD' * is_bad}", flush=True)
        return int(is_bad)


def main():
    by_hand = {"cuts": float, "many": int}
    if sys.argv[1] not in by_hand:
        return test_runs.main(Tests)
    test = getattr(Tests(sys.argv[sys.argv.index("--build") + 1]), sys.argv[1])
    return 1 if test(by_hand[sys.argv[1]](sys.argv[2])) > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
