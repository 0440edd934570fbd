#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that includes follow the layers of the style guide.

usage: check_layers.py [ROOT]

Rules:
 1  A file of src/<layer>/ includes headers of its own layer and of those in its
    row below. Tests beside the code too, and "harness/x.h", of tests/harness/.
 2  teamster.h is included in src/ by base/status.h only, which keeps the
    section of shared variables out of the library.
 3  x_priv.h is included in its own folder only.
 4  Files of apps/ and bench/ include teamster.h, headers of apps/ and bench/,
    system headers and mpi.h. bench/micro_*.c, which measure single layers, may
    include all of src/.
 5  Includes name the layer: "mem/diff.h", also within mem/, "planner/plan.h", "simulate/disk.h",
    also within planner/ and simulate/.
 6  Every #include "..." names a file that exists.
 7  Files of src/ and cli/ that are none of src/protocol/ name no protocol, neither as
    code nor in a string: src/base/protocols.def has the names. (src/base/options.def
    says which is the default.)
 8  No two files of src/, cli/, planner/ and simulate/ have the same name.
 9  Each part of src/runtime/ says what is saved of it (P2 of parts.c), in debug builds and in
    others.
"""
import pathlib
import re
import sys

BELOW = {
    "base": "",
    "os": "base",
    "model": "base",
    "place": "base model",
    "net": "base os",
    "mem": "base os",
    "ult": "base os",
    "cluster": "base net",
    "pages": "base net mem cluster",
    "protocol": "base net mem cluster pages",
    "sync": "base net ult cluster pages",
    "tasks": "base net",
    "observe": "base os model place net mem ult cluster",
    "reconfig": "base os model place net mem ult cluster pages sync observe",
    "runtime": "base os model place net mem ult cluster pages protocol sync "
               "tasks observe reconfig",
}
ALLOWED = {layer: {layer, *below.split()} for layer, below in BELOW.items()}
OUTSIDE = {
    "cli": {"base", "os", "place", "net", "cluster", "observe", "planner", "simulate",
            "cli"},
    "frontend": {"base", "runtime", "frontend"},
    "planner": {"base", "model", "place", "planner"},
    "simulate": {*BELOW, "simulate"},
}
TOPS = ("planner", "simulate")  # beside src/
# Beside the product's files: tests, what they have in common.
OF_TESTS = re.compile(r"_(test|world|actor)(_\w+)?\.[ch]$")
PROTOCOL = re.compile(r'^(?:BLOCK_)?PROTOCOL\((\w+), (\w+), "([^"]+)"', re.M)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.M)


def includes(path):
    """Yield (line number, quote, name) of each include of a file."""
    text = path.read_text(errors="replace")
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, *match.groups()


def check_internal(root, path, allowed, quote, name):
    """What is wrong with an include of the library or the command line."""
    folder, _, rest = name.partition("/")
    if rest and (folder in BELOW or folder in TOPS):
        if folder not in allowed:
            return f"may not include the layer {folder}"
        if name.endswith("_priv.h") and path.parent.name != folder:
            return "is private to its folder"
        home = root if folder in TOPS else root / "src"
        return None if (home / name).exists() else "does not exist"
    if folder == "harness" and rest:
        if not OF_TESTS.search(path.name):
            return "is for tests"
        return None if (root / "tests" / name).exists() else "does not exist"
    if name == "teamster.h":
        if path == root / "src/base/status.h":
            return None
        return "is included in src/ by base/status.h only"
    if quote == "<":
        return None
    if (path.parent / name).exists() and path.is_relative_to(root / "src"):
        return "does not name its layer"
    return None if (path.parent / name).exists() else "does not exist"


def names_of_protocols(root):
    """What names one: its object, its number, or its name for itself, in quotes, behind
    "=", or if it has a hyphen anywhere in a string."""
    table = root / "src/base/protocols.def"
    names = []
    for symbol, number, name in PROTOCOL.findall(table.read_text()):
        names += [rf"\bprotocol_{symbol}\b", rf"\b{number}\b", f'["=]{name}\\b']
        if "-" in name:
            names.append(f'"[^"]*\\b{name}\\b')
    return re.compile("|".join(names))


def check_names(root, path, names):
    """Who asks which protocol it is? Yield (line, name) of each place."""
    where = path.relative_to(root)
    if where.parts[0] not in ("src", "cli") or where.parts[1] == "protocol" or \
            path.stem.endswith("_test"):
        return
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = names.search(line.partition("//")[0])
        if match:
            yield f"{where}:{number}: asks for a protocol by its name: {match[0]}"


def check_file_names(root):
    """Names of files that occur twice."""
    places = {}
    for top in ("src", "cli", *TOPS):
        for path in sorted((root / top).rglob("*.[ch]")):
            places.setdefault(path.name, []).append(str(path.relative_to(root)))
    return [f"{there[0]}: has the name of {there[1]}"
            for there in places.values() if len(there) > 1]


def check_parts(root, path):
    text = path.read_text(encoding="utf-8", errors="replace")
    for match in re.finditer(r"const struct part (part_\w+) = \{(.*?)\};", text, re.S):
        if ".save" not in match[2]:
            number = text.count("\n", 0, match.start()) + 1
            yield f"{path.relative_to(root)}:{number}: {match[1]} does not say what is saved"


def check_program(root, path, quote, name):
    """What is wrong with an include of a program that uses teamster.h only."""
    if name == "teamster.h":
        return None
    if (root / "src" / name).exists():
        return "is internal; programs use teamster.h only"
    places = (path.parent, root / "apps", root / "bench")
    if quote == '"' and not any((place / name).exists() for place in places):
        return "does not exist"
    return None


def check_file(root, path):
    """Return the complaints about a file."""
    top, *rest = path.relative_to(root).parts
    complaints = []
    for line, quote, name in includes(path):
        if top == "src":
            allowed = ALLOWED.get(rest[0], set())
            fault = check_internal(root, path, allowed, quote, name)
        elif top == "frontend" and name == "teamster.h":
            fault = None
        elif top in OUTSIDE:
            fault = check_internal(root, path, OUTSIDE[top], quote, name)
        elif top == "bench" and path.name.startswith("micro_"):
            fault = None
        else:
            fault = check_program(root, path, quote, name)
        if fault:
            where = path.relative_to(root)
            complaints.append(f"{where}:{line}: {name} {fault}")
    return complaints


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    complaints = []
    names = names_of_protocols(root)
    n_files = 0
    for layer in sorted(p.name for p in (root / "src").iterdir() if p.is_dir()):
        if layer not in BELOW:
            complaints.append(f"src/{layer}: is not in the table of layers")
    for top in ("src", "cli", "frontend", *TOPS, "apps", "bench"):
        for path in sorted((root / top).rglob("*.[ch]")):
            n_files += 1
            complaints += check_file(root, path)
            complaints += check_names(root, path, names)
            complaints += check_parts(root, path)
    complaints += check_file_names(root)
    print("\n".join(complaints + [f"{n_files} files, "
                                  f"{len(complaints)} complaints"]))
    return 1 if complaints or n_files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
