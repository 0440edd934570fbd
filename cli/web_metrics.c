// SPDX-License-Identifier: BSD-3-Clause
//
// /metrics, from the latest line. Each family is a row of a table; docs/web.md has the same
// table. OpenMetrics 1.0 names a counter's family without `_total` and ends with `# EOF`;
// Prometheus' older format has the whole name, and no units.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "web_job.h"

/** A family: its number is a member of an object of the line. */
struct family {
    const char *name; ///< without `_total`
    const char *unit; ///< its end, or ""
    int is_counter;
    const char *key;
    const char *help;
};

static const struct family of_job[] = {
    {"teamster_run_seconds", "seconds", 0, "seconds",
     "Time since the start of the run."},
    {"teamster_iterations", "", 1, "iterations", "Iterations that have ended."},
    {"teamster_iteration_measured_seconds", "seconds", 0, "measured_s",
     "Usual time of the slowest node in an iteration; 0: not known."},
    {"teamster_iteration_predicted_seconds", "seconds", 0, "predicted_s",
     "The same as predicted for the mapping in force; 0: not known."},
};

static const struct family of_node[] = {
    {"teamster_node_threads", "", 0, "threads", "Threads on the node."},
    {"teamster_node_workers", "", 0, "workers",
     "Kernel threads that run them."},
    {"teamster_node_compute_seconds", "seconds", 1, "compute_s",
     "Processor time of all threads."},
    {"teamster_node_page_wait_seconds", "seconds", 1, "wait_s",
     "Time that threads waited for pages of other nodes."},
    {"teamster_node_call_wait_seconds", "seconds", 1, "sync_s",
     "Time that threads waited in calls: barriers, mutexes."},
    {"teamster_node_swap_wait_seconds", "seconds", 1, "swap_s",
     "Time that threads waited for memory that is short."},
    {"teamster_node_page_ins", "", 1, "page_ins",
     "Pages read from the swap file."},
    {"teamster_node_threads_moved_in", "", 1, "moved_in",
     "Threads that have come from other nodes."},
    {"teamster_node_sent_bytes", "bytes", 1, "sent",
     "Bytes sent to other nodes."},
    {"teamster_node_resident_bytes", "bytes", 0, "resident",
     "Shared memory in use; 0 without a limit."},
    {"teamster_node_memory_limit_bytes", "bytes", 0, "memory",
     "Shared memory that the node may use; 0: no limit."},
};

/** Of a block's nodes, [number, ...]: the key is where the number is. */
static const struct {
    const char *name;
    size_t at;
    const char *help;
} of_block[] = {
    {"teamster_block_read_faults", 1, "Read faults in the block at the node."},
    {"teamster_block_write_faults", 2,
     "Write faults in the block at the node."},
    {"teamster_block_fetches", 3, "Pages of the block that came to the node."},
    {"teamster_block_diffs", 4, "Diffs of the block that left the node."},
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void put_head(FILE *file, const struct family *family, int is_open)
{
    const char *total = family->is_counter && !is_open ? "_total" : "";

    fprintf(file, "# HELP %s%s %s\n# TYPE %s%s %s\n", family->name, total,
            family->help, family->name, total,
            family->is_counter ? "counter" : "gauge");
    if (is_open && family->unit[0] != '\0') {
        fprintf(file, "# UNIT %s %s\n", family->name, family->unit);
    }
}

// A label's value, with what the format wants escaped.
static void put_label(FILE *file, const char *name, const char *text)
{
    fprintf(file, "%s=\"", name);
    for (; text != NULL && *text != '\0'; text++) {
        if (*text == '\\' || *text == '"') {
            putc('\\', file);
        }
        putc((unsigned char)*text < 0x20 ? '?' : *text, file);
    }
    putc('"', file);
}

static void begin_sample(FILE *file, const struct family *family)
{
    fprintf(file, "%s%s", family->name, family->is_counter ? "_total" : "");
}

static void put_value(FILE *file, const json_t *value)
{
    if (json_is_integer(value)) {
        fprintf(file, " %" JSON_INTEGER_FORMAT "\n", json_integer_value(value));
    } else {
        fprintf(file, " %.17g\n", json_number_value(value));
    }
}

static const char *text_in(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void put_node_labels(FILE *file, const json_t *node)
{
    fprintf(file, "{node=\"%" JSON_INTEGER_FORMAT "\",",
            json_integer_value(json_object_get(node, "number")));
    put_label(file, "name", text_in(node, "name"));
    putc(',', file);
    put_label(file, "host", text_in(node, "host"));
    putc('}', file);
}

static void put_nodes(FILE *file, const json_t *line, int is_open)
{
    const json_t *nodes = json_object_get(line, "nodes");
    size_t i;
    json_t *node;

    for (size_t k = 0; k < COUNT(of_node); k++) {
        put_head(file, &of_node[k], is_open);
        json_array_foreach(nodes, i, node)
        {
            begin_sample(file, &of_node[k]);
            put_node_labels(file, node);
            put_value(file, json_object_get(node, of_node[k].key));
        }
    }
}

static void put_cells(FILE *file, const struct family *family,
                      const json_t *block, size_t at)
{
    const json_t *cells = json_object_get(block, "nodes");
    size_t i;
    json_t *cell;

    json_array_foreach(cells, i, cell)
    {
        begin_sample(file, family);
        putc('{', file);
        put_label(file, "block", text_in(block, "name"));
        putc(',', file);
        put_label(file, "file", text_in(block, "file"));
        fprintf(file,
                ",line=\"%" JSON_INTEGER_FORMAT
                "\",node=\"%" JSON_INTEGER_FORMAT "\"}",
                json_integer_value(json_object_get(block, "line")),
                json_integer_value(json_array_get(cell, 0)));
        put_value(file, json_array_get(cell, at));
    }
}

static void put_blocks(FILE *file, const json_t *line, int is_open)
{
    const json_t *blocks = json_object_get(line, "blocks");
    size_t i;
    json_t *block;

    for (size_t k = 0; k < COUNT(of_block); k++) {
        const struct family family = {of_block[k].name, "", 1, NULL,
                                      of_block[k].help};

        put_head(file, &family, is_open);
        json_array_foreach(blocks, i, block)
        {
            put_cells(file, &family, block, of_block[k].at);
        }
    }
}

static void put_job(FILE *file, const json_t *line, int is_open)
{
    for (size_t k = 0; k < COUNT(of_job); k++) {
        put_head(file, &of_job[k], is_open);
        begin_sample(file, &of_job[k]);
        put_value(file, json_object_get(line, of_job[k].key));
    }
}

static void put_viewers(FILE *file, unsigned n_viewers, int is_open)
{
    static const struct family family = {"teamster_web_viewers", "", 0, NULL,
                                         "Browsers that show the live page."};

    put_head(file, &family, is_open);
    fprintf(file, "%s %u\n", family.name, n_viewers);
}

struct web_text *web_job_metrics(const struct web_job *job, int is_open,
                                 unsigned n_viewers)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&bytes, &size);

    ensure_memory(file != NULL);
    if (job->line != NULL) {
        put_job(file, job->line, is_open);
        put_nodes(file, job->line, is_open);
        put_blocks(file, job->line, is_open);
    }
    put_viewers(file, n_viewers, is_open);
    if (is_open) {
        fputs("# EOF\n", file);
    }
    fclose(file);
    return web_text_of(bytes, size);
}
