// SPDX-License-Identifier: BSD-3-Clause
//
// Which lines of the program fault most. Each node counts by instruction (fault_lines.h); the
// root asks all at the end, and finds the lines, since the program is the same everywhere, at
// the same addresses. Several instructions of a line are one.
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "os/image.h"
#include "runtime/findings.h"
#include "runtime/node.h"

enum {
    NAMED_LEAST = 4,   // instructions whose lines are found in any case, ...
    LITTLE_PART = 100, // ... and more, until a hundredth of the waiting is left
};

struct lines_wait {
    struct wait wait;
    struct findings *findings;
};

static void answer(struct node *node, node_id to, uint32_t token)
{
    struct fault_line sorted[FAULT_LINES_TOLD];
    uint8_t body[FAULT_LINES_TOLD * WIRE_SIZE_line_counts];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {
        .type = MESSAGE_lines_are,
        .u.lines_are = {.token = token},
        .body = body,
    };
    const unsigned n =
        node->fault_lines != NULL
            ? fault_lines_sorted(node->fault_lines, sorted, FAULT_LINES_TOLD)
            : 0;

    for (unsigned i = 0; i < n; i++) {
        wire_put_line_counts(&writer,
                             &(struct wire_line_counts){
                                 .pc = sorted[i].pc,
                                 .reads = sorted[i].reads,
                                 .writes = sorted[i].writes,
                                 .wait_ns = fault_line_wait_ns(&sorted[i]),
                             });
    }
    message.body_size = (uint32_t)(writer.at - body);
    port_send(&node->port, to, &message);
}

static void accept(struct node *node, const struct message *message)
{
    struct lines_wait *wait =
        tokens_take(&node->calls, message->u.lines_are.token);
    struct wire_reader reader = wire_read_body(message);

    if (wait == NULL) {
        return;
    }
    while (wire_has_more(&reader)) {
        const struct wire_line_counts row = wire_get_line_counts(&reader);
        const struct fault_line line = {row.pc, row.reads, row.writes,
                                        row.wait_ns};

        fault_lines_add(wait->findings->fault_lines, &line);
    }
    waiter_wake(&wait->wait.waiter, reader.failed ? TM_EWIRE : TM_OK, 0);
}

void findings_receive_lines(struct node *node, node_id from,
                            const struct message *message)
{
    if (message->type == MESSAGE_lines_ask) {
        answer(node, from, message->u.lines_ask.token);
    } else {
        accept(node, message);
    }
}

void findings_ask_lines(struct node *node, unsigned id,
                        struct findings *findings)
{
    struct message message = {.type = MESSAGE_lines_ask};
    struct lines_wait wait = {.findings = findings};

    wait_init(&wait.wait);
    if (node_enter_to_ask(node, id)) {
        message.u.lines_ask.token = tokens_give(&node->calls, &wait);
        port_send(&node->port, (node_id)id, &message);
        if (wait_end(node, &wait.wait) != TM_OK) {
            log_error("which lines fault at node %u is not in the report", id);
        }
    }
}

/** To the line of an instruction, which is a new one or one that is there. */
static void add_line(struct findings *findings, const struct fault_line *line,
                     const char *where)
{
    struct finding_line *found = findings->lines;
    unsigned i = 0;

    while (i < findings->n_lines && strcmp(found[i].where, where) != 0) {
        i++;
    }
    if (i == findings->n_lines) {
        findings->n_lines++;
        snprintf(found[i].where, sizeof found[i].where, "%s", where);
    }
    found[i].reads += line->reads;
    found[i].writes += line->writes;
    found[i].wait_s += (double)fault_line_wait_ns(line) * 1e-9;
}

static int compare_waits(const void *left, const void *right)
{
    const struct finding_line *a = left;
    const struct finding_line *b = right;

    if ((a->where[0] == '\0') != (b->where[0] == '\0')) {
        return a->where[0] == '\0' ? 1 : -1; // others go last
    }
    return (a->wait_s < b->wait_s) - (a->wait_s > b->wait_s);
}

void findings_name_lines(struct findings *findings)
{
    // The last of them is of all others.
    struct fault_line sorted[FINDING_LINES];
    const unsigned n =
        fault_lines_sorted(findings->fault_lines, sorted, FINDING_LINES);
    uint64_t rest_ns = 0;
    uint64_t little_ns;

    for (unsigned i = 0; i < n; i++) {
        rest_ns += fault_line_wait_ns(&sorted[i]);
    }
    // To name one costs a process, so those that hardly matter are others.
    little_ns = rest_ns / LITTLE_PART;
    for (unsigned i = 0; i < n; i++) {
        char where[sizeof findings->lines->where] = "";

        if (sorted[i].pc != 0 && (i < NAMED_LEAST || rest_ns > little_ns)) {
            image_describe(sorted[i].pc, where, sizeof where);
        }
        add_line(findings, &sorted[i], where);
        rest_ns -= fault_line_wait_ns(&sorted[i]);
    }
    qsort(findings->lines, findings->n_lines, sizeof *findings->lines,
          compare_waits);
}
