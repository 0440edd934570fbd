#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs are killed, and go on from a checkpoint: the same bits at the end.

    test_checkpoints.py TEST --build DIR [--app NAME] [--seed N]

Test `app`: an application that is killed once and goes on, each time on another number of
nodes, with another protocol, policy, source of faults and budget of memory, drawn from the
seed.
"""
import argparse
import os
import random
import re
import shutil
import shutil
import signal
import subprocess
import sys
import time

import jobs

APPS = {
    "jacobi": ("--size", 256, "--iterations", 120, "--threads", 6, "--effort", 60),
    "sor": ("--size", 256, "--iterations", 120, "--threads", 6, "--effort", 60),
    "gauss": ("--size", 300, "--iterations", 150, "--threads", 6, "--effort", 60),
    "resumed": ("-t", 6, "-i", 240, "-p", 2000),
    "rarely": ("-t", 6, "-i", 150, "-p", 8000, "-b", 600),
}
PROGRAMS = {"rarely": "resumed"}
N_RUNS = 4  # of test `app`
N_KILLS = 8
RESULT = re.compile(r"\b([0-9a-f]{16})$", re.M)
READ = re.compile(r"(\d+) pages, (\d+) bytes, read in (\d+) of \d+ files", re.M)
PROTOCOLS = [name for name in jobs.PROTOCOLS if name != "homeless"]
GOES_ON = "goes on from checkpoint"
USAGE, OUTPUT, MISMATCH, CONFIGURATION = 64, 73, 76, 78


class Checkpoints:
    def __init__(self, options, folder):
        self.options = options
        self.root = folder
        self.folder = os.path.join(folder, "saved")
        self.variables = {"TMPDIR": folder, "XDG_RUNTIME_DIR": ""}
        self.random = random.Random(options.seed)

    def path(self, *parts):
        return os.path.join(self.options.build, *parts)

    def program(self, name, *words):
        found = PROGRAMS.get(name, name)
        place = ("tests", "cluster") if found == "resumed" else ("apps",)
        return (self.path(*place, found), *(words or APPS[name]))

    def start(self, n_nodes, program, *words):
        return jobs.Job(self.path("cli", "teamster"),
                        ["-n", n_nodes, *words, *program], self.variables)

    def expect(self, n_nodes, program, *words):
        """A run to its end. @return its output"""
        return self.start(n_nodes, program, *words).expect_success()

    def result(self, output):
        found = RESULT.findall(output)
        if len(found) != 1:
            raise jobs.Failure(f"no result in\n{output}")
        return found[0]

    def refused(self, code, text, n_nodes, program, *words):
        job = self.start(n_nodes, program, *words)
        found, output = job.finish()
        if found != code or text not in output:
            job.fail(f"exit code {found}, not {code} with {text!r}", output)

    def generations(self):
        """Of those that have a manifest, rising."""
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        return sorted(int(name.split("-")[1]) for name in names
                      if os.path.exists(os.path.join(self.folder, name,
                                                     "manifest")))

    def kill(self, job):
        """All at once, as if the power went."""
        pids = job.processes()
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        output = job.rest()
        if not jobs.wait_until(lambda: not job.processes(), jobs.LEFTOVER_S):
            job.fail("processes are left", output)
        return output

    def run_until(self, n_nodes, program, *words, every=3, at_least=2):
        """A run that is killed when it has written so many checkpoints, or more."""
        before = max(self.generations(), default=0)
        job = self.start(n_nodes, program,
                         f"--checkpoint={self.folder},every={every}", *words)

        def has_come():
            return (max(self.generations(), default=0) >= before + at_least
                    or job.process.poll() is not None)

        if not jobs.wait_until(has_come) or job.process.poll() is not None:
            job.fail("no checkpoints", job.kill_all())
        return self.kill(job)

    def draw_words(self):
        words = ["--protocol", self.random.choice(PROTOCOLS),
                 "--policy", self.random.choice(("none", "cpu-mem", "cpu")),
                 "--fault-source",
                 self.random.choice(("userfaultfd", "mprotect"))]
        if self.random.random() < 0.5:
            words += ["--memory", self.random.choice(("512K", "1M", "4M"))]
        if self.random.random() < 0.5:
            words += ["--workers", 2]
        return words

    def show(self, folder=None):
        done = subprocess.run(
            [self.path("cli", "teamster"), "ckpt", "show",
             folder or self.folder], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=jobs.DEADLINE_S, check=False)
        return done.returncode, done.stdout

    # ---- tests

    def app(self):
        program = self.program(self.options.app)
        right = self.result(self.expect(1, program))
        for _ in range(N_RUNS):
            shutil.rmtree(self.folder, ignore_errors=True)
            words = self.draw_words()
            if self.random.random() < 0.5:
                words += ["--shuffle", self.random.randrange(1, 1000)]
            output = self.run_until(self.random.randint(1, 4), program, *words,
                                    every=self.random.choice(
                                        ("3", "3,compress=no")),
                                    at_least=4 if self.options.app in PROGRAMS else 2)
            if "no checkpoint:" in output:
                raise jobs.Failure(f"{words}\n{output}")
            output = self.expect(self.random.randint(1, 4), (),
                                 f"--restart={self.folder}",
                                 *self.draw_words())
            if self.result(output) != right or GOES_ON not in output:
                raise jobs.Failure(f"another result\n{output}")

    def it_may_be_killed_at_any_moment(self):
        """Also while it writes, or goes on from one: again and again."""
        program = self.program("resumed", "-t", 5, "-i", 600, "-p", 1000, "-b", 300)
        right = self.result(self.expect(1, program))
        n_kills = 0
        self.run_until(2, program, every=1, at_least=1)
        while True:
            job = self.start(self.random.randint(1, 3), (),
                             f"--restart={self.folder}",
                             f"--checkpoint={self.folder},every=1")
            ends = (time.monotonic() +
                    self.random.uniform(0.05, 1.5) * jobs.SLOWDOWN)
            if n_kills < N_KILLS:
                while time.monotonic() < ends and job.process.poll() is None:
                    time.sleep(0.005)
            else:
                job.process.wait()
            if job.process.poll() is not None:
                break
            self.kill(job)
            n_kills += 1
        print(f"killed {n_kills} times")
        output = job.rest()
        if job.process.returncode != 0 or self.result(output) != right:
            job.fail("another result", output)

    def a_killed_launcher_says_how_to_go_on(self):
        job = self.start(2, self.program("resumed", "-t", 3, "-i", 100000, "-p", 2000),
                         f"--checkpoint={self.folder},every=5")
        if not jobs.wait_until(self.generations):
            job.fail("no checkpoints", job.kill_all())
        job.process.kill()
        output = job.rest()
        job.expect_nothing_left(output)
        if f"to go on from the newest checkpoint: teamster run --restart={self.folder}\n" not in output:
            job.fail("nobody says how to go on", output)

    def older_files(self, generation):
        """Those that were written for an earlier one."""
        folder = os.path.join(self.folder, f"generation-{generation}")
        return [os.path.join(folder, name) for name in os.listdir(folder)
                if name.startswith("older-")]

    def new_bytes(self):
        """Of each checkpoint there is: all, and those written for it, in MB."""
        code, shown = self.show()
        if code != 0:
            raise jobs.Failure(shown)
        return {int(number): (float(n_all), float(n_new))
                for number, n_all, n_new in re.findall(
                    r"^ +(\d+)  \S+ \S+ +\d+ +\d+ +\d+ +([\d.]+) +([\d.]+)  whole",
                    shown, re.M)}

    def what_has_not_changed_is_not_written_again(self):
        """A checkpoint has it in files of an earlier one, which may go; from each that is there a
        run goes on, on any number of nodes, and goes on so."""
        program = self.program("resumed", "-t", 4, "-i", 120, "-p", 8000, "-b", 2000)
        right = self.result(self.expect(1, program))
        self.run_until(3, program, every=2, at_least=7)
        kept = self.generations()[-2:]
        sizes = self.new_bytes()
        for generation in kept:
            n_all, n_new = sizes[generation]
            if n_all < 6 or n_new > n_all / 2 or not self.older_files(generation):
                raise jobs.Failure(f"{sizes}, {self.older_files(generation)}")
        inodes = [{os.stat(path).st_ino for path in self.older_files(generation)}
                  for generation in kept]
        if inodes[0] & inodes[1]:
            raise jobs.Failure("two checkpoints have a file in common")
        saved = self.folder + "-all"
        os.rename(self.folder, saved)
        for n_nodes in range(1, 5):
            for generation in kept:
                self.take_alone(saved, generation)
                output = self.expect(n_nodes, (), f"--restart={self.folder}")
                if (f"{GOES_ON} {generation}:" not in output
                        or self.result(output) != right):
                    raise jobs.Failure(f"{n_nodes} nodes from {generation}\n{output}")

    def take_alone(self, saved, generation):
        """The folder has one checkpoint of another folder, and nothing else."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(os.path.join(saved, f"generation-{generation}"),
                        os.path.join(self.folder, f"generation-{generation}"))

    def who_removes_the_older_one_makes_the_next_one_whole(self):
        """Its files cannot be kept then: all is written."""
        program = self.program("resumed", "-t", 3, "-i", 100000, "-p", 2000, "-b", 300)
        job = self.start(2, program, f"--checkpoint={self.folder},every=5", "--verbose")

        def remove_older():
            try:
                older = self.generations()[-2]
                shutil.rmtree(os.path.join(self.folder, f"generation-{older}"))
            except (IndexError, FileNotFoundError):
                pass
            return job.n_told("all is written, files of .* cannot be kept") > 0

        if not jobs.wait_until(remove_older):
            job.fail("nobody has missed it", job.kill_all())
        last = self.generations()[-1]
        if not jobs.wait_until(lambda: self.generations()[-1:] > [last + 2]):
            job.fail("no more checkpoints", job.kill_all())
        self.kill(job)
        if len(self.new_bytes()) < 1 or self.show()[1].count("torn") > 1:
            raise jobs.Failure(self.show()[1])
        job = self.start(3, (), f"--restart={self.folder}",
                         f"--checkpoint={self.folder},every=5")
        job.await_line(GOES_ON)
        self.kill(job)

    def without_zstd_nothing_is_compressed(self):
        """And what is compressed is not gone on from."""
        if "zstd" not in subprocess.run([self.path("cli", "teamster"), "info"], text=True,
                                        stdout=subprocess.PIPE, check=True).stdout:
            raise jobs.Skip("there is no zstd here")
        program = self.program("jacobi")
        right = self.result(self.expect(1, program))
        self.run_until(2, program)
        small = min(n_new for _, n_new in self.new_bytes().values())
        hidden = os.path.join(self.root, "libraries")
        os.mkdir(hidden)
        with open(os.path.join(hidden, "libzstd.so.1"), "w", encoding="ascii"):
            pass  # it is found first, and is none
        self.variables["LD_LIBRARY_PATH"] = hidden
        code, output = self.start(2, (), f"--restart={self.folder}").finish()
        if code not in (MISMATCH, CONFIGURATION) or "there is no zstd here" not in output:
            raise jobs.Failure(f"{code}: {output}")
        if self.show()[0] != 0:
            raise jobs.Failure("it is not found to be whole")
        shutil.rmtree(self.folder)
        self.run_until(2, program)
        large = min(n_new for _, n_new in self.new_bytes().values())
        if large < 2 * small:
            raise jobs.Failure(f"{large} MB without, {small} MB with zstd")
        output = self.expect(3, (), f"--restart={self.folder}")
        if self.result(output) != right:
            raise jobs.Failure(output)

    def spoil(self, path):
        """Change a file in one way. @return what was there"""
        with open(path, "rb") as file:
            was = file.read()
        bad = bytearray(was)
        way = self.random.randrange(3)
        if way == 0:
            at = self.random.randrange(len(bad))
            bad[at] ^= 1 << self.random.randrange(8)
        elif way == 1:
            del bad[self.random.randrange(len(bad)):]
        else:
            bad += b"\0"
        with open(path, "wb") as file:
            file.write(bad)
        return was

    def torn_files_are_not_used(self):
        """Each file of a checkpoint, changed by a bit, cut, or longer; also one that was written
        for an earlier one. The checkpoint before has none of them."""
        program = self.program("resumed", "-t", 3, "-i", 60, "-p", 1000, "-b", 300)
        right = self.result(self.expect(1, program))
        self.run_until(2, program, every=2, at_least=6)
        older, newest = self.generations()[-2:]
        folder = os.path.join(self.folder, f"generation-{newest}")
        if not self.older_files(newest):
            raise jobs.Failure("nothing is kept of an earlier one")
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            for _ in range(12):
                was = self.spoil(path)
                code, shown = self.show()
                torn = re.findall(r"^ +(\d+) .*torn: (?!it was not finished)",
                                  shown, re.M)
                if code != 0 or torn != [str(newest)]:
                    raise jobs.Failure(f"{name}: {code}\n{shown}")
                with open(path, "wb") as file:
                    file.write(was)
            self.spoil(path)
            output = self.expect(2, (), f"--restart={self.folder}")
            if (f"generation {newest} cannot be used" not in output or
                    f"{GOES_ON} {older}:" not in output or
                    self.result(output) != right):
                raise jobs.Failure(f"{name}\n{output}")
            with open(path, "wb") as file:
                file.write(was)
        for generation in (older, newest):
            os.unlink(os.path.join(self.folder, f"generation-{generation}",
                                   "manifest"))
        if self.show()[0] != CONFIGURATION:
            raise jobs.Failure("teamster ckpt show finds one")
        self.refused(CONFIGURATION, "no checkpoint there is whole", 2, program,
                     f"--restart={self.folder}")

    def what_cannot_be_saved_is_told(self):
        """And the run goes on."""
        for mistake, text in (("held", "a mutex is held"),
                              ("aside", "have come to the end of an iteration"),
                              ("early", "main() has called tm_mutex_lock()"),
                              ("on", "main() has called tm_thread_join()"),
                              ("bound", "bound to locks")):
            program = self.program("resumed", "-t", 3, "-i", 40, "-p", 1000, mistake)
            right = self.result(self.expect(1, program))
            output = self.expect(2, program,
                                 f"--checkpoint={self.folder},every=2")
            if output.count(text) != 1 or self.result(output) != right:
                raise jobs.Failure(f"{mistake}: no {text!r}\n{output}")

    def no_checkpoint_has_what_stays_with_writers(self):
        program = self.program("resumed", "-t", 3, "-i", 40, "-p", 1000)
        output = self.expect(2, program, "--protocol=homeless",
                             f"--checkpoint={self.folder},every=2")
        if (output.count("stays where it was written") != 1 or
                self.result(output) != self.result(self.expect(1, program))):
            raise jobs.Failure(f"not told once:\n{output}")

    def another_program_is_refused(self):
        program = self.program("resumed", "-t", 3, "-i", 40, "-p", 1000)
        self.run_until(2, program, every=2, at_least=1)
        restart = f"--restart={self.folder}"
        self.refused(MISMATCH, "of another program", 2, self.program("sor"),
                     restart)
        self.refused(MISMATCH, "main() does not do what it did", 2,
                     self.program("resumed", "-t", 4, "-i", 40), restart)
        self.refused(MISMATCH, "give it --stack-size=262144", 2, (), restart,
                     "--stack-size=512K")
        self.refused(CONFIGURATION, "there is no checkpoint", 2, (),
                     f"--restart={self.root}")
        self.refused(CONFIGURATION, "No such file", 2, (),
                     f"--restart={self.root}/none")

    def it_needs_fixed_addresses(self):
        done = subprocess.run(
            [self.path("tests", "cluster", "resumed")], text=True, stdout=subprocess.PIPE,
            env={**os.environ, "TEAMSTER_CHECKPOINT": self.folder},
            stderr=subprocess.STDOUT, timeout=jobs.DEADLINE_S, check=False)
        if (done.returncode != CONFIGURATION or
                "address randomisation is on" not in done.stdout):
            raise jobs.Failure(f"exit code {done.returncode}\n{done.stdout}")

    def a_folder_that_cannot_be_written_is_told(self):
        program = self.program("resumed", "-t", 3, "-i", 10)
        path = os.path.join(self.root, "file")
        with open(path, "w", encoding="ascii"):
            pass
        self.refused(OUTPUT, "Not a directory", 2, program,
                     f"--checkpoint={path}/in")

    def what_cannot_be_read_is_no_checkpoint(self):
        """Not one with the pages that were read before."""
        words = ("-t", 3, "-i", 100, "-b", 200)
        right = self.result(self.expect(1, self.program("resumed", *words)))
        self.variables["TEAMSTER_TEST_LOSE_RUN"] = "0:7"
        output = self.expect(2, self.program("resumed", *words, "-p", 3000),
                             f"--checkpoint={self.folder},every=5")
        told = output.count("no checkpoint: node 0 cannot write to")
        if self.result(output) != right or told != 1 or self.generations():
            raise jobs.Failure(f"told {told} times, there are {self.generations()}\n{output}")

    def a_folder_that_goes_is_no_harm(self):
        """Whether threads are held while it is written to, or not."""
        program = self.program("resumed", "-t", 3, "-i", 100, "-p", 3000)
        right = self.result(self.expect(1, program))
        for words in ((), ("--memory=144K", "--swap-dir=/dev/shm")):
            job = self.start(2, program, *words,
                             f"--checkpoint={self.folder},every=5")
            jobs.wait_until(self.generations)
            os.rename(self.folder, self.folder + ".gone")
            with open(self.folder, "w", encoding="ascii"):
                output = job.expect_success()
            if (self.result(output) != right or
                    output.count("cannot write to") != 1):
                raise jobs.Failure(f"{words}\n{output}")
            os.remove(self.folder)
            shutil.rmtree(self.folder + ".gone")

    def a_folder_is_of_one_run_and_of_one_user(self):
        """While a run writes there no other does; nobody else can read it. What a killed run
        has left half-written goes."""
        program = self.program("resumed", "-t", 3, "-i", 100000, "-p", 500)
        self.run_until(2, program)
        half = os.path.join(self.folder, "generation-99")
        os.mkdir(half)
        job = self.start(2, program, f"--checkpoint={self.folder},every=3")
        try:
            if not jobs.wait_until(lambda: not os.path.exists(half)):
                job.fail("what was half-written is still there", "")
            self.refused(OUTPUT, "another run writes its checkpoints there", 2,
                         self.program("resumed", "-t", 3, "-i", 10),
                         f"--checkpoint={self.folder}")
        finally:
            output = self.kill(job)
        if "has checkpoints of an earlier run" not in output:
            raise jobs.Failure(output)
        for folder, _, names in os.walk(self.folder):
            for name in (".", *names):
                if os.stat(os.path.join(folder, name)).st_mode & 0o077:
                    raise jobs.Failure(f"others may use {folder}/{name}")

    def a_clerk_that_is_late_holds_up_only_the_next(self):
        """One that has told what it wrote, or read, and has not ended when the next checkpoint is
        due."""
        program = self.program("resumed", "-t", 3, "-i", 40, "-p", 500)
        right = self.result(self.expect(1, program))
        self.variables["TEAMSTER_TEST_HOLD_CLERK"] = "1:150"
        self.run_until(2, program, every=1, at_least=3)
        output = self.expect(2, (), f"--restart={self.folder}",
                             f"--checkpoint={self.folder},every=1")
        if self.result(output) != right or "refused" in output:
            raise jobs.Failure(output)

    def nodes_read_the_files_that_are_theirs(self):
        """Each its own; with fewer nodes one more; with more nodes two share one."""
        program = self.program("resumed")
        right = self.result(self.expect(1, program))
        self.run_until(4, program)
        for n_nodes, n_read in ((4, [1, 1, 1, 1]), (3, [1, 1, 2]), (6, [1] * 6)):
            output = self.expect(n_nodes, (), f"--restart={self.folder}", "--verbose")
            found = READ.findall(output)
            if (self.result(output) != right or
                    sorted(int(n_files) for _, _, n_files in found) != n_read):
                raise jobs.Failure(f"{found}, not {n_read}:\n{output}")

    def nodes_that_share_a_file_read_it_once(self):
        """Together all of both files, and each page once; checksums and the like are read by all."""
        words = ("-t", 4, "-i", 200, "-b", 2000)
        right = self.result(self.expect(1, self.program("resumed", *words)))
        self.run_until(2, self.program("resumed", *words, "-p", 2000))
        generation = max(self.generations())
        folder = os.path.join(self.folder, f"generation-{generation}")
        n_bytes = sum(os.path.getsize(os.path.join(folder, f"node-{i}")) for i in (0, 1))
        n_pages = set()
        for n_nodes in (2, 8):
            output = self.expect(n_nodes, (), f"--restart={self.folder}", "--verbose")
            found = READ.findall(output)
            n_pages.add(sum(int(pages) for pages, _, _ in found))
            n_read = sum(int(n) for _, n, _ in found)
            if self.result(output) != right or len(n_pages) != 1 or n_read > 1.1 * n_bytes:
                raise jobs.Failure(f"{found}, {n_bytes} bytes:\n{output}")

    def other_arguments_are_told(self):
        self.run_until(2, self.program("resumed", "-t", 3, "-i", 100000, "-p", 500))
        output = self.start(2, self.program("resumed", "-t", 3, "-i", 60, "-p", 9),
                            f"--restart={self.folder}")
        if not jobs.wait_until(lambda: output.process.poll() is not None, 3):
            told = self.kill(output)
        else:
            told = output.rest()
        if "the arguments are others" not in told:
            raise jobs.Failure(told)

    def a_full_disk_keeps_the_one_before(self):
        """A checkpoint that does not fit is a warning."""
        os.mkdir(self.folder)
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=3m", "none", self.folder],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if mounted.returncode != 0:
            raise jobs.Skip("nothing can be mounted here")
        try:
            self.fill_disk()
        finally:
            subprocess.run(["umount", "-l", self.folder], check=False)

    def fill_disk(self):
        program = self.program("resumed", "-t", 3, "-i", 60, "-p", 3000, "-b", 60)
        right = self.result(self.expect(1, program))
        job = self.start(2, program, f"--checkpoint={self.folder},every=3")
        jobs.wait_until(lambda: len(self.generations()) > 1
                        and self.older_files(self.generations()[-1]))
        try:
            with open(os.path.join(self.folder, "fill"), "wb",
                      buffering=0) as file:
                while file.write(bytes(1 << 10)) > 0:
                    pass
        except OSError:
            pass
        output = job.expect_success()
        if (output.count("No space left on device") != 1 or
                self.result(output) != right or not self.generations()):
            job.fail("no warning", output)
        output = self.expect(3, (), f"--restart={self.folder}")
        if self.result(output) != right:
            raise jobs.Failure(output)

    def begin_to_ask(self, job, command, *words):
        """The job, by a command of Teamster's."""
        return subprocess.Popen(
            [self.path("cli", "teamster"), command, str(job.process.pid), *words],
            env={**os.environ, **self.variables}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def ask(self, job, command, *words):
        with self.begin_to_ask(job, command, *words) as asker:
            try:
                output = asker.communicate(timeout=jobs.DEADLINE_S)[0]
            except subprocess.TimeoutExpired:
                asker.kill()
                raise
        return subprocess.CompletedProcess(asker.args, asker.returncode, output)

    def one_is_made_when_asked(self):
        """By a command, which waits for it, and by a signal; then it is gone on from."""
        program = self.program("resumed", "-t", 4, "-i", 300, "-p", 2000)
        right = self.result(self.expect(1, program))
        for every in ("100000", "3600s"):
            before = max(self.generations(), default=0)
            job = self.start(3, program,
                             f"--checkpoint={self.folder},every={every}")
            job.await_line("checkpoints go to")
            for number in (before + 1, before + 2):
                done = self.ask(job, "checkpoint")
                if (done.returncode != 0 or
                        f"checkpoint {number} is whole: iteration " not in done.stdout
                        or "waits for the end of an iteration" not in done.stdout
                        or self.generations()[-1] != number):
                    job.fail(f"{done.returncode}: {done.stdout}", job.kill_all())
            job.process.send_signal(signal.SIGUSR2)
            job.await_line(f"teamster run: checkpoint {before + 3} is whole")
            self.kill(job)
            output = self.expect(2, (), f"--restart={self.folder}")
            if self.result(output) != right:
                raise jobs.Failure(output)

    def last_iteration(self, job):
        job.n_told("")  # it is read
        return max(map(int, re.findall(rb": iteration (\d+)$", job.heard, re.M)),
                   default=0)

    def threads_go_on_while_files_are_written(self):
        """Who asks meanwhile gets another one, and all that was taken is there at the end."""
        program = self.program("resumed", "-t", 3, "-i", 3000, "-p", 300)
        right = self.result(self.expect(1, program))
        self.variables["TEAMSTER_TEST_SLOW_FILES"] = f"1:{1500 * jobs.SLOWDOWN:.0f}"
        job = self.start(2, (*program, "-o"),
                         f"--checkpoint={self.folder},every=100000")
        job.await_line("iteration 9[0-9]")
        with self.begin_to_ask(job, "checkpoint") as first:
            jobs.wait_until(lambda: os.path.exists(
                os.path.join(self.folder, "generation-1", "node-0")))
            at_second = self.last_iteration(job)
            second = self.ask(job, "checkpoint")
            answers = [first.communicate()[0], second.stdout]
        reached = self.last_iteration(job)
        cuts = [int(found[1]) for number, answer in enumerate(answers, 1)
                if (found := re.search(rf"checkpoint {number} is whole: iteration "
                                       rf"(\d+)", answer))]
        few = 10  # iterations, on a machine that is busy, in more than a second
        if (len(cuts) != 2 or cuts[1] < at_second or cuts[0] + few > cuts[1] or
                reached < cuts[1] + few):
            job.fail(f"{answers}, at {at_second} and {reached}", job.kill_all())
        self.kill(job)
        output = self.expect(3, (), f"--restart={self.folder}",
                             f"--checkpoint={self.folder},every=2000")
        if self.result(output) != right or self.generations()[-1] < 3:
            raise jobs.Failure(f"{self.generations()}\n{output}")

    def what_changes_before_it_is_written_is_kept(self):
        """In memory, or on the disk; threads wait only where there is neither."""
        program = self.program("resumed", "-t", 3, "-i", 60, "-p", 300)
        right = self.result(self.expect(1, program))
        self.variables["TEAMSTER_TEST_SLOW_FILES"] = "1:50"
        for memory, where, sign in (
                ("64M", "auto", r"[1-9]\d* of \d+ pages changed before they were written"),
                ("144K", "auto", r"written, [1-9]\d* of them are kept on the disk|"
                 "written at once"),
                ("144K", "/dev/shm", "pages written at once")):
            for _ in range(5):  # how many change in time is chance
                output = self.expect(2, program, "--verbose", f"--memory={memory}",
                                     f"--swap-dir={where}",
                                     f"--checkpoint={self.folder},every=15")
                if self.result(output) != right or re.search(sign, output):
                    break
            if self.result(output) != right or not re.search(sign, output):
                raise jobs.Failure(f"{memory} {where}: no {sign}\n{output}")
            output = self.expect(3, (), f"--restart={self.folder}")
            if self.result(output) != right:
                raise jobs.Failure(output)

    def who_asks_for_one_that_cannot_be_is_told(self):
        for words, mistake, code, text in (
                ((), (), 78, "the run has no --checkpoint=DIR"),
                ((f"--checkpoint={self.folder},every=3600s",), ("held",), 73,
                 "a mutex is held"),
                ((f"--checkpoint={self.folder},every=3600s",), ("on",), 73,
                 "main() has called tm_thread_join()")):
            program = self.program("resumed", "-t", 3, "-i", 100000, "-p", 2000,
                                   *mistake)
            job = self.start(2, program, *words)
            told = "no checkpoint: " + text

            def is_told():  # at some ends of an iteration nothing is wrong
                done = self.ask(job, "checkpoint")
                return (told in done.stdout and done.returncode == code)

            def is_said():
                job.process.send_signal(signal.SIGUSR2)
                return job.n_told("teamster run: " + re.escape(told)) > 0

            if not jobs.wait_until(is_told) or not jobs.wait_until(is_said):
                job.fail(text, job.kill_all())
            job.kill_all()

    def one_is_made_before_the_time_limit(self):
        program = self.program("resumed", "-t", 3, "-i", 100000, "-p", 2000)
        words = (f"--checkpoint={self.folder},every=3600s", "--checkpoint-before=1h")
        self.variables["SLURM_JOB_END_TIME"] = str(int(time.time()) + 3600 + 2)
        job = self.start(2, program, *words)
        job.await_line("teamster run: checkpoint 1 is whole")
        self.kill(job)
        del self.variables["SLURM_JOB_END_TIME"]
        job = self.start(2, program, *words)
        job.await_line("no time limit is known")
        job.kill_all()
        self.refused(USAGE, "allowed: none, or a time up to a day", 2, program,
                     f"--checkpoint={self.folder}", "--checkpoint-before=5")
        self.refused(USAGE, "needs --checkpoint=DIR", 2, program,
                     "--checkpoint-before=5m")

    def nodes_may_come_and_go_before(self):
        program = self.program("resumed", "-t", 6, "-i", 300, "-p", 2000)
        right = self.result(self.expect(1, program))
        job = self.start(3, program,
                         f"--checkpoint={self.folder},every=2")
        jobs.wait_until(lambda: self.generations())
        for words in (("add",), ("remove", "1"), ("add",), ("remove", "2")):
            done = self.ask(job, *words)
            if done.returncode != 0:
                job.fail(f"{words}: {done.stdout}", job.kill_all())
        before = max(self.generations())
        if not jobs.wait_until(lambda: max(self.generations()) > before + 1):
            job.fail("no more checkpoints", job.kill_all())
        self.kill(job)
        output = self.expect(2, (), f"--restart={self.folder}")
        if self.result(output) != right:
            raise jobs.Failure(output)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--app", choices=APPS)
    parser.add_argument("--seed", type=int, default=1)
    return jobs.main(Checkpoints, parser)


if __name__ == "__main__":
    sys.exit(main())
