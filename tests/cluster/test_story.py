#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The story of a page: --story.

    test_story.py TEST --build DIR
"""
import argparse
import os
import re
import sys
import xml.etree.ElementTree

import jobs

USAGE, OUTPUT, CONFIGURATION = 64, 73, 78
LINE = re.compile(r"^(?:\[0\])? +([\d.]+)  n(\d+)(?: <- n(\d+))? +(\S.*?)  +(\S.*)$", re.M)
SVG = "{http://www.w3.org/2000/svg}"


class Tests:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder

    def path(self, *parts):
        return os.path.join(self.options.build, *parts)

    def start(self, story, *words, protocol="eager-release"):
        return jobs.Job(self.path("cli", "teamster"),
                        ["-n", 3, "--protocol", protocol, f"--story={story}",
                         *words, self.path("tests", "cluster", "told")])

    def told(self, story, *words, **variables):
        """@return lines of a run's story: (node, from, what, state), and all output"""
        output = self.start(story, *words, **variables).expect_success()
        if not re.search(r"^(\[0\] )?6$", output, re.M):
            raise jobs.Failure(f"a wrong result\n{output}")
        lines = LINE.findall(output)
        times = [float(line[0]) for line in lines]
        if times != sorted(times) or not times or times[0] != 0:
            raise jobs.Failure(f"times do not rise from 0\n{output}")
        return [line[1:] for line in lines], output

    def expect_order(self, lines, wanted, output):
        """These lines are there, one behind the other; others may be between."""
        at = 0
        for node, what, state in wanted:
            while at < len(lines) and not (
                    lines[at][0] == node and re.search(what, lines[at][2]) and
                    re.search(state, lines[at][3])):
                at += 1
            if at == len(lines):
                raise jobs.Failure(f"no node {node}: {what}, {state}\n{output}")
            at += 1

    # ---- tests

    def a_page_is_followed_from_node_to_node(self):
        """A variable's pages may be written by main() without a fault; a block's not."""
        for name in ("told", "named+4096"):
            lines, output = self.told(name)
            if name != "told":
                self.expect_order(lines, (
                    ("0", r"thread 0 writes it, in main \(told\.c:\d+\)", ""),
                    ("0", "nobody has touched it", "owner, may write")), output)
            self.expect_order(lines, (
                ("1", r"thread 1 reads it, in read_it \(told\.c:\d+\)", "nothing"),
                ("0", "node 1 asks for it, to read", ""),
                ("1", "the page's bytes", "may (read|write)"),
                ("2", r"thread 2 writes it, in write_it \(told\.c:\d+\)", "nothing"),
                ("2", "the page's bytes", ""),
            ), output)
            if f"({name})" not in output:
                raise jobs.Failure(f"it does not say of what\n{output}")

    def every_protocol_is_told(self):
        for protocol in jobs.PROTOCOLS:
            lines, output = self.told("told", protocol=protocol)
            self.expect_order(lines, (("1", "thread 1 reads it", ""),
                                      ("2", "thread 2 writes it", "")), output)

    def an_address_names_a_page_too(self):
        _, output = self.told("told")
        address = re.search(r"page (0x[0-9a-f]+)", output)[1]
        lines, output = self.told(f"0x{int(address, 16) + 8:x}")
        self.expect_order(lines, (("1", "thread 1 reads it", ""),), output)

    def a_picture_is_drawn(self):
        path = os.path.join(self.folder, "story.svg")
        output = self.start(f"told:{path}").expect_success()
        if LINE.search(output):
            raise jobs.Failure(f"it is told as text, too\n{output}")
        root = xml.etree.ElementTree.parse(path).getroot()
        classes = [item.get("class") for item in root.iter()]
        texts = [item.text for item in root.iter(f"{SVG}text")]
        for node in range(3):
            if f"node {node}" not in texts:
                raise jobs.Failure(f"no node {node}: {texts}")
        n_times = classes.count("time")
        if n_times < 6 or n_times != classes.count("way") + classes.count("fault"):
            raise jobs.Failure(f"{n_times} times, {classes}")

    def text_goes_to_a_file(self):
        path = os.path.join(self.folder, "story.txt")
        self.start(f"told:{path}").expect_success()
        with open(path, encoding="utf-8") as file:
            if not LINE.search(file.read()):
                raise jobs.Failure("no story")

    def what_cannot_be_told_is_said(self):
        output = self.start("nobody").expect_success()
        if "is called so" not in output or "nothing has happened" not in output:
            raise jobs.Failure(output)
        for story, code, text in (
                ("0x1000", CONFIGURATION, "not in shared memory"),
                ("told:/nowhere/story.svg", OUTPUT, "could not be written"),
                ("told+x", USAGE, "NAME+BYTE"),
                ("told:", USAGE, "NAME+BYTE"),
                ("+4", USAGE, "NAME+BYTE")):
            job = self.start(story)
            found, output = job.finish()
            if found != code or text not in output:
                job.fail(f"exit code {found}, not {code} with {text!r}", output)


if __name__ == "__main__":
    sys.exit(jobs.main(Tests, argparse.ArgumentParser(
        description=__doc__.splitlines()[0])))
