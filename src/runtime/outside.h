// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_OUTSIDE_H
#define RUNTIME_OUTSIDE_H

#include <stdatomic.h>
#include <stdint.h>

#include "cluster/bootstrap.h"

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
    _Atomic int is_noted;      ///< there was one
    _Atomic int has_text;      ///< and `why` says what it was
    _Atomic int has_agreed;    ///< the node is in a checkpoint, or may be
    _Atomic uint32_t is_heard; ///< the launcher knows
    _Atomic uintptr_t
        fabric; ///< a place in the fabric's library from which such a call has come
    char why[BOOT_WHY_MAX];
};

/** The program is about to change a file. Blocks for as long as it takes to have the launcher know,
 * once, if there may be a checkpoint; a node that the launcher does not hear meanwhile ends, after --peer-timeout.
 * Context: any kernel thread, before tm_init() and after the end too; a handler of a signal, which waits a little
 * longer than that if it has interrupted the runtime. Leaves errno.
 * @param place  of the call, 0: in the program
 * @param what  "it has opened a file to write:"
 * @param name  of the file; NULL: it has none */
void outside_note_file(uintptr_t place, const char *what, const char *name);

/** The same of what is no file. @param name  NULL: it has none */
void outside_note(uintptr_t place, const char *what, const char *name);

/** A checkpoint is to be made: may it, by what this node has done? Then the node has agreed.
 * @return NULL, or why not; lives as long as the node */
const char *outside_why_unsaved(struct node *node);

/** There may be a checkpoint, though this node has not been asked: the run goes on from it, or the node has
 * come later. */
void outside_agree(struct node *node);

/** Something else is the reason why this node may be in no checkpoint. At the start; later on
 * with outside_tell(). */
void outside_refuse(struct node *node, const char *why);

/** There is such a reason: have the launcher know, unless it does. Does not wait, and may have been in vain; so again and
 * again. Service thread. */
void outside_tell(struct node *node);

/** The program goes on without the runtime, so that nothing can be told any more. On the root, while it runs. */
void outside_end(struct node *node);

/** The launcher knows, of this node or, at the root, of another one. Service thread. */
void outside_heard(struct node *node);

/** Does the launcher know, so that the run goes back no more? */
int outside_is_heard(const struct node *node);

#endif
