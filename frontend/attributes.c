// SPDX-License-Identifier: BSD-3-Clause
//
// Attributes of threads that the C library does not keep in a pthread_attr_t, but in memory of
// its own, to which that has a pointer: another node has other things there. The mask of
// signals is in a list here, by the attributes' address; processors mean nothing.
#include "front.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

struct mask {
    struct mask *next;
    const pthread_attr_t *of;
    sigset_t set;
};

static TM_SHARED struct mask *masks;
static tm_mutex masks_mutex;

// REQUIRES(masks_mutex). @return where it is in the list, or the list's end
static struct mask **find_mask(const pthread_attr_t *attr)
{
    struct mask **at = &masks;

    while (*at != NULL && (*at)->of != attr) {
        at = &(*at)->next;
    }
    return at;
}

// Whoever uses attributes has seen what was set of them, so that there are masks.
static void forget_mask(const pthread_attr_t *attr)
{
    struct mask **at;
    struct mask *mask;

    if (masks == NULL) {
        return;
    }
    front_lock(&masks_mutex);
    at = find_mask(attr);
    mask = *at;
    if (mask != NULL) {
        *at = mask->next;
    }
    front_unlock(&masks_mutex);
    front_free(mask);
}

int front_attr_mask(const pthread_attr_t *attr, sigset_t *set)
{
    const struct mask *mask = NULL;

    if (masks != NULL) {
        front_lock(&masks_mutex);
        mask = *find_mask(attr);
        if (mask != NULL) {
            *set = mask->set;
        }
        front_unlock(&masks_mutex);
    }
    return mask != NULL;
}

FRONT(pthread_attr_setsigmask_np)
int tmf_pthread_attr_setsigmask_np(pthread_attr_t *attr, const sigset_t *set)
{
    struct mask *made;

    forget_mask(attr);
    if (set == NULL) {
        return 0;
    }
    made = front_allocate(sizeof *made);
    if (made == NULL) {
        return ENOMEM;
    }
    front_lock(&masks_mutex);
    *made = (struct mask){masks, attr, *set};
    masks = made;
    front_unlock(&masks_mutex);
    return 0;
}

FRONT(pthread_attr_getsigmask_np)
int tmf_pthread_attr_getsigmask_np(const pthread_attr_t *attr, sigset_t *set)
{
    if (front_attr_mask(attr, set)) {
        return 0;
    }
    sigemptyset(set);
    return PTHREAD_ATTR_NO_SIGMASK_NP;
}

FRONT(pthread_attr_init)
int tmf_pthread_attr_init(pthread_attr_t *attr)
{
    forget_mask(attr);
    return pthread_attr_init(attr);
}

FRONT(pthread_attr_destroy)
int tmf_pthread_attr_destroy(pthread_attr_t *attr)
{
    forget_mask(attr);
    return pthread_attr_destroy(attr);
}

FRONT(pthread_attr_setaffinity_np)
int tmf_pthread_attr_setaffinity_np(pthread_attr_t *attr, size_t size,
                                    const cpu_set_t *set)
{
    (void)attr;
    (void)size;
    (void)set;
    return 0;
}

FRONT(pthread_attr_getaffinity_np)
int tmf_pthread_attr_getaffinity_np(const pthread_attr_t *attr, size_t size,
                                    cpu_set_t *set)
{
    (void)attr;
    memset(set, 0xff, size);
    return 0;
}
