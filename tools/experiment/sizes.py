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

Effort: how often the arithmetic of a row is done, since processors are that much
faster beside the handling of a page than those of the papers were. See disk.py.
"""
import math
from dataclasses import dataclass

from . import papers

ITERATIONS = 90
LEAST_ITERATIONS = 60  # with fewer a policy has not done its work
LAST = 20              # of them, those that are measured
SHORTEST = LAST + 5    # of a run: some go before these

# Pages that the pager keeps free or for what is on its way. At any scale about as
# many: in the papers' sizes nothing, in small ones a sixth of a node's memory; nodes
# get them on top. Measured, see docs/experiments.md.
PAGER_PAGES = 36

EFFORTS = {
    (papers.LIU06, "sor"): 16, (papers.LIU06, "jacobi"): 40,
    (papers.LIU06, "gauss"): 16, (papers.LIU06, "matmul"): 4,
    (papers.LIANG03, "sor"): 16, (papers.LIANG03, "jacobi"): 80,
    (papers.LIANG03, "matmul"): 10,
}


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
    extra_pages: int = 0   # of memory, on top


def multiple(value, unit, least=1):
    """The multiple of `unit` next to a value, `least` of them or more."""
    return unit * max(least, round(value / unit))


def grid_bytes(size, n_grids):
    return n_grids * 8 * (size + 2) ** 2


def _hungry(size, data, factor, iterations, options):
    return Work(size, iterations, iterations - LAST + 1, iterations, data,
                factor, options, PAGER_PAGES if factor < 1 else 0)


def _grid(full, n_grids, scale, iterations, options):
    size = multiple(full * math.sqrt(scale), 32)
    data = grid_bytes(size, n_grids)
    return _hungry(size, data, data / grid_bytes(full, n_grids), iterations,
                   options)


def _matmul(full, scale, iterations, options):
    size = multiple(full * math.sqrt(scale), 32)
    return _hungry(size, 24 * size * size, (size / full) ** 2, iterations,
                   options)


def _gauss(scale, iterations, options):
    k = max(1, round(12 * math.sqrt(scale)))
    size = 512 * k - 1
    # A step an iteration, and no more of them: what is measured is over before
    # memory suffices.
    return _hungry(size, 4096 * k * size, (k / 12) ** 2, iterations,
                   (*options, "--steps", str(iterations)))


def _small(size, data, iterations, options=()):
    return Work(size, iterations, iterations - LAST + 1, iterations, data, 1.0,
                options)


def work(paper, app, scale, iterations=ITERATIONS):
    """What an application does at a scale from 1 down."""
    options = ("--effort", str(EFFORTS.get((paper, app), 1)))
    if app == "sor":
        return _grid(6144, 1, scale, iterations, options)
    if app == "jacobi":
        return _grid(4344, 2, scale, iterations, options)
    if app == "matmul":
        full = 2304
        if paper == papers.LIANG03:  # seconds each where memory is short
            full = 3072
            iterations = min(iterations, LEAST_ITERATIONS)
        return _matmul(full, scale, iterations, options)
    if app == "gauss":
        return _gauss(scale, iterations, options)
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
