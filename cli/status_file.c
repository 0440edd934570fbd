// SPDX-License-Identifier: BSD-3-Clause
//
// --status-file: how a run has ended, for programs. Written when all is over; it has its name
// when it is whole, so that who waits for it finds all of it.
//
//   exit_code                     of the launcher
//   program, seconds
//   iteration                     that was under way; left out if none has ended
//   threads, threads_lost         as told lately by the nodes; left out before
//   messages                      all that the launcher has said, in order
//   nodes                         node, host if it was given, pid, threads, end of each:
//                                 "exited" with its code, "killed" with its signal,
//                                 or "lost": nobody knows
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job.h"
#include "os/new_file.h"
#include "process_end.h"

static void add_end(json_t *object, const struct node *node)
{
    char name[32];

    if (node->code == 0) {
        json_object_set_new(object, "end", json_string("lost"));
    } else if (node->code == CLD_EXITED) {
        json_object_set_new(object, "end", json_string("exited"));
        json_object_set_new(object, "code", json_integer(node->status));
    } else {
        process_end_signal_name(node->status, name, sizeof name);
        json_object_set_new(object, "end", json_string("killed"));
        json_object_set_new(object, "signal", json_string(name));
        json_object_set_new(object, "for_memory",
                            json_boolean(node->oom_kill[0] != '\0'));
    }
}

static json_t *list_nodes(const struct job *job)
{
    json_t *nodes = json_array();

    for (unsigned i = 0; i < job->n_started; i++) {
        const struct node *node = &job->nodes[i];
        json_t *object = json_object();

        json_object_set_new(object, "node", json_integer(node->id));
        if (node->host_name != NULL) {
            json_object_set_new(object, "host", json_string(node->host_name));
        }
        json_object_set_new(object, "pid", json_integer(node->pid));
        json_object_set_new(object, "threads",
                            json_integer(node->told.n_threads));
        add_end(object, node);
        json_array_append_new(nodes, object);
    }
    return nodes;
}

static json_t *list_messages(struct job *job)
{
    json_t *messages = json_array();
    const char *text = buffer_front(&job->said);
    size_t at = 0;

    while (at < job->said.used) {
        json_array_append_new(messages, json_string(text + at));
        at += strlen(text + at) + 1;
    }
    return messages;
}

static void add_progress(json_t *object, const struct job *job)
{
    uint64_t n_ended = losses_n_iterations(job);
    unsigned n_threads = 0;

    for (unsigned i = 0; i < job->n_started; i++) {
        n_threads += job->nodes[i].told.n_threads;
    }
    if (n_ended > 0) {
        json_object_set_new(object, "iteration",
                            json_integer((json_int_t)n_ended + 1));
    }
    if (n_threads > 0) {
        json_object_set_new(object, "threads", json_integer(n_threads));
        json_object_set_new(object, "threads_lost",
                            json_integer(job->n_threads_lost));
    }
}

// @return NULL, or why it is not written
static const char *write_object(const char *path, const json_t *object)
{
    struct new_file new_file;
    const char *why = new_file_begin(&new_file, path);

    if (why != NULL) {
        return why;
    }
    (void)json_dumpf(object, new_file.file, JSON_INDENT(2));
    fputc('\n', new_file.file);
    return new_file_end(&new_file);
}

void status_file_write(struct job *job)
{
    const char *why;
    json_t *object;

    if (strcmp(job->plan->status_file, "none") == 0) {
        return;
    }
    object = json_object();
    json_object_set_new(object, "exit_code", json_integer(job->exit_code));
    json_object_set_new(object, "program", json_string(job->plan->argv[0]));
    json_object_set_new(object, "seconds", json_real(job_seconds(job)));
    add_progress(object, job);
    json_object_set_new(object, "messages", list_messages(job));
    json_object_set_new(object, "nodes", list_nodes(job));
    why = write_object(job->plan->status_file, object);
    if (why != NULL) {
        fprintf(stderr, "teamster run: cannot write the status file %s: %s\n",
                job->plan->status_file, why);
    }
    json_decref(object);
}
