// SPDX-License-Identifier: BSD-3-Clause
//
// A run that goes on from a checkpoint, on the root: main() prepares as it did then
// (prepared.c), and when it is about to wait for its threads,
//
//   what it did is compared      the same calls with the same results, or the run ends
//   blocks                       its own are freed, those of the checkpoint made
//                                (pages/saved_blocks.c)
//   pages                        each node's clerk reads its part, writes it where the
//                                program has it, and releases (checkpoint_load.c); LOADED
//   objects, keys, threads       from the root, by ordinary calls; threads go to their nodes
//                                as if they moved there, and go on at once
//
// Nothing else happens meanwhile: there is no thread but main(), which is here.
//
// X1 A thread goes on when all is there that it may use: threads come last, and each node
//    hears before of all that was written (LOADED is an acquire, and orders travel in front
//    of threads).
// X2 Nodes neither come nor go meanwhile: each reads the pages that fall to it among those that
//    there are, all of them answer, and what a thread has goes to one node.
#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "os/image.h"
#include "pages/causality.h"
#include "runtime/checkpoint.h"
#include "runtime/node.h"
#include "runtime/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- which one

static void tell_torn(void *owner, uint64_t generation, const char *why)
{
    struct node *node = owner;

    log_warning("%s: generation %" PRIu64 " cannot be used: %s",
                node->options.restart, generation, why);
}

static void compare_number(const char *what, const char *option, uint64_t then,
                           uint64_t now)
{
    if (then != now) {
        log_fatal(EXIT_MISMATCH,
                  "--restart: the checkpoint is of a run with %s %" PRIu64
                  ", and this has %" PRIu64 "; give it %s%" PRIu64,
                  what, then, now, option, then);
    }
}

static void compare_program(const struct checkpoint_manifest *manifest,
                            uint64_t layout)
{
    struct node_card card = {0};
    char build_id[64];

    node_card_set_version(&card);
    if (strcmp(manifest->version, card.version) != 0) {
        log_fatal(EXIT_MISMATCH,
                  "--restart: the checkpoint is of Teamster %s, and this is %s",
                  manifest->version, card.version);
    }
    if (image_build_id(build_id) != TM_OK ||
        strcmp(manifest->build_id, build_id) != 0) {
        log_fatal(EXIT_MISMATCH,
                  "--restart: the checkpoint is of another program (build-id "
                  "%s, not %s)",
                  manifest->build_id, build_id);
    }
    if (manifest->layout != layout) {
        log_fatal(EXIT_MISMATCH,
                  "--restart: the program and its libraries lie at other "
                  "addresses than when the checkpoint was made, or are others: "
                  "another version of a library, or another `ulimit -s`");
    }
}

// Threads keep what they were told; main() would prepare with something else.
static void compare_arguments(struct checkpoint_manifest *manifest,
                              char *const *argv)
{
    struct checkpoint_manifest *now = calloc(1, sizeof *now);

    ensure_memory(now != NULL);
    checkpoint_set_arguments(now, argv);
    if (!checkpoint_has_arguments(manifest, now)) {
        log_warning("--restart: the arguments are others than those that the "
                    "checkpoint was made with; threads go on with what they "
                    "had");
    }
    free(now);
}

void restore_choose(struct node *node)
{
    const struct options *options = &node->options;
    struct checkpoint_manifest *manifest;
    const char *why;

    if (strcmp(options->restart, "none") == 0 || node->self != 0) {
        return;
    }
    manifest = calloc(1, sizeof *manifest);
    ensure_memory(manifest != NULL);
    why =
        node->cut_marks.from > 0 // whose files the launcher has looked at
            ? checkpoint_load(options->restart, node->cut_marks.from, manifest)
            : checkpoint_choose(options->restart, manifest, tell_torn, node);
    if (why != NULL) {
        log_fatal(EXIT_CONFIG, "--restart=%s: %s", options->restart, why);
    }
    compare_program(manifest, node->layout_hash);
    compare_arguments(manifest, node->argv);
    compare_number("stacks of", "--stack-size=", manifest->stack_size,
                   options->stack_size);
    compare_number("at most so many threads:", "--max-threads=",
                   manifest->max_threads, options->max_threads);
    compare_number("a space of", "--space=", manifest->space, options->space);
    node->checkpoint.restored = manifest;
}

// ---- its files

static _Noreturn void refuse(struct node *node, const char *what)
{
    log_fatal(EXIT_MISMATCH, "--restart=%s: %s", node->options.restart, what);
}

// @return NULL, or why it cannot be read
static const char *take_next(struct checkpoint_reader *reader, int is_taken,
                             int (*take)(void *owner,
                                         const struct message *message),
                             void *owner, int *is_over)
{
    struct message message;
    uint32_t size;
    const enum checkpoint_read found =
        is_taken ? checkpoint_read(reader, &size) : checkpoint_skip(reader);

    *is_over = found != CHECKPOINT_RECORD;
    if (found == CHECKPOINT_END || (found == CHECKPOINT_RECORD && !is_taken)) {
        return NULL;
    }
    if (found != CHECKPOINT_RECORD ||
        message_decode(reader->bytes, size, &message) != TM_OK) {
        return checkpoint_why(found);
    }
    *is_over = !take(owner, &message);
    return NULL;
}

const char *restore_each(const struct node *node, struct restore_part *part,
                         int (*take)(void *owner,
                                     const struct message *message),
                         void *owner)
{
    struct checkpoint_reader reader;
    char path[CHECKPOINT_PATH_MAX];
    uint64_t number = 0;
    int is_over = 0;
    const char *why;

    checkpoint_file_path(path, node->options.restart, part->generation,
                         part->file);
    why = checkpoint_read_begin(&reader, path);
    if (why != NULL) {
        return why;
    }
    while (why == NULL && !is_over &&
           !checkpoint_has_read(&reader, part->until)) {
        why = take_next(&reader, checkpoint_is_in_share(&part->share, number++),
                        take, owner, &is_over);
    }
    part->n_read = reader.sum.n_bytes - reader.n_skipped;
    checkpoint_read_end(&reader);
    return why;
}

/** What the root does with a record that is no page. */
typedef void take_fn(struct node *node, unsigned file,
                     const struct message *message);

/** A file that is gone through: what take() gets besides messages. */
struct passage {
    struct node *node;
    unsigned file;
    take_fn *take;
};

static int take_record(void *owner, const struct message *message)
{
    const struct passage *passage = owner;

    passage->take(passage->node, passage->file, message);
    return 1;
}

// Its head: pages come behind it, and need not be on this host.
static void read_file(struct node *node, unsigned file, take_fn *take)
{
    const struct checkpoint_manifest *manifest = node->checkpoint.restored;
    struct passage passage = {node, file, take};
    struct restore_part head = {.generation = manifest->generation,
                                .file = file,
                                .until = manifest->files[file].n_head,
                                .share = {.n = 1}};
    const char *why = restore_each(node, &head, take_record, &passage);

    if (why != NULL) {
        refuse(node, why);
    }
}

static void read_files(struct node *node, take_fn *take)
{
    for (unsigned file = 0; file < node->checkpoint.restored->n_nodes; file++) {
        read_file(node, file, take);
    }
}

// ---- blocks

static void drop_blocks(struct node *node)
{
    tm_status status;
    page_no page;

    for (;;) {
        struct wait wait;

        wait_begin(node, &wait);
        if (!engine_first_block(node->engine, &page)) {
            break;
        }
        engine_drop_block(node->engine, page, &wait.waiter);
        (void)wait_end(node, &wait);
    }
    status = engine_forget_heap(node->engine);
    node_leave(node);
    ensure_memory(status == TM_OK);
}

static void take_block(struct node *node, unsigned file,
                       const struct message *message)
{
    struct wait wait;
    tm_status status;

    (void)file;
    if (message->type != MESSAGE_extent_is) {
        return;
    }
    wait_begin(node, &wait);
    status = engine_restore_block(node->engine, message, &wait.waiter);
    if (status != TM_OK) {
        refuse(node, "a block does not fit");
    }
    if (wait_end(node, &wait) != TM_OK) {
        refuse(node, "a block cannot be made");
    }
    node_enter(node);
    status = engine_restore_slab(node->engine, message);
    node_leave(node);
    if (status != TM_OK) {
        refuse(node, "small blocks do not fit");
    }
}

static void take_cells(struct node *node, unsigned file,
                       const struct message *message)
{
    (void)file;
    if (message->type == MESSAGE_cells_given) {
        node_enter(node);
        engine_restore_cells(node->engine, message);
        node_leave(node);
    }
}

// ---- pages

void restore_loaded(struct node *node, const struct message *message)
{
    struct checkpoint *checkpoint = &node->checkpoint;

    if (!message->u.loaded.is_whole) {
        log_fatal(EXIT_CONFIG, "--restart=%s: %.*s", node->options.restart,
                  (int)message->body_size, (const char *)message->body);
    }
    if (++checkpoint->n_loaded == node->port.roster.n_live &&
        checkpoint->loader != NULL) {
        waiter_wake(checkpoint->loader, TM_OK, 0);
    }
}

static void load_pages(struct node *node)
{
    const struct checkpoint_manifest *manifest = node->checkpoint.restored;
    const struct message message = {
        .type = MESSAGE_load_ask,
        .u.load_ask = {.generation = manifest->generation,
                       .n_files = manifest->n_nodes},
    };
    struct wait wait;

    wait_begin(node, &wait);
    node->checkpoint.n_loaded = 0;
    node->checkpoint.loader = &wait.waiter;
    port_send_all(&node->port, &message);
    (void)wait_end(node, &wait);
    node->checkpoint.loader = NULL;
}

// ---- objects: by the calls that made them

static void restore_lock(struct node *node, const struct message *message)
{
    const uint64_t key = message->u.lock_last.key;
    struct wait wait;

    wait_begin(node, &wait);
    sync_lock(node->sync, key, 0, &wait.waiter);
    (void)wait_end(node, &wait);
    wait_begin(node, &wait);
    (void)sync_lock_set_type(node->sync, key, 0,
                             (tm_mutex_type)message->u.lock_last.type);
    sync_unlock(node->sync, key, &wait.waiter);
    (void)wait_end(node, &wait);
}

static void restore_once(struct node *node, uint64_t key)
{
    struct wait wait;

    wait_begin(node, &wait);
    sync_once_begin(node->sync, key, &wait.waiter);
    (void)wait_end(node, &wait);
    if (wait.waiter.result == 0) {
        wait_begin(node, &wait);
        sync_once_end(node->sync, key, &wait.waiter);
        (void)wait_end(node, &wait);
    }
}

static void restore_sem(struct node *node, const struct message_sem_part *part)
{
    struct wait wait;

    wait_begin(node, &wait);
    sync_sem_init(node->sync, part->key, part->value, &wait.waiter);
    (void)wait_end(node, &wait);
}

static void restore_barrier(struct node *node,
                            const struct message_barrier_part *part)
{
    struct wait wait;

    wait_begin(node, &wait);
    wait.waiter.place = part->count_place;
    sync_barrier_init(node->sync, part->key, part->count, &wait.waiter);
    (void)wait_end(node, &wait);
}

static void take_object(struct node *node, unsigned file,
                        const struct message *message)
{
    (void)file;
    switch (message->type) {
    case MESSAGE_lock_last:
        restore_lock(node, message);
        break;
    case MESSAGE_once_part:
        restore_once(node, message->u.once_part.key);
        break;
    case MESSAGE_sem_part:
        restore_sem(node, &message->u.sem_part);
        break;
    case MESSAGE_barrier_part:
        restore_barrier(node, &message->u.barrier_part);
        break;
    case MESSAGE_saved_key:
        node_enter(node);
        sync_restore_key(node->sync, message);
        node_leave(node);
        break;
    default:
        break;
    }
}

// ---- threads

static void take_list(struct node *node, unsigned file,
                      const struct message *message)
{
    tm_status status = TM_OK;

    (void)file;
    if (message->type == MESSAGE_saved_threads ||
        message->type == MESSAGE_saved_thread ||
        message->type == MESSAGE_saved_result) {
        node_enter(node);
        status = sync_restore_threads(node->sync, message);
        node_leave(node);
    }
    if (status != TM_OK) {
        refuse(node, "its list of threads makes no sense");
    }
}

static node_id node_of_thread(const struct node *node, unsigned file,
                              uint64_t thread)
{
    const struct roster *roster = &node->port.roster;

    return roster->live[checkpoint_place_of(
        file, node->checkpoint.restored->n_nodes, roster->n_live, thread)];
}

static void take_thread(struct node *node, unsigned file,
                        const struct message *message)
{
    const int is_new = message->type == MESSAGE_thread_move;
    const uint64_t thread =
        is_new ? message->u.thread_move.thread : message->u.thread_stack.thread;
    const node_id to = node_of_thread(node, file, thread);
    tm_status status = TM_OK;

    if (!is_new && message->type != MESSAGE_thread_stack) {
        return;
    }
    node_enter(node);
    if (is_new) {
        engine_order(node->engine, 0, to, ORDER_MOVES); // X1
        status = sync_restore_place(node->sync, thread, to);
    }
    port_send(&node->port, to, message);
    node_leave(node);
    if (status != TM_OK) {
        refuse(node, "it has a thread that is not in its list");
    }
}

// ---- all of it

static void compare_preparation(struct node *node)
{
    const struct checkpoint_manifest *then = node->checkpoint.restored;
    const struct prepared *now = &node->prepared;

    if (now->hash != then->prepared || now->n_calls != then->n_calls ||
        now->spoilt != NULL) {
        log_fatal(EXIT_MISMATCH,
                  "--restart: until it waits for its threads main() does not "
                  "do what it did then (%" PRIu64 " calls then, %" PRIu64
                  " now): it has to depend on its arguments only, which have "
                  "to be the same",
                  then->n_calls, now->n_calls);
    }
}

static void take_part(struct node *node, unsigned file,
                      const struct message *message)
{
    (void)file;
    node_enter(node);
    parts_load(node, message);
    node_leave(node);
}

// Of a run that goes back by itself the launcher has said it.
static void tell_restored(const struct node *node, uint64_t began_ns)
{
    const struct checkpoint_manifest *manifest = node->checkpoint.restored;

    if (node->cut_marks.from == 0) {
        log_error("goes on from checkpoint %" PRIu64 ": iteration %" PRIu64
                  ", %" PRIu64 " threads, %.1f MB; read in %.1f s",
                  manifest->generation, manifest->n_ended, manifest->n_threads,
                  (double)checkpoint_bytes(manifest) * 1e-6,
                  (double)(clock_now_ns() - began_ns) * 1e-9);
    }
}

void restore_all(struct node *node)
{
    const uint64_t began_ns = clock_now_ns();

    compare_preparation(node);
    drop_blocks(node);
    read_file(node, 0, take_block);
    read_files(node, take_cells);
    load_pages(node);
    read_files(node, take_object);
    read_files(node, take_part);
    node->prepared.is_repeated = 0;
    tell_restored(node, began_ns);
    read_file(node, 0, take_list);
    read_files(node, take_thread);
    node_enter(node);
    node->checkpoint.is_restoring = 0; // X2
    node_leave(node);
}
