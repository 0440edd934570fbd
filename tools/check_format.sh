#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Check that clang-format would change nothing.
#
#   check_format.sh [ROOT]
#
# Versions of clang-format differ in detail; 14, of Debian 12, decides. Without
# it the check is skipped (exit 77). Tables between `// clang-format off` and
# `// clang-format on` are left alone. `make format` lays the files out.
set -euo pipefail
cd "${1:-.}"

program=$(command -v clang-format-14 || command -v clang-format || true)
if [[ -z $program ]]; then
    echo "skipped: no clang-format; run tools/setup.sh check"
    exit 77
fi
if ! "$program" --version | grep -q 'version 14\.'; then
    echo "skipped: $("$program" --version), not version 14"
    exit 77
fi

folders=()
for folder in include src frontend cli planner simulate apps bench bindings tests; do
    [[ -d $folder ]] && folders+=("$folder")
done
mapfile -d '' -t files < <(find "${folders[@]}" -name '*.[ch]' -print0 | sort -z)
((${#files[@]} > 0)) || { echo "no C files in $PWD" >&2; exit 1; }

# All at once, for speed; then what is wrong in those that it names.
said=$("$program" --dry-run "${files[@]}" 2>&1) || { echo "$said"; exit 1; }
mapfile -t bad < <(sed -nE \
    's/^(.*):[0-9]+:[0-9]+: warning: .*-Wclang-format-violations.*/\1/p' \
    <<<"$said" | sort -u)
for file in "${bad[@]}"; do
    "$program" "$file" | diff -u --label "$file" \
        --label "$file, laid out" "$file" - | head -n 12 || true
done
echo "${#files[@]} files, ${#bad[@]} to lay out again with: make format"
((${#bad[@]} == 0))
