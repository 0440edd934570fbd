// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>

/** A text that is written bit by bit, and cut where it does not fit. */
struct text {
    char *bytes; ///< [size]; with size 0 it may be NULL
    size_t size;
    size_t length; ///< of the whole, also where it does not fit
};

/** Add to the end, as printf() does. */
__attribute__((format(printf, 2, 3))) void text_add(struct text *text,
                                                    const char *format, ...);
__attribute__((format(printf, 2, 0))) void text_add_list(struct text *text,
                                                         const char *format,
                                                         va_list arguments);

/** Add a word as a shell reads it, in quotes if it needs them. */
void text_add_word(struct text *text, const char *word);

#endif
