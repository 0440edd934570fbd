// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_TUNED_NAME_H
#define RUNTIME_TUNED_NAME_H

#include "net/port.h"
#include "place/tune_search.h"

#define TUNED_NAME_MAX                                                         \
    32u ///< bytes of a parameter's name, with the 0 at its end

/** Bytes that one takes in a message. */
#define TUNED_BYTES (TUNE_VALUES_MAX * WIRE_SIZE_tuned_value + TUNED_NAME_MAX)

/** A parameter as the program names it. */
struct tuned_name {
    char name[TUNED_NAME_MAX];
    unsigned n_values;
    int64_t values[TUNE_VALUES_MAX]; ///< [n_values]
};

/** Read what a message names. @param n_values  as its field says
 * @return TM_OK, TM_EWIRE */
tm_status tuned_name_read(const struct message *message, unsigned n_values,
                          struct tuned_name *name);
/** Write it, as the body of a message. */
void tuned_name_put(struct wire_writer *writer, const struct tuned_name *name);
int tuned_name_same_values(const struct tuned_name *a,
                           const struct tuned_name *b);

#endif
