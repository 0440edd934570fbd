// SPDX-License-Identifier: BSD-3-Clause
#include "base/text.h"

#include <stdio.h>
#include <string.h>

void text_add_list(struct text *text, const char *format, va_list arguments)
{
    const size_t left =
        text->length < text->size ? text->size - text->length : 0;
    const int n = vsnprintf(left > 0 ? text->bytes + text->length : NULL, left,
                            format, arguments);

    text->length += n > 0 ? (size_t)n : 0;
}

void text_add(struct text *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    text_add_list(text, format, arguments);
    va_end(arguments);
}

void text_add_word(struct text *text, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./=,:+@%";

    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        text_add(text, "%s", word);
        return;
    }
    text_add(text, "'");
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            text_add(text, "'\\''");
        } else {
            text_add(text, "%c", *word);
        }
    }
    text_add(text, "'");
}
