#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""With --buddy=auto nodes die at any message, and hosts at any time, of programs that know nothing of it. A run
comes to what it would have come to, prints that and leaves its files so, or it ends with 75 and says why.

    test_unasked.py anything --build DIR [--seed N] [--runs N] [--minutes M]

Each run is drawn from its seed: hosts, protocol, memory, how often checkpoints are made, what fails, and the
program. That may be one which changes files and other things, or reads a file bit by bit, while it iterates; an
application; a random program; or one that `teamster cc` has built.
"""
import argparse
import collections
import contextlib
import os
import random
import re
import shutil
import subprocess
import sys
import time

import jobs
import test_checkpoints
import test_members
from test_buddies import Buddies
from test_deaths import Deaths
from test_recovery import BACK, LINE, NODE_LOST

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "frontend"))
import test_unchanged  # noqa: E402  pylint: disable=wrong-import-position

test_unchanged.RUN_S *= jobs.PATIENCE  # compilers, too, beside others
DEATHS_MAX = 4
MESSAGES_MAX = 6000
N_PROGRAMS = 50
UNCHANGED = ("saved", "resumed", "regions", "stencil", "tasks", "files", "streams", "reductions",
             "sort", "queue", "table", "objects", "futures", "lines", "c11", "across")
CHANGES = sorted(" ".join(Buddies.CHANGES.values()).split())
UNREACHABLE = 69
WHY = re.compile(r"^teamster run: .*\b(died: killed by|is lost\b|the connection has ended)", re.M)
OUTSIDE = "it does not go back: on n"
TAGGED = re.compile(r"^\[\d+\] (.*)$", re.M)


class Unasked(Deaths):
    def __init__(self, options, folder):
        super().__init__(options, folder)
        self.place = os.path.join(folder, "place")
        self.known = {}  # what programs come to
        self.is_reading = False
        self.counts = collections.Counter()

    # ---- where

    def make_place(self):
        """Fresh, with what programs of changes.h expect there."""
        shutil.rmtree(self.place, ignore_errors=True)
        os.makedirs(os.path.join(self.place, "empty"))
        os.mkfifo(os.path.join(self.place, "pipe"))
        for name, text in (("there", "there\n"), ("numbers", "".join(
                f"{i * i}\n" for i in range(1000)))):
            with open(os.path.join(self.place, name), "w", encoding="ascii") as file:
                file.write(text)

    def read(self, name):
        return jobs.read_bytes(os.path.join(self.place, name)).decode()

    def draw_hosts(self):
        n_hosts = self.random.randrange(2, 5)
        return [(chr(ord("a") + i), self.random.choice((1, 1, 2))) for i in range(n_hosts)]

    def draw_surroundings(self):
        words = self.draw_words()
        if self.random.random() < 0.1:
            words[1] = "homeless"
        return words

    def draw_message(self):
        """Most come when there is a checkpoint to go back to."""
        return (self.draw_number(MESSAGES_MAX) if self.random.random() < 0.3
                else self.random.randrange(600, MESSAGES_MAX))

    def draw_faults(self, n_nodes):
        """@return variables"""
        found = {"TEAMSTER_BUDDY": "auto", "TEAMSTER_TEST_EVERY": f"0:{10 + self.draw_number(200)}"}
        if self.random.random() < 0.8:
            found["TEAMSTER_TEST_DIE_AT"] = ",".join(
                f"{self.random.randrange(n_nodes)}:{self.draw_message()}"
                for _ in range(self.random.randrange(1, DEATHS_MAX + 1)))
        for name, most in (("SLOW_FILES", 300), ("REFUSE_COPIES", 50), ("REFUSE_MANIFESTS", 5)):
            if self.random.random() < 0.1:
                found[f"TEAMSTER_TEST_{name}"] = (f"{self.random.randrange(n_nodes)}:"
                                                  f"{self.random.randrange(1, most)}")
        return found

    # ---- what. @return words, and what looks at an output and says what is wrong with it, or None

    def draw_iterating(self):
        words = self.draw_known_program()
        n_iterations = words[3]
        pause = ("-p", self.random.choice((0, 500, 2000, 5000)))
        own = []
        kind = self.random.random()
        if kind < 0.3:
            own = ["-l", self.random.randrange(1, n_iterations)]
        elif kind < 0.5:
            own = ["-f", self.random.choice(CHANGES), "-e", self.random.randrange(1, n_iterations)]
        elif kind < 0.65:
            own = ["-r", n_iterations // self.random.choice((2, 3, 5))]
        self.is_reading = "-r" in own
        added = tuple(own if self.is_reading else ())
        if self.random.random() < 0.6:
            own += ["-o"]
        program = self.program("resumed", *words)
        right = self.known_result((*program, *added))

        def look(output, is_whole):
            return (self.look_at_lines(output, words[1], n_iterations, "-o" in own and is_whole) or
                    self.look_at_log(own, n_iterations, is_whole) or
                    ("another result" if is_whole and self.result(output) != right else None))

        return (*program, *pause, *own), look

    def draw_known_program(self):
        """One of some, whose results need not be found out each time."""
        seed, dice = self.random.randrange(N_PROGRAMS), self.random
        self.random = random.Random(seed)
        words = self.draw_program()
        self.random = dice
        return words

    @staticmethod
    def look_at_lines(output, n_threads, n_iterations, are_all_there):
        count = collections.Counter(LINE.findall(output))
        twice = [line for line, n in count.items() if n > 1]
        if twice:
            return f"lines twice: {twice[:5]}"
        if are_all_there and len(count) != n_threads * n_iterations:
            return f"{len(count)} lines"
        changed = output.find("has changed something")
        if changed >= 0 and BACK.search(output, changed):
            return "it goes back behind what it has changed"
        return None

    def look_at_log(self, own, n_iterations, is_whole):
        every = own[own.index("-l") + 1] if "-l" in own else n_iterations
        right = "".join(f"iteration {i}\n" for i in range(0, n_iterations, every)) if "-l" in own else ""
        log = self.read("log")
        if log != right and (is_whole or not right.startswith(log)):
            return f"the log is {log!r}, not {right!r}"
        return None

    def known_result(self, program):
        if program not in self.known:
            self.make_place()
            self.known[program] = self.result(
                self.start_here(["-n", 1, *program], {}).expect_success())
        return self.known[program]

    def draw_app(self):
        name = self.random.choice(sorted(test_members.APPS))
        program = (self.path("apps", name), *(
            test_checkpoints.APPS.get(name) or test_members.APPS[name]))
        right = self.known_result(program)
        return program, lambda output, is_whole: (
            "another result" if is_whole and self.result(output) != right else None)

    def draw_random(self):
        program = (self.path("tests", "cluster", "random_program"), "-w", "-s", self.random.randrange(1, 10000))
        return program, lambda output, is_whole: (
            "no checksum" if is_whole and "checksum: " not in output else None)

    def draw_unchanged(self):
        name = self.random.choice(UNCHANGED)
        folder = os.path.join(self.root, f"unchanged-{name}")
        tests = test_unchanged.Tests(self.options.build, folder)
        if not os.path.exists(tests.path("unchanged")):
            os.makedirs(folder, exist_ok=True)
            tests.compile(name)
        self.make_place()
        arguments = tests.arguments(name)
        right = self.known.get(name)
        if right is None:
            native = subprocess.run(
                [tests.path("native"), *arguments], cwd=self.place, stdin=subprocess.DEVNULL, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                timeout=jobs.DEADLINE_S, env={**os.environ, **self.here()})
            right = self.known[name] = (native.returncode, sorted(native.stdout.splitlines()))

        def look(output, is_whole):
            found = sorted(line for line in TAGGED.findall(output) if not line.startswith("teamster: "))
            if is_whole and found != right[1]:
                return f"it printed {found}, not {right[1]}"
            extra = collections.Counter(found) - collections.Counter(right[1])
            return f"it printed {extra}" if extra and BACK.search(output) else None

        return (tests.path("unchanged"), *arguments), look

    # ---- one run

    def here(self):
        return {**self.variables, "OMP_NUM_THREADS": "4", "OMP_STACKSIZE": "4M"}

    def start_here(self, words, variables):
        return jobs.Job(self.path("cli", "teamster"), words, {**self.here(), **variables},
                        through=("env", f"--chdir={self.place}"))

    def lose_some(self, job, hosts):
        """At any time."""
        time.sleep(self.random.uniform(0, 1.5) * jobs.SLOWDOWN)
        host = self.random.choice(hosts)[0]
        with contextlib.suppress(jobs.Failure, ProcessLookupError):
            self.lose(job, host)

    def one(self, seed):
        self.random = random.Random(seed)
        self.is_reading = False
        kinds = [self.draw_iterating] * 5 + [self.draw_app] * 2 + [self.draw_random] + (
            [self.draw_unchanged] * 2 if os.path.exists(
                self.path("libexec", "teamster", "symbols")) and jobs.SLOWDOWN == 1 else [])
        draw = self.random.choice(kinds)
        program, look = draw()
        kind = draw.__name__
        hosts = self.draw_hosts()
        words = self.draw_surroundings()
        if self.is_reading:
            words[3] = "none"
        if draw == self.draw_unchanged and "--memory" in words:
            words[words.index("--memory") + 1] = "2M"  # its stacks are shared, too
        variables = self.draw_faults(sum(n for _, n in hosts))
        self.make_place()
        job = self.start_here(["--ssh", self.ssh, "-H", ",".join(f"{name}:{n}" for name, n in hosts),
                               *words, *program], variables)
        if "TEAMSTER_TEST_DIE_AT" not in variables:
            self.lose_some(job, hosts)
        code, output = job.finish(2 * jobs.DEADLINE_S)
        self.judge(job, seed, kind, code, output, look)

    def judge(self, job, seed, kind, code, output, look):
        is_whole = code not in (NODE_LOST, UNREACHABLE)
        wrong = look(output, is_whole)
        if wrong is None and is_whole and code != 0 and (
                kind != "draw_unchanged" or code != self.known[
                    os.path.basename(os.path.dirname(self.name_of(job)))[len("unchanged-"):]][0]):
            wrong = f"exit code {code}"
        if wrong is None and not is_whole and not WHY.search(output):
            wrong = "it does not say why"
        if wrong is not None:
            job.fail(f"seed {seed}: {wrong}", output)
        n_back = len(BACK.findall(output))
        self.counts.update({
            f"{kind[5:]}: {'whole' if is_whole else 'lost'}, "
            f"{'back' if n_back else 'not back'}{', outside' if OUTSIDE in output else ''}": 1,
            "runs": 1, "times back": n_back, "nodes lost": len(WHY.findall(output))})

    def name_of(self, job):
        return next(word for word in job.command if "unchanged-" in word)

    # ---- what programs of `teamster cc` have besides memory

    STEPS = """#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
extern int count(void);
int main(void)
{
    %s;
    for (int i = 0; i < 100000; i++) {
#pragma omp parallel
        { usleep(1000); }
    }
}
"""

    def answer(self, job, why):
        """Who asks for a checkpoint when the program runs is told that there is one, or why not."""
        answers = []

        def is_told():
            answers.append(self.ask(job, "checkpoint", job.process.pid))
            return job.process.poll() is not None or answers[-1][0] == 0 or (why and why in answers[-1][1])

        jobs.wait_until(is_told)
        return answers[-1]

    def what_would_not_come_back(self):
        """A program that has set something for its process is not saved, nor is one with a library of others."""
        self.make_place()
        folder = os.path.join(self.root, "steps")
        os.makedirs(folder)
        tests = test_unchanged.Tests(self.options.build, folder)
        tests.write("count.c", "int count(void) { static int n; return n++; }\n")
        tests.succeed("gcc", "-shared", "-fPIC", "count.c", "-o", "libcount.so")
        for action, why in (("(void)0", None), ('(void)!chdir("/")', "chdir"), ("umask(0123)", "umask"),
                            ('setlocale(LC_ALL, "C.UTF-8")', "setlocale"), ('setenv("A", "1", 1)', "setenv"),
                            ("signal(SIGUSR2, SIG_IGN)", "ignores other signals"), ("count()", "cannot have any")):
            tests.write("steps.c", self.STEPS % action)
            tests.succeed(tests.teamster, "cc", "-fopenmp", "-O2", "steps.c", "-o", "steps",
                          *(["-L.", "-lcount", f"-Wl,-rpath,{folder}"] if "count" in action else []))
            job = self.start_here(["--ssh", self.ssh, "-H", "a,b", tests.path("steps")],
                                  {"TEAMSTER_BUDDY": "auto"})
            code, told = self.answer(job, why)
            if (code == 0) != (why is None) or (why or "") not in told:
                job.fail(f"{action}: {code}, {told}", job.kill_all())
            job.kill_all()

    def anything(self):
        failures = []
        end_s = time.monotonic() + 60 * self.options.minutes
        for i in range(self.options.runs):
            if i > 0 and self.options.minutes > 0 and time.monotonic() > end_s:
                break
            try:
                self.one(self.options.seed + i)
            except (jobs.Failure, test_unchanged.Failure) as failure:
                print(failure, flush=True)
                failures.append(self.options.seed + i)
                if not self.options.go_on:
                    break
        print("\n".join(f"{n:6} {what}" for what, n in sorted(self.counts.items())))
        if failures:
            raise jobs.Failure(f"seeds {failures}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=0, help="and no more runs after that")
    parser.add_argument("--go-on", action="store_true", help="after a failure, too")
    return jobs.main(Unasked, parser)


if __name__ == "__main__":
    sys.exit(main())
