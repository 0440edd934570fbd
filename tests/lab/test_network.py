#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The network between the hosts of a lab: strangers on it, its ports, its cables.

    test_network.py TEST --build DIR
"""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

import lab
import test_runs

PORT = 20000
KEY_SIZE = 32  # BOOT_KEY_SIZE
TCP_RTO_MAX_MS = 44
STRANGER = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        "stranger.py")
SLOW_S = 3 * test_runs.SLOWDOWN  # until the last node begins


def parts_of_memory(pid, memory):
    """All of a process that can be read and written, and whether it is left out of core
    files (dd of VmFlags)."""
    first = last = 0
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text(
            encoding="ascii").splitlines():
        words = line.split()
        if re.match(r"[0-9a-f]+-[0-9a-f]+$", words[0]):
            first, last = (int(end, 16) for end in words[0].split("-"))
        elif words[0] == "VmFlags:" and "wr" in words[1:]:
            with contextlib.suppress(OSError):
                memory.seek(first)
                yield "dd" in words[1:], memory.read(last - first)


def all_of_memory(pid):
    """The same as a list."""
    with open(f"/proc/{pid}/mem", "rb") as memory:
        return list(parts_of_memory(pid, memory))


class Tests(test_runs.Tests):
    """With what is done to the network."""

    @contextlib.contextmanager
    def stranger(self, bed, host, *words):
        """One at work. Yields its lines, which are complete behind the block."""
        lines = []
        process = subprocess.Popen(
            bed.command_on(host, sys.executable, STRANGER, *map(str, words)),
            stdout=subprocess.PIPE, text=True)
        try:
            yield lines
        finally:
            for pid, text in bed.processes(host).items():
                if STRANGER in text:
                    os.kill(pid, signal.SIGKILL)
            lines += process.communicate()[0].splitlines()

    def the_launcher_has_one_copy_of_the_key(self):
        """In memory that no core file has. It has been sent to every host by then, and
        agents, which pass it on, have none."""
        with lab.lab(n_hosts=3) as bed:
            run = self.long_run(bed)
            pid = run.launcher()
            parts = all_of_memory(pid)
            secrets = [content for is_secret, content in parts if is_secret]
            self.expect(secrets, "there is memory for secrets", str(len(parts)))
            key = secrets[0][:KEY_SIZE]
            self.expect(len(set(key)) > 8, "a key", key.hex())
            found = [content.count(key) for is_secret, content in parts]
            self.expect(sum(found) == 1, "one copy", str(found))
            for host in ("n2", "n3"):
                found = [content.count(key)
                         for _, content in all_of_memory(bed.agent(host))]
                self.expect(found and sum(found) == 0,
                            f"no copy at the agent of {host}", str(found))
            os.kill(pid, signal.SIGTERM)
            run.finish(128 + signal.SIGTERM)

    def slow_program(self, bed):
        """It begins SLOW_S later on n3: so long the nodes before it listen."""
        program = "/run/program"  # each host has a /run of its own
        for host in ("n1", "n2", "n3"):
            wait = f"sleep {SLOW_S}; " if host == "n3" else ""
            bed.inside(host, "cp", self.app("jacobi"), "/run/jacobi")
            bed.inside(host, "sh", "-c", f"echo '#!/bin/sh\n{wait}exec "
                       f"/run/jacobi \"$@\"' > {program}; "
                       f"chmod +x {program}")
        return program

    def jacobi(self, bed, *options, program=None):
        return self.run(bed, "-H", "n1,n2,n3", "--stats", "--verbose",
                        f"--port-range={PORT}-{PORT}", *options,
                        program or self.app("jacobi"), "--verify",
                        "--size=200", "--iterations=30", "--threads=8")

    def listens(self, bed, host):
        """Is there a listener on the port?"""
        own = f":{PORT:04X} 00000000:0000 0A"  # as /proc/net/tcp has it
        return own in bed.inside(host, "cat", "/proc/net/tcp")

    # ---- strangers

    def strangers_change_nothing(self):
        with lab.lab(n_hosts=4) as bed:
            file = os.path.join(bed.folder, "recording")
            with self.stranger(bed, "n2", "record", PORT, file):
                lab.wait_until(lambda: self.listens_to_card(bed, "n2"),
                               "nobody records")
                right = self.checksum(self.jacobi(bed).finish(0, ["n2"]))
            recorded = json.loads(pathlib.Path(file).read_text())
            self.expect(recorded and all(text.startswith("544d4831")
                                         for text in recorded),
                        "a recording begins with a hello", str(recorded)[:300])
            with self.stranger(bed, "n4", "attack", "n1", PORT, file) as first, \
                    self.stranger(bed, "n4", "attack", "n2", PORT,
                                  file) as second:
                run = self.jacobi(bed, program=self.slow_program(bed))
                output = run.finish(0, ["n4"])
            self.expect(self.checksum(output) == right, right, output)
            for node, lines in ((0, first), (1, second)):
                self.expect_refused(node, lines, output)

    def expect_refused(self, node, lines, output):
        said = json.loads(lines[-1]) if lines else {}
        for name in ("ucx", "noise", "hello", "cut", "nothing", "replay"):
            self.expect(said.get(name, 0) > 0, f"{name} was said", str(said))
        self.expect(said["answered"] == 0, "nobody answers", str(said))
        match = re.search(rf"node {node} refused (\d+) messages and (\d+) "
                          "connections", output)
        self.expect(match, f"node {node} has counted", output)
        self.expect(match.group(1) == "0" and int(match.group(2)) > 5,
                    "as many as were refused", output)
        for why in ("it does not begin as nodes do",
                    "it has not the key of this run"):
            self.expect(why in output, why, output)

    def listens_to_card(self, bed, host):
        return len(bed.inside(host, "cat", "/proc/net/packet")
                   .splitlines()) > 1

    # ---- ports

    def nodes_listen_only_until_all_are_there(self):
        with lab.lab(n_hosts=3) as bed:
            run = self.long_run(bed, "n1,n2,n3", "n1",
                                f"--port-range={PORT}-{PORT}")
            for host in ("n1", "n2", "n3"):
                self.expect(not self.listens(bed, host), "nobody listens",
                            bed.inside(host, "cat", "/proc/net/tcp"))
            os.kill(run.launcher(), signal.SIGTERM)
            run.finish(128 + signal.SIGTERM)
            output = self.run(bed, "-H", "localhost:3",
                              f"--port-range={PORT}-{PORT}",
                              self.app("hello")).finish()
            self.expect("nodes: 3" in output, "one port, one host", output)

    def ports_in_use_are_named(self):
        with lab.lab(n_hosts=2) as bed:
            code = (f"import socket, time; "
                    f"it = socket.create_server(('', {PORT})); "
                    f"print(1, flush=True); time.sleep(1000)")
            other = subprocess.Popen(
                bed.command_on("n2", sys.executable, "-c", code),
                stdout=subprocess.PIPE, text=True)
            try:
                other.stdout.readline()
                output = self.run(
                    bed, "-H", "n1,n2", f"--port-range={PORT}-{PORT}",
                    self.app("hello")).finish(test_runs.UNREACHABLE, ["n2"])
                self.expect(f"cannot listen on {lab.SUBNET}.2:{PORT}: Address "
                            "already in use" in output, "the port", output)
                output = self.run(
                    bed, "-H", "n1,n2", f"--port-range={PORT}-{PORT + 1}",
                    self.app("hello")).finish(0, ["n2"])
                self.expect("nodes: 2" in output, "the next one", output)
            finally:
                for pid, text in bed.processes("n2").items():
                    if "create_server" in text:
                        os.kill(pid, signal.SIGKILL)
                other.communicate()

    def an_open_network_gives_the_same_and_warns(self):
        with lab.lab(n_hosts=3) as bed:
            right = self.checksum(self.jacobi(bed).finish())
            output = self.jacobi(bed, "--trust-network").finish()
            self.expect(self.checksum(output) == right, right, output)
            self.expect(output.count("warning: --trust-network") == 1,
                        "one warning", output)

    # ---- cables

    def a_cut_of_three_seconds_does_no_harm(self):
        with socket.socket() as probe:
            try:
                probe.setsockopt(socket.IPPROTO_TCP, TCP_RTO_MAX_MS, 1000)
            except OSError as error:
                raise lab.Skip("TCP waits for long here before it tries "
                               "again (Linux 6.15 can be told)") from error
        with lab.lab(n_hosts=3) as bed:
            run = self.long_run(bed)
            for host in ("n3", "n2"):
                bed.cut(host)
                time.sleep(3.5)
                bed.mend(host)
                self.expect_running(run, 4)
            self.expect_alive(run, 0)

    def a_killed_node_is_seen_by_the_others_at_once(self):
        """Also where the one who started it says nothing."""
        with lab.lab(n_hosts=3) as bed:
            self.expect_seen_at_once(bed, self.long_run(bed), "jacobi")

    def a_killed_node_is_seen_although_its_child_lives(self):
        """One of fork(), which has what its parent has."""
        with lab.lab(n_hosts=3) as bed:
            program = os.path.join(self.build, "tests", "lab", "ends")
            run = self.run(bed, "--verbose", "-H", "n1,n2,n3", program,
                           "children")
            self.read_until(run, "all nodes work")
            self.expect_seen_at_once(bed, run, "ends")

    def expect_seen_at_once(self, bed, run, program):
        agent = next(pid for pid, text in bed.processes("n3").items()
                     if text.startswith(run.command[0] + " agent"))
        os.kill(agent, signal.SIGSTOP)
        os.kill(run.program("n3", program), signal.SIGKILL)
        output = self.expect_loss(run, r"^teamster run: n3 \(node 2\) is lost: ",
                                  ["n3"])
        self.expect("node 2 is lost: its end of the connection is closed"
                    in output or "node 2 is lost: Connection reset by peer"
                    in output, "why", output)


if __name__ == "__main__":
    sys.exit(test_runs.main(Tests))
