// SPDX-License-Identifier: BSD-3-Clause
// What a run that may go back to a checkpoint gets to know while it goes on, and what is said
// of its output.
#include "recovery.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "job.h"
#include "net/message.h"

/** The launcher hears of iterations now and then, of lines at once: those of the latest
 * iterations before a loss come again when it thinks that all has been done again. So long
 * after that, even nodes that are far slower have come there. */
#define SETTLE_S 10

/** A run that ends soon lacks nothing by going back no more: its main() does what is left alone. */
#define OUTSIDE_S 5

static void settle(struct job *job)
{
    struct recovery *recovery = &job->recovery;
    const uint64_t n =
        seen_settle(&recovery->out) + seen_settle(&recovery->err);

    if (n > 0) {
        job_say(job,
                "%" PRIu64 " line%s that had been shown before the run went "
                "back did not come again: what it writes is not the same "
                "each time",
                n, n == 1 ? "" : "s");
    }
}

static int is_past(const struct stream *stream, uint64_t generation)
{
    return stream->fd < 0 ||
           (stream->cut != SEEN_PREPARING && stream->cut >= generation);
}

/** Has all been read that nodes wrote before a cut? */
static int are_past(const struct job *job, uint64_t generation)
{
    for (unsigned i = 0; i < job->n_started; i++) {
        const struct node *node = &job->nodes[i];

        if (!is_past(&node->out, generation) ||
            !is_past(&node->err, generation)) {
            return 0;
        }
    }
    return 1;
}

/** Has all been done again that was done before the run went back? */
static int is_done_again(const struct job *job)
{
    const struct recovery *recovery = &job->recovery;
    const double seconds =
        (double)(clock_now_ns() - recovery->passed_ns) * 1e-9;

    // Who reads our output may be slow, and so are we then.
    return recovery->passed_ns != 0 && seconds > SETTLE_S * job->slowdown &&
           are_past(job, recovery->saved.generation) &&
           !held_is_due(&job->held);
}

// Nobody has asked for it, so that it is said when it is so, and by the launcher: that is no output of the program, which
// would end the line of --progress.
static void tell_first(struct job *job)
{
    if (job->plan->is_tried && job->recovery.n_back == 0 &&
        job->recovery.saved.generation == 0 &&
        job->recovery.outside[0] == '\0') {
        job_say(job, "from now on, each minute this run is saved in the memory "
                     "of its hosts, and goes back to that if one is lost "
                     "(docs/checkpoints.md, chapter 9; --buddy=off: it ends)");
    }
}

// Has it gone back, and do its threads go on, so that nothing is read any more?
static int has_read_all(const struct job *job)
{
    const struct saved *back = &job->recovery.back;

    return back->generation > 0 && losses_n_iterations(job) > back->iteration;
}

// R6
static void drop_saved(struct job *job)
{
    const struct recovery *recovery = &job->recovery;

    if (recovery->outside[0] != '\0' &&
        (recovery->saved.generation > 0 || has_read_all(job))) {
        stored_keep(job, 0);
    }
}

void recovery_note_saved(struct job *job, uint64_t generation,
                         uint64_t iteration)
{
    struct recovery *recovery = &job->recovery;

    if (!recovery_has_marks(recovery)) {
        return;
    }
    tell_first(job);
    held_saved(&job->held, generation);
    if (recovery->passed_ns == 0 &&
        recovery->saved.iteration > recovery->farthest) {
        recovery->passed_ns = clock_now_ns();
    }
    if (is_done_again(job)) {
        settle(job);
    }
    recovery->saved = (struct saved){.generation = generation,
                                     .iteration = iteration,
                                     .at_ns = clock_now_ns()};
    seen_saved(&recovery->out, generation);
    seen_saved(&recovery->err, generation);
    drop_saved(job);
}

const char *recovery_why_not_back(const struct job *job)
{
    return job->plan->is_tried && job->recovery.outside[0] != '\0'
               ? job->recovery.outside
               : NULL;
}

// R5
tm_status recovery_note_outside(struct job *job, struct node *node,
                                const struct link_frame *frame)
{
    struct recovery *recovery = &job->recovery;
    struct wire_reader reader = wire_read(frame->body, frame->size);
    const struct wire_boot_words words = wire_get_boot_words(&reader);

    if (recovery->outside[0] == '\0') {
        snprintf(recovery->outside, sizeof recovery->outside, "on n%u %s",
                 node->id, words.text);
        if (recovery->saved.generation > 0 || recovery->n_back > 0) {
            recovery->outside_due_ns = job_in_ns(job, OUTSIDE_S);
        }
    }
    link_send(&node->link, BOOT_OUTSIDE_HEARD, NULL, 0);
    if (!node_is_root(node) && job->phase == JOB_RUNNING) { // it makes no more
        link_send(&job->nodes[0].link, BOOT_OUTSIDE_HEARD, NULL, 0);
    }
    drop_saved(job);
    return TM_OK;
}

uint64_t recovery_due_ns(const struct job *job)
{
    return job->phase == JOB_RUNNING ? job->recovery.outside_due_ns : 0;
}

void recovery_poll(struct job *job, uint64_t now_ns)
{
    struct recovery *recovery = &job->recovery;
    const uint64_t due_ns = recovery_due_ns(job);

    if (due_ns != 0 && due_ns <= now_ns) {
        recovery->outside_due_ns = 0;
        job_say(job,
                "from now on this run goes back no more, and ends if a node is "
                "lost: %s (docs/checkpoints.md, chapter 9)",
                recovery->outside);
    }
}

void recovery_tell_end(struct job *job)
{
    if (job->recovery.n_back > 0) {
        settle(job);
    }
}
