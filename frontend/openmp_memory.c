// SPDX-License-Identifier: BSD-3-Clause
//
// OpenMP's allocators. All memory is the program's shared memory, whatever is wanted of it:
// only alignment, the size of a pool, and what is to be done when there is none left count.
//
// In front of each block is what it takes of which pool. One of the standard's allocators has
// a small number; one that the program has made, the address of its description.
#include "openmp.h"

#include <stdlib.h>
#include <string.h>

enum { LAST_OF_STANDARD = 8, LEAST_ALIGNMENT = 16 };

/** Traits that count, and what is to be done without memory. */
enum { ALIGNMENT = 2, POOL_SIZE = 4, FALLBACK = 5, FALLBACK_DATA = 6 };
enum {
    FALL_TO_STANDARD = 11,
    FALL_TO_NULL = 12,
    ABORT = 13,
    FALL_TO_OTHER = 14
};

struct trait {
    int key;
    uintptr_t value;
};

struct allocator {
    size_t alignment;
    size_t pool_size;
    size_t n_used;
    uintptr_t fallback;
    uintptr_t other;
};

struct block_head {
    void *start;
    size_t size;
    struct allocator *pool; // or NULL
};

static tm_mutex pools_mutex;

static struct allocator *made_allocator(uintptr_t handle)
{
    return handle <= LAST_OF_STANDARD ? NULL : (struct allocator *)handle;
}

// ---- allocators

uintptr_t omp_init_allocator(uintptr_t space, int n,
                             const struct trait *traits);
uintptr_t omp_init_allocator(uintptr_t space, int n, const struct trait *traits)
{
    struct allocator *made = front_allocate(sizeof *made);

    (void)space;
    if (made == NULL) {
        return 0;
    }
    *made =
        (struct allocator){.pool_size = SIZE_MAX, .fallback = FALL_TO_STANDARD};
    for (int i = 0; i < n; i++) {
        switch (traits[i].key) {
        case ALIGNMENT:
            made->alignment = traits[i].value;
            break;
        case POOL_SIZE:
            made->pool_size = traits[i].value;
            break;
        case FALLBACK:
            made->fallback = traits[i].value;
            break;
        case FALLBACK_DATA:
            made->other = traits[i].value;
            break;
        default:
            break;
        }
    }
    return (uintptr_t)made;
}

uintptr_t omp_init_allocator_(const uintptr_t *space, const int *n,
                              const struct trait *traits);
uintptr_t omp_init_allocator_(const uintptr_t *space, const int *n,
                              const struct trait *traits)
{
    return omp_init_allocator(*space, *n, traits);
}

uintptr_t omp_init_allocator_8_(const uintptr_t *space, const int64_t *n,
                                const struct trait *traits);
uintptr_t omp_init_allocator_8_(const uintptr_t *space, const int64_t *n,
                                const struct trait *traits)
{
    return omp_init_allocator(*space, (int)*n, traits);
}

void omp_destroy_allocator(uintptr_t handle);
void omp_destroy_allocator(uintptr_t handle)
{
    front_free(made_allocator(handle));
}

void omp_destroy_allocator_(const uintptr_t *handle);
void omp_destroy_allocator_(const uintptr_t *handle)
{
    omp_destroy_allocator(*handle);
}

void omp_set_default_allocator(uintptr_t handle);
void omp_set_default_allocator(uintptr_t handle)
{
    openmp_self()->icvs.allocator =
        handle == 0 ? (uintptr_t)STANDARD_ALLOCATOR : handle;
}

void omp_set_default_allocator_(const uintptr_t *handle);
void omp_set_default_allocator_(const uintptr_t *handle)
{
    omp_set_default_allocator(*handle);
}

uintptr_t omp_get_default_allocator(void);
uintptr_t omp_get_default_allocator(void)
{
    return openmp_self()->icvs.allocator;
}

uintptr_t omp_get_default_allocator_(void)
    __attribute__((alias("omp_get_default_allocator")));

// ---- blocks

// @return is there room?
static bool change_pool(struct allocator *pool, size_t n_more, size_t n_less)
{
    bool has_room;

    if (pool == NULL || pool->pool_size == SIZE_MAX) {
        return true;
    }
    front_lock(&pools_mutex);
    has_room = n_more <= pool->pool_size - pool->n_used + n_less;
    pool->n_used += has_room ? n_more - n_less : 0;
    front_unlock(&pools_mutex);
    return has_room;
}

// Bytes in front of a block.
static size_t head_room(size_t alignment)
{
    return (sizeof(struct block_head) + alignment - 1) / alignment * alignment;
}

// @param n_given_up  bytes of the pool that the caller gives up for it
static void *take_block(struct allocator *pool, size_t alignment, size_t size,
                        size_t n_given_up)
{
    const size_t room = head_room(alignment);
    char *start;

    if (size > SIZE_MAX - room || !change_pool(pool, size + room, n_given_up)) {
        return NULL;
    }
    start = front_new_block(size + room, alignment);
    if (start == NULL) {
        change_pool(pool, n_given_up, size + room);
        return NULL;
    }
    ((struct block_head *)(void *)(start + room))[-1] =
        (struct block_head){start, size + room, pool};
    return start + room;
}

static void *allocate(size_t alignment, size_t size, uintptr_t handle);

static void *do_without(size_t alignment, size_t size,
                        const struct allocator *pool)
{
    switch (pool == NULL ? FALL_TO_NULL : pool->fallback) {
    case FALL_TO_STANDARD:
        return allocate(alignment, size, STANDARD_ALLOCATOR);
    case FALL_TO_OTHER:
        return allocate(alignment, size, pool->other);
    case ABORT:
        front_fatal("OpenMP: an allocator has no %zu bytes", size);
    default:
        return NULL;
    }
}

static uintptr_t chosen(uintptr_t handle)
{
    return handle == 0 ? openmp_self()->icvs.allocator : handle;
}

static size_t chosen_alignment(const struct allocator *pool, size_t wanted)
{
    size_t alignment = LEAST_ALIGNMENT;

    alignment = wanted > alignment ? wanted : alignment;
    return pool != NULL && pool->alignment > alignment ? pool->alignment
                                                       : alignment;
}

// In place of a block of so many bytes of the same pool.
static void *allocate_for(size_t alignment, size_t size, uintptr_t handle,
                          size_t n_given_up)
{
    struct allocator *pool = made_allocator(chosen(handle));
    void *block;

    if (size == 0) {
        return NULL;
    }
    block =
        take_block(pool, chosen_alignment(pool, alignment), size, n_given_up);
    return block != NULL ? block : do_without(alignment, size, pool);
}

static void *allocate(size_t alignment, size_t size, uintptr_t handle)
{
    return allocate_for(alignment, size, handle, 0);
}

void *omp_alloc(size_t size, uintptr_t handle);
void *omp_alloc(size_t size, uintptr_t handle)
{
    return allocate(1, size, handle);
}

void *omp_aligned_alloc(size_t alignment, size_t size, uintptr_t handle);
void *omp_aligned_alloc(size_t alignment, size_t size, uintptr_t handle)
{
    return allocate(alignment, size, handle);
}

void *omp_aligned_calloc(size_t alignment, size_t n, size_t size,
                         uintptr_t handle);
void *omp_aligned_calloc(size_t alignment, size_t n, size_t size,
                         uintptr_t handle)
{
    size_t all;
    void *block;

    if (__builtin_mul_overflow(n, size, &all)) {
        return NULL;
    }
    block = allocate(alignment, all, handle);
    return block == NULL ? NULL : memset(block, 0, all);
}

void *omp_calloc(size_t n, size_t size, uintptr_t handle);
void *omp_calloc(size_t n, size_t size, uintptr_t handle)
{
    return omp_aligned_calloc(1, n, size, handle);
}

void omp_free(void *block, uintptr_t handle);
void omp_free(void *block, uintptr_t handle)
{
    (void)handle;
    if (block != NULL) {
        const struct block_head head = ((struct block_head *)block)[-1];

        change_pool(head.pool, 0, head.size);
        front_free(head.start);
    }
}

void *omp_realloc(void *block, size_t size, uintptr_t handle,
                  uintptr_t old_handle);
void *omp_realloc(void *block, size_t size, uintptr_t handle,
                  uintptr_t old_handle)
{
    struct block_head *head = (struct block_head *)block - 1;
    struct allocator *pool;
    void *other;
    size_t before;

    if (block == NULL) {
        return omp_alloc(size, handle);
    }
    pool = head->pool;
    handle = handle == 0 ? (pool == NULL ? STANDARD_ALLOCATOR : (uintptr_t)pool)
                         : handle;
    before = head->size - (size_t)((char *)block - (char *)head->start);
    other =
        allocate_for(1, size, handle,
                     made_allocator(chosen(handle)) == pool ? head->size : 0);
    if (other != NULL) {
        memcpy(other, block, before < size ? before : size);
        if (((struct block_head *)other)[-1].pool == pool) {
            head->pool = NULL; // what it took of the pool is given up
        }
    }
    if (other != NULL || size == 0) {
        omp_free(block, old_handle);
    }
    return other;
}

// ---- the compiler's, for what `allocate` clauses name

void *GOMP_alloc(size_t alignment, size_t size, uintptr_t handle);
void *GOMP_alloc(size_t alignment, size_t size, uintptr_t handle)
{
    void *block = allocate(alignment, size == 0 ? 1 : size, handle);

    if (block == NULL) {
        front_fatal("OpenMP: an allocator has no %zu bytes", size);
    }
    return block;
}

void GOMP_free(void *block, uintptr_t handle)
    __attribute__((alias("omp_free")));
