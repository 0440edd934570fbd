# SPDX-License-Identifier: BSD-3-Clause
"""On what, and of what version, was measured."""
import os
import re
import resource
import subprocess
import time


def _first(pattern, path):
    try:
        with open(path, encoding="utf-8") as file:
            match = re.search(pattern, file.read(), re.M)
    except OSError:
        match = None
    return match.group(1) if match else "unknown"


def version(folder):
    """The commit, with "-dirty" if files differ from it."""
    done = subprocess.run(
        ["git", "-C", str(folder), "describe", "--always", "--dirty"],
        text=True, capture_output=True, check=False)
    return done.stdout.strip() or "unknown"


class Busy:
    """Processor time that this machine spends on others than our children: what
    disturbs a run."""

    def __init__(self):
        self.start = time.monotonic()
        self.all_s = self._all_s()
        self.own_s = self._own_s()

    @staticmethod
    def _all_s():
        try:
            with open("/proc/stat", encoding="utf-8") as file:
                fields = file.readline().split()[1:9]
        except OSError:
            return 0.0
        idle = int(fields[3]) + int(fields[4])
        return (sum(map(int, fields)) - idle) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def _own_s():
        own = resource.getrusage(resource.RUSAGE_CHILDREN)
        return own.ru_utime + own.ru_stime

    def others(self):
        """In processors, since this was made; children must have ended."""
        others_s = (self._all_s() - self.all_s) - (self._own_s() - self.own_s)
        return max(0.0, others_s) / max(1e-3, time.monotonic() - self.start)


def describe(folder):
    memory_kb = _first(r"^MemTotal: *(\d+)", "/proc/meminfo")
    return {
        "processor": _first(r"^model name\s*: (.*)$", "/proc/cpuinfo"),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": (round(int(memory_kb) / 2**20, 1)
                       if memory_kb.isdigit() else None),
        "kernel": os.uname().release,
        "version": version(folder),
    }
