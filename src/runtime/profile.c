// SPDX-License-Identifier: BSD-3-Clause
//
// --save-profile: at the end of a run the root writes what its latest decision was
// made from (place/profile.h). To a file beside, which then takes the name: there is
// never half a profile under it.
#include "base/log.h"
#include "observe/profile_write.h"
#include "os/new_file.h"
#include "runtime/balancing.h"
#include "runtime/cluster_capacity.h"
#include "runtime/node.h"
#include "runtime/script.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

void profile_check(struct node *node)
{
    const char *path = node->options.save_profile;
    const char *why = script_is_wanted(node) ? new_file_check(path) : NULL;

    if (why != NULL) {
        log_fatal(EXIT_OUTPUT, "the profile %s could not be written: %s", path,
                  why);
    }
}

// @return NULL, or why it is not written
static const char *write_profile(const char *path,
                                 const struct profile *profile)
{
    struct new_file new_file;
    const char *why = new_file_begin(&new_file, path);
    tm_status status;

    if (why != NULL) {
        return why;
    }
    status = profile_write(new_file.file, profile);
    if (status == TM_EINVAL || status == TM_ENOMEM) {
        new_file_drop(&new_file);
        return tm_strerror(status);
    }
    return new_file_end(&new_file);
}

static void save(struct node *node, const struct remap *plan, int is_decided)
{
    const char *path = node->options.save_profile;
    double *times_s = calloc(2 * (size_t)plan->view.n_nodes, sizeof *times_s);
    struct profile profile;
    const char *why;

    if (times_s == NULL) {
        log_error("no memory to write the profile %s", path);
        return;
    }
    profile_fill(node, &profile, plan, times_s);
    if (!is_decided) {
        profile.decision = (struct profile_decision){0};
    }
    script_fill(node, &profile.script, plan->numbers, plan->view.n_threads);
    why = write_profile(path, &profile);
    if (why != NULL) {
        log_error("the profile %s is not written: %s", path, why);
    }
    script_release(&profile.script);
    free(times_s);
}

// Nothing was decided: what is known of the mapping in force.
static void save_last(struct node *node)
{
    struct correction *corrections =
        calloc(node->port.roster.n_live, sizeof *corrections);
    struct remap plan = {0};

    if (node->scheme == NULL || corrections == NULL ||
        scheme_look_back(node->scheme, &plan, corrections) != TM_OK) {
        log_error("%s is not written: %s", node->options.save_profile,
                  node->scheme == NULL
                      ? "nobody looks at this run's iterations, it has one "
                        "node or --policy=none"
                      : "the run was too short, or its threads were moving");
    } else {
        save(node, &plan, 0);
    }
    remap_release(&plan);
    free(corrections);
}

void profile_save(struct node *node)
{
    const struct remap *plan =
        node->scheme == NULL ? NULL : scheme_latest(node->scheme);

    if (!script_is_wanted(node)) {
        return;
    }
    if (plan != NULL) {
        save(node, plan, 1);
    } else {
        save_last(node);
    }
    script_close(node);
}
