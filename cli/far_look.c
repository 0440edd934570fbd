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
static void judge_ended(struct job *job, struct far_host *host)
{
    for (unsigned i = 0; i < host->n_nodes; i++) {
        struct far_node *far = &host->nodes[i];
        struct node *node = &job->nodes[far->node];

        if (far->has_ended && node->is_alive) {
            members_hear(job, node); // what it said before
            memcpy(node->oom_kill, far->oom_kill, sizeof node->oom_kill);
            job_judge(job, node, far->code, far->status);
        }
    }
}

static void lose(struct job *job, unsigned index, const char *why)
{
    struct far_host *host = &job->far.hosts[index];

    host->is_lost = 1;
    mux_end(&host->mux); // nobody is to wait for more output
    job_lose_host(job, index + 1, why);
}

static void look_at_host(struct job *job, unsigned index, enum beat_state state)
{
    struct far_host *host = &job->far.hosts[index];
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
    } else if (state == BEAT_LOST) {
        snprintf(why, sizeof why, "silent for %.0f s",
                 beat_lost_s(&job->far.beat));
        lose(job, index, why);
    }
}

/** To all nodes that may tell others: I2 of beat.c. */
static void tell_life(struct job *job)
{
    for (unsigned i = 0; i < job->n_started && job->phase >= JOB_RUNNING; i++) {
        struct node *node = &job->nodes[i];

        if (node->is_alive && node->is_ready && !node->is_guest) {
            link_send_number(&node->link, BOOT_LIFE, job->far.beat.n_sent);
        }
    }
}

void far_look(struct job *job, uint64_t now_ns)
{
    struct far *far = &job->far;
    int is_due = far->n > 0 && beat_is_due(&far->beat, now_ns);

    beat_look(&far->beat, now_ns);
    if (is_due) {
        tell_life(job);
    }
    for (unsigned i = 0; i < far->n; i++) {
        struct far_host *host = &far->hosts[i];
        struct mux_frame frame;
        enum beat_state state = far_listen(far, host, is_due && !host->is_lost);

        if (i + 1 == far->coming) {
            if (state == BEAT_LOST) {
                far_give_up(far, host);
            }
            guest_look(job);
            continue;
        }
        while (mux_next(&host->mux, &frame)) {
            far_take(host, &frame);
        }
        judge_ended(job, host);
        if (!host->is_lost) {
            look_at_host(job, i, state);
        }
        far_pass_words_on(job, host); // also of its end
    }
}
