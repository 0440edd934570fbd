#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# refused.sh REFUSED OUTPUT: a C file with a function for each name of REFUSED, which ends the
# program. Members of archives call them: whether such a call is ever made is known only when
# it is. The names are those that symbols.sh gives.
set -eu
{
    echo '#include "front.h"'
    sed -e '/^#/d' -e 's/^[^ ]* //' "$1" | awk 'NF == 1 && !seen[$1]++ {
        printf "__asm__(\".section .rodata\\n0: .string \\\"%s\\\"\\n.text\\n\"\n", $1
        printf "        \".weak \\\"tmf_refused_%s\\\"\\n\"\n", $1
        printf "        \".hidden \\\"tmf_refused_%s\\\"\\n\"\n", $1
        printf "        \"\\\"tmf_refused_%s\\\":\\n\"\n", $1
        print "        \"leaq 0b(%rip), %rdi\\njmp front_refuse\\n\");"
    }'
    cat <<'END'
_Noreturn void front_refuse(const char *name) __attribute__((used));
_Noreturn void front_refuse(const char *name)
{
    front_fatal("%s() cannot be had on several nodes", name);
}
END
} >"$2.new"
mv "$2.new" "$2"
