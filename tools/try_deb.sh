#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Install packages of tools/deb.sh in a fresh Debian, which mmdebstrap makes in a folder of
# its own, and run in it what debian/tests has: programs are built there, and run on two
# nodes; and what docs/visit.md tells is done there, with the browser of this system, if it
# has one. Then the packages are removed.
#
#   try_deb.sh [FOLDER [PICTURES]]
#
# FOLDER has the packages, build/deb if none is given; PICTURES is where those of docs/visit.md
# go, if they are wanted. Needs to be root.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=$(realpath "${1:-build/deb}")
visit="tests/visit/visit.py${2:+ --pictures $(realpath "$2")}"

die() {
    printf 'tools/try_deb.sh: %s\n' "$*" >&2
    exit 1
}

((EUID == 0)) || die "only root can do that"
command -v mmdebstrap >/dev/null || die "no mmdebstrap; run tools/setup.sh deb"
debs=("$packages"/*.deb)
[[ -e ${debs[0]} ]] || die "no packages in $packages; run make deb"
needed=$(sed -n 's/^Depends: teamster, libteamster-dev, //p' debian/tests/control |
    tr -d ' ')
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)

# mmdebstrap removes the folder, and what it has mounted there, whatever happens.
mmdebstrap --quiet --mode=root --variant=apt --include="$needed,man-db" \
    --customize-hook="mkdir \"\$1/tmp/debs\"" \
    --customize-hook="cp ${debs[*]@Q} \"\$1/tmp/debs\"" \
    --customize-hook="cp debian/tests/two-nodes \"\$1/tmp\"" \
    --customize-hook="chroot \"\$1\" sh -ec '
        apt-get -q -y --no-install-recommends install /tmp/debs/*.deb
        /tmp/two-nodes
        man -w teamster-run tm_mutex_lock'" \
    --customize-hook="$visit --root \"\$1\" || [ \$? -eq 77 ]" \
    --customize-hook="chroot \"\$1\" sh -ec '
        apt-get -q -y remove teamster libteamster0
        test ! -e /usr/bin/teamster'" \
    --format=null "$release" /dev/null
echo "the packages of $packages can be installed, used and removed"
