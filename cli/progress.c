// SPDX-License-Identifier: BSD-3-Clause
//
// --progress: one line on stderr that says each second how far the run is: the iteration
// and what one takes, the threads of each node, who pages, and what the scheme does. Made
// of what nodes tell anyway, a few times a second (PROGRESS): no node does anything for it.
//
//   auto   on a terminal, as long as the program writes nothing to it
//   on     also beside what it writes; each line stays where stderr is no terminal
//   off    never
//
// On a terminal the line is taken away before anything else is written (sink_show()).
#include "progress.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "job.h"

#define SECOND_NS UINT64_C(1000000000)

/** Above it nodes are not listed. */
#define LISTED_MAX 16

/** The line as it grows. */
struct line {
    char text[512];
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void add_text(struct line *line,
                                                           const char *format,
                                                           ...)
{
    const size_t room = sizeof line->text - line->used;
    va_list arguments;
    int n;

    va_start(arguments, format);
    n = vsnprintf(line->text + line->used, room, format, arguments);
    va_end(arguments);
    line->used += (size_t)n < room ? (size_t)n : room - 1;
}

int progress_takes_part(const struct node *node)
{
    return node->is_alive && !node->is_guest && !node->has_left;
}

static void add_iteration(struct line *line, struct progress *progress,
                          uint64_t n_iterations, uint64_t now_ns)
{
    const uint64_t n_new = n_iterations - progress->n_iterations;

    if (n_iterations == 0) {
        return; // the program may have none
    }
    add_text(line, ", iteration %" PRIu64, n_iterations + 1);
    if (n_new > 0 && progress->at_ns != 0) {
        const double ms =
            (double)(now_ns - progress->iteration_ns) * 1e-6 / (double)n_new;

        add_text(line, ms < 100 ? ": %.3g ms each" : ": %.0f ms each", ms);
    } else {
        add_text(line, ": %.0f s so far",
                 (double)(now_ns - progress->iteration_ns) * 1e-9);
    }
    if (n_new > 0) {
        progress->iteration_ns = now_ns;
    }
    progress->n_iterations = n_iterations;
}

static void add_threads(struct line *line, const struct job *job)
{
    uint32_t least = UINT32_MAX;
    uint32_t most = 0;
    unsigned n = 0;

    add_text(line, "; threads");
    for (unsigned i = 0; i < job->n_started; i++) {
        const struct node *node = &job->nodes[i];

        if (progress_takes_part(node)) {
            least = node->told.n_threads < least ? node->told.n_threads : least;
            most = node->told.n_threads > most ? node->told.n_threads : most;
            n++;
            if (job->n_started <= LISTED_MAX) {
                add_text(line, " %u", node->told.n_threads);
            }
        }
    }
    if (job->n_started > LISTED_MAX) {
        add_text(line, " %u to %u on %u nodes", least, most, n);
    }
}

/** Who has read most pages from its swap file since the last time, and how many more
 * have. */
static void add_paging(struct line *line, struct job *job, double passed_s)
{
    struct progress *progress = &job->progress;
    char name[NODE_NAME_MAX];
    uint64_t most = 0;
    unsigned who = 0;
    unsigned n = 0;

    for (unsigned i = 0; i < job->n_started; i++) {
        const uint64_t all = job->nodes[i].told.page_ins;
        const uint64_t n_new = all - progress->page_ins[i];

        progress->page_ins[i] = all;
        n += n_new > 0;
        if (n_new > most) {
            most = n_new;
            who = i;
        }
    }
    if (n > 0 && passed_s > 0) {
        job_name_node(job, who, name, sizeof name);
        add_text(line, "; %s pages %.0f/s", name, (double)most / passed_s);
        if (n > 1) {
            add_text(line, ", %u more do", n - 1);
        }
    }
}

static void add_scheme(struct line *line, struct job *job)
{
    uint64_t n_moved = 0;
    int is_tracking = 0;

    for (unsigned i = 0; i < job->n_started; i++) {
        n_moved += job->nodes[i].told.n_moved_in;
        is_tracking |= job->nodes[i].told.is_tracking;
    }
    if (n_moved > job->progress.n_moved) {
        add_text(line, "; %" PRIu64 " moved", n_moved - job->progress.n_moved);
    } else if (is_tracking) {
        add_text(line, "; tracks pages");
    }
    job->progress.n_moved = n_moved;
}

static void make_line(struct job *job, uint64_t now_ns, struct line *line)
{
    struct progress *progress = &job->progress;
    const double passed_s =
        progress->at_ns != 0 ? (double)(now_ns - progress->at_ns) * 1e-9 : 0;

    *line = (struct line){.used = 0};
    add_text(line, "teamster: %.0f s", job_seconds(job));
    add_iteration(line, progress, losses_n_iterations(job), now_ns);
    add_threads(line, job);
    add_paging(line, job, passed_s);
    add_scheme(line, job);
    progress->at_ns = now_ns;
}

/** Has the program written to where the line is? */
static int has_written(const struct job *job)
{
    for (unsigned i = 0; i < job->n_started; i++) {
        const struct stream *out = &job->nodes[i].out;
        const struct stream *err = &job->nodes[i].err;

        if (err->n_read > 0 || (out->sink == job->err && out->n_read > 0)) {
            return 1;
        }
    }
    return 0;
}

static unsigned count_columns(void)
{
    struct winsize size;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0
               ? size.ws_col
               : 80;
}

void progress_open(struct job *job)
{
    struct progress *progress = &job->progress;

    *progress = (struct progress){
        .when = job->plan->progress,
        .is_terminal = isatty(STDERR_FILENO),
        .due_ns = job->start_ns + SECOND_NS,
        .iteration_ns = job->start_ns,
    };
    if (progress->when == PROGRESS_AUTO && !progress->is_terminal) {
        progress->when = PROGRESS_OFF;
    }
}

void progress_begin_again(struct job *job)
{
    struct progress *progress = &job->progress;

    memset(progress->page_ins, 0, sizeof progress->page_ins);
    progress->n_moved = 0;
    progress->n_iterations = losses_n_iterations(job);
    progress->iteration_ns = clock_now_ns();
    progress->at_ns = 0;
}

void progress_poll(struct job *job, uint64_t now_ns)
{
    struct progress *progress = &job->progress;
    struct line line;

    if (progress->when == PROGRESS_AUTO && has_written(job)) {
        progress_close(job);
    }
    if (progress->when == PROGRESS_OFF || now_ns < progress->due_ns) {
        return;
    }
    progress->due_ns = now_ns + SECOND_NS;
    // Threads are told of by programs that have joined only.
    if (job->phase != JOB_RUNNING || job->nodes[0].told.n_threads == 0) {
        return;
    }
    make_line(job, now_ns, &line);
    if (!progress->is_terminal) {
        sink_say(job->err, line.text);
        return;
    }
    progress->columns = count_columns();
    if (line.used >= progress->columns) {
        line.text[progress->columns - 1] = '\0';
    }
    sink_show(job->err, line.text);
}

uint64_t progress_due_ns(const struct job *job)
{
    return job->progress.when != PROGRESS_OFF && job->phase < JOB_CLOSING
               ? job->progress.due_ns
               : 0;
}

void progress_close(struct job *job)
{
    job->progress.when = PROGRESS_OFF;
    sink_show(job->err, "");
}
