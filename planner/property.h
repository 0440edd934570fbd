// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_PROPERTY_H
#define PLANNER_PROPERTY_H

#include "planner/scenario.h"

/** Something of a node that a question may change: memory, speed, power,
 * workers. */
struct property {
    const char *name;
    tm_status (*parse)(const char *text, double *value);
    const char *hint; ///< how an amount is written
    double least;
    double most;
    int is_whole;
    int is_of_speed; ///< speed or power
    double (*get)(const struct scenario *scenario,
                  const struct node_view *node);
    void (*set)(const struct scenario *scenario, struct node_view *node,
                double value);
    int (*show)(char *text, size_t size, double value);
};

/** @return NULL if a node has no such property */
const struct property *property_find(const char *name);

/**
 * Change a node: to an amount "64M", by one "+32M" or "-32M", or "2x".
 *
 * @param[in,out] node
 * @param[out] reason  [size] why not, set on failure
 * @return TM_OK
 * @return TM_EINVAL  it is no amount, or too much or too little; unchanged
 */
TM_CHECKED tm_status property_alter(const struct scenario *scenario,
                                    const struct property *property,
                                    const char *amount, struct node_view *node,
                                    char *reason, size_t size);

/** Write a node's property with its unit, as snprintf() does. */
int property_show(const struct scenario *scenario,
                  const struct property *property, const struct node_view *node,
                  char *text, size_t size);

#endif
