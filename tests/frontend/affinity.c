// SPDX-License-Identifier: BSD-3-Clause
// OpenMP: texts about where threads run, by their format; each setting of a task's own that
// calls ask for.
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 600 };

static char lines[4][ROOM];

static void show_formats(void)
{
    static const char *const formats[] = {
        "L:%0.5L%%%n>%.4n<%3n|",
        "%0.7{ancestor_tnum} %0.4a %.4a %a",
        "%{team_num} %t %T %{num_teams} %N %{num_threads}",
        "%0.40H|%.40H|%40H|%{host}",
        "plain %%",
        "%{thread_num} %{nesting_level}",
    };
    char line[ROOM];

    for (unsigned i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        size_t length = omp_capture_affinity(line, sizeof line, formats[i]);

        printf("%zu %s\n", length, line);
    }
    printf("cut %zu ", omp_capture_affinity(line, 5, "0123456789"));
    printf("%s\n", line);
    printf("nothing %zu\n", omp_capture_affinity(NULL, 0, "%0.9n"));
    printf("usual %zu ", omp_get_affinity_format(line, sizeof line));
    printf("%s\n", line);
    omp_set_affinity_format("[%n of %N, %a, %L]");
    printf("set %zu ", omp_get_affinity_format(line, 6));
    printf("%s\n", line);
}

static void show_threads(void)
{
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        int outer = omp_get_thread_num();

#pragma omp parallel num_threads(2)
        omp_capture_affinity(lines[2 * outer + omp_get_thread_num()], ROOM,
                             NULL);
    }
    for (int i = 0; i < 4; i++) {
        printf("%s\n", lines[i]);
    }
}

// They have no greatest length.
static void show_long(void)
{
    static char format[3000];
    static char line[6000];
    size_t length;

    memset(format, 'x', sizeof format - 1);
    memcpy(format + 2990, "%0.2000n.", 9);
    length = omp_capture_affinity(line, sizeof line, format);
    printf("long %zu %zu %s\n", length, strlen(line), line + 4980);
    omp_set_affinity_format(format);
    length = omp_get_affinity_format(line, sizeof line);
    printf("set %zu %d\n", length, strcmp(line, format));
    length = omp_capture_affinity(line, sizeof line, NULL);
    printf("long %zu %zu %s\n", length, strlen(line), line + 4980);
    length = omp_capture_affinity(line, 4000, NULL);
    printf("cut %zu %zu\n", length, strlen(line));
}

// What differs from run to run.
static void show_numbers(void)
{
    char line[ROOM];
    int process;
    long thread;
    char processors[ROOM];

    omp_capture_affinity(line, sizeof line, "%P %i %A");
    sscanf(line, "%d %li %599s", &process, &thread, processors);
    printf("%d %d %d\n", process == (int)getpid(), thread > 0,
           strspn(processors, "0123456789-,") == strlen(processors));
}

int main(void)
{
    show_formats();
    show_threads();
    show_numbers();
    show_long();
    return 0;
}
