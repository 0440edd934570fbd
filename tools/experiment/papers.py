# SPDX-License-Identifier: BSD-3-Clause
"""What the papers say: their clusters, policies and thread counts.

[Liu06] Table 1: the speed of four nodes in MHz and what each may use in MB.
[Liang03] Table 2: what each of four equal nodes may use, by application;
Table 1: sizes and memory a thread; Table 3: the counts it came to.
"""
N_THREADS = 32
N_NODES = 4
MIB = 1 << 20

LIU06 = "liu06"
LIANG03 = "liang03"

# name: (MHz of each node, MB of each node)
LIU06_CLUSTERS = {
    "1A": ((500, 500, 500, 500), (100, 85, 70, 55)),
    "1B": ((500, 500, 500, 500), (90, 75, 60, 45)),
    "2A": ((500, 400, 400, 300), (100, 100, 100, 100)),
    "2B": ((500, 400, 400, 300), (80, 80, 80, 80)),
    "3A": ((500, 400, 400, 300), (90, 75, 60, 45)),
    "3B": ((500, 400, 400, 300), (45, 60, 75, 90)),
}
LIU06_APPS = ("sor", "matmul", "gauss", "jacobi", "nbody", "motion", "vq")
# MEM-based is in proportion to memory in [Liu06], as much as fits in [Liang03].
LIU06_POLICIES = ("initial", "cpu", "mem-share", "cpu-mem")
HUNGRY = ("sor", "matmul", "gauss", "jacobi")  # those that need much memory
FRUGAL = ("nbody", "motion", "vq")

LIANG03_SPEEDS = (500, 500, 500, 500)
LIANG03_MEMORY = {
    "sor": (400, 36, 45, 72),
    "jacobi": (400, 36, 45, 72),
    "matmul": (400, 27, 33.75, 54),
}
LIANG03_APPS = ("sor", "jacobi", "matmul")
# `liang03` is the search as that paper has it, `cpu-mem` the later one.
LIANG03_POLICIES = ("cpu", "mem", "cpu-mem", "liang03")
LIANG03_COUNTS = {
    ("sor", "cpu"): (8, 8, 8, 8),
    ("sor", "mem"): (15, 4, 5, 8),
    ("sor", "cpu-mem"): (14, 5, 5, 8),
    ("jacobi", "cpu"): (8, 8, 8, 8),
    ("jacobi", "mem"): (15, 4, 5, 8),
    ("jacobi", "cpu-mem"): (11, 6, 6, 9),
    ("matmul", "cpu"): (8, 8, 8, 8),
    ("matmul", "mem"): (15, 4, 5, 8),
    ("matmul", "cpu-mem"): (10, 7, 7, 8),
}

# Seconds to page one thread's data of SOR in and out, over the seconds that it
# computes, for which Table 3's (14,5,5,8) is the best: 8 to 10.
SOR_GAMMA = 9.0


def cluster(paper, env, app):
    """The (MHz, MB) of each node."""
    if paper == LIANG03:
        return tuple(zip(LIANG03_SPEEDS, LIANG03_MEMORY[app]))
    return tuple(zip(*LIU06_CLUSTERS[env]))
