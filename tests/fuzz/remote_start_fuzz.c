// SPDX-License-Identifier: BSD-3-Clause
// cli/remote_start.c: what the launcher and an agent tell each other first. What is taken
// apart is put together to the same bytes.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "mux.h"
#include "remote_start.h"

static void check_start(const uint8_t *data, size_t size)
{
    struct remote_start start;
    struct buffer body = {0};

    if (remote_start_get(data, size, &start) != TM_OK) {
        return;
    }
    FUZZ_CHECK(start.n_here >= 1 && start.n_here <= start.n_nodes);
    remote_start_put(&start, &body);
    FUZZ_CHECK(body.used == size);
    FUZZ_CHECK(memcmp(buffer_front(&body), data, size) == 0);
    buffer_release(&body);
    remote_start_release(&start);
}

static void check_hello(const uint8_t *data, size_t size)
{
    struct wire_reader reader = wire_read(data, size);
    const struct wire_agent_hello hello = wire_get_agent_hello(&reader);
    uint8_t *body = malloc(size + 1);
    struct wire_writer writer = {.at = body, .end = body + size};

    if (!reader.failed && reader.at == reader.end) {
        wire_put_agent_hello(&writer, &hello);
        FUZZ_CHECK(!writer.failed && writer.at == writer.end);
        FUZZ_CHECK(memcmp(body, data, size) == 0);
    }
    free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_start(data, size);
    check_hello(data, size);
    return 0;
}
