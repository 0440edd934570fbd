// SPDX-License-Identifier: BSD-3-Clause
//
// A thread that comes to node x changes, for each group g that it uses:
//
// - x's demand, if g was not there: its pages are written, own or foreign,
//   and that may change too if the thread is the first on x to write;
// - the demand of another node, if it was alone with g: own becomes foreign;
// - what x sends, if the union of diffs of g on x grows: to all other holders;
// - what the other holders send, if g was not on x: x gets a copy.
//
// All this is done by taking the node's part in the group away (leave_group),
// changing it, and adding it again (join_group). Numbers of pages and bytes are
// whole, so taking a change back restores them exactly.
//
// A common group has one user more on each node with threads, who reads it and comes
// with the first thread and goes with the last.
//
// I1  bytes[x][y] is the sum over groups that x and y hold of pages * union of
//     diffs on x; packets[x] the packets that these make, one peer after the
//     other, or page by page.
// I2  Bit x of a group's holders is set if and only if held[x] has users.
// I3  loads[x] has the pages of the groups with users on x, each in one part, and
//     those of it that are updates.
#include "place/load_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/workers.h"

#define HELD_MAX (8u << 20) ///< groups times nodes
#define NODES_MAX 1024u     ///< for the matrix of bytes

int load_table_fits(const struct cluster_view *view)
{
    return view->n_nodes <= NODES_MAX &&
           (uint64_t)view->n_groups * view->n_nodes <= HELD_MAX;
}

// ---- small questions ----

static struct held *held_by(const struct load_table *table, uint32_t group,
                            uint32_t node)
{
    return &table->held[(size_t)group * table->view->n_nodes + node];
}

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

// ---- holders ----

static uint64_t *holders_of(const struct load_table *table, uint32_t group)
{
    return table->holders + (size_t)group * table->n_words;
}

/** Of the holders in a word, those that are not `node`. */
static uint64_t others_in(const struct load_table *table, uint32_t group,
                          uint32_t word, uint32_t node)
{
    const uint64_t own = node / 64 == word ? 1ull << node % 64 : 0;

    return holders_of(table, group)[word] & ~own;
}

/** The node that holds a group besides `node`. */
static uint32_t other_holder(const struct load_table *table, uint32_t group,
                             uint32_t node)
{
    for (uint32_t w = 0; w < table->n_words; w++) {
        const uint64_t others = others_in(table, group, w, node);

        if (others != 0) {
            return w * 64 + (uint32_t)__builtin_ctzll(others);
        }
    }
    return UNPLACED;
}

// ---- a node's part in a group ----

/** Add pages to one part of a node's demand, or take them off. */
static void count_pages(struct load_table *table, uint32_t group, uint32_t node,
                        int sign)
{
    const struct held *held = held_by(table, group, node);
    const double pages = sign * (double)table->view->group_pages[group];
    struct node_load *load = &table->loads[node];

    if (held->n_writers > 0) {
        load->written_pages += pages;
        load->updates +=
            !table->by_page && table->n_holders[group] > 1 ? pages : 0;
    } else if (table->n_holders[group] > 1) {
        load->foreign_pages += pages;
    } else {
        load->own_pages += pages;
    }
    note_change(table, node);
}

static void send_bytes(struct load_table *table, uint32_t from, uint32_t to,
                       uint32_t group, int64_t bytes, int sign)
{
    const int64_t pages = table->view->group_pages[group];
    int64_t *sum = &table->bytes[(size_t)from * table->view->n_nodes + to];

    if (bytes == 0) {
        return;
    }
    if (table->by_page) {
        table->packets[from] += sign * pages * packets_for(table, from, bytes);
    } else {
        table->packets[from] -= packets_for(table, from, *sum);
        *sum += sign * pages * bytes;
        table->packets[from] += packets_for(table, from, *sum);
    }
    note_change(table, from);
}

/** What a node sends of a group to all, and what it gets of it from all. */
static void count_updates(struct load_table *table, uint32_t group,
                          uint32_t node, int sign)
{
    const struct held *held = held_by(table, group, 0);
    const int64_t own = union_of_diffs(&held[node]);

    for (uint32_t w = 0; w < table->n_words; w++) {
        for (uint64_t others = others_in(table, group, w, node); others != 0;
             others &= others - 1) {
            const uint32_t y = w * 64 + (uint32_t)__builtin_ctzll(others);

            send_bytes(table, node, y, group, own, sign);
            send_bytes(table, y, node, group, union_of_diffs(&held[y]), sign);
        }
    }
}

/** A node with users of a group is to lose or change its part in it. */
static void leave_group(struct load_table *table, uint32_t group, uint32_t node)
{
    if (table->n_holders[group] > 1) {
        count_updates(table, group, node, -1);
    }
    count_pages(table, group, node, -1);
    if (table->n_holders[group] == 2) { // the other will be alone
        const uint32_t other = other_holder(table, group, node);

        count_pages(table, group, other, -1);
        table->n_holders[group] = 1;
        count_pages(table, group, other, +1);
    } else {
        table->n_holders[group]--;
    }
    holders_of(table, group)[node / 64] &= ~(1ull << node % 64);
}

/** A node now has users of a group. */
static void join_group(struct load_table *table, uint32_t group, uint32_t node)
{
    if (table->n_holders[group] == 1) { // the other was alone
        const uint32_t other = other_holder(table, group, node);

        count_pages(table, group, other, -1);
        table->n_holders[group] = 2;
        count_pages(table, group, other, +1);
    } else {
        table->n_holders[group]++;
    }
    holders_of(table, group)[node / 64] |= 1ull << node % 64;
    count_pages(table, group, node, +1);
    if (table->n_holders[group] > 1) {
        count_updates(table, group, node, +1);
    }
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
    struct held *held = held_by(table, use->group, node);
    const int is_quiet = is_silent(held, use, sign);

    if (held->n_users > 0 && !is_quiet) {
        leave_group(table, use->group, node);
    }
    held->n_users += (uint32_t)sign;
    held->n_writers += use->flags & USE_WRITE ? (uint32_t)sign : 0;
    held->diff_bytes += (uint32_t)(sign * use->diff_bytes);
    if (held->n_users > 0 && !is_quiet) {
        join_group(table, use->group, node);
    }
    if (!group_is_common(table->view, use->group)) {
        table->loads[node].thread_pages +=
            sign * (double)table->view->group_pages[use->group];
    }
}

/** The user comes or goes who stands for all that read the common groups. */
static void change_common(struct load_table *table, uint32_t node, int sign)
{
    for (uint32_t g = 0; g < table->view->n_common; g++) {
        change_use(table, &(struct use){g, USE_READ, 0}, node, sign);
    }
}

// ---- threads ----

static void change_thread(struct load_table *table, uint32_t thread,
                          uint32_t node, int sign)
{
    const struct thread_view *it = &table->view->threads[thread];

    if (sign > 0 && table->loads[node].n_threads == 0) {
        change_common(table, node, +1);
    }
    for (uint32_t u = it->first_use; u < it->first_use + it->n_uses; u++) {
        change_use(table, &table->view->uses[u], node, sign);
    }
    table->loads[node].n_threads += (uint32_t)sign;
    table->loads[node].thread_pages += sign * table->common_pages;
    if (sign < 0 && table->loads[node].n_threads == 0) {
        change_common(table, node, -1);
    }
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

/** What depends on the order in which threads came: the lists, and sums of numbers
 * that are not whole. As if they had come by number. */
static void put_in_order(struct load_table *table)
{
    for (uint32_t x = 0; x < table->view->n_nodes; x++) {
        table->head[x] = UNPLACED;
        table->loads[x].comp_s = 0;
    }
    for (uint32_t i = 0; i < table->view->n_threads; i++) {
        link_thread(table, i, table->node_of[i]);
        table->loads[table->node_of[i]].comp_s +=
            table->view->threads[i].computation_s;
    }
}

void load_table_put_all(struct load_table *table, const uint32_t *node_of)
{
    for (uint32_t i = 0; i < table->view->n_threads; i++) {
        if (table->node_of[i] == node_of[i]) {
            continue;
        }
        if (table->node_of[i] != UNPLACED) {
            load_table_take(table, i);
        }
        load_table_put(table, i, node_of[i]);
    }
    put_in_order(table);
    for (uint32_t x = 0; x < table->view->n_nodes; x++) {
        note_change(table, x);
    }
    load_table_settle(table);
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

double load_table_time(struct load_table *table, uint32_t node)
{
    struct node_load load = table->loads[node];

    if (table->view->nodes[node].n_processors > 1) {
        load.comp_s = computation_of(table, node);
    }
    load.packets = (double)table->packets[node];
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
    free(table->n_holders);
    free(table->holders);
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
    table->held = memory_new(n_groups * n_nodes, sizeof *table->held);
    table->n_holders = memory_new(n_groups, sizeof(uint32_t));
    table->n_words = (uint32_t)(n_nodes + 63) / 64;
    table->holders = memory_new(n_groups * table->n_words, sizeof(uint64_t));
    table->loads = memory_new(n_nodes, sizeof *table->loads);
    table->bytes = memory_new(n_nodes * n_nodes, sizeof(int64_t));
    table->packets = memory_new(n_nodes, sizeof(int64_t));
    table->times = memory_new(n_nodes, sizeof(double));
    table->scratch = memory_new(n_threads, sizeof(double));
    table->changed = memory_new(n_nodes, sizeof(uint32_t));
    table->is_changed = memory_new(n_nodes, 1);
}

void load_table_init(struct load_table *table, const struct cluster_view *view,
                     const struct cost_model *model)
{
    *table =
        (struct load_table){.view = view,
                            .by_page = model->kind != COST_MEASURED,
                            .common_pages = cluster_view_common_pages(view)};
    allocate(table);
    memset(table->node_of, 0xff, view->n_threads * sizeof(uint32_t));
    memset(table->head, 0xff, view->n_nodes * sizeof(uint32_t));
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        rates_compute(view, model, x, &table->rates[x]);
    }
}
