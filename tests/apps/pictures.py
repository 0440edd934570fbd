#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What motion and vq compute, written a second time: the pictures that are made
up, full search, the LBG algorithm; and files of pictures, to write and to read.

A picture is a list of rows of values from 0 to 255.
"""
import random
import struct

MASK = 2**64 - 1
CELL = 8
N_SQUARES = 4


def scramble(bits):
    bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9 & MASK
    bits = (bits ^ bits >> 32) * 0x94d049bb133111eb & MASK
    return bits >> 32


def mix(a, b, c):
    return scramble(((a + 1) * 0x9e3779b97f4a7c15 +
                     (b + 1) * 0xc2b2ae3d27d4eb4f +
                     (c + 1) * 0x165667b19e3779f9) & MASK)


def texture(x, y, number):
    column, right = divmod(x, CELL)
    row, down = divmod(y, CELL)
    top, bottom = (mix(column, line, number) % 252 * (CELL - right) +
                   mix(column + 1, line, number) % 252 * right
                   for line in (row, row + 1))
    return (top * (CELL - down) + bottom * down) // (CELL * CELL)


def scene(width, height, frame, seed=1):
    """A frame that motion makes up; vq takes frame 0."""
    movers = []
    for which in range(N_SQUARES + 1):
        number = seed * (N_SQUARES + 1) + which
        movers.append((number, *(
            mix(number, 2 + d, 0) + (mix(number, d, 0) % 15 - 7) * frame
            for d in (0, 1))))

    def pixel(x, y):
        for number, left, top in reversed(movers[1:]):
            column = (x - left) % width
            row = (y - top) % height
            if max(column, row) < (width + height) // 8:
                return texture(column, row, number)
        number, left, top = movers[0]
        return texture(x - left + 2**32, y - top + 2**32, number)

    return [[pixel(x, y) + mix(x, y, frame) % 4 for x in range(width)]
            for y in range(height)]


def search_block(before, now, left, top, reach):
    """(x, y, sad, error) of the block whose first pixel is given."""
    height, width = len(now), len(now[0])
    rows = range(top, min(top + 16, height))
    columns = range(left, min(left + 16, width))

    def differences(x, y):
        return [now[r][c] - before[r + y][c + x]
                for r in rows for c in columns]

    best = (sum(map(abs, differences(0, 0))), 0, 0)
    for y in range(-min(reach, top), min(reach, height - rows.stop) + 1):
        for x in range(-min(reach, left),
                       min(reach, width - columns.stop) + 1):
            sad = sum(map(abs, differences(x, y)))
            if sad < best[0]:
                best = (sad, x, y)
    sad, x, y = best
    return x, y, sad, sum(d * d for d in differences(x, y))


def search(frames, reach=16):
    """Lines of the file of vectors as numbers, and each one's error."""
    return [(k, left, top, *search_block(frames[k - 1], now, left, top, reach))
            for k, now in enumerate(frames) if k > 0
            for top in range(0, len(now), 16)
            for left in range(0, len(now[0]), 16)]


def motion(size, n_iterations):
    frames = [scene(size, size, k) for k in range(n_iterations + 1)]
    return motion_bytes(search(frames))


def motion_bytes(found):
    return b"".join(struct.pack("<hhII", *line[3:]) for line in found)


def cut(picture, block, n_planes=1):
    """The blocks of a picture whose rows have n_planes values a pixel."""
    return [[value for row in picture[top:top + block]
             for value in row[left:left + block * n_planes]]
            for top in range(0, len(picture), block)
            for left in range(0, len(picture[0]), block * n_planes)]


def squared(a, b):
    return sum((x - y) ** 2 for x, y in zip(a, b))


def nearest(vector, codebook):
    return min((squared(vector, codeword), c)
               for c, codeword in enumerate(codebook))


def beside(codeword, number):
    def step(d):
        bits = ((number + 1) * 0x9e3779b97f4a7c15 +
                (d + 1) * 0xc2b2ae3d27d4eb4f) & MASK
        return 1 if scramble(bits) % 2 == 0 else -1
    return [max(0, min(255, value + step(d)))
            for d, value in enumerate(codeword)]


def codewords_in(k, n_codewords, n_iterations):
    """How many there are in iteration k of those that split."""
    n = (n_codewords - 1).bit_length()
    growing = max(n, n_iterations // 2)
    level = max((level for level in range(n + 1)
                 if level == 0 or level * growing // n <= k - 1))
    return n_codewords if level == n else 2**level


def lbg(vectors, n_codewords, n_iterations):
    """Codebook and numbers, from one codeword that is split."""
    codebook = [[0] * len(vectors[0])]
    for k in range(1, n_iterations + 1):
        cells = [[] for _ in codebook]
        errors = [0 for _ in codebook]
        for vector in vectors:
            error, c = nearest(vector, codebook)
            cells[c].append(vector)
            errors[c] += error
        for c, cell in enumerate(cells):
            if cell:
                codebook[c] = [(sum(values) + len(cell) // 2) // len(cell)
                               for values in zip(*cell)]
        worst = sorted((c for c, cell in enumerate(cells) if cell),
                       key=lambda c, errors=errors: (-errors[c], c))
        empty = [c for c, cell in enumerate(cells) if not cell]
        n_next = codewords_in(min(k + 1, n_iterations), n_codewords,
                              n_iterations)
        codebook += [None] * (n_next - len(codebook))
        for i, c in enumerate([*empty, *range(len(cells), n_next)]):
            codebook[c] = beside(codebook[worst[i % len(worst)]], c)
    return codebook, [nearest(vector, codebook)[1] for vector in vectors]


def vq_bytes(codebook, numbers):
    return (struct.pack(f"<{len(numbers)}H", *numbers) +
            bytes(value for codeword in codebook for value in codeword))


def vq(size, n_iterations, n_codewords=16):
    return vq_bytes(*lbg(cut(scene(size, size, 0), 4), n_codewords,
                         n_iterations))


def noise(width, height, seed):
    draw = random.Random(seed)
    return [[draw.randrange(256) for _ in range(width)] for _ in range(height)]


def y4m(frames, header="C420jpeg", frame_header=b"FRAME", n_chroma=None):
    height, width = len(frames[0]), len(frames[0][0])
    if n_chroma is None:
        n_chroma = (width + 1) // 2 * ((height + 1) // 2) * 2
    return b"".join([f"YUV4MPEG2 W{width} H{height} F25:1 {header}\n".encode(),
                     *(frame_header + b"\n" + frame + bytes(n_chroma)
                       for frame in (b"".join(map(bytes, rows))
                                     for rows in frames))])


def yuv(frames):
    height, width = len(frames[0]), len(frames[0][0])
    n_chroma = (width + 1) // 2 * ((height + 1) // 2) * 2
    return b"".join(bytes(value for row in rows for value in row) +
                    bytes(n_chroma) for rows in frames)


def pnm(kind, picture, maximum=255):
    n_planes = 3 if kind in ("P3", "P6") else 1
    sizes = f"{len(picture[0]) // n_planes} {len(picture)}"
    values = [value for row in picture for value in row]
    if kind in ("P5", "P6"):
        return f"{kind}\n{sizes}\n{maximum}\n".encode() + bytes(values)
    lines = (" ".join(map(str, values[i:i + 12]))
             for i in range(0, len(values), 12))
    return (f"{kind} # plain\n# two lines of\n#comment\n{sizes}\n{maximum}\n" +
            "\n".join(lines)).encode()


def read_pnm(path):
    """Width, height, values a pixel, values."""
    with open(path, "rb") as file:
        kind, sizes, _, values = file.read().split(b"\n", 3)
    return (*map(int, sizes.split()), 3 if kind == b"P6" else 1, values)


def read_vq(name):
    """Codebook and numbers from the files NAME.codebook and NAME.vq."""
    with open(f"{name}.codebook", encoding="ascii") as file:
        codebook = [list(map(int, line.split()))
                    for line in file if not line.startswith("#")]
    with open(f"{name}.vq", "rb") as file:
        magic, header, coded = file.read().split(b"\n", 2)
    width, height, n_planes, block, n_codewords, n_bits = (
        map(int, header.split()))
    n = width // block * (height // block)
    bits = "".join(f"{byte:08b}" for byte in coded)
    ok = (magic == b"VQ1" and n_codewords == len(codebook) and
          len(codebook[0]) == block * block * n_planes and
          len(coded) == (n * n_bits + 7) // 8)
    if not ok:
        raise ValueError(f"{name}: {header} with {len(coded)} bytes")
    return codebook, [int(bits[i * n_bits:(i + 1) * n_bits] or "0", 2)
                      for i in range(n)]
