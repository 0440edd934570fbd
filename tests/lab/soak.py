#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""No false death, for as long as one likes: promise P7 of docs/failures.md.

    soak.py MINUTES --build DIR

Four hosts run one program whose nodes all page, from a disk of 5 MB/s; one node has
30 % of a processor. In turn nothing else happens, a tenth of another host's packets
is lost, or they come 200 ms late; and now and then a node is stopped for 2 s. Ends
with 1 if the run ended before, lost anybody, or came to a wrong result.
"""
import argparse
import itertools
import os
import pathlib
import random
import re
import signal
import sys
import time

import lab
import test_failures
import test_runs

HOSTS = ("n1", "n2", "n3", "n4")
N_THREADS = 64        # of 32 KiB each
MEMORY = "320K"       # of a node, for 16 of them
SWAP_RATE = "5M"
WEATHER = ({}, {"loss": 10}, {"delay_ms": 200})
PHASE_S, PAUSE_S, STOP_S = 60, 15, 2
SUSPECT = r"(?m)^teamster run: .* \(suspect\)$"


class Soak(test_failures.Tests):
    def stop_somebody(self, run, chance):
        host = chance.choice(HOSTS)
        node = run.program(host, "until")
        os.kill(node, signal.SIGSTOP)
        time.sleep(STOP_S)
        os.kill(node, signal.SIGCONT)
        return host

    def phase(self, bed, run, weather, chance):
        with bed.bad_wire("n2", self.wire(), seed=chance.randrange(1, 1 << 30),
                          **weather):
            end = time.monotonic() + PHASE_S
            while time.monotonic() < end:
                self.expect_running(run, chance.uniform(1, PAUSE_S))
                self.stop_somebody(run, chance)

    def go_on(self, bed, run, seconds, chance):
        """@return how many phases"""
        start = time.monotonic()
        for n, weather in enumerate(itertools.cycle(WEATHER)):
            passed = time.monotonic() - start
            if passed > seconds:
                return n
            print(f"{passed / 60:.0f} min: {weather or 'fair'}", flush=True)
            self.phase(bed, run, weather, chance)

    def soak(self, minutes):
        seed = int(os.environ.get("TM_TEST_SEED", time.time_ns() % 100000))
        print(f"TM_TEST_SEED={seed}", flush=True)
        with lab.lab(n_hosts=len(HOSTS)) as bed:
            hosts = pathlib.Path(bed.folder, "hostfile")
            hosts.write_text("".join(f"{host} memory={MEMORY}\n"
                                     for host in HOSTS), encoding="ascii")
            stop = pathlib.Path(bed.folder, "stop")
            run = self.run(bed, "--hostfile", str(hosts), "--verbose",
                           f"--swap-rate={SWAP_RATE}",
                           os.path.join(self.build, "tests/cluster/until"),
                           str(stop), str(N_THREADS))
            with self.quota(30, [run.program("n3", "until")]):
                n = self.go_on(bed, run, 60 * minutes, random.Random(seed))
                stop.touch()
                output = run.finish()
        self.expect(not re.search(test_runs.LOST, output), "nobody is lost",
                    output)
        pages_in = sum(map(int, re.findall(r"debug: memory: .*; in (\d+) ",
                                           output)))
        self.expect(pages_in > 0, "nodes page", output)
        print(f"{minutes} min, {n} phases, {pages_in} pages in: "
              f"{len(re.findall(SUSPECT, output))} suspicions, no death\n"
              + "".join(line + "\n" for line in output.splitlines()
                        if " debug: " not in line))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("minutes", type=float)
    parser.add_argument("--build", required=True)
    options = parser.parse_args()
    return test_runs.exit_code(
        lambda: Soak(options.build).soak(options.minutes))


if __name__ == "__main__":
    sys.exit(main())
