// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_OUTSIDE_H
#define RUNTIME_OUTSIDE_H

#include <stdatomic.h>
#include <stdint.h>

struct node;

/*
 * What the program changes outside of its memory: files, other programs, whom it is connected with. No
 * checkpoint has that, so a run that goes back to one that nobody has asked for (--buddy=auto) must not
 * have done any of it. The functions of the C library by which it is done come here first
 * (wrap_outside.c).
 *
 * O1 A node that has done such a thing agrees to no checkpoint any more.
 * O2 One that has agreed to a checkpoint has the launcher know before it does such a thing, and
 *    the run does not go back then.
 */

/** Written by any kernel thread, without a lock. */
struct outside {
    _Atomic uint32_t state;    ///< outside.c
    _Atomic int has_agreed;    ///< to a checkpoint, ever
    _Atomic uint32_t is_heard; ///< the launcher knows
    char why[128];             ///< what it was, in words
};

/** The program is about to do such a thing. Blocks for as long as it takes to have the launcher
 * know, once, if there may be a checkpoint. One that is not heard ends the node, after --peer-timeout;
 * it blocks for a little longer at most, which is for handlers of signals: the
 * runtime that they have interrupted may be what they wait for.
 * Context: any kernel thread, before tm_init() and after the end too; a handler of a signal. Leaves errno.
 * @param what  "it has opened a file to write"
 * @param name  of what; NULL: it has none */
void outside_note(const char *what, const char *name);

/** A checkpoint is to be made: may it, by what this node has done? Then the node has agreed.
 * @return NULL, or why not; lives as long as the node */
const char *outside_why_unsaved(struct node *node);

/** Something else is the reason why this node may be in no checkpoint. At the start. */
void outside_refuse(struct node *node, const char *why);

/** The launcher knows. Service thread. */
void outside_heard(struct node *node);

#endif
