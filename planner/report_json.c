// SPDX-License-Identifier: BSD-3-Clause
// What `teamster plan --json` prints: the same as report.c, with all digits.
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "place/profile_fields.h"
#include "planner/report.h"

// jansson's json_..._new() functions take over what they are given, also if it
// is NULL, and return NULL then: one check at the end is enough.

/** A node's name; "?" if it is no UTF-8, as JSON wants it. */
static json_t *name_json(const struct cluster_view *view, uint32_t node)
{
    json_t *text = json_string(view->nodes[node].name);

    return text != NULL ? text : json_string("?");
}

static json_t *terms_json(const struct cluster_view *view,
                          const struct prediction *prediction)
{
    json_t *array = json_array();

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        const struct node_prediction *it = &prediction->nodes[x];

        json_array_append_new(
            array,
            json_pack("{s:o, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:f, "
                      "s:f, s:f, s:f, s:f}",
                      "name", name_json(view, x), "n_threads",
                      (json_int_t)it->n_threads, "comp_s", it->comp_s, "mem_s",
                      it->mem_s, "mem_in_s", it->mem_in_s, "mem_out_s",
                      it->mem_out_s, "mem_fetch_s", it->mem_fetch_s, "comm_s",
                      it->comm_s, "time_s", it->time_s, "demand_pages",
                      (json_int_t)it->demand_pages, "lack_pages",
                      it->lack_pages, "pages_in", it->pages_in, "pages_out",
                      it->pages_out, "pages_fetched", it->pages_fetched,
                      "packets", it->packets));
    }
    return array;
}

static json_t *mapping_json(const struct cluster_view *view,
                            const uint32_t *node_of)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < view->n_threads; i++) {
        json_array_append_new(array, json_integer(node_of[i]));
    }
    return array;
}

static json_t *above_json(const struct plan *plan, double time_s)
{
    const double above = plan_above_bound(plan, time_s);

    return isnan(above) ? json_null() : json_real(above);
}

static json_t *answer_json(const struct plan *plan, const struct answer *answer)
{
    const struct cluster_view *view = &plan->scenario->view;

    return json_pack("{s:s, s:f, s:o, s:I, s:b, s:b, s:o, s:o}", "policy",
                     answer->name, "iteration_s", answer->after.iteration_s,
                     "above_bound", above_json(plan, answer->after.iteration_s),
                     "n_moves", (json_int_t)answer->n_moves, "is_proven",
                     answer->mapping.is_proven != 0, "owners_move",
                     answer->mapping.owners_move != 0, "nodes",
                     terms_json(view, &answer->after), "node_of",
                     mapping_json(view, answer->mapping.node_of));
}

static json_t *cluster_json(const struct cluster_view *view)
{
    json_t *array = json_array();

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        const struct node_view *node = &view->nodes[x];

        json_array_append_new(
            array, json_pack("{s:o, s:f, s:I, s:I}", "name", name_json(view, x),
                             "power", node->power, "n_processors",
                             (json_int_t)node->n_processors, "memory_pages",
                             (json_int_t)node->memory_pages));
    }
    return array;
}

/** The notes, each a text. */
static json_t *lines_json(const char *line)
{
    json_t *array = json_array();

    while (line != NULL && *line != '\0') {
        const size_t length = strcspn(line, "\n");

        json_array_append_new(array, json_stringn(line, length));
        line += length + (line[length] == '\n');
    }
    return array;
}

static json_t *plan_json(const struct plan *plan)
{
    const struct scenario *scenario = plan->scenario;
    json_t *answers = json_array();

    for (unsigned i = 0; i < plan->n_answers; i++) {
        json_array_append_new(answers, answer_json(plan, &plan->answers[i]));
    }
    return json_pack(
        "{s:o, s:I, s:o, s:f, s:{s:f, s:o, s:I, s:o, s:o}, s:o}", "cluster",
        cluster_json(&scenario->view), "n_threads",
        (json_int_t)scenario->view.n_threads, "changes",
        lines_json(scenario->notes), "lower_bound_s", plan->bound_s, "in_force",
        "iteration_s", plan->in_force.iteration_s, "above_bound",
        above_json(plan, plan->in_force.iteration_s), "n_moves",
        (json_int_t)plan->n_homeless, "nodes",
        terms_json(&scenario->view, &plan->in_force), "node_of",
        mapping_json(&scenario->view, scenario->node_of), "policies", answers);
}

tm_status report_print_json(const struct report *report, FILE *file)
{
    json_t *document = json_pack(
        "{s:i, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "teamster_plan", 1,
        "profile", report->name, "program", report->profile->program, "model",
        profile_kinds.all[report->now->scenario->model.kind], "now",
        plan_json(report->now), "then",
        report->then != NULL ? plan_json(report->then) : json_null(),
        "is_as_decided",
        report->repeated != NULL ? json_boolean(report->differences[0] == '\0')
                                 : json_null(),
        "differences", lines_json(report->differences));
    int is_written = -1;

    if (document != NULL) {
        is_written = json_dumpf(document, file, JSON_INDENT(1));
        fputs("\n", file);
    }
    json_decref(document);
    return is_written == 0 || ferror(file) ? TM_OK : TM_ENOMEM;
}
