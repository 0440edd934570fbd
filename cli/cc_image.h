// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_CC_IMAGE_H
#define CLI_CC_IMAGE_H

#include <elf.h>
#include <stddef.h>

/*
 * Object files of this machine, read in place. For `teamster cc`.
 */

/** The symbols that `teamster cc` adds, and how those begin that cannot be had. */
#define CC_MARK "tmf_object_mark"
#define CC_RACY "tmf_is_racy"
#define CC_REFUSED "tmf_refused_"

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

/** @return 0: it cannot be read, errno tells why */
int image_open(struct image *image, const char *path);
void image_close(struct image *image);

/** @param name  of the object in messages, kept
 * @return 0: it is no object of this machine */
int object_read(struct object *object, const char *bytes, size_t size,
                const char *name);

const char *object_section_name(const struct object *object,
                                const Elf64_Shdr *section);

/** Is it of variables that must be shared, as nodes must have the same? */
int object_is_variable(const struct object *object, const Elf64_Shdr *section);

/** Call look(argument, symbol, its name) for each symbol. */
void object_each_symbol(const struct object *object,
                        void (*look)(void *argument, const Elf64_Sym *symbol,
                                     const char *name),
                        void *argument);

#endif
