// SPDX-License-Identifier: BSD-3-Clause
// A true control group with a limit, where the system lets us make one: a child
// enters it and must find that limit, and that what it has filled is no longer
// available. Skipped elsewhere.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/memory_watch.h"

enum { SKIPPED = 77 };

#define MIB ((uint64_t)1 << 20)
#define LIMIT (96 * MIB)
#define FILLED (40 * MIB)

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);    \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

static const struct {
    const char *above;
    const char *limit;
} places[] = {
    {"/sys/fs/cgroup", "memory.max"},
    {"/sys/fs/cgroup/unified", "memory.max"},
    {"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
};

static int put_number(const char *folder, const char *name, uint64_t number)
{
    char path[512];
    FILE *file;
    int done;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "re+");
    if (file == NULL) {
        return 0;
    }
    done = fprintf(file, "%ju\n", (uintmax_t)number) > 0;
    return fclose(file) == 0 && done;
}

static int make_group(char *folder, size_t size)
{
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(folder, size, "%s/memory_cgroup_test.%d", places[i].above,
                 (int)getpid());
        if (mkdir(folder, 0700) != 0) {
            continue;
        }
        if (put_number(folder, places[i].limit, LIMIT)) {
            return 1;
        }
        rmdir(folder);
    }
    return 0;
}

static void look(struct memory_watch *watch, struct memory_state *state,
                 const char *folder)
{
    CHECK(memory_open(watch, "") == TM_OK);
    memory_read(watch, state);
    CHECK(state->total.bytes == LIMIT);
    CHECK(state->total.group != NULL);
    CHECK(strcmp(state->total.group->folder, folder) == 0);
    CHECK(state->available.group == state->total.group);
    CHECK(state->available.bytes <= LIMIT);
}

// In the child.
static void check_group(const char *folder)
{
    struct memory_watch watch;
    struct memory_state before;
    struct memory_state after;
    uint64_t fell;
    char *block;

    look(&watch, &before, folder);
    block = mmap(NULL, FILLED, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(block != MAP_FAILED);
    memset(block, 1, FILLED);
    look(&watch, &after, folder);
    CHECK(after.available.bytes < before.available.bytes);
    fell = before.available.bytes - after.available.bytes;
    // The kernel charges in batches.
    CHECK(fell > FILLED - 4 * MIB && fell < FILLED + 4 * MIB);
}

static int run_in(const char *folder)
{
    pid_t child = fork();
    int status;

    CHECK(child >= 0);
    if (child == 0) {
        if (!put_number(folder, "cgroup.procs", (uint64_t)getpid())) {
            fprintf(stderr, "skipped: cannot enter %s: %s\n", folder,
                    strerror(errno));
            _exit(SKIPPED);
        }
        check_group(folder);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(void)
{
    char folder[256];
    int code;

    if (!make_group(folder, sizeof folder)) {
        fprintf(stderr, "skipped: no control group with a limit of memory can "
                        "be made here\n");
        return SKIPPED;
    }
    code = run_in(folder);
    if (rmdir(folder) != 0) {
        perror(folder);
        code = 1;
    }
    return code;
}
