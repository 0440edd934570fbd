// SPDX-License-Identifier: BSD-3-Clause
//
// A child made by fork() is no part of the cluster. It has no shared memory (the
// mappings are not inherited), its calls of the API are refused, it says nothing
// to the launcher and nothing to other nodes, and it may end as it likes. It
// may also outlive the node, and has nothing by which others would take it for
// that: neither the socket to the launcher nor those to other hosts. Children
// that call exec*(), also those of system() and popen(), know nothing of
// Teamster: all descriptors are closed there.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "os/descriptor.h"
#include "runtime/finish.h"
#include "runtime/node.h"

// In the child, on the stack of the thread that called fork(): other threads and
// whatever they held are gone, so nothing here takes a lock.
static void become_child(void)
{
    struct node *const node = &this_node;
    char speaker[32];

    if (node_step(node) == RUNTIME_NONE) {
        return;
    }
    node_set_step(node, RUNTIME_FORKED);
    log_set_fatal_hook(NULL);
    snprintf(speaker, sizeof speaker, "n%u's child %d", node->self,
             (int)getpid());
    log_set_speaker(speaker);
    if (node->bootstrap.fd >= 0) {
        close(node->bootstrap.fd); // so that the launcher sees the node end
        node->bootstrap.fd = -1;
        descriptor_close(node->bootstrap.life_fd);
        node->bootstrap.life_fd = -1;
    }
    descriptor_set_close(&node->sockets); // and the other nodes
}

void child_prepare(void)
{
    int error = pthread_atfork(NULL, NULL, become_child);

    if (error != 0) {
        log_warning("children made by fork() are not watched: %s",
                    tm_strerror(TM_ENOMEM));
    }
}
