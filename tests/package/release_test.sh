#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What users run is a release build; the other tests have debug builds. Build the command, the
# library and a program so, and run it on two nodes.
#
#   release_test.sh SOURCE_FOLDER C_COMPILER
set -euo pipefail
source=$1 compiler=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

if ! { cmake -S "$source" -B "$folder" -G Ninja -D CMAKE_BUILD_TYPE=Release \
    -D TM_TESTS=OFF -D CMAKE_C_COMPILER="$compiler" &&
    cmake --build "$folder" --parallel 2 --target teamster hello jacobi; } \
    >"$folder/log" 2>&1; then
    tail -40 "$folder/log" >&2
    exit 1
fi
output=$("$folder/cli/teamster" run -n 2 "$folder/apps/hello")
[[ $output == "pi is 3.1415926536; nodes: 2" ]] ||
    { echo "hello says '$output'" >&2; exit 1; }
# With threads that end iterations, moves and checks of all bits.
"$folder/cli/teamster" run -n 2 --shuffle=1 "$folder/apps/jacobi" --size 100 \
    --iterations 20 --threads 4 --verify
