#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Install into an empty folder, build a program against what is there in each
# way that is offered, and run it as a cluster of one node.
#
#   package_test.sh BUILD_FOLDER C_COMPILER SANITIZERS
set -euo pipefail
build=$1 export_cc=$2 sanitizers=$3
here=$(cd "$(dirname "$0")" && pwd)

if ! command -v pkg-config >/dev/null; then
    echo "skipped: no pkg-config; run tools/setup.sh check"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CC=$export_cc CFLAGS="${sanitizers:+-fsanitize=$sanitizers}"

DESTDIR=$folder/stage cmake --install "$build" --prefix /opt/tm >/dev/null
# The installed tree works wherever it is moved to.
mv "$folder/stage/opt/tm" "$folder/moved"
prefix=$folder/moved
lib=$(dirname "$(find "$prefix" -name libteamster.a)")
[[ -x $prefix/bin/teamster ]] || { echo "bin/teamster is missing" >&2; exit 1; }

for file in libexec/teamster/plate share/man/man1/teamster-run.1 share/man/man3/tm_mutex_lock.3 \
    share/man/man3/tm_alloc_at.3 share/bash-completion/completions/teamster \
    share/zsh/site-functions/_teamster share/doc/teamster/docs/api.md \
    share/fish/vendor_completions.d/teamster.fish share/doc/teamster/LICENSE \
    share/doc/teamster/examples/hello.c include/teamster.hpp \
    share/teamster/fortran/teamster.f90 share/teamster/python/teamster.py; do
    [[ -s $prefix/$file ]] || { echo "$file is missing" >&2; exit 1; }
done

run() { # how it was built, command
    local output
    output=$(LD_LIBRARY_PATH=$lib timeout 30 "$2")
    if [[ $output != "42 on node 0 of 1" ]]; then
        echo "$1: it says '$output'" >&2
        exit 1
    fi
    echo "$1: good"
}

# CFLAGS and what pkg-config says are lists of words.
# shellcheck disable=SC2046,SC2086
with_pkg_config() {
    export PKG_CONFIG_PATH=$lib/pkgconfig
    $CC $CFLAGS $(pkg-config --cflags teamster) "$here/program.c" \
        $(pkg-config --libs teamster) -o "$folder/shared"
    run "pkg-config, shared" "$folder/shared"
    $CC $CFLAGS $(pkg-config --cflags teamster) "$here/program.c" \
        $(pkg-config --static --libs teamster |
            sed 's/-lteamster/-l:libteamster.a/') -o "$folder/static"
    run "pkg-config --static" "$folder/static"
    $CC $CFLAGS "$here/program.c" \
        $(pkg-config --cflags --libs teamster-static) -o "$folder/static_too"
    run "pkg-config, static" "$folder/static_too"
    if ldd "$folder/static_too" | grep libteamster; then
        echo "the static program needs the shared library" >&2
        exit 1
    fi
}

with_cmake() {
    cmake -S "$here/project" -B "$folder/project" -G Ninja \
        -D CMAKE_PREFIX_PATH="$prefix" >"$folder/log" &&
        cmake --build "$folder/project" >>"$folder/log" ||
        { cat "$folder/log" >&2; exit 1; }
    run "CMake, shared" "$folder/project/program_shared"
    run "CMake, static" "$folder/project/program_static"
}

with_pkg_config
with_cmake
