// SPDX-License-Identifier: BSD-3-Clause
//
// OpenMP's settings: what the environment says, until a call says something else; and
// showing them.
#include "openmp.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct settings {
    unsigned n_threads; // OMP_NUM_THREADS; 0: nothing was said
    enum schedule kind; // OMP_SCHEDULE
    unsigned long chunk;
    size_t stack_size; // OMP_STACKSIZE; 0: the default
    int can_cancel;    // OMP_CANCELLATION
    int are_read;
};

static TM_SHARED struct settings initial;
static TM_SHARED struct settings current;
static tm_mutex settings_mutex;

extern __typeof__(sysconf) tmf_sysconf;

static void read_schedule(void)
{
    const char *text = getenv("OMP_SCHEDULE");
    const char *comma = text == NULL ? NULL : strchr(text, ',');
    const char *kind = text == NULL ? "dynamic" : text;

    kind = strncmp(kind, "nonmonotonic:", 13) == 0 ? kind + 13 : kind;
    kind = strncmp(kind, "monotonic:", 10) == 0 ? kind + 10 : kind;
    initial.kind = strncasecmp(kind, "static", 6) == 0   ? STATIC
                   : strncasecmp(kind, "guided", 6) == 0 ? GUIDED
                   : strncasecmp(kind, "auto", 4) == 0   ? STATIC
                                                         : DYNAMIC;
    initial.chunk = comma == NULL ? 0 : strtoul(comma + 1, NULL, 10);
}

// In KiB, if nothing else is said.
static void read_stack_size(void)
{
    static const char units[] = "bkmg";
    const char *text = getenv("OMP_STACKSIZE");
    const char *unit = &units[1];
    unsigned long size;
    char *end;

    if (text == NULL) {
        return;
    }
    size = strtoul(text, &end, 10);
    end += strspn(end, " ");
    if (*end != '\0' && strchr(units, tolower(*end)) != NULL) {
        unit = strchr(units, tolower(*end));
    }
    initial.stack_size = size << 10 * (unit - units);
}

static int is_true(const char *name)
{
    const char *text = getenv(name);

    return text != NULL &&
           (strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0);
}

static void read_number(void)
{
    const char *text = getenv("OMP_NUM_THREADS");

    if (text != NULL && atoi(text) > 0) {
        initial.n_threads = (unsigned)atoi(text);
    }
}

static long read_settings(void)
{
    (void)!tm_mutex_lock(&settings_mutex);
    if (!current.are_read) {
        read_number();
        read_schedule();
        read_stack_size();
        initial.can_cancel = is_true("OMP_CANCELLATION");
        initial.are_read = 1;
        current = initial;
    }
    (void)!tm_mutex_unlock(&settings_mutex);
    return 0;
}

int openmp_can_cancel(void)
{
    if (!current.are_read) {
        FRONT_1(read_settings, 0);
    }
    return current.can_cancel;
}

static unsigned usual_number(const struct settings *settings)
{
    FRONT_1(read_settings, 0);
    return settings->n_threads > 0
               ? settings->n_threads
               : (unsigned)tmf_sysconf(_SC_NPROCESSORS_ONLN);
}

unsigned openmp_wanted(void)
{
    return usual_number(&current);
}

void openmp_want(unsigned n)
{
    FRONT_1(read_settings, 0);
    current.n_threads = n > 0 ? n : current.n_threads;
}

void openmp_set_schedule(enum schedule kind, unsigned long chunk)
{
    FRONT_1(read_settings, 0);
    current.kind = kind == AUTO ? STATIC : kind;
    current.chunk = chunk;
}

enum schedule openmp_schedule(unsigned long *chunk)
{
    FRONT_1(read_settings, 0);
    *chunk = current.chunk;
    return current.kind;
}

size_t openmp_stack_size(void)
{
    FRONT_1(read_settings, 0);
    return current.stack_size;
}

// ---- showing them, as GCC's library does

static void show_word(const char *name, const char *value)
{
    fprintf(stderr, "  %s = '%s'\n", name, value);
}

static void show_number(const char *name, unsigned long value)
{
    fprintf(stderr, "  %s = '%lu'\n", name, value);
}

static const char *truth(int is_so)
{
    return is_so ? "TRUE" : "FALSE";
}

static void show_schedule(unsigned long chunk)
{
    static const char *const names[] = {
        [STATIC] = "STATIC", [DYNAMIC] = "DYNAMIC", [GUIDED] = "GUIDED"};

    if (chunk > 1) {
        fprintf(stderr, "  OMP_SCHEDULE = '%s,%lu'\n", names[initial.kind],
                chunk);
    } else {
        show_word("OMP_SCHEDULE", names[initial.kind]);
    }
}

// What has no effect is shown as it is, not as it was asked for.
static long show_settings(unsigned n_threads, unsigned n_teams, unsigned limit)
{
    fprintf(stderr, "\nOPENMP DISPLAY ENVIRONMENT BEGIN\n");
    show_word("_OPENMP", "201511");
    show_word("OMP_DYNAMIC", truth(0));
    show_word("OMP_NESTED", truth(0));
    show_number("OMP_NUM_THREADS", n_threads);
    show_schedule(initial.chunk);
    show_word("OMP_PROC_BIND", truth(0));
    show_word("OMP_PLACES", "");
    show_number("OMP_STACKSIZE", initial.stack_size);
    show_word("OMP_WAIT_POLICY", "PASSIVE");
    show_number("OMP_THREAD_LIMIT", UINT_MAX);
    show_number("OMP_MAX_ACTIVE_LEVELS", 1);
    show_number("OMP_NUM_TEAMS", n_teams);
    show_number("OMP_TEAMS_THREAD_LIMIT", limit);
    show_word("OMP_CANCELLATION", truth(initial.can_cancel));
    show_number("OMP_DEFAULT_DEVICE", 0);
    show_number("OMP_MAX_TASK_PRIORITY", 0);
    show_word("OMP_DISPLAY_AFFINITY", truth(0));
    show_word("OMP_AFFINITY_FORMAT", "level %L thread %i affinity %A");
    show_word("OMP_ALLOCATOR", "omp_default_mem_alloc");
    show_word("OMP_TARGET_OFFLOAD", "DEFAULT");
    fprintf(stderr, "OPENMP DISPLAY ENVIRONMENT END\n");
    return 0;
}

void omp_display_env(int is_verbose);
void omp_display_env(int is_verbose)
{
    (void)is_verbose; // more are GCC's own
    FRONT_3(show_settings, usual_number(&initial), openmp_teams(0),
            openmp_teams_limit());
}

void omp_display_env_(const int *is_verbose);
void omp_display_env_(const int *is_verbose)
{
    omp_display_env(*is_verbose);
}

void omp_display_env_8_(const int64_t *is_verbose);
void omp_display_env_8_(const int64_t *is_verbose)
{
    omp_display_env((int)*is_verbose);
}

static long is_shown(void)
{
    const char *text = getenv("OMP_DISPLAY_ENV");

    return is_true("OMP_DISPLAY_ENV") ||
           (text != NULL && strcasecmp(text, "verbose") == 0);
}

void front_openmp_begin(void)
{
    if (FRONT_1(is_shown, 0)) {
        omp_display_env(0);
    }
}
