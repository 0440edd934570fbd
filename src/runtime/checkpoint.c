// SPDX-License-Identifier: BSD-3-Clause
//
// Checkpoints. One is made where an iteration ends: all threads are held there, as if they
// were about to move (threads_move_if_wanted), but for main(), which waits for one of them
// to end. Then nothing happens any more by itself, each node writes what it has, and all go
// on. The root leads:
//
//   IDLE      one is due -> GATHER
//   GATHER    CUT_ASK: nodes hold each thread that has ended `above` iterations. Once some
//             are held (CUT_HELD) the root asks in rounds who is held where (CUT_STATE).
//             Some have gone on before their node heard of it: `above` becomes
//             higher, those that are behind go on, and all meet at the next end.
//             All are held, and in two rounds one after the other nothing is under way
//             and the numbers of messages are the same ([Mattern87]) -> TAKE
//             5 s have passed: -> IDLE, with a warning
//   TAKE      CUT_SAVE: each node's clerk takes what the node has (checkpoint_clerk.c);
//             CUT_TAKEN by all: threads go on -> WRITE
//   WRITE     each node writes that to its file (checkpoint_files.c), or says which
//             earlier file has them (CUT_OLDER); CUT_SAVED by all -> CONFIRM
//   CONFIRM   the root writes the manifest, or with --buddy gives it to all hosts (buddies.c)
//             -> IDLE, with a warning if one could not write
//
// Whatever fails, the checkpoint before is there, and the run goes on. One that somebody asks for
// (checkpoint_ask) is due at once, where the next iteration ends; who asks is told what has come
// of it.
//
// C1 In TAKE no thread of the program runs or is on its way, and no message is.
// C2 All threads of a checkpoint have ended the same number of iterations.
// C3 What is written is whole: each page that somebody owns is in one file (V2 of
//    pages/saved_blocks.c). Else it is given up.
// C4 Who asks for one is answered by one that is taken later.
#include "runtime/checkpoint.h"
#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "base/random.h"
#include "os/image.h"
#include "os/kthread.h"
#include "os/process_state.h"
#include "runtime/node.h"
#include "runtime/outside.h"
#include "runtime/parts.h"
#include "runtime/threads.h"
#include "runtime/tracking.h"
#include "runtime/unchanged.h"
#include "sync/sync.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
#define GATHER_MAX_NS (5 * SECOND_NS)
#define TRIED_GATHER_MAX_NS SECOND_NS // nobody has asked for it
#define DOUBLED_MAX 10u
#define AGAIN_NS (20 * SECOND_NS)
#define ROUND_NS (SECOND_NS / 1000)

int checkpoint_is_wanted(const struct node *node)
{
    return node->options.checkpoint.folder[0] != '\0';
}

static int is_asked(const struct checkpoint *checkpoint)
{
    return checkpoint->n_asked > checkpoint->n_told;
}

// ---- every node

static tm_status receive_ask(struct node *node, node_id from,
                             const struct message_cut_ask *ask)
{
    struct checkpoint *checkpoint = &node->checkpoint;

    if (from != 0) {
        return TM_EWIRE;
    }
    if (ask->cut != checkpoint->cut || ask->above != checkpoint->above) {
        checkpoint->cut = ask->cut;
        checkpoint->above = ask->above;
        checkpoint->is_told = 0;
        hold_above(node, ask->above);
        if (checkpoint->n_held > checkpoint->n_aside) {
            hold_tell(node);
        }
    }
    if (ask->round > 0) {
        hold_answer(node, ask->round);
    }
    return TM_OK;
}

// ---- the root: from one step to the next

static void ask_all(struct node *node, uint32_t round, uint64_t above)
{
    const struct message message = {
        .type = MESSAGE_cut_ask,
        .u.cut_ask = {.cut = node->checkpoint.cut,
                      .round = round,
                      .above = above},
    };

    node->checkpoint.asked_ns = clock_now_ns();
    port_send_all(&node->port, &message);
}

static void gather(struct node *node, uint64_t above)
{
    struct checkpoint *checkpoint = &node->checkpoint;

    checkpoint->step = CUT_GATHER;
    checkpoint->held_ns = 0;
    checkpoint->is_asking = 0;
    checkpoint->was_quiet = 0;
    ask_all(node, 0, above);
}

static uint64_t period_ns(const struct node *node)
{
    return planned_faults_period_ns(
        &node->planned_faults, node->options.checkpoint.seconds * SECOND_NS);
}

static void rest(struct node *node)
{
    struct checkpoint *checkpoint = &node->checkpoint;

    checkpoint->step = CUT_IDLE;
    checkpoint->is_asking = 0;
    checkpoint->held_ns = 0;
    checkpoint->due_ns = clock_now_ns() + period_ns(node);
    ask_all(node, 0, NONE_HELD);
}

static void tell_none(const struct node *node, const char *why)
{
    if (node->options.buddy_is_tried && !buddies_is_too_much(why)) {
        log_debug("no checkpoint: %s", why);
    } else {
        log_warning("no checkpoint: %s", why);
    }
}

// Threads have waited. Where nobody has asked for that, a program that cannot be saved is to wait less and
// less often.
static uint64_t again_ns(struct node *node)
{
    struct checkpoint *checkpoint = &node->checkpoint;

    if (!node->options.buddy_is_tried) {
        return AGAIN_NS;
    }
    checkpoint->n_failed += checkpoint->n_failed < DOUBLED_MAX;
    return period_ns(node) << checkpoint->n_failed;
}

// It would be of no use to try at once again.
static void give_up(struct node *node, const char *why)
{
    struct checkpoint *checkpoint = &node->checkpoint;
    uint64_t next_ns;

    if (is_asked(checkpoint)) { // who asks says it
        checkpoint->n_told = checkpoint->n_asked;
        cut_marks_tell_saved(node, 0, 0, checkpoint->n_told, why);
    } else if (strcmp(why, checkpoint->told) != 0) { // it may stay so
        snprintf(checkpoint->told, sizeof checkpoint->told, "%s", why);
        tell_none(node, why);
    }
    rest(node);
    next_ns = clock_now_ns() + again_ns(node);
    checkpoint->due_ns =
        next_ns > checkpoint->due_ns ? next_ns : checkpoint->due_ns;
}

static void begin(struct node *node)
{
    struct checkpoint *checkpoint = &node->checkpoint;

    checkpoint->cut++;
    gather(node,
           node->options.checkpoint.iterations > 0 && !is_asked(checkpoint)
               ? checkpoint->iteration + node->options.checkpoint.iterations
               : 0);
}

// main() has done something that could not be done again. If it has gone on from its wait
// that matters only if there are threads that go on, too.
static int is_spoilt(struct node *node)
{
    const struct prepared *prepared = &node->prepared;
    char why[256];

    if (prepared->spoilt == NULL ||
        (prepared->has_gone_on && node->checkpoint.held_ns == 0)) {
        return 0;
    }
    snprintf(why, sizeof why,
             "main() has called %s()%s while threads run: it could not do "
             "that again in a run that goes on (docs/checkpoints.md)",
             prepared->spoilt,
             prepared->has_gone_on ? ", and gone on from there," : "");
    give_up(node, why);
    node->checkpoint.due_ns = UINT64_MAX;
    return 1;
}

// Nobody has asked for checkpoints, and the run goes back to none, whoever is still there.
static int is_in_vain(struct node *node)
{
    if (!node->options.buddy_is_tried || !outside_is_heard(node)) {
        return 0;
    }
    if (is_asked(&node->checkpoint)) {
        give_up(node, "the run goes back no more");
    }
    return 1;
}

static int may_begin(struct node *node)
{
    const struct prepared *prepared = &node->prepared;

    return !node_is_changing(node) &&
           !membership_is_busy(node->members.machine) &&
           sync_n_alive(node->sync) > 1 &&
           (prepared->is_waiting || prepared->has_gone_on);
}

// As main() is now; it goes on before the manifest is written.
static void fill_manifest(struct node *node)
{
    const struct checkpoint *checkpoint = &node->checkpoint;
    struct checkpoint_manifest *manifest = checkpoint->manifest;

    manifest->generation = checkpoint->generation;
    manifest->time_s = (uint64_t)time(NULL); // for people
    manifest->iteration = checkpoint->iteration;
    manifest->n_ended = checkpoint->n_ended;
    manifest->n_threads = sync_n_alive(node->sync) - 1;
    manifest->n_nodes = node->port.roster.n_live;
    manifest->n_told = node->prepared.n_told;
    manifest->prepared = node->prepared.hash;
    manifest->n_calls = node->prepared.n_calls;
}

static void take_all(struct node *node)
{
    struct checkpoint *checkpoint = &node->checkpoint;

    checkpoint->step = CUT_TAKE;
    checkpoint->iteration = checkpoint->answers.most; // C2
    checkpoint->n_ended =
        checkpoint->answers.n_ended +
        (checkpoint->restored != NULL ? checkpoint->restored->n_ended : 0);
    checkpoint->generation = checkpoint->next_generation++;
    checkpoint->newest = checkpoint->whole[0];
    checkpoint->parent = checkpoint->whole[1]; // A2 of checkpoint_part.c
    checkpoint->manifest->n_older = 0;
    checkpoint->n_meant = checkpoint->n_asked; // C4
    checkpoint->n_taken = 0;
    checkpoint->n_written = 0;
    checkpoint->is_confirmed = 0;
    checkpoint->owned = (struct page_count){0};
    checkpoint->known = (struct page_count){0};
    checkpoint->why[0] = '\0';
    fill_manifest(node);
    clerk_write(node); // and has the others do so when there is a folder
}

// Something is under way that the end of the next iteration will find over.
static int is_untimely(struct node *node)
{
    return tracking_is_active(node) ||
           membership_is_busy(node->members.machine) || node_is_changing(node);
}

// How many iterations threads must have ended to be held; 0: those that are held are all
// where they should be.
static uint64_t higher(const struct cut_round *answers)
{
    if (answers->passed >= answers->least) {
        return answers->passed + 1 > answers->most ? answers->passed + 1
                                                   : answers->most;
    }
    return answers->most > answers->least ? answers->most : 0;
}

// All others are held: if somebody waits for the end of a thread it is main().
static int is_quiet(struct node *node, const struct cut_round *answers)
{
    return node->prepared.is_waiting && sync_has_joiner(node->sync) &&
           answers->is_still && answers->sent == answers->received &&
           answers->n_held == sync_n_alive(node->sync) - 1;
}

static void end_round(struct node *node)
{
    struct checkpoint *checkpoint = &node->checkpoint;
    const struct cut_round *answers = &checkpoint->answers;
    const int was_quiet = checkpoint->was_quiet;

    checkpoint->is_asking = 0;
    if (answers->n_held == 0) {
        return;
    }
    if (is_untimely(node)) {
        gather(node, answers->most + 1);
    } else if (higher(answers) > 0) {
        gather(node, higher(answers));
    } else {
        checkpoint->was_quiet = is_quiet(node, answers);
        if (checkpoint->was_quiet && answers->why[0] != '\0') {
            give_up(node, answers->why);
        } else if (checkpoint->was_quiet && was_quiet &&
                   answers->sent == checkpoint->last.sent &&
                   answers->received == checkpoint->last.received) {
            take_all(node);
        }
        checkpoint->last = *answers;
    }
}

static tm_status receive_state(struct node *node, const struct message *message)
{
    const struct message_cut_state *state = &message->u.cut_state;
    struct cut_round *answers = &node->checkpoint.answers;

    if (node->self != 0) {
        return TM_EWIRE;
    }
    if (!node->checkpoint.is_asking || state->cut != node->checkpoint.cut ||
        state->round != node->checkpoint.round) {
        return TM_OK; // of one that was given up
    }
    answers->is_still &= state->is_still;
    answers->n_held += state->n_held;
    answers->least =
        state->least < answers->least ? state->least : answers->least;
    answers->most = state->most > answers->most ? state->most : answers->most;
    answers->passed =
        state->passed > answers->passed ? state->passed : answers->passed;
    answers->sent += state->sent;
    answers->received += state->received;
    answers->n_ended =
        state->n_ended > answers->n_ended ? state->n_ended : answers->n_ended;
    if (message->body_size > 0) {
        snprintf(answers->why, sizeof answers->why, "%.*s",
                 (int)message->body_size, (const char *)message->body);
    }
    if (++answers->n_answers == node->port.roster.n_live) {
        end_round(node);
    }
    return TM_OK;
}

static void ask_round(struct node *node)
{
    struct checkpoint *checkpoint = &node->checkpoint;

    checkpoint->is_asking = 1;
    checkpoint->round++;
    checkpoint->answers = (struct cut_round){
        .is_still = 1,
        .least = UINT64_MAX,
        .sent = membership_gone_sent(node->members.machine),
        .received = membership_gone_received(node->members.machine),
    };
    ask_all(node, checkpoint->round, checkpoint->above);
}

static void await_threads(struct node *node)
{
    struct checkpoint *checkpoint = &node->checkpoint;
    const uint64_t now_ns = clock_now_ns();
    const uint64_t most_ns =
        node->options.buddy_is_tried && !is_asked(checkpoint)
            ? TRIED_GATHER_MAX_NS
            : GATHER_MAX_NS;
    char why[160];

    if (checkpoint->held_ns == 0) {
        return;
    }
    if (now_ns - checkpoint->held_ns > most_ns) {
        snprintf(why, sizeof why,
                 "%u of %u threads have come to the end of an iteration "
                 "(tm_iteration_end) within %u s",
                 checkpoint->last.n_held, sync_n_alive(node->sync) - 1,
                 (unsigned)(most_ns / SECOND_NS));
        give_up(node, why);
    } else if (!checkpoint->is_asking &&
               now_ns - checkpoint->asked_ns >= ROUND_NS) {
        ask_round(node);
    }
}

// ---- the root: it is written

static void note_failure(struct checkpoint *checkpoint, node_id from,
                         const struct message *message)
{
    if (checkpoint->why[0] == '\0') {
        snprintf(checkpoint->why, sizeof checkpoint->why,
                 "node %u cannot write to %.*s", from, (int)message->body_size,
                 (const char *)message->body);
    }
}

static void let_go(struct node *node)
{
    struct checkpoint *checkpoint = &node->checkpoint;

    checkpoint->step = CUT_WRITE;
    checkpoint->held_ns = 0;
    checkpoint->manifest->n_pages = checkpoint->owned.n;
    if (checkpoint->owned.n != checkpoint->known.n ||
        checkpoint->owned.sum != checkpoint->known.sum) { // C3
        snprintf(checkpoint->why, sizeof checkpoint->why,
                 "pages have moved meanwhile");
    }
    ask_all(node, 0, NONE_HELD);
}

static tm_status receive_taken(struct node *node, node_id from,
                               const struct message_cut_taken *taken)
{
    struct checkpoint *checkpoint = &node->checkpoint;

    if (node->self != 0 || !roster_has(&node->port.roster, from) ||
        checkpoint->step != CUT_TAKE || taken->cut != checkpoint->cut) {
        return TM_EWIRE;
    }
    checkpoint->owned.n += taken->n_pages;
    checkpoint->owned.sum += taken->pages;
    checkpoint->known.n += taken->known;
    checkpoint->known.sum += taken->known_sum;
    if (++checkpoint->n_taken == node->port.roster.n_live) {
        let_go(node);
    }
    return TM_OK;
}

// Those of some may come before all have taken what they have.
static tm_status receive_saved(struct node *node, node_id from,
                               const struct message *message)
{
    const struct message_cut_saved *saved = &message->u.cut_saved;
    struct checkpoint *checkpoint = &node->checkpoint;

    if (node->self != 0 || !roster_has(&node->port.roster, from) ||
        (checkpoint->step != CUT_TAKE && checkpoint->step != CUT_WRITE) ||
        saved->cut != checkpoint->cut || saved->n_head > saved->n_bytes) {
        return TM_EWIRE;
    }
    checkpoint->manifest->files[roster_place(&node->port.roster, from)] =
        (struct checkpoint_sum){saved->n_bytes, saved->hash, saved->n_head};
    if (!saved->is_whole) {
        note_failure(checkpoint, from, message);
    }
    checkpoint->n_written++;
    return TM_OK;
}

static tm_status receive_older(struct node *node, node_id from,
                               const struct message_cut_older *older)
{
    struct checkpoint *checkpoint = &node->checkpoint;
    struct checkpoint_manifest *manifest = checkpoint->manifest;

    if (node->self != 0 || !roster_has(&node->port.roster, from) ||
        (checkpoint->step != CUT_TAKE && checkpoint->step != CUT_WRITE) ||
        older->cut != checkpoint->cut ||
        manifest->n_older == TM_MAX_NODES * CHECKPOINT_OLDER_MAX) {
        return TM_EWIRE;
    }
    manifest->older[manifest->n_older++] = (struct checkpoint_older){
        older->generation,
        older->index,
        {.n_bytes = older->n_bytes, .hash = older->hash},
        roster_place(&node->port.roster, from)};
    return TM_OK;
}

static void end_checkpoint(struct node *node)
{
    struct checkpoint *checkpoint = &node->checkpoint;

    if (checkpoint->why[0] != '\0') {
        give_up(node, checkpoint->why);
        return;
    }
    checkpoint->told[0] = '\0';
    checkpoint->n_failed = 0;
    checkpoint->whole[1] = checkpoint->whole[0];
    checkpoint->whole[0] = checkpoint->generation;
    checkpoint->n_told = checkpoint->n_meant;
    cut_marks_tell_saved(node, checkpoint->generation, checkpoint->n_ended,
                         checkpoint->n_told, "");
    log_debug("checkpoint %" PRIu64 ": iteration %" PRIu64 ", %" PRIu64
              " threads, %" PRIu64 " bytes, %" PRIu64 " of them new",
              checkpoint->generation, checkpoint->n_ended,
              checkpoint->manifest->n_threads,
              checkpoint_bytes(checkpoint->manifest),
              checkpoint_new_bytes(checkpoint->manifest));
    rest(node);
    if (is_asked(checkpoint)) { // meanwhile
        checkpoint->due_ns = 0;
    }
}

static void confirm(struct node *node)
{
    node->checkpoint.step = CUT_CONFIRM;
    if (node->options.buddy) {
        buddies_confirm(node);
    } else if (files_confirm(node) != TM_OK) {
        give_up(node, "no kernel thread can be started");
    }
}

void checkpoint_ask(struct node *node)
{
    struct checkpoint *checkpoint = &node->checkpoint;

    if (node->self != 0) {
        return;
    }
    checkpoint->n_asked++;
    if (!checkpoint_is_wanted(node)) { // the launcher knows, unless it is tried
        checkpoint->n_told = checkpoint->n_asked;
        cut_marks_tell_saved(node, 0, 0, checkpoint->n_told,
                             "this program, or its host, cannot have any");
        return;
    }
    checkpoint->wanted_ns = clock_now_ns();
    if (checkpoint->step == CUT_IDLE) {
        checkpoint->due_ns = 0;
    } else if (checkpoint->step == CUT_GATHER && checkpoint->held_ns == 0) {
        checkpoint->cut++; // as roster_changed()
        gather(node, 0);
    }
}

// It cannot begin: main() does not wait, nodes come or go. That may last.
static void await_begin(struct node *node)
{
    const struct checkpoint *checkpoint = &node->checkpoint;

    if (is_asked(checkpoint) &&
        clock_now_ns() - checkpoint->wanted_ns > GATHER_MAX_NS) {
        give_up(node, "there are no threads that main() waits for "
                      "(tm_thread_join)");
    }
}

int checkpoint_is_busy(const struct node *node)
{
    return node->checkpoint.step > CUT_GATHER || node->checkpoint.held_ns > 0 ||
           node->checkpoint.is_restoring;
}

// ---- the part

static int lead(struct node *node)
{
    struct checkpoint *checkpoint = &node->checkpoint;

    switch (checkpoint->step) {
    case CUT_IDLE:
        if (clock_now_ns() >= checkpoint->due_ns && !is_spoilt(node) &&
            !is_in_vain(node)) {
            if (may_begin(node)) {
                begin(node);
            } else {
                await_begin(node);
            }
        }
        return 0;
    case CUT_GATHER:
        if (!is_spoilt(node)) {
            await_threads(node);
        }
        return checkpoint->held_ns > 0;
    case CUT_WRITE:
        if (checkpoint->n_written == node->port.roster.n_live) {
            confirm(node);
        }
        return 1;
    case CUT_CONFIRM:
        if (checkpoint->is_confirmed) {
            end_checkpoint(node);
        }
        return 1;
    default:
        return 1;
    }
}

static int tick(struct node *node)
{
    hold_let_joined_go(node);
    return node->self == 0 && checkpoint_is_wanted(node) &&
                   !node_is_frozen(node) && node_step(node) == RUNTIME_RUNNING
               ? lead(node)
               : 0;
}

static tm_status receive(struct node *node, node_id from,
                         const struct message *message)
{
    struct checkpoint *checkpoint = &node->checkpoint;

    switch (message->type) {
    case MESSAGE_cut_ask:
        return receive_ask(node, from, &message->u.cut_ask);
    case MESSAGE_cut_held:
        if (checkpoint->step == CUT_GATHER && checkpoint->held_ns == 0 &&
            message->u.cut_held.cut == checkpoint->cut) {
            checkpoint->held_ns = clock_now_ns();
        }
        return TM_OK;
    case MESSAGE_cut_state:
        return receive_state(node, message);
    case MESSAGE_cut_save:
        if (from != 0 || checkpoint->has_clerk) {
            return TM_EWIRE;
        }
        checkpoint->generation = message->u.cut_save.generation;
        checkpoint->newest = message->u.cut_save.newest;
        checkpoint->parent = message->u.cut_save.parent;
        clerk_write(node);
        return TM_OK;
    case MESSAGE_cut_taken:
        return receive_taken(node, from, &message->u.cut_taken);
    case MESSAGE_cut_saved:
        return receive_saved(node, from, message);
    case MESSAGE_cut_older:
        return receive_older(node, from, &message->u.cut_older);
    case MESSAGE_load_ask:
        if (from != 0 || checkpoint->has_clerk) {
            return TM_EWIRE;
        }
        clerk_load(node, message->u.load_ask.generation,
                   message->u.load_ask.n_files);
        return TM_OK;
    case MESSAGE_loaded:
        restore_loaded(node, message);
        return TM_OK;
    default:
        return TM_EWIRE;
    }
}

// Who comes has not been asked.
static void roster_changed(struct node *node, int is_first)
{
    (void)is_first;
    if (node->self == 0 && node->checkpoint.step == CUT_GATHER) {
        node->checkpoint.cut++;
        gather(node, node->checkpoint.above);
    }
}

// Stacks point to code, so that has to be where it was.
static const char *why_it_cannot_go_on(const struct node *node)
{
    const char *why =
        node->unchanged == NULL ? NULL : node->unchanged->why_unsaved();

    if (why == NULL && node->options.buddy_is_tried &&
        node->unchanged != NULL && process_state_library() != NULL) {
        why = "it uses libraries that may keep something for themselves";
    }
    if (why == NULL && !image_is_fixed()) {
        why = "address randomisation is on in this process; start the program "
              "with `teamster run`";
    }
    return why;
}

// main() may change the working folder later.
static void make_absolute(char *path, size_t size, const char *option)
{
    char here[CHECKPOINT_PATH_MAX];
    char *whole = NULL;

    if (path[0] == '/' || path[0] == '\0') {
        return;
    }
    if (getcwd(here, sizeof here) == NULL ||
        asprintf(&whole, "%s/%s", here, path) < 0 || strlen(whole) >= size) {
        log_fatal(EXIT_CONFIG, "%s=%s: its whole path is too long", option,
                  path);
    }
    memcpy(path, whole, strlen(whole) + 1);
    free(whole);
}

void checkpoint_fix_folders(struct options *options)
{
    make_absolute(options->checkpoint.folder, sizeof options->checkpoint.folder,
                  "--checkpoint");
    if (strcmp(options->restart, "none") != 0) {
        make_absolute(options->restart, sizeof options->restart, "--restart");
    }
}

static void open_checkpoint(struct node *node)
{
    struct checkpoint *checkpoint = &node->checkpoint;
    const char *why;

    checkpoint->above = NONE_HELD;
    checkpoint->process = random_mix(clock_now_ns() ^ (uint64_t)getpid());
    node->prepared.n_told = node->n_nodes;
    if (!checkpoint_is_wanted(node) && checkpoint->restored == NULL) {
        return;
    }
    why = why_it_cannot_go_on(node);
    if (why != NULL && node->options.buddy_is_tried &&
        checkpoint->restored == NULL) {
        outside_refuse(node, why); // whoever is the root
        buddies_leave_out(node);
        return;
    }
    if (why != NULL) {
        log_fatal(EXIT_CONFIG, "--checkpoint and --restart: %s", why);
    }
    if (checkpoint_is_wanted(node) &&
        digests_open(&checkpoint->digests) != TM_OK) {
        checkpoint->digests = NULL; // all is written each time
    }
    if (node->options.buddy_is_tried &&
        (cut_marks_n_back(&node->cut_marks) > 0 || node->members.is_new)) {
        outside_agree(node);
    }
    node->prepared.is_followed = node->self == 0;
    if (checkpoint->restored != NULL) {
        sync_hold_threads(node->sync);
        node->prepared.is_repeated = 1;
        checkpoint->is_restoring = 1;
        node->prepared.n_told = (unsigned)checkpoint->restored->n_told;
        checkpoint->iteration = checkpoint->restored->iteration;
    }
}

static uint64_t newest(const char *folder)
{
    uint64_t *generations;
    const size_t n = checkpoint_list(folder, &generations);
    const uint64_t found = n > 0 ? generations[0] : 0;

    free(generations);
    return found;
}

// What stays the same in all manifests of the run.
static struct checkpoint_manifest *new_manifest(struct node *node)
{
    struct checkpoint_manifest *manifest = calloc(1, sizeof *manifest);
    struct node_card card = {0};

    ensure_memory(manifest != NULL);
    node_card_set_version(&card);
    snprintf(manifest->version, sizeof manifest->version, "%s", card.version);
    (void)image_build_id(manifest->build_id);
    manifest->layout = node->layout_hash;
    manifest->canary = node->checkpoint.restored != NULL
                           ? node->checkpoint.restored->canary
                           : image_canary();
    manifest->stack_size = node->options.stack_size;
    manifest->max_threads = node->options.max_threads;
    manifest->space = node->options.space;
    checkpoint_set_arguments(manifest, node->argv);
    return manifest;
}

static void tell_where(const struct node *node)
{
    const struct checkpoint_option *option = &node->options.checkpoint;

    if (node->options.buddy) {
        buddies_tell_where(node);
        return;
    }
    log_error("checkpoints go to %s, every %u %s: shared memory and threads, "
              "but not what main(), libraries and files have "
              "(docs/checkpoints.md)",
              option->folder,
              option->seconds > 0 ? option->seconds : option->iterations,
              option->seconds > 0 ? "s" : "iterations");
}

static void start_checkpoint(struct node *node)
{
    const struct checkpoint_option *option = &node->options.checkpoint;
    struct checkpoint *checkpoint = &node->checkpoint;
    const char *why;

    buddies_note_beginning(node); // libraries have set theirs
    if (node->self != 0 || !checkpoint_is_wanted(node)) {
        return;
    }
    why = checkpoint_open_folder(option->folder);
    if (why == NULL && node->options.recover == 0) {
        why = checkpoint_claim(option->folder); // else the launcher has
    }
    if (why != NULL && node->options.buddy_is_tried) {
        buddies_leave_out(node);
        return;
    }
    if (why != NULL) {
        log_fatal(EXIT_OUTPUT, "checkpoints cannot be written to %s: %s",
                  option->folder, why);
    }
    if (node->cut_marks.first == 0) {
        tell_where(node);
    }
    checkpoint->manifest = new_manifest(node);
    checkpoint->next_generation = node->cut_marks.first > 0
                                      ? node->cut_marks.first
                                      : newest(option->folder) + 1;
    if (node->cut_marks.first == 0 && checkpoint->next_generation > 1 &&
        strcmp(node->options.restart, option->folder) != 0) {
        log_warning(
            "%s has checkpoints of an earlier run, which go when two of "
            "this one are there; --restart=%s goes on from them",
            option->folder, option->folder);
    }
    checkpoint->due_ns = clock_now_ns() + period_ns(node);
}

// What has been taken becomes a checkpoint: who starts the program again may want it. What is in memory
// goes with the run.
static void finish_checkpoint(struct node *node)
{
    int is_writing;

    if (node->options.buddy) {
        return;
    }
    do {
        node_enter(node);
        is_writing = node->checkpoint.step > CUT_TAKE;
        node_leave(node);
        if (is_writing) {
            kthread_sleep_until(clock_now_ns() + ROUND_NS);
        }
    } while (is_writing);
}

static void close_checkpoint(struct node *node)
{
    files_close(node);
    files_drop(node);
    spare_memory_release(&node->checkpoint.snapshot.aside);
    for (unsigned i = 0; i < 3; i++) {
        cut_table_release(&node->checkpoint.tables[i]);
    }
    digests_close(node->checkpoint.digests);
    free(node->checkpoint.manifest);
    free(node->checkpoint.restored);
    node->checkpoint.manifest = NULL;
    node->checkpoint.restored = NULL;
}

const struct part part_checkpoint = {
    .open = open_checkpoint,
    .start = start_checkpoint,
    .tick = tick,
    .owns = OWNER_checkpoint,
    .receive = receive,
    .roster_changed = roster_changed,
    .save = parts_save_nothing,
    .finish = finish_checkpoint,
    .close = close_checkpoint,
};
