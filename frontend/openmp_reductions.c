// SPDX-License-Identifier: BSD-3-Clause
//
// Reductions of OpenMP's tasks. The compiler makes a list of words for each group of them:
// how many variables, how many bytes a thread has for all of them, and the variables, three
// words each. The room of all threads, one behind the other, is made here; the compiler's
// code clears, adds up and looks for it in the list. A task is given an address and asks
// which is the one for its thread; what it is given may be another thread's already.
//
// Lists of groups that are open are chained, the innermost first.
#include "openmp.h"

#include <string.h>

/** Words of a list; those without a number are the library's. */
enum {
    N_VARIABLES = 0,
    SIZE = 1,  // bytes that a thread has, of whole alignments
    ROOM = 2,  // before: the alignment
    OUTER = 4, // the list of the group around it
    ROOM_END = 6,
    VARIABLES = 7,
};

/** Of one variable. */
enum { ADDRESS = 0, OFFSET = 1, WORDS = 3 };

size_t openmp_reductions_size(const uintptr_t *data, unsigned n)
{
    return data[SIZE] * n;
}

void *openmp_reductions_room(const uintptr_t *data, unsigned n)
{
    const size_t size = openmp_reductions_size(data, n);
    void *room = front_new_block(size, data[ROOM]);

    if (room == NULL) {
        front_fatal("OpenMP: no memory for reductions of tasks");
    }
    return memset(room, 0, size);
}

void openmp_reductions_without_room(uintptr_t *data)
{
    data[ROOM] = 0;
}

void openmp_enter_reductions(uintptr_t *data, void *room, unsigned n)
{
    struct member *member = openmp_self();

    data[ROOM] = (uintptr_t)room;
    data[ROOM_END] = data[ROOM] + openmp_reductions_size(data, n);
    data[OUTER] = (uintptr_t)member->reductions;
    member->reductions = data;
}

static void leave_reductions(const uintptr_t *data)
{
    struct member *member = openmp_self();

    if (member->reductions == data) {
        member->reductions = (uintptr_t *)data[OUTER];
    }
}

// ---- which variable an address means

static int is_of_room(const uintptr_t *data, uintptr_t address)
{
    return address >= data[ROOM] && address < data[ROOM_END];
}

// @return its words, or NULL
static const uintptr_t *find_in_list(const uintptr_t *data, uintptr_t address)
{
    const int is_copy = is_of_room(data, address);
    const uintptr_t wanted =
        is_copy ? (address - data[ROOM]) % data[SIZE] : address;
    const uintptr_t *variable = data + VARIABLES;

    for (uintptr_t i = 0; i < data[N_VARIABLES]; i++, variable += WORDS) {
        if (variable[is_copy ? OFFSET : ADDRESS] == wanted) {
            return variable;
        }
    }
    return NULL;
}

static const uintptr_t *find_variable(uintptr_t address, const uintptr_t **data)
{
    const uintptr_t *found = NULL;

    for (*data = openmp_self()->reductions; *data != NULL;
         *data = (const uintptr_t *)(*data)[OUTER]) {
        found = find_in_list(*data, address);
        if (found != NULL) {
            return found;
        }
    }
    front_fatal("OpenMP: a task's reduction has no group: %p", (void *)address);
}

// @param addresses  [n + n_originals]  of n variables; then those of the variables
//                   themselves, which are set
void GOMP_task_reduction_remap(size_t n, size_t n_originals,
                               uintptr_t *addresses);
void GOMP_task_reduction_remap(size_t n, size_t n_originals,
                               uintptr_t *addresses)
{
    const unsigned index = openmp_index(openmp_self());

    for (size_t i = 0; i < n; i++) {
        const uintptr_t *data;
        const uintptr_t *variable = find_variable(addresses[i], &data);

        addresses[i] = data[ROOM] + index * data[SIZE] + variable[OFFSET];
        if (i < n_originals) {
            addresses[n + i] = variable[ADDRESS];
        }
    }
}

// ---- groups

void GOMP_taskgroup_reduction_register(uintptr_t *data)
{
    const unsigned n = openmp_self()->n;

    openmp_enter_reductions(data, openmp_reductions_room(data, n), n);
}

// A region's list is nobody's any more.
void GOMP_taskgroup_reduction_unregister(uintptr_t *data);
void GOMP_taskgroup_reduction_unregister(uintptr_t *data)
{
    leave_reductions(data);
    front_free((void *)data[ROOM]);
}

// Of a construct, which keeps its room if it is a team's.
void GOMP_workshare_task_reduction_unregister(bool is_cancelled);
void GOMP_workshare_task_reduction_unregister(bool is_cancelled)
{
    const struct member *member = openmp_self();
    const uintptr_t *data = member->reductions;

    leave_reductions(data);
    if (member->n == 1) {
        front_free((void *)data[ROOM]);
    }
    if (!is_cancelled) {
        openmp_barrier();
    }
}
