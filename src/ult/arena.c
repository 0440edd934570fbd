// SPDX-License-Identifier: BSD-3-Clause
//
// A thread's own memory: a heap in one range.
//
//   struct arena | chunk | chunk | ... | chunk |  never used, or not any more
//                                              ^ end
//
// A chunk is its head and its block. Free ones are listed by the power of two of their
// size, the links in the block. A request takes the first that fits of the next few in
// its own list, else any of a higher list, else new bytes at the end; and only if there
// are none it looks through all of its own list. So a request looks at a few chunks, but
// where memory is nearly used up.
//
// A1 Chunks fill [first, end) without gaps; each knows the size of the one before it.
// A2 No two free chunks are neighbours, and the last chunk is not free: what is sent when
//    the thread moves ends with something that is used.
#include "ult/arena.h"

#include <stdbool.h>

enum { N_LISTS = 32, ALIGNMENT = 16, FEW = 8 };

struct chunk {
    uint64_t size;        // with its head; the lowest bit: it is used
    uint64_t size_before; // of the chunk before it, without that bit; 0: none
};

// In the block of a free chunk.
struct links {
    struct chunk *next;
    struct chunk *before; // NULL: it is the first of its list
};

struct arena {
    uint64_t size;
    char *end;
    uint64_t size_last; // of the last chunk; 0: none
    void *root;
    struct chunk *lists[N_LISTS];
};

_Static_assert(sizeof(struct arena) % ALIGNMENT == 0, "blocks are aligned");
_Static_assert(sizeof(struct links) <= ALIGNMENT, "links fit into any block");

static uint64_t size_of(const struct chunk *chunk)
{
    return chunk->size & ~UINT64_C(1);
}

static bool is_used(const struct chunk *chunk)
{
    return (chunk->size & 1) != 0;
}

static char *first_chunk(const struct arena *arena)
{
    return (char *)(uintptr_t)arena + sizeof *arena;
}

static struct chunk *chunk_after(const struct chunk *chunk)
{
    return (struct chunk *)((char *)(uintptr_t)chunk + size_of(chunk));
}

static struct chunk *chunk_before(struct chunk *chunk)
{
    return (struct chunk *)((char *)chunk - chunk->size_before);
}

static struct links *links_of(const struct chunk *chunk)
{
    return (struct links *)(uintptr_t)(chunk + 1);
}

static unsigned list_of(uint64_t size)
{
    unsigned list = 63 - (unsigned)__builtin_clzll(size);

    return list < N_LISTS ? list : N_LISTS - 1;
}

/* ---- lists of free chunks ---- */

static void list_add(struct arena *arena, struct chunk *chunk)
{
    struct chunk **first = &arena->lists[list_of(size_of(chunk))];

    *links_of(chunk) = (struct links){.next = *first};
    if (*first != NULL) {
        links_of(*first)->before = chunk;
    }
    *first = chunk;
}

static void list_take(struct arena *arena, struct chunk *chunk)
{
    const struct links links = *links_of(chunk);

    if (links.next != NULL) {
        links_of(links.next)->before = links.before;
    }
    if (links.before != NULL) {
        links_of(links.before)->next = links.next;
    } else {
        arena->lists[list_of(size_of(chunk))] = links.next;
    }
}

/* The first that fits among the first `most` of a list, NULL if none does. */
static struct chunk *look_through(const struct arena *arena, unsigned list,
                                  uint64_t size, unsigned most)
{
    struct chunk *chunk = arena->lists[list];

    for (; chunk != NULL && most > 0; most--) {
        if (size_of(chunk) >= size) {
            return chunk;
        }
        chunk = links_of(chunk)->next;
    }
    return NULL;
}

static struct chunk *find_free(const struct arena *arena, uint64_t size)
{
    struct chunk *chunk = look_through(arena, list_of(size), size, FEW);

    for (unsigned list = list_of(size) + 1; list < N_LISTS && chunk == NULL;
         list++) {
        chunk = look_through(arena, list, size, FEW);
    }
    return chunk;
}

/* ---- chunks ---- */

/* Tell the chunk behind one, or the arena, how large that is. */
static void note_size(struct arena *arena, const struct chunk *chunk)
{
    if ((char *)chunk_after(chunk) == arena->end) {
        arena->size_last = size_of(chunk);
    } else {
        chunk_after(chunk)->size_before = size_of(chunk);
    }
}

/* A free chunk is used now; what is too much of it becomes one of its own. */
static void use_part(struct arena *arena, struct chunk *chunk, uint64_t size)
{
    const uint64_t rest = size_of(chunk) - size;
    struct chunk *remains;

    list_take(arena, chunk);
    if (rest >= sizeof(struct chunk) + ALIGNMENT) {
        chunk->size = size;
        remains = chunk_after(chunk);
        *remains = (struct chunk){.size = rest, .size_before = size};
        note_size(arena, remains);
        list_add(arena, remains);
    }
    chunk->size |= 1;
}

static struct chunk *add_chunk(struct arena *arena, uint64_t size)
{
    struct chunk *chunk = (struct chunk *)arena->end;

    if (size > arena->size - (uint64_t)(arena->end - (char *)arena)) {
        return NULL;
    }
    *chunk = (struct chunk){.size = size | 1, .size_before = arena->size_last};
    arena->end += size;
    arena->size_last = size;
    return chunk;
}

/* A chunk that is free takes its free neighbour in. @return the whole */
static struct chunk *join_neighbours(struct arena *arena, struct chunk *chunk)
{
    struct chunk *after = chunk_after(chunk);

    if ((char *)after < arena->end && !is_used(after)) {
        list_take(arena, after);
        chunk->size += size_of(after);
    }
    if (chunk->size_before != 0 && !is_used(chunk_before(chunk))) {
        struct chunk *before = chunk_before(chunk);

        list_take(arena, before);
        before->size += size_of(chunk);
        chunk = before;
    }
    note_size(arena, chunk);
    return chunk;
}

/* The chunk of a block, NULL if there is none. Looks at nothing that is not of the
 * arena, and only at what looks like a head. */
static struct chunk *chunk_of(const struct arena *arena, const void *block)
{
    struct chunk *chunk = (struct chunk *)(uintptr_t)block - 1;
    const uint64_t offset =
        (uint64_t)((uintptr_t)chunk - (uintptr_t)first_chunk(arena));
    const uint64_t room = (uint64_t)(arena->end - first_chunk(arena));
    uint64_t size;

    if (offset >= room || offset % ALIGNMENT != 0) {
        return NULL;
    }
    size = size_of(chunk);
    if (size < sizeof *chunk + ALIGNMENT || size % ALIGNMENT != 0 ||
        size > room - offset || chunk->size_before > offset) {
        return NULL;
    }
    if (offset + size == room) {
        return arena->size_last == size ? chunk : NULL;
    }
    return chunk_after(chunk)->size_before == size ? chunk : NULL;
}

/* ---- for others ---- */

void arena_init(struct arena *arena, size_t size)
{
    arena->size = size;
    arena->end = first_chunk(arena);
}

void *arena_alloc(struct arena *arena, size_t size)
{
    struct chunk *chunk;
    uint64_t whole;

    if (size > arena->size) {
        return NULL;
    }
    whole = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    whole = sizeof *chunk + (whole == 0 ? ALIGNMENT : whole);
    chunk = find_free(arena, whole);
    if (chunk != NULL) {
        use_part(arena, chunk, whole);
        return chunk + 1;
    }
    chunk = add_chunk(arena, whole);
    if (chunk == NULL) {
        chunk = look_through(arena, list_of(whole), whole, UINT32_MAX);
        if (chunk == NULL) {
            return NULL;
        }
        use_part(arena, chunk, whole);
    }
    return chunk + 1;
}

tm_status arena_free(struct arena *arena, void *block)
{
    struct chunk *chunk = chunk_of(arena, block);

    if (chunk == NULL || !is_used(chunk)) {
        return TM_ENOBLOCK;
    }
    chunk->size = size_of(chunk);
    chunk = join_neighbours(arena, chunk);
    if ((char *)chunk_after(chunk) == arena->end) { // A2
        arena->end = (char *)chunk;
        arena->size_last = chunk->size_before;
    } else {
        list_add(arena, chunk);
    }
    return TM_OK;
}

size_t arena_used(const struct arena *arena)
{
    return arena->size_last == 0 && arena->root == NULL
               ? 0
               : (size_t)(arena->end - (const char *)arena);
}

void *arena_root(const struct arena *arena)
{
    return arena->root;
}

void arena_set_root(struct arena *arena, void *root)
{
    arena->root = root;
}

static int lists_are_valid(const struct arena *arena, unsigned n_free)
{
    for (unsigned list = 0; list < N_LISTS; list++) {
        const struct chunk *before = NULL;

        for (const struct chunk *chunk = arena->lists[list]; chunk != NULL;
             chunk = links_of(chunk)->next) {
            if (is_used(chunk) || list_of(size_of(chunk)) != list ||
                links_of(chunk)->before != before || n_free == 0) {
                return 0;
            }
            n_free--;
            before = chunk;
        }
    }
    return n_free == 0;
}

int arena_is_valid(const struct arena *arena)
{
    const struct chunk *chunk = (const struct chunk *)first_chunk(arena);
    bool was_free = false;
    uint64_t size = 0;
    unsigned n_free = 0;

    while ((const char *)chunk < arena->end) {
        if (chunk->size_before != size || (was_free && !is_used(chunk))) {
            return 0;
        }
        size = size_of(chunk);
        was_free = !is_used(chunk);
        n_free += was_free;
        chunk = chunk_after(chunk);
    }
    return (const char *)chunk == arena->end && arena->size_last == size &&
           !was_free && lists_are_valid(arena, n_free);
}
