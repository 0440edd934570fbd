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
// Each object gets a mark, by which others are told apart when the program is linked
// (cc_check.c).
#include "cc.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cc_image.h"

#define SMALL 256u

// ---- sections

static void look_for_acquire(void *found, const Elf64_Sym *symbol,
                             const char *name)
{
    (void)symbol;
    *(int *)found |= strcmp(name, "__cxa_guard_acquire") == 0;
}

// Of variables of C++ functions: each node has its own (frontend/cxx.c), if the object asks
// before it makes them (with -fno-threadsafe-statics it does not).
static int has_guards(const struct object *object)
{
    int found = 0;

    object_each_symbol(object, look_for_acquire, &found);
    return found;
}

static const char *new_name(const struct object *object,
                            const Elf64_Shdr *section, int guards)
{
    const char *name = object_section_name(object, section);

    if (begins_with(name, ".init_array")) {
        return "tm_begin";
    }
    if (begins_with(name, ".fini_array")) {
        return "tm_end";
    }
    if (!object_is_variable(object, section) ||
        (guards && begins_with(name, ".bss._ZGV"))) {
        return NULL;
    }
    if (section->sh_size <= SMALL) {
        return "tm_flags";
    }
    return section->sh_type == SHT_NOBITS ? "tm_zeros" : "tm_shared";
}

// One line of objcopy's arguments. Where a section of zeros goes with others it must have
// contents; a constructor keeps its priority, which the linker sorts by.
static void write_section(FILE *file, const struct object *object,
                          const Elf64_Shdr *section, int guards)
{
    const char *name = object_section_name(object, section);
    const char *becomes = new_name(object, section, guards);
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
    const int guards = has_guards(object);

    for (unsigned i = 1; i < object->n_sections; i++) {
        write_section(file, object, &object->sections[i], guards);
    }
    fprintf(file, "--redefine-syms=%s\n--add-symbol %s=1,weak\n", symbols,
            CC_MARK);
    if (is_racy) {
        fprintf(file, "--add-symbol %s=1,weak\n", CC_RACY);
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

    if (!image_open(&image, path)) {
        fprintf(stderr, "teamster: cannot read %s: %m\n", path);
        return 1;
    }
    fd = object_read(&object, image.bytes, image.size, path) ? mkstemp(list)
                                                             : -1;
    if (fd < 0) {
        fprintf(stderr, "teamster: %s is no object of x86-64\n", path);
    } else {
        if (write_changes(&object, fdopen(fd, "w"), symbols, is_racy) == 0) {
            exit_code = change_by_file(path, list);
        }
        unlink(list);
    }
    image_close(&image);
    return exit_code;
}

int cc_has_code(const char *path)
{
    struct object object;
    struct image image;
    int found = 1;

    if (!image_open(&image, path)) {
        return 1;
    }
    if (object_read(&object, image.bytes, image.size, path)) {
        found = 0;
        for (unsigned i = 1; i < object.n_sections && !found; i++) {
            found = (object.sections[i].sh_flags & SHF_EXECINSTR) != 0 &&
                    object.sections[i].sh_size > 0;
        }
    }
    image_close(&image);
    return found;
}
