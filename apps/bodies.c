// SPDX-License-Identifier: BSD-3-Clause
#include "bodies.h"

#include <math.h>

// So many bodies are gone over at once, in registers.
enum { N_LANES = 8 };

static const double softening_2 = BODIES_SOFTENING * BODIES_SOFTENING;

// Eight bodies: where they are, and how they are pulled.
struct lanes {
    double at[3][N_LANES];
    double pull[3][N_LANES];
};

// A number from -1 to 1 that looks drawn by lot.
static double draw(size_t body, unsigned which, uint32_t seed)
{
    uint64_t bits = (body * 8 + which + 1) * 0x9e3779b97f4a7c15u +
                    (uint64_t)seed * 0xc2b2ae3d27d4eb4fu;

    bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 32) * 0x94d049bb133111ebu;
    return (double)(bits >> 40) * 0x1p-23 - 1.0;
}

void bodies_fill(struct body *bodies, struct velocity *velocities, size_t first,
                 size_t end, size_t n, uint32_t seed)
{
    for (size_t i = first; i < end; i++) {
        struct body *body = &bodies[i];
        struct velocity *velocity = &velocities[i];

        body->mass = 1.0 / (double)n;
        for (unsigned d = 0; d < 3; d++) {
            body->at[d] = draw(i, d, seed);
            velocity->of[d] = 0.125 * draw(i, 3 + d, seed);
        }
        velocity->of[0] -= 0.25 * body->at[1];
        velocity->of[1] += 0.25 * body->at[0];
        for (unsigned d = 0; d < 3; d++) {
            body->at[d] += 0.5 * BODIES_STEP * velocity->of[d];
        }
    }
}

// Load bodies; lanes that are left over repeat the last one.
static void lanes_load(struct lanes *lanes, const struct body *bodies, size_t n)
{
    for (size_t lane = 0; lane < N_LANES; lane++) {
        for (unsigned d = 0; d < 3; d++) {
            lanes->at[d][lane] = bodies[lane < n ? lane : n - 1].at[d];
            lanes->pull[d][lane] = 0.0;
        }
    }
}

// How all n bodies pull those in the lanes. A body does not pull itself: its
// distance from itself is 0.
static void lanes_pull(struct lanes *restrict lanes,
                       const struct body *restrict bodies, size_t n)
{
    struct lanes here = *lanes;

    for (size_t j = 0; j < n; j++) {
        const struct body body = bodies[j];

        for (unsigned lane = 0; lane < N_LANES; lane++) {
            const double x = body.at[0] - here.at[0][lane];
            const double y = body.at[1] - here.at[1][lane];
            const double z = body.at[2] - here.at[2][lane];
            const double r_2 = x * x + y * y + z * z + softening_2;
            const double scale = body.mass / (r_2 * sqrt(r_2));

            here.pull[0][lane] += scale * x;
            here.pull[1][lane] += scale * y;
            here.pull[2][lane] += scale * z;
        }
    }
    *lanes = here;
}

// The pull becomes motion: of one body.
static void body_move(struct body *to, const struct body *from,
                      struct velocity *velocity, const struct lanes *lanes,
                      size_t lane)
{
    to->mass = from->mass;
    for (unsigned d = 0; d < 3; d++) {
        velocity->of[d] += BODIES_STEP * lanes->pull[d][lane];
        to->at[d] = from->at[d] + BODIES_STEP * velocity->of[d];
    }
}

void bodies_step(struct body *to, const struct body *from,
                 struct velocity *velocities, size_t first, size_t end,
                 size_t n)
{
    for (size_t i = first; i < end; i += N_LANES) {
        const size_t n_here = end - i < N_LANES ? end - i : N_LANES;
        struct lanes lanes;

        lanes_load(&lanes, &from[i], n_here);
        lanes_pull(&lanes, from, n);
        for (size_t lane = 0; lane < n_here && to != NULL; lane++) {
            body_move(&to[i + lane], &from[i + lane], &velocities[i + lane],
                      &lanes, lane);
        }
        __asm__ volatile("" ::"r"(&lanes) : "memory"); // it counts as used
    }
}

void bodies_settle(struct body *bodies, const struct velocity *velocities,
                   size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (unsigned d = 0; d < 3; d++) {
            bodies[i].at[d] -= 0.5 * BODIES_STEP * velocities[i].of[d];
        }
    }
}

static double square(double value)
{
    return value * value;
}

double bodies_energy(const struct body *bodies,
                     const struct velocity *velocities, size_t n)
{
    double energy = 0.0;

    for (size_t i = 0; i < n; i++) {
        const struct body *a = &bodies[i];
        double potential = 0.0;

        for (size_t j = 0; j < i; j++) {
            const struct body *b = &bodies[j];

            potential -=
                b->mass /
                sqrt(square(a->at[0] - b->at[0]) + square(a->at[1] - b->at[1]) +
                     square(a->at[2] - b->at[2]) + softening_2);
        }
        energy += a->mass * (potential + 0.5 * (square(velocities[i].of[0]) +
                                                square(velocities[i].of[1]) +
                                                square(velocities[i].of[2])));
    }
    return energy;
}
