#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints in the memory of hosts: nodes and hosts are lost, and runs go on by themselves.

    test_buddies.py TEST --build DIR [--seed N]

Hosts are processes of this machine (logins.py), each with its own folder in /dev/shm.
"""
import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys

import jobs
import logins
from test_recovery import BACK, LOST, NODE_LOST, THREADS, Recovery

ITERATIONS = 200
WORK = ("-t", THREADS, "-i", ITERATIONS)
TALK = (*WORK, "-p", 2000, "-o")

FOLDER = re.compile(r"teamster-(\d+)-")
NO_MEMORY = 71
GONE = "was in the memory of hosts that are lost"


def pids_in_memory():
    """Who has made the folders in /dev/shm, with their names."""
    found = ((FOLDER.match(name), name) for name in os.listdir("/dev/shm"))
    return {int(match.group(1)): os.path.join("/dev/shm", name)
            for match, name in found if match}


class Buddies(Recovery):
    def __init__(self, options, folder):
        super().__init__(options, folder)
        self.logins = logins.Hosts(folder)
        self.ssh = self.logins.ssh
        self.folders = set()  # that runs have had

    def words(self, every=5, recover=None):
        return (f"--buddy=every={every}", *([recover] if recover else []))

    def right_of_work(self):
        """What it comes to with other pauses and words, too."""
        return self.right(self.program("resumed", *WORK))

    def start_on(self, places, program, *words):
        """@param places  as of -H, or the path of a hostfile"""
        return jobs.Job(self.path("cli", "teamster"),
                        ["--ssh", self.ssh, "--hostfile" if os.sep in places else "-H", places, *words, *program],
                        self.variables)

    def folders_of(self, job):
        """Those of a run in /dev/shm, now."""
        pids = set(job.processes())
        found = [folder for pid, folder in pids_in_memory().items()
                 if pid in pids]
        self.folders.update(found)
        return found

    def generations_in(self, folder, what=""):
        """Of a folder those that have a file, or are there."""
        place = os.path.join(folder, "checkpoints")
        found = []
        with contextlib.suppress(FileNotFoundError):
            found = [int(name.split("-")[1]) for name in os.listdir(place)
                     if os.path.exists(os.path.join(place, name, what))]
        return found

    def newest(self, job):
        """The newest generation that has a manifest anywhere; 0: none has."""
        return max((generation for folder in self.folders_of(job)
                    for generation in self.generations_in(folder, "manifest")),
                   default=0)

    def await_generations(self, job, n):
        """Wait until so many more are whole than there are."""
        before = self.newest(job)

        def has_come():
            newest = self.newest(job)
            return (newest > before and (newest - before) % 1000 >= n
                    or job.process.poll() is not None)

        if not jobs.wait_until(has_come) or job.process.poll() is not None:
            job.fail("no checkpoints", job.kill_all())

    def agent(self, job, host):
        """The process that is a host."""
        def find():
            for pid in job.processes():
                variables = jobs.read_bytes(f"/proc/{pid}/environ")
                if (f"{logins.NAME}={host}\0".encode() in variables
                        and jobs.read_bytes(f"/proc/{pid}/comm") == b"teamster\n"):
                    return pid
            return None

        pid = jobs.wait_until(lambda: find() or job.process.poll() is not None)
        if isinstance(pid, bool) or not pid:
            job.fail(f"no agent on {host}", job.kill_all())
        return pid

    def node_of(self, job, number):
        """The process of a node, of any host."""
        variable = f"TEAMSTER_NODE={number}\0".encode()
        return next(pid for pid in job.processes() if variable in
                    jobs.read_bytes(f"/proc/{pid}/environ"))

    def lose(self, job, *lost):
        """Several at once: the launcher sees nothing of it before all have gone."""
        agents = [self.agent(job, host) for host in lost]
        job.process.send_signal(signal.SIGSTOP)
        for agent in agents:
            os.kill(agent, signal.SIGKILL)
        job.process.send_signal(signal.SIGCONT)

    def expect_no_folder(self, job, output=""):
        if not self.folders:
            job.fail("no folder has been seen", output)
        if not jobs.wait_until(lambda: not any(map(os.path.exists, self.folders)),
                               jobs.LEFTOVER_S):
            job.fail(f"left: {sorted(filter(os.path.exists, self.folders))}",
                     output)

    def expect_goes_on(self, job, right, n_back=1, **iterations):
        output = super().expect_goes_on(
            job, right, n_back, **{"n_iterations": ITERATIONS, **iterations})
        self.expect_no_folder(job, output)
        return output

    def save(self, job):
        """Make one now, and have nothing under way then. @return its manifest"""
        self.folders_of(job)
        self.change(job, "checkpoint")
        newest = self.newest(job)
        return newest, self.manifest_of(job, newest)

    def manifest_of(self, job, generation):
        """The files that it names, each with its bytes."""
        texts = {jobs.read_bytes(os.path.join(
            folder, "checkpoints", f"generation-{generation}", "manifest")).decode()
                 for folder in self.folders} - {""}
        if len(texts) != 1:
            job.fail(f"{len(texts)} manifests of {generation}", job.kill_all())
        text = texts.pop()
        own = re.findall(r"^file (\d+) \d+ \d+$", text, re.M)
        older = re.findall(r"^older (\d+) (\d+) (\d+) \d+ \d+$", text, re.M)
        return {**{f"node-{i}": int(size) for i, size in enumerate(own)},
                **{f"older-{of}-{index}": int(size) for of, index, size in older}}

    def copies(self, generation, name):
        """Of a file that a generation has, wherever it is: folder, then what it is."""
        found = {}
        for folder in self.folders:
            with contextlib.suppress(FileNotFoundError):
                found[folder] = os.stat(os.path.join(
                    folder, "checkpoints", f"generation-{generation}", name))
        return found

    def expect_twice(self, job, generation, files):
        """Each file is on two hosts, whole."""
        for name, size in files.items():
            sizes = [state.st_size for state in self.copies(generation, name).values()]
            if sizes != [size, size]:
                job.fail(f"{name} of {generation}: {sizes}, {size}", job.kill_all())

    def ask(self, job, *words):
        done = subprocess.run(
            [self.path("cli", "teamster"), *map(str, words)],
            env={**os.environ, **self.variables}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=jobs.DEADLINE_S, check=False)
        return done.returncode, done.stdout

    # ---- what a host is given when the run goes back

    def need_room(self):
        if not logins.can_have_room():
            raise jobs.Skip("a process can have no mounts of its own here")

    def start_large(self, places, *words, n_pages=2048):
        """A program whose many pages are not alike, and dealt out to all its nodes.
        @return its job, and what it comes to"""
        work = ("-t", len(places.split(",")), "-i", 60, "-b", n_pages, "-a", 1)
        right = self.right(self.program("resumed", *work))
        job = self.start_on(places, self.program("resumed", *work, "-p", 50000),
                            *self.words(every=100000), "--protocol=sequential", *words)
        job.await_line("checkpoints are in memory")
        self.save(job)
        return job, right

    def files_of_host(self, job, host, generation):
        """What it has of a generation in its memory: a name, then what it is."""
        name = f"{logins.NAME}={host}\0".encode()
        found = {}
        for pid, folder in pids_in_memory().items():
            place = os.path.join(folder, "checkpoints", f"generation-{generation}")
            if pid in job.processes() and name in jobs.read_bytes(f"/proc/{pid}/environ"):
                with contextlib.suppress(FileNotFoundError):
                    found.update({file: os.stat(os.path.join(place, file))
                                  for file in os.listdir(place)})
        return found

    def given(self, job, hosts, generation, before):
        """Bytes that each host has got since."""
        return {host: sum(state.st_size for state in
                          self.files_of_host(job, host, generation).values()
                          if state.st_ino not in before.get(host, ()))
                for host in hosts}

    def lose_and_count(self, places, lost, left, *words, **pages):
        """Lose a host when all is saved.
        @return bytes of each file, and those that each host that is left was given"""
        job, right = self.start_large(places, *words, **pages)
        generation, files = self.save(job)
        before = {host: {state.st_ino for state in
                         self.files_of_host(job, host, generation).values()}
                  for host in places.split(",")}
        self.lose(job, lost)
        job.await_line("back to iteration")
        if not jobs.wait_until(lambda: self.ask(job, "checkpoint", job.process.pid)[0] == 0):
            job.fail("no checkpoint any more", job.kill_all())
        given = self.given(job, left, generation, before)
        self.folders_of(job)
        self.expect_on_two(job, generation, files)
        output = job.expect_success()
        if self.result(output) != right or len(BACK.findall(output)) != 1:
            job.fail("another result, or not back", output)
        self.expect_no_folder(job, output)
        return files, given

    def expect_on_two(self, job, generation, files):
        for name, size in files.items():
            sizes = [state.st_size for state in self.copies(generation, name).values()]
            if sizes.count(size) < 2:
                job.fail(f"{name}: {sizes}, {size}", job.kill_all())

    def share(self, files, *numbers):
        """Bytes of what these nodes have saved."""
        return sum(size for name, size in files.items()
                   if int(name.split("-")[-1]) in numbers)

    def expect_given(self, given, most):
        """@param most  bytes, of hosts that are given more than heads and a manifest"""
        rest = 256 << 10
        for host, n_bytes in given.items():
            if n_bytes > most.get(host, 0) + rest:
                raise jobs.Failure(f"{host} is given {n_bytes}: {given}, {most}")

    # ---- tests: one host

    def a_lost_node_is_gone_back_for(self):
        """The root or another, with several protocols and sources of faults."""
        program = self.program("resumed", *TALK)
        right = self.right_of_work()
        for number in (2, 0, 1):
            job = self.start(3, program, *self.words(), *self.draw_words())
            self.await_generations(job, 3)
            if not self.kill_node(job, number):
                job.fail("it has ended", job.kill_all())
            output = self.expect_goes_on(job, right)
            if len(LOST.findall(output)) != 1:
                job.fail("it is not said once", output)
            if output.count("of this host alone") != 1:
                job.fail("it is not said once where checkpoints are", output)
            if not 1 < int(BACK.search(output).group(1)) <= ITERATIONS:
                job.fail("another iteration", output)

    def held_output_is_shown_once(self):
        program = self.program("resumed", *TALK, "-z")
        right = self.right_of_work()
        job = self.start(3, program, *self.words(), "--output=held")
        self.await_generations(job, 2)
        self.kill_node(job, 1)
        self.expect_goes_on(job, right)

    def the_same_crash_again_ends_the_run(self):
        program = self.program("resumed", "-t", 3, "-i", 40, "-p", 1000, "-c", 25)
        job = self.start(2, program, *self.words(recover="--recover=2"))
        code, output = job.finish()
        if (code != NODE_LOST or "--restart" in output or not re.search(
                r"^teamster run: 2 tries from there came no farther "
                r"\(--recover=2\)$", output, re.M)):
            job.fail(f"exit code {code}", output)

    # ---- several

    def a_lost_host_is_gone_back_for(self):
        """The root's or another; with two nodes; where the launcher has nodes, too."""
        program = self.program("resumed", *TALK)
        right = self.right_of_work()
        for places, lost, left in (("a,b,c", "b", "2 nodes instead of 3"),
                                   ("a,b,c", "a", "2 nodes instead of 3"),
                                   ("a:2,b:2", "a", "2 nodes instead of 4"),
                                   ("localhost,a", "a", "1 node instead of 2"),
                                   ("a,localhost,b", "a", "2 nodes instead of 3")):
            job = self.start_on(places, program, *self.words())
            self.await_generations(job, 3)
            self.lose(job, lost)
            output = self.expect_goes_on(job, right)
            if (left not in output or "each host's also on the next" not in output or
                    f"host {lost} is lost" not in output):
                job.fail("other words", output)

    def a_killed_node_of_a_host_is_started_there_again(self):
        """Agents stay: each is there once, and nobody logs in again."""
        program = self.program("resumed", *TALK)
        right = self.right_of_work()
        job = self.start_on("a,b,c", program, *self.words())
        self.await_generations(job, 2)
        agents = [self.agent(job, host) for host in "abc"]
        os.kill(self.node_of(job, 1), signal.SIGKILL)
        job.await_line("back to iteration")
        self.await_generations(job, 1)
        if [self.agent(job, host) for host in "abc"] != agents:
            job.fail("other agents", job.kill_all())
        output = self.expect_goes_on(job, right)
        if "instead of" in output or "in place of" in output:
            job.fail("other hosts", output)

    def a_spare_gets_what_it_needs(self):
        program = self.program("resumed", *TALK)
        right = self.right_of_work()
        job = self.start_on("a,b,c", program, *self.words(), "--spare=d")
        self.await_generations(job, 2)
        self.lose(job, "b")
        output = self.expect_goes_on(job, right)
        if "; d in place of b" not in output:
            job.fail("no spare", output)

    def a_host_is_given_its_share(self):
        """A spare what it reads and one second copy; without a spare others what they read of more."""
        files, given = self.lose_and_count("a,b,c,d", "c", "abde", "--spare=e")
        self.expect_given(given, {"e": self.share(files, 1, 2)})
        if given["e"] < self.share(files, 2):
            raise jobs.Failure(f"less than what it reads: {given}, {files}")
        files, given = self.lose_and_count("a,b,c,d", "c", "abd")
        self.expect_given(given, {"a": self.share(files, 1), "b": self.share(files, 2)})

    def a_host_with_room_for_its_share_goes_on(self):
        """It has none for a second copy, which is told, nor for all; also if it is the root's."""
        self.need_room()
        for lost, number in (("c", 2), ("a", 0)):
            job, right = self.start_large("a,b,c,d", "--spare=e")
            _, files = self.save(job)
            self.logins.room["e"] = self.share(files, number) * 5 // 4
            self.lose(job, lost)
            output = job.expect_success()
            if (self.result(output) != right or len(BACK.findall(output)) != 1 or
                    f"; e in place of {lost}" not in output or output.count(
                        "host e cannot keep a second copy of it: No space left") != 1):
                job.fail("another result, or not back", output)

    def a_host_without_room_for_its_share_ends_the_run(self):
        self.need_room()
        job, _ = self.start_large("a,b,c,d", "--spare=e")
        _, files = self.save(job)
        self.logins.room["e"] = self.share(files, 2) // 2
        self.lose(job, "c")
        code, output = job.finish()
        if code != NO_MEMORY or "host e cannot keep the checkpoint: No space left" not in output:
            job.fail(f"exit code {code}", output)

    def a_host_may_be_lost_while_it_is_given_files(self):
        job, right = self.start_large("a,b,c,d", "--spare=e", n_pages=8192)
        generation, _ = self.save(job)
        self.lose(job, "c")
        agent = self.agent(job, "e")
        if not jobs.wait_until(lambda: self.files_of_host(job, "e", generation) or
                               job.process.poll() is not None):
            job.fail("it is given nothing", job.kill_all())
        os.kill(agent, signal.SIGKILL)
        output = job.expect_success()
        if self.result(output) != right or "; e in place of c" not in output:
            job.fail("another result, or no spare", output)
        if len(BACK.findall(output)) != 2:
            job.fail("not back again", output)
        self.expect_no_folder(job, output)

    def what_was_on_a_lost_host_has_a_second_place(self):
        """The only one that has kept a file is lost next, before another checkpoint."""
        work = (*WORK[:2], "-i", 300)
        right = self.right(self.program("resumed", *work))
        job = self.start_on("a,b,c,d", self.program("resumed", *work, "-p", 10000, "-o"),
                            *self.words(every=100000), "--spare=e")
        job.await_line("checkpoints are in memory")
        self.save(job)
        job.await_line(r"iteration 60\n")
        self.lose(job, "c")
        job.await_line(r"iteration 200\n")
        self.lose(job, "b")
        self.expect_goes_on(job, right, n_back=2, n_iterations=300)

    def hosts_that_are_no_buddies_are_gone_back_for(self):
        """Two of four at once, and two one after the other."""
        program = self.program("resumed", *TALK)
        right = self.right_of_work()
        job = self.start_on("a,b,c,d", program, *self.words())
        self.await_generations(job, 2)
        self.lose(job, "a", "c")
        self.expect_goes_on(job, right)
        job = self.start_on("a,b,c,d", program, *self.words())
        self.await_generations(job, 2)
        self.lose(job, "b")
        job.await_line("back to iteration")
        self.await_generations(job, 2)
        self.lose(job, "c")
        self.expect_goes_on(job, right, n_back=2)

    def a_host_and_its_buddy_end_the_run(self):
        program = self.program("resumed", *WORK, "-p", 4000)
        for lost in (("b", "c"), ("d", "a")):
            job = self.start_on("a,b,c,d", program, *self.words())
            self.await_generations(job, 2)
            self.lose(job, *lost)
            code, output = job.finish()
            if (code != NODE_LOST or output.count(GONE) != 1 or
                    "back to" in output or "--restart" in output):
                job.fail(f"exit code {code}", output)
            self.expect_no_folder(job, output)

    def before_the_first_checkpoint_it_begins_anew(self):
        program = self.program("resumed", *TALK)
        right = self.right_of_work()
        job = self.start_on("a,b", program, *self.words(every=100000))
        job.await_line("iteration 20$|iteration 2[0-9]")
        self.folders_of(job)
        self.lose(job, "b")
        output = job.expect_success()
        if ("nothing was saved yet: back to the beginning" not in output or
                self.result(output) != right):
            job.fail("another result", output)
        self.expect_each_line_once(job, output, ITERATIONS)

    def a_host_may_be_lost_while_files_are_written(self):
        """And copied: what is not whole yet is not gone back to."""
        program = self.program("resumed", "-t", THREADS, "-i", ITERATIONS,
                               "-p", 2000, "-o", "-b", 200)
        right = self.right(self.program("resumed", *WORK, "-b", 200))
        for number, lost in ((0, "b"), (1, "a"), (2, "c")):
            self.variables["TEAMSTER_TEST_SLOW_FILES"] = f"{number}:300"
            job = self.start_on("a,b,c", program, *self.words(every=10))
            self.await_generations(job, 2)
            newest = self.newest(job)
            coming = [os.path.join(folder, "checkpoints",
                                   f"generation-{newest + 1}")
                      for folder in self.folders_of(job)]
            if not jobs.wait_until(lambda: any(map(os.path.isdir, coming))
                                   or job.process.poll() is not None):
                job.fail("no other one", job.kill_all())
            self.lose(job, lost)
            self.expect_goes_on(job, right)

    def change(self, job, *words):
        code, output = self.ask(job, words[0], job.process.pid, *words[1:])
        if code != 0:
            job.fail(f"{words}: {code}, {output}", job.kill_all())

    def a_host_that_joins_is_in_the_ring(self):
        """It has copies of others, and others of it: whoever is lost then, the run goes back."""
        program = self.program("resumed", *TALK)
        right = self.right_of_work()
        for lost in "cda":
            job = self.start_on("a,b,c", program, *self.words())
            self.await_generations(job, 1)
            self.change(job, "add", "d")
            self.await_generations(job, 2)
            with_files = [folder for folder in self.folders_of(job)
                          if self.generations_in(folder, "manifest")]
            if len(with_files) != 4:
                job.fail(f"{with_files}", job.kill_all())
            self.lose(job, lost)
            output = self.expect_goes_on(job, right)
            if "3 nodes instead of 4" not in output:
                job.fail("other nodes", output)

    def a_host_joins_only_when_all_is_there_again(self):
        """X2: who asks for it while nodes read their parts of a checkpoint waits until they have."""
        right = self.right(self.program("resumed", *WORK, "-b", 300))
        for slow in "01":
            self.variables["TEAMSTER_TEST_SLOW_LOADS"] = f"{slow}:2000"
            job = self.start_on("a,b", self.program("resumed", *WORK, "-b", 300, "-p", 10000),
                                *self.words(every=100000))
            job.await_line("checkpoints are in memory")
            self.save(job)
            os.kill(self.node_of(job, 1), signal.SIGKILL)
            job.await_line("back to iteration")
            answers = []

            def is_heard():
                answers.append(self.ask(job, "add", job.process.pid, "c"))
                return answers[-1][0] not in (NODE_LOST, 78)  # it goes back, or has not begun yet

            if not jobs.wait_until(is_heard) or answers[-1][0] != 0:
                job.fail(f"{answers[-1]}", job.kill_all())
            output = job.expect_success()
            if self.result(output) != right or len(BACK.findall(output)) != 1:
                job.fail("another result, or not back", output)
            self.expect_no_folder(job, output)

    def what_a_host_has_stays_when_its_nodes_leave(self):
        """Until there is a checkpoint without it, and one may be lost then, too."""
        program = self.program("resumed", *TALK)
        right = self.right_of_work()
        for places, gone, lost, left in (("a,b,c,d", "2", "b", "2 nodes instead of 3"),
                                         ("localhost,a,b", "2", "a", "1 node instead of 2"),
                                         ("a,b,c,d", "2", "c", None)):
            job = self.start_on(places, program, *self.words(every=40))
            self.await_generations(job, 1)
            self.change(job, "remove", gone)
            self.lose(job, lost)
            if left is None:  # nobody is there any more
                output = job.expect_success()
                if self.result(output) != right or BACK.search(output):
                    job.fail("it went back", output)
                self.expect_no_folder(job, output)
            else:
                output = self.expect_goes_on(job, right)
                if left not in output:
                    job.fail("other nodes", output)

    # ---- --buddy=auto: nobody relies on it

    UNASKED = "each minute this run is saved in the memory of its hosts"

    def start_unasked(self, *words, places="a,b,c", options=()):
        return self.await_begun(self.start_on(places, self.program("resumed", *words), "--buddy=auto", *options))

    def await_begun(self, job):
        """Nothing is said of it: then who asks for what cannot be is told so."""
        jobs.wait_until(lambda: "there is no node 99" in self.ask(job, "remove", job.process.pid, 99)[1]
                        or job.process.poll() is not None)
        return job

    def expect_quiet(self, job, right=None):
        """It ends well, and neither its runtime nor the launcher has said anything."""
        output = job.expect_success()
        said = re.findall(r"^.*teamster(?: run)?: .*$", output, re.M)
        if said:
            job.fail(f"said: {said}", output)
        if right is not None and self.result(output) != right:
            job.fail("another result", output)

    def nobody_has_asked_and_it_goes_back(self):
        right = self.right_of_work()
        job = self.start_unasked(*WORK, "-p", 10000, "-o")
        self.save(job)
        self.lose(job, "b")
        output = self.expect_goes_on(job, right)
        if output.count(self.UNASKED) != 1 or "2 nodes instead of 3" not in output:
            job.fail("other words", output)

    def nothing_is_said_and_it_goes_back(self):
        """On several hosts that is so without a word."""
        right = self.right_of_work()
        job = jobs.Job(self.path("cli", "teamster"), [
            "--ssh", self.ssh, "-H", "a,b", *self.program("resumed", *WORK, "-p", 10000, "-o")],
            self.variables, through=("env", "-u", "TEAMSTER_BUDDY"))
        self.await_begun(job)
        self.save(job)
        self.lose(job, "b")
        self.expect_goes_on(job, right)

    def nobody_has_asked_and_it_is_saved_by_itself(self):
        right = self.right_of_work()
        self.variables["TEAMSTER_TEST_EVERY"] = "0:100"
        for places in ("a,b,c", "a:2,b"):  # with nodes of one host, too, whose fabric has files of its own
            job = self.start_unasked(*WORK, "-p", 5000, "-o", places=places)
            self.await_generations(job, 2)
            self.lose(job, "a")
            self.expect_goes_on(job, right)

    def nobody_has_asked_and_nothing_begins_anew(self):
        """What was not saved ends as it always has, and at once."""
        job = self.start_unasked(*WORK, "-p", 10000, "-o")
        self.folders_of(job)
        self.lose(job, "b")
        code, output = job.finish()
        if (code != NODE_LOST or BACK.search(output) or "nothing was saved" in output or
                "does not go back" in output):
            job.fail(f"exit code {code}", output)
        self.expect_no_folder(job, output)

    def nobody_has_asked_and_it_cannot_be_saved(self):
        """It runs, and nothing is said of it; who asks is told."""
        for mistake, why in (("bound", "are bound to locks"),
                             ("file", "it has opened a file to write: "),
                             ("input", "has a file open that it reads"),
                             ("early", "main() has called")):
            words = ("-t", 3, "-i", 200, mistake)
            right = self.right(self.program("resumed", *words))
            self.variables["TEAMSTER_TEST_EVERY"] = "0:20"
            self.expect_quiet(self.start_unasked(*words, "-p", 2000), right)
            job = self.start_unasked("-t", 3, "-i", 100000, "-p", 2000, mistake)
            found = self.ask(job, "checkpoint", job.process.pid)
            if found[0] == 0 or why not in found[1]:
                job.fail(f"{mistake}: {found}", job.kill_all())
            job.kill_all()

    CHANGES = {
        "it has opened a file to write: file": "open openat creat fopen append freopen mkstemp mkostemp",
        "it has opened a file to write: there": "update truncate",
        "it has opened a pipe to read: pipe": "pipe",
        "it has changed a file or a folder":
            "rename renameat renameat2 unlink unlinkat remove mkdir mkdirat mkdtemp rmdir link linkat symlink "
            "symlinkat mkfifo mkfifoat mknod mknodat chmod fchmod fchmodat chown lchown fchown fchownat utime "
            "utimes utimensat futimens",
        "in common with other processes: /teamster-no-such":
            "shm_open shm_unlink sem_open sem_unlink mq_open mq_unlink",
        "in common with other processes: ": "shmget semget msgget",
        "it has started another program: exit 0": "system popen", "program: true": "posix_spawn",
        "it has started another program: no-such": "execv execve execvp execvpe execveat execl execlp execle",
        "it has started another program:": "fexecve",
        "it has made a child by fork()": "fork _Fork vfork",
        "it has connected with others": "connect accept bind sendmmsg",
        "it has sent something to others": "sendto sendmsg", "it has written to the system's log": "syslog",
    }

    def start_changing(self, change, *words, places="a,b,c", lost=None):
        """A run that has a checkpoint, and may have gone back to it; its node 1 makes the change then."""
        folder = os.path.join(self.folder, f"changed-{change}")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.join(folder, "empty"))
        with open(os.path.join(folder, "there"), "w", encoding="ascii") as file:
            file.write("there\n")
        os.mkfifo(os.path.join(folder, "pipe"))
        job = jobs.Job(self.path("cli", "teamster"), [
            "--ssh", self.ssh, "-H", places, "--buddy=auto",
            *self.program("resumed", *words, "-f", change)], self.variables,
            through=("env", f"--chdir={folder}"))
        self.await_begun(job)
        self.save(job)
        if lost is not None:
            self.lose(job, lost)
            job.await_line("back to iteration")

        def has_handler():
            with contextlib.suppress(StopIteration):
                caught = re.search(rb"^SigCgt:\s*([0-9a-f]+)$", jobs.read_bytes(
                    f"/proc/{self.node_of(job, 1)}/status"), re.M)
                return caught and int(caught[1], 16) >> signal.SIGUSR1 - 1 & 1
            return False

        if not jobs.wait_until(has_handler):
            job.fail("SIGUSR1 would end it", job.kill_all())
        os.kill(self.node_of(job, 1), signal.SIGUSR1)
        job.await_line("has changed something")
        return job

    def nobody_has_asked_and_what_is_outside_has_changed(self):
        """It does not go back to what was saved before, and no checkpoint is made after it."""
        job = self.start_changing("append", *WORK, "-p", 10000)
        self.expect_given_back(job)
        self.lose(job, "b")
        code, output = job.finish()
        if (code != NODE_LOST or BACK.search(output) or
                "it does not go back: on n1 it has opened a file to write: file" not in output):
            job.fail(f"exit code {code}", output)
        self.expect_no_folder(job, output)
        job = self.start_changing("fopen", *WORK, "-p", 10000, lost="c")
        self.lose(job, "b")
        code, output = job.finish()
        if code != NODE_LOST or len(BACK.findall(output)) != 1 or "it does not go back: on n1" not in output:
            job.fail(f"exit code {code}", output)
        right = self.right_of_work()
        job = self.start_changing("reading", *WORK, "-p", 10000)
        self.expect_goes_on_without(job, "b", right)

    def expect_given_back(self, job):
        """R6: nothing is there that will not be gone back to."""
        folders = self.folders_of(job)
        jobs.wait_until(lambda: job.process.poll() is not None or not any(map(self.generations_in, folders)))
        if not folders or job.process.poll() is not None or any(map(self.generations_in, folders)):
            job.fail("what was saved is left", job.kill_all())

    def nobody_has_asked_and_memory_has_become_short(self):
        """B3: what was saved is given back, and lines say why there is no more, that it goes back no more, and
        why it has not."""
        self.variables["TEAMSTER_TEST_EVERY"] = "0:200"
        self.variables["TEAMSTER_TEST_SPARE"] = "1:100000"
        job = self.start_unasked(*WORK[:2], "-i", 100000, "-p", 2000, "-b", 300)
        job.await_line("no checkpoint: node 1 cannot write to memory: it would take more memory than there is")
        self.expect_given_back(job)
        job.await_line("from now on this run goes back no more, and ends if a node is lost: on n1 there was too little")
        self.lose(job, "c")
        code, output = job.finish()
        if (code != NODE_LOST or BACK.search(output) or output.count("no checkpoint:") != 1 or
                "it does not go back: on n1 there was too little memory left" not in output):
            job.fail(f"exit code {code}", output)
        self.expect_no_folder(job, output)

    def nobody_has_asked_and_who_was_short_of_memory_has_left(self):
        """B3: the run goes back no more, so the nodes that stay save nothing."""
        self.variables["TEAMSTER_TEST_EVERY"] = "0:200"
        self.variables["TEAMSTER_TEST_SPARE"] = "1:100000"
        job = self.start_unasked(*WORK[:2], "-i", 1000, "-p", 2000, "-b", 300, options=("--verbose",))
        job.await_line("from now on this run goes back no more, and ends if a node is lost: on n1 there was too little")
        self.expect_given_back(job)
        self.change(job, "remove", "1")
        answer = self.ask(job, "checkpoint", job.process.pid)
        if answer[0] == 0 or "no checkpoint: on n1 there was too little memory left" not in answer[1]:
            job.fail(f"{answer}", job.kill_all())
        output = job.expect_success()
        if re.search(r"checkpoint \d+: iteration", output.partition("has left the run")[2]):
            job.fail("nodes have saved what nobody will go back to", output)
        self.expect_no_folder(job, output)

    def nobody_has_asked_and_it_pages(self):
        """What was saved is given back when nodes have no room for pages that all change at once."""
        hosts = self.folder + ".hosts"
        with open(hosts, "w", encoding="ascii") as file:
            file.write("a memory=8M\nb memory=2M\nc memory=2M\n")
        job = self.start_unasked(*WORK[:2], "-i", 100000, "-p", 2000, "-b", 1500, "-a", 150, places=hosts)
        self.save(job)
        self.expect_given_back(job)
        job.await_line("from now on this run goes back no more, and ends if a node is lost: on n")
        job.process.send_signal(signal.SIGINT)
        job.finish()

    def nobody_has_asked_and_memory_is_short_when_it_has_gone_back(self):
        """What it has gone back to, and will not go back to again, is given back, too.
        Less is left than any node has had to read."""
        self.variables["TEAMSTER_TEST_SPARE"] = "1:1000"
        job = self.start_unasked(*WORK[:2], "-i", 100000, "-p", 2000, "-b", 300)
        self.save(job)
        self.lose(job, "c")
        job.await_line("back to iteration")
        if not jobs.wait_until(lambda: "more memory than there is" in
                               self.ask(job, "checkpoint", job.process.pid)[1]):
            job.fail("there is enough memory", job.kill_all())
        self.expect_given_back(job)
        self.lose(job, "b")
        code, output = job.finish()
        if (code != NODE_LOST or len(BACK.findall(output)) != 1 or
                "it does not go back: on n1 there was too little memory left" not in output):
            job.fail(f"exit code {code}", output)
        self.expect_no_folder(job, output)

    def nobody_has_asked_and_who_interrupts_it_twice_is_obeyed(self):
        """At once, though a node does not answer; also when another has just been lost, and it would go back."""
        for is_lost in (0, 1):
            self.variables["TM_TEST_SLOWDOWN"] = "100"  # it would wait for minutes
            job = self.start_unasked(*WORK[:2], "-i", 100000, "-p", 2000)
            self.save(job)
            os.kill(self.node_of(job, 1), signal.SIGSTOP)
            if is_lost:
                os.kill(self.node_of(job, 2), signal.SIGKILL)
                job.await_line("died: killed by SIGKILL")
            else:
                job.process.send_signal(signal.SIGINT)
                job.await_line("SIGINT: ending")
            job.process.send_signal(signal.SIGINT)
            code, output = job.finish()
            if code != 128 + signal.SIGINT or BACK.search(output):
                job.fail(f"exit code {code}", output)

    def nobody_has_asked_and_main_goes_on_alone(self):
        """What it does behind tm_end() would be done again."""
        job = self.start_unasked("-t", 3, "-i", 100, "-p", 5000, "alone")
        self.save(job)
        job.await_line("main.. goes on alone")
        os.kill(self.node_of(job, 0), signal.SIGKILL)
        code, output = job.finish()
        if (code != NODE_LOST or BACK.search(output) or
                " its main() goes on alone (--buddy goes back all the same" not in output):
            job.fail(f"exit code {code}", output)
        self.expect_no_folder(job, output)

    def nobody_has_asked_and_every_change_is_seen(self):
        for why, changes in self.CHANGES.items():
            for change in changes.split():
                job = self.start_changing(change, "-t", 2, "-i", 100000, "-p", 2000, places="a,b")
                found = self.ask(job, "checkpoint", job.process.pid)
                if found[0] == 0 or why not in found[1]:
                    job.fail(f"{change}: {found}", job.kill_all())
                job.kill_all()

    def nobody_has_asked_and_memory_is_not_ample(self):
        """Eight times what a node has has to fit in, and what is on its disk stays there; asked for by
        name, it need not."""
        short = {"TEAMSTER_TEST_SPARE": "0:6000000"}
        paging = "--memory=2M", "--swap-max=100M"
        for variables, options, n_pages, code in (
                (short, ("--buddy=auto",), 300, 73), (short, ("--buddy=every=100000",), 300, 0),
                ({}, (*paging, "--buddy=auto"), 1500, 73), ({}, (*paging, "--buddy=every=100000"), 1500, 0)):
            self.variables["TEAMSTER_TEST_SPARE"] = variables.get("TEAMSTER_TEST_SPARE", "")
            job = self.start_on("a,b,c", self.program(
                "resumed", "-t", 3, "-i", 100000, "-p", 2000, "-b", n_pages), *options)
            self.await_begun(job)
            for _ in range(3):
                found = self.ask(job, "checkpoint", job.process.pid)
            if found[0] != code or (code != 0 and "more memory than there is" not in found[1]):
                job.fail(f"{options}: {found}", job.kill_all())
            job.kill_all()

    def nobody_has_asked_on_one_host_or_has_said_no(self):
        for places, options in (("a,b", ("--buddy=off",)), ("a,b", ("--buddy=auto", "--recover=0")),
                                ("a:2", ("--buddy=auto",)),
                                ("localhost:2", ("--buddy=auto",))):
            job = self.start_on(places, self.program("resumed", "-t", 2, "-i", 100000,
                                                     "-p", 2000, "-o"), *options)
            job.await_line("thread 0: iteration [0-9]")
            found = self.ask(job, "checkpoint", job.process.pid)
            if found[0] == 0 or "has no --checkpoint=DIR" not in found[1]:
                job.fail(f"{places}, {options}: {found}", job.kill_all())
            output = job.kill_all()
            if self.UNASKED in output:
                job.fail(f"{places}, {options}", output)

    def costs(self, n_iterations, *options):
        """Faults and messages of a short run, by --stats."""
        program = self.program("resumed", "-t", 1, "-i", n_iterations)
        job = self.start_on("a,b", program, "--stats", *options)
        output = job.expect_success()
        rows = re.findall(r"^\[0\] +\d+ [\d.]+ +\d+ +[\d.]+ +(\d+) +(\d+) +\d+ +\d+ +\d+ "
                          r"+(\d+) +[\d.]+$", output, re.M)
        if len(rows) != 2:
            job.fail(f"{rows}", output)
        return (sum(int(row[0]) + int(row[1]) for row in rows),
                sum(int(row[2]) for row in rows))

    def nobody_has_asked_and_a_short_run_costs_nothing(self):
        """No fault and no message more in each iteration; how many beats and answers there are is a
        matter of time."""
        n_iterations = 300
        without = self.costs(n_iterations, "--buddy=off")
        with_them = self.costs(n_iterations, "--buddy=auto")
        if any(more - less > n_iterations / 2 for more, less in zip(with_them, without)):
            raise jobs.Failure(f"{without}, then {with_them}")

    STEADY = ("-t", THREADS, "-i", 400, "-b", 1000)

    def start_steady(self, places, *words):
        """A program most of whose pages stay as they are, with checkpoints when they are asked
        for. @return its job, and what it comes to"""
        right = self.right(self.program("resumed", *self.STEADY))
        job = self.start_on(places, self.program("resumed", *self.STEADY, "-p", 6000),
                            *self.words(every=100000), *words)
        job.await_line("checkpoints are in memory")
        return job, right

    def expect_goes_on_without(self, job, host, right):
        self.lose(job, host)
        output = job.expect_success()
        if self.result(output) != right or len(BACK.findall(output)) != 1:
            job.fail("another result, or not back", output)
        self.expect_no_folder(job, output)

    def what_has_not_changed_is_kept_on_both_hosts(self):
        """Its files get another name there, and no bytes are written or sent; whoever is lost
        then, the run goes back."""
        for lost in "ba":
            job, right = self.start_steady("a,b,c")
            _, first = self.save(job)
            before, _ = self.save(job)
            generation, files = self.save(job)
            self.expect_twice(job, generation, files)
            older = [name for name in files if name.startswith("older-")]
            new = sum(size for name, size in files.items() if name not in older)
            if not older or new > sum(first.values()) / 2:
                job.fail(f"{first}, then {files}", job.kill_all())
            for name in older:
                _, of, index = name.split("-")
                was = self.copies(before, f"node-{index}" if int(of) == before else name)
                now = self.copies(generation, name)
                if ({folder: state.st_ino for folder, state in was.items()} !=
                        {folder: state.st_ino for folder, state in now.items()}):
                    job.fail(f"{name} has been written again", job.kill_all())
            self.expect_goes_on_without(job, lost, right)

    def a_host_is_given_what_it_does_not_have(self):
        """When another host is behind one, and files that have not changed are not there."""
        for change, lost in ((("add", "d"), "c"), (("remove", "1"), "a")):
            job, right = self.start_steady("a,b,c")
            self.save(job)
            self.change(job, *change)
            generation, files = self.save(job)
            if not any(name.startswith("older-") for name in files):
                job.fail(f"{files}", job.kill_all())
            self.expect_twice(job, generation, files)
            self.expect_goes_on_without(job, lost, right)

    def who_has_a_folder_alone_tidies_it(self):
        """A node that has come to a host with nodes has an agent of its own."""
        job, right = self.start_steady("a:2,b")
        self.save(job)
        self.change(job, "add", "a")
        for _ in range(5):
            generation, files = self.save(job)
        self.expect_twice(job, generation, files)
        for folder in self.folders_of(job):
            if len(self.generations_in(folder)) > 3:
                job.fail(f"{self.generations_in(folder)}", job.kill_all())
        self.expect_goes_on_without(job, "b", right)

    def what_takes_too_much_memory_is_no_checkpoint(self):
        """Neither one that is known to, nor one of which that is seen when it is written."""
        steady = self.STEADY
        for node, spare, words in ((1, 40000, ()), (0, 24000000, ("-a", 200))):
            right = self.right(self.program("resumed", *steady, *words))
            self.variables["TEAMSTER_TEST_SPARE"] = f"{node}:{spare}"
            job = self.start_on("a,b,c", self.program("resumed", *steady, "-p", 4000,
                                                      *words), *self.words(), "--verbose")
            output = job.expect_success()
            last = max(map(int, re.findall(r"checkpoint \d+: iteration (\d+), ", output)))
            told = output.count(f"no checkpoint: node {node} cannot write to memory: "
                                "it would take more memory than there is")
            if self.result(output) != right or told != 1 or last > 300 or (words and last < 20):
                job.fail(f"told {told} times, the last one of iteration {last}", output)

    def what_the_next_host_has_no_room_for_is_no_checkpoint(self):
        """It says so before its own program lacks memory."""
        words = (*self.STEADY, "-a", 50)
        right = self.right(self.program("resumed", *words))
        self.variables["TEAMSTER_TEST_SPARE"] = "1:1900000"
        job = self.start_on("a,b,c", self.program("resumed", *words, "-p", 4000), *self.words())
        output = job.expect_success()
        if self.result(output) != right or output.count(
                "no checkpoint: node 0 cannot write to memory: the next host has too little "
                "memory for it") != 1:
            job.fail("not told once", output)

    def expect_no_more(self, fault, why):
        """From some time on there are no checkpoints: one warning, and the run goes back to the
        one that there was, which all hosts have."""
        program = self.program("resumed", *TALK, "-b", 200)
        right = self.right(self.program("resumed", *WORK, "-b", 200))
        name, place = fault
        self.variables[name] = place
        job = self.start_on("a,b,c", program, *self.words())
        job.await_line("no checkpoint: " + why)
        newest = self.newest(job)
        if newest == 0:
            job.fail("there was none", job.kill_all())
        for folder in self.folders_of(job):
            found = self.generations_in(folder)
            whole = self.generations_in(folder, "manifest")
            if found and (max(found) > newest or newest not in whole):
                job.fail(f"what came to nothing is left: {found}", job.kill_all())
        self.lose(job, "c")
        output = job.expect_success()
        if (self.result(output) != right or len(BACK.findall(output)) != 1 or
                "is refused" in output):
            job.fail("another result, or not back", output)
        self.expect_each_line_once(job, output, ITERATIONS)
        self.expect_no_folder(job, output)

    def what_cannot_be_copied_is_no_loss(self):
        self.expect_no_more(("TEAMSTER_TEST_REFUSE_COPIES", "1:50"),
                            "node 0 cannot write to memory: No space left")

    def what_one_host_cannot_keep_is_no_loss(self):
        self.expect_no_more(("TEAMSTER_TEST_REFUSE_MANIFESTS", "1:4"),
                            "a host cannot keep it: No space left")

    def who_asks_is_answered(self):
        program = self.program("resumed", "-t", 3, "-i", 100000, "-p", 2000)
        job = self.start_on("a,b", program, *self.words(every=100000))
        job.await_line("checkpoints are in memory")
        found = self.ask(job, "checkpoint", job.process.pid)
        if found[0] != 0 or "is whole: iteration" not in found[1]:
            job.fail(f"{found}", job.kill_all())
        self.folders_of(job)
        job.process.send_signal(signal.SIGTERM)
        code, output = job.finish()
        if code != 128 + signal.SIGTERM or "--restart" in output:
            job.fail(f"exit code {code}", output)
        self.expect_no_folder(job, output)

    def agents_stay_with_a_folder_too(self):
        """A host that has had a second agent, for a node that came, has one then."""
        program = self.program("resumed", *WORK, "-p", 4000)
        right = self.right_of_work()
        job = self.start_on("a,b", program, f"--checkpoint={self.folder},every=5",
                            "--recover")
        job.await_line("checkpoints go to")
        agent = self.agent(job, "b")
        added = self.ask(job, "add", job.process.pid, "a")
        if added[0] != 0:
            job.fail(added[1], job.kill_all())
        super().await_generations(job, 1)
        os.kill(self.node_of(job, 2), signal.SIGKILL)
        job.await_line("back to iteration")
        if self.agent(job, "b") != agent:
            job.fail("another agent", job.kill_all())
        output = job.expect_success()
        if self.result(output) != right or "instead of" in output:
            job.fail("another result, or fewer nodes", output)

    def nothing_is_left_when_the_launcher_is_killed(self):
        program = self.program("resumed", "-t", 3, "-i", 100000, "-p", 2000)
        for places in ("a,b", "localhost,a"):
            job = self.start_on(places, program, *self.words())
            self.await_generations(job, 2)
            job.process.kill()
            output = job.rest()
            job.expect_nothing_left(output)
            self.expect_no_folder(job, output)
            if "has been killed, so all nodes end; checkpoints were in their memory" not in output:
                job.fail("nobody says so", output)

    def what_cannot_be_is_refused(self):
        program = self.program("resumed", "-t", 2, "-i", 3)
        for words, text in (
                (("--buddy", "--checkpoint=saved"), "give one of them"),
                (("--buddy=saved",), "allowed: auto, off, every=Ns"),
                (("--buddy", "--checkpoint-before=5m"),
                 "needs --checkpoint=DIR"),
                (("--buddy", "--spare=b"), "all nodes are on this machine")):
            self.refused(64, text, 2, program, *words)
        self.variables["TEAMSTER_BUDDY"] = "every=5"
        done = subprocess.run(
            [*map(str, program)], text=True, stdout=subprocess.PIPE,
            env={**os.environ, **self.variables}, stderr=subprocess.STDOUT,
            timeout=jobs.DEADLINE_S, check=False)
        if done.returncode != 78 or "`teamster run`" not in done.stdout:
            raise jobs.Failure(f"{done.returncode}\n{done.stdout}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    return jobs.main(Buddies, parser)


if __name__ == "__main__":
    sys.exit(main())
