#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Configure what CMakePresets.json offers, each in a folder of its own: what is built
# seldom is broken unseen.
#
#   presets_test.sh SOURCE_FOLDER PRESET...
set -euo pipefail
source=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cd "$source"
for preset in "$@"; do
    if ! cmake --preset "$preset" -B "$folder/$preset" >"$folder/log" 2>&1; then
        cat "$folder/log" >&2
        echo "the preset $preset cannot be configured" >&2
        exit 1
    fi
    echo "$preset: configured"
done
