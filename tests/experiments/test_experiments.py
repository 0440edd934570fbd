#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The logic of tools/experiments.py, on cells that are made up.

usage: test_experiments.py TOOLS_FOLDER TEAMSTER [TEST]...
"""
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

TOOLS = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(TOOLS))
TEAMSTER = sys.argv.pop(1)

# pylint: disable=wrong-import-position
from experiment import cells, charts, claims, disk, least, output, papers
from experiment import laboratory, predict, report, run, search, sizes
from experiment.cells import Cell
from experiment.measure import Measurement, OutOfTime
from experiment.progress import Progress
from experiment.results import Results, is_tied, summarize
from experiment.store import FAKE, Mismatch, Store

import fake
import papers_simulated

SETTINGS = {"scale": 1 / 128, "iterations": 90, "swap_rate": None,
            "swap_dir": None}
ALL = {**SETTINGS, "repeats": 2, "search_runs": 12,
       "policies": papers.LIU06_POLICIES}
SOR = [Cell("liu06", "1B", "sor", policy, "then")
       for policy in papers.LIU06_POLICIES]


class InFolder(unittest.TestCase):
    """Each test has a folder of made-up cells."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.store = self.open(SETTINGS)
        self.out = io.StringIO()

    def open(self, settings, origin=FAKE):
        store = Store(self.folder, origin)
        store.open(settings)
        return store

    def measure(self, which, runner, **settings):
        progress = Progress({}, self.out)
        measurement = Measurement(self.store, {**ALL, **settings}, runner,
                                  progress)
        progress.expect({cell: measurement.runs_left(cell) for cell in which})
        measurement.measure(which)
        return runner.calls


class CellsTest(unittest.TestCase):
    def test_all_of_the_papers_are_there(self):
        then = [cell for cell in cells.all_cells()
                if cell.disk == "then" and cell.policy != "best"]
        self.assertEqual(len([c for c in then if c.paper == "liu06"]), 168)
        self.assertEqual(len([c for c in then if c.paper == "liang03"]), 12)
        names = [cell.name for cell in cells.all_cells()]
        self.assertEqual(len(names), len(set(names)))

    def test_a_group_stands_for_both_of_its_environments(self):
        names = [cell.name for cell in cells.select(
            {"app": ["sor"], "env": ["3"], "policy": ["cpu-mem"],
             "disk": ["then"], "paper": None})]
        self.assertEqual(names, ["liu06-3A-sor-cpu-mem-then",
                                 "liu06-3B-sor-cpu-mem-then"])

    def test_a_search_comes_after_the_cells_it_starts_from(self):
        order = cells.all_cells()
        for paper, env, app in cells.SEARCHED:
            best = Cell(paper, env, app, "best", "then")
            self.assertGreater(order.index(best), order.index(
                best.beside(policy="cpu-mem")))


class SizesTest(unittest.TestCase):
    def test_full_size_is_that_of_the_papers(self):
        sor = sizes.work("liang03", "sor", 1.0)
        self.assertEqual((sor.size, sor.memory_factor), (6144, 1.0))
        self.assertEqual(sizes.work("liang03", "matmul", 1.0).size, 3072)
        for app in ("sor", "jacobi", "gauss"):
            data = sizes.work("liu06", app, 1.0).data_bytes
            self.assertAlmostEqual(data / papers.MIB, 288, delta=2)

    def test_memory_shrinks_as_the_data_do(self):
        for app in papers.HUNGRY:
            full = sizes.work("liu06", app, 1.0)
            for scale in (1 / 2, 1 / 32, 1 / 100):
                small = sizes.work("liu06", app, scale)
                self.assertAlmostEqual(
                    small.memory_factor, small.data_bytes / full.data_bytes,
                    delta=0.02 * small.memory_factor, msg=app)

    def test_frugal_applications_fit_everywhere(self):
        for app in papers.FRUGAL:
            for scale in (1.0, 1 / 32):
                work = sizes.work("liu06", app, scale)
                self.assertEqual(work.memory_factor, 1.0)
                self.assertLess(work.data_bytes, 45 * papers.MIB)

    def test_hostfile_has_the_cluster(self):
        work = sizes.Work(0, 90, 71, 90, 0, 0.5, (), 3)
        text = run.hostfile(Cell("liu06", "3B", "sor", "cpu", "then"), work)
        self.assertEqual(text.splitlines()[3],
                         "n3 workers=1 speed=300 memory=46092K")
        self.assertNotIn("memory", run.hostfile(SOR[0], work, False))

    def test_what_the_pager_needs_comes_on_top_of_small_memories(self):
        self.assertEqual(sizes.work("liu06", "sor", 1.0).extra_pages, 0)
        self.assertEqual(sizes.work("liu06", "sor", 1 / 64).extra_pages,
                         sizes.PAGER_PAGES)
        self.assertEqual(sizes.work("liu06", "nbody", 1 / 64).extra_pages, 0)

    def test_elimination_ends_with_what_is_measured(self):
        work = sizes.work("liu06", "gauss", 1 / 64, 90)
        self.assertEqual(work.iterations, work.last)
        self.assertEqual(work.options[-2:], ("--steps", "90"))

    def test_only_the_disk_of_then_is_slowed(self):
        work = sizes.work("liu06", "sor", 1 / 32)
        for kind, is_slow in (("then", True), ("today", False)):
            words = run.command(SOR[0].beside(disk=kind), work,
                                pathlib.Path("build"), "f",
                                (5000000, "/fast"))
            self.assertEqual("--swap-rate=5000000" in words, is_slow)
            self.assertEqual("--swap-dir=/fast" in words, is_slow)


class OutputTest(unittest.TestCase):
    TEXT = """\
iteration 1: 9.000000 ms
iteration 2: 4.000000 ms
iteration 3: 6.000000 ms
pages of iterations 1-2: in 8 0, out 8 0
pages of iterations 3-4: in 4 2, out 2 0

  node  threads  moved in  computing s   faults  pages fetched  bytes sent
     0        3         1        0.160      331             44       31400
     1        1         0        0.080       12              2        1400

checksum: 6567681ce65c198b
"""
    WORK = sizes.Work(64, 3, 2, 3, 4096, 1.0)

    def test_the_measured_iterations_count(self):
        found = output.read_run(self.TEXT, self.WORK)
        self.assertEqual(found["iteration_ms"], 5.0)
        self.assertEqual(found["iteration_deviation_ms"], 1.0)
        self.assertEqual(found["counts"], [3, 1])
        self.assertEqual(found["page_ins"], [2.0, 1.0])
        self.assertEqual(found["page_outs"], [1.0, 0.0])

    def test_what_is_missing_is_said(self):
        for cut, message in (("iteration 3", "iteration 3"),
                             ("checksum", "checksum"), ("     0", "node")):
            text = "\n".join(line for line in self.TEXT.splitlines()
                             if not line.startswith(cut)
                             and not (cut == "     0" and "  1  " in line))
            with self.assertRaisesRegex(output.Unreadable, message):
                output.read_run(text, self.WORK)


class PredictTest(InFolder):
    def test_predicted_is_the_mapping_the_run_ended_with(self):
        profile = {"node_of": [0, 0, 0, 1, 1],
                   "decision": {"node_of": [0, 0, 0, 0, 1],
                                "before_s": 0.5, "after_s": 0.25}}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(profile, file)
            file.flush()
            for counts, ms in (((3, 1), 250.0), ((2, 2), 500.0),
                               ((1, 3), None)):
                with unittest.mock.patch.object(predict, "_by_liu06"):
                    found = predict.predictions(TEAMSTER, file.name, counts)
                self.assertEqual(found["predicted_ms"], ms)
                self.assertEqual(found["predicted_liu06_ms"] is None, ms is None)
        self.assertEqual(predict.predictions(TEAMSTER, "/nowhere", (3, 1)), {
            "predicted_ms": None, "predicted_liu06_ms": None})

    def test_the_papers_model_predicts_for_that_mapping(self):
        """Threads that share nothing: T = Tcomp."""
        node = {"n_processors": 1, "memory_pages": 99, "free_pages": 99,
                "total_pages": 99, "swap_in_s": 1e-3, "swap_out_s": 1e-3,
                "fetch_s": 1e-5, "packet_s": 1e-5, "packet_bytes": 4096}
        profile = {
            "teamster_profile": 1, "teamster": "0", "program": "", "iteration": 9,
            "page_bytes": 4096, "unit_speed": 0,
            "nodes": [{"name": "a", "power": 1.0, **node},
                      {"name": "b", "power": 0.5, **node}],
            "group_pages": [], "node_of": [0, 0, 0, 1, 1],
            "threads": [{"computation_s": 0.0, "is_pinned": True, "uses": []}] +
                       [{"computation_s": 0.1, "uses": []}] * 4,
            "model": {"kind": "measured", "replacement": "kept-set",
                      "overlap": "none", "corrections": None,
                      "reference": {"power": 1, "lack_pages": 0, "free_pages": 99,
                                    "total_pages": 99, "swap_in_s": 1e-3,
                                    "swap_out_s": 1e-3}},
            "measured": None,
            "decision": {"node_of": [0, 0, 0, 0, 1], "before_s": 0.5,
                         "after_s": 0.25}}
        path = self.folder / "profile.json"
        path.write_text(json.dumps(profile), encoding="utf-8")
        for counts, ms in (((3, 1), 300.0), ((2, 2), 400.0)):
            found = predict.predictions(TEAMSTER, path, counts)
            self.assertAlmostEqual(found["predicted_liu06_ms"], ms)


class ResumeTest(InFolder):
    def test_what_was_stopped_goes_on(self):
        with self.assertRaises(fake.Stopped):
            self.measure(SOR, fake.FakeRunner(stop_after=3))
        calls = self.measure(SOR, fake.FakeRunner())
        self.assertEqual(len(calls), 2 * len(SOR) - 3)
        self.assertEqual(self.measure(SOR, fake.FakeRunner()), [])
        for cell in SOR:
            self.assertEqual(len(self.store.load(cell)["runs"]), 2)

    def test_more_repeats_add_runs(self):
        self.measure(SOR[:1], fake.FakeRunner())
        calls = self.measure(SOR[:1], fake.FakeRunner(), repeats=5)
        self.assertEqual(len(calls), 3)

    def test_failures_are_kept_and_do_not_count(self):
        cell = SOR[2]
        self.measure([cell], fake.FakeRunner(fail=[cell.name]))
        self.assertEqual(len(self.store.load(cell)["runs"]), 2)
        self.measure([cell], fake.FakeRunner())
        results = Results(self.store, [cell])
        self.assertEqual(results.get(cell).n_runs, 2)
        self.assertEqual(len(results.failures()), 2)

    def test_other_settings_are_refused(self):
        with self.assertRaisesRegex(Mismatch, "scale"):
            self.open({**SETTINGS, "scale": 1.0})

    def test_half_a_file_is_refused(self):
        self.store.path(SOR[0]).write_text('{"cell"', encoding="utf-8")
        with self.assertRaisesRegex(Mismatch, "remove it"):
            self.store.load(SOR[0])

    def test_fake_cells_are_not_taken_for_real_ones(self):
        self.measure(SOR[:1], fake.FakeRunner())
        real = Store(self.folder)
        with self.assertRaisesRegex(Mismatch, "fake, not measured"):
            Results(real, SOR[:1])

    def test_all_cells_have_a_run_before_any_has_two(self):
        calls = self.measure(SOR, fake.FakeRunner())
        names = [cell.name for cell in SOR]
        self.assertEqual(calls, names + names)

    def test_no_run_begins_that_would_not_end_in_time(self):
        measurement = Measurement(self.store, ALL, fake.FakeRunner(),
                                  Progress({}, self.out),
                                  time.monotonic() + 5)  # runs take 10 s
        with self.assertRaises(OutOfTime):
            measurement.measure(SOR)
        self.assertIsNone(self.store.load(SOR[0]))

    def test_an_interrupted_search_goes_on(self):
        self.measure(SOR, fake.FakeRunner())
        best = SOR[0].beside(policy="best")
        with self.assertRaises(fake.Stopped):
            self.measure([best], fake.FakeRunner(stop_after=4))
        calls = self.measure([best], fake.FakeRunner())
        n_runs = len(self.store.load(best)["runs"])
        self.assertEqual(len(calls), n_runs - 4)
        self.assertLessEqual(n_runs, ALL["search_runs"])
        self.assertEqual(self.measure([best], fake.FakeRunner()), [])


class SearchTest(unittest.TestCase):
    def test_it_finds_the_valley(self):
        told = []
        runner = fake.FakeRunner()
        best = search.best_counts(
            [[8, 8, 8, 8], [14, 5, 5, 8]],
            lambda counts: runner(SOR[0], None, counts), told.append, [], 200)
        self.assertEqual(best["counts"], [11, 7, 7, 7])
        asked = [tuple(run["asked"]) for run in told]
        self.assertEqual(len(asked), len(set(asked)))

    def test_neighbours_move_one_thread(self):
        found = list(search.neighbours(fake.fake_run(1.0, (0, 12, 12, 8))))
        self.assertEqual(len(found), 9)  # node 0 has none to give
        self.assertTrue(all(sum(counts) == 32 for counts in found))
        self.assertEqual(found[0], [1, 12, 12, 7])  # node 3 pages most


class ProgressTest(unittest.TestCase):
    def test_time_left_is_by_application(self):
        slow, quick = SOR[0], SOR[0].beside(app="vq")
        progress = Progress({slow: 3, quick: 2}, io.StringIO(), lambda: 0.0)
        self.assertIsNone(progress.time_left())
        progress.step(slow, fake.fake_run(1.0, seconds=10.0))
        self.assertEqual(progress.time_left(), 2 * 10 + 2 * 10)
        progress.step(quick, fake.fake_run(1.0, seconds=1.0))
        self.assertEqual(progress.time_left(), 2 * 10 + 1)


class ClaimsTest(unittest.TestCase):
    def word(self, key, times):
        claim, = [c for c in claims.all_claims() if c.key == key]
        return claims.verdict(claim, fake.fake_times(times))

    def test_ties_are_within_five_percent(self):
        self.assertTrue(is_tied(100.0, 104.9))
        self.assertFalse(is_tied(100.0, 106.0))

    def test_the_42_cells(self):
        self.assertEqual(self.word("U1", {}), (claims.HOLDS, 42, []))
        beaten = {("2B", "gauss", "mem-share"): 40.0}
        word, n_held, failed = self.word("U1", beaten)
        self.assertEqual((word, n_held), (claims.FAILS, 41))
        self.assertEqual(failed[0].cell.name, "liu06-2B-gauss-cpu-mem-then")
        self.assertEqual(self.word("U1", {("1A", "vq", "cpu"): 96.0})[0],
                         claims.HOLDS)

    def test_the_exception_of_matmul_in_1b(self):
        beaten = {("1B", "matmul", "mem-share"): 120.0}
        self.assertEqual(self.word("U4", beaten)[0], claims.HOLDS)
        self.assertEqual(self.word("U5", beaten)[0], claims.HOLDS)
        self.assertEqual(self.word("U5", {})[0], claims.FAILS)

    def test_group_3(self):
        self.assertEqual(self.word("U13", {}), (claims.HOLDS, 4, []))
        self.assertEqual(self.word("U13", {("3A", "sor", "cpu"): 60.0})[0],
                         claims.FAILS)

    def test_what_was_not_measured_is_open(self):
        missing = {("3A", "sor", "cpu"): None}
        self.assertEqual(self.word("U13", missing)[0], claims.OPEN)
        missing[("3B", "sor", "cpu")] = 10.0
        self.assertEqual(self.word("U13", missing)[0], claims.FAILS)

    def test_every_cell_of_a_claim_exists(self):
        known = set(cells.all_cells())
        for kind in cells.DISKS:
            for claim in claims.all_claims(kind):
                self.assertTrue(claim.checks, claim.key)
                for check in claim.checks:
                    self.assertIn(check.cell, known)
                    self.assertTrue(known.issuperset(check.others))


class DiskTest(unittest.TestCase):
    # 128 pages, which a thread computes in 1 ms
    WORK = sizes.Work(0, 24, 5, 24, 128 * 4096 * papers.N_THREADS, 1.0)

    def test_gamma_is_that_of_the_node_that_pages_most(self):
        # 8 threads compute 8 ms; 64 pages take as long again: 0.125 ms each
        run_of = fake.fake_run(16.0, page_ins=[0, 0, 10, 64])
        page_s = disk.page_seconds(run_of, 0.001)
        self.assertAlmostEqual(page_s, 0.000125)
        self.assertAlmostEqual(disk.gamma("sor", self.WORK, 0.001, page_s),
                               32.0)
        self.assertAlmostEqual(disk.gamma("jacobi", self.WORK, 0.001, page_s),
                               16.0)
        run_of["page_ins"] = [0, 0, 0, 0]
        self.assertIsNone(disk.page_seconds(run_of, 0.001))

    def test_the_rate_is_changed_until_gamma_is_right(self):
        class Disk(fake.FakeRunner):
            """A page takes what the rate says, and 20 us."""
            def __call__(self, cell, work, counts=None, has_memory=True):
                ms = 8.0
                if has_memory:
                    ms += 64 * (8192e3 / self.swap_rate + 0.02)
                return fake.fake_run(ms, page_ins=[0, 0, 0, 64])

        runner = Disk()
        rate = disk.near_rate(runner, 1 / 64, 0.001, 1e9)
        runner.swap_rate = rate
        gamma, _ = disk.paging_gamma(runner, 1 / 64, "then", 0.001)
        self.assertAlmostEqual(gamma, papers.SOR_GAMMA, delta=disk.NEAR)

    def test_calibration_says_what_it_came_to(self):
        found = disk.calibrate(fake.FakeRunner(), 1 / 32)
        self.assertEqual(set(found["sor_gamma"]), set(cells.DISKS))
        self.assertEqual(set(found["gamma"]),
                         {"liu06 sor", "liu06 jacobi", "liang03 jacobi"})

    def test_runs_that_fail_are_no_calibration(self):
        with self.assertRaises(disk.NotCalibrated):
            disk.calibrate(fake.FakeRunner(fail=["liu06-1B-sor-none-then"]),
                           1 / 32)


class LeastTest(unittest.TestCase):
    WORK = sizes.Work(0, 24, 5, 24, 10 * 4096 * papers.N_THREADS, 1 / 256)

    def test_it_is_what_does_not_fit_in_each_sweep(self):
        cell = cells.Cell(papers.LIU06, "1B", "jacobi", "cpu", "then")
        # 90, 75, 60, 45 pages; threads have 10 each
        self.assertAlmostEqual(
            least.least(cell, self.WORK, (8, 8, 8, 8), 0), 5 + 20 + 35)
        self.assertAlmostEqual(
            least.least(cell, self.WORK, (8, 8, 8, 8), 15), 5 + 20)
        self.assertAlmostEqual(
            least.least(cell.beside(app="sor"), self.WORK, (9, 7, 6, 10), 0),
            2 * 55)


class ReportTest(InFolder):
    MACHINE = {"processor": "made up", "cores": 2, "memory_gib": 8.0,
               "kernel": "0", "version": "fake"}

    def render(self):
        results = Results(self.store, cells.all_cells())
        return report.render(results, {**SETTINGS, "repeats": 2},
                             self.MACHINE, {"bytes_per_s": 5e6}, ([], ""))

    def test_an_empty_folder_has_a_report(self):
        text = self.render()
        self.assertIn("| U1 |", text)
        self.assertIn("not measured", text)

    def test_a_full_one_has_all_its_parts(self):
        self.measure(cells.select({}), fake.FakeRunner(), repeats=1)
        text = self.render()
        self.assertIn("| sor | cpu-mem | (14,5,5,8) | (14,5,5,8); liang03 "
                      "(8,8,8,8) |", text)
        self.assertIn("The best counts", text)
        self.assertIn("| 45.00 | 40.00 | (14,5,5,8) | 0/0/3/7 |", text)
        self.assertIn("printed the same checksum", text)
        self.assertIn("- U7: nbody in 1A: cpu 100.00 ms, to be shorter of "
                      "mem-share 60.00", text)

    def test_wrong_results_are_seen(self):
        for cell, checksum in ((SOR[0], "aa"), (SOR[1], "bb")):
            self.store.save(cell, {"runs": [
                fake.fake_run(1.0, checksum=checksum)]})
        self.assertIn("**wrong results**", self.render())

    def test_a_cell_is_the_least_disturbed_of_its_runs(self):
        summary = summarize({"runs": [fake.fake_run(ms)
                                      for ms in (30.0, 10.0, 11.0)]})
        self.assertEqual((summary.ms, summary.median, summary.most),
                         (10.0, 11.0, 30.0))

    def test_a_run_is_its_lower_quartile(self):
        run = fake.fake_run(10.0)
        run["iterations_ms"] = [14.0, 9.0, 10.0, 15.0, 16.0, 17.0, 18.0, 19.0]
        self.assertEqual(output.run_ms(run), 14.0)

    def test_charts_have_a_bar_for_each_policy(self):
        self.measure(SOR, fake.FakeRunner())
        results = Results(self.store, SOR)
        name, title, base, policies, clusters = next(charts.figures("then"))
        lines, top = charts.data(results, base, policies, clusters, "then")
        self.assertEqual(lines, ['"sor 1B" 1.0000 1.0000 1.0000 1.0000 1.0000 '
                                 '1.0000 0.6000 0.6000 0.6000 0.5000 0.5000 '
                                 '0.5000'])
        text = charts.script(name, title, base, policies, len(lines), top)
        self.assertEqual(text.count("using"), 4)

    def test_a_policy_that_was_not_measured_has_no_bar(self):
        self.measure(SOR[:2], fake.FakeRunner())
        results = Results(self.store, SOR)
        _, _, _, policies, clusters = next(charts.figures("then"))
        self.assertEqual(
            charts.measured(results, policies, clusters, "then"),
            [cell.policy for cell in SOR[:2]])


class CommandLine(unittest.TestCase):
    def tool(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run(
                [TOOLS / "experiments.py", "--report", "--folder", folder,
                 *words], capture_output=True, text=True, check=False)

    def test_few_iterations_are_for_mappings_that_stay(self):
        refused = self.tool("--iterations", "30", "--policy", "cpu")
        self.assertEqual(refused.returncode, 64)
        self.assertIn("at least 60 where threads", refused.stderr)
        told = self.tool("--iterations", "30", "--policy", "initial")
        self.assertEqual(told.returncode, 0, told.stderr)


class AtFullSize(InFolder):
    """tools/papers_simulated.py; its simulations are made up."""

    def setUp(self):
        super().setUp()
        self.words = []
        self.lab = laboratory.Laboratory("/build", self.folder / "lab")
        patch = unittest.mock.patch.object(laboratory, "execute", self.execute)
        patch.start()
        self.addCleanup(patch.stop)

    def execute(self, words, _timeout_s):
        """Under seed 2 cpu-mem is worse than it is in the papers."""
        words = [str(word) for word in words]
        self.words.append(words)
        options = dict(word.split("=", 1) for word in words if word.startswith("--") and "=" in word)
        if words[1] == "run":
            pathlib.Path(options["--save-profile"]).write_text(
                json.dumps({"threads": [{"computation_s": 0.01}] * papers.N_THREADS,
                            **({} if "--iterations=30" in words else {"script": {}})}))
            return ""
        seconds = fake.PAPER_LIKE[options["--policy"]]
        if options["--policy"] == "cpu-mem" and options["--seed"] == "2":
            seconds = 70.0
        nodes = [{"n_threads": n} for n in fake.COUNTS.get(options["--policy"], (8, 8, 8, 8))]
        return json.dumps({"iterations": [{"length_s": 2 * seconds}] * 15 +
                           [{"length_s": seconds}] * 5,
                           "total_s": 35 * seconds, "nodes": nodes, "moves": []})

    def found(self, seeds):
        wanted = [cell for cell in cells.all_cells()
                  if cell.paper == papers.LIANG03 and cell.disk == "then" and
                  cell.policy != "best"]
        return papers_simulated.run_all(self.lab, wanted, [laboratory.TIME], seeds, 2)

    def test_clusters_are_the_papers(self):
        cell = Cell("liu06", "3A", "sor", "cpu", "then")
        lines = self.lab.hostfile(cell, laboratory.TIME).splitlines()
        self.assertEqual(len(lines), 4)
        for line, speed, memory in zip(lines, (62.5, 50, 50, 37.5), (90, 75, 60, 45)):
            self.assertIn(f" speed={speed:.4f} memory={memory << 10}K ", line)
            self.assertIn("net-rate=12500K", line)
            self.assertIn("disk-ms=12.7", line)

    def test_programs_are_told_what_they_are_told_at_full_size(self):
        words = {app: laboratory.program_words("liu06", app, 30)
                 for app in papers.LIU06_APPS}
        self.assertIn("--steps=30", words["gauss"])
        self.assertIn("--range=16", words["motion"])
        self.assertIn("--start=seed", words["vq"])
        for app, told in words.items():
            self.assertEqual(told[1:3], ["--iterations=30", "--threads=32"])
            self.assertFalse([word for word in told if "effort" in word], app)

    def test_the_fitted_disk_has_the_gamma_of_table_3(self):
        thread_s = 0.01 * self.lab.slower
        bytes_each_way = 2 * sizes.work("liu06", "sor", 1.0).data_bytes / papers.N_THREADS
        self.assertAlmostEqual(2 * bytes_each_way / self.lab.fitted_rate() / thread_s,
                               papers.SOR_GAMMA, places=3)

    def test_what_was_answered_is_not_asked_again(self):
        first = self.found([1])
        n_words = len(self.words)
        self.assertEqual(self.found([1]), first)
        self.assertEqual(len(self.words), n_words)
        one = first[Cell("liang03", "T2", "sor", "cpu-mem", "then"), laboratory.TIME, 1]
        self.assertEqual((one["iteration_s"], one["first_s"], one["counts"]),
                         (50.0, 500.0, [14, 5, 5, 8]))

    def test_a_claim_is_told_only_if_all_seeds_agree(self):
        best = next(claim for claim in claims.all_claims() if claim.key == "L3")
        found = self.found([1, 2])

        def word(seeds):
            return papers_simulated.word_of(best, found, laboratory.TIME, seeds)[0]

        self.assertEqual(word([1]), claims.HOLDS)
        self.assertEqual(word([2]), claims.FAILS)
        self.assertEqual(word([1, 2]), papers_simulated.CANNOT)
        self.assertEqual(papers_simulated.word_of(best, {}, laboratory.TIME, [1])[0],
                         claims.OPEN)

    def test_the_report_has_figures_and_table_3(self):
        text = papers_simulated.report(self.found([1]), self.lab, [laboratory.TIME], [1])
        self.assertIn("| T2 | sor | 100.0 | 60.0 | 50.0 | 55.0 |", text)
        self.assertIn("| sor | cpu-mem | (14,5,5,8) | (14,5,5,8) |", text)
        self.assertNotIn("Fig. 4\n", text)  # nothing of it


if __name__ == "__main__":
    unittest.main()
