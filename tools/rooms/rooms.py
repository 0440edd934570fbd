#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Count the rooms that a fault, a release, a migration, a decision and a change of
members pass through: the .c files with a function that is called, on all nodes
together.

usage: rooms.py [-v] BUILD

BUILD is a build of its own:

  cmake -B build/rooms -G Ninja -DCMAKE_BUILD_TYPE=Release -DTM_TESTS=OFF \\
        -DCMAKE_C_FLAGS="-g -finstrument-functions"
  cmake --build build/rooms --target teamster teamster_shared

Functions that are called while nothing happens (ticks, workers that poll) do not count.
The first three lives are of lives.c: a read of a page that another node has, a barrier
with one written page that the other node has a copy of, a move to the other node. The
other two are what some runs do and other runs of the same program, which faults, releases,
prints and ends, do not: a decision what those with the policy cpu-mem do within three
seconds, a change of members what lies between `teamster remove` and the end of the
process of the node. It has the moves of threads in it. What not each of the runs does was
chance.
-v: the files and functions.
"""
import mmap
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
N_PHASES, N_FUNCTIONS, MAPS = 8, 1 << 13, 1 << 16
IDLE, DECISION, MEMBERS = 1, 5, 6
N_RUNS = 3
N_ITERATIONS = "400"  # longer than all that is done meanwhile
NAMES = {2: "fault", 3: "release", 4: "migration", 5: "decision",
         6: "change of members"}


def place_of(function, line):
    """Return (file without its ending, function), None: of a header, or not ours."""
    match = re.search(r"/((?:src|cli|planner)/[\w/]+)\.c:", line)
    return (match[1], function) if match else None


def places_of(maps, addresses):
    places = dict.fromkeys(addresses)
    for line in maps.splitlines():
        match = re.match(r"(\w+)-(\w+) ..x. (\w+) \S+ \d+ +(/\S+)", line)
        if not match:
            continue
        low, high, offset = (int(match[i], 16) for i in (1, 2, 3))
        here = [at for at in addresses if low <= at < high]
        text = "\n".join(f"{at - low + offset:#x}" for at in here)
        lines = subprocess.run(["addr2line", "-f", "-e", match[4]], input=text,
                               check=True, capture_output=True,
                               text=True).stdout.split("\n")
        places.update(zip(here, map(place_of, lines[::2], lines[1::2])))
    return places


def read_notes(path):
    """Return (maps, {phase: functions})."""
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        maps = data[:MAPS].split(b"\0")[0].decode()
        sets = {}
        for phase in range(N_PHASES):
            at = MAPS + phase * N_FUNCTIONS * 8
            sets[phase] = {f for f in struct.unpack_from(f"{N_FUNCTIONS}Q", data, at)
                           if f}
    return maps, sets


def noted_in(folder):
    """Return {phase: {(file, function)}} of all processes of a run."""
    noted = {phase: set() for phase in range(N_PHASES)}
    for path in sorted(folder.glob("control.*")):
        maps, sets = read_notes(path)
        known = places_of(maps, set().union(*sets.values()))
        for phase, functions in sets.items():
            noted[phase].update(known[f] for f in functions if known[f])
    return noted


class Run:
    """A program under the launcher, with a control file."""

    def __init__(self, build, folder, *arguments):
        self.teamster = build / "cli/teamster"
        self.control = folder / "control"
        self.control.write_bytes(bytes(4096))
        environment = {"PATH": "/usr/bin:/bin", "ROOMS_CONTROL": str(self.control),
                       "LD_PRELOAD": str(folder.parent / "hook.so")}
        self.process = subprocess.Popen([self.teamster, "run", "-w", "1", *arguments],
                                        env=environment, stdout=subprocess.DEVNULL)

    def set_phase(self, phase):
        with self.control.open("r+b") as file:
            file.write(struct.pack("I", phase))

    def end(self):
        if self.process.wait(timeout=300) != 0:
            sys.exit("the run has failed")


def compile_parts(build, folder):
    subprocess.run(["cc", "-O2", "-g", "-fPIC", "-shared", "-o", folder / "hook.so",
                    HERE / "hook.c"], check=True)
    subprocess.run(["cc", "-O2", "-g", "-D_GNU_SOURCE", f"-I{ROOT}/include", "-o",
                    folder / "lives", HERE / "lives.c", f"-L{build}", "-lteamster",
                    f"-Wl,-rpath,{build}"], check=True)


def note_life(build, place):
    """Note the lives of lives.c."""
    Run(build, place, "-n", "2", "--policy=none", place.parent / "lives").end()


def begin_iterating(build, place, policy="none"):
    run = Run(build, place, "-n", "3", f"--policy={policy}", place.parent / "lives",
              N_ITERATIONS)
    time.sleep(1)
    return run


def note_nothing(build, place):
    """Note what runs do without a decision or change, and at their end."""
    run = begin_iterating(build, place)
    run.set_phase(IDLE)
    run.end()


def note_decision(build, place):
    run = begin_iterating(build, place, "cpu-mem")
    run.set_phase(DECISION)
    time.sleep(3)
    run.set_phase(0)
    run.end()


def note_members(build, place):
    run = begin_iterating(build, place)
    run.set_phase(MEMBERS)
    subprocess.run([run.teamster, "remove", str(run.process.pid), "2"], check=True,
                   stdout=subprocess.DEVNULL)
    run.set_phase(0)
    run.end()


def repeat(note, build, folder):
    """Return what each of some runs has noted, {phase: {(file, function)}} of each."""
    noted = []
    for number in range(N_RUNS):
        place = folder / f"{note.__name__}.{number}"
        place.mkdir()
        note(build, place)
        noted.append(noted_in(place))
    return noted


def every(noted, phase, beside):
    """Return what all of the runs have done in the phase, and not beside it."""
    return set.intersection(*(one[phase] for one in noted)) - beside


def measure(build, folder):
    """Return {phase: {(file, function)}}."""
    compile_parts(build, folder)
    lives = repeat(note_life, build, folder)
    idle = set.union(*(noted[IDLE] for noted in lives))
    found = {phase: every(lives, phase, idle) for phase in range(IDLE + 1, DECISION)}
    beside = set.union(*(noted[IDLE] for noted in repeat(note_nothing, build, folder)))
    found[DECISION] = every(repeat(note_decision, build, folder), DECISION, beside)
    found[MEMBERS] = every(repeat(note_members, build, folder), MEMBERS, beside)
    return found


def main():
    build = pathlib.Path(sys.argv[-1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        for phase, places in measure(build, pathlib.Path(folder)).items():
            rooms = {}
            for room, function in sorted(places):
                rooms.setdefault(room, []).append(function)
            print(f"{NAMES[phase]}: {len(rooms)} rooms, {len(places)} functions")
            if "-v" in sys.argv:
                for room, functions in rooms.items():
                    print(f"    {room}: {' '.join(functions)}")


if __name__ == "__main__":
    main()
