#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`teamster demo`: on a terminal with bars, elsewhere without; a factor that fits its
numbers, a picture that can be read; bad input gets one line; nothing is left. Nothing about
times: other tests use the processors.

usage: demo_test.py TEAMSTER
"""
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

TEAMSTER = os.path.abspath(sys.argv[1])
PATIENCE_S = 120 * float(os.environ.get("TM_TEST_SLOWDOWN", "1"))
POLICIES = ["initial", "cpu", "cpu-mem"]
ROW = re.compile(r"^(\S+) +([\d.]+) ms an iteration; threads((?: +\d+){4});", re.M)
FACTOR = re.compile(r"cpu-mem are ([\d.]+) times as fast as with initial, and "
                    r"([\d.]+) times as fast as with cpu\.")
SVG = "{http://www.w3.org/2000/svg}"


class Folder:
    """Where it runs; TMPDIR is in it."""

    def __init__(self):
        self.made = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.made.name)
        (self.path / "tmp").mkdir()
        self.environment = {"PATH": os.environ["PATH"], "TERM": "xterm",
                            "LC_ALL": "C.UTF-8", "TMPDIR": str(self.path / "tmp")}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def run(self, *arguments, **variables):
        done = subprocess.run([TEAMSTER, "demo", *arguments], check=False, text=True,
                              cwd=self.path, timeout=PATIENCE_S,
                              env={**self.environment, **variables},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return done.returncode, done.stdout, done.stderr

    def left(self):
        return sorted(str(path.relative_to(self.path))
                      for path in self.path.rglob("*") if path.is_file())


def require(condition, text):
    if not condition:
        sys.exit(f"demo_test: {text}")


def check_numbers(text):
    rows = ROW.findall(text)
    require([row[0] for row in rows] == POLICIES, f"not all policies: {text}")
    for policy, _, threads in rows:
        require(sum(map(int, threads.split())) == 32,
                f"not 32 threads with {policy}: {text}")
    initial, cpu, last = (float(row[1]) for row in rows)
    found = FACTOR.search(text)
    require(found, f"no factor: {text}")
    for said, expected in zip(found.groups(), (initial / last, cpu / last)):
        require(abs(float(said) - expected) <= 0.051 + 0.02 * expected,
                f"the factor is not {expected}: {text}")
    require("computed the same bits" in text, text)


def check_picture(path):
    root = xml.etree.ElementTree.parse(path).getroot()
    curves = root.findall(f"{SVG}polyline")
    require(len(curves) == 3 and all(curve.get("points") for curve in curves),
            "the picture has not three curves")
    texts = " ".join(element.text for element in root.iter(f"{SVG}text"))
    for word in (*POLICIES, "n1", "n4", "times as fast"):
        require(word in texts, f"the picture does not say {word}")


def elsewhere_it_is_plain():
    folder = Folder()
    code, out, err = folder.run("--seconds=2", "--output=a picture.svg")
    require(code == 0 and not err, f"exit code {code}: {out}{err}")
    require("\033" not in out and "\r" not in out, f"control characters: {out!r}")
    check_numbers(out)
    require("Picture: a picture.svg" in out, out)
    check_picture(folder.path / "a picture.svg")
    require(folder.left() == ["a picture.svg"], f"left behind: {folder.left()}")


def read_terminal(main, process):
    seen, end = b"", time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if select.select([main], [], [], 0.1)[0]:
            try:
                seen += os.read(main, 65536)
            except OSError:
                break
        elif process.poll() is not None:
            break
    return seen.decode()


def on_a_terminal_there_are_bars():
    folder = Folder()
    main, side = pty.openpty()
    with subprocess.Popen([TEAMSTER, "demo", "-s", "2"], cwd=folder.path,
                          env=folder.environment, stdin=side, stdout=side,
                          stderr=side, start_new_session=True) as process:
        os.close(side)
        seen = read_terminal(main, process)
        require(process.wait(PATIENCE_S) == 0, seen)
    os.close(main)
    for name, speed in (("n1", 500), ("n2", 400), ("n3", 400), ("n4", 300)):
        require(re.search(rf"  {name}  speed {speed}, +\d+ MiB  \u2588+ \d+", seen),
                f"no bar of {name}: {seen!r}")
    require("\033[6A" in seen, f"nothing is drawn over: {seen!r}")
    check_numbers(re.sub(r"\033\[[\d;]*[A-Za-z]", "", seen.replace("\r", "")))
    require(folder.left() == ["teamster-demo.svg"], f"left: {folder.left()}")


def bad_input_gets_one_line():
    folder = Folder()
    for expected, word, arguments, variables in (
            (78, "TMPDIR", [], {"TMPDIR": "/nonexistent"}),
            (78, "TMPDIR", [], {"TMPDIR": "relative"}),
            (73, "--output", ["-o", "/nonexistent/a.svg"], {}),
            (73, "picture", ["-o", "/" + "a" * 2000], {}),
            (64, "2 to 600", ["--seconds=1"], {}),
            (64, "2 to 600", ["--seconds=many"], {}),
            (64, "--help", ["word"], {})):
        code, out, err = folder.run(*arguments, **variables)
        require(code == expected and not out and word in err
                and len(err.splitlines()) == 1,
                f"{arguments} {variables}: exit code {code}: {out}{err}")
        require(not folder.left(), f"{arguments}: left: {folder.left()}")


def an_interrupt_ends_it_and_nothing_is_left():
    folder = Folder()
    with subprocess.Popen([TEAMSTER, "demo", "-s", "60"], cwd=folder.path,
                          env=folder.environment, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        end = time.monotonic() + PATIENCE_S
        while not list((folder.path / "tmp").glob("teamster-demo-*")):
            require(time.monotonic() < end, "it does not begin")
            time.sleep(0.05)
        time.sleep(1)  # before nodes are there or after: both are right
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    require(process.returncode == 130, f"{process.returncode}: {out}{err}")
    require(not folder.left(), f"left: {folder.left()}")


def main():
    bad_input_gets_one_line()
    elsewhere_it_is_plain()
    on_a_terminal_there_are_bars()
    an_interrupt_ends_it_and_nothing_is_left()


if __name__ == "__main__":
    main()
