// SPDX-License-Identifier: BSD-3-Clause
/*
 * A thread on node 1 is to go to node 2, and computes until the file is there: node 2
 * may have left by then. It goes on somewhere else.
 *
 *     sent_away FILE
 */
#include "program.h"

static TM_SHARED struct {
    tm_barrier barrier;
    tm_sem started;
    char file[256];
    unsigned node; // where it has gone on
} job;

static void *compute(void *arg)
{
    char file[sizeof job.file]; // the kernel reads what is here

    snprintf(file, sizeof file, "%s", job.file);
    OK(tm_sem_post(&job.started));
    while (access(file, F_OK) != 0) {
        spin(100000);
    }
    OK(tm_iteration_end(&job.barrier));
    job.node = tm_node_self();
    return arg;
}

int main(int argc, char **argv)
{
    const tm_thread_attr attr = {.placement = TM_ON_NODE, .node = 1};
    tm_thread thread;

    OK(tm_init(&argc, &argv));
    if (argc != 2 || tm_node_count() < 3) {
        fprintf(stderr, "usage: sent_away FILE, on three nodes\n");
        return 64;
    }
    snprintf(job.file, sizeof job.file, "%s", argv[1]);
    OK(tm_barrier_init(&job.barrier, 1));
    OK(tm_sem_init(&job.started, 0));
    OK(tm_thread_create(&thread, &attr, compute, NULL));
    OK(tm_sem_wait(&job.started));
    OK(tm_thread_migrate(thread, 2));
    printf("it is to go to node 2\n");
    OK(tm_thread_join(thread, NULL));
    printf("it has gone on at node %u\n", job.node);
    return 0;
}
