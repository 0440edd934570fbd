// SPDX-License-Identifier: BSD-3-Clause
// cli/hostfile.c: hostfiles, and lists of hosts. What is refused is refused in one line;
// what is taken is within the limits that options have.
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "fuzz.h"
#include "hostfile.h"

static void check_error(const char *error, size_t size)
{
    size_t length = strnlen(error, size);

    FUZZ_CHECK(length > 0 && length < size);
    FUZZ_CHECK(strcspn(error, "\n\r\033") == length);
}

static void check_hosts(struct hosts *hosts)
{
    FUZZ_CHECK(hosts->n >= 1 && hosts->n <= TM_MAX_NODES);
    for (unsigned i = 0; i < hosts->n; i++) {
        const struct host *host = &hosts->all[i];

        FUZZ_CHECK(host->name[0] != '\0' && host->name[0] != '-');
        FUZZ_CHECK(strlen(host->name) < sizeof host->name);
        FUZZ_CHECK(host->workers <= WORKERS_MAX && host->slots <= WORKERS_MAX);
        FUZZ_CHECK(host->speed == 0 ||
                   (host->speed >= SPEED_MIN && host->speed <= SPEED_MAX));
        FUZZ_CHECK(host->memory == 0 ||
                   (host->memory >= MEMORY_MIN && host->memory <= MEMORY_MAX));
    }
    host_is_local(hosts->all[0].name);
    hosts_release(hosts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FILE *file = fuzz_file(data, size);
    char *list = fuzz_text(data, size);
    struct hosts hosts;
    char error[256] = "";

    if (hosts_parse(file, "hosts", TM_MAX_NODES, &hosts, error, sizeof error) ==
        TM_OK) {
        check_hosts(&hosts);
    } else {
        check_error(error, sizeof error);
    }
    fclose(file);
    memset(error, 0, sizeof error);
    if (hosts_parse_list(list, "--hosts", &hosts, error, sizeof error) ==
        TM_OK) {
        check_hosts(&hosts);
    } else {
        check_error(error, sizeof error);
    }
    free(list);
    return 0;
}
