#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Check Python files for what is an error whenever it is reached: a name, a method or
# a module that does not exist, wrong arguments. Without pylint the check is skipped
# (exit 77).
#
#   check_python.sh [ROOT]
#
# A folder at a time, for scripts import what lies beside them.
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
path=$(IFS=:; echo "${folders[*]}")
bad=0
for folder in "${folders[@]}"; do
    mapfile -t here < <(find "$folder" -maxdepth 1 -name '*.py' | sort)
    said=$(PYTHONPATH="$folder:$path" pylint --disable=all --enable=E \
        --score=n --persistent=n "${here[@]}" 2>&1) || true
    if [[ -n $said ]]; then
        echo "$said"
        bad=$((bad + $(grep -c ': E[0-9]' <<<"$said" || true)))
    fi
done
complaints=complaints
((bad != 1)) || complaints=complaint
echo "${#files[@]} files, $bad $complaints"
((bad == 0))
