// SPDX-License-Identifier: BSD-3-Clause
#include "cluster/settings.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/options.h"
#include "net/message.h"

// For each row of the options table: 1 and the value, or 0.
size_t settings_encode(char *bytes)
{
    struct wire_writer writer = {.at = (uint8_t *)bytes,
                                 .end = (uint8_t *)bytes + SETTINGS_MAX};

    for (unsigned i = 0; i < n_option_rows; i++) {
        const char *value = getenv(option_rows[i].variable);

        wire_put_u8(&writer, value != NULL);
        if (value != NULL) {
            wire_put_string(&writer, value);
        }
    }
    if (writer.failed) {
        log_error("the TEAMSTER_* variables are longer than %u bytes",
                  SETTINGS_MAX);
        return 0;
    }
    return (size_t)(writer.at - (uint8_t *)bytes);
}

static void adopt(const struct option_row *row, const char *value)
{
    if (row->owner == OPTION_OF_THE_LAUNCHER ||
        (row->owner == OPTION_OF_A_NODE && getenv(row->variable) != NULL)) {
        return;
    }
    if (value != NULL) {
        setenv(row->variable, value, 1);
    } else {
        unsetenv(row->variable);
    }
}

tm_status settings_adopt(const char *bytes, size_t size)
{
    struct wire_reader reader = wire_read(bytes, size);

    for (unsigned i = 0; i < n_option_rows; i++) {
        const char *value =
            wire_get_u8(&reader) != 0 ? wire_get_string(&reader) : NULL;

        if (reader.failed) {
            return TM_EWIRE;
        }
        adopt(&option_rows[i], value);
    }
    return reader.at == reader.end ? TM_OK : TM_EWIRE;
}
