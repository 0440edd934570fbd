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
#include "place/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/workers.h"

#define HELD_MAX (8u << 20) ///< groups times nodes
#define NODES_MAX 1024u     ///< for the matrix of bytes

int tally_fits(const struct cluster_view *view)
{
    return view->n_nodes <= NODES_MAX &&
           (uint64_t)view->n_groups * view->n_nodes <= HELD_MAX;
}

// ---- small questions ----

static struct held *held_by(const struct tally *tally, uint32_t group,
                            uint32_t node)
{
    return &tally->held[(size_t)group * tally->view->n_nodes + node];
}

static int64_t union_of_diffs(const struct held *held)
{
    return held->diff_bytes < TM_PAGE_SIZE ? held->diff_bytes : TM_PAGE_SIZE;
}

static int64_t packets_for(const struct tally *tally, uint32_t node,
                           int64_t bytes)
{
    const int64_t packet = tally->view->nodes[node].packet_bytes;

    return (bytes + packet - 1) / packet;
}

static void note_change(struct tally *tally, uint32_t node)
{
    if (!tally->is_changed[node]) {
        tally->is_changed[node] = 1;
        tally->changed[tally->n_changed++] = node;
    }
}

// ---- holders ----

static uint64_t *holders_of(const struct tally *tally, uint32_t group)
{
    return tally->holders + (size_t)group * tally->n_words;
}

/** Of the holders in a word, those that are not `node`. */
static uint64_t others_in(const struct tally *tally, uint32_t group,
                          uint32_t word, uint32_t node)
{
    const uint64_t own = node / 64 == word ? 1ull << node % 64 : 0;

    return holders_of(tally, group)[word] & ~own;
}

/** The node that holds a group besides `node`. */
static uint32_t other_holder(const struct tally *tally, uint32_t group,
                             uint32_t node)
{
    for (uint32_t w = 0; w < tally->n_words; w++) {
        const uint64_t others = others_in(tally, group, w, node);

        if (others != 0) {
            return w * 64 + (uint32_t)__builtin_ctzll(others);
        }
    }
    return UNPLACED;
}

// ---- a node's part in a group ----

/** Add pages to one part of a node's demand, or take them off. */
static void count_pages(struct tally *tally, uint32_t group, uint32_t node,
                        int sign)
{
    const struct held *held = held_by(tally, group, node);
    const double pages = sign * (double)tally->view->group_pages[group];
    struct node_load *load = &tally->loads[node];

    if (held->n_writers > 0) {
        load->written_pages += pages;
        load->updates +=
            !tally->by_page && tally->n_holders[group] > 1 ? pages : 0;
    } else if (tally->n_holders[group] > 1) {
        load->foreign_pages += pages;
    } else {
        load->own_pages += pages;
    }
    note_change(tally, node);
}

static void send_bytes(struct tally *tally, uint32_t from, uint32_t to,
                       uint32_t group, int64_t bytes, int sign)
{
    const int64_t pages = tally->view->group_pages[group];
    int64_t *sum = &tally->bytes[(size_t)from * tally->view->n_nodes + to];

    if (bytes == 0) {
        return;
    }
    if (tally->by_page) {
        tally->packets[from] += sign * pages * packets_for(tally, from, bytes);
    } else {
        tally->packets[from] -= packets_for(tally, from, *sum);
        *sum += sign * pages * bytes;
        tally->packets[from] += packets_for(tally, from, *sum);
    }
    note_change(tally, from);
}

/** What a node sends of a group to all, and what it gets of it from all. */
static void count_updates(struct tally *tally, uint32_t group, uint32_t node,
                          int sign)
{
    const struct held *held = held_by(tally, group, 0);
    const int64_t own = union_of_diffs(&held[node]);

    for (uint32_t w = 0; w < tally->n_words; w++) {
        for (uint64_t others = others_in(tally, group, w, node); others != 0;
             others &= others - 1) {
            const uint32_t y = w * 64 + (uint32_t)__builtin_ctzll(others);

            send_bytes(tally, node, y, group, own, sign);
            send_bytes(tally, y, node, group, union_of_diffs(&held[y]), sign);
        }
    }
}

/** A node with users of a group is to lose or change its part in it. */
static void leave_group(struct tally *tally, uint32_t group, uint32_t node)
{
    if (tally->n_holders[group] > 1) {
        count_updates(tally, group, node, -1);
    }
    count_pages(tally, group, node, -1);
    if (tally->n_holders[group] == 2) { // the other will be alone
        const uint32_t other = other_holder(tally, group, node);

        count_pages(tally, group, other, -1);
        tally->n_holders[group] = 1;
        count_pages(tally, group, other, +1);
    } else {
        tally->n_holders[group]--;
    }
    holders_of(tally, group)[node / 64] &= ~(1ull << node % 64);
}

/** A node now has users of a group. */
static void join_group(struct tally *tally, uint32_t group, uint32_t node)
{
    if (tally->n_holders[group] == 1) { // the other was alone
        const uint32_t other = other_holder(tally, group, node);

        count_pages(tally, group, other, -1);
        tally->n_holders[group] = 2;
        count_pages(tally, group, other, +1);
    } else {
        tally->n_holders[group]++;
    }
    holders_of(tally, group)[node / 64] |= 1ull << node % 64;
    count_pages(tally, group, node, +1);
    if (tally->n_holders[group] > 1) {
        count_updates(tally, group, node, +1);
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

static void change_use(struct tally *tally, const struct use *use,
                       uint32_t node, int sign)
{
    struct held *held = held_by(tally, use->group, node);
    const int is_quiet = is_silent(held, use, sign);

    if (held->n_users > 0 && !is_quiet) {
        leave_group(tally, use->group, node);
    }
    held->n_users += (uint32_t)sign;
    held->n_writers += use->flags & USE_WRITE ? (uint32_t)sign : 0;
    held->diff_bytes += (uint32_t)(sign * use->diff_bytes);
    if (held->n_users > 0 && !is_quiet) {
        join_group(tally, use->group, node);
    }
    if (!group_is_common(tally->view, use->group)) {
        tally->loads[node].thread_pages +=
            sign * (double)tally->view->group_pages[use->group];
    }
}

/** The user comes or goes who stands for all that read the common groups. */
static void change_common(struct tally *tally, uint32_t node, int sign)
{
    for (uint32_t g = 0; g < tally->view->n_common; g++) {
        change_use(tally, &(struct use){g, USE_READ, 0}, node, sign);
    }
}

// ---- threads ----

static void change_thread(struct tally *tally, uint32_t thread, uint32_t node,
                          int sign)
{
    const struct thread_view *it = &tally->view->threads[thread];

    if (sign > 0 && tally->loads[node].n_threads == 0) {
        change_common(tally, node, +1);
    }
    for (uint32_t u = it->first_use; u < it->first_use + it->n_uses; u++) {
        change_use(tally, &tally->view->uses[u], node, sign);
    }
    tally->loads[node].n_threads += (uint32_t)sign;
    tally->loads[node].thread_pages += sign * tally->common_pages;
    if (sign < 0 && tally->loads[node].n_threads == 0) {
        change_common(tally, node, -1);
    }
    tally->loads[node].comp_s += sign * it->computation_s;
    note_change(tally, node);
}

static void link_thread(struct tally *tally, uint32_t thread, uint32_t node)
{
    const uint32_t head = tally->head[node];

    tally->node_of[thread] = node;
    tally->next[thread] = head;
    tally->previous[thread] = UNPLACED;
    if (head != UNPLACED) {
        tally->previous[head] = thread;
    }
    tally->head[node] = thread;
}

void tally_put(struct tally *tally, uint32_t thread, uint32_t node)
{
    link_thread(tally, thread, node);
    change_thread(tally, thread, node, +1);
}

void tally_take(struct tally *tally, uint32_t thread)
{
    const uint32_t node = tally->node_of[thread];
    const uint32_t next = tally->next[thread];
    const uint32_t previous = tally->previous[thread];

    if (next != UNPLACED) {
        tally->previous[next] = previous;
    }
    if (previous != UNPLACED) {
        tally->next[previous] = next;
    } else {
        tally->head[node] = next;
    }
    tally->node_of[thread] = UNPLACED;
    change_thread(tally, thread, node, -1);
}

void tally_move(struct tally *tally, uint32_t thread, uint32_t node)
{
    tally_take(tally, thread);
    tally_put(tally, thread, node);
}

/** What depends on the order in which threads came: the lists, and sums of numbers
 * that are not whole. As if they had come by number. */
static void put_in_order(struct tally *tally)
{
    for (uint32_t x = 0; x < tally->view->n_nodes; x++) {
        tally->head[x] = UNPLACED;
        tally->loads[x].comp_s = 0;
    }
    for (uint32_t i = 0; i < tally->view->n_threads; i++) {
        link_thread(tally, i, tally->node_of[i]);
        tally->loads[tally->node_of[i]].comp_s +=
            tally->view->threads[i].computation_s;
    }
}

void tally_put_all(struct tally *tally, const uint32_t *node_of)
{
    for (uint32_t i = 0; i < tally->view->n_threads; i++) {
        if (tally->node_of[i] == node_of[i]) {
            continue;
        }
        if (tally->node_of[i] != UNPLACED) {
            tally_take(tally, i);
        }
        tally_put(tally, i, node_of[i]);
    }
    put_in_order(tally);
    for (uint32_t x = 0; x < tally->view->n_nodes; x++) {
        note_change(tally, x);
    }
    tally_settle(tally);
}

// ---- times ----

/** Of the slowest worker; the sum if there is one only. */
static double computation_of(struct tally *tally, uint32_t node)
{
    const uint32_t p = tally->view->nodes[node].n_processors;
    double makespan_s = 0;
    uint32_t n = 0;

    for (uint32_t i = tally->head[node]; i != UNPLACED; i = tally->next[i]) {
        tally->scratch[n++] = tally->view->threads[i].computation_s;
    }
    if (workers_makespan(tally->scratch, n, p, NULL, &makespan_s) != TM_OK) {
        return tally->loads[node].comp_s / p; // a bound must do
    }
    return makespan_s;
}

double tally_time(struct tally *tally, uint32_t node)
{
    struct node_load load = tally->loads[node];

    if (tally->view->nodes[node].n_processors > 1) {
        load.comp_s = computation_of(tally, node);
    }
    load.packets = (double)tally->packets[node];
    return terms_time(&tally->rates[node], &load);
}

// What the uses of a thread that comes would add to a node's demand. A group that is
// there may become a written one, which is left out.
static void add_coming(const struct tally *tally, uint32_t thread,
                       uint32_t node, struct node_load *load)
{
    const struct cluster_view *view = tally->view;
    const struct thread_view *it = &view->threads[thread];
    const uint32_t from = tally->node_of[thread];

    for (uint32_t u = it->first_use; u < it->first_use + it->n_uses; u++) {
        const struct use *use = &view->uses[u];
        const double pages = view->group_pages[use->group];

        if (held_by(tally, use->group, node)->n_users > 0) {
            continue;
        }
        if (use->flags & USE_WRITE) {
            load->written_pages += pages;
        } else if (tally->n_holders[use->group] >
                   (held_by(tally, use->group, from)->n_users == 1)) {
            load->foreign_pages += pages;
        } else {
            load->own_pages += pages;
        }
    }
}

/** What would leave a node with a thread. */
static void take_going(const struct tally *tally, uint32_t thread,
                       struct node_load *load)
{
    const struct cluster_view *view = tally->view;
    const struct thread_view *it = &view->threads[thread];
    const uint32_t node = tally->node_of[thread];

    for (uint32_t u = it->first_use; u < it->first_use + it->n_uses; u++) {
        const struct use *use = &view->uses[u];
        const double pages = view->group_pages[use->group];

        if (held_by(tally, use->group, node)->n_users > 1) {
            continue;
        }
        if (use->flags & USE_WRITE) {
            load->written_pages -= pages;
        } else if (tally->n_holders[use->group] > 1) {
            load->foreign_pages -= pages;
        } else {
            load->own_pages -= pages;
        }
    }
}

double tally_time_about(const struct tally *tally, uint32_t node,
                        uint32_t comes, uint32_t goes)
{
    struct node_load load = tally->loads[node];

    load.comp_s += tally->view->threads[comes].computation_s;
    load.packets = (double)tally->packets[node];
    add_coming(tally, comes, node, &load);
    if (goes != UNPLACED) {
        load.comp_s -= tally->view->threads[goes].computation_s;
        take_going(tally, goes, &load);
    }
    load.comp_s /= tally->view->nodes[node].n_processors;
    return terms_time(&tally->rates[node], &load);
}

void tally_settle(struct tally *tally)
{
    for (uint32_t k = 0; k < tally->n_changed; k++) {
        const uint32_t x = tally->changed[k];

        tally->is_changed[x] = 0;
        tally->times[x] = tally_time(tally, x);
    }
    tally->n_changed = 0;
}

void tally_forget(struct tally *tally)
{
    for (uint32_t k = 0; k < tally->n_changed; k++) {
        tally->is_changed[tally->changed[k]] = 0;
    }
    tally->n_changed = 0;
}

double tally_longest(const struct tally *tally, uint32_t *node)
{
    uint32_t longest = 0;

    for (uint32_t x = 1; x < tally->view->n_nodes; x++) {
        if (tally->times[x] > tally->times[longest]) {
            longest = x;
        }
    }
    if (node != NULL) {
        *node = longest;
    }
    return tally->times[longest];
}

// ---- making ----

void tally_release(struct tally *tally)
{
    free(tally->rates);
    free(tally->node_of);
    free(tally->next);
    free(tally->previous);
    free(tally->head);
    free(tally->held);
    free(tally->n_holders);
    free(tally->holders);
    free(tally->loads);
    free(tally->bytes);
    free(tally->packets);
    free(tally->times);
    free(tally->scratch);
    free(tally->changed);
    free(tally->is_changed);
    *tally = (struct tally){0};
}

static int allocate(struct tally *tally)
{
    const size_t n_nodes = tally->view->n_nodes;
    const size_t n_threads = tally->view->n_threads;
    const size_t n_groups = tally->view->n_groups;

    tally->rates = calloc(n_nodes, sizeof *tally->rates);
    tally->node_of = malloc(n_threads * sizeof(uint32_t));
    tally->next = malloc(n_threads * sizeof(uint32_t));
    tally->previous = malloc(n_threads * sizeof(uint32_t));
    tally->head = malloc(n_nodes * sizeof(uint32_t));
    tally->held = calloc(n_groups * n_nodes + 1, sizeof *tally->held);
    tally->n_holders = calloc(n_groups + 1, sizeof(uint32_t));
    tally->n_words = (uint32_t)(n_nodes + 63) / 64;
    tally->holders = calloc(n_groups * tally->n_words + 1, sizeof(uint64_t));
    tally->loads = calloc(n_nodes, sizeof *tally->loads);
    tally->bytes = calloc(n_nodes * n_nodes, sizeof(int64_t));
    tally->packets = calloc(n_nodes, sizeof(int64_t));
    tally->times = calloc(n_nodes, sizeof(double));
    tally->scratch = malloc(n_threads * sizeof(double));
    tally->changed = malloc(n_nodes * sizeof(uint32_t));
    tally->is_changed = calloc(n_nodes, 1);
    return tally->rates && tally->node_of && tally->next && tally->previous &&
           tally->head && tally->held && tally->n_holders && tally->holders &&
           tally->loads && tally->bytes && tally->packets && tally->times &&
           tally->scratch && tally->changed && tally->is_changed;
}

tm_status tally_init(struct tally *tally, const struct cluster_view *view,
                     const struct cost_model *model)
{
    *tally =
        (struct tally){.view = view, .by_page = model->kind != COST_MEASURED};
    if (!allocate(tally)) {
        tally_release(tally);
        return TM_ENOMEM;
    }
    tally->common_pages = cluster_view_common_pages(view);
    memset(tally->node_of, 0xff, view->n_threads * sizeof(uint32_t));
    memset(tally->head, 0xff, view->n_nodes * sizeof(uint32_t));
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        rates_compute(view, model, x, &tally->rates[x]);
    }
    return TM_OK;
}
