#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Configure a build where MPI can start programs but has no headers, as Debian's
# openmpi-bin without libopenmpi-dev: the comparisons with MPI are left out.
#
#   mpicc_test.sh SOURCE_FOLDER C_COMPILER
set -euo pipefail
source=$1 compiler=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Open MPI's wrapper, which names folders whether they are there or not.
cat >"$folder/mpicc" <<WRAPPER
#!/bin/sh
case \$1 in
-showme:incdirs) echo $folder/include ;;
-showme:libdirs | -showme:link) echo ;;
-showme:*) echo -I$folder/include ;;
*) exec "$compiler" -nostdinc -I$folder/include "\$@" ;;
esac
WRAPPER
chmod +x "$folder/mpicc"

if ! cmake -S "$source" -B "$folder/build" -G Ninja \
    -D CMAKE_C_COMPILER="$compiler" \
    -D MPI_C_COMPILER="$folder/mpicc" >"$folder/log" 2>&1; then
    cat "$folder/log" >&2
    exit 1
fi
if ! grep "^-- No MPI: " "$folder/log"; then
    cat "$folder/log" >&2
    echo "it does not say that there is no MPI" >&2
    exit 1
fi
