// SPDX-License-Identifier: BSD-3-Clause
#include "cc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct words words;
static struct cc_arguments arguments;

static const struct cc_arguments *read_line(const char *line)
{
    words = (struct words){0};
    words_add_text(&words, line);
    assert_int_equal(cc_read_arguments(&words, &arguments), 0);
    return &arguments;
}

static void forget_line(void)
{
    cc_free_arguments(&arguments);
    words_free(&words);
}

// Each as one letter and its text: s:ource, l:inked, c:ompiling only, f:lag for both.
static const char *told(char *text, size_t room)
{
    static const char letters[] = {[CC_FLAG] = 'f',
                                   [CC_SOURCE] = 's',
                                   [CC_LINKED] = 'l',
                                   [CC_LEFT_OUT] = 'c'};
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < arguments.n; i++) {
        const struct cc_argument *argument = &arguments.argument[i];

        n += (size_t)snprintf(
            text + n, room - n, "%s%c:%s%s%s", i > 0 ? " " : "",
            letters[argument->kind], argument->text,
            argument->language != NULL ? "=" : "",
            argument->language != NULL ? argument->language : "");
    }
    return text;
}

static void each_word_is_for_compiling_for_linking_or_both(void **state)
{
    static const struct {
        const char *line, *expected;
    } rows[] = {
        {"-O2 a.c", "f:-O2 s:a.c"},
        {"-I inc -Iinc -DX=1 -D Y a.c",
         "c:-I c:inc c:-Iinc c:-DX=1 c:-D c:Y s:a.c"},
        {"a.o -lm -l m -L. -L lib", "l:a.o l:-lm l:-l l:m l:-L. l:-L l:lib"},
        {"-Wl,-z,now -Wp,-P -Wall a.c", "l:-Wl,-z,now c:-Wp,-P f:-Wall s:a.c"},
        {"-MF a.d -MMD a.c", "c:-MF c:a.d c:-MMD s:a.c"},
        {"-J mods -Jmods a.f90", "c:-J c:mods f:-Jmods s:a.f90"},
        {"--param x=1 -fopenmp a.F", "f:--param f:x=1 c:-fopenmp s:a.F"},
        {"-x c a.inc -xnone b.o", "s:a.inc=c l:b.o"},
        {"-x c++ a.c -x none b.c", "s:a.c=c++ s:b.c"},
        {"lib.so.1 dir.c/x - a.s", "l:lib.so.1 l:dir.c/x l:- s:a.s"},
        {"'-DNAME=\"a b\"' a\\ b.c", "c:-DNAME=\"a b\" s:a b.c"},
        {"-flto -flto=auto a.c", "s:a.c"},
    };
    char text[512];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        read_line(rows[i].line);
        assert_string_equal(told(text, sizeof text), rows[i].expected);
        forget_line();
    }
}

static void the_task_is_what_the_compiler_would_do(void **state)
{
    static const struct {
        const char *line;
        enum cc_task task;
    } rows[] = {
        {"a.c", CC_LINK},
        {"-c a.c", CC_COMPILE},
        {"a.o", CC_LINK},
        {"-E a.c", CC_OTHER},
        {"-S -c a.c", CC_OTHER},
        {"-c -E a.c", CC_OTHER},
        {"-c a.h", CC_OTHER},
        {"-c -x c-header a", CC_OTHER},
        {"-c a.o", CC_OTHER},
        {"--version", CC_OTHER},
        {"-print-file-name=x", CC_OTHER},
        {"-O2", CC_OTHER},
        {"", CC_OTHER},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(read_line(rows[i].line)->task, rows[i].task);
        forget_line();
    }
}

static void the_output_is_named_apart_or_in_one_word(void **state)
{
    (void)state;
    assert_string_equal(read_line("-c a.c -o x.o")->output, "x.o");
    forget_line();
    assert_string_equal(read_line("-ox.o -c a.c")->output, "x.o");
    forget_line();
    assert_null(read_line("-c a.c")->output);
    assert_int_equal(arguments.n_sources, 1);
    assert_int_equal(arguments.n_objects, 0);
    forget_line();
}

static void what_cannot_be_had_is_noted(void **state)
{
    static const struct {
        const char *line, *refused;
    } rows[] = {
        {"-shared a.c", "-shared"},
        {"-static a.c", "-static"},
        {"-static-libgcc a.c", NULL},
        {"-fsanitize=undefined a.c", NULL},
        {"-fsanitize=undefined,thread a.c", "-fsanitize=undefined,thread"},
        {"-fsanitize=address a.c", "-fsanitize=address"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *refused = read_line(rows[i].line)->refused;

        if (rows[i].refused == NULL) {
            assert_null(refused);
        } else {
            assert_string_equal(refused, rows[i].refused);
            assert_non_null(arguments.refused_why);
        }
        forget_line();
    }
}

static void dependencies_are_noted(void **state)
{
    (void)state;
    read_line("-MMD -MF a.d -MT a a.c");
    assert_true(arguments.makes_dependencies && arguments.names_dependencies &&
                arguments.names_targets);
    forget_line();
    read_line("-O2 a.c");
    assert_false(arguments.makes_dependencies || arguments.names_dependencies ||
                 arguments.names_targets);
    forget_line();
}

static void files_of_arguments_are_read_also_within_others(void **state)
{
    char folder[] = "/tmp/cc_arguments_test_XXXXXX";
    char inner[64];
    char outer[64];
    char text[512];
    char line[128];
    FILE *file;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(inner, sizeof inner, "%s/inner", folder);
    snprintf(outer, sizeof outer, "%s/outer", folder);
    file = fopen(inner, "w");
    assert_non_null(file);
    fputs("-I\n'two words'", file);
    fclose(file);
    file = fopen(outer, "w");
    assert_non_null(file);
    fprintf(file, "-O1 @%s a.c", inner);
    fclose(file);
    snprintf(line, sizeof line, "@%s @%s/none", outer, folder);
    read_line(line);
    told(text, sizeof text);
    assert_memory_equal(text, "f:-O1 c:-I c:two words s:a.c ", 29);
    forget_line();
    unlink(inner);
    unlink(outer);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_word_is_for_compiling_for_linking_or_both),
        cmocka_unit_test(the_task_is_what_the_compiler_would_do),
        cmocka_unit_test(the_output_is_named_apart_or_in_one_word),
        cmocka_unit_test(what_cannot_be_had_is_noted),
        cmocka_unit_test(dependencies_are_noted),
        cmocka_unit_test(files_of_arguments_are_read_also_within_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
