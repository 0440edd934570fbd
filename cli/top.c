// SPDX-License-Identifier: BSD-3-Clause
// teamster top: looks at a running job, by its control socket.
#include "top.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "command.h"
#include "control.h"

void top_print_help(void)
{
    puts("Usage: teamster top [--once] [JOB]\n"
         "\n"
         "Look at a running job: what its nodes do, second by second. JOB is "
         "a number that\n"
         "\"teamster ps\" lists; without one, it is the only job of yours on "
         "this machine.\n"
         "The job need not have been started in any special way, and goes on "
         "when you stop\n"
         "looking (q, or Ctrl-C).\n"
         "\n"
         "  teamster top\n"
         "  teamster top 4711\n"
         "  teamster top --once 4711     one table as text, for a script\n"
         "\n"
         "Each node has a row, with its threads' time in the last second: "
         "computing, waiting\n"
         "for pages of other nodes, waiting in calls (barriers, mutexes, ...), "
         "waiting for\n"
         "the disk. What is left is time in which a thread could have run, or "
         "was being\n"
         "served. Memory is shared memory in use, and what the node may use if "
         "it has a\n"
         "limit. Where output is no terminal, the table is printed each "
         "second.\n"
         "\n"
         "      --once    print the table once, and end\n"
         "  -h, --help    print this help\n"
         "\n"
         "Exit codes: 0 you have stopped looking, or the job has ended; 64 "
         "there is no such\n"
         "job.");
}

/** Lines of a launcher, as they come. */
struct lines {
    int fd;
    char *text;
    size_t used;
    size_t room;
};

// ---- which job

/** The jobs that there are. */
struct found {
    unsigned n;
    int fd; ///< of the first
    long job;
};

static void take_job(void *owner, const char *job, int fd)
{
    struct found *found = owner;

    if (found->n++ > 0) {
        close(fd);
        return;
    }
    found->fd = fd;
    found->job = strtol(job, NULL, 10);
}

/** The only one. @return a connected socket, -1: told */
static int connect_to_only_job(long *job)
{
    struct found found = {.fd = -1};

    jobs_each(take_job, &found);
    if (found.n == 1) {
        *job = found.job;
        return found.fd;
    }
    if (found.n == 0) {
        fprintf(stderr, "teamster top: no job of yours is running on this "
                        "machine\n");
    } else {
        fprintf(stderr, "teamster top: which job? \"teamster ps\" lists them; "
                        "then: teamster top JOB\n");
        close(found.fd);
    }
    return -1;
}

// ---- lines

/** @return 0 if there will be no more */
static int read_more(struct lines *lines)
{
    ssize_t n;

    if (lines->used + 4096 > lines->room) {
        lines->room = 2 * lines->room + 8192;
        lines->text = realloc(lines->text, lines->room);
        if (lines->text == NULL) {
            return 0;
        }
    }
    n = read(lines->fd, lines->text + lines->used,
             lines->room - lines->used - 1);
    if (n <= 0) {
        return n < 0 && errno == EINTR;
    }
    lines->used += (size_t)n;
    lines->text[lines->used] = '\0';
    return 1;
}

/** Take all whole lines. @return 1 if one of them told of the job */
static int take_lines(struct lines *lines, struct top *top)
{
    char *begin = lines->text;
    char *end;
    int is_new = 0;

    while ((end = memchr(begin, '\n',
                         lines->used - (size_t)(begin - lines->text))) !=
           NULL) {
        *end = '\0';
        is_new |= top_take(top, begin);
        begin = end + 1;
    }
    lines->used -= (size_t)(begin - lines->text);
    memmove(lines->text, begin, lines->used);
    return is_new;
}

// ---- looking

/** How one looks. */
struct look {
    int is_once;
    int has_view;
};

static void show(const struct look *look, const struct top *top)
{
    if (look->has_view) {
        top_view_draw(top);
    } else if (top->before.seconds > 0) { // rates need two
        top_print(stdout, top);
    }
}

/** Until the job ends, or one has seen enough. */
static void watch(const struct look *look, struct lines *lines, struct top *top)
{
    struct pollfd set[] = {
        {.fd = lines->fd, .events = POLLIN},
        {.fd = look->has_view ? STDIN_FILENO : -1, .events = POLLIN},
    };

    for (;;) {
        if (poll(set, 2, -1) < 0 && errno != EINTR) {
            return;
        }
        if (look->has_view && top_view_key()) {
            return;
        }
        if (set[0].revents != 0) {
            if (!read_more(lines)) {
                return;
            }
            if (take_lines(lines, top)) {
                show(look, top);
            }
        } else if (look->has_view && top->now.seconds > 0) {
            show(look, top); // the terminal may have another size
        }
        if (look->is_once && top->before.seconds > 0) {
            return;
        }
    }
}

/** @return 0 if it is one that ends the command, with an exit code */
static int read_options(int argc, char **argv, struct look *look,
                        int *exit_code)
{
    static const struct option options[] = {
        {"once", no_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    static char name[] = "teamster top"; // getopt_long() begins errors so
    int option;

    argv[0] = name;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h') {
            top_print_help();
            *exit_code = 0;
            return 0;
        }
        if (option != 'o') {
            fprintf(stderr, "Try \"teamster top --help\".\n");
            *exit_code = EXIT_USAGE;
            return 0;
        }
        look->is_once = 1;
    }
    if (argc - optind > 1) {
        fprintf(stderr, "teamster top: one job at a time\n");
        *exit_code = EXIT_USAGE;
        return 0;
    }
    return 1;
}

int command_top(int argc, char **argv)
{
    struct look look = {0};
    struct lines lines = {.fd = -1};
    struct top top = {0};
    int exit_code = 0;

    if (!read_options(argc, argv, &look, &exit_code)) {
        return exit_code;
    }
    if (argv[optind] == NULL) {
        lines.fd = connect_to_only_job(&top.job_number);
    } else {
        lines.fd = job_find("top", argv[optind]);
        top.job_number = strtol(argv[optind], NULL, 10);
    }
    if (lines.fd < 0) {
        return EXIT_USAGE;
    }
    if (job_ask(lines.fd, "watch")) {
        look.has_view = !look.is_once && top_view_open();
        if (!look.has_view && !look.is_once && isatty(STDOUT_FILENO) &&
            top_view_lacks() != NULL) {
            fprintf(stderr, "teamster top: %s: a table each second\n",
                    top_view_lacks());
        }
        watch(&look, &lines, &top);
        if (look.has_view) {
            top_view_close();
        }
    }
    close(lines.fd);
    free(lines.text);
    top_release(&top);
    return 0;
}
