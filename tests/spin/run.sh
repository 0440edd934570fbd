#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Verify a model, all of its states.
#
#   run.sh [-x WHAT] MODEL [-DNAME=VALUE...]
#
# MODEL is the name of one of the .pml files but blocks.pml and members.pml, the definitions are listed at its top.
# With -DLIVE the model's claim is checked under weak fairness, otherwise
# assertions. With -x an error must be found, and its text must match the
# regular expression WHAT; steps are compared with their table (model_steps.c) then only
# if that is a step that it does not allow, "s_is_allowed": else that would be found first.
#
# With SPIN_ROWS=1 it says how often each row of the table was taken.
#
# On an error the messages and events that lead to it are printed. The search
# must end by itself within SPIN_MEMORY_MB (4000) of memory, else it fails: an
# incomplete search shows nothing. Exit: 0, 1, or 77 without spin or a compiler.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

expected=
if [[ ${1-} == -x ]]; then
    expected=$2
    shift 2
fi
model=${1:?run.sh [-x WHAT] MODEL [-DNAME=VALUE...]}
shift

cc=${CC:-cc}
for tool in spin "$cc"; do
    if ! command -v "$tool" >/dev/null; then
        echo "skipped: no $tool"
        exit 77
    fi
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
root=$(cd "$here/../.." && pwd)
cp "$here/$model.pml" "$here/blocks.pml" "$here/members.pml" "$here/model_steps.h" "$folder"
cd "$folder"

compile=(-O1 -DSAFETY)
search=(-w24)
if [[ " $* " == *" -DLIVE"* ]]; then
    compile=(-O1 -DNFAIR=3) # for more than six processes
    search=(-w24 -a -f)
fi
if [[ -n $expected ]]; then
    # An error is found sooner than a better program or a larger table would be
    # ready.
    compile[0]=-O0
    search[0]=-w20
fi
if [[ -n $expected && $expected != s_is_allowed ]]; then
    set -- "$@" -DNO_STEPS
fi
if [[ $model == pager || $model == going_back || " $* " == *" -DLIVE"* || " $* " == *" -DNO_STEPS"* ]]; then
    steps=()
else
    steps=("$here/model_steps.c" "$root/tests/steps/rows.c")
fi
spin -a "$@" "$model.pml" >generated 2>&1 || { cat generated; exit 1; }
"$cc" -w "${compile[@]}" -DCOLLAPSE -DMEMLIM="${SPIN_MEMORY_MB:-4000}" \
    -D_GNU_SOURCE -I"$root/src" -I"$root/include" -I"$root/tests" -I"$here" \
    -o pan pan.c "${steps[@]}"
./pan "${search[@]}" -m1000000 >result 2>&1 || true

states=$(awk '/states, stored/ { print $1 }' result)
error=$(sed -n 's/^pan:[0-9]*: //p' result | head -n 1)
if [[ -z $states ]]; then
    cat result
    exit 1
fi
if [[ -n $expected ]]; then
    if [[ $error =~ $expected ]]; then
        echo "$model $*: found after $states states"
        exit 0
    fi
    echo "$model $*: ${error:-no error} in $states states; not $expected"
    exit 1
fi
if [[ -n $error ]]; then
    sed -n '/ allows no such step of page /,/^[^ ]/p' result | head -n 40
    # Here nothing is compared, so each of these assertions seems to fail.
    spin -t -B -T -k "$model.pml.trail" "$@" "$model.pml" 2>&1 |
        sed '/^c_code.*{ *$/,/^ *}/d; /^c_code/d; /Error: assertion violated/d
             /failed assertion: assert(s_is_allowed)/d' | head -n 200
    echo "$model $*: $error"
    exit 1
fi
if grep -qE 'Search not completed|search depth too small' result ||
    ! grep -q 'errors: 0$' result; then
    cat result
    echo "$model $*: not all states were visited"
    exit 1
fi
taken=$(awk '$1 == "step" && $5 > 0' result | wc -l)
[[ -z ${SPIN_ROWS-} ]] || grep '^step ' result || true
echo "$model $*: $states states, no error; $taken kinds of steps"
