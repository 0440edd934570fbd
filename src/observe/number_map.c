// SPDX-License-Identifier: BSD-3-Clause
#include "observe/number_map.h"

#include <stdlib.h>

#include "base/ensure.h"

struct number_slot {
    uint64_t number;
    uint32_t place; // index + 1; 0: free
};

// The slot of a number, or the free one where it would be.
static struct number_slot *slot_of(const struct number_map *map,
                                   uint64_t number)
{
    size_t at = (size_t)((number * 0x9e3779b97f4a7c15u) >> 32);

    for (;; at++) {
        struct number_slot *slot = &map->slots[at & (map->room - 1)];

        if (slot->place == 0 || slot->number == number) {
            return slot;
        }
    }
}

uint32_t number_map_find(const struct number_map *map, uint64_t number)
{
    // A free slot has place 0: NUMBER_MAP_NONE is one less.
    return map->room == 0 ? NUMBER_MAP_NONE : slot_of(map, number)->place - 1;
}

static void grow(struct number_map *map)
{
    struct number_map bigger = {.room = map->room == 0 ? 64 : map->room * 2};

    bigger.slots = calloc(bigger.room, sizeof *bigger.slots);
    ensure_memory(bigger.slots != NULL);
    for (size_t i = 0; i < map->room; i++) {
        if (map->slots[i].place != 0) {
            *slot_of(&bigger, map->slots[i].number) = map->slots[i];
        }
    }
    bigger.n = map->n;
    free(map->slots);
    *map = bigger;
}

void number_map_add(struct number_map *map, uint64_t number, uint32_t index)
{
    if (map->n * 2 >= map->room) {
        grow(map);
    }
    *slot_of(map, number) =
        (struct number_slot){.number = number, .place = index + 1};
    map->n++;
}

void number_map_release(struct number_map *map)
{
    free(map->slots);
    *map = (struct number_map){0};
}
