#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# symbols.sh NM LIBRARY REFUSED OUTPUT: the names that `teamster cc` changes, for objcopy.
# A line of REFUSED is a name and, if that is not what the program's text has, what is said.
# What the library serves is not refused.
set -eu
{
    echo main tmf_main
    "$1" --defined-only "$2" 2>/dev/null |
        sed -n -e 's/^[0-9a-f]* [TWV] tmf_\(.*\)$/\1 tmf_\1/p' \
            -e 's/^[0-9a-f]* T \(omp_.*\)$/\1/p' \
            -e 's/^[0-9a-f]* T \(GOMP_.*\)$/\1/p'
    sed -n -e 's/^\([a-z_A-Z0-9]\{1,\}\)$/\1 tmf_refused_\1/p' \
        -e 's/^\([a-z_A-Z0-9]\{1,\}\) \([a-z_A-Z0-9:]\{1,\}\)$/\1 tmf_refused_\2/p' "$3"
} | awk '!seen[$1]++ && NF == 2' >"$4.new"
mv "$4.new" "$4"
