#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# symbols.sh NM LIBRARY REFUSED OUTPUT: the names that `teamster cc` changes, for objcopy.
set -eu
{
    echo main tmf_main
    "$1" --defined-only "$2" 2>/dev/null |
        sed -n 's/^[0-9a-f]* [TWV] tmf_\(.*\)$/\1 tmf_\1/p'
    sed -n 's/^\([a-z_A-Z0-9]\{1,\}\)$/\1 tmf_refused_\1/p' "$3"
} | sort -u >"$4.new"
mv "$4.new" "$4"
