// SPDX-License-Identifier: BSD-3-Clause
//
// Other hosts: the connections to their agents. A node's control socket and output are
// files of this process like those of a node here, with the connection to the agent (mux.c)
// behind them. What else the agents say is noted here; remote_open.c, guest.c and remote_poll.c
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

size_t remote_n_polled(const struct remote *remote)
{
    size_t n = 0;

    for (unsigned i = 0; i < remote->n; i++) {
        n += mux_n_polled(&remote->hosts[i].mux);
    }
    return n;
}

void remote_fill(const struct remote *remote, struct pollfd *set)
{
    for (unsigned i = 0; i < remote->n; i++) {
        mux_fill(&remote->hosts[i].mux, set);
        set += mux_n_polled(&remote->hosts[i].mux);
    }
}

void remote_move(struct remote *remote, const struct pollfd *set,
                 uint64_t now_ns)
{
    for (unsigned i = 0; i < remote->n; i++) {
        mux_move(&remote->hosts[i].mux, set, now_ns);
        set += mux_n_polled(&remote->hosts[i].mux);
    }
}

void remote_take(struct remote_host *host, const struct mux_frame *frame)
{
    struct wire_reader reader = wire_read(frame->body, frame->size);
    struct remote_node *node;

    if (frame->kind == MUX_BEAT) {
        return;
    }
    if (frame->node >= host->n_nodes) {
        host->mux.is_broken = 1;
        return;
    }
    node = &host->nodes[frame->node];
    if (frame->kind == MUX_STARTED) {
        node->pid = (pid_t)wire_get_agent_number(&reader).number;
    } else if (frame->kind == MUX_FAILED) {
        const struct wire_agent_failure failure =
            wire_get_agent_failure(&reader);

        node->error = (int)failure.error;
        snprintf(node->what, sizeof node->what, "%s", failure.what);
    } else if (frame->kind == MUX_EXIT) {
        const struct wire_agent_exit got = wire_get_agent_exit(&reader);

        node->code = (int)got.code;
        node->status = (int)got.status;
        snprintf(node->oom_kill, sizeof node->oom_kill, "%s", got.oom_kill);
        node->has_ended = 1;
    } else {
        host->mux.is_broken = 1;
    }
}

void remote_pass_words_on(struct job *job, struct remote_host *host)
{
    char bytes[1024];
    ssize_t size;

    while (host->words_fd >= 0 &&
           (size = read(host->words_fd, bytes, sizeof bytes - 1)) > 0) {
        bytes[size - (bytes[size - 1] == '\n')] = '\0';
        job_say(job, "%s: %s", host->name, bytes);
    }
}

enum beat_state remote_listen(struct remote *remote, struct remote_host *host,
                              int is_due)
{
    if (!host->has_hello) {
        return BEAT_ALIVE;
    }
    if (is_due) {
        mux_send(&host->mux, MUX_BEAT, 0, NULL, 0);
    }
    beat_hear(&remote->beat, &host->life, host->mux.heard_ns);
    return beat_of(&remote->beat, &host->life);
}

void remote_say_alive(struct remote *remote)
{
    if (remote->n == 0 || !beat_is_due(&remote->beat, clock_now_ns())) {
        return;
    }
    for (unsigned i = 0; i < remote->n; i++) {
        mux_send(&remote->hosts[i].mux, MUX_BEAT, 0, NULL, 0);
    }
}

void remote_give_up(const struct remote *remote, struct remote_host *host)
{
    if (host->why[0] == '\0') {
        snprintf(host->why, sizeof host->why, "silent for %.0f s",
                 beat_lost_s(&remote->beat));
    }
}

tm_status remote_take_heard(struct job *job, const struct link_frame *frame)
{
    if (frame->size > job->n_started) {
        return TM_EWIRE;
    }
    for (unsigned i = 0; i < frame->size; i++) {
        unsigned host = job->nodes[i].host;

        if (host > 0 && frame->body[i] < 255) {
            beat_hear_by_nodes(&job->remote.beat,
                               &job->remote.hosts[host - 1].life,
                               frame->body[i] * UINT64_C(100000000));
        }
    }
    return TM_OK;
}

uint64_t remote_due_ns(const struct remote *remote)
{
    return remote->n > 0
               ? remote->beat.watch.polled_ns + BEAT_POLL_MS * UINT64_C(1000000)
               : UINT64_MAX;
}

void remote_note(struct job *job, const struct node *node)
{
    mux_send(&job->remote.hosts[node->host - 1].mux, MUX_NOTE, node->index,
             NULL, 0);
}

// ---- the end ----

void remote_retire(struct remote_host *host)
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

static int is_gone(const struct remote_host *host)
{
    return host->ssh <= 0 || host->mux.in < 0 || host->is_lost;
}

static int all_are_gone(const struct remote *remote)
{
    for (unsigned i = 0; i < remote->n; i++) {
        if (!is_gone(&remote->hosts[i])) {
            return 0;
        }
    }
    return 1;
}

/** Wait for the agents' ends of file. */
static void wait_for_agents(struct job *job)
{
    struct remote *remote = &job->remote;
    struct pollfd *set = calloc(remote_n_polled(remote), sizeof *set);
    uint64_t end_ns = clock_now_ns() +
                      (uint64_t)(FINISH_MS * job->slowdown) * UINT64_C(1000000);

    while (set != NULL && !all_are_gone(remote) && clock_now_ns() < end_ns) {
        struct mux_frame frame;

        remote_fill(remote, set);
        poll(set, remote_n_polled(remote), 100);
        remote_move(remote, set, clock_now_ns());
        for (unsigned i = 0; i < remote->n; i++) {
            while (mux_next(&remote->hosts[i].mux, &frame)) {
            }
        }
    }
    free(set);
}

void remote_finish(struct job *job)
{
    struct remote *remote = &job->remote;

    for (unsigned i = 0; i < remote->n; i++) {
        struct remote_host *host = &remote->hosts[i];

        if (host->has_hello && !host->is_lost) {
            mux_send(&host->mux, MUX_BYE, 0, NULL, 0);
        } else {
            host->mux.is_broken = 1;
            host->is_lost = 1;
        }
    }
    if (remote->n > 0) {
        wait_for_agents(job);
    }
    for (unsigned i = 0; i < remote->n; i++) {
        struct remote_host *host = &remote->hosts[i];

        host->is_lost |= !is_gone(host);
        if (host->ssh > 0) {
            kill(host->ssh, SIGKILL);
            waitpid(host->ssh, NULL, 0);
        }
        if (host->words_fd >= 0) {
            remote_pass_words_on(job, host);
            close(host->words_fd);
        }
        mux_close(&host->mux);
        buffer_release(&host->words);
    }
    secret_free(job->key, BOOT_KEY_SIZE);
}

void remote_release(struct job *job)
{
    for (unsigned i = 0; i < job->remote.n; i++) {
        free(job->remote.hosts[i].nodes);
        free(job->remote.hosts[i].own);
    }
    free(job->remote.hosts);
}
