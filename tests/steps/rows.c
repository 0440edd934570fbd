// SPDX-License-Identifier: BSD-3-Clause
//
// The steps that a protocol allows a page: one table for each, PROTOCOL.def here. A row is
//
//   ROW(name, EVENT, when, changes, then, sends, TAKEN or SELDOM)
//
//   EVENT    what happens to the page (STEP_EVENTS of pages/page_steps.h)
//   when     what must be so before: of the record `b`, and of the event (`c`, its cause)
//   changes  fields of the record that may change then; every other one stays
//   then     what must be so afterwards: of the record `a`, beside `b`
//   sends    what is sent of the page, no more and no less
//   TAKEN    the runs of test_steps.py must take it; SELDOM: they need not
//
// A step is allowed if one row has its event and fits in all of these. What a row may say is
// defined below, so that it reads as docs/protocols.md does; what is said of access and of
// lists holds of every model, which knows neither.
//
// The same tables judge what the engine does over the simulated network (tests/conformance/),
// what nodes have written down in real runs (steps_check.c), and each step of the SPIN models
// (tests/spin/model_steps.c).
#include "rows.h"

#include <string.h>

// ---- fields

// FIELD(name, member)
#define FIELDS                                                                 \
    FIELD(STATE, state)                                                        \
    FIELD(ACCESS, access)                                                      \
    FIELD(OWNER, is_owner)                                                     \
    FIELD(COPIES, copyset)                                                     \
    FIELD(FETCHING, fetching)                                                  \
    FIELD(QUEUES, queues)                                                      \
    FIELD(PINNED, pinned)                                                      \
    FIELD(BUSY, busy)                                                          \
    FIELD(PUSHING, pushing)                                                    \
    FIELD(IN_FLIGHT, in_flight)                                                \
    FIELD(SUBSCRIBED, subscribed)                                              \
    FIELD(LISTED, listed)                                                      \
    FIELD(UNTOLD, untold)                                                      \
    FIELD(MOVES, moves)                                                        \
    FIELD(HINT, hint)                                                          \
    FIELD(EPOCH, epoch)                                                        \
    FIELD(VERSION, version)                                                    \
    FIELD(BASE, base)                                                          \
    FIELD(KEPT, kept)                                                          \
    FIELD(ASKED, asked)                                                        \
    FIELD(AWAITED, awaited)                                                    \
    FIELD(LACKS, lacks)                                                        \
    FIELD(GOES_HOME, goes_home)                                                \
    FIELD(HERE, here)                                                          \
    FIELD(WRITTEN, written)

enum field_number {
#define FIELD(name, member) NUMBER_##name,
    FIELDS
#undef FIELD
};

enum field {
#define FIELD(name, member) name = 1 << NUMBER_##name,
    FIELDS
#undef FIELD
};

static uint32_t changed_fields(const struct page_step *step)
{
    uint32_t changed = 0;

#define FIELD(name, member)                                                    \
    if (memcmp(&step->before.member, &step->after.member,                      \
               sizeof step->before.member) != 0) {                             \
        changed |= name;                                                       \
    }
    FIELDS
#undef FIELD
    return changed;
}

// ---- what rows say: of the step `s`, its cause `c`, the record before `b` and after `a`

static int has_only(const struct node_set *set, unsigned node)
{
    struct node_set only = {{0}};

    if (node >= TM_MAX_NODES) {
        return 0;
    }
    node_set_add(&only, node);
    return memcmp(set, &only, sizeof only) == 0;
}

static int has_node(const struct node_set *set, unsigned node)
{
    return node < TM_MAX_NODES && node_set_has(set, node);
}

static struct node_set without(const struct node_set *set, unsigned node)
{
    struct node_set rest = *set;

    if (node < TM_MAX_NODES) {
        node_set_remove(&rest, node);
    }
    return rest;
}

static int has_others(const struct node_set *set, unsigned node)
{
    const struct node_set rest = without(set, node);

    return !node_set_is_empty(&rest);
}

// Each of them, and once.
static int are_told(const struct page_step *s, const struct node_set *set,
                    unsigned except)
{
    const struct node_set rest = without(set, except);
    unsigned n = 0;

    for (int node = node_set_next(&rest, 0); node >= 0;
         node = node_set_next(&rest, (unsigned)node + 1)) {
        n++;
    }
    return n == s->n_sent && memcmp(&rest, &s->told, sizeof rest) == 0;
}

static int joined(const struct page_step *s, unsigned node)
{
    struct node_set set = s->before.copyset;

    node_set_add(&set, node);
    return memcmp(&set, &s->after.copyset, sizeof set) == 0;
}

static int left(const struct page_step *s, unsigned node)
{
    const struct node_set set = without(&s->before.copyset, node);

    return memcmp(&set, &s->after.copyset, sizeof set) == 0;
}

static int are_subset(const struct node_set *part, const struct node_set *all)
{
    uint64_t more = 0;

    for (unsigned i = 0; i < TM_MAX_NODES / 64; i++) {
        more |= part->words[i] & ~all->words[i];
    }
    return more == 0;
}

// hint_set(): a hint is replaced by one of a higher epoch.
static int took_hint(const struct page_step *s, unsigned owner, uint32_t epoch)
{
    const struct step_record *b = &s->before;
    const struct step_record *a = &s->after;

    if (b->hint == 0 || epoch > b->epoch) {
        return a->hint == owner + 1 && a->epoch == epoch;
    }
    return a->hint == b->hint && a->epoch == b->epoch;
}

// Ownership has gone to a node.
static int went(const struct page_step *s, unsigned node)
{
    const struct step_record *a = &s->after;

    return a->state == PAGE_ABSENT && !a->is_owner &&
           node_set_is_empty(&a->copyset) && a->hint == node + 1 &&
           a->epoch == s->before.epoch + 1 && s->n_sent == 1 &&
           has_only(&s->told, node) &&
           (s->is_model || a->access == ACCESS_NONE);
}

#define NOTHING 0
#define SENT(message) STEP_SENT_##message
#define TAKEN 0
#define SELDOM 1

#define was(name) (b->state == PAGE_##name)
#define is(name) (a->state == PAGE_##name)
#define has(fact) ((c->facts & STEP_##fact) != 0)

#define access_was(name) (s->is_model || b->access == ACCESS_##name)
#define access_is(name) (s->is_model || a->access == ACCESS_##name)
#define access_is_at_most(name) (s->is_model || a->access <= ACCESS_##name)
#define access_has_not_risen (s->is_model || a->access <= b->access)
#define access_is_for_who_waits(name)                                          \
    (s->is_model ||                                                            \
     a->access == (has(WAITED) ? (uint8_t)ACCESS_##name : b->access))
#define access_is_full (a->access == (was(CLEAN) ? ACCESS_READ : ACCESS_WRITE))

#define had_copies (!node_set_is_empty(&b->copyset))
#define has_copies (!node_set_is_empty(&a->copyset))
#define had_copy(node) has_node(&b->copyset, node)
#define has_copy(node) has_node(&a->copyset, node)
#define had_other_copies(node) has_others(&b->copyset, node)
#define has_joined(node) joined(s, node)
#define has_left(node) left(s, node)
#define are_fewer_copies are_subset(&a->copyset, &b->copyset)
#define are_the_same_copies                                                    \
    (memcmp(&a->copyset, &b->copyset, sizeof a->copyset) == 0)

#define points_to(node) (a->hint == (node) + 1)
#define follows(node) took_hint(s, node, c->epoch)
#define went_to(node) went(s, node)
#define has_moved                                                              \
    (s->is_model || a->moves == b->moves + 1 || b->moves >= UINT8_MAX - 1)

#define told_only(node) (s->n_sent == 1 && has_only(&s->told, node))
#define told_all_but(node) are_told(s, &b->copyset, node)
#define is_first_touch                                                         \
    (b->hint == 0 && b->epoch == 0 &&                                          \
     told_only(s->node)) // at its directory node
#define route_told (s->n_sent == 1 && (b->hint == 0 || told_only(b->hint - 1u)))

#define is_listed (s->is_model || a->listed)
#define is_still_listed (!s->is_model && a->listed)
#define is_released                                                            \
    (is(CLEAN) ? access_is_at_most(READ)                                       \
               : is(DIRTY) && access_is(WRITE) && is_listed)
#define makes_a_version (a->version == b->version + 1)
#define is_of_that_version                                                     \
    (a->base == c->version && (s->is_model || a->version == c->version))
#define keeps_one_more (a->kept == b->kept + 1)
#define is_whole                                                               \
    (!a->lacks && !a->subscribed &&                                            \
     (has(WRITE) && !has(FROZEN)                                               \
          ? is(DIRTY) && access_is(WRITE) && is_listed                         \
          : is(CLEAN) && access_is_for_who_waits(READ)))
#define is_newer(version, than) ((int32_t)((version) - (than)) > 0)

// ---- the tables

#define JUDGE(name, expression)                                                \
    static int name(const struct page_step *s)                                 \
    {                                                                          \
        const struct step_record *b = &s->before;                              \
        const struct step_record *a = &s->after;                               \
        const struct step_cause *c = &s->cause;                                \
                                                                               \
        (void)s;                                                               \
        (void)a;                                                               \
        (void)b;                                                               \
        (void)c;                                                               \
        return (expression);                                                   \
    }
#define JOIN_(x, y) x##_##y
#define JOIN(x, y) JOIN_(x, y)

#define AS_FUNCTIONS(name, event, when, changes, then, sends, seldom)          \
    JUDGE(JOIN(TABLE, name##_when), when)                                      \
    JUDGE(JOIN(TABLE, name##_then), then)
#define AS_ROW(name, event, when, changes, then, sends, seldom)                \
    {#name,                                                                    \
     STEP_##event,                                                             \
     seldom,                                                                   \
     changes,                                                                  \
     sends,                                                                    \
     JOIN(TABLE, name##_when),                                                 \
     JOIN(TABLE, name##_then)},

#define TABLE eager_release
#define ROW AS_FUNCTIONS
#include "eager_release.def"
#undef ROW
#define ROW AS_ROW
static const struct step_row eager_release_rows[] = {
#include "eager_release.def"
};
#undef ROW
#undef TABLE

#define TABLE sequential
#define ROW AS_FUNCTIONS
#include "sequential.def"
#undef ROW
#define ROW AS_ROW
static const struct step_row sequential_rows[] = {
#include "sequential.def"
};
#undef ROW
#undef TABLE

#define TABLE implicit
#define ROW AS_FUNCTIONS
#include "implicit.def"
#undef ROW
#define ROW AS_ROW
static const struct step_row implicit_rows[] = {
#include "implicit.def"
};
#undef ROW
#undef TABLE

#define TABLE lazy_release
#define ROW AS_FUNCTIONS
#include "lazy_release.def"
#undef ROW
#define ROW AS_ROW
static const struct step_row lazy_release_rows[] = {
#include "lazy_release.def"
};
#undef ROW
#undef TABLE

#define TABLE adaptive
#define ROW AS_FUNCTIONS
#include "adaptive.def"
#undef ROW
#define ROW AS_ROW
static const struct step_row adaptive_rows[] = {
#include "adaptive.def"
};
#undef ROW
#undef TABLE

#define TABLE homeless
#define ROW AS_FUNCTIONS
#include "homeless.def"
#undef ROW
#define ROW AS_ROW
static const struct step_row homeless_rows[] = {
#include "homeless.def"
};
#undef ROW
#undef TABLE

#define TABLE scope
#define ROW AS_FUNCTIONS
#include "scope.def"
#undef ROW
#define ROW AS_ROW
static const struct step_row scope_rows[] = {
#include "scope.def"
};
#undef ROW
#undef TABLE

#define TABLE entry
#define ROW AS_FUNCTIONS
#include "entry.def"
#undef ROW
#define ROW AS_ROW
static const struct step_row entry_rows[] = {
#include "entry.def"
};
#undef ROW
#undef TABLE

#define TABLE_ROW(id, name, rows)                                              \
    {                                                                          \
        id, name, rows, sizeof(rows) / sizeof(rows)[0]                         \
    }

static const struct step_table tables[] = {
    TABLE_ROW(TM_EAGER_RELEASE, "eager-release", eager_release_rows),
    TABLE_ROW(TM_SEQUENTIAL, "sequential", sequential_rows),
    TABLE_ROW(TM_IMPLICIT, "implicit", implicit_rows),
    TABLE_ROW(TM_LAZY_RELEASE, "lazy-release", lazy_release_rows),
    TABLE_ROW(TM_ADAPTIVE, "adaptive", adaptive_rows),
    TABLE_ROW(TM_SCOPE, "scope", scope_rows),
    TABLE_ROW(TM_HOMELESS, "homeless", homeless_rows),
    TABLE_ROW(TM_ENTRY, "entry", entry_rows),
};

const struct step_table *step_table_of(unsigned protocol)
{
    for (unsigned i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if ((unsigned)tables[i].protocol == protocol) {
            return &tables[i];
        }
    }
    return NULL;
}

// ---- judging

const struct step_row *step_row_of(const struct step_table *table,
                                   const struct page_step *step)
{
    const uint32_t changed = changed_fields(step);

    for (unsigned i = 0; i < table->n; i++) {
        const struct step_row *row = &table->rows[i];

        if (row->event == step->cause.event && row->sends == step->sent &&
            (changed & ~row->changes) == 0 && row->when(step) &&
            row->then(step)) {
            return row;
        }
    }
    return NULL;
}

// ---- telling

static const char *const event_names[STEP_EVENT_COUNT] = {"nothing",
#define STEP_EVENT(name, meaning) #name,
                                                          STEP_EVENTS
#undef STEP_EVENT
};

static void tell_record(FILE *to, const char *when,
                        const struct step_record *record)
{
    static const char *const states[] = {"absent", "clean", "dirty",
                                         "exclusive", "bound"};

    fprintf(
        to,
        "  %s: %s, access %u%s, hint %d, epoch %u, version %u, base %u, "
        "moves %u, pushing %u, in flight %u, kept %u, asked %u, awaited "
        "%u, here %u%s%s%s%s%s%s%s%s%s%s, copies {",
        when, states[record->state % 5], record->access,
        record->is_owner ? ", owner" : "", record->hint - 1, record->epoch,
        record->version, record->base, record->moves, record->pushing,
        record->in_flight, record->kept, record->asked, record->awaited,
        record->here, record->fetching ? ", fetching" : "",
        record->queues ? ", queues" : "", record->pinned ? ", pinned" : "",
        record->busy ? ", busy" : "", record->subscribed ? ", subscribed" : "",
        record->listed ? ", listed" : "", record->untold ? ", untold" : "",
        record->lacks ? ", lacks" : "", record->goes_home ? ", goes home" : "",
        record->written ? ", written" : "");
    for (int node = node_set_next(&record->copyset, 0); node >= 0;
         node = node_set_next(&record->copyset, (unsigned)node + 1)) {
        fprintf(to, " %d", node);
    }
    fprintf(to, " }\n");
}

static void tell_names(FILE *to, const char *what, uint32_t bits,
                       const char *const *names, unsigned n)
{
    fprintf(to, "%s", what);
    for (unsigned i = 0; i < n; i++) {
        if (bits >> i & 1) {
            fprintf(to, " %s", names[i]);
        }
    }
}

static const char *const field_names[] = {
#define FIELD(name, member) #name,
    FIELDS
#undef FIELD
};

static const char *const message_names[] = {
#define STEP_MESSAGE(name, bit) #name,
    STEP_MESSAGES
#undef STEP_MESSAGE
};

static const char *const fact_names[] = {
    "write",    "ahead",      "own",   "has-copy", "ownership",
    "contents", "subscribes", "fresh", "paged",    "frozen",
    "waited",   "asks-back",  "said",  "more",     "gone"};

#define COUNT_OF(names) (sizeof(names) / sizeof(names)[0])

static void tell_row(FILE *to, const struct step_row *row,
                     const struct page_step *step)
{
    const uint32_t too_much = changed_fields(step) & ~row->changes;

    fprintf(to, "  not %s:", row->name);
    if (!row->when(step)) {
        fprintf(to, " not now");
    } else {
        if (too_much != 0) {
            tell_names(to, " changes", too_much, field_names,
                       COUNT_OF(field_names));
        }
        if (!row->then(step)) {
            fprintf(to, " not so");
        }
        if (row->sends != step->sent) {
            fprintf(to, " sends other messages");
        }
    }
    fprintf(to, "\n");
}

void step_explain(FILE *to, const struct step_table *table,
                  const struct page_step *step)
{
    const struct step_cause *cause = &step->cause;

    fprintf(to, "%s allows no such step of page %llu at node %u: %s",
            table->name, (unsigned long long)step->page, step->node,
            cause->event < STEP_EVENT_COUNT ? event_names[cause->event] : "?");
    tell_names(to, ",", cause->facts, fact_names, COUNT_OF(fact_names));
    fprintf(to, ", from %u, who %u, version %u, epoch %u", cause->from,
            cause->who, cause->version, cause->epoch);
    tell_names(to, ", sent", step->sent, message_names,
               COUNT_OF(message_names));
    fprintf(to, " (%u)\n", step->n_sent);
    tell_record(to, "before", &step->before);
    tell_record(to, "after", &step->after);
    for (unsigned i = 0; i < table->n; i++) {
        if (table->rows[i].event == cause->event) {
            tell_row(to, &table->rows[i], step);
        }
    }
}

unsigned step_report(FILE *to, const struct step_table *table,
                     const uint64_t *counts)
{
    unsigned n_missed = 0;

    for (unsigned i = 0; i < table->n; i++) {
        const struct step_row *row = &table->rows[i];

        fprintf(to, "step %s %s %s %llu%s\n", table->name,
                event_names[row->event], row->name,
                (unsigned long long)counts[i], row->is_seldom ? " seldom" : "");
        n_missed += counts[i] == 0 && !row->is_seldom;
    }
    return n_missed;
}
