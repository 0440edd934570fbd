// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_IMAGE_H
#define OS_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * The program's image: what must be equal on all nodes, and what tells the
 * program's own code from the C library's.
 */

/** The build-id of the program as hex, or, if it was linked without one, "h" and
 * a hash of its file's contents. @param[out] text  [64] */
tm_status image_build_id(char *text);

/** A hash of the address and size of every mapping that threads may point into:
 * the program and all libraries (not stacks, not heap, not [vdso]).
 * @param[out] text  may be NULL; [size] the same in words, one mapping a line,
 *                   as many as fit, for the message when two nodes differ */
tm_status image_layout(uint64_t *hash, char *text, size_t size);

/** @return a hash of the build-ids of the program and all its libraries, in their order; of one
 *          that has none, of nothing */
uint64_t image_objects(void);

/** Is the address in the text of the program itself (main executable)?
 * Context: any, async-signal-safe after image_init(). */
int image_is_program_text(uintptr_t pc);

/** @return the name of the file that has the code at the address, without its folder; NULL: none. It may wait for
 * a library that is being loaded. */
const char *image_file_name(uintptr_t pc);

/** Read the ranges for image_is_program_text(); once, before handlers are installed. */
tm_status image_init(void);

/** What shared memory and stacks may be used for: PROT_READ | PROT_WRITE, and PROT_EXEC if the program was linked for
 * an executable stack: with nested functions of C, or internal procedures of Fortran, whose addresses are
 * passed on, a compiler writes a few instructions there, and calls them. Context: any, async-signal-safe. */
int image_memory_protection(void);

/** 1 if address randomisation is off in this process. */
int image_is_fixed(void);

/** May this process turn address randomisation off for programs that it runs?
 * @return 0, or the errno of personality(2), which containers refuse */
int image_fixing_error(void);

/** Turn address randomisation off and run the program again with the same
 * arguments and environment; returns only on failure (logged). */
tm_status image_reexec_fixed(char **argv);

/** The stack protector's canary of this process. Setting it is only valid in a
 * function that never returns through a protected frame made before. */
uint64_t image_canary(void);
void image_set_canary(uint64_t canary);

/** "function (file.c:12)" for an address, by addr2line if it is installed, else
 * "program+0x1234". Slow (starts a process); for reports before the end.
 * @param[out] text  [size] */
void image_describe(uintptr_t pc, char *text, size_t size);

enum image_part {
    IMAGE_NOT,      ///< neither of the program nor of a library
    IMAGE_FIXED,    ///< text, constants; anything of a library
    IMAGE_VARIABLE, ///< of the program, and may be written
};

/** What of the image an address is. Context: any; takes the loader's lock. */
enum image_part image_part(uintptr_t address);

struct image_copy;

/** A copy of the program's variables as they are now, but for one range; the first
 * MiB of each of its pieces. */
struct image_copy *image_copy_new(const char *left_out, size_t size);
void image_copy_free(struct image_copy *copy);

/** Are these bytes what they were, and not all zero? @return 0 also if they are not in
 * the copy */
int image_copy_is_constant(const struct image_copy *copy, const char *bytes,
                           size_t size);

/** The variable of the program that an address lies in, by the program's table of
 * symbols.
 * @param[out] name    [size]
 * @param[out] offset  of the address in it
 * @param[out] rest    its bytes from the address on
 * @return TM_OK, TM_ENOBLOCK (none, or the table is stripped)
 * Context: reads a file; for reports. */
TM_CHECKED tm_status image_variable(uintptr_t address, char *name, size_t size,
                                    size_t *offset, size_t *rest);

/** Where the program's variable of this name is, and its bytes. @return TM_OK, TM_ENOBLOCK (none
 * is called so, or the table is stripped). Context: reads a file. */
TM_CHECKED tm_status image_variable_named(const char *name, uintptr_t *address,
                                          size_t *size);

/** Has the program or a library a section of this name that is not empty, elsewhere?
 * @param not_at       where one may be
 * @param[out] object  [size]  if so: the library's path, or "the program"
 * Context: reads the files of all. */
int image_has_section(const char *section, const void *not_at, char *object,
                      size_t size);

#endif
