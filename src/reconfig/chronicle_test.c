// SPDX-License-Identifier: BSD-3-Clause
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "reconfig/chronicle.h"

#define MS 1000000u
#define LONG_MS 20u ///< an iteration that is a sample

static const double power[] = {1.0, 0.5};

struct world {
    struct history *history;
    struct chronicle *chronicle;
    uint64_t iteration;
    uint64_t now_ns;
};

static void open_world(struct world *world)
{
    *world = (struct world){.history = history_new(2, power),
                            .chronicle = chronicle_new()};
    assert_non_null(world->history);
    assert_non_null(world->chronicle);
    chronicle_begin(world->chronicle);
    chronicle_add_node(world->chronicle, 0, power[0], 1);
    chronicle_add_node(world->chronicle, 7, power[1], 1);
    history_watch(world->history, chronicle_take, world->chronicle);
}

static void close_world(struct world *world)
{
    history_free(world->history);
    chronicle_free(world->chronicle);
}

static void report(struct world *world, node_id node, uint64_t thread,
                   double comp_s, double mem_s)
{
    const struct history_arrival arrival = {thread, comp_s};
    const struct history_report report = {
        .node = node,
        .iteration = world->iteration,
        .done = {.busy_s = comp_s + mem_s,
                 .comp_s = comp_s,
                 .mem_s = mem_s,
                 .pages_in = 3},
        .n_arrivals = 1,
        .arrivals = &arrival,
    };

    (void)history_take(world->history, &report, world->now_ns);
}

// Thread 1 computes 10 ms on the first node, thread 2 5 ms on the second one, which pages
// another 10 ms, in an iteration of 20 ms.
static void iterate(struct world *world, unsigned n)
{
    while (n-- > 0) {
        world->iteration++;
        world->now_ns += LONG_MS * MS;
        report(world, 0, 1, 0.010, 0);
        report(world, 1, 2, 0.005, 0.010);
    }
}

static int is_about(double value, double expected)
{
    return fabs(value - expected) < 1e-9;
}

static void sums_are_of_the_samples_whose_length_is_known(void **state)
{
    struct world world;
    const struct chronicle_node *second;
    struct efficiency it;

    (void)state;
    open_world(&world);
    iterate(&world, 11);
    second = &world.chronicle->nodes[7];
    assert_int_equal(world.chronicle->n_iterations, 11);
    // The first one closed as the second one did.
    assert_int_equal(world.chronicle->n_timed, 9);
    assert_true(is_about(world.chronicle->sums.time_s, 0.18));
    assert_true(is_about(second->time_s, 0.18));
    assert_true(is_about(second->computing_s, 0.045));
    assert_true(is_about(second->paging_s, 0.09));
    assert_true(is_about(second->pages_in, 27));
    assert_true(
        is_about(world.chronicle->nodes[1].time_s, 0)); // another number
    assert_true(efficiency_of(&world.chronicle->sums, &it));
    assert_true(is_about(it.load_balance, 0.75));
    assert_true(is_about(it.paging, 10.0 / 15));
    assert_true(is_about(it.communication, 0.75));
    assert_true(is_about(it.total, (10 + 2.5) / (20 * 1.5)));
    close_world(&world);
}

static void any_number_of_samples_has_room(void **state)
{
    struct world world;
    double time_s = 0;
    uint64_t next = 1;
    uint64_t n_moved = 0;

    (void)state;
    open_world(&world);
    for (unsigned i = 0; i < 5 * CHRONICLE_POINTS + 3; i++) {
        if (i % 100 == 50) {
            chronicle_note_move(world.chronicle);
        }
        iterate(&world, 1);
    }
    assert_true(world.chronicle->n_points <= CHRONICLE_POINTS);
    assert_true(world.chronicle->n_points > CHRONICLE_POINTS / 2);
    for (unsigned i = 0; i < world.chronicle->n_points; i++) {
        const struct chronicle_point *point = &world.chronicle->points[i];

        assert_int_equal(point->first,
                         next); // no iteration twice, none missing
        if (i + 1 < world.chronicle->n_points) { // K1
            assert_int_equal(point->n_iterations, world.chronicle->n_in_point);
        }
        next += point->n_iterations;
        time_s += point->time_s;
        n_moved += point->n_moved;
        assert_true(is_about(point->longest_s, 0.02));
    }
    assert_int_equal(next - 1, world.chronicle->n_iterations);
    assert_true(fabs(time_s - world.chronicle->sums.time_s) < 1e-6);
    assert_int_equal(n_moved, world.chronicle->n_moved);
    close_world(&world);
}

static void threads_have_a_first_and_a_last_node(void **state)
{
    struct world world;
    const struct chronicle_thread *threads;

    (void)state;
    open_world(&world);
    iterate(&world, 3);
    world.iteration++;
    world.now_ns += LONG_MS * MS;
    report(&world, 1, 1, 0.01, 0); // has moved
    report(&world, 1, 3, 0.01, 0); // has come
    world.iteration++;
    world.now_ns += LONG_MS * MS;
    report(&world, 1, 1, 0.01, 0);
    report(&world, 1, 3, 0.01, 0);
    chronicle_note_threads(world.chronicle, world.history);
    threads = world.chronicle->threads;
    assert_int_equal(world.chronicle->n_threads, 3);
    assert_int_equal(threads[0].number, 1);
    assert_int_equal(threads[0].before, 0);
    assert_int_equal(threads[0].after, 7);
    assert_int_equal(threads[1].before, 7);
    assert_int_equal(threads[1].after, TM_MAX_NODES); // has ended
    assert_int_equal(threads[2].before, TM_MAX_NODES);
    assert_int_equal(threads[2].after, 7);
    close_world(&world);
}

static void of_many_words_the_first_are_kept(void **state)
{
    struct world world;

    (void)state;
    open_world(&world);
    iterate(&world, 2);
    for (unsigned i = 0; i < CHRONICLE_EVENTS + 5; i++) {
        chronicle_say(world.chronicle, "iteration 2: and so on",
                      sizeof "iteration 2: and" - 1);
    }
    assert_int_equal(world.chronicle->n_events, CHRONICLE_EVENTS + 5);
    assert_string_equal(world.chronicle->events[CHRONICLE_EVENTS - 1].text,
                        "iteration 2: and");
    assert_int_equal(world.chronicle->events[0].iteration, 2);
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_of_the_samples_whose_length_is_known),
        cmocka_unit_test(any_number_of_samples_has_room),
        cmocka_unit_test(threads_have_a_first_and_a_last_node),
        cmocka_unit_test(of_many_words_the_first_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
