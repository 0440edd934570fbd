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

/** The program's file, and the table of symbols in it. */
struct table {
    struct file file;
    uintptr_t base; ///< how far the loader has put it from where its file says
    const ElfW(Sym) * symbols; ///< [n]
    size_t n;
    const char *names; ///< [names_size]
    size_t names_size;
};

static void find_symbols(struct table *table)
{
    const struct file *file = &table->file;
    const ElfW(Ehdr) *header = (const void *)file->bytes;
    const ElfW(Shdr) * sections;

    if (!has(file, header->e_shoff, header->e_shnum * sizeof *sections)) {
        return;
    }
    sections = (const void *)(file->bytes + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++) {
        const ElfW(Shdr) *section = &sections[i];
        const ElfW(Shdr) * names;

        if (section->sh_type != SHT_SYMTAB ||
            section->sh_link >= header->e_shnum ||
            !has(file, section->sh_offset, section->sh_size)) {
            continue;
        }
        names = &sections[section->sh_link];
        if (has(file, names->sh_offset, names->sh_size)) {
            table->symbols = (const void *)(file->bytes + section->sh_offset);
            table->n = section->sh_size / sizeof *table->symbols;
            table->names = file->bytes + names->sh_offset;
            table->names_size = names->sh_size;
        }
        return;
    }
}

static int find_base(struct dl_phdr_info *object, size_t size, void *data)
{
    (void)size;
    *(uintptr_t *)data = object->dlpi_addr;
    return 1; // the program itself is the first one
}

// Without symbols if there are none.
static struct table open_table(void)
{
    struct table table = {.file = map_file("/proc/self/exe")};

    if (table.file.bytes != NULL) {
        dl_iterate_phdr(find_base, &table.base);
        find_symbols(&table);
    }
    return table;
}

static void close_table(const struct table *table)
{
    if (table->file.bytes != NULL) {
        munmap((void *)(uintptr_t)table->file.bytes, table->file.size);
    }
}

// Of a variable that has a name.
static int is_variable(const struct table *table, const ElfW(Sym) * symbol)
{
    return ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT &&
           symbol->st_name < table->names_size;
}

tm_status image_variable(uintptr_t address, char *name, size_t size,
                         size_t *offset, size_t *rest)
{
    const struct table table = open_table();
    tm_status status = TM_ENOBLOCK;

    for (size_t i = 0; i < table.n && status != TM_OK; i++) {
        const ElfW(Sym) *symbol = &table.symbols[i];
        const size_t at = address - table.base - symbol->st_value;

        if (is_variable(&table, symbol) && at < symbol->st_size) {
            snprintf(name, size, "%.*s",
                     (int)(table.names_size - symbol->st_name),
                     table.names + symbol->st_name);
            *offset = at;
            *rest = symbol->st_size - at;
            status = TM_OK;
        }
    }
    close_table(&table);
    return status;
}

tm_status image_variable_named(const char *name, uintptr_t *address,
                               size_t *size)
{
    const struct table table = open_table();
    const size_t length = strlen(name) + 1;
    tm_status status = TM_ENOBLOCK;

    for (size_t i = 0; i < table.n && status != TM_OK; i++) {
        const ElfW(Sym) *symbol = &table.symbols[i];

        if (is_variable(&table, symbol) &&
            length <= table.names_size - symbol->st_name &&
            memcmp(table.names + symbol->st_name, name, length) == 0) {
            *address = table.base + symbol->st_value;
            *size = symbol->st_size;
            status = TM_OK;
        }
    }
    close_table(&table);
    return status;
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
