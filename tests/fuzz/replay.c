// SPDX-License-Identifier: BSD-3-Clause
//
// A fuzzer without libFuzzer: runs it on files and on all files of folders, each
// whole, and cut off at every length up to some. For builds with any compiler.
//
//   fuzz_NAME FILE|FOLDER...
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { MOST = 1 << 20, CUTS = 512 };

static unsigned n_files;

static void run(const uint8_t *bytes, size_t size)
{
    // A copy of its own: what reads behind its end is found.
    uint8_t *copy = malloc(size + (size == 0));

    FUZZ_CHECK(copy != NULL);
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static int run_file(const char *path)
{
    static uint8_t bytes[MOST];
    FILE *file = fopen(path, "rbe");
    size_t size;

    if (file == NULL) {
        perror(path);
        return 1;
    }
    size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t cut = 0; cut < size && cut < CUTS; cut++) {
        run(bytes, cut);
    }
    run(bytes, size);
    n_files++;
    return 0;
}

static int run_folder(const char *path, DIR *folder)
{
    const struct dirent *entry;
    int failed = 0;

    while ((entry = readdir(folder)) != NULL) {
        char name[4096];

        if (entry->d_name[0] != '.') {
            snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
            failed |= run_file(name);
        }
    }
    closedir(folder);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = 0;

    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);

        failed |=
            folder != NULL ? run_folder(argv[i], folder) : run_file(argv[i]);
    }
    printf("%u files\n", n_files);
    return failed || n_files == 0;
}
