#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What may happen to hosts and cables while a program runs over them.

    test_failures.py TEST --build DIR

docs/failures.md says which test shows what. Each loss must end the run, on every
host that can be reached, within the time promised and with one line; whatever is
no loss must change nothing.
"""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import lab
import test_runs
from groups import MemoryGroup
from test_runs import LEFTOVER_S, N3_IS_LOST, SLOWDOWN

OUT_OF_MEMORY = 71
WORK = ("--size=200", "--iterations=60", "--threads=8")


def read_text(path):
    return pathlib.Path(path).read_text(encoding="ascii")


def fill_group(group, victim):
    """Use up a group's memory until the kernel has killed a process. What is in a file in
    memory counts for the group, and for no process of it."""
    subprocess.run([sys.executable, "-c", f"""
import os
open('{group.path}/cgroup.procs', 'w').write('0')
file = os.memfd_create('hog')
while os.path.islink('/proc/{victim}/exe'):
    os.write(file, bytes(1 << 20))
"""], check=False)


class Tests(test_runs.Tests):
    def wire(self):
        return os.path.join(self.build, "tests", "lab", "wire")

    # ---- hangs

    def a_silent_node_is_named_and_may_come_back(self):
        with lab.lab(n_hosts=3) as bed:
            run = self.long_run(bed)
            node = run.program("n3", "jacobi")
            os.kill(node, signal.SIGSTOP)
            self.read_until(run, r"^teamster run: n3 \(node 2\) has been silent "
                                 r"for 3 s \(suspect\)$")
            os.kill(node, signal.SIGCONT)
            output = self.expect_alive(run, 4)
            self.expect("suspect" not in output, "it is said once", output)

    def a_node_that_is_given_up_is_not_waited_for(self):
        """However long others may take to end."""
        with lab.lab(n_hosts=2) as bed:
            run = self.long_run(bed, "n1,n2", TM_TEST_SLOWDOWN="1000")
            os.kill(run.program("n2", "jacobi"), signal.SIGSTOP)
            self.expect_loss(run, r"n2 \(node 1\) is lost: silent for 5 s")

    def a_host_that_comes_back_late_ends_and_disturbs_nobody(self):
        with lab.lab(n_hosts=3) as bed:
            run = self.long_run(bed)
            bed.freeze("n3")
            self.expect_loss(run, N3_IS_LOST, ["n3"])
            self.expect(run.program("n3", "jacobi"), "it is still there", "")
            second = self.run(bed, "-H", "n1,n2", self.app("jacobi"), "--verify",
                              "--size=400", "--iterations=1500", "--threads=8")
            bed.thaw("n3")
            output = second.finish() # and nothing is left, on n3 either
            self.expect("identical to the sequential" in output, "right",
                        output)

    def a_node_that_was_given_up_is_told_so(self):
        """Its host wakes up, the node first: nobody else could say it."""
        with lab.lab(n_hosts=3) as bed:
            program = os.path.join(bed.folder, "program")
            with open(program, "w", encoding="ascii") as file:
                # Each host has a /run of its own.
                file.write(f'#!/bin/sh\n{self.app("jacobi")} "$@" 2>/run/said\n'
                           "echo $? >/run/code\n")
            os.chmod(program, 0o700)
            # By another node, and by the launcher.
            for timeout, within_s in (("5", test_runs.DETECT_S),
                                      ("30", test_runs.BY_LAUNCHER_S)):
                self.give_up(bed, program, f"--peer-timeout={timeout}",
                             within_s)

    def a_host_of_many_is_missed_and_told_so(self):
        """Not all listen to it, and to its second node nobody of another host does."""
        hosts = [f"n{i}" for i in range(1, 8)]
        with lab.lab(n_hosts=len(hosts)) as bed:
            program = os.path.join(bed.folder, "program")
            with open(program, "w", encoding="ascii") as file:
                file.write(f'#!/bin/sh\n{self.app("jacobi")} "$@" 2>/run/said.$$\n'
                           "echo $? >/run/code.$$\n")
            os.chmod(program, 0o700)
            run = self.long_run(bed, ",".join(hosts).replace("n5", "n5:2"),
                                program=program)
            pids = [pid for pid, text in bed.processes("n5").items()
                    if program in text or text.startswith(self.app("jacobi"))]
            bed.freeze("n5")
            self.expect_loss(run, r"^teamster run: .*n5.* (is|are) lost: silent for",
                             ["n5"])
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
            lab.wait_until(lambda: len(bed.inside(
                "n5", "find", "/run", "-name", "code.*", "-size", "+0").split()) == 2,
                           "they do not end", LEFTOVER_S)
            said = bed.inside("n5", "sh", "-c", "cat /run/said.* /run/code.*")
            self.expect(len(re.findall(r"^76$", said, re.M)) == 2, "both 76", said)
            self.expect(len(re.findall(
                r"^teamster: n\d: node [45] has been away for \d+\.\d s .*the others have "
                r"gone on without it$", said, re.M)) == 2, "both know why", said)
            bed.thaw("n5")
            run.expect_nothing_left(said)

    def give_up(self, bed, program, option, within_s):
        run = self.long_run(bed, "n1,n2,n3", "n1", option, program=program)
        pids = [next(pid for pid, text in bed.processes("n3").items()
                     if text.startswith(words))
                for words in (f"/bin/sh {program} ", self.app("jacobi"))]
        bed.freeze("n3")
        self.expect_loss(run, N3_IS_LOST, ["n3"], within_s)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        lab.wait_until(lambda: bed.inside("n3", "find", "/run", "-name", "code",
                                          "-size", "+0"),
                       "it does not end", LEFTOVER_S)
        code = int(bed.inside("n3", "cat", "/run/code"))
        said = bed.inside("n3", "cat", "/run/said")
        bed.inside("n3", "rm", "/run/code")
        self.expect(code == test_runs.MISMATCH, f"{code} is 76", said)
        self.expect(len(re.findall(
            r"^teamster: n3: node 2 has been away for \d+\.\d s \(was it, or its "
            r"host, stopped\?\): node [01] says that the others have gone on "
            r"without it$", said, re.M)) == 1, "by whom, and why", said)
        bed.thaw("n3")
        run.expect_nothing_left(said)

    # ---- cables

    def a_partition_ends_the_run_on_both_sides(self):
        with lab.lab(n_hosts=4) as bed:
            # Nodes are as patient as the launcher, which names all who are silent.
            run = self.long_run(bed, "n1,n2,n3,n4", "n1",
                                f"--peer-timeout={5 * SLOWDOWN:.0f}")
            bed.partition("n3", "n4") # the root and the launcher are on n1
            self.expect_loss(run, r"^teamster run: (host )?n[34] .*(is|are) lost")
            bed.unify()

    def a_way_that_is_lost_ends_the_run(self):
        with lab.lab(n_hosts=3) as bed:
            for host, other in (("n3", "n1"), ("n1", "n3")):
                run = self.long_run(bed)
                bed.lose_way(host, other)
                self.expect_loss(run, r"^teamster run: (host )?n[13] .*is lost")
                bed.find_way(host, other)

    def a_killed_ssh_ends_the_run(self):
        with lab.lab(n_hosts=3) as bed:
            run = self.long_run(bed)
            ssh = next(pid for pid, text in bed.processes("n1").items()
                       if text.startswith("ssh ") and " n3 " in text)
            os.kill(ssh, signal.SIGKILL)
            self.expect_loss(run, "host n3 is lost, with 1 of 3 nodes: the "
                                  "connection to it has ended",
                             within_s=test_runs.AT_ONCE_S)

    def a_bad_network_changes_no_result(self):
        """Delay, loss, packets twice and out of order."""
        with lab.lab(n_hosts=3) as bed:
            with bed.bad_wire("n2", self.wire(), delay_ms=2, loss=2,
                              duplicate=5, reorder=5):
                output = self.run(bed, "-H", "n1,n2,n3", self.app("jacobi"),
                                  "--verify", *WORK).finish()
            self.expect("identical to the sequential" in output, "right",
                        output)

    def no_false_death_on_a_bad_network(self):
        for bad in ({"loss": 10}, {"delay_ms": 200}):
            with lab.lab(n_hosts=3) as bed:
                run = self.long_run(bed)
                with bed.bad_wire("n2", self.wire(), **bad):
                    time.sleep(10 * SLOWDOWN)
                self.expect_alive(run, 1)

    # ---- slow nodes

    @contextlib.contextmanager
    def quota(self, percent, pids):
        """Processes that may have so much of one processor, where groups of the
        first version can be made; else they just run."""
        group = f"/sys/fs/cgroup/cpu/teamster-lab-{os.getpid()}"
        try:
            os.mkdir(group)
        except OSError:
            yield
            return
        try:
            for name, period_us in (("cpu.cfs_quota_us", 100000),
                                    ("cpu.rt_runtime_us", 1000000)):
                if os.path.exists(f"{group}/{name}"):  # for service threads
                    with open(f"{group}/{name}", "w", encoding="ascii") as file:
                        file.write(str(period_us * percent // 100))
            for pid in pids:
                with open(f"{group}/cgroup.procs", "w", encoding="ascii") as file:
                    file.write(str(pid))
            yield
        finally:
            lab.wait_until(lambda: not any(map(lab.is_alive, pids)),
                           "it does not end", LEFTOVER_S)
            os.rmdir(group)

    def no_false_death_of_a_slow_node(self):
        """One that has a third of a processor, pages, and is stopped for 2 s."""
        text = "n1 memory=64M\nn2 memory=400K\nn3 memory=64M\n"
        with lab.lab(n_hosts=3) as bed:
            path = os.path.join(bed.folder, "hostfile")
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
            run = self.run(bed, "--hostfile", path, self.app("jacobi"),
                           "--verify", "--size=400", "--iterations=400",
                           "--threads=12")
            node = run.program("n2", "jacobi")
            with self.quota(30, [node]):
                time.sleep(1)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(node, signal.SIGSTOP)
                    time.sleep(2)
                    os.kill(node, signal.SIGCONT)
                output = run.finish()
            self.expect("identical to the sequential" in output, "right",
                        output)
            self.expect(not re.search(test_runs.LOST, output),
                        "nobody is lost", output)

    # ---- memory

    def a_full_disk_of_one_host_ends_the_run(self):
        """Where the others' swap files have room."""
        with lab.lab(n_hosts=3) as bed:
            disk = os.path.join(bed.folder, "disk")
            os.mkdir(disk)
            bed.inside("n2", "mount", "-t", "tmpfs", "-o", "size=1M", "none", disk)
            run = self.run(bed, "-H", "n1,n2,n3", "--memory=240K", "--swap-dir",
                           disk, self.app("jacobi"), "--size=500",
                           "--iterations=1000000")
            output = run.finish(OUT_OF_MEMORY)
            self.expect("n2: memory is short: the node may use 240 KiB for shared "
                        "data, and its swap file is full; more --memory or space in "
                        "--swap-dir helps" in output,
                        "what is full, and what helps", output)
            self.expect("teamster run: n2 (node 1) ends the run with exit code 71 "
                        in output, "which host", output)

    def a_node_killed_for_memory_is_told(self):
        """Too little for what the program has, in a group that says so."""
        with lab.lab(n_hosts=2) as bed, MemoryGroup(24 << 20) as group:
            program = os.path.join(bed.folder, "program")
            with open(program, "w", encoding="ascii") as file:
                file.write("#!/bin/sh\n"
                           f"[ $TEAMSTER_NODE = 1 ] && {group.join()}\n"
                           f'exec {self.app("jacobi")} "$@"\n')
            os.chmod(program, 0o700)
            for nodes, name in (("-n2", r"node 1 \(pid \d+\)"),
                                ("-Hn1,n2", r"n2 \(node 1\)")):
                output = self.run(bed, nodes, "--memory=1G", program,
                                  "--size=4000",
                                  "--iterations=30").finish(OUT_OF_MEMORY)
                self.expect(re.search(
                    rf"^teamster run: {name} died: killed by the kernel for "
                    rf"memory \(limit 24 MiB, by {group.path}/[a-z._]+\) after "
                    r"\d+\.\d s.*\. Use fewer threads there, or --memory\.$",
                    output, re.M), "who, its limit, what to do", output)

    def an_agent_killed_for_memory_is_told(self):
        """The kernel takes a node rather than an agent; if it did take the agent, that is
        said."""
        with lab.lab(n_hosts=2) as bed, MemoryGroup(256 << 20) as group:
            ssh = os.path.join(bed.folder, "ssh")
            with open(ssh, "w", encoding="ascii") as file:
                file.write(f'#!/bin/bash\nexec {bed.ssh()} "${{@:1:$#-1}}" '
                           f"'{group.join()};' \"${{@: -1}}\"\n")
            os.chmod(ssh, 0o700)
            run = self.long_run(bed, "n1,n2", TEAMSTER_SSH=ssh)
            agent, = [pid for pid in bed.processes("n2")
                      if read_text(f"/proc/{pid}/comm") == "teamster\n"]
            node = run.program("n2", "jacobi")
            scores = {pid: int(read_text(f"/proc/{pid}/oom_score_adj"))
                      for pid in (agent, node)}
            self.expect(scores[node] > scores[agent], "a node goes first", str(scores))
            pathlib.Path(f"/proc/{agent}/oom_score_adj").write_text(
                "1000", encoding="ascii")
            fill_group(group, agent)
            output = self.expect_loss(run, r"^teamster run: host n2 is lost, ")
            self.expect(re.search(
                r"^teamster run: n2: .*the agent was killed by the kernel for memory "
                rf"\(limit 256 MiB, by {group.path}/", output, re.M),
                "who killed it", output)


if __name__ == "__main__":
    raise SystemExit(test_runs.main(Tests))
