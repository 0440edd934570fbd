// SPDX-License-Identifier: BSD-3-Clause
//
// Attributes of threads that name none: pthread_setattr_default_np(). They are the program's, on
// all nodes; the C library's own, by which this library makes threads, stay as they are.
#include <errno.h>
#include <pthread.h>

#include "front.h"

extern __typeof__(pthread_attr_setsigmask_np) tmf_pthread_attr_setsigmask_np
    __attribute__((weak));

static TM_SHARED struct {
    int are_set;
    pthread_attr_t attr; // its stack has a size
} defaults;
static tm_mutex mutex;

static int has_own_stack(const pthread_attr_t *attr)
{
    void *low = NULL;
    size_t size = 0;

    return pthread_attr_getstack(attr, &low, &size) == 0 &&
           (uintptr_t)low + size != 0;
}

// The C library has a lock of its own meanwhile: no shared memory is touched.
static long read_usual(pthread_attr_t *to)
{
    pthread_attr_t usual;

    pthread_getattr_default_np(&usual);
    *to = usual;
    return 0;
}

static pthread_attr_t read_defaults(void)
{
    pthread_attr_t attr;

    front_lock(&mutex);
    if (!defaults.are_set) {
        FRONT_1(read_usual, &defaults.attr);
        defaults.are_set = 1;
    }
    attr = defaults.attr;
    front_unlock(&mutex);
    return attr;
}

size_t front_default_stack(void)
{
    size_t size = 0;

    if (defaults.are_set) {
        pthread_attr_getstacksize(&defaults.attr, &size);
    }
    return size;
}

const pthread_attr_t *front_default_attr(void)
{
    return defaults.are_set ? &defaults.attr : NULL;
}

// Masks are known by the address of their attributes.
static void copy_mask(pthread_attr_t *to, const pthread_attr_t *from)
{
    sigset_t set;

    if (front_attr_mask != NULL) {
        tmf_pthread_attr_setsigmask_np(to, front_attr_mask(from, &set) ? &set
                                                                       : NULL);
    }
}

FRONT(pthread_getattr_default_np)
int tmf_pthread_getattr_default_np(pthread_attr_t *attr)
{
    *attr = read_defaults();
    copy_mask(attr, &defaults.attr);
    return 0;
}

FRONT(pthread_setattr_default_np)
int tmf_pthread_setattr_default_np(const pthread_attr_t *attr)
{
    const pthread_attr_t before = read_defaults();
    pthread_attr_t after = *attr;
    size_t size;

    if (has_own_stack(attr)) {
        return EINVAL;
    }
    if (front_named_stack(attr) == 0) {
        pthread_attr_getstacksize(&before, &size);
        pthread_attr_setstacksize(&after, size);
    }
    front_lock(&mutex);
    defaults.attr = after;
    front_unlock(&mutex);
    copy_mask(&defaults.attr, attr);
    return 0;
}

FRONT(pthread_attr_getstacksize)
int tmf_pthread_attr_getstacksize(const pthread_attr_t *attr, size_t *size)
{
    const size_t usual = front_default_stack();

    if (front_named_stack(attr) == 0 && usual > 0) {
        *size = usual;
        return 0;
    }
    return pthread_attr_getstacksize(attr, size);
}
