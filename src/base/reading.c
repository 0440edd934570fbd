// SPDX-License-Identifier: BSD-3-Clause
#include "base/reading.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static int parse_number(const char *text, uint64_t *value)
{
    char *end;

    if (!isdigit((unsigned char)text[0])) {
        return 0; // strtoull() would take a sign and blanks
    }
    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

static unsigned shift_of(char suffix)
{
    static const char suffixes[] = "KMGT";
    const char *found = strchr(suffixes, toupper((unsigned char)suffix));

    return found == NULL ? 0 : 10 * (unsigned)(found - suffixes + 1);
}

tm_status parse_size(const char *text, uint64_t *bytes)
{
    char digits[24];
    size_t length = strlen(text);
    unsigned shift = length > 0 ? shift_of(text[length - 1]) : 0;
    uint64_t value;

    length -= shift != 0;
    if (length >= sizeof digits) {
        return TM_EINVAL;
    }
    memcpy(digits, text, length);
    digits[length] = '\0';
    if (!parse_number(digits, &value) || value > UINT64_MAX >> shift) {
        return TM_EINVAL;
    }
    *bytes = value << shift;
    return TM_OK;
}

tm_status parse_decimal(const char *text, double *value)
{
    size_t length = strspn(text, "0123456789.");
    char *end;
    double number;

    if (length == 0 || text[length] != '\0') {
        return TM_EINVAL; // strtod() would take signs, blanks, words and hex
    }
    number = strtod(text, &end);
    if (*end != '\0') {
        return TM_EINVAL;
    }
    *value = number;
    return TM_OK;
}

int reading_number(struct reading *reading, uint64_t low, uint64_t high,
                   uint64_t *value)
{
    if (parse_number(reading->text, value) && *value >= low && *value <= high) {
        return 1;
    }
    snprintf(reading->allowed, sizeof reading->allowed, "%ju to %ju",
             (uintmax_t)low, (uintmax_t)high);
    return 0;
}

int reading_unsigned(struct reading *reading, unsigned low, unsigned high,
                     unsigned *value)
{
    uint64_t wide;

    if (!reading_number(reading, low, high, &wide)) {
        return 0;
    }
    *value = (unsigned)wide;
    return 1;
}

void size_write(char *text, size_t size, uint64_t bytes)
{
    static const char suffixes[][2] = {"", "K", "M", "G", "T"};
    unsigned i = 0;

    while (i < 4 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        i++;
    }
    snprintf(text, size, "%ju%s", (uintmax_t)bytes, suffixes[i]);
}

int reading_bytes(struct reading *reading, const char *word, uint64_t low,
                  uint64_t high, uint64_t *value)
{
    char low_text[24];
    char high_text[24];

    if (word != NULL && strcmp(reading->text, word) == 0) {
        *value = 0;
        return 1;
    }
    if (parse_size(reading->text, value) == TM_OK && *value >= low &&
        *value <= high) {
        return 1;
    }
    size_write(low_text, sizeof low_text, low);
    size_write(high_text, sizeof high_text, high);
    snprintf(reading->allowed, sizeof reading->allowed,
             "%s%s%s to %s; bytes, or with K, M, G or T",
             word == NULL ? "" : word, word == NULL ? "" : ", or ", low_text,
             high_text);
    return 0;
}

int reading_path(struct reading *reading, int is_allowed, const char *form,
                 char *path, size_t size)
{
    size_t length = strlen(reading->text);

    if (is_allowed && length < size) {
        memcpy(path, reading->text, length + 1);
        return 1;
    }
    snprintf(reading->allowed, sizeof reading->allowed,
             "%s of at most %zu bytes", form, size - 1);
    return 0;
}

int reading_word(struct reading *reading, const char *const *names,
                 unsigned n_names, unsigned *index)
{
    struct text allowed = {reading->allowed, sizeof reading->allowed, 0};

    for (unsigned i = 0; i < n_names; i++) {
        if (strcmp(reading->text, names[i]) == 0) {
            *index = i;
            return 1;
        }
    }
    for (unsigned i = 0; i < n_names; i++) {
        text_add(&allowed, "%s%s",
                 i == 0 ? "" : (i + 1 < n_names ? ", " : " or "), names[i]);
    }
    return 0;
}
