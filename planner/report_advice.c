// SPDX-License-Identifier: BSD-3-Clause
//
// What `teamster plan --advise` prints, and how far predictions were off: nobody should buy
// anything for a gain that is smaller than that.
#include "planner/report_advice.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/robust.h"
#include "model/correct.h"
#include "place/profile_fields.h"
#include "planner/node_classes.h"

enum {
    LINES_MOST = 8,   // changes that are printed; JSON has all
    CHANGES_MOST = 4, // of one, to be typed again
};

static const char *const kind_names[] = {
    [PURCHASE_MEMORY] = "memory",
    [PURCHASE_SPEED] = "speed",
    [PURCHASE_NODE] = "node",
};

// ---- errors of predictions ----

/** How far predictions for the mapping in force were off. */
struct errors {
    int are_known;
    double iteration; ///< predicted / measured - 1
    double median;    ///< of the nodes, without sign
    double most;      ///< likewise
    uint32_t worst;   ///< its node
};

static double error_of(const struct report_advice *report, uint32_t node)
{
    const double measured_s = report->profile->measured.nodes[node].time_s;

    return measured_s > 0
               ? report->now->in_force.nodes[node].time_s / measured_s - 1
               : 0;
}

static struct errors errors_of(const struct report_advice *report)
{
    const struct profile *profile = report->profile;
    const uint32_t n_nodes = profile->view.n_nodes;
    struct errors errors = {0};
    double *sorted;

    if (profile->measured.nodes == NULL || profile->measured.iteration_s <= 0) {
        return errors;
    }
    errors.are_known = 1;
    errors.iteration =
        prediction_error(&report->now->in_force, &profile->measured);
    sorted = memory_new(n_nodes, sizeof *sorted);
    for (uint32_t x = 0; x < n_nodes; x++) {
        sorted[x] = fabs(error_of(report, x));
        if (sorted[x] > errors.most) {
            errors.most = sorted[x];
            errors.worst = x;
        }
    }
    errors.median = robust_median(sorted, n_nodes);
    free(sorted);
    return errors;
}

static void print_errors(const struct report_advice *report, FILE *file)
{
    const struct errors errors = errors_of(report);

    if (!errors.are_known) {
        fputs("how far predictions are off is not known: nothing was "
              "measured\n",
              file);
        return;
    }
    fprintf(file,
            "the model was off by %+.1f %% for the mapping that was measured; "
            "for single nodes by %.1f %% in the median, %.1f %% at most (%s)\n",
            errors.iteration * 100, errors.median * 100, errors.most * 100,
            report->profile->view.nodes[errors.worst].name);
    if (fabs(errors.iteration) >= report->wish->gain) {
        fputs("that is no less than the gain that is wanted: do not rely on "
              "it\n",
              file);
    }
}

// ---- purchases ----

/** "n3", "each of 16 nodes like n3", "all nodes" */
static void print_who(const struct report_advice *report,
                      const struct purchase *purchase, FILE *file)
{
    const struct cluster_view *view = &report->base->scenario->view;
    const char *like = view->nodes[purchase->like].name;

    if (purchase->n_nodes == 1) {
        fprintf(file, "%s", like);
    } else if (purchase->n_nodes == view->n_nodes) {
        fputs("each node", file);
    } else {
        fprintf(file, "each of %u nodes like %s", purchase->n_nodes, like);
    }
}

static void print_mib(double mib, FILE *file)
{
    fprintf(file, mib < 64 ? "%.1f MiB" : "%.0f MiB", mib);
}

static void print_purchase(const struct report_advice *report,
                           const struct purchase *purchase, FILE *file)
{
    char *what = NULL;
    size_t size;
    FILE *text = open_memstream(&what, &size);

    ensure_memory(text != NULL);
    switch (purchase->kind) {
    case PURCHASE_MEMORY:
        fputs("memory of ", text);
        print_who(report, purchase, text);
        fputs(": ", text);
        print_mib(purchase->amount, text);
        fputs(" more", text);
        break;
    case PURCHASE_SPEED:
        fputs("speed of ", text);
        print_who(report, purchase, text);
        fprintf(text, ": %.2f times", purchase->amount);
        break;
    default:
        fprintf(text, "%u more node%s like %s", purchase->n_nodes,
                purchase->n_nodes == 1 ? "" : "s",
                report->base->scenario->view.nodes[purchase->like].name);
    }
    ensure_memory(fclose(text) == 0);
    fprintf(file, "%-50s%12.3f%10.1f %%%9u", what, purchase->iteration_s * 1e3,
            (1 - purchase->iteration_s / report->base->in_force.iteration_s) *
                100,
            purchase->n_moves);
    if (purchase->price > 0) {
        fprintf(file, "%12.2f", purchase->price);
    }
    putc('\n', file);
    free(what);
}

static int has_prices(const struct prices *prices)
{
    return prices->memory > 0 || prices->speed > 0 || prices->node > 0;
}

/** How to ask about the first one again. */
static void print_again(const struct report_advice *report, FILE *file)
{
    const char *changes = report->advice->purchases[0].changes;
    unsigned n = 0;

    for (const char *c = changes; *c != '\0'; c++) {
        n += *c == '\n';
    }
    if (n > CHANGES_MOST) {
        return;
    }
    fputs("the first in detail:", file);
    while (*changes != '\0') {
        const size_t length = strcspn(changes, "\n");

        fprintf(file, " --what-if %.*s", (int)length, changes);
        changes += length + 1;
    }
    putc('\n', file);
}

static void print_purchases(const struct report_advice *report, FILE *file)
{
    const struct cheapest *advice = report->advice;
    const int is_priced = has_prices(&report->wish->prices);

    fprintf(file, "\n%-50s%12s%12s%9s%s\n", "any one of these is enough",
            "then, ms", "shorter", "moves", is_priced ? "       price" : "");
    for (unsigned i = 0; i < advice->n && i < LINES_MOST; i++) {
        print_purchase(report, &advice->purchases[i], file);
    }
    if (advice->n > LINES_MOST) {
        fprintf(file, "(%u more)\n", advice->n - LINES_MOST);
    }
    fputs(is_priced ? "cheapest first\n"
                    : "cheapest first, if memory costs less than speed, and "
                      "speed less than a node; --prices tells what they cost\n",
          file);
    print_again(report, file);
}

static void print_nothing(const struct report_advice *report, FILE *file)
{
    fprintf(file,
            "nothing reaches that: neither more memory, nor nodes that are up "
            "to %d times as fast, nor %d more; the nearest is %.3f ms\n",
            SPEED_MOST, NEW_NODES_MOST, report->advice->nearest_s * 1e3);
}

void report_advice_print(const struct report_advice *report, FILE *file)
{
    const struct cheapest *advice = report->advice;
    const double now_s = report->base->in_force.iteration_s;
    const char *policy = report->wish->policy->name;

    fprintf(file,
            "%s: wanted are iterations of %.3f ms, %g %% shorter than the "
            "%.3f ms of the mapping in force\n",
            report->name, advice->wanted_s * 1e3, report->wish->gain * 100,
            now_s * 1e3);
    if (advice->free_s < now_s) {
        fprintf(file,
                "with the nodes as they are: %.3f ms, if %s moves %u "
                "threads%s\n",
                advice->free_s * 1e3, policy, advice->n_free_moves,
                advice->free_s <= advice->wanted_s ? "; nothing need be bought"
                                                   : "; not enough");
    } else {
        fprintf(file, "with the nodes as they are %s knows no faster mapping\n",
                policy);
    }
    if (advice->n > 0) {
        print_purchases(report, file);
    } else if (advice->free_s > advice->wanted_s) {
        print_nothing(report, file);
    }
    print_errors(report, file);
}

// ---- for programs ----

static json_t *purchase_json(const struct cluster_view *view,
                             const struct purchase *purchase)
{
    json_t *changes = json_array();
    const char *line = purchase->changes;

    while (*line != '\0') {
        const size_t length = strcspn(line, "\n");

        json_array_append_new(changes, json_stringn(line, length));
        line += length + 1;
    }
    return json_pack(
        "{s:s, s:s, s:I, s:f, s:f, s:o, s:f, s:I, s:o}", "kind",
        kind_names[purchase->kind], "like", view->nodes[purchase->like].name,
        "n_nodes", (json_int_t)purchase->n_nodes, "amount", purchase->amount,
        "added", purchase->added, "price",
        purchase->price > 0 ? json_real(purchase->price) : json_null(),
        "iteration_s", purchase->iteration_s, "n_moves",
        (json_int_t)purchase->n_moves, "changes", changes);
}

static json_t *errors_json(const struct report_advice *report)
{
    const struct errors errors = errors_of(report);

    return errors.are_known
               ? json_pack("{s:f, s:f, s:f, s:s}", "iteration",
                           errors.iteration, "nodes_median", errors.median,
                           "nodes_most", errors.most, "worst_node",
                           report->profile->view.nodes[errors.worst].name)
               : json_null();
}

tm_status report_advice_print_json(const struct report_advice *report,
                                   FILE *file)
{
    const struct cheapest *advice = report->advice;
    json_t *purchases = json_array();
    json_t *document;
    int is_written = -1;

    for (unsigned i = 0; i < advice->n; i++) {
        json_array_append_new(purchases,
                              purchase_json(&report->base->scenario->view,
                                            &advice->purchases[i]));
    }
    document = json_pack(
        "{s:i, s:s, s:s, s:s, s:{s:f, s:s, s:f, s:f, s:f, s:I, s:f, s:o, s:o}}",
        "teamster_plan", 1, "profile", report->name, "program",
        report->profile->program, "model",
        profile_kinds.all[report->base->scenario->model.kind], "advice", "gain",
        report->wish->gain, "policy", report->wish->policy->name, "in_force_s",
        report->base->in_force.iteration_s, "wanted_s", advice->wanted_s,
        "free_s", advice->free_s, "n_free_moves",
        (json_int_t)advice->n_free_moves, "nearest_s", advice->nearest_s,
        "purchases", purchases, "errors", errors_json(report));
    if (document != NULL) {
        is_written = json_dumpf(document, file, JSON_INDENT(1));
        fputs("\n", file);
    }
    json_decref(document);
    return is_written == 0 || ferror(file) ? TM_OK : TM_ENOMEM;
}

// ---- many nodes, by class ----

/** The nodes of a class under a mapping. */
struct class_sums {
    uint32_t fewest;
    uint32_t most;
    double longest_s;
};

static struct class_sums sum_class(const struct node_classes *classes,
                                   uint32_t class, uint32_t n_nodes,
                                   const struct prediction *prediction)
{
    struct class_sums sums = {.fewest = UINT32_MAX};

    for (uint32_t x = 0; x < n_nodes; x++) {
        const struct node_prediction *node = &prediction->nodes[x];

        if (classes->class_of[x] == class) {
            sums.fewest =
                node->n_threads < sums.fewest ? node->n_threads : sums.fewest;
            sums.most =
                node->n_threads > sums.most ? node->n_threads : sums.most;
            sums.longest_s = fmax(sums.longest_s, node->time_s);
        }
    }
    return sums;
}

static void print_sums(const struct class_sums *sums, FILE *file)
{
    char threads[32];

    snprintf(threads, sizeof threads,
             sums->fewest == sums->most ? "%u" : "%u-%u", sums->fewest,
             sums->most);
    fprintf(file, "%11s%12.3f", threads, sums->longest_s * 1e3);
}

/** The median error of the predictions for the nodes of a class, or "-". */
static void print_class_error(const struct node_classes *classes,
                              uint32_t class, const struct profile *profile,
                              const struct prediction *in_force, FILE *file)
{
    double *errors = memory_new(profile->view.n_nodes, sizeof *errors);
    uint32_t n = 0;

    for (uint32_t x = 0; x < profile->view.n_nodes; x++) {
        const double measured_s = profile->measured.nodes[x].time_s;

        if (classes->class_of[x] == class && measured_s > 0) {
            errors[n++] = in_force->nodes[x].time_s / measured_s - 1;
        }
    }
    if (n > 0) {
        fprintf(file, "%+9.1f %%", robust_median(errors, n) * 100);
    } else {
        fprintf(file, "%11s", "-");
    }
    free(errors);
}

void report_classes_print(const struct profile *profile,
                          const struct plan *plan, const struct answer *answer,
                          FILE *file)
{
    const struct cluster_view *view = &plan->scenario->view;
    const int is_measured =
        profile->measured.nodes != NULL && !plan->scenario->is_changed;
    struct node_classes classes;

    node_classes_make(&classes, view);
    fprintf(file, "%-20s%7s%9s%7s%12s%23s%23s%s\n%55s%11s%12s%11s%12s%s\n",
            "nodes like", "nodes", "workers", "power", "memory MiB", "before",
            "after", is_measured ? "      error" : "", "", "threads",
            "longest ms", "threads", "longest ms",
            is_measured ? " in median" : "");
    for (uint32_t c = 0; c < classes.n; c++) {
        const struct node_view *like = &view->nodes[classes.classes[c].first];
        const struct class_sums before =
            sum_class(&classes, c, view->n_nodes, &plan->in_force);
        const struct class_sums after =
            sum_class(&classes, c, view->n_nodes, &answer->after);

        fprintf(file, "%-20s%7u%9u%7.2f%12.1f", like->name,
                classes.classes[c].n_nodes, like->n_processors, like->power,
                (double)like->memory_pages * TM_PAGE_SIZE / (1 << 20));
        print_sums(&before, file);
        print_sums(&after, file);
        if (is_measured) {
            print_class_error(&classes, c, profile, &plan->in_force, file);
        }
        putc('\n', file);
    }
    node_classes_release(&classes);
}
