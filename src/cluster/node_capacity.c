// SPDX-License-Identifier: BSD-3-Clause
#include "cluster/node_capacity.h"

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

void node_capacity_put(struct wire_writer *writer,
                       const struct node_capacity *capacity)
{
    wire_put_string(writer, capacity->host);
    wire_put_string(writer, capacity->name);
    wire_put_u64(writer, capacity->machine);
    put_fraction(writer, capacity->mflops);
    put_fraction(writer, capacity->spread);
    put_fraction(writer, capacity->declared_speed);
    put_fraction(writer, capacity->share);
    wire_put_u32(writer, capacity->n_processors);
    wire_put_u64(writer, capacity->processor_pool);
    wire_put_u32(writer, capacity->n_workers);
    wire_put_u64(writer, capacity->memory_total);
    wire_put_u64(writer, capacity->memory_free);
    wire_put_u64(writer, capacity->memory_declared);
    wire_put_u64(writer, capacity->memory_pool);
    wire_put_u8(writer, (uint8_t)capacity->total_by);
    wire_put_u8(writer, (uint8_t)capacity->free_by);
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

void node_capacity_get(struct wire_reader *reader,
                       struct node_capacity *capacity)
{
    wire_get_text(reader, capacity->host, sizeof capacity->host);
    wire_get_text(reader, capacity->name, sizeof capacity->name);
    capacity->machine = wire_get_u64(reader);
    capacity->mflops = get_fraction(reader);
    capacity->spread = get_fraction(reader);
    capacity->declared_speed = get_fraction(reader);
    capacity->share = get_fraction(reader);
    capacity->n_processors = wire_get_u32(reader);
    capacity->processor_pool = wire_get_u64(reader);
    capacity->n_workers = wire_get_u32(reader);
    capacity->memory_total = wire_get_u64(reader);
    capacity->memory_free = wire_get_u64(reader);
    capacity->memory_declared = wire_get_u64(reader);
    capacity->memory_pool = wire_get_u64(reader);
    capacity->total_by = get_by(reader);
    capacity->free_by = get_by(reader);
}

static int all_declare(const struct node_capacity *capacity, unsigned n_nodes)
{
    for (unsigned i = 0; i < n_nodes; i++) {
        if (capacity[i].declared_speed <= 0) {
            return 0;
        }
    }
    return 1;
}

void capacity_powers(const struct node_capacity *capacity, unsigned n_nodes,
                     double *power)
{
    int is_declared = all_declare(capacity, n_nodes);
    double first =
        is_declared ? capacity[0].declared_speed : capacity[0].mflops;

    for (unsigned i = 0; i < n_nodes; i++) {
        double own =
            is_declared ? capacity[i].declared_speed : capacity[i].mflops;

        power[i] = own > 0 && first > 0 ? own / first : 1;
    }
}

uint64_t capacity_without_reserve(uint64_t bytes)
{
    return bytes - bytes / 8;
}

uint64_t capacity_memory(const struct node_capacity *capacity, unsigned n_nodes,
                         unsigned node)
{
    const struct node_capacity *own = &capacity[node];
    uint64_t rest = own->memory_free;
    unsigned n_sharing = 1; // the node itself

    if (own->memory_declared > 0) {
        return own->memory_declared;
    }
    for (unsigned i = 0; i < n_nodes; i++) {
        const struct node_capacity *other = &capacity[i];

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
                                             : capacity_without_reserve(rest);
}

int node_costs_keep_copies(const struct node_costs *costs)
{
    return costs->swap_in_ns > 0 && costs->swap_out_ns > 0 &&
           costs->fetch_ns > costs->swap_in_ns + costs->swap_out_ns;
}

unsigned capacity_n_sharing(const struct node_capacity *capacity,
                            unsigned n_first, unsigned node)
{
    unsigned n = 0;

    for (unsigned i = 0; i < n_first; i++) {
        n += capacity[i].processor_pool == capacity[node].processor_pool;
    }
    return n;
}

static int is_crowded(const struct node_capacity *capacity, unsigned n_nodes,
                      unsigned node)
{
    double n_needed = 0;

    for (unsigned i = 0; i < n_nodes; i++) {
        if (capacity[i].processor_pool == capacity[node].processor_pool) {
            n_needed += capacity[i].n_workers * capacity[i].share;
        }
    }
    return n_needed > capacity[node].n_processors;
}

void capacity_crowds(const struct node_capacity *capacity, unsigned n_nodes,
                     uint32_t *crowds)
{
    for (unsigned i = 0; i < n_nodes; i++) {
        unsigned first = 0;

        while (capacity[first].processor_pool != capacity[i].processor_pool) {
            first++;
        }
        if (first < i) {
            crowds[i] = crowds[first];
        } else {
            crowds[i] = is_crowded(capacity, n_nodes, i) ? i + 1 : 0;
        }
    }
}

// ---- names ----

static int is_name_of_any(const struct node_capacity *capacity,
                          unsigned n_nodes, const char *name)
{
    for (unsigned i = 0; i < n_nodes; i++) {
        if (strcmp(capacity[i].name, name) == 0) {
            return 1;
        }
    }
    return 0;
}

void capacity_name(const struct node_capacity *capacity, unsigned n_nodes,
                   unsigned i, unsigned number, char *name, size_t size)
{
    if (capacity[i].name[0] != '\0') {
        snprintf(name, size, "%s", capacity[i].name);
        return;
    }
    snprintf(name, size, "n%u", number);
    if (is_name_of_any(capacity, n_nodes, name)) {
        snprintf(name, size, "node%u", number);
    }
}
