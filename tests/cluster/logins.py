# SPDX-License-Identifier: BSD-3-Clause
"""Hosts that are processes of this machine: what stands for ssh has their agents started by the
test, so that these are no children of the launcher's, as on other machines.

To kill an agent is to lose its host: its keeper takes nodes and folder away.
"""
import contextlib
import json
import os
import socket
import stat
import subprocess
import sys
import threading

NAME = "TM_TEST_HOST"  # the variable that says which host it is
# The words of ssh, then a host and a command for its shell.
CLIENT = """#!{python}
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as way:
    way.connect({place!r})
    socket.send_fds(way, [b"{{"], [0, 1, 2])
    way.sendall(json.dumps([*sys.argv[-2:], dict(os.environ)]).encode() + b"\\n")
    way.recv(1)  # until it has ended
"""


# Gives a host a /dev/shm of its own, of so many bytes, and goes on with the command behind that.
ROOM = 'mount -t tmpfs -o size="$0" tmpfs /dev/shm && exec sh -c "$1"'


def can_have_room():
    """May a process have mounts of its own here?"""
    return subprocess.run(["unshare", "-rm", "sh", "-c", ROOM, "1m", "true"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


class Hosts:
    """The words of `ssh` are for --ssh."""

    def __init__(self, folder):
        self.room = {}  # a host: bytes of its /dev/shm, if it is not this machine's
        place = os.path.join(folder, "sshd")
        self.ssh = os.path.join(folder, "ssh")
        with open(self.ssh, "w", encoding="ascii") as file:
            file.write(CLIENT.format(python=sys.executable, place=place))
        os.chmod(self.ssh, stat.S_IRWXU)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(place)
        self.listener.listen(64)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            way = self.listener.accept()[0]
            threading.Thread(target=self.log_in, args=(way,), daemon=True).start()

    def log_in(self, way):
        with way:
            files = socket.recv_fds(way, 1, 3)[1]
            host, command, variables = json.loads(way.makefile().readline())
            words = ["sh", "-c", command]
            if host in self.room:
                words = ["unshare", "-rm", "sh", "-c", ROOM, str(self.room[host]), command]
            agent = subprocess.Popen(
                words, stdin=files[0], stdout=files[1],
                stderr=files[2], start_new_session=True,
                env={**variables, NAME: host,
                     "SSH_CONNECTION": "127.0.0.1 1 127.0.0.1 22"})
            for file in files:
                os.close(file)
            threading.Thread(target=self.end_with, args=(way, agent),
                             daemon=True).start()
            agent.wait()
            way.shutdown(socket.SHUT_RDWR)

    def end_with(self, way, agent):
        """Who has logged in has ended, and so does the agent."""
        with contextlib.suppress(OSError):  # the agent has
            way.recv(1)
        agent.terminate()
