// SPDX-License-Identifier: BSD-3-Clause
#ifndef TESTS_CLUSTER_CHANGES_H
#define TESTS_CLUSTER_CHANGES_H

/* What a program can change outside of its memory, by name. In a folder of this process's own, which is
 * gone afterwards. */
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>
#include <utime.h>

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

// What some of these are called with.
static char text[64];
static char *const none[] = {NULL};
static const struct sockaddr_un nobody = {.sun_family = AF_UNIX,
                                          .sun_path = "no-such"};
static void *const no_name = (void *)(uintptr_t)&nobody;

static int open_to_read(void)
{
    return open("there", O_RDONLY);
}

static int datagrams(void)
{
    return socket(AF_UNIX, SOCK_DGRAM, 0);
}

#define BY(name, ...)                                                          \
    static void change_by_##name(void)                                         \
    {                                                                          \
        (void)!(__VA_ARGS__);                                                  \
    }

BY(renameat2, renameat2(AT_FDCWD, "there", AT_FDCWD, "file", 0))
BY(linkat, linkat(AT_FDCWD, "there", AT_FDCWD, "file", 0))
BY(symlinkat, symlinkat("there", AT_FDCWD, "file"))
BY(mkdirat, mkdirat(AT_FDCWD, "folder", 0700))
BY(mkdtemp, mkdtemp(strcpy(text, "folder.XXXXXX")))
BY(mkfifo, mkfifo("fifo", 0600))
BY(mkfifoat, mkfifoat(AT_FDCWD, "fifo", 0600))
BY(mknod, mknod("fifo", S_IFIFO | 0600, 0))
BY(mknodat, mknodat(AT_FDCWD, "fifo", S_IFIFO | 0600, 0))
BY(chmod, chmod("there", 0600))
BY(fchmod, fchmod(open_to_read(), 0600))
BY(fchmodat, fchmodat(AT_FDCWD, "there", 0600, 0))
BY(chown, chown("there", getuid(), getgid()))
BY(lchown, lchown("there", getuid(), getgid()))
BY(fchown, fchown(open_to_read(), getuid(), getgid()))
BY(fchownat, fchownat(AT_FDCWD, "there", getuid(), getgid(), 0))
BY(utime, utime("there", NULL))
BY(utimes, utimes("there", NULL))
BY(utimensat, utimensat(AT_FDCWD, "there", NULL, 0))
BY(futimens, futimens(open_to_read(), NULL))
BY(shm_open, shm_open("/teamster-no-such", O_RDONLY, 0))
BY(shm_unlink, shm_unlink("/teamster-no-such"))
BY(sem_open, sem_open("/teamster-no-such", 0))
BY(sem_unlink, sem_unlink("/teamster-no-such"))
BY(mq_open, mq_open("/teamster-no-such", O_RDONLY))
BY(mq_unlink, mq_unlink("/teamster-no-such"))
BY(shmget, shmget(1, 0, 0))
BY(semget, semget(1, 0, 0))
BY(msgget, msgget(1, 0))
BY(execv, execv("no-such", none))
BY(execve, execve("no-such", none, none))
BY(execvp, execvp("no-such", none))
BY(execvpe, execvpe("no-such", none, none))
BY(fexecve, fexecve(-1, none, none))
BY(execveat, execveat(AT_FDCWD, "no-such", none, none, 0))
BY(execl, execl("no-such", "a", "b", (char *)NULL))
BY(execlp, execlp("no-such", "a", "b", (char *)NULL))
BY(execle, execle("no-such", "a", "b", (char *)NULL, none))
BY(sendto, sendto(datagrams(), "", 1, 0, no_name, sizeof nobody))
BY(sendmsg,
   sendmsg(datagrams(),
           &(struct msghdr){.msg_name = no_name, .msg_namelen = sizeof nobody},
           0))
BY(sendmmsg, sendmmsg(datagrams(), NULL, 0, 0))
BY(bind, bind(datagrams(), no_name, sizeof(sa_family_t)))

static void change_by_syslog(void)
{
    syslog(LOG_DEBUG, "%s", "a test");
}

// Nobody writes there.
static void change_by_pipe(void)
{
    close_it(open("pipe", O_RDONLY | O_NONBLOCK));
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

static void end_child(pid_t pid)
{
    if (pid == 0) {
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

static void change_by_fork(void)
{
    end_child(fork());
}

static void change_by__Fork(void)
{
    end_child(_Fork());
}

static void change_by_vfork(void)
{
    end_child(vfork());
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
    {"open", change_by_open},           {"openat", change_by_openat},
    {"creat", change_by_creat},         {"fopen", change_by_fopen},
    {"append", change_by_append},       {"update", change_by_update},
    {"freopen", change_by_freopen},     {"mkstemp", change_by_mkstemp},
    {"mkostemp", change_by_mkostemp},   {"truncate", change_by_truncate},
    {"rename", change_by_rename},       {"renameat", change_by_renameat},
    {"unlink", change_by_unlink},       {"unlinkat", change_by_unlinkat},
    {"remove", change_by_remove},       {"mkdir", change_by_mkdir},
    {"rmdir", change_by_rmdir},         {"link", change_by_link},
    {"symlink", change_by_symlink},     {"system", change_by_system},
    {"popen", change_by_popen},         {"posix_spawn", change_by_spawn},
    {"fork", change_by_fork},           {"connect", change_by_connect},
    {"accept", change_by_accept},       {"syslog", change_by_syslog},
    {"pipe", change_by_pipe},           {"reading", change_by_reading},
    {"_Fork", change_by__Fork},         {"vfork", change_by_vfork},
    {"renameat2", change_by_renameat2}, {"linkat", change_by_linkat},
    {"symlinkat", change_by_symlinkat}, {"mkdirat", change_by_mkdirat},
    {"mkdtemp", change_by_mkdtemp},     {"mkfifo", change_by_mkfifo},
    {"mkfifoat", change_by_mkfifoat},   {"mknod", change_by_mknod},
    {"mknodat", change_by_mknodat},     {"chmod", change_by_chmod},
    {"fchmod", change_by_fchmod},       {"fchmodat", change_by_fchmodat},
    {"chown", change_by_chown},         {"lchown", change_by_lchown},
    {"fchown", change_by_fchown},       {"fchownat", change_by_fchownat},
    {"utime", change_by_utime},         {"utimes", change_by_utimes},
    {"utimensat", change_by_utimensat}, {"futimens", change_by_futimens},
    {"shm_open", change_by_shm_open},   {"shm_unlink", change_by_shm_unlink},
    {"sem_open", change_by_sem_open},   {"sem_unlink", change_by_sem_unlink},
    {"mq_open", change_by_mq_open},     {"mq_unlink", change_by_mq_unlink},
    {"shmget", change_by_shmget},       {"semget", change_by_semget},
    {"msgget", change_by_msgget},       {"execv", change_by_execv},
    {"execve", change_by_execve},       {"execvp", change_by_execvp},
    {"execvpe", change_by_execvpe},     {"fexecve", change_by_fexecve},
    {"execveat", change_by_execveat},   {"execl", change_by_execl},
    {"execlp", change_by_execlp},       {"execle", change_by_execle},
    {"sendto", change_by_sendto},       {"sendmsg", change_by_sendmsg},
    {"sendmmsg", change_by_sendmmsg},   {"bind", change_by_bind},
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
