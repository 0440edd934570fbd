#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Show Teamster at work on this machine: programs with shared memory, each on
# four nodes, and their results against those of one sequential process.
#
#   tools/demo.sh [BUILD]      BUILD is build/release if not given
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$top/build/release}
teamster=$build/cli/teamster

for program in "$teamster" "$build/apps/hello" "$build/apps/jacobi" \
    "$build/apps/sor"; do
    if [ ! -x "$program" ]; then
        echo "demo: $program is not there; 'make programs' builds it" >&2
        exit 69
    fi
done

strong='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    strong=$(printf '\033[1m')
    plain=$(printf '\033[0m')
fi

# show WHAT PROGRAM ARGUMENT...: say what comes, print the command, run it
show() {
    what=$1
    program=$2
    shift 2
    printf '\n%s%s%s\n' "$strong" "$what" "$plain"
    printf '$ teamster run -n 4 apps/%s\n\n' "$program${*:+ $*}"
    "$teamster" run -n 4 "$build/apps/$program" "$@"
}

show 'A sum: 8 threads on 4 nodes, one shared array' hello
show 'Heat in a plate, 2048 x 2048 points, by Jacobi: 16 threads on 4 nodes' \
    jacobi --size 2048 --threads 16 --iterations 100 --verify --stats
show 'The same plate by red/black over-relaxation' \
    sor --size 2048 --threads 16 --iterations 100 --verify --stats
hosts=$(mktemp)
trap 'rm -f "$hosts"' EXIT
cat > "$hosts" << END
n1 speed=500 workers=1
n2 speed=400 workers=1
n3 speed=400 workers=1
n4 speed=300 workers=1
END

# policy NAME: a plate on unequal nodes, threads distributed by that policy. A gain is
# how much longer iterations are without it: predicted, of the last change, beside the
# time before the first; measured, beside the run before with `initial`.
initial_ms=0
policy() {
    printf '%-8s ' "$1"
    row=$("$teamster" run --hostfile "$hosts" --emulate --policy "$1" --explain \
        "$build/apps/jacobi" --size 768 --effort 24 --threads 32 \
        --iterations 300 --time --stats 2>&1 | awk -v initial="$initial_ms" '
        /^ +[0-9] +[0-9]+ +[0-9]+ +[0-9.]+ / { threads = threads " " $2 }
        /^iteration_ms=/ { split($2, median, "=") }
        / plans in / { moved = $(NF - 2) }
        # ...: kept; measured A ms before, B ms now, predicted C ms
        / (kept|taken back); measured / {
            if (before == "") before = $(NF - 8)
            predicted = $(NF - 1); kept = / kept; /
        }
        END {
            printf "%-14s %8.2f ms %5d", threads, median[2], moved
            if (initial > 0 && before != "" && kept)
                printf "   %6.2f ms %9.2f ms %10.2f %9.2f %+8.1f %%", before, predicted, before / predicted, initial / median[2], 100 * (before / predicted * median[2] / initial - 1)
            print ""
        }')
    printf '%s\n' "$row"
    if [ "$1" = initial ]; then
        initial_ms=$(printf '%s' "$row" | sed 's/ ms.*//; s/.* //')
    fi
}

printf '\n%sHeat in a plate on unequal nodes: speeds 500, 400, 400, 300, emulated; 32 threads%s\n' \
    "$strong" "$plain"
printf 'median of the last 150 of 300 iterations; before the first change, and predicted of the last;\n'
printf 'gain beside initial, as predicted and as measured\n'
printf 'policy   threads at end     median moves      before    predicted gain: predicted measured  error\n'
for name in initial cpu mem cpu-mem; do
    policy "$name"
done

cat > "$hosts" << END
n1 speed=500 workers=1 memory=64M
n2 speed=400 workers=1 memory=64M
n3 speed=400 workers=1 memory=10M
n4 speed=300 workers=1 memory=64M
END

# memory_policy NAME: a plate on the same nodes, one of which has little memory
memory_policy() {
    printf '%-8s ' "$1"
    "$teamster" run --hostfile "$hosts" --emulate --policy "$1" --verbose \
        "$build/apps/jacobi" --size 2048 --threads 32 --iterations 160 --time \
        --stats 2>&1 | awk '
        /^ +[0-9] +[0-9]+ +[0-9]+ +[0-9.]+ / { threads = threads " " $2 }
        /^iteration_ms=/ { split($1, mean, "="); split($2, median, "=") }
        # teamster: n2: debug: memory: A of B pages, most C; in N (...
        / debug: memory: / {
            for (i = 1; i < NF; i++) if ($i == "in") { n = $(i + 1); break }
            sub(/n/, "", $2); sub(/:/, "", $2); in_of[$2] = n
        }
        END {
            printf "%-14s %8.2f ms %8.2f ms  ", threads, median[2], mean[2]
            for (i = 0; i < 4; i++) printf " %7d", in_of[i]
            print ""
        }'
}

printf '\n%sA plate (64 MiB) on the same nodes; the third may use 10 MiB of memory only%s\n' \
    "$strong" "$plain"
printf 'last 80 of 160 iterations; in the first ones every policy pages\n'
printf 'policy   threads at end  median it.    mean it.   pages in from the swap file, by node\n'
for name in initial cpu mem cpu-mem; do
    memory_policy "$name"
done

printf '\n%sAll results have the same bits as those of one process.%s\n' \
    "$strong" "$plain"
