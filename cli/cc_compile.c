// SPDX-License-Identifier: BSD-3-Clause
//
// What `teamster cc` compiles: the compiler does it, cc_object.c changes what it has made.
//
// Whether a file has accesses that rely on the processor's order, which plain instructions
// hide (a `volatile` flag, the load of an atomic), GCC tells in its dump of the last form of
// the program. Code of which there is no dump, by other compilers and of assembler, is taken
// to have some; variables alone have none.
//
// The C library's headers are told not to put parts of it into the program, nor to take its
// checking functions: what is not called by its name cannot be replaced.
#include "cc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- is it racy?

static int is_racy_line(const char *line)
{
    const char *mark = strstr(line, "={v}");

    if (mark != NULL && strstr(mark, "{CLOBBER") == NULL) {
        return 1;
    }
    return strstr(line, "__atomic_") != NULL ||
           strstr(line, "__sync_") != NULL || strstr(line, "__asm__") != NULL;
}

static int has_races(const char *dump, const char *object)
{
    FILE *file = fopen(dump, "r");
    char *line = NULL;
    size_t room = 0;
    int found = 0;

    if (file == NULL) {
        return cc_has_code(object);
    }
    while (!found && getline(&line, &room, file) >= 0) {
        found = is_racy_line(line);
    }
    free(line);
    fclose(file);
    return found;
}

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

static int run_compiler(struct cc_driver *driver,
                        const struct cc_argument *source, const char *object,
                        const char *dump)
{
    struct words command = {0};
    char option[256];
    char stem[NAME_MAX + 1];
    int exit_code;

    cc_stem_of(source->text, stem, sizeof stem);
    words_add_all(&command, &driver->compiler);
    add_flags(driver, &command);
    add_dependencies(driver, &command, stem);
    if (driver->is_gcc) {
        snprintf(option, sizeof option, "-fdump-tree-optimized=%s", dump);
        words_add(&command, option);
    }
    words_add(&command, "-c");
    add_source(&command, source, object);
    exit_code = cc_run(&command);
    words_free(&command);
    return exit_code;
}

int cc_compile(struct cc_driver *driver, const struct cc_argument *source,
               const char *object)
{
    char dump[224];
    int exit_code;

    snprintf(dump, sizeof dump, "%s/dump", driver->temporary);
    exit_code = run_compiler(driver, source, object, dump);
    if (exit_code == 0 && is_file(object)) {
        exit_code =
            cc_change_object(object, driver->symbols, has_races(dump, object));
        if (exit_code != 0) {
            unlink(object); // with its names as they were it is nobody's
        }
    }
    unlink(dump);
    return exit_code;
}
