// SPDX-License-Identifier: BSD-3-Clause
// The ssh of a host, or srun in its place: how it is started, and what it complains
// about.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "job.h"
#include "os/descriptor.h"

#define CONNECT_S "5"
#define WORDS_MAX 64
#define WORDS_KEPT 8192

/** Options for the programs that are known to have them. srun makes a step of one
 * task beside the others, with all that the allocation has on that host; what the
 * task writes comes byte by byte (--unbuffered). */
static const struct reacher {
    const char *program;
    const char *options[8]; ///< up to NULL
    const char *host;       ///< the option that names it; "": the name alone
    int is_shell;           ///< it hands its last word to a shell there
} reachers[] = {
    {"ssh", {"-T", "-oBatchMode=yes", "-oConnectTimeout=" CONNECT_S}, "", 1},
    {"srun",
     {"--quiet", "--overlap", "--nodes=1", "--ntasks=1", "--cpu-bind=none",
      "--mpi=none", "--unbuffered"},
     "--nodelist=",
     0},
    {"", {NULL}, "", 1}, // any other
};

/** @param command  may have options behind its name */
static const struct reacher *reacher_of(const char *command)
{
    const struct reacher *found = reachers;
    size_t length = strcspn(command, " ");
    const char *name = command + length;

    while (name > command && name[-1] != '/') {
        name--;
    }
    length -= (size_t)(name - command);
    while (found->program[0] != '\0' &&
           (strlen(found->program) != length ||
            strncmp(found->program, name, length) != 0)) {
        found++;
    }
    return found;
}

const char *remote_host_option(const char *command)
{
    return reacher_of(command)->host;
}

/** The words of the command for a host; `text` holds them. */
static void make_command(char *text, const char *host, const char *program,
                         char **words)
{
    static char named[320];
    static char command[1200];
    const struct reacher *reacher = reacher_of(text);
    unsigned n = 0;
    char *rest = NULL;

    for (char *word = strtok_r(text, " ", &rest);
         word != NULL && n < WORDS_MAX - 16;
         word = strtok_r(NULL, " ", &rest)) {
        words[n++] = word;
    }
    for (unsigned i = 0; reacher->options[i] != NULL; i++) {
        words[n++] = (char *)reacher->options[i];
    }
    snprintf(named, sizeof named, "%s%s", reacher->host, host);
    words[n++] = named;
    snprintf(command, sizeof command,
             reacher->is_shell ? "exec '%s' agent" : "%s", program);
    words[n++] = command;
    if (!reacher->is_shell) {
        words[n++] = "agent";
        unsetenv("SSH_CONNECTION"); // of this session, not of the agent's
    }
    words[n] = NULL;
}

_Noreturn static void become_ssh(const struct job *job, const char *ssh,
                                 const char *host, int ends[3])
{
    char *words[WORDS_MAX];
    char program[1024];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);

    setpgid(0, 0); // Ctrl-C is for the launcher
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    program[length > 0 ? length : 0] = '\0';
    make_command(strdup(ssh), host, program, words);
    for (int i = 0; i < 3; i++) {
        dup2(ends[i], i);
    }
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &job->old_signals, NULL);
    execvp(words[0], words);
    fprintf(stderr, "%s: %s\n", words[0], strerror(errno));
    _exit(127);
}

int remote_start_ssh(struct job *job, struct remote_host *host, const char *ssh)
{
    int pipes[3][2];
    int ends[3];

    for (int i = 0; i < 3; i++) {
        if (pipe2(pipes[i], O_CLOEXEC) != 0) {
            return -1; // what is open goes with the launcher
        }
        ends[i] = pipes[i][i != 0];
    }
    host->ssh = fork();
    if (host->ssh < 0) {
        return -1;
    }
    if (host->ssh == 0) {
        become_ssh(job, ssh, host->name, ends);
    }
    for (int i = 0; i < 3; i++) {
        close(ends[i]);
    }
    mux_open(&host->mux, pipes[1][0], pipes[0][1]);
    host->words_fd = pipes[2][0];
    fcntl(host->words_fd, F_SETFL, O_NONBLOCK);
    keeper_add(&job->keeper, host->ssh);
    return 0;
}

void remote_last_words(struct remote_host *host, char *line, size_t size)
{
    const char *bytes = buffer_front(&host->words);
    size_t end = host->words.used;
    size_t start;

    while (end > 0 && strchr("\r\n ", bytes[end - 1]) != NULL) {
        end--;
    }
    start = end;
    while (start > 0 && bytes[start - 1] != '\n') {
        start--;
    }
    snprintf(line, size, "%.*s", (int)(end - start),
             end > start ? bytes + start : "");
}

void remote_hear_words(struct remote_host *host)
{
    char bytes[1024];
    ssize_t size;

    while (host->words_fd >= 0 &&
           (size = read(host->words_fd, bytes, sizeof bytes)) >= 0) {
        if (size == 0) {
            descriptor_drop(&host->words_fd);
        } else if (host->words.used < WORDS_KEPT) {
            buffer_append(&host->words, bytes, (size_t)size);
        }
    }
}
