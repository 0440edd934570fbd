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
#include "base/ensure.h"
#include "base/log.h"
#include "job.h"
#include "net/message.h"
#include "os/secret.h"

#define FINISH_MS 3000

/** Of nodes that have much memory, and that others need what is in. */
#define CLEAR_MS 9000

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
    if (frame->kind == MUX_CLEAR) {
        host->is_clear = 1;
        return;
    }
    if (stored_take(&host->stored, frame)) {
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
    struct wire_reader reader = wire_read(frame->body, frame->size);

    while (reader.at < reader.end) {
        const struct wire_boot_heard heard = wire_get_boot_heard(&reader);
        unsigned host;

        if (reader.failed || heard.node >= job->n_started) {
            return TM_EWIRE;
        }
        host = job->nodes[heard.node].host;
        if (host > 0 && heard.tenths < 255) {
            beat_hear_by_nodes(&job->remote.beat,
                               &job->remote.hosts[host - 1].life,
                               heard.tenths * UINT64_C(100000000));
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

static int all_have_answered(const struct remote *remote)
{
    for (unsigned i = 0; i < remote->n; i++) {
        if (!is_gone(&remote->hosts[i]) && !remote->hosts[i].is_clear) {
            return 0;
        }
    }
    return 1;
}

static void hear_end(struct remote_host *host)
{
    struct mux_frame frame;

    while (mux_next(&host->mux, &frame)) {
        host->is_clear |= frame.kind == MUX_CLEAR;
    }
}

/** Wait for the agents' ends of file, or for CLEAR, so long at most. */
static void wait_for_agents(struct job *job, unsigned most_ms)
{
    struct remote *remote = &job->remote;
    struct pollfd *set = calloc(remote_n_polled(remote), sizeof *set);
    uint64_t end_ns = clock_now_ns() +
                      (uint64_t)(most_ms * job->slowdown) * UINT64_C(1000000);

    while (set != NULL && !all_have_answered(remote) &&
           clock_now_ns() < end_ns) {
        remote_say_alive(remote);
        remote_fill(remote, set);
        poll(set, remote_n_polled(remote), 100);
        remote_move(remote, set, clock_now_ns());
        for (unsigned i = 0; i < remote->n; i++) {
            hear_end(&remote->hosts[i]);
        }
    }
    free(set);
}

static void say_bye(struct remote_host *host)
{
    if (host->has_hello && !host->is_lost) {
        mux_send(&host->mux, MUX_BYE, 0, NULL, 0);
    } else {
        host->mux.is_broken = 1;
        host->is_lost = 1;
    }
}

/** Nothing leads to it any more. */
static void close_host(struct job *job, struct remote_host *host)
{
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

static void forget_key(struct job *job)
{
    secret_free(job->key, BOOT_KEY_SIZE);
    job->key = NULL;
}

void remote_finish(struct job *job)
{
    struct remote *remote = &job->remote;

    for (unsigned i = 0; i < remote->n; i++) {
        remote->hosts[i].is_clear = 0;
        say_bye(&remote->hosts[i]);
    }
    if (remote->n > 0) {
        wait_for_agents(job, FINISH_MS);
    }
    for (unsigned i = 0; i < remote->n; i++) {
        close_host(job, &remote->hosts[i]);
    }
    forget_key(job);
}

// ---- the run goes back ----

/** The plan that its name is of goes. */
static void own_name(struct remote_host *host)
{
    if (host->own == NULL) {
        host->own = calloc(1, sizeof *host->own);
        ensure_memory(host->own != NULL);
        snprintf(host->own->name, sizeof host->own->name, "%s", host->name);
        snprintf(host->own->address, sizeof host->own->address, "%s",
                 host->address);
    }
    host->name = host->own->name;
    host->address = host->own->address;
}

void remote_clear(struct job *job, const uint8_t *is_of_no_use)
{
    struct remote *remote = &job->remote;

    for (unsigned i = 0; i < remote->n; i++) {
        struct remote_host *host = &remote->hosts[i];

        host->is_clear = 0;
        if (is_of_no_use[i] || host->is_over) {
            say_bye(host);
        } else {
            mux_send(&host->mux, MUX_AGAIN, 0, NULL, 0);
        }
    }
    if (remote->n > 0) {
        wait_for_agents(job, CLEAR_MS);
    }
    for (unsigned i = 0; i < remote->n; i++) {
        struct remote_host *host = &remote->hosts[i];

        own_name(host);
        if (host->is_clear) {
            mux_forget(&host->mux);
        } else {
            close_host(job, host);
        }
    }
    forget_key(job);
}

static void release_host(struct remote_host *host)
{
    free(host->nodes);
    free(host->own);
    stored_forget(&host->stored);
}

void remote_keep_clear(struct remote *remote)
{
    unsigned n_kept = 0;

    for (unsigned i = 0; i < remote->n; i++) {
        struct remote_host *host = &remote->hosts[i];

        if (host->is_clear) {
            host->n_nodes = 0;
            host->is_suspect = 0;
            remote->hosts[n_kept++] = *host;
        } else {
            release_host(host);
        }
    }
    remote->n = n_kept;
    remote->device[0] = '\0';
    remote->coming = 0;
    remote->is_started = 0;
}

unsigned remote_list_reachers(const struct remote *remote, pid_t *pids)
{
    unsigned n = 0;

    for (unsigned i = 0; i < remote->n; i++) {
        if (remote->hosts[i].is_clear) {
            pids[n++] = remote->hosts[i].ssh;
        }
    }
    return n;
}

void remote_release(struct job *job)
{
    for (unsigned i = 0; i < job->remote.n; i++) {
        release_host(&job->remote.hosts[i]);
    }
    free(job->remote.hosts);
}
