// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_CC_H
#define CLI_CC_H

#include <stddef.h>

/*
 * Parts of `teamster cc`: cc.c.
 */

/** Words, NULL behind the last. */
struct words {
    char **word;
    size_t n;
    size_t room;
};

void words_add(struct words *words, const char *word);
void words_add_all(struct words *words, const struct words *others);
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
    size_t n_objects; ///< files to link
    int has_openmp;
    int makes_dependencies; ///< -MD, -MMD
    int names_dependencies; ///< -MF
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

/** Is there a reason not to link this file? Objects that `teamster cc` has not made, calls
 * that cannot be had. @return 0, or the exit code: said why */
int cc_check_object(const char *path);

/** Run a program to its end, found as a shell would. @return its exit code */
int cc_run(const struct words *command);

#endif
