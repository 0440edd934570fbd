// SPDX-License-Identifier: BSD-3-Clause
// The launcher's half of the conversation that cluster/bootstrap.h lists: cards
// are collected, compared and given to all; then all report that they are
// connected; then the program runs and this falls silent.
#include "job.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "net/message.h"

/** From one node's card to the next one's, and from one that is connected to the next:
 * hundreds of nodes may take longer in all. */
#define DEADLINE_S 30

static void set_deadline(struct job *job)
{
    if (job_is_open(job)) {
        job->deadline_ns = job_in_ns(job, DEADLINE_S);
    }
}

static void send_cards(struct job *job)
{
    if (cards_send(job, 0, job->n_nodes) == 0) {
        job->phase = JOB_CONNECTING;
        set_deadline(job);
    }
}

/** Say which hosts node 0 and another one are on. */
static void add_hosts(const struct job *job, unsigned other, char *text,
                      size_t size)
{
    size_t used = strlen(text);

    if (job->remote.n > 0 && used < size) {
        snprintf(text + used, size - used, "; they are %s and %s",
                 job->nodes[0].name, job->nodes[other].name);
    }
}

static void compare_cards(struct job *job)
{
    static char text[1024];

    for (unsigned i = 1; i < job->n_nodes; i++) {
        if (node_card_compare(&job->nodes[0].card, &job->nodes[i].card, 0,
                              (node_id)i, text, sizeof text) != TM_OK) {
            add_hosts(job, i, text, sizeof text);
            job_refuse(job, EXIT_MISMATCH, text);
            return;
        }
    }
    send_cards(job);
}

static tm_status take_card(struct job *job, struct node *node,
                           const struct link_frame *frame)
{
    size_t used = 0;

    if (node->has_card ||
        node_card_decode(frame->body, frame->size, &node->card, &used) !=
            TM_OK ||
        used != frame->size) {
        return TM_EWIRE;
    }
    node->has_card = 1;
    if (node->host == 0) {
        oom_note(&node->oom, node->pid);
    } else {
        remote_note(job, node);
    }
    if (node->is_guest) {
        change_take_card(job, node);
        return TM_OK;
    }
    job->n_cards++;
    set_deadline(job);
    rendezvous_check_mixture(job);
    if (job->phase == JOB_JOINING && job->n_cards == job->n_nodes) {
        compare_cards(job);
    }
    return TM_OK;
}

static tm_status take_ready(struct job *job, struct node *node)
{
    if (node->is_ready || job->phase == JOB_JOINING) {
        return TM_EWIRE;
    }
    if (node->is_guest) {
        change_take_ready(job, node);
        return TM_OK;
    }
    node->is_ready = 1;
    job->n_ready++;
    if (job->phase != JOB_CONNECTING || job->n_ready < job->n_nodes) {
        set_deadline(job);
        return TM_OK;
    }
    for (unsigned i = 0; i < job->n_nodes; i++) {
        link_send(&job->nodes[i].link, BOOT_GO, NULL, 0);
    }
    job->phase = JOB_RUNNING;
    job->deadline_ns = 0;
    if (job->plan->is_verbose) {
        job_say(job, "%u nodes are connected after %.3f s", job->n_nodes,
                job_seconds(job));
    }
    return TM_OK;
}

static void take_failure(struct job *job, struct node *node, int exit_code)
{
    if (!job_is_open(job) || node->is_guest) {
        return; // a guest ends alone
    }
    if (exit_code == EXIT_NODE_LOST && losses_are_own(job)) {
        return;
    }
    if (exit_code != 0) {
        job_say(job, "%s ends the run with exit code %d after %.1f s",
                node->name, exit_code, job_seconds(job));
    }
    job_stop(job, SIGTERM, exit_code);
    job->is_consequence = exit_code == EXIT_NODE_LOST;
}

static int code_in(const struct link_frame *frame)
{
    struct wire_reader reader = wire_read(frame->body, frame->size);

    return (int)(wire_get_boot_code(&reader).exit_code & 0xff);
}

static tm_status take_done(struct job *job, struct node *node)
{
    node->has_left = 1;
    if (node_is_root(node) && job_is_open(job)) {
        job_close(job);
    }
    return TM_OK;
}

static tm_status obey(struct job *job, struct node *node,
                      const struct link_frame *frame)
{
    switch (frame->kind) {
    case BOOT_CARD:
        return take_card(job, node, frame);
    case BOOT_READY:
        return take_ready(job, node);
    case BOOT_PROGRESS:
        return losses_take_progress(node, frame);
    case BOOT_HEARD:
        return remote_take_heard(job, frame);
    case BOOT_PEER:
        return losses_take_peer(job, node, frame);
    case BOOT_PEERED:
        return change_take_peered(job, node, frame);
    case BOOT_REPORT:
        return node_is_root(node) ? change_take_report(job, frame) : TM_EWIRE;
    case BOOT_FINDINGS:
        return node_is_root(node) ? run_report_take(job, frame) : TM_EWIRE;
    case BOOT_THREADS:
    case BOOT_PLACES:
    case BOOT_FORECAST:
    case BOOT_WORDS:
        return shown_take(job, node, frame);
    case BOOT_SAVED:
        return node_is_root(node) ? saving_take(job, frame) : TM_EWIRE;
    case BOOT_OUTSIDE:
        return recovery_note_outside(job, node, frame);
    case BOOT_FAILED:
        take_failure(job, node, code_in(frame));
        return TM_OK;
    case BOOT_DONE:
        return take_done(job, node);
    default:
        return TM_EWIRE;
    }
}

static void note_end_of_link(struct node *node)
{
    if (node->link.fd < 0 && node->cut_ns == 0) {
        node->cut_ns = clock_now_ns();
    }
}

void rendezvous_hear(struct job *job, struct node *node)
{
    struct link_frame frame;
    int found;

    link_receive(&node->link);
    note_end_of_link(node);
    while ((found = link_next(&node->link, &frame)) != 0) {
        if (found > 0 && obey(job, node, &frame) == TM_OK) {
            continue;
        }
        if (node->is_guest) {
            change_guest_ended(job, node,
                               "it sent nonsense over its control socket");
        } else if (job_is_open(job)) {
            job_say(job,
                    "%s sent nonsense over its control socket; does it write "
                    "to descriptors that are not its own?",
                    node->name);
            job_stop(job, SIGTERM, EXIT_INTERNAL);
        }
        link_close(&node->link);
        note_end_of_link(node);
        return;
    }
}

void rendezvous_check_mixture(struct job *job)
{
    char text[256];
    const struct node *early = NULL;
    const struct node *joined = NULL;

    for (unsigned i = 0; i < job->n_started; i++) {
        const struct node *node = &job->nodes[i];

        if (node->has_card && joined == NULL) {
            joined = node;
        } else if (!node->has_card && !node->is_alive && early == NULL) {
            early = node;
        }
    }
    if (early == NULL || joined == NULL || job->phase != JOB_JOINING) {
        return;
    }
    snprintf(text, sizeof text,
             "node %u (pid %d) ended with exit code %d "
             "before it joined the cluster, node %u has joined; every node "
             "must get to tm_init()",
             early->id, (int)early->pid, job->exit_code, joined->id);
    job_refuse(job, job->exit_code != 0 ? job->exit_code : EXIT_MISMATCH, text);
}

void rendezvous_tell_strangers(struct job *job)
{
    if (job->n_cards > 0 || job->n_nodes < 2 || job->phase == JOB_STOPPING ||
        job->exit_code != 0) {
        return;
    }
    job_say(job,
            "'%s' never called tm_init(): it ran %u times, each for itself; is "
            "it linked with Teamster?",
            job->plan->argv[0], job->n_nodes);
}

void rendezvous_time_out(struct job *job)
{
    char text[512];
    const char *what = job->phase == JOB_JOINING ? "get to tm_init()"
                                                 : "connect to the others";
    struct text list = {text, sizeof text, 0};

    text_add(&list, "after %.0f s, these nodes did not %s:", job_seconds(job),
             what);
    for (unsigned i = 0; i < job->n_nodes && list.length < sizeof text - 32;
         i++) {
        const struct node *node = &job->nodes[i];

        if (job->phase == JOB_JOINING ? !node->has_card : !node->is_ready) {
            text_add(&list, " %u (pid %d)", i, (int)node->pid);
        }
    }
    job_refuse(job, EXIT_NODE_LOST, text);
}
