// SPDX-License-Identifier: BSD-3-Clause
// teamster ps, add, remove, checkpoint: they ask a running job's launcher (control.h).
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "command.h"
#include "control.h"

/** A launcher that is stopped does not answer. */
#define PATIENCE_S 5

void ps_print_help(void)
{
    puts("Usage: teamster ps\n"
         "\n"
         "List your running jobs of this machine: the number that add and "
         "remove want,\n"
         "the program, its nodes, and the seconds since the start.");
}

void add_print_help(void)
{
    puts("Usage: teamster add JOB [HOST]\n"
         "\n"
         "Start one more node of a running job, on this machine or on HOST, "
         "and wait until\n"
         "it has joined. JOB is a number that \"teamster ps\" lists. The new "
         "node gets a\n"
         "share of the threads, which come at their next iteration ends "
         "(tm_iteration_end);\n"
         "with --policy=none or initial it gets those that are created from "
         "then on.\n"
         "\n"
         "  teamster add 4711        one more here\n"
         "  teamster add 4711 n5     one on n5, which need not have been part "
         "of it\n"
         "\n"
         "HOST is reached as \"teamster run\" reaches hosts: from where that "
         "runs, by its\n"
         "--ssh, with Teamster and the program at the same place. If the node "
         "cannot join,\n"
         "the job goes on without it.\n"
         "\n"
         "Exit codes: 0 it has joined; 69 HOST cannot be reached, or has no "
         "such program;\n"
         "75 the node, or the job, has ended; 76 the program is not the one "
         "that runs;\n"
         "64, 78 it cannot be done, with a reason.");
}

void remove_print_help(void)
{
    puts("Usage: teamster remove JOB NODE\n"
         "\n"
         "Have a node leave a running job, and wait until it has left. Its "
         "threads go to\n"
         "other nodes at their next iteration ends (tm_iteration_end), then "
         "its memory.\n"
         "The root, node 0, cannot leave. A node's own process does the same "
         "on SIGTERM.\n"
         "\n"
         "Exit codes: 0 it has left; 75 the job has ended; 64 it cannot be "
         "done, with a\n"
         "reason.");
}

void checkpoint_print_help(void)
{
    puts("Usage: teamster checkpoint [JOB]\n"
         "\n"
         "Have a running job that was started with --checkpoint=DIR write a "
         "checkpoint where\n"
         "its next iteration ends (tm_iteration_end), and wait until that is "
         "whole. JOB is\n"
         "a number that \"teamster ps\" lists; without one it is your only "
         "job. SIGUSR2 to\n"
         "the launcher does the same.\n"
         "\n"
         "Exit codes: 0 it is whole; 73 there is none, with the reason; 75 "
         "the job has\n"
         "ended; 78 it writes no checkpoints.");
}

int job_connect(const char *path)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error;

    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
        return fd;
    }
    error = errno;
    close(fd);
    if (error == ECONNREFUSED) { // its launcher is no more
        control_remove(path);
    }
    return -1;
}

int job_ask(int fd, const char *request)
{
    char line[CONTROL_LINE_MAX];
    int n = snprintf(line, sizeof line, "%s\n", request);

    return n < (int)sizeof line && send(fd, line, (size_t)n, MSG_NOSIGNAL) == n;
}

/** The last line of an answer. @param[out] text  [size]
 * @return the exit code, -1 if the other end has gone before that */
static int read_answer(int fd, char *text, size_t size)
{
    FILE *stream = fdopen(fd, "r");
    char line[600];
    int exit_code = -1;

    while (stream != NULL && exit_code < 0 &&
           fgets(line, sizeof line, stream) != NULL) {
        char *after;

        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '=') {
            exit_code = (int)strtol(line + 1, &after, 10);
            snprintf(text, size, "%s", after + (*after == ' '));
        } else {
            fprintf(stderr, "teamster: %s\n", line);
        }
    }
    if (stream != NULL) {
        fclose(stream);
    }
    return exit_code;
}

int job_find(const char *command, const char *job)
{
    char path[CONTROL_PATH_MAX];
    char folder[CONTROL_PATH_MAX];
    char *end;
    long number = strtol(job, &end, 10);
    int fd = -1;

    if (end != job && *end == '\0' &&
        control_folder(folder, sizeof folder, 0) &&
        (size_t)snprintf(path, sizeof path, "%s/%ld", folder, number) <
            sizeof path) {
        fd = job_connect(path);
    }
    if (fd < 0) {
        fprintf(stderr,
                "teamster %s: there is no job %s of yours on this machine; see "
                "\"teamster ps\"\n",
                command, job);
    }
    return fd;
}

void jobs_each(job_fn *take, void *owner)
{
    char folder[CONTROL_PATH_MAX];
    struct dirent *entry;
    DIR *files =
        control_folder(folder, sizeof folder, 0) ? opendir(folder) : NULL;

    while (files != NULL && (entry = readdir(files)) != NULL) {
        char path[CONTROL_PATH_MAX];
        int fd = -1;

        if (isdigit((unsigned char)entry->d_name[0]) &&
            (size_t)snprintf(path, sizeof path, "%s/%s", folder,
                             entry->d_name) < sizeof path) {
            fd = job_connect(path);
        }
        if (fd >= 0) {
            take(owner, entry->d_name, fd);
        }
    }
    if (files != NULL) {
        closedir(files);
    }
}

/** The jobs that there are. */
struct found {
    unsigned n;
    int fd; ///< of the first
    long job;
};

static void note_job(void *owner, const char *job, int fd)
{
    struct found *found = owner;

    if (found->n++ > 0) {
        close(fd);
        return;
    }
    found->fd = fd;
    found->job = strtol(job, NULL, 10);
}

static int find_only_job(const char *command, long *number)
{
    struct found found = {.fd = -1};

    jobs_each(note_job, &found);
    if (found.n == 1) {
        *number = found.job;
        return found.fd;
    }
    if (found.n == 0) {
        fprintf(stderr,
                "teamster %s: no job of yours is running on this machine\n",
                command);
    } else {
        fprintf(stderr,
                "teamster %s: which job? \"teamster ps\" lists them; then: "
                "teamster %s JOB\n",
                command, command);
        close(found.fd);
    }
    return -1;
}

int job_find_or_only(const char *command, const char *job, long *number)
{
    if (job == NULL) {
        return find_only_job(command, number);
    }
    *number = strtol(job, NULL, 10);
    return job_find(command, job);
}

static int wants_help(int argc, char **argv)
{
    return argc > 1 &&
           (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
}

// ---- ps

static void print_job(void *owner, const char *name, int fd)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    char text[600];
    char *fields[4] = {text, "", "", ""};
    unsigned *n = owner;

    (void)name;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (!job_ask(fd, "ps") || read_answer(fd, text, sizeof text) != 0) {
        return;
    }
    for (unsigned i = 1; i < 4; i++) {
        char *tab = strchr(fields[i - 1], '\t');

        if (tab == NULL) {
            return;
        }
        *tab = '\0';
        fields[i] = tab + 1;
    }
    if ((*n)++ == 0) {
        printf("%8s %6s %8s  %s\n", "JOB", "NODES", "SECONDS", "PROGRAM");
    }
    printf("%8s %6s %8s  %s\n", fields[0], fields[2], fields[3], fields[1]);
}

int command_ps(int argc, char **argv)
{
    unsigned n = 0;

    if (wants_help(argc, argv)) {
        ps_print_help();
        return 0;
    }
    if (argc > 1) {
        fprintf(stderr, "teamster ps: it takes no arguments\n");
        return EXIT_USAGE;
    }
    jobs_each(print_job, &n);
    if (n == 0) {
        printf("no jobs of yours are running on this machine\n");
    }
    return 0;
}

// ---- add, remove, checkpoint

static int ask_job(const char *command, const char *job, const char *request)
{
    char text[600] = "";
    int exit_code;
    long number = 0;
    int fd = job_find_or_only(command, job, &number);

    if (fd < 0) {
        return EXIT_USAGE;
    }
    if (!job_ask(fd, request)) {
        close(fd);
        exit_code = -1;
    } else {
        exit_code = read_answer(fd, text, sizeof text);
    }
    if (exit_code < 0) {
        fprintf(stderr, "teamster %s: job %ld has ended\n", command, number);
        return EXIT_NODE_LOST;
    }
    if (exit_code == 0) {
        printf("%s\n", text);
    } else {
        fprintf(stderr, "teamster %s: %s\n", command, text);
    }
    return exit_code;
}

int command_add(int argc, char **argv)
{
    char request[CONTROL_LINE_MAX - 2];

    if (wants_help(argc, argv)) {
        add_print_help();
        return 0;
    }
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "teamster add: which job? \"teamster ps\" lists them; "
                        "then: teamster add JOB [HOST]\n");
        return EXIT_USAGE;
    }
    if ((size_t)snprintf(request, sizeof request, "add%s%s",
                         argc == 3 ? " " : "",
                         argc == 3 ? argv[2] : "") >= sizeof request) {
        fprintf(stderr, "teamster add: that name is too long\n");
        return EXIT_USAGE;
    }
    return ask_job("add", argv[1], request);
}

int command_remove(int argc, char **argv)
{
    char request[64];

    if (wants_help(argc, argv)) {
        remove_print_help();
        return 0;
    }
    if (argc != 3) {
        fprintf(stderr, "teamster remove: which node of which job? \"teamster "
                        "ps\" lists jobs; then: teamster remove JOB NODE\n");
        return EXIT_USAGE;
    }
    if ((size_t)snprintf(request, sizeof request, "remove %s", argv[2]) >=
        sizeof request) {
        fprintf(stderr, "teamster remove: that is no node's number\n");
        return EXIT_USAGE;
    }
    return ask_job("remove", argv[1], request);
}

int command_checkpoint(int argc, char **argv)
{
    if (wants_help(argc, argv)) {
        checkpoint_print_help();
        return 0;
    }
    if (argc > 2) {
        fprintf(stderr, "teamster checkpoint: of one job at a time: teamster "
                        "checkpoint JOB\n");
        return EXIT_USAGE;
    }
    return ask_job("checkpoint", argc == 2 ? argv[1] : NULL, "checkpoint");
}
