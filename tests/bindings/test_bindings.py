#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Teamster in C++, Fortran and Python: the examples of bindings/ give the bits that the same
loops in plain Python give, on one to four nodes, and what they promise holds. A language whose
compiler or package is not here is skipped.

    test_bindings.py --build BUILD TEST
"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(1, os.path.join(os.path.dirname(__file__), "..", "cluster"))
import jobs  # noqa: E402

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(FOLDER, "..", "..")
BINDINGS = os.path.join(ROOT, "bindings")
SIZE, N_ITERATIONS, N_THREADS = 40, 11, 6
WAYS = [["-n", "1"], ["-n", "2"], ["-n", "3", "-w", "2"], ["-n", "4"],
        ["-n", "2", "--fault-source=mprotect"],
        ["-n", "3", "-w", "1", "--shuffle=3", "--policy=none"],
        *(["-n", "3", f"--protocol={name}"] for name in jobs.PROTOCOLS)]


def jacobi():
    """The sum of the plate, in the order of rows."""
    width = SIZE + 2
    old = [((row * 31 + column * 17) & 127) * 0.125
           for row in range(width) for column in range(width)]
    new = list(old)
    for _ in range(N_ITERATIONS):
        for row in range(1, SIZE + 1):
            for i in range(row * width + 1, (row + 1) * width - 1):
                new[i] = 0.25 * (old[i - width] + old[i + width] + old[i - 1] + old[i + 1])
        old, new = new, old
    return sum(old)


class Tests:
    def __init__(self, build, folder):
        self.build = os.path.abspath(build)
        self.folder = folder
        self.environment = jobs.environment()

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *command):
        return subprocess.run([str(word) for word in command], check=False, text=True,
                              timeout=jobs.DEADLINE_S * 2, env=self.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def compile(self, compiler, name, *arguments):
        if shutil.which(compiler) is None:
            print(f"skipped: no {compiler}; run tools/setup.sh check")
            sys.exit(77)
        done = self.run(compiler, "-O2", "-g", f"-I{ROOT}/include", f"-I{BINDINGS}/cxx", "-Wall",
                        *arguments, "-o", self.path(name), f"-L{self.build}", "-lteamster",
                        f"-Wl,-rpath,{self.build}")
        if done.returncode != 0 or done.stderr:
            raise jobs.Failure(f"{compiler} {arguments}: {done.returncode}\n{done.stderr}")
        return self.path(name)

    def expect(self, right, *command, ways=WAYS):
        """`right` takes what was printed."""
        for way in ways:
            done = self.run(f"{self.build}/cli/teamster", "run", *way, *command)
            if done.returncode != 0 or not right(done.stdout):
                raise jobs.Failure(f"{' '.join(way)}: exit code {done.returncode}, "
                                   f"{done.stdout!r}, {done.stderr!r}")

    def expect_jacobi(self, read, *command):
        expected = jacobi()
        self.expect(lambda text: read(re.search(r"^sum: (\S+)$", text, re.M)[1]) == expected,
                    *command, SIZE, N_ITERATIONS, N_THREADS)

    # ---- C++

    def cxx(self, name, source, *arguments):
        return self.compile("g++", name, "-Wextra", "-Wpedantic", "-Wshadow", source, *arguments)

    def cxx_jacobi(self):
        program = self.cxx("jacobi", f"{BINDINGS}/cxx/jacobi.cc", "-std=c++17")
        self.expect_jacobi(float.fromhex, program)

    def cxx_objects(self):
        for standard in ("c++17", "c++20"):
            program = self.cxx(standard, f"{FOLDER}/objects.cc", f"-std={standard}")
            self.expect("right\n".__eq__, program, ways=WAYS if standard == "c++17" else WAYS[:2])

    def cxx_refuses(self):
        """What cannot go to another node is told when it is compiled."""
        head = "#include <string>\n#include <teamster.hpp>\n"
        for told, body in (("numbers, views and pointers",
                            "std::string s; teamster::thread t([s] { (void)s; });"),
                           ("called without arguments",
                            "teamster::thread t([](int i) { (void)i; });"),
                           ("elements of teamster::array",
                            "teamster::array<std::string> a(3);"),
                           ("deleted function", "teamster::mutex a; teamster::mutex b(a);")):
            with open(self.path("wrong.cc"), "w", encoding="ascii") as file:
                file.write(f"{head}void f();\nvoid f() {{ {body} }}\n")
            done = self.run("g++", "-std=c++17", f"-I{ROOT}/include", f"-I{BINDINGS}/cxx",
                            "-fsyntax-only", self.path("wrong.cc"))
            if done.returncode == 0 or told not in done.stderr:
                raise jobs.Failure(f"{body}: {done.returncode}, no '{told}': {done.stderr}")

    # ---- Fortran

    def fortran(self, name, source):
        return self.compile("gfortran", name, "-std=f2018", f"-J{self.folder}",
                            f"{self.build}/bindings/fortran/teamster.f90", source)

    def fortran_jacobi(self):
        program = self.fortran("jacobi", f"{BINDINGS}/fortran/jacobi.f90")
        self.expect_jacobi(lambda bits: struct.unpack(">d", bytes.fromhex(bits))[0], program)

    def fortran_objects(self):
        program = self.fortran("objects", f"{FOLDER}/objects.f90")
        self.expect(lambda text: text.strip() == "right", program)

    # ---- Python

    def python(self, script):
        """The command that runs it."""
        for python in (sys.executable, "/usr/bin/python3"):
            if self.run(python, "-c", "import numpy").returncode == 0:
                break
        else:
            print("skipped: no NumPy; run tools/setup.sh check")
            sys.exit(77)
        self.environment["PYTHONPATH"] = f"{BINDINGS}/python"
        self.environment["TEAMSTER_LIBRARY"] = f"{self.build}/libteamster.so"
        kernel = self.compile("gcc", "kernel.so", "-shared", "-fPIC",
                              f"{BINDINGS}/python/jacobi_kernel.c")
        python = self.run(python, "-c", "import os, sys; "
                          "print(os.path.realpath(sys.executable))").stdout.strip()
        return [python, "-B", script, kernel]

    def python_jacobi(self):
        self.expect_jacobi(float.fromhex, *self.python(f"{BINDINGS}/python/jacobi.py"))

    def python_refuses(self):
        self.expect("right\n".__eq__, *self.python(f"{FOLDER}/refused.py"), ways=WAYS[:3])


def main():
    build, test = sys.argv[2], sys.argv[3]
    with tempfile.TemporaryDirectory() as folder:
        try:
            getattr(Tests(build, folder), test)()
        except jobs.Failure as failure:
            print(f"test_bindings: {test}: {failure}")
            sys.exit(1)


main()
