// SPDX-License-Identifier: BSD-3-Clause
// --cluster of `teamster plan` and `teamster simulate`.
#include "plan_cluster.h"

#include <stdio.h>
#include <stdlib.h>

#include "planner/hosts.h"

static tm_status use_hosts(const char *path, const struct hosts *hosts,
                           struct scenario *scenario, char *error, size_t size)
{
    struct plan_host *plan_hosts = calloc(hosts->n, sizeof *plan_hosts);
    char reason[512];
    tm_status status;

    if (plan_hosts == NULL) {
        snprintf(error, size, "out of memory");
        return TM_ENOMEM;
    }
    for (unsigned i = 0; i < hosts->n; i++) {
        plan_hosts[i] = (struct plan_host){
            .speed = hosts->all[i].speed,
            .memory_bytes = hosts->all[i].memory,
            .n_processors = hosts->all[i].workers,
        };
        // Longer names are cut, as in profiles.
        snprintf(plan_hosts[i].name, sizeof plan_hosts[i].name, "%.*s",
                 VIEW_NAME_MAX - 1, hosts->all[i].name);
    }
    status = scenario_use_hosts(scenario, plan_hosts, hosts->n, reason,
                                sizeof reason);
    free(plan_hosts);
    if (status != TM_OK) {
        snprintf(error, size, "%s: %s", path, reason);
    }
    return status;
}

tm_status plan_cluster_use(const char *path, unsigned n_most,
                           struct hosts *hosts, struct scenario *scenario,
                           char *error, size_t size)
{
    struct hosts read;
    tm_status status = hosts_read(path, n_most, &read, error, size);

    if (status != TM_OK) {
        return status;
    }
    status = use_hosts(path, &read, scenario, error, size);
    if (status == TM_OK && hosts != NULL) {
        *hosts = read;
    } else {
        hosts_release(&read);
    }
    return status;
}
