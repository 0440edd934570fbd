#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Compile a program that uses teamster.h in each language standard with each
# compiler that is here: no warning, however strict. TM_SHARED at a wrong place is an
# error with the flags of the package.
#
#   header_test.sh INCLUDE_FOLDER
set -euo pipefail
include=$1
here=$(cd "$(dirname "$0")" && pwd)
warnings=(-pedantic -Wall -Wextra -Wshadow -Wcast-qual -Wundef -Werror)
bad=0
n=0

compile() { # compiler, language, standard
    command -v "$1" >/dev/null || return 0
    echo 'int main(void) { return 0; }' |
        "$1" -x "$2" "-std=$3" -fsyntax-only - 2>/dev/null || return 0
    n=$((n + 1))
    for file in header header_places; do
        if ! "$1" -x "$2" "-std=$3" "${warnings[@]}" -I"$include" -c \
            "$here/$file.c" -o /dev/null; then
            echo "$1 -std=$3: teamster.h is not without warnings" >&2
            bad=1
        fi
    done
    refuse "$@"
}

refuse() { # compiler, language, standard
    for wrong in 1 2 3; do
        if "$1" -x "$2" "-std=$3" -Werror=attributes -I"$include" \
            "-DWRONG=$wrong" -c "$here/header_places.c" -o /dev/null \
            2>/dev/null; then
            echo "$1 -std=$3: TM_SHARED at wrong place $wrong compiles" >&2
            bad=1
        fi
    done
}

for compiler in gcc clang; do
    for standard in c11 gnu11 c17 gnu17 c2x; do
        compile "$compiler" c "$standard"
    done
done
for compiler in g++ clang++; do
    for standard in c++11 c++14 c++17 gnu++17 c++20; do
        compile "$compiler" c++ "$standard"
    done
done
((n > 0)) || { echo "skipped: no compiler"; exit 77; }
echo "$n compilers and standards"
exit $bad
