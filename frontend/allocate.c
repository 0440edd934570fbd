// SPDX-License-Identifier: BSD-3-Clause
//
// malloc() and its family, in shared memory. Blocks of a few sizes are cut from chunks that
// the node holds, so that they cost no message; larger ones are blocks of tm_alloc(). A block
// that is given back on another node than the one that cut it is used again there.
//
// In front of each block are its size and a mark. Free ones are noted in private memory,
// and the mutex is held only while that is touched: front.h says why.
//
// What the C library has allocated itself (getaddrinfo(), say) is private, and goes back to
// it.
#include "front.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/unchanged.h"

#define CHUNK ((size_t)1 << 20)
#define CUT_MAX ((size_t)64 << 10)
#define USED UINT64_C(0x7ea457e4cafef00d)
#define UNUSED UINT64_C(0x7ea457e4deadf00d)

enum { CLASSES = 64, ALIGNMENT = 16, PAGE = 4096 };

struct head {
    uint32_t class;  // CLASSES: a block of tm_alloc()'s
    uint32_t offset; // from what was allocated to the block
    uint64_t size;   // that the block has
    uint64_t block_mark;
    uint64_t reserved;
};

struct bin {
    void **blocks;
    size_t n;
    size_t room;
};

static struct {
    pthread_mutex_t mutex;
    struct bin bins[CLASSES];
    char *chunk;
    size_t left;
} cache = {.mutex = PTHREAD_MUTEX_INITIALIZER};

// Four sizes from each power of two to the next.
static unsigned class_of(size_t size)
{
    unsigned power;
    size_t step;

    if (size <= 64) {
        return (unsigned)((size + 15) / 16);
    }
    power = 63 - (unsigned)__builtin_clzll(size - 1);
    step = (size_t)1 << (power - 2);
    return 4 * (power - 5) +
           (unsigned)((size - 1 - ((size_t)1 << power)) / step) + 1;
}

static size_t size_of_class(unsigned class)
{
    unsigned power;

    if (class <= 4) {
        return (size_t) class * 16;
    }
    power = (class - 1) / 4 + 5;
    return ((size_t)1 << power) +
           ((size_t)((class - 1) % 4 + 1) << (power - 2));
}

static void *take_block(unsigned class)
{
    struct bin *bin = &cache.bins[class];
    void *block = NULL;
    const size_t size = size_of_class(class) + sizeof(struct head);

    pthread_mutex_lock(&cache.mutex);
    if (bin->n > 0) {
        block = bin->blocks[--bin->n];
    } else if (cache.left >= size) {
        block = cache.chunk;
        cache.chunk += size;
        cache.left -= size;
    }
    pthread_mutex_unlock(&cache.mutex);
    return block;
}

// What is left of the old chunk is given up.
static int add_chunk(void)
{
    static const tm_alloc_attr attr = {.name = "malloc"};
    char *chunk = tm_alloc(CHUNK, &attr);

    if (chunk == NULL) {
        return 0;
    }
    pthread_mutex_lock(&cache.mutex);
    cache.chunk = chunk;
    cache.left = CHUNK;
    pthread_mutex_unlock(&cache.mutex);
    return 1;
}

static void put_block(unsigned class, void *block)
{
    struct bin *bin = &cache.bins[class];

    pthread_mutex_lock(&cache.mutex);
    if (bin->n == bin->room) {
        size_t room = bin->room * 2 + 64;
        void **blocks = realloc(bin->blocks, room * sizeof *blocks);

        if (blocks != NULL) {
            bin->blocks = blocks;
            bin->room = room;
        }
    }
    if (bin->n < bin->room) {
        bin->blocks[bin->n++] = block;
    }
    pthread_mutex_unlock(&cache.mutex);
}

static struct head *head_of(void *block)
{
    return (struct head *)block - 1;
}

static void *finish_block(char *start, size_t offset, unsigned class,
                          size_t size)
{
    struct head *head = (struct head *)(void *)(start + offset) - 1;

    head->class = class;
    head->offset = (uint32_t)offset;
    head->size = size;
    head->block_mark = USED;
    return head + 1;
}

static void *allocate_large(size_t size, size_t alignment)
{
    static const tm_alloc_attr attr = {.name = "malloc"};
    size_t offset =
        alignment > sizeof(struct head) ? alignment : sizeof(struct head);
    char *start;

    if (size > SIZE_MAX / 2 - 2 * offset) {
        return NULL;
    }
    if (alignment > PAGE) {
        start = tm_alloc(size + 2 * alignment, &attr);
        offset =
            start == NULL ? 0 : 2 * alignment - (uintptr_t)start % alignment;
        offset -= offset > 2 * alignment - 1 ? alignment : 0;
    } else {
        start = tm_alloc(size + offset, &attr);
    }
    return start == NULL ? NULL : finish_block(start, offset, CLASSES, size);
}

static void *allocate_cut(size_t size, size_t alignment)
{
    const size_t more = alignment > ALIGNMENT ? alignment : 0;
    const unsigned class = class_of(size + more == 0 ? 1 : size + more);
    char *start = take_block(class);
    size_t offset = sizeof(struct head);

    while (start == NULL) {
        if (!add_chunk()) {
            return NULL;
        }
        start = take_block(class);
    }
    if (more > 0) {
        offset +=
            (alignment - ((uintptr_t)start + offset) % alignment) % alignment;
    }
    return finish_block(start, offset, class,
                        size_of_class(class) + sizeof(struct head) - offset);
}

static void *allocate_block(size_t size, size_t alignment)
{
    void *block = size + alignment > CUT_MAX || size > CUT_MAX
                      ? allocate_large(size, alignment)
                      : allocate_cut(size, alignment);

    if (block == NULL) {
        errno = ENOMEM;
    }
    return block;
}

void *front_allocate(size_t size)
{
    return (void *)FRONT_2(allocate_block, size, ALIGNMENT);
}

static long free_block(void *block)
{
    struct head *head = head_of(block);
    char *start = (char *)block - head->offset;

    if (head->block_mark == UNUSED) {
        front_fatal("free() of a block that was freed before: %p", block);
    }
    if (head->block_mark != USED) {
        front_fatal("free() of what is no block, or of one whose head was "
                    "overwritten: %p",
                    block);
    }
    head->block_mark = UNUSED;
    if (head->class == CLASSES) {
        (void)!tm_free(start);
    } else {
        put_block(head->class, start);
    }
    return 0;
}

void front_free(void *block)
{
    const int saved_errno = errno;

    if (front_is_shared(block)) {
        FRONT_1(free_block, block);
    } else {
        free(block);
    }
    errno = saved_errno;
}

// ---- the program's calls

FRONT(malloc)
void *tmf_malloc(size_t size)
{
    return front_allocate(size);
}

FRONT(free)
void tmf_free(void *block)
{
    front_free(block);
}

FRONT(calloc)
void *tmf_calloc(size_t n, size_t size)
{
    size_t total;
    void *block;

    if (__builtin_mul_overflow(n, size, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    block = front_allocate(total);
    if (block != NULL && head_of(block)->class != CLASSES) {
        memset(block, 0, total);
    }
    return block;
}

static size_t size_of_block(void *block)
{
    return front_is_shared(block) ? head_of(block)->size
                                  : malloc_usable_size(block);
}

FRONT(malloc_usable_size)
size_t tmf_malloc_usable_size(void *block)
{
    return block == NULL ? 0 : size_of_block(block);
}

FRONT(realloc)
void *tmf_realloc(void *block, size_t size)
{
    size_t before;
    void *other;

    if (block == NULL) {
        return front_allocate(size);
    }
    if (size == 0) {
        front_free(block);
        return NULL;
    }
    before = size_of_block(block);
    if (size <= before && size > before / 2 && front_is_shared(block)) {
        return block;
    }
    other = front_allocate(size);
    if (other != NULL) {
        memcpy(other, block, size < before ? size : before);
        front_free(block);
    }
    return other;
}

FRONT(reallocarray)
void *tmf_reallocarray(void *block, size_t n, size_t size)
{
    size_t total;

    if (__builtin_mul_overflow(n, size, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    return tmf_realloc(block, total);
}

static int is_alignment(size_t alignment)
{
    return alignment > 0 && (alignment & (alignment - 1)) == 0;
}

FRONT(memalign)
void *tmf_memalign(size_t alignment, size_t size)
{
    if (!is_alignment(alignment)) {
        errno = EINVAL;
        return NULL;
    }
    return (void *)FRONT_2(allocate_block, size,
                           alignment < ALIGNMENT ? ALIGNMENT : alignment);
}

// The C++ library allocates for itself before and after the program.
void *front_new_block(size_t size, size_t alignment)
{
    if (front_is_program()) {
        return (void *)FRONT_2(allocate_block, size,
                               alignment < ALIGNMENT ? ALIGNMENT : alignment);
    }
    return alignment <= ALIGNMENT ? malloc(size == 0 ? 1 : size)
                                  : aligned_alloc(alignment, size);
}

FRONT(aligned_alloc)
void *tmf_aligned_alloc(size_t alignment, size_t size)
{
    return tmf_memalign(alignment, size);
}

FRONT(valloc)
void *tmf_valloc(size_t size)
{
    return tmf_memalign(PAGE, size);
}

FRONT(posix_memalign)
int tmf_posix_memalign(void **block, size_t alignment, size_t size)
{
    void *made;

    if (!is_alignment(alignment) || alignment % sizeof(void *) != 0) {
        return EINVAL;
    }
    made = tmf_memalign(alignment, size);
    if (made == NULL) {
        return ENOMEM;
    }
    *block = made;
    return 0;
}

FRONT(strdup)
char *tmf_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = front_allocate(size);

    return copy == NULL ? NULL : memcpy(copy, text, size);
}

extern char *tmf___strdup(const char *text)
    __attribute__((weak, alias("tmf_strdup")));

FRONT(strndup)
char *tmf_strndup(const char *text, size_t most)
{
    size_t n = strnlen(text, most);
    char *copy = front_allocate(n + 1);

    if (copy != NULL) {
        memcpy(copy, text, n);
        copy[n] = '\0';
    }
    return copy;
}
