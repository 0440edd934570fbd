#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`teamster plan`: what it repeats, what it answers, what it refuses.

usage: test_plan.py TEAMSTER WRITE_PROFILE [TEST]...
"""
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import unittest

TEAMSTER, WRITE_PROFILE = sys.argv[1:3]
HERE = pathlib.Path(__file__).parent
BY_HAND = HERE / "two_nodes.json"
POLICIES = re.findall(
    r'^POLICY\(\w+, "(.*)"\)$',
    (HERE / "../../src/base/policies.def").read_text(encoding="utf-8"), re.M)
MODELS = re.findall(
    r'^COST_WORD\(\w+, "(.*)"\)$',
    (HERE / "../../src/place/profile.def").read_text(encoding="utf-8"), re.M)
VERSION = ".".join(re.findall(
    r"^#define TM_VERSION_[A-Z]+ (\d+)$",
    (HERE / "../../include/teamster.h").read_text(encoding="utf-8"), re.M))
SLOWDOWN = float(os.environ.get("TM_TEST_SLOWDOWN", "1"))
USAGE, CONFIGURATION, OUTPUT = 64, 78, 73


def plan(*arguments, text=None):
    """Run `teamster plan`; its exit code, output and errors."""
    done = subprocess.run(
        [TEAMSTER, "plan", *map(str, arguments)], input=text, text=True,
        capture_output=True, check=False, timeout=100 * SLOWDOWN)
    return done.returncode, done.stdout, done.stderr


def written(*arguments):
    """A profile as a run would write it."""
    return subprocess.run([WRITE_PROFILE, *map(str, arguments)], check=True,
                          capture_output=True, text=True).stdout


class PlanTest(unittest.TestCase):
    maxDiff = None

    def answer(self, *arguments, text=None):
        """What --json says."""
        code, output, errors = plan(*arguments, "--json", text=text)
        self.assertEqual((code, errors), (0, ""), arguments)
        return json.loads(output)

    def printed(self, *arguments, text=None):
        code, output, errors = plan(*arguments, text=text)
        self.assertEqual((code, errors), (0, ""), arguments)
        return output


class RepeatTest(PlanTest):
    def test_every_policys_decision_is_repeated_bit_by_bit(self):
        for policy in POLICIES:
            for seed in (0, 1, 2):
                profile = written(policy, 4, 20, seed)
                answer = self.answer("-", text=profile)
                self.assertIs(answer["is_as_decided"], True, answer)
                self.assertEqual(answer["differences"], [])
                decision = json.loads(profile)["decision"]
                said = answer["now"]["policies"]
                self.assertEqual([it["policy"] for it in said], [policy])
                self.assertEqual(said[0]["node_of"], decision["node_of"])
                self.assertEqual(said[0]["iteration_s"], decision["after_s"])
                self.assertEqual(said[0]["n_moves"], decision["n_moves"])
                self.assertEqual([it["time_s"] for it in said[0]["nodes"]],
                                 decision["node_after_s"])

    def test_it_says_that_it_is_as_the_run_decided(self):
        self.assertIn("\nas the run decided: the same mapping and times; it "
                      "was carried out\n",
                      self.printed("-", text=written("cpu-mem")))
        self.assertIn("the run had not decided anything yet",
                      self.printed("-", text=written("-")))

    def test_it_says_where_it_is_not(self):
        profile = json.loads(written("cpu-mem"))
        old = profile["decision"]["node_of"][5]
        profile["decision"]["node_of"][5] = (old + 1) % 4
        profile["decision"]["after_s"] *= 2
        profile["teamster"] = "0.0.7"
        output = self.printed("-", text=json.dumps(profile))
        self.assertIn(f"\nnot as the run decided:\n"
                      f"  (the run was of Teamster 0.0.7, this is {VERSION})\n"
                      f"  thread 5: on n{old + 1} here, on "
                      f"n{(old + 1) % 4 + 1} in the run\n"
                      f"  after: ", output)
        answer = self.answer("-", text=json.dumps(profile))
        self.assertIs(answer["is_as_decided"], False)
        self.assertEqual(len(answer["differences"]), 2)

    def test_only_the_runs_own_question_repeats_it(self):
        profile = written("cpu-mem")
        for arguments in (["-p", "cpu"], ["-w", "n1.memory=2x"],
                          ["--scale=2"], ["-w", "threads=32"]):
            answer = self.answer("-", *arguments, text=profile)
            self.assertIsNone(answer["is_as_decided"], arguments)
        answer = self.answer("-", "-p", "all", text=profile)
        self.assertIs(answer["is_as_decided"], True)


class HandTest(PlanTest):
    """tests/plan/two_nodes.json says how its numbers come about."""

    def near(self, a, b):
        self.assertLess(abs(a - b), 1e-6 * (abs(a) + abs(b)) + 1e-30)

    def test_the_numbers_are_those_by_hand(self):
        now = self.answer(BY_HAND)["now"]
        best = now["policies"][0]
        self.near(now["in_force"]["iteration_s"], 6)
        self.near(now["in_force"]["nodes"][0]["time_s"], 3.25)
        self.near(best["iteration_s"], 4.75)
        self.near(best["nodes"][0]["comp_s"], 4)
        self.near(best["nodes"][0]["mem_in_s"], 0.3)
        self.near(best["nodes"][0]["mem_out_s"], 0.45)
        self.near(best["nodes"][1]["time_s"], 4)
        self.assertEqual(best["n_moves"], 1)
        self.assertLessEqual(now["lower_bound_s"], 4.75 * (1 + 1e-9))
        self.assertGreaterEqual(now["lower_bound_s"], 4)

    def test_the_print_is_this(self):
        self.assertEqual(self.printed(BY_HAND.name), f"""\
{BY_HAND.name}: by-hand, iteration 3, 2 nodes, 6 threads, 6 groups of pages
model measured, kept-set
before: the mapping in force; after: that of cpu-mem

                                              before  |                                           after
node threads   comp ms    mem ms   comm ms   time ms  | threads   comp ms    mem ms   comm ms   time ms
n1         3  3000.000   250.000     0.000  3250.000  |       4  4000.000   750.000     0.000  4750.000
n2         3  6000.000     0.000     0.000  6000.000  |       2  4000.000     0.000     0.000  4000.000
iteration: 6000.000 ms -> 4750.000 ms predicted
moves: 1 of 6 threads
lower bound: 4750.000 ms; cpu-mem is 0.0 % above it
the run had not decided anything yet
""")

    def test_what_memory_is_worth(self):
        then = self.answer(BY_HAND, "-w", "n1.memory=+60K")["then"]
        self.assertEqual(then["cluster"][0]["memory_pages"], 40)
        self.near(then["policies"][0]["iteration_s"], 4)
        self.near(then["lower_bound_s"], 4)
        self.assertEqual(then["changes"], ["n1: memory 0.1 MiB -> 0.2 MiB"])

    def test_what_speed_is_worth(self):
        # n2 with power 1: three threads each, 3.25 and 3 s, is best.
        then = self.answer(BY_HAND, "-w", "n2.speed=+250")["then"]
        self.near(then["policies"][0]["iteration_s"], 3.25)
        then = self.answer(BY_HAND, "-w", "n2.workers=2")["then"]
        self.near(then["policies"][0]["iteration_s"], 4)

    def test_what_another_node_is_worth(self):
        then = self.answer(BY_HAND, "-w", "add:n3,speed=500,memory=1M")["then"]
        best = then["policies"][0]
        self.assertEqual([it["name"] for it in best["nodes"]],
                         ["n1", "n2", "n3"])
        self.near(best["iteration_s"], 3)
        then = self.answer(BY_HAND, "-w", "remove:n2")["then"]
        self.near(then["policies"][0]["iteration_s"], 6 + 35 * 0.05)
        self.assertEqual(then["policies"][0]["n_moves"], 3)

    def test_changes_add_up_in_order(self):
        then = self.answer(BY_HAND, "-w", "remove:n2", "-w",
                           "add:n3,like=n1,memory=+60K", "-w", "n1.memory=2x",
                           "-w", "threads=12")["then"]
        self.assertEqual([it["name"] for it in then["cluster"]], ["n1", "n3"])
        self.assertEqual([it["memory_pages"] for it in then["cluster"]],
                         [50, 40])
        self.assertEqual(then["n_threads"], 12)
        # 6 and 6: 6 + 10 * 0.05 and 6 + 20 * 0.05 s.
        self.near(then["policies"][0]["iteration_s"], 7)

    def test_another_cluster(self):
        then = self.answer(BY_HAND, "--cluster", HERE / "hosts")["then"]
        self.assertEqual([it["name"] for it in then["cluster"]], ["n2", "n7"])
        self.assertEqual([it["power"] for it in then["cluster"]], [1, 2])
        self.assertEqual(then["cluster"][1]["n_processors"], 2)
        # 2 on n2 and 4 on the two workers of n7, or 1 and 5: 2 and 1, 1 and
        # 1.5 s; none is short.
        self.near(then["policies"][0]["iteration_s"], 1.5)

    def test_a_cluster_may_be_larger_than_any_run(self):
        with tempfile.NamedTemporaryFile("w", encoding="ascii") as file:
            file.write("".join(f"h{i} speed={1 + i % 3} memory=64M\n" for i in range(1000)))
            file.flush()
            then = self.answer(BY_HAND, "--cluster", file.name)["then"]
        self.assertEqual(len(then["cluster"]), 1000)
        self.assertEqual(then["cluster"][999]["name"], "h999")

    def test_a_thousand_times_as_large(self):
        then = self.answer(BY_HAND, "--scale=1000")["then"]
        self.assertEqual(len(then["cluster"]), 2000)
        self.assertEqual(then["n_threads"], 6000)
        self.near(then["policies"][0]["iteration_s"], 4.75)
        self.assertEqual(then["cluster"][1999]["name"], "n2-1000")


class ConsistencyTest(PlanTest):
    def test_a_what_if_is_what_a_profile_of_that_cluster_would_say(self):
        profile = json.loads(written("initial", 4, 24, 5))
        profile["measured"] = None  # or it would be predicted anew
        changed = json.loads(json.dumps(profile))
        node = changed["nodes"][2]
        for key in ("memory_pages", "free_pages", "total_pages"):
            node[key] += 512
        changed["nodes"][0]["power"] *= 2
        asked = ["-p", "all"]
        then = self.answer("-", "-w", "n3.memory=+2M", "-w", "n1.speed=2x",
                           *asked, text=json.dumps(profile))["then"]
        now = self.answer("-", *asked, text=json.dumps(changed))["now"]
        self.assertEqual(then["lower_bound_s"], now["lower_bound_s"])
        self.assertEqual(then["in_force"], now["in_force"])
        self.assertEqual(then["policies"], now["policies"])

    def test_all_policies_come_best_first(self):
        now = self.answer("-", "-p", "all", text=written("cpu", 4, 20, 3))[
            "now"]
        said = now["policies"]
        self.assertEqual(sorted(it["policy"] for it in said),
                         sorted(POLICIES))
        times = [it["iteration_s"] for it in said]
        self.assertEqual(times, sorted(times))
        self.assertGreaterEqual(times[0], now["lower_bound_s"] * (1 - 1e-6))
        for it in said:
            counts = [0] * 4
            for node in it["node_of"]:
                counts[node] += 1
            self.assertEqual(counts, [n["n_threads"] for n in it["nodes"]])

    def test_what_is_printed_is_what_json_says(self):
        profile = written("cpu-mem", 4, 20, 3)
        best = self.answer("-", text=profile)["now"]["policies"][0]
        output = self.printed("-", "-v", text=profile)
        mapping = output[output.index("\nmapping\n") + 9:].splitlines()
        node_of = {}
        for node, line in enumerate(mapping):
            name, _, threads = line.partition(": threads ")
            self.assertEqual(name, f"n{node + 1}")
            for part in threads.split():
                first, _, last = part.partition("-")
                for thread in range(int(first), int(last or first) + 1):
                    node_of[thread] = node
        self.assertEqual([node_of[i] for i in range(20)], best["node_of"])
        self.assertIn(f"-> {best['iteration_s'] * 1e3:.3f} ms", output)

    def test_several_policies_are_printed_in_a_table(self):
        profile = written("cpu-mem", 4, 20, 3)
        output = self.printed("-", "-p", "all", "-w", "n1.memory=2x",
                              text=profile)
        lines = output[output.index("\npolicy") + 1:].splitlines()
        self.assertEqual(lines[0].split()[:3], ["policy", "now", "ms"])
        end = 1 + len(POLICIES)
        self.assertEqual(sorted(line.split()[0] for line in lines[1:end]),
                         sorted(POLICIES))
        self.assertTrue(lines[end].startswith("(in force)"))

    def test_of_many_nodes_the_slowest_are_shown(self):
        output = self.printed(BY_HAND, "--scale=100")
        self.assertIn("these are the slowest of 200 nodes; -v shows all",
                      output)
        self.assertLess(len(output.splitlines()), 40)
        self.assertRegex(output, r"\nnodes like +nodes +workers[^\n]*\n[^\n]*\n"
                                 r"n1 +100 [^\n]*\nn2 +100 ")
        self.assertEqual(
            self.printed(BY_HAND, "--scale=100", "-v").count("\nn2-100"), 5)


class ModelTest(PlanTest):
    """Another model, and mappings by hand."""

    def test_a_mapping_by_hand_is_predicted(self):
        """As if it were in force in the profile."""
        profile = json.loads(written("cpu-mem", 4, 20, 3))
        now = self.answer("-", "--counts=7,6,2,5",
                          text=json.dumps(profile))["now"]
        self.assertEqual([it["policy"] for it in now["policies"]], ["by hand"])
        by_hand = now["policies"][0]
        self.assertEqual(by_hand["node_of"],
                         [0] * 7 + [1] * 6 + [2] * 2 + [3] * 5)
        profile["node_of"] = by_hand["node_of"]
        profile["decision"] = None
        in_force = self.answer("-", text=json.dumps(profile))["now"]["in_force"]
        self.assertEqual(by_hand["iteration_s"], in_force["iteration_s"])
        self.assertEqual(by_hand["nodes"], in_force["nodes"])

    def test_a_mapping_by_hand_is_printed_by_term(self):
        output = self.printed("-", "--counts", "11,9,5,7",
                              text=written("cpu-mem"))
        self.assertIn("after: that by hand\n", output)
        self.assertRegex(output, r"\nn3 +8 +20.000 +65.815 +0.120 +85.935  \| "
                         r"+5 +12.500 +5.289 +0.120 +17.909\n")
        self.assertIn("\nlower bound: 23.333 ms; that by hand is 0.0 % above "
                      "it\n", output)
        self.assertNotIn("as the run decided", output)

    def test_a_mapping_by_hand_beside_policies(self):
        output = self.printed("-", "-n", "8,8,8,8", "-p", "all",
                              text=written("cpu-mem"))
        self.assertRegex(output, r"\nby hand +85.935 +268.3 % +0   8 8 8 8\n")
        self.assertIn("\nas the run decided: ", output)

    def test_a_mapping_by_hand_of_a_changed_cluster(self):
        changes = ["-w", "add:n5,speed=400,memory=64M"]
        profile = written("cpu-mem")
        output = self.printed("-", "--counts=8,8,4,8,4", *changes, text=profile)
        self.assertRegex(output, r"\nby hand +- +26.787\n")
        output = self.printed("-", "--counts=8,8,8,8", "-w", "n3.memory=+4M",
                              text=profile)
        self.assertRegex(output, r"\nby hand +85.935 +26.667 +-69.0 %\n")
        output = self.printed("-", "--counts=8,8,4,8,4", "-p", "cpu", *changes,
                              text=profile)
        self.assertRegex(output, r"\nby hand +- +26.787 ")

    def test_a_mapping_by_hand_leaves_pinned_threads(self):
        """Another goes in exchange, if there is one, so that the counts hold."""
        profile = json.loads(written("cpu-mem"))
        for counts, pinned, then in (("12,6,6,8", 10, [12, 6, 6, 8]),
                                     ("0,16,8,8", 3, [1, 15, 8, 8])):
            profile["threads"][pinned]["is_pinned"] = True
            now = self.answer("-", "--counts", counts,
                              text=json.dumps(profile))["now"]
            by_hand = now["policies"][0]
            self.assertEqual(by_hand["node_of"][pinned],
                             profile["node_of"][pinned])
            self.assertEqual([it["n_threads"] for it in by_hand["nodes"]], then)
            del profile["threads"][pinned]["is_pinned"]

    def test_a_mapping_by_hand_is_not_what_a_policy_decided(self):
        """Not even one that is not here, so that nothing can be repeated."""
        profile = json.loads(written("cpu-mem"))
        profile["decision"]["policy"] = "newest"
        for policy in ([], ["-p", "cpu"]):
            asked = ["-", "--counts=8,8,8,8", *policy]
            self.assertNotIn("as the run decided",
                             self.printed(*asked, text=json.dumps(profile)))

    def test_another_model_goes_by_its_own_equations(self):
        """Of node 0, on the run's mapping: T_spi and T_spo of the reference, for its
        lack, scaled (docs/model.md); what was learned is left out."""
        profile = json.loads(BY_HAND.read_text())
        profile["model"]["reference"] = {
            "power": 1, "lack_pages": 10, "free_pages": 30, "total_pages": 60,
            "swap_in_s": 0.5, "swap_out_s": 0.25}
        # All nodes have as much memory in all and free as the reference, or twice.
        for node in profile["nodes"]:
            node.update(free_pages=60, total_pages=60)
        profile["model"]["corrections"] = [
            {"comp": 2, "mem": 2, "comm": 2, "memory": 1, "rest_s": 0}
            for _ in profile["nodes"]]
        text = json.dumps(profile)
        learned = self.answer("-", text=text)
        liu06 = self.answer("-", "-m", "liu06", text=text)
        self.assertEqual((learned["model"], liu06["model"]),
                         ("measured", "liu06"))
        node = liu06["now"]["in_force"]["nodes"][0]
        lack, power = node["lack_pages"], profile["nodes"][0]["power"]
        self.assertGreater(lack, 0)
        self.assertAlmostEqual(
            node["mem_s"], lack / 10 * (0.5 + 0.25 * (30 / 60) / power))
        self.assertAlmostEqual(
            2 * node["comp_s"],
            learned["now"]["in_force"]["nodes"][0]["comp_s"])
        self.assertIsNone(liu06["is_as_decided"])
        output = self.printed("-", "--model=liu06", text=text)
        self.assertIn("\nmodel liu06; that of the run was measured\n", output)

    def test_the_first_equation_needs_no_reference_processor(self):
        """Short of a page, node 0 replaces all pages of its threads: 30, at 0.02 and
        0.03 s (two_nodes.json)."""
        now = self.answer(BY_HAND, "--model=cliff", "--counts=3,3")["now"]
        node = now["policies"][0]["nodes"][0]
        self.assertEqual(node["lack_pages"], 5)
        self.assertEqual((node["pages_in"], node["pages_out"]), (30, 30))
        self.assertAlmostEqual(node["mem_s"], 30 * (0.02 + 0.03))
        profile = json.loads(BY_HAND.read_text())
        profile["model"]["kind"] = "cliff"
        of_the_run = self.answer("-", "--counts=3,3",
                                 text=json.dumps(profile))["now"]
        self.assertEqual(of_the_run["policies"], now["policies"])

    def test_models_counts_policies_and_changes_go_together(self):
        """What is asked of the changed cluster is what a profile of it would say."""
        profile = json.loads(written("cpu-mem"))
        profile["measured"] = profile["decision"] = None
        changed = json.loads(json.dumps(profile))
        for key in ("memory_pages", "free_pages", "total_pages"):
            changed["nodes"][2][key] += 256
        for model in MODELS:
            asked = ["-", "--counts=10,8,6,8", "-p", "all", "--model", model]
            then = self.answer(*asked, "-w", "n3.memory=+1M",
                               text=json.dumps(profile))["then"]
            now = self.answer(*asked, text=json.dumps(changed))["now"]
            self.assertEqual(len(now["policies"]), len(POLICIES) + 1)
            self.assertEqual(then["policies"], now["policies"], model)
            self.assertEqual(then["lower_bound_s"], now["lower_bound_s"], model)
            for it in now["policies"]:
                self.assertGreaterEqual(
                    it["iteration_s"], now["lower_bound_s"] * (1 - 1e-6))

    def test_the_profiles_own_model_changes_nothing(self):
        profile = written("cpu-mem")
        self.assertEqual(self.printed("-", "-m", "measured", text=profile),
                         self.printed("-", text=profile))

    def test_without_a_bound_there_is_no_distance(self):
        profile = json.loads(written("-"))
        for thread in profile["threads"]:
            thread["computation_s"] = 0
        profile["measured"] = None
        text = json.dumps(profile)
        self.assertIn("\nlower bound: none\n",
                      self.printed("-", "-p", "initial", text=text))
        every = self.printed("-", "-p", "all", text=text)
        self.assertRegex(every, r"\ninitial +[\d.]+ +- +0   8 8 8 8\n")
        self.assertIn("\nlower bound: none\n", every)
        changed = ["-", "-w", "n1.speed=2x"]
        self.assertRegex(self.printed(*changed, text=text),
                         r"\nlower bound +- +-\n")
        self.assertIn("\nlower bound: none; now none\n",
                      self.printed(*changed, "-p", "all", text=text))
        now = self.answer("-", "-p", "initial", text=text)["now"]
        self.assertIsNone(now["in_force"]["above_bound"])


class RefusalTest(PlanTest):
    def refused(self, code, message, *arguments, text=None):
        self.assertEqual(plan(*arguments, text=text),
                         (code, "", f"teamster plan: {message}\n"))

    def test_the_command_line(self):
        self.refused(USAGE, "which profile? \"teamster run --save-profile="
                     "FILE\" writes one; see \"teamster plan --help\".")
        self.refused(USAGE, "one profile at a time, not also 'b'", "a", "b")
        self.refused(USAGE, "there is no policy 'best'; there are "
                     f"{', '.join(POLICIES)}, and all", BY_HAND, "--policy=best")
        for scale in ("0", "-1", "2x", "", "1000001", "99999999999999999999"):
            self.refused(USAGE, f"--scale is '{scale}'; allowed: 1 to 1000000",
                         BY_HAND, f"--scale={scale}")
        for counts in ("", "1,2,x", "4,", ",4", "-1,7", "4;4"):
            self.refused(USAGE, f"--counts is '{counts}'; allowed: numbers of "
                         "threads, one a node, with commas between", BY_HAND,
                         f"--counts={counts}")
        self.refused(USAGE, "--counts names 3 nodes and 6 threads, there are 2 "
                     "and 6", BY_HAND, "--counts=2,2,2")
        self.refused(USAGE, "--counts names 2 nodes and 7 threads, there are 2 "
                     "and 6", BY_HAND, "--counts=3,4")
        self.refused(USAGE, "--model is 'best'; allowed: "
                     f"{', '.join(MODELS)}", BY_HAND, "--model=best")
        self.refused(CONFIGURATION, f"{BY_HAND}: model.reference: power is 0; "
                     "--model=liu06 needs a reference processor", BY_HAND,
                     "--model=liu06")
        for pairs, what in (("speed=400,memory=1M,speed=300", "speed= is there "
                             "twice"),
                            ("speed=400,memory=1M,power=1", "power= is there "
                             "twice"),
                            ("memory=1M,memory=2M,speed=1", "memory= is there "
                             "twice"),
                            ("memory=1M,like=n1", "like= comes first, for it "
                             "says everything"),
                            ("like=n1,like=n2", "like= comes first, for it "
                             "says everything")):
            self.refused(USAGE, f"--what-if 'add:n5,{pairs}': {what}", BY_HAND,
                         "-w", f"add:n5,{pairs}")
        self.refused(USAGE, "--what-if 'n9.memory=2x': there is no node n9; "
                     "there are n1, n2", BY_HAND, "-w", "n9.memory=2x")
        code, _, errors = plan(BY_HAND, "--polcy=all")
        self.assertEqual(code, USAGE)
        self.assertIn("Try \"teamster plan --help\".", errors)

    def test_files(self):
        self.refused(CONFIGURATION, "/nowhere: No such file or directory",
                     "/nowhere")
        self.refused(CONFIGURATION, "standard input: is empty", "-", text="")
        self.refused(CONFIGURATION, "standard input: is no profile: it must "
                     "be an object", "-", text="[]")
        profile = json.loads(BY_HAND.read_text())
        profile["nodes"][1]["power"] = "fast"
        self.refused(CONFIGURATION, "standard input: nodes[1].power: is a "
                     "text; must be a number", "-", text=json.dumps(profile))
        self.refused(CONFIGURATION, "/nowhere: No such file or directory",
                     BY_HAND, "--cluster=/nowhere")
        with tempfile.NamedTemporaryFile("w") as hosts:
            hosts.write("n1\nn8\n")
            hosts.flush()
            self.refused(CONFIGURATION, f"{hosts.name}: n8 needs speed= and "
                         "memory=: the profile has no node of that name to "
                         "take them from", BY_HAND, "-c", hosts.name)
            hosts.write("n9 memory=lots\n")
            hosts.flush()
            code, output, errors = plan(BY_HAND, "-c", hosts.name)
            self.assertEqual((code, output), (CONFIGURATION, ""))
            self.assertIn(f"{hosts.name}:3: memory= is 'lots'", errors)

    def test_a_policy_that_is_not_here(self):
        profile = json.loads(written("cpu-mem"))
        profile["decision"]["policy"] = "newest"
        text = json.dumps(profile)
        self.refused(CONFIGURATION, "-: decision.policy: there is no 'newest' "
                     "here; choose one with --policy", "-", text=text)
        self.assertIsNone(
            self.answer("-", "-p", "cpu", text=text)["is_as_decided"])

    def test_no_output(self):
        for more in ([], ["--json"]):
            with open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([TEAMSTER, "plan", BY_HAND, *more],
                                      stdout=full, stderr=subprocess.PIPE,
                                      check=False)
            self.assertEqual(done.returncode, OUTPUT, done.stderr)

    def test_the_help_names_all_policies_and_options(self):
        code, output, errors = plan("--help")
        self.assertEqual((code, errors), (0, ""))
        for policy in POLICIES:
            self.assertIn(f"\n  {policy} ", output)
        for model in MODELS:
            self.assertRegex(output, rf"\s{model}[\s,;]")
        for option in ("policy", "counts", "model", "cluster", "scale", "what-if", "advise", "prices",
                       "json", "verbose", "help"):
            self.assertIn(f"--{option}", output)
        done = subprocess.run([TEAMSTER, "help", "plan"], check=True,
                              capture_output=True, text=True)
        self.assertEqual(done.stdout, output)


class AdviseTest(PlanTest):
    def advice(self, *arguments, text=None):
        return self.answer("-", *arguments, text=text or written("cpu-mem"))["advice"]

    def test_what_is_said_to_be_enough_is_enough(self):
        profile = written("cpu-mem")
        advice = self.advice("--advise=75", text=profile)
        self.assertGreater(advice["free_s"], advice["wanted_s"])
        self.assertEqual({it["kind"] for it in advice["purchases"]},
                         {"memory", "speed", "node"})
        for purchase in advice["purchases"]:
            changes = [f"--what-if={change}" for change in purchase["changes"]]
            then = self.answer("-", *changes, text=profile)["then"]
            self.assertAlmostEqual(
                min(then["policies"][0]["iteration_s"], then["in_force"]["iteration_s"]),
                purchase["iteration_s"])
            self.assertLessEqual(purchase["iteration_s"], advice["wanted_s"])

    def test_prices_decide(self):
        for prices, first in (("memory=1,speed=999,node=999", "memory"),
                              ("memory=9999,speed=1,node=999", "speed"),
                              ("memory=9999,speed=999,node=1", "node")):
            advice = self.advice("--advise=75", f"--prices={prices}")
            self.assertEqual(advice["purchases"][0]["kind"], first, prices)
            costs = [it["price"] for it in advice["purchases"]]
            self.assertEqual(costs, sorted(costs))

    def test_what_if_is_asked_beyond(self):
        more = self.advice("--advise=75", "--what-if=n3.memory=+4M")
        self.assertAlmostEqual(more["in_force_s"], 0.026667, places=6)
        self.assertIsNotNone(more["errors"])

    def test_errors_of_predictions_are_told(self):
        self.assertIn("the model was off by -1.0 % for the mapping that was measured",
                      self.printed("-", "--advise=20", text=written("cpu-mem")))
        self.assertIn("do not rely on it",
                      self.printed("-", "--advise=0.5", text=written("cpu-mem")))
        self.assertIn("nothing was measured", self.printed(BY_HAND, "--advise=20"))

    def test_nodes_that_are_alike_are_asked_as_one(self):
        advice = self.advice("--advise=75", "--scale=3")
        self.assertIn((3, "n3"), {(it["n_nodes"], it["like"])
                                  for it in advice["purchases"] if it["kind"] == "memory"})

    def test_bad_questions_are_refused(self):
        for arguments, line in (
                (["--advise=0"], "--advise is '0'; it is a percentage"),
                (["--advise=100"], "--advise is '100'; it is a percentage"),
                (["--advise=much"], "--advise is 'much'; it is a percentage"),
                (["--advise=9", "--prices=memory=4"], "it has all three, as"),
                (["--advise=9", "--prices=memory=4,speed=0,node=3"], "it has all three, as"),
                (["--prices=memory=4,speed=8,node=3"], "--prices is given, but '--advise' is not"),
                (["--advise=9", "-p", "all"], "--advise asks one policy, not 'all'"),
                (["--advise=9", "--counts=3,3"], "--advise asks one policy, not '--counts'")):
            code, output, errors = plan(BY_HAND, *arguments)
            self.assertEqual((code, output), (USAGE, ""), arguments)
            self.assertIn(line, errors)
            self.assertEqual(errors.count("\n"), 1)


class DocumentTest(PlanTest):
    """docs/plan.md"""

    def test_examples_are_what_is_printed(self):
        text = (HERE / "../../docs/plan.md").read_text(encoding="utf-8")
        examples = re.findall(r"^```\n\$ teamster plan (grid\.json.*)\n((?:.*\n)*?)```$",
                              text, re.M)
        self.assertGreaterEqual(len(examples), 8)
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "grid.json").write_text(written("cpu-mem"), encoding="utf-8")
            for arguments, expected in examples:
                done = subprocess.run([TEAMSTER, "plan", *arguments.split()], cwd=folder,
                                      check=True, capture_output=True, text=True)
                self.assertEqual(done.stdout, expected, arguments)


class SpeedTest(PlanTest):
    """Of everything but the policies, which have their own tests."""

    def seconds(self, profile, scale):
        """Processor time of a plan."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        code, _, errors = plan("-", f"--scale={scale}", "--policy=initial",
                               text=profile)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertEqual((code, errors), (0, ""))
        return after.ru_utime - before.ru_utime

    def test_time_grows_less_than_with_the_square(self):
        profile = written("-", 16, 640, 1)
        small = min(self.seconds(profile, 64) for _ in range(3))
        large = min(self.seconds(profile, 512) for _ in range(2))
        print(f"8192 nodes and 327,680 threads take {large / small:.1f} times "
              "as long as an eighth of it", flush=True)
        self.assertLess(large, 8 * 8 * small)


if __name__ == "__main__":
    os.chdir(HERE)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
