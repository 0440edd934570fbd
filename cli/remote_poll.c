// SPDX-License-Identifier: BSD-3-Clause
//
// Other hosts while nodes run there: how these have ended, and whether their host is there.
//
//   the agent says EXIT            the node has ended: job_judge()
//   the connection ends            the host is lost
//   nothing comes for 3 s, 5 s     it is suspect, and told so; it is lost. What other
//                                  nodes hear of its nodes counts too: beat.c
#include <stdio.h>
#include <string.h>

#include "job.h"

/** Nodes that have ended, as look_for_deaths() does for those here. */
static void judge_ended(struct job *job, struct remote_host *host)
{
    for (unsigned i = 0; i < host->n_nodes; i++) {
        struct remote_node *remote = &host->nodes[i];
        struct node *node = &job->nodes[remote->node];

        if (remote->has_ended && node->is_alive) {
            rendezvous_hear(job, node); // what it said before
            memcpy(node->oom_kill, remote->oom_kill, sizeof node->oom_kill);
            job_judge(job, node, remote->code, remote->status);
        }
    }
}

static void lose(struct job *job, unsigned index, const char *why)
{
    struct remote_host *host = &job->remote.hosts[index];

    host->is_lost = 1;
    mux_end(&host->mux); // nobody is to wait for more output
    job_lose_host(job, index + 1, why);
}

/** The run ends, for a node of the host was silent; what the host says does not come here either, though
 * others may have heard of it until then. */
static int is_unheard(const struct job *job, unsigned index)
{
    const struct remote_host *host = &job->remote.hosts[index];

    if (job->phase != JOB_STOPPING ||
        !beat_is_cut(&job->remote.beat, &host->life)) {
        return 0;
    }
    for (unsigned i = 0; i < job->n_started; i++) {
        if (job->nodes[i].host == index + 1 && job->nodes[i].is_silent) {
            return 1;
        }
    }
    return 0;
}

static void look_at_host(struct job *job, unsigned index, enum beat_state state)
{
    struct remote_host *host = &job->remote.hosts[index];
    char why[64];

    if (host->is_over && state != BEAT_LOST) {
        if (host->mux.is_broken || host->mux.in < 0) {
            lose(job, index, "it was let go"); // with a guest, if any
        }
        return;
    }
    if ((state == BEAT_SUSPECT) != host->is_suspect) {
        host->is_suspect = state == BEAT_SUSPECT;
        losses_suspect_host(job, index + 1,
                            host->is_suspect ? BEAT_SUSPECT_S * job->slowdown
                                             : 0);
    }
    if (host->mux.is_broken || host->mux.in < 0) {
        lose(job, index, "the connection to it has ended");
    } else if (is_unheard(job, index)) {
        lose(job, index, "nothing comes from it");
    } else if (state == BEAT_LOST) {
        snprintf(why, sizeof why, "silent for %.0f s",
                 beat_lost_s(&job->remote.beat));
        lose(job, index, why);
    }
}

/** To all nodes that may tell others: I2 of beat.c. */
static void tell_life(struct job *job)
{
    for (unsigned i = 0; i < job->n_started && job->phase >= JOB_RUNNING; i++) {
        struct node *node = &job->nodes[i];

        if (node->is_alive && node->is_ready && !node->is_guest) {
            link_send_number(&node->link, BOOT_LIFE, job->remote.beat.n_sent);
        }
    }
}

void remote_poll(struct job *job, uint64_t now_ns)
{
    struct remote *remote = &job->remote;
    int is_due = remote->n > 0 && beat_is_due(&remote->beat, now_ns);

    beat_poll(&remote->beat, now_ns);
    if (is_due) {
        tell_life(job);
    }
    for (unsigned i = 0; i < remote->n; i++) {
        struct remote_host *host = &remote->hosts[i];
        struct mux_frame frame;
        enum beat_state state =
            remote_listen(remote, host, is_due && !host->is_lost);

        if (i + 1 == remote->coming) {
            if (state == BEAT_LOST) {
                remote_give_up(remote, host);
            }
            guest_poll(job);
            continue;
        }
        while (mux_next(&host->mux, &frame)) {
            remote_take(host, &frame);
        }
        judge_ended(job, host);
        if (!host->is_lost) {
            look_at_host(job, i, state);
        }
        remote_pass_words_on(job, host); // also of its end
    }
}
