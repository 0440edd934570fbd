// SPDX-License-Identifier: BSD-3-Clause
//
// teamster cc, c++ and fc: the compiler, for programs that know nothing of Teamster.
//
//   compile   cc_compile.c: by the compiler itself; cc_object.c changes what it has made
//   link      cc_check.c looks at what the program links; with it go the front end
//             (frontend/) and libteamster.so
//
// A signal that would end it goes to the compiler, and ends it when that is over and what was made
// meanwhile is removed.
//
// It is in C since the command is, and since a build calls it for each file: it starts no
// process but the compiler and objcopy.
#include "cc.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ensure.h"
#include "base/log.h"
#include "command.h"

enum { EXIT_NOT_FOUND = 127 };

// ---- signals

static volatile sig_atomic_t caught; // the one that is to end it; 0: none
static volatile sig_atomic_t child;  // 0: none runs

static void pass_on(int number)
{
    caught = number;
    if (child != 0) {
        kill((pid_t)child, number);
    }
}

// What is ignored, by nohup say, stays so.
static void catch_signals(void)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGTERM};
    const struct sigaction action = {.sa_handler = pass_on,
                                     .sa_flags = SA_RESTART};
    struct sigaction before;

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (sigaction(numbers[i], NULL, &before) == 0 &&
            before.sa_handler != SIG_IGN) {
            sigaction(numbers[i], &action, NULL);
        }
    }
}

static void end_if_caught(void)
{
    if (caught != 0) {
        signal(caught, SIG_DFL);
        raise(caught);
    }
}

// ---- commands

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
    pid_t pid;

    if (caught != 0) {
        return 128 + caught;
    }
    pid = fork();
    if (pid == 0) {
        become(command);
    }
    if (pid < 0) {
        fprintf(stderr, "teamster: cannot start a process: %m\n");
        return 1;
    }
    child = pid;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return 1;
        }
    }
    child = 0;
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

static int find_files(struct cc_driver *driver)
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

static int open_temporary(struct cc_driver *driver)
{
    const char *where = getenv("TMPDIR");

    if (driver->temporary[0] != '\0') {
        return 1;
    }
    if (where == NULL || where[0] != '/') {
        where = "/tmp";
    }
    snprintf(driver->temporary, sizeof driver->temporary,
             "%s/teamster-cc-XXXXXX", where);
    if (mkdtemp(driver->temporary) == NULL) {
        fprintf(stderr, "teamster: cannot make a folder in %s: %m\n", where);
        driver->temporary[0] = '\0';
        return 0;
    }
    return 1;
}

static void close_temporary(struct cc_driver *driver)
{
    for (size_t i = 0; i < driver->made.n; i++) {
        unlink(driver->made.word[i]);
    }
    if (driver->temporary[0] != '\0') {
        rmdir(driver->temporary);
    }
    words_free(&driver->made);
}

// ---- compile

static int compile_all(struct cc_driver *driver)
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
        cc_stem_of(argument->text, stem, sizeof stem);
        snprintf(object, sizeof object, "%s.o", stem);
        exit_code =
            cc_compile(driver, argument,
                       arguments->output != NULL ? arguments->output : object);
    }
    return exit_code;
}

// ---- link

static int compile_for_link(struct cc_driver *driver, size_t i,
                            struct words *command, struct cc_check *check)
{
    char object[PATH_MAX];
    int exit_code;

    snprintf(object, sizeof object, "%s/%zu.o", driver->temporary, i);
    words_add(&driver->made, object);
    exit_code = cc_compile(driver, &driver->arguments.argument[i], object);
    words_add(command, object);
    cc_check_file(check, object, driver->arguments.argument[i].text);
    return exit_code;
}

// @param next  the word behind it, or NULL
static void check_linked(const struct cc_driver *driver, const char *text,
                         const char *next, struct cc_check *check)
{
    if (strncmp(text, "-l", 2) == 0) {
        text = text[2] != '\0' ? text + 2 : next;
        if (text != NULL) {
            cc_check_library(check, &driver->arguments, text);
        }
    } else if (text[0] != '-') {
        cc_check_file(check, text, text);
    }
}

static int add_linked(struct cc_driver *driver, struct words *command)
{
    const struct cc_arguments *arguments = &driver->arguments;
    struct cc_check check = {0};
    int exit_code = 0;

    for (size_t i = 0; i < arguments->n && exit_code == 0; i++) {
        const struct cc_argument *argument = &arguments->argument[i];

        switch (argument->kind) {
        case CC_SOURCE:
            exit_code = compile_for_link(driver, i, command, &check);
            break;
        case CC_LINKED:
            check_linked(driver, argument->text,
                         i + 1 < arguments->n ? argument[1].text : NULL,
                         &check);
            words_add(command, argument->text);
            break;
        case CC_FLAG:
            words_add(command, argument->text);
            break;
        case CC_LEFT_OUT:
            break;
        }
    }
    return cc_end_check(&check) != 0 && exit_code == 0 ? 1 : exit_code;
}

static void add_front_end(const struct cc_driver *driver, struct words *command)
{
    char text[PATH_MAX + 64];

    snprintf(text, sizeof text, "-Wl,-T,%s/shared.ld", driver->folder);
    words_add(command, text);
    snprintf(text, sizeof text, "-Wl,--version-script=%s/hidden.map",
             driver->folder);
    words_add(command, text);
    words_add(command, "-Wl,-u,main,-u,tmf_main,-u,_Znwm,-u,fwrite,-z,now");
    snprintf(text, sizeof text, "%s/libteamster_front.a", driver->folder);
    words_add(command, text);
    snprintf(text, sizeof text, "%s/libteamster.so", driver->library);
    words_add(command, text);
    snprintf(text, sizeof text, "-Wl,-rpath,%s", driver->library);
    words_add(command, text);
    words_add(command, "-pthread");
    words_add(command, "-lm");
}

static int link_program(struct cc_driver *driver)
{
    struct words command = {0};
    int exit_code;

    words_add_all(&command, &driver->compiler);
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

static int run_task(struct cc_driver *driver, const struct words *given)
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
    words_add_all(&command, &driver->compiler);
    words_add_all(&command, given);
    exit_code = cc_run(&command);
    words_free(&command);
    return exit_code;
}

// @param compiler  with its first arguments
static int drive(struct cc_driver *driver, const char *compiler, int argc,
                 char **argv)
{
    struct words words = {0};
    struct words given = {0};
    int exit_code;

    for (int i = 1; i < argc; i++) {
        words_add(&words, argv[i]);
        words_add(&given, argv[i]);
    }
    words_add_text(&driver->compiler, compiler);
    exit_code = cc_read_arguments(&words, &driver->arguments) != 0 ||
                is_refused(&driver->arguments);
    if (exit_code == 0 && driver->arguments.task != CC_OTHER) {
        exit_code = !find_files(driver) || !open_temporary(driver);
        driver->is_gcc = is_gcc(compiler);
    }
    if (exit_code == 0) {
        exit_code = run_task(driver, &given);
    }
    close_temporary(driver);
    cc_free_arguments(&driver->arguments);
    words_free(&words);
    words_free(&given);
    words_free(&driver->compiler);
    return exit_code;
}

// @param variable  what the environment may name the compiler by
static int run_driver(const char *variable, const char *usual, int argc,
                      char **argv)
{
    const char *own = getenv(variable);
    struct cc_driver driver = {0};
    int exit_code;

    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        cc_print_help();
        return 0;
    }
    catch_signals();
    exit_code = drive(&driver, own != NULL ? own : usual, argc, argv);
    end_if_caught();
    return exit_code;
}

int command_cc(int argc, char **argv)
{
    return run_driver("TEAMSTER_CC", "gcc", argc, argv);
}

int command_cxx(int argc, char **argv)
{
    return run_driver("TEAMSTER_CXX", "g++", argc, argv);
}

int command_fc(int argc, char **argv)
{
    return run_driver("TEAMSTER_FC", "gfortran", argc, argv);
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
        "C++ and its threads, \"teamster fc\" for Fortran with OpenMP. Options "
        "and files\n"
        "are those of the compiler.\n"
        "\n"
        "  make CC=\"teamster cc\" CXX=\"teamster c++\" FC=\"teamster fc\"\n"
        "  teamster run -n 4 ./program\n"
        "\n"
        "All objects of a program must be compiled so. It also runs alone. "
        "What "
        "works,\n"
        "what is slow and what is refused is in the document "
        "unchanged-programs.md.\n"
        "\n"
        "The variables TEAMSTER_CC, TEAMSTER_CXX, TEAMSTER_FC and "
        "TEAMSTER_OBJCOPY name\n"
        "gcc, g++, gfortran and objcopy, if they are to be others. Calls that "
        "cannot be\n"
        "had on several nodes, such as fork(), are refused; with\n"
        "TEAMSTER_CC_REFUSE=when-called the program is linked, and ends if it "
        "makes one.");
}
