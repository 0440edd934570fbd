// SPDX-License-Identifier: BSD-3-Clause
#include "common.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Options without a letter of their own.
enum { INIT = 256, SEQUENTIAL };

static const char help_text[] =
    "\n"
    "  -n, --size N        rows and columns of the grid (default %zu)\n"
    "  -i, --iterations K  how many times the grid is gone over (%u)\n"
    "  -t, --threads T     threads, each with a block of rows (%u)\n"
    "      --init WHO      who writes the start values: 'threads', each "
    "thread\n"
    "                      its own rows, or 'root', main() all of them\n"
    "                      (%s)\n"
    "  -r, --residual R    every R iterations, how much the grid still "
    "changes\n"
    "  -v, --verify        compute it again without Teamster and compare all\n"
    "                      bits; exit 1 if any differs\n"
    "  -s, --stats         what each node did, as a table\n"
    "      --sequential    without Teamster: plain memory, one thread\n"
    "  -h, --help          this text\n"
    "\n"
    "Alone it runs on this machine as one node. On four nodes:\n"
    "\n"
    "  teamster run -n 4 %s --size 2048 --verify --stats\n";

static void help_print(const struct settings *settings, const char *program,
                       const char *about)
{
    printf("Usage: %s [OPTION]...\n%s", program, about);
    printf(help_text, settings->size, settings->n_iterations,
           settings->n_threads, settings->init_on_root ? "root" : "threads",
           program);
}

static unsigned number_parse(const char *program, const char *option,
                             const char *text, unsigned least, unsigned most)
{
    char *end = NULL;
    const long long number = strtoll(text, &end, 10);

    if (end == text || *end != '\0' || number < least || number > most) {
        fprintf(stderr, "%s: --%s is '%s'; it must be a number from %u to %u\n",
                program, option, text, least, most);
        exit(EXIT_USAGE);
    }
    return (unsigned)number;
}

static bool init_is_on_root(const char *program, const char *text)
{
    if (strcmp(text, "root") != 0 && strcmp(text, "threads") != 0) {
        fprintf(stderr, "%s: --init is '%s'; it must be 'root' or 'threads'\n",
                program, text);
        exit(EXIT_USAGE);
    }
    return text[0] == 'r';
}

// Take one option into the settings. @param letter  of a known one, not help
static void option_take(struct settings *settings, const char *program,
                        int letter)
{
    switch (letter) {
    case 'n':
        settings->size = number_parse(program, "size", optarg, 1, 60000);
        break;
    case 'i':
        settings->n_iterations =
            number_parse(program, "iterations", optarg, 1, 1000000);
        break;
    case 't':
        settings->n_threads =
            number_parse(program, "threads", optarg, 1, 30000);
        break;
    case 'r':
        settings->residual_every =
            number_parse(program, "residual", optarg, 1, 1000000);
        break;
    case INIT:
        settings->init_on_root = init_is_on_root(program, optarg);
        break;
    case SEQUENTIAL:
        settings->sequential = true;
        break;
    case 'v':
        settings->verify = true;
        break;
    case 's':
        settings->stats = true;
        break;
    default: // getopt_long() has said what is wrong
        exit(EXIT_USAGE);
    }
}

void settings_parse(struct settings *settings, int argc, char **argv,
                    const char *about)
{
    static const struct option options[] = {
        {"size", required_argument, NULL, 'n'},
        {"iterations", required_argument, NULL, 'i'},
        {"threads", required_argument, NULL, 't'},
        {"init", required_argument, NULL, INIT},
        {"residual", required_argument, NULL, 'r'},
        {"verify", no_argument, NULL, 'v'},
        {"stats", no_argument, NULL, 's'},
        {"sequential", no_argument, NULL, SEQUENTIAL},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    const struct settings defaults = *settings;
    int letter;

    while ((letter = getopt_long(argc, argv, "n:i:t:r:vsh", options, NULL)) !=
           -1) {
        if (letter == 'h') {
            help_print(&defaults, argv[0], about);
            exit(EXIT_SUCCESS);
        }
        option_take(settings, argv[0], letter);
    }
    if (optind < argc) {
        fprintf(stderr, "%s: '%s' is not an option; see --help\n", argv[0],
                argv[optind]);
        exit(EXIT_USAGE);
    }
}

void *shared_memory(const char *name, size_t size)
{
    void *block = tm_alloc(size, &(tm_alloc_attr){.name = name});

    if (block == NULL) {
        exit(EXIT_MEMORY);
    }
    return block;
}

void *plain_memory(size_t size)
{
    void *block = malloc(size);

    if (block == NULL) {
        fprintf(stderr, "out of memory: %zu bytes\n", size);
        exit(EXIT_MEMORY);
    }
    return block;
}

void threads_run(size_t n_threads, void *(*start)(void *))
{
    tm_thread *threads = plain_memory(n_threads * sizeof *threads);

    for (size_t i = 0; i < n_threads; i++) {
        const tm_status status =
            tm_thread_create(&threads[i], NULL, start, (void *)i);

        if (status != TM_OK) {
            fprintf(stderr, "thread %zu: %s\n", i, tm_strerror(status));
            exit(EXIT_MEMORY);
        }
    }
    for (size_t i = 0; i < n_threads; i++) {
        tm_thread_join(threads[i], NULL);
    }
    free(threads);
}

void nodes_print(const unsigned *node_of, size_t n_threads)
{
    unsigned threads_on[TM_MAX_NODES] = {0};

    for (size_t i = 0; i < n_threads; i++) {
        threads_on[node_of[i]]++;
    }
    printf("\n  node  threads  moved in  computing s   faults  pages fetched  "
           "bytes sent\n");
    for (unsigned node = 0; node < tm_node_count(); node++) {
        struct tm_node_stats stats;

        if (tm_stats(node, &stats) != TM_OK) {
            continue;
        }
        printf("  %4u  %7u  %8" PRIu64 "  %11.3f  %7" PRIu64 "  %13" PRIu64
               "  %10" PRIu64 "\n",
               node, threads_on[node], stats.threads_in,
               (double)stats.compute_ns * 1e-9,
               stats.read_faults + stats.write_faults, stats.pages_fetched,
               stats.bytes_sent);
    }
    printf("\n");
}

static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

bool is_identical(const double *result, const double *expected, size_t n)
{
    size_t i = 0;

    while (i < n && bits_of(result[i]) == bits_of(expected[i])) {
        i++;
    }
    if (i < n) {
        printf("result: WRONG, first in number %zu: %.17g; the sequential "
               "program has %.17g\n",
               i, result[i], expected[i]);
        return false;
    }
    printf("result: identical to the sequential program's\n");
    return true;
}
