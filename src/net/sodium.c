// SPDX-License-Identifier: BSD-3-Clause
#include "net/sodium.h"

#include <dlfcn.h>

#include "base/log.h"

// The major version of the library is part of its name.
#define SODIUM_LIBRARY "libsodium.so.23"

tm_status sodium_load(struct sodium *sodium, const char *use)
{
    void *library = dlopen(SODIUM_LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL) {
        log_error("cannot load libsodium, which %s: %s", use, dlerror());
        return TM_ESYSTEM;
    }
#define SODIUM_FUNCTION(name)                                                  \
    sodium->name = (__typeof__(name) *)dlsym(library, #name);                  \
    if (sodium->name == NULL) {                                                \
        log_error(SODIUM_LIBRARY " has no function " #name "()");              \
        return TM_ESYSTEM;                                                     \
    }
    SODIUM_FUNCTIONS(SODIUM_FUNCTION)
#undef SODIUM_FUNCTION
    if (sodium->sodium_init() < 0) {
        log_error("libsodium cannot start");
        return TM_ESYSTEM;
    }
    return TM_OK;
}
