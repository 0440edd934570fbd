// SPDX-License-Identifier: BSD-3-Clause
//
// What a thread has for itself: memory (tm_thread_alloc()) and values under keys. Both
// are in its arena, which has the same addresses on all nodes and moves with its stack
// (ult/arena.h). So nothing has to be told to anybody when a thread moves; of keys only
// the root knows which there are (sync/keys.c).
//
// At the end of a thread values that have a destructor are destroyed: the function whose
// address is in the arena is called for that (threads.c), because who ends threads knows
// nothing of this file. Each destructor is asked for then: a key may have been deleted.
//
// B1 A value counts only if its key is, with its generation, the one that is asked for.
#include "runtime/belongings.h"
#include "runtime/node.h"
#include "runtime/unchanged.h"

#include <string.h>

enum { N_ROUNDS = 4 }; // of destructors that set values again, as POSIX has it

static struct belongings *own_belongings(void)
{
    const struct arena *arena = ult_arena(ult_self());

    return arena == NULL ? NULL : arena_root(arena);
}

// Of the caller, for a key's place; NULL if there has never been one.
static struct belonging *find_place(tm_key key)
{
    struct belongings *own = own_belongings();
    const uint32_t place = (uint32_t)key;

    return own == NULL || place == 0 || place > own->n ? NULL
                                                       : &own->of[place - 1];
}

// A value that is there is taken away. @return 1 if its destructor was called
static int destroy_value(struct node *node, uint32_t i)
{
    struct belonging was = own_belongings()->of[i];
    struct wait wait;

    own_belongings()->of[i].value = NULL;
    if (was.value == NULL) {
        return 0;
    }
    wait_begin_call(node, &wait);
    sync_key_destructor(node->sync, was.key, &wait.waiter);
    if (wait_end(node, &wait) != TM_OK || wait.waiter.result == 0) {
        return 0;
    }
    ((void (*)(void *))(uintptr_t)wait.waiter.result)(was.value);
    return 1;
}

// A destructor may set values, and there may be more of them then.
static void end_belongings(void)
{
    struct node *const node = &this_node;
    int n_called = 1;

    for (unsigned round = 0; round < N_ROUNDS && n_called > 0; round++) {
        n_called = 0;
        for (uint32_t i = 0; i < own_belongings()->n; i++) {
            n_called += destroy_value(node, i);
        }
    }
}

// Make room for so many values.
static tm_status widen(uint32_t n)
{
    struct arena *arena = ult_open_arena(ult_self());
    struct belongings *old = own_belongings();
    const size_t n_old = old == NULL ? 0 : old->n;
    struct belongings *own;

    own = arena == NULL
              ? NULL
              : arena_alloc(arena, sizeof *own + n * sizeof own->of[0]);
    if (own == NULL) {
        return TM_ENOMEM;
    }
    memset(own, 0, sizeof *own + n * sizeof own->of[0]);
    own->end = end_belongings;
    own->n = n;
    if (old != NULL) {
        own->front = old->front;
        memcpy(own->of, old->of, n_old * sizeof own->of[0]);
        if (arena_free(arena, old) != TM_OK) {
            return TM_EOVERRUN;
        }
    }
    arena_set_root(arena, own);
    return TM_OK;
}

// ---- public

tm_status tm_key_create(tm_key *key, void (*destructor)(void *value))
{
    struct node *const node = &this_node;
    tm_status status = CHECK_CALL("tm_key_create");
    struct wait wait;

    if (status != TM_OK) {
        return status;
    }
    wait_begin_call(node, &wait);
    sync_key_create(node->sync, (uint64_t)(uintptr_t)destructor, &wait.waiter);
    status = wait_end(node, &wait);
    if (status == TM_OK) {
        *key = wait.waiter.result;
    }
    return status;
}

tm_status tm_key_delete(tm_key key)
{
    struct node *const node = &this_node;
    tm_status status = CHECK_CALL("tm_key_delete");
    struct wait wait;

    if (status != TM_OK) {
        return status;
    }
    wait_begin_call(node, &wait);
    sync_key_delete(node->sync, key, &wait.waiter);
    return wait_end(node, &wait);
}

tm_status tm_key_set(tm_key key, const void *value)
{
    tm_status status = CHECK_CALL("tm_key_set");
    const uint32_t place = (uint32_t)key;

    if (status != TM_OK) {
        return status;
    }
    if (place == 0 || place > SYNC_KEYS_MAX) {
        return TM_EINVAL;
    }
    if (find_place(key) == NULL) {
        status = value == NULL ? TM_OK : widen(place);
    }
    if (status == TM_OK && find_place(key) != NULL) {
        *find_place(key) = (struct belonging){key, (void *)(uintptr_t)value};
    }
    return status;
}

void *tm_key_get(tm_key key)
{
    const struct belonging *place;

    if (CHECK_CALL("tm_key_get") != TM_OK) {
        return NULL;
    }
    place = find_place(key);
    return place == NULL || place->key != key ? NULL : place->value; // B1
}

void *teamster_front(void)
{
    const struct belongings *own = ult_self() == NULL ? NULL : own_belongings();

    return own == NULL ? NULL : own->front;
}

tm_status teamster_set_front(void *front)
{
    tm_status status = own_belongings() == NULL ? widen(1) : TM_OK;

    if (status == TM_OK) {
        own_belongings()->front = front;
    }
    return status;
}

void *tm_thread_alloc(size_t size)
{
    struct arena *arena;

    if (CHECK_CALL("tm_thread_alloc") != TM_OK || size == 0) {
        return NULL;
    }
    arena = ult_open_arena(ult_self());
    return arena == NULL ? NULL : arena_alloc(arena, size);
}

tm_status tm_thread_free(void *block)
{
    tm_status status = CHECK_CALL("tm_thread_free");
    struct arena *arena;

    if (status != TM_OK || block == NULL) {
        return status;
    }
    arena = ult_arena(ult_self());
    return arena == NULL ? TM_ENOBLOCK : arena_free(arena, block);
}
