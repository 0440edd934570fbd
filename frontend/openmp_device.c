// SPDX-License-Identifier: BSD-3-Clause
//
// OpenMP's devices: there are none. What is meant for one the thread itself runs, as it does
// natively where there is none; its memory is the program's. The teams of a league run one
// after the other.
#include "openmp.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_TEAMS = 3, FIRSTPRIVATE = 12 };

static TM_SHARED struct {
    unsigned n; // teams; 0: nothing was said
    unsigned limit;
    int has_settings;
} league;

static tm_mutex settings_mutex;

static unsigned read_number(const char *name)
{
    const char *text = getenv(name);
    const int n = text == NULL ? 0 : atoi(text);

    return n > 0 ? (unsigned)n : 0;
}

static long read_league(void)
{
    (void)!tm_mutex_lock(&settings_mutex);
    if (!league.has_settings) {
        league.n = read_number("OMP_NUM_TEAMS");
        league.limit = read_number("OMP_TEAMS_THREAD_LIMIT");
        league.has_settings = 1;
    }
    (void)!tm_mutex_unlock(&settings_mutex);
    return 0;
}

unsigned openmp_teams(unsigned usual)
{
    FRONT_1(read_league, 0);
    return league.n > 0 ? league.n : usual;
}

void openmp_want_teams(unsigned n)
{
    FRONT_1(read_league, 0);
    league.n = n;
}

unsigned openmp_teams_limit(void)
{
    FRONT_1(read_league, 0);
    return league.limit;
}

void openmp_limit_teams(unsigned n)
{
    FRONT_1(read_league, 0);
    league.limit = n;
}

// ---- regions

/** What a target region is given, each a word, or a word and the next one, which is its value. */
enum {
    ARGUMENT_DEVICES = 127, // the device that it is for; 0: any
    ARGUMENT_HAS_MORE = 1 << 7,
    ARGUMENT_KIND = 255 << 8,
    THREAD_LIMIT = 2 << 8,
    ARGUMENT_VALUE = 16 // from this bit on
};

// @return 0: there is none
static unsigned limit_of(const intptr_t *arguments)
{
    while (arguments != NULL && *arguments != 0) {
        const intptr_t head = *arguments++;
        const intptr_t value = (head & ARGUMENT_HAS_MORE) != 0
                                   ? *arguments++
                                   : head >> ARGUMENT_VALUE;

        if ((head & ARGUMENT_DEVICES) == 0 &&
            (head & ARGUMENT_KIND) == THREAD_LIMIT && value > 0) {
            return value < INT_MAX ? (unsigned)value : INT_MAX;
        }
    }
    return 0;
}

// As a thread that is in no region. What is the region's own is copied for it.
static void run_on_host(region *function, void **addresses, unsigned limit)
{
    struct member *member = openmp_self();
    const struct member before = *member;
    unsigned n_counted = 0;

    *member = (struct member){
        .n = 1, .icvs = openmp_initial(), .n_counted = &n_counted};
    member->icvs.thread_limit = limit > 0 ? limit : member->icvs.thread_limit;
    function(addresses);
    openmp_leave_shares(member);
    *member = before;
}

// An argument that is not there has no address.
static bool is_own(void *const *addresses, const unsigned short *kinds,
                   size_t i)
{
    return (kinds[i] & UCHAR_MAX) == FIRSTPRIVATE && addresses[i] != NULL;
}

static void copy_own(size_t n, void **addresses, const size_t *sizes,
                     const unsigned short *kinds)
{
    for (size_t i = 0; i < n; i++) {
        if (is_own(addresses, kinds, i)) {
            void *copy =
                front_new_block(sizes[i], (size_t)1 << (kinds[i] >> CHAR_BIT));

            if (copy == NULL) {
                front_fatal("OpenMP: no memory for a target region");
            }
            addresses[i] = memcpy(copy, addresses[i], sizes[i]);
        }
    }
}

static void free_own(size_t n, void **addresses, const unsigned short *kinds)
{
    for (size_t i = 0; i < n; i++) {
        if (is_own(addresses, kinds, i)) {
            front_free(addresses[i]);
        }
    }
}

static void wait_for_depend(void **depend)
{
    if (depend != NULL && openmp_wait_for_depend != NULL) {
        openmp_wait_for_depend(depend);
    }
}

void GOMP_target_ext(int device, region *function, size_t n, void **addresses,
                     size_t *sizes, unsigned short *kinds, unsigned flags,
                     void **depend, void **arguments);
void GOMP_target_ext(int device, region *function, size_t n, void **addresses,
                     size_t *sizes, unsigned short *kinds, unsigned flags,
                     void **depend, void **arguments)
{
    (void)device;
    (void)flags;
    wait_for_depend(depend);
    copy_own(n, addresses, sizes, kinds);
    run_on_host(function, addresses, limit_of((intptr_t *)arguments));
    free_own(n, addresses, kinds);
}

// Nothing has to be brought anywhere.
void GOMP_target_data_ext(int device, size_t n, void **addresses, size_t *sizes,
                          unsigned short *kinds);
void GOMP_target_data_ext(int device, size_t n, void **addresses, size_t *sizes,
                          unsigned short *kinds)
{
    (void)device;
    (void)n;
    (void)addresses;
    (void)sizes;
    (void)kinds;
}

NOTHING(GOMP_target_end_data)

#define MOVE(name)                                                             \
    void name(int device, size_t n, void **addresses, size_t *sizes,           \
              unsigned short *kinds, unsigned flags, void **depend);           \
    void name(int device, size_t n, void **addresses, size_t *sizes,           \
              unsigned short *kinds, unsigned flags, void **depend)            \
    {                                                                          \
        (void)flags;                                                           \
        GOMP_target_data_ext(device, n, addresses, sizes, kinds);              \
        wait_for_depend(depend);                                               \
    }

MOVE(GOMP_target_update_ext)
MOVE(GOMP_target_enter_exit_data)

// ---- leagues

static void begin_league(struct member *member, unsigned n, unsigned limit)
{
    member->n_teams = n;
    member->team_number = 0;
    member->icvs.thread_limit = limit > 0 ? limit : member->icvs.thread_limit;
}

// @return is there another team to be run?
bool GOMP_teams4(unsigned least, unsigned most, unsigned limit, bool is_first);
bool GOMP_teams4(unsigned least, unsigned most, unsigned limit, bool is_first)
{
    struct member *member = openmp_self();

    (void)most;
    if (is_first) {
        begin_league(member, least > 0 ? least : 1, limit);
        return true;
    }
    return ++member->team_number < member->n_teams;
}

void GOMP_teams_reg(region *function, void *data, unsigned n, unsigned limit,
                    unsigned flags);
void GOMP_teams_reg(region *function, void *data, unsigned n, unsigned limit,
                    unsigned flags)
{
    struct member *member = openmp_self();
    const struct member before = *member;
    unsigned n_counted = 0;

    (void)flags;
    member->n_counted = &n_counted;
    n = n > 0 ? n : openmp_teams(USUAL_TEAMS);
    begin_league(member, n, limit > 0 ? limit : openmp_teams_limit());
    for (; member->team_number < n; member->team_number++) {
        function(data);
    }
    *member = before;
}

// ---- memory of a device

void *omp_target_alloc(size_t size, int device);
void *omp_target_alloc(size_t size, int device)
{
    (void)device;
    return size == 0 ? NULL : front_allocate(size);
}

void omp_target_free(void *block, int device);
void omp_target_free(void *block, int device)
{
    (void)device;
    front_free(block);
}

int omp_target_is_present(const void *address, int device);
int omp_target_is_present(const void *address, int device)
{
    (void)address;
    (void)device;
    return 1;
}

int omp_target_memcpy(void *to, const void *from, size_t n, size_t to_offset,
                      size_t from_offset, int to_device, int from_device);
int omp_target_memcpy(void *to, const void *from, size_t n, size_t to_offset,
                      size_t from_offset, int to_device, int from_device)
{
    (void)to_device;
    (void)from_device;
    memcpy((char *)to + to_offset, (const char *)from + from_offset, n);
    return 0;
}

/** A part of an array of several dimensions. */
struct part {
    char *at;
    const size_t *offsets;
    const size_t *lengths; // of the whole array
};

// Bytes of one element of the first dimension.
static size_t stride_of(struct part part, unsigned n_dimensions, size_t size)
{
    for (unsigned i = 1; i < n_dimensions; i++) {
        size *= part.lengths[i];
    }
    return size;
}

static struct part inner_part(struct part part, size_t i, size_t stride)
{
    return (struct part){part.at + (part.offsets[0] + i) * stride,
                         part.offsets + 1, part.lengths + 1};
}

static void copy_part(struct part to, struct part from, const size_t *volume,
                      unsigned n_dimensions, size_t size)
{
    if (n_dimensions == 0) {
        memcpy(to.at, from.at, size);
        return;
    }
    for (size_t i = 0; i < volume[0]; i++) {
        copy_part(inner_part(to, i, stride_of(to, n_dimensions, size)),
                  inner_part(from, i, stride_of(from, n_dimensions, size)),
                  volume + 1, n_dimensions - 1, size);
    }
}

// The interface has so many parameters. Of no arrays: how many dimensions there may be.
int omp_target_memcpy_rect(void *to, const void *from, size_t size,
                           int n_dimensions, const size_t *volume,
                           const size_t *to_offsets, const size_t *from_offsets,
                           const size_t *to_lengths, const size_t *from_lengths,
                           int to_device, int from_device);
int omp_target_memcpy_rect(void *to, const void *from, size_t size,
                           int n_dimensions, const size_t *volume,
                           const size_t *to_offsets, const size_t *from_offsets,
                           const size_t *to_lengths, const size_t *from_lengths,
                           int to_device, int from_device)
{
    const struct part target = {to, to_offsets, to_lengths};
    const struct part source = {(char *)(uintptr_t)from, from_offsets,
                                from_lengths};

    (void)to_device;
    (void)from_device;
    if (to == NULL && from == NULL) {
        return INT_MAX;
    }
    if (size < 1 || n_dimensions < 1) {
        return EINVAL;
    }
    copy_part(target, source, volume, (unsigned)n_dimensions, size);
    return 0;
}

int omp_target_associate_ptr(const void *host, const void *other, size_t size,
                             size_t offset, int device);
int omp_target_associate_ptr(const void *host, const void *other, size_t size,
                             size_t offset, int device)
{
    (void)host;
    (void)other;
    (void)size;
    (void)offset;
    (void)device;
    return EINVAL;
}

int omp_target_disassociate_ptr(const void *address, int device);
int omp_target_disassociate_ptr(const void *address, int device)
{
    (void)address;
    (void)device;
    return EINVAL;
}

// ---- what is given back until it is needed again: nothing. Not within a region.

static int pause_nothing(void)
{
    return openmp_self()->level > 0 ? -1 : 0;
}

int omp_pause_resource(int kind, int device);
int omp_pause_resource(int kind, int device)
{
    (void)kind;
    (void)device;
    return pause_nothing();
}

int omp_pause_resource_(const int *kind, const int *device);
int omp_pause_resource_(const int *kind, const int *device)
{
    return omp_pause_resource(*kind, *device);
}

int omp_pause_resource_all(int kind);
int omp_pause_resource_all(int kind)
{
    (void)kind;
    return pause_nothing();
}

int omp_pause_resource_all_(const int *kind);
int omp_pause_resource_all_(const int *kind)
{
    return omp_pause_resource_all(*kind);
}
