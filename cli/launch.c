// SPDX-License-Identifier: BSD-3-Clause
//
// The launcher: one process, one thread, one loop around poll().
//
//   JOINING --all cards agree--> CONNECTING --all READY--> RUNNING
//      |                             |                        |
//      +------ the root says DONE or exits: job_close() ------+--> CLOSING
//      |                             |                        |       |
//      +------ a death, a refusal, a signal: job_stop() ------+-------+--> STOPPING
//
// A program that does not use Teamster stays in JOINING to its end: it is run N
// times, and the highest exit code counts. In every phase the loop goes on until
// all nodes' processes have ended and their output has been read; what they left
// behind is killed then. With --recover all of that may begin anew after it (recovery.c).
//
// I1  Nothing here blocks but poll(): a signal ends the nodes whatever they, the
//     terminal or the reader of our output do.
// I2  Processes that have ended are not reaped before finish(), so the number of
//     a node's group is its own as long as signals may be sent to it.
// I3  In one round deaths are judged before what other nodes say: they are the
//     causes. What a node said before its death is heard before it is judged.
#include "job.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/vector.h"
#include "process_end.h"
#include "watchers.h"

/** At least so often agents are told that the launcher lives. */
#define BEAT_NS (BEAT_POLL_MS * UINT64_C(1000000))

#define SECOND_NS UINT64_C(1000000000)
#define AFTER_END_S 1  // for processes that still hold a node's output
#define LAST_WORDS_S 2 // for our own output if a signal ended the run

/** Places in the array for poll(); then three for each node. */
enum {
    AT_SIGNALS,
    AT_STDIN,
    AT_ROOT_STDIN,
    AT_OUT,
    AT_ERR,
    AT_CONTROL,
    AT_NODES = AT_CONTROL + CONTROL_N_POLLED
};

static void look_for_deaths(struct job *job)
{
    for (unsigned i = 0; i < job->n_started; i++) {
        struct node *node = &job->nodes[i];
        siginfo_t info = {0};

        if (node->is_alive && node->host == 0 &&
            waitid(P_PID, (id_t)node->pid, &info,
                   WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid == node->pid) {
            rendezvous_hear(job, node); // I3
            oom_explain(&node->oom, node->oom_kill, sizeof node->oom_kill);
            job_judge(job, node, info.si_code, info.si_status);
        }
    }
}

/** Ctrl-Z: the nodes stop, then the launcher; they go on together. */
static void pause_job(struct job *job)
{
    uint64_t paused_ns = clock_now_ns();

    for (unsigned i = 0; i < job->n_started; i++) {
        job_signal(job, &job->nodes[i], SIGSTOP);
    }
    raise(SIGSTOP);
    job->polled_s = 0; // all were stopped, and knew it
    for (unsigned i = 0; i < job->n_started; i++) {
        job_signal(job, &job->nodes[i], SIGCONT);
    }
    paused_ns = clock_now_ns() - paused_ns;
    job->deadline_ns += job->deadline_ns != 0 ? paused_ns : 0;
    job->guest_due_ns += job->guest_due_ns != 0 ? paused_ns : 0;
}

static void tell_status(struct job *job)
{
    char when[128];
    static const char *const names[] = {
        [JOB_JOINING] = "have started",  [JOB_CONNECTING] = "are connecting",
        [JOB_RUNNING] = "are running",   [JOB_CLOSING] = "are closing",
        [JOB_STOPPING] = "are stopping",
    };

    losses_describe_time(job, when, sizeof when);
    job_say(job, "%u of %u nodes %s %s", job->n_alive, job->n_nodes,
            names[job->phase], when);
    for (unsigned i = 0; i < job->n_started; i++) {
        if (job->nodes[i].has_card) {
            link_send(&job->nodes[i].link, BOOT_STATUS, NULL, 0);
        }
    }
}

static void interrupt(struct job *job, int signal)
{
    char name[32];

    if (job->phase == JOB_STOPPING) {
        job_kill(job); // asked for twice
        if (recovery_is_wanted(&job->recovery)) {
            job->exit_code = 128 + signal; // whatever it stops for
        }
        return;
    }
    process_end_signal_name(signal, name, sizeof name);
    job_say(job, "%s: ending %u node%s after %.1f s", name, job->n_alive,
            job->n_alive == 1 ? "" : "s", job_seconds(job));
    job_stop(job, signal, 128 + signal);
}

static void take_signals(struct job *job)
{
    struct signalfd_siginfo info;

    while (read(job->signal_fd, &info, sizeof info) == sizeof info) {
        switch (info.ssi_signo) {
        case SIGCHLD:
            look_for_deaths(job);
            break;
        case SIGUSR1:
            tell_status(job);
            break;
        case SIGUSR2:
            saving_ask_by_signal(job);
            break;
        case SIGTSTP:
            pause_job(job);
            break;
        default:
            interrupt(job, (int)info.ssi_signo);
        }
    }
}

static struct pollfd watch(int fd, int events)
{
    // Even without events, poll() tells of errors: leave out what is not asked.
    return (struct pollfd){.fd = events != 0 ? fd : -1,
                           .events = (short)events};
}

static struct pollfd watch_stream(const struct stream *stream)
{
    return watch(stream->fd, sink_is_full(stream->sink) ? 0 : POLLIN);
}

static void fill_poll_set(const struct job *job, struct pollfd *set,
                          uint64_t now_ns)
{
    set[AT_SIGNALS] = watch(job->signal_fd, POLLIN);
    set[AT_STDIN] = watch(STDIN_FILENO, input_wants_read(&job->input, now_ns));
    set[AT_ROOT_STDIN] = (struct pollfd){
        .fd = job->input.to_root, .events = input_wants_write(&job->input)};
    set[AT_OUT] = watch(job->out.fd, job->out.waiting.used > 0 ? POLLOUT : 0);
    set[AT_ERR] = watch(
        job->err->fd,
        job->err != &job->out && job->err->waiting.used > 0 ? POLLOUT : 0);
    control_fill(&job->control, &set[AT_CONTROL]);
    for (unsigned i = 0; i < job->n_started; i++) {
        const struct node *node = &job->nodes[i];
        struct pollfd *at = &set[AT_NODES + 3 * i];

        at[0] = watch(node->link.fd,
                      node->link.out.used > 0 ? POLLIN | POLLOUT : POLLIN);
        at[1] = watch_stream(&node->out);
        at[2] = watch_stream(&node->err);
    }
    remote_fill(&job->remote, &set[AT_NODES + 3 * job->n_started]);
}

/** Is there output that is held no longer, and room for it? */
static int can_show_held(const struct job *job)
{
    return !sink_is_full(&job->out) && !sink_is_full(job->err) &&
           held_is_due(&job->held);
}

static void show_held(struct job *job)
{
    struct held *held = &job->held;

    if (can_show_held(job)) {
        output_show_held(held);
    }
    if (held->error != 0 && !held->is_told) {
        held->is_told = 1;
        job_say(job,
                "%s has no room for the output that is held: %s; it stays in "
                "memory (TMPDIR=DIR names another folder)",
                held->folder, strerror(held->error));
    }
}

static uint64_t next_due_ns(const struct job *job, uint64_t now_ns)
{
    uint64_t due_ns = job_due_ns(job);
    uint64_t other_ns[] = {
        job->ended_ns != 0 ? job->ended_ns + AFTER_END_S * SECOND_NS : 0,
        job->n_started > 0 ? stream_prompt_ns(&job->nodes[0].out) : 0,
        job->input.to_root >= 0 ? job->input.retry_ns : 0,
        remote_due_ns(&job->remote),
        sink_due_ns(job->err),
        progress_due_ns(job),
        watchers_due_ns(job),
        saving_due_ns(job),
        recovery_due_ns(job),
        can_show_held(job) ? now_ns : 0,
    };

    for (unsigned i = 0; i < sizeof other_ns / sizeof other_ns[0]; i++) {
        if (other_ns[i] != 0 && other_ns[i] < due_ns) {
            due_ns = other_ns[i];
        }
    }
    return due_ns;
}

/** For poll(): milliseconds, rounded up; -1: for ever. */
static int timeout_ms(uint64_t due_ns, uint64_t now_ns)
{
    uint64_t ms;

    if (due_ns == UINT64_MAX) {
        return -1;
    }
    ms = due_ns > now_ns ? (due_ns - now_ns + 999999) / 1000000 : 0;
    return ms < 1000000 ? (int)ms : 1000000;
}

static void move_data(struct job *job, const struct pollfd *set,
                      unsigned n_nodes, uint64_t now_ns)
{
    for (unsigned i = 0; i < n_nodes; i++) {
        struct node *node = &job->nodes[i];
        const struct pollfd *at = &set[AT_NODES + 3 * i];

        if (at[0].fd >= 0 && at[0].revents != 0) {
            link_write(&node->link);
            rendezvous_hear(job, node);
        }
        if (at[1].fd >= 0 && at[1].revents != 0) {
            stream_read(&node->out, now_ns);
        }
        if (at[2].fd >= 0 && at[2].revents != 0) {
            stream_read(&node->err, now_ns);
        }
        stream_show_prompt(&node->out, now_ns);
    }
    if (job->input.to_root >= 0 && set[AT_ROOT_STDIN].revents & POLLERR) {
        input_close(&job->input); // the root has closed its standard input
    }
    input_move(&job->input, set[AT_STDIN].revents != 0, now_ns);
}

/** Write what waits; if nobody reads it, the run ends. */
static void write_sinks(struct job *job, uint64_t now_ns)
{
    int before = job->out.error;

    sink_settle(job->err, now_ns);
    show_held(job);
    sink_write(&job->out);
    sink_write(job->err);
    if (job->out.error == 0 || before != 0) {
        return;
    }
    if (job->out.error == EPIPE) {
        job_stop(job, SIGPIPE, 128 + SIGPIPE); // quietly, as filters do
        return;
    }
    job_say(job, "cannot write to standard output: %s",
            strerror(job->out.error));
    job_stop(job, SIGTERM, EXIT_OUTPUT);
}

static int is_over(const struct job *job, uint64_t now_ns)
{
    if (job->ended_ns == 0) {
        return 0;
    }
    for (unsigned i = 0; i < job->n_started; i++) {
        if (job->nodes[i].out.fd >= 0 || job->nodes[i].err.fd >= 0) {
            return now_ns >= job->ended_ns + AFTER_END_S * SECOND_NS;
        }
    }
    return 1;
}

static void run_loop(struct job *job)
{
    struct pollfd *set = NULL;
    size_t room = 0;
    uint64_t now_ns = clock_now_ns();

    while (!is_over(job, now_ns)) {
        unsigned n_started = job->n_started;
        size_t n_set =
            AT_NODES + 3 * (size_t)n_started + remote_n_polled(&job->remote);

        vector_reserve(set, room, n_set); // nodes and hosts may have come
        fill_poll_set(job, set, now_ns);
        if (poll(set, n_set, timeout_ms(next_due_ns(job, now_ns), now_ns)) <
                0 &&
            errno != EINTR) {
            log_fatal(EXIT_INTERNAL, "poll: %m");
        }
        losses_poll(job);
        take_signals(job);
        now_ns = clock_now_ns();
        remote_move(&job->remote, &set[AT_NODES + 3 * n_started], now_ns);
        remote_poll(job, now_ns);
        move_data(job, set, n_started, now_ns);
        control_move(&job->control, &set[AT_CONTROL], change_request, job);
        progress_poll(job, now_ns);
        watchers_poll(job, now_ns);
        saving_poll(job, now_ns);
        recovery_poll(job, now_ns);
        write_sinks(job, now_ns);
        job_advance(job, now_ns);
    }
    free(set);
}

/** Whether the rest of our output is still worth waiting for. */
static int wait_for_reader(struct job *job, uint64_t give_up_ns)
{
    struct pollfd set[] = {
        watch(job->out.fd, job->out.waiting.used > 0 ? POLLOUT : 0),
        watch(job->err->fd, job->err->waiting.used > 0 ? POLLOUT : 0),
        watch(job->signal_fd, POLLIN),
    };
    struct signalfd_siginfo info;
    uint64_t now_ns = clock_now_ns();

    if (set[0].fd < 0 && set[1].fd < 0 && !can_show_held(job)) {
        return 0;
    }
    poll(set, 3, can_show_held(job) ? 0 : timeout_ms(give_up_ns, now_ns));
    while (read(job->signal_fd, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo != SIGCHLD && info.ssi_signo != SIGUSR1 &&
            info.ssi_signo != SIGUSR2) {
            job->exit_code = 128 + (int)info.ssi_signo;
            return 0;
        }
    }
    return clock_now_ns() < give_up_ns;
}

/** @return 1: somebody reads it */
static int write_last_words(struct job *job)
{
    size_t n_waiting;

    show_held(job);
    n_waiting = job->out.waiting.used + job->err->waiting.used;
    sink_write(&job->out);
    sink_write(job->err);
    return job->out.waiting.used + job->err->waiting.used < n_waiting;
}

static void flush(struct job *job)
{
    const int is_interrupted = job->exit_code > 128;
    uint64_t give_up_ns = UINT64_MAX;
    int has_moved;

    sink_settle(job->err, UINT64_MAX);
    do {
        has_moved = write_last_words(job);
        if (is_interrupted && (give_up_ns == UINT64_MAX ||
                               (has_moved && held_is_wanted(&job->held)))) {
            give_up_ns = clock_now_ns() + LAST_WORDS_S * SECOND_NS;
        }
    } while (wait_for_reader(job, give_up_ns));
    if (job->out.error != 0 && job->exit_code == 0) {
        job->exit_code = job->out.error == EPIPE ? 128 + SIGPIPE : EXIT_OUTPUT;
    }
}

static void finish(struct job *job)
{
    watchers_tell_end(job);
    control_close(&job->control); // the live page's process hears of it
    job_kill(job);
    remote_finish(job);
    job_end_streams(job, stream_close);
    held_end(&job->held);
    web_finish(
        job); // nodes and hosts have gone: they wait for nobody who looks
    input_release(&job->input);
    keeper_finish(&job->keeper); // kills what is left, who shows the end too
    flush(job);
    if (job->exit_code == 0) {
        recovery_tell_end(job); // what was held has been shown
        flush(job);
    }
    run_report_write(job);
    status_file_write(job);
    remote_release(job);
    sink_close(&job->out);
    if (job->err != &job->out) {
        sink_close(job->err);
    }
    close(job->signal_fd);
    buffer_release(&job->said);
    shown_release(job);
    recovery_release(job);
    free(job->nodes);
}

/** While it looks for a checkpoint: when a line that is folded is due, or a beat, for agents are to
 * stay. */
static uint64_t waiting_due_ns(const struct job *job)
{
    const uint64_t line_ns = sink_due_ns(job->err);
    const uint64_t beat_ns =
        job->remote.n > 0 ? clock_now_ns() + BEAT_NS : UINT64_MAX;

    return line_ns != 0 && line_ns < beat_ns ? line_ns : beat_ns;
}

/** For recovery.c. @return 0: the run is ended */
static int wait_for(struct job *job, int fd)
{
    const int exit_code = job->exit_code;
    struct pollfd set[4];

    do {
        set[0] = watch(fd, POLLIN);
        set[1] = watch(job->signal_fd, POLLIN);
        set[2] = watch(job->out.fd, job->out.waiting.used > 0 ? POLLOUT : 0);
        set[3] = watch(job->err->fd, job->err->waiting.used > 0 ? POLLOUT : 0);
        poll(set, 4, timeout_ms(waiting_due_ns(job), clock_now_ns()));
        remote_say_alive(&job->remote);
        take_signals(job);
        write_sinks(job, clock_now_ns());
    } while (job->exit_code == exit_code && set[0].revents == 0);
    if (job->exit_code != exit_code) {
        job_say(job, "it was ended while it looked for a checkpoint");
        return 0;
    }
    return 1;
}

/** From the first agent to the end of the last node. */
static void run_nodes(struct job *job)
{
    job->exit_code = remote_open(job, job->plan);
    if (job->exit_code == 0) {
        job_start_nodes(job, job->plan);
        run_loop(job);
    }
}

int launch(const struct launch_plan *plan)
{
    struct job job;
    int exit_code = job_open(&job, plan);

    if (exit_code != 0) {
        return exit_code;
    }
    job.exit_code = recovery_open(&job);
    if (job.exit_code == 0) {
        web_start(&job);
        do {
            run_nodes(&job);
        } while (recovery_go_back(&job, wait_for));
        saving_tell_restart(&job);
        progress_close(&job);
        rendezvous_tell_strangers(&job);
    }
    finish(&job);
    return job.exit_code;
}
