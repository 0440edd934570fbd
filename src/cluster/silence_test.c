// SPDX-License-Identifier: BSD-3-Clause
// The clock is a number; who is listened to says nothing.
#include "cluster/silence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define SUSPECT_NS (3000 * MS)
#define LOST_NS (5000 * MS)

struct scene {
    uint64_t now_ns;
    struct watch watch;
    struct silence silence;
};

static struct scene new_scene(void)
{
    struct scene scene = {.now_ns = 1000 * MS};

    watch_start(&scene.watch, scene.now_ns);
    silence_end(&scene.silence, &scene.watch);
    return scene;
}

static enum silence_state poll_after(struct scene *scene, uint64_t ms)
{
    scene->now_ns += ms * MS;
    watch_poll(&scene->watch, scene->now_ns);
    return silence_judge(&scene->silence, &scene->watch, SUSPECT_NS, LOST_NS);
}

static void silence_is_counted_in_time_of_polling(void **unused)
{
    struct scene scene = new_scene();

    (void)unused;
    for (unsigned i = 0; i < 10; i++) {
        poll_after(&scene, 100);
    }
    assert_int_equal(silence_ns(&scene.silence, &scene.watch), 1000 * MS);
    assert_int_equal(scene.watch.gap_ns, 0);
    poll_after(&scene, 60000);
    assert_int_equal(silence_ns(&scene.silence, &scene.watch), 1500 * MS);
    assert_int_equal(scene.watch.gap_ns, 59500 * MS);
    poll_after(&scene, 100); // what had begun goes on
    assert_int_equal(silence_ns(&scene.silence, &scene.watch), 1600 * MS);
    assert_int_equal(scene.watch.gap_ns, 0);
}

static void it_is_suspect_then_lost(void **unused)
{
    struct scene scene = new_scene();

    (void)unused;
    for (unsigned at_ms = 100; at_ms < 3000; at_ms += 100) {
        assert_int_equal(poll_after(&scene, 100), SILENCE_SHORT);
    }
    for (unsigned at_ms = 3000; at_ms <= 5000; at_ms += 100) {
        assert_int_equal(poll_after(&scene, 100), SILENCE_SUSPECT);
    }
    assert_int_equal(poll_after(&scene, 1), SILENCE_LOST);
    assert_int_equal(poll_after(&scene, 1), SILENCE_LOST);
}

static void one_poll_loses_nobody(void **unused)
{
    struct scene scene = new_scene();

    (void)unused;
    for (unsigned i = 0; i < 49; i++) {
        poll_after(&scene, 100);
    }
    assert_int_equal(poll_after(&scene, 60000), SILENCE_SUSPECT);
    // Asked twice, it is still one poll.
    assert_int_equal(
        silence_judge(&scene.silence, &scene.watch, SUSPECT_NS, LOST_NS),
        SILENCE_SUSPECT);
    silence_end(&scene.silence, &scene.watch); // it was there, in the gap
    assert_int_equal(poll_after(&scene, 100), SILENCE_SHORT);
}

static void what_others_have_heard_counts_from_when_they_did(void **unused)
{
    struct scene scene = new_scene();

    (void)unused;
    for (unsigned i = 0; i < 40; i++) {
        poll_after(&scene, 100);
    }
    silence_shorten(&scene.silence, &scene.watch, 2500 * MS);
    assert_int_equal(silence_ns(&scene.silence, &scene.watch), 2500 * MS);
    silence_shorten(&scene.silence, &scene.watch, 2600 * MS); // known already
    assert_int_equal(silence_ns(&scene.silence, &scene.watch), 2500 * MS);
    silence_shorten(&scene.silence, &scene.watch, 90000 * MS);
    assert_int_equal(silence_ns(&scene.silence, &scene.watch), 2500 * MS);
    assert_int_equal(poll_after(&scene, 100), SILENCE_SHORT);
}

/** Any polls and gaps: a loss is found in the time of polling, not before 5 s of it. */
static void random_gaps_neither_make_nor_hide_a_loss(void **unused)
{
    (void)unused;
    for (unsigned seed = 1; seed <= 1000; seed++) {
        struct scene scene = new_scene();
        uint64_t start_ns = scene.now_ns;
        uint64_t gaps_ns = 0;

        srand(seed);
        while (poll_after(&scene, rand() % 10 == 0 ? (unsigned)rand() % 5000
                                                   : (unsigned)rand() % 200) !=
               SILENCE_LOST) {
            gaps_ns += scene.watch.gap_ns;
        }
        gaps_ns += scene.watch.gap_ns;
        assert_in_range(scene.now_ns - start_ns - gaps_ns, LOST_NS,
                        LOST_NS + 2 * 500 * MS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence_is_counted_in_time_of_polling),
        cmocka_unit_test(it_is_suspect_then_lost),
        cmocka_unit_test(one_poll_loses_nobody),
        cmocka_unit_test(what_others_have_heard_counts_from_when_they_did),
        cmocka_unit_test(random_gaps_neither_make_nor_hide_a_loss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
