// SPDX-License-Identifier: BSD-3-Clause
//
// What `teamster cc` does to an object, by objcopy: sections of variables are renamed, so
// that the linker lays them together (frontend/shared.ld), and so are the functions that the
// front end takes the place of.
//
//   section                                           becomes
//   writable, at most SMALL bytes                     tm_flags
//   writable, larger, with contents                   tm_shared
//   writable, larger, zeros                           tm_zeros
//   .init_array, .fini_array                          tm_begin, tm_end
//   constants with addresses (.data.rel.ro)           stays
//   thread-local                                      stays: frontend/locals.c
//
// Each object gets a mark, by which others are told apart when the program is linked.
#include "cc.h"

#include <ar.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

#define SMALL 256u
#define MARK "tmf_object_mark"
#define RACY "tmf_is_racy"
#define REFUSED "tmf_refused_"

/** A file in memory. */
struct image {
    const char *path;
    char *bytes;
    size_t size;
};

/** An object in it. */
struct object {
    const char *name;
    const char *bytes;
    const Elf64_Shdr *sections;
    unsigned n_sections;
    const char *names;
};

static int open_image(struct image *image, const char *path)
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

static void close_image(struct image *image)
{
    munmap(image->bytes, image->size);
}

// @return 0: it is no object of this machine
static int read_object(struct object *object, const char *bytes, size_t size,
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

// ---- sections

static int begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static const char *new_name(const Elf64_Shdr *section, const char *name)
{
    if (begins_with(name, ".init_array")) {
        return "tm_begin";
    }
    if (begins_with(name, ".fini_array")) {
        return "tm_end";
    }
    if ((section->sh_flags & (SHF_WRITE | SHF_ALLOC)) !=
            (SHF_WRITE | SHF_ALLOC) ||
        (section->sh_flags & SHF_TLS) != 0 || section->sh_size == 0 ||
        begins_with(name, ".data.rel.ro") || begins_with(name, ".preinit") ||
        begins_with(name, ".eh_frame") || begins_with(name, ".tm_clone") ||
        begins_with(name, ".ctors") || begins_with(name, ".dtors") ||
        begins_with(name, ".note") || begins_with(name, ".gnu.")) {
        return NULL;
    }
    if (section->sh_size <= SMALL) {
        return "tm_flags";
    }
    return section->sh_type == SHT_NOBITS ? "tm_zeros" : "tm_shared";
}

// One line of objcopy's arguments. Where a section of zeros goes with others it must have
// contents; a constructor keeps its priority, which the linker sorts by.
static void write_section(FILE *file, const Elf64_Shdr *section,
                          const char *name)
{
    const char *becomes = new_name(section, name);
    const char *priority = "";

    if (becomes == NULL) {
        return;
    }
    if (begins_with(becomes, "tm_begin") || begins_with(becomes, "tm_end")) {
        priority = strchr(name + 1, '.') != NULL ? strchr(name + 1, '.') : "";
        fprintf(file, "--rename-section %s=%s%s,alloc,load,data,contents\n",
                name, becomes, priority);
    } else if (strcmp(becomes, "tm_zeros") == 0) {
        fprintf(file, "--rename-section %s=%s\n", name, becomes);
    } else {
        fprintf(file,
                "--set-section-flags %s=alloc,load,data,contents\n"
                "--rename-section %s=%s,alloc,load,data,contents\n",
                name, name, becomes);
    }
}

static int write_changes(const struct object *object, FILE *file,
                         const char *symbols, int is_racy)
{
    for (unsigned i = 1; i < object->n_sections; i++) {
        write_section(file, &object->sections[i],
                      object->names + object->sections[i].sh_name);
    }
    fprintf(file, "--redefine-syms=%s\n--add-symbol %s=1,weak\n", symbols,
            MARK);
    if (is_racy) {
        fprintf(file, "--add-symbol %s=1,weak\n", RACY);
    }
    return fclose(file);
}

static int change_by_file(const char *path, const char *list)
{
    const char *tool = getenv("TEAMSTER_OBJCOPY");
    struct words command = {0};
    char argument[4096];
    int exit_code;

    words_add(&command, tool != NULL ? tool : "objcopy");
    snprintf(argument, sizeof argument, "@%s", list);
    words_add(&command, argument);
    words_add(&command, path);
    exit_code = cc_run(&command);
    words_free(&command);
    return exit_code;
}

int cc_change_object(const char *path, const char *symbols, int is_racy)
{
    char list[] = "/tmp/teamster-cc-XXXXXX";
    struct object object;
    struct image image;
    int exit_code = 1;
    int fd;

    if (!open_image(&image, path)) {
        fprintf(stderr, "teamster: cannot read %s: %m\n", path);
        return 1;
    }
    fd = read_object(&object, image.bytes, image.size, path) ? mkstemp(list)
                                                             : -1;
    if (fd < 0) {
        fprintf(stderr, "teamster: %s is no object of x86-64\n", path);
    } else {
        if (write_changes(&object, fdopen(fd, "w"), symbols, is_racy) == 0) {
            exit_code = change_by_file(path, list);
        }
        unlink(list);
    }
    close_image(&image);
    return exit_code;
}

// ---- before linking

static const Elf64_Shdr *find_symbols(const struct object *object)
{
    for (unsigned i = 1; i < object->n_sections; i++) {
        if (object->sections[i].sh_type == SHT_SYMTAB) {
            return &object->sections[i];
        }
    }
    return NULL;
}

/** What is found in an object. */
struct findings {
    int has_mark;
    const char *refused; ///< the name of a call that cannot be had
};

static void look_at_symbol(struct findings *findings, const Elf64_Sym *symbol,
                           const char *name)
{
    findings->has_mark |= strcmp(name, MARK) == 0;
    if (symbol->st_shndx == SHN_UNDEF && begins_with(name, REFUSED)) {
        findings->refused = name + strlen(REFUSED);
    }
}

static struct findings look_at_object(const struct object *object)
{
    const Elf64_Shdr *table = find_symbols(object);
    struct findings findings = {0};
    const Elf64_Sym *symbols;
    const char *names;

    if (table == NULL) {
        return findings;
    }
    symbols =
        (const Elf64_Sym *)(const void *)(object->bytes + table->sh_offset);
    names = object->bytes + object->sections[table->sh_link].sh_offset;
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        look_at_symbol(&findings, &symbols[i], names + symbols[i].st_name);
    }
    return findings;
}

static int judge(const struct object *object)
{
    const struct findings findings = look_at_object(object);

    if (!findings.has_mark) {
        fprintf(stderr,
                "teamster: %s was not compiled by `teamster cc`, so its "
                "variables would not be shared: compile it again\n",
                object->name);
        return 1;
    }
    if (findings.refused != NULL) {
        fprintf(stderr,
                "teamster: %s calls %s(), which cannot be had on several "
                "nodes\n",
                object->name, findings.refused);
        return 1;
    }
    return 0;
}

// Members of an archive that are objects. One in which no member has the mark is a
// library of others, and is taken as libraries are.
static int judge_archive(const struct image *image)
{
    const char *at = image->bytes + SARMAG;
    const char *end = image->bytes + image->size;
    int exit_code = 0;

    while (end - at >= (long)sizeof(struct ar_hdr)) {
        const struct ar_hdr *member = (const struct ar_hdr *)(const void *)at;
        size_t size = strtoul(member->ar_size, NULL, 10);
        struct object object;

        at += sizeof *member;
        if (size > (size_t)(end - at)) {
            break;
        }
        if (read_object(&object, at, size, image->path)) {
            exit_code |= judge(&object);
        }
        at += size + size % 2;
    }
    return exit_code;
}

int cc_check_object(const char *path)
{
    struct object object;
    struct image image;
    int exit_code = 0;

    if (!open_image(&image, path)) {
        return 0; // the linker says it
    }
    if (image.size > SARMAG && memcmp(image.bytes, ARMAG, SARMAG) == 0) {
        exit_code = judge_archive(&image);
    } else if (read_object(&object, image.bytes, image.size, path)) {
        exit_code = judge(&object);
    }
    close_image(&image);
    return exit_code;
}
