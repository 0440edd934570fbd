// SPDX-License-Identifier: BSD-3-Clause
//
// A node that is to join a running job: where it is put, and how it is started. What
// follows when its process runs is in change.c.
//
// On this machine it is spawned as all were. For another host an agent of its own is
// started, as remote_open.c does it for all hosts together; but the job goes on meanwhile, so
// nothing waits here:
//
//   guest_start        ssh is started                       HELLO is awaited
//   guest_poll         HELLO: the node is to be started     STARTED is awaited
//                      STARTED                              it is a guest
//   guest_poll,        it cannot be, or the time is over:   who has asked is told,
//   guest_time_out                                          the agent is let go
//
// A guest shares memory with those nodes of its host that were started to share it with
// others (has_neighbours); they are its group. What a node that was alone on its host
// lacks, it cannot get while the program runs. With all others the guest is connected over TCP,
// also within a host. A job whose nodes have all shared memory has its key from then on.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "job.h"
#include "os/descriptor.h"

/** What a guest finds on its host. */
struct lodging {
    unsigned n_before;          ///< nodes
    const struct node *sharing; ///< one that it shares memory with; NULL: none
};

static int is_on(const struct job *job, const struct node *node,
                 const char *host)
{
    return host[0] == '\0' || host_is_local(host)
               ? node->host == 0
               : node->host > 0 &&
                     strcmp(job->remote.hosts[node->host - 1].name, host) == 0;
}

static struct lodging look_around(const struct job *job, const char *host)
{
    struct lodging lodging = {0};

    for (unsigned i = 0; i < job->n_started; i++) {
        const struct node *node = &job->nodes[i];

        if (node->is_alive && !node->is_guest && is_on(job, node, host)) {
            lodging.n_before++;
            if (node->has_neighbours) {
                lodging.sharing = node;
            }
        }
    }
    return lodging;
}

/** It has a number, a host and a process. */
static void settle(struct job *job, const struct spawned *spawned,
                   const struct host *host, const struct lodging *lodging)
{
    struct node *guest = job_adopt(job, spawned, host);

    guest->group = lodging->sharing != NULL
                       ? lodging->sharing->group
                       : (uint16_t)(TM_MAX_NODES + guest->id);
    guest->has_neighbours = lodging->n_before > 0;
    guest->is_guest = 1;
    job->has_guest = 1;
    job->guest_due_ns = job_in_ns(job, GUEST_JOIN_S);
}

// The roster epoch that it will be in.
static unsigned epoch_of_guest(const struct job *job)
{
    return job->n_changes + 2;
}

// ---- on this machine

static int has_met_others(const struct remote *remote)
{
    for (unsigned i = 0; i < remote->n; i++) {
        if (remote->hosts[i].has_hello) {
            return 1;
        }
    }
    return 0;
}

/** The card by which others reach a guest here.
 * @return NULL: none does (why: in `text`) */
static const char *choose_device(struct job *job, const struct lodging *lodging,
                                 char *text, size_t size)
{
    if (lodging->sharing != NULL && !job->uses_tcp) {
        return "-"; // memory is shared with all of them
    }
    if (!has_met_others(&job->remote)) {
        return "lo";
    }
    if (job->remote.device[0] == '\0' &&
        remote_find_device(job, "", text, size) != 0) {
        return NULL;
    }
    return job->remote.device;
}

static void start_here(struct job *job, struct control_client *client,
                       const struct lodging *lodging)
{
    char text[256];
    const char *what = "start the program";
    struct spawn_request request = {
        .node = job->n_started,
        .n_nodes = job->n_started + 1,
        .argv = job->plan->argv,
        .folder = job->keeper.folder,
        .device = choose_device(job, lodging, text, sizeof text),
        .n_here = lodging->n_before + 1,
        .joins = (int)epoch_of_guest(job),
        .input = -1,
        .life = -1,
        .signals = &job->old_signals,
    };
    struct spawned spawned;
    int error;

    if (request.device == NULL) {
        control_answer(client, EXIT_CONFIG, "%s", text);
        return;
    }
    error = spawn_node(&request, &spawned, &what);
    if (error != 0) {
        control_answer(client, EXIT_MEMORY, "cannot %s for node %u: %s", what,
                       request.node, strerror(error));
        return;
    }
    job->nodes[job->n_started].host = 0;
    settle(job, &spawned, NULL, lodging);
}

// ---- on another host

static struct remote_host *coming_host(struct job *job)
{
    return &job->remote.hosts[job->remote.coming - 1];
}

/** No node comes from there. */
static void give_up(struct job *job)
{
    struct remote_host *host = coming_host(job);

    job->remote.coming = 0;
    job->guest_due_ns = 0;
    remote_retire(host);
    for (unsigned i = 0; i < host->n_nodes; i++) {
        descriptor_close(host->nodes[i].ends.link);
        descriptor_close(host->nodes[i].ends.out);
        descriptor_close(host->nodes[i].ends.err);
    }
    host->n_nodes = 0; // another guest gets the number
}

static void refuse(struct job *job)
{
    char text[EXPLAINED_MAX];

    if (job->remote.is_started) {
        remote_explain_not_started(job, coming_host(job), text, sizeof text);
    } else {
        remote_explain_unreachable(job, coming_host(job), text, sizeof text);
    }
    control_answer(control_asker(&job->control, job->n_started),
                   EXIT_UNREACHABLE, "%s", text);
    give_up(job);
}

/** Read a name as --hosts does. @param[out] text  [size] why it is none
 * @return it is the caller's; NULL: it cannot be taken */
static struct host *new_host(const char *name, char *text, size_t size)
{
    struct hosts hosts;
    struct host *host = NULL;

    if (hosts_parse_list(name, "--hosts", &hosts, text, size) != TM_OK) {
        return NULL;
    }
    snprintf(text, size, "one node at a time, on one host");
    if (hosts.n == 1) {
        host = malloc(sizeof *host);
    }
    if (host != NULL) {
        *host = hosts.all[0];
    }
    hosts_release(&hosts);
    return host;
}

static int reach(struct job *job, struct host *given)
{
    struct remote *remote = &job->remote;
    struct remote_host *host;

    if (remote->n == 0) {
        beat_start(&remote->beat);
    }
    host = remote_add_host(remote, given);
    host->own = given;
    remote_add_node(host, job->n_started, given);
    if (remote_start_ssh(job, host, job->plan->ssh) != 0) {
        host->is_lost = 1;
        return -1;
    }
    remote->beat.is_watched = 1;
    remote->coming = remote->n;
    remote->is_started = 0;
    job->guest_due_ns = job_in_ns(job, REMOTE_REACH_S);
    return 0;
}

static void start_there(struct job *job, struct control_client *client,
                        const char *name)
{
    char text[256];
    struct host *given = new_host(name, text, sizeof text);

    if (given == NULL) {
        control_answer(client, EXIT_USAGE, "%s", text);
    } else if (reach(job, given) != 0) {
        control_answer(client, EXIT_MEMORY, "cannot start ssh: %s",
                       strerror(errno));
    }
}

static void tell_agent(struct job *job)
{
    struct remote_host *host = coming_host(job);
    const struct lodging lodging = look_around(job, host->name);
    struct remote_start start = {
        .n_nodes = job->n_started + 1,
        .n_before = lodging.n_before,
        .joins = epoch_of_guest(job),
    };

    job->remote.is_started = 1;
    job->guest_due_ns = job_in_ns(job, REMOTE_START_S);
    if (remote_send_start(job, host, 1, &start) != 0) {
        snprintf(host->why, sizeof host->why,
                 "no memory to start a node there");
    }
}

static void take_in(struct job *job)
{
    struct remote_host *host = coming_host(job);
    const struct lodging lodging = look_around(job, host->name);
    struct spawned spawned;

    job->nodes[job->n_started].host = (uint16_t)job->remote.coming;
    job->remote.coming = 0;
    remote_adopt(job, job->n_started, -1, &spawned);
    settle(job, &spawned, host->own, &lodging);
}

void guest_poll(struct job *job)
{
    struct remote_host *host = coming_host(job);

    remote_hear(&job->remote, host);
    if (!job_is_open(job)) {
        give_up(job);
    } else if (host->why[0] != '\0' || host->nodes[0].what[0] != '\0') {
        refuse(job);
    } else if (host->nodes[0].pid != 0) {
        take_in(job);
    } else if (host->has_hello && !job->remote.is_started) {
        tell_agent(job);
    }
}

void guest_time_out(struct job *job)
{
    job->guest_due_ns = 0;
    if (job->remote.coming != 0) {
        refuse(job);
    }
}

// ----

void guest_start(struct job *job, struct control_client *client,
                 const char *host)
{
    const struct lodging lodging = look_around(job, host);

    if (job->plan->is_in_memory && !job->plan->is_tried &&
        lodging.n_before > 0 && lodging.sharing == NULL) {
        control_answer(client, EXIT_CONFIG,
                       "with --buddy that machine would be two hosts, each the "
                       "other's buddy perhaps: start with two nodes there to "
                       "add more");
    } else if (lodging.sharing == NULL && remote_make_key(job) != 0) {
        control_answer(client, EXIT_MEMORY, "no memory for the job's key");
    } else if (host[0] == '\0' || host_is_local(host)) {
        start_here(job, client, &lodging);
    } else {
        start_there(job, client, host);
    }
}
