// SPDX-License-Identifier: BSD-3-Clause
#ifndef APPS_BODIES_H
#define APPS_BODIES_H
/*
 * The arithmetic of nbody: bodies that attract each other, all of them. Plain
 * C on plain pointers, compiled once for the program and its sequential twin;
 * see stencil.h. The order of the additions for a body is that of the numbers
 * of the others, whichever bodies are asked for at once, so equal work gives
 * equal bits.
 *
 * Units are such that the constant of gravity and the mass of all bodies
 * together are 1. The force is softened: distances count as
 * sqrt(r^2 + BODIES_SOFTENING^2).
 */

#include <stddef.h>
#include <stdint.h>

#define BODIES_SOFTENING 0.05
#define BODIES_STEP 0.001 // time from one iteration to the next

/** What all others need of a body. */
struct body {
    double at[3];
    double mass;
};

struct velocity {
    double of[3];
};

/**
 * The start values of bodies `first` to `end` - 1 of n: anywhere in a cube, in
 * a slow turn around its middle. Their places are those of half a step later,
 * as bodies_step() wants them.
 *
 * @param[out] bodies      [n]
 * @param[out] velocities  [n]
 * @param seed             another one gives another cluster
 */
void bodies_fill(struct body *bodies, struct velocity *velocities, size_t first,
                 size_t end, size_t n, uint32_t seed);

/**
 * One leapfrog step of bodies `first` to `end` - 1 of n: places are known in
 * the middle of a step, velocities at its ends. So the step is: forces from the
 * places, velocities from the forces, new places from the velocities.
 *
 * @param[out] to     [n]  places half a step after the next velocities
 * @param from        [n]  places half a step after the velocities
 * @param velocities  [n]  changed; not if `to` is NULL: the work without the
 *                         result
 */
void bodies_step(struct body *to, const struct body *from,
                 struct velocity *velocities, size_t first, size_t end,
                 size_t n);

/** Take bodies back by half a step, to the time of their velocities. */
void bodies_settle(struct body *bodies, const struct velocity *velocities,
                   size_t n);

/**
 * Kinetic and potential energy, when places and velocities are of one time. It
 * stays the same but for the error of the steps.
 */
double bodies_energy(const struct body *bodies,
                     const struct velocity *velocities, size_t n);

#endif
