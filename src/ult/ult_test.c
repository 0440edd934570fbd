// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "ult/node_test.h"
#include "ult/ult_priv.h"

// ThreadSanitizer has room for 8128 fibers and some 100 KiB for each.
#ifdef SANITIZE_THREAD
enum { MANY = 300 };
#else
enum { MANY = 10000 };
#endif

static void threads_run_and_end(void **state)
{
    (void)state;
    start(2, 101, NULL);
    assert_ptr_equal(ult_self(), main_thread);
    assert_int_equal(ult_slot(main_thread), 0);
    for (int round = 0; round < 20; round++) {
        int before = atomic_load(&n_after);

        for (unsigned slot = 1; slot <= 100; slot++) {
            spawn(slot, count_and_exit, NULL);
        }
        wait_for(&n_after, before + 100);
    }
    assert_int_equal(atomic_load(&n_done), 2000);
    stop();
}

static _Atomic int goes_on;

static void wait_beside(void *arg)
{
    *(unsigned *)arg = ult_worker(ult_self());
    atomic_fetch_add(&n_done, 1);
    ult_unpark(main_thread);
    while (!atomic_load(&goes_on)) {
        ult_park(1);
    }
    count_and_exit(NULL);
}

static void a_thread_beside_counts_nowhere_and_has_its_worker(void **state)
{
    const struct ult_config config = {.n_workers = 2,
                                      .stack_size = STACK_SIZE,
                                      .n_slots = 100,
                                      .n_beside = 10};
    struct ult *beside[2];
    unsigned workers[2] = {7, 7};
    unsigned n_threads;
    unsigned n_parked;

    (void)state;
    atomic_store(&n_done, 0);
    atomic_store(&n_after, 0);
    atomic_store(&goes_on, 0);
    assert_int_equal(ult_open(&ults, &config), TM_OK);
    assert_int_equal(ult_adopt(ults, &main_thread), TM_OK);
    assert_int_equal(ult_start_workers(ults), TM_OK);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(ult_spawn_beside(ults, 90 + i, i, wait_beside,
                                          &workers[i], NULL, &beside[i]),
                         TM_OK);
    }
    wait_for(&n_done, 2);
    assert_int_equal(workers[0], 0);
    assert_int_equal(workers[1], 1);
    assert_int_equal(ult_count(ults), 1);
    ult_census(ults, &n_threads, &n_parked);
    assert_int_equal(n_threads, 3);
    atomic_store(&goes_on, 1);
    ult_unpark(beside[0]);
    ult_unpark(beside[1]);
    wait_for(&n_after, 2);
    assert_int_equal(ult_count(ults), 1);
    stop();
}

struct identity {
    unsigned slot;
    char *low;
    char *top;
    int is_right;
};

static void check_identity(void *arg)
{
    struct identity *identity = arg;
    char here;

    identity->is_right =
        ult_user(ult_self()) == arg && ult_slot(ult_self()) == identity->slot;
    ult_stack(ult_self(), &identity->low, &identity->top);
    identity->is_right &= &here >= identity->low && &here < identity->top;
    // The ABI's alignment holds for what the compiler expects aligned.
    identity->is_right &= (uintptr_t)__builtin_frame_address(0) % 16 == 0;
    ult_yield();
    identity->is_right &= ult_slot(ult_self()) == identity->slot;
    count_and_exit(NULL);
}

static void a_thread_knows_who_and_where_it_is(void **state)
{
    struct identity identities[8];

    (void)state;
    start(2, 9, NULL);
    for (unsigned i = 0; i < 8; i++) {
        identities[i] = (struct identity){.slot = i + 1};
        spawn(i + 1, check_identity, &identities[i]);
    }
    wait_for(&n_after, 8);
    for (unsigned i = 0; i < 8; i++) {
        assert_true(identities[i].is_right);
        assert_int_equal(identities[i].top - identities[i].low, STACK_SIZE);
        if (i > 0) {
            assert_ptr_not_equal(identities[i].low, identities[i - 1].low);
        }
    }
    stop();
}

static void park_until_told(void *arg)
{
    _Atomic int *may_end = arg;

    atomic_fetch_add(&n_done, 1);
    while (!atomic_load(may_end)) {
        ult_park(1);
    }
    ult_exit(end_test, main_thread);
}

static void many_threads_live_at_once(void **state)
{
    static struct ult *threads[MANY];
    _Atomic int may_end = 0;
    unsigned n_threads;
    unsigned n_parked;

    (void)state;
    start(2, MANY + 1, NULL);
    for (unsigned i = 0; i < MANY; i++) {
        threads[i] = spawn(i + 1, park_until_told, &may_end);
    }
    do {
        usleep(1000);
        ult_yield();
        ult_census(ults, &n_threads, &n_parked);
    } while (n_parked < MANY);
    assert_int_equal(n_threads, MANY + 1);
    assert_int_equal(atomic_load(&n_done), MANY);
    atomic_store(&may_end, 1);
    for (unsigned i = 0; i < MANY; i++) {
        ult_unpark(threads[i]);
    }
    wait_for(&n_after, MANY);
    ult_census(ults, &n_threads, &n_parked);
    assert_int_equal(n_threads, 1);
    stop();
}

static void a_new_thread_of_a_busy_worker_runs_elsewhere(void **state)
{
    (void)state;
    start(2, 9, NULL);
    for (unsigned slot = 1; slot <= 8; slot++) {
        spawn(slot, count_and_exit, NULL);
    }
    while (atomic_load(&n_done) < 8) {
        sched_yield(); // worker 0 runs this thread only
    }
    wait_for(&n_after, 8);
    stop();
}

static _Atomic int n_idle;
static _Atomic int idle_unparks;

static int unpark_main_when_idle(void *owner, unsigned worker)
{
    (void)owner;
    atomic_fetch_add(&n_idle, 1);
    if (worker == 0 && atomic_load(&idle_unparks) > 0) {
        atomic_fetch_sub(&idle_unparks, 1);
        ult_unpark(main_thread);
        return 1;
    }
    return 0;
}

static void an_idle_worker_works_for_the_node(void **state)
{
    (void)state;
    start(1, 1, unpark_main_when_idle);
    atomic_store(&idle_unparks, 5);
    while (atomic_load(&idle_unparks) > 0) {
        ult_park(1);
    }
    assert_true(atomic_load(&n_idle) >= 5);
    stop();
}

static void yield_until_all_have(void *arg)
{
    volatile char *order = arg;

    for (int i = 0; i < 50; i++) {
        order[i * 4 + (int)ult_slot(ult_self()) - 1] = 1;
        ult_yield();
    }
    count_and_exit(NULL);
}

static void yielding_threads_take_turns(void **state)
{
    static char order[50 * 4];
    unsigned n_ahead = 0;

    (void)state;
    memset(order, 0, sizeof order);
    start(1, 5, NULL);
    for (unsigned slot = 1; slot <= 4; slot++) {
        spawn(slot, yield_until_all_have, order);
    }
    while (atomic_load(&n_after) < 4) {
        // Nobody may be more than a start-up's worth of rounds ahead.
        for (int i = 0; i + 8 < 50; i++) {
            for (int thread = 0; thread < 4; thread++) {
                n_ahead += order[4] && order[5] && order[6] && order[7] &&
                           order[(i + 8) * 4 + thread] && !order[i * 4];
            }
        }
        ult_yield();
    }
    assert_int_equal(n_ahead, 0);
    stop();
}

static void burn(void *arg)
{
    uint64_t until_ns = clock_thread_cpu_ns() + *(uint64_t *)arg;

    while (clock_thread_cpu_ns() < until_ns) {
    }
    ult_park(1);
    ult_exit(end_test, main_thread);
}

static void processor_time_goes_to_who_used_it(void **state)
{
    uint64_t much_ns = 40 * 1000 * 1000;
    uint64_t little_ns = 10 * 1000 * 1000;
    struct ult *threads[2];
    unsigned n_threads;
    unsigned n_parked;

    (void)state;
    start(2, 3, NULL);
    threads[0] = spawn(1, burn, &much_ns);
    threads[1] = spawn(2, burn, &little_ns);
    do {
        ult_yield();
        ult_census(ults, &n_threads, &n_parked);
    } while (n_parked < 2);
    assert_in_range(ult_time_ns(threads[0]), much_ns, much_ns * 3 / 2);
    assert_in_range(ult_time_ns(threads[1]), little_ns, little_ns * 3 / 2);
    assert_true(ult_total_time_ns(ults) >=
                ult_time_ns(threads[0]) + ult_time_ns(threads[1]));
    ult_add_time(threads[0], 1000000000);
    assert_true(ult_time_ns(threads[0]) >= 1000000000 + much_ns);
    ult_unpark(threads[0]);
    ult_unpark(threads[1]);
    wait_for(&n_after, 2);
    assert_true(ult_total_time_ns(ults) >= much_ns + little_ns);
    stop();
}

static void a_counter_that_is_behind_counts_as_no_time(void **state)
{
    const uint64_t hour_ns = UINT64_C(3600) * 1000000000;

    (void)state;
    start(1, 1, NULL);
    do {
        (void)ult_charge_self();
    } while (ults->workers[0].ns_per_tsc == 0);
    ults->workers[0].charged_tsc += UINT64_C(1) << 32; // of another processor
    (void)ult_charge_self();
    assert_true(ult_worker_wall_ns(ults, 0) < hour_ns);
    assert_true(ult_time_ns(main_thread) < hour_ns);
    stop();
}

static int wait_awake(void *owner, unsigned worker)
{
    const uint64_t until_ns = clock_now_ns() + 5000;

    (void)owner;
    if (worker != 0) {
        return 0;
    }
    while (clock_now_ns() < until_ns) {
    }
    ult_unpark(main_thread);
    return ULT_STAYED_AWAKE;
}

static void the_time_that_a_worker_waits_awake_is_nobodys(void **state)
{
    uint64_t began_ns;
    uint64_t before_ns;

    (void)state;
    start(1, 1, wait_awake);
    do {
        before_ns = ult_charge_self();
    } while (ults->workers[0].ns_per_tsc == 0);
    began_ns = clock_now_ns();
    for (unsigned i = 0; i < 4000; i++) {
        ult_park(1);
    }
    assert_true(ult_charge_self() - before_ns <
                (clock_now_ns() - began_ns) / 2);
    stop();
}

static void dirty_the_stack(void *arg)
{
    char bytes[16 * 1024];

    memset(bytes, 0x5a, sizeof bytes);
    __asm__ volatile("" : : "r"(bytes) : "memory");
    count_and_exit(arg);
}

static _Atomic int n_dirty;

static void look_for_dirt(void *arg)
{
    char *low;
    char *top;

    ult_stack(ult_self(), &low, &top);
    for (char *at = low; at < top - 4096; at++) {
        atomic_fetch_add(&n_dirty, *at == 0x5a);
    }
    count_and_exit(arg);
}

static void the_memory_of_a_stack_is_given_back(void **state)
{
    (void)state;
    atomic_store(&n_dirty, 0);
    start(1, 2, NULL);
    spawn(1, dirty_the_stack, NULL);
    wait_for(&n_after, 1);
    spawn(1, look_for_dirt, NULL);
    wait_for(&n_after, 2);
    assert_int_equal(atomic_load(&n_dirty), 0);
    stop();
}

static void *be_stopped_later(void *arg)
{
    usleep(20000);
    ult_stop(ults, 5000);
    return arg;
}

static void workers_without_threads_stop(void **state)
{
    struct ult_config config = {
        .n_workers = 3,
        .stack_size = STACK_SIZE,
        .n_slots = 4,
    };
    pthread_t stopper;

    (void)state;
    alarm(DEADLINE_S);
    assert_int_equal(ult_open(&ults, &config), TM_OK);
    assert_int_equal(ult_start_workers(ults), TM_OK);
    pthread_create(&stopper, NULL, be_stopped_later, NULL);
    ult_work(ults);
    pthread_join(stopper, NULL);
    assert_null(ult_self());
    ult_close(ults);
    alarm(0);
}

// With a timeout beyond the test's own: waiting for itself would end the child.
static void wait_and_stop(void *arg)
{
    (void)arg;
    ult_park(1);
    ult_stop(ults, 2 * DEADLINE_S * 1000);
    for (unsigned i = 0; i < 3; i++) {
        if ((atomic_load(&ults->workers[i].has_left) == 1) != (i != 1)) {
            _exit(1);
        }
    }
    _exit(0);
}

static int look_always(void *owner, unsigned worker)
{
    (void)owner;
    (void)worker;
    return !ult_is_wanted(ults, worker);
}

static _Noreturn void be_stopped_by_worker_1(void)
{
    struct ult *thread;
    unsigned n_threads;
    unsigned n_parked = 0;

    start(3, 2, look_always);
    thread = spawn(1, wait_and_stop, NULL);
    while (n_parked == 0) {
        ult_yield();
        ult_census(ults, &n_threads, &n_parked);
    }
    ult_assign(thread, 1);
    ult_unpark(thread);
    for (;;) {
        ult_park(1);
    }
}

static void who_is_not_main_stops_main_too(void **state)
{
    int status = 0;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        be_stopped_by_worker_1();
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void taken_addresses_are_refused(void **state)
{
    struct ult_config config = {
        .n_workers = 1,
        .stack_size = STACK_SIZE,
        .n_slots = 4,
    };
    struct ult_system *second;

    (void)state;
    start(1, 4, NULL);
    assert_int_equal(ult_open(&second, &config), TM_EBUSY);
    stop();
}

#if !defined(SANITIZE_ADDRESS) && !defined(SANITIZE_THREAD)
// Use up the process's mappings with stacks; in a child, whose standard error
// is the pipe.
static _Noreturn void spawn_till_the_limit(int output)
{
    tm_status status = TM_OK;
    struct ult *thread;

    dup2(output, STDERR_FILENO);
    start(1, 40000, NULL);
    for (unsigned slot = 1; slot < 40000 && status == TM_OK; slot++) {
        status = ult_spawn(ults, slot, count_and_exit, NULL, NULL, &thread);
    }
    _exit(status == TM_ENOMEM ? 0 : status == TM_OK ? 77 : 1);
}

static void the_limit_of_mappings_is_named(void **state)
{
    char output[2048] = "";
    size_t used = 0;
    ssize_t n;
    int ends[2];
    int status;
    pid_t child;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        spawn_till_the_limit(ends[1]);
    }
    close(ends[1]);
    while (used < sizeof output - 1 &&
           (n = read(ends[0], output + used, sizeof output - 1 - used)) > 0) {
        used += (size_t)n;
    }
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("the limit is too high to be reached\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_non_null(strstr(output, "vm.max_map_count"));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_run_and_end),
        cmocka_unit_test(a_thread_knows_who_and_where_it_is),
        cmocka_unit_test(a_thread_beside_counts_nowhere_and_has_its_worker),
        cmocka_unit_test(many_threads_live_at_once),
        cmocka_unit_test(a_new_thread_of_a_busy_worker_runs_elsewhere),
        cmocka_unit_test(an_idle_worker_works_for_the_node),
        cmocka_unit_test(yielding_threads_take_turns),
        cmocka_unit_test(processor_time_goes_to_who_used_it),
        cmocka_unit_test(a_counter_that_is_behind_counts_as_no_time),
        cmocka_unit_test(the_time_that_a_worker_waits_awake_is_nobodys),
        cmocka_unit_test(the_memory_of_a_stack_is_given_back),
        cmocka_unit_test(workers_without_threads_stop),
        cmocka_unit_test(who_is_not_main_stops_main_too),
        cmocka_unit_test(taken_addresses_are_refused),
#if !defined(SANITIZE_ADDRESS) && !defined(SANITIZE_THREAD)
        cmocka_unit_test(the_limit_of_mappings_is_named),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
