// SPDX-License-Identifier: BSD-3-Clause
#ifndef OBSERVE_NUMBER_MAP_H
#define OBSERVE_NUMBER_MAP_H

#include <stddef.h>
#include <stdint.h>

/** From numbers of 64 bits (pages, threads) to indices. All zero is empty. */
struct number_map {
    struct number_slot *slots; ///< [room], linear probing
    size_t room;               ///< 0 or a power of two
    size_t n;
};

#define NUMBER_MAP_NONE UINT32_MAX

/** @return the index of a number, NUMBER_MAP_NONE if it has none */
uint32_t number_map_find(const struct number_map *map, uint64_t number);

/** Add a number that is not there. Ends the process if memory is short.
 * @param index  < NUMBER_MAP_NONE */
void number_map_add(struct number_map *map, uint64_t number, uint32_t index);

void number_map_release(struct number_map *map);

#endif
