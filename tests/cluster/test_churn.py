#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Churn: hosts and nodes of a run with --buddy are lost again and again, and others join. It comes to the same
bits as a run that nobody disturbs.

    test_churn.py hosts --build DIR [--seed N] [--runs N] [--minutes M] [--every S]

Each run is drawn from its seed: hosts, program, protocol, policy, memory, how often checkpoints are made, and each
loss: one host (the root's, too), two that are no buddies, a node or two; and whether it comes while a host joins or a
node leaves, while the run goes back from another loss, or while a checkpoint is written. After each one a host joins, of a
new name or one that was lost. A run lasts about M minutes, with a loss every S seconds; without M it is a short one, with
two losses.

Only what docs/checkpoints.md promises is done: no host is lost with its buddy before there is a checkpoint without it.
"""
import argparse
import collections
import os
import random
import re
import signal
import subprocess
import sys
import time

import jobs
import logins
from test_buddies import Buddies
from test_recovery import BACK

HOSTS_MAX = 5
BEGINNING = "back to the beginning"
# What `teamster add` and `remove` end with if the run is about to end, or goes back; if a host is lost meanwhile; and if
# the launcher has not heard yet that this one is.
REFUSED = (64, 69, 75, 78)
# Applications with what makes them longer: how much of it two trials have. Sums of `sequential` are without effort.
APPS = {"nbody": (("--size", 400, "--threads", 6), "--iterations", (30, 150)),
        "sor": (("--size", 256, "--threads", 6, "--effort", 40), "--iterations", (30, 150)),
        "jacobi": (("--size", 256, "--threads", 6, "--effort", 40), "--iterations", (30, 150)),
        "layers": (("--size", 96, "--threads", 6, "--effort", 10), "--iterations", (30, 150)),
        "gauss": (("--size", 300, "--threads", 6, "--iterations", 300), "--effort", (10, 200))}
LONGEST = 10000


class Churn(Buddies):
    def __init__(self, options, folder):
        super().__init__(options, folder)
        self.counts = collections.Counter()
        self.told = []  # what was done to the run, with the time

    def tell(self, what):
        self.told.append(f"{time.monotonic() - self.begun:6.1f} s {what}")
        if self.options.minutes > 0:
            print(self.told[-1], flush=True)

    # ---- who is there

    def nodes(self, job):
        """@return pids by number, and by host their numbers"""
        pids, hosts = {}, {}
        for pid in job.processes():
            found = re.search(rb"(?:^|\0)TEAMSTER_NODE=(\d+)\0", jobs.read_bytes(f"/proc/{pid}/environ"))
            host = self.host_of(pid)
            if found:
                number = int(found.group(1))
                pids[number] = pid
                hosts.setdefault(host, []).append(number)
        return pids, hosts

    @staticmethod
    def host_of(pid):
        found = re.search(rb"(?:^|\0)" + logins.NAME.encode() + rb"=([^\0]+)\0",
                          jobs.read_bytes(f"/proc/{pid}/environ"))
        return found.group(1).decode() if found else "localhost"

    def ring(self, job):
        """Hosts in the order of their first nodes."""
        hosts = self.nodes(job)[1]
        return sorted(hosts, key=lambda host: min(hosts[host]))

    def agents(self, job, host):
        return [pid for pid in job.processes() if self.host_of(pid) == host
                and jobs.read_bytes(f"/proc/{pid}/comm") == b"teamster\n"]

    # ---- the run

    def draw_places(self):
        """With at most two nodes on a host."""
        n_hosts = self.random.randrange(3, HOSTS_MAX)
        names = [chr(ord("a") + i) for i in range(n_hosts)]
        if self.random.random() < 0.2:
            names[self.random.randrange(n_hosts)] = "localhost"
        return ",".join(name + self.random.choice(("", "", ":2")) for name in names)

    def draw_short(self):
        """@return words of a program, and of the same that is done sooner"""
        words = ("-t", self.random.randrange(3, 8), "-i", 400, "-b", self.random.randrange(1, 300))
        return self.program("resumed", *words, "-p", 15000), self.program("resumed", *words)

    def draw_resumed(self):
        """Its pauses tell how long it takes, and about as much as they take is lost."""
        pause_us = self.random.choice((20000, 50000))
        words = ("-t", self.random.randrange(3, 8), "-i", int(60e6 * self.options.minutes / (pause_us + 20000)),
                 "-b", self.random.randrange(1, 1500))
        talk = ("-o",) if self.random.random() < 0.3 else ()
        return self.program("resumed", *words, "-p", pause_us, *talk), self.program("resumed", *words)

    def draw_app(self, start):
        """As many iterations as two trials in the same surroundings say, or as much effort."""
        name = self.random.choice(sorted(APPS))
        words, more, trials = APPS[name]
        words = (self.path("apps", name), *words, more)
        times = []
        for much in trials:
            begun = time.monotonic()
            start((*words, much)).expect_success()
            times.append(time.monotonic() - begun)
        each_s = max((times[1] - times[0]) / (trials[1] - trials[0]), 1e-4)
        program = (*words, min(int(60 * self.options.minutes / each_s), LONGEST))
        return program, (*program, "--sequential", *(("--effort", 1) if "--effort" in program else ()))

    def draw_program(self, start):
        if self.options.minutes == 0:
            return self.draw_short()
        return self.draw_resumed() if self.random.random() < 0.5 else self.draw_app(start)

    def right_of(self, quick):
        """Of programs whose pauses or effort are left out."""
        if "--sequential" not in quick:
            return self.right(quick)
        done = subprocess.run([*map(str, quick)], text=True, capture_output=True, check=True, env=jobs.environment())
        return self.result(done.stdout)

    def start_drawn(self):
        """@return a job, and what it comes to"""
        places, words = self.draw_places(), self.draw_words()
        every = (self.random.choice(("10", "20", "40")) if self.options.minutes == 0 else
                 self.random.choice(("2s", "5s", "100")))
        if self.random.random() < 0.3:
            self.variables["TEAMSTER_TEST_SLOW_FILES"] = f"{self.random.randrange(3)}:{self.random.choice((50, 300))}"

        def start(program):
            return self.start_on(places, program, f"--buddy=every={every}", "--recover=10", *words)

        program, quick = self.draw_program(start)
        right = self.right_of(quick)
        self.begun = time.monotonic()
        job = start(program)
        self.variables.pop("TEAMSTER_TEST_SLOW_FILES", None)
        job.await_line("checkpoints are in memory|checkpoint")
        self.n_hosts = places.count(",") + 1
        self.n_named = self.n_hosts
        self.gone = []  # names that may come again
        self.tell(f"{job}")
        return job, right

    @staticmethod
    def is_over(job):
        """And read what it says, which it would wait for."""
        job.n_told("(?!)")
        return job.process.poll() is not None

    def wait(self, job, seconds):
        jobs.wait_until(lambda: self.is_over(job), seconds)

    def await_whole(self, job, n):
        """So many checkpoints that began after now are whole. @return it goes on"""
        before = self.newest(job)

        def has_come():
            newest = self.newest(job)
            return self.is_over(job) or newest // 1000 > before // 1000 and newest % 1000 >= n or (
                newest // 1000 == before // 1000 and newest - before >= n)

        if not jobs.wait_until(has_come, 3 * jobs.DEADLINE_S):
            job.fail("no checkpoints", job.kill_all())
        return not self.is_over(job)

    # ---- losses

    def draw_hosts(self, job, n, lost=()):
        """Of those that may be lost: no buddies of each other, nor of those that were lost before."""
        ring = [host for host in self.ring_before if host not in lost]
        at = {host: i for i, host in enumerate(self.ring_before)}

        def are_no_buddies(one, other):
            return (at[one] - at[other]) % len(at) not in (0, 1, len(at) - 1)

        found = list(lost)
        there = set(self.ring(job))
        self.random.shuffle(ring)
        for host in ring:
            if (host != "localhost" and host in there and len(found) < n + len(lost) and len(there) > len(found) + 1
                    and all(are_no_buddies(host, other) for other in found)):
                found.append(host)
        return found[len(lost):]

    def lose_hosts(self, job, hosts):
        self.tell(f"lost: {', '.join(hosts)}")
        agents = [pid for host in hosts for pid in self.agents(job, host)]
        self.kill_at_once(job, agents)
        self.gone += hosts
        self.counts["hosts lost"] += len(hosts)

    def kill_nodes(self, job, n):
        pids = self.nodes(job)[0]
        numbers = self.random.sample(sorted(pids), min(n, len(pids)))
        self.tell(f"killed: nodes {numbers}")
        self.kill_at_once(job, [pids[number] for number in numbers])
        self.counts["nodes killed"] += len(numbers)

    @staticmethod
    def kill_at_once(job, pids):
        if len(pids) > 1:
            job.process.send_signal(signal.SIGSTOP)
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        job.process.send_signal(signal.SIGCONT)

    def lose_some(self, job, lost=()):
        """@return hosts that are lost then"""
        kind = self.random.random()
        hosts = self.draw_hosts(job, 2 if kind < 0.2 else 1, lost) if kind < 0.65 else []
        if hosts:
            self.lose_hosts(job, hosts)
        else:
            self.kill_nodes(job, 2 if kind > 0.9 else 1)
        return [*lost, *hosts]

    def lose_while_it_goes_back(self, job):
        n_back = job.n_told("back to ")
        lost = self.lose_some(job)
        if self.random.random() < 0.7:
            jobs.wait_until(lambda: self.is_over(job) or job.n_told("back to ") > n_back)
        self.wait(job, self.random.uniform(0, 0.6))
        if not self.is_over(job):
            self.lose_some(job, lost)

    def lose_while_a_host_joins(self, job):
        asked = self.begin_to_add(job)
        self.wait(job, self.random.uniform(0, 1.2))
        self.lose_some(job)
        self.end_to_add(job, asked)

    def lose_while_a_node_leaves(self, job):
        numbers = sorted(self.nodes(job)[0])[1:]
        if len(self.ring_before) > 2 and numbers:
            asked = self.begin(job, "remove", str(self.random.choice(numbers)))
            self.wait(job, self.random.uniform(0, 0.3))
            self.lose_some(job)
            self.counts["nodes left"] += self.end_of(job, asked) == 0

    def lose_while_it_saves(self, job):
        newest = self.newest(job)
        coming = [os.path.join(folder, "checkpoints", f"generation-{newest + 1}") for folder in self.folders_of(job)]
        jobs.wait_until(lambda: any(map(os.path.isdir, coming)) or self.is_over(job))
        self.wait(job, self.random.uniform(0, 0.1))
        self.lose_some(job)

    # ---- who joins

    def draw_name(self):
        gone = [name for name in self.gone if name != "localhost"]
        if gone and self.random.random() < 0.4:
            name = self.random.choice(gone)
            self.gone = [other for other in self.gone if other != name]
            return name
        self.n_named += 1
        return f"h{self.n_named}"

    def begin(self, job, what, whom):
        """A command to a running job."""
        self.tell(f"{what} {whom}")
        return what, whom, subprocess.Popen(
            [self.path("cli", "teamster"), what, str(job.process.pid), whom], text=True,
            env={**os.environ, **self.variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def end_of(self, job, asked):
        """Whatever becomes of the run, it is answered. @return its exit code"""
        what, whom, asking = asked
        if not jobs.wait_until(lambda: self.is_over(job) or asking.poll() is not None, 2 * jobs.DEADLINE_S):
            asking.kill()
            job.fail(f"{what} {whom} does not end", job.kill_all())
        told = asking.communicate()[0]
        self.tell(f"{what} {whom}: {asking.returncode}, {told.strip()}")
        if asking.returncode not in (0, *REFUSED) and not self.is_over(job):
            job.fail(f"{what} {whom}: {asking.returncode}, {told}", job.kill_all())
        return asking.returncode

    def begin_to_add(self, job):
        return self.begin(job, "add", self.draw_name())

    def end_to_add(self, job, asked):
        """@return it has joined, or the run is over"""
        has_joined = self.end_of(job, asked) == 0
        if not has_joined:
            self.gone.append(asked[1])
        self.counts["hosts joined"] += has_joined
        return has_joined or self.is_over(job)

    def join(self, job):
        """A host that is there does not come twice."""
        if len(self.ring(job)) >= HOSTS_MAX:
            return
        if not jobs.wait_until(lambda: self.end_to_add(job, self.begin_to_add(job)), 2 * jobs.DEADLINE_S):
            job.fail("nobody can join", job.kill_all())

    def disturb(self, job):
        """One loss, and who joins after it."""
        if not self.await_whole(job, 2):
            return
        self.ring_before = self.ring(job)
        how = self.random.choice((self.lose_some, self.lose_some, self.lose_while_it_goes_back,
                                  self.lose_while_a_host_joins, self.lose_while_a_node_leaves,
                                  self.lose_while_it_saves))
        self.tell(how.__name__)
        how(job)
        self.counts[how.__name__] += 1
        self.join(job)

    @staticmethod
    def end(job):
        """@return its output; all of it is shown if it does not end well, but for lines of iterations"""
        code, output = job.finish()
        if code != 0:
            print(re.sub(r"^.*: iteration \d+\n", "", output, flags=re.M))
            job.fail(f"exit code {code}")
        return output

    def one(self, seed):
        self.random = random.Random(seed)
        self.told = []
        job, right = self.start_drawn()
        ends = time.monotonic() + 3 * 60 * self.options.minutes
        try:
            for n in range(1 << 30):
                if self.is_over(job) or (self.options.minutes == 0 and n == 2) or (
                        0 < self.options.minutes and time.monotonic() > ends):
                    break
                next_s = time.monotonic() + self.options.every
                self.disturb(job)
                self.wait(job, max(next_s - time.monotonic(), 0))
            output = self.end(job)
            if self.result(output) != right:
                job.fail("another result", output)
            self.expect_no_folder(job, output)
        except jobs.Failure:
            print(f"seed {seed}", *self.told, sep="\n")
            raise
        self.counts.update({"runs": 1, "times back": len(BACK.findall(output)),
                            "times anew": output.count(BEGINNING),
                            "no checkpoint": output.count("no checkpoint:")})

    def hosts(self):
        for i in range(self.options.runs):
            self.one(self.options.seed + i)
        print("\n".join(f"{n:6} {what}" for what, n in sorted(self.counts.items())))
        if self.counts["times back"] == 0:
            raise jobs.Failure("it has never gone back")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=0, help="about so long is each run")
    parser.add_argument("--every", type=float, default=0, help="seconds from one loss to the next")
    return jobs.main(Churn, parser)


if __name__ == "__main__":
    sys.exit(main())
