// SPDX-License-Identifier: BSD-3-Clause
//
// What ends a run, and with which exit code.
//
//   event                                          exit code        others
//   the root exits                                 its code         may go
//   a node says FAILED c                           c                stopped
//   a node dies of its own signal n (SIGSEGV ...)  128 + n          stopped
//   a node is killed (SIGKILL, SIGTERM ...)        75               stopped
//   the kernel kills it for memory                 71               stopped
//   another node exits with c before the end       c, 75 for 0      stopped
//   nodes exit that have not joined                the highest      run on
//   a node that leaves exits (change.c)            -                run on
//   SIGINT, SIGTERM, SIGHUP, SIGQUIT               130 143 129 131  stopped
//
// "Before the end" is before the root has said DONE. What happens after the
// first of these makes no difference, with one exception: a node that gives up
// because it lost another one (75) may be heard before the other's death is
// seen; the death then counts.
//
// Stopping is STOP over the control socket, SIGTERM to all groups after 1 s,
// SIGKILL after 3 s. Nodes that have not joined do not hear STOP and get the
// signal itself at once; those that were given up for their silence are killed at
// once. Closing is the same without the root, which may do what it likes after
// tm_end(), and with more patience.
#include "job.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "net/message.h"
#include "process_end.h"

#define SECOND_NS 1000000000.0
#define STOP_TERM_S 1
#define STOP_KILL_S 3
#define CLOSE_TERM_S 4
#define CLOSE_KILL_S 6
#define CUT_S 1

/** A limit of processes and kernel threads that is worth a word. */
#define FEW_TASKS 1000

static void signal_all(struct job *job, int signal)
{
    for (unsigned i = job->phase == JOB_CLOSING; i < job->n_started; i++) {
        job_signal(job, &job->nodes[i], signal);
    }
}

void job_kill(struct job *job)
{
    job->stop_step = 2;
    signal_all(job, SIGKILL);
}

static void lose_node(struct job *job, struct node *node, int exit_code,
                      const char *how, const char *hint)
{
    char when[128];

    // A death explains what a survivor has complained about.
    if (job->phase == JOB_STOPPING && job->is_consequence) {
        job->exit_code = exit_code;
        job->is_consequence = 0;
    }
    losses_describe(job, node->told.n_threads, when, sizeof when);
    job_say(job, "%s died: %s %s%s", node->name, how, when, hint);
    if (node->has_card && job->phase <= JOB_CONNECTING) {
        for (unsigned i = 0; i < job->n_started; i++) {
            job_send_refusal(&job->nodes[i], exit_code, how);
        }
    }
    job_stop(job, SIGTERM, exit_code);
}

// The process of a node has ended, or is out of reach.
static void bury(struct job *job, struct node *node)
{
    node->is_alive = 0;
    job->n_alive--;
    if (job->n_alive == 0) {
        job->ended_ns = clock_now_ns();
    }
}

void job_lose_host(struct job *job, unsigned host, const char *why)
{
    unsigned n_all = 0;
    unsigned n_lost = 0;
    unsigned n_untold = 0;
    unsigned n_threads = 0;
    char when[128];

    for (unsigned i = 0; i < job->n_started; i++) {
        struct node *node = &job->nodes[i];

        n_all += node->is_alive && !node->is_guest;
        if (node->host == host && node->is_alive && node->is_guest) {
            bury(job, node);
            snprintf(when, sizeof when, "its host is lost: %s", why);
            change_guest_ended(job, node, when);
        } else if (node->host == host && node->is_alive) {
            bury(job, node);
            n_lost++;
            n_untold += !node->is_lost;
            n_threads += node->told.n_threads;
        }
    }
    if (n_lost == 0 || losses_are_own(job)) {
        return;
    }
    if (job->phase != JOB_STOPPING || (job->is_consequence && n_untold > 0)) {
        losses_describe(job, n_threads, when, sizeof when);
        job_say(job, "host %s is lost, with %u of %u nodes: %s, %s",
                job->remote.hosts[host - 1].name, n_lost, n_all, why, when);
    }
    job_stop(job, SIGTERM, EXIT_NODE_LOST);
}

/** Has it died by itself though the run is being stopped? Nothing but STOP has been sent
 * to it yet, which no node answers by dying of a signal. */
static int died_as_well(const struct job *job, const struct node *node)
{
    return job->phase == JOB_STOPPING && job->stop_step == 0 &&
           node->has_card && !node->is_put_down && job->n_started > 1;
}

/** UCX aborts its process if it gets no kernel thread. */
static const char *hint_of_signal(const struct job *job,
                                  const struct node *node, int signal)
{
    struct rlimit limit;

    return signal == SIGABRT && node->host == 0 &&
                   job->phase <= JOB_CONNECTING &&
                   getrlimit(RLIMIT_NPROC, &limit) == 0 &&
                   limit.rlim_cur < FEW_TASKS
               ? "; see ulimit -u, which may be too low for so many nodes"
               : "";
}

static void judge_signal(struct job *job, struct node *node, int code,
                         int signal)
{
    char how[64];
    int is_cause = job_is_open(job) ||
                   (job->phase == JOB_CLOSING && node_is_root(node)) ||
                   (job->is_consequence && died_as_well(job, node));

    if (node->is_guest) {
        process_end_describe(code, signal, how, sizeof how);
        change_guest_ended(job, node, how);
    } else if (is_cause && losses_are_own(job)) {
        return;
    } else if (is_cause && signal == SIGKILL && node->oom_kill[0] != '\0') {
        lose_node(job, node, EXIT_MEMORY, node->oom_kill,
                  " Use fewer threads there, or --memory.");
    } else if (is_cause) {
        process_end_describe(code, signal, how, sizeof how);
        lose_node(job, node, process_end_code(signal), how,
                  hint_of_signal(job, node, signal));
    } else if (died_as_well(job, node)) {
        process_end_describe(code, signal, how, sizeof how);
        job_say(job, "%s died as well: %s", node->name,
                node->oom_kill[0] != '\0' ? node->oom_kill : how);
    }
}

static void judge_root_exit(struct job *job, int exit_code)
{
    if (job_is_open(job)) {
        job_close(job);
    }
    if (job->phase == JOB_CLOSING) {
        job->exit_code = exit_code;
    }
}

static void judge_exit(struct job *job, struct node *node, int exit_code)
{
    char how[64];

    if (node->is_guest) {
        snprintf(how, sizeof how, "it has ended with exit code %d", exit_code);
        change_guest_ended(job, node, how);
    } else if (!node->has_card) {
        if (job->phase != JOB_STOPPING && exit_code > job->exit_code) {
            job->exit_code = exit_code;
        }
        rendezvous_check_mixture(job);
    } else if (node_is_root(node)) {
        judge_root_exit(job, exit_code);
    } else if (exit_code == EXIT_NODE_LOST && losses_are_own(job)) {
        return;
    } else if (job_is_open(job) && (exit_code != 0 || !node->has_left)) {
        job_say(job,
                "%s ended with exit code %d after %.1f s, "
                "before the program had ended",
                node->name, exit_code, job_seconds(job));
        job_stop(job, SIGTERM, exit_code != 0 ? exit_code : EXIT_NODE_LOST);
        job->is_consequence = job->exit_code == EXIT_NODE_LOST;
    } else if (job_is_open(job)) {
        change_left(job, node);
    }
}

void job_judge(struct job *job, struct node *node, int code, int status)
{
    bury(job, node);
    node->code = code;
    node->status = status;
    if (code == CLD_EXITED) {
        judge_exit(job, node, status);
    } else {
        judge_signal(job, node, code, status);
    }
}

/** When a step of stopping or closing is due. */
static uint64_t step_ns(const struct job *job)
{
    static const int after_s[2][2] = {{STOP_TERM_S, STOP_KILL_S},
                                      {CLOSE_TERM_S, CLOSE_KILL_S}};

    if (job_is_open(job) || job->stop_step >= 2) {
        return UINT64_MAX;
    }
    return job->stop_ns +
           (uint64_t)(after_s[job->phase == JOB_CLOSING][job->stop_step] *
                      job->slowdown * SECOND_NS);
}

/** When a node whose link has closed, and whose process lives, is given up. */
static uint64_t cut_due_ns(const struct job *job, const struct node *node)
{
    if (node->cut_ns == 0 || !node->is_alive || !node->has_card ||
        node->is_guest || node->has_left || !job_is_open(job)) {
        return UINT64_MAX;
    }
    return node->cut_ns + (uint64_t)(CUT_S * job->slowdown * SECOND_NS);
}

void job_advance(struct job *job, uint64_t now_ns)
{
    if (job->deadline_ns != 0 && job->deadline_ns <= now_ns) {
        rendezvous_time_out(job);
    }
    if (job->guest_due_ns != 0 && job->guest_due_ns <= now_ns) {
        change_time_out(job);
    }
    for (unsigned i = 0; i < job->n_started; i++) {
        struct node *node = &job->nodes[i];

        if (cut_due_ns(job, node) <= now_ns) {
            job_say(job, "%s closed its control socket after %.1f s",
                    node->name, job_seconds(job));
            job_stop(job, SIGTERM, EXIT_NODE_LOST);
        }
    }
    if (step_ns(job) <= now_ns) {
        job->stop_step++;
        signal_all(job, job->stop_step == 1 ? SIGTERM : SIGKILL);
    }
}

uint64_t job_due_ns(const struct job *job)
{
    uint64_t due_ns = step_ns(job);

    if (job->deadline_ns != 0 && job->deadline_ns < due_ns) {
        due_ns = job->deadline_ns;
    }
    if (job->guest_due_ns != 0 && job->guest_due_ns < due_ns) {
        due_ns = job->guest_due_ns;
    }
    for (unsigned i = 0; i < job->n_started; i++) {
        uint64_t cut_ns = cut_due_ns(job, &job->nodes[i]);

        due_ns = cut_ns < due_ns ? cut_ns : due_ns;
    }
    return due_ns;
}
