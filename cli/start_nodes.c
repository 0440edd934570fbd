// SPDX-License-Identifier: BSD-3-Clause
// The beginning of a run: signals become readable, the keeper watches, then the
// nodes are started one after the other, each only when the one before it runs
// the program, so that a program that cannot be run is told once.
#include "job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "os/checkpoint_manifest.h"
#include "os/descriptor.h"
#include "os/processor_group.h"
#include "process_end.h"
#include "spawn.h"

#define HINT_LIMITS "; see ulimit -n, ulimit -u and the cgroup's pids.max"

static int open_signals(struct job *job)
{
    static const int wanted[] = {SIGINT,  SIGTERM, SIGQUIT, SIGCHLD,
                                 SIGUSR1, SIGUSR2, SIGTSTP};
    struct sigaction hangup;
    sigset_t set;

    sigemptyset(&set);
    for (unsigned i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        sigaddset(&set, wanted[i]);
    }
    if (sigaction(SIGHUP, NULL, &hangup) == 0 &&
        hangup.sa_handler != SIG_IGN) { // nohup is respected
        sigaddset(&set, SIGHUP);
    }
    job->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    sigaddset(&set, SIGTTIN); // see input.c
    sigprocmask(SIG_BLOCK, &set, &job->old_signals);
    signal(SIGPIPE, SIG_IGN);
    return job->signal_fd < 0 ? -1 : 0;
}

static void open_sinks(struct job *job)
{
    sink_open(&job->out, STDOUT_FILENO);
    job->err = &job->out;
    if (!sink_is_same(STDOUT_FILENO, STDERR_FILENO)) {
        sink_open(&job->err_apart, STDERR_FILENO);
        job->err = &job->err_apart;
    }
}

/** What the keeper says of checkpoints if the launcher is killed. */
static void write_advice(const struct launch_plan *plan, char *text,
                         size_t size)
{
    text[0] = '\0';
    if (plan->is_in_memory && !plan->is_tried) {
        snprintf(text, size,
                 "; checkpoints were in their memory (--checkpoint=DIR has "
                 "them on a disk)");
    } else if (!plan->is_in_memory && plan->checkpoints[0] != '\0') {
        snprintf(text, size,
                 "; to go on from the newest checkpoint: teamster run "
                 "--restart=%s",
                 plan->checkpoints);
    }
}

int job_open(struct job *job, const struct launch_plan *plan)
{
    char advice[CHECKPOINT_PATH_MAX + 100];

    *job = (struct job){
        .n_nodes = plan->n_nodes,
        .plan = plan,
        .uses_tcp = plan->is_spread,
        .start_ns = clock_now_ns(),
        .slowdown = job_slowdown(),
    };
    job->nodes = calloc(TM_MAX_NODES, sizeof *job->nodes);
    if (job->nodes == NULL) {
        fprintf(stderr, "teamster run: no memory for %u nodes\n",
                plan->n_nodes);
        return EXIT_MEMORY;
    }
    write_advice(plan, advice, sizeof advice);
    if (open_signals(job) != 0 ||
        keeper_start(&job->keeper, (long)getpid(), advice) != 0) {
        fprintf(stderr, "teamster run: cannot start: %s" HINT_LIMITS "\n",
                strerror(errno));
        free(job->nodes);
        return EXIT_MEMORY;
    }
    open_sinks(job);
    progress_open(job);
    saving_begin(job);
    control_open(&job->control, job->keeper.control);
    return 0;
}

static void tell_spawn_failure(struct job *job, unsigned node,
                               const char *program, int error, const char *what)
{
    const char *hint = "";
    int exit_code = process_end_code_of_exec(error);

    if (strcmp(what, SPAWN_GROUP) == 0) {
        job_say(job, "cannot " SPAWN_GROUP ": %s; --emulate-by=duty needs none",
                strerror(error));
        job_stop(job, SIGKILL, EXIT_CONFIG);
        return;
    }
    if (strcmp(what, SPAWN_PROGRAM) != 0) {
        job_say(job, "cannot %s for node %u: %s" HINT_LIMITS, what, node,
                strerror(error));
        job_stop(job, SIGKILL, EXIT_MEMORY);
        return;
    }
    if (strchr(program, '/') == NULL && access(program, X_OK) == 0) {
        hint = "; it is not in PATH, but in this directory: write ./ in front";
    } else if (strchr(program, '/') != NULL && error == ENOENT &&
               access(program, F_OK) == 0) {
        hint = "; the interpreter that its first line names is missing";
    } else if (error == EACCES) {
        hint = "; is it a program, and executable?";
    }
    job_say(job, "cannot start '%s': %s%s", program, strerror(error), hint);
    job_stop(job, SIGKILL, exit_code);
}

/** Errors that are alike become one line, but not where each line has its node in front.
 * @param host  NULL: not known */
static void name_speaker(struct node *node, const struct host *host)
{
    if (host != NULL && host->label[0] != '\0') {
        memcpy(node->err.speaker, host->label, sizeof node->err.speaker);
    } else {
        snprintf(node->err.speaker, sizeof node->err.speaker, "n%u", node->id);
    }
}

/** @param host  NULL: all nodes are here */
static void name_node(struct node *node, const struct host *host)
{
    if (host == NULL) {
        snprintf(node->name, sizeof node->name, "node %u (pid %d)", node->id,
                 (int)node->pid);
    } else {
        snprintf(node->name, sizeof node->name, "%s (node %u)", host->name,
                 node->id);
    }
}

/** So that nothing is shown twice. Until a mark says that the node has started, or that
 * main() has prepared, all comes again each time. */
static void follow_output(struct job *job, struct stream *stream,
                          struct seen *seen)
{
    stream->seen = seen;
    stream->cut = SEEN_PREPARING;
    // What has come by itself since, with `teamster add`, has not written that yet.
    stream->is_repeating =
        job->phase == JOB_JOINING && job->recovery.back.generation > 0;
}

/** It is shown by a writer of its own, which outlives the node. */
static void hold_output(struct job *job, struct stream *stream, unsigned writer)
{
    struct stream *shown = &job->held.writers[writer];

    stream->held = &job->held;
    stream->writer = writer;
    stream->is_prompting = 0;
    shown->sink = stream->sink;
    memcpy(shown->tag, stream->tag, sizeof shown->tag);
    shown->seen = recovery_is_wanted(&job->recovery) ? stream->seen : NULL;
}

struct node *job_adopt(struct job *job, const struct spawned *spawned,
                       const struct host *host)
{
    struct node *node = &job->nodes[job->n_started];

    node->id = (node_id)job->n_started;
    node->group = node->host;
    node->pid = spawned->pid;
    node->is_alive = 1;
    node->link.fd = spawned->link;
    node->out.fd = spawned->out;
    node->out.sink = &job->out;
    node->out.is_prompting = node_is_root(node);
    node->err.fd = spawned->err;
    node->err.sink = job->err;
    if (recovery_has_marks(&job->recovery)) {
        follow_output(job, &node->out, &job->recovery.out);
        follow_output(job, &node->err, &job->recovery.err);
    }
    if (job->plan->is_tagged) {
        snprintf(node->out.tag, sizeof node->out.tag, "[%u] ", node->id);
        snprintf(node->err.tag, sizeof node->err.tag, "[%u] ", node->id);
    } else {
        name_speaker(node, host);
    }
    if (held_is_wanted(&job->held)) {
        hold_output(job, &node->out, 2 * job->n_started);
        hold_output(job, &node->err, 2 * job->n_started + 1);
    }
    job->n_started++;
    job->n_alive++;
    node->host_name = host != NULL ? host->name : NULL;
    name_node(node, job->remote.n > 0 ? host : NULL);
    if (node->host == 0) {
        keeper_add(&job->keeper, spawned->pid);
    }
    if (job->plan->is_verbose) {
        job_say(job, "node %u%s%s is process %d", node->id,
                host != NULL ? ", " : "", host != NULL ? host->name : "",
                (int)node->pid);
    }
    return node;
}

/** Memory is shared with the other nodes of the host. */
static void note_neighbours(struct job *job)
{
    for (unsigned i = 0; i < job->n_started; i++) {
        for (unsigned k = 0; k < i; k++) {
            if (job->nodes[i].host == job->nodes[k].host) {
                job->nodes[i].has_neighbours = 1;
                job->nodes[k].has_neighbours = 1;
            }
        }
    }
}

/** The kernel is to make the node slow. @return 0 or errno */
static int make_group(const struct launch_plan *plan,
                      struct spawn_request *request,
                      struct control_group *group)
{
    const struct host *host = request->host;

    request->group = NULL;
    if (!plan->is_slow_by_kernel || host == NULL || host->share >= 1) {
        return 0;
    }
    request->group = group;
    return processor_group_make((long)getpid(), request->node,
                                host->share * host->workers, group) == TM_OK
               ? 0
               : errno;
}

/** Start a node here. @return 0 or errno of `what` */
static int start_here(struct job *job, const struct launch_plan *plan,
                      struct spawn_request *request, struct spawned *spawned,
                      const char **what)
{
    struct control_group group;
    int error = make_group(plan, request, &group);

    if (error != 0) {
        *what = SPAWN_GROUP;
        return error;
    }
    remote_place(job, request);
    return spawn_node(request, spawned, what);
}

static int open_input(struct job *job, int *for_root)
{
    return job->recovery.n_back > 0 ? input_open_again(&job->input, for_root)
                                    : input_open(&job->input, for_root);
}

void job_start_nodes(struct job *job, const struct launch_plan *plan)
{
    struct spawn_request request = {.n_nodes = plan->n_nodes,
                                    .argv = plan->argv,
                                    .life = -1,
                                    .folder = job->keeper.folder,
                                    .signals = &job->old_signals};
    struct spawned spawned;
    const char *what = "open the standard input";
    int root_input = -1;
    int error = open_input(job, &root_input) != 0 ? errno : 0;

    for (unsigned i = 0; i < plan->n_nodes && error == 0; i++) {
        request.node = i;
        request.host = plan->hosts != NULL ? &plan->hosts[i] : NULL;
        request.input = i == 0 ? root_input : -1;
        if (job->nodes[i].host == 0) {
            error = start_here(job, plan, &request, &spawned, &what);
        } else {
            remote_adopt(job, i, request.input, &spawned);
            root_input = i == 0 ? -1 : root_input;
        }
        if (error == 0) {
            job_adopt(job, &spawned, request.host);
            remote_say_alive(&job->remote); // as remote_poll() will
        }
    }
    descriptor_close(root_input);
    note_neighbours(job);
    if (error != 0) {
        tell_spawn_failure(job, request.node, plan->argv[0], error, what);
    }
    if (job->n_alive == 0) {
        job->ended_ns = clock_now_ns();
    }
}
