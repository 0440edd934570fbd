#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Parameters that a program has tuned, tm_tune().

    test_tuning.py TEST --build DIR

An iteration of `tuned` takes 5 ms with one of five values, and 30 ms with the others.
"""
import argparse
import os
import re
import signal
import sys

import jobs

RESULT = re.compile(r"sum: (\S+), differ: (\d+), last: (\d+), changes: (\d+)")
INTERNAL = 70
N_ITERATIONS = 150
N_TRIES = 4
SPEEDS = (800, 300, 500)


class Tests:
    def __init__(self, options, folder):
        self.build = options.build
        self.folder = folder
        self.teamster = os.path.join(self.build, "cli", "teamster")
        self.program = os.path.join(self.build, "tests/cluster", "tuned")

    def start(self, *command):
        return jobs.Job(self.teamster, command)

    def run(self, *command):
        return self.start(*command).expect_success()

    def result(self, output):
        """@return the sum; the last value; how often it changed"""
        found = RESULT.findall(output)
        if len(found) != 1:
            raise jobs.Failure(f"no result in\n{output}")
        total, differ, last, changes = found[0]
        if differ != "0":
            raise jobs.Failure(f"threads were given other values: {differ}\n{output}")
        return total, int(last), int(changes)

    def find(self, n_threads, best, *options, iterations=N_ITERATIONS):
        """A run that ends with the best value. Other work of the machine may make any value
        slow for a while, so there are several tries. @return sum, output"""
        for _ in range(N_TRIES):
            output = self.run(*options, self.program, n_threads, iterations, best)
            total, last, _ = self.result(output)
            if last == best:
                return total, output
        raise jobs.Failure(f"{last} was taken, not {best}\n{output}")

    # ---- tests

    def the_best_value_is_found_with_the_same_bits(self):
        alone = {n: self.find(n, 30)[0] for n in (1, 6)}
        for n_nodes in 2, 3:
            for n_threads in 1, 6:
                total, _ = self.find(n_threads, 20, "-n", n_nodes)
                if total != alone[n_threads]:
                    raise jobs.Failure(f"{total}, alone {alone[n_threads]}")

    def the_first_value_stays_if_it_is_the_best(self):
        _, output = self.find(4, 10, "-n", 2, "--explain")
        if "tune size: nothing is better for sure: 10 stays" not in output:
            raise jobs.Failure(output)

    def unequal_nodes_and_moves_disturb_nothing(self):
        hosts = os.path.join(self.folder, "hosts")
        with open(hosts, "w", encoding="ascii") as file:
            for number, speed in enumerate(SPEEDS):
                file.write(f"n{number} speed={speed} slots=1\n")
        one, _ = self.find(7, 40)
        other, _ = self.find(7, 40, "--hostfile", hosts, "--emulate")
        shuffled, output = self.find(7, 40, "-n", 3, "--shuffle", 5)
        if not one == other == shuffled:
            raise jobs.Failure(f"{one}, {other}, {shuffled}\n{output}")

    def what_was_tried_and_taken_is_told(self):
        _, output = self.find(4, 50, "-n", 2, "--explain", "--stats")
        for pattern in (r"iteration \d+: tune size, round 1: 10 [\d.]+ ms, 20 ",
                        r"iteration \d+: tune size: 50 is taken",
                        r"tune size: 50, of 5 values; 1 search, \d+ iterations"):
            if not re.search(pattern, output):
                raise jobs.Failure(f"no {pattern}\n{output}")

    def it_is_searched_anew_when_times_change_for_good(self):
        for _ in range(N_TRIES):
            output = self.run("-n", 2, "--explain", self.program, 4, 600, 20, "turns")
            _, last, _ = self.result(output)
            if last == 50 and "searched anew from 20" in output:
                return
        raise jobs.Failure(output)

    def a_node_that_comes_is_given_the_same(self):
        for _ in range(N_TRIES):
            job = self.start("-n", 2, self.program, 5, 900, 20)
            self.add(job, ["add", str(job.process.pid)])
            output = job.expect_success()
            _, last, _ = self.result(output)
            if last == 20:
                return
        raise jobs.Failure(output)

    def add(self, job, command):
        done = []

        def is_added():
            code = os.spawnv(os.P_WAIT, self.teamster, [self.teamster, *command])
            done.append(code)
            return code == 0 or job.process.poll() is not None

        if not jobs.wait_until(is_added) or done[-1] != 0:
            job.fail(f"nothing came: {done}", job.kill_all())

    def a_restart_goes_on_with_what_was_found(self):
        checkpoints = os.path.join(self.folder, "checkpoints")
        right, _ = self.find(4, 20, iterations=600)
        job = self.start("-n", 2, f"--checkpoint={checkpoints},every=10", "--explain",
                         self.program, 4, 600, 20)
        taken = jobs.wait_until(lambda: job.n_told("tune size: 20 is taken") > 0
                                or job.process.poll() is not None)
        if not taken or job.process.poll() is not None:
            job.fail("nothing was found", job.kill_all())
        before = self.generations(checkpoints)
        jobs.wait_until(lambda: self.generations(checkpoints) > before + 1
                        or job.process.poll() is not None)
        for pid in job.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        job.rest()
        output = self.run("-n", 3, "--explain", f"--restart={checkpoints}")
        total, last, _ = self.result(output)
        # It begins with what was found; when the machine is slower then, from there anew.
        if (total != right or not
                ("tune size: 20, of 5 values; 0 searches" in output and last == 20
                 or "searched anew from 20" in output)):
            raise jobs.Failure(output)

    @staticmethod
    def generations(folder):
        try:
            names = os.listdir(folder)
        except FileNotFoundError:
            return 0
        return max((int(name.split("-")[1]) for name in names
                    if re.fullmatch(r"generation-\d+", name)), default=0)

    def mistakes_are_told_in_one_line(self):
        for mode, text in (("empty", "a name has 1 to 31 bytes"),
                           ("long", "a name has 1 to 31 bytes"),
                           ("none", "there have to be 1 to 64 values"),
                           ("many", "there have to be 1 to 64 values"),
                           ("alike", "two of the values are alike"),
                           ("other", "other values"),
                           ("task", "calls tm_tune() in a task"),
                           ("early", "tm_tune() has no value for the caller")):
            command = ["-n", 2, self.program, 2, 20, 10, mode]
            code, output = self.start(*command).finish()
            if code != INTERNAL or text not in output:
                raise jobs.Failure(f"{mode}: exit code {code}\n{output}")


if __name__ == "__main__":
    sys.exit(jobs.main(Tests, argparse.ArgumentParser()))
