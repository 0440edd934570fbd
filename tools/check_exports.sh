#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Compare what a library lets programs see with what it should.
#
#   check_exports.sh LIBRARY EXPORTS_LIST HEADER
#
# LIBRARY is libteamster.so or libteamster.a. Each name that it defines must be
# in EXPORTS_LIST (where tm_* stands for all such names), each tm_ name must be
# declared with TM_API in HEADER, and each function declared so must be there.
# So must each name of EXPORTS_LIST that is written out.
set -euo pipefail

(($# == 3)) || { sed -n '4,11s/^# \{0,1\}//p' "$0" >&2; exit 64; }
library=$1 exports=$2 header=$3

defined() {
    case $library in
    *.so*) nm --dynamic --defined-only --format=posix "$library" ;;
    *) nm --extern-only --defined-only --format=posix "$library" ;;
    esac | awk 'NF >= 3 && $2 != "a" { sub(/@.*/, "", $1); print $1 }' | sort -u
}

declared() { # the name before the first ( that follows TM_API
    tr '\n' ' ' <"$header" |
        grep -oE 'TM_API( TM_CHECKED)? [^;(]*\(' |
        grep -oE 'tm_[a-z0-9_]+ ?\(' | tr -d ' (' | sort -u
}

listed() { # the names that are written out
    grep -vE '^(#|$)|[*]' "$exports" | sort -u
}

complain() { # what, then names on stdin
    sed "s|^|$(basename "$library"): $1: |" | tee -a "$complaints"
}

complaints=$(mktemp)
trap 'rm -f "$complaints"' EXIT

comm -23 <(defined) <({ declared; listed; } | sort -u) |
    complain "visible, but neither in the header nor in the list"
comm -13 <(defined) <(declared) | complain "declared with TM_API, but not there"
comm -13 <(defined) <(listed) | complain "in the list, but not there"

echo "$(basename "$library"): $(defined | wc -l) names," \
     "$(wc -l <"$complaints") complaints"
[[ ! -s $complaints ]]
