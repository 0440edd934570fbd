// SPDX-License-Identifier: BSD-3-Clause
//
// pthread_once() and keys. Which keys there are, and a thread's values, are shared memory;
// functions and destructors are called in the program's context.
#include "front.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

enum { KEYS = PTHREAD_KEYS_MAX, ROUNDS = PTHREAD_DESTRUCTOR_ITERATIONS };

/** A key's number changes when it is deleted, so that old values are nobody's. */
struct key {
    unsigned generation; // odd: in use
    void (*destructor)(void *);
};

struct value {
    unsigned generation;
    void *value;
};

static TM_SHARED struct key keys[KEYS];
static tm_mutex mutex;

FRONT(pthread_key_create)
int tmf_pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
    int error = EAGAIN;

    front_lock(&mutex);
    for (unsigned i = 0; i < KEYS && error != 0; i++) {
        if (keys[i].generation % 2 == 0) {
            keys[i].generation++;
            keys[i].destructor = destructor;
            *key = i;
            error = 0;
        }
    }
    front_unlock(&mutex);
    return error;
}

FRONT(pthread_key_delete)
int tmf_pthread_key_delete(pthread_key_t key)
{
    int error = EINVAL;

    front_lock(&mutex);
    if (key < KEYS && keys[key].generation % 2 == 1) {
        keys[key].generation++;
        error = 0;
    }
    front_unlock(&mutex);
    return error;
}

static struct value *values_of(struct front_thread *thread)
{
    if (thread->values == NULL) {
        thread->values = front_allocate(KEYS * sizeof(struct value));
        if (thread->values != NULL) {
            memset(thread->values, 0, KEYS * sizeof(struct value));
        }
    }
    return thread->values;
}

FRONT(pthread_setspecific)
int tmf_pthread_setspecific(pthread_key_t key, const void *value)
{
    struct value *values;

    if (key >= KEYS || keys[key].generation % 2 == 0) {
        return EINVAL;
    }
    values = values_of(front_thread());
    if (values == NULL) {
        return ENOMEM;
    }
    values[key] =
        (struct value){keys[key].generation, (void *)(uintptr_t)value};
    return 0;
}

FRONT(pthread_getspecific)
void *tmf_pthread_getspecific(pthread_key_t key)
{
    const struct value *values = front_thread()->values;

    if (values == NULL || key >= KEYS ||
        values[key].generation != keys[key].generation) {
        return NULL;
    }
    return values[key].value;
}

// @return how many destructors were called
static unsigned destroy_values(struct value *values)
{
    unsigned n = 0;

    for (unsigned i = 0; i < KEYS; i++) {
        void *value = values[i].value;

        if (value == NULL) {
            continue;
        }
        values[i].value = NULL;
        if (values[i].generation == keys[i].generation &&
            keys[i].destructor != NULL) {
            keys[i].destructor(value);
            n++;
        }
    }
    return n;
}

void front_keys_end(void)
{
    struct front_thread *thread = front_thread();

    if (thread->values == NULL) {
        return;
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (destroy_values(thread->values) == 0) {
            break;
        }
    }
    front_free(thread->values);
    front_thread()->values = NULL;
}

// ---- once: the control is looked at under a lock of its own, so that who finds it done
// sees what was done

static void end_once(pthread_once_t **control)
{
    front_unlock(*control);
}

// A function that throws (std::call_once) leaves the control as it was, unlocked.
FRONT(pthread_once)
int tmf_pthread_once(pthread_once_t *control, void (*function)(void))
{
    pthread_once_t *locked __attribute__((cleanup(end_once))) = control;

    front_lock(locked);
    if (*control == PTHREAD_ONCE_INIT) {
        function();
        *control = PTHREAD_ONCE_INIT + 1;
    }
    return 0;
}
