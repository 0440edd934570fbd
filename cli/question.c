// SPDX-License-Identifier: BSD-3-Clause
// What `teamster plan` and `teamster simulate` are asked alike: about which profile, on which
// cluster, with which mapping by hand.
#include "question.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "place/policy.h"
#include "planner/hosts.h"

// ---- the command line

int question_refuse(const char *command, const char *what, const char *value,
                    const char *hint)
{
    fprintf(stderr, "%s: %s '%s'%s\n", command, what, value, hint);
    return EXIT_USAGE;
}

int question_take_counts(const char *command, const char *text,
                         struct thread_counts *counts)
{
    if (!thread_counts_read(text, counts) || counts->n == 0) {
        return question_refuse(command, "--counts is", text,
                               "; allowed: " THREAD_COUNTS_ALLOWED);
    }
    return 0;
}

int question_take_profile(const char *command, int argc, char **argv,
                          const char **profile)
{
    if (optind == argc) {
        fprintf(stderr,
                "%s: which profile? \"teamster run --save-profile=FILE\" "
                "writes one; see \"%s --help\".\n",
                command, command);
        return EXIT_USAGE;
    }
    if (optind + 1 < argc) {
        return question_refuse(command, "one profile at a time, not also",
                               argv[optind + 1], "");
    }
    *profile = argv[optind];
    return 0;
}

int question_refuse_policy(const char *command, const char *name,
                           const char *besides)
{
    fprintf(stderr, "%s: there is no policy '%s'; there are", command, name);
    for (unsigned i = 0; i < n_policies; i++) {
        fprintf(stderr, " %s,", policies[i]->name);
    }
    fprintf(stderr, " and %s\n", besides);
    return EXIT_USAGE;
}

// ---- mappings by hand

static uint64_t sum_of(const struct thread_counts *counts)
{
    uint64_t sum = 0;

    for (unsigned x = 0; x < counts->n; x++) {
        sum += counts->of_node[x];
    }
    return sum;
}

int question_counts_fit(const struct thread_counts *counts,
                        const struct cluster_view *view)
{
    return counts->n == view->n_nodes && sum_of(counts) == view->n_threads;
}

int question_check_counts(const char *command,
                          const struct thread_counts *counts,
                          const struct cluster_view *view)
{
    if (counts->n == 0 || question_counts_fit(counts, view)) {
        return 0;
    }
    fprintf(stderr,
            "%s: --counts names %u nodes and %ju threads, there are %u and "
            "%u\n",
            command, counts->n, (uintmax_t)sum_of(counts), view->n_nodes,
            view->n_threads);
    return EXIT_USAGE;
}

// ---- the cluster

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

tm_status question_use_cluster(const char *path, unsigned n_most,
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
