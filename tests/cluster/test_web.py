#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The live page: `teamster run --web`, `teamster attach`.

    test_web.py TEST --build DIR [--axe FILE] [--pictures DIR]

Tests whose names begin with `browser_` look at it in a real browser.
"""
import argparse
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.parse

import browser
import jobs

URL = re.compile(r"live page: (http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{32}))")
THREADS = 6
OF_THE_JOB = ("/", "/api/now", "/api/history", "/api/events", "/metrics")
STATS = re.compile(r"^(?:\[\d+\])? *(\d+) +[\d.]+ +(\d+) +([\d.]+) +\d+ +\d+ +\d+ +\d+ +\d+ +\d+ +"
                   r"([\d.]+)$", re.M)
VIEWERS = 10
SHARE_MAX = 0.05  # of a processor, of launcher and page with ten viewers; it is a tenth
LABEL = r'[a-z_]+="(?:[^"\\]|\\.)*"'
SAMPLE = re.compile(rf"^([a-z_]+)(?:\{{{LABEL}(?:,{LABEL})*\}})? (\S+)$")


class Page:
    """Where a page is, and what it answers."""

    def __init__(self, text):
        found = URL.search(text)
        if not found:
            raise jobs.Failure(f"no address in {text}")
        self.url, self.port, self.token = found[1], int(found[2]), found[3]

    def ask(self, path, token=None, method="GET", headers=None):
        """@return the answer, its text"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                timeout=jobs.DEADLINE_S)
        with contextlib.closing(connection):
            query = "" if token is None else "?" + urllib.parse.urlencode(
                {"token": token})
            connection.request(method, path + query, headers=headers or {})
            answer = connection.getresponse()
            return answer, answer.read().decode()

    def look(self, path):
        answer, text = self.ask(path, self.token)
        if answer.status != 200:
            raise jobs.Failure(f"{path}: {answer.status} {text}")
        return text

    def now(self):
        return json.loads(self.look("/api/now"))

    def is_there(self):
        try:
            self.ask("/")
        except OSError:
            return False
        return True

    def events(self):
        """A stream of (kind, data), until the job has ended."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                timeout=jobs.DEADLINE_S)
        connection.request("GET", f"/api/events?token={self.token}")
        answer = connection.getresponse()
        kind = "message"
        with contextlib.closing(connection):
            for line in answer:
                line = line.decode().rstrip("\n")
                if line.startswith("event: "):
                    kind = line[7:]
                elif line.startswith("data: "):
                    yield kind, json.loads(line[6:])
                elif not line:
                    kind = "message"


def rows_of_metrics(text):
    """Check the text of OpenMetrics as far as it is used here.
    @return {line of a sample without its value: value}"""
    families, samples, now = {}, {}, None
    lines = text.split("\n")
    if lines[-2:] != ["# EOF", ""]:
        raise jobs.Failure(f"no end of metrics: {lines[-2:]}")
    for line in lines[:-2]:
        word = line.split(" ")
        if line.startswith("# HELP "):
            now = word[2]
            if now in families:
                raise jobs.Failure(f"{now} is there twice")
            families[now] = None
        elif line.startswith("# TYPE "):
            families[now] = word[3]
        elif line.startswith("# UNIT "):
            if not now.endswith("_" + word[3]):
                raise jobs.Failure(f"{now} does not end with its unit: {line}")
        else:
            found = SAMPLE.match(line)
            name = now + ("_total" if families[now] == "counter" else "")
            if not found or found[1] != name or line.rsplit(" ", 1)[0] in samples:
                raise jobs.Failure(f"no sample of {now}: {line}")
            samples[line.rsplit(" ", 1)[0]] = float(found[2])
    return samples


def processor_s(pid):
    fields = jobs.read_bytes(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def stats_in(output):
    """{node: (threads, compute s, MiB sent)} of the table of --stats."""
    return {int(row[0]): (int(row[1]), float(row[2]), float(row[3]))
            for row in STATS.findall(output)}


def is_rising(numbers):
    """Some may be missing: who is slow is told the latest, and history has the others."""
    return all(a < b for a, b in zip(numbers, numbers[1:]))


def unsent(port, peer):
    """Bytes that a connection of a server here has been given and its peer has not taken."""
    ends = [f"0100007F:{port:04X}", f"0100007F:{peer:04X}"]
    with open("/proc/net/tcp", encoding="ascii") as file:
        for line in file:
            words = line.split()
            if words[1:3] == ends:
                return int(words[4].partition(":")[0], 16)
    return 0


class Tests:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.teamster = os.path.join(options.build, "cli/teamster")
        if "built without libmicrohttpd" in self.call("info").stdout:
            raise jobs.Skip("teamster was built without libmicrohttpd")

    def call(self, *words):
        return subprocess.run([self.teamster, *map(str, words)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=jobs.DEADLINE_S,
                              env=jobs.environment(), check=False)

    def begin(self, *options, n_nodes=3, iterations=1000000, variables=None,
              goes_on_until=None):
        """A job with a page. @param goes_on_until: this file is there. @return it, its page"""
        program = ("apps/jacobi", "--size", 200, "--threads", THREADS, "--iterations",
                   iterations)
        if goes_on_until:
            program = ("tests/cluster/until", goes_on_until, THREADS)
        job = jobs.Job(self.teamster, (
            "-n", n_nodes, *(options or ("--web",)),
            os.path.join(self.options.build, program[0]), *program[1:]), variables)
        if "--web" not in options and options:
            if not jobs.wait_until(lambda: str(job.process.pid) in
                                   self.call("ps").stdout):
                job.fail("ps does not know it", "")
            return job, None
        job.await_line("live page: ")
        page = Page(job.heard.decode())
        if not jobs.wait_until(lambda: page.ask(
                "/api/now", page.token)[0].status == 200 and
                page.now()["job"]["iterations"] > 0):
            job.fail("nothing is known of the job", "")
        return job, page

    def end(self, job):
        job.process.terminate()
        job.finish()

    # ---- who may look

    def without_the_token_nothing_is_told(self):
        job, page = self.begin()
        for path in OF_THE_JOB:
            for token in (None, "", page.token[:-1], "0" * 32, page.token.upper() + "x"):
                answer, text = page.ask(path, token)
                if answer.status != 403 or text.count("\n") != 1 or "token" not in text:
                    job.fail(f"{path} with {token}: {answer.status} {text}")
        for path in OF_THE_JOB[:3]:
            bearer, _ = page.ask(path, headers={"Authorization": f"Bearer {page.token}"})
            if bearer.status != 200 or page.ask(path, page.token)[0].status != 200:
                job.fail(f"{path}: the token does not help")
        if page.ask("/nothing", page.token)[0].status != 404 or page.ask(
                "/api/now", page.token, method="POST")[0].status != 405:
            job.fail("unknown paths or methods are not refused")
        self.end(job)

    def a_wrong_token_costs_the_run_nothing(self):
        job = jobs.Job(self.teamster, (
            "-n", 3, "--web", os.path.join(self.options.build, "libexec/teamster/plate"), 5))
        job.await_line("live page: ")
        answer, text = Page(job.heard.decode()).ask("/api/now", "0" * 32)
        output = job.expect_success()
        if answer.status != 403 or text.count("\n") != 1:
            job.fail(f"{answer.status} {text}", output)
        if "checksum " not in output or "token" in output.partition("?token=")[2]:
            job.fail("the result is missing, or the run speaks of it", output)

    def answers_allow_no_script_but_ours(self):
        job, page = self.begin()
        for path in ("/", "/page.js", "/page.css", "/api/now", "/nothing"):
            answer, text = page.ask(path, page.token)
            policy = answer.getheader("Content-Security-Policy", "")
            if "default-src 'none'" not in policy or "unsafe" in policy or (
                    "frame-ancestors 'none'" not in policy):
                job.fail(f"{path}: policy {policy}")
            if answer.getheader("Set-Cookie") or (
                    answer.getheader("Referrer-Policy") != "no-referrer") or (
                    answer.getheader("X-Content-Type-Options") != "nosniff"):
                job.fail(f"{path}: {answer.getheaders()}")
            if path == "/" and re.search(r"<script(?![^>]*src=)|<style| style=| on\w+=", text):
                job.fail("the page has scripts or styles inside")
        self.end(job)

    def bad_places_are_told_before_the_run(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            for place, code, words in (
                    (port, 78, "something else listens there"),
                    (f"192.0.2.1:{port}", 78, "no address of this machine"),
                    ("here:80", 64, "allowed: "), (":80", 64, "allowed: "),
                    ("65536", 64, "allowed: ")):
                done = self.call("run", f"--web={place}", "echo", "it runs")
                if done.returncode != code or words not in done.stderr or (
                        done.stderr.count("\n") != 1 or done.stdout):
                    raise jobs.Failure(f"{place}: {done}")

    # ---- what is told

    def end_file(self):
        return os.path.join(self.folder, "end")

    def end_soon(self):
        pathlib.Path(self.end_file()).touch()

    def events_come_until_the_end(self):
        job, page = self.begin(goes_on_until=self.end_file())
        kinds, numbers, last = [], [], None
        for kind, data in page.events():
            kinds.append(kind)
            if kind == "message":
                numbers.append(data["number"])
                last = data["job"]
            if len(numbers) == 2:
                self.end_soon()
        if kinds[-1] != "end" or kinds.count("end") != 1 or len(numbers) < 2:
            job.fail(f"events are {kinds}")
        if not is_rising(numbers):
            job.fail(f"their numbers are {numbers}")
        here = sum(n for node in last["nodes"] for _, n in node["here"])
        if last["exit_code"] != 0 or last["iterations"] < 3 or here != 1:
            job.fail(f"the last one is {last}")
        job.expect_success()

    def the_last_numbers_are_those_of_stats(self):
        job, page = self.begin("--web", "--stats", goes_on_until=self.end_file())
        self.end_soon()
        last = [data["job"] for kind, data in page.events() if kind == "message"][-1]
        stats = stats_in(job.expect_success())
        for node in last["nodes"]:
            threads, compute_s, sent = stats[node["number"]]
            if node["threads"] != threads or (
                    abs(node["compute_s"] - compute_s) > 0.02 + 0.02 * compute_s) or (
                    abs(node["sent"] / (1 << 20) - sent) > 0.1):
                job.fail(f"{node} is {stats[node['number']]} by --stats")
        if len(stats) != len(last["nodes"]):
            job.fail(f"not all nodes: {stats}")

    def heat_is_told_by_part_of_a_block(self):
        job, page = self.begin()
        if not jobs.wait_until(lambda: any(
                block["name"] == "grid 0" for block in page.now()["job"]["blocks"])):
            job.fail("there is no grid")
        for block in page.now()["job"]["blocks"]:
            events = sum(sum(counts[1:]) for counts in block["nodes"])
            if len(block["heat"]) != 32 or sum(block["heat"]) != events:
                job.fail(f"heat is not of {events} events: {block}")
            # Only rows at the borders between nodes are shared.
            if block["name"] == "grid 0" and not 0 < block["heat"].count(
                    max(block["heat"])) < 16:
                job.fail(f"all parts are alike: {block}")
        self.end(job)

    def history_is_what_the_events_were(self):
        job, page = self.begin("--web", "--policy=cpu-mem")
        stream = page.events()
        seen = [next(stream)[1] for _ in range(3)]
        history = json.loads(page.look("/api/history"))
        rows = {row[0]: row for row in history["rows"]}
        for event in seen:
            if rows.get(event["row"][0]) != event["row"]:
                job.fail(f"{event['row']} is not in {history['rows']}")
        if history["number"] < seen[-1]["number"] or (
                len(history["columns"]) != 9 or len(seen[0]["row"]) != 8 + 3):
            job.fail(f"history is {history}")
        self.end(job)

    def metrics_are_as_openmetrics_wants_them(self):
        job, page = self.begin()
        jobs.wait_until(lambda: any(block["name"] == "grid 0" for block in
                                    page.now()["job"]["blocks"]))
        answer, text = page.ask("/metrics", page.token)
        samples = rows_of_metrics(text)
        if "openmetrics-text" not in answer.getheader("Content-Type"):
            job.fail(f"type {answer.getheader('Content-Type')}")
        threads = [value for name, value in samples.items()
                   if name.startswith("teamster_node_threads{")]
        if sum(threads) != THREADS + 1 or (
                samples["teamster_iterations_total"] <= 0) or not any(
                name.startswith('teamster_block_fetches_total{block="grid 0"')
                for name in samples):
            job.fail(f"metrics are {samples}")
        promtool = shutil.which("promtool")
        if promtool:
            answer, text = page.ask("/metrics", page.token,
                                    headers={"Accept": "text/plain"})
            done = subprocess.run([promtool, "check", "metrics"], input=text,
                                  text=True, capture_output=True, check=False)
            if done.returncode != 0:
                job.fail(done.stdout + done.stderr)
        self.end(job)

    # ---- many who look, and some who stall

    def page_process(self, job):
        return next(pid for pid in job.processes() if jobs.read_bytes(
            f"/proc/{pid}/comm") == b"teamster-web\n")

    def await_blocked(self, job, page, one):
        """Until a connection takes no more: events come, and its queue stays as it is."""
        before, number = -1, 0
        end = time.monotonic() + 2 * jobs.DEADLINE_S
        while time.monotonic() < end:
            if page.now()["number"] >= number + 3:
                now = unsent(page.port, one.getsockname()[1])
                if now == before > 0:
                    return
                before, number = now, page.now()["number"]
            time.sleep(0.2)
        job.fail(f"who stalls is never blocked: {before} bytes wait")

    def who_stalls_harms_nobody(self):
        job, page = self.begin()
        stalled = []
        for _ in range(3):
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            one.connect(("127.0.0.1", page.port))
            one.sendall(f"GET /api/events?token={page.token} HTTP/1.1\r\n"
                        "Host: here\r\n\r\n".encode())
            stalled.append(one)
        self.await_blocked(job, page, stalled[0])
        stream = page.events()
        numbers = [next(stream)[1]["number"] for _ in range(4)]
        if not is_rising(numbers):
            job.fail(f"others are told {numbers}")
        job.process.terminate()  # nobody waits for who stalls, also at the end
        told = b"".join(iter(lambda: stalled[0].recv(1 << 16), b""))
        got = [int(n) for n in re.findall(rb'data: {"number": (\d+)', told)]
        if not is_rising(got) or got[-1] - got[0] < len(got):
            job.fail(f"who stalled has been told {got}")
        job.finish()
        for one in stalled:
            one.close()

    def too_many_are_refused(self):
        job, page = self.begin()
        with contextlib.ExitStack() as streams:
            answers = []  # kept: with the last name of one its connection goes
            for _ in range(70):
                one = http.client.HTTPConnection("127.0.0.1", page.port,
                                                 timeout=jobs.DEADLINE_S)
                streams.enter_context(contextlib.closing(one))
                one.request("GET", f"/api/events?token={page.token}")
                answers.append(one.getresponse())
            for answer in answers:
                streams.callback(answer.close)
            codes = [answer.status for answer in answers]
            if codes.count(200) != 64 or codes.count(503) != 6:
                job.fail(f"answers are {codes}")
            if page.now()["number"] < 1:
                job.fail("nobody else is answered")
        if not jobs.wait_until(lambda: "teamster_web_viewers 0" in page.look("/metrics")):
            job.fail("who has gone is still counted")
        self.end(job)

    def ten_who_look_cost_little(self):
        job, page = self.begin()
        pids = [job.process.pid, self.page_process(job)]
        with contextlib.ExitStack() as streams:
            for _ in range(VIEWERS):
                stream = page.events()
                streams.callback(stream.close)
                next(stream)
            began, spent_s = time.monotonic(), sum(map(processor_s, pids))
            time.sleep(8)
            share = (sum(map(processor_s, pids)) - spent_s) / (time.monotonic() - began)
        print(f"launcher and page: {100 * share:.2f} % of a processor")
        if share > SHARE_MAX:
            job.fail(f"{share} of a processor")
        self.end(job)

    # ---- other beginnings and ends

    def attach_shows_a_job_that_runs(self):
        job, _ = self.begin("--verbose")
        with subprocess.Popen([self.teamster, "attach", str(job.process.pid)],
                              stdout=subprocess.PIPE, text=True,
                              env=jobs.environment()) as attached:
            page = Page(attached.stdout.readline())
            if not jobs.wait_until(lambda: page.ask(
                    "/api/now", page.token)[0].status == 200 and
                    any(node["here"] for node in page.now()["job"]["nodes"])):
                job.fail("nothing is known of the job", "")
            self.end(job)
            if attached.wait(timeout=jobs.DEADLINE_S) != 0:
                job.fail("attach has failed")

    def who_attaches_may_go(self):
        job, _ = self.begin("--verbose")
        for ends in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen([self.teamster, "attach", "--web=0",
                                   str(job.process.pid)], stdout=subprocess.PIPE,
                                  text=True, env=jobs.environment()) as attached:
                page = Page(attached.stdout.readline())
                attached.send_signal(ends)
                if attached.wait(timeout=jobs.DEADLINE_S) != 0 or page.is_there():
                    job.fail(f"attach does not end by "
                             f"{signal.Signals(ends).name}")
        self.end(job)
        done = self.call("attach", job.process.pid)
        if done.returncode != 64 or done.stderr.count("\n") != 1:
            raise jobs.Failure(f"{done}")

    def the_page_goes_with_a_killed_launcher(self):
        job, page = self.begin()
        pid = self.page_process(job)
        job.process.kill()
        if not jobs.wait_until(lambda: not jobs.is_running(pid)) or page.is_there():
            job.fail("the page is there still")
        job.finish()

    # ---- in a browser

    def open_page(self, window, page):
        window.go(page.url)
        if not jobs.wait_until(lambda: int(window.run(
                "return document.body.dataset.number || 0")) > 1):
            raise jobs.Failure(f"the page shows nothing: {window.complaints()}")

    def browser_numbers_are_those_of_stats(self):
        with browser.Browser() as window:
            job, page = self.begin("--web", "--stats", goes_on_until=self.end_file())
            self.open_page(window, page)
            self.end_soon()
            stats = stats_in(job.expect_success())
            if not jobs.wait_until(lambda: "ended with exit code 0" in
                                   window.text("#state")):
                job.fail(f"the page says {window.text('#state')}")
            if len(stats) != 3:
                job.fail(f"--stats has {stats}")
            for node, (threads, compute_s, sent) in stats.items():
                cells = window.run(
                    "return [...document.querySelector(arguments[0]).cells]"
                    ".map((cell) => cell.innerText)", f"#nodes tr[data-node='{node}']")
                told_s = float(re.search(r"([\d.]+) s in all", cells[3])[1])
                told = re.search(r"([\d.]+) (\w+) in all", cells[6])
                told_mib = float(told[1]) / {"KiB": 1024, "MiB": 1}[told[2]]
                if int(cells[1]) != threads or (
                        abs(told_s - compute_s) > 0.02 + 0.02 * compute_s) or (
                        abs(told_mib - sent) > 0.01 * sent + 0.1):
                    job.fail(f"{cells} is {stats[node]} by --stats")
            if window.complaints():
                job.fail(f"{window.complaints()}")

    def browser_keyboard_is_enough(self):
        job, page = self.begin()
        with browser.Browser() as window:
            self.open_page(window, page)
            reached = []
            for _ in range(12):
                window.press("Tab")
                reached.append(window.run("const it = document.activeElement;"
                                          "return it.id || it.name || it.className;"))
            for wanted in ("skip", "pause", "span", "nodes-table", "mapping",
                           "blocks-table", "decisions-list", "link-metrics"):
                if wanted not in reached:
                    job.fail(f"{wanted} is not reached by Tab: {reached}")
            window.run("document.getElementById('mapping').focus()")
            window.press("Home")
            window.press("ArrowRight", "ArrowRight")
            if not window.text("#mapping-told").startswith("Thread 2 is on n"):
                job.fail(f"the arrow says {window.text('#mapping-told')}")
            window.run("document.getElementById('pause').focus()")
            window.press("Space")
            held = window.text("#figure-iterations")
            time.sleep(2.5)
            if window.text("#figure-iterations") != held:
                job.fail("Hold does not hold")
            window.press("Space")
            if not jobs.wait_until(lambda: window.text("#figure-iterations") != held):
                job.fail("it does not go on")
            window.run("document.querySelector('input[value=\"600\"]').focus()")
            window.press("ArrowRight")
            if window.run("return document.querySelector('input:checked').value") != "3600":
                job.fail("the time shown cannot be chosen")
        self.end(job)

    def browser_a_move_is_seen(self):
        job, page = self.begin("--web", variables={"TEAMSTER_POLICY": "cpu-mem",
                                                   "TEAMSTER_COUNTS": "1,1,4"})
        with browser.Browser() as window:
            self.open_page(window, page)
            of_node = ("return document.querySelectorAll("
                       "'#mapping [data-node=\"2\"]').length")
            if not jobs.wait_until(lambda: window.run(of_node) == 4):
                job.fail(f"{window.run(of_node)} threads on node 2")
            here = {n for node in page.now()["job"]["nodes"] if node["number"] == 2
                    for first, k in node["here"] for n in range(first, first + k)}
            drawn = window.run("return [...document.querySelectorAll('#mapping "
                               "[data-node=\"2\"]')].map((it) => +it.dataset.thread)")
            if set(drawn) != here:
                job.fail(f"{drawn} are drawn, {here} are there")
        self.end(job)

    def browser_axe_finds_nothing(self):
        if not self.options.axe or not os.path.exists(self.options.axe):
            raise jobs.Skip("there is no axe-core: npm was missing when this was built")
        with open(self.options.axe, encoding="utf-8") as file:
            axe = file.read()
        job, page = self.begin("--web", "--policy=cpu-mem")
        for width in (1280, 800):
            for is_dark in (False, True):
                with browser.Browser(width, is_dark) as window:
                    self.open_page(window, page)
                    window.run(f"{axe}\nwindow.axe = axe;")
                    found = window.run("return axe.run().then((it) => it.violations.map("
                                       "(v) => [v.id, v.nodes.map((n) => n.html)]))")
                    wide = window.run("return document.documentElement.scrollWidth")
                    if found or window.complaints() or wide > width:
                        job.fail(f"{width}, dark {is_dark}: {found} {wide}")
                    if self.options.pictures:
                        window.picture(os.path.join(
                            self.options.pictures,
                            f"{width}-{'dark' if is_dark else 'light'}.png"))
        self.end(job)


TESTS = [name for name, test in vars(Tests).items()
         if callable(test) and not name.startswith("_") and name not in (
             "call", "begin", "end", "page_process", "open_page",
             "await_blocked")]


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--axe", help="axe-core's axe.min.js")
    arguments.add_argument("--pictures", help="a folder for pictures of the page")
    sys.exit(jobs.main(Tests, arguments, TESTS))
