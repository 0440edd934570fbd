# SPDX-License-Identifier: BSD-3-Clause
"""On what, and of what version, was measured."""
import os
import re
import subprocess


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
