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

// Does a dependency's option stand here? @return how many words it takes
static size_t dependency_words(const char *word)
{
    if (strcmp(word, "-MF") == 0 || strcmp(word, "-MT") == 0 ||
        strcmp(word, "-MQ") == 0) {
        return 2;
    }
    return strncmp(word, "-M", 2) == 0 ? 1 : 0;
}

// What a file is compiled with, without the file. Of the C library's extern inline
// functions and checks: see above.
static void add_flags(const struct cc_driver *driver, struct words *command,
                      int has_dependencies)
{
    const struct cc_arguments *arguments = &driver->arguments;

    for (size_t i = 0; i < arguments->n; i++) {
        const struct cc_argument *argument = &arguments->argument[i];
        size_t n = has_dependencies ? 0 : dependency_words(argument->text);

        if (n > 0) {
            i += n - 1;
        } else if (argument->kind == CC_FLAG || argument->kind == CC_LEFT_OUT) {
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

// ---- OpenMP's copyin: the address of the first thread's variable, which that clause passes,
// is good in its own kernel thread only. It leaves no trace in what is compiled

static int is_copyin_line(const char *line)
{
    line += strspn(line, " \t");
    if (*line != '#') {
        return 0;
    }
    line += 1 + strspn(line + 1, " \t");
    if (strncmp(line, "pragma", 6) != 0) {
        return 0;
    }
    line += 6 + strspn(line + 6, " \t");
    if (strncmp(line, "omp", 3) != 0) {
        return 0;
    }
    line = strstr(line, "copyin");
    return line != NULL && line[6 + strspn(line + 6, " \t")] == '(';
}

static int has_copyin(const char *preprocessed)
{
    FILE *file = fopen(preprocessed, "r");
    char *line = NULL;
    size_t room = 0;
    int found = 0;

    while (file != NULL && !found && getline(&line, &room, file) >= 0) {
        found = is_copyin_line(line);
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

// @return 0, or the exit code: said why
static int refuse_copyin(struct cc_driver *driver,
                         const struct cc_argument *source)
{
    struct words command = {0};
    char output[128];
    int exit_code;

    snprintf(output, sizeof output, "%s/preprocessed", driver->temporary);
    words_add_all(&command, &driver->compiler);
    add_flags(driver, &command, 0);
    words_add(&command, "-E");
    add_source(&command, source, output);
    exit_code = cc_run(&command);
    if (exit_code == 0 && has_copyin(output)) {
        fprintf(stderr,
                "teamster: %s: OpenMP's copyin cannot be had on several "
                "nodes: use firstprivate\n",
                source->text);
        exit_code = 1;
    }
    unlink(output);
    words_free(&command);
    return exit_code;
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
    add_flags(driver, &command, 1);
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
    char dump[128];
    int exit_code =
        driver->arguments.has_openmp ? refuse_copyin(driver, source) : 0;

    snprintf(dump, sizeof dump, "%s/dump", driver->temporary);
    if (exit_code == 0) {
        exit_code = run_compiler(driver, source, object, dump);
    }
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
