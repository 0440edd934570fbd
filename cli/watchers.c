// SPDX-License-Identifier: BSD-3-Clause
#include "watchers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_out.h"
#include "job.h"

#define SECOND_NS UINT64_C(1000000000)

enum {
    LINE_RANGES = 2048, // of threads in a line
    RANGES_LEAST = 8,   // of a node, however many there are
};

static int is_watched(const struct job *job)
{
    return control_is_watched(&job->control, WATCHES) ||
           control_is_watched(&job->control, WATCHES_CLOSELY);
}

static void put_seconds(FILE *file, const char *key, uint64_t ns)
{
    fputs(", ", file);
    json_put_double_field(file, key, (double)ns * 1e-9);
}

// So that the line is not too long.
static size_t n_ranges_for(unsigned n_nodes)
{
    return LINE_RANGES / n_nodes > RANGES_LEAST ? LINE_RANGES / n_nodes
                                                : RANGES_LEAST;
}

static void put_node(FILE *file, const struct job *job, unsigned i,
                     enum watching how)
{
    const struct node *node = &job->nodes[i];
    const struct wire_boot_progress *told = &node->told;
    char name[NODE_NAME_MAX];

    job_name_node(job, i, name, sizeof name);
    fprintf(file, "{\"number\": %u, ", i);
    json_put_text_field(file, "name", name);
    fputs(", ", file);
    json_put_text_field(file, "host",
                        node->host_name == NULL ? "" : node->host_name);
    fprintf(file,
            ", \"threads\": %" PRIu32 ", \"workers\": %" PRIu32
            ", \"page_ins\": %" PRIu64 ", \"moved_in\": %" PRIu64
            ", \"tracking\": %s, \"sent\": %" PRIu64 ", \"resident\": %" PRIu64
            ", \"memory\": %" PRIu64,
            told->n_threads, told->n_workers, told->page_ins, told->n_moved_in,
            told->is_tracking ? "true" : "false", told->bytes_sent,
            told->resident, told->memory);
    put_seconds(file, "compute_s", told->compute_ns);
    put_seconds(file, "wait_s", told->wait_ns);
    put_seconds(file, "sync_s", told->sync_ns);
    put_seconds(file, "swap_s", told->swap_ns);
    if (how == WATCHES_CLOSELY) {
        shown_put_node(file, node, n_ranges_for(job->n_started));
    }
    fputc('}', file);
}

static int is_told_of(const struct node *node, int is_last)
{
    return is_last ? node->told.n_workers > 0 && !node->is_guest &&
                         !node->is_leaving
                   : progress_takes_part(node);
}

static unsigned put_nodes(FILE *file, const struct job *job, enum watching how,
                          int is_last)
{
    unsigned n = 0;

    fputs(", \"nodes\": [", file);
    for (unsigned i = 0; i < job->n_started; i++) {
        if (is_told_of(&job->nodes[i], is_last)) {
            fputs(n++ == 0 ? "" : ", ", file);
            put_node(file, job, i, how);
        }
    }
    putc(']', file);
    return n;
}

static void put_job(FILE *file, const struct job *job, enum watching how,
                    int is_last)
{
    const char *path = job->plan->argv[0];
    const char *slash = strrchr(path, '/');
    unsigned n_nodes;

    fputc('{', file);
    json_put_double_field(file, "seconds", job_seconds(job));
    fputs(", ", file);
    json_put_text_field(file, "program", slash == NULL ? path : slash + 1);
    fprintf(file,
            ", \"running\": %s, \"iterations\": %" PRIu64 ", \"went_back\": %u",
            job->phase == JOB_RUNNING && !is_last ? "true" : "false",
            losses_n_iterations(job), job->recovery.n_back);
    if (is_last) {
        fprintf(file, ", \"exit_code\": %d", job->exit_code);
    }
    n_nodes = put_nodes(file, job, how, is_last);
    if (how == WATCHES_CLOSELY) {
        shown_put_job(file, job, n_nodes);
    }
    fputs("}\n", file);
}

static void tell(struct job *job, enum watching how, int is_last)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file;

    if (!control_is_watched(&job->control, how)) {
        return;
    }
    file = open_memstream(&text, &size);
    if (file == NULL) {
        return;
    }
    put_job(file, job, how, is_last);
    if (fclose(file) == 0) {
        control_tell_watchers(&job->control, how, is_last, text, size);
    }
    free(text);
}

void watchers_poll(struct job *job, uint64_t now_ns)
{
    shown_ask(job, control_is_watched(&job->control, WATCHES_CLOSELY));
    if (now_ns < job->watch_due_ns || !is_watched(job)) {
        return;
    }
    job->watch_due_ns = now_ns + SECOND_NS;
    tell(job, WATCHES, 0);
    tell(job, WATCHES_CLOSELY, 0);
}

void watchers_tell_end(struct job *job)
{
    tell(job, WATCHES_CLOSELY, 1);
}

uint64_t watchers_due_ns(const struct job *job)
{
    if (!is_watched(job)) {
        return 0;
    }
    return job->watch_due_ns > 0 ? job->watch_due_ns : 1;
}
