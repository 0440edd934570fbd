// SPDX-License-Identifier: BSD-3-Clause
//
// A shared library that has a TM_SHARED variable, or that calls tm_init().
#include <teamster.h>

#ifdef STARTS
static int variable;
#else
static TM_SHARED int variable;
#endif

int library_start(int *argc, char ***argv);

int library_start(int *argc, char ***argv)
{
    variable++;
#ifdef STARTS
    return tm_init(argc, argv);
#else
    (void)argc;
    (void)argv;
    return TM_ESTATE;
#endif
}
