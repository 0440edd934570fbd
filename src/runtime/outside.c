// SPDX-License-Identifier: BSD-3-Clause
//
// O1 and O2 without a lock, for whoever opens a file may be in a handler: who notes writes `state`, then
// reads has_agreed; who agrees writes has_agreed, then reads `state`. So one of the two sees the other.
#include "runtime/outside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "os/kthread.h"
#include "runtime/node.h"

#define AGAIN_NS UINT64_C(10000000)
#define SECOND_NS UINT64_C(1000000000)

/** Longer than --peer-timeout: a node that does not hear the launcher for so long has ended. */
#define PATIENCE_S 3u

enum { NOTHING, BEING_NOTED, NOTED };

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

static void note(struct outside *outside, const char *what, const char *name)
{
    uint32_t nothing = NOTHING;

    if (atomic_compare_exchange_strong(&outside->state, &nothing,
                                       BEING_NOTED)) {
        snprintf(outside->why, sizeof outside->why, "%s%s%.80s", what,
                 name != NULL ? " " : "", name != NULL ? name : "");
        atomic_store(&outside->state, NOTED);
        kthread_wake_all(&outside->state);
    }
}

// Until the text is there, which another kernel thread writes.
static const char *noted(struct outside *outside)
{
    while (atomic_load(&outside->state) == BEING_NOTED) {
        kthread_wait(&outside->state, BEING_NOTED, AGAIN_NS);
    }
    return outside->why;
}

static void tell(const struct node *node, const char *why)
{
    uint8_t body[2 + sizeof node->outside.why];
    struct wire_writer writer = {body, body + sizeof body, 0};

    wire_put_boot_words(&writer, &(struct wire_boot_words){why});
    bootstrap_tell(&node->bootstrap, BOOT_OUTSIDE, body,
                   (size_t)(writer.at - body));
}

// O2. Each time it is told again: there may have been no room for it.
static void have_launcher_know(struct node *node)
{
    struct outside *outside = &node->outside;
    const char *why = noted(outside);
    const uint64_t end_ns =
        clock_now_ns() + (node->options.peer_timeout + PATIENCE_S) * SECOND_NS;

    while (!atomic_load(&outside->is_heard) &&
           node_step(node) == RUNTIME_RUNNING && clock_now_ns() < end_ns) {
        tell(node, why);
        kthread_wait(&outside->is_heard, 0, AGAIN_NS);
    }
}

void outside_note(const char *what, const char *name)
{
    struct node *node = &this_node;
    struct outside *outside = &node->outside;
    const int saved_errno = errno;

    if (name == NULL || is_file(name)) {
        note(outside, what, name);
        if (atomic_load(&outside->has_agreed) &&
            !atomic_load(&outside->is_heard)) {
            have_launcher_know(node);
        }
    }
    errno = saved_errno;
}

void outside_refuse(struct node *node, const char *why)
{
    note(&node->outside, why, NULL);
}

const char *outside_why_unsaved(struct node *node)
{
    struct outside *outside = &node->outside;

    atomic_store(&outside->has_agreed, 1);
    return atomic_load(&outside->state) == NOTHING ? NULL : noted(outside);
}

void outside_heard(struct node *node)
{
    atomic_store(&node->outside.is_heard, 1);
    kthread_wake_all(&node->outside.is_heard);
}
