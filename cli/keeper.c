// SPDX-License-Identifier: BSD-3-Clause
//
// Nothing is left of a run, whatever ends it. Four nets, each for what slips
// through the one before:
//
//   the control socket    a node that sees its end of file ends in order
//   PR_SET_PDEATHSIG      a node is killed when the launcher is (cli/spawn.c)
//   process groups        what a node forked is in its group; the launcher kills
//                         the groups at the end of a run, and if the launcher
//                         itself was killed with -9, the keeper does
//   PR_SET_CHILD_SUBREAPER   what has left the group (daemons) becomes the
//                         launcher's child when its parent ends; the launcher
//                         kills those too
//
// And no segment of shared memory: segments.c. And no control group that was made to slow a
// node down: os/processor_group.h.
//
// The keeper is in a session of its own, where no signal from the terminal finds
// it, and holds no descriptor but its pipe, the folder's lock, and standard error, on which nobody
// else can say that the launcher has died, or that the kernel has killed an agent for memory. It
// acts at once when the launcher dies, when the nodes' numbers are still theirs or their groups'.
#include "keeper.h"

#include "control.h"
#include "oom.h"
#include "segments.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/status.h"
#include "os/descriptor.h"
#include "os/processor_group.h"
#include "os/text_file.h"

/** The number that says: all is well, go. */
#define FAREWELL 0

/** The number that says: of the nodes until now none is left. */
#define FORGET (-1)

/** Where it keeps the folder's lock, besides its pipe. */
#define LOCK_FD 1

static int is_of_agent(const struct keeper *keeper)
{
    return keeper->job == 0;
}

/** Before the nodes are killed: the kernel may still look for memory. */
static void explain_end(const struct keeper *keeper, const char *advice,
                        const struct oom_watch *oom)
{
    char how[700];

    if (!is_of_agent(keeper)) {
        dprintf(STDERR_FILENO,
                "teamster run: the launcher, process %ld, has been killed, so "
                "all nodes end%s\n",
                keeper->job, advice);
    } else if (oom_explain(oom, how, sizeof how)) {
        dprintf(STDERR_FILENO, "the agent was %s\n", how);
    }
}

_Noreturn static void keep(int from_launcher, const struct keeper *keeper,
                           const char *advice)
{
    static pid_t nodes[TM_MAX_NODES];
    struct oom_watch oom = {0};
    unsigned n_nodes = 0;
    pid_t pid;

    if (is_of_agent(keeper)) {
        oom_note(&oom, getpid()); // the agent's group
    }
    while (read(from_launcher, &pid, sizeof pid) == sizeof pid) {
        if (pid == FAREWELL) {
            _exit(0);
        }
        if (pid == FORGET) {
            n_nodes = 0;
        } else if (n_nodes < TM_MAX_NODES) {
            nodes[n_nodes++] = pid;
        }
    }
    explain_end(keeper, advice, &oom);
    for (unsigned i = 0; i < n_nodes; i++) {
        kill(-nodes[i], SIGKILL);
    }
    for (int i = 0; i < 100 && processor_groups_remove(keeper->job) > 0; i++) {
        usleep(10 * 1000); // who was killed ends
    }
    control_remove(keeper->control);
    segments_remove_folder(keeper->folder);
    _exit(0);
}

_Noreturn static void become_keeper(int from_launcher,
                                    const struct keeper *keeper,
                                    const char *advice)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    prctl(PR_SET_NAME, "teamster-keeper");
    dup2(from_launcher, STDIN_FILENO);
    if (keeper->lock >= 0) {
        dup2(keeper->lock, LOCK_FD);
    }
    if (keeper->lock < 0) {
        close(LOCK_FD);
    }
    close_range(STDERR_FILENO + 1, ~0u, 0);
    if (chdir("/") != 0) {
        _exit(1);
    }
    keep(STDIN_FILENO, keeper, advice);
}

int keeper_start(struct keeper *keeper, long job, const char *advice)
{
    int ends[2];
    int error;

    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 ||
        pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    keeper->lock = segments_make_folder(keeper->folder, sizeof keeper->folder);
    keeper->control[0] = '\0';
    keeper->job = job;
    if (job != 0) {
        control_name(job, keeper->control);
    }
    keeper->pid = fork();
    error = errno;
    if (keeper->pid == 0) {
        become_keeper(ends[0], keeper, advice);
    }
    close(ends[0]);
    keeper->to_keeper = ends[1];
    if (keeper->pid < 0) {
        segments_remove_folder(keeper->folder);
        descriptor_close(keeper->lock);
        close(ends[1]);
        errno = error;
        return -1;
    }
    return 0;
}

static void tell(const struct keeper *keeper, pid_t pid)
{
    ssize_t written;

    do {
        written = write(keeper->to_keeper, &pid, sizeof pid);
    } while (written < 0 && errno == EINTR);
}

void keeper_add(const struct keeper *keeper, pid_t node)
{
    tell(keeper, node);
}

/** The parent of a process, -1 if there is no such process. */
static pid_t parent_of(pid_t pid)
{
    char text[512];
    char path[32];
    const char *behind_name;
    int parent = -1;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    text_file_read(path, text, sizeof text);
    behind_name = strrchr(text, ')'); // the name may hold brackets and spaces
    if (behind_name != NULL && sscanf(behind_name, ") %*c %d", &parent) != 1) {
        return -1;
    }
    return parent;
}

static int is_among(pid_t pid, const pid_t *pids, unsigned n)
{
    unsigned i = 0;

    while (i < n && pids[i] != pid) {
        i++;
    }
    return i < n;
}

/** Kill and reap every child but some. @return how many there were */
static unsigned kill_children(pid_t keeper, const pid_t *spared, unsigned n)
{
    DIR *processes = opendir("/proc");
    unsigned n_found = 0;
    struct dirent *entry;

    while (processes != NULL && (entry = readdir(processes)) != NULL) {
        pid_t pid = (pid_t)atoi(entry->d_name);

        if (!isdigit((unsigned char)entry->d_name[0]) || pid == keeper ||
            is_among(pid, spared, n) || parent_of(pid) != getpid()) {
            continue;
        }
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        n_found++;
    }
    if (processes != NULL) {
        closedir(processes);
    }
    return n_found;
}

static void end_children(const struct keeper *keeper, const pid_t *spared,
                         unsigned n)
{
    // Each round may turn up the children of those of the last one.
    while (kill_children(keeper->pid, spared, n) > 0) {
    }
}

void keeper_clear(const struct keeper *keeper, const pid_t *spared, unsigned n)
{
    end_children(keeper, spared, n);
    processor_groups_remove(keeper->job);
    segments_empty_folder(keeper->folder);
    tell(keeper, FORGET);
}

void keeper_finish(struct keeper *keeper)
{
    end_children(keeper, NULL, 0);
    processor_groups_remove(keeper->job);
    segments_remove_folder(keeper->folder);
    tell(keeper, FAREWELL);
    close(keeper->to_keeper);
    descriptor_close(keeper->lock);
    waitpid(keeper->pid, NULL, 0);
}
