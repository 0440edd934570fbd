// SPDX-License-Identifier: BSD-3-Clause
#include "cluster/settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/options.h"
#include "net/message.h"

/** Whose an option is. */
enum owner {
    OF_THE_RUN,
    OF_A_NODE,
    OF_THE_LAUNCHER, ///< means nothing without one
};

static enum owner owner_of(const char *variable)
{
    static const struct {
        const char *variable;
        enum owner owner;
    } rows[] = {
        {"TEAMSTER_NODES", OF_THE_LAUNCHER},
        {"TEAMSTER_HOSTS", OF_THE_LAUNCHER},
        {"TEAMSTER_HOSTFILE", OF_THE_LAUNCHER},
        {"TEAMSTER_SSH", OF_THE_LAUNCHER},
        {"TEAMSTER_EMULATE", OF_THE_LAUNCHER},
        {"TEAMSTER_TAG_OUTPUT", OF_THE_LAUNCHER},
        {"TEAMSTER_WORKERS", OF_A_NODE},
        {"TEAMSTER_SPEED", OF_A_NODE},
        {"TEAMSTER_SHARE", OF_A_NODE},
        {"TEAMSTER_MEMORY", OF_A_NODE},
        {"TEAMSTER_MEMORY_BY", OF_A_NODE},
        {"TEAMSTER_FAULT_SOURCE", OF_A_NODE},
        {"TEAMSTER_SWAP_DIR", OF_A_NODE},
        {"TEAMSTER_SWAP_RATE", OF_A_NODE},
        {"TEAMSTER_SWAP_MAX", OF_A_NODE},
    };

    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(variable, rows[i].variable) == 0) {
            return rows[i].owner;
        }
    }
    return OF_THE_RUN;
}

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

static void adopt(const char *variable, const char *value)
{
    enum owner owner = owner_of(variable);

    if (owner == OF_THE_LAUNCHER ||
        (owner == OF_A_NODE && getenv(variable) != NULL)) {
        return;
    }
    if (value != NULL) {
        setenv(variable, value, 1);
    } else {
        unsetenv(variable);
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
        adopt(option_rows[i].variable, value);
    }
    return reader.at == reader.end ? TM_OK : TM_EWIRE;
}
