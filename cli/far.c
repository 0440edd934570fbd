// SPDX-License-Identifier: BSD-3-Clause
//
// Other hosts while nodes run there. A node's control socket and output are files of
// this process like those of a node here, with the connection to the agent (mux.c)
// behind them; what is left is how it started and ended, signals, and whether its
// host is there.
//
//   the agent says EXIT            the node has ended: job_judge()
//   the connection ends            the host is lost
//   nothing comes for 3 s, 5 s     it is suspect, and told so; it is lost. What other
//                                  nodes hear of its nodes counts too: beat.c
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "job.h"
#include "net/message.h"
#include "os/secret.h"

#define FINISH_MS 3000

size_t far_n_polled(const struct far *far)
{
    size_t n = 0;

    for (unsigned i = 0; i < far->n; i++) {
        n += mux_n_polled(&far->hosts[i].mux);
    }
    return n;
}

void far_fill(const struct far *far, struct pollfd *set)
{
    for (unsigned i = 0; i < far->n; i++) {
        mux_fill(&far->hosts[i].mux, set);
        set += mux_n_polled(&far->hosts[i].mux);
    }
}

void far_move(struct far *far, const struct pollfd *set, uint64_t now_ns)
{
    for (unsigned i = 0; i < far->n; i++) {
        mux_move(&far->hosts[i].mux, set, now_ns);
        set += mux_n_polled(&far->hosts[i].mux);
    }
}

static void take_text(struct wire_reader *reader, char *text, size_t size)
{
    const char *found = wire_get_string(reader);

    snprintf(text, size, "%s", found != NULL ? found : "");
}

void far_take(struct far_host *host, const struct mux_frame *frame)
{
    struct wire_reader reader = {.at = frame->body,
                                 .end = frame->body + frame->size};
    struct far_node *node;

    if (frame->kind == MUX_BEAT) {
        return;
    }
    if (frame->node >= host->n_nodes) {
        host->mux.is_broken = 1;
        return;
    }
    node = &host->nodes[frame->node];
    if (frame->kind == MUX_STARTED) {
        node->pid = (pid_t)wire_get_u32(&reader);
    } else if (frame->kind == MUX_FAILED) {
        node->error = (int)wire_get_u32(&reader);
        take_text(&reader, node->what, sizeof node->what);
    } else if (frame->kind == MUX_EXIT) {
        node->code = (int)wire_get_u32(&reader);
        node->status = (int)wire_get_u32(&reader);
        take_text(&reader, node->oom_kill, sizeof node->oom_kill);
        node->has_ended = 1;
    } else {
        reader.failed = 1;
    }
    host->mux.is_broken |= reader.failed;
}

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

/** What ssh and the agent complain about goes where our own words go. */
static void pass_words_on(struct job *job, struct far_host *host)
{
    char bytes[1024];
    ssize_t size;

    while (host->words_fd >= 0 &&
           (size = read(host->words_fd, bytes, sizeof bytes - 1)) > 0) {
        bytes[size - (bytes[size - 1] == '\n')] = '\0';
        job_say(job, "%s: %s", host->name, bytes);
    }
}

static void lose(struct job *job, unsigned index, const char *why)
{
    struct far_host *host = &job->far.hosts[index];

    host->is_lost = 1;
    mux_end(&host->mux); // nobody is to wait for more output
    job_lose_host(job, index + 1, why);
}

enum beat_state far_listen(struct far *far, struct far_host *host, int is_due)
{
    if (!host->has_hello) {
        return BEAT_ALIVE;
    }
    if (is_due) {
        mux_send(&host->mux, MUX_BEAT, 0, NULL, 0);
    }
    beat_hear(&far->beat, &host->life, host->mux.heard_ns);
    return beat_of(&far->beat, &host->life);
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

tm_status far_take_heard(struct job *job, const struct link_frame *frame)
{
    if (frame->size > job->n_started) {
        return TM_EWIRE;
    }
    for (unsigned i = 0; i < frame->size; i++) {
        unsigned host = job->nodes[i].host;

        if (host > 0 && frame->body[i] < 255) {
            beat_hear_by_nodes(&job->far.beat, &job->far.hosts[host - 1].life,
                               frame->body[i] * UINT64_C(100000000));
        }
    }
    return TM_OK;
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
        pass_words_on(job, host); // also of its end
    }
}

uint64_t far_due_ns(const struct far *far)
{
    return far->n > 0
               ? far->beat.watch.looked_ns + BEAT_POLL_MS * UINT64_C(1000000)
               : UINT64_MAX;
}

void far_signal(struct job *job, const struct node *node, int signal)
{
    mux_send_number(&job->far.hosts[node->host - 1].mux, MUX_SIGNAL,
                    node->index, (uint32_t)signal);
}

void far_note(struct job *job, const struct node *node)
{
    mux_send(&job->far.hosts[node->host - 1].mux, MUX_NOTE, node->index, NULL,
             0);
}

// ---- the end ----

void far_retire(struct far_host *host)
{
    if (host->is_over || host->is_lost) {
        return;
    }
    host->is_over = 1;
    if (host->has_hello) {
        mux_send(&host->mux, MUX_BYE, 0, NULL, 0);
    } else {
        host->is_lost = 1;
        host->mux.is_broken = 1;
        kill(host->ssh, SIGKILL); // reaped at the end of the run
    }
}

static int is_gone(const struct far_host *host)
{
    return host->ssh <= 0 || host->mux.in < 0 || host->is_lost;
}

static int all_are_gone(const struct far *far)
{
    for (unsigned i = 0; i < far->n; i++) {
        if (!is_gone(&far->hosts[i])) {
            return 0;
        }
    }
    return 1;
}

/** Wait for the agents' ends of file. */
static void wait_for_agents(struct job *job)
{
    struct far *far = &job->far;
    struct pollfd *set = calloc(far_n_polled(far), sizeof *set);
    uint64_t end_ns = clock_now_ns() +
                      (uint64_t)(FINISH_MS * job->slowdown) * UINT64_C(1000000);

    while (set != NULL && !all_are_gone(far) && clock_now_ns() < end_ns) {
        struct mux_frame frame;

        far_fill(far, set);
        poll(set, far_n_polled(far), 100);
        far_move(far, set, clock_now_ns());
        for (unsigned i = 0; i < far->n; i++) {
            while (mux_next(&far->hosts[i].mux, &frame)) {
            }
        }
    }
    free(set);
}

void far_finish(struct job *job)
{
    struct far *far = &job->far;

    for (unsigned i = 0; i < far->n; i++) {
        struct far_host *host = &far->hosts[i];

        if (host->has_hello && !host->is_lost) {
            mux_send(&host->mux, MUX_BYE, 0, NULL, 0);
        } else {
            host->mux.is_broken = 1;
            host->is_lost = 1;
        }
    }
    if (far->n > 0) {
        wait_for_agents(job);
    }
    for (unsigned i = 0; i < far->n; i++) {
        struct far_host *host = &far->hosts[i];

        if (host->ssh > 0) {
            kill(host->ssh, SIGKILL);
            waitpid(host->ssh, NULL, 0);
        }
        if (host->words_fd >= 0) {
            pass_words_on(job, host);
            close(host->words_fd);
        }
        mux_close(&host->mux);
        buffer_release(&host->words);
    }
    secret_free(job->key, BOOT_KEY_SIZE);
}

void far_release(struct job *job)
{
    for (unsigned i = 0; i < job->far.n; i++) {
        free(job->far.hosts[i].nodes);
        free(job->far.hosts[i].own);
    }
    free(job->far.hosts);
}
