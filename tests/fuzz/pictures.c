// SPDX-License-Identifier: BSD-3-Clause
#include "pictures.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

_Noreturn void fuzz_exit(int exit_code);
FILE *fuzz_fopen(const char *path, const char *mode);
int fuzz_fclose(FILE *file);
void *plain_memory(size_t size);

static jmp_buf way_back;
static FILE *opened;
static void *allocated;

void fuzz_exit(int exit_code)
{
    FUZZ_CHECK(exit_code == 64);
    longjmp(way_back, 1);
}

FILE *fuzz_fopen(const char *path, const char *mode)
{
    FUZZ_CHECK(opened == NULL);
    opened = fopen(path, mode);
    return opened;
}

int fuzz_fclose(FILE *file)
{
    FUZZ_CHECK(file == opened);
    opened = NULL;
    return fclose(file);
}

/** That of apps/common.c, which needs all of Teamster. */
void *plain_memory(size_t size)
{
    FUZZ_CHECK(allocated == NULL);
    allocated = malloc(size);
    FUZZ_CHECK(allocated != NULL);
    return allocated;
}

void fuzz_reader(const uint8_t *bytes, size_t size,
                 void (*reader)(const char *path))
{
    int fd = memfd_create("picture", MFD_CLOEXEC);
    char path[64];

    FUZZ_CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (setjmp(way_back) == 0) {
        reader(path);
    }
    if (opened != NULL) {
        fclose(opened);
        opened = NULL;
    }
    free(allocated);
    allocated = NULL;
    close(fd);
}
