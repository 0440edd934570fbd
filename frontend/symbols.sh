#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# symbols.sh NM LIBRARY TEAMSTER REFUSED OUTPUT: the names that `teamster cc` changes, for
# objcopy. A line of REFUSED is a name and, if that is not what the program's text has, what
# is said. What the library serves is not refused. Teamster's own functions are: a program may
# have some of these names, and the library must not call them.
set -eu
{
    echo main tmf_main
    "$1" --defined-only "$2" 2>/dev/null |
        sed -n -e '/ tmf_refused_/d' -e 's/^[0-9a-f]* [TWV] tmf_\(.*\)$/\1 tmf_\1/p' \
            -e 's/^[0-9a-f]* T \(omp_.*\)$/\1/p' \
            -e 's/^[0-9a-f]* T \(GOMP_.*\)$/\1/p'
    sed -n -e 's/^\([a-z_A-Z0-9]\{1,\}\)$/\1 tmf_refused_\1/p' \
        -e 's/^\([a-z_A-Z0-9]\{1,\}\) \([a-z_A-Z0-9:]\{1,\}\)$/\1 tmf_refused_\2/p' "$4"
    "$1" --dynamic --defined-only "$3" |
        sed -n -e 's/@.*//' -e 's/^[0-9a-f]* T \(tm_.*\|teamster_.*\)$/\1 tmf_refused_\1/p'
} | awk '!seen[$1]++ && NF == 2' >"$5.new"
mv "$5.new" "$5"
