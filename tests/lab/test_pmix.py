#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that mpirun and srun start, over the hosts of a lab.

    test_pmix.py TEST --build DIR

As in test_runs.py, no process and no segment may be left on any host after a run.
"""
import argparse
import os
import re
import shutil
import signal
import sys
import time

import lab
import slurm
from test_runs import (DETECT_S, LEFTOVER_S, MISMATCH, NODE_LOST, Failure,
                       Run, exit_code, expect_in_time)

KILLED = 128 + signal.SIGKILL
HOSTS = ("n1", "n2", "n3", "n4")


class Job(Run):
    """A run that somebody else than `teamster run` has started."""

    def __init__(self, bed, words, host="n1", **variables):
        # pylint: disable=super-init-not-called
        self.begin(bed, list(map(str, words)), host, None, variables)

    def left_on(self, host):
        return {pid: text for pid, text in self.bed.processes(host).items()
                if not slurm.is_daemon(text)}

    def end_somehow(self):
        """Whatever the exit code is."""
        try:
            lab.wait_until(lambda: self.process.poll() is not None, "",
                           DETECT_S + LEFTOVER_S)
        except TimeoutError:
            self.give_up("it does not end")
        self.expect_nothing_left(self.process.communicate()[0])

    def wait_for_line(self, wanted):
        """@return what came before it"""
        seen = []
        while not seen or wanted not in seen[-1]:
            seen += self.lines()
            if seen[-1] == "":
                self.fail(f"'{wanted}' does not come", "".join(seen))
        return "".join(seen)

    def has(self, host, name):
        """Processes of a program there."""
        return [pid for pid, text in self.bed.processes(host).items()
                if os.path.basename(text.split()[0]) == name]

    def starter(self, name, host="n1"):
        return self.has(host, name)[0]


class KilledJob(Job):
    """Slurm may kill an agent of it together with its keeper: segments.c."""

    def memory_of(self, host):
        """Of this run: the next one there removes it, which is looked at then."""
        return ""


class Mpirun:
    """Open MPI's, by ssh."""
    name = "mpirun"

    def __init__(self, bed):
        self.bed = bed

    @staticmethod
    def check():
        if shutil.which("mpirun", path=lab.PATH) is None:
            raise lab.Skip("no mpirun: on Debian, apt-get install openmpi-bin")

    def words(self, *program, hosts=HOSTS):
        return ["mpirun", "--allow-run-as-root", "--oversubscribe",
                "--bind-to", "none", "--mca", "plm_rsh_args",
                f"-F {self.bed.folder}/ssh_config", "--mca",
                "orte_tmpdir_base", self.bed.folder, "-H", ",".join(hosts),
                *program]

    def start(self, *program, hosts=HOSTS, **variables):
        # What tests are run with; mpirun gives other hosts no variables.
        passed = [word for name in lab.SANITIZERS if name in os.environ
                  for word in ("-x", name)]
        return Job(self.bed, self.words(*passed, *program, hosts=hosts),
                   **variables)


class Srun:
    """Slurm's."""
    name = "srun"

    def __init__(self, bed):
        self.bed = bed
        self.conf = slurm.start(bed)

    @staticmethod
    def check():
        slurm.check()

    def start(self, *program, hosts=HOSTS, **variables):
        words = ["srun", "--mpi=pmix", "--distribution=block",
                 f"--nodes={len(set(hosts))}", f"--ntasks={len(hosts)}",
                 "--overcommit", "--nodelist=" + ",".join(sorted(set(hosts))),
                 *program]
        return Job(self.bed, words, SLURM_CONF=self.conf, **variables)


class Tests:
    """Each is run by each of the two."""

    def __init__(self, build, starter):
        self.build = os.path.abspath(build)
        self.starter = starter

    def app(self, name):
        return os.path.join(self.build, "apps", name)

    def ends(self):
        return os.path.join(self.build, "tests", "lab", "ends")

    def expect(self, condition, what, output):
        if not condition:
            raise Failure(f"{what} does not hold in\n{output}")

    def lab(self, n_hosts=4):
        return lab.lab(n_hosts=n_hosts)

    def long_job(self, starter, hosts=HOSTS, **variables):
        job = starter.start(self.ends(), "wait", hosts=hosts, **variables)
        job.wait_for_line("all nodes work")
        return job

    # ---- results

    def results_are_those_of_one_node(self):
        work = {"jacobi": ("--size=200", "--iterations=30"),
                "sor": ("--size=200", "--iterations=30"),
                "matmul": ("--size=128",)}
        with self.lab() as bed:
            starter = self.starter(bed)
            for name, options in work.items():
                for hosts in (("n1",), ("n1", "n1", "n2"), HOSTS):
                    output = starter.start(
                        self.app(name), "--verify", "--threads=8", *options,
                        hosts=hosts).finish()
                    self.expect("identical to the sequential" in output,
                                f"{name} on {hosts}", output)
                    self.expect(f"nodes: {len(hosts)}" in output, "nodes",
                                output)

    def all_have_the_settings_of_node_0(self):
        # mpirun gives other hosts no variables, srun all of them.
        with self.lab(2) as bed:
            output = self.starter(bed).start(
                self.ends(), "options", hosts=("n1", "n1", "n2"),
                TEAMSTER_POLICY="mem", TEAMSTER_MEMORY="64M").finish()
            for number, host in ((0, "n1"), (1, "n1"), (2, "n2")):
                self.expect(f"node {number} on {host}: speed - memory 64M "
                            "policy mem\n" in output, f"node {number}", output)

    def races_are_told(self):
        races = os.path.join(self.build, "tests", "cluster", "races")
        with self.lab(2) as bed:
            starter = self.starter(bed)
            for what, strict, code, told in (
                    ("racy-block", "0", 0, "offset 16 of block 'grid'"),
                    ("racy-variable", "1", 1, "variable 'counter'"),
                    ("barrier", "1", 0, "no data race between nodes")):
                output = starter.start(
                    races, what, hosts=("n1", "n2"), TEAMSTER_RACE_CHECK="1",
                    TEAMSTER_STRICT=strict).finish(code)
                self.expect(told in output, what, output)

    # ---- ends

    def the_exit_code_is_the_programs(self):
        with self.lab(2) as bed:
            starter = self.starter(bed)
            hosts = ("n1", "n1", "n2")
            for words, code in ((("return", 0), 0), (("return", 7), 7),
                                (("exit", 0, 6), 6), (("exit", 1, 5), 5),
                                (("exit", 2, 0), 0)):
                job = starter.start(self.ends(), *map(str, words), hosts=hosts)
                job.finish(code)

    def a_killed_node_ends_the_run(self):
        with self.lab(3) as bed:
            starter = self.starter(bed)
            for host, hosts in (("n1", ("n1", "n1", "n1")),
                                ("n1", ("n1", "n2", "n3")),
                                ("n3", ("n1", "n2", "n3"))):
                # srun would kill the survivors, and lose what they say.
                job = self.long_job(starter, hosts, SLURM_KILL_BAD_EXIT="0")
                os.kill(job.program(host, "ends"), signal.SIGKILL)
                start = time.monotonic()
                output = job.finish(KILLED)
                expect_in_time(job.ended - start, DETECT_S, "it has ended", output)
                if starter.name == "srun": # mpirun kills them before
                    self.expect(re.search(r"node \d (has died|is lost)",
                                          output), "a survivor says so",
                                output)
                    self.expect(f"exit code {NODE_LOST}" in output,
                                "survivors end by themselves", output)

    def another_program_is_refused(self):
        with self.lab(3) as bed:
            starter = self.starter(bed)
            for host, app in (("n1", "jacobi"), ("n2", "jacobi"),
                              ("n3", "sor")):
                bed.inside(host, "cp", self.app(app), "/run/program")
            output = starter.start("/run/program",
                                   hosts=("n1", "n2", "n3")).finish(MISMATCH)
            self.expect("build-id differs" in output, "the reason", output)
            self.expect(output.count('has "') == 2, "both values", output)

    def signals_end_the_run(self):
        with self.lab(3) as bed:
            starter = self.starter(bed)
            for number in (signal.SIGTERM, signal.SIGINT):
                job = self.long_job(starter, ("n1", "n1", "n2", "n3"))
                pid = job.starter(starter.name)
                os.kill(pid, number)
                if number == signal.SIGINT: # srun wants it twice in a second
                    time.sleep(0.2)
                    try:
                        os.kill(pid, number)
                    except ProcessLookupError:
                        pass
                job.end_somehow()

    def a_killed_starter_leaves_nothing(self):
        with self.lab(3) as bed:
            starter = self.starter(bed)
            job = self.long_job(starter, ("n1", "n1", "n2", "n3"))
            os.kill(job.starter(starter.name), signal.SIGKILL)
            job.process.wait()
            if starter.name == "srun": # Slurm keeps the nodes until told
                bed.inside("n1", "env", f"SLURM_CONF={starter.conf}",
                           "scancel", "--user=root")
            job.end_somehow()


class Special:
    """What only one of the two has."""

    def __init__(self, build):
        self.tests = Tests(build, Srun)

    def nodes_have_variables_of_their_own(self):
        tests = self.tests
        with tests.lab(2) as bed:
            words = Mpirun(bed).words(
                "-n", "1", "-x", "TEAMSTER_SPEED=500", "-x",
                "TEAMSTER_MEMORY=64M", tests.ends(), "options", ":",
                "-n", "2", "-x", "TEAMSTER_SPEED=400", tests.ends(), "options",
                hosts=("n1", "n2", "n2"))
            output = Job(bed, words).finish()
            for number, host, speed in ((0, "n1", 500), (1, "n2", 400),
                                        (2, "n2", 400)):
                tests.expect(f"node {number} on {host}: speed {speed} memory "
                             "64M" in output, f"node {number}", output)

    def a_node_that_was_given_up_is_told_so(self):
        """Stopped, while the others go: srun waits for it, and has its code."""
        tests = self.tests
        with tests.lab(3) as bed:
            job = tests.long_job(Srun(bed), ("n1", "n2", "n3"))
            node = job.program("n3", "ends")
            os.kill(node, signal.SIGSTOP)
            for host in ("n1", "n2"):
                lab.wait_until(lambda: not job.has(host, "ends"), "they go on",
                               DETECT_S + LEFTOVER_S)
            os.kill(node, signal.SIGCONT)
            output = job.finish(MISMATCH)
            tests.expect(re.search(r"node 2 has been away for \d+\.\d s .*: node "
                                   r"[01] says that the others have gone on "
                                   r"without it$", output, re.M),
                         "by whom, and why", output)

    def without_pmix_it_warns(self):
        with self.tests.lab(2) as bed:
            words = ["srun", "--mpi=none", "--nodes=2", self.tests.ends(),
                     "return", "0"]
            output = Job(bed, words, SLURM_CONF=slurm.start(bed)).finish()
            self.tests.expect(output.count("srun has started 2 processes "
                                           "without PMIx") == 1, "a warning",
                              output)

    def allocate(self, bed, conf, *words, options=("-N3",), job=Job):
        return job(bed, ["salloc", "--quiet", *options,
                         os.path.join(self.tests.build, "cli", "teamster"),
                         "run", *words], SLURM_CONF=conf)

    def an_allocations_hosts_are_used(self):
        tests = self.tests
        with tests.lab(3) as bed:
            conf = slurm.start(bed)
            output = self.allocate(bed, conf, tests.app("sor"), "--verify",
                                   "--size=200", "--threads=8").finish()
            tests.expect("nodes: 3" in output and
                         "identical to the sequential" in output, "its result",
                         output)
            output = self.allocate(bed, conf, tests.ends(), "options",
                                   options=("-N2", "-n3")).finish()
            for host, number in (("n1", 2), ("n2", 1)):
                tests.expect(len(re.findall(rf"node \d on {host}:", output)) ==
                             number, f"{number} on {host}", output)
            script = "head -c 2000000 /dev/urandom | base64 -w0 | wc -c"
            output = self.allocate(bed, conf, "sh", "-c", script).finish()
            tests.expect(output.startswith("2666668\n" * 3), "all output", output)
            self.allocate(bed, conf, tests.ends(), "return", "7").finish(7)

    def an_allocation_leaves_nothing(self):
        tests = self.tests
        with tests.lab(3) as bed:
            conf = slurm.start(bed)
            for name, host, expected in (("ends", "n3", NODE_LOST),
                                         ("teamster", "n1", None)):
                job = self.allocate(bed, conf, tests.ends(), "wait",
                                    job=KilledJob)
                job.wait_for_line("all nodes work")
                pid = job.starter(name, host)
                os.kill(pid, signal.SIGKILL)
                if expected is not None:
                    output = job.finish(expected)
                    tests.expect("n3 (node 2) died" in output, "who died",
                                 output)
                else:
                    job.end_somehow()
                self.allocate(bed, conf, tests.ends(), "return", "0").finish()


def methods(cls):
    return [name for name, value in vars(cls).items()
            if "_" in name and callable(value) and
            name not in ("long_job", "__init__")]


def main():
    starters = {"mpirun": Mpirun, "srun": Srun}
    parser = argparse.ArgumentParser()
    parser.add_argument("test", choices=methods(Tests) + methods(Special))
    parser.add_argument("--starter", choices=starters, required=True)
    parser.add_argument("--build", required=True)
    arguments = parser.parse_args()
    starter = starters[arguments.starter]

    def test():
        starter.check()
        tests = (Tests(arguments.build, starter)
                 if arguments.test in vars(Tests) else
                 Special(arguments.build))
        getattr(tests, arguments.test)()

    return exit_code(test)


if __name__ == "__main__":
    sys.exit(main())
