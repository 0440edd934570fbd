// SPDX-License-Identifier: BSD-3-Clause
#include "base/text.h"

#include <stdio.h>

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
