# SPDX-License-Identifier: BSD-3-Clause
"""Runs one cell once: hostfile, command line, process."""
import dataclasses
import os
import pathlib
import signal
import subprocess
import tempfile
import time

from . import kernel, output, papers, predict
from .cells import KERNEL, THEN
from .machine import Busy


class Failure(Exception):
    """A run did not end well."""


def budgets(cell, work):
    """Bytes that each node may use."""
    return [4096 * (round(mb * papers.MIB * work.memory_factor / 4096) +
                    work.extra_pages)
            for _, mb in papers.cluster(cell.paper, cell.env, cell.app)]


def hostfile(cell, work, has_memory=True):
    """The four nodes, with a worker each, as the papers' had a processor."""
    lines = []
    for i, ((mhz, _), budget) in enumerate(zip(
            papers.cluster(cell.paper, cell.env, cell.app),
            budgets(cell, work))):
        line = f"n{i} workers=1 speed={mhz}"
        if has_memory:
            line += f" memory={budget // 1024}K"
        lines.append(line)
    return "\n".join(lines) + "\n"


def command(cell, work, build, folder, disk, counts=None, wrap=list):
    """What is typed for a cell; its hostfile and profile are in `folder`.

    @param disk  of THEN: (bytes a second or None, folder or None)
    @param wrap  makes the program's words what nodes start
    """
    words = [str(build / "cli/teamster"), "run", "--emulate",
             "--first-mapping=equal",  # as the papers' programs began
             f"--hostfile={folder}/hosts"]
    if counts is not None:
        words.append("--counts=" + ",".join(map(str, counts)))
    else:
        words += [f"--policy={cell.policy}",
                  f"--save-profile={folder}/profile.json"]
    if cell.disk == THEN:
        words += [f"--{option}={value}" for option, value
                  in zip(("swap-rate", "swap-dir"), disk) if value]
    if cell.disk == KERNEL:
        words += ["--memory-by=kernel-plain"]
    return words + wrap([
        str(build / "apps" / cell.app), f"--size={work.size}",
        f"--iterations={work.iterations}", f"--threads={papers.N_THREADS}",
        "--report", "--stats", *work.options])


def environment():
    return {name: value for name, value in os.environ.items()
            if not name.startswith("TEAMSTER_")}


def execute(words, timeout_s):
    """Run to the end; what it printed."""
    process = subprocess.Popen(
        words, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=environment(), start_new_session=True)
    try:
        text, errors = process.communicate(timeout=timeout_s)
    except BaseException as reason:
        process.send_signal(signal.SIGTERM)  # the launcher ends its nodes
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        if isinstance(reason, subprocess.TimeoutExpired):
            raise Failure(f"no end after {timeout_s:g} s") from None
        raise
    if process.returncode != 0:
        last = [line for line in errors.splitlines() if "emulating" not in line]
        raise Failure(f"exit code {process.returncode}: "
                      f"{last[-1] if last else 'no message'}")
    return text


class Runner:
    """Runs cells; what the tests replace."""

    def __init__(self, build, timeout_s, swap_dir=None):
        self.build = pathlib.Path(build)
        self.timeout_s = timeout_s
        self.swap_dir = swap_dir  # of the papers' disk, which is slowed
        self.swap_rate = None     # bytes a second
        self.besides = {}  # application -> bytes that each node has besides data

    def rate(self):
        return round(self.swap_rate) if self.swap_rate else None

    def _besides(self, cell, work, groups, run):
        """What nodes need on top of the data, by a short run without limits."""
        if cell.app not in self.besides:
            run(dataclasses.replace(work, iterations=2))
            own = work.data_bytes // papers.N_NODES
            self.besides[cell.app] = [max(0, most - own)
                                      for most in groups.most()]
        return self.besides[cell.app]

    def _by_kernel(self, cell, work, folder):
        """@return what a run printed whose nodes the kernel pages"""
        with kernel.groups(papers.N_NODES) as groups:
            def run(work):
                return execute(command(cell, work, self.build, folder, (),
                                       wrap=groups.command), self.timeout_s)

            besides = self._besides(cell, work, groups, run)
            groups.set_limits(map(sum, zip(budgets(cell, work), besides)))
            return kernel.until_not_killed(lambda: run(work), Failure)

    def __call__(self, cell, work, counts=None, has_memory=True):
        """One run.

        @return a dict: read_run()'s, or "failure" with the reason; "load" of
                the machine before, "others": the processors that others used
                meanwhile, "seconds" it took
        """
        load = os.getloadavg()[0]
        busy = Busy()
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="experiment-") as folder:
            pathlib.Path(folder, "hosts").write_text(
                hostfile(cell, work, has_memory and cell.disk != KERNEL),
                encoding="utf-8")
            try:
                if cell.disk == KERNEL:
                    text = self._by_kernel(cell, work, folder)
                else:
                    text = execute(command(cell, work, self.build, folder,
                                           (self.rate(), self.swap_dir), counts),
                                   self.timeout_s)
                result = output.read_run(text, work)
                result |= predict.predictions(
                    self.build / "cli/teamster", f"{folder}/profile.json",
                    result["counts"])
            except (Failure, kernel.NotHere, kernel.Killed, output.Unreadable) as reason:
                result = {"failure": str(reason)}
        return {**result, "load": load, "others": busy.others(), "seconds": time.monotonic() - start}
