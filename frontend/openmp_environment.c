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

enum { LEVELS_MAX = 16 };

static TM_SHARED struct {
    struct icvs icvs;
    unsigned
        n_threads[LEVELS_MAX]; // OMP_NUM_THREADS: of regions within each other
    unsigned n_levels;         // 0: nothing was said
    size_t stack_size;         // OMP_STACKSIZE; 0: the default
    int can_cancel;            // OMP_CANCELLATION
    int are_read;
} initial;
static tm_mutex settings_mutex;

extern __typeof__(sysconf) tmf_sysconf;

static void read_schedule(void)
{
    const char *text = getenv("OMP_SCHEDULE");
    const char *comma = text == NULL ? NULL : strchr(text, ',');
    const char *kind = text == NULL ? "dynamic" : text;

    kind = strncmp(kind, "nonmonotonic:", 13) == 0 ? kind + 13 : kind;
    kind = strncmp(kind, "monotonic:", 10) == 0 ? kind + 10 : kind;
    initial.icvs.kind = strncasecmp(kind, "static", 6) == 0   ? STATIC
                        : strncasecmp(kind, "guided", 6) == 0 ? GUIDED
                        : strncasecmp(kind, "auto", 4) == 0   ? STATIC
                                                              : DYNAMIC;
    initial.icvs.chunk = comma == NULL ? initial.icvs.kind != STATIC
                                       : strtoul(comma + 1, NULL, 10);
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

static unsigned read_number(const char *name)
{
    const char *text = getenv(name);
    const long n = text == NULL ? 0 : strtol(text, NULL, 10);

    return n > 0 && n <= INT_MAX ? (unsigned)n : 0;
}

static void read_threads(void)
{
    const char *text = getenv("OMP_NUM_THREADS");

    while (text != NULL && initial.n_levels < LEVELS_MAX && atoi(text) > 0) {
        initial.n_threads[initial.n_levels++] = (unsigned)atoi(text);
        text = strchr(text, ',');
        text = text == NULL ? NULL : text + 1;
    }
}

// A list of numbers of threads is meant for regions within each other.
static unsigned read_active_levels(void)
{
    const char *text = getenv("OMP_MAX_ACTIVE_LEVELS");
    const int n = text == NULL ? -1 : atoi(text);

    if (n > 0 || (n == 0 && *text == '0')) {
        return n < ACTIVE_LEVELS_MAX ? (unsigned)n : ACTIVE_LEVELS_MAX;
    }
    if (getenv("OMP_NESTED") != NULL) {
        return is_true("OMP_NESTED") ? ACTIVE_LEVELS_MAX : 1;
    }
    return initial.n_levels > 1 ? ACTIVE_LEVELS_MAX : 1;
}

// Names of those that the standard has, by their numbers.
static const char *const allocators[] = {
    [1] = "omp_default_mem_alloc", [2] = "omp_large_cap_mem_alloc",
    [3] = "omp_const_mem_alloc",   [4] = "omp_high_bw_mem_alloc",
    [5] = "omp_low_lat_mem_alloc", [6] = "omp_cgroup_mem_alloc",
    [7] = "omp_pteam_mem_alloc",   [8] = "omp_thread_mem_alloc",
};

static uintptr_t read_allocator(void)
{
    const char *text = getenv("OMP_ALLOCATOR");

    for (uintptr_t i = 1; text != NULL && i < 9; i++) {
        if (strcasecmp(text, allocators[i]) == 0) {
            return i;
        }
    }
    return STANDARD_ALLOCATOR;
}

static long read_settings(void)
{
    (void)!tm_mutex_lock(&settings_mutex);
    if (!initial.are_read) {
        read_threads();
        read_schedule();
        read_stack_size();
        initial.icvs.max_active_levels = read_active_levels();
        initial.icvs.thread_limit = read_number("OMP_THREAD_LIMIT");
        initial.icvs.is_dynamic = is_true("OMP_DYNAMIC");
        initial.icvs.allocator = read_allocator();
        initial.can_cancel = is_true("OMP_CANCELLATION");
        initial.are_read = 1;
    }
    (void)!tm_mutex_unlock(&settings_mutex);
    return 0;
}

static void await_settings(void)
{
    if (!initial.are_read) {
        FRONT_1(read_settings, 0);
    }
}

int openmp_can_cancel(void)
{
    await_settings();
    return initial.can_cancel;
}

struct icvs openmp_initial(void)
{
    struct icvs icvs;

    await_settings();
    icvs = initial.icvs;
    icvs.n_threads = initial.n_levels > 0
                         ? initial.n_threads[0]
                         : (unsigned)tmf_sysconf(_SC_NPROCESSORS_ONLN);
    return icvs;
}

struct icvs openmp_inner(const struct icvs *outer, unsigned level)
{
    struct icvs icvs = *outer;

    if (level + 1 < initial.n_levels) {
        icvs.n_threads = initial.n_threads[level + 1];
    }
    return icvs;
}

size_t openmp_stack_size(void)
{
    await_settings();
    return initial.stack_size;
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

static void show_schedule(const struct icvs *icvs)
{
    static const char *const names[] = {
        [STATIC] = "STATIC", [DYNAMIC] = "DYNAMIC", [GUIDED] = "GUIDED"};

    if (icvs->chunk > 1) {
        fprintf(stderr, "  OMP_SCHEDULE = '%s,%lu'\n", names[icvs->kind],
                icvs->chunk);
    } else {
        show_word("OMP_SCHEDULE", names[icvs->kind]);
    }
}

static void show_threads(const struct icvs *icvs)
{
    fprintf(stderr, "  OMP_NUM_THREADS = '%u", icvs->n_threads);
    for (unsigned i = 1; i < initial.n_levels; i++) {
        fprintf(stderr, ",%u", initial.n_threads[i]);
    }
    fprintf(stderr, "'\n");
}

/** What other files know. */
struct shown {
    struct icvs icvs;
    unsigned n_teams;
    unsigned teams_limit;
    const char *affinity_format;
    bool is_affinity_shown;
};

// What has no effect is shown as it is, not as it was asked for.
static long show_settings(const struct shown *shown)
{
    const struct icvs *icvs = &shown->icvs;

    fprintf(stderr, "\nOPENMP DISPLAY ENVIRONMENT BEGIN\n");
    show_word("_OPENMP", "201511");
    show_word("OMP_DYNAMIC", truth(icvs->is_dynamic));
    show_word("OMP_NESTED", truth(icvs->max_active_levels > 1));
    show_threads(icvs);
    show_schedule(icvs);
    show_word("OMP_PROC_BIND", truth(0));
    show_word("OMP_PLACES", "");
    show_number("OMP_STACKSIZE", initial.stack_size);
    show_word("OMP_WAIT_POLICY", "PASSIVE");
    show_number("OMP_THREAD_LIMIT",
                icvs->thread_limit > 0 ? icvs->thread_limit : UINT_MAX);
    show_number("OMP_MAX_ACTIVE_LEVELS", icvs->max_active_levels);
    show_number("OMP_NUM_TEAMS", shown->n_teams);
    show_number("OMP_TEAMS_THREAD_LIMIT", shown->teams_limit);
    show_word("OMP_CANCELLATION", truth(initial.can_cancel));
    show_number("OMP_DEFAULT_DEVICE", 0);
    show_number("OMP_MAX_TASK_PRIORITY", 0);
    show_word("OMP_DISPLAY_AFFINITY", truth(shown->is_affinity_shown));
    show_word("OMP_AFFINITY_FORMAT", shown->affinity_format);
    show_word("OMP_ALLOCATOR", allocators[icvs->allocator]);
    show_word("OMP_TARGET_OFFLOAD", "DEFAULT");
    fprintf(stderr, "OPENMP DISPLAY ENVIRONMENT END\n");
    return 0;
}

void omp_display_env(int is_verbose);
void omp_display_env(int is_verbose)
{
    const struct shown shown = {openmp_initial(), openmp_teams(0),
                                openmp_teams_limit(), openmp_affinity_format(),
                                openmp_shows_affinity()};

    (void)is_verbose; // more are GCC's own
    FRONT_1(show_settings, &shown);
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
