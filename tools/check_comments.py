#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that licence lines and contracts are there.

usage: check_comments.py [ROOT]

 1  Every C file, script and CMake file names the licence in its first lines.
 2  Every function declaration and macro with arguments in teamster.h, and every
    function declaration in a header of src/ that another layer includes, has a
    comment: one that ends on the line above, or that follows on the line.
    Declarations without an empty line between them share the comment above the
    first. What is inside a struct is covered by the struct. x_release(),
    x_free(), x_close() and x_is_valid() mean what the style guide says they
    mean, and need none.
 3  In teamster.h a comment of a function that returns tm_status says @return,
    except a comment that says "f() for ..." or "f() with ..." and so refers
    to another.
"""
import pathlib
import re
import sys

LICENCE = "SPDX-License-Identifier: BSD-3-Clause"
TOPS = ("include", "src", "cli", "planner", "simulate", "apps", "bench", "tests", "tools",
        "cmake", ".ci")
SUFFIXES = {".c", ".h", ".def", ".py", ".sh", ".cmake", ".txt"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)

FUNCTION = re.compile(r"\b([a-z]\w*)\(")
NOT_FUNCTIONS = {"printf", "format", "section", "aligned", "visibility"}
SELF_EXPLAINING = re.compile(r"\w+_(release|free|close|is_valid)$")


def licence_complaints(root):
    for top in TOPS:
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in SUFFIXES or not path.is_file():
                continue
            head = path.read_text(errors="replace").split("\n")[:2]
            if not any(LICENCE in line for line in head):
                yield f"{path.relative_to(root)}:1: no licence line"


def shared_headers(root):
    """Headers of src/ that another layer, or the command line, includes; those
    of tests have no contracts."""
    shared = set()
    for top in ("src", "cli", "planner", "simulate"):
        for path in (root / top).rglob("*.[ch]"):
            folder = path.parent.name if top == "src" else top
            for name in INCLUDE.findall(path.read_text(errors="replace")):
                header = root / "src" / name
                if header.exists() and name.split("/")[0] != folder \
                        and not name.endswith("_test.h"):
                    shared.add(header)
    return sorted(shared)


def declarations(text):
    """Yield (line number, name, declaration, comment or None) of each function.

    A pass over the lines: `comment` is the text of the comment that is in
    force, None after an empty line or a line that is none of our business.
    """
    lines = text.split("\n")
    comment = None
    i = 0
    while i < len(lines):
        line = lines[i].strip()
        start = i
        if line.startswith("/*"):
            while "*/" not in lines[i]:
                i += 1
            comment = "\n".join(lines[start:i + 1])
        elif line.startswith("//"):
            while i + 1 < len(lines) and lines[i + 1].strip().startswith("//"):
                i += 1
            comment = "\n".join(lines[start:i + 1])
        elif line.startswith("#"):
            macro = re.match(r"#\s*define (tm_\w+)\(", line)
            if macro:
                yield start + 1, macro[1], line, comment
            while lines[i].endswith("\\"):
                i += 1
            comment = None
        elif not line:
            comment = None
        else:
            # To the end of the declaration, or to the body behind it.
            while not re.search(r"[;{}]", lines[i].split("//")[0]) \
                    and i + 1 < len(lines):
                i += 1
            whole = "\n".join(lines[start:i + 1])
            code = re.sub(r"//.*|/\*.*?\*/", "", whole)
            name = function_name(code)
            behind = re.search(r"//.*|/\*", whole)
            if name:
                if comment is None and behind:
                    comment = behind[0]
                yield start + 1, name, code, comment
            if code.rstrip().endswith("{") and 'extern "C"' not in code:
                while not lines[i].startswith("}") and i + 1 < len(lines):
                    i += 1
                comment = None
            elif not name:
                comment = None
        i += 1


def function_name(code):
    """The name that a declaration declares, None if it declares no function."""
    if "=" in code or code.startswith("typedef"):
        return None
    for match in FUNCTION.finditer(code):
        if match[1] not in NOT_FUNCTIONS:
            return match[1]
    return None


def contract_complaints(root, header, is_public):
    text = header.read_text(errors="replace")
    where = header.relative_to(root)
    for line, name, code, comment in declarations(text):
        if comment is None:
            if is_public or not SELF_EXPLAINING.match(name):
                yield f"{where}:{line}: {name}() has no comment"
        elif (is_public and "tm_status" in code.split(name)[0]
              and "@return" not in comment
              and not re.search(r"\w\(\) (for|with|without) ", comment)):
            yield f"{where}:{line}: the comment of {name}() has no @return"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    public = root / "include/teamster.h"
    complaints = list(licence_complaints(root))
    complaints += contract_complaints(root, public, True)
    shared = shared_headers(root)
    for header in shared:
        complaints += contract_complaints(root, header, False)
    n_public = sum(1 for _ in declarations(public.read_text()))
    print("\n".join(complaints + [
        f"{n_public} public declarations, {len(shared)} shared headers, "
        f"{len(complaints)} complaints"]))
    return 1 if complaints or n_public == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
