// SPDX-License-Identifier: BSD-3-Clause
//
// What is said of nodes that are silent or lost.
//
// Of a silence several may tell: every other node, and the launcher itself if nothing
// comes from the host. Each is said once, by whoever comes first: is_suspect, is_lost.
// A node that is heard again has caused nothing, so only --verbose says that.
//
// A launcher that was stopped for long was taken for dead, and blames nobody else.
//
// How far the program was is what all nodes have said of themselves; the farthest
// counts, for nobody gets beyond the barrier that a lost node has not reached.
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "net/message.h"

/** Who notices a silence so much later means the same one, which may be over. */
#define SAME_NS UINT64_C(1000000000)

/** What is seen so soon after the launcher was away has come of that. */
#define OWN_S 10

/** With the time that the machine sleeps. */
static double clock_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void losses_poll(struct job *job)
{
    double now_s = clock_s();
    double away_s = now_s - job->polled_s;

    if (job->polled_s > 0 && job->remote.n > 0 &&
        away_s > BEAT_LOST_S * job->slowdown) {
        job->away_s = away_s;
        job->back_s = now_s;
    }
    job->polled_s = now_s;
}

int losses_was_away(const struct job *job)
{
    return job->away_s != 0 &&
           job->polled_s - job->back_s <= OWN_S * job->slowdown;
}

int losses_are_own(struct job *job)
{
    char when[128];

    if (!losses_was_away(job) || !job_is_open(job)) {
        return 0;
    }
    losses_describe_time(job, when, sizeof when);
    job_say(job,
            "the launcher itself was stopped for %.0f s, and nodes have ended "
            "without it (SIGSTOP, or a machine that slept?), %s",
            job->away_s, when);
    job_stop(job, SIGTERM, EXIT_NODE_LOST);
    return 1;
}

tm_status losses_take_progress(struct node *node,
                               const struct link_frame *frame)
{
    struct wire_reader reader = wire_read(frame->body, frame->size);
    const struct wire_boot_progress got = wire_get_boot_progress(&reader);

    node->told = got;
    return TM_OK;
}

uint64_t losses_n_iterations(const struct job *job)
{
    uint64_t n_most = 0;

    for (unsigned i = 0; i < job->n_started; i++) {
        uint64_t n = job->nodes[i].told.n_iterations;

        n_most = n > n_most ? n : n_most;
    }
    return n_most + job->recovery.back.iteration;
}

void losses_describe_time(const struct job *job, char *text, size_t size)
{
    uint64_t n_ended = losses_n_iterations(job);

    if (n_ended == 0) {
        snprintf(text, size, "after %.1f s", job_seconds(job));
    } else { // the next one is under way
        snprintf(text, size, "after %.1f s, iteration %" PRIu64,
                 job_seconds(job), n_ended + 1);
    }
}

void losses_describe(struct job *job, unsigned n_threads, char *text,
                     size_t size)
{
    unsigned n_all = 0;
    size_t used;

    for (unsigned i = 0; i < job->n_started; i++) {
        n_all += job->nodes[i].told.n_threads;
    }
    job->n_threads_lost = n_threads;
    losses_describe_time(job, text, size);
    used = strlen(text);
    if (n_all > 0 && used < size) {
        snprintf(text + used, size - used, ". %u of %u thread%s lost.",
                 n_threads, n_all, n_all == 1 ? "" : "s");
    }
}

static void suspect(struct job *job, struct node *node, unsigned seconds)
{
    uint64_t now_ns = clock_now_ns();

    if (!node->is_suspect && job_is_open(job) &&
        now_ns - node->suspected_ns > SAME_NS) {
        node->suspected_ns = now_ns;
        job_say(job, "%s has been silent for %u s (suspect)", node->name,
                seconds);
    }
    node->is_suspect = 1;
}

static void take_back(struct job *job, struct node *node)
{
    if (node->is_suspect && job->plan->is_verbose) {
        job_say(job, "%s is heard again", node->name);
    }
    node->is_suspect = 0;
}

/** Does nobody hear it, nor the launcher its host? */
static int is_cut_off(const struct job *job, const struct node *node)
{
    const struct remote_host *host =
        node->host > 0 ? &job->remote.hosts[node->host - 1] : NULL;

    return host != NULL &&
           (host->is_suspect ||
            (node->is_suspect && beat_is_cut(&job->remote.beat, &host->life)));
}

/** @param[out] names  [size] of those that are lost
 * @return how many there are */
static unsigned list_lost(const struct job *job, char *names, size_t size,
                          unsigned *n_threads)
{
    struct text list = {names, size, 0};
    unsigned n = 0;

    *n_threads = 0;
    for (unsigned i = 0; i < job->n_started; i++) {
        const struct node *node = &job->nodes[i];

        if (node->is_lost) {
            text_add(&list, "%s%s", n > 0 ? ", " : "", node->name);
        }
        n += node->is_lost != 0;
        *n_threads += node->is_lost ? node->told.n_threads : 0;
    }
    return n;
}

/** They would not hear that they are to end. */
static void put_down_lost(struct job *job)
{
    for (unsigned i = 0; i < job->n_started; i++) {
        struct node *node = &job->nodes[i];

        if (node->is_lost && node->is_alive) {
            node->is_put_down = 1;
            job_signal(job, node, SIGKILL);
        }
    }
}

/** Others that are as silent go with it: half of the hosts, perhaps. */
static void lose(struct job *job, struct node *node, unsigned seconds)
{
    char names[600];
    char when[128];
    char why[64] = "its connection has ended";
    unsigned n;
    unsigned n_threads;

    if (!job_is_open(job) || losses_are_own(job)) {
        return;
    }
    for (unsigned i = 0; i < job->n_started; i++) {
        job->nodes[i].is_lost = is_cut_off(job, &job->nodes[i]);
        job->nodes[i].is_silent = job->nodes[i].is_lost;
    }
    node->is_lost = 1;
    node->is_silent |= seconds > 0;
    n = list_lost(job, names, sizeof names, &n_threads);
    losses_describe(job, n_threads, when, sizeof when);
    if (seconds > 0) {
        snprintf(why, sizeof why, "silent for %u s (--peer-timeout)", seconds);
    }
    job_say(job, "%s %s lost: %s, %s", names, n == 1 ? "is" : "are", why, when);
    job_stop(job, SIGTERM, EXIT_NODE_LOST);
    job->is_consequence = 1;
    if (seconds > 0) {
        put_down_lost(job);
    }
}

tm_status losses_take_peer(struct job *job, const struct node *node,
                           const struct link_frame *frame)
{
    struct wire_reader reader = wire_read(frame->body, frame->size);
    const struct wire_boot_hint hint = wire_get_boot_hint(&reader);
    const unsigned peer = hint.node;

    if (peer >= job->n_started || peer == node->id) {
        return TM_EWIRE;
    }
    if (node->is_guest) {
        return TM_OK; // it ends, and nobody else
    }
    switch (hint.what) {
    case BOOT_PEER_SUSPECT:
        suspect(job, &job->nodes[peer], hint.seconds);
        return TM_OK;
    case BOOT_PEER_BACK:
        take_back(job, &job->nodes[peer]);
        return TM_OK;
    case BOOT_PEER_LOST:
        lose(job, &job->nodes[peer], hint.seconds);
        return TM_OK;
    default:
        return TM_EWIRE;
    }
}

void losses_suspect_host(struct job *job, unsigned host, double seconds)
{
    int is_told = 0;
    int has_nodes = 0;

    for (unsigned i = 0; i < job->n_started; i++) {
        if (job->nodes[i].host == host) {
            is_told |= job->nodes[i].is_suspect;
            has_nodes |= job->nodes[i].is_alive && !job->nodes[i].is_guest;
            job->nodes[i].is_suspect = seconds > 0;
        }
    }
    if (seconds > 0 && has_nodes && !is_told && job_is_open(job)) {
        job_say(job, "host %s has been silent for %.0f s (suspect)",
                job->remote.hosts[host - 1].name, seconds);
    }
}
