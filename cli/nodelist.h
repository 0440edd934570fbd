// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_NODELIST_H
#define CLI_NODELIST_H

#include <stddef.h>

/** What a nodelist of Charm++ has said so far. Begin with zeros. */
struct nodelist {
    int is_other;   ///< in a group that is not "main": its hosts are not used
    char cpus[32];  ///< of the group; "": not said
    char speed[32]; ///< the same
};

enum nodelist_line {
    NODELIST_NOT,   ///< it is no line of a nodelist
    NODELIST_EMPTY, ///< it is one, but names no host to be used
    NODELIST_HOST,  ///< it names one
    NODELIST_WRONG, ///< it is one, and cannot be used
};

/**
 * Write a line of a Charm++ nodelist as one of a hostfile:
 *
 *     group NAME [++cpus N] [++speed S] [++shell ssh]
 *     host NAME [++cpus N] [++speed S] [++shell ssh]
 *
 * What is said of a group holds for its hosts that do not say it themselves. A line
 * of a hostfile is never one of a nodelist: its second word has a "=".
 *
 * @param line       without comment
 * @param[out] text  [size]  NODELIST_HOST: the line; NODELIST_WRONG: what is wrong
 */
enum nodelist_line nodelist_translate(struct nodelist *list, const char *line,
                                      char *text, size_t size);

#endif
