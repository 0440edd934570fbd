#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compare what programs are compiled against, the functions of teamster.h with their
types, with tools/teamster.abi: how it was when programs were last told of a change.
Without libabigail that is skipped (exit 77).

usage: check_abi.py HEADER BASELINE C_COMPILER [--update]

Exit code 1 if a program that was built before would not run any more with the library:
a function gone, an argument or a structure of another shape. New functions and new
enumerators change nothing for it. A change that has to be needs another SONAME, which
is the major version, once that is 1; the baseline is written anew with --update.

The baseline names the version that it is of. When there is a tag of a later version (v0.2.0, by
git, if the tree is a clone), it is out of date: whoever tags writes it anew first.

The library itself is full of types that are nobody's business, so what is looked at is
one with empty functions, made of the header. That the real one has these functions, and
no others, lint/exports_shared says.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(1, str(pathlib.Path(__file__).parent / "manual"))
import header as headers  # noqa: E402

SKIPPED = 77
BASELINE_VERSION = re.compile(r"<!-- of (\d+\.\d+\.\d+) -->\n$")
ABI_CHANGE = 4  # of abidiff's exit code, with 8 if that is incompatible


def stub_of(header, path):
    """A C file that defines all functions of the header, to do nothing."""
    lines = ["#define TM_NO_SHARED_SECTION", f'#include "{path.resolve()}"']
    for entry in header.entries:
        if entry.kind == "function" and entry.code[0].startswith("TM_API"):
            code = re.sub(r" __attribute__\(\(\w+\)\)|\bTM_CHECKED ", "",
                          " ".join(entry.code))
            lines.append(code.rstrip(";") + " { __builtin_trap(); }")
    return "\n".join(lines) + "\n"


def dump(header, path, compiler, folder):
    """@return the dump of the library with empty functions"""
    source, library = folder / "stub.c", folder / "libteamster.so"
    source.write_text(stub_of(header, path))
    subprocess.run([compiler, "-g", "-O0", "-w", "-std=gnu17", "-fPIC",
                    "-fno-lto", "-shared", "-o", library, source], check=True)
    return subprocess.run(
        ["abidw", "--no-show-locs", "--no-comp-dir-path", "--no-corpus-path",
         "--type-id-style", "hash", library], check=True, text=True,
        stdout=subprocess.PIPE).stdout


def without_places(text):
    """What differs from one compiler or folder to the next says nothing."""
    return re.sub(r"<abi-instr [^>]*>", "<abi-instr language='LANG_C11'>", text)


def numbers_of(version):
    return tuple(int(part) for part in version.split("."))


def version_in(text):
    """Of a header."""
    return ".".join(re.findall(r"^#define TM_VERSION_[A-Z]+ (\d+)$", text, re.M))


def last_tag(folder):
    """@return the version of the last tag, or None"""
    if not shutil.which("git"):
        return None
    done = subprocess.run(["git", "-C", folder, "describe", "--tags", "--abbrev=0", "--match",
                           "v[0-9]*.[0-9]*.[0-9]*"], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.strip()[1:] if done.returncode == 0 else None


def check_age(baseline):
    """Exit if the baseline is of an older version than the last tag."""
    tag = last_tag(baseline.resolve().parent)
    found = BASELINE_VERSION.search(baseline.read_text())
    if tag and (not found or numbers_of(found[1]) < numbers_of(tag)):
        print(f"{baseline.name}: is of {found[1] if found else 'no version'}, the last tag is "
              f"v{tag}; write it anew with --update; 1 complaint")
        sys.exit(1)


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__.split("\n\n")[1])
    path, baseline = map(pathlib.Path, sys.argv[1:3])
    if not shutil.which("abidw") or not shutil.which("abidiff"):
        print("skipped: no libabigail; run tools/setup.sh check")
        sys.exit(SKIPPED)
    header = headers.Header(path)
    with tempfile.TemporaryDirectory() as folder:
        now = pathlib.Path(folder, "now.abi")
        now.write_text(without_places(
            dump(header, path, sys.argv[3], pathlib.Path(folder))))
        if sys.argv[4:] == ["--update"]:
            baseline.write_text(now.read_text().rstrip() +
                                f"\n<!-- of {version_in(path.read_text())} -->\n")
        check_age(baseline)
        done = subprocess.run(["abidiff", "--no-added-syms", baseline, now],
                              check=False, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    if done.returncode == 0:
        print(f"{baseline.name}: programs built with it still run, "
              "0 complaints")
    elif done.returncode & ABI_CHANGE:
        print(f"{done.stdout}{baseline.name}: programs that were built before "
              "would not run with this library. If it has to be: tools/check_abi.py "
              f"{path} {baseline} cc --update, and CHANGELOG.md; 1 complaint")
        sys.exit(1)
    else:
        sys.exit(f"abidiff: {done.returncode}: {done.stdout}")


if __name__ == "__main__":
    main()
