#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check by symbols what check_layers.py checks by includes.

usage: check_knots.py [-v] ROOT BUILD

Reads the object files of a build: which file defines a function or an object,
and which files of the product use it. Rules:
 1  No file uses a symbol of a layer that its own may not include: what goes
    upwards goes through a table of functions.
 2  Files of one folder that need each other, in a circle, are a *knot*. No
    knot has more files than the table below allows.
 3  The one global of the library, `this_node`, is named at most so often: public
    functions and signal handlers find the node by it, all others are given it.

The limits of rules 2 and 3 only go down. With -v the files of each knot.
"""
import pathlib
import re
import subprocess
import sys

from check_layers import ALLOWED, OF_TESTS, OUTSIDE

KNOT_MAX = 5
# Folders that have larger ones as yet, or may have none: what they have today.
KNOTS = {"frontend": 8, "runtime": 1}
NODE_USES_MAX = 45
# What still goes upwards: (user, used).
UPWARDS = set()


def products(root, build):
    """Yield (source, object file) of each file of a library or of cli.

    FOLDER/x.c is compiled to FOLDER/CMakeFiles/TARGET.dir/x.c.o of the build.
    """
    for path in sorted(build.glob("**/CMakeFiles/*.dir/**/*.c.o")):
        parts = path.relative_to(build).parts
        at = parts.index("CMakeFiles")
        source = pathlib.Path(*parts[:at], *parts[at + 2:]).with_suffix("")
        if parts[0] in ("src", "cli", "frontend", "planner", "simulate") and (root / source).exists() \
                and not OF_TESTS.search(source.name):
            yield source, path


def interposers(root):
    """Names of the C library that the runtime stands in front of: who calls
    one means the C library's."""
    lines = (root / "tools/exports.list").read_text().split()
    return {name for name in lines if not name.startswith("tm_")}


# What the front end has names of its own for; its others are the C library's, for programs.
FRONT = ("front_", "openmp_", "tmf_")


def symbols(paths, interposed):
    """Return ({symbol: file that defines it}, {file: symbols it needs})."""
    defined, needed = {}, {}
    for source, path in paths:
        names = subprocess.run(["nm", "-P", path], capture_output=True,
                               text=True, check=True).stdout
        for line in names.splitlines():
            name, kind = line.split()[:2]
            if source.parts[0] == "frontend" and not name.startswith(FRONT) and kind != "U":
                continue
            if kind in "TDBRVW" and name not in interposed:
                defined.setdefault(name, source)
            elif kind == "U":
                needed.setdefault(source, set()).add(name)
    return defined, needed


def arrows(defined, needed):
    """Return {file: the files whose symbols it uses}."""
    return {source: {defined[name] for name in names
                     if name in defined and defined[name] != source}
            for source, names in needed.items()}


def knots(files, uses):
    """The strongly connected sets of files, by Tarjan's algorithm."""
    index, low, stack, found = {}, {}, [], []

    def visit(at):
        index[at] = low[at] = len(index)
        stack.append(at)
        for to in uses.get(at, ()):
            if to not in files:
                continue
            if to not in index:
                visit(to)
                low[at] = min(low[at], low[to])
            elif to in stack:
                low[at] = min(low[at], index[to])
        if low[at] == index[at]:
            knot = []
            while not knot or knot[-1] != at:
                knot.append(stack.pop())
            found.append(sorted(knot))

    for at in sorted(files):
        if at not in index:
            visit(at)
    return sorted(found, key=len, reverse=True)


def layer_of(source):
    top, *rest = source.parts
    return rest[0] if top == "src" else top


def check_upwards(uses, defined, needed):
    """Symbols of layers that a file's own may not know."""
    complaints = []
    rows = {**ALLOWED, **OUTSIDE}
    for source, others in sorted(uses.items()):
        allowed = rows.get(layer_of(source), {layer_of(source)})
        for other in sorted(others):
            if layer_of(other) not in allowed and \
                    (str(source), str(other)) not in UPWARDS:
                names = sorted(n for n in needed[source]
                               if defined.get(n) == other)
                complaints.append(f"{source}: uses {', '.join(names)} of "
                                  f"{other}, a layer above")
    return complaints


def check_knots(uses, verbose):
    complaints = []
    folders = {}
    for source in uses:
        folders.setdefault(source.parent, set()).add(source)
    for folder, files in sorted(folders.items()):
        for knot in knots(files, uses):
            allowed = KNOTS.get(layer_of(knot[0]), KNOT_MAX)
            if len(knot) > 1 and verbose:
                print(f"{folder}: knot of {len(knot)}:",
                      " ".join(p.name for p in knot))
            if len(knot) > allowed:
                complaints.append(f"{folder}: {len(knot)} files need each "
                                  f"other, {allowed} may: "
                                  + " ".join(p.name for p in knot))
    return complaints


def check_global(root):
    uses = sum(len(re.findall(r"\bthis_node\b", path.read_text()))
               for path in (root / "src").rglob("*.[ch]")
               if not OF_TESTS.search(path.name))
    if uses > NODE_USES_MAX:
        return [f"src: {uses} uses of the global `this_node`, "
                f"{NODE_USES_MAX} may be"]
    print(f"{uses} uses of the global `this_node`")
    return []


def main():
    verbose = "-v" in sys.argv
    root, build = (pathlib.Path(a).resolve() for a in sys.argv[-2:])
    defined, needed = symbols(products(root, build), interposers(root))
    uses = arrows(defined, needed)
    complaints = check_upwards(uses, defined, needed)
    complaints += check_knots(uses, verbose) + check_global(root)
    print("\n".join(complaints + [f"{len(uses)} object files, "
                                  f"{len(complaints)} complaints"]))
    return 1 if complaints or not uses else 0


if __name__ == "__main__":
    sys.exit(main())
