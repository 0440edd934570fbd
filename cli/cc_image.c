// SPDX-License-Identifier: BSD-3-Clause
//
// Object files in memory: headers, sections, symbols.
#include "cc_image.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int image_open(struct image *image, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;

    *image = (struct image){.path = path};
    if (fd < 0 || fstat(fd, &status) != 0 || status.st_size == 0) {
        if (fd >= 0) {
            close(fd);
        }
        return 0;
    }
    image->size = (size_t)status.st_size;
    image->bytes = mmap(NULL, image->size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    return image->bytes != MAP_FAILED;
}

void image_close(struct image *image)
{
    munmap(image->bytes, image->size);
}

int object_read(struct object *object, const char *bytes, size_t size,
                const char *name)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)bytes;

    if (size < sizeof *header || memcmp(bytes, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_REL ||
        header->e_shoff == 0 || header->e_shoff + sizeof(Elf64_Shdr) > size) {
        return 0;
    }
    object->name = name;
    object->bytes = bytes;
    object->sections =
        (const Elf64_Shdr *)(const void *)(bytes + header->e_shoff);
    object->n_sections = header->e_shnum != 0
                             ? header->e_shnum
                             : (unsigned)object->sections[0].sh_size;
    object->names = bytes + object
                                ->sections[header->e_shstrndx == SHN_XINDEX
                                               ? object->sections[0].sh_link
                                               : header->e_shstrndx]
                                .sh_offset;
    return header->e_shoff + object->n_sections * sizeof(Elf64_Shdr) <= size;
}

const char *object_section_name(const struct object *object,
                                const Elf64_Shdr *section)
{
    return object->names + section->sh_name;
}

// Sections that are written only while the program begins, or by the linker.
static const char *const others[] = {
    ".init_array", ".fini_array", ".data.rel.ro", ".preinit", ".eh_frame",
    ".tm_clone",   ".ctors",      ".dtors",       ".note",    ".gnu.",
};

int object_is_variable(const struct object *object, const Elf64_Shdr *section)
{
    const unsigned long both = SHF_WRITE | SHF_ALLOC;
    const char *name = object_section_name(object, section);

    if ((section->sh_flags & both) != both ||
        (section->sh_flags & SHF_TLS) != 0 || section->sh_size == 0) {
        return 0;
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strncmp(name, others[i], strlen(others[i])) == 0) {
            return 0;
        }
    }
    return 1;
}

static const Elf64_Shdr *find_symbols(const struct object *object)
{
    for (unsigned i = 1; i < object->n_sections; i++) {
        if (object->sections[i].sh_type == SHT_SYMTAB) {
            return &object->sections[i];
        }
    }
    return NULL;
}

void object_each_symbol(const struct object *object,
                        void (*look)(void *argument, const Elf64_Sym *symbol,
                                     const char *name),
                        void *argument)
{
    const Elf64_Shdr *table = find_symbols(object);
    const Elf64_Sym *symbols;
    const char *names;

    if (table == NULL) {
        return;
    }
    symbols =
        (const Elf64_Sym *)(const void *)(object->bytes + table->sh_offset);
    names = object->bytes + object->sections[table->sh_link].sh_offset;
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        look(argument, &symbols[i], names + symbols[i].st_name);
    }
}
