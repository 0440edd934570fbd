// SPDX-License-Identifier: BSD-3-Clause
//
// Advice. What there was comes from the record, as measured. What would be comes from the
// planner: it is asked about the profile in the record as `teamster plan` is asked, with the
// same changes. Nothing is said that neither of them says; and if the model is off for the
// mapping that was measured, what it says of others is not told.
#include "planner/run_advice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "planner/plan.h"
#include "planner/report_page_priv.h"
#include "planner/what_if.h"

enum {
    FEW_SAMPLES = 4, // that say how the mapping in force is
    TRIED_MAX = 16,  // nodes that are left out in thought, each by itself
    LISTED_MAX = 12, // nodes whose threads are counted in a sentence
};

#define MIB ((double)(1 << 20))

/** What the planner says of the run as it was. */
struct outlook {
    const struct record *record;
    const struct profile *profile;
    struct scenario now;
    struct plan plan; ///< of cpu-mem
    int has_plan;
    char mute[400]; ///< why nothing can be told; "": it can
};

const char *factor_name(enum factor factor)
{
    static const char *const names[] = {
        [FACTOR_LOAD_BALANCE] = "load balance",
        [FACTOR_PAGING] = "paging",
        [FACTOR_COMMUNICATION] = "communication",
        [FACTOR_SPEED] = "use of speed",
    };

    return names[factor];
}

double factor_value(const struct efficiency *efficiency, enum factor factor)
{
    switch (factor) {
    case FACTOR_LOAD_BALANCE:
        return efficiency->load_balance;
    case FACTOR_PAGING:
        return efficiency->paging;
    case FACTOR_COMMUNICATION:
        return efficiency->communication;
    default:
        return efficiency->speed;
    }
}

// ---- asking the planner ----

static void ask_policy(struct plan *plan, const struct scenario *scenario)
{
    const struct policy *const policy = policy_find(NULL);
    const struct plan_question question = {.policies = &policy,
                                           .n_policies = 1};

    plan_make(plan, scenario, &question);
}

static double best_s(const struct plan *plan)
{
    return fmin(plan->answers[0].after.iteration_s, plan->in_force.iteration_s);
}

/** What a change leads to. */
struct result {
    double
        best_s; ///< an iteration with the best mapping; 0: there is no such change
    double kept_s;     ///< with the threads as they are
    double lack_pages; ///< then, of the node that was asked about
};

/** @param node  to say how much it lacks; NO_NODE: none */
static struct result try_change(const struct outlook *outlook,
                                const char *change, uint32_t node)
{
    struct scenario then;
    struct plan plan;
    char error[256];
    struct result result = {0};

    scenario_init(&then, outlook->profile);
    if (scenario_change(&then, change, error, sizeof error) == TM_OK) {
        scenario_settle(&then);
        ask_policy(&plan, &then);
        result.best_s = best_s(&plan);
        result.kept_s = plan.in_force.iteration_s;
        if (node != NO_NODE) {
            result.lack_pages = plan.in_force.nodes[node].lack_pages;
        }
        plan_release(&plan);
    }
    scenario_release(&then);
    return result;
}

static void doubt_model(struct outlook *outlook, double predicted_s,
                        double measured_s)
{
    char measured[24];
    char predicted[24];

    snprintf(outlook->mute, sizeof outlook->mute,
             "the model says that the slowest node is busy for %s where %s was "
             "measured%s",
             page_time(predicted_s, predicted), page_time(measured_s, measured),
             outlook->profile->view.n_groups == 0
                 ? "; it does not know which pages threads use, since no "
                   "iteration was tracked: with --policy=cpu-mem one is"
                 : "");
}

static void doubt_busy(struct outlook *outlook, double busy_s)
{
    char busy[24];
    char clock[24];

    snprintf(outlook->mute, sizeof outlook->mute,
             "of the %s that an iteration takes even the slowest node is busy "
             "for %s only, and the model knows of nothing else",
             page_time(outlook->record->clock_s, clock),
             page_time(busy_s, busy));
}

static void look_at_trust(struct outlook *outlook)
{
    const double measured_s = outlook->profile->measured.iteration_s;
    const double predicted_s = outlook->plan.in_force.iteration_s;

    if (outlook->profile->measured.nodes == NULL || measured_s <= 0 ||
        fabs(predicted_s / measured_s - 1) > ADVICE_TRUST) {
        doubt_model(outlook, predicted_s, measured_s);
    } else if (measured_s < ADVICE_BUSY * outlook->record->clock_s) {
        doubt_busy(outlook, measured_s);
    }
}

static void look_ahead(struct outlook *outlook, const struct record *record)
{
    *outlook = (struct outlook){.record = record, .profile = &record->profile};
    if (!record->has_profile) {
        snprintf(outlook->mute, sizeof outlook->mute, "%s", record->no_profile);
    } else if (record->n_samples < FEW_SAMPLES) {
        snprintf(outlook->mute, sizeof outlook->mute,
                 "only the last %u iterations show what the last mapping is "
                 "like",
                 record->n_samples);
    } else {
        scenario_init(&outlook->now, outlook->profile);
        ask_policy(&outlook->plan, &outlook->now);
        outlook->has_plan = 1;
        look_at_trust(outlook);
    }
}

static void release_outlook(struct outlook *outlook)
{
    if (outlook->has_plan) {
        plan_release(&outlook->plan);
        scenario_release(&outlook->now);
    }
}

// ---- words ----

/** "23.3 ms instead of 85.9 ms" */
static void add_times(struct text *line, double then_s, double now_s)
{
    char then[24];
    char now[24];

    text_add(line, "%s an iteration instead of %s", page_time(then_s, then),
             page_time(now_s, now));
}

static int is_gain(double then_s, double now_s)
{
    return then_s > 0 && then_s < now_s * (1 - ADVICE_GAIN);
}

static void add_mute(struct text *line, const struct outlook *outlook)
{
    text_add(line, " What would be faster cannot be told: %s.", outlook->mute);
}

static void add_counts(struct text *line, const struct prediction *prediction,
                       uint32_t n_nodes)
{
    for (uint32_t x = 0; x < n_nodes; x++) {
        text_add(line, "%s%u", x == 0 ? "" : ",",
                 prediction->nodes[x].n_threads);
    }
}

/** What cpu-mem would do with the threads. @return 1: something faster */
static int add_mapping(struct text *line, const struct outlook *outlook)
{
    const struct plan *plan = &outlook->plan;
    const struct answer *answer = plan->answers; // the best one; there is one
    const double now_s = plan->in_force.iteration_s;
    const uint32_t n_nodes = outlook->now.view.n_nodes;

    if (outlook->mute[0] != '\0') {
        add_mute(line, outlook);
        return 0;
    }
    if (!is_gain(answer->after.iteration_s, now_s)) {
        text_add(line,
                 " The model knows no mapping of these threads that is faster "
                 "by more than %.0f %%.",
                 ADVICE_GAIN * 100);
        return 0;
    }
    if (n_nodes <= LISTED_MAX) {
        text_add(line, " Threads as ");
        add_counts(line, &answer->after, n_nodes);
        text_add(line, " on the nodes, not ");
        add_counts(line, &plan->in_force, n_nodes);
    } else {
        text_add(line, " With another mapping");
    }
    text_add(line, ": ");
    add_times(line, answer->after.iteration_s, now_s);
    text_add(line, "; %u threads move (--policy=cpu-mem).", answer->n_moves);
    return 1;
}

/** The node of the profile that is this one of the record; NO_NODE if it is gone. */
static uint32_t find_node(const struct outlook *outlook, size_t node)
{
    const struct cluster_view *view = &outlook->now.view;
    const char *name = outlook->record->nodes[node].name;

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        if (strncmp(view->nodes[x].name, name, VIEW_NAME_MAX - 1) == 0) {
            return x;
        }
    }
    return NO_NODE;
}

// ---- load balance ----

/** Seconds of a node's workers, in the mean, of a value that is summed over threads. */
static double computing_s(const struct record *record, size_t node)
{
    const struct record_node *it = &record->nodes[node];

    if (it->n_workers == 0) {
        return 0;
    }
    return record->n_timed > 0
               ? it->sums.computing_s / it->n_workers / record->n_timed
               : it->stats.compute_ns * 1e-9 / it->n_workers;
}

static int say_of_balance(const struct outlook *outlook, double value,
                          struct text *line)
{
    const struct record *record = outlook->record;
    size_t most = 0;
    size_t least = 0;
    char longest[24];
    char shortest[24];

    for (size_t i = 1; i < record->n_nodes; i++) {
        most = computing_s(record, i) > computing_s(record, most) ? i : most;
        least = computing_s(record, i) < computing_s(record, least) ? i : least;
    }
    if (value >= ADVICE_NONE) {
        text_add(line, "Nodes compute for about equally long.");
        return 0;
    }
    text_add(line, "%s computes for %s%s, %s for %s.", record->nodes[most].name,
             page_time(computing_s(record, most), longest),
             record->n_timed > 0 ? " of an iteration in the mean" : "",
             record->nodes[least].name,
             page_time(computing_s(record, least), shortest));
    return add_mapping(line, outlook);
}

// ---- paging ----

static double paging_share(const struct record *record, size_t node)
{
    const struct record_node *it = &record->nodes[node];
    const double time_s =
        record->n_timed > 0 ? it->sums.time_s : record->seconds;
    const double paging_s =
        record->n_timed > 0 ? it->sums.paging_s : it->stats.swap_ns * 1e-9;

    return it->n_workers == 0 || time_s <= 0
               ? 0
               : paging_s / it->n_workers / time_s;
}

/** Fewer threads, if that is what the policy would do. @return 1: it is said */
static int add_fewer_threads(struct text *line, const struct outlook *outlook,
                             uint32_t node)
{
    const struct plan *plan = &outlook->plan;
    const struct answer *answer = &plan->answers[0];
    const uint32_t now = plan->in_force.nodes[node].n_threads;
    const uint32_t then = answer->after.nodes[node].n_threads;

    if (then >= now ||
        !is_gain(answer->after.iteration_s, plan->in_force.iteration_s)) {
        return 0;
    }
    text_add(line, " With %u thread%s less there (%u, not %u): ", now - then,
             now - then == 1 ? "" : "s", then, now);
    add_times(line, answer->after.iteration_s, plan->in_force.iteration_s);
    text_add(line, " (--policy=cpu-mem).");
    return 1;
}

/** As much memory as it takes for the node to lack none, with the threads as they are: more
 * than it lacks, if the run has learned that programs get only a part of it.
 * @return MiB; 0: not found */
static double find_memory(const struct outlook *outlook, uint32_t node,
                          struct result *result)
{
    const double lack_mib =
        outlook->plan.in_force.nodes[node].lack_pages * TM_PAGE_SIZE / MIB;

    for (double factor = 1; lack_mib > 0 && factor <= 8; factor *= 1.25) {
        const double mib = ceil(lack_mib * factor);
        char change[64];

        snprintf(change, sizeof change, "@%u.memory=+%.0fM", node, mib);
        *result = try_change(outlook, change, node);
        if (result->kept_s > 0 && result->lack_pages <= 0) {
            return mib;
        }
    }
    return 0;
}

/** @return 1: it is said */
static int add_more_memory(struct text *line, const struct outlook *outlook,
                           uint32_t node)
{
    const double now_s = outlook->plan.in_force.iteration_s;
    struct result result;
    const double mib = find_memory(outlook, node, &result);
    char best[24];

    if (mib <= 0 || !is_gain(result.kept_s, now_s)) {
        return 0;
    }
    text_add(line,
             " With %.0f MiB more memory there and the threads as they "
             "are: ",
             mib);
    add_times(line, result.kept_s, now_s);
    if (is_gain(result.best_s, best_s(&outlook->plan))) {
        text_add(line, ", and with other threads there %s",
                 page_time(result.best_s, best));
    }
    text_add(line, ".");
    return 1;
}

static int say_of_paging(const struct outlook *outlook, double value,
                         struct text *line)
{
    const struct record *record = outlook->record;
    size_t most = 0;
    uint32_t node;
    char share[16];
    int moves_threads;

    for (size_t i = 1; i < record->n_nodes; i++) {
        most = paging_share(record, i) > paging_share(record, most) ? i : most;
    }
    if (paging_share(record, most) <= 0) {
        text_add(line, "No node waited for memory.");
        return 0;
    }
    text_add(line, "%s pages: it waits for memory for %s of the time.",
             record->nodes[most].name,
             page_percent(paging_share(record, most), share));
    if (value >= ADVICE_NONE) {
        text_add(line, " The run is hardly longer for it.");
        return 0;
    }
    if (outlook->mute[0] != '\0') {
        add_mute(line, outlook);
        return 0;
    }
    node = find_node(outlook, most);
    if (node == NO_NODE) {
        text_add(line, " It had left before the end.");
        return 0;
    }
    moves_threads = add_fewer_threads(line, outlook, node);
    if (!add_more_memory(line, outlook, node) && !moves_threads) {
        text_add(line,
                 " Neither fewer threads nor more memory there would "
                 "make iterations shorter by more than %.0f %%, says "
                 "the model, with the mapping of the end.",
                 ADVICE_GAIN * 100);
    }
    return moves_threads;
}

// ---- communication ----

static double traffic(const struct record_block *block)
{
    return block->fetches + block->diffs;
}

static void add_heaviest_block(struct text *line, const struct record *record)
{
    const struct record_block *most = NULL;
    double sum = 0;
    char part[16];

    for (size_t i = 0; i < record->n_blocks; i++) {
        const struct record_block *block = &record->blocks[i];

        sum += traffic(block);
        most = most == NULL || traffic(block) > traffic(most) ? block : most;
    }
    if (sum <= 0) {
        text_add(line, " No page of shared memory went from node to node.");
        return;
    }
    text_add(line, " Of the pages fetched and diffs sent, %s are of %s%s",
             page_percent(traffic(most) / sum, part),
             most->name[0] != '\0' ? most->name : "a block",
             most->line == 0 ? "." : " ");
    if (most->line != 0) {
        text_add(line, "(%s:%u).", most->file, most->line);
    }
    if (most->writers > 1 && most->diffs > most->fetches) {
        text_add(line,
                 " It is written by %u nodes, and more is sent of what they "
                 "write than is fetched: if each has a part of its own, have "
                 "parts begin at pages; if nobody reads in between, try "
                 "attr.protocol = TM_LAZY_RELEASE.",
                 most->writers);
    }
}

/** Where threads wait for pages. */
static void add_longest_line(struct text *line, const struct record *record)
{
    double sum_s = 0;
    char part[16];

    for (size_t i = 0; i < record->n_lines; i++) {
        sum_s += record->lines[i].wait_s;
    }
    if (sum_s > 0 && record->lines[0].where[0] != '\0') {
        text_add(line, " Of the waiting for pages %s is in %s.",
                 page_percent(record->lines[0].wait_s / sum_s, part),
                 record->lines[0].where);
    }
}

/** Would it be faster without one of the nodes? */
static void add_without(struct text *line, const struct outlook *outlook)
{
    const struct cluster_view *view = &outlook->now.view;
    double now_s;
    double found_s;
    uint32_t found = NO_NODE;

    if (outlook->mute[0] != '\0') {
        add_mute(line, outlook);
        return;
    }
    if (view->n_nodes < 2 || view->n_nodes > TRIED_MAX) {
        return;
    }
    now_s = best_s(&outlook->plan);
    found_s = now_s;
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        char change[32];
        double then_s;

        snprintf(change, sizeof change, "remove:@%u", x);
        then_s = try_change(outlook, change, NO_NODE).best_s;
        if (is_gain(then_s, now_s) && then_s < found_s) {
            found_s = then_s;
            found = x;
        }
    }
    if (found == NO_NODE) {
        text_add(line, " It would not be faster without one of the nodes, says "
                       "the model.");
        return;
    }
    text_add(line, " Without %s: ", view->nodes[found].name);
    add_times(line, found_s, now_s);
    text_add(line, ".");
}

static int say_of_communication(const struct outlook *outlook, double value,
                                struct text *line)
{
    char part[16];

    if (value >= ADVICE_NONE) {
        text_add(line, "Whoever is slowest hardly waits for others.");
        return 0;
    }
    text_add(line,
             "For %s of the time even the slowest node neither computes nor "
             "pages: it handles faults, sends updates, or waits for others.",
             page_percent(1 - value, part));
    add_heaviest_block(line, outlook->record);
    add_longest_line(line, outlook->record);
    add_without(line, outlook);
    return 0;
}

// ---- use of speed ----

static int say_of_speed(const struct outlook *outlook, double value,
                        struct text *line)
{
    if (value > 2 - ADVICE_NONE) {
        text_add(line, "Slow nodes compute for less of the time than fast "
                       "ones: what load balance counts as lost is worth less "
                       "than it seems.");
        return 0;
    }
    if (value >= ADVICE_NONE) {
        text_add(line, "Fast and slow nodes compute for about the same part "
                       "of the time.");
        return 0;
    }
    text_add(line, "Fast nodes compute for less of the time than slow ones.");
    return add_mapping(line, outlook);
}

void advice_make(const struct record *record,
                 const struct efficiency *efficiency, struct advice *all)
{
    // Each returns whether it is advised that cpu-mem moves threads.
    static int (*const say[])(const struct outlook *outlook, double value,
                              struct text *line) = {
        [FACTOR_LOAD_BALANCE] = say_of_balance,
        [FACTOR_PAGING] = say_of_paging,
        [FACTOR_COMMUNICATION] = say_of_communication,
        [FACTOR_SPEED] = say_of_speed,
    };
    struct outlook outlook;

    look_ahead(&outlook, record);
    for (unsigned i = 0; i < N_FACTORS; i++) {
        struct text line = {all[i].text, sizeof all[i].text, 0};

        all[i].text[0] = '\0';
        all[i].moves_threads =
            say[i](&outlook, factor_value(efficiency, (enum factor)i), &line);
    }
    release_outlook(&outlook);
}

// ---- the command to copy ----

static void add_word(struct text *line, const char *word)
{
    text_add(line, " ");
    text_add_word(line, word);
}

/** The same option for the run to come. What says where threads go is left out; a report
 * has another name, so that the two can be compared. */
static void add_option(struct text *line, const char *option)
{
    static const char report[] = "--report=";
    const char *dot = strrchr(option, '.');
    char word[1024];

    if (strncmp(option, "--policy=", 9) == 0 ||
        strncmp(option, "--counts=", 9) == 0) {
        return;
    }
    if (strncmp(option, report, strlen(report)) != 0 || dot == NULL) {
        add_word(line, option);
        return;
    }
    snprintf(word, sizeof word, "%.*s-2%s", (int)(dot - option), option, dot);
    add_word(line, word);
}

int advice_command(const struct record *record, const struct advice *all,
                   char *line, size_t size)
{
    struct text text = {line, size, 0};
    int moves_threads = 0;

    for (unsigned i = 0; i < N_FACTORS; i++) {
        moves_threads |= all[i].moves_threads;
    }
    if (!moves_threads || record->options == NULL ||
        strcmp(record->policy, "cpu-mem") == 0) {
        return 0;
    }
    text_add(&text, "teamster run --policy=cpu-mem");
    for (size_t i = 0; i < record->n_options; i++) {
        add_option(&text, record->options[i]);
    }
    for (size_t i = 0; i < record->n_command; i++) {
        add_word(&text, record->command[i]);
    }
    return text.length < size;
}
