// SPDX-License-Identifier: BSD-3-Clause
// cluster/host_facts.c and settings.c: what nodes tell each other through PMIx. Facts
// that are decoded are encoded to the same bytes, and a card is found in them or none.
#include <stdlib.h>
#include <string.h>

#include "cluster/host_facts.h"
#include "cluster/settings.h"
#include "fuzz.h"

static void choose(const struct host_facts *facts)
{
    static struct host_facts all[2];
    uint16_t host_of[2];
    const char *device;

    all[0] = *facts;
    all[1] = *facts;
    FUZZ_CHECK(host_facts_number(all, 2, host_of) == 1);
    device = host_facts_device(all, 2, 1);
    FUZZ_CHECK(device == NULL ||
               strlen(device) < sizeof all[0].addresses[0].device);
    all[1].identity[0] ^= 1;
    if (facts->identity[0] > 1) {
        FUZZ_CHECK(host_facts_number(all, 2, host_of) == 2);
    }
    host_facts_device(all, 2, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct host_facts facts;
    uint8_t bytes[HOST_FACTS_MAX];

    if (host_facts_decode(data, size, &facts) == TM_OK) {
        FUZZ_CHECK(size <= sizeof bytes);
        FUZZ_CHECK(host_facts_encode(&facts, bytes) == size);
        FUZZ_CHECK(memcmp(bytes, data, size) == 0);
        choose(&facts);
    }
    (void)!settings_adopt((const char *)data, size);
    return 0;
}
