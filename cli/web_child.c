// SPDX-License-Identifier: BSD-3-Clause
//
// run --web: a process of its own serves, so that nothing that browsers do takes the launcher's
// time. It has the listening socket and one to the launcher, at which it is told what who
// watches is told; when that ends, it does. It is in a session of its own, as the keeper is:
// Ctrl-C is for the run.
#include "web.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job.h"
#include "os/descriptor.h"

enum {
    AT_LISTEN = 3, // descriptors of the new process
    AT_JOB = 4,
    NICE = 5,       // nodes go first
    WAIT_MS = 2000, // for its end; it takes less than half of that
    ROUND_MS = 10,
};

// @return 0 if it cannot be
static int set_descriptors(int listen_fd, int job_fd)
{
    const int null_fd = descriptor_open_null();
    const int listens = fcntl(listen_fd, F_DUPFD, AT_JOB + 1);
    const int job = fcntl(job_fd, F_DUPFD, AT_JOB + 1);

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (dup2(null_fd, fd) < 0) { // nobody waits for its output to end
            return 0;
        }
    }
    if (dup2(listens, AT_LISTEN) < 0 || dup2(job, AT_JOB) < 0) {
        return 0;
    }
    close_range(AT_JOB + 1, ~0u, 0);
    return 1;
}

_Noreturn static void become_server(const struct job *job, int job_fd,
                                    pid_t launcher)
{
    struct web web = *job->plan->web;

    setsid();
    prctl(PR_SET_NAME, "teamster-web");
    setpriority(PRIO_PROCESS, 0, NICE);
    sigprocmask(SIG_SETMASK, &job->old_signals, NULL);
    if (!set_descriptors(web.fd, job_fd)) {
        _exit(1);
    }
    web.fd = AT_LISTEN;
    _exit(web_serve("teamster run", &web, AT_JOB, (long)launcher, NULL));
}

void web_start(struct job *job)
{
    const pid_t launcher = getpid();
    int ends[2];

    if (job->plan->web == NULL) {
        return;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        job_say(job, "there is no live page: %s", strerror(errno));
        return;
    }
    job->web_pid = fork();
    if (job->web_pid == 0) {
        become_server(job, ends[1], launcher);
    }
    if (job->web_pid < 0) {
        job_say(job, "there is no live page: %s", strerror(errno));
        close(ends[0]);
    }
    close(ends[1]);
    close(job->plan->web->fd);
    if (job->web_pid < 0) {
        return;
    }
    if (!control_adopt(&job->control, ends[0])) {
        job_say(job, "there is no live page: too many watch this job already");
        return;
    }
    job_say(job, "live page: %s", job->plan->web->url);
}

void web_finish(struct job *job)
{
    if (job->web_pid <= 0) {
        return;
    }
    for (int ms = 0; ms < WAIT_MS; ms += ROUND_MS) {
        if (waitpid(job->web_pid, NULL, WNOHANG) == job->web_pid) {
            return;
        }
        usleep(ROUND_MS * 1000);
    }
    kill(job->web_pid, SIGKILL);
    waitpid(job->web_pid, NULL, 0);
}
