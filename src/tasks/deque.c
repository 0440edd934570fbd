// SPDX-License-Identifier: BSD-3-Clause
//
// The work-stealing deque of [Chase05], with the operations on C11 atomics of [Le13]. Top and
// bottom only rise, but for a moment in deque_take(); item i is at i modulo the size of the
// array. An array that is full is replaced by one of twice the size. Who steals may still
// read the old one, so that is kept until the end: all old ones together are smaller than the
// one in use.
//
// top, and bottom where it is lowered or raised, are changed by sequentially consistent
// operations, not between fences: ThreadSanitizer does not know those. On x86 that is
// one locked instruction for each call of the owner, as a fence would be.
//
// Q1 An item is taken once: the last one goes to whoever moves the top past it, the owner
//    too.
// Q2 Who steals has read the item before it moves the top: afterwards the owner may put
//    another into its place.
// Q3 The owner lowers the bottom before it looks at the top, and who steals reads the top
//    before the bottom: of one item that both want at least one sees the other.
#include "tasks/deque.h"

#include <stdlib.h>

#include "base/ensure.h"

struct deque_items {
    struct deque_items *older; ///< that this one has replaced
    int64_t size;              ///< a power of two
    void *_Atomic at[];        ///< [size]
};

enum { FIRST_SIZE = 256 };

static struct deque_items *new_items(int64_t size, struct deque_items *older)
{
    struct deque_items *items =
        malloc(sizeof *items + (size_t)size * sizeof items->at[0]);

    ensure_memory(items != NULL);
    items->older = older;
    items->size = size;
    return items;
}

static void put_item(struct deque_items *items, int64_t i, void *item)
{
    atomic_store_explicit(&items->at[i & (items->size - 1)], item,
                          memory_order_relaxed);
}

static void *get_item(struct deque_items *items, int64_t i)
{
    return atomic_load_explicit(&items->at[i & (items->size - 1)],
                                memory_order_relaxed);
}

void deque_init(struct deque *deque)
{
    atomic_init(&deque->top, 0);
    atomic_init(&deque->bottom, 0);
    atomic_init(&deque->items, new_items(FIRST_SIZE, NULL));
}

void deque_release(struct deque *deque)
{
    struct deque_items *items = atomic_load(&deque->items);

    while (items != NULL) {
        struct deque_items *older = items->older;

        free(items);
        items = older;
    }
}

static struct deque_items *grow(struct deque *deque, struct deque_items *old,
                                int64_t top, int64_t bottom)
{
    struct deque_items *items = new_items(2 * old->size, old);

    for (int64_t i = top; i < bottom; i++) {
        put_item(items, i, get_item(old, i));
    }
    // Pairs with the load in deque_steal().
    atomic_store_explicit(&deque->items, items, memory_order_release);
    return items;
}

void deque_push(struct deque *deque, void *item)
{
    const int64_t bottom =
        atomic_load_explicit(&deque->bottom, memory_order_relaxed);
    const int64_t top = atomic_load_explicit(&deque->top, memory_order_acquire);
    struct deque_items *items =
        atomic_load_explicit(&deque->items, memory_order_relaxed);

    if (bottom - top >= items->size) {
        items = grow(deque, items, top, bottom);
    }
    put_item(items, bottom, item);
    atomic_store(&deque->bottom, bottom + 1);
}

void *deque_take(struct deque *deque)
{
    const int64_t bottom =
        atomic_load_explicit(&deque->bottom, memory_order_relaxed) - 1;
    struct deque_items *items =
        atomic_load_explicit(&deque->items, memory_order_relaxed);
    void *item = NULL;
    int64_t top;

    atomic_store(&deque->bottom, bottom); // Q3
    top = atomic_load(&deque->top);
    if (top <= bottom) {
        item = get_item(items, bottom);
        if (top < bottom) {
            return item;
        }
        if (!atomic_compare_exchange_strong(&deque->top, &top, top + 1)) {
            item = NULL; // Q1
        }
    }
    atomic_store_explicit(&deque->bottom, bottom + 1, memory_order_release);
    return item;
}

void *deque_steal(struct deque *deque)
{
    int64_t top = atomic_load(&deque->top); // Q3
    const int64_t bottom = atomic_load(&deque->bottom);
    void *item;

    if (top >= bottom) {
        return NULL;
    }
    // Acquire pairs with the release in grow().
    item = get_item(atomic_load_explicit(&deque->items, memory_order_acquire),
                    top); // Q2
    return atomic_compare_exchange_strong(&deque->top, &top, top + 1) ? item
                                                                      : NULL;
}

uint64_t deque_size(const struct deque *deque)
{
    const int64_t top = atomic_load(&deque->top);
    const int64_t bottom = atomic_load(&deque->bottom);

    return bottom > top ? (uint64_t)(bottom - top) : 0;
}
