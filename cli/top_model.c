// SPDX-License-Identifier: BSD-3-Clause
//
// What a launcher tells are sums since the start; what one wants to see is the difference of
// two lines, and what has happened between them.
#include "top.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/ensure.h"

// ---- reading

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static uint64_t count_of(const json_t *object, const char *key)
{
    const json_int_t value = json_integer_value(json_object_get(object, key));

    return value > 0 ? (uint64_t)value : 0;
}

static void copy_text(const json_t *object, const char *key, char *text,
                      size_t size)
{
    const char *found = json_string_value(json_object_get(object, key));

    snprintf(text, size, "%s", found == NULL ? "" : found);
}

static void read_node(const json_t *object, struct top_node *node)
{
    *node = (struct top_node){
        .number = (unsigned)count_of(object, "number"),
        .n_threads = (uint32_t)count_of(object, "threads"),
        .n_workers = (uint32_t)count_of(object, "workers"),
        .is_tracking = json_is_true(json_object_get(object, "tracking")),
        .page_ins = count_of(object, "page_ins"),
        .moved_in = count_of(object, "moved_in"),
        .sent = count_of(object, "sent"),
        .resident = count_of(object, "resident"),
        .memory = count_of(object, "memory"),
        .compute_s = number_of(object, "compute_s"),
        .wait_s = number_of(object, "wait_s"),
        .sync_s = number_of(object, "sync_s"),
        .swap_s = number_of(object, "swap_s"),
    };
    copy_text(object, "name", node->name, sizeof node->name);
    copy_text(object, "host", node->host, sizeof node->host);
}

// @return 0 if it is not what a launcher says
static int read_job(const json_t *object, struct top_job *job)
{
    const json_t *nodes = json_object_get(object, "nodes");

    if (!json_is_array(nodes) || number_of(object, "seconds") <= 0) {
        return 0;
    }
    *job = (struct top_job){
        .seconds = number_of(object, "seconds"),
        .is_running = json_is_true(json_object_get(object, "running")),
        .n_iterations = count_of(object, "iterations"),
        .n_back = count_of(object, "went_back"),
        .n_nodes = json_array_size(nodes),
    };
    copy_text(object, "program", job->program, sizeof job->program);
    job->nodes = calloc(job->n_nodes + 1, sizeof *job->nodes);
    ensure_memory(job->nodes != NULL);
    for (size_t i = 0; i < job->n_nodes; i++) {
        read_node(json_array_get(nodes, i), &job->nodes[i]);
    }
    return 1;
}

// ---- what has happened

static const struct top_node *find_node(const struct top_job *job,
                                        unsigned number)
{
    for (size_t i = 0; i < job->n_nodes; i++) {
        if (job->nodes[i].number == number) {
            return &job->nodes[i];
        }
    }
    return NULL;
}

__attribute__((format(printf, 2, 3))) static void note(struct top *top,
                                                       const char *format, ...)
{
    char text[sizeof top->events[0] - 12];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    memmove(top->events[1], top->events[0],
            (TOP_EVENTS - 1) * sizeof top->events[0]);
    snprintf(top->events[0], sizeof top->events[0], "%6.0f s  %s",
             top->now.seconds, text);
    top->n_events += top->n_events < TOP_EVENTS;
}

static void note_node(struct top *top, const struct top_node *node)
{
    const struct top_node *before = find_node(&top->before, node->number);
    uint64_t n_moved;

    if (before == NULL) {
        note(top, "%s has joined", node->name);
        return;
    }
    n_moved = node->moved_in - before->moved_in;
    if (n_moved > 0) {
        note(top, "%" PRIu64 " thread%s moved to %s", n_moved,
             n_moved == 1 ? " has" : "s have", node->name);
    }
    if (node->is_tracking && !before->is_tracking) {
        note(top, "%s finds out which thread uses which page", node->name);
    }
}

static void note_all(struct top *top)
{
    for (size_t i = 0; i < top->now.n_nodes; i++) {
        note_node(top, &top->now.nodes[i]);
    }
    for (size_t i = 0; i < top->before.n_nodes; i++) {
        if (find_node(&top->now, top->before.nodes[i].number) == NULL) {
            note(top, "%s is not there any more", top->before.nodes[i].name);
        }
    }
}

// Its nodes are others, which count from 0.
static void note_back(struct top *top)
{
    note(top, "a node was lost: back to iteration %" PRIu64,
         top->now.n_iterations + 1);
    free(top->before.nodes);
    top->before = (struct top_job){0};
}

double top_last_iteration_s(const struct top *top)
{
    const uint64_t n = top->now.n_iterations - top->before.n_iterations;

    return n == 0 || n > top->now.n_iterations || top->before.seconds <= 0
               ? 0
               : (top->now.seconds - top->before.seconds) / (double)n;
}

uint64_t top_n_moved(const struct top *top)
{
    uint64_t n = 0;

    for (size_t i = 0; i < top->now.n_nodes; i++) {
        const struct top_node *now = &top->now.nodes[i];
        const struct top_node *before = find_node(&top->before, now->number);

        n += before == NULL ? 0 : now->moved_in - before->moved_in;
    }
    return n;
}

static void note_iterations(struct top *top)
{
    const double iteration_s = top_last_iteration_s(top);

    if (iteration_s <= 0) {
        return;
    }
    if (top->n_history == TOP_HISTORY) {
        memmove(top->iteration_s, top->iteration_s + 1,
                (TOP_HISTORY - 1) * sizeof top->iteration_s[0]);
        top->n_history--;
    }
    top->iteration_s[top->n_history++] = iteration_s;
}

int top_take(struct top *top, const char *line)
{
    json_t *object = json_loads(line, 0, NULL);
    struct top_job job;
    const int is_job = object != NULL && read_job(object, &job);

    json_decref(object);
    if (!is_job) {
        return 0;
    }
    free(top->before.nodes);
    top->before = top->now;
    top->now = job;
    if (job.n_back != top->before.n_back && top->before.seconds > 0) {
        note_back(top);
    }
    if (top->before.seconds > 0) {
        note_all(top);
        note_iterations(top);
    }
    return 1;
}

// ---- what is seen of it

static double share(double now_s, double before_s, double of_s)
{
    const double part = of_s > 0 ? (now_s - before_s) / of_s : 0;

    return part < 0 ? 0 : part > 1 ? 1 : part;
}

struct top_rates top_rates(const struct top *top, size_t i)
{
    const struct top_node *now = &top->now.nodes[i];
    const struct top_node *before = find_node(&top->before, now->number);
    const double passed_s = top->now.seconds - top->before.seconds;
    const double all_s = passed_s * now->n_threads;

    if (before == NULL || passed_s <= 0) {
        return (struct top_rates){0};
    }
    return (struct top_rates){
        .compute = share(now->compute_s, before->compute_s, all_s),
        .wait = share(now->wait_s, before->wait_s, all_s),
        .sync = share(now->sync_s, before->sync_s, all_s),
        .swap = share(now->swap_s, before->swap_s, all_s),
        .page_ins = (double)(now->page_ins - before->page_ins) / passed_s,
        .sent = (double)(now->sent - before->sent) / passed_s,
    };
}

double top_iteration_s(const struct top *top)
{
    return top->n_history > 0 ? top->iteration_s[top->n_history - 1] : 0;
}

void top_release(struct top *top)
{
    free(top->now.nodes);
    free(top->before.nodes);
    *top = (struct top){0};
}
