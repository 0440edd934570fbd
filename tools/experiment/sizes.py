# SPDX-License-Identifier: BSD-3-Clause
"""How large each application is at which scale.

At scale 1 the data of those that need much memory are as in the papers: 288 MiB
of SOR, Jacobi and Gauss, 9 MiB a thread ([Liang03] Table 1). At scale F they are
about F times that, and the memory of each node shrinks by the factor by which the
data really did, so that what fits and what does not stays the same.

    SOR      time in proportion to the data
    Jacobi   the same; two grids, so its size is smaller than [Liang03]'s
    matmul   time grows with the 3/2th power of the data
    gauss    sizes of 512 k - 1, whose rows just fill their pages
    the rest data are small at any scale; the memory of nodes is that of the paper
"""
import math
from dataclasses import dataclass

from . import papers

ITERATIONS = 60
LAST = 20          # of them, those that are measured
GAUSS_FIRST = 61   # gauss gets smaller from one iteration to the next; these
GAUSS_LAST = 80    # are late enough for the policy and early enough for memory


@dataclass(frozen=True)
class Work:
    """What one application is told to do, and on how much memory."""
    size: int
    iterations: int
    first: int             # first and last iteration that are measured,
    last: int              # counted from 1
    data_bytes: int        # shared
    memory_factor: float   # of each node's memory in the paper
    options: tuple = ()


def multiple(value, unit, least=1):
    """The multiple of `unit` next to a value, `least` of them or more."""
    return unit * max(least, round(value / unit))


def grid_bytes(size, n_grids):
    return n_grids * 8 * (size + 2) ** 2


def _grid(full, n_grids, scale, iterations):
    size = multiple(full * math.sqrt(scale), 32)
    data = grid_bytes(size, n_grids)
    return Work(size, iterations, iterations - LAST + 1, iterations, data,
                data / grid_bytes(full, n_grids))


def _matmul(full, scale, iterations):
    size = multiple(full * math.sqrt(scale), 32)
    return Work(size, iterations, iterations - LAST + 1, iterations,
                24 * size * size, (size / full) ** 2)


def _gauss(scale):
    k = max(1, round(12 * math.sqrt(scale)))
    size = 512 * k - 1
    # A step an iteration: what is measured is over before memory suffices.
    return Work(size, size, GAUSS_FIRST, GAUSS_LAST, 4096 * k * size,
                (k / 12) ** 2)


def _small(size, data, iterations, options=()):
    return Work(size, iterations, iterations - LAST + 1, iterations, data, 1.0,
                options)


def work(paper, app, scale, iterations=ITERATIONS):
    """What an application does at a scale from 1 down."""
    if app == "sor":
        return _grid(6144, 1, scale, iterations)
    if app == "jacobi":
        return _grid(4344, 2, scale, iterations)
    if app == "matmul":
        full = 3072 if paper == papers.LIANG03 else 2304
        return _matmul(full, scale, iterations)
    if app == "gauss":
        return _gauss(scale)
    if app == "nbody":
        size = multiple(16384 * math.sqrt(scale), 32)
        return _small(size, 88 * size, iterations)
    if app == "motion":
        return _small(512, 512 * 512 * (iterations + 1), iterations,
                      ("--range", "16"))
    if app == "vq":
        size = multiple(2048 * math.sqrt(scale), 32)
        return _small(size, size * size + papers.N_THREADS * 256 * 18 * 8,
                      iterations, ("--start", "seed"))
    raise KeyError(app)
