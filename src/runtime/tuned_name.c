// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/tuned_name.h"

#include <string.h>

int tuned_name_same_values(const struct tuned_name *a,
                           const struct tuned_name *b)
{
    return a->n_values == b->n_values &&
           memcmp(a->values, b->values, a->n_values * sizeof a->values[0]) == 0;
}

void tuned_name_put(struct wire_writer *writer, const struct tuned_name *name)
{
    for (unsigned i = 0; i < name->n_values; i++) {
        wire_put_tuned_value(
            writer, &(struct wire_tuned_value){(uint64_t)name->values[i]});
    }
    wire_put_tuned_label(writer, &(struct wire_tuned_label){name->name});
}

tm_status tuned_name_read(const struct message *message, unsigned n_values,
                          struct tuned_name *name)
{
    struct wire_reader reader = wire_read_body(message);

    if (n_values < 1 || n_values > TUNE_VALUES_MAX) {
        return TM_EWIRE;
    }
    name->n_values = n_values;
    for (unsigned i = 0; i < n_values; i++) {
        name->values[i] = (int64_t)wire_get_tuned_value(&reader).value;
    }
    wire_get_text(&reader, name->name, sizeof name->name);
    return reader.failed ? TM_EWIRE : TM_OK;
}
