// SPDX-License-Identifier: BSD-3-Clause
//
// The page of a report, section by section. It has limits (nodes, blocks, points), so that it
// stays below 300 KB whatever the run was like; what is left out is said.
#include "planner/report_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "planner/report_page_priv.h"
#include "planner/run_advice.h"

enum {
    BLOCKS_SHOWN = 24,
    LINES_SHOWN = 16,
    EVENTS_SHOWN = 120,
    RECORD_BYTES = 100000, // that are put into the page
    WORDS_SHOWN = 64,      // of the command
};

#define MIB ((double)(1 << 20))

static void put_heading(FILE *file, const char *id, const char *text)
{
    fprintf(file, "<h2 id=\"%s\">%s</h2>\n", id, text);
}

static void begin_table(FILE *file, const char *caption, const char *heads)
{
    fprintf(file,
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" "
            "aria-label=\"%s\"><table><caption>%s</caption>\n<thead><tr>",
            caption, caption);
    while (*heads != '\0') {
        const size_t n = strcspn(heads, "|");

        const int is_words = n > 0 && heads[0] == '<'; // texts: to the left

        fprintf(file, "<th scope=\"col\"%s>%.*s</th>",
                is_words ? " class=\"words\"" : "", (int)n - is_words,
                heads + is_words);
        heads += n + (heads[n] == '|');
    }
    fputs("</tr></thead>\n<tbody>\n", file);
}

static void end_table(FILE *file)
{
    fputs("</tbody></table></div>\n", file);
}

static void put_cell(FILE *file, const char *text)
{
    fputs("<td>", file);
    page_text(file, text);
    fputs("</td>", file);
}

static void put_number(FILE *file, double number)
{
    char text[32];

    put_cell(file, page_count(number, text));
}

static void put_row_head(FILE *file, const char *text)
{
    fputs("<tr><th scope=\"row\">", file);
    page_text(file, text);
    fputs("</th>", file);
}

static void put_left_out(FILE *file, size_t n, size_t n_shown, const char *what)
{
    if (n > n_shown) {
        fprintf(file, "<p class=\"soft\">%zu more %s are not shown.</p>\n",
                n - n_shown, what);
    }
}

// ---- head ----

static void put_summary(FILE *file, const struct record *record)
{
    char time[24];
    char count[32];

    fprintf(file, "<p>%s on %zu node%s", page_time(record->seconds, time),
            record->n_nodes, record->n_nodes == 1 ? "" : "s");
    if (record->n_iterations > 0) {
        fprintf(file, "; %s iterations",
                page_count(record->n_iterations, count));
        if (record->n_timed > 0) {
            fprintf(file, " of %s in the mean",
                    page_time(record->sums.time_s / record->n_timed, time));
        }
        fprintf(file, "; threads were told to move %s times",
                page_count(record->n_moved, count));
    }
    fputs("; policy ", file);
    page_text(file, record->policy);
    if (record->has_exit_code) {
        fprintf(file, "; exit code %d", record->exit_code);
    }
    fputs(".</p>\n", file);
}

// ---- efficiency ----

static void put_bar_of(FILE *file, double value)
{
    fprintf(file,
            "<span class=\"bar\" aria-hidden=\"true\"><i "
            "style=\"width:%.1f%%\"></i></span>",
            100 * fmax(0, fmin(1, value)));
}

static void put_factor(FILE *file, enum factor factor, double value,
                       const struct advice *advice)
{
    char percent[16];

    fprintf(file,
            "<tr><th scope=\"row\">%s</th><td class=\"value\" "
            "data-factor=\"%.6f\">%s</td><td>",
            factor_name(factor), value, page_percent(value, percent));
    put_bar_of(file, value);
    fputs("</td><td class=\"words\">", file);
    page_text(file, advice->text);
    fputs("</td></tr>\n", file);
}

static void put_product(FILE *file, const struct efficiency *it)
{
    fprintf(file,
            "<p class=\"soft\">%.3f &#215; %.3f &#215; %.3f &#215; %.3f = "
            "%.3f</p>\n",
            it->load_balance, it->paging, it->communication, it->speed,
            it->total);
}

static void put_command(FILE *file, const struct record *record,
                        const struct advice *advice)
{
    char line[4096];

    if (advice_command(record, advice, line, sizeof line)) {
        fputs("<p>To run it again as is advised:</p>\n<pre id=\"advised\">",
              file);
        page_text(file, line);
        fputs("</pre>\n", file);
    }
}

static void put_factors(FILE *file, const struct record *record,
                        const struct efficiency *efficiency)
{
    struct advice advice[N_FACTORS];

    advice_make(record, efficiency, advice);
    begin_table(file, "Its factors, each with what the model says",
                "factor|value||<what was seen, and what would help");
    for (unsigned i = 0; i < N_FACTORS; i++) {
        put_factor(file, (enum factor)i,
                   factor_value(efficiency, (enum factor)i), &advice[i]);
    }
    end_table(file);
    put_product(file, efficiency);
    put_command(file, record, advice);
}

static void put_efficiency(FILE *file, const struct record *record)
{
    struct efficiency_sums sums;
    struct efficiency efficiency;
    char percent[16];

    put_heading(file, "efficiency", "Where the time went");
    if (!run_record_efficiency(record, &sums, &efficiency)) {
        fputs("<p>Nothing was computed, so there is nothing to tell.</p>\n",
              file);
        return;
    }
    fprintf(file,
            "<p><span class=\"big\" data-factor=\"%.6f\">%s</span><br />"
            "of what the nodes' processors could have computed %s was the "
            "program's work. What was lost, by cause:</p>\n",
            efficiency.total, page_percent(efficiency.total, percent),
            record->n_timed > 0 ? "in the iterations" : "in the run");
    put_factors(file, record, &efficiency);
}

// ---- nodes ----

static void put_part(FILE *file, double part)
{
    char percent[16];

    put_cell(file, page_percent(part, percent));
}

static void put_node_parts(FILE *file, const struct record *record)
{
    size_t n_shown = 0;

    begin_table(file, "Parts of each node's time in the iterations",
                "node|computing|for memory|releases|until its last thread was "
                "there|pages in an iteration|out");
    for (size_t i = 0; i < record->n_nodes; i++) {
        const struct record_node *node = &record->nodes[i];
        const struct record_sums *sums = &node->sums;
        char count[32];

        if (sums->time_s <= 0 || n_shown == PAGE_NODES) {
            continue;
        }
        n_shown++;
        put_row_head(file, node->name);
        put_part(file, sums->computing_s / node->n_workers / sums->time_s);
        put_part(file, sums->paging_s / node->n_workers / sums->time_s);
        put_part(file, sums->release_s / sums->time_s);
        put_part(file, sums->busy_s / sums->time_s);
        snprintf(count, sizeof count, "%.1f", sums->pages_in / record->n_timed);
        put_cell(file, count);
        snprintf(count, sizeof count, "%.1f",
                 sums->pages_out / record->n_timed);
        put_cell(file, count);
        fputs("</tr>\n", file);
    }
    end_table(file);
}

static void put_node_times(FILE *file, const struct record *record)
{
    put_heading(file, "nodes", "Node by node");
    if (record->n_timed <= 0) {
        fputs("<p>The program never called <code>tm_iteration_end()</code>, "
              "so it is known what nodes did in all (below), but not in "
              "which part of the time.</p>\n",
              file);
        return;
    }
    page_node_bars(file, record);
    put_node_parts(file, record);
    put_left_out(file, record->n_nodes, PAGE_NODES, "nodes");
}

// ---- iterations and events ----

static void put_events(FILE *file, const struct record *record)
{
    size_t n =
        record->n_events < EVENTS_SHOWN ? record->n_events : EVENTS_SHOWN;

    if (record->n_events == 0) {
        fputs("<p>Nothing was decided: ", file);
        fputs(strcmp(record->policy, "none") == 0
                  ? "with --policy=none threads stay.</p>\n"
                  : "there was no reason to move threads.</p>\n",
              file);
        return;
    }
    fputs("<details open=\"open\"><summary>What was decided</summary>\n<ol>\n",
          file);
    for (size_t i = 0; i < n; i++) {
        fputs("<li>", file);
        page_text(file, record->events[i].text);
        fputs("</li>\n", file);
    }
    fputs("</ol></details>\n", file);
    put_left_out(file, (size_t)fmin(record->n_events_all, 1e15), n, "lines");
}

static void put_iterations(FILE *file, const struct record *record)
{
    put_heading(file, "iterations", "Iterations over time");
    if (record->n_iterations <= 0) {
        fputs("<p>There were none.</p>\n", file);
        return;
    }
    page_iterations(file, record);
    put_events(file, record);
}

// ---- mapping ----

static double count_on(const struct record *record, size_t node, int is_after)
{
    double n = 0;

    for (size_t i = 0; i < record->n_threads; i++) {
        const struct record_thread *thread = &record->threads[i];

        n += (is_after ? thread->after : thread->before) == node;
    }
    return n;
}

static void put_mapping(FILE *file, const struct record *record)
{
    put_heading(file, "mapping", "Which threads were where");
    if (record->n_threads == 0) {
        fputs("<p>That is known of programs with iterations only.</p>\n", file);
        return;
    }
    fputs("<p>At first:</p>\n", file);
    page_mapping(file, record, 0);
    fputs("<p>At the end (hatched: threads that are elsewhere in the other "
          "chart):</p>\n",
          file);
    page_mapping(file, record, 1);
    begin_table(file, "Threads of each node", "node|at first|at the end");
    for (size_t i = 0; i < record->n_nodes && i < PAGE_NODES; i++) {
        put_row_head(file, record->nodes[i].name);
        put_number(file, count_on(record, i, 0));
        put_number(file, count_on(record, i, 1));
        fputs("</tr>\n", file);
    }
    end_table(file);
    put_left_out(file, record->n_nodes, PAGE_NODES, "nodes");
}

// ---- blocks ----

static double faults_of(const struct record_block *block)
{
    return block->read_faults + block->write_faults;
}

static int compare_blocks(const void *left, const void *right)
{
    const struct record_block *a = left;
    const struct record_block *b = right;
    const double x = faults_of(a) + a->fetches + a->diffs;
    const double y = faults_of(b) + b->fetches + b->diffs;

    return (x < y) - (x > y);
}

static void put_block(FILE *file, const struct record_block *block,
                      double all_faults)
{
    put_row_head(file, block->name[0] != '\0' ? block->name
                       : block->line != 0     ? "(no name)"
                                              : "other blocks");
    fputs("<td class=\"words\">", file);
    if (block->line != 0) {
        fputs("<code>", file);
        page_text(file, block->file);
        fprintf(file, ":%u</code>", block->line);
    }
    fputs("</td>", file);
    put_number(file, block->pages);
    put_number(file, block->read_faults);
    put_number(file, block->write_faults);
    put_number(file, block->fetches);
    put_number(file, block->diffs);
    fputs("<td>", file);
    put_bar_of(file, all_faults > 0 ? faults_of(block) / all_faults : 0);
    fputs("</td></tr>\n", file);
}

static void put_blocks(FILE *file, const struct record *record)
{
    struct record_block *sorted =
        memory_new(record->n_blocks + 1, sizeof *sorted);
    double all_faults = 0;

    put_heading(file, "blocks", "Pages by block");
    memcpy(sorted, record->blocks, record->n_blocks * sizeof *sorted);
    qsort(sorted, record->n_blocks, sizeof *sorted, compare_blocks);
    for (size_t i = 0; i < record->n_blocks; i++) {
        all_faults += faults_of(&sorted[i]);
    }
    fputs("<p>By the line of source that allocated it.</p>\n", file);
    begin_table(file, "Faults, fetches and diffs of all nodes in the whole run",
                "block|<allocated at|pages|read faults|write faults|pages "
                "fetched|diffs sent|part of the faults");
    for (size_t i = 0; i < record->n_blocks && i < BLOCKS_SHOWN; i++) {
        put_block(file, &sorted[i], all_faults);
    }
    end_table(file);
    put_left_out(file, record->n_blocks, BLOCKS_SHOWN, "places");
    free(sorted);
}

// ---- lines ----

static void put_lines(FILE *file, const struct record *record)
{
    double all_s = 0;

    put_heading(file, "lines", "Lines of source that fault most");
    for (size_t i = 0; i < record->n_lines; i++) {
        all_s += record->lines[i].wait_s;
    }
    if (record->n_lines == 0) {
        fputs("<p>None did, or they were not counted.</p>\n", file);
        return;
    }
    fputs("<p>Those at which threads wait longest for pages of other "
          "nodes.</p>\n",
          file);
    begin_table(file, "Faults of all nodes in the whole run, by line",
                "line|read faults|write faults|waited|part of the wait");
    for (size_t i = 0; i < record->n_lines && i < LINES_SHOWN; i++) {
        const struct record_line *line = &record->lines[i];
        char wait[24];

        put_row_head(file, line->where[0] != '\0' ? line->where : "others");
        put_number(file, line->read_faults);
        put_number(file, line->write_faults);
        fprintf(file, "<td>%s</td><td>", page_time(line->wait_s, wait));
        put_bar_of(file, all_s > 0 ? line->wait_s / all_s : 0);
        fputs("</td></tr>\n", file);
    }
    end_table(file);
    put_left_out(file, record->n_lines, LINES_SHOWN, "lines");
}

// ---- the numbers of --stats ----

static void put_stats_row(FILE *file, const struct record_node *node)
{
    const struct record_stats *s = &node->stats;
    char text[32];

    put_row_head(file, node->name);
    put_number(file, s->n_threads);
    snprintf(text, sizeof text, "%.3f", s->compute_ns * 1e-9);
    put_cell(file, text);
    put_number(file, s->read_faults);
    put_number(file, s->write_faults);
    put_number(file, s->pages_fetched);
    put_number(file, s->pages_served);
    put_number(file, s->updates_sent);
    put_number(file, s->messages_sent);
    snprintf(text, sizeof text, "%.2f", s->bytes_sent / MIB);
    put_cell(file, text);
    fputs("</tr>\n", file);
}

static void put_memory_row(FILE *file, const struct record_node *node)
{
    const struct record_stats *s = &node->stats;
    const double mib[] = {s->memory / MIB, s->resident / MIB, s->lack / MIB};
    char text[32];

    put_row_head(file, node->name);
    for (unsigned i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "%.1f", mib[i]);
        put_cell(file, text);
    }
    put_number(file, s->page_ins);
    put_number(file, s->page_outs);
    put_number(file, s->copies_forgotten);
    snprintf(text, sizeof text, "%.3f", s->swap_ns * 1e-9);
    put_cell(file, text);
    snprintf(text, sizeof text, "%.3f", s->swap_out_ns * 1e-9);
    put_cell(file, text);
    fputs("</tr>\n", file);
}

static void put_rows(FILE *file, const struct record *record, int is_memory)
{
    for (size_t i = 0; i < record->n_nodes && i < PAGE_NODES; i++) {
        const struct record_node *node = &record->nodes[i];

        if (!node->has_stats || (is_memory && node->stats.memory <= 0)) {
            continue;
        }
        if (is_memory) {
            put_memory_row(file, node);
        } else {
            put_stats_row(file, node);
        }
    }
}

static void put_stats(FILE *file, const struct record *record)
{
    int has_memory = 0;

    put_heading(file, "numbers", "Numbers of each node");
    begin_table(file, "The whole run, as --stats has it",
                "node|threads|compute s|reads|writes|fetched|served|updates|"
                "messages|MiB sent");
    put_rows(file, record, 0);
    end_table(file);
    for (size_t i = 0; i < record->n_nodes; i++) {
        has_memory |= record->nodes[i].stats.memory > 0;
    }
    if (has_memory) {
        begin_table(file, "Nodes with a limit of memory",
                    "node|memory MiB|resident|lack|pages in|pages out|given "
                    "up|waited s|for room");
        put_rows(file, record, 1);
        end_table(file);
    }
    put_left_out(file, record->n_nodes, PAGE_NODES, "nodes");
}

// ---- machine and command ----

static void put_machine(FILE *file, const struct record *record)
{
    put_heading(file, "machine", "Machine and command");
    fputs("<pre>", file);
    for (size_t i = 0; i < record->n_command && i < WORDS_SHOWN; i++) {
        char word[512];

        snprintf(word, sizeof word, "%s", record->command[i]);
        fputs(i > 0 ? " " : "", file);
        page_text(file, word);
    }
    fputs(record->n_command > WORDS_SHOWN ? " ...</pre>\n" : "</pre>\n", file);
    begin_table(file, "Nodes", "node|host|power|workers|declared speed");
    for (size_t i = 0; i < record->n_nodes && i < PAGE_NODES; i++) {
        const struct record_node *node = &record->nodes[i];
        char text[32];

        put_row_head(file, node->name);
        put_cell(file, node->host);
        snprintf(text, sizeof text, "%.3g", node->power);
        put_cell(file, text);
        put_number(file, node->n_workers);
        snprintf(text, sizeof text, "%g", node->declared_speed);
        put_cell(file, node->declared_speed > 0 ? text : "-");
        fputs("</tr>\n", file);
    }
    end_table(file);
    fputs("<p class=\"soft\">Teamster ", file);
    page_text(file, record->teamster);
    fputs(record->system[0] != '\0' ? "; " : "", file);
    page_text(file, record->system);
    fputs(record->ended[0] != '\0' ? "; ended " : "", file);
    page_text(file, record->ended);
    fputs(". Power is of one processor, beside that of node 0.</p>\n", file);
}

static void put_explanation(FILE *file)
{
    put_heading(file, "meaning", "What the factors mean");
    fputs(
        "<p>Of each part of the run that was measured: <em>computing</em> is "
        "the processor time of a node's threads, of a worker in the mean, "
        "without faults and waits; <em>paging</em> the time that they wait "
        "for memory. Sums over all parts:</p>\n"
        "<ul>\n<li>load balance: the mean computing time of all workers, by "
        "that of the node that computes longest;</li>\n"
        "<li>paging: the longest computing time, by the longest of computing "
        "and paging together;</li>\n"
        "<li>communication: the longest of computing and paging together, by "
        "the time of the clock;</li>\n"
        "<li>use of speed: the mean computing time with each node's counted "
        "by its power, by the plain mean. It is above 100 % where fast nodes "
        "compute for longer than slow ones.</li>\n</ul>\n"
        "<p>Their product is the efficiency: the work done (computing times "
        "power) by what all workers could have done. What would be faster is "
        "predicted by the model that the mapping of threads goes by, with what "
        "the run has measured; <code>teamster plan</code> asks it more. "
        "<code>docs/report.md</code> has the formulas.</p>\n",
        file);
}

// ---- the record ----

/** Without what is large. @return a new one */
static json_t *shortened(const json_t *document, int is_last)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)document);

    json_object_set_new(copy, "profile", json_null());
    json_object_set_new(copy, "no_profile",
                        json_string("it is left out of the page, which would "
                                    "be too large with it"));
    if (is_last) {
        json_t *iterations = json_copy(json_object_get(copy, "iterations"));

        if (json_is_object(iterations)) {
            json_object_set_new(iterations, "threads", json_array());
        }
        json_object_set_new(copy, "iterations",
                            iterations != NULL ? iterations : json_null());
    }
    return copy;
}

/** JSON in which nothing ends the element that it is in. @return NULL: too large, or no
 * memory */
static char *dump_short(const json_t *document)
{
    char *text = json_dumps(document, JSON_COMPACT | JSON_ENSURE_ASCII |
                                          JSON_REAL_PRECISION(9));

    if (text != NULL && strlen(text) > RECORD_BYTES) {
        free(text);
        return NULL;
    }
    return text;
}

static void put_escaped_json(FILE *file, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        switch (*at) {
        case '<':
        case '>':
        case '&':
            fprintf(file, "\\u%04x", *at);
            break;
        default:
            putc(*at, file);
        }
    }
}

/** For teamster report, which compares pages as well. */
static void put_record(FILE *file, const struct record *record)
{
    char *text = dump_short(record->document);

    for (int is_last = 0; text == NULL && is_last <= 1; is_last++) {
        json_t *copy = shortened(record->document, is_last);

        text = dump_short(copy);
        json_decref(copy);
    }
    if (text != NULL) {
        fputs(PAGE_RECORD_BEGIN, file);
        put_escaped_json(file, text);
        fputs(PAGE_RECORD_END "\n", file);
    }
    free(text);
}

static void put_contents(FILE *file)
{
    fputs("<nav aria-label=\"Contents\"><p class=\"soft\">"
          "<a href=\"#efficiency\">Where the time went</a> &#183; "
          "<a href=\"#nodes\">Nodes</a> &#183; "
          "<a href=\"#iterations\">Iterations</a> &#183; "
          "<a href=\"#mapping\">Mapping</a> &#183; "
          "<a href=\"#blocks\">Blocks</a> &#183; "
          "<a href=\"#lines\">Lines</a> &#183; "
          "<a href=\"#numbers\">Numbers</a> &#183; "
          "<a href=\"#machine\">Machine</a> &#183; "
          "<a href=\"#meaning\">Meaning</a></p></nav>\n",
          file);
}

void page_write(FILE *file, const struct record *record)
{
    char title[300];

    snprintf(title, sizeof title, "Report of %.200s",
             record->program[0] != '\0' ? record->program : "a run");
    page_begin(file, title);
    put_summary(file, record);
    put_contents(file);
    put_efficiency(file, record);
    put_node_times(file, record);
    put_iterations(file, record);
    put_mapping(file, record);
    put_blocks(file, record);
    put_lines(file, record);
    put_stats(file, record);
    put_machine(file, record);
    put_explanation(file);
    put_record(file, record);
    page_end(file);
}

// ---- two runs ----

static void put_text_of(FILE *file, const struct comparison *comparison)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);

    if (memory != NULL) {
        compare_print(memory, comparison);
        fclose(memory);
        fputs("<pre>", file);
        for (char *line = strtok(text, "\n"); line != NULL;
             line = strtok(NULL, "\n")) {
            page_text(file, line);
            putc('\n', file);
        }
        fputs("</pre>\n", file);
    }
    free(text);
}

void page_write_comparison(FILE *file, const struct comparison *comparison)
{
    char verdict[2048];

    compare_say(comparison, verdict, sizeof verdict);
    page_begin(file, "Two runs compared");
    fputs("<p>", file);
    page_text(file, verdict);
    fputs("</p>\n", file);
    put_text_of(file, comparison);
    for (unsigned i = 0; i < 2; i++) {
        fprintf(file, "<h2>%c: ", 'A' + (int)i);
        page_text(file, comparison->sides[i].name);
        fputs("</h2>\n", file);
        if (comparison->sides[i].record->n_iterations > 0) {
            page_iterations(file, comparison->sides[i].record);
        }
    }
    page_end(file);
}
