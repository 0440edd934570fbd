#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""All that draws from a seed, with ever new ones, until the time is over.

    soak.py MINUTES --build DIR [--build DIR]... [--parts NAME,...] [--jobs N]

Parts: conformance, all variants of the simulated world; units, random tests of
single layers; programs, random ones in random surroundings; audit, programs whose
reads are judged; litmus; apps, applications against their checksums; members, nodes
that come and go; failures, nodes and launchers that are killed; deaths, at any message, of
nodes of runs that go back to a checkpoint; churn, hosts that are lost every 20 s of a run of
minutes, while others join; unasked, of all kinds of programs with --buddy=auto; ports, what ports of
POSIX programs call, and programs that migrate and that race; unchanged, programs
that were not written for Teamster.

Each gets its part of the time, in each of the builds (one with a sanitizer among
them, if one likes). Every command is printed when it begins. A failure is told at
once, with the line that repeats it, and kept in DIR/failures.log. In the end: how
often each part ran. Exit codes: 0 nothing failed, 1 something did.
"""
import argparse
import concurrent.futures
import os
import random
import re
import secrets
import shlex
import signal
import subprocess
import sys
import time

import jobs
import test_members
import test_programs

HERE = os.path.dirname(os.path.abspath(__file__))
STEP_S = 600  # of one command: the longest take a tenth of it
N_LAST_LINES = 40
SKIPPED = 77
# Tests that take a seed from TM_TEST_SEED.
UNITS = ("mem/mem_pager_random_test", "mem/mem_replace_test", "mem/mem_heap_test",
         "mem/mem_diff_test", "mem/mem_area_test", "mem/mem_node_set_test",
         "mem/mem_twin_pool_test", "model/model_predict_random_test",
         "net/net_sim_test", "net/net_order_test", "net/net_message_test",
         "observe/observe_track_test", "place/place_never_worse_test",
         "place/place_properties_test", "place/place_optimum_test",
         "runtime/runtime_rounds_test")


class Absent(Exception):
    """This build has no such program."""


class Build:
    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        path = os.path.join(self.folder, "CMakeCache.txt")
        found = re.search(rb"^TM_TEST_SLOWDOWN:\w+=(\S+)$",
                          jobs.read_bytes(path), re.M)
        self.slowdown = float(found.group(1)) if found else 1
        self.variables = [] if not found or self.slowdown == 1 else [
            f"TM_TEST_SLOWDOWN={found.group(1).decode()}",
            "ASAN_OPTIONS=detect_leaks=0", "UBSAN_OPTIONS=print_stacktrace=1",
            "TSAN_OPTIONS=halt_on_error=1"]

    def program(self, *names):
        path = os.path.join(self.folder, *names)
        if not os.access(path, os.X_OK):
            raise Absent(path)
        return path

    def script(self, name, *words):
        return [sys.executable, os.path.normpath(os.path.join(HERE, name)),
                *words, "--build", self.folder]


def draw_seed(dice):
    return str(dice.randrange(1, 1 << 31))


# ---- what one command of each part is. @return variables, words

def draw_conformance(dice, build):
    """Variants with what each may be combined with (protocol_test.c)."""
    if dice.random() < 0.05:
        return [], [build.program("tests", "conformance", "fairness_test"),
                    draw_seed(dice), "40"]
    protocol = dice.choice(jobs.PROTOCOLS)
    program = build.program("tests", "conformance", "protocol_test")
    kind = dice.random()
    if kind < 0.06:
        return [], [program, f"{protocol}/death", draw_seed(dice), "1",
                    str(dice.randint(2, 9))]
    if kind < 0.12:
        race = dice.choice(("", "/race"))
        return [], [program, f"eager-release/budget/pending{race}",
                    draw_seed(dice), "40"]
    name = protocol
    for variant, odds in (("budget", 0.5), ("members", 0.4), ("early", 0.3),
                          ("globals", 0.4), ("crossing", 0.3), ("guarded", 0.3),
                          ("race", 0.2), ("audit", 0.2)):
        if dice.random() < odds and (variant != "race" or
                                     protocol == "eager-release"):
            name += f"/{variant}"
    return [], [program, name, draw_seed(dice), "20"]


def draw_unit(dice, build):
    if dice.random() < 0.4:
        return [f"TM_TEST_SEEDS={draw_seed(dice)},60"], [
            build.program("src", "sync", "sync_sync_random_test")]
    return [f"TM_TEST_SEED={draw_seed(dice)}"], [
        build.program("src", dice.choice(UNITS))]


def draw_program(dice, build):
    build.program("tests", "cluster", "random_program")
    return [], build.script("test_random.py", "--seeds", draw_seed(dice))


def draw_audit(dice, build):
    build.program("tests", "audit", "audited_litmus")
    test = dice.choice(("random",) * 5 + ("app",) * 3 + ("litmus",))
    return [], build.script("../audit/test_audit.py", test, "--seeds",
                            draw_seed(dice))


def draw_litmus(dice, build):
    build.program("tests", "cluster", "litmus")
    return [], build.script(
        "test_programs.py", "litmus", "--mode",
        dice.choice(test_programs.MODES), "--runs", "2", "--seeds",
        draw_seed(dice))


def draw_app(dice, build):
    build.program("apps", "jacobi")
    return [], build.script("test_random_apps.py", "--seeds", draw_seed(dice))


def draw_members(dice, build):
    build.program("apps", "jacobi")
    return [], build.script(
        "test_members.py", "app", "--app", dice.choice(sorted(test_members.APPS)),
        "--seed", draw_seed(dice))


def draw_failure(dice, build):
    build.program("apps", "jacobi")
    test = dice.choice(("kill_node", "kill_starting", "kill_launcher", "signals"))
    return [], build.script("test_programs.py", test, "--seeds",
                            draw_seed(dice))


def draw_deaths(dice, build):
    build.program("tests", "cluster", "resumed")
    return [], build.script("test_deaths.py", "anywhere", "--seed", draw_seed(dice))


def draw_churn(dice, build):
    build.program("tests", "cluster", "resumed")
    return [], build.script("test_churn.py", "hosts", "--minutes", "2", "--every", "20", "--seed", draw_seed(dice))


def draw_unasked(dice, build):
    build.program("tests", "cluster", "resumed")
    return [], build.script("test_unasked.py", "anything", "--runs", "10", "--seed", draw_seed(dice))


def draw_port(dice, build):
    build.program("tests", "cluster", "posix")
    test = dice.choice(("random", "migrate", "posix", "race_free",
                        "race_found"))
    return [], build.script("test_programs.py", test, "--seeds",
                            draw_seed(dice))


def draw_unchanged(dice, build):
    front = os.path.join(build.folder, "libexec", "teamster", "symbols")
    if build.slowdown != 1 or not os.path.exists(front):
        raise Absent(front)  # a program without a sanitizer cannot have a library with one
    return [], build.script("../frontend/test_unchanged.py", "random", "--seeds",
                            draw_seed(dice))


PARTS = {  # how a command is drawn, and its part of the time
    "conformance": (draw_conformance, 6),
    "programs": (draw_program, 6),
    "apps": (draw_app, 3),
    "audit": (draw_audit, 3),
    "members": (draw_members, 1.5),
    "litmus": (draw_litmus, 1),
    "ports": (draw_port, 1),
    "failures": (draw_failure, 1),
    "deaths": (draw_deaths, 2),
    "churn": (draw_churn, 2),
    "unasked": (draw_unasked, 2),
    "units": (draw_unit, 1),
    "unchanged": (draw_unchanged, 2),
}


class Step:
    """One command of a part, and how it ended."""

    def __init__(self, dice, part, build):
        self.part = part
        self.build = build
        variables, words = PARTS[part][0](dice, build)
        self.variables = [*build.variables, *variables]
        self.words = words
        self.code = None
        self.output = ""
        self.seconds = 0

    def __str__(self):
        return shlex.join([*(["env"] if self.variables else []),
                           *self.variables, *self.words])

    def run(self):
        begun = time.monotonic()
        variables = dict(variable.split("=", 1) for variable in self.variables)
        with subprocess.Popen(
                self.words, text=True, errors="replace", start_new_session=True,
                env={**os.environ, **variables}, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            try:
                self.output, _ = process.communicate(
                    timeout=STEP_S * self.build.slowdown)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                self.output = f"{process.communicate()[0]}\nno end"
        self.code = process.returncode
        self.seconds = time.monotonic() - begun
        return self

    def repeated_by(self):
        """The seed of a failing simulation, if it says which one it was."""
        found = re.search(r"^(\S+) seed (\d+): ", self.output, re.M)
        if found and self.part == "conformance":
            return shlex.join([*(["env"] if self.variables else []),
                               *self.variables, self.words[0], found.group(1),
                               found.group(2)])
        return str(self)


class Soak:
    def __init__(self, options):
        self.options = options
        self.builds = [Build(folder) for folder in options.build]
        self.dice = random.Random(secrets.randbits(64))
        self.begun = time.monotonic()
        self.used_s = {}  # by part and build
        self.counts = {}  # runs, skips, failures
        self.failures = []
        for part in options.parts:
            self.add(part)
        if not self.used_s:
            raise jobs.Failure("none of the builds has a program for this")

    def add(self, part):
        """A part of each build that has its programs."""
        for build in self.builds:
            try:
                Step(self.dice, part, build)
            except Absent as path:
                print(f"{part} is left out: there is no {path}")
                continue
            self.used_s[part, build] = 0
            self.counts[part, build] = [0, 0, 0]

    def minutes(self):
        return (time.monotonic() - self.begun) / 60

    def next_step(self):
        """Of the part that has had least of its time."""
        part, build = min(self.used_s, key=lambda key: self.used_s[key]
                          / PARTS[key[0]][1])
        step = Step(self.dice, part, build)
        # Until it has ended it counts for a little, so that others begin.
        self.used_s[part, build] += 1
        print(f"{self.minutes():5.1f} min {part}: {step}", flush=True)
        return step

    def note(self, step):
        key = step.part, step.build
        self.used_s[key] += step.seconds - 1
        counts = self.counts[key]
        counts[0] += 1
        if step.code == SKIPPED:
            counts[1] += 1
        elif step.code != 0:
            counts[2] += 1
            self.tell(step)

    def tell(self, step):
        how = (f"ended by {signal.Signals(-step.code).name}" if step.code < 0
               else f"exit code {step.code}")
        lines = step.output.splitlines()[-N_LAST_LINES:]
        print(f"FAILED {step.part}, {how}; repeat with: {step.repeated_by()}\n"
              + "".join(f"    | {line}\n" for line in lines), flush=True)
        self.failures.append(step)
        with open(os.path.join(step.build.folder, "failures.log"), "a",
                  encoding="utf-8") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {step.part}, "
                       f"{how}; repeat with: {step.repeated_by()}\n"
                       f"{step.output}\n\n")

    def run(self):
        """@return how many failed"""
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            running = set()
            try:
                while running or not self.is_over():
                    while (len(running) < self.options.jobs and
                           not self.is_over()):
                        running.add(pool.submit(self.next_step().run))
                    done, running = concurrent.futures.wait(
                        running,
                        return_when=concurrent.futures.FIRST_COMPLETED)
                    for step in done:
                        self.note(step.result())
            except KeyboardInterrupt:
                print("stopped: what has begun is waited for", flush=True)
        self.sum_up()
        return len(self.failures)

    def is_over(self):
        """At least one command of each part is begun."""
        return (self.minutes() >= self.options.minutes and
                min(self.used_s.values()) > 0)

    def sum_up(self):
        print(f"\n{'part':12} {'commands':>8} {'skipped':>8} {'failed':>8} "
              f"{'minutes':>8}  build")
        for (part, build), counts in self.counts.items():
            print(f"{part:12} {counts[0]:8} {counts[1]:8} {counts[2]:8} "
                  f"{self.used_s[part, build] / 60:8.1f}  {build.folder}")
        print(f"{sum(counts[0] for counts in self.counts.values())} commands in "
              f"{self.minutes():.1f} minutes, {len(self.failures)} failures")
        for step in self.failures:
            print(f"FAILED {step.part}; repeat with: {step.repeated_by()}")


def parse_options():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("minutes", type=float)
    parser.add_argument("--build", required=True, action="append")
    parser.add_argument("--parts", type=lambda text: text.split(","),
                        default=list(PARTS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count(),
                        help="commands at a time; as many as processors")
    options = parser.parse_args()
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"there is no part '{part}'")
    return options


def main():
    try:
        return 1 if Soak(parse_options()).run() > 0 else 0
    except jobs.Failure as failure:
        print(failure)
        return 1


if __name__ == "__main__":
    sys.exit(main())
