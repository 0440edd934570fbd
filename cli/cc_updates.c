// SPDX-License-Identifier: BSD-3-Clause
//
// Instructions with `lock` of a file in assembler, as compilers write it: each is replaced by a
// call (frontend/updates.c). The file has no red zone, so what is pushed is nobody's.
#include "cc.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** An instruction with two operands, the second in memory. */
struct locked {
    char name[16];   ///< with its size: addq
    char source[24]; ///< as 8 bytes: %rax, $1
    const char *place;
    int changes_source;
};

static int is_one_of(const char *word, const char *const *words)
{
    while (*words != NULL && strcmp(*words, word) != 0) {
        words++;
    }
    return *words != NULL;
}

// The register of 8 bytes of which this is the lowest part.
// @return 0, or -1: it is none
static int whole_register(const char *part, char *whole, size_t size)
{
    static const char *const rows[][4] = {
        {"rax", "eax", "ax", "al"},  {"rbx", "ebx", "bx", "bl"},
        {"rcx", "ecx", "cx", "cl"},  {"rdx", "edx", "dx", "dl"},
        {"rsi", "esi", "si", "sil"}, {"rdi", "edi", "di", "dil"},
        {"rbp", "ebp", "bp", "bpl"},
    };
    const char *end = part + strspn(part, "0123456789r");

    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        for (size_t i = 0; i < 4; i++) {
            if (strcmp(rows[row][i], part) == 0) {
                snprintf(whole, size, "%%%s", rows[row][0]);
                return 0;
            }
        }
    }
    if (part[0] != 'r' || !isdigit((unsigned char)part[1]) ||
        (*end != '\0' && strchr("dwb", *end) == NULL)) {
        return -1;
    }
    snprintf(whole, size, "%%%.*s", (int)(end - part), part);
    return 0;
}

static int read_source(const char *text, struct locked *locked)
{
    char *end;
    long value;

    if (text[0] == '%') {
        return whole_register(text + 1, locked->source, sizeof locked->source);
    }
    value = strtol(text + 1, &end, 0);
    if (text[0] != '$' || end == text + 1 || *end != '\0' ||
        value != (int)value) {
        return -1;
    }
    snprintf(locked->source, sizeof locked->source, "$%ld", value);
    return 0;
}

// "%rax, 8(%rdx,%rcx,4)", of xchg also the other way round: a comma within the place is within
// parentheses.
static int read_operands(char *text, struct locked *locked)
{
    const int is_place_first = text[0] != '%' && text[0] != '$';
    char *comma = is_place_first ? strrchr(text, ',') : strchr(text, ',');
    const char *second;

    if (comma == NULL) {
        return -1;
    }
    *comma = '\0';
    second = comma + 1 + strspn(comma + 1, " \t");
    locked->place = is_place_first ? text : second;
    return read_source(is_place_first ? second : text, locked);
}

static int read_one_operand(const char *text, struct locked *locked)
{
    snprintf(locked->source, sizeof locked->source, "$1");
    memcpy(locked->name, strncmp(locked->name, "inc", 3) == 0 ? "add" : "sub",
           3);
    locked->place = text;
    return 0;
}

// @param text  behind "lock"; changed
// @return 0, or -1: it is none of those that can be replaced
static int read_locked(char *text, struct locked *locked)
{
    static const char *const known[] = {"add",  "sub",  "and",     "or", "xor",
                                        "xadd", "xchg", "cmpxchg", NULL};
    static const char *const counting[] = {"inc", "dec", NULL};
    const size_t length = strcspn(text, " \t");
    char *operands = text + length + strspn(text + length, " \t");
    char name[sizeof locked->name];

    if (length < 2 || length >= sizeof name ||
        strchr("bwlq", text[length - 1]) == NULL) {
        return -1;
    }
    snprintf(locked->name, sizeof locked->name, "%.*s", (int)length, text);
    snprintf(name, sizeof name, "%.*s", (int)length - 1, text);
    locked->changes_source =
        strcmp(name, "xadd") == 0 || strcmp(name, "xchg") == 0;
    if (is_one_of(name, counting)) {
        return read_one_operand(operands, locked);
    }
    return is_one_of(name, known) ? read_operands(operands, locked) : -1;
}

// What was pushed is between a place on the stack and its register.
static const char *shift_of(const char *place)
{
    return strstr(place, "(%rsp") != NULL ? "16+" : "";
}

static void write_call(FILE *file, const struct locked *locked)
{
    const int is_r11 = strcmp(locked->source, "%r11") == 0;

    fprintf(file,
            "\tpushq\t%%r11\n\tpushq\t%s\n\tleaq\t%s%s, %%r11\n"
            "\tcall\tfront_locked_%s\n",
            locked->source, shift_of(locked->place), locked->place,
            locked->name);
    if (!locked->changes_source) {
        fputs("\tleaq\t8(%rsp), %rsp\n\tpopq\t%r11\n", file);
    } else if (is_r11) {
        fputs("\tpopq\t%r11\n\tleaq\t8(%rsp), %rsp\n", file);
    } else {
        fprintf(file, "\tpopq\t%s\n\tpopq\t%%r11\n", locked->source);
    }
}

// `xchg` locks without saying so, if one of its operands is in memory.
static const char *locked_text(const char *line)
{
    const char *text = line + strspn(line, " \t");

    if (begins_with(text, "lock") &&
        (text[4] == ';' || isspace((unsigned char)text[4]))) {
        return text + 4 + strspn(text + 4, " \t");
    }
    return begins_with(text, "mfence") ||
                   (begins_with(text, "xchg") && strpbrk(text, "([") != NULL)
               ? text
               : NULL;
}

// Only what compilers write without being asked to explain it.
static int is_place(const char *text)
{
    return strchr(text, '%') != NULL && strchr(text, '#') == NULL;
}

static int is_fence(const char *line)
{
    static const char *const fences[] = {
        "lock orq\t$0, (%rsp)", "lock orl\t$0, (%rsp)", "mfence", NULL};

    return is_one_of(line + strspn(line, " \t"), fences);
}

// @param line       without its end
// @param[out] n_calls  one more, if it becomes one
static int write_line(FILE *file, const char *line, unsigned *n_calls)
{
    const char *text = locked_text(line);
    struct locked locked;
    char copy[256];

    if (is_fence(line)) {
        fputs("\tcall\tfront_locked_fence\n", file);
        ++*n_calls;
        return 0;
    }
    if (text == NULL || strstr(text, "%fs:") != NULL) { // a thread's own
        fprintf(file, "%s\n", line);
        return 0;
    }
    if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy ||
        read_locked(copy, &locked) != 0 || !is_place(locked.place)) {
        return -1;
    }
    write_call(file, &locked);
    ++*n_calls;
    return 0;
}

int cc_call_for_updates(const char *path, const char *result)
{
    FILE *from = fopen(path, "r");
    FILE *to = fopen(result, "w");
    char *line = NULL;
    size_t room = 0;
    unsigned n_calls = 0;
    int status = from == NULL || to == NULL ? -1 : 0;

    while (status == 0 && getline(&line, &room, from) >= 0) {
        line[strcspn(line, "\n")] = '\0';
        status = write_line(to, line, &n_calls);
    }
    free(line);
    if (from != NULL) {
        fclose(from);
    }
    if (to != NULL && fclose(to) != 0) {
        status = -1;
    }
    return n_calls > 0 ? status : -1;
}
