#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Count the instructions of the library that one operation of two nodes takes, on both
# together: exact, whatever else the machine does. Slow: a second for each fault.
#
#   count.sh BUILD read|write|barrier|release|hand N
#
# BUILD has the launcher and the shared library, without checks (the preset release).
# Needs the permission to trace processes.
set -euo pipefail
(($# == 3)) || { sed -n '4,10s/^# \{0,1\}//p' "$0" >&2; exit 64; }
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) kind=$2 n=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cc -O2 -D_GNU_SOURCE -o "$folder/stepper" "$here/stepper.c"
cc -O2 -D_GNU_SOURCE -I"$here/../../include" -o "$folder/operations" \
    "$here/operations.c" -L"$build" -lteamster -Wl,-rpath,"$build"
head -c 4096 /dev/zero >"$folder/control"
OPERATIONS_CONTROL=$folder/control "$build/cli/teamster" run -n 2 -w 1 --policy=none \
    --peer-timeout=300 --deadlock=off "$folder/operations" "$kind" "$n" \
    >"$folder/output" 2>&1 &
run=$!

# n_begun, behind two other numbers
threads=2
[[ $kind != read && $kind != write ]] || threads=1
until (($(od -An -tu4 -j8 -N4 "$folder/control") == threads)); do
    kill -0 "$run" 2>/dev/null || { cat "$folder/output" >&2; exit 1; }
    sleep 0.1
done
steppers=()
for node in $(pgrep -P "$run" -x operations); do
    nm -n "$build/libteamster.so" |
        "$folder/stepper" "$folder/control" "$node" >"$folder/count.$node" &
    steppers+=($!)
done
wait "${steppers[@]}"
wait "$run" || true # its nodes were killed
awk -v n="$n" -v kind="$kind" '{ sum += $1 } END {
    printf "%s: %.0f instructions each\n", kind, sum / n }' "$folder"/count.*
