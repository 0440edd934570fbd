#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Errors of the user's program: what is said, with which exit code the run ends,
and that nothing is left; calls of the C library on shared memory; children;
signals. Everything with each way to catch accesses that works here.

Usage: test_errors.py TEAMSTER FOLDER_OF_PROGRAMS [unittest arguments]
"""
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

import jobs

TEAMSTER, PROGRAMS = [os.path.abspath(path) for path in sys.argv[1:3]]
PATIENCE_S = 60 * jobs.SLOWDOWN  # what is never reached if all is well

# A sanitizer must leave the signals of errors alone: they are what is tested.
SANITIZERS = {
    name: ":".join(filter(None, [
        os.environ.get(name), "handle_segv=0", "handle_sigbus=0",
        "handle_abort=0", "handle_sigfpe=0", "handle_sigill=0",
        "disable_coredump=0"]))
    for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS")
}


def program(name):
    return os.path.join(PROGRAMS, name)


def processes_with(marker):
    """Numbers of the processes that have the marker in their environment."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit():
                with open(f"/proc/{name}/environ", "rb") as file:
                    if marker.encode() in file.read():
                        found.append(int(name))
        except OSError:
            pass  # it has ended
    return found


def shared_in_core(path):
    """Bytes of shared blocks in a core file: segments from SPACE_HEAP_BASE on."""
    found = b""
    with open(path, "rb") as file:
        header = file.read(64)
        assert header[:5] == b"\x7fELF\x02" and header[16] == 4, header
        table, = struct.unpack_from("<Q", header, 32)
        n_segments, = struct.unpack_from("<H", header, 56)
        file.seek(table)
        segments = file.read(56 * n_segments)
        for i in range(n_segments):
            kind, _, offset, address, _, size = struct.unpack_from(
                "<IIQQQQ", segments, 56 * i)
            if kind == 1 and 0x7e8000000000 <= address < 0x7f0000000000:
                file.seek(offset)
                found += file.read(size)
    return found


class ErrorsTest(unittest.TestCase):
    fault_sources = ()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.marker = "TM_TEST_MARKER=" + uuid.uuid4().hex
        name, value = self.marker.split("=")
        self.environment = jobs.environment({name: value})
        self.environment.update(SANITIZERS)

    def tearDown(self):
        self.expect_nothing_left()

    def expect_nothing_left(self):
        left = lambda: processes_with(self.marker)
        if not jobs.wait_until(lambda: not left(), jobs.LEFTOVER_S):
            numbers = left()
            for number in numbers:
                os.kill(number, signal.SIGKILL)
            self.fail(f"processes are left: {numbers}")
        self.assertEqual(os.listdir(self.folder), [])

    def start(self, *words, stdin=subprocess.DEVNULL, cores=False,
              **variables):
        """teamster run with these words; no core files unless asked for."""
        core_size = resource.getrlimit(resource.RLIMIT_CORE)[1] if cores else 0
        return subprocess.Popen(
            [TEAMSTER, "run", *map(str, words)], stdin=stdin,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            cwd=self.folder, env=dict(self.environment, **variables),
            preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_CORE,
                (core_size, resource.getrlimit(resource.RLIMIT_CORE)[1])))

    def finish(self, process, given=None):
        try:
            out, err = process.communicate(given, timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate()
            self.fail(f"the run hangs; its output: {out} {err}")
        return process.returncode, out, err

    def run_words(self, *words, **variables):
        return self.finish(self.start(*words, **variables))

    def sources(self):
        """The fault sources that work here, each as a subtest."""
        if not ErrorsTest.fault_sources:
            ErrorsTest.fault_sources = [
                source for source in ("userfaultfd", "mprotect")
                if self.run_words("-n", 1, program("waits"), "nothing",
                                  TEAMSTER_FAULT_SOURCE=source)[0] == 0]
            self.assertIn("mprotect", ErrorsTest.fault_sources)
        for source in ErrorsTest.fault_sources:
            self.environment["TEAMSTER_FAULT_SOURCE"] = source
            with self.subTest(source=source):
                yield source

    def expect(self, result, code, *patterns):
        """An exit code, and lines on stderr that match, in any order."""
        returned, out, err = result
        whole = f"exit code {returned}\n{out}\n{err}"
        self.assertEqual(returned, code, whole)
        for pattern in patterns:
            self.assertTrue(re.search(pattern, err, re.MULTILINE),
                            f"no line matches {pattern}:\n{whole}")


class Calls(ErrorsTest):
    """Calls of the C library on shared memory that is on another node."""

    def expect_calls(self, *words):
        for source in self.sources():
            for name in ("calls", "calls_fortified"):
                with self.subTest(program=name):
                    code, out, err = self.run_words("-n", 2, program(name),
                                                    *words)
                    self.assertEqual((code, out), (0, "as it should be\n"),
                                     err)

    def test_large_buffers_go_both_ways(self):
        for name in ("file", "pipe", "socket", "vector", "vector_pipe",
                     "vector_at", "vector_at64", "vector_message", "at", "at64",
                     "stream", "stream_pipe", "stream_unlocked", "message",
                     "message_to"):
            with self.subTest(call=name):
                self.expect_calls(name, 3 * 1024 * 1024 + 17)

    def test_shared_variables_go_both_ways(self):
        for name in ("file", "at", "at64", "stream", "stream_unlocked",
                     "message", "message_to"):
            with self.subTest(call=name):
                self.expect_calls("global_" + name, 150 * 1000)

    def test_small_buffers_go_both_ways(self):
        self.expect_calls("small")

    def test_strings_go_both_ways(self):
        self.expect_calls("strings")

    def test_names_and_descriptors_go_both_ways(self):
        self.expect_calls("datagrams")

    def test_counts_and_errors_are_those_of_the_call(self):
        self.expect_calls("count")

    def test_a_buffer_beyond_its_block_is_explained(self):
        for source in self.sources():
            result = self.run_words("-n", 2, program("calls"), "beyond")
            self.expect(
                result, 0,
                r"node 0 thread 0 \(main\): read\(\) called from run_beyond "
                r"\(calls\.c:\d+\) fails with EFAULT: its buffer reaches "
                r"0x\w+, just past the end of block 'short' of 8192 bytes, "
                r"allocated at .*calls\.c:\d+$",
                r"write\(\) called from run_beyond .* EFAULT",
                r"writev\(\) called from run_beyond .* EFAULT",
                r"fwrite\(\) called from run_beyond .* EFAULT",
                r"pread\(\) called from run_beyond .* in block 'short' of "
                r"8192 bytes after it was freed, allocated at .*, freed at ")
            self.assertEqual(result[1], "as it should be\n")


class Limits(ErrorsTest):
    """What the system refuses."""

    def test_too_few_kernel_threads_are_told(self):
        """Wherever the limit is met: at the launcher, at a node, in a node."""
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if os.getuid() != 0 or subprocess.run(
                [*nobody, "test", "-x", program("waits"), "-a", "-x", TEAMSTER],
                check=False).returncode != 0:
            self.skipTest("no other user can run the programs")
        for most in range(1, 14):
            run = subprocess.run(
                [*nobody, "prlimit", f"--nproc={most}", TEAMSTER, "run", "-n",
                 "2", "-w", "2", program("waits"), "nothing"], text=True,
                capture_output=True, env=self.environment, check=False,
                timeout=PATIENCE_S)
            with self.subTest(most=most):
                # It may be UCX that gets no kernel thread, and aborts.
                self.assertIn(run.returncode,
                              (0, 71, 134 if "ucs_async" in run.stderr else 71),
                              run.stderr)
                self.assertIn("ulimit -u" if run.returncode else "",
                              run.stderr)


    def test_too_few_descriptors_are_told(self):
        """Wherever they end, from where the launcher itself can be loaded."""
        codes = set()
        for most in range(4, 41):
            run = subprocess.run(
                ["prlimit", f"--nofile={most}", TEAMSTER, "run", "-n", "3",
                 program("waits"), "nothing"], text=True, capture_output=True,
                env=self.environment, check=False, timeout=PATIENCE_S)
            codes.add(run.returncode)
            with self.subTest(most=most):
                self.assertIn(run.returncode, (0, 71), run.stderr)
                self.assertRegex(
                    run.stderr,
                    "^$" if run.returncode == 0 else
                    r"^.*Too many open files; see ulimit -n.*\n$")
        self.assertEqual(codes, {0, 71})

    def test_a_program_that_leaves_no_descriptor_is_told(self):
        """Its node needs another one when all files are open that may be."""
        self.expect(self.run_words("-n", 5, program("ways"), "full"), 75,
                    r"^teamster: n1: node \d cannot be sent anything any more: "
                    r"Too many open files; see ulimit -n$",
                    r"^teamster run: node \d \(pid \d+\) is lost: ")


class Mistakes(ErrorsTest):
    """Errors that end the program, by a thread of node 1 and by main()."""

    def expect_mistake(self, name, code, *patterns):
        for source in self.sources():
            for n_nodes, who in ((2, r"node 1 thread 1 \(clumsy\)"),
                                 (1, r"node 0 thread 0 \(main\)")):
                with self.subTest(nodes=n_nodes):
                    result = self.run_words("-n", n_nodes,
                                            program("mistakes"), name)
                    self.expect(result, code,
                                *(p.replace("WHO", who) for p in patterns))
                    self.expect_nothing_left()

    def test_null_pointer(self):
        self.expect_mistake(
            "null_pointer", 139,
            r"WHO: segmentation fault: write to 0x0 \(a null pointer(; what "
            r"main\(\) puts into a variable after tm_init\(\) is seen here if "
            r"that is TM_SHARED)?\), in null_pointer \(mistakes\.c:\d+\)$",
            "killed by SIGSEGV")
        # The most common reason, on other nodes only.
        for n_nodes, has_advice in ((1, False), (2, True)):
            result = self.run_words("-n", n_nodes, program("mistakes"),
                                    "null_pointer")
            self.assertEqual("is TM_SHARED" in result[2], has_advice, result)

    def test_shared_variables_of_a_library(self):
        for name, where in (("in_library", r"\S*libtold_library\.so"),
                            ("in_program", "the program")):
            for n_nodes in (1, 2):
                self.expect(
                    self.run_words("-n", n_nodes, program(name)), 78,
                    r"^teamster: (n\d( n\d)*: )?" + where + r" has TM_SHARED "
                    r"variables, but tm_init\(\) is called from elsewhere: ")

    def test_wild_pointer(self):
        self.expect_mistake(
            "wild_pointer", 139,
            r"WHO: segmentation fault: read from 0x123456789000 \(not shared "
            r"memory\), in wild_pointer \(mistakes\.c:\d+\)$")

    def test_address_that_no_processor_has(self):
        self.expect_mistake(
            "unreal_pointer", 139,
            r"WHO: segmentation fault: an address that no processor has")

    def test_past_the_end_of_a_block(self):
        self.expect_mistake(
            "past_the_end", 139,
            r"WHO: segmentation fault: write to 0x\w+, 2296 bytes past the "
            r"end of block 'grid' of 10000 bytes, allocated at "
            r".*mistakes\.c:\d+, in past_the_end \(mistakes\.c:\d+\)$",
            "killed by SIGSEGV")

    def test_use_after_free(self):
        self.expect_mistake(
            "use_after_free", 139,
            r"WHO: segmentation fault: read from 0x\w+, in block 'old' of "
            r"20000 bytes after it was freed, allocated at "
            r".*mistakes\.c:\d+, freed at .*mistakes\.c:\d+, in "
            r"use_after_free \(mistakes\.c:\d+\)$")

    def test_write_to_what_is_read_only(self):
        for _ in self.sources():
            for name, who, where in (
                    ("read_only_reader", r"node 1 thread 1 \(clumsy\)",
                     "write_what_is_read_only"),
                    ("read_only_writer", r"node 0 thread 0 \(main\)",
                     "main_fills_again")):
                self.expect(
                    self.run_words("-n", 2, program("mistakes"), name), 139,
                    who + r": segmentation fault: write to 0x\w+, in read-only "
                    r"block 'table' of 20000 bytes, allocated at "
                    r".*mistakes\.c:\d+, in " + where +
                    r" \(mistakes\.c:\d+\)$")

    GUARDED = (r"in block 'guarded' of 12288 bytes, allocated at "
               r".*mistakes\.c:\d+, which is bound to ")
    NOT_HELD = r"the lock at 0x\w+: the thread does not hold it, in "

    def test_bound_data_without_their_mutex(self):
        self.expect_mistake(
            "without_the_mutex", 139,
            r"WHO: segmentation fault: write to 0x\w+, " + self.GUARDED +
            self.NOT_HELD + r"without_the_mutex \(mistakes\.c:\d+\)$",
            "killed by SIGSEGV")
        self.expect_mistake(
            "after_the_mutex", 139,
            r"WHO: segmentation fault: read from 0x\w+, " + self.GUARDED +
            self.NOT_HELD + r"after_the_mutex \(mistakes\.c:\d+\)$")
        self.expect_mistake(
            "others_data", 139,
            r"WHO: segmentation fault: write to 0x\w+, " + self.GUARDED +
            self.NOT_HELD + r"others_data \(mistakes\.c:\d+\)$")

    def test_bound_data_that_are_held_to_read(self):
        self.expect_mistake(
            "write_what_is_read", 139,
            r"WHO: segmentation fault: write to 0x\w+, in block 'table' of 4096 "
            r"bytes, allocated at .*mistakes\.c:\d+, which is bound to the lock "
            r"at 0x\w+: the thread holds it to read, in write_what_is_read "
            r"\(mistakes\.c:\d+\)$")

    def test_data_that_are_bound_to_no_mutex(self):
        self.expect_mistake(
            "bound_to_nothing", 139,
            r"WHO: segmentation fault: write to 0x\w+, " + self.GUARDED +
            r"no lock, in bound_to_nothing \(mistakes\.c:\d+\)$")

    def test_fault_in_the_c_library_names_the_caller(self):
        self.expect_mistake(
            "in_the_library", 139,
            r"WHO: .* past the end of block 'grid' .*, in .*, called from "
            r"in_the_library \(mistakes\.c:\d+\)$")

    def test_stack_overflow(self):
        for source in self.sources():
            self.expect(
                self.run_words("-n", 2, program("mistakes"), "stack_overflow"),
                139, r"node 1 thread 1 \(clumsy\): overflowed its stack of "
                r"256 KiB; use --stack-size, in .*search \(mistakes\.c:\d+\)$")
            self.expect(
                self.run_words("-n", 1, program("mistakes"), "stack_overflow"),
                139, r"node 0 thread 0 \(main\): overflowed its stack; ulimit "
                r"-s gives main\(\) more")

    def test_abort(self):
        self.expect_mistake(
            "giving_up", 134,
            r"WHO: Aborted, in .*, called from giving_up \(mistakes\.c:\d+\)$")

    def test_exit_in_a_thread(self):
        for _ in self.sources():
            for node in (0, 1):
                self.expect(
                    self.run_words("-n", 2, program("mistakes"), "leaving",
                                   node), 5,
                    rf"node {node} thread 1 \(clumsy\): exit\(5\) in leaving "
                    r"\(mistakes\.c:\d+\) ends the whole program, not only the "
                    r"thread \(tm_thread_exit\(\) does that\)$")
        for words in (("-n", 1, program("mistakes"), "leaving"),
                      ("-n", 2, program("mistakes"), "leaving_in_peace", 0),
                      ("-n", 2, program("mistakes"), "leaving_in_peace", 1)):
            code, _, err = self.run_words(*words) # main(), or a success
            self.assertEqual((code, err), (0 if "peace" in words[3] else 5, ""))

    def test_division_by_zero(self):
        self.expect_mistake(
            "division", 136,
            r"WHO: Floating point exception, in division \(mistakes\.c:\d+\)$")

    def test_illegal_instruction(self):
        self.expect_mistake(
            "illegal_instruction", 132,
            r"WHO: Illegal instruction, in illegal_instruction ")

    def test_handler_of_the_program_survives(self):
        self.expect_mistake("own_handler", 5, "^the program's own handler$")

    # The name is known to the node of the thread: with two nodes another one may
    # be the first to notice, which depends on the mutex's address.
    UNLOCK = (r"error of the program: thread \d+( \(\w+\))? unlocks the mutex at "
              r"0x\w+ which ")

    def test_mutex_that_is_not_held(self):
        self.expect_mistake(
            "wrong_unlock", 70, self.UNLOCK + r"nobody holds, in wrong_unlock "
            r"\(mistakes\.c:\d+\); nobody has locked it yet$")

    def test_mutex_unlocked_twice(self):
        self.expect_mistake(
            "double_unlock", 70, self.UNLOCK + r"nobody holds, in "
            r"double_unlock \(mistakes\.c:(\d+)\); thread \d+ unlocked it "
            r"last, in double_unlock \(mistakes\.c:(?!\2\b)\d+\)$")

    def test_call_of_a_kernel_thread(self):
        self.expect_mistake(
            "kernel_thread", 70, r"tm_mutex_lock\(\) outside a Teamster thread: "
            r"kernel threads made with pthread_create\(\) cannot call it$")

    def expect_mistake_of_two(self, name, code, *patterns):
        for source in self.sources():
            result = self.run_words("-n", 2, program("mistakes"), name)
            self.expect(result, code, *patterns)

    def test_mutex_that_another_thread_holds(self):
        self.expect_mistake_of_two(
            "others_mutex", 70, self.UNLOCK + r"thread 0 holds, in others_mutex "
            r"\(mistakes\.c:\d+\); thread 0 locked it in main_locks "
            r"\(mistakes\.c:\d+\)$")

    RWLOCK = (r"error of the program: thread \d+( \(\w+\))? unlocks the "
              r"reader-writer lock at 0x\w+ which ")

    def test_reader_writer_lock_that_is_not_held(self):
        self.expect_mistake(
            "wrong_rwlock", 70, self.RWLOCK + r"nobody holds, in wrong_rwlock "
            r"\(mistakes\.c:\d+\)$")

    def test_reader_writer_lock_that_another_thread_holds(self):
        self.expect_mistake_of_two(
            "others_rwlock", 70, self.RWLOCK + r"it does not hold, in "
            r"others_rwlock \(mistakes\.c:\d+\); thread 0 locked it to read in "
            r"main_reads \(mistakes\.c:\d+\)$")

    def test_barrier_that_was_not_initialised(self):
        self.expect_mistake(
            "no_barrier", 70,
            r"error of the program: thread \d+.* waits at the barrier at "
            r"0x\w+ which was never initialised, in no_barrier "
            r"\(mistakes\.c:\d+\)$")

    def test_barrier_with_too_few_threads(self):
        self.expect_mistake(
            "too_few", 70,
            r"error of the program: the barrier at 0x\w+ counts 3 threads, "
            r"but only 1 have arrived and no thread is left that could; the "
            r"count is given in too_few \(mistakes\.c:(\d+)\), the first waits "
            r"in too_few \(mistakes\.c:(?!\1\b)\d+\)$")

    def test_barrier_with_different_calls(self):
        self.expect_mistake_of_two(
            "mixed_calls", 70,
            r"threads [01] and [01] meet at the barrier at 0x\w+ by different "
            r"calls, (tm_barrier_wait and tm_iteration_end, in main_waits "
            r"\(mistakes\.c:\d+\) and in mixed_calls|tm_iteration_end and "
            r"tm_barrier_wait, in mixed_calls \(mistakes\.c:\d+\) and in "
            r"main_waits) \(mistakes\.c:\d+\)$")

    def test_barrier_with_another_count(self):
        for source in self.sources():
            result = self.run_words("-n", 2, program("mistakes"),
                                    "other_count")
            self.expect(
                result, 0,
                r"thread 0 gives the barrier at 0x\w+ the count [23], in "
                r"main_counts \(mistakes\.c:(\d+)\), while threads wait there "
                r"under the count [23], given in main_\w+ "
                r"\(mistakes\.c:(?!\1\b)\d+\)$")
            self.assertEqual(result[1], "tm_barrier_init() says: the barrier "
                             "has another count\n")

    def expect_status(self, name, out, *patterns):
        for source in self.sources():
            for n_nodes in (1, 2):
                result = self.run_words("-n", n_nodes, program("mistakes"),
                                        name)
                self.expect(result, 0, *patterns)
                self.assertEqual(result[1], out)

    def test_double_free(self):
        self.expect_status(
            "double_free",
            "tm_free() says: the shared block was freed before\n",
            r"tm_free\(0x\w+\) at .*mistakes\.c:\d+: freed before at "
            r".*mistakes\.c:\d+, allocated at .*mistakes\.c:\d+$")

    def expect_double_free(self, name, nodes):
        result = self.run_words("-n", nodes, program("mistakes"), name)
        self.expect(
            result, 0,
            r"tm_free\(0x\w+\) at .*mistakes\.c:\d+: freed before at "
            r".*mistakes\.c:\d+, allocated at .*mistakes\.c:\d+$")
        self.assertEqual(result[1], "tm_free() says: the shared block was "
                         "freed before\n")

    def test_double_free_of_a_small_block(self):
        """By two nodes in turn, of which one holds it, or by one."""
        for _ in self.sources():
            for nodes in (2, 3):
                self.expect_double_free("double_free_small", nodes)
                self.expect_double_free("double_free_small_here", nodes)
                self.expect_double_free("double_free_small_later", nodes)
        self.expect_double_free("double_free_small_here", 1)
        for protocol in ("sequential", "implicit", "lazy-release", "homeless"):
            self.environment["TEAMSTER_PROTOCOL"] = protocol
            self.expect_double_free("double_free_small", 2)
            self.expect_double_free("double_free_small_later", 2)

    def test_double_free_of_a_block_whose_slab_is_gone(self):
        for _ in self.sources():
            for nodes in (2, 3):
                self.expect_double_free("double_free_gone", nodes)

    def test_free_inside_a_small_block(self):
        self.expect_status(
            "wrong_free_small",
            "tm_free() says: the address is not the start of a shared block\n",
            r"tm_free\(0x\w+\) at .*mistakes\.c:\d+: the address is not")

    def test_free_of_what_is_no_block(self):
        self.expect_status(
            "wrong_free",
            "tm_free() says: the address is not the start of a shared block\n",
            r"tm_free\(0x\w+\) at .*mistakes\.c:\d+: the address is not")

    def test_overrun_is_found_by_free(self):
        text = ("tm_free() says: something wrote past the end of the shared "
                "block\n")
        for source in self.sources():
            for n_nodes, who in ((2, r"node 1 thread 1 \(clumsy\)"),
                                 (1, r"node 0 thread 0 \(main\)")):
                result = self.run_words("-n", n_nodes, program("mistakes"),
                                        "overrun")
                self.expect(
                    result, 0, who + r": tm_free\(0x\w+\) at .*mistakes\.c:\d+: "
                    r"something wrote past the end of block 'tiny' of 100 bytes, "
                    r"allocated at .*mistakes\.c:\d+: byte 103 has changed$",
                    who + r": tm_free\(0x\w+\) at .*mistakes\.c:\d+: "
                    r"something wrote past the end of block 'grid' of 10000 "
                    r"bytes, allocated at .*mistakes\.c:\d+: byte 10000 has "
                    r"changed$")
                self.assertEqual(result[1], 2 * text)


class Private(ErrorsTest):
    """Addresses of memory that each node has for itself, given to a thread of
    another node; and what only looks like one."""

    GIVES = (r"warning: node 0 thread 0 \(main\): tm_thread_create\(\) called from "
             r"start \(private\.c:\d+\) gives a thread that may run on another "
             r"node the address of ")

    def run_private(self, *words, nodes=2, binary="private"):
        return self.run_words("-n", nodes, program(binary), *words)

    def test_access_to_a_local_variable_of_main_ends_the_run(self):
        for _ in self.sources():
            for name, verb in (("read_local", "read from"),
                               ("write_local", "write to")):
                self.expect(
                    self.run_private(name), 139,
                    self.GIVES + r"0x\w+, a local variable of main\(\), ",
                    r"node 1 thread 1: segmentation fault: " + verb +
                    r" 0x\w+, in main\(\)'s stack, which only node 0 has; put "
                    r"it in TM_SHARED or tm_alloc\(\) memory, or pass it by "
                    r"value, in \w+_it \(private\.c:\d+\)$",
                    "killed by SIGSEGV")

    def test_variables_may_be_larger_on_any_node(self):
        # What differs lies above the stack of main().
        for size in (1, 3000, 20000):
            self.expect(self.run_private("read_local", "x" * size), 139,
                        r"in main\(\)'s stack, which only node 0 has")

    def expect_warnings(self, *rows, words=()):
        for name, what in rows:
            with self.subTest(given=name):
                result = self.run_private(name, *words)
                self.expect(result, 0, what)
                self.assertEqual(result[2].count("warning"), 1, result[2])

    def test_memory_of_one_node_is_told_once(self):
        self.expect_warnings(
            ("local", self.GIVES + r"0x\w+, a local variable of main\(\), which "
             r"no other node has: pass it by value, or put it in TM_SHARED or "
             r"tm_alloc\(\) memory$"),
            ("heap", self.GIVES + r"0x\w+, malloc\(\)ed memory, which no other "
             r"node has: use tm_alloc\(\)$"),
            ("large_heap", r"0x\w+, malloc\(\)ed memory"),
            ("stack", r"node 1 thread \d+: tm_thread_create\(\) .* the address "
             r"of 0x\w+, a local variable of a thread, which is only where that "
             r"thread is: pass it by value, or put it in tm_alloc\(\) memory$"))

    def test_variables_of_each_node_are_named(self):
        self.expect_warnings(
            ("changed_variable", self.GIVES + r"'changing' \+ 32, a variable of "
             r"which each node has its own: write TM_SHARED before it, or pass "
             r"it by value$"),
            ("place_for_a_result", r"the address of 'result', a variable of "),
            ("place_far_in", r"the address of 'results' \+ 792000, a variable of "),
            ("static_local", r"the address of 'counter', a variable of "))

    def test_a_thread_that_may_start_elsewhere_counts(self):
        self.expect_warnings(("heap", self.GIVES), words=["free"])

    def expect_silence(self, name, *words, **how):
        with self.subTest(given=name):
            result = self.run_private(name, *words, **how)
            self.expect(result, 0)
            self.assertEqual(result[2], "")

    def test_what_all_nodes_have_is_no_matter(self):
        for name in ("null", "integer", "negative", "bits_of_a_double",
                     "shared_variable", "block", "function", "library_function",
                     "constant", "string", "stream", "table", "early", "barrier",
                     "mutex"):
            self.expect_silence(name)

    def test_what_may_be_a_number_is_no_matter(self):
        self.expect_silence("place_for_a_result", binary="private_low")
        self.expect_silence("changed_variable", binary="private_low")

    def test_a_thread_that_starts_here_is_no_matter(self):
        self.expect_silence("heap", "home")
        self.expect_silence("changed_variable", "home")
        self.expect_silence("heap", nodes=1)


class Races(ErrorsTest):
    """Threads of two nodes that write the same bytes, and such that do not."""

    ORDERED = ("mutex", "barrier", "condition", "semaphore", "atomic",
               "sequential", "moving", "thread", "alloc", "beside")

    def run_races(self, what, *words, nodes=2):
        return self.run_words("-n", nodes, *words, program("races"), what)

    def expect_race(self, what, where, words=(), code=0, nodes=2,
                    threads=r"thread [12] of node [01]"):
        """One race, and of which threads."""
        for _ in self.sources():
            result = self.run_races(what, "--race-check", *words, nodes=nodes)
            self.expect(
                result, code,
                rf"n0: data race: {threads} and {threads} both wrote "
                rf"\d bytes? at 0x\w+, {where}, with no lock or barrier "
                r"between",
                "race check: 1 data race between nodes; the threads named "
                "are those of their nodes that wrote the page first")
            self.assertEqual(result[2].count("data race: "), 1, result[2])

    def test_a_block_is_told_with_its_place(self):
        self.expect_race("racy-block",
                         r"offset 16 of block 'grid' of 4096 bytes, allocated "
                         r"at .*races\.c:\d+")

    def test_a_small_block_is_told_with_its_place(self):
        self.expect_race("racy-small",
                         r"offset 8 of block 'few' of 32 bytes, allocated at "
                         r".*races\.c:\d+")

    def test_a_variable_is_told_by_its_name(self):
        self.expect_race("racy-variable", "offset 24 of variable 'counter'")

    def test_a_lock_that_one_thread_forgets(self):
        self.expect_race("racy-mutex", "offset 16 of block 'grid' of .*")

    def test_main_is_one_of_them(self):
        self.expect_race("racy-main", "offset 16 of block 'grid' of .*",
                         threads=r"thread (0 \(main\) of node 0|2 of node 1)")

    def test_the_iteration_is_told(self):
        for _ in self.sources():
            self.expect(self.run_races("racy-iteration", "--race-check"), 0,
                        r"no lock or barrier between \(iteration [567]\)$")

    def test_many_are_counted(self):
        for _ in self.sources():
            result = self.run_races("racy-many", "--race-check")
            self.expect(result, 0, "more data races are only counted$",
                        "race check: 64 data races between nodes")
            self.assertEqual(result[2].count("data race: "), 20)

    def test_three_threads_are_told_once(self):
        self.expect_race("racy-block", "offset 16 of block 'grid' of .*",
                         threads=r"thread [123] of node [012]", nodes=3)

    def test_strict_changes_the_exit_code(self):
        self.expect_race("racy-block", ".*", words=["--strict"], code=1)
        result = self.run_races("racy-block", "--strict")
        self.expect(result, 0)  # nobody looks

    def test_who_does_not_ask_is_told_nothing(self):
        code, _, err = self.run_races("racy-block")
        self.assertEqual((code, err), (0, ""))

    def test_what_is_ordered_is_no_race(self):
        for k, _ in enumerate(self.sources()):
            for i, what in enumerate(self.ORDERED):
                if i // 2 % 2 != k:
                    continue
                with self.subTest(what=what):
                    result = self.run_races(what, "--race-check", "--strict",
                                            nodes=2 + i % 2)
                    self.expect(result, 0,
                                "race check: no data race between nodes$")
                    self.assertNotIn("data race: ", result[2])

    def test_a_cell_that_is_given_out_again_keeps_what_is_written(self):
        for _ in self.sources():
            self.expect(self.run_races("cell"), 0)
            self.expect(self.run_races("cell", "--race-check", "--strict"), 0)

    def test_sequential_makes_no_diffs(self):
        result = self.run_races("mutex", "--race-check", "--protocol",
                                "sequential")
        self.expect(result, 64, "^teamster run: --race-check compares diffs, "
                    "which --protocol=sequential does not make; leave one of "
                    "them out$")

    def test_diffs_that_stay_are_not_compared(self):
        result = self.run_races("mutex", "--race-check", "--protocol", "homeless")
        self.expect(result, 64, "^teamster run: --race-check compares diffs, which "
                    "--protocol=homeless does not make for a page's owner; leave "
                    "one of them out$")

    def test_some_protocols_make_no_diffs_of_what_owners_write(self):
        for protocol in "implicit", "lazy-release":
            result = self.run_races("mutex", "--race-check", "--protocol", protocol)
            self.expect(result, 64, "^teamster run: --race-check compares diffs, "
                        f"which --protocol={protocol} does not make of what a "
                        "page's owner writes; leave one of them out$")


class Deadlocks(ErrorsTest):
    """Threads that wait for each other, and threads that only seem to."""

    def setUp(self):
        super().setUp()
        self.environment["TEAMSTER_DEADLOCK_AFTER"] = "1"

    def test_mutexes_taken_in_opposite_orders(self):
        for source in self.sources():
            result = self.run_words("-n", 2, program("waits"), "crossed")
            self.expect(
                result, 124,
                "deadlock: all threads have been waiting for 1 s$",
                r"node 0: thread \d+ \(forwards\) waits for mutex 0x\w+.*, in "
                r"forwards \(waits\.c:\d+\)$",
                r"node 1: thread \d+ \(backwards\) waits for mutex 0x\w+.*, "
                r"in backwards \(waits\.c:\d+\)$",
                r"node 0: thread 0 \(main\) waits for the end of thread \d+, "
                r"in join_two \(waits\.c:\d+\)$",
                "--deadlock=warn lets it go on$")
            # Each says which of the two mutexes it holds.
            for holder, waiter in (("forwards", "backwards"),
                                   ("backwards", "forwards")):
                held, = re.findall(
                    rf"\({holder}\) holds mutex (0x\w+)", result[2])
                self.assertIn(f"({waiter}) waits for mutex {held}", result[2])

    def test_reader_writer_locks_taken_in_opposite_orders(self):
        self.expect(
            self.run_words("-n", 2, program("waits"), "books"), 124,
            r"node 0: thread \d+ \(reader\) waits for reader-writer lock 0x\w+ "
            r"to write, in read_and_write \(waits\.c:\d+\)$",
            r"node 1: thread \d+ \(writer\) waits for reader-writer lock 0x\w+ "
            r"to write, in write_and_read \(waits\.c:\d+\)$",
            r"node \d: thread \d+.* holds reader-writer lock 0x\w+ to read, "
            r"which others wait for",
            r"node \d: thread \d+.* holds reader-writer lock 0x\w+ to write, "
            r"which others wait for")

    def test_semaphore_that_nobody_posts(self):
        for n_nodes in (1, 2):
            self.expect(
                self.run_words("-n", n_nodes, program("waits"), "forgotten"),
                124, r"thread 0 \(main\) waits for the end of thread 1, in "
                r"main \(waits\.c:\d+\)$",
                r"thread 1 \(waiter\) waits for semaphore 0x\w+, in "
                r"wait_for_post \(waits\.c:\d+\)$")

    def test_one_at_a_barrier_and_one_that_cannot_come(self):
        for n_nodes in (1, 2, 3):
            self.expect(
                self.run_words("-n", n_nodes, program("waits"), "apart"),
                124, "deadlock: all threads have been waiting for 1 s$",
                r"thread [12] \(waiter\) waits for semaphore 0x\w+, in "
                r"wait_for_post \(waits\.c:\d+\)$",
                r"thread [12] \(other\) waits at barrier 0x\w+, in "
                r"wait_for_another \(waits\.c:\d+\)$")

    def read_until(self, stream, text):
        for line in stream:
            if text in line:
                return
        self.fail(f"the run has ended without '{text}'")

    def test_a_warning_lets_the_run_go_on(self):
        process = self.start("-n", 2, "--deadlock=warn", program("waits"),
                             "crossed")
        self.read_until(process.stderr, "deadlock: all threads")
        time.sleep(3)  # in which it must not end, nor say it again
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        code, _, err = self.finish(process)
        self.assertEqual(code, 143, err)
        self.assertNotIn("deadlock", err)

    def expect_no_deadlock(self, process, given=None):
        code, out, err = self.finish(process, given)
        self.assertEqual((code, out), (0, "done\n"), err)
        self.assertNotIn("deadlock", err)

    def start_waits(self, *words, **options):
        return self.start("-n", 2, program("waits"), *words, **options)

    def test_computing_is_no_deadlock(self):
        self.expect_no_deadlock(self.start_waits("computing", 4))

    def test_sleeping_or_reading_in_the_kernel_is_no_deadlock(self):
        """Several runs at once: all of them only wait."""
        reading = self.start_waits("reading", stdin=subprocess.PIPE)
        others = {name: self.start_waits(name, 4)
                  for name in ("dozing", "sleeping", "late")}
        time.sleep(4)  # main() reads meanwhile
        with self.subTest(who="reading"):
            self.expect_no_deadlock(reading, "a line\n")
        for name, process in others.items():
            with self.subTest(who=name):
                self.expect_no_deadlock(process)

    def test_off_says_nothing(self):
        process = self.start("-n", 2, "--deadlock=off", program("waits"),
                             "crossed")
        time.sleep(5)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        code, _, err = self.finish(process)
        self.assertEqual(code, 143, err)
        self.assertNotIn("deadlock", err)


class Cores(ErrorsTest):
    """Core files, if the kernel puts them where the program runs."""

    def setUp(self):
        super().setUp()
        with open("/proc/sys/kernel/core_pattern") as file:
            pattern = file.read().strip()
        if pattern.startswith("|"):
            self.skipTest(f"core files are piped: {pattern}")
        if "/" in pattern:
            self.skipTest(f"core files go elsewhere: {pattern}")
        if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
            self.skipTest("core files are forbidden: ulimit -H -c is 0")

    def test_an_error_leaves_a_core_file_with_what_is_shared(self):
        for source in self.sources():
            for n_nodes in 1, 2:
                result = self.run_words("-n", n_nodes, program("mistakes"),
                                        "null_pointer", cores=True)
                self.expect(result, 139, r"died: killed by SIGSEGV \(core file "
                            r"written\)")
                name, = os.listdir(self.folder)
                path = os.path.join(self.folder, name)
                shared = shared_in_core(path)
                # A sparse file: what is not used takes no room.
                self.assertLess(512 * os.stat(path).st_blocks, 100 << 20)
                os.remove(path)
                if n_nodes == 1:  # the pages of the other node are not here
                    self.assertIn(b"as in the core file", shared)


class Handlers(ErrorsTest):
    """The program's own handlers of SIGSEGV and SIGBUS, and blocked signals."""

    # AddressSanitizer does not know the stack that siglongjmp() leaves.
    ADVICE = re.compile(r"^==\d+==WARNING: ASan is ignoring requested .*\n"
                        r"False positive .*\nFor details see .*\n", re.M)

    def expect_handler(self, name, code=0, out="as it should be\n", err=None):
        for source in self.sources():
            for n_nodes in (1, 2):
                with self.subTest(nodes=n_nodes):
                    result = self.run_words("-n", n_nodes, program("handlers"),
                                            name)
                    self.expect(result, code, *([err] if err else []))
                    self.assertEqual(result[1], out, result)
                    if err is None:
                        self.assertEqual(self.ADVICE.sub("", result[2]), "")

    def test_a_handler_gets_real_errors_and_faults_go_on(self):
        self.expect_handler("recover")

    def test_signal_does_the_same(self):
        self.expect_handler("plain")
        self.expect_handler("once")

    def test_a_handler_gets_errors_in_shared_memory(self):
        self.expect_handler(
            "beyond", err=r"segmentation fault: write to 0x\w+, 2296 bytes past "
            r"the end of block 'grid'")

    def test_a_handler_may_use_shared_memory(self):
        self.expect_handler("touch")

    def test_a_handler_from_before_the_start_is_kept(self):
        self.expect_handler("before")

    def test_actions_are_told(self):
        self.expect_handler("tell")

    def test_signals_that_are_sent_can_be_ignored(self):
        self.expect_handler("ignore")

    def test_the_default_action_can_be_restored(self):
        self.expect_handler(
            "restore", 139, "", r"segmentation fault: write to 0x0 \(a null "
            r"pointer.*\), in make_mistake \(handlers\.c:\d+\)$")

    def test_a_blocked_signal_does_not_stop_faults(self):
        self.expect_handler("block")
        self.expect_handler("block_before")
        self.expect_handler("mask_of_handler")


class Sanitized(ErrorsTest):
    """A program with AddressSanitizer, whose library may be without."""

    def run_program(self, n_nodes, what):
        return self.run_words("-n", n_nodes, "--shuffle=3", program("sanitized"),
                              what)

    def test_threads_move_and_nothing_is_reported(self):
        for source in self.sources():
            for n_nodes in (1, 3):
                with self.subTest(nodes=n_nodes):
                    result = self.run_program(n_nodes, "moves")
                    self.expect(result, 0)
                    self.assertEqual(result[1:], ("as it should be\n", ""))

    def test_mistakes_are_found_wherever_threads_are(self):
        for what in ("heap", "stack"):
            for n_nodes in (1, 3):
                with self.subTest(what=what, nodes=n_nodes):
                    code, out, err = self.run_program(n_nodes, what)
                    self.assertNotEqual(code, 0, out + err)
                    self.assertRegex(
                        err, rf"AddressSanitizer: {what}-buffer-overflow")
                    self.assertRegex(err, r"in err .*sanitized\.c:\d+")


class Children(ErrorsTest):
    """Processes and signals of a thread's own."""

    def expect_well(self, name, *patterns):
        for source in self.sources():
            for n_nodes in (1, 2):
                for where in ([], ["main"]):
                    with self.subTest(nodes=n_nodes, where=where):
                        result = self.run_words(
                            "-n", n_nodes, program("children"), name, *where)
                        self.expect(result, 0, *patterns)
                        self.assertEqual(result[1], "as it should be\n")

    def test_other_programs_can_be_run(self):
        self.expect_well("programs")

    def test_calls_in_a_child_are_refused(self):
        self.expect_well(
            "calls_in_child",
            r"tm_mutex_lock\(\) in a child of fork\(\): it is no part of the "
            "cluster",
            r"tm_alloc\(\) in a child of fork\(\)")

    def test_shared_memory_in_a_child_is_explained(self):
        self.expect_well(
            "touch_in_child",
            r"a child of fork\(\): segmentation fault: read from 0x\w+, in "
            r"shared memory, which a child of fork\(\) does not have.*, in "
            r"touch_in_child \(children\.c:\d+\)$")

    def test_a_child_that_fails_is_the_program_s_affair(self):
        self.expect_well("child_that_fails", "a child of fork.*: Aborted")

    def test_a_child_can_end_by_returning(self):
        self.expect_well("fork_and_return")

    def test_signals_are_left_to_the_program(self):
        self.expect_well("signals")

    def test_status_on_request(self):
        process = self.start("-n", 2, program("children"), "dozing")
        self.assertEqual(process.stdout.readline(), "dozing\n")
        process.send_signal(signal.SIGUSR1)
        lines = [process.stderr.readline() for _ in range(3)]
        process.send_signal(signal.SIGTERM)
        code, _, err = self.finish(process)
        self.assertEqual(code, 143, err)
        for node in (0, 1):
            self.assertTrue(any(f"node {node}" in line for line in lines),
                            f"{lines} {err}")


if __name__ == "__main__":
    main = unittest.main(argv=sys.argv[:1] + sys.argv[3:], exit=False)
    if main.result.skipped and len(main.result.skipped) == main.result.testsRun:
        print("\n".join(reason for _, reason in main.result.skipped))
        sys.exit(77)
    sys.exit(not main.result.wasSuccessful())
