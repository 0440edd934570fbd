// SPDX-License-Identifier: BSD-3-Clause
//
// --report, this side: the root gathers what it and the others know, and tells the launcher
// at the end, which makes a page or a file of it (cli/report_file.c). While the program runs
// nothing is asked of anybody: the scheme's history hands on what it was told anyway
// (reconfig/chronicle.h), and each node counts its pages' events by place (pages/places.h).
#include "runtime/findings.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "runtime/balancing.h"
#include "runtime/cluster_capacity.h"
#include "runtime/node.h"
#include "runtime/threads.h"

/** Of all nodes: one's are PLACES_MAX and the others. */
#define PLACES_OF_ALL (4 * PLACES_MAX)

// ---- while the program runs

static void open_counts(struct node *node)
{
    if (!findings_is_wanted(node)) {
        return;
    }
    ensure_memory(engine_count_places(node->engine) == TM_OK);
    node->fault_lines = fault_lines_new();
    ensure_memory(node->fault_lines != NULL);
    if (node->self == 0) {
        node->chronicle = chronicle_new();
    }
}

// ---- places of other nodes

static void answer(struct node *node, node_id to, uint32_t token)
{
    enum {
        ROW = WIRE_SIZE_place_counts + sizeof((struct place *)0)->name +
              sizeof((struct place *)0)->file
    };
    unsigned n;
    const struct place *places = engine_places(node->engine, &n);
    uint8_t body[(PLACES_MAX + 1) * ROW];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {
        .type = MESSAGE_places_are,
        .u.places_are = {.token = token},
        .body = body,
    };

    for (unsigned i = 0; i < n; i++) {
        wire_put_place_counts(&writer,
                              &(struct wire_place_counts){
                                  .n_pages = places[i].n_pages,
                                  .reads = places[i].n[PLACE_READ_FAULT],
                                  .writes = places[i].n[PLACE_WRITE_FAULT],
                                  .fetches = places[i].n[PLACE_FETCH],
                                  .diffs = places[i].n[PLACE_DIFF],
                                  .line = places[i].line,
                                  .name = places[i].name,
                                  .file = places[i].file,
                              });
    }
    message.body_size = (uint32_t)(writer.at - body);
    port_send(&node->port, to, &message);
}

struct places_wait {
    struct wait wait;
    struct findings *findings;
};

static int is_same_place(const struct place *place,
                         const struct wire_place_counts *row)
{
    return place->line == row->line && strcmp(place->name, row->name) == 0 &&
           strcmp(place->file, row->file) == 0;
}

// A node's counts of a place are added to those of others. What is left out when there are
// too many goes to the last row.
static void add_place(struct findings *findings,
                      const struct wire_place_counts *row)
{
    struct place *place = findings->places;
    unsigned i = 0;

    while (i < findings->n_places && !is_same_place(&place[i], row)) {
        i++;
    }
    i = i < PLACES_OF_ALL ? i : PLACES_OF_ALL - 1;
    if (i == findings->n_places) {
        findings->n_places++;
        snprintf(place[i].name, sizeof place[i].name, "%s", row->name);
        snprintf(place[i].file, sizeof place[i].file, "%s", row->file);
        place[i].line = row->line;
    }
    place[i].n_pages =
        row->n_pages > place[i].n_pages ? row->n_pages : place[i].n_pages;
    findings->n_writers[i] += row->writes > 0;
    place[i].n[PLACE_READ_FAULT] += row->reads;
    place[i].n[PLACE_WRITE_FAULT] += row->writes;
    place[i].n[PLACE_FETCH] += row->fetches;
    place[i].n[PLACE_DIFF] += row->diffs;
}

static void accept(struct node *node, const struct message *message)
{
    struct places_wait *wait =
        tokens_take(&node->calls, message->u.places_are.token);
    struct wire_reader reader = wire_read_body(message);

    if (wait == NULL) {
        return;
    }
    while (wire_has_more(&reader)) {
        const struct wire_place_counts row = wire_get_place_counts(&reader);

        add_place(wait->findings, &row);
    }
    waiter_wake(&wait->wait.waiter, reader.failed ? TM_EWIRE : TM_OK, 0);
}

static tm_status receive(struct node *node, node_id from,
                         const struct message *message)
{
    if (message->type == MESSAGE_places_ask) {
        answer(node, from, message->u.places_ask.token);
    } else if (message->type == MESSAGE_places_are) {
        accept(node, message);
    } else {
        findings_receive_lines(node, from, message);
    }
    return TM_OK;
}

static void ask_places(struct node *node, unsigned id,
                       struct findings *findings)
{
    struct message message = {.type = MESSAGE_places_ask};
    struct places_wait wait = {.findings = findings};

    wait_init(&wait.wait);
    if (node_enter_to_ask(node, id)) {
        message.u.places_ask.token = tokens_give(&node->calls, &wait);
        port_send(&node->port, (node_id)id, &message);
        if (wait_end(node, &wait.wait) != TM_OK) {
            log_error("what happened to pages at node %u is not in the report",
                      id);
        }
    }
}

// ---- the end

// Under the node lock.
static void describe_node(struct node *node, unsigned i,
                          struct finding_node *found)
{
    const struct node_capacity *capacity = capacity_of(node, i);

    capacity_name(node->capacity.nodes, node->n_nodes, i, i, found->name,
                  sizeof found->name);
    snprintf(found->host, sizeof found->host, "%s", capacity->host);
    found->power = roster_has(&node->port.roster, (node_id)i)
                       ? cluster_power(node, (node_id)i)
                       : node->chronicle->nodes[i].power;
    found->declared_speed = capacity->declared_speed;
    found->share = capacity->share;
    found->n_processors = capacity->n_processors;
    found->n_workers = capacity->n_workers;
}

static void gather_nodes(struct node *node, struct findings *findings)
{
    node_enter(node);
    for (unsigned i = 0; i < findings->n_nodes; i++) {
        describe_node(node, i, &findings->nodes[i]);
    }
    node_leave(node);
    for (unsigned i = 0; i < findings->n_nodes; i++) {
        struct finding_node *found = &findings->nodes[i];

        found->is_there = tm_stats(i, &found->stats) == TM_OK;
        ask_places(node, i, findings);
        findings_ask_lines(node, i, findings);
    }
}

/** What a profile is made of. */
struct look_back {
    struct remap plan;
    struct profile profile;
    struct correction *corrections; ///< [n_nodes]
    double *times_s;                ///< [2 * n_nodes]
};

static const char *why_not(struct node *node, tm_status status)
{
    if (node->scheme == NULL) {
        return "the run had one node only";
    }
    if (node->chronicle->n_iterations == 0) {
        return "the program never called tm_iteration_end() where a round of "
               "its work ends (docs/api.md)";
    }
    return status == TM_ESTATE
               ? "the run ended while its threads were moving or had just "
                 "moved: no iteration shows what the last mapping is like"
               : "there was no memory for it";
}

// Under the node lock.
static void look_back(struct node *node, struct findings *findings,
                      struct look_back *look)
{
    const unsigned n = node->port.roster.n_live;
    tm_status status = TM_ESTATE;

    look->corrections = calloc(n, sizeof *look->corrections);
    look->times_s = calloc(2 * (size_t)n, sizeof *look->times_s);
    ensure_memory(look->corrections != NULL && look->times_s != NULL);
    if (node->scheme != NULL) {
        chronicle_note_threads(node->chronicle, scheme_history(node->scheme));
        status = scheme_look_back(node->scheme, &look->plan, look->corrections);
    }
    if (status != TM_OK) {
        findings->no_profile = why_not(node, status);
        return;
    }
    profile_fill(node, &look->profile, &look->plan, look->times_s);
    look->profile.decision = (struct profile_decision){0};
    findings->profile = &look->profile;
    findings->n_samples = history_n_since_restart(scheme_history(node->scheme));
    findings->clock_s = history_iteration_s(scheme_history(node->scheme));
}

// In frames that the kernel takes whole: others of this node's threads write there, too.
static void tell(struct node *node, const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        const size_t n =
            size - at < BOOT_FINDINGS_MAX ? size - at : BOOT_FINDINGS_MAX;

        node_enter(node);
        bootstrap_tell_findings(&node->bootstrap, text + at, n);
        node_leave(node);
        at += n;
    }
    node_enter(node);
    bootstrap_tell_findings(&node->bootstrap, "", 0);
    node_leave(node);
}

static tm_status write_text(const struct findings *findings, char **text,
                            size_t *size)
{
    FILE *file = open_memstream(text, size);
    tm_status status;

    if (file == NULL) {
        return TM_ENOMEM;
    }
    status = findings_write(file, findings);
    return fclose(file) != 0 && status == TM_OK ? TM_ENOMEM : status;
}

static void write_and_tell(struct node *node, struct findings *findings)
{
    char *text = NULL;
    size_t size = 0;
    tm_status status = write_text(findings, &text, &size);

    if (status == TM_EINVAL && findings->profile != NULL) {
        free(text);
        text = NULL;
        findings->profile = NULL;
        findings->no_profile = "what was measured makes no sense to the model";
        status = write_text(findings, &text, &size);
    }
    if (status == TM_OK) {
        tell(node, text, size);
    } else {
        log_error("there is no report: %s", tm_strerror(status));
    }
    free(text);
}

static void tell_findings(struct node *node)
{
    struct look_back look = {0};
    struct findings findings = {
        .seconds = (double)(clock_now_ns() - node->start_ns) * 1e-9,
        .options = &node->options,
        .n_nodes = node->n_nodes,
        .nodes = calloc(node->n_nodes, sizeof *findings.nodes),
        .chronicle = node->chronicle,
        .places = calloc(PLACES_OF_ALL, sizeof *findings.places),
        .n_writers = calloc(PLACES_OF_ALL, sizeof *findings.n_writers),
        .fault_lines = fault_lines_new(),
        .lines = calloc(FINDING_LINES, sizeof *findings.lines),
    };

    ensure_memory(findings.nodes != NULL && findings.places != NULL &&
                  findings.n_writers != NULL && findings.fault_lines != NULL &&
                  findings.lines != NULL);
    gather_nodes(node, &findings);
    findings_name_lines(&findings);
    node_enter(node);
    look_back(node, &findings, &look);
    node_leave(node);
    write_and_tell(node, &findings);
    remap_release(&look.plan);
    free(look.corrections);
    free(look.times_s);
    free(findings.nodes);
    free(findings.places);
    free(findings.n_writers);
    fault_lines_free(findings.fault_lines);
    free(findings.lines);
}

// Nodes are asked, which a thread only can do.
static void finish(struct node *node)
{
    const struct thread *thread = thread_self();

    if (node->chronicle == NULL || thread == NULL || thread->number != 0) {
        return;
    }
    if (!bootstrap_has_launcher(&node->bootstrap)) {
        log_error("--report is for \"teamster run\": nobody else writes it");
        return;
    }
    tell_findings(node);
}

static void close_counts(struct node *node)
{
    chronicle_free(node->chronicle);
    node->chronicle = NULL;
    fault_lines_free(node->fault_lines);
    node->fault_lines = NULL;
}

const struct part part_findings = {
    .open = open_counts,
    .owns = OWNER_report,
    .receive = receive,
    .save = parts_save_nothing,
    .finish = finish,
    .close = close_counts,
};
