// SPDX-License-Identifier: BSD-3-Clause
//
// main() is in no checkpoint: its stack is that of the process, and what the C library and
// others keep for it is all over the process. But most of what a main() does comes before it
// waits for its threads: it reads its arguments and files, allocates, creates threads. So a
// run that goes on from a checkpoint has main() do that again; its threads do not start,
// and its blocks are replaced, when it comes to that wait (runtime/checkpoint_restore.c).
//
// For that main() must be in this wait when a checkpoint is made, and what it did until then
// must depend on nothing that threads do. What it calls is followed:
//
//   it has created threads, and calls what may depend on them    spoilt: no checkpoints
//   it has gone on from the wait                                 spoilt
//   calls, or results (addresses, numbers), that differ when it prepares again
//                                                                the hash differs: refused
//
// U1 Between the creation of main()'s first thread and its wait it has called nothing but
//    `harmless`, or it is spoilt.
#include "runtime/prepared.h"

#include <stddef.h>
#include <string.h>

#include "base/random.h"

// What depends on no thread, and may be called beside them.
static const char *const harmless[] = {
    "tm_alloc",       "tm_free",        "tm_thread_create", "tm_thread_detach",
    "tm_thread_join", "tm_thread_exit", "tm_thread_self",   "tm_barrier_init",
    "tm_sem_init",    "tm_key_create",
};

static int is_harmless(const char *function)
{
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
        if (strcmp(harmless[i], function) == 0) {
            return 1;
        }
    }
    return 0;
}

static void add_number(struct prepared *prepared, uint64_t number)
{
    prepared->hash = random_mix((prepared->hash ^ number) + 1);
}

void prepared_note_call(struct prepared *prepared, const char *function)
{
    if (prepared->is_waiting || prepared->spoilt != NULL) {
        return;
    }
    prepared->latest = function;
    prepared->n_calls++;
    for (const char *c = function; *c != '\0'; c++) {
        add_number(prepared, (unsigned char)*c);
    }
    if (prepared->has_threads && !is_harmless(function)) {
        prepared->spoilt = function; // U1
    }
    prepared->has_threads |= strcmp(function, "tm_thread_create") == 0;
}

void prepared_note_result(struct prepared *prepared, uint64_t result)
{
    if (!prepared->is_waiting && prepared->spoilt == NULL) {
        add_number(prepared, result);
    }
}

void prepared_begin_wait(struct prepared *prepared)
{
    prepared->is_waiting = prepared->spoilt == NULL;
}

void prepared_end_wait(struct prepared *prepared)
{
    prepared->is_waiting = 0;
    if (prepared->spoilt == NULL) {
        prepared->has_gone_on = 1;
        prepared->spoilt = prepared->latest;
    }
}
