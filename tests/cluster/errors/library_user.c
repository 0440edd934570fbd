// SPDX-License-Identifier: BSD-3-Clause
//
// A program whose library has a TM_SHARED variable, or the other way round.
#include <teamster.h>

int library_start(int *argc, char ***argv);

#ifdef HAS_VARIABLE
static TM_SHARED int variable;
#else
static int variable;
#endif

int main(int argc, char **argv)
{
    variable++;
    if (library_start(&argc, &argv) != TM_OK &&
        tm_init(&argc, &argv) != TM_OK) {
        return 99;
    }
    return 0;
}
