// SPDX-License-Identifier: BSD-3-Clause
#include "os/compression.h"

#include <stdlib.h>
#include <zstd.h>

#include "base/library.h"

// The library's interface is part of its name.
#define ZSTD_LIBRARY "libzstd.so.1"
#define LEVEL 1

#define ZSTD_FUNCTIONS(F)                                                      \
    F(ZSTD_compressCCtx)                                                       \
    F(ZSTD_createCCtx)                                                         \
    F(ZSTD_createDCtx)                                                         \
    F(ZSTD_decompressDCtx)                                                     \
    F(ZSTD_freeCCtx)                                                           \
    F(ZSTD_freeDCtx)                                                           \
    F(ZSTD_isError)                                                            \
    F(ZSTD_versionString)

struct functions {
    ZSTD_FUNCTIONS(LIBRARY_MEMBER)
};

struct compression {
    struct functions zstd;
    ZSTD_CCtx *packing;   // made when it is needed
    ZSTD_DCtx *unpacking; // likewise
};

/** @return 1, 0 if it cannot be. @param[out] why  [size] */
static int load_zstd(struct functions *zstd, char *why, size_t size)
{
    static const char *const names[] = {ZSTD_FUNCTIONS(LIBRARY_NAME)};

    return library_load(ZSTD_LIBRARY, names, sizeof names / sizeof names[0],
                        zstd, why, size);
}

struct compression *compression_open(void)
{
    struct compression *made = calloc(1, sizeof *made);
    char why[256];

    if (made != NULL && !load_zstd(&made->zstd, why, sizeof why)) {
        free(made);
        made = NULL;
    }
    return made;
}

void compression_close(struct compression *compression)
{
    if (compression != NULL) {
        compression->zstd.ZSTD_freeCCtx(compression->packing);
        compression->zstd.ZSTD_freeDCtx(compression->unpacking);
    }
    free(compression);
}

const char *compression_version(char *why, size_t size)
{
    struct functions zstd;

    return load_zstd(&zstd, why, size) ? zstd.ZSTD_versionString() : NULL;
}

uint32_t compression_pack(struct compression *compression, const void *bytes,
                          uint32_t size, void *to, uint32_t room)
{
    const struct functions *zstd = &compression->zstd;
    size_t n;

    if (compression->packing == NULL) {
        compression->packing = zstd->ZSTD_createCCtx();
    }
    if (compression->packing == NULL) {
        return 0;
    }
    n = zstd->ZSTD_compressCCtx(compression->packing, to, room, bytes, size,
                                LEVEL);
    return zstd->ZSTD_isError(n) ? 0 : (uint32_t)n;
}

int compression_unpack(struct compression *compression, const void *bytes,
                       uint32_t n, void *to, uint32_t size)
{
    const struct functions *zstd = &compression->zstd;

    if (compression->unpacking == NULL) {
        compression->unpacking = zstd->ZSTD_createDCtx();
    }
    return compression->unpacking != NULL &&
           zstd->ZSTD_decompressDCtx(compression->unpacking, to, size, bytes,
                                     n) == size;
}
