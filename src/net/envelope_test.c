// SPDX-License-Identifier: BSD-3-Clause
#include "net/envelope.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct two {
    struct envelope_keys *sender;
    struct envelope_keys *receiver;
    uint8_t job_key[SEAL_KEY_SIZE];
    uint8_t envelope[ENVELOPE_SIZE];
};

static int set_up(void **state)
{
    struct two *two = calloc(1, sizeof *two);

    assert_int_equal(envelope_keys_new(&two->sender), TM_OK);
    assert_int_equal(envelope_keys_new(&two->receiver), TM_OK);
    memset(two->job_key, 0x5a, sizeof two->job_key);
    assert_int_equal(envelope_close(two->sender, two->job_key,
                                    envelope_public(two->receiver),
                                    two->envelope),
                     TM_OK);
    *state = two;
    return 0;
}

static int tear_down(void **state)
{
    struct two *two = *state;

    envelope_keys_free(two->sender);
    envelope_keys_free(two->receiver);
    free(two);
    return 0;
}

static void the_receiver_opens_it(void **state)
{
    struct two *two = *state;
    uint8_t found[SEAL_KEY_SIZE] = {0};

    assert_int_equal(envelope_open(two->receiver, two->envelope, found), TM_OK);
    assert_memory_equal(found, two->job_key, sizeof found);
}

static void nobody_else_opens_it(void **state)
{
    struct two *two = *state;
    uint8_t found[SEAL_KEY_SIZE];

    assert_int_equal(envelope_open(two->sender, two->envelope, found),
                     TM_EWIRE);
}

static void a_changed_one_is_refused(void **state)
{
    struct two *two = *state;
    uint8_t found[SEAL_KEY_SIZE];

    for (unsigned i = 0; i < ENVELOPE_SIZE; i++) {
        two->envelope[i] ^= 1;
        assert_int_equal(envelope_open(two->receiver, two->envelope, found),
                         TM_EWIRE);
        two->envelope[i] ^= 1;
    }
}

static void it_does_not_show_the_key(void **state)
{
    struct two *two = *state;

    for (unsigned i = 0; i + 4 <= ENVELOPE_SIZE; i++) {
        assert_memory_not_equal(&two->envelope[i], two->job_key, 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_receiver_opens_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(nobody_else_opens_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_changed_one_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(it_does_not_show_the_key, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
