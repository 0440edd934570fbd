#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Hosts of a lab are lost, and runs go on without them.

    test_recovery.py TEST --build DIR

The launcher is on n1. Results are the same bits as without losses.
"""
import os
import re
import signal
import subprocess
import sys
import time

import lab
import test_runs
from test_runs import DEADLINE_S
from test_signs import STOPPED_S

LONG_SOR = ("--size=400", "--threads=6", "--iterations=1000", "--effort=40")
SOR = ("--size=400", "--threads=6", "--iterations=400", "--effort=40")
LONG = (*SOR, "--iterations=2000")  # the last one counts


class Tests(test_runs.Tests):
    def generations(self, bed):
        """Of those that have a manifest, rising."""
        folder = os.path.join(bed.folder, "saved")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        return sorted(int(name.split("-")[1]) for name in names if os.path.exists(
            os.path.join(folder, name, "manifest")))

    def right(self, work=SOR):
        return self.checksum(subprocess.run(
            [self.app("sor"), "--sequential", *work], text=True,
            stdout=subprocess.PIPE, check=True).stdout)

    def start(self, bed, *words, work=SOR):
        """A run that has written some checkpoints."""
        run = self.run(bed, f"--checkpoint={bed.folder}/saved,every=10",
                       "--recover", *words, self.app("sor"), *work)

        def has_saved():
            if run.process.poll() is not None:
                run.fail("it ends", run.process.communicate()[0])
            return max(self.generations(bed), default=0) >= 3

        lab.wait_until(has_saved, "no checkpoints", DEADLINE_S)
        return run

    def newest_in_memory(self, bed):
        """The newest generation with a manifest on any host; 0: none has."""
        found = [bed.inside(host, "sh", "-c", "ls -d /dev/shm/teamster-*/"
                            "checkpoints/generation-*/manifest 2>&1 || true")
                 for host in bed.hosts]
        return max(map(int, re.findall(r"generation-(\d+)/manifest$", "".join(found),
                                       re.M)), default=0)

    def start_in_memory(self, bed, *words, buddy="every=10", work=SOR, **variables):
        run = self.run(bed, f"--buddy={buddy}", *words, self.app("sor"), *work,
                       **variables)

        def has_saved():
            if run.process.poll() is not None:
                run.fail("it ends", run.process.communicate()[0])
            return self.newest_in_memory(bed) >= 3

        lab.wait_until(has_saved, "no checkpoints", DEADLINE_S)
        return run

    def ask(self, bed, variables, *words):
        return subprocess.run(
            bed.command_on("n1", os.path.join(self.build, "cli", "teamster"), *words),
            env={**os.environ, **variables}, text=True, stdout=subprocess.PIPE,
            check=True).stdout

    def expect_goes_on(self, run, right, places, but_hosts=(), n_back=1):
        output = run.finish(but_hosts=but_hosts)
        self.expect(self.checksum(output) == right, right, output)
        said = re.findall(r"^teamster run: .*$", output, re.M)
        back = [line for line in said if "back to iteration" in line]
        self.expect(len(back) == n_back, "gone back", output)
        self.expect(back[0].endswith(places), places, output)
        return output

    def a_host_without_power_is_gone_back_for(self):
        """A spare takes its place; two lines say so. Then, on two other hosts, somebody
        has the rest done again."""
        right = self.right()
        with lab.lab(n_hosts=5) as bed:
            run = self.start(bed, "-H", "n1,n2,n3,n4", "--spare=n5")
            bed.power_off("n3")
            output = self.expect_goes_on(run, right, " s lost; n5 in place of n3",
                                         ["n3"])
            lost = [line for line in output.splitlines()
                    if re.match(r"teamster run: .*n3.* is lost[,:]", line)]
            self.expect(len(lost) == 1, "one line of the loss", output)
            output = self.run(bed, "-H", "n2,n5:2", "--memory=2M",
                              f"--restart={bed.folder}/saved").finish(
                                  but_hosts=["n3"])
            self.expect(self.checksum(output) == right, right, output)

    def the_roots_host_without_power_is_gone_back_for(self):
        """Without a spare, the others get its threads."""
        right = self.right()
        with lab.lab(n_hosts=4) as bed:
            run = self.start(bed, "-H", "n2,n3,n4")
            bed.power_off("n2")
            self.expect_goes_on(run, right, "; 2 nodes instead of 3", ["n2"])

    def a_killed_agent_is_gone_back_for(self):
        right = self.right()
        with lab.lab(n_hosts=3) as bed:
            run = self.start(bed, "-H", "n1,n2:2", "--spare=n3:2")
            os.kill(bed.agent("n2"), signal.SIGKILL)
            self.expect_goes_on(
                run, right, "; n3 in place of n2; n3 in place of n2")

    def a_spare_that_cannot_be_reached_is_left_out(self):
        right = self.right()
        with lab.lab(n_hosts=3) as bed:
            run = self.start(bed, "-H", "n1,n2", "--spare=n9,n3")
            bed.power_off("n2")
            output = self.expect_goes_on(run, right, "; n9 in place of n2",
                                         ["n2"], n_back=2)
            self.expect("cannot reach host n9" in output, "told", output)
            self.expect("; n3 in place of n9" in output, "next", output)

    def a_stopped_launcher_goes_back_on_all_hosts(self):
        """Nodes of other hosts have ended without it; the hosts are there."""
        right = self.right(LONG)
        with lab.lab(n_hosts=3) as bed:
            run = self.start(bed, "-H", "n1,n2,n3", work=LONG)
            launcher = run.launcher()
            os.kill(launcher, signal.SIGSTOP)
            time.sleep(STOPPED_S)
            os.kill(launcher, signal.SIGCONT)
            run.process.send_signal(signal.SIGCONT)  # nsenter stops with it
            output = self.expect_goes_on(run, right, " s lost")
            self.expect("the launcher itself was stopped" in output, "why", output)

    def a_partition_is_gone_back_for(self):
        """Two of four hosts are cut off: the others do it all."""
        right = self.right()
        with lab.lab(n_hosts=4) as bed:
            run = self.start(bed, "-H", "n1,n2,n3,n4")
            bed.partition("n3", "n4")
            line = self.read_until(run, "back to iteration")
            self.expect(line.endswith("; 2 nodes instead of 4\n"), "both", line)
            bed.unify()
            output = run.finish()
            self.expect(self.checksum(output) == right, right, output)

    def a_host_that_comes_back_does_not_disturb(self):
        """All its processes are stopped, and go on when others have its place."""
        right = self.right()
        with lab.lab(n_hosts=4) as bed:
            run = self.start(bed, "-H", "n1,n2,n3", "--spare=n4")
            bed.freeze("n3")
            line = self.read_until(run, "back to iteration")
            bed.thaw("n3")
            self.expect(line.endswith("; n4 in place of n3\n"), "its place", line)
            output = run.finish()
            self.expect(self.checksum(output) == right, right, output)
            self.expect("back to" not in output, "once", output)

    def from_memory_a_host_without_power_is_gone_back_for(self):
        """The spare gets what it needs."""
        right = self.right()
        with lab.lab(n_hosts=4) as bed:
            run = self.start_in_memory(bed, "-H", "n1,n2,n3", "--spare=n4")
            bed.power_off("n3")
            self.expect_goes_on(run, right, " s lost; n4 in place of n3", ["n3"])

    def from_memory_a_host_without_power_is_gone_back_for_unasked(self):
        """Of a program that knows nothing of it."""
        right = self.right()
        for hosts in ("n1,n2,n3", "n3,n2,n1"):  # the root's, too
            with lab.lab(n_hosts=3) as bed:
                run = self.start_in_memory(bed, "-H", hosts, buddy="auto", TEAMSTER_TEST_EVERY="0:300")
                bed.power_off("n3")
                self.expect_goes_on(run, right, "; 2 nodes instead of 3", ["n3"])

    def from_memory_a_host_joins_and_one_without_power_is_gone_back_for(self):
        """Its nodes are on the host that has joined then, too."""
        right = self.right(LONG_SOR)
        with lab.lab(n_hosts=5) as bed:
            variables = {"TMPDIR": bed.folder, "XDG_RUNTIME_DIR": ""}
            run = self.start_in_memory(bed, "-H", "n1,n2,n3,n4", work=LONG_SOR,
                                       **variables)
            newest = self.newest_in_memory(bed)
            job = re.search(r"(?m)^ *(\d+) .*sor$", self.ask(bed, variables, "ps"))[1]
            self.ask(bed, variables, "add", job, "n5")
            lab.wait_until(lambda: self.newest_in_memory(bed) >= newest + 2,
                           "no checkpoints with it", DEADLINE_S)
            bed.power_off("n3")
            self.expect_goes_on(run, right, "; 4 nodes instead of 5", ["n3"])

    def from_memory_two_hosts_without_power_are_gone_back_for(self):
        """The root's is one of them; none keeps what the other has saved."""
        right = self.right()
        with lab.lab(n_hosts=4) as bed:
            run = self.start_in_memory(bed, "-H", "n2,n3,n4,n1")
            bed.power_off("n2")
            bed.power_off("n4")
            self.expect_goes_on(run, right, "; 2 nodes instead of 4", ["n2", "n4"])


if __name__ == "__main__":
    sys.exit(test_runs.main(Tests))
