// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_CC_H
#define CLI_CC_H

#include <limits.h>
#include <stddef.h>
#include <string.h>

/*
 * Parts of `teamster cc`: cc.c, cc_arguments.c, cc_compile.c, cc_races.c, cc_updates.c,
 * cc_object.c, cc_check.c.
 */

static inline int begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/** Words, NULL behind the last. */
struct words {
    char **word;
    size_t n;
    size_t room;
};

void words_add(struct words *words, const char *word);
void words_add_all(struct words *words, const struct words *others);
/** Words between blanks, as a shell has them: quotes and backslashes keep blanks. */
void words_add_text(struct words *words, const char *text);
void words_free(struct words *words);

/** What the compiler is asked to do. */
enum cc_task {
    CC_OTHER,   ///< something that makes no object: the compiler does it alone
    CC_COMPILE, ///< -c
    CC_LINK,
};

/** What is in an argument. */
enum cc_kind {
    CC_FLAG,     ///< for compiling and for linking
    CC_SOURCE,   ///< a file to compile
    CC_LINKED,   ///< a file or an option for linking only
    CC_LEFT_OUT, ///< for compiling only
};

struct cc_argument {
    const char *text;
    enum cc_kind kind;
    const char *language; ///< of -x before a source, or NULL
};

struct cc_arguments {
    enum cc_task task;
    const char *output;           ///< of -o, or NULL
    struct cc_argument *argument; ///< in order, -o and -c left out
    size_t n;
    size_t n_sources;
    size_t n_objects;       ///< files to link
    int makes_dependencies; ///< -MD, -MMD
    int names_dependencies; ///< -MF
    int names_targets;      ///< -MT, -MQ
    const char *refused;    ///< an option that cannot be had, or NULL
    const char *refused_why;
};

/** Read a command line; files of arguments (@FILE) are read too.
 * @param words  [of the command], kept by the caller as long as the result is used
 * @return 0, or -1: said why */
int cc_read_arguments(struct words *words, struct cc_arguments *arguments);
void cc_free_arguments(struct cc_arguments *arguments);

/** Make an object what Teamster needs: its variables shared, its calls renamed.
 * @param symbols  the file of names
 * @param is_racy  it has accesses that rely on the processor's order
 * @return 0, or the exit code: said why */
int cc_change_object(const char *object, const char *symbols, int is_racy);

/** Files that GCC writes about what it compiles: the program as it was read, and its last form. */
struct cc_forms {
    char first[224];
    char last[224];
};

/** What a file does that orders threads, without a call. */
enum cc_races {
    CC_NO_RACES,
    CC_UPDATES, ///< OpenMP's `atomic`, `flush` and reductions, which may be called
    CC_RACES, ///< more: it needs memory in which all instructions are as on one machine
};

/** @param object  of which there are no forms: what has instructions has CC_RACES */
enum cc_races cc_find_races(const struct cc_forms *forms, const char *object);

/** The compiler, and where things are. */
struct cc_driver {
    struct words compiler;
    int is_gcc;
    char folder[PATH_MAX];  ///< of the front end
    char library[PATH_MAX]; ///< of libteamster.so
    char symbols[PATH_MAX + 32];
    struct cc_arguments arguments;
    char temporary[200]; ///< a folder, "": none
    struct words made;   ///< objects in it
};

/** Compile a source and change what is made of it. What fails leaves no object.
 * @return 0, or the exit code: said why */
int cc_compile(struct cc_driver *driver, const struct cc_argument *source,
               const char *object);

/** Put calls into the place of the `lock` instructions of a file in assembler that was compiled
 * without a red zone.
 * @param result  the file that is written
 * @return 0, or -1: it has some that are not known, or none */
int cc_call_for_updates(const char *path, const char *result);

/** The name of a path's file without what follows its last dot. */
void cc_stem_of(const char *path, char *stem, size_t size);

/** Has the object instructions? An object that cannot be read has. */
int cc_has_code(const char *object);

/** What is known of the files that are to be linked. All zero: nothing. */
struct cc_check {
    struct words defined; ///< functions of the program with names of `wanted`
    struct words wanted;  ///< in turn: a file, a call of its that cannot be had
    int exit_code;
};

/** Look at a file: objects that `teamster cc` has not made are complained about.
 * @param told  what it is called in complaints */
void cc_check_file(struct cc_check *check, const char *path, const char *told);

/** Look at what -l names, if it is in one of the folders of -L. */
void cc_check_library(struct cc_check *check,
                      const struct cc_arguments *arguments, const char *name);

/** After the last file: calls that cannot be had, and that no file defines.
 * @return 0, or the exit code: said why */
int cc_end_check(struct cc_check *check);

/** Run a program to its end, found as a shell would. @return its exit code */
int cc_run(const struct words *command);

#endif
