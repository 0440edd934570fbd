#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The test programs with ever new seeds: soak.sh MINUTES [BUILD]. A part of the time for
# random programs anywhere, for those that are audited, and for all else.
if [ $# -lt 1 ]; then
    echo "usage: $0 MINUTES [BUILD]" >&2
    exit 64
fi
here=$(dirname "$0")
build=${2:-$here/../../build/debug}
part() { # of the minutes, in twelfths
    awk "BEGIN { print $minutes * $1 / 12 }"
}
minutes=$1
result=0
python3 "$here/test_random.py" --minutes "$(part 6)" --go-on \
    --build "$build" || result=1
python3 "$here/../audit/test_audit.py" random --minutes "$(part 2)" --go-on \
    --build "$build" || result=1
python3 "$here/test_programs.py" soak --minutes "$(part 4)" \
    --build "$build" || result=1
exit $result
