// SPDX-License-Identifier: BSD-3-Clause
//
// Data races, told by the root, where all names are known. The owner of a page finds
// them (protocol/race.c) and tells the root at once; the page's block is looked up when that
// comes, so it may be told as freed.
//
// A place is told once, RACES_TOLD in all. Two nodes may find the same race, and again a
// page's owner since nodes came or went.
//
// At the end main()'s last writes are released, as nobody has asked for them, and each
// node is asked for something: what it has found comes before its answer. Then once more,
// since a small block's name comes from the node that holds it.
#include "runtime/race_reports.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/ensure.h"
#include "base/log.h"
#include "os/image.h"
#include "protocol/protocol_calls.h"
#include "runtime/node.h"
#include "runtime/threads.h"

typedef unsigned long long number;

static void describe_variable(uintptr_t address, char *text, size_t size)
{
    char name[128];
    size_t offset;
    size_t rest;

    if (image_variable(address, name, sizeof name, &offset, &rest) != TM_OK) {
        snprintf(text, size, "a TM_SHARED variable");
    } else if (offset == 0) {
        snprintf(text, size, "in variable '%s'", name);
    } else {
        snprintf(text, size, "offset %zu of variable '%s'", offset, name);
    }
}

static void describe_block(const struct heap_block *block, uintptr_t address,
                           char *text, size_t size)
{
    int used = snprintf(text, size, "offset %llu of block '%s' of %llu bytes",
                        (number)(address - block->address), block->name,
                        (number)block->size);

    if (block->file[0] != '\0') {
        snprintf(text + used, size - (size_t)used, ", allocated at %s:%u",
                 block->file, block->line);
    }
}

/** A race to be told, until its block is known. */
struct telling {
    struct waiter waiter; ///< first: found from it
    struct node *node;
    struct race_found found;
    uintptr_t address;
    struct heap_block block;
};

static void describe_place(const struct telling *telling, char *text,
                           size_t size)
{
    if (telling->found.page < telling->node->space.n_globals) {
        describe_variable(telling->address, text, size);
    } else if (telling->waiter.status == TM_OK) {
        describe_block(&telling->block, telling->address, text, size);
    } else {
        snprintf(text, size, "in a block that is freed by now");
    }
}

static const char *name_of(uint64_t thread, char *text, size_t size)
{
    if (tasking_is_runner(thread)) {
        return "a task";
    }
    snprintf(text, size, "thread %llu%s", (number)thread,
             thread == 0 ? " (main)" : "");
    return text;
}

static void describe_iteration(struct node *node, char *text, size_t size)
{
    if (node->iteration.n_ended > 0) {
        snprintf(text, size, " (iteration %llu)",
                 (number)node->iteration.n_ended);
    }
}

static void say(const struct telling *telling)
{
    const struct race_found *found = &telling->found;
    char place[256];
    char iteration[40] = "";
    char names[2][40];

    describe_place(telling, place, sizeof place);
    describe_iteration(telling->node, iteration, sizeof iteration);
    log_error("data race: %s of node %u and %s of node %u both wrote %u byte%s "
              "at 0x%llx, %s, with no lock or barrier between%s",
              name_of(found->threads[0], names[0], sizeof names[0]),
              found->nodes[0],
              name_of(found->threads[1], names[1], sizeof names[1]),
              found->nodes[1], found->length, found->length == 1 ? "" : "s",
              (number)telling->address, place, iteration);
}

static void say_and_forget(struct waiter *waiter)
{
    say((struct telling *)waiter);
    free(waiter);
}

// When its block is known, if it is in one.
static void tell_race(struct node *node, const struct race_found *found,
                      uintptr_t address)
{
    struct telling *telling = calloc(1, sizeof *telling);

    ensure_memory(telling != NULL);
    *telling = (struct telling){.waiter.wake = say_and_forget,
                                .node = node,
                                .found = *found,
                                .address = address};
    if (found->page < node->space.n_globals) {
        waiter_wake(&telling->waiter, TM_OK, 0);
    } else {
        engine_block(node->engine, address, &telling->block, &telling->waiter);
    }
}

static int is_known(const struct races *races, uintptr_t address,
                    unsigned length)
{
    for (unsigned i = 0; i < races->n && i < RACES_KEPT; i++) {
        if (address < races->kept[i].address + races->kept[i].length &&
            races->kept[i].address < address + length) {
            return 1;
        }
    }
    return 0;
}

static void note_race(void *owner, const struct race_found *found)
{
    struct node *node = owner;
    struct races *races = &node->races;
    uintptr_t address =
        (uintptr_t)space_address(&node->space, found->page) + found->offset;

    if (is_known(races, address, found->length)) {
        return;
    }
    if (races->n < RACES_KEPT) {
        races->kept[races->n].address = address;
        races->kept[races->n].length = found->length;
    }
    if (races->n < RACES_TOLD) {
        tell_race(node, found, address);
    } else if (races->n == RACES_TOLD) {
        log_error("more data races are only counted");
    }
    races->n++;
}

static void finish(struct node *node)
{
    const struct thread *thread = thread_self();
    struct tm_node_stats stats;

    if (!node->options.race_check || thread == NULL || thread->number != 0) {
        return;
    }
    wait_for_release(node);
    for (unsigned i = 0; i < 2 * node->n_nodes; i++) {
        (void)tm_stats(i % node->n_nodes, &stats); // or it has left
    }
    if (node->n_nodes == 1) {
        log_error("race check: one node has no races with others");
    } else if (node->races.n == 0) {
        log_error("race check: no data race between nodes");
    } else {
        log_error("race check: %llu data race%s between nodes; the threads "
                  "named are those of their nodes that wrote the page first",
                  (number)node->races.n, node->races.n == 1 ? "" : "s");
    }
}

int race_reports_exit_code(struct node *node, int status)
{
    return status == 0 && node->options.strict && node->races.n > 0
               ? EXIT_FAILURE
               : status;
}

static void open_races(struct node *node)
{
    tm_status status;

    if (!node->options.race_check) {
        return;
    }
    status = engine_look_for_races(node->engine, note_race, node);
    if (status != TM_OK) {
        log_fatal(EXIT_MEMORY, "cannot start: looking for data races: %s",
                  tm_strerror(status));
    }
}

const struct part part_races = {
    .open = open_races,
    .save = parts_save_nothing,
    .finish = finish,
};
