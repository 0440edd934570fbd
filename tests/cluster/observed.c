// SPDX-License-Identifier: BSD-3-Clause
//
// Looks at the observer of its own node while the run lives, in a child of fork(),
// and after tm_end(). Prints what it finds; exits with 1 at the first thing that is
// not as it should be. Argument: milliseconds to live before that.
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <teamster.h>
#include <unistd.h>

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);    \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

/** A line of a file of a kernel thread that begins with `key`. */
static int find_line(const char *thread, const char *name, const char *key,
                     char *line, int size)
{
    char path[512];
    FILE *file;
    int found = 0;

    snprintf(path, sizeof path, "/proc/self/task/%s/%s", thread, name);
    file = fopen(path, "r");
    while (file != NULL && !found && fgets(line, size, file) != NULL) {
        found = strncmp(line, key, strlen(key)) == 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

/** Count the kernel threads of this process of a name.
 * @param[out] number  of the last one */
static int count(const char *name, char *number)
{
    DIR *list = opendir("/proc/self/task");
    struct dirent *entry;
    char line[64];
    int n = 0;

    CHECK(list != NULL);
    while ((entry = readdir(list)) != NULL) {
        if (find_line(entry->d_name, "comm", name, line, sizeof line)) {
            snprintf(number, 64, "%.63s", entry->d_name);
            n++;
        }
    }
    closedir(list);
    return n;
}

/** The kernel's threads for io_uring have the name of who made them for a moment. */
static int count_comes_to(int n, char *number)
{
    for (int i = 0; i < 5000; i++) {
        if (count("tm-observer", number) == n) {
            return 1;
        }
        usleep(1000);
    }
    return 0;
}

static unsigned bit(int signal)
{
    return 1u << (signal - 1);
}

static void check_signals(const char *thread)
{
    // Nobody can block the first two, and in a program with shared memory nobody
    // the last two, which tell of faults.
    unsigned never = bit(SIGKILL) | bit(SIGSTOP) | bit(SIGSEGV) | bit(SIGBUS);
    char line[128];
    unsigned long long blocked;

    CHECK(find_line(thread, "status", "SigBlk:", line, sizeof line));
    blocked = strtoull(line + 7, NULL, 16);
    CHECK((((unsigned)blocked | never) & 0x7fffffff) == 0x7fffffff);
}

static void check_child(void)
{
    char number[64];
    int status;
    pid_t child = fork();

    CHECK(child >= 0);
    if (child == 0) {
        CHECK(count("tm-observer", number) == 0);
        exit(42); // with all exit functions
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

int main(int argc, char **argv)
{
    char number[64];
    int n_expected;

    CHECK(tm_init(&argc, &argv) == TM_OK);
    n_expected = tm_node_count() > 1;
    usleep((useconds_t)(argc > 1 ? atoi(argv[1]) : 0) * 1000);
    CHECK(count_comes_to(n_expected, number));
    if (n_expected > 0) {
        check_signals(number);
    }
    check_child();
    CHECK(count_comes_to(n_expected, number));
    CHECK(tm_end() == TM_OK);
    CHECK(count_comes_to(0, number));
    CHECK(count("tm-service", number) == 0);
    puts("all well");
    return 0;
}
