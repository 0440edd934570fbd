# SPDX-License-Identifier: BSD-3-Clause
"""A memory control group and a swap file of the kernel's, for a short time.

Both are removed by a process of its own when close() is called, or when the
process that made them has ended for whatever reason. It also ends what is still
in the group then.
"""
import os
import subprocess
import sys
import time

SWAP_MIB = 512
TRIES = 3  # of a program that the kernel kills for want of memory
# Waits until its input ends.
CLEANER = """
read line
for i in $(seq 100); do
    for group in "$1"/*/ "$1"; do
        for pid in $(cat "$group/cgroup.procs" 2>/dev/null); do kill -9 "$pid"; done
        rmdir "$group" 2>/dev/null
    done
    [ -d "$1" ] || break
    sleep 0.1
done
swapoff "$2"
rm -f "$2"
"""


class Killed(Exception):
    """By the kernel, again and again."""


class NotHere(Exception):
    """The machine does not let us; the text says why."""


def remove(folder):
    if os.path.isdir(folder):
        os.rmdir(folder)


def is_killed(output):
    """By the kernel, for want of memory: the launcher may not be told of what."""
    return "killed by the kernel for memory" in output or "SIGKILL" in output


def until_not_killed(run, failure, note=lambda: None):
    """What a run comes to, once the kernel does not kill it for want of memory.

    @param failure  what it raises if it does not end well
    @param note     called each time that it was killed
    @raise Killed   when it was so often
    """
    for _ in range(TRIES):
        try:
            return run()
        except failure as reason:
            if not is_killed(str(reason)):
                raise
            note()
    raise Killed(f"the kernel has killed it {TRIES} times, for want of memory")


class KernelSwap:
    """@param folder  where the swap file is to be"""

    def __init__(self, folder):
        if os.geteuid() != 0:
            raise NotHere("a swap file and a control group need root")
        self.file = os.path.join(os.path.abspath(folder), "swap")
        self.input = None
        self.choose_group()
        try:
            os.mkdir(self.group)
            self.start_cleaner()
            self.open_group()
            self.open_swap()
        except OSError as error:
            self.close()
            raise NotHere(f"no memory control group: {error}") from error
        except subprocess.CalledProcessError as error:
            self.close()
            raise NotHere("no swap file: " + error.stderr.strip()) from error

    def choose_group(self):
        v1 = "/sys/fs/cgroup/memory"
        name = f"teamster-swap-{os.getpid()}"
        self.is_first = os.path.exists(f"{v1}/memory.limit_in_bytes")
        if self.is_first:
            self.group = f"{v1}/{name}"
            self.limit_file, self.most_file = (
                "memory.limit_in_bytes", "memory.max_usage_in_bytes")
        else:
            self.group = f"/sys/fs/cgroup/{name}"
            self.limit_file, self.most_file = "memory.max", "memory.peak"

    def start_cleaner(self):
        reader, self.input = os.pipe()
        subprocess.run(["setsid", "--fork", "sh", "-c", CLEANER, "sh",
                        self.group, self.file], stdin=reader, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(reader)

    def open_group(self):
        self.set_limit(None)
        if self.is_first:
            self.write("memory.swappiness", 100)

    def open_swap(self):
        for command in (["fallocate", "-l", f"{SWAP_MIB}M", self.file],
                        ["chmod", "600", self.file],
                        ["mkswap", self.file],
                        ["swapon", "-p", "100", self.file]):
            subprocess.run(command, check=True, capture_output=True, text=True)

    def write(self, file, value):
        with open(f"{self.group}/{file}", "w", encoding="ascii") as to:
            to.write(str(value))

    def set_limit(self, limit):
        """Bytes; None: none."""
        if limit is None:
            limit = "-1" if self.is_first else "max"
        self.write(self.limit_file, limit)

    def most_of(self, run):
        """Call run(), without a limit. @return bytes that the group's programs
        had at most meanwhile"""
        self.set_limit(None)
        try:
            self.write(self.most_file, "0")
        except OSError:
            pass  # version 2 does not forget: then it is that of all programs
        run()
        with open(f"{self.group}/{self.most_file}", encoding="ascii") as file:
            return int(file.read())

    def command(self, command):
        """The command, run in the group."""
        return ["sh", "-c", f'echo $$ > {self.group}/cgroup.procs; exec "$@"',
                "sh", *map(str, command)]

    def close(self):
        if self.input is None:
            remove(self.group)
            return
        os.close(self.input)
        self.input = None
        for _ in range(600):
            if not os.path.exists(self.file) and not os.path.isdir(self.group):
                return
            time.sleep(0.1)
        print(f"{self.file} or {self.group} is left behind", file=sys.stderr)
