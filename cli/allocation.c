// SPDX-License-Identifier: BSD-3-Clause
//
// Slurm writes the hosts of an allocation in short: items between commas, of which
// each may have brackets with numbers and ranges of numbers. "a[1-2]b[3,05]" is
// a1b3,a1b05,a2b3,a2b05: an item is expanded at its first brackets, and what comes of
// it is expanded again. Numbers keep their zeros.
#include "allocation.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX 65536

struct expansion {
    char *at;  ///< what is written next
    char *end; ///< of the room
    const char *tasks;
    unsigned n_tasks; ///< on the next host
    unsigned n_left;  ///< hosts that this number is for
};

/** Take "N" or "N(xK)". */
static int next_tasks(struct expansion *expansion)
{
    int used = 0;

    if (expansion->n_left > 0 || expansion->tasks == NULL) {
        return 1;
    }
    if (sscanf(expansion->tasks, "%u(x%u)%n", &expansion->n_tasks,
               &expansion->n_left, &used) != 2 ||
        used == 0) {
        expansion->n_left = 1;
        if (sscanf(expansion->tasks, "%u%n", &expansion->n_tasks, &used) != 1) {
            return 0;
        }
    }
    expansion->tasks += used;
    expansion->tasks += *expansion->tasks == ',';
    return expansion->n_left > 0;
}

static int add_host(struct expansion *expansion, const char *name)
{
    size_t room = (size_t)(expansion->end - expansion->at);
    int length;

    if (!next_tasks(expansion) || name[0] == '\0') {
        return 0;
    }
    expansion->n_left -= expansion->tasks != NULL;
    if (expansion->n_tasks == 0) {
        return 1; // nothing is to run there
    }
    length = snprintf(expansion->at, room, "%s:%u,", name, expansion->n_tasks);
    expansion->at += length;
    return (size_t)length < room;
}

static int expand_item(struct expansion *expansion, const char *item,
                       size_t length);

/** Put each number of "1-3,07" between what is before and behind the brackets. */
static int expand_numbers(struct expansion *expansion, const char *item,
                          const char *open, const char *close, size_t length)
{
    char name[512];
    const char *at = open + 1;

    while (at < close) {
        char *rest;
        int width = (int)strspn(at, "0123456789");
        unsigned long first = strtoul(at, &rest, 10);
        unsigned long last =
            *rest == '-' ? strtoul(rest + 1, &rest, 10) : first;

        if (width == 0 || last < first || last - first > TM_MAX_NODES ||
            (rest != close && *rest != ',')) {
            return 0;
        }
        for (unsigned long number = first; number <= last; number++) {
            int used = snprintf(name, sizeof name, "%.*s%0*lu%.*s",
                                (int)(open - item), item, width, number,
                                (int)(item + length - close - 1), close + 1);

            if ((size_t)used >= sizeof name ||
                !expand_item(expansion, name, (size_t)used)) {
                return 0;
            }
        }
        at = rest + (*rest == ',');
    }
    return 1;
}

static int expand_item(struct expansion *expansion, const char *item,
                       size_t length)
{
    const char *open = memchr(item, '[', length);
    const char *close = memchr(item, ']', length);
    char name[512];

    if (open != NULL && close != NULL && open < close) {
        return expand_numbers(expansion, item, open, close, length);
    }
    if (open != NULL || close != NULL || length >= sizeof name) {
        return 0;
    }
    snprintf(name, sizeof name, "%.*s", (int)length, item);
    return add_host(expansion, name);
}

/** Bytes until the next comma outside of brackets. */
static size_t item_length(const char *item)
{
    size_t length = 0;
    int is_inside = 0;

    while (item[length] != '\0' && (is_inside || item[length] != ',')) {
        is_inside = item[length] == '[' || (is_inside && item[length] != ']');
        length++;
    }
    return length;
}

tm_status allocation_expand(const char *nodes, const char *tasks, char *list,
                            size_t size)
{
    struct expansion expansion = {
        .at = list, .end = list + size, .tasks = tasks, .n_tasks = 1};

    while (*nodes != '\0') {
        size_t length = item_length(nodes);

        if (!expand_item(&expansion, nodes, length)) {
            return TM_ECONFIG;
        }
        nodes += length;
        nodes += *nodes == ',';
    }
    if (expansion.at == list) {
        return TM_ECONFIG;
    }
    expansion.at[-1] = '\0'; // the last comma
    return TM_OK;
}

int allocation_is_there(void)
{
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");

    // With srun -N4 teamster run ... there would be four runs on all hosts.
    return getenv("SLURM_JOB_ID") != NULL &&
           getenv("SLURM_JOB_NODELIST") != NULL &&
           (tasks == NULL || strcmp(tasks, "1") == 0);
}

tm_status allocation_read(struct hosts *hosts, char *error, size_t size)
{
    const char *nodes = getenv("SLURM_JOB_NODELIST");
    const char *tasks = getenv("SLURM_TASKS_PER_NODE");
    char *list = malloc(LIST_MAX);
    tm_status status = TM_ENOMEM;

    if (list != NULL && nodes != NULL) {
        status = allocation_expand(nodes, tasks, list, LIST_MAX);
    }
    if (status != TM_OK) {
        snprintf(error, size,
                 "cannot read Slurm's allocation, SLURM_JOB_NODELIST=%s "
                 "SLURM_TASKS_PER_NODE=%s; give the hosts with --hosts",
                 nodes, tasks != NULL ? tasks : "");
    } else {
        status = hosts_parse_list(list, "--hosts", hosts, error, size);
    }
    free(list);
    return status;
}
