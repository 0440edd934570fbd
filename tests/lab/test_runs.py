#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`teamster run` over the hosts of a lab.

    test_runs.py TEST --build DIR

After each run every host is searched: no process and no segment of it may be
left. The launcher runs on n1 unless a test says otherwise.
"""
import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import time

import lab

from jobs import PROTOCOLS, environment

SLOWDOWN = float(os.environ.get("TM_TEST_SLOWDOWN", "1"))
DEADLINE_S = 120 * SLOWDOWN  # what is never reached if all is well
LOADED_S = 20 * SLOWDOWN  # what a loaded machine may add to a promise
GONE_S = 10 * SLOWDOWN  # until nothing is left
LEFTOVER_S = GONE_S + LOADED_S
# Until all have ended for a loss: of a process, of a host, of one that only the
# launcher notices (cli/beat.h).
AT_ONCE_S = 3 * SLOWDOWN
DETECT_S = (5 + 2) * SLOWDOWN
BY_LAUNCHER_S = (9 + 2) * SLOWDOWN
N_ATTEMPTS = 3  # of what may be late because the machine is busy
UNREACHABLE, NODE_LOST, MISMATCH = 69, 75, 76
LOST = r"(?m)^(?!.* debug: ).*( died: | (is|are) lost[:,])"
# Said by the launcher or by another node, whoever notices first.
SILENCES = rf"({5 * SLOWDOWN:.0f}|{9 * SLOWDOWN:.0f})"  # cli/beat.h
N3_IS_LOST = (r"^teamster run: (host n3 is lost, with 1 of 3 nodes: silent for "
              rf"{SILENCES} s"
              r"|n3 \(node 2\) is lost: silent for 5 s \(--peer-timeout\))"
              r", after \d+\.\d s, iteration \d+\. \d+ of \d+ threads lost\.$")


# Whose variables, which say how nodes start and find each other, runs do not get.
OTHERS = ("UCX_", "OMPI_", "PMIX_", "SLURM_")


class Failure(Exception):
    """A fact that should hold does not."""


class Late(Failure):
    """It holds, but later than promised. What is wrong is late each time."""


def expect_in_time(seconds, promised_s, what, output):
    if seconds > promised_s + LOADED_S:
        raise Failure(f"{what} after {seconds:.1f} s\n{output}")
    if seconds > promised_s:
        raise Late(f"{what} after {seconds:.1f} s, not {promised_s:.0f}\n{output}")


def is_busy():
    """Does somebody else use the processors?"""
    return os.getloadavg()[0] > len(os.sched_getaffinity(0))


class Run:
    """A run that has been started. `command` begins behind `teamster run`."""

    def __init__(self, bed, build, *command, host="n1", folder=None,
                 **variables):
        self.begin(bed, [os.path.join(build, "cli", "teamster"), "run",
                         "--tag-output", *map(str, command)], host, folder,
                   {"TEAMSTER_POLICY": "none", "TEAMSTER_SSH": bed.ssh(),
                    "TEAMSTER_BUDDY": "off", **variables})

    def begin(self, bed, command, host, folder, variables):
        """Start the command, with no variables of anybody else's."""
        self.bed = bed
        self.command = command
        self.process = subprocess.Popen(
            bed.command_on(host, *self.command),
            env=environment(variables, OTHERS), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, errors="replace",
            cwd=folder or bed.folder)
        self.start = time.monotonic()
        self.ended = None

    def fail(self, what, output=""):
        raise Failure(f"{what}\nof: {' '.join(self.command)}\n{output}")

    def give_up(self, what):
        """Fail, with what a run that has not ended has said. Its output ends with its
        processes: all hosts' are killed."""
        print(self.bed.state(), flush=True)
        for host, first in self.bed.hosts.items():
            for pid in self.bed.processes(host) if lab.is_alive(first) else ():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        try:
            output = self.process.communicate(timeout=LEFTOVER_S)[0]
        except subprocess.TimeoutExpired:
            output = "and its output does not end"
        self.fail(what, output)

    def program(self, host, name):
        """The first node of a host."""
        return lab.wait_until(
            lambda: next((pid for pid, text in
                          sorted(self.bed.processes(host).items())
                          if os.path.basename(text.partition(" ")[0]) == name), None),
            f"no {name} on {host}", DEADLINE_S)

    def launcher(self, host="n1"):
        """Not nsenter, which is not on the host."""
        return next(pid for pid, text in self.bed.processes(host).items()
                    if text.startswith(self.command[0] + " run "))

    def lines(self, n_lines=1):
        """Wait for some lines of output. @return them"""
        return [self.process.stdout.readline() for _ in range(n_lines)]

    def finish(self, expected=0, but_hosts=()):
        """@return the output"""
        def output_of_all():
            try:
                return self.process.communicate(timeout=0.2)
            except subprocess.TimeoutExpired:
                return None

        try:
            output, _ = lab.wait_until(output_of_all, "", DEADLINE_S)
            self.ended = time.monotonic()
        except TimeoutError:
            self.give_up(f"no end after {DEADLINE_S:.0f} s")
        if self.process.returncode != expected:
            self.fail(f"exit code {self.process.returncode}, not {expected}",
                      output)
        self.expect_nothing_left(output, but_hosts)
        return output

    def left_on(self, host):
        """Its processes: none may be left."""
        return self.bed.processes(host)

    def memory_of(self, host):
        """Its folders of shared memory: none may be left."""
        return self.bed.inside(host, "ls", "/dev/shm")

    def expect_nothing_left(self, output="", but_hosts=()):
        start = time.monotonic()
        for host in self.bed.hosts:
            if host in but_hosts:
                continue
            try:
                lab.wait_until(lambda: not self.left_on(host), "", LEFTOVER_S)
                lab.wait_until(lambda: not self.memory_of(host), "",
                               LEFTOVER_S)
            except TimeoutError:
                self.fail(f"left on {host}: {self.left_on(host)} "
                          f"{self.memory_of(host)}", output)
        expect_in_time(time.monotonic() - start, GONE_S, "nothing is left", output)


class Tests:
    def __init__(self, build):
        self.build = os.path.abspath(build)

    def app(self, name):
        return os.path.join(self.build, "apps", name)

    def run(self, bed, *command, **options):
        return Run(bed, self.build, *command, **options)

    def long_run(self, bed, hosts="n1,n2,n3", host="n1", *options,
                 program=None, **variables):
        """A run that does not end by itself, and is past its first iteration."""
        run = self.run(bed, "--verbose", "-H", hosts, *options,
                       program or self.app("jacobi"), "--size=1024",
                       "--iterations=1000000", host=host, **variables)
        seen = []
        while not seen or not re.search(r"are running .*iteration \d", seen[-1]):
            seen += run.lines()
            if seen[-1] == "":
                run.fail("it does not start", "".join(seen))
            if re.search("nodes are (connected|running)", seen[-1]):
                time.sleep(0.1)
                os.kill(run.launcher(host), signal.SIGUSR1)
        return run

    def expect(self, condition, what, output):
        if not condition:
            raise Failure(f"{what} does not hold in\n{output}")

    def read_until(self, run, pattern):
        """Read the run's lines. @return the one with the pattern"""
        seen = []
        while not seen or not re.search(pattern, seen[-1]):
            seen += run.lines()
            if seen[-1] == "":
                run.fail(f"{pattern} is not said", "".join(seen))
        return seen[-1]

    def expect_running(self, run, seconds):
        """It goes on for so long."""
        time.sleep(seconds * SLOWDOWN)
        if run.process.poll() is not None:
            run.fail("it has ended", run.process.communicate()[0])

    def expect_alive(self, run, seconds):
        """The same, and then can be ended. @return the output"""
        self.expect_running(run, seconds)
        os.kill(run.launcher(), signal.SIGTERM)
        output = run.finish(128 + signal.SIGTERM)
        self.expect(not re.search(LOST, output), "nobody is lost", output)
        return output

    # ---- results

    def checksum(self, text):
        match = re.search(r"checksum: ([0-9a-f]{16})$", text, re.M)
        self.expect(match, "a checksum", text)
        return match.group(1)

    def results_are_those_of_one_host(self):
        work = ("--size=200", "--iterations=30", "--threads=8")
        alone = self.checksum(subprocess.run(
            [self.app("jacobi"), "--sequential", *work], text=True,
            stdout=subprocess.PIPE, check=True).stdout)
        with lab.lab(n_hosts=4) as bed:
            for hosts in ("n1,n2", "n2,n3,n4,n1", "n3,n4:2", "n1:2,n2:2"):
                for protocol in PROTOCOLS:
                    output = self.run(
                        bed, "-H", hosts, "--protocol", protocol,
                        self.app("jacobi"), "--verify", *work).finish()
                    self.expect(self.checksum(output) == alone,
                                f"{alone} on {hosts}", output)

    def all_programs_give_their_results(self):
        sizes = {"sor": 200, "matmul": 128, "gauss": 128, "nbody": 200,
                 "motion": 128, "vq": 128}
        with lab.lab(n_hosts=4) as bed:
            for name, size in sizes.items():
                output = self.run(bed, "-H", "n1,n2,n3,n4", self.app(name),
                                  "--verify", "--threads=8",
                                  f"--size={size}").finish()
                self.expect("identical to the sequential" in output, name,
                            output)

    def threads_move_between_hosts(self):
        work = ("--size=200", "--iterations=60", "--threads=8")
        with lab.lab(n_hosts=3) as bed:
            output = self.run(bed, "-H", "n1,n2,n3", "--shuffle=7",
                              self.app("sor"), "--verify", *work).finish()
            self.checksum(output)

    def hostfiles_reach_their_nodes(self):
        text = ("# name of the host, what it is like\n"
                "n1 addr=10.250.77.1 workers=1 speed=500\n"
                "n2 slots=1 memory=64M speed=400 # and a comment\n"
                "n2 workers=1 speed=400\n")
        with lab.lab(n_hosts=2) as bed:
            path = os.path.join(bed.folder, "hostfile")
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
            output = self.run(bed, "--hostfile", path,
                              self.app("hello")).finish()
            self.expect("nodes: 3" in output, "three nodes", output)
            # What a node measures may come when a short program has ended.
            run = self.run(bed, "--verbose", "--hostfile", path,
                           self.app("jacobi"), "--size=1024",
                           "--iterations=1000000")
            wanted = {rf"node {number} on {host}:.* 1 workers"
                      for number, host in enumerate(("n1", "n2", "n2"))}
            while wanted:
                line = self.read_until(run, "|".join(wanted))
                wanted = {words for words in wanted
                          if not re.search(words, line)}
            self.expect_alive(run, 0)

    def input_and_output_go_through(self):
        script = ("echo out; echo err >&2; test $TEAMSTER_NODE = 0 && cat; "
                  "pwd; exit $((TEAMSTER_NODE + 3))")
        text = "".join(f"line {i}\n" for i in range(20000))
        with lab.lab(n_hosts=2) as bed:
            ended = subprocess.run(
                bed.command_on("n1", "env", "-C", "/usr/lib",
                               f"{self.build}/cli/teamster", "run", "-H",
                               "n2,n2", "sh", "-c", script),
                env=dict(os.environ, TEAMSTER_SSH=bed.ssh()), input=text,
                capture_output=True, text=True, timeout=DEADLINE_S,
                check=False)
            self.expect(ended.returncode == 4, "the highest exit code",
                        ended.stderr)
            lines = ended.stdout.splitlines(keepends=True)
            for line in ("out\n", "/usr/lib\n"):
                self.expect(lines.count(line) == 2, line, ended.stdout[-500:])
            got = "".join(line for line in lines if line.startswith("line"))
            self.expect(got == text, f"all input, {len(text)} bytes",
                        f"{len(got)} bytes, ends {got[-100:]}")
            self.expect(ended.stderr.count("err\n") == 2, "all errors",
                        ended.stderr)

    # ---- a wrong start

    def unreachable_hosts_are_named_together(self):
        with lab.lab(n_hosts=4) as bed:
            bed.cut("n4")
            run = self.run(bed, "-H", "n1,n9,n2,n4,nowhere",
                           self.app("hello"))
            output = run.finish(UNREACHABLE)
            seconds = time.monotonic() - run.start
            for host in ("n9", "n4", "nowhere"):
                self.expect(f"cannot reach host {host}: " in output and
                            f"ssh_config {host} " in output, host, output)
            self.expect("reach host n2" not in output, "n2 is fine", output)
            self.expect(seconds < 10 * SLOWDOWN + LOADED_S, "in time", output)

    def a_host_without_the_program_is_named(self):
        with lab.lab(n_hosts=3) as bed:
            program = os.path.join(bed.folder, "program")
            subprocess.run(["cp", self.app("hello"), program], check=True)
            for host in ("n2", "n3"): # each has an empty folder there
                bed.inside(host, "mkdir", "/run/program")
            bed.inside("n1", "cp", "-r", self.app("hello"), "/run/program")
            output = self.run(bed, "-H", "n1,n2,n3",
                              "/run/program").finish(UNREACHABLE)
            for host in ("n2", "n3"):
                self.expect(f"host {host} cannot start '/run/program'" in
                            output, host, output)

    def another_program_is_refused(self):
        with lab.lab(n_hosts=3) as bed:
            for host, app in (("n1", "jacobi"), ("n2", "jacobi"),
                              ("n3", "sor")):
                bed.inside(host, "cp", self.app(app), "/run/program")
            output = self.run(bed, "-H", "n1,n2,n3",
                              "/run/program").finish(MISMATCH)
            self.expect("build-id differs" in output and "n3 (node 2)" in output,
                        "both values, and n3", output)
            self.expect(output.count('has "') == 2, "both values", output)

    # ---- ends

    def expect_loss(self, run, pattern, but_hosts=(), within_s=DETECT_S):
        """It has just happened. @return the output"""
        start = time.monotonic()
        output = run.finish(NODE_LOST, but_hosts)
        seconds = run.ended - start
        self.expect(re.search(pattern, output, re.M), pattern, output)
        self.expect(len(re.findall(LOST, output)) == 1,
                    "it is said once", output)
        expect_in_time(seconds, within_s, "it has ended", output)
        return output

    def a_killed_node_ends_the_run(self):
        with lab.lab(n_hosts=4) as bed:
            for host, killed in (("n1", "n2"), ("n1", "n1"), ("n4", "n1"),
                                 ("n4", "n3")):
                run = self.long_run(bed, host=host)
                os.kill(run.program(killed, "jacobi"), signal.SIGKILL)
                self.expect_loss(run, rf"^teamster run: {killed} \(node \d\) "
                                      r"died: killed by SIGKILL after \d+\.\d s"
                                      r", iteration \d+\. \d+ of \d+ threads lost\.$",
                                 within_s=AT_ONCE_S)

    def a_host_without_power_ends_the_run(self):
        with lab.lab(n_hosts=3) as bed:
            run = self.long_run(bed)
            bed.power_off("n3")
            self.expect_loss(run, N3_IS_LOST, ["n3"])

    def a_cut_cable_ends_the_run_on_both_sides(self):
        with lab.lab(n_hosts=3) as bed:
            run = self.long_run(bed)
            bed.cut("n3")
            self.expect_loss(run, N3_IS_LOST)

    def a_launchers_cut_cable_ends_the_run_on_both_sides(self):
        """Its host has no node: nobody but agents can notice."""
        with lab.lab(n_hosts=3) as bed:
            run = self.long_run(bed, "n2,n3")
            bed.cut("n1")
            self.expect_loss(run, r"^teamster run: host n[23] is lost, with 1 of 2 "
                             "nodes: silent for", within_s=BY_LAUNCHER_S)

    def a_broken_way_between_two_hosts_ends_the_run(self):
        with lab.lab(n_hosts=3) as bed:
            run = self.long_run(bed)
            bed.part("n2", "n3") # the launcher, on n1, reaches both
            self.expect_loss(run, r"n[23] \(node [12]\) is lost: silent for 5 s")

    def a_stopped_node_ends_the_run(self):
        with lab.lab(n_hosts=3) as bed:
            run = self.long_run(bed)
            stopped = run.program("n3", "jacobi")
            os.kill(stopped, signal.SIGSTOP)
            time.sleep(2)
            os.kill(stopped, signal.SIGCONT) # soon enough
            self.expect_running(run, 4)
            os.kill(stopped, signal.SIGSTOP)
            self.expect_loss(run, r"n3 \(node 2\) is lost: silent for 5 s")

    def a_cable_that_is_soon_back_does_no_harm(self):
        with lab.lab(n_hosts=3) as bed:
            run = self.long_run(bed)
            bed.cut("n3")
            time.sleep(2.5) # and TCP may take as long again to notice
            bed.mend("n3")
            self.expect_alive(run, 7)

    def a_killed_agent_or_launcher_leaves_nothing(self):
        with lab.lab(n_hosts=3) as bed:
            run = self.long_run(bed)
            agent = next(pid for pid, text in bed.processes("n3").items()
                         if text.startswith(run.command[0] + " agent"))
            os.kill(agent, signal.SIGKILL)
            self.expect_loss(run, "host n3 is lost, with 1 of 3 nodes",
                             within_s=AT_ONCE_S)
            run = self.long_run(bed)
            os.kill(run.launcher(), signal.SIGKILL)
            run.process.communicate()
            run.expect_nothing_left()

    def what_is_killed_as_a_whole_leaves_a_folder_to_the_next_run(self):
        """All of a run on a host at once, as Slurm kills a step."""
        with lab.lab(n_hosts=2) as bed:
            run = self.long_run(bed, "n1,n2")
            pids = list(bed.processes("n2"))
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in pids:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, number) # one that has helped to start them
            run.finish(NODE_LOST, ["n2"])
            self.expect(bed.inside("n2", "ls", "/dev/shm"), "a folder is left",
                        str(bed.processes("n2")))
            run = self.long_run(bed, "n1,n2")
            self.expect(len(bed.inside("n2", "ls", "/dev/shm").split()) == 1,
                        "it has gone", bed.inside("n2", "ls", "/dev/shm"))
            self.run(bed, "-H", "n1,n2", self.app("hello")).process.communicate()
            self.expect(len(bed.inside("n2", "ls", "/dev/shm").split()) == 1,
                        "one that is used stays",
                        bed.inside("n2", "ls", "/dev/shm"))
            self.expect_alive(run, 0)

    def signals_end_the_run(self):
        with lab.lab(n_hosts=3) as bed:
            for number in (signal.SIGTERM, signal.SIGINT):
                run = self.long_run(bed)
                os.kill(run.launcher(), number)
                run.finish(128 + number)


def exit_code(test):
    """Run a test where labs can be made. @return the exit code that ctest knows"""
    for attempt in range(N_ATTEMPTS):
        time.sleep(5 * attempt)
        try:
            lab.check_machine()
            test()
            return 0
        except lab.Skip as skipped:
            print(f"skipped: {skipped}")
            return lab.SKIPPED
        except Late as late:
            print(late)
        except Failure as failure:
            print(failure)
            return 1
    if is_busy():
        print("skipped: late each time, on a machine that is busy")
        return lab.SKIPPED
    return 1


def main(tests=Tests):
    parser = argparse.ArgumentParser()
    parser.add_argument("test")
    parser.add_argument("--build", required=True)
    arguments = parser.parse_args()
    return exit_code(lambda: getattr(tests(arguments.build),
                                     arguments.test)())


if __name__ == "__main__":
    sys.exit(main())
