// SPDX-License-Identifier: BSD-3-Clause
/*
 * A thread on each node but the root writes a line to a file of its node, through the C library, and
 * leaves the rest to the end of the program. That comes when there is a file that says
 * so.
 *
 *     notes FOLDER    makes FOLDER/note.NODE, then FOLDER/ready, and waits for FOLDER/end
 */
#include <time.h>

#include "program.h"

enum { MAX_NODES = 64, CALM_NS = 5 * 1000 * 1000 };

static TM_SHARED char folder[200];

static FILE *make(const char *name)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    if (file == NULL) {
        FAIL("cannot make %s", path);
    }
    return file;
}

static void *run(void *arg)
{
    static FILE *note; // nobody closes it
    char name[16];

    (void)arg;
    snprintf(name, sizeof name, "note.%u", tm_node_self());
    note = make(name);
    fprintf(note, "a note of node %u\n", tm_node_self());
    return NULL;
}

static void wait_for_end(void)
{
    const struct timespec calm = {.tv_nsec = CALM_NS};
    char path[256];

    snprintf(path, sizeof path, "%s/end", folder);
    while (access(path, F_OK) != 0) {
        nanosleep(&calm, NULL);
    }
}

int main(int argc, char **argv)
{
    tm_thread threads[MAX_NODES];

    tm_init(&argc, &argv);
    if (argc != 2 || tm_node_count() > MAX_NODES) {
        fprintf(stderr, "usage: notes FOLDER\n");
        return 64;
    }
    snprintf(folder, sizeof folder, "%s", argv[1]);
    for (unsigned i = 1; i < tm_node_count(); i++) {
        const tm_thread_attr attr = {.placement = TM_ON_NODE,
                                     .node = (unsigned)i};

        OK(tm_thread_create(&threads[i], &attr, run, NULL));
    }
    for (unsigned i = 1; i < tm_node_count(); i++) {
        OK(tm_thread_join(threads[i], NULL));
    }
    fclose(make("ready"));
    wait_for_end();
    return 0;
}
