// SPDX-License-Identifier: BSD-3-Clause
#include "fuzz.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

/** ensure() ends with _exit(), which libFuzzer would take for its own end. */
static void stop_here(int exit_code)
{
    (void)exit_code;
    abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    log_set_fatal_hook(stop_here);
    signal(SIGPIPE, SIG_IGN); // as launcher and agents do
    return 0;
}

void fuzz_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: %s does not hold\n", file, line, condition);
    abort();
}

FILE *fuzz_file(const void *bytes, size_t size)
{
    // An empty file has no bytes to read from.
    FILE *file = size > 0 ? fmemopen((void *)(uintptr_t)bytes, size, "r")
                          : fopen("/dev/null", "re");

    FUZZ_CHECK(file != NULL);
    return file;
}

char *fuzz_text(const void *bytes, size_t size)
{
    char *text = malloc(size + 1);

    FUZZ_CHECK(text != NULL);
    if (size > 0) {
        memcpy(text, bytes, size);
    }
    text[size] = '\0';
    return text;
}
