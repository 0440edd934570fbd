// SPDX-License-Identifier: BSD-3-Clause
#include "net/sodium.h"

#include "base/log.h"

// The major version of the library is part of its name.
#define SODIUM_LIBRARY "libsodium.so.23"

tm_status sodium_load(struct sodium *sodium, const char *use)
{
    static const char *const names[] = {SODIUM_FUNCTIONS(LIBRARY_NAME)};
    char why[256];

    if (!library_load(SODIUM_LIBRARY, names, sizeof names / sizeof names[0],
                      sodium, why, sizeof why)) {
        log_error("cannot load libsodium, which %s: %s", use, why);
        return TM_ESYSTEM;
    }
    if (sodium->sodium_init() < 0) {
        log_error("libsodium cannot start");
        return TM_ESYSTEM;
    }
    return TM_OK;
}
