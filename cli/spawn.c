// SPDX-License-Identifier: BSD-3-Clause
//
// One node's process, from fork() to execve():
// - a process group of its own, so that Ctrl-C reaches the launcher alone and
//   everything a node starts can be ended with it;
// - SIGKILL if the launcher dies (the kernel's second net, see cli/keeper.c);
// - no address randomisation: threads and pointers move between nodes;
// - descriptors 0, 1, 2, and the control socket, and an agent's for signs of life, at
//   numbers that scripts between the launcher and the program do not use; no others.
// A pipe that execve() closes tells whether it worked.
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/bootstrap.h"
#include "os/descriptor.h"
#include "os/processor_group.h"

/** Of a node, in thousandths of the memory there is: oom_score_adj of proc(5). */
#define NODE_OOM_SCORE 100

/** From where on sockets go. */
#define LINK_NUMBER 100

/** Both ends of everything between the launcher and one node. */
struct channels {
    int out[2];
    int err[2];
    int link[2];   ///< [0] the launcher's
    int report[2]; ///< a failure, which execve() closes
};

/** Why the new process does not run the program. */
struct failure {
    int error; ///< errno; 0: it does
    int is_of_program;
};

/** Of core files, for nodes; see spawn_keep_cores_away(). */
static struct rlimit core_limit;
static int has_core_limit;

void spawn_keep_cores_away(void)
{
    struct rlimit none;

    if (!has_core_limit && getrlimit(RLIMIT_CORE, &core_limit) == 0) {
        has_core_limit = 1;
        none = core_limit;
        none.rlim_cur = 0;
        setrlimit(RLIMIT_CORE, &none);
    }
}

static void close_pair(int ends[2])
{
    descriptor_drop(&ends[0]);
    descriptor_drop(&ends[1]);
}

static void channels_close(struct channels *channels)
{
    close_pair(channels->out);
    close_pair(channels->err);
    close_pair(channels->link);
    close_pair(channels->report);
}

static int channels_open(struct channels *channels)
{
    *channels = (struct channels){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    if (pipe2(channels->out, O_CLOEXEC) != 0 ||
        pipe2(channels->err, O_CLOEXEC) != 0 ||
        pipe2(channels->report, O_CLOEXEC) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channels->link)) {
        int error = errno;

        channels_close(channels);
        return error;
    }
    fcntl(channels->out[0], F_SETFL, O_NONBLOCK);
    fcntl(channels->err[0], F_SETFL, O_NONBLOCK);
    return 0;
}

static void set_number(const char *variable, int number)
{
    char text[16];

    snprintf(text, sizeof text, "%d", number);
    setenv(variable, text, 1);
}

/** Without a text a run around this one may have left a value. */
static void set_text(const char *variable, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        setenv(variable, text, 1);
    } else {
        unsetenv(variable);
    }
}

static void set_place(const struct spawn_request *request)
{
    char place[64] = "";

    if (request->device != NULL) {
        snprintf(place, sizeof place, "%u %s", request->n_here,
                 request->device);
    }
    set_text("TEAMSTER_PLACE", place);
}

static void end_with_launcher(pid_t launcher)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher) { // it died before that
        _exit(1);
    }
}

/** As high as scripts do not use, if the limit allows such a number. */
static int keep_descriptor(int fd)
{
    int kept = fcntl(fd, F_DUPFD, LINK_NUMBER);

    return kept >= 0 ? kept : dup(fd);
}

/** @return 0, -1 with errno set */
static int set_descriptors(const struct spawn_request *request,
                           const struct channels *channels)
{
    int input = request->input >= 0 ? request->input : descriptor_open_null();
    int link = keep_descriptor(channels->link[1]);
    int life = request->life >= 0 ? keep_descriptor(request->life) : -1;

    if (input < 0 || link < 0 || (life < 0 && request->life >= 0)) {
        return -1;
    }
    dup2(input, STDIN_FILENO);
    dup2(channels->out[1], STDOUT_FILENO);
    dup2(channels->err[1], STDERR_FILENO);
    close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
    fcntl(link, F_SETFD, 0);
    set_number("TEAMSTER_BOOT_FD", link);
    unsetenv("TEAMSTER_LIFE_FD");
    if (life >= 0) {
        fcntl(life, F_SETFD, 0);
        set_number("TEAMSTER_LIFE_FD", life);
    }
    return 0;
}

/** Where memory ends, the kernel is to take a node, which can be named, rather than the
 * launcher or the agent, which would name it. Whoever has set more keeps it. */
static void offer_to_kernel(void)
{
    int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    char text[16] = "";

    if (fd >= 0 && read(fd, text, sizeof text - 1) > 0 &&
        atoi(text) < NODE_OOM_SCORE) {
        snprintf(text, sizeof text, "%d", NODE_OOM_SCORE);
        (void)!pwrite(fd, text, strlen(text), 0);
    }
    descriptor_close(fd);
}

/** Tell errno to spawn_node(), and end. */
_Noreturn static void report_failure(const struct channels *channels,
                                     int is_of_program)
{
    const struct failure failure = {errno, is_of_program};
    ssize_t written = write(channels->report[1], &failure, sizeof failure);

    _exit(written > 0 ? 127 : 126);
}

_Noreturn static void become_node(const struct spawn_request *request,
                                  const struct channels *channels,
                                  pid_t launcher)
{
    int persona = personality(0xffffffff);

    setpgid(0, 0);
    end_with_launcher(launcher);
    if (persona >= 0) {
        // If it is refused (containers do), tm_init() says what that means.
        personality((unsigned long)persona | ADDR_NO_RANDOMIZE);
    }
    offer_to_kernel();
    if (set_descriptors(request, channels) != 0) {
        report_failure(channels, 0);
    }
    set_number("TEAMSTER_NODE", (int)request->node);
    set_number("TEAMSTER_NODES", (int)request->n_nodes);
    set_text("TEAMSTER_NAME", NULL);
    set_text("TEAMSTER_STACK", NULL);
    if (request->node == 0) {
        bootstrap_lower_stack();
    }
    if (request->host != NULL) {
        host_export(request->host);
    }
    set_text("TEAMSTER_FOLDER", request->folder);
    set_place(request);
    set_text("TEAMSTER_JOINS", NULL);
    if (request->joins > 0) {
        set_number("TEAMSTER_JOINS", (int)request->joins);
    }
    if (has_core_limit) {
        setrlimit(RLIMIT_CORE, &core_limit);
    }
    unsetenv("TEAMSTER_SSH"); // how hosts are reached is the launcher's affair
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, request->signals, NULL);
    execvp(request->argv[0], request->argv);
    report_failure(channels, 1);
}

static struct failure read_report(int fd)
{
    struct failure failure = {0};
    ssize_t size;

    do {
        size = read(fd, &failure, sizeof failure);
    } while (size < 0 && errno == EINTR);
    return size == sizeof failure ? failure : (struct failure){0};
}

/** Wait until the new process runs the program. @return 0, or errno of *what */
static int await_program(const struct channels *channels, const char **what)
{
    const struct failure failure = read_report(channels->report[0]);

    *what = failure.is_of_program ? SPAWN_PROGRAM : "keep descriptors";
    return failure.error;
}

int spawn_node(const struct spawn_request *request, struct spawned *spawned,
               const char **what)
{
    struct channels channels;
    pid_t launcher = getpid();
    int error;

    descriptor_make_room(BOOT_DESCRIPTORS(request->n_nodes));
    error = channels_open(&channels);
    *what = "make pipes";
    if (error != 0) {
        return error;
    }
    *what = "fork";
    spawned->pid = fork();
    if (spawned->pid < 0) {
        error = errno;
        channels_close(&channels);
        return error;
    }
    if (spawned->pid == 0) {
        become_node(request, &channels, launcher);
    }
    setpgid(spawned->pid, spawned->pid); // whoever is first
    descriptor_drop(&channels.report[1]);
    if (request->group != NULL &&
        processor_group_enter(request->group, spawned->pid) != TM_OK) {
        error = errno;
        *what = SPAWN_GROUP;
        kill(spawned->pid, SIGKILL);
    } else {
        error = await_program(&channels, what);
    }
    if (error != 0) {
        waitpid(spawned->pid, NULL, 0);
        channels_close(&channels);
        return error;
    }
    *spawned = (struct spawned){spawned->pid, channels.out[0], channels.err[0],
                                channels.link[0]};
    close(channels.out[1]);
    close(channels.err[1]);
    close(channels.link[1]);
    close(channels.report[0]);
    return 0;
}
