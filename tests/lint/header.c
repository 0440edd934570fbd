// SPDX-License-Identifier: BSD-3-Clause
// Uses of teamster.h, for header_test.sh: C and C++, no warning. Compiled, never run.
#include <teamster.h>

#ifdef __cplusplus
#define ATTR_NONE tm_alloc_attr()
#else
#define ATTR_NONE                                                              \
    {                                                                          \
        0                                                                      \
    }

static void *allocate_with_attributes(void)
{
    // Initialisers have commas, and the attributes are an argument of a macro.
    return tm_alloc(
        64, &(tm_alloc_attr){.name = "some", .placement = TM_BLOCK, .node = 0});
}
#endif

TM_SHARED int counter[2];

int main(int argc, char **argv)
{
    static const tm_alloc_attr attr = ATTR_NONE;
    void *block;

    if (tm_init(&argc, &argv) != TM_OK) {
        return 1;
    }
    block = tm_alloc(sizeof(int[2]), &attr);
#ifndef __cplusplus
    block = block == NULL ? allocate_with_attributes() : block;
#endif
    counter[0] = 1;
    return tm_free(block) == TM_OK ? 0 : counter[0];
}
