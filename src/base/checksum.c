// SPDX-License-Identifier: BSD-3-Clause
/*
 * Eight lanes, each takes every eighth word: multiplications of different lanes
 * overlap. No step of a lane loses anything: for a given lane, different words
 * give different lanes, and for given others, different lanes give different sums
 * of 64 bits. Only the last step, to 32 bits, can hide a difference.
 */
#include "base/checksum.h"

enum { N_LANES = 8 };

#define ODD_1 UINT64_C(0x9e3779b97f4a7c15) // 2^64 / golden ratio
#define ODD_2 UINT64_C(0xd6e8feb86659fd93)

static inline uint64_t stir(uint64_t lane, uint64_t word, uint64_t odd)
{
    lane = (lane ^ word) * odd;
    return lane ^ lane >> 32;
}

uint32_t checksum(const void *bytes, size_t size, uint64_t seed)
{
    const uint64_t *words = bytes;
    uint64_t lanes[N_LANES];
    uint64_t sum = seed;

    for (unsigned i = 0; i < N_LANES; i++) {
        lanes[i] = seed + i * ODD_2;
    }
    for (size_t at = 0; at < size / 8; at += N_LANES) {
#pragma GCC unroll 8 // keeps the lanes in registers
        for (unsigned i = 0; i < N_LANES; i++) {
            lanes[i] = stir(lanes[i], words[at + i], ODD_1);
        }
    }
    for (unsigned i = 0; i < N_LANES; i++) {
        sum = stir(sum, lanes[i], ODD_2);
    }
    sum = sum >> 32 ^ (sum & 0xffffffff);
    return sum != 0 ? (uint32_t)sum : 1;
}
