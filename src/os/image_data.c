// SPDX-License-Identifier: BSD-3-Clause
//
// The program's variables: where they are, and what they were. Libraries' are not
// looked at: what is there is each process' own affair.
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/ensure.h"
#include "os/image.h"

enum { MOST_PIECES = 8, MOST_BYTES = 1024 * 1024 };

struct piece {
    const char *low;
    size_t size;
    char *copy;
};

struct image_copy {
    struct piece pieces[MOST_PIECES];
    unsigned n_pieces;
    const char *left_out_low;
    const char *left_out_end;
};

struct question {
    uintptr_t address;
    enum image_part answer;
    int is_program; // the object that comes next is it
};

static int is_in(const struct dl_phdr_info *object, const ElfW(Phdr) * segment,
                 uintptr_t address)
{
    uintptr_t low = object->dlpi_addr + segment->p_vaddr;

    return address >= low && address - low < segment->p_memsz;
}

// A part of a segment that is only written before main() is a segment again.
static int look_into(struct dl_phdr_info *object, size_t size, void *data)
{
    struct question *question = data;
    int is_program = question->is_program;

    (void)size;
    question->is_program = 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];

        if (!is_in(object, segment, question->address)) {
            continue;
        }
        if (segment->p_type == PT_GNU_RELRO) {
            question->answer = IMAGE_FIXED;
            return 1;
        }
        if (segment->p_type == PT_LOAD) {
            question->answer = is_program && (segment->p_flags & PF_W) != 0
                                   ? IMAGE_VARIABLE
                                   : IMAGE_FIXED;
        }
    }
    return question->answer != IMAGE_NOT;
}

enum image_part image_part(uintptr_t address)
{
    struct question question = {
        .address = address,
        .answer = IMAGE_NOT,
        .is_program = 1,
    };

    dl_iterate_phdr(look_into, &question);
    return question.answer;
}

// Between variables there may be what AddressSanitizer guards, and others may be writing:
// no function of the C library's, which sanitizers replace, and no accesses that they see.
#define UNSEEN                                                                 \
    __attribute__((noinline, no_sanitize_address, no_sanitize_thread))

// What is zero is in the copy already, and takes no memory in either.
UNSEEN static void copy_bytes(char *to, const volatile char *from, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char byte = from[i];

        if (byte != 0) {
            to[i] = byte;
        }
    }
}

// The same as in the copy, and not all zero?
UNSEEN static int is_equal_and_set(const volatile char *bytes,
                                   const volatile char *copy, size_t size)
{
    int is_set = 0;

    for (size_t i = 0; i < size; i++) {
        char byte = bytes[i];

        if (byte != copy[i]) {
            return 0;
        }
        is_set |= byte != 0;
    }
    return is_set;
}

static void add_piece(struct image_copy *copy, const char *low, const char *end)
{
    struct piece *piece = &copy->pieces[copy->n_pieces];
    size_t size = (size_t)(end - low);

    if (low >= end || copy->n_pieces == MOST_PIECES) {
        return;
    }
    *piece = (struct piece){
        .low = low,
        .size = size < MOST_BYTES ? size : MOST_BYTES,
    };
    piece->copy = calloc(1, piece->size);
    ensure_memory(piece->copy != NULL);
    copy_bytes(piece->copy, low, piece->size);
    copy->n_pieces++;
}

static const char *lower_of(const char *one, const char *other)
{
    return one < other ? one : other;
}

static const char *higher_of(const char *one, const char *other)
{
    return one < other ? other : one;
}

static int copy_program(struct dl_phdr_info *object, size_t size, void *data)
{
    struct image_copy *copy = data;

    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        const char *low = (const char *)object->dlpi_addr + segment->p_vaddr;
        const char *end = low + segment->p_memsz;

        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W) != 0) {
            add_piece(copy, low, lower_of(end, copy->left_out_low));
            add_piece(copy, higher_of(low, copy->left_out_end), end);
        }
    }
    return 1; // the program itself is the first one
}

struct image_copy *image_copy_new(const char *left_out, size_t size)
{
    struct image_copy *copy = calloc(1, sizeof *copy);

    ensure_memory(copy != NULL);
    copy->left_out_low = left_out;
    copy->left_out_end = left_out + size;
    dl_iterate_phdr(copy_program, copy);
    return copy;
}

int image_copy_is_constant(const struct image_copy *copy, const char *bytes,
                           size_t size)
{
    for (unsigned i = 0; i < copy->n_pieces; i++) {
        const struct piece *piece = &copy->pieces[i];

        if (bytes >= piece->low && bytes + size <= piece->low + piece->size) {
            return is_equal_and_set(bytes, piece->copy + (bytes - piece->low),
                                    size);
        }
    }
    return 0;
}

void image_copy_free(struct image_copy *copy)
{
    for (unsigned i = 0; copy != NULL && i < copy->n_pieces; i++) {
        free(copy->pieces[i].copy);
    }
    free(copy);
}
