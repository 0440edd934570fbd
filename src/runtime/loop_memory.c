// SPDX-License-Identifier: BSD-3-Clause
//
// Loops with memory. A loop is known by the place of its call, or its name. At first each node
// has a share of the range, by time (tasks/shares.h). If that leaves a node short of memory,
// entry after entry, the root has the range in pieces, and a scheme of the loop's own says who
// does them (reconfig/loop_scheme.h): the loop has a *place* then.
//
//   shares --SHORT_ENTRIES in a row were short of memory--> a place: the same, in pieces
//          <--CALM_ENTRIES were not, and no piece has ever changed nodes--
//
// Loops over one range have one place: what they do to an iteration's data is done on the same
// node then. One of them *leads*: it has made the place, and a round of all of them, from its
// entry to its next, is an iteration for the scheme, whose times are the sums of theirs, and
// whose pages are all that they use. If it is not entered any more, another one leads.
//
// What is known is of the nodes that there are: after a change of members it begins anew. An
// entry that begins while another one of the same loop is under way is not counted. Nor is one
// of a place's that has another range; pieces are drawn out or pushed together for it, as
// shares are. If that is so OTHER_ENTRIES times in a row, the loop leaves its place.
//
// A place lives as long as a loop's memory has it, an entry uses it, or a plan is made of it on
// the observer, without the node lock: n_users. What that reads, the uses, changes only while
// the scheme waits for tracking.
#include "runtime/loop_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "base/vector.h"
#include "os/image.h"
#include "runtime/balancing.h"
#include "runtime/node.h"
#include "runtime/observer.h"
#include "runtime/starting_threads.h"
#include "runtime/tasking.h"
#include "runtime/tracking.h"

#define LEAST_ITERATIONS 4            // of a node, that its times say something
#define LONG_RANGE (INT64_C(1) << 40) // cuts are as exact as can be

enum {
    SHORT_ENTRIES = 3,
    CALM_ENTRIES = 64,
    OTHER_ENTRIES = 16,
    LEADERLESS_ENTRIES = 64, // then another one leads
    TRACKED_ENTRIES = 8,     // of one that leads, at most
    LOOP_PLACES_MAX = 8, // each has the observer think at most once at a time
    NAME_BYTES = 160,
};

/** The pages of a piece. */
struct piece_uses {
    struct page_use *list; ///< [n] of `room`
    size_t n;
    size_t room;
};

/** What the scheme asks for. */
enum place_tracking {
    TRACKING_NOT,
    TRACKING_WANTED,  ///< from the next entry of who leads on
    TRACKING_STARTED, ///< until the one after that
};

/** Of loops whose pieces are placed together. Guarded by the node lock. */
struct loop_place {
    struct node *node;
    unsigned n_users;
    struct scheme *scheme;
    uint64_t n_entries; ///< that it was told of
    uint32_t *node_of;  ///< [n_pieces] of `ids`
    unsigned n_pieces;
    node_id *ids; ///< [n_nodes]
    unsigned n_nodes;
    int64_t first;
    int64_t end;
    uint64_t leader;       ///< key of a loop
    unsigned n_leaderless; ///< entries since that was entered
    int has_changed;       ///< pieces have changed nodes
    int is_over;           ///< it was needed for a while only
    unsigned n_calm;       ///< entries in a row that were not short of memory
    double longest_s;      ///< of the latest entry: its slowest node
    struct history_node *sums; ///< [n_nodes] since who leads was entered
    double *piece_s;           ///< [n_pieces] likewise
    struct piece_uses *uses;   ///< [n_pieces]
    enum place_tracking tracking;
    int has_missed; ///< an entry that was to be tracked
    char name[NAME_BYTES];
};

/** What is known of a loop. */
struct loop_memory {
    uint64_t key;
    uint32_t epoch;       ///< of the roster
    unsigned n;           ///< nodes; 0: nothing yet
    struct share *shares; ///< [n]
    int is_visited;       ///< by an entry that counts
    int is_unplaceable;   ///< pieces were too scattered for its argument
    unsigned n_short;     ///< entries in a row
    unsigned n_other;     ///< in a row, of another range than the place's
    int64_t first;        ///< of the latest
    int64_t end;
    struct loop_place *place; ///< NULL: shares go by time
};

// ---- what a scheme asks

static void drop_place(struct loop_place *place)
{
    if (place == NULL || --place->n_users > 0) {
        return;
    }
    place->node->tasking.n_places--;
    scheme_free(place->scheme);
    for (unsigned i = 0; place->uses != NULL && i < place->n_pieces; i++) {
        free(place->uses[i].list);
    }
    free(place->uses);
    free(place->sums);
    free(place->piece_s);
    free(place->node_of);
    free(place->ids);
    free(place);
}

static void track(void *owner)
{
    struct loop_place *place = owner;

    place->tracking = TRACKING_WANTED;
}

static double tracking_s(void *owner)
{
    const struct loop_place *place = owner;

    return balancing_tracking_s(place->node);
}

// A job of the observer.
static void think_aside(void *owner)
{
    struct loop_place *place = owner;
    struct node *const node = place->node;
    struct scheme *scheme = place->scheme;
    const uint64_t began_ns = clock_now_ns();

    scheme_think(scheme);
    node_enter(node);
    scheme_thought(scheme, (double)(clock_now_ns() - began_ns) * 1e-9);
    drop_place(place);
    node_leave(node);
}

static void think(void *owner)
{
    struct loop_place *place = owner;

    if (observer_run(place->node, think_aside, place) == TM_OK) {
        place->n_users++;
    } else {
        log_debug("the run ends before a loop was placed");
    }
}

static void move(void *owner, uint64_t thread, node_id index)
{
    struct loop_place *place = owner;

    place->node_of[LOOP_PIECE(thread)] = index;
    place->has_changed = 1;
}

static void describe(void *owner, unsigned index, struct node_view *view)
{
    const struct loop_place *place = owner;

    balancing_describe(place->node, place->ids[index], view);
}

static const struct page_use *uses(void *owner, uint64_t thread, size_t *n)
{
    const struct loop_place *place = owner;
    const struct piece_uses *it = &place->uses[LOOP_PIECE(thread)];

    *n = it->n;
    return it->list;
}

static void set_period(void *owner, uint64_t period, uint64_t phase)
{
    (void)owner; // entries are marked
    (void)period;
    (void)phase;
}

static void leave(void *owner, const struct remap *plan, const uint32_t *from,
                  const uint32_t *to, int has_moved)
{
    (void)owner; // pages go where they are used: other loops may use them here
    (void)plan;
    (void)from;
    (void)to;
    (void)has_moved;
}

static void explain(void *owner, const char *text)
{
    const struct loop_place *place = owner;
    const size_t size = strlen(text) + sizeof place->name + sizeof "loop : ";
    char *named = malloc(size);

    ensure_memory(named != NULL);
    snprintf(named, size, "loop %s: %s", place->name, text);
    balancing_explain(place->node,
                      strncmp(text, "iteration ", 10) == 0 ? named : text);
    free(named);
}

// ---- places

static void name_loop(struct loop_place *place, const struct loop_call *call,
                      int is_explained)
{
    if (call->name != NULL) {
        snprintf(place->name, sizeof place->name, "%s", call->name);
    } else if (is_explained) { // it takes long
        image_describe((uintptr_t)call->place - 1, place->name,
                       sizeof place->name);
    }
}

// One that is about to leave is of the roster still, and has no share of a loop that begins.
static int is_of_nodes(const struct loop_place *place,
                       const struct loop_memory *memory)
{
    unsigned i = 0;

    while (i < memory->n && place->n_nodes == memory->n &&
           place->ids[i] == memory->shares[i].node) {
        i++;
    }
    return i == memory->n;
}

// The place of this range for a loop, if there is one.
static struct loop_place *find_place(const struct node *node,
                                     const struct loop_memory *memory,
                                     const struct loop_call *call)
{
    const struct loop_memory *other;
    size_t at = 0;

    while (node->tasking.n_places > 0 &&
           (other = table_next(&node->tasking.loops, &at)) != NULL) {
        struct loop_place *place = other->place;

        if (place != NULL && !place->is_over && other->epoch == memory->epoch &&
            is_of_nodes(place, memory) && place->first == call->first &&
            place->end == call->end) {
            return place;
        }
    }
    return NULL;
}

static void start_scheme(struct node *node, struct loop_place *place,
                         const struct loop_call *call)
{
    const struct scheme_ops ops = {
        .owner = place,
        .track = track,
        .tracking_s = tracking_s,
        .think = think,
        .move = move,
        .set_period = set_period,
        .leave = leave,
        .describe = describe,
        .uses = uses,
        .explain = explain,
    };
    uint32_t crowds[TM_MAX_NODES];
    struct scheme_config config;

    balancing_configure_loop(node, place->ids, place->n_nodes, crowds, &config);
    name_loop(place, call, config.explains);
    place->scheme = scheme_new(&config, &ops);
}

static void allocate_place(struct loop_place *place)
{
    place->ids = calloc(place->n_nodes, sizeof *place->ids);
    place->sums = calloc(place->n_nodes, sizeof *place->sums);
    place->node_of = calloc(place->n_pieces, sizeof *place->node_of);
    place->piece_s = calloc(place->n_pieces, sizeof *place->piece_s);
    place->uses = calloc(place->n_pieces, sizeof *place->uses);
    ensure_memory(place->ids != NULL && place->sums != NULL &&
                  place->node_of != NULL && place->piece_s != NULL &&
                  place->uses != NULL);
}

static struct loop_place *new_place(struct node *node,
                                    const struct loop_memory *memory,
                                    const struct loop_call *call)
{
    struct loop_place *place = calloc(1, sizeof *place);

    ensure_memory(place != NULL);
    node->tasking.n_places++;
    place->node = node;
    place->n_users = 1;
    place->n_nodes = memory->n;
    place->n_pieces = pieces_count(memory->n, call->first, call->end);
    place->first = call->first;
    place->end = call->end;
    place->leader = call->key;
    allocate_place(place);
    for (unsigned i = 0; i < memory->n; i++) {
        place->ids[i] = memory->shares[i].node;
    }
    pieces_of_shares(memory->shares, memory->n, place->n_pieces,
                     place->node_of);
    start_scheme(node, place, call);
    return place;
}

// ---- what is known

// Of a loop, perhaps nothing yet. Under the node lock.
static struct loop_memory *memory_of(struct node *node, uint64_t key)
{
    struct table *loops = &node->tasking.loops;

    if (loops->pool.size == 0) {
        table_init(loops, sizeof(struct loop_memory));
    }
    return table_get(loops, key);
}

static void leave_place(struct loop_memory *memory)
{
    drop_place(memory->place);
    memory->place = NULL;
    memory->n_short = 0;
    memory->n_other = 0;
}

// Of its range, if some loop has made one.
static void join_place(const struct node *node, struct loop_memory *memory,
                       const struct loop_call *call)
{
    struct loop_place *place = find_place(node, memory, call);

    if (place != NULL) {
        place->n_users++;
        memory->place = place;
        memory->n_short = 0;
    }
}

static int is_possible(const struct loop_place *place,
                       const struct loop_call *call)
{
    return pieces_are_possible(place->node_of, place->n_pieces, place->n_nodes,
                               call->room);
}

// Stay, leave or join.
static void look_for_place(const struct node *node, struct loop_memory *memory,
                           const struct loop_call *call)
{
    if (memory->place != NULL && memory->place->is_over) {
        leave_place(memory);
    }
    if (memory->place == NULL && !memory->is_unplaceable) {
        join_place(node, memory, call);
    }
    if (memory->place != NULL && !is_possible(memory->place, call)) {
        memory->is_unplaceable = 1;
        leave_place(memory);
    }
}

static void begin_anew(struct node *node, struct loop_memory *memory)
{
    node_id nodes[TM_MAX_NODES];
    double power[TM_MAX_NODES];
    uint32_t n_workers[TM_MAX_NODES];

    leave_place(memory);
    memory->is_unplaceable = 0;
    memory->epoch = node->port.roster.epoch;
    memory->n = roster_open(&node->port.roster, nodes);
    memory->shares =
        realloc(memory->shares, memory->n * sizeof *memory->shares);
    ensure_memory(memory->shares != NULL);
    starting_powers(node, nodes, memory->n, power, n_workers);
    for (unsigned i = 0; i < memory->n; i++) {
        memory->shares[i] = (struct share){
            .node = nodes[i], .power = power[i], .n_workers = n_workers[i]};
    }
    shares_begin(memory->shares, memory->n, 0, LONG_RANGE);
}

// It has been short of memory with just this range, and nobody has made a place for that.
static int needs_place(const struct node *node,
                       const struct loop_memory *memory,
                       const struct loop_call *call)
{
    return memory->place == NULL && memory->n_short >= SHORT_ENTRIES &&
           memory->first == call->first && memory->end == call->end &&
           node->tasking.n_places < LOOP_PLACES_MAX &&
           find_place(node, memory, call) == NULL;
}

// Begin or go on with what is known. Under the node lock.
static struct loop_memory *recall(struct node *node,
                                  const struct loop_call *call)
{
    struct loop_memory *memory = memory_of(node, call->key);

    if (memory->n == 0 || memory->epoch != node->port.roster.epoch) {
        begin_anew(node, memory);
    }
    if (needs_place(node, memory, call)) {
        memory->n_short = 0;
        memory->place = new_place(node, memory, call);
    }
    look_for_place(node, memory, call);
    return memory;
}

// ---- an entry begins

// Of fewer iterations than some for each node neither times nor cuts tell anything.
static int tells_much(int64_t first, int64_t end, unsigned n)
{
    return end - first >= (int64_t)n * LEAST_ITERATIONS;
}

static void take_shares(const struct loop_memory *memory,
                        struct loop_visit *visit)
{
    const unsigned n = memory->n;

    visit->n = n;
    visit->shares = malloc(n * sizeof *visit->shares);
    visit->reports = calloc(n, sizeof *visit->reports);
    ensure_memory(visit->shares != NULL && visit->reports != NULL);
    memcpy(visit->shares, memory->shares, n * sizeof *visit->shares);
    if (visit->place == NULL && tells_much(visit->first, visit->end, n)) {
        shares_adapt(visit->shares, n, visit->first, visit->end);
    } else {
        shares_keep(visit->shares, n, visit->first, visit->end);
    }
}

static void take_pieces(struct loop_visit *visit)
{
    struct loop_place *place = visit->place;
    const size_t size = place->n_pieces * sizeof *visit->node_of;

    ensure(visit->n == place->n_nodes);
    place->n_users++;
    visit->usual_s = place->longest_s;
    visit->n_pieces = place->n_pieces;
    visit->node_of = malloc(size);
    visit->piece_s = calloc(place->n_pieces, sizeof *visit->piece_s);
    ensure_memory(visit->node_of != NULL && visit->piece_s != NULL);
    memcpy(visit->node_of, place->node_of, size);
}

static int is_of_place(const struct loop_visit *visit)
{
    return visit->place != NULL && visit->counts &&
           visit->first == visit->place->first &&
           visit->end == visit->place->end;
}

static void forget_uses(struct loop_place *place)
{
    for (unsigned i = 0; i < place->n_pieces; i++) {
        place->uses[i].n = 0;
    }
}

// Who leads is entered: a round of tracked entries begins, or is over.
static void turn_tracking(struct loop_place *place)
{
    if (place->tracking == TRACKING_WANTED) {
        place->tracking = TRACKING_STARTED;
        place->has_missed = 0;
        forget_uses(place);
    } else if (place->tracking == TRACKING_STARTED) {
        place->tracking = TRACKING_NOT;
        scheme_tracked(place->scheme, !place->has_missed);
    }
}

// Have the entry tracked, if that is wanted and can be.
static uint32_t begin_round(struct node *node, const struct loop_visit *visit)
{
    struct loop_place *place = visit->place;
    uint8_t takes_part[TM_MAX_NODES] = {0};
    uint32_t round;

    if (place->leader == visit->key) {
        turn_tracking(place);
    }
    if (place->tracking != TRACKING_STARTED ||
        place->n_leaderless >= TRACKED_ENTRIES) {
        return 0;
    }
    for (unsigned i = 0; i < visit->n_pieces; i++) {
        takes_part[visit->shares[visit->node_of[i]].node] = 1;
    }
    round = tracking_ask_pieces(node, takes_part);
    place->has_missed |= round == 0;
    return round;
}

void loop_visit_begin(struct node *node, struct loop_visit *visit,
                      const struct loop_call *call)
{
    struct loop_memory *memory;

    *visit = (struct loop_visit){
        .key = call->key, .first = call->first, .end = call->end};
    node_enter(node);
    memory = recall(node, call);
    visit->place = memory->place;
    visit->epoch = memory->epoch;
    visit->counts =
        !memory->is_visited && tells_much(call->first, call->end, memory->n);
    memory->is_visited |= visit->counts;
    take_shares(memory, visit);
    if (visit->place != NULL) {
        take_pieces(visit);
        visit->round = is_of_place(visit) ? begin_round(node, visit) : 0;
    }
    node_leave(node);
}

unsigned loop_visit_runs(const struct loop_visit *visit, unsigned i,
                         struct grid *grid, struct piece_run *runs)
{
    const struct share *share = &visit->shares[i];

    if (visit->place != NULL) {
        *grid = (struct grid){visit->first, visit->end, visit->n_pieces};
        return pieces_list_runs(visit->node_of, visit->n_pieces, i, runs);
    }
    *grid = (struct grid){share->first, share->end, SHARE_BINS};
    runs[0] = (struct piece_run){0, SHARE_BINS};
    return share->end > share->first;
}

uint64_t loop_visit_usual_ns(const struct loop_visit *visit, unsigned i)
{
    return visit->place == NULL
               ? 0
               : (uint64_t)(visit->usual_s * visit->shares[i].n_workers * 1e9);
}

// ---- an entry ends

void loop_visit_note(struct loop_visit *visit, unsigned i,
                     const struct piece_run *runs, unsigned n_runs,
                     const uint64_t *cost_ns, const struct history_node *report)
{
    for (unsigned r = 0; r < n_runs; r++) {
        for (unsigned k = 0; k < runs[r].n; k++) {
            const unsigned piece = runs[r].piece + k;

            if (visit->place != NULL) {
                visit->piece_s[piece] = (double)*cost_ns++ * 1e-9;
            } else {
                visit->shares[i].bin_ns[piece] = *cost_ns++;
            }
        }
    }
    visit->reports[i] = *report;
}

static void add_uses(struct piece_uses *uses, const struct page_use *more,
                     size_t n)
{
    vector_reserve(uses->list, uses->room, uses->n + n + 1);
    for (size_t i = 0; i < n; i++) {
        uses->list[uses->n++] = more[i];
    }
}

// The entry was to be tracked. A page that several loops use is there several times, which is
// as good (groups.h).
static void take_sets(struct node *node, struct loop_place *place)
{
    struct access_sets *sets = tracking_take_pieces(node);

    if (sets == NULL || access_sets_expand(sets) != TM_OK) {
        place->has_missed = 1;
        access_sets_free(sets);
        return;
    }
    for (unsigned i = 0; i < place->n_pieces; i++) {
        size_t n = 0;
        const struct page_use *more = access_sets_find(sets, PIECE_BIT | i, &n);

        add_uses(&place->uses[i], more, more == NULL ? 0 : n);
    }
    access_sets_free(sets);
}

static double longest_s(const struct loop_visit *visit)
{
    double longest = 0;

    for (unsigned i = 0; i < visit->n; i++) {
        const double busy_s = visit->reports[i].busy_s;

        longest = busy_s > longest ? busy_s : longest;
    }
    return longest;
}

static void add_costs(struct loop_place *place, const struct loop_visit *visit)
{
    for (unsigned i = 0; i < visit->n; i++) {
        struct history_node *sum = &place->sums[i];
        const struct history_node *more = &visit->reports[i];

        sum->busy_s += more->busy_s;
        sum->comp_s += more->comp_s;
        sum->mem_s += more->mem_s;
        sum->out_s += more->out_s;
        sum->pages_in += more->pages_in;
        sum->pages_out += more->pages_out;
    }
    for (unsigned i = 0; i < visit->n_pieces; i++) {
        place->piece_s[i] += visit->piece_s[i];
    }
}

static void forget_costs(struct loop_place *place)
{
    memset(place->sums, 0, place->n_nodes * sizeof *place->sums);
    memset(place->piece_s, 0, place->n_pieces * sizeof *place->piece_s);
}

// All that was entered since who leads was entered last is an iteration.
static void feed_scheme(struct loop_place *place,
                        const struct loop_visit *visit)
{
    const struct loop_entry entry = {
        .number = ++place->n_entries,
        .n_nodes = place->n_nodes,
        .n_pieces = place->n_pieces,
        .done = place->sums,
        .node_of = visit->node_of,
        .piece_s = place->piece_s,
    };

    place->n_leaderless = 0;
    loop_take_entry(place->scheme, &entry, clock_now_ns());
    forget_costs(place);
}

static void follow(struct loop_place *place, const struct loop_visit *visit)
{
    if (++place->n_leaderless >= LEADERLESS_ENTRIES) {
        place->n_leaderless = 0;
        place->leader = visit->key;
        forget_costs(place);
    }
}

static void tell_place(struct node *node, struct loop_visit *visit)
{
    struct loop_place *place = visit->place;

    place->longest_s = longest_s(visit);
    place->n_calm =
        loop_is_short(visit->reports, visit->n) ? 0 : place->n_calm + 1;
    place->is_over = place->n_calm >= CALM_ENTRIES && !place->has_changed;
    if (visit->round != 0 && place->tracking == TRACKING_STARTED) {
        take_sets(node, place);
    }
    add_costs(place, visit);
    if (place->leader == visit->key) {
        feed_scheme(place, visit);
    } else {
        follow(place, visit);
    }
}

static void remember_shares(const struct node *node, struct loop_memory *memory,
                            const struct loop_visit *visit)
{
    const int is_same =
        memory->first == visit->first && memory->end == visit->end;

    memcpy(memory->shares, visit->shares, visit->n * sizeof *visit->shares);
    memory->first = visit->first;
    memory->end = visit->end;
    memory->n_short = is_same && loop_is_short(visit->reports, visit->n) &&
                              !memory->is_unplaceable &&
                              balancing_places_loops(node)
                          ? memory->n_short + 1
                          : 0;
}

// Have members changed meanwhile, or are about to, or has the place been given up?
static int is_outdated(struct node *node, const struct loop_memory *memory,
                       const struct loop_visit *visit)
{
    return memory->epoch != visit->epoch || memory->n != visit->n ||
           memory->place != visit->place ||
           node->port.roster.epoch != visit->epoch || node_is_changing(node);
}

static void remember(struct node *node, struct loop_visit *visit)
{
    struct loop_memory *memory = memory_of(node, visit->key);

    memory->is_visited = 0;
    if (is_outdated(node, memory, visit)) {
        return;
    }
    if (visit->place == NULL) {
        remember_shares(node, memory, visit);
    } else if (is_of_place(visit)) {
        memory->n_other = 0;
        tell_place(node, visit);
    } else if (++memory->n_other >= OTHER_ENTRIES) {
        leave_place(memory);
    }
}

// What was tracked of nodes that are no more.
static void end_round(struct node *node, const struct loop_visit *visit)
{
    if (visit->round != 0 && tracking_is_of(node, visit->round)) {
        access_sets_free(tracking_take_pieces(node));
    }
}

void loop_visit_end(struct node *node, struct loop_visit *visit)
{
    if (visit->place != NULL || visit->counts) {
        node_enter(node);
        if (visit->counts) {
            remember(node, visit);
        }
        end_round(node, visit);
        drop_place(visit->place);
        node_leave(node);
    }
    free(visit->shares);
    free(visit->reports);
    free(visit->node_of);
    free(visit->piece_s);
}
