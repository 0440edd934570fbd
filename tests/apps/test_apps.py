#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each application gives what its sequential version gives, bit by bit.

    test_apps.py TEST --build DIR [--app NAME] [--nodes N] [--protocol NAME]

Every run is checked twice: by the program itself (--verify), and by its
checksum against that of `--sequential` in a process of its own. That the
sequential version is right is another test: the formula, in Python.
"""
import argparse
import ctypes
import itertools
import math
import operator
import os
import re
import signal
import struct
import subprocess
import sys
import time

import pictures

sys.path.insert(1, os.path.join(os.path.dirname(__file__), "..", "cluster"))
import jobs  # noqa: E402

SLOWDOWN = float(os.environ.get("TM_TEST_SLOWDOWN", "1"))
DEADLINE_S = 30 * SLOWDOWN
MASK = 2**64 - 1


class Failure(Exception):
    """A fact that should hold does not."""


class Build:
    def __init__(self, folder):
        self.folder = os.path.abspath(folder)

    def program(self, name):
        for part in ("apps", "cli"):
            path = os.path.join(self.folder, part, name)
            if os.access(path, os.X_OK):
                return path
        raise Failure(f"{name} is not built in {self.folder}")


def session_members(session):
    """The processes of a session that have not ended."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(pid))
        except OSError:
            pass
    return found


def segments(session):
    """Its folder, and what any program has lost."""
    return {name for name in os.listdir("/dev/shm")
            if name.startswith((f"teamster-{session}-", "ucx_"))}


def leftovers_end(session, before):
    """What a run left behind, after it has had time to go away."""
    deadline = time.monotonic() + 10 * SLOWDOWN
    while True:
        left = [f"process {pid}" for pid in session_members(session)]
        left += sorted(segments(session) - before)
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.05)


def run(command, environment=None, expect=0):
    """Run a program to its end. Returns what it printed."""
    variables = {"TEAMSTER_POLICY": "none",  # what moves is what a test moves
                 **(environment or {})}
    before = segments(0)
    what = " ".join([*(f"{n}={v}" for n, v in (environment or {}).items()),
                     *command])
    with subprocess.Popen(command, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          start_new_session=True,
                          env=jobs.environment(variables)) as process:
        try:
            output, errors = process.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            for pid in session_members(process.pid):
                os.kill(pid, signal.SIGKILL)
            output, errors = process.communicate()
            raise Failure(f"{what}\n  no end after {DEADLINE_S:.0f} s\n"
                          f"{output}{errors}") from None
    if process.returncode != expect:
        raise Failure(f"{what}\n  exit code {process.returncode}, not "
                      f"{expect}\n{output}{errors}")
    left = leftovers_end(process.pid, before)
    if left:
        raise Failure(f"{what}\n  left behind: {', '.join(left)}")
    return output, errors


def checksum_of(output):
    match = re.search(r"^checksum: ([0-9a-f]{16})$", output, re.M)
    if match is None:
        raise Failure(f"no checksum in\n{output}")
    return match.group(1)


def fault_sources():
    """Both, or the one that this machine allows."""
    number = {"x86_64": 323, "aarch64": 282}.get(os.uname().machine, -1)
    user_mode_only = 1
    fd = ctypes.CDLL(None).syscall(number, user_mode_only | os.O_CLOEXEC)
    if fd < 0:
        print("without userfaultfd: this machine does not allow it")
        return ["mprotect"]
    os.close(fd)
    return ["userfaultfd", "mprotect"]


# Those of more work than the others, which have 250.
SIZES = {"matmul": "130", "nbody": "130", "motion": "90", "vq": "80",
         "layers": "64"}

# What each run of an application has, so that it is small. Half of the variants
# are run of these.
SMALL = {"nbody": [], "motion": ["--range", "3"], "vq": ["--codebook", "16"]}

# What only some applications have, in variants that are run in turn.
EXTRAS = {
    "jacobi": (["--residual", "5"], ["--effort", "3"]),
    "sor": (["--residual", "5"], ["--effort", "3"]),
    "matmul": ([], ["--effort", "3"]),
    "gauss": (["--deal", "cyclic"], ["--deal", "blocks"], ["--uneven", "1"],
              ["--effort", "3"]),
    "nbody": ([], ["--uneven", "1"]),
    "motion": ([],),
    "vq": (["--residual", "5"],),
    "layers": ([], ["--uneven", "1"], ["--effort", "3"]),
}


def equals_sequential(build, options):
    """One application, number of nodes and protocol; both fault sources, with
    and without threads that move at random."""
    size = ["--size", SIZES.get(options.app, "250"), "--iterations", "12",
            *SMALL.get(options.app, [])]
    program = build.program(options.app)
    extras = itertools.cycle(EXTRAS[options.app])
    expected = checksum_of(run([program, "--sequential", *size])[0])
    seed = int.from_bytes(os.urandom(3), "little") + 1
    variants = list(itertools.product(fault_sources(), (0, seed),
                                      (("7", "threads"), ("5", "root"))))
    if options.app in SMALL:  # the other half with one node more or fewer
        variants = [variant for i, variant in enumerate(variants)
                    if i % 2 == (i // 2 + options.nodes) % 2]
    for source, shuffle, (n_threads, init) in variants:
        output, errors = run(
            [build.program("teamster"), "run", "-n", str(options.nodes),
             program, *size, "--threads", n_threads, "--init", init,
             *next(extras), "--verify", "--stats"],
            {"TEAMSTER_PROTOCOL": options.protocol,
             "TEAMSTER_FAULT_SOURCE": source,
             "TEAMSTER_SHUFFLE": str(shuffle)})
        where = f"{options.app} {source} shuffle={shuffle} init={init}"
        if checksum_of(output) != expected:
            raise Failure(f"{where}: checksum {checksum_of(output)}, not "
                          f"{expected}\n{output}{errors}")
        if "result: identical to the sequential program's" not in output:
            raise Failure(f"{where}: not verified\n{output}{errors}")
        rows = re.findall(r"^ +\d+ +(\d+) +(\d+) +[\d.]+ +\d+ +\d+ +\d+$",
                          output, re.M)
        if (len(rows) != options.nodes or
                sum(int(threads) for threads, _ in rows) != int(n_threads)):
            raise Failure(f"{where}: the table does not have each node and "
                          f"each thread\n{output}{errors}")
        n_moves = sum(int(moved_in) for _, moved_in in rows)
        if (n_moves > 0) != (shuffle > 0 and options.nodes > 1):
            raise Failure(f"{where}: {n_moves} threads moved\n{output}{errors}")
        print(f"{where}: identical")


def checksum(values):
    return checksum_bytes(struct.pack(f"<{len(values)}d", *values))


def checksum_bytes(values):
    total = 0
    values += bytes(-len(values) % 8)
    for i, (bits,) in enumerate(struct.iter_unpack("<Q", values)):
        total += (bits ^ bits >> 31) * (2 * i + 0x9e3779b97f4a7c15)
    return f"{total & MASK:016x}"


def start_grid(size):
    return [[((row * 31 + column * 17) & 127) * 0.125
             for column in range(size + 2)] for row in range(size + 2)]


def neighbours(grid, row, column):
    return (grid[row - 1][column] + grid[row + 1][column] +
            grid[row][column - 1] + grid[row][column + 1])


def jacobi(size, n_iterations):
    grid = start_grid(size)
    inside = range(1, size + 1)
    for _ in range(n_iterations):
        new = [list(row) for row in grid]
        for row, column in itertools.product(inside, inside):
            new[row][column] = 0.25 * neighbours(grid, row, column)
        grid = new
    return [value for row in grid for value in row]


def sor(size, n_iterations):
    grid = start_grid(size)
    inside = range(1, size + 1)
    for _, colour in itertools.product(range(n_iterations), (0, 1)):
        for row, column in itertools.product(inside, inside):
            if (row + column) % 2 == colour:
                grid[row][column] = (
                    (1.0 - 1.5) * grid[row][column] +
                    0.25 * 1.5 * neighbours(grid, row, column))
    # As sor.c stores it: red packed, then black, rows of equal width.
    width = (size + 3) // 2
    return [start_value_or(grid, row, (row + colour) % 2 + 2 * k)
            for colour in (0, 1) for row in range(size + 2)
            for k in range(width)]


def start_value_or(grid, row, column):
    """A point, or what fills up a row that has fewer points of a colour."""
    if column < len(grid):
        return grid[row][column]
    return ((row * 31 + column * 17) & 127) * 0.125


def matrix_value(row, column):
    bits = ((row + 1) * 0x9e3779b97f4a7c15 +
            (column + 1) * 0xc2b2ae3d27d4eb4f) & MASK
    bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9 & MASK
    bits = (bits ^ bits >> 32) * 0x94d049bb133111eb & MASK
    return (bits >> 40) * 2.0**-23 - 1.0


def matmul(size, n_iterations):
    n = range(size)
    a = [[matrix_value(row, column) for column in n] for row in n]
    scale = math.sqrt(3.0 / size)
    b = [[scale * matrix_value(row + size, column + size) for column in n]
         for row in n]
    for _ in range(n_iterations):
        c = [[0.0] * size for _ in n]
        for row, k, column in itertools.product(n, n, n):
            c[row][column] += a[row][k] * b[k][column]
        a = c
    return [value for row in a for value in row]


def gauss(size, _):
    """Each row of the matrix with its right-hand side; then the solution."""
    rows = []
    for i in range(size):
        row = [matrix_value(i, j) + (2.0 * size if i == j else 0.0)
               for j in range(size)]
        total = 0.0  # not sum(), which may be cleverer
        for value in row:
            total += value
        rows.append([*row, total])
    for step in range(size - 1):
        for i in range(step + 1, size):
            rows[i][step] /= rows[step][step]
            for j in range(step + 1, size + 1):
                rows[i][j] -= rows[i][step] * rows[step][j]
    for i in reversed(range(size)):
        for j in range(i + 1, size):
            rows[i][size] -= rows[i][j] * rows[j][size]
        rows[i][size] /= rows[i][i]
    # As gauss.c stores it: rows of whole pages.
    width = (size + 1 + 511) // 512 * 512
    return [value for row in rows
            for value in (*row, *[0.0] * (width - size - 1))]


def draw_body(body, which, seed=1):
    bits = ((body * 8 + which + 1) * 0x9e3779b97f4a7c15 +
            seed * 0xc2b2ae3d27d4eb4f) & MASK
    bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9 & MASK
    bits = (bits ^ bits >> 32) * 0x94d049bb133111eb & MASK
    return (bits >> 40) * 2.0**-23 - 1.0


def pull(places, me, mass):
    total = [0.0, 0.0, 0.0]
    for place in places:
        x, y, z = (there - here for there, here in zip(place, places[me]))
        r_2 = x * x + y * y + z * z + 0.05 * 0.05
        scale = mass / (r_2 * math.sqrt(r_2))
        total = [a + scale * b for a, b in zip(total, (x, y, z))]
    return total


def nbody(size, n_iterations):
    """Place and mass of each body; then their velocities."""
    step = 0.001
    mass = 1.0 / size
    places = [[draw_body(i, d) for d in range(3)] for i in range(size)]
    speeds = [[0.125 * draw_body(i, 3 + d) for d in range(3)]
              for i in range(size)]
    for place, speed in zip(places, speeds):
        speed[0] -= 0.25 * place[1]
        speed[1] += 0.25 * place[0]

    def drifted(times):
        return [[at + times * step * v for at, v in zip(place, speed)]
                for place, speed in zip(places, speeds)]

    places = drifted(0.5)
    for _ in range(n_iterations):
        pulls = [pull(places, i, mass) for i in range(size)]
        speeds = [[v + step * a for v, a in zip(speed, pulled)]
                  for speed, pulled in zip(speeds, pulls)]
        places = drifted(1.0)
    places = drifted(-0.5)
    return [*(value for place in places for value in (*place, mass)),
            *(value for speed in speeds for value in speed)]


def drawn_values(seed, n):
    """Whole numbers of 8 bits."""
    values = []
    for i in range(n):
        bits = ((seed + 1) * 0x9e3779b97f4a7c15 +
                (i + 1) * 0xc2b2ae3d27d4eb4f) & MASK
        bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9 & MASK
        bits = (bits ^ bits >> 32) * 0x94d049bb133111eb & MASK
        values.append((bits >> 40 & 255) - 128)
    return values


def drawn_weights(layer, row, n):
    state = (layer << 32 | row) * 0x9e3779b97f4a7c15 & MASK
    weights = []
    for _ in range(n):
        state = (state * 6364136223846793005 + 1442695040888963407) & MASK
        weights.append((state >> 56) - 128)
    return weights


def layer_output(weights, values):
    total = sum(map(operator.mul, weights, values))
    total *= int(2**20 * 1.25 / (74.0 * math.sqrt(len(values))))
    size = abs(total) >> 20
    return max(-127, min(127, size if total > 0 else -size))


def layers(size, n_iterations):
    """The sum over all tokens, of each output of each of 32 layers."""
    widths = [(size * (4, 4, 16, 4, 2, 8, 4, 12)[i % 8] + 3) // 4
              for i in range(33)]
    weights = [[drawn_weights(i, row, widths[i])
                for row in range(widths[i + 1])] for i in range(32)]
    values = [drawn_values(0, widths[0]),
              *(drawn_values(MASK - i, widths[i + 1]) for i in range(32))]
    sums = [[0] * width for width in widths[1:]]
    for k in range(1, n_iterations + 1):
        values = [drawn_values(k, widths[0]),
                  *([layer_output(row, values[i]) for row in weights[i]]
                    for i in range(32))]
        sums = [list(map(operator.add, *both))
                for both in zip(sums, values[1:])]
    return [float(total) for layer in sums for total in layer]


def sequential_is_the_formula(build, options):
    """The sequential version computes what the textbook says."""
    formula = {"jacobi": jacobi, "sor": sor, "matmul": matmul,
               "gauss": gauss, "nbody": nbody, "layers": layers,
               "motion": pictures.motion,
               "vq": pictures.vq}[options.app]
    sizes = {"motion": ((1, 1), (2, 3), (9, 3), (24, 2), (37, 2)),
             "vq": ((16, 5), (20, 9), (32, 6))}.get(
                 options.app, ((1, 1), (2, 3), (9, 8), (24, 5), (31, 4)))
    more = {"vq": SMALL["vq"]}.get(options.app, [])
    for size, n_iterations in sizes:
        output, _ = run([build.program(options.app), "--sequential", "--size",
                         str(size), "--iterations", str(n_iterations), *more])
        result = formula(size, n_iterations)
        expected = (checksum_bytes(result) if isinstance(result, bytes)
                    else checksum(result))
        if checksum_of(output) != expected:
            raise Failure(f"{options.app}: size {size} differs from the "
                          "formula")


def odd_sizes_work(build, options):
    """Less than a row for a thread, less than a page in all."""
    ways = {
        "vq": [["--block", "1", "--codebook", "1"]],  # sides are whole blocks
        "gauss": [[], ["--deal", "blocks"]],
    }.get(options.app, [[]])
    for (size, n_threads), more in itertools.product(
            ((1, 1), (1, 3), (3, 7), (64, 64)), ways):
        output, _ = run(
            [build.program("teamster"), "run", "-n", "2",
             build.program(options.app), "--size", str(size), "--threads",
             str(n_threads), "--iterations", "5", "--verify", *more])
        if "result: identical" not in output:
            raise Failure(f"size {size}, threads {n_threads}:\n{output}")


def alone_works(build, options):
    """Without a launcher the program is a cluster of one."""
    output, _ = run([build.program(options.app), "--size", "100", "--verify",
                     "--iterations", "5", *SMALL.get(options.app, [])])
    if "nodes: 1" not in output or "result: identical" not in output:
        raise Failure(output)


def bad_options_are_refused(build, options):
    """One line that says what is wrong, exit code 64; help is no error."""
    program = build.program(options.app)
    bad = [["--size", "0"], ["--size", "abc"], ["--size", "9x"],
           ["--threads", "-1"], ["--iterations", ""], ["--init", "nobody"],
           ["--nonsense"], ["stray"], ["--uneven", "-1"], ["--uneven", "nan"],
           ["--uneven", "2x"]]
    if options.app in ("jacobi", "sor", "vq"):
        bad += [["--residual", "0"], ["--deal"]]
    else:
        bad += [["--residual"]]
    if options.app == "gauss":
        bad += [["--deal", "randomly"]]
    bad += {
        "nbody": [["--seed", "-1"], ["--seed", "4294967296"]],
        "motion": [["--range", "1001"], ["--width", "0"], ["--vectors"],
                   ["--height", "x"]],
        "vq": [["--codebook", "65537"], ["--block", "65"], ["--start", "x"],
               ["--output"]],
    }.get(options.app, [])
    for arguments in bad:
        output, errors = run([program, *arguments], expect=64)
        if len(errors.splitlines()) != 1 or output:
            raise Failure(f"{arguments}: printed\n{output}{errors}")
        if arguments[-1].lstrip("-") not in errors:
            raise Failure(f"{arguments}: does not name it: {errors}")
    output, errors = run([program, "--help"])
    tells = all(word in output for word in (
        "--verify", "Defaults: --size", "Shared data: ", "(the default)",
        "teamster run -n 4 "))
    if not tells or errors or max(map(len, output.splitlines())) > 120:
        raise Failure(f"--help: printed\n{output}{errors}")


def uneven_threads_change_nothing(build, options):
    """Threads of unequal cost give the same bits, also when they move."""
    for n_threads, seed in (("5", "0"), ("9", "17")):
        output, _ = run(
            [build.program("teamster"), "run", "-n", "3",
             build.program(options.app), "--size", "120", "--threads",
             n_threads, "--iterations", "8", "--uneven", "2.5", "--verify",
             *SMALL.get(options.app, [])],
            {"TEAMSTER_SHUFFLE": seed})
        if "result: identical" not in output:
            raise Failure(output)


def times_can_be_read(build, options):
    """--report prints each iteration, --time one line; sequentially too."""
    run_on_two = [build.program("teamster"), "run", "-n", "2"]
    size = ["--size", "60", "--iterations", "7",
            *SMALL.get(options.app, [])]
    for command in (run_on_two, []):
        output, _ = run([*command, build.program(options.app), *size,
                         "--report", "--time",
                         *([] if command else ["--sequential"])])
        found = re.findall(r"^iteration_ms=(\d+\.\d+) median_ms=(\d+\.\d+) "
                           r"iterations=4$", output, re.M)
        if len(found) != 1 or not all(float(ms) > 0 for ms in found[0]):
            raise Failure(f"--time:\n{output}")
        numbers = re.findall(r"^iteration (\d+): \d+\.\d+ ms$", output, re.M)
        if numbers != [str(k) for k in range(1, 8)]:
            raise Failure(f"--report: {numbers}\n{output}")


def hello_says_pi(build, _):
    for n_nodes in (1, 2, 3):
        output, _ = run([build.program("teamster"), "run", "-n", str(n_nodes),
                         build.program("hello")])
        if output != f"pi is 3.1415926536; nodes: {n_nodes}\n":
            raise Failure(output)


def there_are_no_races(build, _):
    """--race-check says nothing of any application."""
    for i, app in enumerate(EXTRAS):
        size = ["--size", SIZES.get(app, "120"), "--iterations", "6",
                *SMALL.get(app, [])]
        _, errors = run(
            [build.program("teamster"), "run", "-n", str(2 + i % 2),
             "--race-check", "--strict", build.program(app), *size,
             "--threads", "5", "--init", ("root", "threads")[i % 2]],
            {"TEAMSTER_SHUFFLE": str(i)})
        if "race check: no data race between nodes" not in errors:
            raise Failure(f"{app}: {errors}")


TESTS = {test.__name__: test for test in (
    there_are_no_races,
    equals_sequential, sequential_is_the_formula, odd_sizes_work, alone_works,
    bad_options_are_refused, uneven_threads_change_nothing, times_can_be_read,
    hello_says_pi)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("test", choices=TESTS)
    parser.add_argument("--build", required=True)
    parser.add_argument("--app", default="jacobi")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--protocol", default="eager-release")
    options = parser.parse_args()
    try:
        TESTS[options.test](Build(options.build), options)
    except Failure as failure:
        print(f"FAILED: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
