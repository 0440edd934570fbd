// SPDX-License-Identifier: BSD-3-Clause
// Attributes of threads that name none, as the program sets them: by one thread for all.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#define KIB 1024ul

static char memory[256 * KIB];

static void show(const char *what, const pthread_attr_t *attr)
{
    size_t stack = 0;
    size_t guard = 0;
    int state = -1;

    pthread_attr_getstacksize(attr, &stack);
    pthread_attr_getguardsize(attr, &guard);
    pthread_attr_getdetachstate(attr, &state);
    printf("%s: %zu %zu %d\n", what, stack, guard,
           state == PTHREAD_CREATE_DETACHED);
}

static void show_all(void)
{
    pthread_attr_t attr;

    pthread_getattr_default_np(&attr);
    show("default", &attr);
    pthread_attr_init(&attr);
    show("new", &attr);
    pthread_attr_setstacksize(&attr, 512 * KIB);
    show("named", &attr);
    pthread_attr_destroy(&attr);
}

static long use(long kib)
{
    volatile char room[KIB];

    room[kib % KIB] = (char)kib;
    return kib == 0 ? 0 : use(kib - 1) + (room[kib % KIB] == (char)kib);
}

static void *use_most(void *nothing)
{
    (void)nothing;
    return (void *)use(14 * KIB);
}

static void *set(void *stack)
{
    pthread_attr_t attr;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, (size_t)stack);
    pthread_attr_setguardsize(&attr, 8 * KIB);
    printf("set: %d\n", pthread_setattr_default_np(&attr));
    show_all();
    return NULL;
}

static long run(const pthread_attr_t *attr, void *(*body)(void *),
                void *argument)
{
    pthread_t thread;
    void *result = NULL;
    const int error = pthread_create(&thread, attr, body, argument);

    return error != 0 || pthread_join(thread, &result) != 0 ? -1 : (long)result;
}

static void refuse(void)
{
    pthread_attr_t attr;

    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, memory, sizeof memory);
    printf("with a stack: %d\n", pthread_setattr_default_np(&attr) == EINVAL);
    pthread_attr_init(&attr);
    printf("with none: %d\n", pthread_setattr_default_np(&attr));
    show_all();
}

static void detach_all(void)
{
    pthread_attr_t attr;
    pthread_t thread;

    pthread_getattr_default_np(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    printf("detached: %d\n", pthread_setattr_default_np(&attr));
    show_all();
    pthread_create(&thread, NULL, use_most, NULL);
    pthread_attr_init(&attr);
    printf("by attributes: %ld\n", run(&attr, use_most, NULL));
}

static void *tell_mask(void *nothing)
{
    sigset_t set;

    pthread_sigmask(SIG_BLOCK, NULL, &set);
    printf("blocked: %d\n", sigismember(&set, SIGHUP));
    return nothing;
}

static void *set_mask(void *nothing)
{
    pthread_attr_t attr;
    sigset_t set;

    pthread_attr_init(&attr);
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    pthread_attr_setsigmask_np(&attr, &set);
    pthread_setattr_default_np(&attr);
    pthread_attr_destroy(&attr);
    return nothing;
}

static void block_in_all(void)
{
    pthread_attr_t attr;
    sigset_t set;

    run(NULL, set_mask, NULL);
    pthread_getattr_default_np(&attr);
    printf("default mask: %d", pthread_attr_getsigmask_np(&attr, &set));
    printf(" %d\n", sigismember(&set, SIGHUP));
    run(NULL, tell_mask, NULL);
    pthread_attr_destroy(&attr);
    pthread_attr_init(&attr);
    run(&attr, tell_mask, NULL);
    pthread_setattr_default_np(&attr);
    run(NULL, tell_mask, NULL);
}

int main(void)
{
    pthread_attr_t attr;

    show_all();
    run(NULL, set, (void *)(16384 * KIB));
    printf("used: %ld\n", run(NULL, use_most, NULL));
    pthread_attr_init(&attr);
    printf("used: %ld\n", run(&attr, use_most, NULL));
    block_in_all();
    refuse();
    detach_all();
    return 0;
}
