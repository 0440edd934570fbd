#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`teamster run --fabric=ucx` over the hosts of a lab, by UCX's TCP.

    test_fabric.py TEST --build DIR

Most tests are those of the other scripts, by their names.
"""
import os
import re
import sys

import test_failures
import test_members
import test_network
import test_recovery
import test_runs
import test_unequal
import lab
from test_members import CONFIG
from test_runs import UNREACHABLE

OTHERS = (test_runs, test_members, test_recovery, test_network, test_failures)
JACOBI = ("--verify", "--size=200", "--iterations=30", "--threads=8")


def over_ucx(kind):
    """A class of tests whose runs use UCX between hosts."""
    class OverUcx(kind):
        def run(self, bed, *command, **options):
            return super().run(bed, *command,
                               **{"TEAMSTER_FABRIC": "ucx", **options})

    return OverUcx


class Tests(over_ucx(test_runs.Tests)):
    def jacobi(self, bed, *options, **variables):
        return self.run(bed, "-H", "n1,n2:2,n3", "--verbose", *options,
                        self.app("jacobi"), *JACOBI, **variables)

    def it_gives_the_same_and_warns(self):
        with lab.lab(n_hosts=3) as bed:
            right = self.checksum(self.jacobi(bed, "--fabric=tcp").finish())
            output = self.jacobi(bed).finish()
            self.expect(self.checksum(output) == right, right, output)
            self.expect(output.count("warning: --fabric=ucx") == 1,
                        "one warning", output)
            ways = re.findall(r"n(\d): debug: node (\d) is reached with UCX by "
                              r"tcp/eth0$", output, re.M)
            self.expect(sorted(ways) == [(a, b) for a in "0123" for b in "0123"
                                         if a != b and {a, b} != {"1", "2"}],
                        "all ways between hosts", output)

    def every_protocol_gives_the_same(self):
        with lab.lab(n_hosts=3) as bed:
            right = self.checksum(self.jacobi(bed, "--fabric=tcp").finish())
            for protocol in test_runs.PROTOCOLS:
                output = self.jacobi(bed, "--protocol", protocol).finish()
                self.expect(self.checksum(output) == right, right, output)

    def what_protocols_promise_holds(self):
        """Programs that judge what they read."""
        with lab.lab(n_hosts=4) as bed:
            def succeed(program, *words):
                self.run(bed, "-H", "n1,n2,n3,n4",
                         os.path.join(self.build, "tests", "cluster", program),
                         *words).finish()

            for mode in ("relaxed", "mutex", "one-mutex", "atomic", "semaphore",
                         "condition", "barrier", "bound"):
                succeed("litmus", "-m", mode, "-s", 7, "-r", 2)
            for seed in range(4):
                succeed("random_program", "-s", seed)

    def threads_follow_speed_and_memory(self):
        def by_ucx(bed, build, *command):
            return test_runs.Run(bed, build, "-H", ",".join(test_unequal.HOSTS),
                                 *command, TEAMSTER_FABRIC="ucx",
                                 **test_unequal.VARIABLES)

        test_unequal.Tests(self.build).follow(by_ucx, ("sor", "matmul", "gauss"),
                                              ("jacobi",))

    def hosts_that_ucx_does_not_join_are_told(self):
        """A device that leads nowhere, and transports that are not there."""
        with lab.lab(n_hosts=2) as bed:
            for variables, code, told in (
                    ({"UCX_NET_DEVICES": "lo"}, UNREACHABLE,
                     "UCX finds no way to node 1: "),
                    ({"UCX_TLS": "rc"}, CONFIG, "does this host have what UCX_TLS")):
                output = self.run(bed, "-H", "n1,n2", self.app("hello"),
                                  **variables).finish(code)
                self.expect(told in output, told, output)


def tests_with(name):
    """The class that has a test, over UCX."""
    if hasattr(Tests, name):
        return Tests
    return over_ucx(next(module.Tests for module in OTHERS
                         if hasattr(module.Tests, name)))


if __name__ == "__main__":
    sys.exit(test_runs.main(tests_with(sys.argv[1])))
