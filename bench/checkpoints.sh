#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What checkpoints take: bytes on the disk and time of the thread that writes, with and without
# compression, how long threads stand still, and how much changed before it was written.
#
#   bench/checkpoints.sh BUILD [FOLDER]
#
# Each line is of one application on two nodes and the last of its checkpoints. FOLDER, where
# they go, is a fresh one of /tmp unless it is given. Figures are of docs/checkpoints.md.
set -euo pipefail

build=${1:?bench/checkpoints.sh BUILD [FOLDER]}
folder=${2:-$(mktemp -d)}
trap 'rm -rf "$folder/saved"' EXIT

# Sums and the worst node, of the last checkpoint in what --verbose has said.
summary='
/debug: checkpoint [0-9]+: [0-9]+ pages (protected|written at once) in/ {
    match($0, /checkpoint [0-9]+/); number = substr($0, RSTART + 11, RLENGTH - 11) + 0
    match($0, /in [0-9.]+ ms/); ms = substr($0, RSTART + 3) + 0
    if (number != last) { last = number; worst = plain = disk = kept = all = write = changed = pages = 0 }
    if (ms > worst) worst = ms
}
/debug: checkpoint [0-9]+: [0-9]+ bytes, in/ {
    match($0, /: [0-9]+ bytes/); plain += substr($0, RSTART + 2) + 0
    match($0, /in [0-9]+ on/); disk += substr($0, RSTART + 3) + 0
    match($0, /and [0-9]+ of [0-9]+/); split(substr($0, RSTART, RLENGTH), words, " ")
    kept += words[2]; all += words[4]
    match($0, /kept, [0-9.]+ ms/); ms = substr($0, RSTART + 6) + 0
    if (ms > write) write = ms
}
/pages changed before they were written/ {
    match($0, /: [0-9]+ of [0-9]+ pages/); split(substr($0, RSTART + 2, RLENGTH), words, " ")
    changed += words[1]; pages += words[3]
}
END {
    printf "%8.1f %8.1f %6d of %5d %9.1f %9.1f %7d of %6d\n", plain / 1e6, disk / 1e6, kept, all,
           write, worst, changed, pages
}'

measure() { # name compress program words...
    local name=$1 compress=$2
    shift 2
    rm -rf "$folder/saved"
    printf '%-28s %-5s' "$name" "$compress"
    "$build/cli/teamster" run -n 2 --verbose \
        --checkpoint="$folder/saved,every=$every,compress=$compress" "$@" 2>&1 |
        awk "$summary"
}

printf '%-28s %-5s %8s %8s %15s %9s %9s %17s\n' program "" "MB" "on disk" kept "write ms" "pause ms" "changed before"
for compress in no auto; do
    every=10
    measure "jacobi --size 3000" $compress "$build/apps/jacobi" \
        --size 3000 --iterations 60 --threads 4
    measure "sor --size 3000" $compress "$build/apps/sor" \
        --size 3000 --iterations 60 --threads 4
    every=400
    measure "gauss --size 3000" $compress "$build/apps/gauss" \
        --size 3000 --iterations 2999 --threads 4
done
