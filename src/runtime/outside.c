// SPDX-License-Identifier: BSD-3-Clause
//
// O1 and O2 without a lock, for whoever opens a file may be in a handler: who notes writes is_noted, then
// reads has_agreed; who agrees writes has_agreed, then reads is_noted. So one of the two sees the other. Nobody
// waits for the text.
#include "runtime/outside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "os/image.h"
#include "os/kthread.h"
#include "runtime/node.h"

#define AGAIN_NS UINT64_C(10000000)
#define SECOND_NS UINT64_C(1000000000)

/** Longer than --peer-timeout: a node that does not hear the launcher for so long has ended. */
#define PATIENCE_S 3u

// What the kernel shows as files, and the folder of the run, where its shared memory is: cli/keeper.c.
static int is_file(const char *name)
{
    static const char *const others[] = {"/proc/", "/sys/",
                                         "/dev/shm/teamster"};

    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        if (strncmp(name, others[i], strlen(others[i])) == 0) {
            return 0;
        }
    }
    return strncmp(name, "/dev/", 5) != 0 || strncmp(name, "/dev/shm/", 9) == 0;
}

static const char *why_of(const struct outside *outside)
{
    return atomic_load(&outside->has_text)
               ? outside->why
               : "it has changed something outside of its memory";
}

// What has a line's end in it, or else would change a terminal, is not shown.
static void put_text(struct outside *outside, const char *what,
                     const char *name)
{
    snprintf(outside->why, sizeof outside->why, "%s%s%s", what,
             name[0] != '\0' ? " " : "", name);
    for (char *at = outside->why; *at != '\0'; at++) {
        *at = (unsigned char)*at < ' ' || *at == 127 ? '?' : *at;
    }
    atomic_store(&outside->has_text, 1);
}

// O2. Each time it is told again: there may have been no room for it.
static void have_launcher_know(struct node *node)
{
    struct outside *outside = &node->outside;
    const unsigned peer_timeout = node->options.peer_timeout;
    const uint64_t end_ns =
        peer_timeout == 0
            ? UINT64_MAX
            : clock_now_ns() + (peer_timeout + PATIENCE_S) * SECOND_NS;

    while (!atomic_load(&outside->is_heard) &&
           node_step(node) == RUNTIME_RUNNING && clock_now_ns() < end_ns) {
        bootstrap_tell_outside(&node->bootstrap, why_of(outside));
        kthread_wait(&outside->is_heard, 0, AGAIN_NS);
    }
}

// The service thread takes the answer: what is done there is the runtime's. A child of fork() is noted when it
// is made.
static int is_programs(const struct node *node)
{
    return node_step(node) != RUNTIME_RUNNING ||
           (getpid() == node->pid &&
            !pthread_equal(pthread_self(), node->service));
}

// UCX joins nodes of one host by sockets and shared memory with names. It is called by all kinds of threads, and
// from few places.
static int is_of_fabric(struct outside *outside, uintptr_t place)
{
    static const char *const libraries[] = {"libucp", "libuct", "libucs",
                                            "libucm"};
    const char *file;

    if (place == 0 || place == atomic_load(&outside->fabric)) {
        return place != 0;
    }
    file = image_file_name(place);
    for (unsigned i = 0;
         file != NULL && i < sizeof libraries / sizeof *libraries; i++) {
        if (strncmp(file, libraries[i], strlen(libraries[i])) == 0) {
            atomic_store(&outside->fabric, place);
            return 1;
        }
    }
    return 0;
}

void outside_note(uintptr_t place, const char *what, const char *name)
{
    struct node *node = &this_node;
    struct outside *outside = &node->outside;
    const int saved_errno = errno;
    char own[80] = ""; // its page may have to come

    if (atomic_load(&outside->is_noted) && !atomic_load(&outside->has_agreed)) {
        return; // it never will (O1)
    }
    if (is_programs(node) && !is_of_fabric(outside, place)) {
        snprintf(own, sizeof own, "%s", name != NULL ? name : "");
        if (!atomic_exchange(&outside->is_noted, 1)) {
            put_text(outside, what, own);
        }
        if (atomic_load(&outside->has_agreed)) {
            have_launcher_know(node);
        }
    }
    errno = saved_errno;
}

void outside_note_file(uintptr_t place, const char *what, const char *name)
{
    if (name == NULL || is_file(name)) {
        outside_note(place, what, name);
    }
}

void outside_refuse(struct node *node, const char *why)
{
    if (!atomic_exchange(&node->outside.is_noted, 1)) {
        put_text(&node->outside, why, "");
    }
}

void outside_tell(struct node *node)
{
    if (!atomic_load(&node->outside.is_heard)) {
        bootstrap_tell_outside(&node->bootstrap, why_of(&node->outside));
    }
}

void outside_agree(struct node *node)
{
    atomic_store(&node->outside.has_agreed, 1);
}

const char *outside_why_unsaved(struct node *node)
{
    outside_agree(node);
    return atomic_load(&node->outside.is_noted) ? why_of(&node->outside) : NULL;
}

void outside_end(struct node *node)
{
    if (atomic_load(&node->outside.has_agreed)) {
        outside_refuse(node, "its main() goes on alone");
        have_launcher_know(node);
    }
}

void outside_heard(struct node *node)
{
    atomic_store(&node->outside.is_heard, 1);
    kthread_wake_all(&node->outside.is_heard);
}

int outside_is_heard(const struct node *node)
{
    return atomic_load(&node->outside.is_heard) != 0;
}
