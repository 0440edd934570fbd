// SPDX-License-Identifier: BSD-3-Clause
//
// A line becomes a row, by the difference to the one before (top_model.c), and an event, which
// all who look are sent as it is.
#include "web_job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"

struct web_job *web_job_new(long number)
{
    struct web_job *job = calloc(1, sizeof *job);

    ensure_memory(job != NULL);
    pthread_mutex_init(&job->mutex, NULL);
    job->top.job_number = number;
    return job;
}

void web_job_free(struct web_job *job)
{
    for (size_t i = 0; i < WEB_DECISIONS; i++) {
        json_decref(job->decisions[i]);
    }
    json_decref(job->line);
    web_text_release(job->now);
    top_release(&job->top);
    pthread_mutex_destroy(&job->mutex);
    free(job);
}

// ---- texts

struct web_text *web_text_of(char *bytes, size_t size)
{
    struct web_text *text = malloc(sizeof *text + size);

    ensure_memory(text != NULL && bytes != NULL);
    *text = (struct web_text){.n_users = 1, .size = size};
    memcpy(text->bytes, bytes, size);
    free(bytes);
    return text;
}

void web_text_release(struct web_text *text)
{
    if (text != NULL && --text->n_users == 0) {
        free(text);
    }
}

// ---- a second

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void add_nodes(const struct top *top, struct web_row *row)
{
    for (size_t i = 0; i < top->now.n_nodes; i++) {
        const struct top_rates rates = top_rates(top, i);

        row->page_ins += rates.page_ins;
        row->sent += rates.sent;
        row->resident += (double)top->now.nodes[i].resident;
        if (i < WEB_NODES_KEPT) {
            row->compute[i] = (float)rates.compute;
        }
    }
}

static void note_row(struct web_job *job)
{
    struct web_row *row = &job->rows[job->n_rows++ % WEB_HISTORY];

    *row = (struct web_row){
        .seconds = job->top.now.seconds,
        .iteration_s = top_last_iteration_s(&job->top),
        .measured_s = number_of(job->line, "measured_s"),
        .predicted_s = number_of(job->line, "predicted_s"),
        .n_moved = top_n_moved(&job->top),
    };
    add_nodes(&job->top, row);
}

// [seconds, iteration_s, measured_s, predicted_s, page_ins, sent, resident, moved, compute...]
static void put_row(FILE *file, const struct web_row *row, size_t n_nodes)
{
    fprintf(file, "[%.3f, %.9g, %.9g, %.9g, %.6g, %.6g, %.12g, %" PRIu64,
            row->seconds, row->iteration_s, row->measured_s, row->predicted_s,
            row->page_ins, row->sent, row->resident, row->n_moved);
    for (size_t i = 0; i < n_nodes && i < WEB_NODES_KEPT; i++) {
        fprintf(file, ", %.4f", (double)row->compute[i]);
    }
    putc(']', file);
}

static void put_rates(FILE *file, const struct top *top)
{
    for (size_t i = 0; i < top->now.n_nodes; i++) {
        const struct top_rates rates = top_rates(top, i);

        fprintf(file, "%s[%.4f, %.4f, %.4f, %.4f, %.6g, %.6g]",
                i == 0 ? "" : ", ", rates.compute, rates.wait, rates.sync,
                rates.swap, rates.page_ins, rates.sent);
    }
}

// What all who look are sent.
static void make_now(struct web_job *job, const char *line)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&bytes, &size);

    ensure_memory(file != NULL);
    fprintf(file, "{\"number\": %" PRIu64 ", \"job_number\": %ld, \"row\": ",
            job->n_rows, job->top.job_number);
    put_row(file, &job->rows[(job->n_rows - 1) % WEB_HISTORY],
            job->top.now.n_nodes);
    fputs(", \"rates\": [", file);
    put_rates(file, &job->top);
    fprintf(file, "], \"job\": %s}", line);
    fclose(file);
    web_text_release(job->now);
    job->now = web_text_of(bytes, size);
    job->now->number = job->n_rows;
}

static void note_decisions(struct web_job *job)
{
    const json_t *told = json_object_get(job->line, "decisions");
    size_t i;
    json_t *decision;

    json_array_foreach(told, i, decision)
    {
        const uint64_t number = (uint64_t)number_of(decision, "number");

        if (number > job->n_decisions) {
            json_t **kept = &job->decisions[number % WEB_DECISIONS];

            json_decref(*kept);
            *kept = json_incref(decision);
            job->n_decisions = number;
        }
    }
}

int web_job_take(struct web_job *job, const char *line)
{
    json_t *object = json_loads(line, 0, NULL);
    int is_job;

    pthread_mutex_lock(&job->mutex);
    is_job = object != NULL && top_take(&job->top, line);
    if (is_job) {
        json_decref(job->line);
        job->line = json_incref(object);
        note_decisions(job);
        note_row(job);
        make_now(job, line);
    }
    pthread_mutex_unlock(&job->mutex);
    json_decref(object);
    return is_job;
}

void web_job_end(struct web_job *job)
{
    pthread_mutex_lock(&job->mutex);
    job->has_ended = 1;
    pthread_mutex_unlock(&job->mutex);
}

// ---- what is asked

struct web_text *web_job_now(struct web_job *job)
{
    if (job->now != NULL) {
        job->now->n_users++;
    }
    return job->now;
}

static void put_rows(FILE *file, const struct web_job *job)
{
    uint64_t first = job->n_rows > WEB_HISTORY ? job->n_rows - WEB_HISTORY : 0;

    for (uint64_t i = first; i < job->n_rows; i++) {
        fputs(i == first ? "\n" : ",\n", file);
        put_row(file, &job->rows[i % WEB_HISTORY], job->top.now.n_nodes);
    }
}

static void put_decisions(FILE *file, const struct web_job *job)
{
    const uint64_t n_kept =
        job->n_decisions < WEB_DECISIONS ? job->n_decisions : WEB_DECISIONS - 1;
    const char *separator = "\n";

    for (uint64_t i = job->n_decisions - n_kept + 1; i <= job->n_decisions;
         i++) {
        const json_t *decision = job->decisions[i % WEB_DECISIONS];

        if (decision != NULL) { // else it was missed
            fputs(separator, file);
            json_dumpf(decision, file, 0);
            separator = ",\n";
        }
    }
}

struct web_text *web_job_history(const struct web_job *job)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&bytes, &size);

    ensure_memory(file != NULL);
    fprintf(file,
            "{\"number\": %" PRIu64 ", \"columns\": [\"seconds\", "
            "\"iteration_s\", \"measured_s\", \"predicted_s\", \"page_ins\", "
            "\"sent\", \"resident\", \"moved\", \"compute\"],\n\"rows\": [",
            job->n_rows);
    put_rows(file, job);
    fputs("],\n\"decisions\": [", file);
    put_decisions(file, job);
    fputs("]}\n", file);
    fclose(file);
    return web_text_of(bytes, size);
}
