#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# hidden.sh READELF NM LIBRARY TEAMSTER OUTPUT: a script for the linker. Functions of other
# libraries that TEAMSTER calls must be theirs, even if the program has one of that name; but
# for those that LIBRARY puts in their place. As patterns: some linkers refuse names that no
# object has.
set -eu
served=$("$2" --defined-only "$3" 2>/dev/null | sed -n -e 's/^[0-9a-f]* [TW] \(.*\)$/\1/p')
{
    echo "{ local:"
    { echo "$served" && "$1" --wide --dyn-syms "$4"; } |
        awk 'NF == 1 { served[$1] = 1 }
             $4 == "FUNC" && $7 == "UND" {
                 sub("@.*", "", $8)
                 if (!($8 in served)) {
                     print "    [" substr($8, 1, 1) "]" substr($8, 2) ";"
                 }
             }' | sort -u
    echo "};"
} >"$5.new"
mv "$5.new" "$5"
