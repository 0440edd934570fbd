#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What nodes have to offer, measured at the start of a run and by
`teamster info --node`, and the observer thread.

    test_observe.py TEST --build DIR

No time is asserted, only that there is one.
"""
import argparse
import os
import re
import subprocess
import sys

import jobs
from groups import MemoryGroup

LIVES_MS = (300, 3000, 20000)  # the next is tried if costs come too late
NODE_LINE = re.compile(
    r"node (\d+) on (\S+): (\d+) Mflop/s, speed (\S+) declared, "
    r"(\d+) processors, (\d+) workers, (\d+) of (\d+) MiB free; "
    r"page out ([\d.]+), in ([\d.]+), fetched ([\d.]+), packet ([\d.]+) us")


# The C library of a child looks for leaks at its exit, and finds what belongs to
# kernel threads that it does not have.
os.environ["ASAN_OPTIONS"] = ":".join(
    [*filter(None, [os.environ.get("ASAN_OPTIONS")]), "detect_leaks=0"])


class Tests:
    def __init__(self, options, folder):
        self.build = options.build
        self.folder = folder
        self.teamster = self.program("cli", "teamster")
        self.observed = self.program("tests/cluster", "observed")

    def program(self, folder, name):
        path = os.path.join(self.build, folder, name)
        if not os.access(path, os.X_OK):
            raise jobs.Failure(f"{path} is not built")
        return path

    def run(self, n_nodes, lives_ms, *options, variables=None):
        """A run of `observed`. @return its output"""
        job = jobs.Job(self.teamster,
                       [*options, "-n", n_nodes, self.observed, lives_ms],
                       variables)
        output = job.expect_success()
        if "all well" not in output:
            job.fail("the program does not say that all is well", output)
        return output

    # ---- runs

    def observer_comes_and_goes(self):
        """It is there while the run lives, in no child, and not at the end; no
        file of it is left. Ends at different moments of the measuring."""
        variables = {"TEAMSTER_SWAP_DIR": self.folder}
        for n_nodes in 1, 2, 3:
            for lives_ms in 0, 1, 2, 4, 8, 16, 32, 250:
                self.run(n_nodes, lives_ms, variables=variables)
                if os.listdir(self.folder):
                    raise jobs.Failure(f"left: {os.listdir(self.folder)}")

    def node_lines(self, n_nodes, *options, variables=None):
        """What the root says of each node, as soon as it has all costs."""
        for lives_ms in LIVES_MS:
            output = self.run(n_nodes, lives_ms, "--verbose", *options,
                              variables=variables)
            found = NODE_LINE.findall(output)
            if len(found) == n_nodes:
                return sorted(found), output
        raise jobs.Failure(f"not all nodes tell their costs:\n{output}")

    def costs_reach_the_root(self):
        lines, _ = self.node_lines(3, "--workers=2")
        expected = str(len(os.sched_getaffinity(0)))
        for number, line in enumerate(lines):
            (node, host, mflops, speed, processors, workers, free, total,
             *costs) = line
            assert int(node) == number, lines
            assert host == os.uname().nodename, lines
            assert int(mflops) > 0 and speed == "0", lines
            assert (processors, workers) == (expected, "2"), lines
            assert 0 < int(free) <= int(total), lines
            assert all(float(cost) > 0 for cost in costs), lines
        lines, _ = self.node_lines(2, "--speed=500")
        assert [line[3] for line in lines] == ["500", "500"], lines

    def a_node_without_swap_files_says_so(self):
        lines, output = self.node_lines(
            2, variables={"TEAMSTER_SWAP_DIR": "/not/there"})
        assert "cannot make a file in /not/there" in output, output
        for line in lines:
            assert line[8:10] == ("0.0", "0.0"), lines
            assert float(line[10]) > 0, lines

    # ---- teamster info --node

    def info(self, variables=None, prefix=()):
        """Its rows as a dictionary."""
        done = subprocess.run([*prefix, self.teamster, "info", "--node"],
                              env=jobs.environment(variables), text=True,
                              capture_output=True, timeout=jobs.DEADLINE_S,
                              check=False)
        if (done.returncode, done.stderr) != (0, ""):
            raise jobs.Failure(f"exit code {done.returncode}\n{done.stderr}")
        print(done.stdout)
        return {line[:22].strip(): line[22:]
                for line in done.stdout.splitlines()}

    def expect_rows(self, rows, expected):
        for name, pattern in expected.items():
            if not re.search(pattern, rows.get(name, "(no such row)")):
                raise jobs.Failure(f"{name}: {rows.get(name)}, not {pattern}")

    def info_shows_a_node(self):
        cost = r"^\d+\.\d+ us"
        self.expect_rows(self.info(), {
            "node": f"^{re.escape(os.uname().nodename)}$",
            "power": r"^\d+ Mflop/s a processor, measured: best of \d+ runs, "
                     r"the median is \d+\.\d % slower$",
            "processors": rf"^{len(os.sched_getaffinity(0))} of \d+ may ",
            "workers": r"^\d+ divided by",
            "memory": r"^\d+ MiB, by (MemTotal|cgroup v[12] \(/.*\))$",
            "available": r"^\d+ MiB, by (MemAvailable|cgroup v[12] \(/.*\))$",
            "swap": r"^\d+ MiB, \d+ MiB of it free$",
            "swap files": "^in /",
            "page out": cost, "page in": cost, "page fetched": cost,
            "packet": r"^\d+\.\d+ us for 4096 bytes",
            "service thread": "^(real-time|ordinary) priority",
            "fault source": "^(userfaultfd|mprotect)$",
        })
        rows = self.info({"TEAMSTER_SPEED": "500", "TEAMSTER_WORKERS": "3",
                          "TEAMSTER_SWAP_DIR": self.folder,
                          "TEAMSTER_FAULT_SOURCE": "mprotect"})
        self.expect_rows(rows, {
            "declared": "^speed 500", "workers": "^3, by --workers$",
            "swap files": f"^in {re.escape(self.folder)}, ",
            "fault source": "^mprotect$"})
        self.expect_rows(self.info({"TEAMSTER_SWAP_DIR": "/not/there"}),
                         {"swap files": "^none: cannot make a file in /not/"})
        assert not os.listdir(self.folder)

    def info_shows_the_limit_of_a_group(self):
        """A control group with 300 MiB, where one can be made."""
        with MemoryGroup(300 << 20) as group:
            rows = self.info(prefix=["sh", "-c", group.join() + ' && exec "$@"',
                                     "sh"])
            by = f"by cgroup v{group.version} \\({group.limit_file}\\)$"
            self.expect_rows(rows, {"memory": "^300 MiB, " + by,
                                    "available": "^2?[0-9]?[0-9] MiB, " + by})


TESTS = ("observer_comes_and_goes", "costs_reach_the_root",
         "a_node_without_swap_files_says_so", "info_shows_a_node",
         "info_shows_the_limit_of_a_group")


if __name__ == "__main__":
    sys.exit(jobs.main(Tests, argparse.ArgumentParser(description=__doc__),
                       TESTS))
