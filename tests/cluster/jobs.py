# SPDX-License-Identifier: BSD-3-Clause
"""Runs of `teamster run` for tests: with a deadline, and with a look at what is
left behind afterwards."""
import os
import re
import select
import signal
import subprocess
import tempfile
import time
import uuid

SLOWDOWN = float(os.environ.get("TM_TEST_SLOWDOWN", "1"))
FAULT_SOURCE = os.environ.get("TM_TEST_FAULT_SOURCE")  # unless a test chooses
DEADLINE_S = 60 * SLOWDOWN  # what is never reached if all is well
PATIENCE = 10  # so many of them, if it goes on
PROGRESS = re.compile(rb"node (\d+): (\d+) barriers passed")
LEFTOVER_S = 10 * SLOWDOWN  # what is promised
ERROR = re.compile(r"runtime error: |ERROR: |WARNING: ThreadSanitizer|[Aa]ssertion")
N_LAST_LINES = 6
CONFIGURATION = 78


def names_in(table, row):
    """Of rows of a table of the sources: what is in quotes first."""
    path = os.path.join(os.path.dirname(__file__), "../../src/base", table)
    with open(path, encoding="ascii") as file:
        return tuple(re.findall(rf'^{row}\(.*?"([^"]+)"', file.read(), re.M))


PROTOCOLS = names_in("protocols.def", "PROTOCOL")


class Failure(Exception):
    """A fact that should hold does not."""


class Skip(Exception):
    """The machine lacks what the test is about."""


def wait_until(condition, seconds=DEADLINE_S):
    """Poll a condition; its last value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(0.02)


def read_bytes(path):
    """A small file; b"" if it has gone."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def is_running(pid):
    fields = read_bytes(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return bool(fields) and fields[0] not in (b"Z", b"X")


def parent_of(pid):
    fields = read_bytes(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return int(fields[1]) if fields else 0


def short(lines):
    """The last ones, and behind which error these stand."""
    errors = [line for line in lines[:-N_LAST_LINES] if ERROR.search(line)]
    return errors[:1] + lines[-N_LAST_LINES:]


def last_lines(text):
    """The last lines of each node and of the launcher, and the first error's."""
    nodes = {}
    for line in text.splitlines():
        match = re.match(r"\[(\d+)\]|teamster: n(\d+):", line)
        node = (match.group(1) or match.group(2)) if match else "launcher"
        nodes.setdefault(node, []).append(line)
    return "\n".join(line for node in sorted(nodes)
                     for line in short(nodes[node]))


def run_test(name, test):
    """Run a test of this name in a folder of its own, which it is called with.
    @return the exit code that ctest knows"""
    try:
        with tempfile.TemporaryDirectory(prefix="tm-test-") as folder:
            test(folder)
    except Skip as reason:
        print(f"skipped: {reason}")
        return 77
    except Failure as failure:
        print(f"{name}: {failure}")
        return 1
    return 0


def main(tests, parser, choices=None):
    """Run the test that the command line names: a method of the class `tests`,
    which is made with the options and a folder. The options are `parser`'s own
    and --build. @return the exit code"""
    parser.add_argument("test", choices=choices)
    parser.add_argument("--build", required=True, type=os.path.abspath)
    options = parser.parse_args()
    return run_test(options.test, lambda folder: getattr(
        tests(options, folder), options.test)())


def environment(variables=None, others=()):
    """Of a run: nothing that the user's environment says to Teamster, or to
    `others`, which are beginnings of names."""
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("TEAMSTER_", *others))}
    if FAULT_SOURCE:
        clean["TEAMSTER_FAULT_SOURCE"] = FAULT_SOURCE
    return {**clean, **(variables or {})}


class Job:
    """One run. `command` begins behind `teamster run`; the words of `through` stand in front
    of all."""

    def __init__(self, teamster, command, variables=None, through=()):
        self.variables = dict(variables or {})
        self.command = [*through, teamster, "run", "--tag-output", *map(str, command)]
        self.marker = "TM_TEST_MARKER=" + uuid.uuid4().hex
        self.shared_memory = set(os.listdir("/dev/shm"))
        name, value = self.marker.split("=")
        self.process = subprocess.Popen(
            self.command, text=True, errors="replace",
            env=environment({
                "TEAMSTER_POLICY": "none",  # threads stay where a test says
                "TEAMSTER_BUDDY": "off",  # and a lost node ends the run
                **self.variables, name: value}),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        self.heard = b""  # of its output, before the rest is read

    def __str__(self):
        """What repeats the run in a shell."""
        return " ".join([*(f"{name}={value}" for name, value
                           in sorted(self.variables.items())), *self.command])

    def fail(self, what, output=""):
        raise Failure(f"{what}\nrepeat with: {self}\n{last_lines(output)}")

    def processes(self):
        """Processes of the run that have not ended, the launcher too."""
        marker = self.marker.encode()
        return [int(name) for name in os.listdir("/proc") if name.isdigit()
                and marker in read_bytes(f"/proc/{name}/environ")
                and is_running(name)]

    def node(self, number):
        """The process of a node, or None."""
        variable = f"TEAMSTER_NODE={number}\0".encode()
        for pid in self.processes():
            if (parent_of(pid) == self.process.pid and
                    variable in read_bytes(f"/proc/{pid}/environ")):
                return pid
        return None

    def n_told(self, pattern):
        """How often its output has words of this kind until now."""
        output = self.process.stdout
        while select.select([output], [], [], 0)[0]:
            some = os.read(output.fileno(), 1 << 16)
            if not some:
                break
            self.heard += some
        return len(re.findall(pattern.encode(), self.heard))

    def await_line(self, pattern, n_before=0):
        """Wait until it has such words once more."""
        if not wait_until(lambda: self.n_told(pattern) > n_before):
            self.fail(f"no {pattern!r} in {DEADLINE_S:.0f} s", self.kill_all())

    def rest(self, deadline_s=None):
        """Read to the end. @return all that it has said"""
        rest = self.process.communicate(timeout=deadline_s)[0]
        return self.heard.decode(errors="replace") + rest

    def read_all(self, deadline_s, sign):
        """Read until it ends. @return None: it does not, and is no further than it was"""
        n_before = 0
        for _ in range(PATIENCE):
            try:
                return self.rest(deadline_s)
            except subprocess.TimeoutExpired as timeout:
                output = (timeout.output or b"").decode(errors="replace")
                n_signs = output.count(sign) if sign else 0
                if n_signs == n_before and not self.goes_on():
                    return None
                n_before = n_signs
        return None

    def goes_on(self):
        """Have some barriers opened in the three seconds between its answers, or has it
        ended?"""
        self.ask_status()
        try:
            self.rest(1)
        except subprocess.TimeoutExpired as timeout:
            counts = {}
            for node, count in PROGRESS.findall(timeout.output or b""):
                counts.setdefault(node, []).append(count)
            return any(told[-2:-1] not in ([], told[-1:])
                       for told in counts.values())
        return True

    def finish(self, deadline_s=DEADLINE_S, sign=None):
        """Wait for the end, as long as it goes on: iterations and barriers do, or the
        program says the sign at least once in the time given. @return exit code, output"""
        output = self.read_all(deadline_s, sign)
        if output is None:
            output = self.kill_all()
            what = f"{sign!r}" if sign else "end"
            self.fail(f"no {what} in {deadline_s:.0f} s", output)
        self.expect_nothing_left(output)
        return self.process.returncode, output

    def ask_status(self):
        """Let every node say how far it is: twice, as it may be slow only."""
        for _ in range(2):
            self.process.send_signal(signal.SIGUSR1)
            time.sleep(3)

    def kill_all(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.rest(10)
        except subprocess.TimeoutExpired:
            for pid in self.processes():
                os.kill(pid, signal.SIGKILL)
            return self.rest()

    def segments(self):
        """Segments that came since the start and that no process has, and the
        run's own folder."""
        folder = f"teamster-{self.process.pid}-"
        new = {name for name in os.listdir("/dev/shm")
               if folder in name or "ucx" in name} - self.shared_memory
        maps = b"".join(read_bytes(f"/proc/{name}/maps")
                        for name in os.listdir("/proc")
                        if new and name.isdigit())
        return {name for name in new if name.encode() not in maps}

    def expect_nothing_left(self, output=""):
        """All processes end within the time promised, and leave no segment."""
        if not wait_until(lambda: not self.processes(), LEFTOVER_S):
            left = self.processes()
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            self.fail(f"processes are left: {left}", output)
        if not wait_until(lambda: not self.segments(), LEFTOVER_S):
            self.fail(f"in /dev/shm: {self.segments()}", output)

    def expect_success(self, deadline_s=DEADLINE_S, sign=None):
        """Finish with exit code 0. @return the output"""
        code, output = self.finish(deadline_s, sign)
        if (code == CONFIGURATION and "userfaultfd" in output and
                "TEAMSTER_FAULT_SOURCE" in self.variables):
            raise Skip(last_lines(output))  # this machine has none
        if code != 0:
            self.fail(f"exit code {code}", output)
        return output
