// SPDX-License-Identifier: BSD-3-Clause
#include "base/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int library_load(const char *library, const char *const *names, size_t n,
                 void *functions, char *why, size_t size)
{
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    char *to = functions;

    if (loaded == NULL) {
        snprintf(why, size, "%s", dlerror());
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        void *function = dlsym(loaded, names[i]);

        if (function == NULL) {
            snprintf(why, size, "%s has no function %s()", library, names[i]);
            return 0;
        }
        memcpy(to + i * sizeof function, &function, sizeof function);
    }
    return 1;
}
