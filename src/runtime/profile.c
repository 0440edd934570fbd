// SPDX-License-Identifier: BSD-3-Clause
//
// --save-profile: at the end of a run the root writes what its latest decision was
// made from (place/profile.h). To a file beside, which then takes the name: there is
// never half a profile under it.
#include "base/log.h"
#include "observe/profile_write.h"
#include "runtime/balancing.h"
#include "runtime/cluster_capacity.h"
#include "runtime/node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BESIDE_BYTES = sizeof((struct options *)0)->save_profile + 16 };

// speed= of a node of power 1.0, 0 if it was not given to all.
static double unit_speed(struct node *node)
{
    const struct roster *roster = &node->port.roster;

    for (unsigned i = 0; i < roster->n_live; i++) {
        if (capacity_of(node, roster->live[i])->declared_speed <= 0) {
            return 0;
        }
    }
    return capacity_of(node, 0)->declared_speed;
}

void profile_fill(struct node *node, struct profile *profile,
                  const struct remap *plan, double *times_s)
{
    const uint32_t n_nodes = plan->view.n_nodes;

    *profile = (struct profile){
        .iteration = plan->iteration,
        .unit_speed = unit_speed(node),
        .view = plan->view,
        .node_of = plan->current,
        .model = plan->model,
        .measured = plan->measured,
        .decision = {.node_of = plan->wanted,
                     .n_moves = plan->n_moves,
                     .before_s = plan->before.iteration_s,
                     .after_s = plan->after.iteration_s,
                     .owners_move = plan->owners_move,
                     .is_proven = plan->is_proven,
                     .node_before_s = times_s,
                     .node_after_s = times_s + n_nodes,
                     .is_carried_out = plan->is_carried_out,
                     .was_weighed = plan->was_weighed,
                     .acceptance = plan->acceptance},
    };
    for (uint32_t x = 0; x < n_nodes; x++) {
        times_s[x] = plan->before.nodes[x].time_s;
        times_s[n_nodes + x] = plan->after.nodes[x].time_s;
    }
    snprintf(profile->teamster, sizeof profile->teamster, "%d.%d.%d",
             TM_VERSION_MAJOR, TM_VERSION_MINOR, TM_VERSION_PATCH);
    snprintf(profile->program, sizeof profile->program, "%s",
             program_invocation_short_name);
    snprintf(profile->decision.policy, sizeof profile->decision.policy, "%s",
             plan->policy->name);
}

static int write_beside(const char *beside, const struct profile *profile)
{
    FILE *file = fopen(beside, "w");
    tm_status status;

    if (file == NULL) {
        log_error("cannot write the profile %s: %m", beside);
        return 0;
    }
    status = profile_write(file, profile);
    if (fclose(file) != 0 && status == TM_OK) {
        log_error("cannot write the profile %s: %m", beside);
        status = TM_ESYSTEM;
    }
    if (status == TM_EINVAL || status == TM_ENOMEM) {
        log_error("the profile is not written: %s", tm_strerror(status));
    }
    return status == TM_OK;
}

/** @return 1 on the root if a profile is asked for */
static int is_wanted(struct node *node)
{
    const char *path = node->options.save_profile;

    return path[0] != '\0' && strcmp(path, "none") != 0 && node->self == 0;
}

/** The file that it is written to first. @param beside  [BESIDE_BYTES] */
static void name_beside(struct node *node, char *beside)
{
    snprintf(beside, BESIDE_BYTES, "%s.%d", node->options.save_profile,
             (int)getpid());
}

// A device or a pipe would be gone if a file took its name.
static void check_target(const char *path)
{
    struct stat found;

    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode)) {
        log_fatal(EXIT_OUTPUT, "the profile could not be written: %s is %s",
                  path, S_ISDIR(found.st_mode) ? "a folder" : "not a file");
    }
}

void profile_check(struct node *node)
{
    const char *path = node->options.save_profile;
    char beside[BESIDE_BYTES];
    int file;

    if (!is_wanted(node)) {
        return;
    }
    check_target(path);
    name_beside(node, beside);
    file = open(beside, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) {
        log_fatal(EXIT_OUTPUT, "the profile %s could not be written: %m", path);
    }
    close(file);
    unlink(beside);
}

void profile_save(struct node *node)
{
    const char *path = node->options.save_profile;
    const struct remap *plan =
        node->scheme == NULL ? NULL : scheme_latest(node->scheme);
    char beside[BESIDE_BYTES];
    struct profile profile;
    double *times_s;

    if (!is_wanted(node)) {
        return;
    }
    if (plan == NULL) {
        log_error("%s is not written: nothing was decided in this run%s", path,
                  node->scheme == NULL
                      ? ", it has one node or --policy=none"
                      : "; its nodes were in balance, or it was short");
        return;
    }
    times_s = calloc(2 * (size_t)plan->view.n_nodes, sizeof *times_s);
    if (times_s == NULL) {
        log_error("no memory to write the profile %s", path);
        return;
    }
    profile_fill(node, &profile, plan, times_s);
    name_beside(node, beside);
    if (!write_beside(beside, &profile)) {
        unlink(beside);
    } else if (rename(beside, path) != 0) {
        log_error("cannot write the profile %s: %m", path);
        unlink(beside);
    }
    free(times_s);
}
