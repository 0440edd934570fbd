// SPDX-License-Identifier: BSD-3-Clause
//
// Other hosts: the connections to their agents. A node's control socket and output are
// files of this process like those of a node here, with the connection to the agent (mux.c)
// behind them. What else the agents say is noted here; far_open.c, guest.c and far_look.c
// do what follows of it.
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

void far_pass_words_on(struct job *job, struct far_host *host)
{
    char bytes[1024];
    ssize_t size;

    while (host->words_fd >= 0 &&
           (size = read(host->words_fd, bytes, sizeof bytes - 1)) > 0) {
        bytes[size - (bytes[size - 1] == '\n')] = '\0';
        job_say(job, "%s: %s", host->name, bytes);
    }
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

void far_give_up(const struct far *far, struct far_host *host)
{
    if (host->why[0] == '\0') {
        snprintf(host->why, sizeof host->why, "silent for %.0f s",
                 beat_lost_s(&far->beat));
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

uint64_t far_due_ns(const struct far *far)
{
    return far->n > 0
               ? far->beat.watch.looked_ns + BEAT_POLL_MS * UINT64_C(1000000)
               : UINT64_MAX;
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
            far_pass_words_on(job, host);
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
