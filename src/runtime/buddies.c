// SPDX-License-Identifier: BSD-3-Clause
//
// Checkpoints in the memory of hosts. Each host has a folder of the run in /dev/shm, with
// generations as in a folder on a disk (os/checkpoint_manifest.h): the files of its own nodes, and
// those of the host in front of it, whose *buddy* it is. Hosts are in a ring, in the order of their
// first nodes, which are their leaders. When all nodes have written,
//
//   round 1   each node has its file brought to the leader of the next host, in parts
//             (checkpoint_copy.c), and only then says to the root that it is written
//   round 2   the root gives the manifest to the leaders of all hosts (COPIES_ARE); when all have
//             put it into their folders (COPIES_HEARD), the checkpoint is whole
//
// If one of them could not, or a file could not be copied, all remove it. Two generations are
// kept, as on a disk. What has not changed since the newest is in files that it has already: these
// get a second name, on both hosts (checkpoint_part.c, checkpoint_copy.c). A host goes with what is
// in its memory; all else is there still, so the run goes back to the newest generation of which each
// file is on a host that is left (cli/stored.c).
//
// B1 A manifest is on a host only when each file is on two, if there are two.
// B2 A generation goes from a host only when the one after it is on all hosts.
// B3 If nobody has asked for it, what is saved takes no memory that the program needs: a node that can get
//    less than it had when it was saved has the launcher know; all of it goes, and the run goes back no more. The
//    root hears of that, and has no node save anything from then on, also when that one has left.
#include "runtime/buddies.h"
#include "base/clock.h"
#include "base/log.h"
#include "cluster/host_ring.h"
#include "os/checkpoint_manifest.h"
#include "os/memory_watch.h"
#include "runtime/node.h"
#include "runtime/outside.h"
#include "runtime/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** The folder of the run, in this host's memory: cli/keeper.c. */
#define FOLDER "TEAMSTER_FOLDER"

/** So many times what a node writes has to fit into what there is still: the copy that it is written
 * from, its file, that of the host in front, and as much to spare. */
#define TIMES_IN_MEMORY 4u

/** Nobody has asked for it: all that a node has must fit in so often, whatever of it is new, so that
 * the program can still grow by more than that. And pages that are in a swap file stay there. */
#define TIMES_IF_TRIED 8u

#define POLL_EVERY_NS UINT64_C(1000000000)

/** A folder in which no file can be. */
#define NOWHERE "/dev/null/" CHECKPOINT_IN_MEMORY

#define TOO_MUCH                                                               \
    "it would take more memory than there is (--checkpoint=DIR writes to a "   \
    "disk)"

// ---- the beginning

void buddies_use_memory(struct node *node)
{
    struct options *options = &node->options;
    const char *folder = getenv(FOLDER);

    if (!options->buddy) {
        return;
    }
    read_files_note(&node->buddies.inherited);
    if ((folder == NULL || folder[0] == '\0') && options->buddy_is_tried) {
        // What others ask of it fails, and they give it up.
        snprintf(options->checkpoint.folder, sizeof options->checkpoint.folder,
                 "%s", NOWHERE);
        return;
    }
    if (folder == NULL || folder[0] == '\0') {
        log_fatal(EXIT_CONFIG,
                  "--buddy: no folder for checkpoints can be made in /dev/shm");
    }
    snprintf(options->checkpoint.folder, sizeof options->checkpoint.folder,
             "%s/" CHECKPOINT_IN_MEMORY, folder);
    if (node->cut_marks.from > 0) { // each node has it there
        snprintf(options->restart, sizeof options->restart, "%s",
                 options->checkpoint.folder);
    }
}

// The service thread must not wait for pages.
static int is_private(const void *owner, const void *address)
{
    const struct node *node = owner;
    page_no page;

    return !space_find(&node->space, address, &page);
}

void buddies_note_beginning(struct node *node)
{
    if (node->options.buddy_is_tried) {
        process_state_note(&node->buddies.begun, is_private, node);
    }
}

// The main() of a program of `teamster cc` does not prepare again.
const char *buddies_why_not_back(const struct node *node)
{
    const char *why = NULL;

    if (node->unchanged != NULL) {
        why = process_state_change(&node->buddies.begun, is_private, node);
    }
    if (why == NULL && read_files_has_more(&node->buddies.inherited)) {
        why = "the program has a file open that it reads";
    }
    return why;
}

void buddies_leave_out(struct node *node)
{
    if (node->self == 0) {
        node->options.checkpoint.folder[0] = '\0';
    }
}

void buddies_tell_where(const struct node *node)
{
    const struct checkpoint_option *option = &node->options.checkpoint;
    const int is_alone = host_ring_next(&node->port.roster,
                                        node->members.host_of, 0) == NODE_NONE;

    if (node->options.buddy_is_tried) {
        return; // the launcher does, when it is so
    }
    log_error("checkpoints are in memory, %s, every %u %s: shared memory and "
              "threads, but not what main(), libraries and files have "
              "(docs/checkpoints.md)",
              is_alone ? "of this host alone (if it is lost, so are they)"
                       : "each host's also on the next",
              option->seconds > 0 ? option->seconds : option->iterations,
              option->seconds > 0 ? "s" : "iterations");
}

// Memory that saved files take is memory that its pages lack. REQUIRES(node->mutex)
static int has_paged(struct node *node)
{
    struct pager_stats pager = {0};

    if (paging_is_on(&node->paging)) {
        pager_stats(node->paging.pager, &pager);
    }
    return pager.out > 0;
}

int buddies_is_too_much(const char *why)
{
    return strstr(why, TOO_MUCH) != NULL;
}

// Of all nodes of its host together. REQUIRES(node->mutex)
static uint64_t spare_memory(struct node *node, uint64_t available)
{
    return planned_faults_spare(&node->planned_faults,
                                node->checkpoint.generation, available);
}

const char *buddies_why_too_much(struct node *node, uint64_t n_bytes,
                                 uint64_t n_whole)
{
    struct memory_watch watch;
    struct memory_state memory;
    unsigned n_beside;
    uint64_t spare;
    int will_do;

    node->buddies.room = UINT64_MAX;
    if (!node->options.buddy) {
        return NULL;
    }
    if (memory_open(&watch, "") != TM_OK) {
        return NULL;
    }
    memory_read(&watch, &memory);
    node_enter(node);
    n_beside = capacity_n_beside(node, node->n_nodes);
    spare = spare_memory(node, memory.available.bytes) / n_beside;
    node->buddies.room = spare / TIMES_IN_MEMORY;
    will_do = !node->options.buddy_is_tried ||
              (!has_paged(node) && n_whole <= spare / TIMES_IF_TRIED);
    if (will_do) {
        node->buddies.n_whole = n_whole * n_beside;
    }
    node_leave(node);
    return will_do ? buddies_why_no_more(node, n_bytes) : TOO_MUCH;
}

const char *buddies_why_no_more(const struct node *node, uint64_t n_written)
{
    if (node->options.buddy && node_step(node) != RUNTIME_RUNNING) {
        return "the run ends";
    }
    return n_written <= node->buddies.room && !node->buddies.is_short
               ? NULL
               : TOO_MUCH;
}

void buddies_note_read(struct node *node, uint64_t n_bytes)
{
    node->buddies.n_whole = n_bytes * capacity_n_beside(node, node->n_nodes);
}

// ---- round 2, the root

static void send_to_leaders(struct node *node, const char *text, size_t size)
{
    const struct roster *roster = &node->port.roster;
    const struct message message = {
        .type = MESSAGE_copies_are,
        .u.copies_are = {.generation = node->checkpoint.generation},
        .body = text,
        .body_size = (uint32_t)size,
    };

    for (unsigned i = 0; i < roster->n_live; i++) {
        if (host_ring_is_leader(roster, node->members.host_of,
                                roster->live[i])) {
            node->buddies.n_awaited++;
            port_send(&node->port, roster->live[i], &message);
        }
    }
}

static void give_up(struct node *node)
{
    node->buddies.is_giving_up = 1;
    send_to_leaders(node, NULL, 0);
}

void buddies_confirm(struct node *node)
{
    struct checkpoint *checkpoint = &node->checkpoint;
    char *text = NULL;
    size_t size = 0;

    node->buddies.n_awaited = 0;
    node->buddies.is_giving_up = 0;
    if (checkpoint->why[0] == '\0') {
        text = checkpoint_manifest_write(checkpoint->manifest, &size);
    }
    if (text != NULL && size <= MESSAGE_BODY_MAX) {
        send_to_leaders(node, text, size); // B1
    } else {
        if (checkpoint->why[0] == '\0') {
            snprintf(checkpoint->why, sizeof checkpoint->why,
                     "there is no memory for its manifest");
        }
        give_up(node);
    }
    free(text);
}

static void end_round(struct node *node)
{
    if (node->checkpoint.why[0] != '\0' && !node->buddies.is_giving_up) {
        give_up(node);
    } else {
        node->checkpoint.is_confirmed = 1;
    }
}

static tm_status receive_heard(struct node *node, const struct message *message)
{
    struct checkpoint *checkpoint = &node->checkpoint;

    if (node->self != 0 || node->buddies.n_awaited == 0 ||
        message->u.copies_heard.generation != checkpoint->generation) {
        return TM_EWIRE;
    }
    if (message->body_size > 0 && checkpoint->why[0] == '\0') {
        snprintf(checkpoint->why, sizeof checkpoint->why,
                 "a host cannot keep it: %.*s", (int)message->body_size,
                 (const char *)message->body);
    }
    if (--node->buddies.n_awaited == 0) {
        end_round(node);
    }
    return TM_OK;
}

// ---- round 2, leaders

static const char *commit(struct node *node, const struct message *message)
{
    const char *folder = node->options.checkpoint.folder;
    struct checkpoint_manifest *manifest = malloc(sizeof *manifest);
    const char *why = "it has no manifest";

    if (manifest != NULL &&
        checkpoint_manifest_read(message->body, message->body_size, manifest) ==
            TM_OK &&
        manifest->generation == message->u.copies_are.generation) {
        why = checkpoint_commit(folder, manifest);
    }
    free(manifest);
    if (why == NULL) {
        checkpoint_tidy(folder); // B2: all have the one before
    }
    return why;
}

// To memory, so nobody waits for a disk.
static tm_status receive_are(struct node *node, node_id from,
                             const struct message *message)
{
    const uint64_t generation = message->u.copies_are.generation;
    struct message answer = {.type = MESSAGE_copies_heard,
                             .u.copies_heard = {.generation = generation}};

    if (from != 0 || !node->options.buddy) {
        return TM_EWIRE;
    }
    if (message->body_size == 0) {
        checkpoint_remove(node->options.checkpoint.folder, generation);
    } else {
        answer.body = planned_faults_refuse_manifest(&node->planned_faults)
                          ? strerror(ENOSPC)
                          : commit(node, message);
        answer.body_size =
            answer.body == NULL ? 0 : (uint32_t)strlen(answer.body);
    }
    port_send(&node->port, 0, &answer);
    return TM_OK;
}

// ---- the part

static tm_status receive(struct node *node, node_id from,
                         const struct message *message)
{
    switch (message->type) {
    case MESSAGE_copy_keep:
        return copy_take_keep(node, from, &message->u.copy_keep);
    case MESSAGE_copy_kept:
        return copy_take_kept(node, from, &message->u.copy_kept);
    case MESSAGE_copy_part:
        return copy_take_part(node, from, message);
    case MESSAGE_copy_taken:
        return copy_take_answer(node, from, message);
    case MESSAGE_copies_are:
        return receive_are(node, from, message);
    case MESSAGE_copies_heard:
        return receive_heard(node, message);
    default:
        return TM_EWIRE;
    }
}

// REQUIRES(node->mutex)
static int is_short(struct node *node)
{
    const struct node_sample *sample = observer_sample(node);

    if (has_paged(node)) {
        return 1;
    }
    return sample_get(&sample->n_samples) > 0 &&
           spare_memory(node, sample_get(&sample->available)) <
               node->buddies.n_whole;
}

static int tick(struct node *node)
{
    struct buddies *buddies = &node->buddies;
    const uint64_t now_ns = clock_now_ns();

    if (!node->options.buddy_is_tried || buddies->n_whole == 0 ||
        now_ns - buddies->polled_ns < POLL_EVERY_NS) {
        return 0;
    }
    buddies->polled_ns = now_ns;
    if (!buddies->is_short && is_short(node)) { // B3
        buddies->is_short = 1;
        outside_refuse(node, "there was too little memory left, and what was "
                             "saved has been given back");
    }
    if (buddies->is_short) {
        outside_tell(node);
    }
    return 0;
}

static void open_buddies(struct node *node)
{
    node->buddies.out.fd = -1;
}

const struct part part_buddies = {
    .open = open_buddies,
    .tick = tick,
    .owns = OWNER_buddies,
    .receive = receive,
    .save = parts_save_nothing,
    .close = copy_close,
};
