// SPDX-License-Identifier: BSD-3-Clause
//
// Each step that a page makes on a node is one of those that its protocol's table allows
// (tests/steps/rows.c), and no page changes without one. In debug builds; where data races
// are looked for pages make other steps, which no table has.
#include "steps.h"

#include <stdlib.h>

#include "steps/rows.h"

static uint64_t counts[STEP_ROWS_MAX];

static void judge_step(void *owner, const struct page_step *step)
{
    const struct world *world = owner;
    const struct step_table *table = step_table_of(step->protocol);
    const struct step_row *row;

    if (table == NULL) {
        return;
    }
    row = step_row_of(table, step);
    if (row == NULL) {
        step_explain(stderr, table, step);
        fail("the page's step is allowed", __LINE__);
    }
    if (table->protocol == world->protocol) {
        counts[row - table->rows]++;
    }
}

void steps_watch_node(struct world *world, unsigned node)
{
    CHECK(engine_watch_steps(world->nodes[node].engine, judge_step, world) ==
          TM_OK);
}

void steps_check_page(const struct world *world, unsigned node, page_no page)
{
    const struct engine *engine = world->nodes[node].engine;
    const struct extent *extent = engine_extent(engine, page);

    CHECK(extent == NULL || step_table_of(extent->protocol) == NULL ||
          engine_steps_are_told(engine, page));
}

void steps_tell(tm_protocol protocol)
{
    const struct step_table *table = step_table_of(protocol);

    if (table != NULL && getenv("TELL_STEPS") != NULL) {
        (void)step_report(stdout, table, counts);
    }
}
