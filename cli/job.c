// SPDX-License-Identifier: BSD-3-Clause
//
// What all that have to do with a run may ask of it: to say something, to tell the
// time, to stop. What follows then is in run_end.c.
#include "job.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define SECOND_NS 1000000000.0
#define SAID_MAX (64u << 10) // kept for the status file

double job_slowdown(void)
{
    const char *text = getenv("TM_TEST_SLOWDOWN");
    double factor = text != NULL ? strtod(text, NULL) : 1;

    return factor >= 0.01 && factor <= 1000 ? factor : 1;
}

void job_name_node(const struct job *job, unsigned node, char *name,
                   size_t size)
{
    const struct host *hosts = job->plan->hosts;

    if (hosts != NULL && node < job->plan->n_nodes &&
        hosts[node].label[0] != '\0') {
        snprintf(name, size, "%s", hosts[node].label);
    } else {
        snprintf(name, size, "n%u", node);
    }
}

double job_seconds(const struct job *job)
{
    return (double)(clock_now_ns() - job->start_ns) / SECOND_NS;
}

uint64_t job_in_ns(const struct job *job, double seconds)
{
    return clock_now_ns() + (uint64_t)(seconds * job->slowdown * SECOND_NS);
}

void job_say(struct job *job, const char *format, ...)
{
    char text[1200] = "teamster run: ";
    size_t used = sizeof "teamster run: " - 1;
    va_list arguments;

    for (unsigned i = 0; i < job->n_started; i++) {
        stream_read(&job->nodes[i].err, clock_now_ns());
    }
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - used, format, arguments);
    va_end(arguments);
    sink_say(job->err, text);
    sink_write(job->err);
    if (job->said.used < SAID_MAX) {
        buffer_append(&job->said, text + used, strlen(text + used) + 1);
    }
}

int job_is_open(const struct job *job)
{
    return job->phase < JOB_CLOSING;
}

void job_signal(struct job *job, const struct node *node, int signal)
{
    if (node->host == 0) {
        kill(-node->pid, signal);
    } else if (node->host <= job->remote.n) {
        mux_send_number(&job->remote.hosts[node->host - 1].mux, MUX_SIGNAL,
                        node->index, (uint32_t)signal);
    }
}

/** From now on what is due is the end. */
static void begin_end(struct job *job, enum job_phase phase)
{
    job->phase = phase;
    job->deadline_ns = 0;
    job->guest_due_ns = 0;
    job->stop_ns = clock_now_ns();
    job->stop_step = 0;
}

void job_stop(struct job *job, int signal, int exit_code)
{
    if (job->phase == JOB_STOPPING) {
        return;
    }
    begin_end(job, JOB_STOPPING);
    job->exit_code = exit_code;
    job->remote.beat.is_watched = 0; // nodes do not look any more
    for (unsigned i = 0; i < job->n_started; i++) {
        struct node *node = &job->nodes[i];

        // One that is alone may have something to do first: its signal handlers.
        if (node->has_card && job->n_started > 1) {
            link_send_number(&node->link, BOOT_STOP, (uint32_t)signal);
        } else {
            node->is_put_down = 1; // its card may be on its way
            job_signal(job, node, signal);
        }
    }
}

void job_send_refusal(struct node *node, int exit_code, const char *text)
{
    uint8_t body[1200];
    struct wire_writer writer = {.at = body, .end = body + sizeof body};

    wire_put_boot_refusal(
        &writer, &(struct wire_boot_refusal){(uint32_t)exit_code, text});
    if (node->has_card && !writer.failed) {
        link_send(&node->link, BOOT_REFUSED, body, (size_t)(writer.at - body));
    }
}

void job_refuse(struct job *job, int exit_code, const char *text)
{
    job_say(job, "%s", text);
    for (unsigned i = 0; i < job->n_started; i++) {
        job_send_refusal(&job->nodes[i], exit_code, text);
    }
    job_stop(job, SIGTERM, exit_code);
}

void job_close(struct job *job)
{
    begin_end(job, JOB_CLOSING);
    for (unsigned i = 1; i < job->n_started; i++) {
        link_send_number(&job->nodes[i].link, BOOT_STOP, 0);
    }
}

void job_end_streams(struct job *job, void (*end)(struct stream *stream))
{
    for (unsigned i = 0; i < job->n_started; i++) {
        struct node *node = &job->nodes[i];

        while (stream_read(&node->out, 0) || stream_read(&node->err, 0)) {
        }
        end(&node->out);
        end(&node->err);
        link_close(&node->link);
    }
}
