// SPDX-License-Identifier: BSD-3-Clause
//
// Names of the program's variables, from the table of symbols in its file, and sections
// of its libraries. A file is mapped for each question: they are few.
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/descriptor.h"
#include "os/image.h"

struct file {
    const char *bytes;
    size_t size;
};

static struct file map_file(const char *path)
{
    struct file file = {NULL, 0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat state;
    void *bytes;

    if (fd < 0) {
        return file;
    }
    if (fstat(fd, &state) == 0 && (size_t)state.st_size >= sizeof(ElfW(Ehdr))) {
        bytes =
            mmap(NULL, (size_t)state.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            file = (struct file){bytes, (size_t)state.st_size};
        }
    }
    descriptor_close(fd);
    return file;
}

static int has(const struct file *file, size_t offset, size_t size)
{
    return offset <= file->size && size <= file->size - offset;
}

// The section with the symbols, NULL if there is none.
static const ElfW(Shdr) * find_symbols(const struct file *file)
{
    const ElfW(Ehdr) *header = (const void *)file->bytes;
    const ElfW(Shdr) * sections;

    if (!has(file, header->e_shoff, header->e_shnum * sizeof *sections)) {
        return NULL;
    }
    sections = (const void *)(file->bytes + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type == SHT_SYMTAB &&
            sections[i].sh_link < header->e_shnum &&
            has(file, sections[i].sh_offset, sections[i].sh_size)) {
            return &sections[i];
        }
    }
    return NULL;
}

static const ElfW(Sym) * find_variable(const struct file *file,
                                       const ElfW(Shdr) * section,
                                       uintptr_t address)
{
    const ElfW(Sym) *symbols = (const void *)(file->bytes + section->sh_offset);

    for (size_t i = 0; i < section->sh_size / sizeof *symbols; i++) {
        if (ELF64_ST_TYPE(symbols[i].st_info) == STT_OBJECT &&
            address >= symbols[i].st_value &&
            address - symbols[i].st_value < symbols[i].st_size) {
            return &symbols[i];
        }
    }
    return NULL;
}

// How far the loader has put the program from where its file says.
static int find_base(struct dl_phdr_info *object, size_t size, void *data)
{
    (void)size;
    *(uintptr_t *)data = object->dlpi_addr;
    return 1; // the program itself is the first one
}

// @return NULL if there is none
static const ElfW(Sym) *
    find(const struct file *file, uintptr_t address, char *name, size_t size)
{
    const ElfW(Ehdr) *header = (const void *)file->bytes;
    const ElfW(Shdr) *section = find_symbols(file);
    const ElfW(Shdr) * names;
    const ElfW(Sym) * variable;

    if (section == NULL) {
        return NULL;
    }
    names = (const ElfW(Shdr) *)(const void *)(file->bytes + header->e_shoff) +
            section->sh_link;
    variable = find_variable(file, section, address);
    if (variable == NULL || variable->st_name >= names->sh_size ||
        !has(file, names->sh_offset, names->sh_size)) {
        return NULL;
    }
    snprintf(name, size, "%.*s", (int)(names->sh_size - variable->st_name),
             file->bytes + names->sh_offset + variable->st_name);
    return variable;
}

tm_status image_variable(uintptr_t address, char *name, size_t size,
                         size_t *offset, size_t *rest)
{
    struct file file = map_file("/proc/self/exe");
    const ElfW(Sym) * variable;
    uintptr_t base = 0;

    if (file.bytes == NULL) {
        return TM_ENOBLOCK;
    }
    dl_iterate_phdr(find_base, &base);
    variable = find(&file, address - base, name, size);
    if (variable != NULL) {
        *offset = address - base - variable->st_value;
        *rest = variable->st_size - *offset;
    }
    munmap((void *)(uintptr_t)file.bytes, file.size);
    return variable != NULL ? TM_OK : TM_ENOBLOCK;
}

// @return NULL if there is none
static const ElfW(Sym) * find_named(const struct file *file, const char *name)
{
    const ElfW(Ehdr) *header = (const void *)file->bytes;
    const ElfW(Shdr) *section = find_symbols(file);
    const ElfW(Shdr) * names;
    const ElfW(Sym) * symbols;

    if (section == NULL) {
        return NULL;
    }
    names = (const ElfW(Shdr) *)(const void *)(file->bytes + header->e_shoff) +
            section->sh_link;
    symbols = (const void *)(file->bytes + section->sh_offset);
    for (size_t i = 0; i < section->sh_size / sizeof *symbols; i++) {
        const size_t at = names->sh_offset + symbols[i].st_name;

        if (ELF64_ST_TYPE(symbols[i].st_info) == STT_OBJECT &&
            has(file, at, strlen(name) + 1) &&
            strcmp(file->bytes + at, name) == 0) {
            return &symbols[i];
        }
    }
    return NULL;
}

tm_status image_variable_named(const char *name, uintptr_t *address,
                               size_t *size)
{
    struct file file = map_file("/proc/self/exe");
    const ElfW(Sym) * variable;
    uintptr_t base = 0;

    if (file.bytes == NULL) {
        return TM_ENOBLOCK;
    }
    dl_iterate_phdr(find_base, &base);
    variable = find_named(&file, name);
    if (variable != NULL) {
        *address = base + variable->st_value;
        *size = variable->st_size;
    }
    munmap((void *)(uintptr_t)file.bytes, file.size);
    return variable != NULL ? TM_OK : TM_ENOBLOCK;
}

struct search {
    const char *section;
    uintptr_t not_at;
    char *object;
    size_t size;
};

// @return NULL if there is none
static const ElfW(Shdr) *
    find_section(const struct file *file, const char *wanted)
{
    const ElfW(Ehdr) *header = (const void *)file->bytes;
    const ElfW(Shdr) * sections;
    const ElfW(Shdr) * names;

    if (memcmp(file->bytes, ELFMAG, SELFMAG) != 0 ||
        !has(file, header->e_shoff, header->e_shnum * sizeof *sections) ||
        header->e_shstrndx >= header->e_shnum) {
        return NULL;
    }
    sections = (const void *)(file->bytes + header->e_shoff);
    names = &sections[header->e_shstrndx];
    if (!has(file, names->sh_offset, names->sh_size)) {
        return NULL;
    }
    for (unsigned i = 0; i < header->e_shnum; i++) {
        const char *name = file->bytes + names->sh_offset + sections[i].sh_name;

        if (has(file, names->sh_offset + sections[i].sh_name,
                strlen(wanted) + 1) &&
            strcmp(name, wanted) == 0) {
            return &sections[i];
        }
    }
    return NULL;
}

static int look_at_object(struct dl_phdr_info *object, size_t size, void *data)
{
    const struct search *search = data;
    const int is_program = object->dlpi_name[0] == '\0';
    struct file file =
        map_file(is_program ? "/proc/self/exe" : object->dlpi_name);
    const ElfW(Shdr) * section;
    int is_found;

    (void)size;
    if (file.bytes == NULL) {
        return 0; // the kernel's own object has no file
    }
    section = find_section(&file, search->section);
    is_found = section != NULL && section->sh_size > 0 &&
               object->dlpi_addr + section->sh_addr != search->not_at;
    if (is_found) {
        snprintf(search->object, search->size, "%s",
                 is_program ? "the program" : object->dlpi_name);
    }
    munmap((void *)(uintptr_t)file.bytes, file.size);
    return is_found;
}

int image_has_section(const char *section, const void *not_at, char *object,
                      size_t size)
{
    struct search search = {section, (uintptr_t)not_at, object, size};

    return dl_iterate_phdr(look_at_object, &search);
}
