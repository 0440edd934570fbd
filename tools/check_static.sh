#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Run cppcheck over the library, the command line, the front end, the programs and their unit
# tests, and clang-tidy over the same without the tests and the front end; slow, so it is no test
# but part of `make lint`.
#
#   check_static.sh BUILD_FOLDER [FILE_PATTERN]
#
# BUILD_FOLDER has been configured. FILE_PATTERN, a regular expression, limits
# the run to some files: check_static.sh build/debug src/net
set -euo pipefail
cd "$(dirname "$0")/.."
(($# >= 1)) || { sed -n '4,11s/^# \{0,1\}//p' "$0" >&2; exit 64; }
build=$1 pattern=${2:-.}
jobs=2

# compile_commands.json names absolute paths, one "file" a translation unit.
mapfile -t files < <(sed -n 's/^ *"file": "\(.*\)".*/\1/p' \
    "$build/compile_commands.json" |
    grep -E "^$PWD/(src|cli|frontend|planner|simulate|apps|bench)/" | grep -E "$pattern" | sort -u)
((${#files[@]} > 0)) || { echo "no file matches $pattern" >&2; exit 1; }

status=0
echo "cppcheck, ${#files[@]} files"
cppcheck --quiet --error-exitcode=1 -j "$jobs" --std=c17 --language=c \
    --enable=warning,performance --inline-suppr \
    --suppress=allocaCalled:frontend/* \
    --library=tools/cppcheck.cfg --suppress=missingIncludeSystem -D_GNU_SOURCE -DTM_DEBUG \
    -I . -I src -I include "${files[@]}" || status=1
mapfile -t files < <(printf '%s\n' "${files[@]}" | grep -vE '_test[.]c$|/frontend/')
echo "clang-tidy, ${#files[@]} files"
printf '%s\0' "${files[@]}" |
    xargs -0 -n 1 -P "$jobs" clang-tidy --quiet -p "$build" \
        --extra-arg=-Wno-unknown-warning-option 2>/dev/null || status=1
exit "$status"
