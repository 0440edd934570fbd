// SPDX-License-Identifier: BSD-3-Clause
// Random steps of a program, a host and a disk, against a model that knows only
// which pages exist and what is in them.
#include "mem/pager_test.h"

#include <errno.h>

#include "mem/random_numbers_test.h"

// Few, so that each is often meant.
enum { N_USED = 256 };

struct model {
    uint8_t exists[N_USED];
    uint8_t value[N_USED];
    struct wait waits[N_THREADS];
    page_no pages[N_THREADS]; ///< that they wait for
    uintptr_t instructions[N_THREADS];
    uint8_t is_waiting[N_THREADS];
};

static void step_wait(struct test *test, struct model *model, uint64_t random,
                      page_no page)
{
    unsigned i = (unsigned)(random >> 40) % N_THREADS;
    struct wait *wait = &model->waits[i];

    if (model->is_waiting[i] && !wait->is_woken) {
        return;
    }
    page = model->is_waiting[i] ? model->pages[i] : page;
    model->pages[i] = page;
    if (!model->is_waiting[i]) {
        wait->waiter.result = 0;
        model->instructions[i] += (random >> 51) % 4 == 0;
    }
    test->who = i;
    test->instruction = 1 + model->instructions[i];
    model->is_waiting[i] =
        ask(test, page, (random >> 50) % 2, wait) == PAGER_WAIT;
    if (!model->is_waiting[i] && !model->exists[page]) {
        make(test, page); // as the protocol would
        model->exists[page] = 1;
        model->value[page] = (uint8_t)(page % 251);
    }
}

// As a protocol that protects or maps neighbours in one call, wherever their bytes are.
static void step_access(struct test *test, const struct model *model,
                        uint64_t random, page_no page)
{
    const enum page_access access =
        (random >> 30) % 2 ? ACCESS_READ : ACCESS_WRITE;
    page_no n = 0;

    while (n < 8 && page + n < N_USED && model->exists[page + n]) {
        n++;
    }
    space_set_access(&test->space, page, n, access);
}

// It waits for a page of another node, is back, or goes on.
static void step_thread(struct test *test, const struct model *model,
                        uint64_t random)
{
    unsigned i = (unsigned)(random >> 40) % N_THREADS;
    struct pager_claims *claims = &test->claims[i];

    if (claims->n == 0 || model->is_waiting[i]) {
        return;
    }
    switch ((random >> 50) % 4) {
    case 0:
        pager_release_claims(test->pager, claims);
        break;
    case 1:
        pager_note_back(test->pager, claims);
        break;
    default:
        pager_note_away(test->pager, claims);
    }
}

static void step(struct test *test, struct model *model, uint64_t random)
{
    page_no page = (page_no)(random >> 8) % N_USED;

    switch (random % 10) {
    case 0:
        if (model->exists[page]) {
            release_page(test, page);
            model->exists[page] = 0;
        }
        break;
    case 1:
        if (model->exists[page]) {
            model->value[page] = (uint8_t)(random >> 20);
            set_bytes(test, page, model->value[page]);
        }
        break;
    case 2:
        if (model->exists[page]) {
            assert_bytes(test, page, model->value[page]);
        }
        break;
    case 3:
        pager_poll(test->pager);
        break;
    case 4:
        test->fates[page] = (random >> 30) % 4 ? FATE_SWAP : FATE_STAY;
        break;
    case 5:
        pager_settle(test->pager);
        break;
    case 6:
        step_thread(test, model, random);
        break;
    case 7:
        step_access(test, model, random, page);
        break;
    default:
        step_wait(test, model, random, page);
    }
}

static void run_random(void)
{
    static struct model model;
    struct test test;

    memset(&model, 0, sizeof model);
    open_test(&test, 10 + next_random() % 60, 0);
    for (unsigned i = 0; i < 3000; i++) {
        if (i % 500 == 0) {
            pager_set_budget(test.pager, 10 + next_random() % 60);
            test.out_result = next_random() % 5 == 0 ? -EIO : 0;
            test.n_coming = test.out_result != 0; // there is hope
            test.pager->is_full = 0;
        }
        step(&test, &model, next_random());
        check(&test);
    }
    test.out_result = 0;
    pager_poll(test.pager);
    release_all(&test, model.exists, model.value, N_USED);
    close_test(&test);
}

static void test_random_steps(void **state)
{
    (void)state;
    seed_random();
    for (unsigned i = 0; i < 20; i++) {
        run_random();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
