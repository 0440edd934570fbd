// SPDX-License-Identifier: BSD-3-Clause
#include "planner/json_in.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/text.h"

// ---- refusing ----

static void add_path(struct text *line, const struct spot *spot)
{
    if (spot->up == NULL) {
        return;
    }
    add_path(line, spot->up);
    if (spot->key == NULL) {
        text_add(line, "[%zu]", spot->index);
    } else {
        text_add(line, "%s%s", spot->up->up != NULL ? "." : "", spot->key);
    }
}

int spot_refuse(const struct spot *spot, const char *format, ...)
{
    struct text line = {spot->in->error, spot->in->size, 0};
    va_list arguments;

    if (line.size == 0 || line.bytes[0] != '\0') {
        return 0;
    }
    text_add(&line, "%s: ", spot->in->file);
    add_path(&line, spot);
    text_add(&line, spot->up != NULL ? ": " : "");
    va_start(arguments, format);
    text_add_list(&line, format, arguments);
    va_end(arguments);
    for (char *at = line.bytes; *at != '\0'; at++) {
        *at = iscntrl((unsigned char)*at) ? '?' : *at;
    }
    return 0;
}

static const char *name_of_type(json_type type)
{
    switch (type) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a text";
    case JSON_NULL:
        return "null";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    default:
        return "a number";
    }
}

static int check_type(const struct spot *spot, json_type type)
{
    if (json_typeof(spot->value) == type) {
        return 1;
    }
    return spot_refuse(spot, "is %s; must be %s",
                       name_of_type(json_typeof(spot->value)),
                       name_of_type(type));
}

// ---- going down ----

/** Find a member of any type. */
static int find(const struct spot *object, const char *key, struct spot *member)
{
    *member = (struct spot){object->in, object, key, 0,
                            json_object_get(object->value, key)};
    return member->value != NULL || spot_refuse(object, "'%s' is missing", key);
}

int spot_member(const struct spot *object, const char *key, json_type type,
                struct spot *member)
{
    return find(object, key, member) && check_type(member, type);
}

int spot_optional(const struct spot *object, const char *key, json_type type,
                  struct spot *member)
{
    if (!find(object, key, member)) {
        return 0;
    }
    if (json_is_null(member->value)) {
        member->value = NULL;
        return 1;
    }
    return check_type(member, type);
}

int spot_element(const struct spot *array, size_t index, json_type type,
                 struct spot *element)
{
    *element = (struct spot){array->in, array, NULL, index,
                             json_array_get(array->value, index)};
    return check_type(element, type);
}

int spot_array(const struct spot *object, const char *key, size_t n,
               struct spot *array)
{
    if (!spot_member(object, key, JSON_ARRAY, array)) {
        return 0;
    }
    if (json_array_size(array->value) != n) {
        return spot_refuse(array, "has %zu elements; must have %zu",
                           json_array_size(array->value), n);
    }
    return 1;
}

static int is_among(const char *key, const char *words)
{
    const size_t length = strlen(key);

    for (const char *word = words; *word != '\0';) {
        const size_t n = strcspn(word, " ");

        if (n == length && memcmp(word, key, n) == 0) {
            return 1;
        }
        word += n + (word[n] == ' ');
    }
    return 0;
}

int spot_has_only(const struct spot *object, const char *words)
{
    const char *key;
    json_t *value;

    json_object_foreach(object->value, key, value)
    {
        if (!is_among(key, words)) {
            return spot_refuse(object, "'%s' is not known; known are: %s", key,
                               words);
        }
    }
    return 1;
}

// ---- values ----

int spot_number(const struct spot *spot, double low, double high,
                double *number)
{
    double value;

    if (!check_type(spot, JSON_REAL)) {
        return 0;
    }
    value = json_real_value(spot->value);
    if (!(value >= low && value <= high)) {
        return spot_refuse(spot, "is %g; allowed: %g to %g", value, low, high);
    }
    *number = value;
    return 1;
}

int spot_whole(const struct spot *spot, uint64_t low, uint64_t high,
               uint64_t *number)
{
    double value;

    if (!check_type(spot, JSON_REAL)) {
        return 0;
    }
    value = json_real_value(spot->value);
    if (!(value >= (double)low && value <= (double)high) ||
        value != floor(value)) {
        return spot_refuse(spot, "is %.17g; allowed: %ju to %ju, whole", value,
                           (uintmax_t)low, (uintmax_t)high);
    }
    *number = (uint64_t)value;
    return 1;
}

int member_number(const struct spot *object, const char *key, double low,
                  double high, double *number)
{
    struct spot member;

    return find(object, key, &member) &&
           spot_number(&member, low, high, number);
}

int member_whole(const struct spot *object, const char *key, uint64_t low,
                 uint64_t high, uint64_t *number)
{
    struct spot member;

    return find(object, key, &member) && spot_whole(&member, low, high, number);
}

int member_count(const struct spot *object, const char *key, uint64_t low,
                 uint64_t high, uint32_t *number)
{
    uint64_t whole = 0;

    if (!member_whole(object, key, low, high, &whole)) {
        return 0;
    }
    *number = (uint32_t)whole;
    return 1;
}

int member_bool(const struct spot *object, const char *key, int *value)
{
    struct spot member;

    if (!find(object, key, &member)) {
        return 0;
    }
    *value = json_is_true(member.value);
    return json_is_boolean(member.value) || check_type(&member, JSON_TRUE);
}

int member_text(const struct spot *object, const char *key, char *text,
                size_t size)
{
    struct spot member;

    if (!spot_member(object, key, JSON_STRING, &member)) {
        return 0;
    }
    if (json_string_length(member.value) >= size) {
        return spot_refuse(&member, "is longer than %zu bytes", size - 1);
    }
    memcpy(text, json_string_value(member.value),
           json_string_length(member.value) + 1);
    return 1;
}

int member_word(const struct spot *object, const char *key,
                const char *const *words, unsigned n, unsigned *index)
{
    char allowed[128] = "";
    struct text line = {allowed, sizeof allowed, 0};
    struct spot member;

    if (!spot_member(object, key, JSON_STRING, &member)) {
        return 0;
    }
    for (unsigned i = 0; i < n; i++) {
        if (strcmp(json_string_value(member.value), words[i]) == 0) {
            *index = i;
            return 1;
        }
        text_add(&line, "%s%s", i == 0 ? "" : ", ", words[i]);
    }
    return spot_refuse(&member, "is '%s'; allowed: %s",
                       json_string_value(member.value), allowed);
}

int spot_counts(const struct spot *array, uint64_t low, uint64_t high,
                uint32_t *numbers)
{
    const size_t n = json_array_size(array->value);
    struct spot element;
    uint64_t whole = 0;

    for (size_t i = 0; i < n; i++) {
        if (!spot_element(array, i, JSON_REAL, &element) ||
            !spot_whole(&element, low, high, &whole)) {
            return 0;
        }
        numbers[i] = (uint32_t)whole;
    }
    return 1;
}
