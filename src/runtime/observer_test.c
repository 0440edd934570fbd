// SPDX-License-Identifier: BSD-3-Clause
// The observer thread alone, without a cluster. tests/cluster/observed.c looks at
// it in a run.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/node.h"
#include "runtime/observer.h"

#define PATIENCE_NS (20ull * 1000 * 1000 * 1000)

static _Atomic unsigned n_done;
static unsigned order[32];

static int begin(void **state)
{
    (void)state;
    memset(&this_node.observer, 0, sizeof this_node.observer);
    mutex_init(&this_node.lock, RANK_NODE);
    n_done = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    observer_stop(&this_node);
    mutex_release(&this_node.lock);
    return 0;
}

static tm_status ask(observer_job *job, void *owner)
{
    tm_status status;

    mutex_lock(&this_node.lock);
    status = observer_run(&this_node, job, owner);
    mutex_unlock(&this_node.lock);
    return status;
}

static void wait_for_jobs(unsigned n)
{
    uint64_t until_ns = clock_now_ns() + PATIENCE_NS;

    while (n_done < n) {
        if (clock_now_ns() > until_ns) {
            fail_msg("%u of %u jobs are done", n_done, n);
        }
        usleep(1000);
    }
}

static void note(void *owner)
{
    order[n_done] = (unsigned)(uintptr_t)owner;
    n_done++;
}

static void wait_until_stopped(void *owner)
{
    (void)owner;
    n_done++;
    while (observer_sleep(&this_node, 1000 * 1000 * 1000)) {
    }
    n_done++;
}

static void jobs_run_in_the_order_of_asking(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < 8; i++) {
            assert_int_equal(ask(note, (void *)(uintptr_t)(8 * round + i)),
                             TM_OK);
        }
        wait_for_jobs(8 * round + 8);
    }
    for (unsigned i = 0; i < 32; i++) {
        assert_int_equal(order[i], i);
    }
}

static void wait_for_word(void *owner)
{
    const _Atomic int *may_go = owner;

    while (!*may_go) {
        usleep(1000);
    }
}

static void jobs_that_wait_keep_their_order(void **state)
{
    static _Atomic int may_go;

    (void)state;
    may_go = 0;
    assert_int_equal(ask(wait_for_word, &may_go), TM_OK);
    for (unsigned i = 0; i < OBSERVER_MAX_JOBS - 1; i++) {
        assert_int_equal(ask(note, (void *)(uintptr_t)(100 + i)), TM_OK);
    }
    may_go = 1;
    wait_for_jobs(OBSERVER_MAX_JOBS - 1);
    for (unsigned i = 0; i < OBSERVER_MAX_JOBS - 1; i++) {
        assert_int_equal(order[i], 100 + i);
    }
}

static void too_many_jobs_are_refused(void **state)
{
    (void)state;
    assert_int_equal(ask(wait_until_stopped, NULL), TM_OK);
    wait_for_jobs(1);
    for (int i = 0; i < OBSERVER_MAX_JOBS; i++) {
        assert_int_equal(ask(note, NULL), TM_OK);
    }
    assert_int_equal(ask(note, NULL), TM_ELIMIT);
}

static void stopping_ends_the_job_at_hand_and_drops_the_others(void **state)
{
    (void)state;
    assert_int_equal(ask(wait_until_stopped, NULL), TM_OK);
    assert_int_equal(ask(note, NULL), TM_OK);
    wait_for_jobs(1);
    observer_stop(&this_node);
    assert_int_equal(n_done, 2);
    assert_int_equal(ask(note, NULL), TM_ESTATE);
    observer_stop(&this_node); // once more is as good
    assert_int_equal(n_done, 2);
}

static void one_that_never_started_stays_away(void **state)
{
    (void)state;
    observer_stop(&this_node);
    assert_int_equal(ask(note, NULL), TM_ESTATE);
}

static void block_check(void *owner)
{
    sigset_t blocked;
    int *n_open = owner;

    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    for (int signal = 1; signal < NSIG; signal++) {
        if (signal != SIGKILL && signal != SIGSTOP && signal != 32 &&
            signal != 33) { // those two are the C library's own
            *n_open += !sigismember(&blocked, signal);
        }
    }
    n_done++;
}

static void no_signal_is_delivered_to_it(void **state)
{
    int n_open = 0;

    (void)state;
    assert_int_equal(ask(block_check, &n_open), TM_OK);
    wait_for_jobs(1);
    assert_int_equal(n_open, 0);
}

static void ask_for_another(void *owner)
{
    assert_int_equal(ask(note, owner), TM_OK);
    n_done++;
}

static void a_job_may_ask_for_another(void **state)
{
    (void)state;
    assert_int_equal(ask(ask_for_another, NULL), TM_OK);
    wait_for_jobs(2);
}

static void samples_go_on_by_themselves(void **state)
{
    const struct node_sample *sample = observer_sample(&this_node);
    uint64_t until_ns = clock_now_ns() + PATIENCE_NS;

    (void)state;
    mutex_lock(&this_node.lock);
    assert_int_equal(observer_start(&this_node), TM_OK);
    assert_int_equal(observer_start(&this_node), TM_OK);
    mutex_unlock(&this_node.lock);
    while (sample_get(&sample->n_samples) < 3) {
        assert_true(clock_now_ns() < until_ns);
        usleep(1000);
    }
    assert_true(sample_get(&sample->available) > 0);
    assert_true(sample_get(&sample->available) <= sample_get(&sample->total));
}

#define OBSERVER_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OBSERVER_TEST(jobs_run_in_the_order_of_asking),
        OBSERVER_TEST(jobs_that_wait_keep_their_order),
        OBSERVER_TEST(too_many_jobs_are_refused),
        OBSERVER_TEST(stopping_ends_the_job_at_hand_and_drops_the_others),
        OBSERVER_TEST(one_that_never_started_stays_away),
        OBSERVER_TEST(no_signal_is_delivered_to_it),
        OBSERVER_TEST(a_job_may_ask_for_another),
        OBSERVER_TEST(samples_go_on_by_themselves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
