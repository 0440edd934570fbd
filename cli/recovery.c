// SPDX-License-Identifier: BSD-3-Clause
//
// --recover: a run that has lost a node, a host or its root goes back to its newest
// checkpoint, by itself. It is as if everything had been killed and somebody had typed
// --restart; the launcher, its output, its control socket, its page and who watches it stay.
//
//   what has ended the run is a loss     is_loss: it was stopped with 75. A fault of the program
//                                        (128 + n), or too little memory (71), would come
//                                        again
//   the checkpoint                       the newest whose files are whole
//   hosts that are lost                  a spare takes the place of each, or it is left out
//   all nodes are ended                  take_down; agents of hosts that are there stay
//   nodes are started anew               with another key, by launch.c
//
// With --buddy checkpoints are in the memory of hosts, and stored.c finds them and brings them to
// where they are needed.
//
// R1  No process of before writes into a checkpoint that is used later: those that can be
//     reached have ended, and one that cannot has other numbers of generations than those
//     that count. The numbers of each beginning are in another thousand, and what there is
//     between them and the one that it went back to is removed.
// R2  From one checkpoint it is tried n_most times at most.
// R3  Nodes of before are not heard by nodes of now, nor the other way round: the key is
//     another, and so are the sockets; agents end their nodes when they are let go.
// R4  A run that nobody has asked to go back (--buddy=auto) does so only from a checkpoint.
// R5  Nor does it if it has changed since what no checkpoint has: files, above all. Its nodes say so
//     before they do it, and wait until that is known (runtime/outside.h).
// R6  What it will not go back to then is removed, so that the program has the memory. What nodes may be reading, for
//     it goes on from that, is there until another checkpoint is, or its threads go on.
#include "recovery.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "base/vector.h"
#include "job.h"
#include "observe/swap_cost.h"
#include "os/checkpoint_manifest.h"

#define THOUSAND 1000u

// ---- the beginning

/** What nodes are told: see runtime/cut_marks.c. */
static void tell_nodes(const struct recovery *recovery, const char *restart)
{
    char text[96];

    snprintf(text, sizeof text, "%s %" PRIu64 " %" PRIu64, recovery->out.token,
             recovery->first, recovery->back.generation);
    setenv("TEAMSTER_RECOVERY", text, 1);
    setenv("TEAMSTER_RESTART",
           recovery->back.generation > 0 ? recovery->folder : restart, 1);
}

static int make_token(struct recovery *recovery)
{
    uint64_t number;

    if (getrandom(&number, sizeof number, 0) != sizeof number) {
        return -1;
    }
    snprintf(recovery->out.token, sizeof recovery->out.token, "%016" PRIx64,
             number);
    memcpy(recovery->err.token, recovery->out.token,
           sizeof recovery->err.token);
    return 0;
}

static int is_restart(const struct job *job)
{
    return strcmp(job->plan->restart, "none") != 0;
}

/** Iterations of an earlier run that this one goes on from, if all is whole there. */
static uint64_t count_before(const struct job *job)
{
    struct checkpoint_manifest *manifest = calloc(1, sizeof *manifest);
    uint64_t n_ended = 0;

    ensure_memory(manifest != NULL);
    if (is_restart(job) &&
        checkpoint_newest(job->plan->restart, manifest) == NULL) {
        n_ended = manifest->n_ended;
    }
    free(manifest);
    return n_ended;
}

static void begin_recovery(struct job *job, const char *folder)
{
    struct recovery *recovery = &job->recovery;

    recovery->folder = folder;
    recovery->n_most = job->plan->n_recoveries;
    recovery->began_ns = job->start_ns;
    input_keep(&job->input);
}

/** With --buddy. The folder goes with the run: keeper.c. @return 0, or an exit code (told) */
static int claim_memory(struct job *job)
{
    struct recovery *recovery = &job->recovery;

    if (job->keeper.folder[0] == '\0' && job->plan->is_tried) {
        unsetenv("TEAMSTER_BUDDY");
        return 0;
    }
    if (job->keeper.folder[0] == '\0') {
        job_say(job, "--buddy: no folder for checkpoints can be made in "
                     "/dev/shm; see --checkpoint=DIR");
        return EXIT_CONFIG;
    }
    snprintf(recovery->in_memory, sizeof recovery->in_memory,
             "%s/" CHECKPOINT_IN_MEMORY, job->keeper.folder);
    recovery->is_in_memory = 1;
    recovery->manifest = calloc(1, sizeof *recovery->manifest);
    ensure_memory(recovery->manifest != NULL);
    begin_recovery(job, recovery->in_memory);
    return 0;
}

/** With --recover, which goes back to what is there. @return 0, or an exit code (told) */
static int claim_folder(struct job *job)
{
    struct recovery *recovery = &job->recovery;
    const char *why;

    if (job->plan->is_in_memory) {
        return claim_memory(job);
    }
    why = checkpoint_open_folder(job->plan->checkpoints);
    why = why == NULL ? checkpoint_claim(job->plan->checkpoints) : why;
    if (why != NULL) {
        job_say(job, "checkpoints cannot be written to %s: %s",
                job->plan->checkpoints, why);
        return EXIT_OUTPUT;
    }
    recovery->before = recovery_newest_in(job->plan->checkpoints);
    begin_recovery(job, job->plan->checkpoints);
    return 0;
}

/** With --output=held. */
static void open_held(struct job *job)
{
    const unsigned n_writers = 2 * TM_MAX_NODES;
    struct stream *writers = calloc(n_writers, sizeof *writers);

    ensure_memory(writers != NULL);
    for (unsigned i = 0; i < n_writers; i++) {
        writers[i].fd = -1;
    }
    held_open(&job->held, writers, swap_folder("auto"));
}

int recovery_open(struct job *job)
{
    struct recovery *recovery = &job->recovery;
    int exit_code = 0;

    unsetenv("TEAMSTER_RECOVERY"); // of a run around this one
    recovery->begun_at = count_before(job);
    recovery->back.iteration = recovery->begun_at;
    recovery->farthest = recovery->begun_at;
    if (job->plan->n_recoveries > 0) {
        exit_code = claim_folder(job);
    } else if (!job->plan->is_output_held) {
        return 0;
    }
    if (exit_code == 0 && !recovery_is_wanted(recovery) &&
        !job->plan->is_output_held) {
        return 0; // --buddy=auto, and no room for it
    }
    if (exit_code == 0 && make_token(recovery) != 0) {
        job_say(job, "there are no random numbers: %s", strerror(errno));
        exit_code = EXIT_OUTPUT;
    }
    if (exit_code == 0 && job->plan->is_output_held) {
        open_held(job);
    }
    recovery->err.never = "teamster: "; // what nodes tell now is not of then
    tell_nodes(recovery, job->plan->restart);
    return exit_code;
}

// ---- the end

void recovery_release(struct job *job)
{
    seen_release(&job->recovery.out);
    seen_release(&job->recovery.err);
    hosts_release(&job->recovery.hosts);
    hosts_release(&job->recovery.lost);
    free(job->recovery.plan);
    stored_forget(&job->recovery.here);
    free(job->recovery.manifest);
    free(job->held.writers);
    held_release(&job->held);
}

// ---- what is left

/** Is a host of no use any more, or one of its nodes though its agent answers? */
static int is_host_lost(const struct job *job, unsigned index)
{
    const struct remote_host *host = &job->remote.hosts[index];

    if (host->is_lost || !host->has_hello || host->why[0] != '\0') {
        return 1;
    }
    for (unsigned i = 0; i < host->n_nodes; i++) {
        if (host->nodes[i].what[0] != '\0') {
            return 1; // it cannot start them
        }
    }
    for (unsigned i = 0; i < job->n_started; i++) {
        const struct node *node = &job->nodes[i];

        if (node->host == index + 1 && node->is_lost && node->is_silent) {
            return 1;
        }
    }
    return 0;
}

static unsigned count_lost(const struct job *job)
{
    unsigned n = 0;

    for (unsigned i = 0; i < job->remote.n; i++) {
        n += is_host_lost(job, i) != 0;
    }
    return n;
}

static int is_loss(const struct job *job)
{
    return (job->exit_code == EXIT_NODE_LOST &&
            job->phase == JOB_STOPPING) || // else it is the program's own
           (job->exit_code == EXIT_UNREACHABLE && job->recovery.n_back > 0 &&
            count_lost(job) > 0);
}

/** Those of the nodes that were there, and may be again, with the host that each was on.
 * @param[out] hosts  [TM_MAX_NODES] @param[out] on  [TM_MAX_NODES] 0: this machine
 * @return how many */
static unsigned list_members(const struct job *job, struct host *hosts,
                             uint16_t *on)
{
    const unsigned n_nodes = job->n_started > job->plan->n_nodes
                                 ? job->n_started
                                 : job->plan->n_nodes;
    unsigned n = 0;

    for (unsigned i = 0; i < n_nodes; i++) {
        const struct node *node = &job->nodes[i];
        const int has_host = i < job->plan->n_nodes && job->plan->hosts != NULL;

        if (node->is_guest || node->is_leaving) {
            continue;
        }
        on[n] = node->host;
        hosts[n] = has_host ? job->plan->hosts[i] : (struct host){.share = 1};
        if (!has_host) {
            snprintf(hosts[n].name, sizeof hosts[n].name, "%s",
                     node->host > 0 ? job->remote.hosts[node->host - 1].name
                                    : "localhost");
        }
        n++;
    }
    return n;
}

static int has_name(const struct hosts *hosts, const char *name)
{
    for (unsigned i = 0; i < hosts->n; i++) {
        if (strcmp(hosts->all[i].name, name) == 0) {
            return 1;
        }
    }
    return 0;
}

static const struct host *next_spare(struct job *job)
{
    const struct hosts *spares = job->plan->spares;
    struct recovery *recovery = &job->recovery;

    while (recovery->n_spares < spares->n) {
        const struct host *spare = &spares->all[recovery->n_spares++];

        if (!has_name(&recovery->lost, spare->name)) {
            return spare;
        }
    }
    return NULL;
}

static void keep_host(struct hosts *hosts, const struct host *host)
{
    vector_reserve(hosts->all, hosts->n_room, hosts->n + 1);
    hosts->all[hosts->n] = *host;
    hosts->all[hosts->n++].label[0] = '\0';
}

/** Hosts that are of no use any more are no spares, either. */
static void note_lost(struct job *job, const uint8_t *is_lost)
{
    for (unsigned i = 0; i < job->remote.n; i++) {
        struct host host = {.share = 1};

        snprintf(host.name, sizeof host.name, "%s", job->remote.hosts[i].name);
        if (is_lost[1 + i] && !has_name(&job->recovery.lost, host.name)) {
            keep_host(&job->recovery.lost, &host);
        }
    }
}

/** Where nodes are to be from now on: as before, with spares instead of what is lost.
 * @param[out] text  [size] who has taken whose place */
static void place_nodes(struct job *job, const uint8_t *is_lost,
                        struct hosts *hosts, char *text, size_t size)
{
    static struct host members[TM_MAX_NODES];
    uint16_t on[TM_MAX_NODES];
    const unsigned n = list_members(job, members, on);
    const struct host *spare;
    size_t used = 0;

    text[0] = '\0';
    note_lost(job, is_lost);
    for (unsigned i = 0; i < n; i++) {
        if (!is_lost[on[i]]) {
            keep_host(hosts, &members[i]);
        } else if ((spare = next_spare(job)) != NULL) {
            keep_host(hosts, spare);
            used += (size_t)snprintf(text + used, used < size ? size - used : 0,
                                     "; %s in place of %s", spare->name,
                                     members[i].name);
            used = used < size ? used : size;
        }
    }
    if (hosts->n == 0) { // one that has come back, perhaps
        job->recovery.lost.n = 0;
        for (unsigned i = 0; i < n; i++) {
            keep_host(hosts, &members[i]);
        }
    }
    if (hosts->n < n && used < size) {
        snprintf(text + used, size - used, "; %u node%s instead of %u",
                 hosts->n, hosts->n == 1 ? "" : "s", n);
    }
    if (hosts->n != n) {
        unsetenv("TEAMSTER_COUNTS"); // for that many nodes
    }
    hosts_label(hosts);
}

// ---- the checkpoint

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/** The number that begins the next thousand. */
static uint64_t next_thousand(const struct recovery *recovery)
{
    const uint64_t highest =
        recovery->is_in_memory // later ones are removed before it goes on
            ? larger(recovery->saved.generation, recovery->back.generation)
            : recovery_newest_in(recovery->folder);

    // Nodes of before that have saved nothing may do so yet, if nobody reaches them (R1).
    return (larger(recovery->first, highest) / THOUSAND + 1) * THOUSAND;
}

/** @return 0: there is none that is whole, which is told, or the run is ended */
static int find_in_memory(struct job *job, struct saved *back)
{
    struct checkpoint_manifest *manifest = job->recovery.manifest;
    const int exit_code = stored_find(job, manifest);

    if (exit_code != 0) {
        job->exit_code = exit_code;
        job_say(job, "it was ended while it looked for a checkpoint");
        return 0;
    }
    *back = recovery_saved_of(&job->recovery, manifest->generation,
                              manifest->n_ended, manifest->time_s);
    return 1;
}

static int find_checkpoint(struct job *job, recovery_wait_fn *wait,
                           struct saved *back)
{
    return job->recovery.is_in_memory ? find_in_memory(job, back)
                                      : recovery_find(job, wait, back);
}

static void remove_others(struct job *job)
{
    if (job->recovery.is_in_memory) {
        stored_keep(job, job->recovery.back.generation);
    } else {
        recovery_remove_outdated(&job->recovery);
    }
}

// ---- the end of what was, the beginning of what comes

/** Of nodes, and who leads to hosts that are lost. */
static void clear_processes(struct job *job)
{
    pid_t *spared = calloc(job->remote.n + 1, sizeof *spared);
    unsigned n;

    ensure_memory(spared != NULL);
    n = remote_list_reachers(&job->remote, spared);
    spared[n] = job->web_pid;
    keeper_clear(&job->keeper, spared, n + (job->web_pid > 0));
    for (unsigned i = 0; i < n; i++) {
        keeper_add(&job->keeper, spared[i]);
    }
    free(spared);
}

/** Nobody and nothing of the nodes is left. @param[out] is_lost  [1 + hosts] which hosts are
 * of no use any more */
static void take_down(struct job *job, uint8_t *is_lost)
{
    job_kill(job);
    for (unsigned i = 0; i < job->remote.n; i++) {
        is_lost[1 + i] = is_host_lost(job, i) != 0;
    }
    remote_clear(job, &is_lost[1]);
    // What was written before the checkpoint does not come again.
    job_end_streams(job, stream_forget);
    for (unsigned i = 0; i < job->remote.n; i++) {
        is_lost[1 + i] |= job->remote.hosts[i].is_lost != 0;
    }
    if (losses_was_away(job)) { // it is not their fault
        memset(is_lost, 0, 1 + job->remote.n);
    }
    input_close(&job->input);
    clear_processes(job);
}

/** What is known of nodes, and of the run that they were in, is forgotten. */
static void forget_nodes(struct job *job)
{
    control_answer_askers(&job->control, SAVING_NODE, EXIT_NODE_LOST,
                          "the job goes back to a checkpoint; try again");
    sink_end_line(&job->out);
    sink_end_line(job->err);
    shown_release(job);
    buffer_release(&job->findings.text);
    job->findings = (struct report_findings){0};
    remote_keep_clear(&job->remote);
    memset(job->nodes, 0, TM_MAX_NODES * sizeof *job->nodes);
    job->shown = (struct shown){0};
    job->phase = JOB_JOINING;
    job->exit_code = 0;
    job->is_consequence = 0;
    job->has_guest = 0;
    job->n_changes = 0;
    job->n_started = 0;
    job->n_alive = 0;
    job->n_cards = 0;
    job->n_ready = 0;
    job->n_threads_lost = 0;
    job->deadline_ns = 0;
    job->guest_due_ns = 0;
    job->ended_ns = 0;
    job->stop_step = 0;
    job->away_s = 0;
    job->polled_s = 0; // hosts that are slow to be reached are not its absence
    saving_ask_again(job);
    progress_begin_again(job);
}

static void set_plan(struct job *job, const struct hosts *hosts)
{
    struct recovery *recovery = &job->recovery;
    struct launch_plan *plan = malloc(sizeof *plan);
    const int has_hosts = job->plan->hosts != NULL || job->remote.n > 0;

    ensure_memory(plan != NULL);
    *plan = *job->plan;
    plan->n_nodes = hosts->n;
    plan->hosts = has_hosts ? hosts->all : NULL;
    plan->is_spread = 0;
    for (unsigned i = 0; i < hosts->n; i++) {
        plan->is_spread |= (plan->hosts_are_others || job->remote.n > 0) &&
                           !host_is_local(hosts->all[i].name);
    }
    job->uses_tcp = plan->is_spread;
    job->n_nodes = plan->n_nodes;
    job->plan = plan;
    free(recovery->plan);
    recovery->plan = plan;
    hosts_release(&recovery->hosts);
    recovery->hosts = *hosts;
}

static void note_farthest(struct job *job)
{
    const uint64_t n_ended = losses_n_iterations(job);

    if (n_ended > job->recovery.farthest) {
        job->recovery.farthest = n_ended;
    }
}

static void tell_back(struct job *job, const struct saved *back,
                      const char *places)
{
    const uint64_t under_way = job->recovery.farthest + 1;
    const uint64_t lost_ns =
        job->lost_ns > back->at_ns ? job->lost_ns - back->at_ns : 0;
    const double lost_s = (double)lost_ns * 1e-9;

    if (back->generation == 0) {
        job_say(job, "nothing was saved yet: back to %s, %.1f s lost%s",
                is_restart(job) ? "where --restart began" : "the beginning",
                lost_s, places);
    } else {
        job_say(job,
                "back to iteration %" PRIu64 " of %" PRIu64 ", %.1f s lost%s",
                back->iteration + 1,
                under_way > back->iteration ? under_way : back->iteration + 1,
                lost_s, places);
    }
    if (!held_is_wanted(&job->held) &&
        (job->recovery.out.is_overfull || job->recovery.err.is_overfull)) {
        job_say(job, "so much was written since that some of it will be seen "
                     "twice");
    }
}

static void tell_gone(struct job *job)
{
    const char *folder = job->recovery.folder;

    if (job->recovery.is_in_memory) {
        job_say(job, "it does not go back: what was saved was in the memory of "
                     "hosts that are lost, of one and of the one behind it");
    } else {
        job_say(job,
                "it does not go back: a checkpoint was written, but on this "
                "machine %s has none that is whole; where it can be seen: "
                "teamster run --restart=%s",
                folder, folder);
    }
}

static void tell_tries(struct job *job)
{
    const struct recovery *recovery = &job->recovery;
    const int is_in_memory = recovery->is_in_memory;

    job_say(job, "%u %s from there came no farther (--recover=%u)%s%s",
            recovery->n_tries, recovery->n_tries == 1 ? "try" : "tries",
            recovery->n_most,
            is_in_memory ? "" : "; to try again: teamster run --restart=",
            is_in_memory ? "" : recovery->folder);
}

/** Nobody has asked for checkpoints, and there was none: a run that begins anew would be a surprise,
 * and so would the time that it takes to look for one. */
static int is_unexpected(const struct job *job)
{
    return job->plan->is_tried && job->recovery.saved.generation == 0 &&
           job->recovery.back.generation == 0;
}

// What has been done since would be done again.
static int has_done_more(struct job *job)
{
    const char *why = recovery_why_not_back(job);

    if (why == NULL) {
        return 0;
    }
    job_say(job,
            "it does not go back: %s (--buddy goes back all the same; "
            "docs/checkpoints.md, chapter 9)",
            why);
    return 1;
}

static int may_go_back(struct job *job, const struct saved *back)
{
    const struct recovery *recovery = &job->recovery;

    if (job->input.is_too_much) {
        job_say(job,
                "it cannot go back: main() would have to read its standard "
                "input again, and more than %u MiB came through a pipe; use "
                "a file (< FILE)",
                INPUT_KEPT_MAX >> 20);
        return 0;
    }
    if (back->generation == 0 &&
        (recovery->saved.generation > 0 || recovery->back.generation > 0)) {
        tell_gone(job);
        return 0;
    }
    if (recovery->n_back > 0 && back->generation == recovery->back.generation &&
        recovery->n_tries >= recovery->n_most) { // R2
        tell_tries(job);
        return 0;
    }
    return 1;
}

static void note_back(struct job *job, const struct saved *back)
{
    struct recovery *recovery = &job->recovery;
    const int is_same =
        recovery->n_back > 0 && back->generation == recovery->back.generation;

    recovery->n_tries = is_same ? recovery->n_tries + 1 : 1;
    recovery->n_back++;
    recovery->first = next_thousand(recovery);
    recovery->back = *back;
    recovery->saved = (struct saved){0};
    recovery->passed_ns = 0;
    recovery->began_ns = clock_now_ns();
    seen_go_back(&recovery->out, back->generation);
    seen_go_back(&recovery->err, back->generation);
    held_go_back(&job->held, back->generation);
}

int recovery_go_back(struct job *job, recovery_wait_fn *wait)
{
    uint8_t is_lost[1 + TM_MAX_NODES * 2] = {0};
    struct hosts hosts = {0};
    struct saved back;
    char places[400];

    if (!recovery_is_wanted(&job->recovery) || !is_loss(job) ||
        is_unexpected(job) || has_done_more(job)) { // R4, R5
        return 0;
    }
    job->lost_ns = job->phase == JOB_STOPPING ? job->stop_ns : clock_now_ns();
    if (!find_checkpoint(job, wait, &back) || !may_go_back(job, &back)) {
        return 0;
    }
    take_down(job, is_lost);
    place_nodes(job, is_lost, &hosts, places, sizeof places);
    note_farthest(job);
    tell_back(job, &back, places);
    note_back(job, &back);
    remove_others(job);
    set_plan(job, &hosts);
    forget_nodes(job);
    tell_nodes(&job->recovery, job->plan->restart);
    return 1;
}
