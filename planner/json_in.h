// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_JSON_IN_H
#define PLANNER_JSON_IN_H

#include <jansson.h>

#include "base/status.h"

/*
 * Strict reading of a JSON document: whatever is missing, too much, of another
 * type or out of its range is refused, with the file and the path to it:
 * "f.json: nodes[3].power: is -1; allowed: 1e-18 to 1e+18". The functions return
 * 1, or 0 after a refusal, so that they can be joined with &&. Only the first
 * refusal is kept.
 */

/** Where a refusal goes. */
struct json_in {
    const char *file; ///< as the user knows it
    char *error;      ///< [size]: empty until something is refused
    size_t size;
};

/** A value and the way to it, on the stack of who looks at it. */
struct spot {
    struct json_in *in;
    const struct spot *up; ///< NULL: this is the document
    const char *key;       ///< NULL: element `index` of an array
    size_t index;
    json_t *value; ///< borrowed
};

/** Say what is wrong with a value. @return 0 */
__attribute__((format(printf, 2, 3))) int spot_refuse(const struct spot *spot,
                                                      const char *format, ...);

/** Find a member of an object. */
int spot_member(const struct spot *object, const char *key, json_type type,
                struct spot *member);

/** Find a member that may be null. @param[out] member  value NULL if it is */
int spot_optional(const struct spot *object, const char *key, json_type type,
                  struct spot *member);

/** Find an element of an array. @param index  within it */
int spot_element(const struct spot *array, size_t index, json_type type,
                 struct spot *element);

/** Find a member that is an array of n elements. */
int spot_array(const struct spot *object, const char *key, size_t n,
               struct spot *array);

/** Refuse keys that are not among these words. @param words  "power memory" */
int spot_has_only(const struct spot *object, const char *words);

/** A number as it is. */
int spot_number(const struct spot *spot, double low, double high,
                double *number);

/** A number without a fraction. @param high  at most 2^53 */
int spot_whole(const struct spot *spot, uint64_t low, uint64_t high,
               uint64_t *number);

/** spot_number() of a member. */
int member_number(const struct spot *object, const char *key, double low,
                  double high, double *number);

/** spot_whole() of a member. */
int member_whole(const struct spot *object, const char *key, uint64_t low,
                 uint64_t high, uint64_t *number);

/** The same for a uint32_t. @param high  at most UINT32_MAX */
int member_count(const struct spot *object, const char *key, uint64_t low,
                 uint64_t high, uint32_t *number);

/** A member that is true or false. */
int member_bool(const struct spot *object, const char *key, int *value);

/** A member that is a text of less than `size` bytes. */
int member_text(const struct spot *object, const char *key, char *text,
                size_t size);

/** A member that is one of n words. @param[out] index  which */
int member_word(const struct spot *object, const char *key,
                const char *const *words, unsigned n, unsigned *index);

/** The elements of an array, each below `limit`. @param[out] numbers  [all] */
int spot_counts(const struct spot *array, uint64_t low, uint64_t high,
                uint32_t *numbers);

#endif
