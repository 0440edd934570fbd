#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Put one fault after the other into a copy of the tree, and see which test finds it.

usage: run.py [-j N] [--build DIR] [--only NAME]... [--table NAME]... [--all-tests]
       run.py --list
       run.py --check [--tests-of BUILD]
       run.py --syntax-of BUILD

README.md says what the tables look like. Each mutant is built and tried with its tests,
those first that are known to find it; the first that fails kills it. A test that does not
end in time, or takes too much memory, has failed too, and that is said.

--check only looks whether every row fits the tree, exactly once, and whether every numbered
invariant has one; with --tests-of also whether its tests exist in that build folder. --syntax-of looks whether what
each row makes can be compiled, by that folder's commands, in half a minute.

Exit codes: 0 all killed, or alive with a reason; 1 a mutant lives without one, could not be
built or tried, or a row does not fit; 64 usage.
"""
import argparse
import collections
import ctypes
import json
import multiprocessing
import os
import pathlib
import queue
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time

import invariants
import table

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_COPIED = {"build", "out", ".git", "__pycache__"}
ADDED = re.compile(r"^add_test\(\[=\[(.+?)\]=\] (.+)\)$", re.M)
LEAST = 60  # mutants there are to be
SKIPPED = 77
LIMIT_S = 20  # and ten times what the test takes without a fault
MEMORY_KB = 3 << 20
OUTPUT = 64 << 20
CANNOT_RUN = "its test cannot run here"

Result = collections.namedtuple("Result", "mutant what test took_s")


class Unusable(Exception):
    """This tree cannot be tried at all."""


# ---- processes


def children_of(process):
    """Process ids of all that a process has begun, and theirs."""
    parents = collections.defaultdict(list)
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        parents[int(after_name[1])].append(int(path.parent.name))
    found = [process]
    for at in found:
        found += parents[at]
    return found[1:]


def end_all_children():
    """What a test has left behind. This process inherits orphans, see adopt()."""
    while True:
        children = children_of(os.getpid())
        for child in children:
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
        except ChildProcessError:
            return
        time.sleep(0.01)


def adopt():
    """Be the parent of all that is begun below, whoever began it."""
    set_child_subreaper = 36
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def memory_kb():
    """What all processes of the test have in memory."""
    pages = 0
    for child in children_of(os.getpid()):
        try:
            statm = pathlib.Path(f"/proc/{child}/statm").read_text().split()
            pages += int(statm[1]) - int(statm[2])  # shared pages count for many
        except (OSError, IndexError):
            pass
    return pages * resource.getpagesize() // 1024


def watch(process, log, limit_s):
    """Wait for its end. @return its exit code, or what it has had too much of"""
    end = time.monotonic() + limit_s
    looked = 0
    while True:
        try:
            return process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            looked += 1
        if time.monotonic() > end:
            return "time-out"
        if log.stat().st_size > OUTPUT:
            return "endless output"
        if looked % 4 == 0 and memory_kb() > MEMORY_KB:
            return "too much memory"


# ---- a copy of the tree


class Copy:
    """A copy of the tree with a build folder of its own."""

    def __init__(self, folder):
        self.root = folder / "tree"
        self.build = folder / "build"
        self.log = folder / "output.txt"
        self.tests = {}

    def sync(self):
        """Bring what has changed since the last time."""
        wanted = set()
        for path in sorted(ROOT.rglob("*")):
            part = path.relative_to(ROOT)
            if NOT_COPIED & set(part.parts) or not path.is_file():
                continue
            wanted.add(part)
            copy = self.root / part
            if not copy.exists() or copy.read_bytes() != path.read_bytes():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy)
        for path in [path for path in self.root.rglob("*") if path.is_file()]:
            if path.relative_to(self.root) not in wanted:
                path.unlink()

    def command(self, *words):
        """@return whether it went well; what it says is in the log"""
        with self.log.open("ab") as log:
            return subprocess.run(words, stdout=log, stderr=subprocess.STDOUT,
                                  check=False).returncode == 0

    def configure(self):
        """A mutant may leave variables unused: warnings are no errors."""
        self.root.parent.mkdir(parents=True, exist_ok=True)
        self.log.write_text("")
        self.sync()
        words = ["cmake", "-S", str(self.root), "--preset", "debug", "-B",
                 str(self.build), "-DTM_WERROR=OFF",
                 "-DTM_CONFORMANCE_SEEDS=300"]
        if shutil.which("ccache"):
            words.append("-DCMAKE_C_COMPILER_LAUNCHER=ccache")
        if not self.command(*words):
            raise Unusable(f"cmake fails; see {self.log}")
        self.tests = tests_of(self.build)

    def make(self, targets):
        """@return whether they could be built"""
        return self.command("cmake", "--build", str(self.build), "--target",
                            *targets)

    def targets(self, test, tables):
        """What ninja has to make for a test."""
        program = pathlib.Path(self.tests[test]["command"][0])
        own = ([str(program.relative_to(self.build))]
               if program.is_relative_to(self.build) else [])
        targets = own + tables.targets(test)
        if not targets:
            raise Unusable(f"no row `needs` says what is to be built for {test}")
        return targets

    def run(self, name, limit_s):
        """Run a test. @return its exit code or what it had too much of, seconds"""
        test = self.tests[name]
        environment = dict(os.environ, TMPDIR=str(self.build))
        for item in test["properties"].get("ENVIRONMENT", []):
            key, _, value = item.partition("=")
            environment.setdefault(key, value)
        began = time.monotonic()
        with self.log.open("wb") as log:
            process = subprocess.Popen(
                test["command"], cwd=test["properties"]["WORKING_DIRECTORY"],
                env=environment, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True)
        ended = watch(process, self.log, limit_s)
        end_all_children()
        return ended, time.monotonic() - began


def commands_of(build):
    """The commands of tests. ctest does not tell those that are not built yet."""
    found = {}
    for path in build.rglob("CTestTestfile.cmake"):
        for name, words in ADDED.findall(path.read_text()):
            found[name] = shlex.split(words)
    return found


def tests_of(build):
    """Tests of a build folder by name."""
    commands = commands_of(build)
    shown = subprocess.run(
        ["ctest", "--test-dir", str(build), "--show-only=json-v1"], check=True,
        stdout=subprocess.PIPE, text=True).stdout
    return {test["name"]: {"command": commands[test["name"]],
                           "properties": {item["name"]: item["value"] for item
                                          in test.get("properties", [])}}
            for test in json.loads(shown)["tests"]}


# ---- trying


class Trial:
    """Mutants in one copy."""

    def __init__(self, folder, tables, limits):
        self.copy = Copy(folder)
        self.tables = tables
        # Seconds of each test that has run without a fault; None: it cannot run here.
        self.limits = limits
        self.logs = folder.parent / "logs"

    def prepare(self):
        """Build what is needed, without a fault."""
        adopt()
        self.copy.configure()
        targets = {target for test in self.limits
                   for target in self.copy.targets(test, self.tables)}
        if targets and not self.copy.make(sorted(targets)):
            raise Unusable(f"the tree cannot be built; see {self.copy.log}")

    def measure(self, test):
        """How long a test takes without a fault, and whether it passes."""
        ended, took_s = self.copy.run(test, 600)
        if ended not in (0, SKIPPED):
            raise Unusable(f"{test} fails without a fault: {ended}; see "
                           f"{self.copy.log}")
        self.limits[test] = None if ended == SKIPPED \
            else LIMIT_S + 10 * took_s

    def measure_now(self, test, mutant, path):
        """A test that only a mutant which outlives its own ones needs. The fault is
        taken out for it."""
        faulty = path.read_text()
        path.write_text((ROOT / mutant.file).read_text())
        if not self.copy.make(self.copy.targets(test, self.tables)):
            raise Unusable(f"the tree cannot be built; see {self.copy.log}")
        self.measure(test)
        path.write_text(faulty)

    def keep_log(self, mutant):
        """What the last command has said."""
        self.logs.mkdir(exist_ok=True)
        shutil.copy(self.copy.log, self.logs / f"{mutant.name}.txt")

    def attempt(self, mutant, tests, path):
        """The tree has the fault, in this file. @return what came of it"""
        tried = []
        for test in tests:
            if test not in self.limits:
                self.measure_now(test, mutant, path)
            if self.limits[test] is None:
                continue
            self.copy.log.write_text("")
            if not self.copy.make(self.copy.targets(test, self.tables)):
                return "does not build", ""
            ended, _ = self.copy.run(test, self.limits[test])
            tried.append(test)
            if ended not in (0, SKIPPED):
                return ended if isinstance(ended, str) else "killed", test
        can_tell = tried and all(self.limits[test] is not None for test in tests
                                 if test in mutant.expected)
        return ("alive" if can_tell else CANNOT_RUN), ""

    def try_one(self, mutant, tests):
        """@return a Result"""
        path = self.copy.root / mutant.file
        text = path.read_text()
        began = time.monotonic()
        path.write_text(mutant.apply(text))
        try:
            what, test = self.attempt(mutant, tests, path)
            self.keep_log(mutant)
        finally:
            path.write_text(text)
        return Result(mutant, what, test, time.monotonic() - began)


def work(trial, tasks, results):
    """A process of its own for each copy."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        trial.prepare()
        for index, tests in iter(tasks.get, None):
            mutant = trial.tables.mutants[index]
            results.put((index, trial.try_one(mutant, tests)[1:]))
    except (Unusable, table.BadTable) as error:
        results.put((None, str(error)))
    finally:
        end_all_children()


def chosen(arguments, tables):
    """Indices of the mutants to try."""
    return [index for index, mutant in enumerate(tables.mutants)
            if (not arguments.only or mutant.name in arguments.only) and
            (not arguments.table or mutant.table in arguments.table)]


def tests_for(arguments, tables, mutant):
    """The tests of a mutant. One that nothing kills is tried with all again, for the
    day on which one does."""
    if arguments.all_tests:
        return tables.candidates(mutant)[len(mutant.expected):] or \
            mutant.expected
    return tables.candidates(mutant)


def show(text):
    """A line that the next one replaces."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def show_result(tables, found, index, n):
    """A line that stays if nobody looks at a terminal."""
    what, test, took_s = found[index]
    text = (f"{len(found)} of {n}: {tables.mutants[index].name} {what} {test} "
            f"{took_s:.0f} s")
    if sys.stderr.isatty():
        show(text)
    else:
        print(text, file=sys.stderr, flush=True)


def collect(tables, results, workers, n):
    """Results as they come. @return all by index"""
    found = {}
    show(f"0 of {n}: building")
    while len(found) < n:
        if not any(worker.is_alive() for worker in workers) and \
                results.empty():
            raise Unusable("all workers have ended")
        try:
            index, rest = results.get(timeout=5)
        except queue.Empty:
            continue
        if index is None:
            raise Unusable(rest)
        found[index] = rest
        show_result(tables, found, index, n)
    show("")
    return found


def measure_in(folder, tables, needed):
    """In a process of its own, which inherits what tests leave."""
    def run(pipe):
        trial = Trial(folder, tables, dict.fromkeys(needed))
        try:
            trial.prepare()
            for test in needed:
                trial.measure(test)
            pipe.send(trial.limits)
        except (Unusable, KeyError) as error:
            pipe.send(f"{error}")

    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=run, args=(there,))
    process.start()
    there.close()
    try:
        answer = here.recv()
    except EOFError:
        answer = "measuring without a fault was interrupted"
    process.join()
    if isinstance(answer, str):
        raise Unusable(answer)
    return answer


def try_all(arguments, tables):
    """@return Results, in the order of the tables"""
    indices = chosen(arguments, tables)
    tests = {index: tests_for(arguments, tables, tables.mutants[index])
             for index in indices}
    needed = sorted({test for index, names in tests.items() for test in names
                     if arguments.all_tests or
                     test in tables.mutants[index].expected})
    show(f"{len(needed)} tests without a fault")
    limits = measure_in(arguments.build / "1", tables, needed)
    tasks, results = multiprocessing.Queue(), multiprocessing.Queue()
    workers = [multiprocessing.Process(
        target=work, args=(Trial(arguments.build / str(i + 1), tables, limits),
                           tasks, results))
               for i in range(min(arguments.jobs, len(indices)))]
    for index in indices:
        tasks.put((index, tests[index]))
    for worker in workers:
        tasks.put(None)
        worker.start()
    try:
        found = collect(tables, results, workers, len(indices))
    finally:
        for worker in workers:
            worker.join(timeout=None if sys.exc_info()[0] is None else 0.1)
            if worker.is_alive():
                worker.terminate()
    return [Result(tables.mutants[index], *found[index]) for index in indices]


# ---- the report


def is_bad(result):
    """Is it something to be done about?"""
    return result.what not in ("killed", "time-out", "too much memory",
                               "endless output", CANNOT_RUN) and \
        not (result.what == "alive" and result.mutant.alive)


def verdict(result):
    """What is said of one."""
    mutant = result.mutant
    if result.what == "killed":
        text = result.test
    elif result.test:
        text = f"{result.test} ({result.what})"
    elif result.what == "alive" and mutant.alive:
        return f"alive: {mutant.alive}"
    else:
        return result.what.upper()
    if mutant.alive:
        text += ", though said to be equivalent"
    elif result.test not in mutant.expected:
        text += ", not the test of its row"
    return text


def report(results):
    """The table."""
    width = max((len(result.mutant.name) for result in results), default=0)
    lines = []
    for result in results:
        lines.append(f"{result.mutant.name:<{width}}  {verdict(result)}")
    kinds = collections.Counter(result.what for result in results)
    reasons = sum(1 for result in results
                  if result.what == "alive" and result.mutant.alive)
    lines += ["", f"{len(results)} mutants: " + ", ".join(
        f"{n} {what}" for what, n in kinds.most_common())
        + (f" ({reasons} with a reason)" if kinds["alive"] else "")]
    killers = collections.Counter(result.test for result in results
                                  if result.test)
    lines += ["", "killed by"]
    lines += [f"{n:>5}  {test}" for test, n in killers.most_common()]
    for table_name in sorted({result.mutant.table for result in results}):
        these = [r for r in results if r.mutant.table == table_name]
        lines.append(f"{table_name}: {len(these)} mutants, "
                     f"{sum(bool(r.test) for r in these)} killed")
    return "\n".join(lines)


def check(tables, build):
    """Does every row fit, and has every invariant one? @return an exit code"""
    tests = set(tests_of(build)) if build else None
    complaints = list(tables.complaints(ROOT, tests))
    complaints += invariants.complaints(ROOT, tables.mutants)
    if len(tables.mutants) < LEAST:
        complaints.append(f"{len(tables.mutants)} mutants, fewer than {LEAST}")
    print("\n".join(complaints))
    return 1 if complaints else 0


def compile_command(entry):
    """To look at a file from standard input only, of its entry in compile_commands.json."""
    words = shlex.split(entry["command"])
    kept = []
    for word, before in zip(words, [""] + words):
        if (before in ("-o", "-MT", "-MF") or word in (
                "-o", "-c", "-Werror", "-MD", "-MT", "-MF", "ccache",
                entry["file"])):
            continue
        kept.append(word)
    return kept + ["-w", "-fsyntax-only", "-x", "c", "-"]


def check_syntax(tables, build):
    """Can what each row makes of its file be compiled? Some seconds for hundreds: nothing is built.
    @return an exit code"""
    entries = {os.path.normpath(entry["file"]): entry for entry in json.loads(
        (build / "compile_commands.json").read_text())}
    n_bad = 0
    for mutant in tables.mutants:
        entry = entries.get(str(ROOT / mutant.file))
        if entry is None:
            continue  # a header, a script
        done = subprocess.run(
            compile_command(entry), cwd=entry["directory"], text=True, check=False,
            input=mutant.apply((ROOT / mutant.file).read_text()),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if done.returncode != 0:
            n_bad += 1
            why = [line for line in done.stderr.splitlines() if "error" in line]
            print(f"{mutant.name}: {(why or [done.stderr])[0]}", flush=True)
    print(f"{len(tables.mutants)} mutants, {n_bad} cannot be compiled")
    return 1 if n_bad else 0


def parse():
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--build", type=pathlib.Path,
                        default=ROOT / "build" / "mutants")
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--table", action="append", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--tests-of", type=pathlib.Path, metavar="BUILD")
    parser.add_argument("--syntax-of", type=pathlib.Path, metavar="BUILD")
    parser.add_argument("--all-tests", action="store_true",
                        help="not those of the row first: who else finds it?")
    return parser.parse_args()


def main():
    """See above."""
    arguments = parse()
    arguments.build = arguments.build.resolve()
    try:
        tables = table.Tables()
    except table.BadTable as error:
        print(error)
        return 1
    unknown = set(arguments.only or []) - {m.name for m in tables.mutants}
    if unknown or arguments.jobs < 1:
        print(f"run.py: no such mutant: {', '.join(sorted(unknown))}"
              if unknown else "run.py: --jobs is at least 1", file=sys.stderr)
        return 64
    if arguments.list:
        for mutant in tables.mutants:
            print(f"{mutant.name:<44} {mutant.file:<32} {mutant.get('rule')}")
        return 0
    if arguments.syntax_of:
        return check_syntax(tables, arguments.syntax_of.resolve())
    if arguments.check:
        return check(tables, arguments.tests_of)
    unfit = list(tables.complaints(ROOT))
    if unfit:
        print("\n".join(unfit))
        return 1
    try:
        results = try_all(arguments, tables)
    except Unusable as error:
        show("")
        print(f"run.py: {error}", file=sys.stderr)
        return 1
    text = report(results)
    (arguments.build / "report.txt").write_text(text + "\n")
    print(text)
    return 1 if any(map(is_bad, results)) else 0


if __name__ == "__main__":
    sys.exit(main())
