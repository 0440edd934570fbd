// SPDX-License-Identifier: BSD-3-Clause
#include "os/secret.h"

#include <string.h>
#include <sys/mman.h>

void *secret_new(size_t size)
{
    void *secret = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (secret == MAP_FAILED) {
        return NULL;
    }
    if (madvise(secret, size, MADV_DONTDUMP) != 0 ||
        madvise(secret, size, MADV_WIPEONFORK) != 0) {
        munmap(secret, size);
        return NULL;
    }
    // A limit of 0 is no reason not to run. What is not touched takes no memory.
    (void)mlock2(secret, size, MLOCK_ONFAULT);
    return secret;
}

void secret_free(void *secret, size_t size)
{
    if (secret != NULL) {
        explicit_bzero(secret, size);
        munmap(secret, size);
    }
}
