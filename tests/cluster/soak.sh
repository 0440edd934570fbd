#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds what is there to be run, then all that draws from a seed, with ever new ones
# (soak.py): soak.sh MINUTES [PRESET]..., such as `soak.sh 120 debug asan`.
if [ $# -lt 1 ]; then
    echo "usage: $0 MINUTES [PRESET]..." >&2
    exit 64
fi
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
minutes=$1
shift
[ $# -gt 0 ] || set -- debug
n=$#
while [ "$n" -gt 0 ]; do # each preset becomes what soak.py is told of it
    (cd "$top" && cmake --preset "$1" > /dev/null &&
        cmake --build --preset "$1") || exit 1
    set -- "$@" --build "$top/build/$1"
    shift
    n=$((n - 1))
done
exec python3 "$here/soak.py" "$minutes" "$@"
