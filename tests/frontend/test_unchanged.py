#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that were not written for Teamster: compiled by the compiler and by `teamster
cc`, they print the same and end with the same exit code: alone, on 1 to 4 nodes, with each
protocol, the other fault source, little memory, and threads that move.

    test_unchanged.py --build DIR program NAME [ARGUMENT]...
    test_unchanged.py --build DIR driver
"""
import argparse
import os
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
SLOWDOWN = float(os.environ.get("TM_TEST_SLOWDOWN", "1"))
RUN_S = 60 * SLOWDOWN
INPUT = "3 4\na line of input\nmore words of it\n"
PROTOCOLS = ("eager-release", "sequential", "implicit", "lazy-release", "adaptive")
WAYS = [[], ["-n", "1"], ["-n", "2"], ["-n", "3"], ["-n", "4"],
        *(["-n", "3", f"--protocol={name}"] for name in PROTOCOLS),
        ["-n", "2", "--fault-source=mprotect"],
        ["-n", "3", "--memory=2M"],
        ["-n", "2", "-w", "3"],
        ["-n", "3", "-w", "1", "--shuffle=7", "--policy=none"]]


class Failure(Exception):
    pass


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
        for suffix in (".c", ".cc"):
            path = os.path.join(FOLDER, name + suffix)
            if os.path.exists(path):
                return path
        raise Failure(f"no program {name}")

    def compile(self, name):
        source = self.source(name)
        flags = ["-O2", "-pthread"] + (["-fopenmp"] if name == "regions" else [])
        is_c = source.endswith(".c")
        self.succeed("gcc" if is_c else "g++", *flags, source, "-o",
                     self.path("native"))
        self.succeed(self.teamster, "cc" if is_c else "c++", *flags, source, "-o",
                     self.path("unchanged"))

    def arguments(self, name):
        words = self.write("words", "a few words and a few more\n" * 300)
        if name == "futures":
            return [self.path("written")]
        return [words] if name in ("files", "table") else []

    def program(self, name, *more):
        self.compile(name)
        arguments = self.arguments(name) + list(more)
        native = self.run(self.path("native"), *arguments)
        for way in WAYS:
            started = [self.teamster, "run", *way] if way else []
            done = self.run(*started, self.path("unchanged"), *arguments)
            if (done.returncode, done.stdout) != (native.returncode, native.stdout):
                raise Failure(f"{name} {' '.join(way) or 'alone'}: exit code "
                              f"{done.returncode}, not {native.returncode}\n"
                              f"--- it printed\n{done.stdout}--- not\n"
                              f"{native.stdout}--- and said\n{done.stderr}")

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
        self.write("master.c", "int x;\n#pragma omp threadprivate(x)\nint main(void) {\n"
                   "#pragma omp parallel copyin(x)\nx++;\nreturn 0; }\n")
        self.succeed("gcc", "-c", "plain.c", "-o", "plain.o")
        self.refuse("pthread_cancel()", "cancel.c", "-pthread")
        self.refuse("plain.o", "user.c", "plain.o")
        self.refuse("-shared", "-shared", "-fPIC", "plain.c", "-o", "plain.so")
        self.refuse("-static", "-static", "user.c", "plain.c")
        self.refuse("copyin", "-fopenmp", "master.c")

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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("test", choices=("program", "driver"))
    parser.add_argument("name", nargs="*")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tests = Tests(os.path.abspath(arguments.build), folder)
        try:
            getattr(tests, arguments.test)(*arguments.name)
        except Failure as failure:
            sys.exit(f"test_unchanged: {failure}")


if __name__ == "__main__":
    main()
