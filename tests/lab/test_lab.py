#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The lab itself: is it what it says?

    test_lab.py TEST
"""
import contextlib
import os
import signal
import subprocess
import sys
import time

import lab


def reaches(bed, host, other):
    """Can a host open a connection to another? 1 s is enough for a yes."""
    return subprocess.run(
        bed.command_on(host, *bed.ssh().split(), "-o", "ConnectTimeout=1",
                       other, "true"),
        capture_output=True, check=False).returncode == 0


def hosts_reach_each_other_and_nobody_else():
    with lab.lab(n_hosts=3) as bed:
        for host in bed.hosts:
            for other in bed.hosts:
                text = bed.inside(host, *bed.ssh().split(), other, "hostname")
                assert text.strip() == other, text
            routes = bed.inside(host, "ip", "route").splitlines()
            assert len(routes) == 1 and lab.SUBNET in routes[0], routes
        segment = "/dev/shm/teamster-lab-test"
        bed.inside("n1", "touch", segment)
        assert bed.inside("n2", "ls", "/dev/shm") == ""
        assert not os.path.exists(segment)


def cables_can_be_cut():
    with lab.lab(n_hosts=3) as bed:
        bed.cut("n2")
        assert not reaches(bed, "n1", "n2")
        assert reaches(bed, "n1", "n3")
        bed.mend("n2")
        assert lab.wait_until(lambda: reaches(bed, "n1", "n2"), "mended")
        bed.part("n2", "n3")
        assert not reaches(bed, "n2", "n3")
        assert reaches(bed, "n1", "n2") and reaches(bed, "n3", "n1")
        bed.rejoin("n2", "n3")
        assert lab.wait_until(lambda: reaches(bed, "n2", "n3"), "rejoined")


def a_rate_is_kept():
    megabytes, rate_mbit = 2, 50
    with lab.lab(n_hosts=2, rate_mbit=rate_mbit) as bed:
        start = time.monotonic()
        bed.inside("n1", *bed.ssh().split(), "n2",
                   f"head -c {megabytes}M /dev/zero")
        seconds = time.monotonic() - start
    assert seconds > 0.8 * megabytes * 8.4 / rate_mbit, seconds


def nothing_is_left_of_it():
    for end in ("INT", "TERM", "KILL"):
        text = ("import lab, os, time\n"
                "with lab.lab(n_hosts=2) as bed:\n"
                "    print(bed.folder, bed.switch, *bed.hosts.values(),"
                "          flush=True)\n"
                "    time.sleep(1000)\n")
        maker = subprocess.Popen(
            [sys.executable, "-c", text], stdout=subprocess.PIPE, text=True,
            cwd=os.path.dirname(os.path.abspath(__file__)),
            # Jobs in the background ignore it.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        folder, *pids = maker.stdout.readline().split()
        with contextlib.suppress(ProcessLookupError):
            subprocess.run(["kill", f"-{end}", str(maker.pid)], check=True)
        maker.wait()
        lab.wait_until(lambda: not any(lab.is_alive(int(pid))
                                       for pid in pids), f"{end}: {pids}")
        assert os.path.exists(folder) == (end == "KILL"), folder
        subprocess.run(["rm", "-r", "-f", folder], check=True)


TESTS = (hosts_reach_each_other_and_nobody_else, cables_can_be_cut,
         a_rate_is_kept, nothing_is_left_of_it)

if __name__ == "__main__":
    try:
        lab.check_machine()
        {test.__name__: test for test in TESTS}[sys.argv[1]]()
    except lab.Skip as skipped:
        print(f"skipped: {skipped}")
        sys.exit(lab.SKIPPED)
