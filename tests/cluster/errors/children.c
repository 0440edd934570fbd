// SPDX-License-Identifier: BSD-3-Clause
//
// children NAME: a thread on the last node makes other processes, or has signals
// of its own. Prints "as it should be".
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <teamster.h>
#include <unistd.h>

#include "check.h"

static TM_SHARED int shared = 1;
static TM_SHARED tm_mutex mutex;

static int wait_for_child(pid_t child)
{
    int status;

    CHECK(child > 0);
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

static void programs(void)
{
    char line[64] = "";
    FILE *output;
    pid_t child;
    int status;

    CHECK(system("exit 7") == 7 << 8);
    output = popen("echo from a child", "r");
    CHECK(output != NULL && fgets(line, sizeof line, output) != NULL);
    CHECK(strcmp(line, "from a child\n") == 0);
    CHECK(pclose(output) == 0);
    // All descriptors but those of the test are closed on exec.
    CHECK(system("for fd in /proc/self/fd/*; do"
                 "  case $(readlink $fd) in *memfd*|*userfault*|*eventfd*)"
                 "  exit 1;; esac; done") == 0);
    CHECK(system("env | grep -q ^TEAMSTER_BOOT_FD") != 0);
    child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 9", (char *)NULL);
        _exit(1);
    }
    status = wait_for_child(child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 9);
}

static void calls_in_child(void)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        int is_refused = tm_mutex_lock(&mutex) == TM_ESTATE &&
                         tm_alloc(100, NULL) == NULL && tm_end() == TM_ESTATE;

        exit(is_refused ? 3 : 4);
    }
    status = wait_for_child(child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    CHECK(tm_mutex_lock(&mutex) == TM_OK);
    CHECK(tm_mutex_unlock(&mutex) == TM_OK);
}

static void touch_in_child(void)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        _exit(*(volatile int *)&shared);
    }
    status = wait_for_child(child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK(shared == 1);
}

static void *fork_and_return(void *unused)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        return unused; // ends the child
    }
    status = wait_for_child(child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return unused;
}

static void child_that_fails(void)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        abort();
    }
    status = wait_for_child(child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static volatile sig_atomic_t n_alarms;
static volatile sig_atomic_t n_users;

static void count(int signal)
{
    n_alarms += signal == SIGALRM;
    n_users += signal == SIGUSR1;
}

static void signals(void)
{
    struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
    struct itimerval timer = {{0, 2000}, {0, 2000}};
    struct itimerval off = {{0, 0}, {0, 0}};

    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
    while (n_alarms < 100) {
        CHECK(tm_mutex_lock(&mutex) == TM_OK);
        shared++;
        CHECK(tm_mutex_unlock(&mutex) == TM_OK);
    }
    CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
    CHECK(raise(SIGUSR1) == 0 && n_users == 1);
    CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
}

static void dozing(void)
{
    puts("dozing");
    fflush(stdout);
    sleep(600);
}

static const struct {
    const char *name;
    void (*run)(void);
} rows[] = {
    {"programs", programs},
    {"calls_in_child", calls_in_child},
    {"touch_in_child", touch_in_child},
    {"child_that_fails", child_that_fails},
    {"signals", signals},
    {"dozing", dozing},
};

static void *run(void *row)
{
    rows[(size_t)row].run();
    return NULL;
}

int main(int argc, char **argv)
{
    tm_thread_attr attr = {.name = "parent"};
    tm_thread thread;
    size_t row = 0;
    void *(*function)(void *) = run;

    tm_init(&argc, &argv);
    attr.placement = TM_ON_NODE;
    attr.node = tm_node_count() - 1;
    if (strcmp(argv[1], "fork_and_return") == 0) {
        function = fork_and_return;
    } else {
        while (strcmp(rows[row].name, argv[1]) != 0) {
            row++;
        }
        if (argc > 2) { // here, in main()
            rows[row].run();
            puts("as it should be");
            return 0;
        }
    }
    CHECK(tm_thread_create(&thread, &attr, function, (void *)row) == TM_OK);
    CHECK(tm_thread_join(thread, NULL) == TM_OK);
    puts("as it should be");
    return 0;
}
