// SPDX-License-Identifier: BSD-3-Clause
#ifndef TESTS_CLUSTER_CHANGES_H
#define TESTS_CLUSTER_CHANGES_H

/* What a program can change outside of its memory, by name. In a folder of this process's own, which is
 * gone afterwards. */
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void close_it(int fd)
{
    if (fd < 0) {
        abort();
    }
    close(fd);
}

static void close_stream(FILE *file)
{
    if (file == NULL) {
        abort();
    }
    fclose(file);
}

static void change_by_open(void)
{
    close_it(open("file", O_WRONLY | O_CREAT, 0600));
}

static void change_by_openat(void)
{
    close_it(openat(AT_FDCWD, "file", O_RDWR | O_CREAT, 0600));
}

static void change_by_creat(void)
{
    close_it(creat("file", 0600));
}

static void change_by_fopen(void)
{
    close_stream(fopen("file", "w"));
}

static void change_by_append(void)
{
    close_stream(fopen("file", "a"));
}

static void change_by_update(void)
{
    close_stream(fopen("there", "r+"));
}

static void change_by_freopen(void)
{
    close_stream(freopen("file", "w", fopen("/dev/null", "r")));
}

static void change_by_mkstemp(void)
{
    char name[] = "file.XXXXXX";

    close_it(mkstemp(name));
}

static void change_by_mkostemp(void)
{
    char name[] = "file.XXXXXX";

    close_it(mkostemp(name, O_CLOEXEC));
}

static void change_by_truncate(void)
{
    (void)!truncate("there", 1);
}

static void change_by_rename(void)
{
    (void)!rename("there", "file");
}

static void change_by_renameat(void)
{
    (void)!renameat(AT_FDCWD, "there", AT_FDCWD, "file");
}

static void change_by_unlink(void)
{
    (void)!unlink("there");
}

static void change_by_unlinkat(void)
{
    (void)!unlinkat(AT_FDCWD, "there", 0);
}

static void change_by_remove(void)
{
    (void)!remove("there");
}

static void change_by_mkdir(void)
{
    (void)!mkdir("folder", 0700);
}

static void change_by_rmdir(void)
{
    (void)!rmdir("empty");
}

static void change_by_link(void)
{
    (void)!link("there", "file");
}

static void change_by_symlink(void)
{
    (void)!symlink("there", "file");
}

static void change_by_chmod(void)
{
    (void)!chmod("there", 0600);
}

static void change_by_mkfifo(void)
{
    (void)!mkfifo("fifo", 0600);
}

static void change_by_system(void)
{
    (void)!system("exit 0");
}

static void change_by_popen(void)
{
    FILE *file = popen("exit 0", "r");

    if (file == NULL || pclose(file) != 0) {
        abort();
    }
}

static void change_by_spawn(void)
{
    char *words[] = {"true", NULL};
    pid_t pid;

    if (posix_spawnp(&pid, "true", NULL, NULL, words, environ) == 0) {
        waitpid(pid, NULL, 0);
    }
}

static void change_by_fork(void)
{
    const pid_t pid = fork();

    if (pid == 0) {
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

// Nobody listens there.
static void change_by_connect(void)
{
    const struct sockaddr_in name = {.sin_family = AF_INET,
                                     .sin_port = htons(1),
                                     .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    (void)connect(fd, (const struct sockaddr *)&name, sizeof name);
    close_it(fd);
}

static void change_by_accept(void)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    (void)listen(fd, 1);
    (void)accept(fd, NULL, NULL);
    close_it(fd);
}

// That is no change.
static void change_by_reading(void)
{
    struct stat state;

    close_it(open("there", O_RDONLY));
    close_stream(fopen("there", "r"));
    close_it(open("/dev/null", O_WRONLY));
    close_stream(fopen("/dev/null", "w"));
    (void)!stat("there", &state);
}

static const struct change {
    const char *name;
    void (*make)(void);
} changes[] = {
    {"open", change_by_open},         {"openat", change_by_openat},
    {"creat", change_by_creat},       {"fopen", change_by_fopen},
    {"append", change_by_append},     {"update", change_by_update},
    {"freopen", change_by_freopen},   {"mkstemp", change_by_mkstemp},
    {"mkostemp", change_by_mkostemp}, {"truncate", change_by_truncate},
    {"rename", change_by_rename},     {"renameat", change_by_renameat},
    {"unlink", change_by_unlink},     {"unlinkat", change_by_unlinkat},
    {"remove", change_by_remove},     {"mkdir", change_by_mkdir},
    {"rmdir", change_by_rmdir},       {"link", change_by_link},
    {"symlink", change_by_symlink},   {"system", change_by_system},
    {"popen", change_by_popen},       {"posix_spawn", change_by_spawn},
    {"fork", change_by_fork},         {"connect", change_by_connect},
    {"accept", change_by_accept},     {"chmod", change_by_chmod},
    {"mkfifo", change_by_mkfifo},     {"reading", change_by_reading},
};

/** Do what has that name. @return 0: there is no such */
static int change_outside(const char *name)
{
    for (unsigned i = 0; i < sizeof changes / sizeof *changes; i++) {
        if (strcmp(changes[i].name, name) == 0) {
            changes[i].make();
            return 1;
        }
    }
    return 0;
}

#endif
