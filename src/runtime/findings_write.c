// SPDX-License-Identifier: BSD-3-Clause
//
// The findings of a run as JSON, version REPORT_VERSION; docs/report.md has the keys. Read by
// planner/run_record.c.
#include <inttypes.h>
#include <locale.h>
#include <string.h>

#include "base/json_out.h"
#include "base/options.h"
#include "observe/profile_write.h"
#include "runtime/findings.h"

#define REPORT_VERSION 1

static const char *const stat_names[] = {
    "n_threads",      "compute_ns",
    "read_faults",    "write_faults",
    "remote_faults",  "pages_fetched",
    "pages_served",   "pages_granted",
    "pages_moved_in", "twins",
    "updates_sent",   "updates_received",
    "copies_dropped", "releases",
    "barriers",       "messages_sent",
    "bytes_sent",     "threads_in",
    "threads_out",    "fault_ns",
    "sync_ns",        "memory",
    "resident",       "page_ins",
    "page_outs",      "copies_forgotten",
    "swap_ns",        "swap_out_ns",
    "lack",           "speed_ppm",
    "bad_messages",   "strangers",
};

#define N_STATS (sizeof stat_names / sizeof stat_names[0])
_Static_assert(N_STATS * sizeof(uint64_t) == sizeof(struct tm_node_stats),
               "a name for each number");

static void put_stats(FILE *file, const struct tm_node_stats *stats)
{
    uint64_t numbers[N_STATS];

    memcpy(numbers, stats, sizeof numbers);
    for (size_t i = 0; i < N_STATS; i++) {
        fprintf(file, "%s\"%s\": %" PRIu64, i == 0 ? "" : ", ", stat_names[i],
                numbers[i]);
    }
}

static const char *separator(size_t i)
{
    return i == 0 ? "" : ", ";
}

// What it did in iterations, or null: it has taken part in none.
static void put_node_sums(FILE *file, const struct chronicle_node *node)
{
    if (node == NULL || node->time_s <= 0) {
        fputs("\"iterations\": null", file);
        return;
    }
    fputs("\"iterations\": {", file);
    json_put_double_field(file, "time_s", node->time_s);
#define PUT(name)                                                              \
    fputs(", ", file);                                                         \
    json_put_double_field(file, #name, node->name);
    PUT(computing_s)
    PUT(paging_s)
    PUT(busy_s)
    PUT(release_s)
    PUT(pages_in)
    PUT(pages_out)
#undef PUT
    putc('}', file);
}

static void put_node(FILE *file, const struct findings *findings, unsigned i)
{
    const struct finding_node *node = &findings->nodes[i];

    fprintf(file, "%s\n{\"node\": %u, ", i == 0 ? "" : ",", i);
    json_put_text_field(file, "name", node->name);
    fputs(", ", file);
    json_put_text_field(file, "host", node->host);
    fputs(", ", file);
    json_put_double_field(file, "power", node->power);
    fputs(", ", file);
    json_put_double_field(file, "declared_speed", node->declared_speed);
    fputs(", ", file);
    json_put_double_field(file, "share", node->share);
    fprintf(file,
            ", \"n_processors\": %" PRIu32 ", \"n_workers\": %" PRIu32 ",\n ",
            node->n_processors, node->n_workers);
    put_node_sums(file, findings->chronicle == NULL
                            ? NULL
                            : &findings->chronicle->nodes[i]);
    fputs(",\n \"stats\": ", file);
    if (node->is_there) {
        putc('{', file);
        put_stats(file, &node->stats);
        putc('}', file);
    } else {
        fputs("null", file);
    }
    putc('}', file);
}

static void put_nodes(FILE *file, const struct findings *findings)
{
    fputs("\"nodes\": [", file);
    for (unsigned i = 0; i < findings->n_nodes; i++) {
        put_node(file, findings, i);
    }
    fputs("]", file);
}

static void put_run_sums(FILE *file, const struct efficiency_sums *sums)
{
    fputs("\"sums\": {", file);
    json_put_double_field(file, "time_s", sums->time_s);
#define PUT(name)                                                              \
    fputs(", ", file);                                                         \
    json_put_double_field(file, #name, sums->name);
    PUT(mean_s)
    PUT(longest_s)
    PUT(longest_busy_s)
    PUT(work_s)
    PUT(capacity_s)
#undef PUT
    putc('}', file);
}

// [first iteration, how many, seconds of all, of the shortest, of the longest, threads told
// to move, iterations tracked]
static void put_points(FILE *file, const struct chronicle *chronicle)
{
    fputs("\"points\": [", file);
    for (unsigned i = 0; i < chronicle->n_points; i++) {
        const struct chronicle_point *point = &chronicle->points[i];

        fprintf(file, "%s\n[%" PRIu64 ", %" PRIu64 ", ", i == 0 ? "" : ",",
                point->first, point->n_iterations);
        json_put_double(file, point->time_s);
        fputs(", ", file);
        json_put_double(file, point->shortest_s);
        fputs(", ", file);
        json_put_double(file, point->longest_s);
        fprintf(file, ", %" PRIu32 ", %" PRIu32 "]", point->n_moved,
                point->n_tracked);
    }
    putc(']', file);
}

static void put_events(FILE *file, const struct chronicle *chronicle)
{
    fputs("\"events\": [", file);
    for (unsigned i = 0;
         i < CHRONICLE_EVENTS && chronicle->events[i].text != NULL; i++) {
        fprintf(file, "%s\n{\"iteration\": %" PRIu64 ", ", i == 0 ? "" : ",",
                chronicle->events[i].iteration);
        json_put_text_field(file, "text", chronicle->events[i].text);
        putc('}', file);
    }
    fprintf(file, "], \"n_events\": %" PRIu64, chronicle->n_events);
}

// A node, or null: it was not there.
static void put_place_of(FILE *file, node_id node)
{
    if (node < TM_MAX_NODES) {
        fprintf(file, "%u", node);
    } else {
        fputs("null", file);
    }
}

// [number, node at first, node at last]
static void put_threads(FILE *file, const struct chronicle *chronicle)
{
    fputs("\"threads\": [", file);
    for (uint32_t i = 0; i < chronicle->n_threads; i++) {
        const struct chronicle_thread *thread = &chronicle->threads[i];

        fprintf(file, "%s[%" PRIu64 ", ", separator(i), thread->number);
        put_place_of(file, thread->before);
        fputs(", ", file);
        put_place_of(file, thread->after);
        putc(']', file);
    }
    putc(']', file);
}

static void put_iterations(FILE *file, const struct chronicle *chronicle)
{
    if (chronicle == NULL || chronicle->n_iterations == 0) {
        fputs("\"iterations\": null", file);
        return;
    }
    fprintf(file,
            "\"iterations\": {\"n\": %" PRIu64 ", \"n_timed\": %" PRIu64
            ", \"n_moved\": %" PRIu64 ",\n",
            chronicle->n_iterations, chronicle->n_timed, chronicle->n_moved);
    put_run_sums(file, &chronicle->sums);
    fputs(",\n", file);
    put_points(file, chronicle);
    fputs(",\n", file);
    put_events(file, chronicle);
    fputs(",\n", file);
    put_threads(file, chronicle);
    putc('}', file);
}

static void put_places(FILE *file, const struct findings *findings)
{
    fputs("\"blocks\": [", file);
    for (unsigned i = 0; i < findings->n_places; i++) {
        const struct place *place = &findings->places[i];

        fprintf(file, "%s\n{", i == 0 ? "" : ",");
        json_put_text_field(file, "name", place->name);
        fputs(", ", file);
        json_put_text_field(file, "file", place->file);
        fprintf(file,
                ", \"line\": %" PRIu32 ", \"pages\": %" PRIu64
                ", \"read_faults\": %" PRIu64 ", \"write_faults\": %" PRIu64
                ", \"fetches\": %" PRIu64 ", \"diffs\": %" PRIu64
                ", \"writers\": %u}",
                place->line, place->n_pages, place->n[PLACE_READ_FAULT],
                place->n[PLACE_WRITE_FAULT], place->n[PLACE_FETCH],
                place->n[PLACE_DIFF], findings->n_writers[i]);
    }
    putc(']', file);
}

static void put_lines(FILE *file, const struct findings *findings)
{
    fputs("\"lines\": [", file);
    for (unsigned i = 0; i < findings->n_lines; i++) {
        const struct finding_line *line = &findings->lines[i];

        fprintf(file, "%s\n{", i == 0 ? "" : ",");
        json_put_text_field(file, "where", line->where);
        fprintf(file,
                ", \"read_faults\": %" PRIu64 ", \"write_faults\": %" PRIu64
                ", ",
                line->reads, line->writes);
        json_put_double_field(file, "wait_s", line->wait_s);
        putc('}', file);
    }
    putc(']', file);
}

static tm_status put_profile(FILE *file, const struct findings *findings)
{
    if (findings->profile != NULL) {
        fprintf(file, "\"n_samples\": %" PRIu32 ", ", findings->n_samples);
        json_put_double_field(file, "clock_s", findings->clock_s);
        fputs(",\n\"profile\": ", file);
        return profile_write(file, findings->profile);
    }
    json_put_text_field(file, "no_profile", findings->no_profile);
    fputs(", \"profile\": null", file);
    return TM_OK;
}

static tm_status put_all(FILE *file, const struct findings *findings)
{
    tm_status status;

    fprintf(file, "{\"teamster_report\": %d,\n", REPORT_VERSION);
    fprintf(file, "\"teamster\": \"%d.%d.%d\", ", TM_VERSION_MAJOR,
            TM_VERSION_MINOR, TM_VERSION_PATCH);
    json_put_double_field(file, "seconds", findings->seconds);
    fputs(", ", file);
    json_put_text_field(file, "policy", findings->options->policy);
    fputs(",\n", file);
    put_nodes(file, findings);
    fputs(",\n", file);
    put_iterations(file, findings->chronicle);
    fputs(",\n", file);
    put_places(file, findings);
    fputs(",\n", file);
    put_lines(file, findings);
    fputs(",\n", file);
    status = put_profile(file, findings);
    fputs("}\n", file);
    return status;
}

tm_status findings_write(FILE *file, const struct findings *findings)
{
    // Another locale would write "0,5".
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before;
    tm_status status;

    if (plain == (locale_t)0) {
        return TM_ENOMEM;
    }
    before = uselocale(plain);
    status = put_all(file, findings);
    uselocale(before);
    freelocale(plain);
    return status == TM_OK && (fflush(file) != 0 || ferror(file)) ? TM_ESYSTEM
                                                                  : status;
}
