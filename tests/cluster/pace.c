// SPDX-License-Identifier: BSD-3-Clause
// A node computes while all others ask it something all the time: it answers with real-time priority,
// and stops doing so when it has taken its share of the processors (runtime/service_priority.c).
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <teamster.h>
#include <time.h>

enum { N_ASKERS = 7, MOST_S = 60, SKIPPED = 77 };

static TM_SHARED int64_t is_over;

static int is_service(const char *task)
{
    char name[300];
    char comm[32] = "";
    FILE *file;

    snprintf(name, sizeof name, "/proc/self/task/%s/comm", task);
    file = fopen(name, "r");
    if (file != NULL) {
        (void)!fgets(comm, sizeof comm, file);
        fclose(file);
    }
    return strcmp(comm, "tm-service\n") == 0;
}

static pid_t find_service(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    pid_t found = 0;

    while (tasks != NULL && (task = readdir(tasks)) != NULL) {
        if (is_service(task->d_name)) {
            found = (pid_t)atoi(task->d_name);
        }
    }
    closedir(tasks);
    return found;
}

// May threads here have real-time priority?
static int may_hurry(void)
{
    const struct sched_param first = {.sched_priority = 1};
    const struct sched_param usual = {0};

    return sched_setscheduler(0, SCHED_RR, &first) == 0 &&
           sched_setscheduler(0, SCHED_OTHER, &usual) == 0;
}

static void *ask(void *me)
{
    struct tm_node_stats stats;

    while (!tm_atomic_load(&is_over)) {
        if (tm_stats(0, &stats) != TM_OK) {
            exit(1);
        }
    }
    return me;
}

// Compute until the service thread has this policy. @return 0: it has not in MOST_S
static int compute_until(pid_t service, int policy)
{
    time_t end = time(NULL) + MOST_S;

    while (time(NULL) < end) {
        if (sched_getscheduler(service) == policy) {
            return 1;
        }
        for (volatile unsigned i = 0; i < 100000; i++) {
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    tm_thread askers[N_ASKERS];
    pid_t service;
    int turns = 0;

    if (tm_init(&argc, &argv) != TM_OK) {
        return 1;
    }
    service = find_service();
    if (!may_hurry()) {
        fprintf(stderr, "pace: no real-time priority here\n");
        exit(SKIPPED);
    }
    for (int i = 0; i < N_ASKERS; i++) {
        const tm_thread_attr attr = {.placement = TM_ON_NODE, .node = i + 1};

        if (tm_thread_create(&askers[i], &attr, ask, NULL) != TM_OK) {
            return 1;
        }
    }
    while (turns < 3 && compute_until(service, SCHED_OTHER) &&
           compute_until(service, SCHED_RR)) {
        turns++;
    }
    tm_atomic_store(&is_over, 1);
    for (int i = 0; i < N_ASKERS; i++) {
        (void)!tm_thread_join(askers[i], NULL);
    }
    printf("pace: %d turns\n", turns);
    return turns < 3;
}
