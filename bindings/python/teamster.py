# SPDX-License-Identifier: BSD-3-Clause
"""Teamster for Python: arrays in shared memory, and threads that run compiled functions.

    import ctypes
    import teamster as tm

    kernels = ctypes.CDLL("./kernels.so")       # before init(): on all nodes
    tm.init()                                   # nodes other than the root stay inside
    grid = tm.array((1000, 1000), name="grid")  # a NumPy array
    barrier = tm.Barrier(8)
    threads = [tm.Thread(kernels.work, tm.struct(Task, me=me, grid=grid, barrier=barrier))
               for me in range(8)]
    for thread in threads:
        thread.join()

`teamster run -n 4 python3 program.py` starts it. Python itself runs on the root only: a thread
runs a function of C's type `void *f(void *)`, of a library that ctypes has loaded, or one that
Numba has compiled (`numba.cfunc`), and goes to other nodes with it. All nodes run the script up
to init(), and functions must have the same address in all of them: so they are loaded and
compiled before init().

Shared are arrays of array() and structures of struct(), nothing else. While threads use them the
main program waits, in join() say, as a program in C would. Needs no package but NumPy, for
array(), and libteamster.so, which is looked for in TEAMSTER_LIBRARY and where libraries are.

Functions raise Error where those of teamster.h return something else than TM_OK; its reference
holds.
"""
import ctypes
import ctypes.util
import os

__all__ = ["init", "array", "struct", "free", "node_count", "node_self", "Barrier", "Mutex",
           "Thread", "Error", "PROTOCOLS", "PLACEMENTS"]

PROTOCOLS = {None: 0, "sequential": 1, "eager-release": 2, "implicit": 3, "lazy-release": 4,
             "adaptive": 5, "scope": 6, "entry": 7, "homeless": 8}
PLACEMENTS = {None: 0, "block": 1, "cyclic": 2}
ON_NODE = 3
HEADER_VERSION = 0 << 16 | 1 << 8 | 0  # TM_VERSION_*


class Error(Exception):
    """A call failed; `status` is its tm_status."""

    def __init__(self, call, status):
        super().__init__(f"{call}: {_library.tm_strerror(status).decode()}")
        self.status = status


class _Program(ctypes.Structure):
    _fields_ = [("header_version", ctypes.c_uint32), ("shared_start", ctypes.c_void_p),
                ("shared_end", ctypes.c_void_p)]


class _AllocAttr(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("protocol", ctypes.c_int),
                ("placement", ctypes.c_int), ("node", ctypes.c_uint),
                ("alignment", ctypes.c_size_t), ("sharing", ctypes.c_int),
                ("grain", ctypes.c_size_t)]


class _ThreadAttr(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("placement", ctypes.c_int),
                ("node", ctypes.c_uint), ("is_detached", ctypes.c_int)]


def _load():
    path = os.environ.get("TEAMSTER_LIBRARY") or ctypes.util.find_library("teamster")
    if path is None:
        raise ImportError("libteamster.so is not found: set TEAMSTER_LIBRARY to its path")
    library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    library.tm_strerror.restype = ctypes.c_char_p
    library.tm_alloc_at.restype = ctypes.c_void_p
    library.tm_alloc_at.argtypes = [ctypes.c_size_t, ctypes.POINTER(_AllocAttr),
                                    ctypes.c_char_p, ctypes.c_int]
    library.tm_free_at.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
    library.tm_thread_create.argtypes = [ctypes.POINTER(ctypes.c_uint64),
                                         ctypes.POINTER(_ThreadAttr), ctypes.c_void_p,
                                         ctypes.c_void_p]
    library.tm_thread_join.argtypes = [ctypes.c_uint64, ctypes.c_void_p]
    for name in ("tm_barrier_wait", "tm_iteration_end", "tm_mutex_lock", "tm_mutex_trylock",
                 "tm_mutex_unlock"):
        getattr(library, name).argtypes = [ctypes.c_void_p]
    library.tm_barrier_init.argtypes = [ctypes.c_void_p, ctypes.c_uint]
    return library


_library = _load()
_code = None  # [start, end) of what could be executed when init() was called


def _check(call, status):
    if status != 0:
        raise Error(call, status)


def init():
    """tm_init(): once, when all functions that threads run are there. Does not return on nodes
    other than the root."""
    global _code
    ranges = []
    with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
        for line in maps:
            addresses, access = line.split()[:2]
            if "x" in access:
                ranges.append(tuple(int(part, 16) for part in addresses.split("-")))
    program = _Program(HEADER_VERSION, None, None)
    _check("tm_init()", _library.tm_init_program(None, None, ctypes.byref(program)))
    _code = ranges


def node_count():
    """How many nodes there are."""
    return _library.tm_node_count()


def node_self():
    """The caller's node: that of the main program is 0."""
    return _library.tm_node_self()


def _choose(what, choice, names):
    if choice not in names:
        allowed = ", ".join(str(name) for name in names)
        raise ValueError(f"there is no {what} {choice!r}; there are: {allowed}")
    return names[choice]


def _alloc(size, name=None, protocol=None, placement=None):
    if _code is None:
        raise RuntimeError("call teamster.init() first")
    attr = _AllocAttr(name=name.encode() if name else None,
                      protocol=_choose("protocol", protocol, PROTOCOLS))
    if isinstance(placement, int):
        attr.placement, attr.node = ON_NODE, placement
    else:
        attr.placement = _choose("placement", placement, PLACEMENTS)
    block = _library.tm_alloc_at(size, ctypes.byref(attr), b"Python", 0)
    if block is None:
        raise MemoryError(f"no {size} bytes of shared memory, or a wrong attribute")
    return block


def array(shape, dtype="float64", name=None, protocol=None, placement=None):
    """A NumPy array in shared memory, all zero. It stays until free().

    name: for reports. protocol: of PROTOCOLS. placement: of PLACEMENTS, or the number of a node.
    """
    import numpy

    kind = numpy.dtype(dtype)
    if kind.hasobject:
        raise TypeError(f"elements of type {kind} are Python's own")
    n_bytes = int(numpy.prod(shape, dtype=numpy.int64)) * kind.itemsize
    block = _alloc(max(n_bytes, 1), name, protocol, placement)
    room = (ctypes.c_char * n_bytes).from_address(block)
    return numpy.frombuffer(room, dtype=kind).reshape(shape)


def struct(kind, **fields):
    """A ctypes.Structure of type `kind` in shared memory, all zero but for `fields`; of arrays,
    barriers, mutexes and other structures a field gets the address."""
    made = kind.from_address(_alloc(max(ctypes.sizeof(kind), 1)))
    for name, value in fields.items():
        setattr(made, name, address(value) if not isinstance(value, (int, float)) else value)
    return made


def address(shared):
    """Where an array, a structure, a barrier or a mutex lies: the same on all nodes."""
    if hasattr(shared, "ctypes"):  # of NumPy
        return shared.ctypes.data
    if isinstance(shared, _Named):
        return shared.address
    if isinstance(shared, (int, type(None))):
        return shared
    return ctypes.addressof(shared)


def free(shared):
    """Give back what array() or struct() returned. Nobody may use it afterwards."""
    _check("tm_free()", _library.tm_free_at(address(shared), b"Python", 0))


class _Named:
    """What is named by its address in shared memory."""

    def __init__(self):
        self.address = _alloc(8)


class Barrier(_Named):
    """A barrier at which `count` threads meet."""

    def __init__(self, count):
        super().__init__()
        _check("tm_barrier_init()", _library.tm_barrier_init(self.address, count))


class Mutex(_Named):
    """A mutex; `with mutex:` holds it."""

    def __enter__(self):
        _check("tm_mutex_lock()", _library.tm_mutex_lock(self.address))
        return self

    def __exit__(self, *_):
        _check("tm_mutex_unlock()", _library.tm_mutex_unlock(self.address))


def _function_address(function):
    if hasattr(function, "address"):  # numba.cfunc
        where = function.address
    elif isinstance(function, ctypes._CFuncPtr) and hasattr(function, "__name__"):
        where = ctypes.cast(function, ctypes.c_void_p).value
    else:  # also one that CFUNCTYPE() wraps
        raise TypeError(f"{function!r} is not compiled: give a function of a library, or one "
                        "of numba.cfunc")
    if _code is None:
        raise RuntimeError("call teamster.init() first")
    if not any(start <= where < end for start, end in _code):
        raise ValueError("the function is not on the other nodes: load its library, or compile "
                         "it, before teamster.init()")
    return where


class Thread:
    """A thread that runs `function(argument)`. Starts when the caller next waits.

    node: where it starts; None: the runtime decides.
    """

    def __init__(self, function, argument=None, name=None, node=None):
        attr = _ThreadAttr(name=name.encode() if name else None)
        number = ctypes.c_uint64()
        if node is not None:
            attr.placement, attr.node = ON_NODE, node
        _check("tm_thread_create()", _library.tm_thread_create(
            ctypes.byref(number), ctypes.byref(attr), _function_address(function),
            address(argument)))
        self.number = number.value

    def join(self):
        """Wait until it has ended. What it wrote, the caller sees."""
        _check("tm_thread_join()", _library.tm_thread_join(self.number, None))
