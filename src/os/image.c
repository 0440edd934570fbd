// SPDX-License-Identifier: BSD-3-Clause
//
// Nodes can pass pointers to code, constants and stacks to each other only if
// all of them run the same program at the same addresses. Two things are
// compared at start: the build-id that the linker puts into a program, and a
// hash of where the loader has put the program and its libraries. With address
// randomisation off, the second follows from the first and the libraries.
#include "os/image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "os/descriptor.h"
#include "os/text_file.h"

enum { PAGE = 4096, TEXT_SIZE = 64, MAX_ID_BYTES = (TEXT_SIZE - 1) / 2 };

struct build_id {
    const unsigned char *bytes;
    size_t size;
};

// Notes are a header, a name and a description, each rounded up to 4 bytes.
static void find_in_notes(const char *at, size_t size, struct build_id *id)
{
    while (size >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const void *)at;
        size_t name_size = (note->n_namesz + 3u) & ~3u;
        size_t whole = sizeof *note + name_size + ((note->n_descsz + 3u) & ~3u);
        const char *name = at + sizeof *note;

        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
            memcmp(name, "GNU", 4) == 0) {
            id->bytes = (const unsigned char *)name + name_size;
            id->size = note->n_descsz;
            return;
        }
        if (whole > size) {
            return;
        }
        at += whole;
        size -= whole;
    }
}

static void find_in_object(const struct dl_phdr_info *object,
                           struct build_id *id)
{
    for (int i = 0; i < object->dlpi_phnum && id->size == 0; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];

        if (segment->p_type == PT_NOTE && segment->p_align <= 4) {
            find_in_notes((const char *)object->dlpi_addr + segment->p_vaddr,
                          segment->p_memsz, id);
        }
    }
}

// The program itself is the first object.
static int find_build_id(struct dl_phdr_info *object, size_t size, void *data)
{
    (void)size;
    find_in_object(object, data);
    return 1;
}

static tm_status hash_program_file(uint64_t *hash)
{
    static unsigned char buffer[1 << 16];
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;

    *hash = HASH_START;
    while (fd >= 0 && (n = read(fd, buffer, sizeof buffer)) > 0) {
        *hash = hash_bytes(*hash, buffer, (size_t)n);
    }
    if (n < 0) {
        log_error("cannot read the program's file: %m");
    }
    descriptor_close(fd);
    return n < 0 ? TM_ESYSTEM : TM_OK;
}

tm_status image_build_id(char *text)
{
    struct build_id id = {NULL, 0};
    uint64_t hash;
    tm_status status;

    dl_iterate_phdr(find_build_id, &id);
    if (id.size == 0) {
        status = hash_program_file(&hash);
        if (status == TM_OK) {
            snprintf(text, TEXT_SIZE, "h%016llx", (unsigned long long)hash);
        }
        return status;
    }
    for (size_t i = 0; i < id.size && i < MAX_ID_BYTES; i++) {
        snprintf(text + 2 * i, 3, "%02x", id.bytes[i]);
    }
    return TM_OK;
}

struct layout {
    uint64_t hash;
    char *text;
    size_t room;
    int is_program; // the next object is it
};

static void add_mapping(struct layout *layout, uintptr_t low, uintptr_t high,
                        const char *name)
{
    char line[300];
    size_t length;

    snprintf(line, sizeof line, "%lx-%lx %s\n", (unsigned long)low,
             (unsigned long)high, name);
    length = strlen(line);
    layout->hash = hash_bytes(layout->hash, line, length);
    if (length < layout->room) {
        memcpy(layout->text, line, length + 1);
        layout->text += length;
        layout->room -= length;
    } else {
        layout->room = 0; // whole lines only, and no more of them
    }
}

/** The kernel's own object, whose place is not the program's matter. */
static int is_vdso(const struct dl_phdr_info *object)
{
    uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);

    return vdso != 0 && object->dlpi_addr == vdso;
}

static int add_object(struct dl_phdr_info *object, size_t size, void *data)
{
    struct layout *layout = data;
    const char *slash = strrchr(object->dlpi_name, '/');
    const char *name = slash != NULL ? slash + 1 : object->dlpi_name;

    (void)size;
    if (layout->is_program) {
        name = "program";
        layout->is_program = 0;
    }
    if (is_vdso(object)) {
        return 0;
    }
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t low = object->dlpi_addr + segment->p_vaddr;

        if (segment->p_type == PT_LOAD) {
            add_mapping(layout, low & -(uintptr_t)PAGE,
                        (low + segment->p_memsz + PAGE - 1) & -(uintptr_t)PAGE,
                        name);
        }
    }
    return 0;
}

tm_status image_layout(uint64_t *hash, char *text, size_t size)
{
    struct layout layout = {
        .hash = HASH_START,
        .text = text,
        .room = text != NULL ? size : 0,
        .is_program = 1,
    };

    if (layout.room > 0) {
        text[0] = '\0';
    }
    dl_iterate_phdr(add_object, &layout);
    *hash = layout.hash;
    return TM_OK;
}

static int add_build_id(struct dl_phdr_info *object, size_t size, void *data)
{
    uint64_t *hash = data;
    struct build_id id = {NULL, 0};

    (void)size;
    if (is_vdso(object)) {
        return 0;
    }
    find_in_object(object, &id);
    *hash = hash_bytes(*hash, id.bytes, id.size);
    return 0;
}

uint64_t image_objects(void)
{
    uint64_t hash = HASH_START;

    dl_iterate_phdr(add_build_id, &hash);
    return hash;
}

int image_memory_protection(void)
{
    const ElfW(Phdr) *header = (const void *)getauxval(AT_PHDR);
    const unsigned long n = header == NULL ? 0 : getauxval(AT_PHNUM);
    int protection = PROT_READ | PROT_WRITE;

    for (unsigned long i = 0; i < n; i++) {
        if (header[i].p_type == PT_GNU_STACK &&
            (header[i].p_flags & PF_X) != 0) {
            protection |= PROT_EXEC;
        }
    }
    return protection;
}

int image_is_fixed(void)
{
    char setting[4];
    int now = personality(0xffffffff);

    if (now != -1 && (now & ADDR_NO_RANDOMIZE) != 0) {
        return 1;
    }
    text_file_read("/proc/sys/kernel/randomize_va_space", setting,
                   sizeof setting);
    return setting[0] == '0';
}

// The path gives the process its usual name; the link works if the file has
// been replaced or the path has become too long.
static void exec_again(char **argv)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

    if (length > 0) {
        path[length] = '\0';
        execv(path, argv);
    }
    execv("/proc/self/exe", argv);
}

/** @return what was so far, -1 and errno if it is refused */
static int turn_randomisation_off(void)
{
    int before = personality(0xffffffff);

    return before == -1 ||
                   personality((unsigned long)before | ADDR_NO_RANDOMIZE) == -1
               ? -1
               : before;
}

int image_fixing_error(void)
{
    int before = turn_randomisation_off();

    if (before == -1) {
        return errno;
    }
    personality((unsigned long)before);
    return 0;
}

tm_status image_reexec_fixed(char **argv)
{
    int before = turn_randomisation_off();

    if (before == -1) {
        log_error("cannot turn address randomisation off: %m; start the "
                  "program by `setarch -R`, or allow personality() where the "
                  "container forbids it");
        return TM_ESYSTEM;
    }
    exec_again(argv);
    log_error("cannot start the program again: %m");
    personality((unsigned long)before);
    return TM_ESYSTEM;
}

// The canary is in the header of the kernel thread, at a place that compilers
// have agreed on.
uint64_t image_canary(void)
{
    uint64_t canary;

    __asm__ volatile("movq %%fs:0x28, %0" : "=r"(canary));
    return canary;
}

__attribute__((no_stack_protector)) void image_set_canary(uint64_t canary)
{
    __asm__ volatile("movq %0, %%fs:0x28" : : "r"(canary) : "memory");
}
