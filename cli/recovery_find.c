// SPDX-License-Identifier: BSD-3-Clause
//
// What a run can go back to. All files of a checkpoint are read for it, which may be hundreds of
// gigabytes, from a file server that hangs. So a process of its own reads; what it finds comes
// through a pipe, and the launcher hears signals meanwhile.
//
// L1  Nothing of the folder is opened by the launcher itself before an answer has come; if the run
//     is ended before, by Ctrl-C for one, the launcher does not wait for it.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ensure.h"
#include "job.h"
#include "os/checkpoint_manifest.h"
#include "recovery.h"

#define SEEN_S                                                                 \
    5 // for what is written to be seen here, where a file system is slow

/** What the process says: of each that is torn, then what it has found. A pipe takes it
 * together. */
struct word {
    uint64_t generation; ///< 0: there is none
    uint64_t n_ended;
    uint64_t time_s;
    uint32_t is_answer;
    char why[300]; ///< of one that is torn
};

// ---- the folder

uint64_t recovery_newest_in(const char *folder)
{
    uint64_t *generations;
    const size_t n = checkpoint_list(folder, &generations);
    const uint64_t newest = n > 0 ? generations[0] : 0;

    free(generations);
    return newest;
}

// R1 of recovery.c.
void recovery_remove_outdated(const struct recovery *recovery)
{
    const uint64_t kept = recovery->back.generation;

    checkpoint_remove_between(recovery->folder,
                              kept > recovery->before ? kept : recovery->before,
                              recovery->first);
    checkpoint_tidy(recovery->folder);
}

// ---- in the process

static void send_word(int fd, const struct word *word)
{
    if (write(fd, word, sizeof *word) != sizeof *word) {
        _exit(1); // nobody wants to know it any more
    }
}

static void tell_torn(void *owner, uint64_t generation, const char *why)
{
    const int *fd = owner;
    struct word word = {.generation = generation};

    snprintf(word.why, sizeof word.why, "%s", why);
    send_word(*fd, &word);
}

/** The root has said that one is whole; this machine may see it a little later. */
static void await_saved(const struct recovery *recovery, double slowdown,
                        struct checkpoint_manifest *manifest)
{
    const struct timespec pause = {.tv_nsec = 100000000};
    const int n_looks = (int)(SEEN_S * 10 * slowdown);

    for (int i = 0;
         recovery->saved.generation > 0 && i < n_looks &&
         checkpoint_load(recovery->folder, recovery->saved.generation,
                         manifest) != NULL;
         i++) {
        nanosleep(&pause, NULL);
    }
}

/** A list of the folder may be old where a look by name is not.
 * @return 0: there is none of this run */
static int find_newest(const struct recovery *recovery, int fd,
                       struct checkpoint_manifest *manifest)
{
    char name[CHECKPOINT_NAME_MAX];

    if (checkpoint_choose(recovery->folder, manifest, tell_torn, &fd) == NULL &&
        manifest->generation > recovery->before &&
        manifest->generation >= recovery->saved.generation) {
        return 1;
    }
    if (recovery->saved.generation > 0 &&
        checkpoint_load(recovery->folder, recovery->saved.generation,
                        manifest) == NULL &&
        checkpoint_check_files(recovery->folder, manifest, name) == NULL) {
        return 1;
    }
    return checkpoint_choose(recovery->folder, manifest, NULL, NULL) == NULL &&
           manifest->generation > recovery->before;
}

_Noreturn static void become_reader(const struct job *job, int fd,
                                    pid_t launcher)
{
    const struct recovery *recovery = &job->recovery;
    struct checkpoint_manifest *manifest = calloc(1, sizeof *manifest);
    struct word word = {.is_answer = 1};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "teamster-reader");
    fd = dup2(fd, STDIN_FILENO);
    // Nobody is to wait for the end of it who waits for the launcher's, or its output's.
    close_range(STDIN_FILENO + 1, ~0u, 0);
    if (manifest == NULL || fd < 0 || getppid() != launcher) {
        _exit(1);
    }
    await_saved(recovery, job->slowdown, manifest);
    if (recovery->n_back > 0) {
        recovery_remove_outdated(recovery);
    }
    if (find_newest(recovery, fd, manifest)) {
        word.generation = manifest->generation;
        word.n_ended = manifest->n_ended;
        word.time_s = manifest->time_s;
    }
    send_word(fd, &word);
    _exit(0);
}

// ---- in the launcher

/** The clock when a checkpoint was made that has not been heard of; the manifest has the second
 * only. @param least  it was not before */
static uint64_t clock_at(uint64_t time_s, uint64_t least)
{
    const uint64_t now_ns = clock_now_ns();
    const time_t now_s = time(NULL); // for people
    const uint64_t ago_ns =
        now_s > (time_t)time_s
            ? (uint64_t)(now_s - (time_t)time_s) * UINT64_C(1000000000)
            : 0;

    return now_ns > least && ago_ns < now_ns - least ? now_ns - ago_ns : least;
}

struct saved recovery_saved_of(const struct recovery *recovery,
                               uint64_t generation, uint64_t n_ended,
                               uint64_t time_s)
{
    const struct saved *heard = &recovery->saved;
    struct saved found = {.iteration = recovery->begun_at,
                          .at_ns = recovery->began_ns};

    if (generation > 0) {
        found.generation = generation;
        found.iteration = n_ended;
        found.at_ns =
            heard->generation == generation
                ? heard->at_ns
                : clock_at(time_s, heard->at_ns > 0 ? heard->at_ns
                                                    : recovery->began_ns);
    }
    return found;
}

/** @return 1: it has answered; 0: it has died (told), or the run is ended */
static int hear_reader(struct job *job, recovery_wait_fn *wait, int fd,
                       struct word *word)
{
    do {
        if (!wait(job, fd)) { // L1
            return 0;
        }
        if (read(fd, word, sizeof *word) != sizeof *word) {
            job_say(job,
                    "it does not go back: who looked for a checkpoint has "
                    "died; to try again: teamster run --restart=%s",
                    job->recovery.folder);
            return 0;
        }
        if (!word->is_answer) {
            job_say(job, "%s: generation %" PRIu64 " cannot be used: %s",
                    job->recovery.folder, word->generation, word->why);
        }
    } while (!word->is_answer);
    return 1;
}

int recovery_find(struct job *job, recovery_wait_fn *wait, struct saved *back)
{
    const pid_t launcher = getpid();
    struct word word;
    int ends[2];
    pid_t reader;
    int is_answered;

    if (pipe2(ends, O_CLOEXEC) != 0) {
        job_say(job, "it does not go back: %s", strerror(errno));
        return 0;
    }
    reader = fork();
    if (reader == 0) {
        become_reader(job, ends[1], launcher);
    }
    close(ends[1]);
    is_answered = hear_reader(job, wait, ends[0], &word);
    close(ends[0]);
    if (reader > 0 && !is_answered) {
        kill(reader, SIGKILL);
    }
    if (reader > 0) {
        waitpid(reader, NULL, is_answered ? 0 : WNOHANG); // it may hang
    }
    if (is_answered) {
        *back = recovery_saved_of(&job->recovery, word.generation, word.n_ended,
                                  word.time_s);
    }
    return is_answered;
}
