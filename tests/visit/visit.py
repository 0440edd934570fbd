#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The way of docs/visit.md, as a visitor goes it: an installed Teamster, its demo, the
program of README.md, a run with a live page and a report, the report's advice, and a run that
follows it and is faster. Pages are looked at in a real browser. Commands are those of the
document, which is searched for each of them; programs and the way to compile them are taken
out of README.md.

    visit.py --build DIR [--pictures DIR]     DIR/, installed in a folder that goes afterwards
    visit.py --root DIR [--pictures DIR]      a system in DIR that has it; as root

--pictures writes docs/visit/, a picture of each step.
"""
import argparse
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCES = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(1, str(SOURCES / "tests/cluster"))
import browser  # noqa: E402
import jobs  # noqa: E402

N_ROUNDS = "200"  # as the document has it
N_ATTEMPTS = 4  # each with twice as many rounds: other programs may use the processors
DEADLINE_S = 8 * jobs.DEADLINE_S
LIVE = re.compile(r"live page: (http://\S+)")
TERMINAL = """<!doctype html><meta charset="utf-8"><title>terminal</title>
<style>body{{margin:0;background:#16181b}}pre{{margin:0;padding:16px 20px;color:#e8e8e8;
font:15px/1.45 monospace;white-space:pre-wrap;overflow-wrap:anywhere}}b{{color:#8fd18f}}</style>
<pre>{}</pre>"""


def require(condition, text):
    if not condition:
        raise jobs.Failure(text)


def blocks_of(document, language):
    """The fenced blocks in a language."""
    text = (SOURCES / document).read_text(encoding="utf-8")
    return [block for found, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)
            if found == language]


class Prefix:
    """An installed tree in a folder of this system."""

    def __init__(self, build, folder):
        prefix = folder / "prefix"
        subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True,
                       stdout=subprocess.DEVNULL)
        library = next(prefix.rglob("libteamster.a")).parent
        self.home = folder / "home"
        self.home.mkdir()
        self.examples = str(prefix / "share/doc/teamster/examples")
        self.environment = jobs.environment({
            "PATH": f"{prefix}/bin:{os.environ['PATH']}", "TMPDIR": str(folder),
            "PKG_CONFIG_PATH": f"{library}/pkgconfig"})

    def command(self, line):
        return ["bash", "-c", f"cd {self.home}; {line}"]


class Root:
    """A system in a folder, where the packages are installed."""

    def __init__(self, root):
        self.root = root
        self.home = root / "root/visit"
        self.home.mkdir()
        self.examples = "/usr/share/doc/libteamster-dev/examples"
        self.environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C.UTF-8"}

    def command(self, line):
        return ["chroot", self.root, "bash", "-c", f"cd /root/visit; {line}"]


class Visit:
    """Someone who has a place, a browser and the document."""

    def __init__(self, place, window, pictures):
        self.place = place
        self.window = window
        self.pictures = pictures
        self.document = (SOURCES / "docs/visit.md").read_text(encoding="utf-8")

    def shown(self, line):
        """@return a line that the document has"""
        require(line in self.document, f"docs/visit.md does not show: {line}")
        return line

    def start(self, line):
        return subprocess.Popen(
            self.place.command(line), env=self.place.environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def end(self, process, line):
        output = process.communicate(timeout=DEADLINE_S)[0]
        require(process.returncode == 0, f"{line}: exit code {process.returncode}\n{output}")
        return output

    def run(self, line):
        print(f"$ {line}", flush=True)
        output = self.end(self.start(line), line)
        print(output, end="", flush=True)
        return output

    # ---- pictures

    def keep(self, name, height=None):
        """A picture of what the window shows, if they are wanted."""
        if self.pictures:
            self.window.picture(self.pictures / f"{name}.webp", height)

    def keep_terminal(self, name, *lines_and_outputs):
        if not self.pictures:
            return
        text = "".join(f"<b>$ {html.escape(line)}</b>\n{html.escape(output)}"
                       for line, output in lines_and_outputs)
        (self.place.home / "terminal.html").write_text(TERMINAL.format(text), "utf-8")
        self.open("terminal.html")
        self.keep(name)

    def open(self, name):
        self.window.go((self.place.home / name).as_uri())

    # ---- the steps

    def look_at_what_is_installed(self):
        line = self.shown("teamster --version")
        output = self.run(line)
        require(re.match(r"teamster \d+\.\d+", output), output)
        self.keep_terminal("installed", (line, output))

    def see_the_demo(self, options):
        """Of a few seconds, if nobody looks at the pictures."""
        output = self.run(self.shown("teamster demo") + options)
        require("times as fast as with initial" in output and
                "computed the same bits" in output, output)
        self.open("teamster-demo.svg")
        require("times as fast" in self.window.run(
            "return document.documentElement.textContent"), "the picture says nothing")
        self.keep_terminal("demo", ("teamster demo", output))
        if self.pictures:
            shutil.copy(self.place.home / "teamster-demo.svg", self.pictures / "demo.svg")

    def compile(self, name):
        """As README.md says. @return the command"""
        compile_and_run = next(block for block in blocks_of("README.md", "sh")
                               if "pkg-config --cflags" in block)
        line = compile_and_run.partition("teamster run")[0].strip()
        line = re.sub(r"\bprogram\b", name, line)
        self.run(line)
        return self.shown(line)

    def write_the_program(self):
        program = next(block for block in blocks_of("README.md", "c") if "tm_init" in block)
        (self.place.home / "program.c").write_text(program, "utf-8")
        compiled = self.compile("program")
        line = self.shown("teamster run -n 4 --report=first.html ./program")
        output = self.run(line)
        require(output == "pi is 3.1415926536; nodes: 4\n", output)
        self.keep_terminal("program", (compiled, ""), (line, output))

    def read_of_rounds(self):
        """Why the report of that program has no advice."""
        self.open("first.html")
        words = self.window.text("main")
        require("never called tm_iteration_end() where a round" in words, words)

    def write_it_in_rounds(self):
        self.run(self.shown("cp EXAMPLES/pi_rounds.c .").replace(
            "EXAMPLES", self.place.examples))
        self.compile("pi_rounds")
        hosts = next(block for block in blocks_of("docs/visit.md", "") if "speed=" in block)
        (self.place.home / "hosts").write_text(hosts, "utf-8")

    def watch(self, n_rounds):
        """A run, seen while it runs."""
        line = self.shown("teamster run --hostfile=hosts --emulate --policy=none --web "
                          f"--report=run.html ./pi_rounds {N_ROUNDS}").replace(
                              N_ROUNDS, n_rounds)
        print(f"$ {line}", flush=True)
        process = self.start(line)
        told = ""
        while not LIVE.search(told):
            got = process.stdout.readline()
            require(got, f"{line}: no live page\n{told}")
            told += got
        self.window.go(LIVE.search(told)[1])
        require(jobs.wait_until(lambda: int(self.window.run(
            "return document.body.dataset.number || 0")) > (8 if self.pictures else 3)),
            f"the live page shows nothing: {self.window.complaints()}")
        require(self.window.run("return document.querySelectorAll('#nodes tr[data-node]')"
                                ".length") == 4, "the live page has not four nodes")
        self.keep("live")
        require("pi is 3.14159" in self.end(process, line), "no result")
        require(jobs.wait_until(lambda: "exit code 0" in self.window.text("#state")),
                f"the live page says {self.window.text('#state')}")

    def read_the_advice(self):
        """@return the command that the report has, or None: it has none"""
        self.open("run.html")
        words = self.window.text("main")
        require("What was lost, by cause" in words, f"the report says {words}")
        if self.window.text("#advised") is None:
            return None
        require("--policy=cpu-mem" in words, f"the report says {words}")
        self.keep("report", 900)
        return self.window.text("#advised")

    def compare(self):
        """@return what is said of both runs"""
        output = self.run(self.shown("teamster report run.html run-2.html"))
        self.run(self.shown("teamster report run.html run-2.html -o compared.html"))
        self.open("compared.html")
        require(output.splitlines()[-1] in self.window.text("main"), output)
        self.keep("compared", 760)
        return output

    def slowest_s(self, name):
        """How long the slowest node computes in an iteration."""
        self.run(f"teamster report {name}.html -o {name}.json")
        with open(self.place.home / f"{name}.json", encoding="utf-8") as file:
            iterations = json.load(file)["iterations"]
        return iterations["sums"]["longest_s"] / iterations["n_timed"]

    def follow_the_advice(self, n_rounds):
        """@return whether it is clear that it has helped, what has been said"""
        self.watch(n_rounds)
        advised = self.read_the_advice()
        if advised is None:
            return False, "the report has no command"
        if n_rounds == N_ROUNDS:
            self.shown(advised)
        self.run(advised)
        said = self.compare()
        before_s, after_s = self.slowest_s("run"), self.slowest_s("run-2")
        require(after_s < before_s, f"the slowest node computes for {before_s} s, "
                f"then for {after_s} s\n{said}")
        return "run-2.html is faster by a factor of" in said, said

    def walk(self):
        self.look_at_what_is_installed()
        self.see_the_demo("" if self.pictures else " --seconds=2")
        self.write_the_program()
        self.read_of_rounds()
        self.write_it_in_rounds()
        for attempt in range(N_ATTEMPTS):
            is_faster, said = self.follow_the_advice(str(int(N_ROUNDS) << attempt))
            if is_faster:
                return
            print(f"attempt {attempt + 1}: {said}", flush=True)
        raise jobs.Failure(f"following the advice did not help: {said}")


def visit(options, folder):
    if options.build and not shutil.which("pkg-config"):
        raise jobs.Skip("no pkg-config; run tools/setup.sh check")
    if options.pictures:
        options.pictures.mkdir(exist_ok=True)
    with browser.Browser(1000) as window:
        place = (Root(options.root) if options.root
                 else Prefix(options.build, pathlib.Path(folder)))
        Visit(place, window, options.pictures).walk()


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    where = arguments.add_mutually_exclusive_group(required=True)
    where.add_argument("--build", type=pathlib.Path)
    where.add_argument("--root", type=lambda path: pathlib.Path(path).resolve())
    arguments.add_argument("--pictures", type=pathlib.Path)
    options = arguments.parse_args()
    return jobs.run_test("visit", lambda folder: visit(options, folder))


if __name__ == "__main__":
    sys.exit(main())
