// SPDX-License-Identifier: BSD-3-Clause
//
// Checkpoints that somebody asks for, besides those that are made by themselves:
//
//   teamster checkpoint JOB    is answered when it is whole, or with the reason why there is none
//   SIGUSR2 to the launcher    the same, said on stderr; batch systems can send it before a
//                              time limit (sbatch --signal=B:USR2@300)
//   --checkpoint-before=TIME   as SIGUSR2, so long before the end that Slurm tells of
//
// The root makes it, where the next iteration ends (SAVE), and says SAVED.
#include "saving.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "job.h"
#include "net/message.h"

void saving_begin(struct job *job)
{
    const char *end = getenv("SLURM_JOB_END_TIME"); // since 1970
    const time_t now_s = time(NULL);                // the batch system's clock
    const int64_t left_s =
        end != NULL ? strtoll(end, NULL, 10) - (int64_t)now_s : 0;
    const int64_t before_s = job->plan->save_before_s;

    if (before_s == 0) {
        return;
    }
    if (left_s <= 0) {
        job_say(job,
                "--checkpoint-before: no time limit is known, for "
                "SLURM_JOB_END_TIME is not set or has passed; a batch "
                "system may send SIGUSR2 instead (sbatch --signal=B:USR2@%d)",
                (int)before_s);
        return;
    }
    job->saving.due_ns =
        job->start_ns + (uint64_t)(left_s > before_s ? left_s - before_s : 1) *
                            UINT64_C(1000000000);
}

/** @return NULL, or why the root cannot be asked; lives as long as the job */
static const char *ask_root(struct job *job)
{
    const char *why_not_back = recovery_why_not_back(job);

    if (job->plan->checkpoints[0] == '\0' && !job->plan->is_in_memory) {
        return "the run has no --checkpoint=DIR, nor --buddy";
    }
    if (job->phase != JOB_RUNNING) {
        return "the program has not begun yet, or has ended";
    }
    if (why_not_back != NULL) {
        return why_not_back;
    }
    link_send(&job->nodes[0].link, BOOT_SAVE, NULL, 0);
    job->saving.is_asked = 1;
    job->saving.is_sent = 1;
    job->saving.n_sent++;
    return NULL;
}

void saving_ask_again(struct job *job)
{
    for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
        job->control.clients[i].request = 0; // the first of that root's
    }
    job->saving.said = job->saving.said > 0;
    job->saving.n_sent = 0;
    job->saving.is_sent = 0;
}

void saving_ask(struct job *job, struct control_client *client)
{
    const char *why = ask_root(job);

    client->node = SAVING_NODE;
    client->request = job->saving.n_sent;
    if (why != NULL) {
        control_answer(client, EXIT_CONFIG, "no checkpoint: %s", why);
    } else {
        control_say(client, "it waits for the end of an iteration");
    }
}

void saving_ask_by_signal(struct job *job)
{
    const char *why = ask_root(job);

    if (why != NULL) {
        job_say(job, "no checkpoint: %s", why);
    } else {
        job->saving.said = job->saving.n_sent;
    }
}

static void say(struct job *job, const struct wire_boot_saved *saved)
{
    if (saved->why[0] == '\0') {
        job_say(job, "checkpoint %" PRIu64 " is whole: iteration %" PRIu64,
                saved->generation, saved->iteration);
    } else {
        job_say(job, "no checkpoint: %s", saved->why);
    }
}

/** To all who have asked before it was taken. */
static void answer(struct job *job, const struct wire_boot_saved *saved)
{
    struct control_client *client;

    while ((client = control_asker_until(&job->control, SAVING_NODE,
                                         saved->n_answered)) != NULL) {
        if (saved->why[0] == '\0') {
            control_answer(client, 0,
                           "checkpoint %" PRIu64 " is whole: iteration %" PRIu64
                           ", in %s",
                           saved->generation, saved->iteration,
                           job->plan->is_in_memory
                               ? "memory of the hosts, until the run ends"
                               : job->plan->checkpoints);
        } else {
            control_answer(client, EXIT_OUTPUT, "no checkpoint: %s",
                           saved->why);
        }
    }
    if (job->saving.said > 0 && job->saving.said <= saved->n_answered) {
        job->saving.said = 0;
        say(job, saved);
    }
    job->saving.is_asked = saved->n_answered < job->saving.n_sent;
}

tm_status saving_take(struct job *job, const struct link_frame *frame)
{
    struct wire_reader reader = wire_read(frame->body, frame->size);
    const struct wire_boot_saved saved = wire_get_boot_saved(&reader);

    if (saved.n_answered > 0) {
        answer(job, &saved);
    }
    if (saved.why[0] == '\0') {
        job->saving.has_newest = 1;
        job->saving.newest = saved.iteration;
        recovery_note_saved(job, saved.generation, saved.iteration);
    }
    return TM_OK;
}

void saving_poll(struct job *job, uint64_t now_ns)
{
    if (job->saving.due_ns != 0 && job->saving.due_ns <= now_ns &&
        job->phase == JOB_RUNNING) {
        job->saving.due_ns = 0;
        saving_ask_by_signal(job);
    }
    if (job->saving.is_asked && !job->saving.is_sent &&
        job->phase == JOB_RUNNING) {
        (void)ask_root(job);
    }
}

void saving_tell_restart(struct job *job)
{
    const int has_tried =
        recovery_is_wanted(&job->recovery) && job->exit_code == EXIT_NODE_LOST;

    if (job->saving.has_newest && job->phase == JOB_STOPPING &&
        job->exit_code != 0 && !has_tried && !job->plan->is_in_memory) {
        job_say(job,
                "to go on from iteration %" PRIu64
                ": teamster run --restart=%s",
                job->saving.newest + 1, job->plan->checkpoints);
    }
}

uint64_t saving_due_ns(const struct job *job)
{
    return job->phase == JOB_RUNNING ? job->saving.due_ns : 0;
}
