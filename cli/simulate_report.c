// SPDX-License-Identifier: BSD-3-Clause
// What `teamster simulate` prints.
#include "simulate_report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/json_out.h"
#include "base/memory.h"

#define MIB 1048576.0

static double seconds(uint64_t ns)
{
    return (double)ns * 1e-9;
}

// ---- iteration times

struct quartiles {
    double least_s;
    double low_s;
    double median_s;
    double high_s;
    double most_s;
};

static int compare_lengths(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

// The number at a part of a sorted list, between two of them if need be.
static double at_part(const uint64_t *sorted, size_t n, double part)
{
    const double at = part * (double)(n - 1);
    const size_t below = (size_t)at;
    const size_t above = below + 1 < n ? below + 1 : below;

    return seconds(sorted[below]) +
           (at - (double)below) *
               (seconds(sorted[above]) - seconds(sorted[below]));
}

static struct quartiles quartiles_of(const struct simulate_report *report)
{
    const size_t n = report->simulation->n_iterations;
    uint64_t *lengths = memory_new(n, sizeof *lengths);
    struct quartiles found;

    for (size_t i = 0; i < n; i++) {
        lengths[i] = report->result->iterations[i].length_ns;
    }
    qsort(lengths, n, sizeof *lengths, compare_lengths);
    found = (struct quartiles){
        .least_s = at_part(lengths, n, 0),
        .low_s = at_part(lengths, n, 0.25),
        .median_s = at_part(lengths, n, 0.5),
        .high_s = at_part(lengths, n, 0.75),
        .most_s = at_part(lengths, n, 1),
    };
    free(lengths);
    return found;
}

// ---- for people

static void print_head(const struct simulate_report *report, FILE *file)
{
    const struct simulation *simulation = report->simulation;
    const struct quartiles times = quartiles_of(report);

    fprintf(file,
            "%s: %s, %" PRIu32 " nodes, %" PRIu32 " threads, %" PRIu32
            " iterations, %s, policy %s, seed %" PRIu64 "\n",
            report->profile, report->program, simulation->n_nodes,
            simulation->n_threads, simulation->n_iterations, report->protocol,
            report->policy, simulation->seed);
    if (report->note != NULL) {
        fprintf(file, "%s\n", report->note);
    }
    fprintf(file,
            "total %.3f s; an iteration: median %.3f ms, quartiles %.3f to "
            "%.3f, least %.3f, most %.3f\n",
            seconds(report->result->total_ns), times.median_s * 1e3,
            times.low_s * 1e3, times.high_s * 1e3, times.least_s * 1e3,
            times.most_s * 1e3);
}

// Moves at one iteration's end are one line.
static void print_moves(const struct simulate_report *report, FILE *file)
{
    const struct simulation_result *result = report->result;
    size_t at = 0;

    fprintf(file,
            "decisions: %" PRIu32 " plans, %" PRIu32 " carried out, %" PRIu32
            " taken back; %zu moves\n",
            result->n_plans, result->n_remaps, result->n_undone,
            result->n_moves);
    while (at < result->n_moves) {
        const uint64_t iteration = result->moves[at].iteration;
        size_t n = 0;

        while (at + n < result->n_moves &&
               result->moves[at + n].iteration == iteration) {
            n++;
        }
        fprintf(file, "  after iteration %" PRIu64 ": %zu threads\n", iteration,
                n);
        at += n;
    }
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static void print_nodes(const struct simulate_report *report, FILE *file)
{
    fprintf(file, "\n%-12s %7s %8s %6s %6s %6s %10s %10s %9s %9s %9s %9s\n",
            "node", "threads", "compute%", "page%", "wire%", "wait%",
            "messages", "MiB sent", "fetched", "updates", "pages in",
            "pages out");
    for (uint32_t i = 0; i < report->simulation->n_nodes; i++) {
        const struct simulated_node_result *node = &report->result->nodes[i];
        const struct simulated_times *times = &node->times;
        const double all =
            times->compute_s + times->page_s + times->wire_s + times->wait_s;

        fprintf(file,
                "%-12s %7" PRIu32 " %8.1f %6.1f %6.1f %6.1f %10" PRIu64
                " %10.2f %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 "\n",
                report->simulation->nodes[i].view.name, node->n_threads,
                percent(times->compute_s, all), percent(times->page_s, all),
                percent(times->wire_s, all), percent(times->wait_s, all),
                node->messages, (double)node->bytes / MIB, node->pages_fetched,
                node->updates_sent, node->page_ins, node->page_outs);
    }
}

static void print_kinds(const struct simulate_report *report, FILE *file)
{
    fprintf(file, "\n%-20s %10s %12s\n", "message", "number", "bytes");
    for (unsigned type = 0; type < MESSAGES_END; type++) {
        const struct wire_count *count = &report->result->counts[type];

        if (count->n > 0) {
            fprintf(file, "%-20s %10" PRIu64 " %12" PRIu64 "\n",
                    message_name(type), count->n, count->bytes);
        }
    }
}

static void print_iterations(const struct simulate_report *report, FILE *file)
{
    fprintf(file, "\n%9s %12s %10s %10s %9s\n", "iteration", "ms", "messages",
            "fetched", "pages in");
    for (uint32_t i = 0; i < report->simulation->n_iterations; i++) {
        static const struct simulated_iteration none;
        const struct simulated_iteration *now = &report->result->iterations[i];
        const struct simulated_iteration *before = i > 0 ? now - 1 : &none;

        fprintf(file,
                "%9" PRIu32 " %12.3f %10" PRIu64 " %10" PRIu64 " %9" PRIu64
                "\n",
                i + 1, seconds(now->length_ns) * 1e3,
                now->messages - before->messages,
                now->pages_fetched - before->pages_fetched,
                now->page_ins - before->page_ins);
    }
}

void simulate_report_print(const struct simulate_report *report, FILE *file)
{
    print_head(report, file);
    print_moves(report, file);
    print_nodes(report, file);
    print_kinds(report, file);
    if (report->is_verbose) {
        print_iterations(report, file);
    }
}

// ---- for programs

static void put_count(FILE *file, const char *key, uint64_t value)
{
    fprintf(file, ", \"%s\": %" PRIu64, key, value);
}

static void put_head(const struct simulate_report *report, FILE *file)
{
    const struct simulation *simulation = report->simulation;
    const struct quartiles times = quartiles_of(report);

    fputs("{\n\"teamster_simulate\": 1,\n", file);
    json_put_text_field(file, "profile", report->profile);
    fputs(", ", file);
    json_put_text_field(file, "program", report->program);
    fputs(", ", file);
    json_put_text_field(file, "policy", report->policy);
    fputs(", ", file);
    json_put_text_field(file, "protocol", report->protocol);
    fprintf(file, ", \"script_is_guessed\": %s",
            report->note != NULL ? "true" : "false");
    fprintf(file,
            ",\n\"n_threads\": %" PRIu32 ", \"n_iterations\": %" PRIu32
            ", \"seed\": \"%" PRIu64 "\",\n",
            simulation->n_threads, simulation->n_iterations, simulation->seed);
    json_put_double_field(file, "total_s", seconds(report->result->total_ns));
    fputs(", ", file);
    json_put_double_field(file, "median_s", times.median_s);
    fputs(", ", file);
    json_put_double_field(file, "low_quartile_s", times.low_s);
    fputs(", ", file);
    json_put_double_field(file, "high_quartile_s", times.high_s);
    fprintf(file,
            ",\n\"n_plans\": %" PRIu32 ", \"n_remaps\": %" PRIu32
            ", \"n_undone\": %" PRIu32 ",\n",
            report->result->n_plans, report->result->n_remaps,
            report->result->n_undone);
}

static void put_times(FILE *file, const struct simulated_times *times)
{
    fputs(", ", file);
    json_put_double_field(file, "compute_s", times->compute_s);
    fputs(", ", file);
    json_put_double_field(file, "page_s", times->page_s);
    fputs(", ", file);
    json_put_double_field(file, "wire_s", times->wire_s);
    fputs(", ", file);
    json_put_double_field(file, "wait_s", times->wait_s);
}

static void put_nodes(const struct simulate_report *report, FILE *file)
{
    fputs("\"nodes\": [", file);
    for (uint32_t i = 0; i < report->simulation->n_nodes; i++) {
        const struct simulated_node_result *node = &report->result->nodes[i];

        fputs(i == 0 ? "\n{" : ",\n{", file);
        json_put_text_field(file, "name",
                            report->simulation->nodes[i].view.name);
        put_count(file, "n_threads", node->n_threads);
        put_times(file, &node->times);
        put_count(file, "messages", node->messages);
        put_count(file, "bytes", node->bytes);
        put_count(file, "pages_fetched", node->pages_fetched);
        put_count(file, "updates_sent", node->updates_sent);
        put_count(file, "page_ins", node->page_ins);
        put_count(file, "page_outs", node->page_outs);
        put_count(file, "copies_forgotten", node->copies_forgotten);
        put_count(file, "disk_hurried", node->disk_hurried);
        fputs(", ", file);
        json_put_double_field(file, "disk_busy_s", seconds(node->disk_busy_ns));
        putc('}', file);
    }
    fputs("\n],\n", file);
}

static void put_messages(const struct simulate_report *report, FILE *file)
{
    const char *between = "";

    fputs("\"messages\": {", file);
    for (unsigned type = 0; type < MESSAGES_END; type++) {
        const struct wire_count *count = &report->result->counts[type];

        if (count->n > 0) {
            fprintf(file,
                    "%s\n\"%s\": {\"n\": %" PRIu64 ", \"bytes\": %" PRIu64 "}",
                    between, message_name(type), count->n, count->bytes);
            between = ",";
        }
    }
    fputs("\n},\n", file);
}

static void put_moves(const struct simulate_report *report, FILE *file)
{
    fputs("\"moves\": [", file);
    for (size_t i = 0; i < report->result->n_moves; i++) {
        const struct simulated_move *move = &report->result->moves[i];

        fprintf(file,
                "%s\n{\"iteration\": %" PRIu64 ", \"thread\": %" PRIu32
                ", \"from\": %" PRIu32 ", \"to\": %" PRIu32 "}",
                i == 0 ? "" : ",", move->iteration, move->thread, move->from,
                move->to);
    }
    fputs("\n],\n", file);
}

static void put_iterations(const struct simulate_report *report, FILE *file)
{
    fputs("\"iterations\": [", file);
    for (uint32_t i = 0; i < report->simulation->n_iterations; i++) {
        const struct simulated_iteration *now = &report->result->iterations[i];

        fputs(i == 0 ? "\n{" : ",\n{", file);
        json_put_double_field(file, "length_s", seconds(now->length_ns));
        put_count(file, "messages_so_far", now->messages);
        put_count(file, "bytes_so_far", now->bytes);
        put_count(file, "fetched_so_far", now->pages_fetched);
        put_count(file, "page_ins_so_far", now->page_ins);
        putc('}', file);
    }
    fputs("\n]\n}\n", file);
}

void simulate_report_json(const struct simulate_report *report, FILE *file)
{
    put_head(report, file);
    put_nodes(report, file);
    put_messages(report, file);
    put_moves(report, file);
    put_iterations(report, file);
}
