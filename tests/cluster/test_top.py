#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`teamster top`: what one sees of a running job.

    test_top.py TEST --build DIR

On a terminal it is looked at through tmux; how a launcher's lines become numbers is the
matter of cli/top_model_test.c.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time

import jobs

NODE = re.compile(r"^(n\d+) +(\d+) +(\d+) % +(\d+) % +(\d+) % +(\d+) % +"
                  r"(no limit|[\d.]+ of [\d.]+) +(\d+) +([\d.]+)$", re.M)
HEAD = re.compile(r"^job (\d+): jacobi, \d+ s, iteration (\d+)", re.M)
THREADS = 6
COLUMNS, ROWS = 110, 30


class Tests:
    def __init__(self, options, folder):
        self.build = options.build
        self.folder = folder
        self.teamster = os.path.join(self.build, "cli/teamster")
        self.variables = {}

    def begin(self, n_nodes=3, *options, iterations=1000000):
        """A job that goes on for longer than one looks. @return it, its number"""
        job = jobs.Job(self.teamster, (
            "-n", n_nodes, *options, os.path.join(self.build, "apps/jacobi"),
            "--size", 200, "--threads", THREADS, "--iterations", iterations),
            self.variables)
        if not jobs.wait_until(lambda: str(job.process.pid) in
                               self.call("ps").stdout):
            job.fail("ps does not know it", "")
        return job, job.process.pid

    def end(self, job):
        job.process.terminate()
        job.finish()

    def call(self, *words, **more):
        return subprocess.run([self.teamster, *map(str, words)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=jobs.DEADLINE_S,
                              env=jobs.environment(self.variables), check=False, **more)

    def look(self, number):
        """Once. @return the head, the rows"""
        done = self.call("top", "--once", number)
        head = HEAD.search(done.stdout)
        if done.returncode != 0 or not head or done.stderr:
            raise jobs.Failure(f"{done.returncode}: {done.stdout}{done.stderr}")
        return head, NODE.findall(done.stdout)

    # ---- tests

    def once_is_a_table(self):
        job, number = self.begin()
        jobs.wait_until(lambda: "iteration" in self.call(
            "top", "--once", number).stdout)
        head, rows = self.look(number)
        if int(head[1]) != number or len(rows) != 3:
            job.fail(f"{head[0]}: {rows}", "")
        # main() has created them, and waits on the root.
        if sum(int(row[1]) for row in rows) != THREADS + 1:
            job.fail(f"not {THREADS + 1} threads: {rows}", "")
        for row in rows:
            if sum(map(int, row[2:6])) > 104 or float(row[8]) <= 0:
                job.fail(f"shares of more than all, or nothing sent: {row}", "")
        later, _ = self.look(number)
        if int(later[2]) <= int(head[2]):
            job.fail("iterations do not go on", "")
        self.end(job)

    def memory_has_its_limit(self):
        hosts = os.path.join(self.folder, "hosts")
        with open(hosts, "w", encoding="utf-8") as file:
            file.write("n1 workers=1\nn2 workers=1 memory=300K\n")
        job, number = self.begin(2, f"--hostfile={hosts}", "--emulate",
                                 "--policy=none")
        jobs.wait_until(lambda: "iteration" in self.call(
            "top", "--once", number).stdout)
        _, rows = self.look(number)
        if rows[0][6] != "no limit" or not rows[1][6].endswith("of 0.3"):
            job.fail(f"memory is {rows}", "")
        if not jobs.wait_until(lambda: int(self.look(number)[1][1][7]) > 0):
            job.fail("n2 reads no pages", "")
        self.end(job)

    def which_job_is_asked_if_there_are_several(self):
        self.variables = {"TMPDIR": self.folder, "XDG_RUNTIME_DIR": ""}
        done = self.call("top", "--once", 999999999)
        if done.returncode != 64 or "there is no job 999999999" not in done.stderr:
            raise jobs.Failure(f"{done.returncode}: {done.stderr}")
        if os.listdir(self.folder):
            raise jobs.Failure(f"asking leaves {os.listdir(self.folder)}")
        one, _ = self.begin(1)
        two, _ = self.begin(1)
        done = self.call("top", "--once")
        if done.returncode != 64 or done.stderr.count("\n") != 1 or (
                "which job" not in done.stderr):
            raise jobs.Failure(f"{done.returncode}: {done.stderr}")
        self.end(one)
        self.end(two)

    def it_ends_with_the_job(self):
        job, number = self.begin(2)
        with subprocess.Popen([self.teamster, "top", str(number)],
                              stdout=subprocess.PIPE, text=True,
                              env=jobs.environment({})) as top:
            for line in top.stdout:
                if line.startswith("n1"):
                    break
            self.end(job)
            rest = top.stdout.read()
            code = top.wait(timeout=jobs.DEADLINE_S)
        if code != 0:
            raise jobs.Failure(f"exit code {code}: {rest}")

    def who_does_not_read_harms_nobody(self):
        """A viewer that is stopped is dropped; the job goes on."""
        job, number = self.begin(2)
        with subprocess.Popen([self.teamster, "top", str(number)],
                              stdout=subprocess.PIPE,
                              env=jobs.environment({})) as top:
            time.sleep(3)  # its pipe is not read; it reads still
            head, _ = self.look(number)
            time.sleep(1)
            later, _ = self.look(number)
            top.kill()
        if int(later[2]) <= int(head[2]):
            job.fail("iterations do not go on", "")
        self.end(job)

    def a_terminal_shows_it_and_q_ends_it(self):
        if not shutil.which("tmux"):
            raise jobs.Skip("there is no tmux")
        job, number = self.begin(3)
        socket = os.path.join(self.folder, "tmux")

        def tmux(*words):
            return subprocess.run(
                ["tmux", "-S", socket, "-f", "/dev/null", *words],
                stdout=subprocess.PIPE, text=True, check=True,
                env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout

        ended = os.path.join(self.folder, "ended")
        tmux("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS),
             f"'{self.teamster}' top {number}; echo $? > '{ended}'; sleep 100")
        try:
            def screen():
                return tmux("capture-pane", "-p")

            if not jobs.wait_until(lambda: len(NODE.findall(screen())) == 3
                                   and "an iteration" in screen()):
                job.fail("no table", screen())
            lines = screen().splitlines()
            if f"job {number}: jacobi" not in lines[0] or (
                    "q ends this" not in lines[ROWS - 1]):
                job.fail("no head or no keys", screen())
            bars = [line for line in lines if re.match(r"^  [#=.!]+$", line)]
            if not bars or max(map(len, lines)) > COLUMNS:
                job.fail("no bars, or too long", screen())
            self.call("remove", number, 2)
            if not jobs.wait_until(
                    lambda: "n2 is not there any more" in screen()):
                job.fail("a node that has left is not told", screen())
            tmux("resize-window", "-x", "60", "-y", "12")
            if not jobs.wait_until(lambda: max(map(
                    len, screen().splitlines())) <= 60):
                job.fail("the new size is not known", screen())
            tmux("send-keys", "q")
            if not jobs.wait_until(lambda: jobs.read_bytes(ended) == b"0\n"):
                job.fail("q does not end it", screen())
        finally:
            tmux("kill-server")
        head, _ = self.look(number)
        time.sleep(1)
        if int(self.look(number)[0][2]) <= int(head[2]):
            job.fail("the job has not gone on", "")
        self.end(job)


TESTS = [name for name in vars(Tests) if name.startswith(
    ("once_", "memory_", "which_", "it_", "who_", "a_"))]


if __name__ == "__main__":
    sys.exit(jobs.main(Tests, argparse.ArgumentParser(description=__doc__),
                       TESTS))
