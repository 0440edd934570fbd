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
#include "job_lines.h"

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

static int take_line(void *owner, const char *line)
{
    return top_take(owner, line);
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
static void watch(const struct look *look, struct job_lines *lines,
                  struct top *top)
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
            if (!job_lines_read(lines)) {
                return;
            }
            if (job_lines_take(lines, take_line, top)) {
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
    struct job_lines lines = {.fd = -1};
    struct top top = {0};
    int exit_code = 0;

    if (!read_options(argc, argv, &look, &exit_code)) {
        return exit_code;
    }
    lines.fd = job_find_or_only("top", argv[optind], &top.job_number);
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
    job_lines_close(&lines);
    top_release(&top);
    return 0;
}
