// SPDX-License-Identifier: BSD-3-Clause
#include "os/range.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "os/image.h"
#include "os/text_file.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { GUARD = 4096 };

// Name the first mapping in the way, as the user would find it in
// /proc/self/maps.
static void log_what_is_mapped(const char *address, size_t size)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];

    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        unsigned long low;
        unsigned long high;

        if (sscanf(line, "%lx-%lx", &low, &high) == 2 &&
            low < (unsigned long)address + size &&
            high > (unsigned long)address) {
            line[strcspn(line, "\n")] = '\0';
            log_error("the addresses %p to %p are taken by this mapping: %s",
                      (const void *)address, (const void *)(address + size),
                      line);
            fclose(maps);
            return;
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
    log_error("the addresses %p to %p are taken", (const void *)address,
              (const void *)(address + size));
}

tm_status range_reserve(char *address, size_t size)
{
    void *got =
        mmap(address, size, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
             -1, 0);

    if (got == (void *)address) {
        return TM_OK;
    }
    if (got != MAP_FAILED) { // a kernel without MAP_FIXED_NOREPLACE
        munmap(got, size);
    } else if (errno != EEXIST) {
        log_error("cannot reserve %zu bytes of addresses at %p: %m", size,
                  (void *)address);
        return errno == ENOMEM ? TM_ENOMEM : TM_ESYSTEM;
    }
    log_what_is_mapped(address, size);
    return TM_EBUSY;
}

static unsigned long read_number(const char *path)
{
    char text[32];

    text_file_read(path, text, sizeof text);
    return strtoul(text, NULL, 10);
}

static unsigned long count_mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    unsigned long n = 0;
    int c;

    while (maps != NULL && (c = getc(maps)) != EOF) {
        n += c == '\n';
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return n;
}

tm_status range_use(char *address, size_t size)
{
    unsigned long most = 0;
    int error;

    if (mprotect(address, size, image_memory_protection()) == 0) {
        return TM_OK;
    }
    error = errno;
    if (error == ENOMEM) {
        most = read_number("/proc/sys/vm/max_map_count");
    }
    if (most > 0 && count_mappings() + 2 >= most) { // 0: it cannot be read
        log_error(
            "cannot use %zu bytes at %p: the process has as many mappings "
            "as vm.max_map_count allows (%lu); raise it: sysctl -w "
            "vm.max_map_count=1048576",
            size, (void *)address, most);
    } else {
        errno = error;
        log_error("cannot use %zu bytes at %p: %m", size, (void *)address);
    }
    return TM_ENOMEM;
}

void range_discard(char *address, size_t size)
{
    if (madvise(address, size, MADV_DONTNEED) != 0) {
        memset(address, 0, size); // locked by mlockall(): it keeps its memory
    }
}

void range_deny(char *address, size_t size)
{
    if (mprotect(address, size, PROT_NONE) != 0) {
        log_error("cannot protect %p: %m", (void *)address);
    }
}

// "rw-p" and no inode: a line of /proc/self/maps.
static int is_private_line(const char *line, uintptr_t address)
{
    unsigned long low;
    unsigned long high;
    unsigned long inode;
    char allowed[8];

    return sscanf(line, "%lx-%lx %7s %*s %*s %lu", &low, &high, allowed,
                  &inode) == 4 &&
           address >= low && address < high && inode == 0 &&
           strncmp(allowed, "rw", 2) == 0 && allowed[3] == 'p';
}

int range_is_private(const void *address)
{
    unsigned char resident;
    const uintptr_t page = (uintptr_t)address / GUARD * GUARD;
    FILE *maps;
    char line[512];
    int is_private = 0;

    if (mincore((void *)page, GUARD, &resident) != 0) {
        return 0; // nothing is mapped
    }
    maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && !is_private &&
           fgets(line, sizeof line, maps) != NULL) {
        is_private = is_private_line(line, (uintptr_t)address);
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return is_private;
}

void range_release(char *address, size_t size)
{
    if (munmap(address, size) != 0) {
        log_error("cannot unmap %zu bytes at %p: %m", size, (void *)address);
    }
}

char *range_new(size_t size)
{
    char *mapping = mmap(NULL, GUARD + size, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (mapping == MAP_FAILED) {
        log_error("cannot map %zu bytes: %m", size);
        return NULL;
    }
    if (range_use(mapping + GUARD, size) != TM_OK) {
        munmap(mapping, GUARD + size);
        return NULL;
    }
    return mapping + GUARD;
}

void range_free(char *address, size_t size)
{
    if (address != NULL) {
        range_release(address - GUARD, GUARD + size);
    }
}
