#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reports of real runs: --report, and what it says.

    test_report.py TEST --build DIR

What advice is given of known numbers is the matter of tests/plan/test_report.py. Here: is
what the page says what the run was like?
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

import jobs

SPEEDS = (500, 400, 400, 300)
THREADS = 16
MOST_BYTES = 300000
FACTORS = ("load balance", "paging", "communication", "use of speed")
CELL = re.compile(r"^\[0\] +(\d+(?: +[\d.]+)+)$", re.M)


class Tests:
    def __init__(self, options, folder):
        self.build = options.build
        self.folder = folder
        self.teamster = os.path.join(self.build, "cli/teamster")
        self.jacobi = os.path.join(self.build, "apps/jacobi")

    def path(self, name):
        return os.path.join(self.folder, name)

    def hostfile(self, memory=""):
        """Four unequal nodes, the third with as much memory."""
        with open(self.path("hosts"), "w", encoding="utf-8") as file:
            for i, speed in enumerate(SPEEDS):
                limit = f" memory={memory}" if memory and i == 2 else ""
                file.write(f"n{i + 1} speed={speed} workers=1{limit}\n")
        return self.path("hosts")

    def run_jacobi(self, report, *options, memory="", policy="none",
                   iterations=40):
        job = jobs.Job(self.teamster, (
            "--hostfile", self.hostfile(memory), "--emulate", *options,
            f"--report={report}", self.jacobi, "--size", "500", "--threads",
            THREADS, "--iterations", iterations),
            {"TEAMSTER_POLICY": policy})
        return job, job.expect_success()

    def read_page(self, path):
        """A page's tree, after a look at what all pages are to be."""
        with open(path, "rb") as file:
            data = file.read()
        if len(data) >= MOST_BYTES:
            raise jobs.Failure(f"the page has {len(data)} bytes")
        text = data.decode()
        if re.search(r"https?://|\bsrc=|@import|<link|<img", text):
            raise jobs.Failure("the page refers to something outside")
        return xml.etree.ElementTree.fromstring(text)

    def rows(self, tree, caption):
        """Of the table with such a caption: {first cell: the others}."""
        for table in tree.iter("table"):
            if caption in "".join(table.find("caption").itertext()):
                return {cells[0]: cells[1:] for cells in
                        (["".join(cell.itertext()) for cell in row]
                         for row in table.find("tbody"))}
        raise jobs.Failure(f"there is no table '{caption}'")

    def factors(self, tree):
        """The efficiency, and its factors by name, as numbers."""
        total = [float(it.get("data-factor")) for it in tree.iter("span")
                 if it.get("data-factor")]
        values = {"".join(row[0].itertext()): float(row[1].get("data-factor"))
                  for row in tree.iter("tr")
                  if len(row) > 1 and row[1].get("data-factor")}
        if len(total) != 1 or tuple(values) != FACTORS:
            raise jobs.Failure(f"factors are {total} and {values}")
        return total[0], values

    # ---- the page

    def the_page_has_the_numbers_of_stats(self):
        """All but what asking for them has added."""
        job, output = self.run_jacobi(self.path("a.html"), "--stats",
                                      memory="600K")
        tree = self.read_page(self.path("a.html"))
        shown = self.rows(tree, "as --stats has it")
        printed = [line.split() for line in CELL.findall(output)]
        table = [row for row in printed if len(row) == 11]
        memory = [row for row in printed if len(row) == 9]
        if len(table) != len(SPEEDS) or len(memory) != 1:
            job.fail("there is no table of --stats", output)
        for row in table:
            page = [cell.replace(" ", "")
                    for cell in shown[f"n{int(row[0]) + 1}"]]
            # node speed threads compute reads writes fetched served updates
            if (page[0], *page[2:7]) != (row[2], *row[4:9]):
                job.fail(f"the page says {page}, --stats {row}", output)
            if (not 0 <= float(page[1]) - float(row[3]) < 0.5 or
                    not 0 <= int(page[7]) - int(row[9]) < 200):
                job.fail(f"the page says {page}, --stats {row}", output)
        page = [cell.replace(" ", "") for cell in
                self.rows(tree, "limit of memory")["n3"]]
        if page[0] != memory[0][1] or page[3:5] != memory[0][4:6]:
            job.fail(f"the page says {page}, --stats {memory}", output)

    def the_product_of_the_factors_is_the_efficiency(self):
        self.run_jacobi(self.path("a.html"), policy="cpu-mem")
        total, values = self.factors(self.read_page(self.path("a.html")))
        product = 1
        for value in values.values():
            product *= value
        if not 0 < total <= 1 or abs(product / total - 1) > 0.01:
            raise jobs.Failure(f"{values} make {product}, not {total}")

    def blocks_add_up(self):
        """Faults by block are those of all nodes, and the grids have most."""
        self.run_jacobi(self.path("a.json"))
        with open(self.path("a.json"), encoding="utf-8") as file:
            record = json.load(file)
        for name, of_nodes in (("read_faults", "read_faults"),
                               ("write_faults", "write_faults"),
                               ("fetches", "pages_fetched"),
                               ("diffs", "updates_sent")):
            blocks = sum(block[name] for block in record["blocks"])
            nodes = sum(node["stats"][of_nodes] for node in record["nodes"])
            # What the end of the run itself has touched may come between.
            if not 0 <= blocks - nodes <= 8:
                raise jobs.Failure(f"{name}: {blocks} by block, {nodes} by "
                                   "node")
        most = max(record["blocks"], key=lambda block: block["fetches"])
        if not most["name"].startswith("grid") or most["line"] == 0:
            raise jobs.Failure(f"most was fetched of {most}")

    def lines_that_fault_are_told(self):
        """Those of the sweep over the grids; all faults are there."""
        self.run_jacobi(self.path("a.json"))
        with open(self.path("a.json"), encoding="utf-8") as file:
            record = json.load(file)
        lines = record["lines"]
        waits = [line["wait_s"] for line in lines if line["where"]]
        if waits != sorted(waits, reverse=True) or waits[0] <= 0:
            raise jobs.Failure(f"the longest wait is not the first: {lines}")
        for name in ("read_faults", "write_faults"):
            n_lines = sum(line[name] for line in lines)
            n_nodes = sum(node["stats"][name] for node in record["nodes"])
            # An instruction also faults where another thread was first with the page.
            if not n_nodes <= n_lines <= 2 * n_nodes + 8:
                raise jobs.Failure(f"{name}: {n_lines} by line, {n_nodes} by node")
        if not any("jacobi.c:" in line["where"] for line in lines):
            raise jobs.Failure(f"no line of jacobi.c: {lines}")
        if max(block["writers"] for block in record["blocks"]) != len(SPEEDS):
            raise jobs.Failure(f"who writes grids? {record['blocks']}")

    def a_node_short_of_memory_is_told(self):
        """Paging is named as a cause, with the node and advice."""
        self.run_jacobi(self.path("a.html"), "--swap-rate=4M", memory="400K",
                        iterations=20)
        tree = self.read_page(self.path("a.html"))
        values = self.factors(tree)[1]
        words = self.rows(tree, "Its factors")["paging"][-1]
        if values["paging"] > 0.8 or not words.startswith("n3 pages: "):
            raise jobs.Failure(f"{values}: {words}")
        if "--policy=cpu-mem" not in words:
            raise jobs.Failure(f"no advice: {words}")
        done = subprocess.run([self.teamster, "report", self.path("a.html")],
                              text=True, capture_output=True, check=True)
        if words not in done.stdout:
            raise jobs.Failure(f"the text differs: {done.stdout}")

    def moves_are_in_the_page(self):
        """With a mapping by hand it is known what it must say."""
        self.run_jacobi(self.path("a.html"), "--counts=7,4,4,1")
        tree = self.read_page(self.path("a.html"))
        rows = self.rows(tree, "Threads of each node")
        if [cells[1] for cells in rows.values()] != ["7", "4", "4", "1"]:
            raise jobs.Failure(f"the mapping is {rows}")
        if not any("move" in (text.text or "") for text in tree.iter("text")):
            raise jobs.Failure("no move is marked")

    def runs_without_iterations_have_a_page(self):
        job = jobs.Job(self.teamster, (
            "-n", 2, f"--report={self.path('a.html')}",
            os.path.join(self.build, "apps/hello")))
        job.expect_success()
        text = "".join(self.read_page(self.path("a.html")).itertext())
        if "never called tm_iteration_end()" not in text:
            raise jobs.Failure(text)

    # ---- what goes wrong

    def expect_refusal(self, code, words, report):
        job = jobs.Job(self.teamster, ("-n", 2, f"--report={report}",
                                       "sh", "-c", "echo it runs"))
        found, output = job.finish()
        if (found != code or words not in output or "it runs" in output or
                output.count("\n") != 1):
            job.fail(f"exit code {found}, not {code} and '{words}'", output)

    def what_cannot_be_written_is_told_before_the_run(self):
        os.mkdir(self.path("folder.html"))
        self.expect_refusal(73, "No such file", self.path("no/a.html"))
        self.expect_refusal(73, "is a folder", self.path("folder.html"))
        self.expect_refusal(64, "ends with .html or .json", "a.txt")
        if os.listdir(self.folder) != ["folder.html"]:
            raise jobs.Failure(f"left: {os.listdir(self.folder)}")

    def what_cannot_be_written_at_the_end_loses_nothing(self):
        """The folder goes away meanwhile."""
        os.mkdir(self.path("folder"))
        job = jobs.Job(self.teamster, (
            "-n", 2, f"--report={self.path('folder/a.html')}", self.jacobi,
            "--size", 100, "--threads", 2, "--iterations", 300, "--report"))
        job.await_line("iteration")
        shutil.rmtree(self.path("folder"))
        output = job.expect_success()
        if ("checksum: " not in output or
                output.count("a.html cannot be written: No such file") != 1):
            job.fail("it was not told", output)

    def a_run_that_breaks_off_has_no_report(self):
        """Its exit code stays; what was there stays."""
        with open(self.path("a.html"), "w", encoding="utf-8") as file:
            file.write("before")
        job = jobs.Job(self.teamster, (
            "-n", 2, f"--report={self.path('a.html')}", "sh", "-c", "exit 3"))
        code, output = job.finish()
        if code != 3 or output.count("there is no report") != 1:
            job.fail(f"exit code {code}", output)
        with open(self.path("a.html"), encoding="utf-8") as file:
            if file.read() != "before":
                job.fail("the file is another one", output)


TESTS = [name for name in vars(Tests) if name.startswith(
    ("the_", "blocks_", "lines_", "a_", "moves_", "runs_", "what_"))]


if __name__ == "__main__":
    sys.exit(jobs.main(Tests, argparse.ArgumentParser(description=__doc__),
                       TESTS))
