// SPDX-License-Identifier: BSD-3-Clause
//
// What `teamster cc` compiles: the compiler does it, cc_object.c changes what it has made.
//
// The C library's headers are told not to put parts of it into the program, nor to take its
// checking functions: what is not called by its name cannot be replaced.
#include "cc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- compile

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

void cc_stem_of(const char *path, char *stem, size_t size)
{
    char *dot;

    snprintf(stem, size, "%s", base_name(path));
    dot = strrchr(stem, '.');
    if (dot != NULL) {
        *dot = '\0';
    }
}

// What a file is compiled with, without the file. Of the C library's extern inline
// functions and checks: see above.
static void add_flags(const struct cc_driver *driver, struct words *command)
{
    const struct cc_arguments *arguments = &driver->arguments;

    for (size_t i = 0; i < arguments->n; i++) {
        const struct cc_argument *argument = &arguments->argument[i];

        if (argument->kind == CC_FLAG || argument->kind == CC_LEFT_OUT) {
            words_add(command, argument->text);
        }
    }
    words_add(command, "-fno-common");
    words_add(command, "-fdata-sections");
    words_add(command, "-fno-lto");
    words_add(command, "-Wp,-U_FORTIFY_SOURCE,-D__NO_INLINE__");
}

static void add_source(struct words *command, const struct cc_argument *source,
                       const char *output)
{
    if (source->language != NULL) {
        words_add(command, "-x");
        words_add(command, source->language);
    }
    words_add(command, source->text);
    words_add(command, "-o");
    words_add(command, output);
}

// Their file and what depends are named for the object, which is not where the user knows
// one: as the compiler would without us.
static void add_dependencies(const struct cc_driver *driver,
                             struct words *command, const char *stem)
{
    const struct cc_arguments *arguments = &driver->arguments;
    const char *output = arguments->output;
    char name[PATH_MAX + NAME_MAX + 8];
    char whole[PATH_MAX] = "a";

    if (!arguments->makes_dependencies || arguments->task != CC_LINK) {
        return;
    }
    if (!arguments->names_targets) {
        snprintf(name, sizeof name, "%s.o", stem);
        words_add(command, "-MT");
        words_add(command, output != NULL ? output : name);
    }
    if (!arguments->names_dependencies) {
        if (output != NULL) {
            snprintf(whole, sizeof whole, "%.*s",
                     (int)(base_name(output) - output), output);
            cc_stem_of(output, whole + strlen(whole),
                       sizeof whole - strlen(whole));
        }
        snprintf(name, sizeof name,
                 output != NULL && arguments->n_sources == 1 ? "%s.d"
                                                             : "%s-%s.d",
                 whole, stem);
        words_add(command, "-MF");
        words_add(command, name);
    }
}

// ---- the compiler, and what follows

// Something else than a file (/dev/null) has nothing to be changed, and stays.
static int is_file(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static void begin_command(const struct cc_driver *driver, struct words *command)
{
    *command = (struct words){0};
    words_add_all(command, &driver->compiler);
    add_flags(driver, command);
}

static int end_command(struct words *command)
{
    const int exit_code = cc_run(command);

    words_free(command);
    return exit_code;
}

static int run_compiler(const struct cc_driver *driver,
                        const struct cc_argument *source, const char *object,
                        const struct cc_forms *forms)
{
    struct words command;
    char option[256];
    char stem[NAME_MAX + 1];

    begin_command(driver, &command);
    cc_stem_of(source->text, stem, sizeof stem);
    add_dependencies(driver, &command, stem);
    if (driver->is_gcc) {
        snprintf(option, sizeof option, "-fdump-tree-gimple-lineno=%s",
                 forms->first);
        words_add(&command, option);
        snprintf(option, sizeof option, "-fdump-tree-optimized=%s",
                 forms->last);
        words_add(&command, option);
    }
    words_add(&command, "-c");
    add_source(&command, source, object);
    return end_command(&command);
}

static int compile_to_assembler(const struct cc_driver *driver,
                                const struct cc_argument *source,
                                const char *path)
{
    struct words command;

    begin_command(driver, &command);
    if (driver->arguments.makes_dependencies) {
        words_add(&command, "-MF"); // they have been told
        words_add(&command, "/dev/null");
    }
    words_add(&command, "-w"); // they have been told, too
    words_add(&command, "-mno-red-zone");
    words_add(&command, "-S");
    add_source(&command, source, path);
    return end_command(&command);
}

static int assemble(const struct cc_driver *driver, const char *path,
                    const char *object)
{
    struct words command = {0};

    words_add_all(&command, &driver->compiler);
    words_add(&command, "-c");
    words_add(&command, "-x");
    words_add(&command, "assembler");
    words_add(&command, path);
    words_add(&command, "-o");
    words_add(&command, object);
    return end_command(&command);
}

// @return 0; -1: it cannot be done, and the object is as it was; the assembler's exit code
static int compile_for_updates(const struct cc_driver *driver,
                               const struct cc_argument *source,
                               const char *object)
{
    char plain[224];
    char calling[224];
    int status;

    snprintf(plain, sizeof plain, "%s/plain.s", driver->temporary);
    snprintf(calling, sizeof calling, "%s/calling.s", driver->temporary);
    status = compile_to_assembler(driver, source, plain) == 0 ? 0 : -1;
    if (status == 0) {
        status = cc_call_for_updates(plain, calling);
    }
    if (status == 0) {
        status = assemble(driver, calling, object);
        if (status != 0) {
            unlink(object);
        }
    }
    unlink(plain);
    unlink(calling);
    return status;
}

// Can it be compiled a second time, with nothing else coming of it than the object?
static int is_compiled_again(const struct cc_driver *driver,
                             const struct cc_argument *source)
{
    const struct cc_arguments *arguments = &driver->arguments;

    for (size_t i = 0; i < arguments->n; i++) {
        const char *text = arguments->argument[i].text;

        if (strstr(text, "coverage") != NULL ||
            begins_with(text, "-fprofile") ||
            strcmp(text, "-fstack-usage") == 0 ||
            strcmp(text, "-gsplit-dwarf") == 0) {
            return 0;
        }
    }
    return is_file(source->text);
}

// @param[out] is_racy  it needs memory in which all instructions are as on one machine
static int make_object(const struct cc_driver *driver,
                       const struct cc_argument *source, const char *object,
                       int *is_racy)
{
    struct cc_forms forms;
    enum cc_races races = CC_NO_RACES;
    int status;

    snprintf(forms.first, sizeof forms.first, "%s/first", driver->temporary);
    snprintf(forms.last, sizeof forms.last, "%s/last", driver->temporary);
    status = run_compiler(driver, source, object, &forms);
    if (status == 0 && is_file(object)) {
        races = cc_find_races(&forms, object);
    }
    if (races == CC_UPDATES && is_compiled_again(driver, source)) {
        status = compile_for_updates(driver, source, object);
        races = status < 0 ? CC_RACES : CC_NO_RACES;
    }
    *is_racy = races != CC_NO_RACES;
    unlink(forms.first);
    unlink(forms.last);
    return status < 0 ? 0 : status;
}

int cc_compile(struct cc_driver *driver, const struct cc_argument *source,
               const char *object)
{
    int is_racy;
    int exit_code = make_object(driver, source, object, &is_racy);

    if (exit_code == 0 && is_file(object)) {
        exit_code = cc_change_object(object, driver->symbols, is_racy);
        if (exit_code != 0) {
            unlink(object); // with its names as they were it is nobody's
        }
    }
    return exit_code;
}
