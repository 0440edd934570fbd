# SPDX-License-Identifier: BSD-3-Clause
"""Cells of the papers at full size, in the laboratory: `teamster simulate`.

Each program is run once for real, at the papers' size, and its profile kept. In virtual
time it then runs on the papers' clusters. What was not theirs but is chosen here:

    SLOWER    a processor of 500 MHz, beside a core of the machine that the profile is
              of: a sixth of the clock, and less than half of the work for each tick
    NETWORK   100 Mbit/s, as [Liu06] says, and 100 us for a message of a byte
    SEEK_MS   an average seek and half a turn at 7200 a minute; RATE what such a disk
              moves: a desktop disk of 2001 (IBM Deskstar 120GXP, specification, 4.4.2)

Neither is fitted to what the papers found. The second disk is: of whatever rate has
gamma at papers.SOR_GAMMA (disk.py), without seeks.
"""
import json
import os
import pathlib
import statistics

from . import disk, papers, sizes
from .run import Failure, execute
from .store import read_json, write_json

SPEED = 1000  # of a node of the profile's run
SLOWER = 16
NETWORK = "net-rate=12500K net-us=100"
SEEK_MS = 8.5 + 4.2
RATE = 30 << 20
TIME, FITTED = "of the time", "fitted"
PROFILED = (30, 60, 120, 240)  # iterations: the script is of the 21st on; short ones need more
ITERATIONS = 20
FIRST = 5  # iterations of [Liang03]'s programs
TIMEOUT_S = 3600


def program_words(paper, app, n_iterations):
    """What a program is told at full size. Its effort is for small sizes."""
    work = sizes.work(paper, app, 1.0, n_iterations)
    options = dict(zip(work.options[::2], work.options[1::2]))
    options.pop("--effort", None)
    return [f"--size={work.size}", f"--iterations={n_iterations}",
            f"--threads={papers.N_THREADS}",
            *(f"{name}={value}" for name, value in options.items())]


def has_script(path):
    """Does a profile say what threads do? Of a run that was too short there may be none."""
    return "script" in (read_json(path) or {})


class Laboratory:
    """@param folder  of profiles, which are kept, and of answers"""

    def __init__(self, build, folder, slower=SLOWER, iterations=ITERATIONS):
        self.build = pathlib.Path(build)
        self.folder = pathlib.Path(folder)
        self.slower = slower
        self.iterations = iterations
        self.folder.mkdir(parents=True, exist_ok=True)

    # ---- profiles

    @staticmethod
    def profile_name(paper, app):
        same = sizes.work(paper, app, 1.0).size == sizes.work(papers.LIU06, app, 1.0).size
        return f"{papers.LIU06 if same else paper}-{app}"

    def profile(self, paper, app):
        """That of a program, of a real run if there is none yet."""
        path = self.folder / f"{self.profile_name(paper, app)}.profile"
        if path.exists():
            return path
        hosts = self.folder / "profiled.hosts"
        hosts.write_text("".join(f"n{i} workers=1 speed={SPEED}\n"
                                 for i in range(papers.N_NODES)), encoding="utf-8")
        beside = path.with_suffix(".new")
        for n_iterations in PROFILED:
            execute([self.build / "cli/teamster", "run", f"--hostfile={hosts}", "--emulate",
                     "--first-mapping=equal", "--policy=cpu", f"--save-profile={beside}",
                     self.build / "apps" / app, *program_words(paper, app, n_iterations)],
                    TIMEOUT_S)
            if has_script(beside):
                os.replace(beside, path)
                return path
        raise Failure(f"{app}: no profile after {n_iterations} iterations")

    def fitted_rate(self):
        """Bytes a second with which SOR's gamma is the one that Table 3 implies."""
        profile = read_json(self.profile(papers.LIU06, "sor"))
        seconds = self.slower * statistics.median(
            thread["computation_s"] for thread in profile["threads"])
        work = sizes.work(papers.LIU06, "sor", 1.0)
        return round(disk.rate(work.data_bytes / papers.N_THREADS, seconds))

    # ---- clusters

    def disk_keys(self, kind):
        if kind == TIME:
            return f"disk-rate={RATE} disk-ms={SEEK_MS}"
        return f"disk-rate={self.fitted_rate()} disk-ms=0"

    def hostfile(self, cell, kind):
        return "".join(
            f"n{i} workers=1 speed={mhz / 500 * SPEED / self.slower:.4f} "
            f"memory={round(mb * 1024)}K {NETWORK} {self.disk_keys(kind)}\n"
            for i, (mhz, mb) in enumerate(papers.cluster(cell.paper, cell.env, cell.app)))

    # ---- cells

    def _simulate(self, cell, kind, seed, path):
        hosts = path.with_suffix(".hosts")
        hosts.write_text(self.hostfile(cell, kind), encoding="utf-8")
        answer = json.loads(execute([
            self.build / "cli/teamster", "simulate", self.profile(cell.paper, cell.app),
            f"--cluster={hosts}", f"--policy={cell.policy}", f"--seed={seed}",
            f"--iterations={self.iterations}", "--json"], TIMEOUT_S))
        hosts.unlink()
        return summary(answer)

    def cell(self, cell, kind, seed):
        """What a cell comes to under a seed; kept, so that a stopped command goes on."""
        path = self.folder / (f"{cell.paper}-{cell.env}-{cell.app}-{cell.policy}-"
                              f"{kind.replace(' ', '-')}-{seed}.json")
        found = read_json(path)
        if found is None:
            found = self._simulate(cell, kind, seed, path)
            write_json(path, found)
        return found


def summary(answer):
    """Of what `teamster simulate --json` said.

    @return a dict: `iteration_s`, the median of the last quarter; `first_s`, the sum of
            the first iterations; `total_s`; `counts` of threads in the end; `moves`
    """
    lengths = [one["length_s"] for one in answer["iterations"]]
    return {
        "iteration_s": statistics.median(lengths[-max(1, len(lengths) // 4):]),
        "first_s": sum(lengths[:FIRST]),
        "total_s": answer["total_s"],
        "counts": [node["n_threads"] for node in answer["nodes"]],
        "moves": len(answer["moves"]),
    }
