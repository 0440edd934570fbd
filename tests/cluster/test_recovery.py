#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs lose nodes, and go on by themselves: the same bits at the end, and each line once.

    test_recovery.py TEST --build DIR [--seed N]
"""
import argparse
import collections
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import jobs
from test_checkpoints import Checkpoints

THREADS, ITERATIONS = 5, 320
TALK = ("-t", THREADS, "-i", ITERATIONS, "-p", 2000, "-o")
LINE = re.compile(r"\bthread (\d+): iteration (\d+)$", re.M)
BACK = re.compile(r"^teamster run: back to iteration (\d+) of (\d+), "
                  r"\d+\.\d s lost", re.M)
LOST = re.compile(r"^teamster run: node \d+ \(pid \d+\) (died: killed by SIGKILL|is lost)",
                  re.M)
NODE_LOST, ABORTED = 75, 134


class Recovery(Checkpoints):
    def words(self, every=5, recover="--recover"):
        return (f"--checkpoint={self.folder},every={every}", recover)

    def right(self, program):
        return self.result(self.expect(1, program))

    def await_generations(self, job, n):
        """Wait until so many more are whole than there are."""
        before = max(self.generations(), default=0)

        def has_come():
            found = [g for g in self.generations() if g > before]
            return (found and (found[-1] - before) % 1000 >= n
                    or job.process.poll() is not None)

        if not jobs.wait_until(has_come):
            job.fail("no checkpoints", job.kill_all())

    def kill_node(self, job, number):
        pid = jobs.wait_until(lambda: job.node(number) or
                              job.process.poll() is not None)
        if not isinstance(pid, bool) and pid:
            try:
                os.kill(pid, signal.SIGKILL)
                return True
            except ProcessLookupError:
                pass
        return False

    def expect_each_line_once(self, job, output, n_iterations=ITERATIONS,
                              n_threads=THREADS):
        count = collections.Counter(LINE.findall(output))
        wrong = [f"{line}: {count[line]} times" for line in
                 ((str(t), str(i)) for t in range(n_threads)
                  for i in range(n_iterations)) if count[line] != 1]
        if wrong or len(count) != n_threads * n_iterations:
            job.fail(f"{len(wrong)} lines, {wrong[:5]}", output)
        for words in ("main() prepares", "main() complains"):
            if output.count(words) != 1:
                job.fail(f"{words}: {output.count(words)} times", output)

    def expect_goes_on(self, job, right, n_back=1, **iterations):
        output = job.expect_success()
        if self.result(output) != right:
            job.fail("another result", output)
        self.expect_each_line_once(job, output, **iterations)
        if len(BACK.findall(output)) != n_back:
            job.fail(f"not back {n_back} times", output)
        for words in ("did not come again", "goes on from checkpoint",
                      "no checkpoint:"):
            if words in output:
                job.fail(f"{words!r} is said", output)
        return output

    # ---- tests

    def a_lost_node_is_gone_back_for(self):
        """The root or another, with several protocols and sources of faults."""
        program = self.program("resumed", *TALK)
        right = self.right(program)
        for number in (2, 0, 1):
            job = self.start(3, program, *self.words(), *self.draw_words())
            self.await_generations(job, 3)
            newest = self.generations()[-1]
            if not self.kill_node(job, number):
                job.fail("it has ended", job.kill_all())
            output = self.expect_goes_on(job, right)
            if len(LOST.findall(output)) != 1:
                job.fail("it is not said once", output)
            if output.count("checkpoints go to") != 1:
                job.fail("it is said again where checkpoints go", output)
            back, of = map(int, BACK.search(output).groups())
            if not 1 < back <= of <= ITERATIONS:
                job.fail("other iterations", output)
            if self.generations()[-1] // 1000 <= newest // 1000:
                job.fail("numbers of before", output)

    def it_may_lose_nodes_again_and_again(self):
        """Also while it saves, and while it goes back."""
        program = self.program("resumed", "-t", THREADS, "-i", ITERATIONS,
                               "-p", 4000, "-o", "-b", 200)
        right = self.right(program)
        job = self.start(3, program, *self.words(every=1, recover="--recover=50"))
        n_killed = 0
        for _ in range(8):
            time.sleep(self.random.uniform(0, 1.2) * jobs.SLOWDOWN)
            n_killed += self.kill_node(job, self.random.randrange(3))
        output = job.expect_success()
        print(f"killed {n_killed}, back {output.count('teamster run: back to')}")
        if self.result(output) != right or n_killed < 3:
            job.fail(f"another result, or only {n_killed} killed", output)
        if "nothing was saved yet" not in output:
            self.expect_each_line_once(job, output)

    def lines_of_just_before_the_loss_are_shown_once(self):
        """Threads were far ahead of the newest checkpoint, and of what the launcher has heard
        of them, and then checkpoints come quickly."""
        program = self.program("resumed", *TALK)
        right = self.right(program)
        is_quick = os.path.join(self.root, "quick")
        script = os.path.join(self.root, "program")
        with open(script, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n[ -e {is_quick} ] || "
                       "export TEAMSTER_TEST_SLOW_FILES=0:300\n"
                       f'exec {program[0]} "$@"\n')
        os.chmod(script, 0o700)
        job = self.start(3, (script, *program[1:]), *self.words(every=1))
        self.await_generations(job, 1)
        with open(is_quick, "w", encoding="ascii"):
            pass
        if not self.kill_node(job, 1):
            job.fail("it has ended", job.kill_all())
        self.expect_goes_on(job, right)

    def it_may_lose_a_node_while_files_are_written(self):
        """Threads have gone on: lines behind the cut of one that does not become whole come
        again, and are shown once. Later ones have files of an earlier one."""
        program = self.program("resumed", "-t", THREADS, "-i", ITERATIONS,
                               "-p", 4000, "-o", "-b", 200)
        right = self.right(program)
        for number, n_before in ((1, 1), (0, 3), (2, 4)):
            self.variables["TEAMSTER_TEST_SLOW_FILES"] = f"{number}:600"
            job = self.start(3, program, *self.words(every=10))
            self.await_generations(job, n_before)
            coming = os.path.join(self.folder,
                                  f"generation-{self.generations()[-1] + 1}")
            if not jobs.wait_until(lambda: os.path.isdir(coming) or
                                   job.process.poll() is not None):
                job.fail("no second one", job.kill_all())
            time.sleep(0.2)
            if not self.kill_node(job, number):
                job.fail("it has ended", job.kill_all())
            self.expect_goes_on(job, right)

    def two_at_once_are_one_loss(self):
        program = self.program("resumed", *TALK)
        right = self.right(program)
        job = self.start(4, program, *self.words())
        self.await_generations(job, 2)
        for pid in [job.node(number) for number in (1, 2)]:
            os.kill(pid, signal.SIGKILL)
        self.expect_goes_on(job, right)

    def expect_from_the_beginning(self, job, right):
        """@return the output"""
        output = job.expect_success()
        if ("nothing was saved yet: back to the beginning" not in output or
                self.result(output) != right):
            job.fail("another result", output)
        self.expect_each_line_once(job, output)
        return output

    def before_the_first_checkpoint_it_begins_anew(self):
        program = self.program("resumed", *TALK)
        right = self.right(program)
        job = self.start(3, program, *self.words(every=100000))
        job.await_line("iteration 20$|iteration 2[0-9]")
        self.kill_node(job, 1)
        self.expect_from_the_beginning(job, right)

    def checkpoints_of_an_earlier_run_are_not_gone_back_to(self):
        other = self.program("resumed", "-t", 3, "-i", 100000, "-p", 500)
        self.run_until(2, other)
        program = self.program("resumed", *TALK)
        right = self.right(program)
        job = self.start(3, program, *self.words(every=100000))
        job.await_line("iteration 20$|iteration 2[0-9]")
        self.kill_node(job, 1)
        output = job.expect_success()
        if ("nothing was saved yet: back to the beginning" not in output or
                self.result(output) != right):
            job.fail("another result", output)

    def the_same_crash_again_ends_the_run(self):
        program = self.program("resumed", "-t", 3, "-i", 40, "-p", 1000, "-c", 25)
        job = self.start(2, program, *self.words(recover="--recover=2"))
        code, output = job.finish()
        # A newer one may have become whole only when it came there again.
        if (code != NODE_LOST or not 2 <= len(BACK.findall(output)) <= 8 or
                not re.search(r"^teamster run: 2 tries from there came no farther "
                              rf"\(--recover=2\); .*--restart={self.folder}$",
                              output, re.M)):
            job.fail(f"exit code {code}", output)

    def an_exit_code_of_the_program_is_no_loss(self):
        """Also if it is that of a lost node."""
        for program in (self.program("resumed", "-t", 2, "lost"),
                        ("sh", "-c", "exit 75")):
            job = self.start(2, program, *self.words())
            code, output = job.finish()
            if code != NODE_LOST or "back to" in output or "tries" in output:
                job.fail(f"exit code {code}", output)

    def a_restart_is_gone_back_to(self):
        """To where it began; and iterations are counted from there."""
        program = self.program("resumed", *TALK[:4], "-p", 4000, "-o")
        right = self.right(program)
        self.run_until(3, program, at_least=40)
        begun = int(re.search(r"^ +\d+  \S+ \S+ +(\d+)", self.show()[1],
                              re.M).group(1))
        job = self.start(3, program, *self.words(every=100000),
                         f"--restart={self.folder}")
        job.await_line(f"thread 0: iteration {begun + 4}\n")
        self.kill_node(job, 1)
        output = job.expect_success()
        if ("nothing was saved yet: back to where --restart began" not in output
                or self.result(output) != right):
            job.fail("another result, or not back there", output)
        told = re.search(r"SIGKILL after .* s, iteration (\d+)", output)
        if not told or int(told.group(1)) <= begun:
            job.fail(f"iterations do not count from {begun}", output)
        count = collections.Counter(LINE.findall(output))
        wrong = [line for line, n in count.items() if n != 1]
        if wrong or not count:
            job.fail(f"not once: {wrong[:5]}", output)

    def what_was_written_and_not_read_is_shown(self):
        """Where nobody reads, lines wait in the nodes' pipes, from before the checkpoint."""
        program = self.program("resumed", *TALK, "-w", 4000)
        right = self.right(program)
        job = self.start(3, program, *self.words(every=3))
        self.await_generations(job, 3)
        newest = []

        def stands_still():
            time.sleep(2 * jobs.SLOWDOWN)
            newest.append(self.generations()[-1])
            return newest[-2:-1] == newest[-1:]

        jobs.wait_until(stands_still)
        if not self.kill_node(job, 1):
            job.fail("it has ended", job.kill_all())
        time.sleep(8 * jobs.SLOWDOWN)  # until the launcher waits no more
        self.expect_goes_on(job, right)

    def it_never_begins_anew_when_something_was_saved(self):
        program = self.program("resumed", "-t", 3, "-i", 100000, "-p", 2000)
        job = self.start(2, program, *self.words(every=100000))
        job.await_line("checkpoints go to")
        job.process.send_signal(signal.SIGUSR2)
        job.await_line("checkpoint 1 is whole")
        os.rename(os.path.join(self.folder, "generation-1"),
                  os.path.join(self.root, "away"))
        self.kill_node(job, 1)
        code, output = job.finish()
        if (code != NODE_LOST or "back to" in output or
                "a checkpoint was written, but on this machine" not in output):
            job.fail(f"exit code {code}", output)

    def what_was_asked_for_is_asked_for_again(self):
        """Who has asked for a checkpoint gets it after the loss."""
        program = self.program("resumed", "-t", 3, "-i", 12, "-p", 300000)
        right = self.right(self.program("resumed", "-t", 3, "-i", 12))
        job = self.start(2, program, *self.words(every=100000))
        job.await_line("checkpoints go to")
        with subprocess.Popen(
                [self.path("cli", "teamster"), "checkpoint", str(job.process.pid)],
                env={**os.environ, **self.variables}, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as asking:
            if "waits for the end" not in asking.stdout.readline():
                job.fail("it does not wait", job.kill_all())
            self.kill_node(job, 1)
            told = asking.stdout.read()
        if asking.returncode != 0 or "is whole" not in told:
            job.fail(f"{asking.returncode}: {told}", job.kill_all())
        output = job.expect_success()
        if self.result(output) != right or "nothing was saved" not in output:
            job.fail("another result, or saved before", output)

    def a_checkpoint_is_waited_for(self):
        """One that is said to be whole, and is seen a little later."""
        program = self.program("resumed", *TALK)
        right = self.right(program)
        job = self.start(2, program, *self.words(every=100000))
        job.await_line("checkpoints go to")
        job.await_line("thread 0: iteration 5\n")
        job.process.send_signal(signal.SIGUSR2)
        job.await_line("checkpoint 1 is whole")
        there = os.path.join(self.folder, "generation-1")
        away = os.path.join(self.root, "away")
        os.rename(there, away)
        self.kill_node(job, 1)
        job.await_line("died: killed by SIGKILL")
        time.sleep(1.5)
        os.rename(away, there)
        self.expect_goes_on(job, right)

    def what_nodes_write_before_they_start_is_shown_once(self):
        program = self.program("resumed", *TALK, "starts")
        right = self.right(program)
        job = self.start(3, program, *self.words())
        for _ in range(2):
            self.await_generations(job, 2)
            self.kill_node(job, 1)
        output = self.expect_goes_on(job, right, n_back=2)
        if output.count("a node starts") != 3:
            job.fail(f"{output.count('a node starts')} starts", output)

    def a_programs_fault_is_no_loss(self):
        program = self.program("resumed", *TALK)
        job = self.start(3, program, *self.words())
        self.await_generations(job, 1)
        os.kill(job.node(1), signal.SIGABRT)
        code, output = job.finish()
        if code != ABORTED or "back to" in output:
            job.fail(f"exit code {code}", output)

    def a_run_that_is_ended_does_not_go_back(self):
        program = self.program("resumed", *TALK)
        job = self.start(3, program, *self.words())
        self.await_generations(job, 2)  # of one the launcher has heard
        job.process.send_signal(signal.SIGTERM)
        code, output = job.finish()
        if (code != 128 + signal.SIGTERM or "back to" in output or not re.search(
                r"^teamster run: to go on from iteration \d+: teamster run "
                rf"--restart={self.folder}$", output, re.M)):
            job.fail(f"exit code {code}", output)

    def a_run_that_looks_for_a_checkpoint_can_be_ended(self):
        """Where a file server hangs: reading a pipe that nobody writes to is as long."""
        program = self.program("resumed", *TALK)
        for sent in (signal.SIGINT, signal.SIGTERM):
            job = self.start(3, program, *self.words(every=100000))
            job.await_line("checkpoints go to")
            job.await_line("thread 0: iteration 5\n")
            job.process.send_signal(signal.SIGUSR2)
            job.await_line(r"checkpoint \d+ is whole")
            newest = os.path.join(self.folder,
                                  f"generation-{self.generations()[-1]}")
            for name in os.listdir(newest):
                if name != "manifest":
                    os.unlink(os.path.join(newest, name))
                    os.mkfifo(os.path.join(newest, name))
            self.kill_node(job, 1)
            if not jobs.wait_until(lambda: any(
                    jobs.read_bytes(f"/proc/{pid}/comm") == b"teamster-reader\n"
                    for pid in job.processes())):
                job.fail("nobody looks for a checkpoint", job.kill_all())
            time.sleep(0.5)
            job.process.send_signal(sent)
            code, output = job.finish()
            if (code != 128 + sent or "back to" in output or
                    f"teamster run --restart={self.folder}" not in output):
                job.fail(f"exit code {code}", output)
            shutil.rmtree(newest)

    def input_is_read_again(self):
        """From a file, and from a pipe, which the launcher keeps."""
        program = self.program("resumed", *TALK)
        right = self.right(program)
        path = os.path.join(self.root, "input")
        with open(path, "w", encoding="ascii") as file:
            file.writelines(f"line {i}\n" for i in range(100))
        for way in ("cat {} |", "< {}"):
            shell = os.path.join(self.root, "shell")
            with open(shell, "w", encoding="ascii") as file:
                file.write("#!/bin/sh\n" + (
                    f'cat {path} | "$@"' if "cat" in way else f'"$@" < {path}'))
            job = jobs.Job(self.path("cli", "teamster"),
                           ["-n", 3, *self.words(), *program], self.variables,
                           through=["sh", shell])
            self.await_generations(job, 2)
            launcher = jobs.wait_until(lambda: self.launcher_of(job))
            node = next(pid for pid in job.processes()
                        if jobs.parent_of(pid) == launcher and b"TEAMSTER_NODE=0\0"
                        in jobs.read_bytes(f"/proc/{pid}/environ"))
            os.kill(node, signal.SIGKILL)
            output = self.expect_goes_on(job, right)
            for i in range(100):
                if len(re.findall(rf"main\(\) reads line {i}$", output, re.M)) != 1:
                    job.fail(f"line {i}", output)

    def launcher_of(self, job):
        for pid in job.processes():
            words = jobs.read_bytes(f"/proc/{pid}/cmdline").split(b"\0")
            if words[0].endswith(b"cli/teamster") and words[1:2] == [b"run"]:
                if not jobs.read_bytes(f"/proc/{pid}/comm").startswith(
                        b"teamster-"):
                    return pid
        return None

    def nodes_that_have_come_are_there_again(self):
        program = self.program("resumed", "-t", 6, "-i", 400, "-p", 3000)
        right = self.right(program)
        job = self.start(2, program, *self.words())
        self.await_generations(job, 1)
        done = subprocess.run(
            [self.path("cli", "teamster"), "add", str(job.process.pid)],
            env={**os.environ, **self.variables}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=jobs.DEADLINE_S, check=False)
        if done.returncode != 0:
            job.fail(done.stdout, job.kill_all())
        self.await_generations(job, 2)
        self.kill_node(job, 2)
        job.await_line("back to iteration")
        if not jobs.wait_until(lambda: job.node(2) or
                               job.process.poll() is not None):
            job.fail("no third node", job.kill_all())
        listed = subprocess.run(
            [self.path("cli", "teamster"), "ps"], text=True,
            env={**os.environ, **self.variables}, stdout=subprocess.PIPE,
            timeout=jobs.DEADLINE_S, check=False).stdout
        output = job.expect_success()
        if self.result(output) != right or str(job.process.pid) not in listed:
            job.fail(f"another result, or not in {listed}", output)

    def who_watches_sees_it_go_on(self):
        """And the report, of the time since it went back, is written."""
        program = self.program("resumed", "-t", THREADS, "-i", 300, "-p", 8000)
        report = os.path.join(self.root, "report.json")
        status = os.path.join(self.root, "status")
        job = self.start(3, program, *self.words(), f"--report={report}",
                         f"--status-file={status}", "--stats")
        self.await_generations(job, 1)
        path = jobs.wait_until(lambda: next(
            (os.path.join(folder, name) for folder, _, names in os.walk(self.root)
             for name in names if name == str(job.process.pid)), None))
        with socket.socket(socket.AF_UNIX) as watcher:
            watcher.settimeout(jobs.DEADLINE_S)
            watcher.connect(path)
            watcher.sendall(b"watch\n")
            stream = watcher.makefile()
            lines = [json.loads(stream.readline())]
            self.kill_node(job, 1)
            lines += [json.loads(line) for line in stream
                      if line.startswith("{")]
        output = job.expect_success()
        times = [line["seconds"] for line in lines]
        if times != sorted(times) or len(lines) < 3:
            job.fail(f"{lines}", output)
        back = [line["went_back"] for line in lines]
        if back[0] != 0 or back[-1] != 1 or back != sorted(back):
            job.fail(f"went back: {back}", output)
        # A line that comes while the run ends has no nodes that have ended.
        if max(len(line["nodes"]) for line in lines if line["went_back"]) != 3 or \
                not 200 < lines[-1]["iterations"] < 400:
            job.fail(f"{lines}", output)
        with open(status, encoding="utf-8") as file:
            told = json.load(file)
        if told["exit_code"] != 0 or not any("back to iteration" in text
                                             for text in told["messages"]):
            job.fail(f"{told}", output)
        if not os.path.exists(report):
            job.fail("no report", output)

    # ---- --output=held

    def start_held(self, n_nodes, program, *words):
        return self.start(n_nodes, program, *words, "--output=held")

    def expect_first_lines_once(self, job, output, most=ITERATIONS):
        """Of each thread those of the first iterations, and none is missing between them."""
        for thread in range(THREADS):
            told = sorted(int(i) for t, i in LINE.findall(output)
                          if int(t) == thread)
            if not 0 < len(told) <= most or told != list(range(len(told))):
                job.fail(f"thread {thread}: {told}", output)

    def held_output_is_shown_after_its_checkpoint(self):
        """And not before; what is behind it is shown when the run is ended."""
        program = self.program("resumed", "-t", THREADS, "-i", 100000,
                               "-p", 20000, "-o", "-z")
        job = self.start_held(2, program, *self.words(every=1000000)[:1])
        job.await_line("checkpoints go to")
        time.sleep(jobs.SLOWDOWN)
        if job.n_told(r"main\(\) (prepares|complains)|: iteration \d"):
            job.fail("output is shown before a checkpoint", job.kill_all())
        job.process.send_signal(signal.SIGUSR2)
        job.await_line("checkpoint 1 is whole: iteration")
        job.await_line("main.. complains")
        job.await_line("thread 0: iteration 1\n")
        time.sleep(jobs.SLOWDOWN)
        shown = [int(i) for _, i in LINE.findall(
            job.heard.decode(errors="replace"))]
        job.process.send_signal(signal.SIGINT)
        code, output = job.finish()
        saved = int(re.search(r"whole: iteration (\d+)", output).group(1))
        if code != 128 + signal.SIGINT or max(shown) >= saved:
            job.fail(f"{code}: {max(shown)} of {saved} are shown", output)
        if output.index("whole: iteration") > output.index("main() prepares"):
            job.fail("main() was not held", output)
        self.expect_first_lines_once(job, output, 100000)
        if max(int(i) for _, i in LINE.findall(output)) <= saved:
            job.fail("what was held at the end is lost", output)

    def held_lines_are_shown_once_though_they_differ(self):
        """They have the time in them, so that none is written a second time."""
        program = self.program("resumed", *TALK, "-z")
        right = self.right(program)
        for n_back, numbers in ((1, [0]), (2, [2, 1])):
            job = self.start_held(3, program, *self.words())
            for number in numbers:
                self.await_generations(job, 2)
                if not self.kill_node(job, number):
                    job.fail("it has ended", job.kill_all())
                if number != numbers[-1]:
                    job.await_line("back to iteration")
            self.expect_goes_on(job, right, n_back=n_back)

    def held_output_from_the_beginning_is_shown_once(self):
        """Nothing was saved when a node was lost."""
        program = self.program("resumed", *TALK, "-z", "starts")
        right = self.right(program)
        job = self.start_held(3, program, *self.words(every=100000))
        job.await_line("checkpoints go to")
        time.sleep(0.3)
        self.kill_node(job, 1)
        output = self.expect_from_the_beginning(job, right)
        if output.count("a node starts") != 3:
            job.fail("what nodes write first is not shown once", output)

    def what_is_held_at_a_bad_end_is_shown(self):
        program = self.program("resumed", *TALK, "-z")
        for number, words, wanted in (
                (1, self.words(every=40)[:1], NODE_LOST),
                (0, self.words(every=40)[:1], ABORTED)):
            job = self.start_held(2, program, *words)
            self.await_generations(job, 1)
            os.kill(job.node(number), signal.SIGKILL if wanted == NODE_LOST
                    else signal.SIGABRT)
            code, output = job.finish()
            if code != wanted:
                job.fail(f"exit code {code}", output)
            self.expect_first_lines_once(job, output)
        job = self.start_held(2, ("sh", "-c", "echo out; echo err >&2; exit 3"),
                              *self.words()[:1])
        code, output = job.finish()
        if (code, output.count("out\n"), output.count("err\n")) != (3, 2, 2):
            job.fail(f"exit code {code}", output)

    def much_that_is_held_goes_to_a_file(self):
        """Which has no name, in the folder of TMPDIR."""
        program = self.program("resumed", *TALK[:4], "-p", 4000, "-o",
                               "-w", 20000)
        right = self.right(program)
        job = self.start_held(2, program, *self.words(every=100000))
        there = f"/proc/{job.process.pid}/fd"

        def has_file():
            links = [os.readlink(os.path.join(there, name))
                     for name in os.listdir(there)]
            return (any(link.startswith(self.root) and "(deleted)" in link
                        for link in links) or job.process.poll() is not None)

        if not jobs.wait_until(has_file) or job.process.poll() is not None:
            job.fail("no file", job.kill_all())
        output = job.expect_success()
        if self.result(output) != right:
            job.fail("another result", output[-2000:])
        self.expect_each_line_once(job, output)

    def what_cannot_be_is_refused(self):
        program = self.program("resumed", "-t", 2, "-i", 3)
        for words, text in (
                (("--recover",), "give it --checkpoint=DIR, too"),
                (("--output=held",), "behind it: give it --checkpoint=DIR, too"),
                (("--output=later",), "allowed: shown or held"),
                (("--checkpoint=saved", "--spare=b"), "give it --recover, too"),
                (("--checkpoint=saved", "--recover", "--spare=b"),
                 "all nodes are on this machine"),
                (("--checkpoint=saved", "--recover=x"), "allowed: 0 to 1000")):
            self.refused(64, text, 2, program, *words)
        done = subprocess.run(
            [*map(str, program)], text=True, stdout=subprocess.PIPE,
            env={**os.environ, "TEAMSTER_RECOVER": "3"},
            stderr=subprocess.STDOUT, timeout=jobs.DEADLINE_S, check=False)
        if done.returncode != 78 or "`teamster run`" not in done.stdout:
            raise jobs.Failure(f"{done.returncode}\n{done.stdout}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    return jobs.main(Recovery, parser)


if __name__ == "__main__":
    sys.exit(main())
