#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`teamster simulate`: the same again for the same seed, what must come out of clusters that
can be reckoned by hand, and what it refuses.

usage: test_simulate.py TEAMSTER WRITE_PROFILE [TEST]...
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TEAMSTER, WRITE_PROFILE = sys.argv[1:3]
HERE = pathlib.Path(__file__).parent
BY_HAND = HERE / "two_nodes.json"
SLOWDOWN = float(os.environ.get("TM_TEST_SLOWDOWN", "1"))
USAGE, NO_MEMORY, CONFIGURATION = 64, 71, 78
READ, WRITE = 1, 2
THREADS, OWN = 8, 4  # pages of each thread, in each of two grids


def simulate(*arguments, text=None):
    """Run `teamster simulate`; its exit code, output and errors."""
    done = subprocess.run(
        [TEAMSTER, "simulate", *map(str, arguments)], input=text, text=True,
        capture_output=True, check=False, timeout=100 * SLOWDOWN)
    return done.returncode, done.stdout, done.stderr


def grid_round(source, target, n_threads=THREADS):
    """From one grid to the other: a thread reads a page of each neighbour."""
    threads = []
    for i in range(n_threads):
        first, end = i * OWN, (i + 1) * OWN
        low, high = max(first - 1, 0), min(end + 1, n_threads * OWN)
        threads.append([source + low, high - low, READ, 0,
                        target + first, OWN, WRITE, 800])
    return threads


def grid(n_nodes=4, n_threads=THREADS, **changes):
    """A profile of a program that goes from one grid to the other and back."""
    node = {"power": 1, "n_processors": 1, "memory_pages": 1 << 20, "free_pages": 1 << 20,
            "total_pages": 1 << 20, "swap_in_s": 1e-4, "swap_out_s": 1e-4,
            "fetch_s": 4e-5, "packet_s": 2e-5, "packet_bytes": 8192}
    pages = n_threads * OWN
    other = 256 + (pages + 255) // 256 * 256
    profile = json.loads(BY_HAND.read_text(encoding="utf-8"))
    profile.update(
        comment=None, program="grid", group_pages=[],
        nodes=[{"name": f"n{x}", **node} for x in range(n_nodes)],
        threads=[{"computation_s": 1e-3, "uses": []} for _ in range(n_threads)],
        node_of=[i * n_nodes // n_threads for i in range(n_threads)],
        script={"protocol": "eager-release", "n_barriers": 1,
                "blocks": [[256, pages], [other, pages]],
                "rounds": [
                    {"iteration": 4, "threads": grid_round(256, other, n_threads)},
                    {"iteration": 7, "threads": grid_round(other, 256, n_threads)}]})
    profile["script"].update(changes)
    return profile


class SimulateTest(unittest.TestCase):
    maxDiff = None

    def printed(self, profile, *arguments):
        text = profile if isinstance(profile, str) else json.dumps(profile)
        code, output, errors = simulate("-", *arguments, text=text)
        self.assertEqual((code, errors), (0, ""), arguments)
        return output

    def answer(self, profile, *arguments):
        """What --json says."""
        return json.loads(self.printed(profile, "--json", *arguments))

    def refused(self, exit_code, words, *arguments, profile=None):
        text = json.dumps(profile or grid())
        code, output, errors = simulate(*arguments, text=text)
        self.assertEqual((code, output), (exit_code, ""), errors)
        self.assertIn(words, errors)
        self.assertEqual(errors.count("\n"), 1, errors)


class RunTest(SimulateTest):
    def test_the_same_seed_gives_the_same_bytes(self):
        for protocol in ("eager-release", "sequential", "lazy-release", "homeless",
                         "adaptive", "implicit"):
            for policy in ("none", "cpu-mem"):
                options = ("--json", f"--protocol={protocol}", f"--policy={policy}",
                           "--iterations=30")
                first = self.printed(grid(), *options)
                self.assertEqual(first, self.printed(grid(), *options))
                self.assertNotEqual(first, self.printed(grid(), *options, "--seed=2"))

    def test_threads_take_their_time_on_each_node(self):
        """Two threads of a millisecond; on n1 half as fast."""
        profile = grid()
        profile["nodes"][1]["power"] = 0.5
        said = self.answer(profile, "--policy=none", "--noise=0", "--iterations=20")
        self.assertGreater(said["median_s"], 4.0e-3)
        self.assertLess(said["median_s"], 4.4e-3)
        shares = [node["compute_s"] / said["total_s"] for node in said["nodes"]]
        self.assertGreater(shares[1], 0.85)
        for x in (0, 2, 3):
            self.assertLess(abs(shares[x] - shares[1] / 2), 0.05)

    def test_a_border_costs_an_update_and_an_answer(self):
        """In each iteration each of 3 borders has a page of each side pushed, which is
        acknowledged, and 3 nodes arrive at the barrier and are let go."""
        said = self.answer(grid(), "--policy=none", "--iterations=40")
        at = [it["messages_so_far"] for it in said["iterations"]]
        self.assertGreaterEqual(at[39] - at[29], 10 * (6 + 6 + 6))
        self.assertLess(at[39] - at[29], 10 * (6 + 6 + 6 + 3)) # some arrive in two parts
        acknowledged = said["messages"]["update_ack"]["n"]
        self.assertAlmostEqual(said["messages"]["update"]["n"], acknowledged,
                               delta=acknowledged / 20)

    def test_many_nodes_cost_as_much_each_as_few(self):
        """Four pages and two borders each; no node is told by all others."""
        n = 400
        said = self.answer(grid(n, n), "--policy=none", "--iterations=8")
        at = [it["messages_so_far"] for it in said["iterations"]]
        self.assertEqual([node["n_threads"] for node in said["nodes"]], [1] * n)
        self.assertLess((at[7] - at[4]) / 3 / n, 9)
        self.assertLess(max(node["messages"] for node in said["nodes"][1:]),
                        20 * at[7] / n)

    def test_messages_of_nodes_are_those_of_kinds(self):
        said = self.answer(grid(), "--iterations=25")
        for key, of_kind in (("messages", "n"), ("bytes", "bytes")):
            self.assertEqual(sum(node[key] for node in said["nodes"]),
                             sum(kind[of_kind] for kind in said["messages"].values()))
        self.assertEqual(sum(node["n_threads"] for node in said["nodes"]), THREADS)

    def test_who_is_short_of_memory_pages(self):
        """Eight threads of 8 pages each on one node, in 40 pages."""
        profile = grid(1)
        enough = self.answer(profile, "--iterations=20")
        profile["nodes"][0]["memory_pages"] = 40
        short = self.answer(profile, "--iterations=20")
        self.assertEqual(enough["nodes"][0]["page_ins"], 0)
        self.assertEqual(enough["nodes"][0]["disk_busy_s"], 0)
        self.assertGreaterEqual(short["nodes"][0]["disk_busy_s"], short["nodes"][0]["page_s"])
        self.assertGreaterEqual(short["nodes"][0]["page_ins"], 19 * (64 - 40))
        self.assertLess(short["nodes"][0]["page_ins"], 20 * 2 * 64)
        self.assertGreater(short["nodes"][0]["page_s"], 0.1 * short["total_s"])
        self.assertGreater(short["total_s"], enough["total_s"])

    def test_a_policy_moves_threads_to_the_fast_node(self):
        profile = grid()
        profile["nodes"][0]["power"] = 4
        stays = self.answer(profile, "--policy=none", "--iterations=60")
        moves = self.answer(profile, "--policy=cpu", "--first-mapping=equal",
                            "--iterations=400")
        self.assertEqual(stays["moves"], [])
        self.assertGreater(len(moves["moves"]), 0)
        self.assertGreater(moves["nodes"][0]["n_threads"], 2)
        self.assertLess(moves["iterations"][-1]["length_s"],
                        0.8 * stays["iterations"][-1]["length_s"])

    def test_a_policy_predicts_by_the_model_that_is_asked_for(self):
        """The fast node would be short of some pages: of few, or of all as by the cliff."""
        profile = grid()
        profile["nodes"][0].update(power=4, memory_pages=40)
        moves = {model: self.answer(profile, "--policy=cpu-mem", "--first-mapping=equal",
                                    "--iterations=300", f"--model={model}")["moves"]
                 for model in ("measured", "liu06", "cliff", "lru")}
        self.assertGreater(len(moves["measured"]), 0)
        self.assertGreater(len(moves["liu06"]), 0)
        self.assertEqual((moves["cliff"], moves["lru"]), ([], []))

    def test_counts_by_hand_are_carried_out(self):
        said = self.answer(grid(), "--counts=4,2,1,1", "--iterations=60")
        self.assertEqual([node["n_threads"] for node in said["nodes"]], [4, 2, 1, 1])

    def test_a_barrier_within_an_iteration_costs_messages(self):
        one = self.answer(grid(), "--policy=none", "--iterations=30")
        two = self.answer(grid(n_barriers=2), "--policy=none", "--iterations=30")
        self.assertGreater(two["messages"]["barrier_leave"]["n"],
                           1.8 * one["messages"]["barrier_leave"]["n"])

    def test_a_profile_without_a_script_is_run_by_its_groups(self):
        text = subprocess.run([WRITE_PROFILE, "cpu-mem", "4", "20"], check=True,
                              capture_output=True, text=True).stdout
        self.assertIn("the profile has no script", self.printed(text, "-i", "10"))
        said = self.answer(text, "-i", "10")
        self.assertTrue(said["script_is_guessed"])
        self.assertEqual(said["protocol"], "adaptive") # as a run without --protocol
        self.assertFalse(self.answer(grid(), "-i", "10")["script_is_guessed"])


class ClusterTest(SimulateTest):
    def with_file(self, text, *arguments, profile=None):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "cluster"
            path.write_text(text, encoding="utf-8")
            return self.answer(profile or grid(), f"--cluster={path}", "--policy=none",
                               *arguments)

    def test_slow_links_make_slow_iterations(self):
        quick = self.with_file("n0\nn1\nn2\nn3\n")
        slow = self.with_file("".join(f"n{x} net-us=2000 net-rate=100K\n"
                                      for x in range(4)))
        self.assertGreater(slow["median_s"], quick["median_s"] + 4e-3)
        self.assertEqual(len(slow["nodes"]), 4)

    def test_a_slow_disk_makes_paging_slow(self):
        profile = grid(1)
        slow, quick = (self.with_file(f"n0 memory=160K disk-ms={ms} disk-rate=40M\n",
                                      "-i", "10", profile=profile) for ms in (8, 0))
        self.assertGreater(slow["median_s"], 2 * quick["median_s"])

    def test_others_take_the_processor_from_a_time_on(self):
        said = self.with_file("n0\nn1\nn2 load=0.05:0.25\nn3\n", "-i", "60", "-e", "0")
        lengths = [it["length_s"] for it in said["iterations"]]
        self.assertLess(lengths[5], 2.3e-3)
        self.assertGreater(lengths[50], 7.5e-3)

    def test_a_new_node_is_used(self):
        said = self.with_file("".join(f"n{x} speed=500\n" for x in range(4)) +
                              "n4 speed=500 memory=64M\n", "-i", "5")
        self.assertEqual(len(said["nodes"]), 5)
        self.assertGreater(said["nodes"][4]["n_threads"], 0)


class RefusalTest(SimulateTest):
    def test_wrong_options_are_told_in_one_line_with_a_hint(self):
        for words, *arguments in (
                ("--iterations is '0'; allowed: 1 to 1000000", "-", "-i", "0"),
                ("--noise is '2'; allowed: 0 to 1", "-", "-e", "2"),
                ("there is no policy 'best'; there are initial", "-", "-p", "best"),
                ("there is no protocol 'scope' for all memory", "-", "-P", "scope"),
                ("--counts names 2 nodes and 3 threads, there are 4 and 8", "-", "-n",
                 "1,2"),
                ("--first-mapping is 'x'; allowed: known, equal", "-", "-f", "x"),
                ("--model is 'x'; allowed: measured, lru, liu06, cliff", "-", "-m", "x"),
                ("which profile?",),
                ("one profile at a time", "-", "other")):
            self.refused(USAGE, words, *arguments)

    def test_too_little_room_for_the_swap_files_is_told(self):
        """What comes out must not depend on how full /dev/shm is."""
        small = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                 'mount -t tmpfs -o size=64k none /dev/shm && exec "$@"', "sh"]
        if not shutil.which("unshare") or subprocess.run(
                [*small, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no file system can be mounted here")
        profile = grid(1)
        profile["nodes"][0]["memory_pages"] = 40
        done = subprocess.run([*small, TEAMSTER, "simulate", "-"], check=False, text=True,
                              input=json.dumps(profile), capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (NO_MEMORY, ""), done.stderr)
        self.assertIn("/dev/shm has no room for what simulated nodes have paged out",
                      done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_wrong_files_are_told_with_the_place(self):
        self.refused(CONFIGURATION, "No such file", "/nowhere/p.json")
        few = grid()
        few["nodes"][2]["memory_pages"] = 10
        self.refused(CONFIGURATION, "node n2 has 40 KiB for shared data and needs", "-",
                     profile=few)
        unknown = grid()
        del unknown["script"]
        self.refused(CONFIGURATION, "nobody knows who uses which pages", "-",
                     profile=unknown)

    def test_nodes_and_threads_that_cannot_be_are_told(self):
        for words, of_nodes, of_threads in (
                ("node n1 has 257 processors; allowed: 1 to 256", {"n_processors": 257}, {}),
                ("100 iterations could take", {"power": 1e-18}, {}),
                ("100 iterations could take", {}, {"computation_s": 1e18}),
                ("the link or the disk of node n1 is too slow", {"fetch_s": 1e12}, {})):
            profile = grid()
            profile["nodes"][1].update(of_nodes)
            profile["threads"][1].update(of_threads)
            self.refused(CONFIGURATION, words, "-", profile=profile)
        self.refused(CONFIGURATION, "there are 1025 nodes; allowed: 1 to 1024", "-",
                     profile=grid(1025))

    def test_wrong_clusters_are_told_with_the_line(self):
        for words, line in (("load= is '1:2'; allowed: FROM:SHARE", "n0 load=1:2"),
                            ("load= is '5:1,4:1'; allowed", "n0 load=5:1,4:1"),
                            ("net-us= is '-1'; allowed: 0 to 1000000 us", "n0 net-us=-1"),
                            ("disk-rate= is 'fast'; allowed", "n0 disk-rate=fast")):
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "cluster"
                path.write_text(line + "\n", encoding="utf-8")
                self.refused(CONFIGURATION, f"cluster:1: {words}", "-", "-c", path)

    def test_wrong_scripts_are_told_with_the_place(self):
        rounds = grid()["script"]["rounds"]
        for words, changes in (
                ("script.n_barriers: is 0", {"n_barriers": 0}),
                ("script.blocks[1]: is empty, or not behind",
                 {"blocks": [[256, 32], [280, 32]]}),
                ("script.rounds: has 0 elements", {"rounds": []}),
                ("run 0: must be page, pages, flags", {"blocks": [[256, 2], [512, 32]]}),
                ("script.rounds[0].threads[1]: has 3 numbers; a run has 4",
                 {"rounds": [{"iteration": 1, "threads": [[], [1, 2, 3]] + [[]] * 6}]}),
                ("there is no protocol 'x'", {"protocol": "x"}),
                ("script: 'more' is not known", {"more": 1, "rounds": rounds})):
            self.refused(CONFIGURATION, words, "-", profile=grid(**changes))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
