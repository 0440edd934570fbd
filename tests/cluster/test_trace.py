#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Traces of real runs: --trace, read as Perfetto reads them.

    test_trace.py TEST --build DIR

The numbers of fields are those of Perfetto's protos/perfetto/trace; the reader here knows
no more of the writer than that.
"""
import argparse
import collections
import json
import os
import re
import shutil
import sys

import jobs

BEGIN, END, INSTANT = 1, 2, 3
THREADS = 8

Event = collections.namedtuple(
    "Event", "at type track name category arguments flows last_flows")


# ---- protocol buffers


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """Each field of a message: number, value."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value = int.from_bytes(data[at:at + 8], "little")
            at += 8
        elif kind == 2:
            size, at = varint(data, at)
            value = data[at:at + size]
            if len(value) != size:
                raise jobs.Failure("a field is cut off")
            at += size
        else:
            raise jobs.Failure(f"a field of kind {kind}")
        yield tag >> 3, value


def message(data):
    """Of fields that are there once."""
    return dict(fields(data))


class Trace:
    """What a file says: events in order, and whose the tracks are."""

    def __init__(self, path):
        self.events = []
        self.tracks = {}  # uuid: (pid, name)
        self.processes = {}  # uuid: pid
        self.hosts = {}  # pid: name
        self.names = collections.defaultdict(dict)  # (sequence, field): names
        with open(path, "rb") as file:
            data = file.read()
        for number, packet in fields(data):
            if number != 1:
                raise jobs.Failure(f"a trace has no field {number}")
            self.take(message(packet))

    def take(self, packet):
        sequence = packet[10]
        if packet[13] & 1:  # what was interned is forgotten
            for key in [key for key in self.names if key[0] == sequence]:
                del self.names[key]
        if 12 in packet:
            for number, entry in fields(packet[12]):
                entry = message(entry)
                self.names[sequence, number][entry[1]] = entry[2].decode()
        if 60 in packet:
            self.take_track(message(packet[60]))
        if 11 in packet:
            self.take_event(sequence, packet[8], list(fields(packet[11])))

    def take_track(self, track):
        if 3 in track:
            process = message(track[3])
            self.processes[track[1]] = process[1]
            self.hosts[process[1]] = process[6].decode()
        else:
            self.tracks[track[1]] = (self.processes[track[5]],
                                     track[2].decode())

    def take_event(self, sequence, at, found):
        single = dict(found)
        arguments = {}
        for number, value in found:
            if number == 4:
                note = message(value)
                arguments[self.names[sequence, 3][note[1]]] = note[3]
        self.events.append(Event(
            at, single[9], self.tracks[single[11]],
            self.names[sequence, 2].get(single.get(10)),
            self.names[sequence, 1].get(single.get(3)), arguments,
            [value for number, value in found if number == 47],
            [value for number, value in found if number == 48]))

    def slices(self):
        """(begin event, when it ended), after a look at whether they nest."""
        found = []
        open_slices = collections.defaultdict(list)
        latest = collections.defaultdict(int)
        for event in self.events:
            if event.at < latest[event.track]:
                raise jobs.Failure(f"{event} goes back in time")
            latest[event.track] = event.at
            if event.type == BEGIN:
                open_slices[event.track].append(event)
            elif event.type == END:
                found.append((open_slices[event.track].pop(), event.at))
        if any(open_slices.values()):
            raise jobs.Failure(f"slices never end: {open_slices}")
        return found

    def of_category(self, category):
        return [event for event in self.events if event.category == category]


class Tests:
    def __init__(self, options, folder):
        self.build = options.build
        self.folder = folder
        self.teamster = os.path.join(self.build, "cli/teamster")

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *options, program="jacobi", n_nodes=3, iterations=20):
        """@return the trace, and the record of the same run"""
        job = jobs.Job(self.teamster, (
            "-n", n_nodes, f"--trace={self.path('a.trace')}",
            f"--report={self.path('a.json')}", *options,
            os.path.join(self.build, "apps", program), "--size", 300,
            "--threads", THREADS, "--iterations", iterations))
        output = job.expect_success()
        with open(self.path("a.json"), encoding="utf-8") as file:
            return Trace(self.path("a.trace")), json.load(file), output

    # ---- tests

    def slices_nest_and_end(self):
        trace, _, _ = self.run()
        found = trace.slices()
        if sorted(trace.hosts) != [1, 2, 3] or not all(
                name.startswith(f"node {pid - 1}, ")
                for pid, name in trace.hosts.items()):
            raise jobs.Failure(f"processes are {trace.hosts}")
        threads = {name for _, name in trace.tracks.values()}
        if not {f"thread {i}" for i in range(THREADS)} | {"messages"} <= threads:
            raise jobs.Failure(f"tracks are {sorted(threads)}")
        iterations = [event for event, _ in found
                      if event.category == "iteration"]
        inside = 0
        for event, end in found:
            if event.category == "fault":
                inside += any(
                    it.track == event.track and it.at <= event.at and end <= until
                    for it, until in found if it.category == "iteration")
        # The first iteration of a thread has no beginning.
        if len(iterations) < THREADS * 18 or inside == 0:
            raise jobs.Failure(f"{len(iterations)} iterations, {inside} faults")

    def events_are_those_of_stats(self):
        trace, record, _ = self.run()
        for pid, node in enumerate(record["nodes"], 1):
            faults = [event for event in trace.of_category("fault")
                      if event.track[0] == pid]
            if len(faults) != node["stats"]["remote_faults"]:
                raise jobs.Failure(
                    f"node {pid - 1}: {len(faults)} faults in the trace, "
                    f"{node['stats']['remote_faults']} counted")
            barriers = {event.name for event in trace.of_category("call")}
            if "tm_iteration_end" not in barriers:
                raise jobs.Failure(f"calls are {barriers}")

    def faults_flow_to_their_answers(self):
        """A node that serves a fault does so while the thread waits."""
        trace, _, _ = self.run("--protocol=eager-release")
        served = collections.defaultdict(list)
        for event in trace.of_category("message"):
            for flow in event.flows + event.last_flows:
                served[flow].append(event)
        n_served = 0
        for event, end in trace.slices():
            if event.category != "fault":
                continue
            steps = [step for flow in event.flows for step in served[flow]
                     if event.at - 1000000 <= step.at <= end]
            if any(step.name == "fetch" and step.track[0] != event.track[0]
                   for step in steps):
                n_served += 1
                if not any(step.name in ("page", "grant")
                           and step.track[0] == event.track[0]
                           and step.arguments["page"] ==
                           event.arguments["page"] for step in steps):
                    raise jobs.Failure(f"{event} has no answer in {steps}")
        if n_served < 10:
            raise jobs.Failure(f"{n_served} faults were served elsewhere")

    def moves_leave_and_arrive(self):
        trace, record, _ = self.run("--shuffle=7")
        leaves = [event for event in trace.of_category("move")
                  if event.name == "leaves"]
        arrives = [event for event in trace.of_category("move")
                   if event.name == "arrives"]
        n_moves = sum(node["stats"]["threads_out"] for node in record["nodes"])
        if not n_moves == len(leaves) == len(arrives) > 0:
            raise jobs.Failure(f"{n_moves} moves, {len(leaves)} leave, "
                               f"{len(arrives)} arrive")
        for leave in leaves:
            if not any(leave.flows == arrive.last_flows
                       and arrive.track[0] == leave.arguments["node"] + 1
                       and arrive.at >= leave.at for arrive in arrives):
                raise jobs.Failure(f"{leave} arrives nowhere")

    def waits_for_the_disk_are_shown(self):
        with open(self.path("hosts"), "w", encoding="utf-8") as file:
            file.write("n1 workers=1\nn2 workers=1 memory=500K\n")
        trace, record, _ = self.run(
            f"--hostfile={self.path('hosts')}", "--emulate", "--policy=none",
            n_nodes=2)
        found = collections.Counter(
            (event.track[0], event.name) for event in trace.of_category("paging"))
        if not found[2, "page-in"] or any(pid == 1 for pid, _ in found):
            raise jobs.Failure(f"paging is {found}")
        if found[2, "page-in"] > record["nodes"][1]["stats"]["page_ins"]:
            raise jobs.Failure(f"{found}: more than were counted")

    def what_is_too_much_is_told_and_loses_no_result(self):
        """One of 32 nodes has all threads, and only its part of the memory for events."""
        command = (os.path.join(self.build, "apps/jacobi"), "--size", 64,
                   "--threads", 64, "--iterations", 2000)
        plain = jobs.Job(self.teamster, ("-n", 1, *command)).expect_success()
        job = jobs.Job(self.teamster, (
            "-n", 32, f"--counts=64{31 * ',0'}", f"--trace={self.path('a')}", *command))
        output = job.expect_success()
        told = re.findall(r"the first (\d+) of (\d+) events of node 0 are not in the trace",
                          output)
        result = re.search(r"checksum: \w+", plain)[0]
        if len(told) != 1 or output.count("in the trace") != 1 or result not in output:
            job.fail("it was not told, or the result is another", output)
        n_lost, n_all = map(int, told[0])
        kept = [event for event in Trace(self.path("a")).events
                if event.track[0] == 1 and event.type != END]
        if len(kept) != n_all - n_lost:
            job.fail(f"{len(kept)} events are kept, {told} was told")

    def what_cannot_be_written_is_told_before_the_run(self):
        os.mkdir(self.path("folder"))
        for path, words in ((self.path("no/a"), "No such file"),
                            (self.path("folder"), "is a folder")):
            job = jobs.Job(self.teamster, (
                "-n", 2, f"--trace={path}",
                os.path.join(self.build, "apps/jacobi"), "--size", 50))
            code, output = job.finish()
            if (code != 73 or words not in output or "checksum" in output or
                    output.count("could not be written") != 1):
                job.fail(f"exit code {code}", output)
        if os.listdir(self.folder) != ["folder"]:
            raise jobs.Failure(f"left: {os.listdir(self.folder)}")

    def what_cannot_be_written_at_the_end_loses_nothing(self):
        os.mkdir(self.path("folder"))
        job = jobs.Job(self.teamster, (
            "-n", 2, f"--trace={self.path('folder/a')}",
            os.path.join(self.build, "apps/jacobi"), "--size", 100,
            "--threads", 2, "--iterations", 300, "--report"))
        job.await_line("iteration")
        shutil.rmtree(self.path("folder"))
        output = job.expect_success()
        if "checksum: " not in output or output.count("is not written") != 1:
            job.fail("it was not told", output)


TESTS = [name for name in vars(Tests) if name.startswith(
    ("slices_", "events_", "faults_", "moves_", "waits_", "what_"))]


if __name__ == "__main__":
    sys.exit(jobs.main(Tests, argparse.ArgumentParser(description=__doc__),
                       TESTS))
