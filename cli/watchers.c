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

static int is_watched(const struct job *job)
{
    for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
        if (job->control.clients[i].fd >= 0 &&
            job->control.clients[i].watches) {
            return 1;
        }
    }
    return 0;
}

static void put_seconds(FILE *file, const char *key, uint64_t ns)
{
    fputs(", ", file);
    json_put_double_field(file, key, (double)ns * 1e-9);
}

static void put_node(FILE *file, const struct job *job, unsigned i)
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
    fputc('}', file);
}

static void put_job(FILE *file, const struct job *job)
{
    const char *path = job->plan->argv[0];
    const char *slash = strrchr(path, '/');
    const char *separator = "";

    fputc('{', file);
    json_put_double_field(file, "seconds", job_seconds(job));
    fputs(", ", file);
    json_put_text_field(file, "program", slash == NULL ? path : slash + 1);
    fprintf(
        file, ", \"running\": %s, \"iterations\": %" PRIu64 ", \"nodes\": [",
        job->phase == JOB_RUNNING ? "true" : "false", losses_n_iterations(job));
    for (unsigned i = 0; i < job->n_started; i++) {
        if (progress_takes_part(&job->nodes[i])) {
            fputs(separator, file);
            put_node(file, job, i);
            separator = ", ";
        }
    }
    fputs("]}\n", file);
}

void watchers_poll(struct job *job, uint64_t now_ns)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file;

    if (now_ns < job->watch_due_ns || !is_watched(job)) {
        return;
    }
    job->watch_due_ns = now_ns + SECOND_NS;
    file = open_memstream(&text, &size);
    if (file == NULL) {
        return;
    }
    put_job(file, job);
    if (fclose(file) == 0) {
        control_tell_watchers(&job->control, text, size);
    }
    free(text);
}

uint64_t watchers_due_ns(const struct job *job)
{
    if (!is_watched(job)) {
        return 0;
    }
    return job->watch_due_ns > 0 ? job->watch_due_ns : 1;
}
