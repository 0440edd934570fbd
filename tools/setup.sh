#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Install the Debian packages that Teamster needs and that are missing here.
#
#   tools/setup.sh [--list] [GROUP...]
#
#   build   to build, install and run (the default)
#   check   the tests and lints, besides build
#   bench   the comparison programs of bench/, besides build
#   experiments  the papers' experiments, besides build
#   fuzz    the fuzzers, besides check
#   docs    the documentation site, besides build
#   browser tests of the live page in a browser, its charts and its metrics, besides
#           check; Debian starts the prometheus that this installs, unless told not to
#   deb     the Debian packages of Teamster, besides build
#   lab     tests on several hosts made out of this one, besides check; Debian
#           starts the sshd and the munged that this installs, unless told not to
#   all     all of these
#
# Calls no package manager when everything is there. --list
# prints the packages of the groups and installs nothing.
set -euo pipefail

# The one list of packages: group, package, what for.
packages='
build cmake                 configures the build
build ninja-build           builds
build make                  the front to both
build gcc                   compiles
build libc6-dev             the C library
build binutils              links; addr2line names places in messages
build libucx-dev            headers of the transport
build libucx0               the transport, loaded when several nodes run
build libsodium-dev         headers of what encrypts between hosts
build libsodium23           encrypts, loaded when a run has several hosts
build libpmix-dev           headers of what mpirun and srun start nodes by
build libpmix2              the same, loaded when they do
build libzstd-dev           headers of what compresses checkpoints
build libzstd1              the same, loaded when there are some
build libboost-context-dev  switches between threads
build libjansson-dev        reads profiles for teamster plan
build liburing-dev          transfers to swap files
build libncurses-dev        teamster top on a terminal
build libmicrohttpd-dev     the live page
build python3               manual pages, completion
check g++                   programs in C++, unchanged
check gfortran           the binding for Fortran
check python3-numpy     the binding for Python
check libcmocka-dev         unit tests
check pkg-config            test of the installed package
check python3               lints and tests
check spin                  model checking
check clang-format          layout
check clang-tidy            lint
check cppcheck              lint
check pylint                lint
check valgrind              leaks
check abigail-tools         what programs are compiled against
check mandoc                manual pages
check zsh                   completion
check fish                  the same
check tmux                  teamster top on a terminal
bench openmpi-bin           MPI programs to compare with
bench libopenmpi-dev        the same
experiments python3         runs them and writes the report
experiments gnuplot-nox     charts of the report
fuzz clang                  compiles the fuzzers
fuzz libclang-rt-dev        libFuzzer and the sanitizers of clang
docs python3-sphinx     builds the site
docs python3-myst-parser  reads its Markdown
docs furo               how it looks
docs mandoc             manual pages
deb build-essential         what Debian expects to build with
deb debhelper               builds packages
deb dpkg-dev                the same
deb fakeroot                the same
deb lintian                 looks at them
deb mmdebstrap              a Debian to try them in
browser chromium            looks at the live page
browser chromium-driver     tells it what to do
browser npm                 gets the charts of the page, and what tests it for all users
browser prometheus          its promtool looks at /metrics
lab iproute2                network cards of hosts
lab openssh-client          reaches hosts
lab openssh-server          of hosts
lab openmpi-bin             mpirun, which starts nodes
lab slurm-wlm               srun and salloc, which do
lab munge                   authenticates Slurm
'

usage() {
    sed -n '4,/^set /s/^# \{0,1\}//p' "$0"
}

die() {
    printf 'tools/setup.sh: %s\n' "$*" >&2
    exit 1
}

packages_of() { # GROUP...
    local group name
    while read -r group name _; do
        if [[ -n $group && " $* " == *" $group "* ]]; then
            echo "$name"
        fi
    done <<<"$packages"
}

is_installed() { # PACKAGE
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# Other packages of Node.js bring npm along, and do not go with Debian's.
is_npm_of_others() { # PACKAGE
    [[ $1 == npm ]] && command -v npm >/dev/null
}

as_root() {
    if ((EUID == 0)); then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "not root, and there is no sudo; as root run: $*"
    fi
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
        -o DPkg::Lock::Timeout=300 "$@"
}

# One after the other, to say which one it is that fails.
install_each() { # PACKAGE...
    local name failed=()
    for name in "$@"; do
        apt install --no-install-recommends "$name" || failed+=("$name")
    done
    if ((${#failed[@]} > 0)); then
        die "cannot install: ${failed[*]}. Is there a network, and a Debian" \
            "mirror in /etc/apt/sources.list? By hand: apt-get update &&" \
            "apt-get install ${failed[*]}"
    fi
}

install_missing() { # PACKAGE...
    echo "tools/setup.sh: installing $*"
    apt install --no-install-recommends "$@" && return
    apt update || echo "tools/setup.sh: apt-get update failed" >&2
    apt install --no-install-recommends "$@" || install_each "$@"
}

missing_of() { # PACKAGE...
    local name
    for name in "$@"; do
        is_installed "$name" || is_npm_of_others "$name" || echo "$name"
    done
}

say_what_is_skipped() {
    local lab browser
    mapfile -t lab < <(packages_of lab)
    mapfile -t browser < <(packages_of browser)
    if [[ -n $(missing_of "${lab[@]}") ]]; then
        echo "tools/setup.sh: tests on several hosts are skipped;" \
            "'make setup-lab' installs what they need"
    fi
    if [[ -n $(missing_of "${browser[@]}") ]]; then
        echo "tools/setup.sh: tests of the live page in a browser are skipped," \
            "and it may have no charts; 'make setup-browser' installs what they need"
    fi
}

list=0
groups=()
for argument in "$@"; do
    case $argument in
    --list) list=1 ;;
    build) groups+=(build) ;;
    check) groups+=(build check) ;;
    bench) groups+=(build bench) ;;
    experiments) groups+=(build experiments) ;;
    fuzz) groups+=(build check fuzz) ;;
    docs) groups+=(build docs) ;;
    deb) groups+=(build deb) ;;
    lab) groups+=(build check lab) ;;
    browser) groups+=(build check browser) ;;
    all) groups+=(build check bench experiments fuzz docs deb lab browser) ;;
    -h | --help) usage && exit 0 ;;
    *) die "unknown group '$argument'; allowed: build, check," \
        "bench, experiments, fuzz, docs, deb, lab, browser, all" ;;
    esac
done
((${#groups[@]} > 0)) || groups=(build)
mapfile -t wanted < <(packages_of "${groups[@]}")

if ((list)); then
    printf '%s\n' "${wanted[@]}"
    exit 0
fi
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "tools/setup.sh: no apt-get here; make sure that there are the" \
         "equivalents of the Debian packages: ${wanted[*]}" >&2
    exit 0
fi
mapfile -t missing < <(missing_of "${wanted[@]}")
if ((${#missing[@]} > 0)); then
    install_missing "${missing[@]}"
fi
if [[ " ${groups[*]} " == *" check "* ]]; then
    say_what_is_skipped
fi
