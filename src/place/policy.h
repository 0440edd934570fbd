// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLACE_POLICY_H
#define PLACE_POLICY_H

#include "model/predict.h"

/*
 * A mapping policy decides which node each thread should run on. It is a
 * function without state, I/O or clock: the same request has the same answer,
 * in the runtime, in `teamster plan` and in a test. docs/mapping.md says what
 * each one does and how to write one.
 */

/** What a policy is asked. Nothing of it is modified or kept. */
struct place_request {
    const struct cluster_view *view; ///< valid
    const struct cost_model *model;
    const uint32_t *current;            ///< [n_threads]: the mapping in force
    const struct measurement *measured; ///< under `current`; NULL: nothing
    uint64_t seed;                      ///< for policies that draw; any number
    uint32_t effort; ///< limit of search steps, in thousands; 0: the default.
                     ///< Some policies end sooner with a worse mapping
};

/** What it answers. */
struct mapping {
    uint32_t *node_of; ///< [n_threads], the caller's array: the mapping
    uint32_t n_moves;  ///< threads that leave their node
    double before_s;   ///< predicted iteration time of `current`
    double after_s;    ///< and of node_of
    int owners_move;   ///< the policy wants the owners of pages to move along
    int is_proven;     ///< nothing is better under the model (`optimal`)
};

/** What a policy's answer must stand up to: the model's promise before it is carried
 * out, and measured times afterwards. */
enum held_to {
    HELD_TO_TIMES,   ///< both: it is taken back if iterations are longer by it
    HELD_TO_PROMISE, ///< it is kept: as published the policy looks away from
                     ///< something, and this is not held against it
    HELD_TO_NOTHING, ///< neither: it is carried out once, in balance or not
};

struct policy {
    const char *name;    ///< as written in --policy=NAME
    const char *summary; ///< one line, for help
    int uses_memory;     ///< whether it looks at memory
    int wants_uses; ///< whether it is to be known who uses which pages, for the
                    ///< mapping or for pages to follow their threads; if not,
                    ///< no tracking is needed for it
    int ignores_power; ///< whether it looks away from it
    enum held_to held_to;

    // Choose a mapping for a valid request. before_s is there; fills in node_of,
    // and owners_move and is_proven if they are not 0; policy_place() does the
    // rest. May allocate (memory_new()), must free it. Any thread; must not block.
    void (*place)(const struct place_request *request, struct mapping *mapping);
};

/** All policies; `initial` is the first, the default is policy_find(NULL).
 * To add one: write policy_NAME.c, add its row in policies.c. */
extern const struct policy *const policies[];
extern const unsigned n_policies;

/** @return the policy of that name, the default (`cpu-mem`) for NULL; NULL if
 *          there is none */
const struct policy *policy_find(const char *name);

/**
 * Ask a policy, and complete its answer: threads that are pinned are brought
 * back to their nodes (another thread that the node would have taken goes in
 * exchange), moves are counted, the time before and after is predicted. Under
 * the model `cpu-mem` and `optimal` never answer with a mapping that is worse
 * than `current` or than that of `initial`; other policies may.
 *
 * @param policy     of `policies`
 * @param request
 * @param[in,out] mapping  node_of is the caller's array [n_threads]
 * @return TM_OK
 * @return TM_EINVAL  a node number of request->current is out of range
 *
 * Context: any thread; does not block, allocates. `cpu-mem` takes up to about
 * a microsecond a thread and group, `optimal` up to request->effort.
 */
TM_CHECKED tm_status policy_place(const struct policy *policy,
                                  const struct place_request *request,
                                  struct mapping *mapping);

#endif
