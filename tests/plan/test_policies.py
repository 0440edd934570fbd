#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`bench/micro_policies`: the same numbers for the same seed but for what decisions take, and
parts of the best.

usage: test_policies.py MICRO_POLICIES
"""
import json
import subprocess
import sys


def compare(program, seed):
    done = subprocess.run([program, "--clusters", "1", "--seed", seed, "--json"], check=True,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.stderr.count("cluster 1 of 1: ") != 1:
        sys.exit(f"no progress: {done.stderr}")
    rows = json.loads(done.stdout)["policies"]
    for row in rows:
        del row["decides_ms"]
    return rows


def refuse_too_many(program):
    done = subprocess.run([program, "--clusters", "1000001"], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 64 or "--clusters is at most 1000000" not in done.stderr:
        sys.exit(f"1000001 clusters: {done.returncode}, {done.stderr}")


def main():
    program = sys.argv[1]
    refuse_too_many(program)
    first = compare(program, "1")
    if compare(program, "1") != first:
        sys.exit("other numbers for the same seed")
    if compare(program, "2") == first:
        sys.exit("the same numbers for another seed")
    for column in "predicted", "simulated", "total":
        # Of `optimal` only the counts are simulated: that is no reference.
        least = min(row[column]["median"] for row in first
                    if column == "predicted" or row["policy"] != "optimal")
        if least != 1:
            sys.exit(f"the best of {column} is {least}")


if __name__ == "__main__":
    main()
