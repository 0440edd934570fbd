// SPDX-License-Identifier: BSD-3-Clause
//
// Atomic operations on what no instruction can do at once (std::atomic of 24 bytes, _Atomic
// structures), which the compiler leaves to libatomic: its locks are of one node. Here it is
// one lock for all. The compiler gives sizes 1 to 16 to functions of other names, which are
// instructions.
#include "front.h"

#include <string.h>

static tm_mutex mutex;

void load_atomic(size_t size, const void *object, void *value, int order)
    NAMED("tmf___atomic_load");
void load_atomic(size_t size, const void *object, void *value, int order)
{
    (void)order;
    front_lock(&mutex);
    memcpy(value, object, size);
    front_unlock(&mutex);
}

void store_atomic(size_t size, void *object, const void *value, int order)
    NAMED("tmf___atomic_store");
void store_atomic(size_t size, void *object, const void *value, int order)
{
    (void)order;
    front_lock(&mutex);
    memcpy(object, value, size);
    front_unlock(&mutex);
}

static void exchange_bytes(char *object, const char *value, char *before,
                           size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const char old = object[i]; // value and before may be one place

        object[i] = value[i];
        before[i] = old;
    }
}

void exchange_atomic(size_t size, void *object, const void *value, void *before,
                     int order) NAMED("tmf___atomic_exchange");
void exchange_atomic(size_t size, void *object, const void *value, void *before,
                     int order)
{
    (void)order;
    front_lock(&mutex);
    exchange_bytes(object, value, before, size);
    front_unlock(&mutex);
}

_Bool compare_exchange_atomic(size_t size, void *object, void *expected,
                              const void *wanted, int order, int if_other)
    NAMED("tmf___atomic_compare_exchange");
_Bool compare_exchange_atomic(size_t size, void *object, void *expected,
                              const void *wanted, int order, int if_other)
{
    _Bool is_same;

    (void)order;
    (void)if_other;
    front_lock(&mutex);
    is_same = memcmp(object, expected, size) == 0;
    if (is_same) {
        memcpy(object, wanted, size);
    } else {
        memcpy(expected, object, size);
    }
    front_unlock(&mutex);
    return is_same;
}

_Bool is_lock_free(size_t size, const void *object)
    NAMED("tmf___atomic_is_lock_free");
_Bool is_lock_free(size_t size, const void *object)
{
    (void)object;
    return size <= 8 && (size & (size - 1)) == 0;
}
