// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a file has accesses that rely on the processor's order, which plain instructions
// hide (a `volatile` flag, the load of an atomic), GCC tells in its dump of the last form of
// the program. Code of which there is no dump, by other compilers and of assembler, is taken
// to have some; variables alone have none.
//
// OpenMP's `atomic`, `flush` and reductions become atomic instructions, too, but nobody reads
// what they change before something has ordered it. In the first form they can be told from
// others: `atomic` has its own line there, reductions have none yet, and of a fence the place in
// the source is known. An `atomic` that only reads is one of the others: somebody may wait for
// the value. So is one that only writes: it is a plain instruction, and of two nodes that write a
// word each may change some of its bytes.
#include "cc.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int has_any(const char *line, const char *const *words)
{
    while (*words != NULL && strstr(line, *words) == NULL) {
        words++;
    }
    return *words != NULL;
}

// ---- the last form

enum found { NOTHING, ATOMICS, OTHERS };

// The compiler marks variables that end so, too, and accesses by NULL, which end the program.
static int is_volatile(const char *line)
{
    static const char *const others[] = {"{CLOBBER", "*)0B]", NULL};

    return strstr(line, "={v}") != NULL && !has_any(line, others);
}

// Whether a variable of a C++ function has been made: each node has its own guard, which is 0
// until the node has heard of that.
static int is_guard(const char *line)
{
    return strstr(line, "__atomic_load_1 (") != NULL &&
           strstr(line, "&_ZGV") != NULL;
}

static enum found find_in_line(const char *line)
{
    static const char *const atomics[] = {"__atomic_", "__sync_", ".ATOMIC_",
                                          NULL};
    static const char *const others[] = {"__asm__", "__atomic_store_", NULL};

    if (is_volatile(line) || has_any(line, others)) {
        return OTHERS;
    }
    return has_any(line, atomics) && !is_guard(line) ? ATOMICS : NOTHING;
}

static enum found find_in_last(FILE *file)
{
    enum found found = NOTHING;
    char *line = NULL;
    size_t room = 0;

    while (found < OTHERS && getline(&line, &room, file) >= 0) {
        const enum found more = find_in_line(line);

        found = more > found ? more : found;
    }
    free(line);
    return found;
}

// ---- the first form

/** An `omp atomic`: its load, in two lines, and its store. */
struct omp_atomic {
    int is_next;   ///< the next line says what is read
    char read[64]; ///< the name that it is given
};

// What it stores is what it has read.
static int only_reads(const struct omp_atomic *atomic, const char *store)
{
    const char *value = strchr(store, '(');
    const size_t length = strlen(atomic->read);

    return value != NULL && length > 0 &&
           strncmp(value + 1, atomic->read, length) == 0 &&
           value[1 + length] == ')';
}

static int is_other_atomic(struct omp_atomic *atomic, const char *line)
{
    static const char *const orders[] = {"seq_cst", "acq_rel", "acquire",
                                         "release", NULL};
    const char *load = strstr(line, "#pragma omp atomic_load");
    const char *store = strstr(line, "#pragma omp atomic_store");

    if (atomic->is_next) {
        atomic->read[0] = '\0';
        (void)!sscanf(line, " %63[^ ] =", atomic->read);
    }
    atomic->is_next = load != NULL;
    return (load != NULL && has_any(load, orders)) ||
           (store != NULL &&
            (has_any(store, orders) || only_reads(atomic, store)));
}

static int source_has(const char *path, unsigned at, const char *word)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    int found = 0;

    for (unsigned i = 1;
         file != NULL && i <= at && getline(&line, &room, file) >= 0; i++) {
        found = i == at && strstr(line, word) != NULL;
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

// "[file.c:7:9] __sync_synchronize ();"
static int is_flush(const char *line)
{
    char path[PATH_MAX];
    unsigned at;

    return strstr(line, "__sync_synchronize ()") != NULL &&
           sscanf(line, " [%4095[^]:]:%u:", path, &at) == 2 &&
           source_has(path, at, "flush");
}

static int has_others(FILE *file)
{
    struct omp_atomic atomic = {0};
    char *line = NULL;
    size_t room = 0;
    int found = 0;

    while (!found && getline(&line, &room, file) >= 0) {
        found = is_other_atomic(&atomic, line) ||
                (find_in_line(line) != NOTHING && !is_flush(line));
    }
    free(line);
    return found;
}

enum cc_races cc_find_races(const struct cc_forms *forms, const char *object)
{
    FILE *first = fopen(forms->first, "r");
    FILE *last = fopen(forms->last, "r");
    enum cc_races races = CC_RACES;
    enum found found;

    if (first == NULL || last == NULL) {
        races = cc_has_code(object) ? CC_RACES : CC_NO_RACES;
    } else {
        found = find_in_last(last);
        if (found == NOTHING) {
            races = CC_NO_RACES;
        } else if (found == ATOMICS && !has_others(first)) {
            races = CC_UPDATES;
        }
    }
    if (first != NULL) {
        fclose(first);
    }
    if (last != NULL) {
        fclose(last);
    }
    return races;
}
