#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`teamster report`: records that are made here, so that it is known what must be said of
them; what runs write is looked at in tests/cluster/test_report.py.

usage: test_report.py TEAMSTER WRITE_PROFILE [TEST]...
"""
import copy
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

TEAMSTER, WRITE_PROFILE = sys.argv[1:3]
SLOWDOWN = float(os.environ.get("TM_TEST_SLOWDOWN", "1"))
USAGE, OUTPUT, CONFIGURATION = 64, 73, 78
STATS = """n_threads compute_ns read_faults write_faults remote_faults pages_fetched
    pages_served pages_granted pages_moved_in twins updates_sent updates_received
    copies_dropped releases barriers messages_sent bytes_sent threads_in threads_out
    fault_ns sync_ns memory resident page_ins page_outs copies_forgotten swap_ns
    swap_out_ns lack speed_ppm bad_messages strangers""".split()
# Of an iteration of 86 ms of the profile that write_profile makes (docs/plan.md).
COMPUTING_S = (0.016, 0.020, 0.020, 0.0267)
PAGING_S = (0, 0, 0.0658, 0)
POWER = (1, 0.8, 0.8, 0.6)
N = 40


def report(*arguments, text=None):
    done = subprocess.run(
        [TEAMSTER, "report", *map(str, arguments)], input=text, text=True,
        capture_output=True, check=False, timeout=100 * SLOWDOWN)
    return done.returncode, done.stdout, done.stderr


def profile():
    made = json.loads(subprocess.run(
        [WRITE_PROFILE, "cpu-mem"], check=True, capture_output=True,
        text=True).stdout)
    made["decision"] = None
    return made


def node(number, name, power, computing_s=0.0, paging_s=0.0):
    return {
        "node": number, "name": name, "host": "here", "power": power,
        "declared_speed": 0.0, "share": 1.0, "n_processors": 1, "n_workers": 1,
        "iterations": {
            "time_s": N * 0.086, "computing_s": N * computing_s,
            "paging_s": N * paging_s, "busy_s": N * (computing_s + paging_s),
            "release_s": 0.0, "pages_in": 0.0, "pages_out": 0.0},
        "stats": {name: 0 for name in STATS}}


def a_record(iteration_s=0.086, n=N):
    """Of the run whose profile that is."""
    longest = max(map(sum, zip(COMPUTING_S, PAGING_S)))
    work = sum(p * c for p, c in zip(POWER, COMPUTING_S))
    return {
        "teamster_report": 1, "teamster": "0.1.0", "seconds": 5.0,
        "policy": "none",
        "run": {"command": ["./grid", "--size", "2048"], "exit_code": 0,
                "system": "Linux", "ended": "2026-01-01"},
        "nodes": [node(i, f"n{i + 1}", POWER[i], COMPUTING_S[i], PAGING_S[i])
                  for i in range(4)],
        "iterations": {
            "n": n, "n_timed": n, "n_moved": 0,
            "sums": {"time_s": n * 0.086, "mean_s": n * sum(COMPUTING_S) / 4,
                     "longest_s": n * max(COMPUTING_S),
                     "longest_busy_s": n * longest, "work_s": n * work,
                     "capacity_s": n * 0.086 * sum(POWER)},
            "points": [[i + 1, 1, iteration_s * (1 + i % 5 / 100),
                        iteration_s, iteration_s * 1.05, 0, 0]
                       for i in range(n)],
            "events": [], "n_events": 0,
            "threads": [[i + 1, i // 8, i // 8] for i in range(32)]},
        "blocks": [{"name": "grid", "file": "jacobi.c", "line": 152,
                    "pages": 100, "read_faults": 10, "write_faults": 20,
                    "fetches": 30, "diffs": 40, "writers": 4}],
        "lines": [{"where": "sweep (jacobi.c:77)", "read_faults": 10, "write_faults": 15,
                   "wait_s": 0.75},
                  {"where": "", "read_faults": 0, "write_faults": 5, "wait_s": 0.25}],
        "n_samples": 16, "clock_s": 0.086, "profile": profile()}


class ReportTest(unittest.TestCase):
    def setUp(self):
        # pylint: disable=consider-using-with
        folder = tempfile.TemporaryDirectory(prefix="tm-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, record, name="a.json"):
        path = self.folder / name
        path.write_text(json.dumps(record), encoding="utf-8")
        return path

    def advice(self, record):
        """What is said of each factor: {name: (percent, words)}."""
        code, output, errors = report(self.file(record))
        self.assertEqual((code, errors), (0, ""), output)
        return {name: (float(percent), words) for name, percent, words
                in re.findall(r"^([a-z ]+?) +([\d.]+) % *(.*)$", output, re.M)}

    def page(self, record):
        target = self.folder / "page.html"
        code, _, errors = report(self.file(record), "-o", target)
        self.assertEqual((code, errors), (0, ""))
        return target.read_text(encoding="utf-8")

    def refused(self, record, *reasons):
        code, output, errors = report(
            "-", text=record if isinstance(record, str) else json.dumps(record))
        self.assertEqual((code, output, errors.count("\n")),
                         (CONFIGURATION, "", 1), errors)
        for reason in reasons:
            self.assertIn(reason, errors)


class AdviceTest(ReportTest):
    def test_a_node_that_pages_is_named_with_what_the_model_says(self):
        said = self.advice(a_record())
        percent, words = said["paging"]
        self.assertAlmostEqual(percent, 100 * 0.0267 / 0.0858, delta=0.2)
        self.assertIn("n3 pages: it waits for memory for 77 % of the time",
                      words)
        self.assertIn("With 3 threads less there (5, not 8): 23.3 ms an "
                      "iteration instead of 85.9 ms", words)
        self.assertIn("With 3 MiB more memory there and the threads as they "
                      "are: 26.7 ms an iteration instead of 85.9 ms", words)

    def test_it_says_what_teamster_plan_says(self):
        record = a_record()
        said = self.advice(record)["load balance"][1]
        made = profile()
        answer = json.loads(subprocess.run(
            [TEAMSTER, "plan", "-", "--json", "--policy=cpu-mem"],
            input=json.dumps(made), text=True, capture_output=True,
            check=True).stdout)["now"]["policies"][0]
        counts = ",".join(str(it["n_threads"]) for it in answer["nodes"])
        self.assertIn(f"Threads as {counts} on the nodes, not 8,8,8,8: "
                      f"{answer['iteration_s'] * 1e3:.1f} ms", said)
        self.assertIn(f"{answer['n_moves']} threads move", said)

    def test_the_product_of_the_factors_is_the_efficiency(self):
        said = self.advice(a_record())
        product = 1
        for name in ("load balance", "paging", "communication",
                     "use of speed"):
            product *= said[name][0] / 100
        self.assertAlmostEqual(product * 100 / said["efficiency"][0], 1,
                               delta=0.01)

    def test_the_command_to_follow_it_can_be_copied(self):
        record = a_record()
        record["run"]["command"] = ["./grid", "it's two words"]
        record["run"]["options"] = ["--hostfile=my hosts", "--emulate",
                                    "--policy=none", "--report=a.html"]
        code, output, errors = report(self.file(record))
        self.assertEqual((code, errors), (0, ""))
        line = output.splitlines()[-1]
        self.assertEqual(shlex.split(line), [
            "teamster", "run", "--policy=cpu-mem", "--hostfile=my hosts",
            "--emulate", "--report=a-2.html", "./grid", "it's two words"])
        page = xml.etree.ElementTree.fromstring(self.page(record))
        self.assertEqual([it.text for it in page.iter("pre")
                          if it.get("id") == "advised"], [line])

    def test_no_command_is_told_if_it_would_be_the_same(self):
        record = a_record()
        for options, policy in ((None, "none"), (["--nodes=4"], "cpu-mem")):
            record["policy"] = policy
            if options:
                record["run"]["options"] = options
            output = report(self.file(record))[1]
            self.assertNotIn("teamster run", output)
            self.assertNotIn("advised", self.page(record))

    def test_nothing_is_predicted_if_the_model_is_off(self):
        record = a_record()
        record["profile"]["measured"]["iteration_s"] *= 2
        for _, words in (self.advice(record)[name] for name
                         in ("load balance", "paging")):
            self.assertIn("What would be faster cannot be told", words)
            self.assertNotIn("instead of", words)

    def test_nothing_is_predicted_without_a_profile(self):
        record = a_record()
        record["profile"] = None
        record["no_profile"] = "the program never called tm_iteration_end()"
        words = self.advice(record)["paging"][1]
        self.assertIn("n3 pages", words)
        self.assertIn("cannot be told: the program never called", words)

    def test_nothing_is_predicted_of_few_iterations(self):
        record = a_record()
        record["n_samples"] = 3
        self.assertIn("only the last 3 iterations",
                      self.advice(record)["paging"][1])

    def test_a_run_without_iterations_is_one_part(self):
        record = a_record()
        record["iterations"] = record["profile"] = None
        record["no_profile"] = "there was none"
        for i, it in enumerate(record["nodes"]):
            it["iterations"] = None
            it["stats"]["compute_ns"] = int(COMPUTING_S[i] * 1e9)
        record["seconds"] = 0.0534
        said = self.advice(record)
        self.assertAlmostEqual(said["communication"][0], 50, delta=0.1)
        self.assertEqual(said["paging"][1], "No node waited for memory.")


    def test_where_pages_are_waited_for_is_said(self):
        record = a_record()
        for it in record["nodes"]:
            it["iterations"]["computing_s"] /= 2
        for name in ("mean_s", "longest_s", "longest_busy_s", "work_s"):
            record["iterations"]["sums"][name] /= 2
        said = self.advice(record)["communication"][1]
        self.assertIn("75 % is in sweep (jacobi.c:77).", said)
        self.assertIn("It is written by 4 nodes", said)
        self.assertIn("jacobi.c:77", self.page(record))
        del record["lines"], record["blocks"][0]["writers"]
        said = self.advice(record)["communication"][1]
        self.assertNotIn("jacobi.c:77", said)
        self.assertNotIn("It is written by", said)
        self.assertIn("they were not counted", self.page(record))


class PageTest(ReportTest):
    def test_a_page_is_well_formed_and_refers_to_nothing(self):
        text = self.page(a_record())
        xml.etree.ElementTree.fromstring(text)
        self.assertNotRegex(text, r"https?://|\bsrc=|@import|<link|<img")
        for target in re.findall(r'href="([^"]*)"', text):
            self.assertIn(f'id="{target[1:]}"', text)
            self.assertEqual(target[0], "#")
        self.assertIn("With 3 threads less there", text)

    def test_names_are_no_markup(self):
        record = a_record()
        bad = "</script><script>alert('x')</script>\"&<b>"
        record["run"]["command"] = [bad]
        record["nodes"][0]["name"] = record["blocks"][0]["name"] = bad
        record["iterations"]["events"] = [{"iteration": 1, "text": bad}]
        text = self.page(record)
        tree = xml.etree.ElementTree.fromstring(text)
        self.assertEqual(text.count("<script"), 1)  # the record
        self.assertNotIn("<b>", text)
        self.assertTrue(any(bad in "".join(it.itertext())
                            for it in tree.iter("pre")))
        code, output, _ = report(self.folder / "page.html")
        self.assertEqual(code, 0, output)

    def test_a_large_run_makes_no_large_page(self):
        record = a_record()
        record["nodes"] = [node(i, f"node-with-a-long-name-{i}", 1, 0.01)
                           for i in range(256)]
        record["iterations"]["threads"] = [
            [i + 1, i % 256, i * 7 % 256] for i in range(32000)]
        record["iterations"]["points"] = [
            [i * 1000 + 1, 1000, 86.123456789, 0.0861234567, 0.0871234567,
             3, 1] for i in range(400)]
        record["iterations"]["n"] = record["iterations"]["n_timed"] = 400000
        record["iterations"]["events"] = [
            {"iteration": i, "text": "iteration 1: " + "words " * 30}
            for i in range(200)]
        record["blocks"] *= 256
        record["profile"] = None
        record["no_profile"] = "there was none"
        text = self.page(record)
        self.assertLess(len(text.encode()), 300000)
        xml.etree.ElementTree.fromstring(text)
        self.assertIn("192 more nodes are not shown", text)

    def test_a_page_can_be_read_as_a_record(self):
        self.page(a_record())
        code, output, errors = report(self.folder / "page.html")
        self.assertEqual((code, errors), (0, ""))
        self.assertIn("n3 pages", output)

    def test_a_record_stays_the_same(self):
        record = a_record()
        target = self.folder / "b.json"
        self.assertEqual(report(self.file(record), "-o", target)[0], 0)
        self.assertEqual(json.loads(target.read_text(encoding="utf-8")),
                         record)


class CompareTest(ReportTest):
    def compared(self, first, second):
        code, output, errors = report(self.file(first, "a.json"),
                                      self.file(second, "b.json"))
        self.assertEqual((code, errors), (0, ""))
        return output

    def test_the_faster_run_is_named_with_its_factor(self):
        output = self.compared(a_record(0.086), a_record(0.043))
        self.assertRegex(output, r"b\.json is faster by a factor of 2\.00")
        output = self.compared(a_record(0.043), a_record(0.086))
        self.assertRegex(output, r"a\.json is faster by a factor of 2\.00")

    def test_what_overlaps_cannot_be_told(self):
        output = self.compared(a_record(0.086), a_record(0.087))
        self.assertIn("Which is faster cannot be told", output)
        self.assertNotIn("by a factor", output)

    def test_few_iterations_do_not_tell(self):
        output = self.compared(a_record(0.086, 5), a_record(0.010))
        self.assertIn("cannot be told: iterations after the last moves are 5",
                      output)

    def test_only_what_comes_after_the_last_move_counts(self):
        moved = a_record(0.086)
        for point in moved["iterations"]["points"][20:]:
            point[2:5] = [0.043, 0.043, 0.043]
        moved["iterations"]["points"][19][5] = 8
        output = self.compared(a_record(0.086), moved)
        self.assertRegex(output, r"b\.json is faster by a factor of 2\.0\d")

    def test_two_runs_make_a_page(self):
        target = self.folder / "both.html"
        code, _, errors = report(self.file(a_record(), "a.json"),
                                 self.file(a_record(0.04), "b.json"), "-o",
                                 target)
        self.assertEqual((code, errors), (0, ""))
        text = target.read_text(encoding="utf-8")
        xml.etree.ElementTree.fromstring(text)
        self.assertEqual(text.count("b.json is faster"), 1)


class RefusalTest(ReportTest):
    def test_what_is_no_record_is_refused_with_the_reason(self):
        self.refused("", "is empty")
        self.refused("[]", "is no report")
        self.refused("{", "line 1")
        self.refused(profile(), "is no report", "--report=FILE")
        self.refused("<html><p>a page</p></html>", "line 1")

    def test_wrong_values_are_named(self):
        for path, value, reason in (
                (("teamster_report",), 2, "is 2; this version reads 1"),
                (("nodes",), [], "allowed: 1 to 1024"),
                (("nodes", 1, "power"), -1, "nodes[1].power"),
                (("nodes", 1, "stats", "swap_ns"), "1", "swap_ns"),
                (("iterations", "threads", 3), [4, 9, 0], "threads[3]"),
                (("iterations", "points", 0), [1, 2], "points[0]"),
                (("profile", "nodes", 0, "power"), 0, "profile")):
            record = copy.deepcopy(a_record())
            at = record
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = value
            self.refused(record, reason)

    def test_the_command_line_is_checked(self):
        good = self.file(a_record())
        for arguments in ((), (good, good, good), (good, "-o", "x.txt"),
                          (good, good, "-o", "x.json"), ("--what",)):
            code, output, errors = report(*arguments)
            self.assertEqual((code, output), (USAGE, ""), errors)
        code, _, errors = report("/nowhere/at/all.json")
        self.assertEqual(code, CONFIGURATION)
        self.assertIn("No such file", errors)

    def test_what_cannot_be_written_is_told(self):
        good = self.file(a_record())
        for target in ("/nowhere/page.html", self.folder):
            if target is self.folder:
                target = self.folder / "is.html"
                target.mkdir()
            code, _, errors = report(good, "-o", target)
            self.assertEqual((code, errors.count("\n")), (OUTPUT, 1), errors)
            self.assertIn("cannot be written", errors)
        self.assertEqual(list(self.folder.glob("*.html.*")), [])

    def test_a_full_disk_leaves_what_was_there(self):
        target = self.folder / "page.html"
        target.write_text("before", encoding="utf-8")
        done = subprocess.run(
            ["sh", "-c", f"ulimit -f 8; trap '' XFSZ; exec {TEAMSTER} report "
             f"{self.file(a_record())} -o {target}"], capture_output=True,
            text=True, check=False, timeout=100 * SLOWDOWN)
        self.assertEqual(done.returncode, OUTPUT, done.stderr)
        self.assertIn("cannot be written", done.stderr)
        self.assertEqual(target.read_text(encoding="utf-8"), "before")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
