// SPDX-License-Identifier: BSD-3-Clause
//
// mmap(): blocks of shared memory. A block goes when as many bytes of it have been unmapped as it
// has, in whatever parts; until then those that are not needed stay.
#include "front.h"
#include "runtime/unchanged.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, BUCKETS = 256 };

static size_t round_up(size_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

/** What a mapping is made of, and what is noted of it. */
struct mapping {
    void *to;
    size_t size;
    int fd;
    off_t offset;
    size_t left; // bytes that are still mapped
    int is_file;
    struct mapping *next;
};

static TM_SHARED struct mapping *mappings[BUCKETS];
static tm_mutex mappings_mutex;

static struct mapping **bucket_of(const void *address)
{
    return &mappings[(uintptr_t)address / PAGE % BUCKETS];
}

static int has_address(const struct mapping *mapping, const char *address)
{
    return address >= (char *)mapping->to &&
           address < (char *)mapping->to + mapping->size;
}

static struct mapping **find_in_bucket(struct mapping **next,
                                       const void *address)
{
    while (*next != NULL && !has_address(*next, address)) {
        next = &(*next)->next;
    }
    return *next == NULL ? NULL : next;
}

// Where the mapping hangs that the address is in, or NULL. Most often it begins there.
static struct mapping **find_mapping(const void *address)
{
    struct mapping **place = find_in_bucket(bucket_of(address), address);

    for (unsigned i = 0; i < BUCKETS && place == NULL; i++) {
        place = find_in_bucket(&mappings[i], address);
    }
    return place;
}

static int note_mapping(const struct mapping *made)
{
    struct mapping *mapping = front_allocate(sizeof *mapping);
    struct mapping **bucket = bucket_of(made->to);

    if (mapping == NULL) {
        return 0;
    }
    *mapping = *made;
    front_lock(&mappings_mutex);
    mapping->next = *bucket;
    *bucket = mapping;
    front_unlock(&mappings_mutex);
    return 1;
}

// Part of a mapping goes. @return the mapping if that was the last, to be freed; or NULL
static struct mapping *take_part(const void *address, size_t size)
{
    struct mapping **place;
    struct mapping *mapping = NULL;

    front_lock(&mappings_mutex);
    place = find_mapping(address);
    if (place != NULL) {
        mapping = *place;
        mapping->left -= size < mapping->left ? size : mapping->left;
        if (mapping->left == 0) {
            *place = mapping->next;
        } else {
            mapping = NULL;
        }
    }
    front_unlock(&mappings_mutex);
    return mapping;
}

static int is_of_file(const void *address)
{
    struct mapping **place;
    int is_file;

    front_lock(&mappings_mutex);
    place = find_mapping(address);
    is_file = place != NULL && (*place)->is_file;
    front_unlock(&mappings_mutex);
    return is_file;
}

static long fill_mapping(void *arguments)
{
    const struct mapping *mapping = arguments;
    size_t done = 0;
    ssize_t n = 1;

    while (done < mapping->size && n > 0) {
        n = pread(mapping->fd, (char *)mapping->to + done, mapping->size - done,
                  mapping->offset + (off_t)done);
        done += n > 0 ? (size_t)n : 0;
    }
    return n < 0 ? -1 : 0;
}

static void *new_mapping(size_t size)
{
    static const tm_alloc_attr attr = {.name = "mmap"};

    return tm_alloc(size, &attr);
}

static long end_mapping(void *address)
{
    return tm_free(address);
}

static long say_not_executed(const char *text)
{
    static atomic_int is_said;

    if (atomic_exchange(&is_said, 1) == 0) {
        fputs(text, stderr);
    }
    return 0;
}

// All shared memory is, or none, by how the program was linked. Some that make code go on
// without.
static int may_be_executed(int protection)
{
    if ((protection & PROT_EXEC & ~teamster_memory_protection()) == 0) {
        return 1;
    }
    FRONT_1(say_not_executed,
            "teamster: warning: memory that is to be executed is refused: "
            "link the program with -z execstack\n");
    errno = EACCES;
    return 0;
}

FRONT(mmap)
void *tmf_mmap(void *where, size_t size, int protection, int flags, int fd,
               off_t offset)
{
    struct mapping mapping = {
        .fd = fd, .offset = offset, .is_file = (flags & MAP_ANONYMOUS) == 0};

    if ((flags & MAP_FIXED) != 0) {
        front_fatal("mmap() with MAP_FIXED is not possible with shared memory");
    }
    if ((flags & MAP_ANONYMOUS) == 0 && (flags & MAP_TYPE) != MAP_PRIVATE &&
        (protection & PROT_WRITE) != 0) {
        front_fatal("mmap() of a file to write it (MAP_SHARED and PROT_WRITE) "
                    "is not possible: use read() and write()");
    }
    (void)where;
    if (!may_be_executed(protection)) {
        return MAP_FAILED;
    }
    if (size == 0) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    mapping.size = round_up(size);
    mapping.left = mapping.size;
    mapping.to = (void *)FRONT_1(new_mapping, mapping.size);
    if (mapping.to == NULL) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    if ((mapping.is_file && front_at_root(fill_mapping, &mapping) != 0) ||
        !note_mapping(&mapping)) {
        FRONT_1(end_mapping, mapping.to);
        return MAP_FAILED;
    }
    return mapping.to;
}
SAME(mmap64, mmap);

FRONT(munmap)
int tmf_munmap(void *address, size_t size)
{
    struct mapping *gone;

    if (!front_is_shared(address)) {
        return munmap(address, size);
    }
    gone = take_part(address, round_up(size));
    if (gone != NULL) {
        FRONT_1(end_mapping, gone->to);
        front_free(gone);
    }
    return 0;
}

FRONT(mprotect)
int tmf_mprotect(void *address, size_t size, int protection)
{
    if (!front_is_shared(address)) {
        return mprotect(address, size, protection);
    }
    return may_be_executed(protection) ? 0 : -1;
}

// The kernel would take pages away that only this node has. A file's are not written again.
FRONT(madvise)
int tmf_madvise(void *address, size_t size, int advice)
{
    if (!front_is_shared(address)) {
        return madvise(address, size, advice);
    }
    if (advice == MADV_DONTNEED && !is_of_file(address)) {
        memset(address, 0, size);
    }
    return 0;
}
