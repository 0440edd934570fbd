# SPDX-License-Identifier: BSD-3-Clause
"""What bindings/python refuses, each with a line that says what to do instead; and a mutex, a
barrier and a structure. refused.py KERNEL.so"""
import ctypes
import sys

import teamster as tm


class Task(ctypes.Structure):
    """Three words."""
    _fields_ = [("array", ctypes.c_void_p), ("number", ctypes.c_int64), ("real", ctypes.c_double)]


def refused(error, word, function, *arguments, **named):
    try:
        function(*arguments, **named)
    except error as told:
        if word not in str(told):
            sys.exit(f"wrong: {told!r} has no '{word}'")
        return
    sys.exit(f"wrong: {function} {arguments} {named} is not refused")


kernel = ctypes.CDLL(sys.argv[1])
refused(RuntimeError, "init() first", tm.Barrier, 2)
refused(RuntimeError, "init() first", tm.Thread, kernel.jacobi)
tm.init()
refused(tm.Error, "", tm.init)
refused(TypeError, "not compiled", tm.Thread, lambda _: None)
wrapped = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda _: None)
refused(TypeError, "not compiled", tm.Thread, wrapped)
refused(ValueError, "before teamster.init()", tm.Thread, ctypes.CDLL("libresolv.so.2").ns_get16)
refused(ValueError, "lazy-release", tm.array, 10, protocol="lazy")
refused(ValueError, "block", tm.array, 10, placement="blocks")
refused(MemoryError, "shared memory", tm.array, 10, placement=5000)
refused(TypeError, "Python's own", tm.array, 10, dtype=object)
refused(tm.Error, "", tm.Barrier, 0)
refused(tm.Error, "", tm.free, 4096)

numbers = tm.array(1000, dtype="int32", placement=tm.node_count() - 1, name="numbers")
task = tm.struct(Task, array=numbers, number=-7, real=0.5)
if (task.array, task.number, task.real) != (numbers.ctypes.data, -7, 0.5) or numbers.any():
    sys.exit("wrong: a structure")
mutex = tm.Mutex()
with mutex:
    numbers[3] = 4
with mutex:
    pass
tm.free(task)
tm.free(numbers)
if tm.node_self() != 0:
    sys.exit("wrong: the node")
print("right")
