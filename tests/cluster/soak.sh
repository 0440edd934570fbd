#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The test programs with ever new seeds: soak.sh MINUTES [BUILD]
set -e
if [ $# -lt 1 ]; then
    echo "usage: $0 MINUTES [BUILD]" >&2
    exit 64
fi
here=$(dirname "$0")
exec python3 "$here/test_programs.py" soak --minutes "$1" \
    --build "${2:-$here/../../build/debug}"
