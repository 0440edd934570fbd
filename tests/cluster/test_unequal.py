#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Unequal nodes on one machine: hostfiles and --emulate.

    test_unequal.py TEST --build DIR

Times are compared with times of the same run only. A machine that is busy with
something else may not give each node its share. So the shares are made small: a
node that does nothing has many workers, and shares are such that all workers
could compute. And runs are repeated after a pause, each longer than the last, until
the ratios of the latest are right, or the medians of all of three or more; N_ATTEMPTS
times in all. An emulation that is wrong is wrong each time.
"""
import argparse
import os
import re
import statistics
import sys
import time

import jobs

SPEEDS = (500, 400, 400, 300)
N_IDLE_WORKERS = 6 * len(os.sched_getaffinity(0))
TOLERANCE = 0.15
N_ATTEMPTS = 8


class Tests:
    def __init__(self, options, folder):
        self.build = options.build
        self.folder = folder
        self.teamster = self.program("cli", "teamster")

    def program(self, folder, name):
        path = os.path.join(self.build, folder, name)
        if not os.access(path, os.X_OK):
            raise jobs.Failure(f"{path} is not built")
        return path

    def hostfile(self, text):
        path = os.path.join(self.folder, "hosts")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def unequal_nodes(self):
        return self.hostfile("".join(
            f"n{i + 1} speed={speed} workers=1\n"
            for i, speed in enumerate(SPEEDS)))

    def start(self, *command, variables=None):
        return jobs.Job(self.teamster, command, variables)

    # ---- speeds

    def measure(self):
        """@return times over what speeds say; an iteration, and hearing of the slowest,
        over its time; the output"""
        with open(self.unequal_nodes(), "a", encoding="utf-8") as file:
            file.write(f"idle speed={SPEEDS[0]} workers={N_IDLE_WORKERS}\n")
        job = self.start("--hostfile", file.name, "--emulate",
                         self.program("tests/cluster", "speeds"), len(SPEEDS))
        output = job.expect_success()
        nodes = re.findall(r"node \d: speed_ppm=(\d+) compute_ms=([\d.]+) "
                           r"round_ms=([\d.]+) work=(\S+)", output)
        others_ms = re.findall(r"(?:iteration|hear)_ms=([\d.]+)", output)
        if len(nodes) != len(SPEEDS) or len(others_ms) != 2:
            job.fail("the output is not what was expected", output)
        if len({work for *_, work in nodes}) != 1:
            job.fail("equal work has unequal results", output)
        shares = [int(ppm) for ppm, *_ in nodes]
        if any(abs(share * SPEEDS[0] - shares[0] * speed) > SPEEDS[0]
               for share, speed in zip(shares, SPEEDS)):
            job.fail(f"shares are {shares}", output)
        rounds_ms = [float(ms) for _, _, ms, _ in nodes]
        ratios = [ms / rounds_ms[0] * speed / SPEEDS[0]
                  for ms, speed in zip(rounds_ms, SPEEDS)]
        ratios += [float(ms) / rounds_ms[-1] for ms in others_ms]
        print(", ".join(f"{r:.3f}" for r in ratios))
        return ratios, output

    def speeds_are_as_declared(self):
        """The same work takes each node a time that fits its speed, the slowest
        node sets the pace, nobody hears of it earlier, and the work is the
        same."""
        runs = []
        for attempt in range(N_ATTEMPTS):
            time.sleep(attempt)
            ratios, output = self.measure()
            runs.append(ratios)
            medians = [statistics.median(all_of_one) for all_of_one in zip(*runs)]
            if any(all(abs(ratio - 1) <= TOLERANCE for ratio in found)
                   for found in (ratios, *([medians] if len(runs) > 2 else []))):
                return
        raise jobs.Failure(f"off by more than {TOLERANCE} in {N_ATTEMPTS} "
                           f"runs, and by their medians; the last:\n{output}")

    def results_stay_the_same(self):
        """Slow nodes compute the same bits, also when threads move."""
        for app, protocol, seed in (("jacobi", "eager-release", 3),
                                    ("sor", "sequential", 4),
                                    ("matmul", "sequential", 0),
                                    ("gauss", "eager-release", 5)):
            job = self.start(
                "--hostfile", self.unequal_nodes(), "--emulate",
                self.program("apps", app), "--size", "120", "--iterations",
                "6", "--verify",
                variables={"TEAMSTER_PROTOCOL": protocol,
                           "TEAMSTER_SHUFFLE": str(seed)})
            output = job.expect_success()
            if "result: identical" not in output or "nodes: 4" not in output:
                job.fail("not verified", output)

    # ---- hostfiles

    def told(self, *options):
        """What each node of a run finds in its environment."""
        job = self.start(
            *options, "sh", "-c", "echo $TEAMSTER_NODE $TEAMSTER_WORKERS "
            "$TEAMSTER_SPEED $TEAMSTER_MEMORY $TEAMSTER_SHARE")
        output = job.expect_success()
        return sorted(re.findall(r"^\[\d\] (.*)$", output, re.M)), output

    def expect_told(self, expected, *options):
        found, output = self.told(*options)
        if found != expected:
            raise jobs.Failure(f"{options}: {found}, not {expected}\n{output}")

    def hostfiles_reach_the_nodes(self):
        """What a line says, its node knows; -n takes the first lines."""
        path = self.hostfile("# two\nlocalhost slots=3 memory=45M speed=2\n"
                             "127.0.0.1 workers=1 speed=1  # slow\n")
        self.expect_told(["0 3 2.000000000 47185920", "1 1 1.000000000"],
                         "--hostfile", path)
        self.expect_told(["0 3 2.000000000 47185920"], "-n", "1",
                         "--hostfile", path)
        path = self.hostfile("a.example workers=1 speed=3\n"
                             "b.example workers=1 speed=1\n"
                             "b.example workers=1 speed=2\n")
        found, output = self.told("--hostfile", path, "--emulate")
        factor = re.search("^teamster run: emulating 3 nodes on .*: speed 3 is "
                           r"([01]\.\d+) of a processor", output, re.M)
        if len(found) != 3 or factor is None:
            raise jobs.Failure(f"the factor is not told:\n{output}")
        # A node that gets a whole processor is not told so.
        shares = [float((line.split() + ["1"])[3]) for line in found]
        expected = [float(factor.group(1)) * f for f in (1, 1 / 3, 2 / 3)]
        if any(abs(s - e) > 1e-3 for s, e in zip(shares, expected)):
            raise jobs.Failure(f"shares {shares}, not {expected}\n{output}")

    def info_tells_what_a_node_was_given(self):
        path = self.hostfile("a speed=4 memory=45M\nb speed=2\n")
        output = self.start("--hostfile", path, "--emulate", self.teamster,
                            "info").expect_success()
        for pattern in (r"^\[0\] speed +4, declared",
                        r"^\[0\] memory +45 MiB, by --memory$",
                        r"^\[1\] speed +2, declared; 0\.\d+ of a processor, "
                        r"emulated$"):
            if re.search(pattern, output, re.M) is None:
                raise jobs.Failure(f"no {pattern}\n{output}")

    def expect_refusal(self, code, message, *options):
        job = self.start(*options, "true")
        found, output = job.finish()
        if found != code or message not in output or output.count("\n") != 1:
            job.fail(f"exit code {found}, not {code}, and '{message}'", output)

    def wrong_hostfiles_are_refused(self):
        """One line that names the file and the line; nothing is started."""
        path = self.hostfile("localhost\nlocalhost sped=3\n")
        self.expect_refusal(78, f"{path}:2: 'sped=3' is not known",
                            "--hostfile", path)
        path = self.hostfile("localhost\nn2.invalid\n")
        self.expect_refusal(69, "cannot reach host n2.invalid: ",
                            "--ssh=false", "--hostfile", path)
        self.expect_refusal(64, f"{path} names 2 nodes; --nodes is 3",
                            "-n", "3", "--hostfile", path)
        path = self.hostfile("a speed=1000000\nb speed=1\n")
        self.expect_refusal(78, f"{path}: line 2: 'b' with speed 1 would get",
                            "--emulate", "--hostfile", path)
        self.expect_refusal(78, "No such file", "--hostfile", path + "-")
        self.expect_refusal(64, "--emulate needs --hostfile", "--emulate")


TESTS = ("speeds_are_as_declared", "results_stay_the_same",
         "hostfiles_reach_the_nodes", "info_tells_what_a_node_was_given",
         "wrong_hostfiles_are_refused")


if __name__ == "__main__":
    sys.exit(jobs.main(Tests, argparse.ArgumentParser(description=__doc__),
                       TESTS))
