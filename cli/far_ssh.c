// SPDX-License-Identifier: BSD-3-Clause
// The ssh of a host: how it is started, and what it complains about.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "job.h"

#define CONNECT_S "5"
#define WORDS_MAX 64
#define WORDS_KEPT 8192

static int is_openssh(const char *program)
{
    const char *slash = strrchr(program, '/');

    return strcmp(slash != NULL ? slash + 1 : program, "ssh") == 0;
}

/** The words of the command for a host; `text` holds them. */
static void make_command(char *text, const char *host, char *remote,
                         char **words)
{
    unsigned n = 0;
    char *rest = NULL;
    int knows_options;

    for (char *word = strtok_r(text, " ", &rest);
         word != NULL && n < WORDS_MAX - 8; word = strtok_r(NULL, " ", &rest)) {
        words[n++] = word;
    }
    knows_options = n > 0 && is_openssh(words[0]);
    if (knows_options) {
        words[n++] = "-T";
        words[n++] = "-oBatchMode=yes";
        words[n++] = "-oConnectTimeout=" CONNECT_S;
    }
    words[n++] = (char *)host;
    words[n++] = remote;
    words[n] = NULL;
}

_Noreturn static void become_ssh(const struct job *job, const char *ssh,
                                 const char *host, int ends[3])
{
    char *words[WORDS_MAX];
    char program[1024];
    char remote[1200];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);

    setpgid(0, 0); // Ctrl-C is for the launcher
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    program[length > 0 ? length : 0] = '\0';
    snprintf(remote, sizeof remote, "exec '%s' agent", program);
    make_command(strdup(ssh), host, remote, words);
    for (int i = 0; i < 3; i++) {
        dup2(ends[i], i);
    }
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &job->old_signals, NULL);
    execvp(words[0], words);
    fprintf(stderr, "%s: %s\n", words[0], strerror(errno));
    _exit(127);
}

int far_start_ssh(struct job *job, struct far_host *host, const char *ssh)
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

void far_last_words(struct far_host *host, char *line, size_t size)
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

void far_hear_words(struct far_host *host)
{
    char bytes[1024];
    ssize_t size;

    while (host->words_fd >= 0 &&
           (size = read(host->words_fd, bytes, sizeof bytes)) >= 0) {
        if (size == 0) {
            close(host->words_fd);
            host->words_fd = -1;
        } else if (host->words.used < WORDS_KEPT) {
            buffer_append(&host->words, bytes, (size_t)size);
        }
    }
}
