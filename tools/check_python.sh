#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Check Python files for what is an error whenever it is reached: a name, a method or
# a module that does not exist, wrong arguments. Without pylint the check is skipped
# (exit 77).
#
#   check_python.sh [ROOT]
#
# Scripts import what lies beside them, so folders that have files of one name are not
# looked at together; the others are, since each look reads what they import anew.
set -euo pipefail
cd "${1:-.}"

if ! command -v pylint >/dev/null; then
    echo "skipped: no pylint; run tools/setup.sh check"
    exit 77
fi

# The build's folders have none of ours.
mapfile -t files < <(find . -name build -prune -o -name '.?*' -prune -o \
    -name '*.py' -print | sort)
((${#files[@]} > 0)) || { echo "no Python files in $PWD" >&2; exit 1; }
mapfile -t folders < <(dirname "${files[@]}" | sort -u)
bad=0

# look FILE... - in these files, whose folders are found first
look() {
    local path said
    path=$(dirname "$@" "${files[@]}" | awk '!seen[$0]++' | paste -sd:)
    said=$(PYTHONPATH="$path" pylint --disable=all --enable=E \
        --score=n --persistent=n "$@" 2>&1) || true
    if [[ -n $said ]]; then
        echo "$said"
        bad=$((bad + $(grep -c ': E[0-9]' <<<"$said" || true)))
    fi
}

together=()
declare -A names=()
for folder in "${folders[@]}"; do
    mapfile -t here < <(find "$folder" -maxdepth 1 -name '*.py' | sort)
    for file in "${here[@]}"; do
        if [[ -v names[${file##*/}] ]]; then
            look "${here[@]}"
            continue 2
        fi
    done
    for file in "${here[@]}"; do names[${file##*/}]=1; done
    together+=("${here[@]}")
done
look "${together[@]}"
complaints=complaints
((bad != 1)) || complaints=complaint
echo "${#files[@]} files, $bad $complaints"
((bad == 0))
