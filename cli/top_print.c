// SPDX-License-Identifier: BSD-3-Clause
#include "top.h"

#include <inttypes.h>
#include <string.h>

#define MIB (1024.0 * 1024)

void top_describe_job(const struct top *top, char *text, size_t size)
{
    const double iteration_ms = top_iteration_s(top) * 1e3;
    int n = snprintf(text, size, "job %ld: %s, %.0f s", top->job_number,
                     top->now.program, top->now.seconds);

    if (!top->now.is_running) {
        n += snprintf(text + n, size - (size_t)n, ", begins or ends");
    }
    if (top->now.n_iterations > 0) {
        n += snprintf(text + n, size - (size_t)n, ", iteration %" PRIu64,
                      top->now.n_iterations + 1);
    }
    if (iteration_ms > 0) {
        snprintf(text + n, size - (size_t)n,
                 iteration_ms < 100 ? ", %.3g ms each" : ", %.0f ms each",
                 iteration_ms);
    }
}

void top_describe_heads(char *text, size_t size)
{
    snprintf(text, size, "%-16s %7s %8s %6s %6s %6s %14s %9s %10s", "node",
             "threads", "compute", "pages", "calls", "disk", "memory MiB",
             "page-ins", "sent MiB");
}

static void describe_memory(const struct top_node *node, char *text,
                            size_t size)
{
    if (node->memory > 0) {
        snprintf(text, size, "%.1f of %.1f", (double)node->resident / MIB,
                 (double)node->memory / MIB);
    } else { // without a limit nobody counts
        snprintf(text, size, "no limit");
    }
}

void top_describe_node(const struct top *top, size_t i, char *text, size_t size)
{
    const struct top_node *node = &top->now.nodes[i];
    const struct top_rates rates = top_rates(top, i);
    char memory[40];
    char name[132];

    describe_memory(node, memory, sizeof memory);
    snprintf(name, sizeof name, "%s%s%s", node->name,
             node->host[0] != '\0' && strcmp(node->host, node->name) != 0 ? " "
                                                                          : "",
             strcmp(node->host, node->name) != 0 ? node->host : "");
    snprintf(text, size,
             "%-16.16s %7" PRIu32 " %6.0f %% %4.0f %% %4.0f %% %4.0f %% %14s "
             "%9.0f %10.2f",
             name, node->n_threads, 100 * rates.compute, 100 * rates.wait,
             100 * rates.sync, 100 * rates.swap, memory, rates.page_ins,
             rates.sent / MIB);
}

void top_print(FILE *file, const struct top *top)
{
    char text[256];

    top_describe_job(top, text, sizeof text);
    fprintf(file, "%s\n", text);
    top_describe_heads(text, sizeof text);
    fprintf(file, "%s\n", text);
    for (size_t i = 0; i < top->now.n_nodes; i++) {
        top_describe_node(top, i, text, sizeof text);
        fprintf(file, "%s\n", text);
    }
    for (unsigned i = 0; i < top->n_events; i++) {
        fprintf(file, "%s\n", top->events[i]);
    }
    fflush(file);
}
