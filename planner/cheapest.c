// SPDX-License-Identifier: BSD-3-Clause
//
// The smallest change for a wanted gain. Nodes are taken by class (node_classes.h): the
// slowest node of a class alone, all of a class, all there are; and each is given more memory
// or more speed, by halving, until the policy's mapping is just fast enough. New nodes are
// added one by one, like those of a class. The planner is asked each time, as for --what-if.
// More is taken to be no worse: where the policy breaks that, what is found is still enough,
// but maybe not the least.
#include "planner/cheapest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/vector.h"
#include "planner/node_classes.h"
#include "planner/what_if.h"

#define PAGES_PER_MIB (1048576.0 / TM_PAGE_SIZE)
#define MIB_PER_GIB 1024
#define SPEED_STEP 0.01
#define MEMORY_CORRECTED                                                       \
    4 // a program gets a quarter of a node's memory at worst (correct.h)

/** Nodes that are changed alike. */
struct subject {
    uint32_t *nodes; ///< [n]
    uint32_t n;
};

struct search {
    const struct scenario *base;
    const struct plan *plan;
    const struct wish *wish;
    struct node_classes classes;
    struct cheapest *advice;
    unsigned room; ///< of advice->purchases
};

// ---- trying ----

/** A scenario that begins where another is. */
static void copy_scenario(struct scenario *copy, const struct scenario *base)
{
    const struct profile profile = {
        .view = base->view,
        .node_of = base->node_of,
        .model = base->model,
        .measured = base->measured,
        .unit_speed = base->unit_speed,
        .decision = {.seed = base->seed, .effort = base->effort},
    };

    scenario_init(copy, &profile);
}

/** Make changes, a line each, and ask. @return seconds of an iteration; INFINITY: refused */
static double time_after(struct search *search, const char *changes,
                         uint32_t *n_moves)
{
    const struct plan_question question = {.policies = &search->wish->policy,
                                           .n_policies = 1};
    struct scenario then;
    struct plan plan;
    double time_s = INFINITY;
    char error[256];

    copy_scenario(&then, search->base);
    while (*changes != '\0') {
        char change[VIEW_NAME_MAX + 64];
        const size_t length = strcspn(changes, "\n");

        snprintf(change, sizeof change, "%.*s", (int)length, changes);
        if (scenario_change(&then, change, error, sizeof error) != TM_OK) {
            scenario_release(&then);
            return INFINITY;
        }
        changes += length + 1;
    }
    scenario_settle(&then);
    plan_make(&plan, &then, &question);
    time_s = plan.answers[0].after.iteration_s;
    *n_moves = plan.answers[0].n_moves;
    if (plan.in_force.iteration_s <= time_s) {
        time_s = plan.in_force.iteration_s;
        *n_moves = plan.n_homeless;
    }
    plan_release(&plan);
    scenario_release(&then);
    search->advice->nearest_s = fmin(search->advice->nearest_s, time_s);
    return time_s;
}

// ---- saying what is changed ----

static int is_name_unique(const struct cluster_view *view, uint32_t node)
{
    const char *name = view->nodes[node].name;

    if (name[0] == '@' || strcmp(name, "all") == 0) {
        return 0;
    }
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        if (x != node && strcmp(view->nodes[x].name, name) == 0) {
            return 0;
        }
    }
    return 1;
}

static void print_node(FILE *text, const struct cluster_view *view,
                       uint32_t node)
{
    if (is_name_unique(view, node)) {
        fputs(view->nodes[node].name, text);
    } else {
        fprintf(text, "@%u", node);
    }
}

static char *changes_of(const struct search *search, enum purchase_kind kind,
                        const struct subject *subject, double amount)
{
    const struct cluster_view *view = &search->base->view;
    char *changes = NULL;
    size_t size;
    FILE *text = open_memstream(&changes, &size);

    ensure_memory(text != NULL);
    for (uint32_t k = 0; k < subject->n && kind != PURCHASE_NODE; k++) {
        print_node(text, view, subject->nodes[k]);
        if (kind == PURCHASE_MEMORY) {
            fprintf(text, ".memory=+%.0fK\n", amount * 1024);
        } else {
            fprintf(text, ".speed=%.2fx\n", amount);
        }
    }
    for (unsigned k = 1; kind == PURCHASE_NODE && k <= (unsigned)amount; k++) {
        fprintf(text, "add:new%u,like=", k);
        print_node(text, view, subject->nodes[0]);
        fputc('\n', text);
    }
    ensure_memory(fclose(text) == 0);
    return changes;
}

// ---- the least amount ----

static double time_with(struct search *search, enum purchase_kind kind,
                        const struct subject *subject, double amount,
                        uint32_t *n_moves)
{
    char *changes = changes_of(search, kind, subject, amount);
    const double time_s = time_after(search, changes, n_moves);

    free(changes);
    return time_s;
}

/** Amounts go in such steps. */
static double step_of(enum purchase_kind kind, double amount)
{
    switch (kind) {
    case PURCHASE_MEMORY:
        // A page; of much memory a MiB.
        return amount < 64 ? 1 / PAGES_PER_MIB : 1;
    case PURCHASE_SPEED:
        return SPEED_STEP;
    default:
        return 1;
    }
}

static double most_of(const struct search *search, enum purchase_kind kind)
{
    const struct cluster_view *view = &search->base->view;
    double pages = 1;

    switch (kind) {
    case PURCHASE_MEMORY:
        for (uint32_t g = 0; g < view->n_groups; g++) {
            pages += view->group_pages[g];
        }
        return ceil(MEMORY_CORRECTED * pages / PAGES_PER_MIB);
    case PURCHASE_SPEED:
        return SPEED_MOST;
    default:
        return NEW_NODES_MOST;
    }
}

/** @return the least amount that is enough; 0: none is */
static double least_amount(struct search *search, enum purchase_kind kind,
                           const struct subject *subject)
{
    double least = kind == PURCHASE_SPEED ? 1 : 0; // not enough
    double most = most_of(search, kind);           // enough
    uint32_t n_moves;

    if (time_with(search, kind, subject, most, &n_moves) >
        search->advice->wanted_s) {
        return 0;
    }
    for (;;) {
        const double step = step_of(kind, most);
        const double middle = ceil((least + most) / 2 / step) * step;

        if (middle >= most - step / 2) {
            return most;
        }
        if (time_with(search, kind, subject, middle, &n_moves) <=
            search->advice->wanted_s) {
            most = middle;
        } else {
            least = middle;
        }
    }
}

// ---- keeping what is found ----

static double price_of(const struct prices *prices, enum purchase_kind kind)
{
    switch (kind) {
    case PURCHASE_MEMORY:
        return prices->memory;
    case PURCHASE_SPEED:
        return prices->speed;
    default:
        return prices->node;
    }
}

/** How much of what has a price. */
static double added_of(const struct search *search, enum purchase_kind kind,
                       const struct subject *subject, double amount)
{
    double power = 0;

    switch (kind) {
    case PURCHASE_MEMORY:
        return amount * subject->n / MIB_PER_GIB;
    case PURCHASE_SPEED:
        for (uint32_t k = 0; k < subject->n; k++) {
            const struct node_view *node =
                &search->base->view.nodes[subject->nodes[k]];

            power += node->power * node->n_processors * (amount - 1);
        }
        return power;
    default:
        return amount;
    }
}

static void look_for(struct search *search, enum purchase_kind kind,
                     const struct subject *subject)
{
    const double amount = least_amount(search, kind, subject);
    struct cheapest *advice = search->advice;
    struct purchase *purchase;

    if (amount <= 0) {
        return;
    }
    vector_reserve(advice->purchases, search->room, advice->n + 1);
    purchase = &advice->purchases[advice->n++];
    *purchase = (struct purchase){
        .kind = kind,
        .like = subject->nodes[0],
        .n_nodes = kind == PURCHASE_NODE ? (uint32_t)amount : subject->n,
        .amount = amount,
        .added = added_of(search, kind, subject, amount),
        .changes = changes_of(search, kind, subject, amount),
    };
    purchase->price = purchase->added * price_of(&search->wish->prices, kind);
    purchase->iteration_s =
        time_after(search, purchase->changes, &purchase->n_moves);
}

static int compare_purchases(const void *a, const void *b)
{
    const struct purchase *x = a;
    const struct purchase *y = b;
    const double differences[] = {
        x->price - y->price, (double)x->kind - (double)y->kind,
        x->added - y->added, x->iteration_s - y->iteration_s};

    for (size_t i = 0; i < sizeof differences / sizeof *differences; i++) {
        if (differences[i] != 0) {
            return differences[i] < 0 ? -1 : 1;
        }
    }
    return x->like < y->like ? -1 : x->like > y->like;
}

/** Is there one like it, of fewer nodes, none of which gets more? */
static int is_pointless(const struct cheapest *advice, unsigned i)
{
    const struct purchase *it = &advice->purchases[i];

    for (unsigned k = 0; k < advice->n; k++) {
        const struct purchase *other = &advice->purchases[k];

        if (it->kind != PURCHASE_NODE && other->kind == it->kind &&
            other->n_nodes < it->n_nodes && other->amount <= it->amount) {
            return 1;
        }
    }
    return 0;
}

static void drop_pointless(struct cheapest *advice)
{
    unsigned n = 0;
    int *is_dropped = memory_new(advice->n, sizeof *is_dropped);

    for (unsigned i = 0; i < advice->n; i++) {
        is_dropped[i] = is_pointless(advice, i);
    }
    for (unsigned i = 0; i < advice->n; i++) {
        if (is_dropped[i]) {
            free(advice->purchases[i].changes);
        } else {
            advice->purchases[n++] = advice->purchases[i];
        }
    }
    advice->n = n;
    free(is_dropped);
}

// ---- all subjects ----

static void look_at_nodes(struct search *search, const struct subject *subject)
{
    look_for(search, PURCHASE_MEMORY, subject);
    look_for(search, PURCHASE_SPEED, subject);
}

/** The slowest node of a class by itself, then the class. */
static void look_at_class(struct search *search, uint32_t class,
                          uint32_t *nodes)
{
    const struct node_prediction *after = search->plan->answers[0].after.nodes;
    struct subject subject = {.nodes = nodes};
    uint32_t slowest = search->classes.classes[class].first;

    for (uint32_t x = 0; x < search->base->view.n_nodes; x++) {
        if (search->classes.class_of[x] == class) {
            nodes[subject.n++] = x;
            slowest = after[x].time_s > after[slowest].time_s ? x : slowest;
        }
    }
    if (subject.n > 1 && search->classes.n > 1) {
        look_at_nodes(search, &subject);
    }
    look_at_nodes(search, &(struct subject){&slowest, 1});
    look_for(search, PURCHASE_NODE, &(struct subject){&slowest, 1});
}

static void look_everywhere(struct search *search)
{
    const uint32_t n_nodes = search->base->view.n_nodes;
    uint32_t *nodes = memory_new(n_nodes, sizeof *nodes);

    for (uint32_t c = 0; c < search->classes.n && c < CLASSES_MOST; c++) {
        look_at_class(search, c, nodes);
    }
    for (uint32_t x = 0; x < n_nodes; x++) {
        nodes[x] = x;
    }
    if (n_nodes > 1) {
        look_at_nodes(search, &(struct subject){nodes, n_nodes});
    }
    free(nodes);
}

void cheapest_find(struct cheapest *advice, const struct scenario *base,
                   const struct plan *plan, const struct wish *wish)
{
    const struct answer *answer = &plan->answers[0];
    struct search search = {
        .base = base, .plan = plan, .wish = wish, .advice = advice};

    *advice = (struct cheapest){
        .wanted_s = plan->in_force.iteration_s * (1 - wish->gain),
        .free_s = fmin(answer->after.iteration_s, plan->in_force.iteration_s),
        .n_free_moves = answer->n_moves,
    };
    advice->nearest_s = advice->free_s;
    if (advice->free_s <= advice->wanted_s) {
        return;
    }
    node_classes_make(&search.classes, &base->view);
    look_everywhere(&search);
    node_classes_release(&search.classes);
    drop_pointless(advice);
    if (advice->n > 0) {
        qsort(advice->purchases, advice->n, sizeof *advice->purchases,
              compare_purchases);
    }
}

void cheapest_release(struct cheapest *advice)
{
    for (unsigned i = 0; i < advice->n; i++) {
        free(advice->purchases[i].changes);
    }
    free(advice->purchases);
    *advice = (struct cheapest){0};
}
