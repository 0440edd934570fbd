// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/lru.h"
#include "model/sample_views_test.h"

static void a_sweep_that_does_not_fit_misses_everything(void **state)
{
    const uint32_t groups[] = {0, 1, 2, 3};
    const uint32_t pages[] = {10, 10, 10, 10};
    double missed[4];

    (void)state;
    lru_missed(groups, 4, pages, 4, 40, missed);
    for (unsigned g = 0; g < 4; g++) {
        assert_true(missed[g] == 0);
    }
    lru_missed(groups, 4, pages, 4, 39, missed);
    for (unsigned g = 0; g < 4; g++) {
        assert_true(missed[g] == 1);
    }
}

/** Pages one by one through a stack; all must go the same way in a group. */
static double misses_by_page(const uint32_t *order, uint32_t n,
                             const uint32_t *first_page,
                             const uint32_t *group_pages, uint32_t memory)
{
    static uint32_t stack[4096]; // most recent first
    uint32_t depth = 0;
    double n_missed = 0;

    for (unsigned round = 0; round < 2; round++) {
        for (uint32_t k = 0; k < n; k++) {
            const uint32_t group = order[k];

            for (uint32_t j = 0; j < group_pages[group]; j++) {
                const uint32_t page = first_page[group] + j;
                uint32_t at = 0;

                while (at < depth && stack[at] != page) {
                    at++;
                }
                n_missed += round == 1 && (at == depth || at >= memory);
                depth += at == depth;
                memmove(stack + 1, stack, at * sizeof *stack);
                stack[0] = page;
            }
        }
    }
    return n_missed;
}

static void misses_are_those_of_a_stack_of_pages(void **state)
{
    enum { GROUPS = 12, USES = 30 };

    (void)state;
    for (unsigned round = 0; round < 300; round++) {
        uint32_t groups[USES];
        uint32_t pages[GROUPS];
        uint32_t first[GROUPS];
        double missed[GROUPS] = {0};
        const uint32_t n_uses = 1 + random_below(USES);
        const uint32_t memory = 1 + random_below(80);
        uint32_t n = 0;
        double sum = 0;

        for (unsigned g = 0; g < GROUPS; g++) {
            first[g] = n;
            pages[g] = 1 + random_below(12);
            n += pages[g];
        }
        for (unsigned k = 0; k < n_uses; k++) {
            groups[k] = random_below(GROUPS);
        }
        lru_missed(groups, n_uses, pages, GROUPS, memory, missed);
        for (unsigned g = 0; g < GROUPS; g++) {
            sum += missed[g] * pages[g];
        }
        assert_true(sum ==
                    misses_by_page(groups, n_uses, first, pages, memory));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sweep_that_does_not_fit_misses_everything),
        cmocka_unit_test(misses_are_those_of_a_stack_of_pages),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
