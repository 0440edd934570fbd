// SPDX-License-Identifier: BSD-3-Clause
// For LD_PRELOAD: in node BAD_ADDRESS_NODE a page of somebody else's is where shared
// memory is to be.
#include <stdlib.h>
#include <sys/mman.h>

#define ADDRESS ((void *)0x7e8000001000) // mem/space.h
#define PAGE 4096

__attribute__((constructor)) static void take(void)
{
    const char *node = getenv("TEAMSTER_NODE");
    const char *bad = getenv("BAD_ADDRESS_NODE");

    if (node != NULL && bad != NULL && atoi(node) == atoi(bad) &&
        mmap(ADDRESS, PAGE, PROT_READ,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
             0) == MAP_FAILED) {
        _Exit(99);
    }
}
