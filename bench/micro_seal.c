// SPDX-License-Identifier: BSD-3-Clause
//
// Measures what a frame between hosts costs both ends for its seal, in processor time,
// which other programs of the machine hardly change.
//
//     micro_seal [frames]
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/ensure.h"
#include "net/seal.h"

#define HEAD 9u
#define N_PASSES 9

static uint8_t bytes[HEAD + 65536 + SEAL_TAG_SIZE];

static int is_less(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;

    return difference < 0 ? -1 : difference > 0;
}

/** @return microseconds for one frame, sealed and opened; the median of passes */
static double cost_us(const struct seals *seals, size_t text_size, int n)
{
    const struct seal_frame frame = {bytes, HEAD, text_size};
    double passes[N_PASSES];

    for (unsigned pass = 0; pass < N_PASSES; pass++) {
        struct seal_lane out = {.key = "of a lane"};
        struct seal_lane in = out;
        uint64_t start_ns = clock_thread_cpu_ns();

        for (int i = 0; i < n; i++) {
            seals_seal(seals, &out, &frame);
            ensure(seals_open(seals, &in, &frame) == TM_OK);
        }
        passes[pass] = (double)(clock_thread_cpu_ns() - start_ns) / 1e3 / n;
    }
    qsort(passes, N_PASSES, sizeof passes[0], is_less);
    return passes[N_PASSES / 2];
}

int main(int argc, char **argv)
{
    static const uint8_t key[SEAL_KEY_SIZE] = "a key that is measured";
    static const size_t sizes[] = {16, 4096, 65536};
    int n = argc > 1 ? atoi(argv[1]) : 20000;

    for (int is_plain = 0; is_plain < 2; is_plain++) {
        struct seals *seals;

        if (seals_new(&seals, key, is_plain) != TM_OK) {
            return 1;
        }
        for (unsigned i = 0; i < 3; i++) {
            printf("%-14s %6zu bytes %8.2f us\n",
                   is_plain ? "authenticated" : "encrypted", sizes[i],
                   cost_us(seals, sizes[i], sizes[i] > 4096 ? n / 10 : n));
        }
        seals_free(seals);
    }
    return 0;
}
