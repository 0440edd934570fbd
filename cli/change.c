// SPDX-License-Identifier: BSD-3-Clause
//
// Nodes that come and go while the program runs, the launcher's part.
//
//   remove N   REMOVE to the root; REPORT says how far it is; the node ends by itself,
//              with DONE and exit code 0                        take_report, judge
//   add        a node is started (guest.c), a guest; when it has given its card, and
//              that is like the root's: NEWCOMER to all others, CARDS to it; when it is
//              READY and all others have PEERED: GO to it, ADMIT to the root; REPORT
//              says when it has joined: no guest any more
//
// A guest that ends before ADMIT has harmed nobody: the run goes on, its number is not
// given again. From ADMIT on its death is that of a node.
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "net/message.h"

/** How far the root says it is: enum membership_report of reconfig/membership.h. */
enum { REPORT_DONE, REPORT_WAITS, REPORT_REFUSED };

static unsigned count_live(const struct job *job)
{
    unsigned n = 0;

    for (unsigned i = 0; i < job->n_started; i++) {
        n += job->nodes[i].is_alive && !job->nodes[i].is_guest;
    }
    return n;
}

static void send_node(struct job *job, enum boot_kind kind, unsigned node)
{
    uint8_t body[WIRE_SIZE_boot_node];
    struct wire_writer writer = {.at = body, .end = body + sizeof body};

    wire_put_boot_node(&writer, &(struct wire_boot_node){(uint16_t)node});
    link_send(&job->nodes[0].link, kind, body, sizeof body);
}

// ---- what users ask for

static void tell_job(struct job *job, struct control_client *client)
{
    control_answer(client, 0, "%ld\t%s\t%u\t%.0f", (long)getpid(),
                   job->plan->argv[0], count_live(job), job_seconds(job));
}

static void ask_to_remove(struct job *job, struct control_client *client,
                          const char *text)
{
    char *end;
    unsigned long node = strtoul(text, &end, 10);

    if (end == text || *end != '\0') {
        control_answer(client, EXIT_USAGE, "'%s' is not a node's number", text);
    } else if (node >= job->n_started || !job->nodes[node].is_alive ||
               job->nodes[node].is_guest) {
        control_answer(client, EXIT_USAGE, "there is no node %lu", node);
    } else {
        client->node = (unsigned)node;
        send_node(job, BOOT_REMOVE, client->node);
    }
}

static void ask_to_add(struct job *job, struct control_client *client,
                       const char *host)
{
    if (job->n_started == TM_MAX_NODES) {
        control_answer(client, EXIT_CONFIG,
                       "the job has had %u nodes, there can be no more",
                       TM_MAX_NODES);
    } else if (job->has_guest || job->remote.coming != 0) {
        control_answer(client, EXIT_CONFIG,
                       "another node is just being added; try again");
    } else {
        client->node = job->n_started;
        guest_start(job, client, host);
    }
}

void change_request(void *owner, struct control_client *client,
                    const char *line)
{
    struct job *job = owner;

    client->node = TM_MAX_NODES; // none
    if (strcmp(line, "ps") == 0) {
        tell_job(job, client);
    } else if (strcmp(line, "watch") == 0) {
        client->watches = WATCHES;
    } else if (strcmp(line, "watch closely") == 0) {
        client->watches = WATCHES_CLOSELY;
    } else if (job->phase != JOB_RUNNING) {
        control_answer(
            client, EXIT_NODE_LOST,
            job->phase < JOB_RUNNING
                ? "the program has not begun yet; try again"
            : recovery_is_wanted(&job->recovery)
                ? "the job ends, or goes back to a checkpoint; try again then"
                : "the job ends");
    } else if (strcmp(line, "checkpoint") == 0) {
        saving_ask(job, client);
    } else if (strncmp(line, "remove ", 7) == 0) {
        ask_to_remove(job, client, line + 7);
    } else if (strcmp(line, "add") == 0 || strncmp(line, "add ", 4) == 0) {
        ask_to_add(job, client, line[3] == ' ' ? line + 4 : "");
    } else {
        control_answer(client, EXIT_USAGE, "what is '%s'?", line);
    }
}

// ---- a guest

static struct node *guest_of(struct job *job)
{
    return job->has_guest ? &job->nodes[job->n_started - 1] : NULL;
}

/** Who has an agent for himself has none any more.
 * @param has_files  of a checkpoint in memory, that others may need */
static void let_host_go(struct job *job, const struct node *node, int has_files)
{
    for (unsigned i = 0; i < job->n_started; i++) {
        if (job->nodes[i].host == node->host && job->nodes[i].is_alive &&
            job->nodes[i].id != node->id) {
            return;
        }
    }
    if (node->host > 0 && !has_files) {
        remote_retire(&job->remote.hosts[node->host - 1]);
    }
}

/** Do others need what a host has of checkpoints, when its nodes have left? Not if nobody has asked for
 * checkpoints: then the host is let go. */
static int is_relied_on(const struct job *job)
{
    return job->plan->is_in_memory && !job->plan->is_tried;
}

/** The guest is not wanted, or is gone. */
static void part_with(struct job *job, struct node *guest, int exit_code,
                      const char *why)
{
    job->has_guest = 0;
    job->guest_due_ns = 0;
    control_answer(control_asker(&job->control, guest->id), exit_code,
                   "node %u has not joined: %s", guest->id, why);
    if (guest->is_alive) {
        job_signal(job, guest, SIGKILL);
    }
    let_host_go(job, guest, 0);
}

void change_time_out(struct job *job)
{
    struct node *guest = guest_of(job);
    char why[128];

    if (guest == NULL) {
        guest_time_out(job);
        return;
    }
    snprintf(why, sizeof why, "it did not %s within %.0f s",
             guest->has_card ? "connect to the others" : "get to tm_init()",
             GUEST_JOIN_S * job->slowdown);
    part_with(job, guest, EXIT_NODE_LOST, why);
}

static void send_newcomer(struct job *job, struct node *guest)
{
    static uint8_t body[4 + BOOT_KEY_SIZE + NODE_CARD_MAX];
    struct wire_writer writer = {.at = body, .end = body + sizeof body};

    wire_put_u16(&writer, guest->id);
    wire_put_u16(&writer, guest->group);
    cards_put_key(job, &writer);
    writer.at +=
        cards_encode(guest, writer.at, (size_t)(writer.end - writer.at));
    for (unsigned i = 0; i < job->n_started; i++) {
        struct node *node = &job->nodes[i];

        node->owes_peered =
            node->is_alive && !node->is_guest && !node->has_left;
        if (node->owes_peered) {
            job->uses_tcp |= node->group != guest->group;
            link_send(&node->link, BOOT_NEWCOMER, body,
                      (size_t)(writer.at - body));
        }
    }
    explicit_bzero(body, sizeof body); // the key
}

void change_take_card(struct job *job, struct node *guest)
{
    static char text[1024];

    if (node_card_compare(&job->nodes[0].card, &guest->card, 0, guest->id, text,
                          sizeof text) != TM_OK) {
        part_with(job, guest, EXIT_MISMATCH, text);
        return;
    }
    control_say(control_asker(&job->control, guest->id),
                "node %u has started; the others connect with it", guest->id);
    send_newcomer(job, guest);
    (void)cards_send(job, guest->id, guest->id + 1u);
}

static int some_owe_peered(const struct job *job)
{
    for (unsigned i = 0; i < job->n_started; i++) {
        if (job->nodes[i].owes_peered && job->nodes[i].is_alive) {
            return 1;
        }
    }
    return 0;
}

/** The guest is ready, or another node is connected with it, or has left. */
static void admit_if_connected(struct job *job)
{
    struct node *guest = guest_of(job);

    if (guest == NULL || !guest->is_guest || !guest->is_ready ||
        some_owe_peered(job)) {
        return;
    }
    link_send(&guest->link, BOOT_GO, NULL, 0);
    send_node(job, BOOT_ADMIT, guest->id);
    guest->is_guest = 0;
    job->guest_due_ns = 0;
}

void change_take_ready(struct job *job, struct node *guest)
{
    guest->is_ready = 1;
    admit_if_connected(job);
}

tm_status change_take_peered(struct job *job, struct node *node,
                             const struct link_frame *frame)
{
    struct wire_reader reader = wire_read(frame->body, frame->size);
    struct node *guest = guest_of(job);
    const struct wire_boot_peered peered = wire_get_boot_peered(&reader);
    char why[512];

    if (guest == NULL || guest->id != peered.node || !node->owes_peered) {
        return TM_OK; // it has gone meanwhile
    }
    node->owes_peered = 0;
    if (peered.why[0] == '\0') {
        admit_if_connected(job);
    } else {
        snprintf(why, sizeof why, "%s cannot connect to it: %s", node->name,
                 peered.why);
        part_with(job, guest, EXIT_UNREACHABLE, why);
    }
    return TM_OK;
}

void change_guest_ended(struct job *job, struct node *guest, const char *why)
{
    if (guest == guest_of(job)) {
        part_with(job, guest, EXIT_NODE_LOST, why);
    } else {
        let_host_go(job, guest, is_relied_on(job));
    }
}

// ---- what the root says

static void note_joined(struct job *job, struct node *node,
                        struct control_client *client, const char *text)
{
    job->has_guest = 0;
    job->n_nodes = job->n_started;
    control_answer(client, 0, "node %u has joined%s%s", node->id,
                   text[0] != '\0' ? "; " : "", text);
    if (job->plan->is_verbose) {
        job_say(job, "%s has joined after %.1f s", node->name,
                job_seconds(job));
    }
}

tm_status change_take_report(struct job *job, const struct link_frame *frame)
{
    struct wire_reader reader = wire_read(frame->body, frame->size);
    const struct wire_boot_report got = wire_get_boot_report(&reader);
    const unsigned number = got.node;
    const unsigned report = got.report;
    const char *text = got.text;
    struct control_client *client;
    struct node *node;

    if (number >= job->n_started || report > REPORT_REFUSED) {
        return TM_EWIRE;
    }
    node = &job->nodes[number];
    client = control_asker(&job->control, number);
    job->n_changes += report == REPORT_DONE;
    if (report == REPORT_WAITS) {
        control_say(client, "node %u has not %s yet: %s", number,
                    got.comes ? "joined" : "left", text);
    } else if (report == REPORT_REFUSED && got.comes) {
        node->is_guest = 1;
        part_with(job, node, EXIT_CONFIG, text);
    } else if (report == REPORT_REFUSED) {
        control_answer(client, EXIT_USAGE, "node %u stays: %s", number, text);
    } else if (got.comes) {
        note_joined(job, node, client, text);
    } else {
        node->is_leaving = 1; // change_left() answers
        if (!node->is_alive && job_is_open(job)) {
            change_left(job, node); // its end was heard before the root
        }
    }
    return TM_OK;
}

void change_left(struct job *job, struct node *node)
{
    if (node->is_leaving) {
        control_answer(control_asker(&job->control, node->id), 0,
                       "node %u has left", node->id);
        job_say(job, "%s has left the run after %.1f s", node->name,
                job_seconds(job));
        let_host_go(job, node, is_relied_on(job));
        admit_if_connected(job);
    }
}
