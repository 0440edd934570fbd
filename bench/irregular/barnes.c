// SPDX-License-Identifier: BSD-3-Clause
/*
 * Bodies that attract each other, by a tree of cells [Barnes86]: of what is far away only the
 * centre of mass counts. In each step the eight parts of the tree are built by different
 * threads; then each thread goes through all of it for its bodies, and moves these.
 *
 *     barnes [THREADS [BODIES [STEPS]]]
 */
#include <math.h>

#include "checksum.h"
#include "program.h"

enum { N_PARTS = 8, DEPTH_MAX = 60 };

static const double opening = 0.6; // how large a cell may be, to its distance
static const double softening = 1e-3;
static const double step = 1e-3;

struct body {
    double place[3];
    double speed[3];
    double mass;
};

// What a cell has at a corner: 0 nothing, i + 1 body i, -i - 1 cell i.
struct cell {
    double centre[3]; // of mass
    double mass;
    int32_t corners[8];
};

static TM_SHARED struct {
    tm_barrier barrier;
    struct body *bodies; // [size]
    struct cell
        *cells; // [N_PARTS][part_size()]  those of a part, its root first
} job;

static const double half_width = 1.5; // of the room that bodies are in

static size_t part_size(void)
{
    return 2 * program.size + 64;
}

static unsigned corner_of(const double *place, const double *middle)
{
    return (unsigned)(place[0] > middle[0]) | (place[1] > middle[1]) << 1 |
           (place[2] > middle[2]) << 2;
}

static void move_middle(double *middle, unsigned corner, double half)
{
    for (unsigned k = 0; k < 3; k++) {
        middle[k] += corner & 1u << k ? half / 2 : -half / 2;
    }
}

// ---- building

struct builder {
    struct cell *cells;
    int32_t first; // number of cells[0]
    int32_t n;
};

static int32_t new_cell(struct builder *builder)
{
    if ((size_t)builder->n == part_size()) {
        PROGRAM_FAIL("too many cells");
    }
    builder->cells[builder->n] = (struct cell){{0}, 0, {0}};
    return builder->n++;
}

// @param cell, middle, half  the cell that the body is somewhere in
static void insert_body(struct builder *builder, int32_t number, int32_t cell,
                        double *middle, double half)
{
    for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
        const unsigned corner = corner_of(job.bodies[number].place, middle);
        const int32_t there = builder->cells[cell].corners[corner];

        if (there == 0) {
            builder->cells[cell].corners[corner] = number + 1;
            return;
        }
        move_middle(middle, corner, half);
        half /= 2;
        if (there > 0) { // a body: both are in a new cell
            const int32_t made = new_cell(builder);

            builder->cells[made]
                .corners[corner_of(job.bodies[there - 1].place, middle)] =
                there;
            builder->cells[cell].corners[corner] = -(builder->first + made) - 1;
            cell = made;
        } else {
            cell = -there - 1 - builder->first;
        }
    }
    PROGRAM_FAIL("two bodies are at one place");
}

static void sum_up(const struct builder *builder, struct cell *cell)
{
    for (unsigned k = 0; k < 8; k++) {
        const int32_t there = cell->corners[k];
        const double *place;
        double mass;

        if (there == 0) {
            continue;
        }
        if (there > 0) {
            place = job.bodies[there - 1].place;
            mass = job.bodies[there - 1].mass;
        } else {
            struct cell *below = &builder->cells[-there - 1 - builder->first];

            sum_up(builder, below);
            place = below->centre;
            mass = below->mass;
        }
        for (unsigned i = 0; i < 3; i++) {
            cell->centre[i] += mass * place[i];
        }
        cell->mass += mass;
    }
    for (unsigned i = 0; i < 3 && cell->mass > 0; i++) {
        cell->centre[i] /= cell->mass;
    }
}

static void build_part(unsigned part)
{
    static const double origin[3] = {0, 0, 0};
    struct builder builder = {.cells = &job.cells[part * part_size()],
                              .first = (int32_t)(part * part_size())};
    const int32_t top = new_cell(&builder);

    for (size_t i = 0; i < program.size; i++) {
        double middle[3] = {0, 0, 0};

        if (corner_of(job.bodies[i].place, origin) == part) {
            move_middle(middle, part, half_width);
            insert_body(&builder, (int32_t)i, top, middle, half_width / 2);
        }
    }
    sum_up(&builder, &builder.cells[top]);
}

// ---- forces

static void attract(double *force, const double *place, const double *other,
                    double mass)
{
    double d[3];
    double square = softening;
    double factor;

    for (unsigned k = 0; k < 3; k++) {
        d[k] = other[k] - place[k];
        square += d[k] * d[k];
    }
    factor = mass / (square * sqrt(square));
    for (unsigned k = 0; k < 3; k++) {
        force[k] += factor * d[k];
    }
}

static int is_distant(const struct cell *cell, const double *place,
                      double width)
{
    double square = 0;

    for (unsigned k = 0; k < 3; k++) {
        square += (cell->centre[k] - place[k]) * (cell->centre[k] - place[k]);
    }
    return width * width < opening * opening * square;
}

static void add_forces(double *force, const struct body *body,
                       const struct cell *cell, double width)
{
    if (is_distant(cell, body->place, width)) {
        attract(force, body->place, cell->centre, cell->mass);
        return;
    }
    for (unsigned k = 0; k < 8; k++) {
        const int32_t there = cell->corners[k];

        if (there > 0) {
            const struct body *other = &job.bodies[there - 1];

            attract(force, body->place, other->place, other->mass);
        } else if (there < 0) {
            add_forces(force, body, &job.cells[-there - 1], width / 2);
        }
    }
}

static void find_force(const struct body *body, double *force)
{
    for (unsigned k = 0; k < 3; k++) {
        force[k] = 0;
    }
    for (unsigned part = 0; part < N_PARTS; part++) {
        const struct cell *top = &job.cells[part * part_size()];

        if (top->mass > 0) {
            add_forces(force, body, top, half_width);
        }
    }
}

static void move_body(struct body *body, const double *force)
{
    for (unsigned k = 0; k < 3; k++) {
        body->speed[k] += step * force[k];
        body->place[k] += step * body->speed[k];
    }
}

static void *simulate(void *arg)
{
    const size_t me = (size_t)arg;
    const size_t start = part_start(program.size, me);
    const size_t end = part_start(program.size, me + 1);
    double(*forces)[3] = malloc((end - start + 1) * sizeof *forces);

    for (unsigned round = 0; round < program.n_rounds; round++) {
        for (unsigned part = 0; part < N_PARTS; part++) {
            if (part * program.n_threads / N_PARTS == me) {
                build_part(part);
            }
        }
        tm_barrier_wait(&job.barrier);
        for (size_t i = start; i < end; i++) {
            find_force(&job.bodies[i], forces[i - start]);
        }
        tm_barrier_wait(&job.barrier);
        for (size_t i = start; i < end; i++) {
            move_body(&job.bodies[i], forces[i - start]);
        }
        tm_barrier_wait(&job.barrier);
    }
    free(forces);
    return NULL;
}

// What forces do to all of them together is next to nothing.
static void check_momentum(void)
{
    double sum[3] = {0};

    for (size_t i = 0; i < program.size; i++) {
        for (unsigned k = 0; k < 3; k++) {
            sum[k] += job.bodies[i].mass * job.bodies[i].speed[k];
        }
    }
    for (unsigned k = 0; k < 3; k++) {
        if (!(fabs(sum[k]) < 1e-3 * program.n_rounds)) {
            PROGRAM_FAIL("a momentum of %g", sum[k]);
        }
    }
}

int main(int argc, char **argv)
{
    program_begin(argc, argv, (struct program){2, 8192, 4});
    job.bodies = program_alloc("bodies", program.size * sizeof *job.bodies);
    job.cells =
        program_alloc("cells", N_PARTS * part_size() * sizeof *job.cells);
    for (size_t i = 0; i < program.size; i++) {
        for (unsigned k = 0; k < 3; k++) {
            job.bodies[i].place[k] = 2 * mix_double(3 * i + k) - 1;
        }
        job.bodies[i].mass = 1.0 / (double)program.size;
    }
    tm_barrier_init(&job.barrier, program.n_threads);
    program_run(simulate);
    check_momentum();
    program_print("steps", program.n_rounds,
                  checksum((double *)job.bodies,
                           program.size * sizeof *job.bodies / sizeof(double),
                           0));
    return 0;
}
