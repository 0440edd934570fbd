// SPDX-License-Identifier: BSD-3-Clause
//
// K threads that read what each of them writes have K^2 uses, and only K of these
// write: positions of bodies, rows of a matrix. Who places threads goes over the
// uses a dozen times. That a thread *reads* a group which all threads use changes
// nothing wherever the thread runs, so these uses can be left out before.
//
// A group is a candidate as long as each thread so far has used it. Candidates only
// get fewer, so it is soon known that a view has none, and a million threads in a
// chain cost nothing here.
//
// I1  Before thread i, n_users[g] is i if and only if threads 0..i-1 all use g.
#include "model/condense.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/** Are so many groups used by all threads that it is worth a copy? */
static int is_worth(const struct cluster_view *view, uint32_t n_common)
{
    return n_common > 0 && 2ull * n_common * view->n_threads >= view->n_uses;
}

/** @param[in,out] n_users  [n_groups] zeros; in the end n_threads for those that all
 *                          threads use
 *  @return how many these are; 0 if there are too few */
static uint32_t find_common(const struct cluster_view *view, uint32_t *n_users)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < view->n_threads; i++) {
        const struct use *uses = view->uses + view->threads[i].first_use;

        n = 0;
        for (uint32_t u = 0; u < view->threads[i].n_uses; u++) {
            const uint32_t is_candidate = n_users[uses[u].group] == i; // I1

            n_users[uses[u].group] += is_candidate;
            n += is_candidate;
        }
        if (!is_worth(view, n)) {
            return 0;
        }
    }
    return n;
}

/** Number common groups from 0 and others behind them.
 *  @param[in,out] numbers  [n_groups]: n_users; in the end the new numbers */
static void number_groups(struct condensed *condensed,
                          const struct cluster_view *view, uint32_t *numbers)
{
    uint32_t common = 0;
    uint32_t other = condensed->view.n_common;

    for (uint32_t g = 0; g < view->n_groups; g++) {
        numbers[g] = numbers[g] == view->n_threads ? common++ : other++;
        condensed->group_pages[numbers[g]] = view->group_pages[g];
    }
}

static void copy_uses(struct condensed *condensed,
                      const struct cluster_view *view, const uint32_t *numbers)
{
    const uint32_t n_common = condensed->view.n_common;
    uint32_t n = 0;

    for (uint32_t i = 0; i < view->n_threads; i++) {
        const struct use *uses = view->uses + view->threads[i].first_use;
        struct thread_view *it = &condensed->threads[i];

        *it = view->threads[i];
        it->first_use = n;
        for (uint32_t u = 0; u < view->threads[i].n_uses; u++) {
            if (uses[u].flags != USE_READ ||
                numbers[uses[u].group] >= n_common) {
                condensed->uses[n] = uses[u];
                condensed->uses[n++].group = numbers[uses[u].group];
            }
        }
        it->n_uses = n - it->first_use;
    }
    condensed->view.n_uses = n;
}

static void leave_out(struct condensed *condensed,
                      const struct cluster_view *view, uint32_t n_common,
                      uint32_t *numbers)
{
    condensed->threads =
        memory_new(view->n_threads, sizeof(struct thread_view));
    condensed->group_pages = memory_new(view->n_groups, sizeof(uint32_t));
    condensed->uses = memory_new(view->n_uses, sizeof(struct use));
    condensed->view.n_common = n_common;
    condensed->view.threads = condensed->threads;
    condensed->view.group_pages = condensed->group_pages;
    condensed->view.uses = condensed->uses;
    number_groups(condensed, view, numbers);
    copy_uses(condensed, view, numbers);
}

void condense(struct condensed *condensed, const struct cluster_view *view)
{
    uint32_t *n_users;
    uint32_t n_common;

    *condensed = (struct condensed){.view = *view};
    if (view->n_uses == 0 || view->n_common > 0) {
        return;
    }
    n_users = memory_new(view->n_groups, sizeof *n_users);
    n_common = find_common(view, n_users);
    if (n_common > 0) {
        leave_out(condensed, view, n_common, n_users);
    }
    free(n_users);
}

void condensed_release(struct condensed *condensed)
{
    free(condensed->threads);
    free(condensed->group_pages);
    free(condensed->uses);
    *condensed = (struct condensed){0};
}
