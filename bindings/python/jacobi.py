# SPDX-License-Identifier: BSD-3-Clause
"""Heat in a square plate, by Jacobi's method.

    teamster run -n 4 python3 jacobi.py KERNEL.so [SIZE [ITERATIONS [THREADS]]]
"""
import ctypes
import sys

import numpy
import teamster as tm


class Task(ctypes.Structure):
    """As jacobi_kernel.c has it."""
    _fields_ = [("one", ctypes.c_void_p), ("other", ctypes.c_void_p),
                ("meeting", ctypes.c_void_p), ("width", ctypes.c_int64),
                ("first", ctypes.c_int64), ("end", ctypes.c_int64),
                ("n_iterations", ctypes.c_int64)]


def main():
    kernel = ctypes.CDLL(sys.argv[1])
    size, n_iterations, n_threads = [int(word) for word in sys.argv[2:]] + \
        [256, 50, 8][len(sys.argv) - 2:]

    tm.init()
    grids = [tm.array((size + 2, size + 2), name=name) for name in ("one", "other")]
    row, column = numpy.indices(grids[0].shape)
    for grid in grids:
        grid[:] = ((row * 31 + column * 17) & 127) * 0.125
    meeting = tm.Barrier(n_threads)
    threads = [tm.Thread(kernel.jacobi, tm.struct(
        Task, one=grids[0], other=grids[1], meeting=meeting, width=size + 2,
        first=size * me // n_threads + 1, end=size * (me + 1) // n_threads + 1,
        n_iterations=n_iterations)) for me in range(n_threads)]
    for thread in threads:
        thread.join()
    total = 0.0
    for value in grids[n_iterations % 2].flat:  # in order: the same bits as in C
        total += float(value)
    print("sum:", total.hex())


main()
