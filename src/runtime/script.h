// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_SCRIPT_H
#define RUNTIME_SCRIPT_H

#include "observe/access_sets.h"
#include "place/profile.h"

struct node;

/* What threads do in an iteration, noted for a profile. On the root, under the node lock. */

/** Iterations that are noted. */
enum { SCRIPT_ROUNDS = 2 };

/** Zeros: nothing yet. */
struct script_notes {
    struct access_sets
        *sets[SCRIPT_ROUNDS]; ///< by the iteration's rest; NULL: none
    uint64_t iteration[SCRIPT_ROUNDS];
    unsigned n_tries;
    struct profile_block *blocks; ///< [n_blocks]
    uint32_t n_blocks;
};

/** Is a profile to be saved here? */
int script_is_wanted(struct node *node);
/** A barrier opens that ends an iteration. */
void script_passes(struct node *node);

/** What has been noted; n_rounds 0: too little. To be released, before the notes are.
 * @param numbers  [n_threads] of the profile's threads */
void script_fill(struct node *node, struct profile_script *script,
                 const uint64_t *numbers, uint32_t n_threads);
void script_release(struct profile_script *script);

void script_close(struct node *node);

#endif
