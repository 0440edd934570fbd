// SPDX-License-Identifier: BSD-3-Clause
// teamster attach: the live page of --web for a job that was started without it.
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "command.h"
#include "control.h"
#include "os/descriptor.h"
#include "web.h"

void attach_print_help(void)
{
    puts(
        "Usage: teamster attach [--web=ADDRESS:PORT] [JOB]\n"
        "\n"
        "Show a running job as a live page for a browser, as \"teamster run "
        "--web\" does,\n"
        "whatever it was started with. JOB is a number that \"teamster ps\" "
        "lists; without\n"
        "one, it is the only job of yours on this machine. The page is there "
        "until the job\n"
        "ends, or Ctrl-C; the job goes on.\n"
        "\n"
        "  teamster attach\n"
        "  teamster attach --web=8080 4711\n"
        "\n"
        "Its address, with a token that nobody else knows, is printed. What "
        "was before is\n"
        "not known: history and decisions begin now.\n"
        "\n"
        "      --web=ADDRESS:PORT\n"
        "                where the page is to be; auto (the default): any free "
        "port of\n"
        "                this machine, seen from here only; PORT: that one; "
        "with an\n"
        "                ADDRESS others may look, too, if they know the token\n"
        "  -h, --help    print this help\n"
        "\n"
        "Exit codes: 0 the job has ended, or you have stopped looking; 64 "
        "there is no such\n"
        "job; 78 the page cannot be there.");
}

// @return 0 if it is one that ends the command, with an exit code
static int read_options(int argc, char **argv, struct web_address *at,
                        int *exit_code)
{
    static const struct option options[] = {
        {"web", required_argument, NULL, 'w'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    static char name[] = "teamster attach"; // getopt_long() begins errors so
    int option;

    argv[0] = name;
    *exit_code = EXIT_USAGE;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h') {
            attach_print_help();
            *exit_code = 0;
            return 0;
        }
        if (option != 'w') {
            fprintf(stderr, "Try \"teamster attach --help\".\n");
            return 0;
        }
        if (!web_address_read(optarg, at) || !at->is_wanted) {
            fprintf(stderr,
                    "teamster attach: --web is '%s'; allowed: auto, PORT, or "
                    "ADDRESS:PORT with an address in digits\n",
                    optarg);
            return 0;
        }
    }
    if (argc - optind > 1) {
        fprintf(stderr, "teamster attach: one job at a time\n");
        return 0;
    }
    return 1;
}

static int serve(struct web *web, int job_fd, long number)
{
    if (!job_ask(job_fd, "watch closely")) {
        close(job_fd);
        descriptor_drop(&web->fd);
        fprintf(stderr, "teamster attach: job %ld has ended\n", number);
        return 0;
    }
    return web_serve("teamster attach", web, job_fd, number, stdout);
}

int command_attach(int argc, char **argv)
{
    struct web_address at;
    struct web web;
    long number;
    int exit_code;
    int job_fd;

    (void)web_address_read("auto", &at); // it is allowed
    if (!read_options(argc, argv, &at, &exit_code)) {
        return exit_code;
    }
    job_fd = job_find_or_only("attach", argv[optind], &number);
    if (job_fd < 0) {
        return EXIT_USAGE;
    }
    exit_code = web_listen("teamster attach", &at, &web);
    if (exit_code != 0) {
        close(job_fd);
        return exit_code;
    }
    return serve(&web, job_fd, number);
}
