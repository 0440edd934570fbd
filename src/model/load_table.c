// SPDX-License-Identifier: BSD-3-Clause
//
// The threads of each node together do something with the groups that they use; who does
// what is in the list of a group's holders. It says whose pages are written, own or
// foreign, and who sends updates to whom.
//
// A thread that comes to node x changes, for each group g that it uses:
//
// - x's demand, if g was not there: its pages are written, own or foreign,
//   and that may change too if the thread is the first on x to write;
// - the demand of another node, if it was alone with g: own becomes foreign;
// - what x sends, if the union of diffs of g on x grows: to all other holders;
// - what the other holders send, if g was not on x: x gets a copy.
//
// All this is done by not counting what the node does with the group any more, changing
// that, and counting it again. Numbers of pages and bytes are whole, so taking a change
// back restores them exactly.
//
// I1  bytes[x][y] is the sum over groups that x and y hold of pages * union of
//     diffs on x; packets[x] the packets that these make, one peer after the
//     other, or page by page.
// I2  A group's holders are the nodes with users of it, each once.
// I3  loads[x] has the pages of the groups with users on x, each in one part, and
//     those of it that are updates.
// I4  The union of diffs of a page is their sum, at most a page: threads of a
//     program without data races write different bytes.
#include "model/load_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/workers.h"

#define SEARCHED_MAX (8u << 20) ///< groups times nodes
#define NODES_MAX 1024u

int load_table_fits(const struct cluster_view *view)
{
    return view->n_nodes <= NODES_MAX &&
           (uint64_t)view->n_groups * view->n_nodes <= SEARCHED_MAX;
}

// ---- what is counted ----

static int64_t union_of_diffs(const struct held *held)
{
    return held->diff_bytes < TM_PAGE_SIZE ? held->diff_bytes : TM_PAGE_SIZE;
}

static int64_t packets_for(const struct load_table *table, uint32_t node,
                           int64_t bytes)
{
    const int64_t packet = table->view->nodes[node].packet_bytes;

    return (bytes + packet - 1) / packet;
}

static void note_change(struct load_table *table, uint32_t node)
{
    if (!table->is_changed[node]) {
        table->is_changed[node] = 1;
        table->changed[table->n_changed++] = node;
    }
}

/** Add pages to one part of a node's demand, or take them off. */
static void count_pages(struct load_table *table, uint32_t group,
                        const struct held *held, int sign)
{
    const double pages = sign * (double)table->view->group_pages[group];
    const int is_shared = table->n_holders[group] > 1;
    struct node_load *load = &table->loads[held->node];

    if (held->n_writers > 0) {
        load->written_pages += pages;
        load->updates += !table->by_page && is_shared ? pages : 0;
    } else if (is_shared) {
        load->foreign_pages += pages;
    } else {
        load->own_pages += pages;
    }
    note_change(table, held->node);
}

/** What a holder sends of a group to another one. */
static void count_sent(struct load_table *table, uint32_t group,
                       const struct held *from, const struct held *to, int sign)
{
    const int64_t pages = table->view->group_pages[group];
    const int64_t bytes = union_of_diffs(from);
    const uint32_t x = from->node;
    int64_t *sum = &table->bytes[(size_t)x * table->view->n_nodes + to->node];

    if (bytes == 0) {
        return;
    }
    if (table->by_page) {
        table->packets[x] += sign * pages * packets_for(table, x, bytes);
    } else {
        table->packets[x] -= packets_for(table, x, *sum);
        *sum += sign * pages * bytes;
        table->packets[x] += packets_for(table, x, *sum);
    }
    note_change(table, x);
}

// ---- holders ----

static struct held *holders_of(const struct load_table *table, uint32_t group)
{
    return table->held + table->first_held[group];
}

struct held *load_table_find(struct load_table *table, uint32_t group,
                             uint32_t node)
{
    struct held *held = holders_of(table, group);

    for (uint32_t k = 0; k < table->n_holders[group]; k++) {
        if (held[k].node == node) {
            const struct held found = held[k];

            held[k] = held[0]; // who is asked for is asked for again
            held[0] = found;
            return held;
        }
    }
    return NULL;
}

/** From one to two, or back, it makes a difference to the first of them. */
static void set_n_holders(struct load_table *table, uint32_t group, uint32_t n)
{
    const struct held *first = holders_of(table, group);
    const int concerns_first = table->n_holders[group] + n == 3;

    if (concerns_first) {
        count_pages(table, group, first, -1);
    }
    table->n_holders[group] = n;
    if (concerns_first) {
        count_pages(table, group, first, +1);
    }
}

/** @return what the node does with it: nothing yet */
static struct held *add_holder(struct load_table *table, uint32_t group,
                               uint32_t node)
{
    const uint32_t n = table->n_holders[group];
    struct held *held = &holders_of(table, group)[n];

    *held = (struct held){.node = node};
    set_n_holders(table, group, n + 1);
    return held;
}

static void drop_holder(struct load_table *table, uint32_t group,
                        struct held *held)
{
    const uint32_t n = table->n_holders[group] - 1;

    *held = holders_of(table, group)[n];
    set_n_holders(table, group, n);
}

/** All that follows from what a node does with a group, if it does anything. */
static void count_held(struct load_table *table, uint32_t group,
                       const struct held *held, int sign)
{
    const struct held *other = holders_of(table, group);

    if (held->n_users == 0) {
        return;
    }
    count_pages(table, group, held, sign);
    for (uint32_t k = table->n_holders[group]; k > 0; k--, other++) {
        if (other != held) {
            count_sent(table, group, held, other, sign);
            count_sent(table, group, other, held, sign);
        }
    }
}

static void add_use(struct held *held, const struct use *use, int sign)
{
    held->n_users += (uint32_t)sign;
    held->n_writers += use->flags & USE_WRITE ? (uint32_t)sign : 0;
    held->diff_bytes += (uint32_t)(sign * use->diff_bytes);
}

/** A use that changes neither who holds the group nor how. */
static int is_silent(const struct held *held, const struct use *use, int sign)
{
    const int writes = (use->flags & USE_WRITE) != 0;
    const uint32_t n_users = held->n_users + (sign > 0 ? 0 : -1u);
    const uint32_t n_writers =
        writes ? held->n_writers + (sign > 0 ? 0 : -1u) : 1;

    return n_users > 0 && n_writers > 0 && use->diff_bytes == 0;
}

static void change_use(struct load_table *table, const struct use *use,
                       uint32_t node, int sign)
{
    struct held *held = load_table_find(table, use->group, node);

    table->loads[node].thread_pages +=
        sign * (double)table->view->group_pages[use->group];
    if (held == NULL) {
        held = add_holder(table, use->group, node);
    }
    if (is_silent(held, use, sign)) {
        add_use(held, use, sign);
        return;
    }
    count_held(table, use->group, held, -1);
    add_use(held, use, sign);
    count_held(table, use->group, held, +1);
    if (held->n_users == 0) {
        drop_holder(table, use->group, held);
    }
}

// ---- threads ----

static void change_thread(struct load_table *table, uint32_t thread,
                          uint32_t node, int sign)
{
    const struct thread_view *it = &table->view->threads[thread];

    for (uint32_t u = it->first_use; u < it->first_use + it->n_uses; u++) {
        change_use(table, &table->view->uses[u], node, sign);
    }
    table->loads[node].n_threads += (uint32_t)sign;
    table->loads[node].comp_s += sign * it->computation_s;
    note_change(table, node);
}

static void link_thread(struct load_table *table, uint32_t thread,
                        uint32_t node)
{
    const uint32_t head = table->head[node];

    table->node_of[thread] = node;
    table->next[thread] = head;
    table->previous[thread] = UNPLACED;
    if (head != UNPLACED) {
        table->previous[head] = thread;
    }
    table->head[node] = thread;
}

void load_table_put(struct load_table *table, uint32_t thread, uint32_t node)
{
    link_thread(table, thread, node);
    change_thread(table, thread, node, +1);
}

void load_table_take(struct load_table *table, uint32_t thread)
{
    const uint32_t node = table->node_of[thread];
    const uint32_t next = table->next[thread];
    const uint32_t previous = table->previous[thread];

    if (next != UNPLACED) {
        table->previous[next] = previous;
    }
    if (previous != UNPLACED) {
        table->next[previous] = next;
    } else {
        table->head[node] = next;
    }
    table->node_of[thread] = UNPLACED;
    change_thread(table, thread, node, -1);
}

void load_table_move(struct load_table *table, uint32_t thread, uint32_t node)
{
    load_table_take(table, thread);
    load_table_put(table, thread, node);
}

// ---- all threads ----

static void clear(struct load_table *table)
{
    const size_t n_nodes = table->view->n_nodes;

    memset(table->head, 0xff, n_nodes * sizeof *table->head);
    memset(table->n_holders, 0,
           table->view->n_groups * sizeof *table->n_holders);
    memset(table->loads, 0, n_nodes * sizeof *table->loads);
    memset(table->bytes, 0, n_nodes * n_nodes * sizeof *table->bytes);
    memset(table->packets, 0, n_nodes * sizeof *table->packets);
}

static void place_threads(struct load_table *table, const uint32_t *node_of)
{
    for (uint32_t i = 0; i < table->view->n_threads; i++) {
        struct node_load *load = &table->loads[node_of[i]];

        load->n_threads++;
        load->comp_s += table->view->threads[i].computation_s;
        link_thread(table, i, node_of[i]);
    }
}

/** A thread's uses; the node's are the last of all groups' holders. */
static void gather_uses(struct load_table *table, uint32_t thread,
                        uint32_t node)
{
    const struct cluster_view *view = table->view;
    const struct thread_view *it = &view->threads[thread];
    double pages = 0;

    for (uint32_t u = it->first_use; u < it->first_use + it->n_uses; u++) {
        const uint32_t group = view->uses[u].group;
        const uint32_t n = table->n_holders[group];
        struct held *held = &holders_of(table, group)[n];

        if (n > 0 && held[-1].node == node) {
            held--;
        } else {
            *held = (struct held){.node = node};
            table->n_holders[group]++;
        }
        add_use(held, &view->uses[u], +1);
        pages += view->group_pages[group];
    }
    table->loads[node].thread_pages += pages;
}

static void count_group(struct load_table *table, uint32_t group)
{
    const struct held *held = holders_of(table, group);
    const uint32_t n = table->n_holders[group];

    for (uint32_t a = 0; a < n; a++) {
        count_pages(table, group, &held[a], +1);
        for (uint32_t b = 0; held[a].diff_bytes > 0 && b < n; b++) {
            if (a != b) {
                count_sent(table, group, &held[a], &held[b], +1);
            }
        }
    }
}

void load_table_put_all(struct load_table *table, const uint32_t *node_of)
{
    if (table->node_of[0] != UNPLACED) {
        clear(table);
    }
    place_threads(table, node_of);
    for (uint32_t x = 0; x < table->view->n_nodes; x++) {
        for (uint32_t i = table->head[x]; i != UNPLACED; i = table->next[i]) {
            gather_uses(table, i, x);
        }
        note_change(table, x);
    }
    for (uint32_t g = 0; g < table->view->n_groups; g++) {
        count_group(table, g);
    }
}

// ---- times ----

/** Of the slowest worker; the sum if there is one only. */
static double computation_of(struct load_table *table, uint32_t node)
{
    uint32_t n = 0;

    for (uint32_t i = table->head[node]; i != UNPLACED; i = table->next[i]) {
        table->scratch[n++] = table->view->threads[i].computation_s;
    }
    return workers_makespan(table->scratch, n,
                            table->view->nodes[node].n_processors);
}

struct node_load load_table_load(struct load_table *table, uint32_t node)
{
    struct node_load load = table->loads[node];

    if (table->view->nodes[node].n_processors > 1) {
        load.comp_s = computation_of(table, node);
    }
    load.packets = (double)table->packets[node];
    return load;
}

double load_table_time(struct load_table *table, uint32_t node)
{
    const struct node_load load = load_table_load(table, node);

    return terms_time(&table->rates[node], &load);
}

void load_table_settle(struct load_table *table)
{
    for (uint32_t k = 0; k < table->n_changed; k++) {
        const uint32_t x = table->changed[k];

        table->is_changed[x] = 0;
        table->times[x] = load_table_time(table, x);
    }
    table->n_changed = 0;
}

void load_table_forget(struct load_table *table)
{
    for (uint32_t k = 0; k < table->n_changed; k++) {
        table->is_changed[table->changed[k]] = 0;
    }
    table->n_changed = 0;
}

double load_table_longest(const struct load_table *table, uint32_t *node)
{
    uint32_t longest = 0;

    for (uint32_t x = 1; x < table->view->n_nodes; x++) {
        if (table->times[x] > table->times[longest]) {
            longest = x;
        }
    }
    if (node != NULL) {
        *node = longest;
    }
    return table->times[longest];
}

// ---- making ----

void load_table_release(struct load_table *table)
{
    free(table->rates);
    free(table->node_of);
    free(table->next);
    free(table->previous);
    free(table->head);
    free(table->held);
    free(table->first_held);
    free(table->n_holders);
    free(table->loads);
    free(table->bytes);
    free(table->packets);
    free(table->times);
    free(table->scratch);
    free(table->changed);
    free(table->is_changed);
    *table = (struct load_table){0};
}

static void allocate(struct load_table *table)
{
    const size_t n_nodes = table->view->n_nodes;
    const size_t n_threads = table->view->n_threads;
    const size_t n_groups = table->view->n_groups;

    table->rates = memory_new(n_nodes, sizeof *table->rates);
    table->node_of = memory_new(n_threads, sizeof(uint32_t));
    table->next = memory_new(n_threads, sizeof(uint32_t));
    table->previous = memory_new(n_threads, sizeof(uint32_t));
    table->head = memory_new(n_nodes, sizeof(uint32_t));
    table->first_held = memory_new(n_groups + 1, sizeof(uint32_t));
    table->n_holders = memory_new(n_groups, sizeof(uint32_t));
    table->loads = memory_new(n_nodes, sizeof *table->loads);
    table->bytes = memory_new(n_nodes * n_nodes, sizeof(int64_t));
    table->packets = memory_new(n_nodes, sizeof(int64_t));
    table->times = memory_new(n_nodes, sizeof(double));
    table->scratch = memory_new(n_threads, sizeof(double));
    table->changed = memory_new(n_nodes, sizeof(uint32_t));
    table->is_changed = memory_new(n_nodes, 1);
}

/** A group has no more holders than users, or than there are nodes. */
static void make_room_for_holders(struct load_table *table)
{
    const struct cluster_view *view = table->view;

    for (uint32_t u = 0; u < view->n_uses; u++) {
        table->first_held[view->uses[u].group + 1]++;
    }
    for (uint32_t g = 0; g < view->n_groups; g++) {
        const uint32_t n = table->first_held[g + 1];

        table->first_held[g + 1] =
            table->first_held[g] + (n < view->n_nodes ? n : view->n_nodes);
    }
    table->held =
        memory_new(table->first_held[view->n_groups], sizeof *table->held);
}

void load_table_init(struct load_table *table, const struct cluster_view *view,
                     const struct cost_model *model)
{
    *table = (struct load_table){.view = view,
                                 .by_page = model->kind != COST_MEASURED};
    allocate(table);
    make_room_for_holders(table);
    memset(table->node_of, 0xff, view->n_threads * sizeof(uint32_t));
    memset(table->head, 0xff, view->n_nodes * sizeof(uint32_t));
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        rates_compute(view, model, x, &table->rates[x]);
    }
}
