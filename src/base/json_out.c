// SPDX-License-Identifier: BSD-3-Clause
//
// By hand: the library that programs link needs no other library for it.
#include "base/json_out.h"

#include <math.h>
#include <stdint.h>

/** The length of the UTF-8 character at a text's begin, 0 if it is none. */
static size_t utf8_length(const unsigned char *text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t n = text[0] < 0x80             ? 1
                     : (text[0] & 0xe0) == 0xc0 ? 2
                     : (text[0] & 0xf0) == 0xe0 ? 3
                     : (text[0] & 0xf8) == 0xf0 ? 4
                                                : 0;
    uint32_t code = n > 1 ? text[0] & (0x7fu >> n) : text[0];

    for (size_t i = 1; i < n; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0; // also at the end, a 0
        }
        code = code << 6 | (text[i] & 0x3f);
    }
    if (n == 0 || code < least[n] || code > 0x10ffff ||
        (code >= 0xd800 && code < 0xe000)) {
        return 0;
    }
    return n;
}

void json_put_text(FILE *file, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    putc('"', file);
    while (*at != '\0') {
        const size_t length = utf8_length(at);

        if (length == 0) {
            putc('?', file);
        } else if (*at == '"' || *at == '\\') {
            fprintf(file, "\\%c", *at);
        } else if (*at < 0x20) {
            fprintf(file, "\\u%04x", *at);
        } else {
            fwrite(at, 1, length, file);
        }
        at += length > 0 ? length : 1;
    }
    putc('"', file);
}

void json_put_double(FILE *file, double value)
{
    if (value == 0 && signbit(value)) {
        fputs("-0.0", file);
    } else {
        fprintf(file, "%.17g", value);
    }
}

void json_put_text_field(FILE *file, const char *key, const char *text)
{
    fprintf(file, "\"%s\": ", key);
    json_put_text(file, text);
}

void json_put_double_field(FILE *file, const char *key, double value)
{
    fprintf(file, "\"%s\": ", key);
    json_put_double(file, value);
}
