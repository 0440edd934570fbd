#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Build the Debian packages out of a copy of the tree, and have lintian look at them.
#
#   deb.sh [FOLDER]
#
# They are written to FOLDER, build/deb if none is given. The version is that of
# teamster.h, and debian/changelog has to know it.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(realpath -m "${1:-build/deb}")
version=$(sed -n 's/^#define TM_VERSION_[A-Z]* //p' include/teamster.h | paste -sd.)

die() {
    printf 'tools/deb.sh: %s\n' "$*" >&2
    exit 1
}

if ! command -v dpkg-buildpackage >/dev/null || ! command -v dh >/dev/null; then
    die "no dpkg-buildpackage or debhelper; run tools/setup.sh deb"
fi
said=$(sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)
[[ $said == "$version" ]] ||
    die "debian/changelog begins with $said, teamster.h is $version"

# The packages would have their own output in them.
[[ $folder/ != "$PWD"/* || $folder/ == "$PWD"/build/* ]] ||
    die "$folder is in the tree; choose a folder elsewhere, or in build/"

rm -rf "$folder"
mkdir -p "$folder/teamster-$version"
tar -c --exclude=./build --exclude=./.git . |
    tar -x -C "$folder/teamster-$version"
(cd "$folder/teamster-$version" && dpkg-buildpackage --build=binary --no-sign)
if command -v lintian >/dev/null; then
    # Who builds the tree is root in a container often enough.
    lintian --allow-root --fail-on=error,warning "$folder"/*.changes
    echo "lintian: clean"
else
    echo "lintian: not here, packages are not looked at"
fi
ls "$folder"/*.deb
