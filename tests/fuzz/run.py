#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run the fuzzers, and print what they have done and found.

usage: run.py --build DIR [--runs N] [--jobs J] [NAME...]

N executions in all (5 million if nothing is said), shared out among the fuzzers
NAME..., all of them if none is named. Each begins with its files of
tests/fuzz/corpus and with what earlier runs have found, which is kept in
DIR/corpus. An input that a fuzzer stops at is kept in DIR/crashes: run its program
with it to see it again, put it into tests/fuzz/corpus once it is corrected.

Exit codes: 0 nothing was found; 1 something was; 64 usage.
"""
import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import time

SEEDS = pathlib.Path(__file__).resolve().parent / "corpus"
SETTINGS = ["-print_final_stats=1", "-close_fd_mask=3", "-rss_limit_mb=2048",
            "-verbosity=1"]


class Result:
    """What one fuzzer has done."""

    def __init__(self, name, output, took_s, exit_code):
        found = re.findall(r"cov: (\d+)", output)
        done = re.search(r"number_of_executed_units: +(\d+)", output)
        self.name = name
        self.output = output
        self.exit_code = exit_code
        self.runs = int(done.group(1)) if done else 0
        self.per_s = self.runs / max(took_s, 0.001)
        self.edges = int(found[-1]) if found else 0
        self.inputs = 0

    def line(self):
        """Its row of the table."""
        end = "good" if self.exit_code == 0 else "FOUND SOMETHING"
        return (f"{self.name:<12}{self.runs:>12,}{self.per_s:>12,.0f}"
                f"{self.edges:>8,}{self.inputs:>8,}  {end}")


def fuzz(build, name, runs, timeout_s):
    """Run one fuzzer."""
    corpus = build / "corpus" / name
    crashes = build / "crashes" / name
    for folder in (corpus, crashes):
        folder.mkdir(parents=True, exist_ok=True)
    command = [str(build / "tests/fuzz" / f"fuzz_{name}"), f"-runs={runs}",
               f"-artifact_prefix={crashes}/", f"-timeout={timeout_s}",
               f"-report_slow_units={timeout_s}", *SETTINGS, str(corpus)]
    if (SEEDS / name).is_dir():
        command.append(str(SEEDS / name))
    began = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False)
    result = Result(name, done.stderr.decode(errors="replace"),
                    time.monotonic() - began, done.returncode)
    result.inputs = sum(1 for _ in corpus.iterdir())
    return result


def share(runs, shares):
    """How many executions each fuzzer has: runs in all, by their shares."""
    whole = sum(shares.values())
    ends = [0]
    for part in shares.values():
        ends.append(ends[-1] + part)
    return [runs * end // whole - runs * start // whole
            for start, end in zip(ends, ends[1:])]


def run_all(arguments, shares):
    """Run them, a line for each that has ended. @return the results"""
    results = []
    print(f"{'fuzzer':<12}{'executions':>12}{'per second':>12}{'edges':>8}"
          f"{'inputs':>8}")
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        ends = [pool.submit(fuzz, arguments.build, name, runs,
                            arguments.timeout)
                for name, runs in zip(shares, share(arguments.runs, shares))]
        for end in concurrent.futures.as_completed(ends):
            results.append(end.result())
            print(results[-1].line(), flush=True)
    return results


def main():
    """See above."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--runs", type=int, default=5000000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=60,
                        help="seconds that one input may take")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    known = (arguments.build / "tests/fuzz/shares").read_text().strip()
    known = {name: int(part) for name, part in
             (item.split("=") for item in known.split(";"))}
    unknown = set(arguments.names) - set(known)
    shares = {name: known[name] for name in arguments.names or known
              if name in known}
    if unknown or arguments.runs < sum(shares.values()) or arguments.jobs < 1:
        print(f"run.py: fuzzers are {', '.join(known)}; --runs is at least "
              f"{sum(known.values())}, --jobs at least 1", file=sys.stderr)
        return 64
    results = run_all(arguments, shares)
    bad = [result for result in results if result.exit_code != 0]
    for result in bad:
        print(f"\n{result.name}: exit code {result.exit_code}; inputs are in "
              f"{arguments.build / 'crashes' / result.name}\n"
              + "\n".join(result.output.splitlines()[-60:]))
    print(f"{'all':<12}{sum(result.runs for result in results):>12,} "
          f"executions; {len(bad)} of {len(results)} fuzzers found something")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
