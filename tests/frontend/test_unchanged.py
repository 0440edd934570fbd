#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that were not written for Teamster: compiled by the compiler and by `teamster
cc`, they print the same and end with the same exit code: alone, on 1 to 4 nodes, with each
protocol, the other fault source, little memory, and threads that move.

    test_unchanged.py --build DIR program NAME [ARGUMENT]...
    test_unchanged.py --build DIR overflow | settings | readme | unsaved | recovery
    test_unchanged.py --build DIR checkpoint NAME
    test_unchanged.py --build DIR driver | places | messages | execution
    test_unchanged.py --build DIR random --seeds N[,N]...   for soak.py: a program, ten ways
"""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from unittest import mock

OPENMP = re.compile(r"#pragma omp|_Pragma\(\"omp|!\$omp|<omp\.h>|omp_lib")
COMPILERS = {".c": ("gcc", "cc"), ".cc": ("g++", "c++"), ".f90": ("gfortran", "fc")}
FOLDER = os.path.dirname(os.path.abspath(__file__))
SLOWDOWN = float(os.environ.get("TM_TEST_SLOWDOWN", "1"))
RUN_S = 60 * SLOWDOWN
SKIPPED = 77
INPUT = "3 4\na line of input\nmore words of it\n"
PROTOCOLS = ("eager-release", "sequential", "implicit", "lazy-release", "homeless",
             "adaptive")
WAYS = [[], ["-n", "1"], ["-n", "2"], ["-n", "3"], ["-n", "4"],
        *(["-n", "3", f"--protocol={name}"] for name in PROTOCOLS),
        ["-n", "2", "--fault-source=mprotect"],
        ["-n", "3", "--memory=2M"],
        ["-n", "2", "-w", "3"],
        ["-n", "3", "-w", "1", "--shuffle=7", "--policy=none"]]
SLEEPERS = ("interrupted", "timers")  # their time is spent asleep: fewer ways
N_RANDOM = 10
# Where a fault was seen: half of such runs showed it.
MORE_WAYS = {"heap": [["-n", "3", "-w", "2", "--fault-source=mprotect"]] * 5}


class Failure(Exception):
    pass


def draw_way(dice):
    way = ["-n", str(dice.randint(1, 4))]
    for odds, word in ((0.6, "--protocol=" + dice.choice(PROTOCOLS)),
                       (0.4, "--fault-source=mprotect"), (0.25, "--memory=2M"),
                       (0.6, f"--workers={dice.randint(1, 3)}"),
                       (0.3, f"--shuffle={dice.randint(1, 99)}"),
                       (0.3, "--policy=" + dice.choice(("none", "cpu")))):
        if dice.random() < odds:
            way.append(word)
    return way


class Tests:
    def __init__(self, build, folder):
        self.teamster = os.path.join(build, "cli", "teamster")
        self.folder = folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *command, folder=None):
        try:
            return subprocess.run(command, input=INPUT, text=True, timeout=RUN_S,
                                  cwd=folder or self.folder, check=False,
                                  env={**os.environ, "OMP_STACKSIZE": "4M"},
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except subprocess.TimeoutExpired as error:
            raise Failure(f"{' '.join(command)} does not end") from error

    def succeed(self, *command):
        done = self.run(*command)
        if done.returncode != 0:
            raise Failure(f"{' '.join(command)}: {done.stderr}")
        return done.stdout

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    # ---- programs

    def source(self, name):
        for suffix in COMPILERS:
            path = os.path.join(FOLDER, name + suffix)
            if os.path.exists(path):
                return path
        raise Failure(f"no program {name}")

    def compile(self, name, more=("-Wl,-z,execstack",)):
        source = self.source(name)
        with open(source, encoding="utf-8") as file:
            flags = ["-O2", "-pthread"] + (["-fopenmp"] if OPENMP.search(file.read()) else [])
        flags += ["-D_FORTIFY_SOURCE=2", "-Wno-unused-result"]
        native, command = COMPILERS[os.path.splitext(source)[1]]
        if shutil.which(native) is None:
            print(f"no {native}: skipped")
            sys.exit(SKIPPED)
        if name == "given":
            flags += self.make_library()
        if name == "coded":
            flags += more
        self.succeed(native, *flags, source, "-latomic", "-o", self.path("native"))
        self.succeed(self.teamster, command, *flags, source, "-o", self.path("unchanged"))

    def make_library(self):
        """A library of others. @return what links it"""
        self.succeed("gcc", "-O2", "-D_FORTIFY_SOURCE=2", "-shared", "-fPIC", "-pthread",
                     os.path.join(FOLDER, "library", "given.c"), "-o",
                     self.path("libgiven.so"))
        return ["-Wl,--no-as-needed", "-L" + self.folder, "-lgiven",
                "-Wl,-rpath," + self.folder]

    def arguments(self, name):
        words = self.write("words", "a few words and a few more\n" * 300)
        if name == "futures":
            return [self.path("written")]
        return [words] if name in ("files", "given", "table") else []

    def wanted(self, name, arguments):
        """@return exit code and output: natively, or as is written beside the program"""
        written = os.path.join(FOLDER, name + ".out")
        if os.path.exists(written):
            with open(written, encoding="utf-8") as file:
                return 0, file.read()
        native = self.run(self.path("native"), *arguments)
        return native.returncode, native.stdout

    def program(self, name, *more):
        self.compile(name)
        os.environ.update(word.split("=", 1) for word in more if "=" in word)
        ways = WAYS[::3] if name in SLEEPERS else WAYS
        self.run_ways(name, ways + MORE_WAYS.get(name, []),
                      [word for word in more if "=" not in word])

    def run_ways(self, name, ways, more=()):
        arguments = [*self.arguments(name), *more]
        wanted = self.wanted(name, arguments)
        for way in ways:
            started = [self.teamster, "run", *way] if way else []
            done = self.run(*started, self.path("unchanged"), *arguments)
            if (done.returncode, done.stdout) != wanted:
                raise Failure(f"{name} {' '.join(way) or 'alone'}: exit code "
                              f"{done.returncode}, not {wanted[0]}\n"
                              f"--- it printed\n{done.stdout}--- not\n"
                              f"{wanted[1]}--- and said\n{done.stderr}")

    def random(self, seeds):
        for seed in seeds.split(","):
            dice = random.Random(int(seed))
            name = dice.choice(sorted(
                os.path.splitext(file)[0] for file in os.listdir(FOLDER)
                if os.path.splitext(file)[1] in COMPILERS and file != "settings.c"))
            print(f"seed {seed}: {name}", flush=True)
            self.compile(name)
            self.run_ways(name, [draw_way(dice) for _ in range(N_RANDOM)])

    def settings(self):
        """OMP_DISPLAY_ENV and omp_display_env() say what the compiler's library says."""
        self.compile("settings")
        for more in ({"OMP_NUM_THREADS": "5"},
                     {"OMP_NUM_THREADS": "4,3,2", "OMP_THREAD_LIMIT": "20"},
                     {"OMP_NUM_THREADS": "4,3", "OMP_MAX_ACTIVE_LEVELS": "2",
                      "OMP_ALLOCATOR": "omp_cgroup_mem_alloc"},
                     {"OMP_DISPLAY_AFFINITY": "true", "OMP_AFFINITY_FORMAT": "thread %n"},
                     {"OMP_NUM_THREADS": "4", "OMP_NESTED": "true"}):
            with mock.patch.dict(os.environ, OMP_DISPLAY_ENV="TRUE", OMP_SCHEDULE="guided,4",
                                 OMP_CANCELLATION="true", **more):
                self.show_settings()

    def show_settings(self):
        native = self.run(self.path("native"))
        done = self.run(self.teamster, "run", "-n", "2", self.path("unchanged"))
        wanted = native.stderr.replace("  [host] ", "  ")
        shown = [line for line in done.stderr.splitlines() if " = " in line]
        if len(shown) != 40 or done.stdout != native.stdout:
            raise Failure(f"it showed {done.stderr}and printed {done.stdout}")
        for line in shown:
            if wanted.splitlines().count(line) != shown.count(line):
                raise Failure(f"it showed{line}, the compiler's library {wanted}")

    def messages(self):
        """Chunks take no lock: their counter stays on a node for some of them."""
        self.compile("fine")
        with mock.patch.dict(os.environ, OMP_NUM_THREADS="6"):
            told, n = self.count("messages_sent")
        if n > int(told.split()[0]) / 2:
            raise Failure(f"{n} messages: {told}")

    def accesses(self):
        """In sequential memory an update is one access, which takes the page to write."""
        self.compile("added")
        told, n = self.count("read_faults", "--protocol=sequential")
        if told != "900\n" or n > 100:
            raise Failure(f"{n} read faults: {told}")

    def count(self, name, *more):
        """@return what a run on three nodes writes, and the sum of a number that it reports"""
        told = self.succeed(self.teamster, "run", "-n", "3", "--policy=none", *more,
                            "--report=report.json", self.path("unchanged"))
        with open(self.path("report.json"), encoding="utf-8") as file:
            return told, sum(node["stats"][name] for node in json.load(file)["nodes"])

    def ordered(self):
        """What a thread of another node has unlocked comes after what it did."""
        self.compile("mutexes")
        for protocol in ("eager-release", "adaptive"):
            done = self.run(self.teamster, "run", "-n", "3", "--race-check",
                            "--protocol=" + protocol, self.path("unchanged"))
            if done.returncode != 0 or "no data race between nodes" not in done.stderr:
                raise Failure(f"{protocol}: {done}")

    def readme(self):
        """The README's program, by the README's commands."""
        with open(os.path.join(FOLDER, "..", "..", "README.md"), encoding="utf-8") as file:
            text = file.read()
        program = next(block for block in re.findall(r"```c\n(.*?)```", text, re.S)
                       if "#pragma omp" in block)
        commands = next(block for block in re.findall(r"```sh\n(.*?)```", text, re.S)
                        if "teamster cc" in block)
        self.write("plate.c", program)
        self.succeed("gcc", "-O2", "-fopenmp", "plate.c", "-o", "native")
        moves = re.compile(r"^teamster: iteration \d+: \d+ threads? moves?, ", re.M)
        native = self.succeed(self.path("native"))
        for _ in range(6):  # where all nodes wait for other programs none may be the slow one
            done = self.run("sh", "-ec",
                            f"PATH={os.path.dirname(self.teamster)}:$PATH\n{commands}")
            if done.returncode != 0 or done.stdout != native:
                raise Failure(f"{done.returncode}: {done.stdout}{done.stderr}")
            if moves.search(done.stderr):
                return
        raise Failure(f"no thread has moved: {done.stderr}")

    def await_generation(self, run, folder, number):
        path = os.path.join(folder, f"generation-{number}", "manifest")
        until = time.monotonic() + RUN_S
        while not os.path.exists(path):
            if run.poll() is not None or time.monotonic() > until:
                run.kill()
                raise Failure(f"no checkpoint {number}: {run.communicate()}")
            time.sleep(0.02)

    def kill_when_saved(self, *way):
        """Start the program with checkpoints; once there is one that does not come from
        its beginning, kill all of it. @return what it had printed"""
        folder = self.path("folder")
        shutil.rmtree(folder, ignore_errors=True)
        with subprocess.Popen(
                [self.teamster, "run", *way, f"--checkpoint={folder},every=40",
                 self.path("unchanged")], cwd=self.folder, text=True, start_new_session=True,
                env={**os.environ, "OMP_NUM_THREADS": "4"}, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            self.await_generation(run, folder, 4)
            os.killpg(run.pid, signal.SIGKILL)
            return run.communicate()[0]

    def checkpoint(self, name):
        """A run is killed, and goes on elsewhere; all is printed, in order."""
        self.compile(name)
        os.environ["OMP_NUM_THREADS"] = "4"
        wanted = self.succeed(self.path("native"))
        for before, after in ((["-n", "3"], ["-n", "2"]),
                              (["-n", "1", "-w", "2"], ["-n", "4"]),
                              (["-n", "2", "--fault-source=mprotect"],
                               ["-n", "1", "--protocol=sequential"]),
                              (["-n", "2", "--protocol=lazy-release"],
                               ["-n", "3", "--memory=4M", "--shuffle=3"])):
            first = self.kill_when_saved(*before)
            rest = self.succeed(self.teamster, "run", *after,
                                f"--restart={self.path('folder')}")
            if (not wanted.startswith(first) or not wanted.endswith(rest) or
                    len(first) + len(rest) < len(wanted)):
                raise Failure(f"{name} {' '.join(before)}, then {' '.join(after)}: it "
                              f"printed {first}\nthen {rest}\nnot {wanted}")
        self.restart_what_has_ended(wanted)

    def restart_what_has_ended(self, wanted):
        folder = self.path("ended")
        self.succeed(self.teamster, "run", "-n", "2", f"--checkpoint={folder},every=40",
                     self.path("unchanged"))
        rest = self.succeed(self.teamster, "run", "-n", "2", f"--restart={folder}")
        if not rest or not wanted.endswith(rest):
            raise Failure(f"from the last checkpoint it printed {rest}, not {wanted}")

    def recovery(self):
        """The root or another node is killed, and the run goes back by itself: each line is
        printed once."""
        self.compile("saved")
        os.environ["OMP_NUM_THREADS"] = "4"
        wanted = self.succeed(self.path("native"))
        for killed in (0, 2):
            folder = self.path(f"folder-{killed}")
            with subprocess.Popen(
                    [self.teamster, "run", "-n", "3", "--recover",
                     f"--checkpoint={folder},every=40", self.path("unchanged")],
                    cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
                self.await_generation(run, folder, 3)
                nodes = subprocess.run(["pgrep", "-x", "unchanged", "-P",
                                        str(run.pid)], text=True, check=False,
                                       stdout=subprocess.PIPE).stdout.split()
                os.kill(int(nodes[killed]), signal.SIGKILL)
                output, errors = run.communicate(timeout=RUN_S)
            if output != wanted or "back to iteration" not in errors:
                raise Failure(f"node {killed} killed: {output}{errors}")

    def unsaved(self):
        """What a checkpoint would not have is told, and there is none."""
        for variable, action, told in (
                ("", 'file = fopen("/dev/null", "r")',
                 "no checkpoint: the program has a file open: /dev/null"),
                ("__thread int own;", "own = 1",
                 "--checkpoint and --restart: the program has thread-local variables")):
            self.write("open.c", "#include <stdio.h>\n"
                       f"{variable}\nFILE *file;\nint main(void)\n{{\n    {action};\n"
                       "    for (int i = 0; i < 200; i++) {\n#pragma omp parallel\n        "
                       "{ __asm__ volatile(\"\"); }\n    }\n    return file == NULL;\n}\n")
            self.succeed(self.teamster, "cc", "-fopenmp", "open.c", "-o", "open")
            os.environ["OMP_NUM_THREADS"] = "2"
            done = self.run(self.teamster, "run", "-n", "2",
                            f"--checkpoint={self.path('none')},every=20", self.path("open"))
            if told not in done.stderr:
                raise Failure(f"{told}: {done.stderr}")

    def overflow(self):
        """A stack that is too small is an error that is told, not memory of others."""
        self.compile("stacks")
        for way in ([], ["-n", "2"], ["-n", "2", "--fault-source=mprotect"]):
            started = [self.teamster, "run", *way] if way else []
            done = self.run(*started, self.path("unchanged"), "overflow")
            told = [line for line in done.stderr.splitlines()
                    if "overflowed its stack of 256 KiB" in line]
            if done.returncode not in (-signal.SIGSEGV, 128 + signal.SIGSEGV) or \
                    len(told) != 1:
                raise Failure(f"{' '.join(way)}: exit code {done.returncode}, "
                              f"{done.stderr!r}")

    def execution(self):
        """Memory that is to be executed, in a program that was not linked for that."""
        self.compile("coded", ())
        for way in ([], ["run", "-n", "2"]):
            done = self.run(*([self.teamster, *way] if way else []), self.path("unchanged"))
            if done.returncode != 1 or done.stderr.count("link the program with -z execstack") != 1:
                raise Failure(f"{' '.join(way)}: {done}")

    def places(self):
        """What the library has in place of the C library's functions is never called on a
        program's stack: each has one of the front end's in its place, or is refused."""
        build = os.path.dirname(os.path.dirname(self.teamster))

        def names(pattern, *command):
            return set(re.findall(pattern, self.succeed(*command), re.M))

        library = names(r" [TWi] (\w+)", "nm", "-D", "--defined-only",
                        os.path.join(build, "libteamster.so"))
        front = names(r" [TWi] tmf_(\w+)$", "nm", os.path.join(
            build, "libexec", "teamster", "libteamster_front.a"))
        with open(os.path.join(FOLDER, "..", "..", "frontend", "refused.list"),
                  encoding="ascii") as file:
            refused = set(file.read().split())
        missing = sorted(name for name in library - front - refused
                         if not name.startswith(("tm_", "teamster_")))
        if missing or len(library) < 50:
            raise Failure(f"{len(library)} functions; without tmf_: {missing}")

    # ---- the driver

    def refuse(self, word, *arguments):
        done = self.run(self.teamster, "cc", *arguments)
        lines = [line for line in done.stderr.splitlines() if line]
        if done.returncode == 0 or len(lines) != 1 or word not in lines[0]:
            raise Failure(f"cc {' '.join(arguments)}: {done.returncode}, "
                          f"{done.stderr!r} instead of one line with '{word}'")

    def driver_refuses(self):
        self.write("cancel.c", "#include <pthread.h>\n"
                   "int main(void) { return pthread_cancel(pthread_self()); }\n")
        self.write("plain.c", "int f(void) { return 0; }\n")
        self.write("user.c", "int f(void); int main(void) { return f(); }\n")
        self.succeed("gcc", "-c", "plain.c", "-o", "plain.o")
        self.refuse("pthread_cancel()", "cancel.c", "-pthread")
        self.refuse("plain.o", "user.c", "plain.o")
        self.refuse("-shared", "-shared", "-fPIC", "plain.c", "-o", "plain.so")
        self.refuse("-static", "-static", "user.c", "plain.c")
        for sanitizer in ("address,undefined", "undefined,thread"):
            self.refuse("Sanitizer", "-fsanitize=" + sanitizer, "user.c")
        for name in ("sem_open", "pthread_getattr_np", "GOMP_parallel_start",
                     "tm_barrier_wait"):
            self.write("call.c", f"int {name}(); int main(void) {{ return {name}(); }}\n")
            self.refuse(f"call.c calls {name}()", "-w", "call.c")

    def driver_refuses_ends_in_handlers(self):
        """A handler that runs beside its thread cannot end it."""
        self.write("handler.c", "#include <pthread.h>\n#include <signal.h>\n"
                   "#include <unistd.h>\n"
                   "static void end(int n) { pthread_exit(0); }\n"
                   "static void *rest(void *p) { for (;;) { usleep(1000); } }\n"
                   "int main(void) { pthread_t t; signal(SIGUSR1, end);\n"
                   "pthread_create(&t, 0, rest, 0); pthread_kill(t, SIGUSR1);\n"
                   "pthread_join(t, 0); return 0; }\n")
        self.succeed(self.teamster, "cc", "-w", "-pthread", "handler.c", "-o", "handler")
        done = self.run(self.path("handler"))
        if done.returncode != 70 or "pthread_exit() in a signal handler" not in done.stderr:
            raise Failure(f"pthread_exit() in a handler: {done.returncode}, {done.stderr!r}")

    def driver_ends_by_signals(self):
        """It takes the compiler along, and leaves nothing behind."""
        slow = self.write("slow", "#!/bin/sh\n[ \"$1\" = --version ] && exec gcc --version\n"
                          "touch begun; exec sleep 1000\n")
        os.chmod(slow, 0o755)
        self.write("ended.c", "int main(void) { return 0; }\n")
        folder = self.path("temporary")
        os.makedirs(folder)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with subprocess.Popen([self.teamster, "cc", "ended.c"], cwd=self.folder,
                                  env={**os.environ, "TMPDIR": folder, "TEAMSTER_CC": slow}) as cc:
                until = time.monotonic() + RUN_S
                while not os.path.exists(self.path("begun")) and time.monotonic() < until:
                    time.sleep(0.01)
                if not os.listdir(folder):
                    raise Failure("cc makes no folder where TMPDIR says")
                cc.send_signal(number)
                if cc.wait(RUN_S) != -number or os.listdir(folder):
                    raise Failure(f"{number!r}: cc ends with {cc.returncode}, and leaves "
                                  f"{os.listdir(folder)}")
            os.unlink(self.path("begun"))

    # ---- names and words that only look as if they could not be had

    def driver_accepts(self):
        cc = (self.teamster, "cc")
        self.write("clone.c", "int clone(int x); int clone(int x) { return x - 5; }\n")
        self.write("calls.c", "int clone(int x); int main(void) { return clone(5); }\n")
        self.succeed(*cc, "-w", "clone.c", "calls.c", "-o", "cloned")
        self.succeed(self.path("cloned"))

    # ---- archives

    def say(self, word, *arguments):
        done = self.run(self.teamster, "cc", *arguments)
        if done.returncode != 0 or (word or "\n") not in done.stderr + "\n":
            raise Failure(f"cc {' '.join(arguments)}: {done.returncode}, "
                          f"{done.stderr!r} instead of '{word}'")
        if not word and done.stderr:
            raise Failure(f"cc {' '.join(arguments)} says {done.stderr!r}")

    def driver_links_archives(self):
        os.makedirs(self.path("lib"))
        self.write("pure.c", "int f(void) { return 0; }\n")
        self.write("kept.c", "int kept; int f(void) { return kept++; }\n")
        self.write("calls.c", "#include <pthread.h>\nint f(void) {"
                   " return pthread_self() == 0; }\n")
        self.write("uses.c", "int f(void); int main(void) { return f(); }\n")
        for name in ("pure", "kept", "calls"):
            self.succeed("gcc", "-c", name + ".c")
            self.succeed("ar", "rcs", f"lib/lib{name}.a", name + ".o")
        self.say("", "uses.c", "lib/libpure.a", "-o", "uses")
        self.say("", "uses.c", "-Llib", "-lpure", "-o", "uses")
        for link in (["lib/libkept.a"], ["-L", "lib", "-lkept"], ["-Llib", "-l:libkept.a"],
                     ["-Llib", "-l", "kept"]):
            self.say("libkept.a was not compiled by `teamster cc`, so each node has its "
                     "own kept", "uses.c", *link, "-o", "uses")
        self.say("pthread_self()", "uses.c", "-Llib", "-lcalls", "-o", "uses")
        self.succeed(self.teamster, "cc", "-c", "pure.c", "-o", "marked.o")
        self.succeed("ar", "rcs", "lib/libmixed.a", "marked.o", "kept.o")
        self.refuse("libmixed.a", "uses.c", "-Llib", "-lmixed")

    def driver_refuses_when_called(self):
        """A member of an archive may have calls that cannot be had, as long as none is made."""
        self.write("forks.c", "int fork(void); int fork_if(int wanted);\n"
                   "int fork_if(int wanted) { return wanted ? fork() : 3; }\n")
        self.write("begins.c", "int fork_if(int wanted);\n"
                   "int main(int argc, char **argv) { return fork_if(argc > 1); }\n")
        self.refuse("TEAMSTER_CC_REFUSE=when-called", "forks.c", "begins.c")
        with mock.patch.dict(os.environ, TEAMSTER_CC_REFUSE="when-called"):
            self.say("warning: forks.c calls fork()", "forks.c", "begins.c", "-o", "late")
        self.succeed(self.teamster, "cc", "-c", "forks.c")
        self.succeed("ar", "rcs", "libforks.a", "forks.o")
        self.say("", "begins.c", "libforks.a", "-o", "begins")
        self.refuse("fork()", "begins.c", "forks.o", "-o", "refused")
        for start in ([], [self.teamster, "run", "-n", "2"]):
            for name in ("begins", "late"):
                usual = self.run(*start, self.path(name))
                called = self.run(*start, self.path(name), "fork")
                if usual.returncode != 3 or called.returncode != 70 or \
                        "teamster: fork() cannot be had on several nodes\n" not in called.stderr:
                    raise Failure(f"{usual} {called}")

    # ---- what is made

    def driver_makes(self):
        cc = (self.teamster, "cc")
        self.write("one.c", '#include "one.h"\nint main(void) { return ONE; }\n')
        self.write("one.h", "#define ONE 0\n")
        self.succeed(*cc, "-c", "one.c", "-o", "/dev/null")
        self.succeed(*cc, "-c", "one.h")
        if not os.path.exists(self.path("one.h.gch")):
            raise Failure("-c of a header makes nothing")
        os.unlink(self.path("one.h.gch"))
        if self.run(*cc, "-c", "one.unknown").returncode == 0:
            raise Failure("-c of what is no source makes nothing and says nothing")
        for options in (["-o", "linked"], [], ["-MF", "named.d"], ["-MT", "x"]):
            self.same_dependencies("-MMD", "one.c", *options)
        self.write("broken", "#!/bin/sh\nexit 3\n")
        os.chmod(self.path("broken"), 0o755)
        os.environ["TEAMSTER_OBJCOPY"] = self.path("broken")
        failed = self.run(*cc, "-c", "one.c", "-o", "left.o")
        del os.environ["TEAMSTER_OBJCOPY"]
        if failed.returncode == 0 or os.path.exists(self.path("left.o")):
            raise Failure("an object that could not be changed is left")
        os.environ["TEAMSTER_CC"] = "env gcc"
        self.succeed(*cc, "-c", "one.c")
        del os.environ["TEAMSTER_CC"]

    def same_dependencies(self, *arguments):
        found = []
        for compiler in (["gcc"], [self.teamster, "cc"]):
            folder = tempfile.mkdtemp(dir=self.folder)
            self.run(*compiler, *("../" + word if word == "one.c" else word
                                  for word in arguments), folder=folder)
            found.append([(name, pathlib.Path(folder, name).read_text(encoding="utf-8"))
                          for name in sorted(os.listdir(folder)) if name.endswith(".d")])
        if found[0] != found[1]:
            raise Failure(f"{' '.join(arguments)} writes {found[1]}, not {found[0]}")

    # What is replaced by its name is called by it, whatever the C library's headers do.
    def driver_keeps_names(self):
        self.write("names.c", "#include <stdio.h>\n#include <unistd.h>\n"
                   "char text[9];\nint main(int argc, char **argv) {\n"
                   "if (read(0, text, argc) < 0 || !fgets(text, argc, stdin)) return 1;\n"
                   'printf("%s", text); return getc_unlocked(stdin) + getchar(); }\n')
        for options in (["-O2", "-D_FORTIFY_SOURCE=2"],
                        ["-O2", "-Wp,-D_FORTIFY_SOURCE=3"], ["-O0"]):
            said = self.run(self.teamster, "cc", *options, "-c", "names.c")
            names = self.succeed("nm", "names.o").split()
            wrong = [name for name in names if "_chk" in name or "uflow" in name]
            if said.returncode != 0 or said.stderr or wrong or "tmf_read" not in names:
                raise Failure(f"{options}: {wrong} {said.stderr}")

    def driver_finds_races(self):
        self.write("variables.c", "int only = 3;\n")
        self.write("volatile.c", "volatile int only = 3; int f(void) { return only; }\n")
        self.write("assembler.c", 'int only = 3; __asm__(".text\\nf: ret\\n");\n')
        for name, is_racy in (("variables", False), ("volatile", True),
                              ("assembler", True)):
            self.succeed(self.teamster, "cc", "-c", name + ".c")
            if ("tmf_is_racy" in self.succeed("nm", name + ".o")) != is_racy:
                raise Failure(f"{name}.c is {'' if is_racy else 'not '}racy")

    def driver_calls_for_updates(self):
        """What only OpenMP's updates and reductions change takes no sequential memory."""
        loop = "void f(int n) {{ {0} for (int i = 0; i < n; i++) {{ {1} }} {2} }}"
        head = "int x, y; long sum(void); double a[9];\n"
        for name, text, is_racy in (
                ("update", loop.format("", "_Pragma(\"omp atomic\") x += i;", ""), False),
                ("sum", loop.format('double s = 0; _Pragma("omp parallel for reduction(+ : s)")',
                                    "s += i;", "a[0] = s;"), False),
                ("capture", loop.format("", "_Pragma(\"omp atomic capture\") y = x++;", ""), False),
                ("null", loop.format("int *p = n > 3 ? &x : 0;", "_Pragma(\"omp atomic\") x++;",
                                     "y = *p;"), False),
                ("read", loop.format("", "_Pragma(\"omp atomic read\") y = x;", ""), True),
                ("write", loop.format("", "_Pragma(\"omp atomic write\") y = i; _Pragma(\"omp atomic\") x++;", ""), True),
                ("compare", loop.format("", "_Pragma(\"omp atomic compare\") if (x < i) { x = i; }", ""), False),
                ("exchange", loop.format("", "int e = 0; __atomic_compare_exchange_n(&y, &e, 1, 0, 0, 0);", ""),
                 True),
                ("order", loop.format("", "_Pragma(\"omp atomic seq_cst\") x += i;", ""), True),
                ("flush", loop.format("", "_Pragma(\"omp flush\") _Pragma(\"omp atomic\") x++;", ""), False),
                ("fence", loop.format("", "__sync_synchronize(); _Pragma(\"omp atomic\") x++;", ""), True),
                ("also", loop.format("", "_Pragma(\"omp atomic\") x++; __atomic_fetch_add(&y, 1, 0);", ""),
                 True)):
            self.write(name + ".c", head + text + "\n")
            self.succeed(self.teamster, "cc", "-O2", "-fopenmp", "-MMD", "-c", name + ".c")
            names = self.succeed("nm", name + ".o")
            if ("tmf_is_racy" in names) != is_racy or ("front_locked_" in names) == is_racy:
                raise Failure(f"{name}: {names}")
            with open(self.path(name + ".d"), encoding="utf-8") as file:
                if not file.read().startswith(name + ".o: " + name + ".c"):
                    raise Failure(f"{name}.d is of something else")

    def driver_keeps_guards_apart(self):
        """What a C++ function makes when it is first called takes no sequential memory."""
        self.write("guard.cc", "int made(); int f() { static const int only = made(); return only; }\n")
        self.succeed(self.teamster, "c++", "-O2", "-c", "guard.cc")
        names = self.succeed("nm", "guard.o")
        if "tmf_is_racy" in names or " b _ZGVZ" not in names:
            raise Failure(f"guard.o: {names}")
        self.succeed(self.teamster, "c++", "-O2", "-fno-threadsafe-statics", "-c", "guard.cc")
        if " b _ZGVZ" in self.succeed("nm", "guard.o"):
            raise Failure("a guard that is only tested and set is each node's own")

    def driver_reads_a_source_once(self):
        """What cannot be compiled twice is compiled, and has sequential memory."""
        for options in ("-x c -c - -o once.o", "-masm=intel -x c -c - -o once.o", "--coverage -c once.c"):
            text = "int x; void f(void) {\n#pragma omp atomic\nx++;\n}\n"
            self.write("once.c", text)
            self.succeed("sh", "-c", f"{self.teamster} cc -fopenmp -O2 {options} <once.c")
            names = self.succeed("nm", "once.o")
            if " f\n" not in names or "tmf_is_racy" not in names:
                raise Failure(f"{options}: {names}")

    def driver_compiles(self):
        self.write("value.c", "int value = 40; int zeros[1000];\n")
        self.write("main.c", '#include "head.h"\n#include <stdio.h>\n'
                   "extern int value, zeros[]; int twice(int);\n"
                   "__attribute__((constructor)) static void begin(void)\n"
                   "{ value++; }\n"
                   'int main(void) { printf("%d\\n", twice(value) + zeros[9] + HEAD);'
                   " return 0; }\n")
        self.write("head.h", "#define HEAD 7\n")
        self.write("twice.s", ".text\n.globl twice\ntwice: lea (%rdi,%rdi), %eax\n ret\n"
                   '.section .note.GNU-stack,"",@progbits\n')
        self.write("flags", "-O1 -I.\n'-DNAME=\"a b\"' -MMD")
        cc = (self.teamster, "cc")
        self.succeed(*cc, "@flags", "-c", "main.c", "value.c")
        self.succeed(*cc, "-c", "twice.s", "-o", "twice.o")
        with open(self.path("main.d"), encoding="utf-8") as file:
            if "head.h" not in file.read():
                raise Failure("-MMD writes no dependencies")
        self.succeed("ar", "rcs", "libtwice.a", "twice.o", "value.o")
        self.succeed(*cc, "main.o", "-L.", "-ltwice", "-o", "program", "-lm")
        self.succeed(*cc, "-E", "main.c", "-o", "main.i")
        self.succeed(*cc, "-S", "main.i", "-o", "main.s")
        self.succeed(*cc, "main.s", "value.c", "twice.o", "-o", "other")
        self.succeed(*cc, "-x", "c", "main.c", "-x", "none", "libtwice.a", "-o", "third")
        for program in ("program", "other", "third"):
            for start in ([], [self.teamster, "run", "-n", "2"]):
                if self.succeed(*start, self.path(program)) != "89\n":
                    raise Failure(f"{program} printed something else")
        self.succeed(*cc, "--version")
        if "Usage: teamster cc" not in self.succeed(*cc, "--help"):
            raise Failure("no help")

    def driver(self):
        self.driver_compiles()
        self.driver_refuses()
        self.driver_refuses_ends_in_handlers()
        self.driver_ends_by_signals()
        self.driver_accepts()
        self.driver_links_archives()
        self.driver_refuses_when_called()
        self.driver_makes()
        self.driver_finds_races()
        self.driver_calls_for_updates()
        self.driver_keeps_guards_apart()
        self.driver_reads_a_source_once()
        self.driver_keeps_names()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("test", choices=("program", "overflow", "settings", "readme", "driver", "places",
                                         "messages", "accesses", "ordered", "execution", "checkpoint", "recovery", "unsaved",
                                         "random"))
    parser.add_argument("name", nargs="*")
    parser.add_argument("--seeds")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tests = Tests(os.path.abspath(arguments.build), folder)
        try:
            words = [arguments.seeds] if arguments.seeds else arguments.name
            getattr(tests, arguments.test)(*words)
        except Failure as failure:
            sys.exit(f"test_unchanged: {failure}")


if __name__ == "__main__":
    main()
