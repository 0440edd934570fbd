# SPDX-License-Identifier: BSD-3-Clause
"""Control groups of memory, for tests that run as root."""
import contextlib
import os

import jobs

VERSION_2 = ("memory.max", "memory.swap.max", "memory.current")
PLACES = (  # folder, version, limit of memory, that of swap or of both, use
    ("/sys/fs/cgroup/memory", 1, "memory.limit_in_bytes",
     "memory.memsw.limit_in_bytes", "memory.usage_in_bytes"),
    ("/sys/fs/cgroup", 2, *VERSION_2), ("/sys/fs/cgroup/unified", 2, *VERSION_2))


class MemoryGroup:
    """A group with so many bytes of memory, and no swap."""

    def __init__(self, limit):
        self.limit = limit
        self.path = self.use = self.limit_file = ""
        self.version = 0

    def __enter__(self):
        for above, version, memory, swap, use in PLACES:
            self.path = f"{above}/teamster-test-{os.getpid()}"
            with contextlib.suppress(OSError):
                os.mkdir(self.path)
                self.write(memory, self.limit)
                with contextlib.suppress(OSError):  # the kernel has none
                    self.write(swap, 0 if "swap" in swap else self.limit)
                self.version = version
                self.limit_file = f"{self.path}/{memory}"
                self.use = f"{self.path}/{use}"
                return self
            with contextlib.suppress(OSError):
                os.rmdir(self.path)
        raise jobs.Skip("no control group of memory can be made here")

    def __exit__(self, *_):
        def is_removed():
            with contextlib.suppress(OSError):
                os.rmdir(self.path)
            return not os.path.exists(self.path)

        if not jobs.wait_until(is_removed):
            raise jobs.Failure(f"{self.path} cannot be removed")

    def write(self, name, value):
        with open(f"{self.path}/{name}", "r+", encoding="ascii") as file:
            file.write(str(value))

    def used(self):
        """Bytes now."""
        return int(jobs.read_bytes(self.use))

    def left(self):
        """Bytes that are not used now."""
        return self.limit - self.used()

    def join(self):
        """A command of the shell that brings it into the group."""
        return f"echo $$ > {self.path}/cgroup.procs"
