// SPDX-License-Identifier: BSD-3-Clause
#include "restart.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/ensure.h"
#include "base/log.h"
#include "os/checkpoint_manifest.h"

static void suggest(const char *variable, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, value);
    setenv(variable, text, 0);
}

int restart_prepare(const char *folder, char ***argv)
{
    // It is kept, for the program's words are in it.
    struct checkpoint_manifest *manifest = calloc(1, sizeof *manifest);
    const char *why;

    ensure_memory(manifest != NULL);
    // The root looks at the files, and may choose an older one, of the same run.
    why = checkpoint_newest(folder, manifest);
    if (why != NULL) {
        fprintf(stderr, "teamster run: --restart=%s: %s\n", folder, why);
        free(manifest);
        return EXIT_CONFIG;
    }
    suggest("TEAMSTER_STACK_SIZE", manifest->stack_size);
    suggest("TEAMSTER_MAX_THREADS", manifest->max_threads);
    suggest("TEAMSTER_SPACE", manifest->space);
    if ((*argv)[0] != NULL || manifest->arguments_size == 0) {
        free(manifest);
        return 0;
    }
    *argv = checkpoint_arguments(manifest);
    ensure_memory(*argv != NULL);
    return 0;
}
