// SPDX-License-Identifier: BSD-3-Clause
//
// Each step of a model is one that the protocol's table allows (tests/steps/rows.c): so what
// Spin has shown of the model holds of what the table allows as far as the model goes, and
// the engine is held to the same table. A model calls
//
//   model_begins  the record of a node's page is as it is before its next step
//   model_sends   what it sends meanwhile
//   model_ends    the step is over. @return 0 the table does not allow it
//
// all within one step of the search, so nothing is kept here from one to the next but the
// counts, which are told at the end.
//
// The model's steps are a little larger: the end of a request (SETTLED) is part of the step
// that answers it, and so is a grant of the request that makes it. It has no access, no lists, and one
// number for what the engine does not compare.
#include "model_steps.h"

#include <stdlib.h>
#include <string.h>

#include "steps/rows.h"

// In the model.
void model_record(int node, int page, int *record);
extern const char *const model_protocol;

void model_begins(int node, int page);
void model_sends(int message, int to);
int model_ends(int event, int from, int who, int facts, int version, int epoch,
               int only_changed);

static const uint8_t events[] = {
    [ON_ASKS] = STEP_ASKS,
    [ON_FETCH] = STEP_FETCH,
    [ON_GRANT] = STEP_GRANT,
    [ON_PAGE] = STEP_PAGE,
    [ON_SETTLED] = STEP_SETTLED,
    [ON_OWNER_IS] = STEP_OWNER_IS,
    [ON_INVALIDATE] = STEP_INVALIDATE,
    [ON_INVALIDATE_ACK] = STEP_INVALIDATE_ACK,
    [ON_LETS_GO] = STEP_LETS_GO,
    [ON_FAULT] = STEP_FAULT,
    [ON_PUSHED] = STEP_PUSHED,
    [ON_DIFF] = STEP_DIFF,
    [ON_HAND_OVER] = STEP_HAND_OVER,
    [ON_HANDED] = STEP_HANDED,
    [ON_DROPPED] = STEP_DROPPED,
    [ON_ACKNOWLEDGED] = STEP_ACKNOWLEDGED,
    [ON_RELEASED] = STEP_RELEASED,
    [ON_ATOMIC] = STEP_ATOMIC,
    [ON_APPLIED] = STEP_APPLIED,
    [ON_DROPS] = STEP_DROPS,
    [ON_LEFT] = STEP_LEFT,
    [ON_NOTICED] = STEP_NOTICED,
    [ON_FORGETS] = STEP_FORGETS,
    [ON_GIVES] = STEP_GIVES,
    [ON_GIVEN] = STEP_GIVEN,
    [ON_CLOSED] = STEP_CLOSED,
    [ON_ADVISED] = STEP_ADVISED,
    [ON_HEARD] = STEP_HEARD,
    [ON_COPY] = STEP_COPY,
    [ON_WANTED] = STEP_WANTED,
    [ON_DIFFS_COME] = STEP_DIFFS_COME,
    [ON_HOME] = STEP_HOME,
    [ON_AT_HOME] = STEP_AT_HOME,
    [ON_LETS_DIFFS_GO] = STEP_LETS_DIFFS_GO,
    [ON_BOUND] = STEP_BOUND,
    [ON_UNBOUND] = STEP_UNBOUND,
    [ON_LOCK_COMES] = STEP_LOCK_COMES,
    [ON_LOCK_GOES] = STEP_LOCK_GOES,
    [ON_STAMPED] = STEP_STAMPED,
    [ON_TWIN_GOES] = STEP_TWIN_GOES,
    [ON_SENDS_BYTES] = STEP_SENDS_BYTES,
    [ON_TAKES_BYTES] = STEP_TAKES_BYTES,
};

static const uint16_t messages[] = {
    [SENDS_NOTHING] = 0,
    [SENDS_FETCH] = STEP_SENT_FORWARD,
    [SENDS_COPY] = STEP_SENT_COPY,
    [SENDS_AWAY] = STEP_SENT_AWAY,
    [SENDS_GRANT] = STEP_SENT_GRANT,
    [SENDS_PUSH] = STEP_SENT_PUSH,
    [SENDS_DIFF] = STEP_SENT_DIFF,
    [SENDS_HANDED] = STEP_SENT_HANDED,
    [SENDS_INVALIDATE] = STEP_SENT_INVALIDATE,
    [SENDS_INVALID] = STEP_SENT_INVALIDATE_ACK,
    [SENDS_GIVEN] = STEP_SENT_GIVEN,
    [SENDS_ASK_DIFFS] = STEP_SENT_ASK_DIFFS,
    [SENDS_DIFFS] = STEP_SENT_DIFFS,
    [SENDS_HOME] = STEP_SENT_HOME,
    [SENDS_AT_HOME] = STEP_SENT_AT_HOME,
    [SENDS_BYTES] = STEP_SENT_BYTES,
};

static const struct step_table *table;
static uint64_t counts[STEP_ROWS_MAX];

// Of the step under way.
static struct page_step step;
static node_id granted_to;

static struct step_record record_of(unsigned node, unsigned page)
{
    int record[RECORD_SIZE] = {0};

    model_record((int)node, (int)page, record);
    return (struct step_record){
        .state = (uint8_t)record[AT_STATE],
        .is_owner = record[AT_OWNER] != 0,
        .copyset = {{(uint64_t)record[AT_COPIES]}},
        .hint = (uint16_t)record[AT_HINT],
        .epoch = (uint32_t)record[AT_EPOCH],
        .fetching = record[AT_FETCHING] != 0,
        .queues = record[AT_QUEUES] != 0,
        .pinned = record[AT_PINNED] != 0,
        .busy = record[AT_BUSY] != 0,
        .pushing = (uint16_t)record[AT_PUSHING],
        .moves = (uint8_t)record[AT_MOVES],
        .version = (uint32_t)record[AT_VERSION],
        .base = (uint32_t)record[AT_BASE],
        .in_flight = (uint16_t)record[AT_IN_FLIGHT],
        .subscribed = record[AT_SUBSCRIBED] != 0,
        .listed = record[AT_LISTED] != 0,
        .kept = (uint16_t)record[AT_KEPT],
        .asked = (uint16_t)record[AT_ASKED],
        .awaited = (uint16_t)record[AT_AWAITED],
        .lacks = record[AT_LACKS] != 0,
        .goes_home = record[AT_GOES_HOME] != 0,
        .here = (uint16_t)record[AT_HERE],
        .written = record[AT_WRITTEN] != 0,
    };
}

static struct page_step next_step(unsigned node, unsigned page)
{
    return (struct page_step){
        .node = (node_id)node,
        .page = page,
        .before = record_of(node, page),
        .is_model = 1,
    };
}

void model_begins(int node, int page)
{
    step = next_step((unsigned)node, (unsigned)page);
}

void model_sends(int message, int to)
{
    if (message == SENDS_NOTHING) {
        return;
    }
    step.sent |= messages[message];
    step.n_sent++;
    node_set_add(&step.told, (unsigned)to);
    if (message == SENDS_GRANT) {
        granted_to = (node_id)to;
    }
}

// What is part of a larger step in the model.
static void narrow(void)
{
    struct step_record *after = &step.after;
    const struct step_record *before = &step.before;

    if (step.sent & STEP_SENT_GRANT) { // the request behind it is another step
        step.cause.event = STEP_GRANTS;
        step.cause.who = granted_to;
        step.sent = STEP_SENT_GRANT;
        step.n_sent = 1;
        step.told = (struct node_set){{0}};
        node_set_add(&step.told, granted_to);
    }
    if (step.sent & STEP_SENT_HANDED) {
        step.cause.event = STEP_HAND_OVER;
        step.cause.who = (node_id)node_set_next(&step.told, 0);
    }
    if (step.cause.event == STEP_ASKS) {
        if (step.sent == STEP_SENT_FORWARD) {
            step.sent = STEP_SENT_FETCH;
        }
    } else if (step.cause.event != STEP_SETTLED &&
               step.cause.event != STEP_HOME &&
               step.cause.event != STEP_ATOMIC) {
        after->fetching = before->fetching;
        after->queues = before->queues;
    }
    if (step.cause.event != STEP_LETS_GO) {
        after->pinned = before->pinned;
    }
    if (after->state == PAGE_ABSENT &&
        table->protocol != TM_ENTRY) { // the model forgets these then
        after->version = before->version;
        after->base = before->base;
        after->moves = before->moves;
    }
}

static uint16_t facts_of(int facts, int is_own)
{
    return (uint16_t)((facts & TO_WRITE ? STEP_WRITE : 0) |
                      (facts & IS_AHEAD ? STEP_AHEAD : 0) |
                      (facts & WITH_OWNERSHIP ? STEP_OWNERSHIP : 0) |
                      (facts & WITH_CONTENTS ? STEP_CONTENTS : 0) |
                      (facts & WITH_COPY ? STEP_HAS_COPY : 0) |
                      (facts & IS_NOT_PUSHED_TO ? 0 : STEP_SUBSCRIBES) |
                      (facts & IS_TOO_OLD ? 0 : STEP_FRESH) |
                      (facts & IS_FROZEN ? STEP_FROZEN : 0) |
                      (facts & IS_GONE ? STEP_GONE : 0) |
                      (is_own ? STEP_OWN : 0));
}

static void tell_counts(void)
{
    (void)step_report(stdout, table, counts);
}

static void find_table(void)
{
    for (unsigned i = 0; table == NULL && i < UINT8_MAX; i++) {
        if (step_table_of(i) != NULL &&
            strcmp(step_table_of(i)->name, model_protocol) == 0) {
            table = step_table_of(i);
        }
    }
    if (table == NULL) {
        abort();
    }
    atexit(tell_counts);
}

static int has_changed(const struct step_record *now)
{
    return step.n_sent > 0 || memcmp(now, &step.before, sizeof *now) != 0;
}

int model_ends(int event, int from, int who, int facts, int version, int epoch,
               int only_changed)
{
    const struct step_record now = record_of(step.node, (unsigned)step.page);
    const struct step_row *row;

    if (table == NULL) {
        find_table();
    }
    if (only_changed && !has_changed(&now)) {
        return 1;
    }
    step.after = now;
    step.cause = (struct step_cause){
        .event = events[event],
        .from = (node_id)from,
        .who = (node_id)who,
        .facts = facts_of(facts, event == ON_FETCH && who == step.node),
        .version = (uint32_t)version,
        .epoch = (uint32_t)epoch,
    };
    narrow();
    row = step_row_of(table, &step);
    if (row == NULL) {
        step_explain(stdout, table, &step);
        return 0;
    }
    counts[row - table->rows]++;
    step = next_step(step.node, (unsigned)step.page);
    return 1;
}
