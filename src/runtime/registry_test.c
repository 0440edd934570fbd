// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "protocol/protocol_rows.h"

struct row {
    const struct protocol *protocol;
    tm_protocol id;
    const char *name;
};

static const struct row rows[] = {
#define PROTOCOL(symbol, id, name, no_diffs) {&protocol_##symbol, id, name},
#define BLOCK_PROTOCOL(symbol, id, name) {&protocol_##symbol, id, name},
#include "base/protocols.def"
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

static void a_protocol_is_what_its_row_says(void **state)
{
    (void)state;
    assert_int_equal(all_protocols.n, N_ROWS);
    for (unsigned i = 0; i < N_ROWS; i++) {
        const struct row *row = &rows[i];

        assert_int_equal(row->protocol->id, row->id);
        assert_string_equal(row->protocol->name, row->name);
        assert_ptr_equal(protocol_by_id(&all_protocols, row->id),
                         row->protocol);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_protocol_is_what_its_row_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
