// SPDX-License-Identifier: BSD-3-Clause
#include "cluster/node_statics.h"

#include <stdio.h>
#include <string.h>

/** Fractions travel as millionths, as many as a double holds exactly. */
#define PARTS 1e6
#define PARTS_MAX (UINT64_C(1) << 53)

static void put_fraction(struct wire_writer *writer, double value)
{
    wire_put_u64(writer, (uint64_t)(value * PARTS + 0.5));
}

static double get_fraction(struct wire_reader *reader)
{
    uint64_t parts = wire_get_u64(reader);

    if (parts > PARTS_MAX) {
        reader->failed = 1;
        return 0;
    }
    return (double)parts / PARTS;
}

void node_statics_put(struct wire_writer *writer,
                      const struct node_statics *statics)
{
    wire_put_string(writer, statics->host);
    wire_put_string(writer, statics->name);
    wire_put_u64(writer, statics->machine);
    put_fraction(writer, statics->mflops);
    put_fraction(writer, statics->spread);
    put_fraction(writer, statics->declared_speed);
    put_fraction(writer, statics->share);
    wire_put_u32(writer, statics->n_processors);
    wire_put_u32(writer, statics->n_workers);
    wire_put_u64(writer, statics->memory_total);
    wire_put_u64(writer, statics->memory_free);
    wire_put_u64(writer, statics->memory_declared);
    wire_put_u64(writer, statics->memory_pool);
    wire_put_u8(writer, (uint8_t)statics->total_by);
    wire_put_u8(writer, (uint8_t)statics->free_by);
}

static enum memory_by get_by(struct wire_reader *reader)
{
    uint8_t by = wire_get_u8(reader);

    if (by > MEMORY_BY_OPTION) {
        reader->failed = 1;
        return MEMORY_BY_MACHINE;
    }
    return (enum memory_by)by;
}

void node_statics_get(struct wire_reader *reader, struct node_statics *statics)
{
    wire_get_text(reader, statics->host, sizeof statics->host);
    wire_get_text(reader, statics->name, sizeof statics->name);
    statics->machine = wire_get_u64(reader);
    statics->mflops = get_fraction(reader);
    statics->spread = get_fraction(reader);
    statics->declared_speed = get_fraction(reader);
    statics->share = get_fraction(reader);
    statics->n_processors = wire_get_u32(reader);
    statics->n_workers = wire_get_u32(reader);
    statics->memory_total = wire_get_u64(reader);
    statics->memory_free = wire_get_u64(reader);
    statics->memory_declared = wire_get_u64(reader);
    statics->memory_pool = wire_get_u64(reader);
    statics->total_by = get_by(reader);
    statics->free_by = get_by(reader);
}

static int all_declare(const struct node_statics *statics, unsigned n_nodes)
{
    for (unsigned i = 0; i < n_nodes; i++) {
        if (statics[i].declared_speed <= 0) {
            return 0;
        }
    }
    return 1;
}

void statics_powers(const struct node_statics *statics, unsigned n_nodes,
                    double *power)
{
    int is_declared = all_declare(statics, n_nodes);
    double first = is_declared ? statics[0].declared_speed : statics[0].mflops;

    for (unsigned i = 0; i < n_nodes; i++) {
        double own =
            is_declared ? statics[i].declared_speed : statics[i].mflops;

        power[i] = own > 0 && first > 0 ? own / first : 1;
    }
}

uint64_t statics_without_reserve(uint64_t bytes)
{
    return bytes - bytes / 8;
}

uint64_t statics_memory(const struct node_statics *statics, unsigned n_nodes,
                        unsigned node)
{
    const struct node_statics *own = &statics[node];
    uint64_t rest = own->memory_free;
    unsigned n_sharing = 1; // the node itself

    if (own->memory_declared > 0) {
        return own->memory_declared;
    }
    for (unsigned i = 0; i < n_nodes; i++) {
        const struct node_statics *other = &statics[i];

        if (i == node || other->memory_pool != own->memory_pool) {
            continue;
        }
        if (other->memory_declared == 0) {
            n_sharing++;
        } else {
            rest -=
                other->memory_declared < rest ? other->memory_declared : rest;
        }
    }
    rest /= n_sharing;
    return own->free_by == MEMORY_BY_MACHINE ? rest
                                             : statics_without_reserve(rest);
}

const char *memory_by_name(enum memory_by by)
{
    static const char *const names[] = {
        [MEMORY_BY_MACHINE] = "machine",
        [MEMORY_BY_CGROUP1] = "cgroup v1",
        [MEMORY_BY_CGROUP2] = "cgroup v2",
        [MEMORY_BY_OPTION] = "--memory",
    };

    return names[by];
}

int node_costs_keep_copies(const struct node_costs *costs)
{
    return costs->swap_in_ns > 0 && costs->swap_out_ns > 0 &&
           costs->fetch_ns > costs->swap_in_ns + costs->swap_out_ns;
}

static int is_crowded(const struct node_statics *statics, unsigned n_nodes,
                      uint64_t machine)
{
    double n_needed = 0;
    uint32_t n_processors = 0;

    for (unsigned i = 0; i < n_nodes; i++) {
        if (statics[i].machine == machine) {
            n_needed += statics[i].n_workers * statics[i].share;
            if (statics[i].n_processors > n_processors) {
                n_processors = statics[i].n_processors;
            }
        }
    }
    return n_needed > n_processors;
}

void statics_crowds(const struct node_statics *statics, unsigned n_nodes,
                    uint32_t *crowds)
{
    for (unsigned i = 0; i < n_nodes; i++) {
        unsigned first = 0;

        while (statics[first].machine != statics[i].machine) {
            first++;
        }
        if (first < i) {
            crowds[i] = crowds[first];
        } else {
            crowds[i] =
                is_crowded(statics, n_nodes, statics[i].machine) ? i + 1 : 0;
        }
    }
}

// ---- names ----

static int is_name_of_any(const struct node_statics *statics, unsigned n_nodes,
                          const char *name)
{
    for (unsigned i = 0; i < n_nodes; i++) {
        if (strcmp(statics[i].name, name) == 0) {
            return 1;
        }
    }
    return 0;
}

void statics_name(const struct node_statics *statics, unsigned n_nodes,
                  unsigned i, unsigned number, char *name, size_t size)
{
    if (statics[i].name[0] != '\0') {
        snprintf(name, size, "%s", statics[i].name);
        return;
    }
    snprintf(name, size, "n%u", number);
    if (is_name_of_any(statics, n_nodes, name)) {
        snprintf(name, size, "node%u", number);
    }
}
