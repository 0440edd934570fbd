// SPDX-License-Identifier: BSD-3-Clause
//
// Keys of values that each thread has for itself. The root gives out their numbers, and
// knows their destructors, which are functions of the program: the same addresses on all
// nodes. The values are the threads' affair (runtime/belongings.c).
//
// A number is a place with a generation above it, which grows each time the place is
// used: what a thread has put under a key that is gone is not found under a new one.
//
// K1 keys[place - 1] has that place, the lowest free one is given out.
#include <stdlib.h>

#include "base/ensure.h"
#include "sync/sync_priv.h"

static void ask_root(struct sync *sync, enum key_op op, uint64_t value,
                     struct waiter *waiter)
{
    struct call *call = call_root(sync, CALL_KEY, waiter->thread, waiter);

    call->message.u.key_call.token = call->token;
    call->message.u.key_call.op = (uint8_t)op;
    call->message.u.key_call.value = value;
    call_send(call, 0);
}

void sync_key_create(struct sync *sync, uint64_t destructor,
                     struct waiter *waiter)
{
    ask_root(sync, KEY_CREATE, destructor, waiter);
}

void sync_key_delete(struct sync *sync, uint64_t key, struct waiter *waiter)
{
    ask_root(sync, KEY_DELETE, key, waiter);
}

void sync_key_destructor(struct sync *sync, uint64_t key, struct waiter *waiter)
{
    ask_root(sync, KEY_DESTRUCTOR, key, waiter);
}

/* ---- at the root ---- */

static struct key_record *free_place(struct sync *sync)
{
    struct key_record *key;

    for (uint32_t i = 0; i < sync->n_keys; i++) {
        if (!sync->keys[i].is_used) {
            return &sync->keys[i];
        }
    }
    if (sync->n_keys == SYNC_KEYS_MAX) {
        return NULL;
    }
    sync->keys = realloc(sync->keys, (sync->n_keys + 1) * sizeof *sync->keys);
    ensure_memory(sync->keys != NULL);
    key = &sync->keys[sync->n_keys++];
    *key = (struct key_record){.number = sync->n_keys}; // K1
    return key;
}

static struct key_record *find_key(struct sync *sync, uint64_t number)
{
    const uint32_t place = (uint32_t)number;
    struct key_record *key;

    if (place == 0 || place > sync->n_keys) {
        return NULL;
    }
    key = &sync->keys[place - 1];
    return key->is_used && key->number == number ? key : NULL;
}

static void create(struct sync *sync, node_id from, uint64_t token,
                   uint64_t destructor)
{
    struct key_record *key = free_place(sync);

    if (key == NULL) {
        answer(sync, from, token, TM_ELIMIT, 0);
        return;
    }
    key->is_used = true;
    key->number += UINT64_C(1) << 32;
    key->destructor = destructor;
    answer(sync, from, token, TM_OK, key->number);
}

tm_status key_receive_call(struct sync *sync, node_id from,
                           const struct message *message)
{
    const struct message_key_call *fields = &message->u.key_call;
    struct key_record *key = find_key(sync, fields->value);

    switch (fields->op) {
    case KEY_CREATE:
        create(sync, from, fields->token, fields->value);
        return TM_OK;
    case KEY_DELETE:
        answer(sync, from, fields->token, key == NULL ? TM_EINVAL : TM_OK, 0);
        if (key != NULL) {
            key->is_used = false;
        }
        return TM_OK;
    case KEY_DESTRUCTOR:
        answer(sync, from, fields->token, TM_OK,
               key == NULL ? 0 : key->destructor);
        return TM_OK;
    default:
        return TM_EWIRE;
    }
}

bool keys_are_valid(const struct sync *sync)
{
    for (uint32_t i = 0; i < sync->n_keys; i++) {
        if ((uint32_t)sync->keys[i].number != i + 1) { // K1
            return false;
        }
    }
    return sync->n_keys <= SYNC_KEYS_MAX;
}
