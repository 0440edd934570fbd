#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What may happen to a run on one machine; docs/failures.md says which test shows
what. tests/lab/test_failures.py has what needs several hosts.

    test_failures.py TEST --build DIR
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time

import jobs

SIZES = ("--size", 200, "--iterations", 40, "--threads", 8)
INTERNAL = 70
OUT_OF_MEMORY = 71
DEADLOCK = 124
CONFIG = 78
MAPPINGS_MOST = 300000  # that thousands_of_threads_... uses up
N_TRIES = 14  # of each kind
N_LATE = 5
N_FIRST = 60  # calls of malloc() and its like that fail one by one: of the start


class Tests:
    def __init__(self, options, folder):
        self.build = options.build
        self.folder = folder

    def path(self, *names):
        path = os.path.join(self.build, *names)
        if not os.path.exists(path):
            raise jobs.Failure(f"{path} is not built")
        return path

    def start(self, *command, variables=None):
        return jobs.Job(self.path("cli", "teamster"), command, variables)

    def jacobi(self, *options, n_nodes=3, variables=None, before=()):
        return self.start("-n", n_nodes, *options, *before,
                          self.path("apps", "jacobi"), "--verify", *SIZES,
                          variables=variables)

    def expect(self, job, pattern, output):
        if not re.search(pattern, output, re.M):
            job.fail(f"{pattern} is not said", output)

    # ---- a node dies at its Nth message

    def a_node_that_dies_at_any_message_ends_the_run(self):
        """N grows by half; the run ends in order when it needs fewer messages."""
        for protocol in jobs.PROTOCOLS:
            n_deaths = 0
            number = 1
            for i in range(N_TRIES):
                job = self.jacobi(
                    "--protocol", protocol,
                    variables={"TEAMSTER_TEST_DIE_AT": f"{i % 3}:{number}"})
                code, output = job.finish()
                if code == 0:
                    self.expect(job, "result: identical", output)
                    continue
                n_deaths += 1
                if code != 75:
                    job.fail(f"exit code {code}", output)
                self.expect(job, rf"^teamster run: node {i % 3} \(pid \d+\) died: "
                                 r"killed by SIGKILL after \d+\.\d s", output)
                number = number + number // 2 + 1
            print(f"{protocol}: {n_deaths} deaths, up to message {number}")
            if n_deaths == 0:
                raise jobs.Skip("only debug builds let nodes die by themselves")

    # ---- a page that never comes

    def a_page_that_never_comes_is_told(self):
        """One of the first pages that a node gets is lost: its story is told, by that node
        or, if it would have been the owner, by another one that wants the page. (With
        `implicit` it may be a page that nobody uses any more.)"""
        for i, protocol in enumerate(jobs.PROTOCOLS[:2]):
            job = self.jacobi("--protocol", protocol, "--deadlock-after=1",
                              variables={"TEAMSTER_TEST_LOSE_PAGE":
                                         f"{1 + i}:{4 + i}"})
            code, output = job.finish()
            if code == 0:
                raise jobs.Skip("only debug builds lose a page")
            if code not in (INTERNAL, DEADLOCK):
                job.fail(f"exit code {code}", output)
            self.expect(job, r"page \d+ at node \d: ", output)
            self.expect(job, r"fetch \d+ is under way, to ", output)
            self.expect(job, r"thread \d+ has waited for \d+ messages", output)
            self.expect(job, r"messages ago: fetch to node \d", output)

    # ---- memory

    def memory_that_runs_out_ends_the_run(self):
        """Never a crash, and never without a word."""
        library = self.path("tests", "cluster", "libbad_memory.so")
        for node in (0, 1):
            number = 1
            n_ends = 0
            for i in range(N_FIRST + N_TRIES):
                job = self.jacobi(n_nodes=2, before=(
                    "env", f"LD_PRELOAD={library}", f"BAD_MEMORY_NODE={node}",
                    f"BAD_MEMORY_AT={number}"))
                code, output = job.finish()
                n_ends += code != 0
                if code not in (0, OUT_OF_MEMORY):
                    job.fail(f"exit code {code} at call {number}", output)
                if code != 0:
                    self.expect(job, "memory", output)
                number += 1 if i < N_FIRST else number // 4
            print(f"node {node}: {n_ends} ends, up to call {number}")

    def thousands_of_threads_run_and_too_many_are_told(self):
        crowd = self.path("tests", "cluster", "crowd")
        job = self.start("-n", 4, crowd, 10000)
        self.expect(job, "crowd: 10000 threads", job.expect_success())
        with open("/proc/sys/vm/max_map_count", encoding="ascii") as file:
            n_mappings = int(file.read())
        if n_mappings > MAPPINGS_MOST:
            raise jobs.Skip(f"vm.max_map_count is {n_mappings}: too many threads "
                            "would have to be made")
        job = self.start("-n", 1, "--max-threads", n_mappings, crowd, n_mappings)
        code, output = job.finish()
        if code != OUT_OF_MEMORY:
            job.fail(f"exit code {code}", output)
        self.expect(job, "as many mappings as vm.max_map_count allows "
                         rf"\({n_mappings}\); raise it: sysctl", output)

    def addresses_that_are_taken_are_told(self):
        library = self.path("tests", "cluster", "libbad_address.so")
        job = self.start("-n", 3, "env", f"LD_PRELOAD={library}",
                         "BAD_ADDRESS_NODE=1", self.path("apps", "hello"))
        code, output = job.finish()
        if code != CONFIG:
            job.fail(f"exit code {code}", output)
        self.expect(job, r"^(?:\[1\] )?teamster: n1: the addresses 0x[0-9a-f]+ to "
                         "0x[0-9a-f]+ are taken by this mapping: 7e8000001000-",
                    output)

    # ---- disks

    def run_with_disk(self, size, is_full, *command):
        """`teamster run` where the folder `disk` is a file system of its own.
        @return exit code, output"""
        disk = f"{self.folder}/disk"
        os.makedirs(disk, exist_ok=True)
        script = (f"mount -t tmpfs -o size={size} tmpfs {disk} && " +
                  (f"dd if=/dev/zero of={disk}/full 2>/dev/null; " if is_full
                   else "") + 'exec "$@"')
        inside = ["unshare", "--mount", "sh", "-c", script, "sh"]
        if subprocess.run([*inside, "true"], capture_output=True,
                          check=False).returncode != 0:
            raise jobs.Skip("no file system can be mounted here")
        job = subprocess.run(
            [*inside, self.path("cli", "teamster"), "run",
             *(word.replace("DISK", disk) for word in command)], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=jobs.DEADLINE_S, check=False)
        return job.returncode, job.stdout

    def files_that_cannot_be_written_are_told(self):
        """There is no room for what was tracked, nor for the status file; the result
        is right."""
        for option, value, said in (
                ("--track", "3:DISK/file", "which --track names: No space left"),
                ("--status-file", "DISK/file", "cannot write the status file")):
            code, output = self.run_with_disk(
                "4k", True, "-n", "2", option, value, self.path("apps", "jacobi"),
                "--verify", *map(str, SIZES))
            if (code != 0 or said not in output or
                    "result: identical" not in output):
                raise jobs.Failure(f"{option}: {code}\n{output}")

    def a_full_disk_for_pages_ends_the_run(self):
        code, output = self.run_with_disk(
            "1M", False, "-n", "2", "--memory", "240K", "--swap-dir", "DISK",
            self.path("apps", "jacobi"), "--size", "400", "--iterations", "5")
        if (code != OUT_OF_MEMORY or "No space left on device" not in output or
                "may use 240 KiB for shared data, and its swap file is full; "
                "more --memory or space in --swap-dir helps" not in output):
            raise jobs.Failure(f"{code}\n{output}")

    # ---- clocks

    def a_clock_that_jumps_changes_nothing(self):
        library = self.path("tests", "cluster", "libbad_clock.so")
        for n_nodes in (1, 3):
            job = self.jacobi(n_nodes=n_nodes,
                              variables={"LD_PRELOAD": library})
            self.expect(job, "result: identical", job.expect_success())

    # ---- the end

    def a_node_that_hears_late_of_the_end_writes_its_files(self):
        """It hears of it from the root and the launcher at once, when it goes on; or of
        one a little before the other."""
        for _ in range(N_LATE):
            self.end_with_a_late_node()
            for name in os.listdir(self.folder):
                os.unlink(f"{self.folder}/{name}")

    def end_with_a_late_node(self):
        job = self.start("-n", 2, "--verbose", "--memory", "4M",
                         self.path("tests", "cluster", "notes"), self.folder)
        if not jobs.wait_until(lambda: "ready" in os.listdir(self.folder)):
            job.fail("it does not begin", job.kill_all())
        root, late = job.node(0), job.node(1)
        os.kill(late, signal.SIGSTOP)
        with open(f"{self.folder}/end", "w", encoding="ascii"):
            pass
        has_ended = jobs.wait_until(lambda: not jobs.is_running(root), 20)
        os.kill(late, signal.SIGCONT)
        if not has_ended:
            job.fail("the root does not end", job.kill_all())
        output = job.expect_success()
        note = jobs.read_bytes(f"{self.folder}/note.1")
        if note != b"a note of node 1\n":
            job.fail(f"its file has {note}", output)
        self.expect(job, r"^(?:\[1\] )?teamster: n1: debug: memory: ", output)

    # ---- the end in machine form

    def status_of(self, job, code):
        found, output = job.finish()
        if found != code:
            job.fail(f"exit code {found}, not {code}", output)
        with open(f"{self.folder}/status", encoding="utf-8") as file:
            status = json.load(file)
        print(json.dumps(status))
        assert os.listdir(self.folder) == ["status"]
        os.unlink(f"{self.folder}/status")
        assert status["exit_code"] == code and status["seconds"] > 0
        return status

    def a_status_file_says_how_it_ended(self):
        option = ("--status-file", f"{self.folder}/status")
        status = self.status_of(self.jacobi(*option), 0)
        assert status["program"].endswith("jacobi") and not status["messages"]
        assert [node["node"] for node in status["nodes"]] == [0, 1, 2]
        assert all(node["end"] == "exited" and node["code"] == 0
                   for node in status["nodes"])

        job = self.start("-n", 3, *option, self.path("apps", "jacobi"), "--size",
                         300, "--iterations", 1000000, "--threads", 6)
        if not jobs.wait_until(lambda: job.node(2), jobs.DEADLINE_S):
            job.fail("no node 2", job.kill_all())
        time.sleep(2)
        os.kill(job.node(2), signal.SIGKILL)
        status = self.status_of(job, 75)
        assert status["iteration"] > 1 and status["threads_lost"] == 2, status
        assert status["nodes"][2]["end"] == "killed"
        assert status["nodes"][2]["signal"] == "SIGKILL"
        message, = status["messages"]
        assert "died: killed by SIGKILL" in message

        status = self.status_of(self.start(*option, "/nowhere/program"), 127)
        assert "cannot start" in status["messages"][0] and not status["nodes"]


if __name__ == "__main__":
    sys.exit(jobs.main(Tests, argparse.ArgumentParser(description=__doc__)))
