// SPDX-License-Identifier: BSD-3-Clause
// cluster/host_facts.c and cluster/settings.c: what nodes that mpirun or srun starts say
// of their hosts and of the run. Facts that are decoded are encoded to the same bytes,
// and hosts can be numbered and cards chosen by them.
#include <stdlib.h>
#include <string.h>

#include "cluster/host_facts.h"
#include "cluster/settings.h"
#include "fuzz.h"

static void check_facts(const uint8_t *data, size_t size)
{
    static struct host_facts all[2];
    static uint8_t bytes[HOST_FACTS_MAX];
    uint16_t host_of[2];
    unsigned n_hosts;

    if (host_facts_decode(data, size, &all[0]) != TM_OK) {
        return;
    }
    FUZZ_CHECK(host_facts_encode(&all[0], bytes) == size);
    FUZZ_CHECK(memcmp(bytes, data, size) == 0);
    strcpy(all[1].identity, "another");
    all[1].n_addresses = 1;
    n_hosts = host_facts_number(all, 2, host_of);
    FUZZ_CHECK(n_hosts >= 1 && n_hosts <= 2);
    FUZZ_CHECK(host_of[0] == 0 && host_of[1] <= 1);
    for (unsigned self = 0; self < 2; self++) {
        const char *device = host_facts_device(all, 2, self);

        FUZZ_CHECK(device == NULL || strlen(device) < 32);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_facts(data, size);
    (void)!settings_adopt((const char *)data, size);
    return 0;
}
