#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The launcher with real processes: exit codes, output, input, signals, and that
nothing is left behind whatever ends a run.

Usage: test_launcher.py TEAMSTER BOOT_NODE BOOT_NODE_OTHER PROGRAM [unittest arguments]
"""
import ctypes
import errno
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
import uuid

import jobs

TEAMSTER, NODE, OTHER, JOINER = [os.path.abspath(path) for path in sys.argv[1:5]]
PATIENCE_S = 30 * jobs.SLOWDOWN  # what is never reached if all is well


def processes_with(marker):
    """Numbers of the processes that have the marker in their environment."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if marker.encode() in file.read():
                    found.append(int(name))
        except OSError:
            pass  # it has ended
    return found


def refuse_personality():
    """Of this process and those that it starts, as containers do: personality(2) fails
    unless it only asks."""
    number, allow, fail = 135, 0x7fff0000, 0x00050000 | errno.EPERM
    words = ((0x20, 0, 0, 0),               # load the number of the call
             (0x15, 0, 3, number),          # another one: allow
             (0x20, 0, 0, 16),              # load its first argument
             (0x15, 1, 0, 0xffffffff),      # it asks: allow
             (0x06, 0, 0, fail), (0x06, 0, 0, allow))
    code = b"".join(struct.pack("=HBBI", *word) for word in words)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("@HP", len(words), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if (libc.prctl(38, 1, 0, 0, 0) != 0 or  # no new privileges
            libc.prctl(22, 2, program, 0, 0) != 0):  # filter system calls
        raise OSError(ctypes.get_errno(), "no filter of system calls")


def state_of(pid):
    """The letter that ps shows: R, S, T, Z..."""
    return read_text(f"/proc/{pid}/stat").rpartition(")")[2].split()[0]


def parent_of(pid):
    return int(read_text(f"/proc/{pid}/stat").rpartition(")")[2].split()[1])


def read_text(path):
    """A small file; "" if it has gone."""
    try:
        with open(path, "rb") as file:
            return file.read().decode()
    except OSError:
        return ""


def command_of(pid):
    return read_text(f"/proc/{pid}/cmdline").replace("\0", " ").strip()


class LauncherTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.marker = "TM_TEST_MARKER=" + uuid.uuid4().hex
        name, value = self.marker.split("=")
        self.environment = jobs.environment({name: value})
        self.environment["TMPDIR"] = self.folder.name
        self.launchers = []

    def tearDown(self):
        self.expect_nothing_left()
        self.folder.cleanup()

    def processes(self):
        return processes_with(self.marker)

    def nodes(self):
        """The processes of nodes and their children."""
        return [pid for pid in self.processes()
                if "TEAMSTER_NODE=" in read_text(f"/proc/{pid}/environ")]

    def kill_node(self, launcher, number):
        """Returns the process: it dies a moment later."""
        node, = [pid for pid in self.processes()
                 if f"TEAMSTER_NODE={number}\0" in
                 read_text(f"/proc/{pid}/environ")
                 and parent_of(pid) == launcher.pid]
        os.kill(node, signal.SIGKILL)
        return node

    def expect_nothing_left(self):
        if not jobs.wait_until(lambda: not self.processes(), jobs.LEFTOVER_S):
            left = [(pid, command_of(pid)) for pid in self.processes()]
            for pid, _ in left:
                os.kill(pid, signal.SIGKILL)
            self.fail(f"processes are left: {left}")
        files = [name for _, _, names in os.walk(self.folder.name)
                 for name in names if not name.endswith(".sh")]
        self.assertEqual(files, [])
        folders = tuple(f"teamster-{pid}-" for pid in self.launchers)
        self.assertTrue(jobs.wait_until(lambda: not [
            name for name in os.listdir("/dev/shm")
            if name.startswith(folders)], jobs.LEFTOVER_S))

    def start(self, *arguments, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        environment = dict(self.environment, **options.pop("variables", {}))
        # A handler that Python has set is reset by exec; SIGINT must not be
        # ignored, as it is in a shell's background.
        process = subprocess.Popen([TEAMSTER, *map(str, arguments)],
                                   env=environment, cwd=self.folder.name,
                                   **options)
        self.launchers.append(process.pid)
        return process

    def finish(self, process, given=None):
        try:
            out, err = process.communicate(given, timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate()
            self.fail(f"the launcher hangs; its output: {out} {err}")
        return (process.returncode, (out or b"").decode(),
                (err or b"").decode())

    def run_teamster(self, *arguments, given=None, **options):
        if given is not None:
            options["stdin"] = subprocess.PIPE
        return self.finish(self.start(*arguments, **options), given)

    def run_nodes(self, n_nodes, *words, **options):
        return self.run_teamster("run", "-n", n_nodes, NODE, *words, **options)

    def start_serving(self, n_nodes, *words, **options):
        """Start nodes and wait until all are connected."""
        process = self.start("run", "-n", n_nodes, NODE, *words,
                             "0:say=connected\n", "*:serve", **options)
        self.assertEqual(process.stdout.readline(), b"connected\n")
        return process


class ExitCodes(LauncherTest):
    def test_the_exit_code_is_the_roots(self):
        self.assertEqual(self.run_nodes(4)[0], 0)
        self.assertEqual(self.run_nodes(3, "0:done=5", "0:exit=5"),
                         (5, "", ""))
        self.assertEqual(self.run_nodes(3, "0:exit=6"), (6, "", ""))
        self.assertEqual(self.run_nodes(1, "0:exit=7"), (7, "", ""))

    def test_what_happens_after_the_end_changes_nothing(self):
        code, _, err = self.run_nodes(3, "0:done=0", "0:wait=300", "0:exit=4",
                                      "2:wait=100", "2:signal=11")
        self.assertEqual((code, err), (4, ""))

    def test_a_killed_node_is_75_and_told(self):
        for victim in 0, 2:
            process = self.start_serving(3)
            self.kill_node(process, victim)
            code, _, err = self.finish(process)
            self.assertEqual(code, 75)
            self.assertRegex(err, rf"^teamster run: node {victim} \(pid \d+\) "
                             r"died: killed by SIGKILL after \d+\.\d s\n$")

    def test_nodes_that_die_at_once_are_all_named(self):
        process = self.start_serving(4)
        os.kill(process.pid, signal.SIGSTOP)
        self.assertTrue(jobs.wait_until(lambda: state_of(process.pid) == "T"))
        for victim in [self.kill_node(process, node) for node in (1, 2)]:
            self.assertTrue(jobs.wait_until(lambda: state_of(victim) == "Z"))
        os.kill(process.pid, signal.SIGCONT)
        code, _, err = self.finish(process)
        self.assertEqual(code, 75)
        self.assertRegex(err, r"^teamster run: node 1 \(pid \d+\) died: killed "
                         r"by SIGKILL after \d+\.\d s\n"
                         r"teamster run: node 2 \(pid \d+\) died as well: killed "
                         r"by SIGKILL\n$")

    def test_a_loss_says_how_far_the_run_was(self):
        process = self.start_serving(4, "*:threads=8", "0:wait=500")
        self.kill_node(process, 2)
        code, _, err = self.finish(process)
        self.assertEqual(code, 75)
        self.assertRegex(err, r"^teamster run: node 2 \(pid \d+\) died: killed "
                         r"by SIGKILL after \d+\.\d s, iteration 17\. "
                         r"8 of 32 threads lost\.\n$")

    def test_silence_is_told_once(self):
        code, _, err = self.run_nodes(
            4, "0:suspect=3", "1:suspect=3", "2:wait=500", "2:back=3",
            "0:wait=700", "0:suspect=3", "0:back=3", "2:wait=2000",
            "2:suspect=3", "2:lost=3", "*:serve")
        self.assertEqual(code, 75)
        self.assertRegex(
            err, r"^(teamster run: node 3 \(pid \d+\) has been silent for 3 s "
            r"\(suspect\)\n){2}"
            r"teamster run: node 3 \(pid \d+\) is lost: silent for 5 s "
            r"\(--peer-timeout\), after \d+\.\d s\n$")

    def test_nonsense_of_other_nodes_ends_the_run(self):
        for word in "1:suspect=1", "1:suspect=7", "1:lost=65535":
            code, _, err = self.run_nodes(3, word, "*:serve")
            self.assertEqual(code, 70)
            self.assertNotIn("suspect", err)

    def test_a_crash_on_any_node_is_128_plus_its_signal(self):
        for node, number in ((0, 11), (1, 6), (2, 8), (1, 7), (0, 4)):
            code, _, err = self.run_nodes(
                3, f"{node}:signal={number}", "*:serve")
            self.assertEqual(code, 128 + number)
            self.assertIn(f"node {node} (pid ", err)

    def test_a_node_that_exits_early_gives_its_code(self):
        code, _, err = self.run_nodes(3, "1:exit=9", "*:serve")
        self.assertEqual(code, 9)
        self.assertRegex(err, r"^teamster run: node 1 \(pid \d+\) ended with "
                         r"exit code 9 after .*\n$")
        code, _, err = self.run_nodes(3, "1:exit=0", "*:serve")
        self.assertEqual(code, 75)

    def test_failed_decides_before_any_death(self):
        code, _, err = self.run_nodes(3, "2:failed=71", "*:serve")
        self.assertEqual(code, 71)
        self.assertEqual(err.count("\n"), 1, err)
        self.assertIn("node 2", err)
        code, _, err = self.run_nodes(3, "2:failed=0", "*:serve")
        self.assertEqual((code, err), (0, ""))

    def test_a_death_explains_the_loss_that_others_report(self):
        code, _, err = self.run_nodes(3, "2:failed=75", "1:wait=200",
                                      "1:signal=11", "*:serve")
        self.assertEqual(code, 128 + 11, err)

    def test_a_node_that_closes_its_socket_is_lost(self):
        code, _, err = self.run_nodes(2, "1:cut", "1:hang", "*:serve")
        self.assertEqual(code, 75)
        self.assertIn("node 1", err)
        self.assertIn("closed its control socket", err)

    def test_nonsense_on_the_control_socket_ends_the_run(self):
        code, _, err = self.run_nodes(2, "1:nonsense", "*:serve")
        self.assertEqual(code, 70)
        self.assertIn("node 1", err)


class PlainPrograms(LauncherTest):
    def test_a_plain_program_runs_on_every_node(self):
        code, out, err = self.run_teamster(
            "run", "-n", 4, "sh", "-c", "echo $TEAMSTER_NODE/$TEAMSTER_NODES")
        self.assertEqual(sorted(out.split()), ["0/4", "1/4", "2/4", "3/4"])
        self.assertEqual((code, err), (
            0, "teamster run: 'sh' never called tm_init(): it ran 4 times, each for "
            "itself; is it linked with Teamster?\n"))

    def test_the_highest_exit_code_counts(self):
        script = "test $TEAMSTER_NODE = 0 || sleep 0.2; exit $TEAMSTER_NODE"
        self.assertEqual(self.run_teamster("run", "-n", 4, "sh", "-c", script),
                         (3, "", ""))

    def test_a_node_that_does_not_join_is_told(self):
        code, _, err = self.run_nodes(3, "-1:exit=0")
        self.assertEqual(code, 76)
        self.assertRegex(err, r"^teamster run: node 1 \(pid \d+\) ended with "
                         r"exit code 0 before it joined")
        code, _, err = self.run_nodes(3, "-1:wait=200", "-1:exit=78")
        self.assertEqual(code, 78)

    def test_nodes_inherit_four_descriptors(self):
        with open("/dev/null") as extra:
            os.set_inheritable(extra.fileno(), True)
            code, out, _ = self.run_teamster(
                "run", "-n", 2, "ls", "/proc/self/fd",
                pass_fds=[extra.fileno()])
        # 3 is the directory that ls reads, 100 the control socket.
        self.assertEqual((code, sorted(out.split())),
                         (0, sorted(["0", "1", "2", "3", "100"] * 2)))

    def test_addresses_are_fixed(self):
        code, out, _ = self.run_teamster(
            "run", "-n", 3, "grep", "-m1", "/grep", "/proc/self/maps")
        self.assertEqual(code, 0)
        self.assertEqual(len(set(out.splitlines())), 1, out)


class StartUp(LauncherTest):
    def wrapper(self):
        path = os.path.join(self.folder.name, "choose.sh")
        with open(path, "w") as file:
            file.write(f"#!/bin/sh\ncase $TEAMSTER_NODE in 2) exec {OTHER} "
                       f"\"$@\";; *) exec {NODE} \"$@\";; esac\n")
        os.chmod(path, 0o755)
        return path

    def test_different_programs_are_refused_with_both_build_ids(self):
        code, out, err = self.run_teamster("run", "-n", 4, self.wrapper(),
                                           "*:say=never")
        self.assertEqual((code, out), (76, ""))
        self.assertEqual(err.count("\n"), 1, err)
        for word in "node 0", "build-one", "node 2", "build-two":
            self.assertIn(word, err)

    def test_a_death_during_start_ends_all(self):
        code, out, err = self.run_nodes(4, "-3:wait=200", "-3:signal=9",
                                        "*:say=never")
        self.assertEqual((code, out), (75, ""))
        self.assertIn("node 3", err)

    def test_a_node_that_hangs_at_the_start_is_named(self):
        soon = {"TM_TEST_SLOWDOWN": str(0.05 * jobs.SLOWDOWN)}
        for word, what in (("-2:hang", "get to tm_init"), ("+2:hang", "connect")):
            code, out, err = self.run_nodes(4, word, "*:say=never",
                                            variables=soon)
            self.assertEqual((code, out), (75, ""))
            self.assertRegex(err, r"^teamster run: after \d+ s, these nodes did "
                             rf"not {what}.*: 2 \(pid \d+\)\n$")

    def test_a_program_that_cannot_be_started_is_told(self):
        code, _, err = self.run_teamster("run", "-n", 2, "no-such-program")
        self.assertEqual(code, 127)
        self.assertEqual(err, "teamster run: cannot start 'no-such-program': "
                         "No such file or directory\n")
        code, _, err = self.run_teamster("run", "-n", 2, "/etc/passwd")
        self.assertEqual(code, 126)
        path = self.wrapper()
        code, _, err = self.run_teamster("run", os.path.basename(path))
        self.assertEqual(code, 127)
        self.assertIn("write ./ in front", err)

    def test_too_few_descriptors_are_told(self):
        import resource
        code, _, err = self.run_teamster(
            "run", "-n", 100, NODE,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                  (64, 64)))
        self.assertEqual(code, 71)
        self.assertIn("ulimit -n", err)

    def in_container(self, command):
        """Run the node in namespaces of its own, after a command there."""
        if os.geteuid() != 0:
            self.skipTest("only root can make namespaces")
        process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c",
             f'{command} && exec "$@"', "sh", TEAMSTER, "run", "-n", "2", JOINER],
            env=self.environment, cwd=self.folder.name, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return self.finish(process)

    def test_a_dev_without_null_is_enough(self):
        code, _, err = self.in_container(
            "mount -t tmpfs none /dev && mkdir -m 1777 /dev/shm")
        self.assertEqual((code, err), (0, ""))

    def test_a_missing_proc_is_told(self):
        code, _, err = self.in_container("umount --lazy /proc")
        self.assertEqual(code, 78)
        self.assertIn("is /proc mounted?", err)
        self.assertNotIn("please report", err)

    def test_what_is_wrong_with_dev_shm_is_told(self):
        for command, cause in (
                ("mount -t tmpfs none /dev", "there is no /dev/shm"),
                ("mount -t tmpfs -o ro none /dev/shm",
                 "/dev/shm is mounted read-only"),
                *((f"mount -t tmpfs -o size={size} none /dev/shm",
                   r"/dev/shm (is full|has only \d\.\d MiB free, and each node needs "
                   r"3)") for size in ("64k", "512k", "1m", "2m", "4m"))):
            with self.subTest(command=command):
                code, _, err = self.in_container(command)
                self.assertEqual(code, 78)
                self.assertRegex(err, cause)
                self.assertNotIn("cannot start: ", err)

    def test_a_refused_personality_is_told(self):
        code, _, err = self.run_teamster("run", "-n", 2, JOINER,
                                         preexec_fn=refuse_personality)
        self.assertEqual(code, 78)
        self.assertRegex(err, r"teamster: n\d( n\d)?: address randomisation is on in this "
                         r"process, and personality\(\), which turns it off, is "
                         r"refused: Operation not permitted; ")

    def test_many_nodes_start(self):
        code, out, err = self.run_nodes(32, "*:lines=1", "0:wait=300")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(len(out.splitlines()), 32)


class Output(LauncherTest):
    def test_lines_of_all_nodes_stay_whole(self):
        code, out, err = self.run_nodes(4, "*:lines=10000", "*:done=0",
                                        "*:exit=0")
        self.assertEqual((code, err), (0, ""))
        lines = out.splitlines()
        for node in range(4):
            self.assertEqual([line for line in lines
                              if line.startswith(f"node {node} ")],
                             [f"node {node} line {i} of 10000"
                              for i in range(10000)])
        self.assertEqual(len(lines), 40000)

    def test_a_tag_names_the_node(self):
        for arguments in ["--tag-output"], ["-t"]:
            _, out, _ = self.run_teamster("run", *arguments, "-n", 3, NODE,
                                          "*:lines=2", "*:done=0", "*:exit=0")
            self.assertEqual(sorted(out.splitlines()),
                             [f"[{i}] node {i} line {k} of 2"
                              for i in range(3) for k in range(2)])

    def test_stdout_and_stderr_stay_apart(self):
        _, out, err = self.run_teamster("run", "-n", 2, "-t", "sh", "-c",
                                        "echo out; echo err >&2")
        self.assertEqual(sorted(out.splitlines()), ["[0] out", "[1] out"])
        self.assertEqual(sorted(err.splitlines())[:2], ["[0] err", "[1] err"])

    def test_errors_alike_are_one_line(self):
        """Of nodes that find the same at the same time; here the launcher is stopped
        until all have said it. What comes behind them stays behind, and where each line
        has its node in front they are left alone."""
        def touched(name):
            return [path for path in os.listdir(self.folder.name)
                    if path.startswith(name)]

        script = ("touch ready.$TEAMSTER_NODE\n"
                  "until test -e go; do sleep 0.01; done\n"
                  "me=teamster:\\ n$TEAMSTER_NODE:\n"
                  "test $TEAMSTER_NODE = 0 || echo $me warning: no room >&2\n"
                  "test $TEAMSTER_NODE != 2 || echo $me it ends >&2\n"
                  "test $TEAMSTER_NODE != 3 || echo my own words >&2\n"
                  "touch done.$TEAMSTER_NODE\n")
        for options, expected in (
                ([], "teamster: n1 n2 n3: warning: no room\n"
                     "teamster: n2: it ends\nmy own words\n"),
                (["-t"], "[1] teamster: n1: warning: no room\n"
                         "[2] teamster: n2: warning: no room\n"
                         "[2] teamster: n2: it ends\n"
                         "[3] teamster: n3: warning: no room\n"
                         "[3] my own words\n")):
            process = self.start("run", "-n", 4, *options, "sh", "-c", script)
            self.assertTrue(jobs.wait_until(lambda: len(touched("ready")) == 4))
            process.send_signal(signal.SIGSTOP)
            self.assertTrue(jobs.wait_until(
                lambda: state_of(process.pid) == "T"))
            with open(os.path.join(self.folder.name, "go"), "w"):
                pass
            self.assertTrue(jobs.wait_until(lambda: len(touched("done")) == 4))
            process.send_signal(signal.SIGCONT)
            code, _, err = self.finish(process)
            self.assertEqual(code, 0)
            self.assertRegex(err, "^" + re.escape(expected) +
                             r"teamster run: 'sh' never called tm_init\(\).*\n$")
            for name in touched(""):
                os.unlink(os.path.join(self.folder.name, name))

    def test_long_lines_stay_whole(self):
        _, out, _ = self.run_nodes(3, "*:long=3000000", "*:done=0", "*:exit=0")
        self.assertEqual(sorted(out.splitlines()),
                         ["a" * 3000000, "b" * 3000000, "c" * 3000000])

    def test_a_last_line_without_newline_is_passed_on(self):
        code, out, _ = self.run_nodes(1, "0:say=no newline")
        self.assertEqual((code, out), (0, "no newline"))

    def test_binary_output_is_not_changed(self):
        data = os.urandom(3000000)
        process = self.start("run", "-n", 2, "sh", "-c",
                             "test $TEAMSTER_NODE = 1 || cat",
                             stdin=subprocess.PIPE)
        out, _ = process.communicate(data, timeout=PATIENCE_S)
        self.assertTrue(out == data)

    def test_a_prompt_is_seen_before_its_answer(self):
        process = self.start("run", "-n", 2, NODE, "0:say=size? ", "0:copy",
                             stdin=subprocess.PIPE)
        seen = b""
        while seen != b"size? ":
            ready, _, _ = select.select([process.stdout], [], [], PATIENCE_S)
            self.assertTrue(ready, f"only {seen} is seen")
            seen += os.read(process.stdout.fileno(), 100)
        code, out, _ = self.finish(process, b"42\n")
        self.assertEqual((code, out), (0, "42\n"))

    def test_a_closed_reader_ends_the_run_quietly(self):
        process = self.start("run", "-n", 2, NODE, "*:lines=100000000")
        process.stdout.read(1000)
        process.stdout.close()
        err = process.stderr.read().decode()
        process.stderr.close()
        self.assertEqual((process.wait(PATIENCE_S), err), (141, ""))

    def test_a_full_disk_is_told(self):
        with open("/dev/full", "w") as full:
            code, _, err = self.run_nodes(2, "0:lines=10", "*:serve",
                                          stdout=full)
        self.assertEqual(code, 73)
        self.assertIn("No space left on device", err)

    def test_a_slow_reader_loses_nothing(self):
        process = self.start("run", "-n", 2, NODE, "*:lines=100000",
                             "*:done=0", "*:exit=0")
        self.assertTrue(jobs.wait_until(lambda: state_of(process.pid) == "S"))
        time.sleep(0.5)
        _, out, _ = self.finish(process)
        self.assertEqual(len(out.splitlines()), 200000)

    def test_a_reader_that_stops_does_not_keep_signals_away(self):
        process = self.start("run", "-n", 2, NODE, "*:lines=100000000")
        process.stdout.read(1000)
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE_S), 143)
        process.stdout.close()
        process.stderr.close()

    def test_a_child_that_holds_the_output_does_not_hold_the_launcher(self):
        code, out, _ = self.run_nodes(2, "*:child", "0:say=end\n")
        self.assertEqual((code, out), (0, "end\n"))


class Input(LauncherTest):
    def test_input_goes_to_the_root_only(self):
        data = b"0123456789abcdef\n" * 200000
        process = self.start("run", "-n", 3, NODE, "*:copy",
                             stdin=subprocess.PIPE)
        out, _ = process.communicate(data, timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0)
        self.assertTrue(out == data)

    def test_input_that_the_program_does_not_read_is_left(self):
        script = f"while read word; do {TEAMSTER} run -n 2 echo $word; done"
        process = subprocess.run(["sh", "-c", script], input=b"a\nb\nc\n",
                                 env=self.environment, stdout=subprocess.PIPE,
                                 timeout=PATIENCE_S)
        self.assertEqual(process.stdout, b"a\na\nb\nb\nc\nc\n")

    def test_closed_standard_files_do_no_harm(self):
        command = f"{TEAMSTER} run -n 2 {NODE} '*:copy' 0:exit=5 <&- >&- 2>&-"
        process = subprocess.run(["sh", "-c", command], env=self.environment,
                                 timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 5)


class Signals(LauncherTest):
    def test_a_signal_ends_every_node(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP,
                       signal.SIGQUIT):
            process = self.start_serving(3)
            process.send_signal(number)
            code, _, err = self.finish(process)
            self.assertEqual(code, 128 + number)
            self.assertRegex(err, rf"^teamster run: {signal.Signals(number).name}: "
                             r"ending 3 nodes after .*\n$")

    def test_a_signal_ends_plain_programs(self):
        process = self.start("run", "-n", 3, "sleep", "1000")
        self.assertTrue(jobs.wait_until(lambda: [
            command_of(pid) for pid in self.nodes()] == ["sleep 1000"] * 3))
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process)[0], 130)

    def test_nodes_that_do_not_listen_are_killed(self):
        process = self.start("run", "-n", 3, NODE, "0:say=connected\n",
                             "*:hang")
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process)[0], 143)

    def test_asking_twice_is_faster(self):
        process = self.start("run", "-n", 2, NODE, "0:say=connected\n",
                             "*:hang", variables={"TM_TEST_SLOWDOWN": "100"})
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process)[0], 130)

    def test_usr1_asks_every_node_for_its_status(self):
        process = self.start_serving(2)
        process.send_signal(signal.SIGUSR1)
        lines = {process.stderr.readline() for _ in range(3)}
        self.assertTrue({b"status of node 0\n", b"status of node 1\n"} < lines,
                        lines)
        process.send_signal(signal.SIGTERM)
        self.finish(process)

    def test_a_stopped_launcher_stops_its_nodes(self):
        process = self.start_serving(2)
        nodes = self.nodes()
        process.send_signal(signal.SIGTSTP)
        self.assertTrue(jobs.wait_until(
            lambda: {state_of(pid) for pid in nodes} == {"T"}))
        process.send_signal(signal.SIGCONT)
        self.assertTrue(jobs.wait_until(
            lambda: "T" not in {state_of(pid) for pid in nodes}))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process)[0], 143)

    def test_nohup_is_respected(self):
        process = self.start_serving(
            2, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGUSR1)
        self.assertIn(b"2 of 2 nodes are running", process.stderr.readline())
        process.send_signal(signal.SIGTERM)
        self.finish(process)


class Leftovers(LauncherTest):
    """tearDown() looks for what is left."""

    def kill_launcher(self, *words):
        process = self.start_serving(3, *words)
        process.kill()
        process.wait()
        self.expect_nothing_left()
        process.communicate()

    def test_a_killed_launcher_takes_its_nodes_along(self):
        self.kill_launcher()

    def test_a_killed_launcher_takes_nodes_that_hang_along(self):
        process = self.start("run", "-n", 3, NODE, "0:say=connected\n",
                             "*:hang")
        process.stdout.readline()
        process.kill()
        process.wait()
        self.expect_nothing_left()
        process.communicate()

    def test_a_killed_launcher_takes_nodes_children_along(self):
        self.kill_launcher("*:child")

    def test_a_killed_launcher_takes_plain_programs_along(self):
        process = self.start("run", "-n", 3, "sh", "-c",
                             "sleep 1000 & echo started; wait")
        for _ in range(3):
            process.stdout.readline()
        process.kill()
        process.wait()
        self.expect_nothing_left()
        process.communicate()

    def test_an_ordinary_end_takes_children_and_daemons_along(self):
        code, _, _ = self.run_nodes(2, "*:child", "*:daemon", "0:wait=200")
        self.assertEqual(code, 0)
        self.assertEqual(self.processes(), [])

    def test_a_signal_takes_children_and_daemons_along(self):
        process = self.start_serving(2, "*:child", "*:daemon")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process)[0], 143)
        self.assertEqual(self.processes(), [])

    def test_a_lost_node_takes_children_and_daemons_along(self):
        process = self.start_serving(3, "*:child", "*:daemon")
        self.kill_node(process, 1)
        self.assertEqual(self.finish(process)[0], 75)
        self.assertEqual(self.processes(), [])

    def test_the_end_of_the_keeper_does_not_matter(self):
        process = self.start_serving(2)
        # Nobody waits for it at the start: on a busy machine it may still have
        # to get so far as to name itself.
        keepers = jobs.wait_until(lambda: [
            pid for pid in self.processes()
            if read_text(f"/proc/{pid}/comm") == "teamster-keeper\n"])
        self.assertEqual(len(keepers), 1)
        os.kill(keepers[0], signal.SIGKILL)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process)[0], 130)


class Terminal(LauncherTest):
    """The launcher on a terminal of its own, as in a shell."""

    def start_on_terminal(self, *command):
        master, slave = pty.openpty()

        def take_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave,
            env=self.environment, cwd=self.folder.name,
            preexec_fn=take_terminal)
        os.close(slave)
        self.addCleanup(os.close, master)
        return process, master

    def expect(self, master, text):
        """Read until the text has come."""
        seen = b""
        while text not in seen:
            ready, _, _ = select.select([master], [], [], PATIENCE_S)
            self.assertTrue(ready, f"{text} does not come, but {seen}")
            try:
                seen += os.read(master, 1000)
            except OSError:
                self.fail(f"{text} does not come, but {seen}")
        return seen

    def test_the_root_reads_what_is_typed(self):
        process, master = self.start_on_terminal(
            TEAMSTER, "run", "-n", "2", NODE, "0:say=name? ", "*:copy",
            "0:exit=3")
        self.expect(master, b"name? ")
        os.write(master, b"ada\n")
        self.expect(master, b"ada\r\nada\r\n")  # typed, and written
        os.write(master, b"\x04")
        self.assertEqual(process.wait(PATIENCE_S), 3)

    def test_ctrl_c_ends_every_node_once(self):
        process, master = self.start_on_terminal(
            TEAMSTER, "run", "-n", "3", NODE, "0:say=connected\n", "*:serve")
        self.expect(master, b"connected")
        os.write(master, b"\x03")
        self.expect(master, b"SIGINT: ending 3 nodes")
        self.assertEqual(process.wait(PATIENCE_S), 130)

    def test_a_hang_up_ends_every_node(self):
        process, master = self.start_on_terminal(
            TEAMSTER, "run", "-n", "2", NODE, "0:say=connected\n", "*:serve")
        self.expect(master, b"connected")
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.wait(PATIENCE_S), 129)

    def test_in_the_background_the_terminal_is_left_alone(self):
        process, master = self.start_on_terminal(
            "bash", "-c",
            f"set -m; {TEAMSTER} run -n 2 {NODE} 0:wait=500 0:exit=3 & "
            "wait $!; echo code $?; read line; echo line $line")
        os.write(master, b"for bash\n")
        seen = self.expect(master, b"line for bash")
        self.assertIn(b"code 3", seen)
        self.assertEqual(process.wait(PATIENCE_S), 0)


class CommandLine(LauncherTest):
    def test_help_teaches(self):
        for arguments in ["--help"], ["-h"], ["help"]:
            code, out, err = self.run_teamster(*arguments)
            self.assertEqual((code, err), (0, ""))
            for word in "run", "info", "teamster run -n 4", "75", "128+n":
                self.assertIn(word, out)
        for arguments in ["run", "--help"], ["help", "run"]:
            _, out, _ = self.run_teamster(*arguments)
            for word in ("--nodes=N", "TEAMSTER_NODES", "--stack-size=SIZE",
                         "TEAMSTER_STACK_SIZE", "default 256K", "-t,"):
                self.assertIn(word, out)
            self.assertLessEqual(max(map(len, out.splitlines())), 80)
        self.assertIn("Usage", self.run_teamster("info", "-h")[1])

    def test_version_names_version_and_wire(self):
        for word in "--version", "-V":
            code, out, _ = self.run_teamster(word)
            self.assertEqual(code, 0)
            self.assertRegex(out, r"^teamster \d+\.\d+\.\d+ wire \d+\n$")

    def test_info_shows_what_is_here(self):
        code, out, err = self.run_teamster("info")
        self.assertEqual((code, err), (0, ""))
        rows = dict((line[:22].strip(), line[22:])
                    for line in out.splitlines())
        self.assertRegex(rows["fault source"], "userfaultfd|mprotect")
        self.assertEqual(rows["page size"],
                         str(os.sysconf("SC_PAGESIZE")))
        self.assertEqual(rows["vm.max_map_count"],
                         read_text("/proc/sys/vm/max_map_count").strip())
        self.assertRegex(rows["memory"], r"^\d+ MiB, by ")
        # Optional parts are told of, whether they are here or not.
        self.assertRegex(rows["transport"], r"^UCX \d|^none: ")
        self.assertRegex(rows["encryption"], r"^libsodium \d|^none, ")
        self.assertRegex(rows["compression"], r"^zstd \d|^none, ")
        self.assertRegex(rows["mpirun, srun"], r"^by \S|^no: ")
        self.assertRegex(rows["Slurm"], r"^yes: srun is in PATH|^no: ")
        self.assertEqual(rows["Slurm"].startswith("yes"),
                         shutil.which("srun") is not None)
        self.assertRegex(rows["io_uring"], r"^yes$|^no \(.+\): ")
        _, out, _ = self.run_teamster(
            "info", variables={"TEAMSTER_FAULT_SOURCE": "mprotect"})
        self.assertIn("mprotect (asked for: mprotect)", out)

    def test_wrong_usage_is_one_line_and_64(self):
        for arguments, word in (
                ([], "which command"), (["rum"], "rum"), (["--rum"], "--rum"),
                (["help", "me"], "me"), (["run"], "which program"),
                (["run", "-n", "0", NODE], "--nodes"),
                (["run", "--workers=x", NODE], "--workers"),
                (["run", "--protocol=", NODE], "--protocol"),
                (["info", "now"], "now")):
            code, out, err = self.run_teamster(*arguments)
            self.assertEqual((code, out), (64, ""), arguments)
            self.assertEqual(err.count("\n"), 1, err)
            self.assertIn(word, err)
        self.assertEqual(self.run_teamster("run", "--rum", NODE)[0], 64)
        self.assertEqual(self.run_teamster("run", "-n")[0], 64)

    def test_what_is_no_hostfile_is_78(self):
        for path in "/dev/zero", NODE:
            code, _, err = self.run_teamster("run", "--hostfile", path, NODE)
            self.assertEqual(code, 78)
            self.assertRegex(err, rf"^teamster run: {path}:1: .*is it a hostfile\?\n$")

    def test_hints_quote_names(self):
        code, _, err = self.run_teamster("run", "--hosts", "a b;c'd", NODE,
                                         variables={"TEAMSTER_SSH": "false"})
        self.assertEqual(code, 69)
        self.assertIn("; try: false 'a b;c'\\''d' teamster --version\n", err)

    def slow_login(self, seconds):
        """What takes the place of ssh: the host is this one."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "slow-ssh")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"""#!/bin/sh
sleep {seconds}
for last; do :; done
export SSH_CONNECTION="127.0.0.1 1 127.0.0.1 22"
eval "$last"
""")
        os.chmod(path, 0o700)
        return path

    def test_a_slow_login_is_told_and_waited_for(self):
        code, out, err = self.run_teamster(
            "run", "--hosts", "far", "echo", "here",
            variables={"TEAMSTER_SSH": self.slow_login(10 * jobs.SLOWDOWN)})
        self.assertEqual((code, out), (0, "here\n"), err)
        self.assertIn("host far is slow: waiting for its answer\n", err)

    def test_a_login_without_an_end_is_69(self):
        code, _, err = self.run_teamster(
            "run", "--hosts", "far", NODE,
            variables={"TEAMSTER_SSH": self.slow_login(1000),
                       "TM_TEST_SLOWDOWN": "0.1"})
        self.assertEqual(code, 69, err)
        self.assertIn("host far is slow: waiting for its answer\n", err)
        self.assertIn("cannot reach host far: no answer within 3 s; try: ", err)

    def test_a_wrong_variable_is_78(self):
        for command in ["run", NODE], ["info"]:
            code, _, err = self.run_teamster(
                *command, variables={"TEAMSTER_STACK_SIZE": "1K"})
            self.assertEqual(code, 78)
            self.assertIn("TEAMSTER_STACK_SIZE", err)
            self.assertEqual(err.count("\n"), 1, err)

    def test_a_flag_goes_before_its_variable(self):
        script = "echo $TEAMSTER_PROTOCOL $TEAMSTER_NODES $TEAMSTER_STATS"
        variables = {"TEAMSTER_PROTOCOL": "nonsense", "TEAMSTER_NODES": "3",
                     "TEAMSTER_STATS": "1"}
        code, out, _ = self.run_teamster("run", "-p", "sequential", "sh", "-c",
                                         script, variables=variables)
        self.assertEqual((code, out), (0, "sequential 3 1\n" * 3))

    def test_options_of_the_program_are_its_own(self):
        code, out, _ = self.run_teamster("run", "-n1", "echo", "-n", "--help")
        self.assertEqual((code, out), (0, "--help"))

    def test_a_closed_standard_output_is_told(self):
        with open("/dev/full", "w") as full:
            code, _, _ = self.run_teamster("--help", stdout=full)
        self.assertEqual(code, 73)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
