// SPDX-License-Identifier: BSD-3-Clause
// teamster ckpt: what checkpoints a folder has.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/ensure.h"
#include "base/log.h"
#include "command.h"
#include "os/checkpoint_manifest.h"

void ckpt_print_help(void)
{
    puts("Usage: teamster ckpt show DIR\n"
         "\n"
         "Show the checkpoints that runs with --checkpoint=DIR have written, "
         "newest first:\n"
         "when, after which iteration, of how many nodes and threads, how "
         "long, how much of\n"
         "that was written for it and is not shared with an earlier one, and "
         "whether they are\n"
         "whole. All files are read for that.\n"
         "\n"
         "  teamster run -n 4 --checkpoint=saved,every=60s ./jacobi\n"
         "  teamster ckpt show saved\n"
         "  teamster run -n 2 --restart=saved\n"
         "\n"
         "  -h, --help         print this\n"
         "\n"
         "docs/checkpoints.md says what is in a checkpoint.\n"
         "Exit codes: 64 a wrong word, 78 there is no checkpoint that is "
         "whole.");
}

static void print_words(const struct checkpoint_manifest *manifest)
{
    printf("program:");
    for (size_t at = 0; at < manifest->arguments_size;
         at += strlen(manifest->arguments + at) + 1) {
        printf(" %s", manifest->arguments + at);
    }
    printf("\n\n");
}

static void print_time(uint64_t time_s)
{
    const time_t when = (time_t)time_s;
    char text[32];
    struct tm local;

    if (localtime_r(&when, &local) == NULL ||
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local) == 0) {
        text[0] = '\0';
    }
    printf("%-19s", text);
}

// @return 1 it is whole
static int print_generation(const char *folder, uint64_t generation,
                            struct checkpoint_manifest *manifest, int *has_head)
{
    const char *why = checkpoint_load(folder, generation, manifest);
    char name[CHECKPOINT_NAME_MAX];

    if (why != NULL) {
        printf("%10" PRIu64 "  torn: %s\n", generation, why);
        return 0;
    }
    why = checkpoint_check_files(folder, manifest, name);
    if (!*has_head) {
        *has_head = 1;
        print_words(manifest);
        printf("generation  when                 iteration  nodes  threads  "
               "      MB       new\n");
    }
    printf("%10" PRIu64 "  ", generation);
    print_time(manifest->time_s);
    printf("  %9" PRIu64 "  %5u  %7" PRIu64 "  %8.1f  %8.1f  ",
           manifest->n_ended, manifest->n_nodes, manifest->n_threads,
           (double)checkpoint_bytes(manifest) * 1e-6,
           (double)checkpoint_new_bytes(manifest) * 1e-6);
    if (why != NULL) {
        printf("torn: %s: %s\n", name, why);
    } else {
        puts("whole");
    }
    return why == NULL;
}

static int show(const char *folder)
{
    struct checkpoint_manifest *manifest = calloc(1, sizeof *manifest);
    uint64_t *generations;
    size_t n = checkpoint_list(folder, &generations);
    int is_any = 0;
    int has_head = 0;

    ensure_memory(manifest != NULL);
    if (n == 0) {
        fprintf(stderr, "teamster ckpt: %s: %s\n", folder,
                access(folder, R_OK | X_OK) != 0 ? "it cannot be read"
                                                 : "there is no checkpoint");
    }
    for (size_t i = 0; i < n; i++) {
        is_any |= print_generation(folder, generations[i], manifest, &has_head);
    }
    free(generations);
    free(manifest);
    return is_any ? 0 : EXIT_CONFIG;
}

int command_ckpt(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            ckpt_print_help();
            return 0;
        }
    }
    if (argc != 3 || strcmp(argv[1], "show") != 0) {
        fprintf(stderr, "teamster ckpt: what of which folder? teamster ckpt "
                        "show DIR\n");
        return EXIT_USAGE;
    }
    return show(argv[2]);
}
