// SPDX-License-Identifier: BSD-3-Clause
/*
 * Reads the steps that the nodes of a run have written (runtime/step_log.c), and says
 * whether each is one that the protocol of its page allows, and how often each was made.
 *
 *     steps_check [--alter=N] FILE...
 *
 * --alter    for the test of this: the Nth step is another than it was
 *
 * Beside the tables of rows.c, over all nodes:
 *
 * E1  Of each epoch of a page one node is the owner.
 * H1  A hint names the node that is the owner at the hint's epoch.
 * W1  A page's record at the beginning of a step is that at the end of the last one.
 *
 * Exit code 0: all is right; 1: it is not; 64 and above: that cannot be judged.
 */
#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "rows.h"

enum { MOST_TOLD = 5, MOST_PROTOCOLS = 32 };

static struct {
    struct map owners; // (page, epoch) -> node
    uint64_t counts[MOST_PROTOCOLS][STEP_ROWS_MAX];
    uint64_t n_steps;
    uint64_t n_wrong;
    uint64_t altered;
} all;

_Noreturn static void give_up(const char *path, const char *what)
{
    fprintf(stderr, "steps: %s: %s\n", path, what);
    exit(65);
}

// @return whether it is to be told
static int is_wrong(const struct page_step *step, const char *rule)
{
    if (++all.n_wrong > MOST_TOLD) {
        return 0;
    }
    fprintf(stderr,
            "steps: %s: page %llu at node %u, epoch %u -> %u, hint %d "
            "-> %d\n",
            rule, (unsigned long long)step->page, step->node,
            step->before.epoch, step->after.epoch, step->before.hint - 1,
            step->after.hint - 1);
    return 1;
}

static uint64_t name_of(page_no page, uint32_t serial, uint32_t epoch)
{
    const struct {
        page_no page;
        uint32_t serial;
        uint32_t epoch;
    } name = {page, serial, epoch};

    return hash_bytes(HASH_START, &name, sizeof name);
}

// ---- over all nodes

static void note_owner(const struct page_step *step)
{
    const uint64_t name = name_of(step->page, step->serial, step->after.epoch);
    uint32_t known;

    if (!step->after.is_owner || step->before.is_owner) {
        return;
    }
    known = map_find_index(&all.owners, name);
    if (known == MAP_NONE) {
        map_add_index(&all.owners, name, step->node);
    } else {
        (void)is_wrong(step, "E1: it has another owner at this epoch");
    }
}

static void check_hint(const struct page_step *step)
{
    const struct step_record *after = &step->after;
    const uint32_t owner = map_find_index(
        &all.owners, name_of(step->page, step->serial, after->epoch));

    if (after->hint != 0 && owner != MAP_NONE && after->hint != owner + 1) {
        (void)is_wrong(step, "H1: another node is the owner at this epoch");
    }
}

// ---- one node

// Records as they were at the end of the last step, by page.
struct last {
    struct map by_page;
};

static void check_order(struct last *last, const struct page_step *step)
{
    const uint64_t name = name_of(step->page, step->serial, 0);
    struct step_record *known = map_find(&last->by_page, name);

    if (known == NULL) {
        known = calloc(1, sizeof *known);
        if (known == NULL) {
            give_up("memory", "there is none");
        }
        map_add(&last->by_page, name, known);
    }
    if (memcmp(known, &step->before,
               offsetof(struct step_record, untold) + 1) != 0) {
        (void)is_wrong(step, "W1: it has changed between two steps");
    }
    *known = step->after;
}

static void release_last(struct last *last)
{
    for (size_t i = 0; i < last->by_page.capacity; i++) {
        free(map_at(&last->by_page, i));
    }
    map_release(&last->by_page);
}

static void judge(const struct page_step *step)
{
    const struct step_table *table = step_table_of(step->protocol);
    const struct step_row *row;

    if (table == NULL) {
        return;
    }
    row = step_row_of(table, step);
    if (row != NULL) {
        all.counts[step->protocol][row - table->rows]++;
    } else if (is_wrong(step, "no row of its table fits")) {
        step_explain(stderr, table, step);
    }
}

// ---- the files

static void alter(struct page_step *step)
{
    all.n_steps++;
    if (all.n_steps == all.altered) {
        step->after.state = (uint8_t)((step->after.state + 1) % 4);
    }
}

// @param is_last  what all nodes have done is known by now
static void read_file(const char *path, int is_last)
{
    FILE *file = fopen(path, "re");
    struct last last = {{NULL, 0, 0}};
    struct page_step step;

    if (file == NULL) {
        give_up(path, "cannot be read");
    }
    while (fread(&step, sizeof step, 1, file) == 1) {
        if (step.protocol >= MOST_PROTOCOLS ||
            step.cause.event >= STEP_EVENT_COUNT) {
            give_up(path, "is not of this build");
        }
        if (!is_last) {
            note_owner(&step);
            continue;
        }
        alter(&step);
        check_hint(&step);
        check_order(&last, &step);
        judge(&step);
    }
    if (ferror(file)) {
        give_up(path, "cannot be read to its end");
    }
    release_last(&last);
    (void)fclose(file);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"alter", required_argument, NULL, 'a'}, {NULL, 0, NULL, 0}};
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option != 'a') {
            return 64;
        }
        all.altered = strtoull(optarg, NULL, 0);
    }
    for (int pass = 0; pass < 2; pass++) {
        for (int i = optind; i < argc; i++) {
            read_file(argv[i], pass == 1);
        }
    }
    for (unsigned i = 0; i < MOST_PROTOCOLS; i++) {
        if (step_table_of(i) != NULL) {
            (void)step_report(stdout, step_table_of(i), all.counts[i]);
        }
    }
    map_release(&all.owners);
    printf("steps: %llu steps, %llu wrong\n", (unsigned long long)all.n_steps,
           (unsigned long long)all.n_wrong);
    return all.n_wrong > 0;
}
