// SPDX-License-Identifier: BSD-3-Clause
#include "image.h"

#include <ctype.h>
#include <stdbool.h>

#include "common.h"
#include "files.h"

enum { SIDE_MOST = 60000, LINE_MOST = 10 };

static void comment_skip(FILE *file)
{
    int c;

    do {
        c = getc(file);
    } while (c != EOF && c != '\n');
}

// The next number, behind white space and comments, and the one character that
// follows it. @param[out] number  -1: it is not one, or too large
// @return was there anything?
static bool number_read(FILE *file, long *number)
{
    int c = getc(file);
    unsigned n_digits = 0;

    while (c == '#' || isspace(c)) {
        if (c == '#') {
            comment_skip(file);
        }
        c = getc(file);
    }
    if (c == EOF) {
        return false;
    }
    *number = 0;
    while (isdigit(c) && n_digits++ < LINE_MOST) {
        *number = *number * 10 + (c - '0');
        c = getc(file);
    }
    if (n_digits == 0 || !(c == EOF || isspace(c))) {
        *number = -1;
    }
    return true;
}

static size_t header_number(const struct input *input, const char *what,
                            long most)
{
    long number = -1;

    if (!number_read(input->file, &number)) {
        input_refuse(input, "ends before its %s", what);
    }
    if (number < 1 || number > most) {
        input_refuse(input, "has a %s that is not from 1 to %ld", what, most);
    }
    return (size_t)number;
}

static void values_read_binary(const struct input *input, uint8_t *values,
                               size_t n)
{
    const size_t n_read = fread(values, 1, n, input->file);

    if (n_read != n) {
        input_refuse(input, "ends after %zu of %zu values", n_read, n);
    }
}

static void values_read_text(const struct input *input, uint8_t *values,
                             size_t n)
{
    for (size_t i = 0; i < n; i++) {
        long number = -1;

        if (!number_read(input->file, &number)) {
            input_refuse(input, "ends after %zu of %zu values", i, n);
        }
        if (number < 0 || number > 255) {
            input_refuse(input,
                         "has something else than a number up to its "
                         "maximum as value %zu",
                         i);
        }
        values[i] = (uint8_t)number;
    }
}

// Bring values up to another maximum to 255.
static void values_scale(const struct input *input, uint8_t *values, size_t n,
                         unsigned maximum)
{
    for (size_t i = 0; i < n; i++) {
        if (values[i] > maximum) {
            input_refuse(input, "has %u as value %zu, above its maximum of %u",
                         values[i], i, maximum);
        }
        values[i] = (uint8_t)((values[i] * 255u + maximum / 2) / maximum);
    }
}

struct image image_read(const char *path)
{
    struct input input;
    struct image image;
    unsigned maximum;
    size_t n_values;
    char kind;

    input_open(&input, path);
    if (getc(input.file) != 'P' || (kind = (char)getc(input.file)) < '2' ||
        kind > '6' || kind == '4') {
        input_refuse(&input, "is not a PGM or PPM image (P2, P3, P5, P6)");
    }
    image.n_planes = kind == '3' || kind == '6' ? 3 : 1;
    image.width = header_number(&input, "width", SIDE_MOST);
    image.height = header_number(&input, "height", SIDE_MOST);
    maximum = (unsigned)header_number(&input, "maximum value", 255);
    n_values = image.width * image.height * image.n_planes;
    if (n_values > input.n_bytes) { // before that memory is asked for
        input_refuse(&input, "has %llu bytes; %zu values do not fit in",
                     (unsigned long long)input.n_bytes, n_values);
    }
    image.values = plain_memory(n_values);
    if (kind >= '5') {
        values_read_binary(&input, image.values, n_values);
    } else {
        values_read_text(&input, image.values, n_values);
    }
    values_scale(&input, image.values, n_values, maximum);
    input_close(&input);
    return image;
}

void image_write(FILE *file, const struct image *image)
{
    fprintf(file, "P%d\n%zu %zu\n255\n", image->n_planes == 3 ? 6 : 5,
            image->width, image->height);
    fwrite(image->values, image->n_planes, image->width * image->height, file);
}
