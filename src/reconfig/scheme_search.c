// SPDX-License-Identifier: BSD-3-Clause
//
// Where iterations end: where the program says so; or else at the period of its
// barriers (period.h), which is looked for in those of one thread, the leader.
//
//   SEARCHING --a period--> WATCHING --it is lost--> SEARCHING
//   SEARCHING --PATIENCE barriers without, or HASTY_MAX soon lost--> UNKNOWN
//   SEARCHING, UNKNOWN --tm_iteration_end()--> WATCHING, for ever
//
// A barrier more, now and then, moves the ends to another place of the same loop: when
// the leader has come to one other place AGAIN times in a row, ends are there. A period
// is lost when LOST of its latest ends were elsewhere, and not so.
//
// Threads that meet count alike (runtime/iteration.c): if others are far ahead of the
// leader it takes part no more, and one of them leads.
#include "reconfig/scheme_priv.h"

enum {
    AGAIN = 3,
    LOST = 4,       // of 16
    FAR = 8,        // periods that others are ahead of a leader that has gone
    PATIENCE = 512, // barriers
    SOON = 64,      // iterations
    HASTY_MAX = 4,  // in a row
};

static void give_up(struct scheme *scheme)
{
    scheme_say(scheme,
               "no regularity in the program's barriers: its threads stay "
               "where they are");
    scheme->state = UNKNOWN;
    scheme->ops.set_period(scheme->ops.owner, 0, PERIOD_NONE);
}

// @return whether the row is the leader's
static int is_leading(struct search *search, const struct row *row,
                      uint64_t period)
{
    if (search->led_at == 0 ||
        row->n_barriers > search->led_at + FAR * period) {
        search->leader = row->thread;
        search->period = (struct period){0};
    }
    if (row->thread != search->leader) {
        return 0;
    }
    search->led_at = row->n_barriers;
    return 1;
}

// ---- while it is looked for

static void begin_ends(struct search *search, uint32_t place)
{
    search->end_place = place;
    search->n_other = 0;
    search->elsewhere = 0;
}

static void found(struct scheme *scheme, uint32_t n, const struct row *row)
{
    struct search *search = &scheme->search;

    scheme_say(scheme, "an iteration is found to be %u barriers", n);
    search->n = n;
    begin_ends(search, row->place);
    search->found_at = history_n_closed(scheme->history);
    scheme->state = WATCHING;
    scheme->ops.set_period(scheme->ops.owner, n, row->n_barriers % n);
}

// A thread has arrived at a barrier of which it is not known what it ends.
static void feed(struct scheme *scheme, const struct row *row)
{
    struct search *search = &scheme->search;
    uint32_t n;

    if (!is_leading(search, row, 1)) {
        return;
    }
    n = period_feed(&search->period, row->place);
    search->n_fed++;
    if (n != 0) {
        found(scheme, n, row);
    } else if (search->n_fed >= PATIENCE) {
        give_up(scheme);
    }
}

static void look_for_period(struct scheme *scheme, const struct message *report)
{
    struct wire_reader reader = scheme_rows(report);

    while (scheme->state == SEARCHING && reader.at < reader.end) {
        struct row row = scheme_row(&reader);

        feed(scheme, &row);
    }
}

// ---- while it holds

// The program has gone on to other barriers.
static void search_again(struct scheme *scheme)
{
    struct search *search = &scheme->search;
    const uint64_t n = history_n_closed(scheme->history);

    search->n_hasty = n - search->found_at < SOON ? search->n_hasty + 1 : 0;
    search->n_fed = 0;
    search->led_at = 0; // whoever comes first leads
    scheme_begin_anew(scheme);
    if (search->n_hasty > HASTY_MAX) {
        give_up(scheme);
        return;
    }
    scheme_say_now(scheme, "the program's barriers are others now; their "
                           "period is looked for");
    scheme->state = SEARCHING;
    scheme->ops.set_period(scheme->ops.owner, 0, PERIOD_SEARCH);
}

// The leader has ended an iteration. @return whether that is at several places
static int is_lost(struct search *search, uint32_t place)
{
    const unsigned is_elsewhere = place != search->end_place;

    search->elsewhere = (uint16_t)(search->elsewhere << 1 | is_elsewhere);
    search->n_other = is_elsewhere && place == search->other_place
                          ? search->n_other + 1
                          : is_elsewhere;
    search->other_place = place;
    if (search->n_other == AGAIN) {
        begin_ends(search, place);
    }
    return __builtin_popcount(search->elsewhere) >= LOST;
}

// @return 0 if the period is lost
static int look_at_ends(struct scheme *scheme, const struct message *report)
{
    struct wire_reader reader = scheme_rows(report);

    while (reader.at < reader.end) {
        struct row row = scheme_row(&reader);

        if (is_leading(&scheme->search, &row, scheme->search.n) &&
            is_lost(&scheme->search, row.place) && scheme->state != OFF &&
            !scheme_is_busy(scheme)) {
            search_again(scheme);
            return 0;
        }
    }
    return 1;
}

// ---- both

int scheme_look_for_end(struct scheme *scheme, const struct message *report)
{
    const int is_searching =
        scheme->state == SEARCHING || scheme->state == UNKNOWN;

    switch (report->u.iteration.marked) {
    case MARKED_NOT:
        look_for_period(scheme, report);
        return 0;
    case MARKED_BY_PERIOD: // on its way when the search began, or the program spoke
        return !is_searching && !scheme->search.is_marked &&
               look_at_ends(scheme, report);
    default:
        if (is_searching) {
            scheme->state = WATCHING;
        }
        if (!scheme->search.is_marked) {
            scheme->search.is_marked = 1;
            scheme->ops.set_period(scheme->ops.owner, 0, PERIOD_MARKED);
        }
        return 1;
    }
}
