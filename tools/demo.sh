#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Show Teamster at work on this machine: programs with shared memory, each on
# four nodes, and their results against those of one sequential process.
#
#   tools/demo.sh [BUILD]      BUILD is build/release if not given
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$top/build/release}
teamster=$build/cli/teamster

for program in "$teamster" "$build/apps/hello" "$build/apps/jacobi" \
    "$build/apps/sor"; do
    if [ ! -x "$program" ]; then
        echo "demo: $program is not there; 'make programs' builds it" >&2
        exit 69
    fi
done

strong='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    strong=$(printf '\033[1m')
    plain=$(printf '\033[0m')
fi

# show WHAT PROGRAM ARGUMENT...: say what comes, print the command, run it
show() {
    what=$1
    program=$2
    shift 2
    printf '\n%s%s%s\n' "$strong" "$what" "$plain"
    printf '$ teamster run -n 4 apps/%s\n\n' "$program${*:+ $*}"
    "$teamster" run -n 4 "$build/apps/$program" "$@"
}

show 'A sum: 8 threads on 4 nodes, one shared array' hello
show 'Heat in a plate, 2048 x 2048 points, by Jacobi: 16 threads on 4 nodes' \
    jacobi --size 2048 --threads 16 --iterations 100 --verify --stats
show 'The same plate by red/black over-relaxation' \
    sor --size 2048 --threads 16 --iterations 100 --verify --stats
printf '\n%sAll results have the same bits as those of one process.%s\n' \
    "$strong" "$plain"
