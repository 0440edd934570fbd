#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""motion and vq with files: what they read, write and refuse.

    test_files.py TEST --build DIR

What they should find in a file is computed here, by pictures.py.
"""
import argparse
import itertools
import math
import os
import re
import sys
import tempfile

import pictures
from test_apps import (Build, Failure, checksum_bytes, checksum_of,
                       fault_sources, run)
from jobs import PROTOCOLS  # test_apps knows the way there

PIXELS_MOVED = (3, -2)  # from frame to frame


class Files:
    """Files in a folder of the test."""

    def __init__(self, build, folder):
        self.build = build
        self.folder = folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, contents):
        with open(self.path(name), "wb") as file:
            file.write(contents)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def run(self, n_nodes, app, *arguments, environment=None):
        return run([self.build.program("teamster"), "run", "-n", str(n_nodes),
                    self.build.program(app), *arguments, "--verify"],
                   environment)[0]

    def refuse(self, app, arguments, words, code=64):
        """One line that says what is wrong."""
        output, errors = run([self.build.program(app), *arguments],
                             expect=code)
        if len(errors.splitlines()) != 1 or output or words not in errors:
            raise Failure(f"{app} {arguments}: not '{words}'\n{output}{errors}")


def require(condition, text):
    if not condition:
        raise Failure(text)


def require_psnr(output, title, error, n_values):
    match = re.search(rf"^{title}PSNR (\S+) dB$", output, re.M)
    require(match is not None, f"no {title} in\n{output}")
    expected = (math.inf if error == 0 else
                10 * math.log10(255 * 255 * n_values / error))
    require(abs(float(match.group(1)) - expected) <= 0.0051 or
            math.isinf(expected) and match.group(1) == "inf",
            f"{title}{match.group(1)}, not {expected}")


def clip(width, height, n_frames):
    """Noise that moves; each frame is another part of a larger one."""
    x, y = PIXELS_MOVED
    large = pictures.noise(width + 3 * n_frames, height + 2 * n_frames, 5)
    return [[row[x * (n_frames - k):][:width] for row in
             large[-y * k:][:height]] for k in range(n_frames)]


def require_motion(files, output, frames, reach):
    found = pictures.search(frames, reach)
    lines = files.read("vectors").splitlines()
    require(lines[0].startswith("#") and
            [tuple(map(int, line.split())) for line in lines[1:]] ==
            [line[:6] for line in found], "other vectors\n" + "\n".join(lines))
    require(checksum_of(output) ==
            checksum_bytes(pictures.motion_bytes(found)), output)
    n_pixels = len(frames[0]) * len(frames[0][0])
    for k in range(1, len(frames)):
        require_psnr(output, f"frame {k}: ",
                     sum(line[6] for line in found if line[0] == k), n_pixels)
    require_psnr(output, "all frames: ", sum(line[6] for line in found),
                 n_pixels * (len(frames) - 1))
    return found


def motion_reads_video(files):
    """y4m and raw, all protocols, both sources; blocks cut off by the border."""
    frames = clip(53, 35, 4)
    inputs = [
        [files.write("a.y4m", pictures.y4m(frames))],
        [files.write("b.y4m", pictures.y4m(frames, "Ip A1:1 Cmono", b"FRAME Ib",
                                           0))],
        [files.write("c.yuv", pictures.yuv(frames)), "--width", "53",
         "--height", "35"],
    ]
    variants = zip(itertools.cycle(inputs), itertools.product(
        fault_sources(), PROTOCOLS, (1, 3)))
    for arguments, (source, protocol, n_nodes) in variants:
        output = files.run(
            n_nodes, "motion", "--range", "6", "--vectors",
            files.path("vectors"), "--input", *arguments,
            environment={"TEAMSTER_FAULT_SOURCE": source,
                         "TEAMSTER_PROTOCOL": protocol})
        require("53 x 35 pixels" in output, output)
        found = require_motion(files, output, frames, 6)
    x, y = PIXELS_MOVED
    require(all(line[3:6] == (-x, -y, 0)
                for line in found if line[1:3] == (16, 0)), f"{found}")


def motion_reads_part_of_a_video(files):
    """--iterations limits the frames; equal frames have no error."""
    frames = clip(40, 20, 2) + [pictures.noise(40, 20, 1)] * 3
    path = files.write("a.y4m", pictures.y4m(frames, ""))
    for n_frames, limit in ((5, []), (3, ["--iterations", "2"]),
                            (5, ["--iterations", "9"])):
        output = files.run(2, "motion", "--range", "4", "--vectors",
                           files.path("vectors"), "--input", path, *limit)
        require_motion(files, output, frames[:n_frames], 4)
    require("frame 4: PSNR inf dB" in output, output)


def motion_refuses_bad_video(files):
    frames = clip(20, 18, 3)
    good = pictures.y4m(frames)
    raw = pictures.yuv(frames)
    size = ["--width", "20", "--height", "18"]
    cases = [
        (good[:-1], [], "ends inside frame 2"),
        (good[:-2], ["--width", "21"], "has frames of 20 x 18"),
        (good + b"X", [], "has no FRAME where frame 3 begins"),
        (pictures.y4m(frames, "C422"), [], "'C422'"),
        (pictures.y4m(frames, "C420p10"), [], "'C420p10'"),
        (good.replace(b"W20", b"W0", 1), [], "'W0'"),
        (good.replace(b"H18", b"Hx", 1), [], "'Hx'"),
        (good.replace(b"W20", b"W60000").replace(b"H18", b"H60000"), [],
         "less than a frame of 60000 x 60000"),
        (good.replace(b"W20 ", b"", 1), [], "no width"),
        (pictures.y4m(frames[:1]), [], "has 1 frame"),
        (raw, [], "needs --width and --height"),
        (raw[:-1], size, "no whole number of frames"),
        (raw[:540], size, "has 1 frame"),
        (raw[:40], size, "less than a frame"),
        (b"", [], "is empty"),
    ]
    for contents, arguments, words in cases:
        path = files.write("bad", contents)
        files.refuse("motion", ["--input", path, *arguments], words)
    files.refuse("motion", ["--input", files.path("none")], "cannot be opened")
    files.refuse("motion", ["--input", files.folder], "not a regular file")
    files.refuse("motion", ["--vectors", files.path("none/v")],
                 "cannot be written", code=73)


def require_vq(files, output, picture, n_planes, n_iterations):
    """Result, decoded image and its PSNR are those of the algorithm."""
    vectors = pictures.cut(picture, 4, n_planes)
    coding = pictures.lbg(vectors, 6, n_iterations)
    require(pictures.read_vq(files.path("out")) == coding, "other files")
    require(checksum_of(output) ==
            checksum_bytes(pictures.vq_bytes(*coding)), output)
    decoded = [coding[0][c] for c in coding[1]]
    width, height, found_planes, values = pictures.read_pnm(
        files.path("out.ppm" if n_planes == 3 else "out.pgm"))
    row = width * found_planes
    require((width * n_planes, height, found_planes) ==
            (len(picture[0]), len(picture), n_planes) and decoded ==
            pictures.cut([list(values[y * row:(y + 1) * row])
                          for y in range(height)], 4, n_planes),
            "another image")
    require_psnr(output, r"coded: 0\.188 bits per pixel, ",
                 sum(map(pictures.squared, vectors, decoded)),
                 width * height * n_planes)


def vq_reads_images(files):
    """All four kinds, all protocols, both sources."""
    grey = pictures.scene(24, 16, 3)
    colour = pictures.scene(3 * 16, 20, 3)
    few = [[value // 16 for value in row] for row in grey]
    scaled = [[value * 17 for value in row] for row in few]
    inputs = [("P5", grey, 255, grey), ("P6", colour, 255, colour),
              ("P2", grey, 255, grey), ("P3", colour, 255, colour),
              ("P2", few, 15, scaled)]
    variants = itertools.islice(itertools.cycle(itertools.product(
        fault_sources(), PROTOCOLS)), len(inputs))
    for (kind, picture, maximum, expected), (source, protocol) in zip(
            inputs, variants):
        path = files.write("in", pictures.pnm(kind, picture, maximum))
        output = files.run(
            3, "vq", "--input", path, "--codebook", "6", "--iterations", "7",
            "--output", files.path("out"),
            environment={"TEAMSTER_FAULT_SOURCE": source,
                         "TEAMSTER_PROTOCOL": protocol})
        n_planes = 3 if kind in ("P3", "P6") else 1
        require_vq(files, output, expected, n_planes, 7)


def vq_never_gets_worse(files):
    """No pass has a greater error than the one before; from any start."""
    flat = [[100] * 16 for _ in range(16)]
    flat[5][6] = 0
    path = files.write("in", pictures.pnm("P5", flat))
    for start in ("split", "seed"):
        for more in (["--size", "64"], ["--input", path]):
            output = files.run(2, "vq", "--start", start, "--codebook", "12",
                               "--iterations", "16", "--residual", "1", *more)
            found = [(int(n), float(error)) for n, error in re.findall(
                r"^iteration \d+: (\d+) codewords, mean square error (\S+)$",
                output, re.M)]
            errors = [error for _, error in found]
            require(len(found) == 16 and found[-1][0] == 12 and
                    errors == sorted(errors, reverse=True), output)
            require(errors[-1] < errors[0] or errors[0] == 0, output)


def vq_refuses_bad_images(files):
    good = pictures.pnm("P5", pictures.scene(16, 8, 0))
    text = pictures.pnm("P2", pictures.scene(16, 8, 0))
    cases = [
        (good[:-1], [], "ends after 127 of 128 values"),
        (text[:-9], [], "of 128 values"),
        (text.replace(b"\n255\n", b"\n3\n"), [], "above its maximum of 3"),
        (text + b"1", [], "value 127"),
        (text[:-3] + b"x 1", [], "something else than a number"),
        (good.replace(b"16 8", b"0 8"), [], "width that is not from 1"),
        (good.replace(b"16 8", b"16 99999"), [], "height that is not"),
        (good.replace(b"16 8", b"60000 60000"), [], "do not fit in"),
        (good.replace(b"\n255\n", b"\n65535\n"), [], "maximum value"),
        (good.replace(b"\n255\n", b"\n0\n"), [], "maximum value"),
        (good.replace(b"16 8", b"16 -8"), [], "height"),
        (good.replace(b"16 8", b"18 7"), [], "no whole number of blocks"),
        (good, ["--block", "5"], "no whole number of blocks"),
        (good, ["--codebook", "9"], "--codebook is 9"),
        (good, ["--codebook", "8", "--iterations", "3"], "--start seed"),
        (b"P4\n8 8\n", [], "is not a PGM or PPM"),
        (b"P", [], "is not a PGM or PPM"),
        (b"P5", [], "ends before its width"),
        (b"P5 16", [], "ends before its height"),
        (b"GIF89a", [], "is not a PGM or PPM"),
        (b"", [], "is empty"),
    ]
    for contents, arguments, words in cases:
        path = files.write("bad", contents)
        files.refuse("vq", ["--codebook", "2", "--input", path, *arguments],
                     words)
    files.refuse("vq", ["--input", files.path("none")], "cannot be opened")
    files.refuse("vq", ["--size", "10"], "no whole number of blocks")
    files.refuse("vq", ["--output", files.path("none/out")],
                 "cannot be written", code=73)


TESTS = {test.__name__: test for test in (
    motion_reads_video, motion_reads_part_of_a_video, motion_refuses_bad_video,
    vq_reads_images, vq_never_gets_worse, vq_refuses_bad_images)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("test", choices=TESTS)
    parser.add_argument("--build", required=True)
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as folder:
            TESTS[options.test](Files(Build(options.build), folder))
    except Failure as failure:
        print(f"FAILED: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
