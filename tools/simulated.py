#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How close does `teamster simulate` come to real runs, in what can be counted?

usage: simulated.py [--runs=N] BUILD [CASE...]

For each case: a run saves a profile; two runs of it, one longer, with threads that stay, and
the same in simulation. What the longer one has more, for each iteration, is compared: so
neither start nor end counts. Real runs are emulated on this machine, medians of RUNS.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

SHORT, LONG, RUNS = 40, 140, 3
SPEEDS = [700, 350, 500, 900, 600, 450, 800, 550]
COUNTS = ("messages", "MiB", "fetched", "updates", "pages in")

# name: nodes, threads, program, its arguments, protocol, memory of nodes as a part of data
CASES = {}
for nodes in (2, 4, 8):
    for app, size in (("jacobi", 512), ("sor", 512), ("matmul", 192)):
        for protocol in ("eager-release", "lazy-release", "sequential"):
            CASES[f"{app}-{nodes}-{protocol}"] = (nodes, 4 * nodes, app, size, protocol,
                                                  None)
for app, size, memory in (("jacobi", 1024, "3M"), ("sor", 1024, "1500K"),
                          ("matmul", 512, "2500K")):
    CASES[f"{app}-4-short-of-memory"] = (4, 16, app, size, "eager-release", memory)


def hostfile(folder, nodes, memory):
    path = folder / "hosts"
    extra = f" memory={memory}" if memory else ""
    path.write_text("".join(f"h{i} speed={SPEEDS[i]} slots=1{extra if i == 1 else ''}\n"
                            for i in range(nodes)))
    return path


def real(build, hosts, case, iterations, *options):
    _, threads, app, size, protocol, _ = case
    command = [build / "cli/teamster", "run", f"--hostfile={hosts}", "--emulate", "--stats",
               f"--protocol={protocol}", "--first-mapping=equal", *options,
               build / "apps" / app, "-n", size, "-i", iterations, "-t", threads]
    result = subprocess.run([str(word) for word in command], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if result.returncode != 0:
        sys.exit(result.stdout)
    return result.stdout


def numbers_of(output):
    """The sums of the tables that --stats prints."""
    sums = dict.fromkeys(COUNTS, 0.0)
    table = None
    for line in output.splitlines():
        if re.match(r"\s*node +speed", line):
            table = "runs"
        elif re.match(r"\s*node +memory", line):
            table = "memory"
        elif table and re.match(r"\s*\d+ ", line):
            words = line.split()
            if table == "runs":
                sums["fetched"] += int(words[6])
                sums["updates"] += int(words[8])
                sums["messages"] += int(words[9])
                sums["MiB"] += float(words[10])
            elif len(words) == 9:
                sums["pages in"] += int(words[4])
        else:
            table = None
    return sums


def simulated(build, hosts, profile, case, iterations, seed):
    command = [build / "cli/teamster", "simulate", profile, f"--cluster={hosts}",
               "--policy=none", f"--protocol={case[4]}", f"--iterations={iterations}",
               f"--seed={seed}", "--json"]
    result = subprocess.run([str(word) for word in command], text=True,
                            stdout=subprocess.PIPE, check=True)
    last = json.loads(result.stdout)
    return {"messages": sum(node["messages"] for node in last["nodes"]),
            "MiB": sum(node["bytes"] for node in last["nodes"]) / 2**20,
            "fetched": sum(node["pages_fetched"] for node in last["nodes"]),
            "updates": sum(node["updates_sent"] for node in last["nodes"]),
            "pages in": sum(node["page_ins"] for node in last["nodes"])}


def each_iteration(n_runs, run):
    """@param run  of iterations and a seed: counts. @return the medians, an iteration"""
    found = []
    for seed in range(1, n_runs + 1):
        short, long = run(SHORT, seed), run(LONG, seed)
        found.append({key: (long[key] - short[key]) / (LONG - SHORT) for key in COUNTS})
    return {key: statistics.median(one[key] for one in found) for key in COUNTS}


def compare(build, name, folder, n_runs):
    case = CASES[name]
    hosts = hostfile(folder, case[0], case[5])
    profile = folder / "profile.json"
    real(build, hosts, case, 60, f"--save-profile={profile}")
    if not profile.exists():
        return f"| {name} | no profile was saved |"
    there = each_iteration(n_runs, lambda n, seed: numbers_of(
        real(build, hosts, case, n, "--policy=none")))
    here = each_iteration(n_runs, lambda n, seed: simulated(build, hosts, profile, case, n, seed))
    profile.unlink()
    cells = []
    for key in COUNTS:
        off = f" ({here[key] / there[key] - 1:+.1%})" if there[key] >= 0.05 else ""
        cells.append(f"{there[key]:.2f} / {here[key]:.2f}{off}")
    return f"| {name} | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("case", nargs="*", choices=[[], *CASES])
    options = parser.parse_args()
    build = options.build.resolve()
    names = options.case or list(CASES)
    print("| case | " + " | ".join(f"{key}: run / simulated" for key in COUNTS) + " |")
    print("|" + "---|" * (len(COUNTS) + 1))
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            print(compare(build, name, pathlib.Path(folder), options.runs), flush=True)


if __name__ == "__main__":
    main()
