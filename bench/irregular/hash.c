// SPDX-License-Identifier: BSD-3-Clause
/*
 * A hash table under locks: how often does each record of 1 KiB occur? Each thread goes
 * through its part of the records, takes a digest of each, and counts it in a table of all
 * threads; a mutex guards each bucket.
 *
 *     hash [THREADS [RECORDS]]
 */
#include "program.h"

enum { N_BUCKETS = 256, N_ENTRIES = 15, RECORD_WORDS = 128 };

struct entry {
    uint64_t digest; // 0: nothing is here
    uint64_t count;
};

struct bucket {
    tm_mutex mutex;
    struct entry entries[N_ENTRIES];
};

static TM_SHARED struct bucket *table; // [N_BUCKETS]

static size_t n_kinds(void)
{
    return program.size < 1024 ? program.size : 1024;
}

// Record number i, of one of so many kinds.
static void read_record(size_t i, uint64_t *words)
{
    const uint64_t kind = mix(i) % n_kinds();

    for (unsigned k = 0; k < RECORD_WORDS; k++) {
        words[k] = kind * RECORD_WORDS + k;
    }
}

static uint64_t digest_of(const uint64_t *words)
{
    uint64_t digest = 1;

    for (unsigned k = 0; k < RECORD_WORDS; k++) {
        digest = mix(digest ^ words[k]);
    }
    return digest | 1;
}

static void count_in(struct bucket *bucket, uint64_t digest)
{
    for (unsigned i = 0; i < N_ENTRIES; i++) {
        struct entry *entry = &bucket->entries[i];

        if (entry->digest == 0) {
            entry->digest = digest;
        }
        if (entry->digest == digest) {
            entry->count++;
            return;
        }
    }
    PROGRAM_FAIL("a bucket is full");
}

static void *count_records(void *arg)
{
    const size_t me = (size_t)arg;
    const size_t end = part_start(program.size, me + 1);

    for (size_t i = part_start(program.size, me); i < end; i++) {
        uint64_t words[RECORD_WORDS];
        struct bucket *bucket;
        uint64_t digest;

        read_record(i, words);
        digest = digest_of(words);
        bucket = &table[(digest >> 8) % N_BUCKETS];
        tm_mutex_lock(&bucket->mutex);
        count_in(bucket, digest);
        tm_mutex_unlock(&bucket->mutex);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    uint64_t n_found = 0;

    program_begin(argc, argv, (struct program){2, 40000, 1});
    table = program_alloc("table", N_BUCKETS * sizeof *table);
    program_run(count_records);
    for (unsigned b = 0; b < N_BUCKETS; b++) {
        for (unsigned i = 0; i < N_ENTRIES; i++) {
            n_found += table[b].entries[i].count;
            sum += table[b].entries[i].digest * table[b].entries[i].count;
        }
    }
    if (n_found != program.size) {
        PROGRAM_FAIL("%zu records, %zu counted", program.size, (size_t)n_found);
    }
    program_print("records", (double)program.size, sum);
    return 0;
}
