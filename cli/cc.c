// SPDX-License-Identifier: BSD-3-Clause
//
// teamster cc, teamster c++: the compiler, for programs that know nothing of Teamster.
//
//   compile   by the compiler itself; cc_object.c changes what it has made
//   link      what the program links, the front end (frontend/) and libteamster.so
//
// It is in C since the command is, and since a build calls it for each file: it starts no
// process but the compiler and objcopy. Whether a file has accesses that rely on the
// processor's order, which plain instructions hide (a `volatile` flag, the load of an atomic),
// GCC tells in its dump of the last form of the program; other compilers and assembler are
// taken to have some.
#include "cc.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ensure.h"
#include "base/log.h"
#include "command.h"

enum { EXIT_NOT_FOUND = 127 };

struct driver {
    const char *compiler;
    int is_gcc;
    char folder[PATH_MAX];  ///< of the front end
    char library[PATH_MAX]; ///< of libteamster.so
    char symbols[PATH_MAX + 32];
    struct cc_arguments arguments;
    char temporary[64]; ///< a folder, "": none
    struct words made;  ///< objects in it
};

static _Noreturn void become(const struct words *command)
{
    execvp(command->word[0], command->word);
    fprintf(stderr, "teamster: cannot run %s: %s\n", command->word[0],
            strerror(errno));
    _exit(EXIT_NOT_FOUND);
}

int cc_run(const struct words *command)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        become(command);
    }
    if (pid < 0) {
        fprintf(stderr, "teamster: cannot start a process: %m\n");
        return 1;
    }
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return 1;
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// ---- where things are

// Beside an installed command, or in a build's tree.
static int find_file(char *folder, const char *const *places, const char *name)
{
    char own[PATH_MAX];
    char path[2 * PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);

    if (n <= 0) {
        return 0;
    }
    own[n] = '\0';
    *strrchr(own, '/') = '\0';
    for (; *places != NULL; places++) {
        snprintf(path, sizeof path, "%s/%s/%s", own, *places, name);
        if (access(path, R_OK) == 0) {
            *strrchr(path, '/') = '\0';
            return realpath(path, folder) != NULL;
        }
    }
    return 0;
}

static int find_files(struct driver *driver)
{
    static const char *const fronts[] = {"../libexec/teamster", NULL};
    static const char *const libraries[] = {"..", "../" TM_LIBRARY_FOLDER,
                                            "../lib", NULL};

    if (!find_file(driver->folder, fronts, "libteamster_front.a") ||
        !find_file(driver->library, libraries, "libteamster.so")) {
        fprintf(stderr,
                "teamster: the front end for programs is not installed: "
                "libteamster_front.a and libteamster.so\n");
        return 0;
    }
    snprintf(driver->symbols, sizeof driver->symbols, "%s/symbols",
             driver->folder);
    return 1;
}

static int is_gcc(const char *compiler)
{
    char command[PATH_MAX];
    char line[256] = "";
    FILE *answer;

    snprintf(command, sizeof command, "%s --version 2>/dev/null", compiler);
    answer = popen(command, "r");
    if (answer == NULL) {
        return 0;
    }
    if (fgets(line, sizeof line, answer) == NULL) {
        line[0] = '\0';
    }
    pclose(answer);
    return strstr(line, "clang") == NULL && line[0] != '\0';
}

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

static int has_races(const char *dump)
{
    FILE *file = fopen(dump, "r");
    char *line = NULL;
    size_t room = 0;
    int found = 0;

    if (file == NULL) {
        return 1; // nobody knows
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

static void stem_of(const char *path, char *stem, size_t size)
{
    char *dot;

    snprintf(stem, size, "%s", base_name(path));
    dot = strrchr(stem, '.');
    if (dot != NULL) {
        *dot = '\0';
    }
}

static int open_temporary(struct driver *driver)
{
    if (driver->temporary[0] != '\0') {
        return 1;
    }
    snprintf(driver->temporary, sizeof driver->temporary,
             "/tmp/teamster-cc-XXXXXX");
    if (mkdtemp(driver->temporary) == NULL) {
        fprintf(stderr, "teamster: cannot make a folder in /tmp: %m\n");
        driver->temporary[0] = '\0';
        return 0;
    }
    return 1;
}

static void close_temporary(struct driver *driver)
{
    for (size_t i = 0; i < driver->made.n; i++) {
        unlink(driver->made.word[i]);
    }
    if (driver->temporary[0] != '\0') {
        rmdir(driver->temporary);
    }
    words_free(&driver->made);
}

// What a file is compiled with, without the file.
static void add_flags(const struct driver *driver, struct words *command)
{
    const struct cc_arguments *arguments = &driver->arguments;

    for (size_t i = 0; i < arguments->n; i++) {
        if (arguments->argument[i].kind == CC_FLAG ||
            arguments->argument[i].kind == CC_LEFT_OUT) {
            words_add(command, arguments->argument[i].text);
        }
    }
    words_add(command, "-fno-common");
    words_add(command, "-fdata-sections");
    words_add(command, "-fno-lto");
}

// Dependencies are named for the output, which is not where the user has it.
static void add_dependencies(const struct driver *driver, struct words *command,
                             const char *stem)
{
    char name[NAME_MAX + 3];

    if (driver->arguments.makes_dependencies &&
        !driver->arguments.names_dependencies &&
        driver->arguments.task == CC_LINK) {
        snprintf(name, sizeof name, "%s.d", stem);
        words_add(command, "-MF");
        words_add(command, name);
    }
}

// The address of the first thread's variable, which that clause passes, is good in its
// own kernel thread only. It leaves no trace in what is compiled.
static int has_copyin(const struct driver *driver, const char *path)
{
    FILE *file = driver->arguments.has_openmp ? fopen(path, "r") : NULL;
    char *line = NULL;
    size_t room = 0;
    int found = 0;

    while (file != NULL && !found && getline(&line, &room, file) >= 0) {
        found = strstr(line, "copyin") != NULL;
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
    if (found) {
        fprintf(stderr,
                "teamster: %s: OpenMP's copyin cannot be had on several "
                "nodes: use firstprivate\n",
                path);
    }
    return found;
}

static int compile(struct driver *driver, const struct cc_argument *source,
                   const char *object)
{
    struct words command = {0};
    char dump[128];
    char option[256];
    char stem[NAME_MAX + 1];
    int exit_code;

    stem_of(source->text, stem, sizeof stem);
    snprintf(dump, sizeof dump, "%s/dump", driver->temporary);
    words_add(&command, driver->compiler);
    add_flags(driver, &command);
    add_dependencies(driver, &command, stem);
    if (driver->is_gcc) {
        snprintf(option, sizeof option, "-fdump-tree-optimized=%s", dump);
        words_add(&command, option);
    }
    if (source->language != NULL) {
        words_add(&command, "-x");
        words_add(&command, source->language);
    }
    words_add(&command, "-c");
    words_add(&command, source->text);
    words_add(&command, "-o");
    words_add(&command, object);
    exit_code = has_copyin(driver, source->text) ? 1 : cc_run(&command);
    if (exit_code == 0) {
        exit_code = cc_change_object(object, driver->symbols, has_races(dump));
    }
    unlink(dump);
    words_free(&command);
    return exit_code;
}

static int compile_all(struct driver *driver)
{
    const struct cc_arguments *arguments = &driver->arguments;
    int exit_code = 0;

    for (size_t i = 0; i < arguments->n && exit_code == 0; i++) {
        const struct cc_argument *argument = &arguments->argument[i];
        char stem[NAME_MAX + 1];
        char object[PATH_MAX];

        if (argument->kind != CC_SOURCE) {
            continue;
        }
        stem_of(argument->text, stem, sizeof stem);
        snprintf(object, sizeof object, "%s.o", stem);
        exit_code =
            compile(driver, argument,
                    arguments->output != NULL ? arguments->output : object);
    }
    return exit_code;
}

// ---- link

static int compile_for_link(struct driver *driver, size_t i,
                            struct words *command)
{
    char object[PATH_MAX];
    int exit_code;

    snprintf(object, sizeof object, "%s/%zu.o", driver->temporary, i);
    words_add(&driver->made, object);
    exit_code = compile(driver, &driver->arguments.argument[i], object);
    words_add(command, object);
    return exit_code != 0 ? exit_code : cc_check_object(object);
}

static int add_linked(struct driver *driver, struct words *command)
{
    const struct cc_arguments *arguments = &driver->arguments;
    int exit_code = 0;

    for (size_t i = 0; i < arguments->n && exit_code == 0; i++) {
        const struct cc_argument *argument = &arguments->argument[i];

        switch (argument->kind) {
        case CC_SOURCE:
            exit_code = compile_for_link(driver, i, command);
            break;
        case CC_LINKED:
            exit_code =
                argument->text[0] != '-' ? cc_check_object(argument->text) : 0;
            words_add(command, argument->text);
            break;
        case CC_FLAG:
            words_add(command, argument->text);
            break;
        case CC_LEFT_OUT:
            break;
        }
    }
    return exit_code;
}

static void add_front_end(const struct driver *driver, struct words *command)
{
    char text[PATH_MAX + 64];

    snprintf(text, sizeof text, "-Wl,-T,%s/shared.ld", driver->folder);
    words_add(command, text);
    words_add(command, "-Wl,-u,main,-u,_Znwm,-z,now");
    snprintf(text, sizeof text, "%s/libteamster_front.a", driver->folder);
    words_add(command, text);
    snprintf(text, sizeof text, "%s/libteamster.so", driver->library);
    words_add(command, text);
    snprintf(text, sizeof text, "-Wl,-rpath,%s", driver->library);
    words_add(command, text);
    words_add(command, "-pthread");
    words_add(command, "-lm");
}

static int link_program(struct driver *driver)
{
    struct words command = {0};
    int exit_code;

    words_add(&command, driver->compiler);
    exit_code = add_linked(driver, &command);
    if (exit_code == 0) {
        words_add(&command, "-o");
        words_add(&command, driver->arguments.output != NULL
                                ? driver->arguments.output
                                : "a.out");
        add_front_end(driver, &command);
        exit_code = cc_run(&command);
    }
    words_free(&command);
    return exit_code;
}

// ---- the command

static int is_refused(const struct cc_arguments *arguments)
{
    if (arguments->refused != NULL) {
        fprintf(stderr, "teamster: %s: %s\n", arguments->refused,
                arguments->refused_why);
        return 1;
    }
    if (arguments->task == CC_COMPILE && arguments->output != NULL &&
        arguments->n_sources > 1) {
        fprintf(stderr, "teamster: -c with -o and several files: one output "
                        "cannot hold them\n");
        return 1;
    }
    return 0;
}

static int run_task(struct driver *driver, const struct words *given)
{
    struct words command = {0};
    int exit_code;

    switch (driver->arguments.task) {
    case CC_COMPILE:
        return compile_all(driver);
    case CC_LINK:
        return link_program(driver);
    case CC_OTHER:
        break;
    }
    words_add(&command, driver->compiler);
    words_add_all(&command, given);
    exit_code = cc_run(&command);
    words_free(&command);
    return exit_code;
}

static int drive(struct driver *driver, int argc, char **argv)
{
    struct words words = {0};
    struct words given = {0};
    int exit_code;

    for (int i = 1; i < argc; i++) {
        words_add(&words, argv[i]);
        words_add(&given, argv[i]);
    }
    exit_code = cc_read_arguments(&words, &driver->arguments) != 0 ||
                is_refused(&driver->arguments);
    if (exit_code == 0 && driver->arguments.task != CC_OTHER) {
        exit_code = !find_files(driver) || !open_temporary(driver);
        driver->is_gcc = is_gcc(driver->compiler);
    }
    if (exit_code == 0) {
        exit_code = run_task(driver, &given);
    }
    close_temporary(driver);
    cc_free_arguments(&driver->arguments);
    words_free(&words);
    words_free(&given);
    return exit_code;
}

static int asks_for_help(int argc, char **argv)
{
    return argc == 2 && strcmp(argv[1], "--help") == 0;
}

int command_cc(int argc, char **argv)
{
    const char *own = getenv("TEAMSTER_CC");
    struct driver driver = {.compiler = own != NULL ? own : "gcc"};

    if (asks_for_help(argc, argv)) {
        cc_print_help();
        return 0;
    }
    return drive(&driver, argc, argv);
}

int command_cxx(int argc, char **argv)
{
    const char *own = getenv("TEAMSTER_CXX");
    struct driver driver = {.compiler = own != NULL ? own : "g++"};

    if (asks_for_help(argc, argv)) {
        cc_print_help();
        return 0;
    }
    return drive(&driver, argc, argv);
}

void cc_print_help(void)
{
    puts(
        "Usage: teamster cc [OPTION]... FILE...\n"
        "\n"
        "Takes the place of the compiler for programs with POSIX threads, C11 "
        "threads\n"
        "or OpenMP that were not written for Teamster. \"teamster c++\" is the "
        "same for\n"
        "C++ and its threads. Options and files are those of the compiler.\n"
        "\n"
        "  make CC=\"teamster cc\" CXX=\"teamster c++\"\n"
        "  teamster run -n 4 ./program\n"
        "\n"
        "All objects of a program must be compiled so. It also runs alone. "
        "What "
        "works,\n"
        "what is slow and what is refused is in the document "
        "unchanged-programs.md.\n"
        "\n"
        "The variables TEAMSTER_CC, TEAMSTER_CXX and TEAMSTER_OBJCOPY name "
        "gcc, g++ and\n"
        "objcopy, if they are to be others.");
}
