// SPDX-License-Identifier: BSD-3-Clause
// The command line of `teamster report`. What it writes is made in planner/.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "command.h"
#include "command_options.h"
#include "planner/compare_runs.h"
#include "planner/report_page.h"
#include "planner/run_advice.h"
#include "report_file.h"

static const char command[] = "teamster report";

void report_print_help(void)
{
    puts("Usage: teamster report RECORD [-o FILE]\n"
         "       teamster report A B [-o FILE.html]\n"
         "\n"
         "Say where the time of a run went, or compare two runs. RECORD, A and "
         "B are files\n"
         "that runs have written; pages will do as well as records; \"-\" is "
         "standard input.\n"
         "\n"
         "  teamster run --report=a.json -n 4 ./jacobi\n"
         "  teamster report a.json                   efficiency and advice, as "
         "text\n"
         "  teamster report a.json -o a.html         the page for a browser\n"
         "  teamster report a.html b.html            which run was faster, by "
         "how much\n"
         "\n"
         "  -o, --output=FILE  write there; FILE.html is a page, FILE.json the "
         "record\n"
         "  -h, --help         print this\n"
         "\n"
         "docs/report.md explains the numbers and has the keys of a record.\n"
         "Exit codes: 64 a wrong option, 73 no output, 78 a wrong file.");
}

struct request {
    const char *files[2];
    unsigned n_files;
    const char *output; ///< NULL: text on standard output
    int wants_help;
};

static int refuse(const char *why)
{
    fprintf(stderr, "%s: %s\n", command, why);
    return EXIT_USAGE;
}

static int take_output(const char *path, struct request *request)
{
    const size_t n = strlen(path);

    request->output = path;
    if (report_file_is_page(path) ||
        (n > 5 && strcmp(path + n - 5, ".json") == 0)) {
        return 0;
    }
    return refuse("--output is to be FILE.html, a page, or FILE.json, a "
                  "record");
}

static int take_files(int argc, char **argv, struct request *request)
{
    request->n_files = (unsigned)(argc - optind);
    if (request->n_files == 0) {
        return refuse("which run? \"teamster run --report=FILE.json\" writes "
                      "a record; see \"teamster report --help\".");
    }
    if (request->n_files > 2) {
        return refuse("at most two runs at a time");
    }
    request->files[0] = argv[optind];
    request->files[1] = argv[optind + (request->n_files == 2)];
    if (request->n_files == 2 && request->output != NULL &&
        !report_file_is_page(request->output)) {
        return refuse("what is written of two runs is a page: --output=FILE."
                      "html");
    }
    return 0;
}

static int take_option(void *owner, int letter)
{
    struct request *request = owner;

    switch (letter) {
    case 'o':
        return take_output(optarg, request);
    case 'h':
        request->wants_help = 1;
        return OPTIONS_END;
    default:
        return OPTION_UNKNOWN;
    }
}

static int parse(int argc, char **argv, struct request *request)
{
    static const struct option names[] = {
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    static const struct command_options options = {command, "o:h", names,
                                                   take_option};
    const int exit_code = command_options_take(&options, request, argc, argv);

    return exit_code != 0 || request->wants_help
               ? exit_code
               : take_files(argc, argv, request);
}

static void print_advice(const struct record *record)
{
    struct efficiency_sums sums;
    struct efficiency efficiency;
    struct advice advice[N_FACTORS];
    char line[4096];

    printf("%s: %.3f s, %zu nodes, %.0f iterations\n", record->program,
           record->seconds, record->n_nodes, record->n_iterations);
    if (!run_record_efficiency(record, &sums, &efficiency)) {
        puts("nothing was computed");
        return;
    }
    advice_make(record, &efficiency, advice);
    printf("%-14s %6.1f %%\n", "efficiency", 100 * efficiency.total);
    for (unsigned i = 0; i < N_FACTORS; i++) {
        printf("%-14s %6.1f %%  %s\n", factor_name((enum factor)i),
               100 * factor_value(&efficiency, (enum factor)i), advice[i].text);
    }
    if (advice_command(record, advice, line, sizeof line)) {
        printf("to run it again as is advised:\n%s\n", line);
    }
}

static void put_comparison(FILE *file, const void *comparison)
{
    page_write_comparison(file, comparison);
}

static void print_comparison(const struct comparison *comparison)
{
    char verdict[2048];

    compare_print(stdout, comparison);
    compare_say(comparison, verdict, sizeof verdict);
    printf("\n%s\n", verdict);
}

static int answer(const struct request *request, const struct record *records)
{
    struct comparison comparison;

    if (request->n_files == 1) {
        if (request->output == NULL) {
            print_advice(&records[0]);
            return 0;
        }
        return report_file_put_record(command, request->output, &records[0]);
    }
    compare_runs(&comparison, request->files[0], &records[0], request->files[1],
                 &records[1]);
    print_comparison(&comparison);
    return request->output == NULL
               ? 0
               : report_file_put(command, request->output, put_comparison,
                                 &comparison);
}

static int read_records(const struct request *request, struct record *records)
{
    char error[512];

    for (unsigned i = 0; i < request->n_files; i++) {
        const tm_status status = run_record_read(request->files[i], &records[i],
                                                 error, sizeof error);

        if (status != TM_OK) {
            fprintf(stderr, "%s: %s\n", command, error);
            return EXIT_CONFIG;
        }
    }
    return 0;
}

int command_report(int argc, char **argv)
{
    struct request request = {0};
    struct record records[2] = {0};
    int exit_code = parse(argc, argv, &request);

    if (exit_code == 0 && request.wants_help) {
        report_print_help();
        return 0;
    }
    if (exit_code == 0) {
        exit_code = read_records(&request, records);
    }
    if (exit_code == 0) {
        exit_code = answer(&request, records);
    }
    run_record_release(&records[0]);
    run_record_release(&records[1]);
    return exit_code;
}
