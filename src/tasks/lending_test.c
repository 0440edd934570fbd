// SPDX-License-Identifier: BSD-3-Clause
// Tasks between nodes, over ports that keep messages until they are delivered: what is given,
// when, and what comes back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/tasks_priv.h"

enum { N = 3, ROOM = 64 };

/** A message on its way. */
struct sent {
    node_id from;
    node_id to;
    struct message message;
    uint8_t body[8192];
};

struct world;

struct peer {
    struct world *world;
    struct port port;
    struct tasks *tasks;
    struct waiter *releases; ///< under way
    unsigned n_releases;     ///< begun
    unsigned n_orders;
    unsigned n_come;
    unsigned n_used;
};

struct world {
    struct peer peers[N];
    struct sent *sent; ///< [ROOM]
    unsigned n_sent;
    unsigned n_delivered;
    unsigned n_woken;
};

static void keep_message(void *owner, node_id to, const struct message *message)
{
    struct peer *peer = owner;
    struct world *world = peer->world;
    struct sent *sent = &world->sent[world->n_sent++];

    assert_in_range(world->n_sent, 1, ROOM);
    assert_in_range(message->body_size, 0, sizeof sent->body);
    sent->from = peer->port.self;
    sent->to = to;
    sent->message = *message;
    if (message->body_size > 0) {
        memcpy(sent->body, message->body, message->body_size);
        sent->message.body = sent->body;
    }
}

static void begin_release(void *owner, node_id next, struct waiter *done)
{
    struct peer *peer = owner;

    assert_int_not_equal(next, peer->port.self);
    peer->n_releases++;
    list_push(peer->releases, done);
}

static void note_order(void *owner, node_id to)
{
    (void)to;
    ((struct peer *)owner)->n_orders++;
}

static void note_wake(void *owner, void *waiter)
{
    (void)waiter;
    ((struct peer *)owner)->world->n_woken++;
}

static void note_come(void *owner)
{
    ((struct peer *)owner)->n_come++;
}

static void note_used(void *owner)
{
    ((struct peer *)owner)->n_used++;
}

static struct world *new_world(void)
{
    struct world *world = calloc(1, sizeof *world);

    world->sent = calloc(ROOM, sizeof *world->sent);
    for (unsigned i = 0; i < N; i++) {
        struct peer *peer = &world->peers[i];
        const struct tasks_ops ops = {
            .owner = peer,
            .release = begin_release,
            .order = note_order,
            .wake = note_wake,
            .has_come = note_come,
            .are_used = note_used,
        };

        peer->world = world;
        peer->port = (struct port){
            .self = (node_id)i, .owner = peer, .send = keep_message};
        roster_init(&peer->port.roster, N);
        peer->tasks = tasks_new(&peer->port, &ops, 1);
        assert_non_null(peer->tasks);
    }
    return world;
}

static void free_world(struct world *world)
{
    for (unsigned i = 0; i < N; i++) {
        tasks_free(world->peers[i].tasks);
    }
    free(world->sent);
    free(world);
}

static void end_releases(struct peer *peer)
{
    struct waiter *waiters = peer->releases;

    peer->releases = NULL;
    waiter_wake_all(waiters);
}

static tm_status deliver_next(struct world *world)
{
    const struct sent *sent = &world->sent[world->n_delivered++];

    assert_int_equal(message_body_is_good(&sent->message), 1);
    return tasks_receive(world->peers[sent->to].tasks, sent->from,
                         &sent->message);
}

static void deliver_all(struct world *world)
{
    while (world->n_delivered < world->n_sent) {
        assert_int_equal(deliver_next(world), TM_OK);
    }
}

// ---- tasks of the tests

static void add(void *into, const void *value)
{
    *(int64_t *)into += *(const int64_t *)value;
}

static void increment(void *argument)
{
    ++*(int64_t *)argument;
}

static void spawn_at(struct peer *peer, struct family *family, int64_t *out)
{
    struct task *task = task_new(increment, family, out, sizeof *out);

    task->out = out;
    task->goes_back = 1;
    family_add(family);
    tasks_push(peer->tasks, 0, task);
}

// Run what there is; each adds its number to the reduction, if there is one.
static unsigned run_all(struct peer *peer)
{
    struct task *task;
    unsigned n = 0;

    while ((task = tasks_take(peer->tasks, 0)) != NULL) {
        struct family *family = task->family;
        struct family *reducer = family_reducer(family);

        task->function(task->argument);
        if (reducer != NULL) {
            family_contribute(reducer, task->argument);
        }
        if (task_end(peer->tasks, task)) {
            tasks_return(peer->tasks, family);
        }
        n++;
    }
    return n;
}

static void have_asked(struct world *world, unsigned who)
{
    tasks_ask(world->peers[who].tasks);
    deliver_all(world);
}

// Node 1 has asked node 0, which has n tasks.
static struct world *lent_world(struct family *family, int64_t *numbers,
                                unsigned n)
{
    struct world *world = new_world();

    have_asked(world, 1);
    family_init(family, NULL, NULL);
    for (unsigned i = 0; i < n; i++) {
        numbers[i] = 100 * (int64_t)i;
        spawn_at(&world->peers[0], family, &numbers[i]);
    }
    return world;
}

static void half_of_the_oldest_go_behind_a_release(void **state)
{
    int64_t numbers[8];
    struct family family;
    struct world *world = lent_world(&family, numbers, 8);
    struct peer *root = &world->peers[0];
    const unsigned n_before = world->n_sent;

    (void)state;
    assert_true(tasks_should_give(root->tasks, 0));
    tasks_give(root->tasks);
    assert_int_equal(root->n_releases, 1);
    assert_int_equal(world->n_sent, n_before); // not before it is over
    assert_int_equal(deque_size(&root->tasks->deques[0].open), 4); // but gone
    assert_false(tasks_are_wanted(root->tasks));
    end_releases(root);
    assert_int_equal(world->n_sent, n_before + 1);
    assert_int_equal(root->n_orders, 1);
    deliver_all(world);
    assert_int_equal(world->peers[1].n_come, 1);
    assert_int_equal(run_all(&world->peers[1]), 4);
    assert_int_equal(numbers[0], 0);
    assert_int_equal(family_n_left(&family), 8);
    assert_int_equal(world->peers[1].n_releases, 1);
    end_releases(&world->peers[1]);
    deliver_all(world);
    assert_int_equal(family_n_left(&family), 4);
    assert_int_equal(run_all(root), 4);
    assert_int_equal(family_n_left(&family), 0);
    family_collect(&family);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(numbers[i], 100 * i + 1);
    }
    assert_false(tasks_are_pending(root->tasks));
    assert_false(tasks_are_pending(world->peers[1].tasks));
    free_world(world);
}

static void nobody_asks_twice_and_who_is_fed_may_ask_again(void **state)
{
    int64_t numbers[4];
    struct family family;
    struct world *world = lent_world(&family, numbers, 4);
    struct peer *root = &world->peers[0];
    unsigned n_before = world->n_sent;

    (void)state;
    tasks_ask(world->peers[1].tasks);
    assert_int_equal(world->n_sent, n_before);
    tasks_give(root->tasks);
    tasks_give(root->tasks); // nobody is hungry
    assert_int_equal(root->n_releases, 1);
    end_releases(root);
    deliver_all(world);
    n_before = world->n_sent;
    have_asked(world, 1);
    assert_int_equal(world->n_sent, n_before + 1); // the other one still knows
    assert_true(tasks_are_wanted(root->tasks));
    (void)run_all(&world->peers[1]);
    end_releases(&world->peers[1]);
    deliver_all(world);
    (void)run_all(root);
    family_collect(&family);
    free_world(world);
}

static void tasks_that_go_on_come_back_by_the_same_way(void **state)
{
    int64_t numbers[8];
    struct family family;
    struct world *world = lent_world(&family, numbers, 8);

    (void)state;
    family.combine = add;
    family.value_size = sizeof(int64_t);
    tasks_give(world->peers[0].tasks);
    end_releases(&world->peers[0]);
    have_asked(world, 2);
    // Node 1 takes them in, and gives some on.
    {
        struct task *task = tasks_take(world->peers[1].tasks, 0);

        tasks_push(world->peers[1].tasks, 0, task);
    }
    tasks_give(world->peers[1].tasks);
    end_releases(&world->peers[1]);
    deliver_all(world);
    assert_int_equal(run_all(&world->peers[1]), 2);
    assert_null(world->peers[1].releases); // two are still away
    assert_int_equal(run_all(&world->peers[2]), 2);
    end_releases(&world->peers[2]);
    deliver_all(world);
    assert_non_null(world->peers[1].releases);
    end_releases(&world->peers[1]);
    deliver_all(world);
    assert_int_equal(family_n_left(&family), 4);
    assert_int_equal(run_all(&world->peers[0]), 4);
    family_collect(&family);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(numbers[i], 100 * i + 1);
    }
    assert_int_equal(*(int64_t *)family.value, 2800 + 8);
    free(family.value);
    free_world(world);
}

static void who_has_parked_is_woken_by_the_last_end(void **state)
{
    int64_t numbers[2];
    struct family family;
    struct world *world = lent_world(&family, numbers, 2);

    (void)state;
    tasks_give(world->peers[0].tasks);
    end_releases(&world->peers[0]);
    deliver_all(world);
    (void)run_all(&world->peers[0]);
    assert_int_equal(world->n_woken, 0);
    assert_true(family_begin_wait(&family));
    (void)run_all(&world->peers[1]);
    end_releases(&world->peers[1]);
    deliver_all(world);
    assert_int_equal(world->n_woken, 1);
    assert_int_equal(family_n_left(&family), 0);
    assert_false(family_begin_wait(&family));
    family_collect(&family);
    free_world(world);
}

static void what_is_local_or_sent_stays(void **state)
{
    int64_t number = 5;
    struct family family;
    struct world *world = lent_world(&family, NULL, 0);
    struct family local;
    struct task *task = task_new(increment, &family, &number, sizeof number);

    (void)state;
    family_init(&local, NULL, NULL);
    local.is_local = 1;
    spawn_at(&world->peers[0], &local, &number);
    tasks_give(world->peers[0].tasks);
    assert_int_equal(world->peers[0].n_releases, 0);
    family_add(&family);
    tasks_send(world->peers[0].tasks, 2, task);
    end_releases(&world->peers[0]);
    deliver_all(world);
    have_asked(world, 1); // both others, if it has not: node 2 has none to give
    tasks_give(world->peers[2].tasks);
    assert_int_equal(world->peers[2].n_releases, 0);
    assert_int_equal(run_all(&world->peers[2]), 1);
    end_releases(&world->peers[2]);
    deliver_all(world);
    assert_int_equal(family_n_left(&family), 0);
    assert_int_equal(run_all(&world->peers[0]), 1);
    assert_int_equal(number, 6);
    free_world(world);
}

static tm_status receive_ends(struct world *world, node_id from,
                              const struct wire_task_end *end)
{
    uint8_t body[256];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {.type = MESSAGE_task_done, .body = body};

    wire_put_task_end(&writer, end);
    message.body_size = (uint32_t)(writer.at - body);
    return tasks_receive(world->peers[0].tasks, from, &message);
}

static void ends_that_make_no_sense_are_refused(void **state)
{
    const uint8_t bytes[16] = {0};
    int64_t numbers[2];
    struct family family;
    struct world *world = lent_world(&family, numbers, 2);
    struct wire_task_end end = {.kind = RETURNED_RESULT, .bytes = {bytes, 8}};
    struct message message = {.type = MESSAGE_task_ask, .u.task_ask = {1}};

    (void)state;
    tasks_give(world->peers[0].tasks);
    end_releases(&world->peers[0]);
    deliver_all(world);
    assert_int_equal(receive_ends(world, 1, &end), TM_EWIRE); // token 0
    end.token = 1;
    assert_int_equal(receive_ends(world, 2, &end), TM_EWIRE); // not with it
    end.bytes.size = 9;
    assert_int_equal(receive_ends(world, 1, &end), TM_EWIRE);
    end.kind = RETURNED_VALUE; // it has no reduction
    assert_int_equal(receive_ends(world, 1, &end), TM_EWIRE);
    end.kind = RETURNED_RESULT;
    end.bytes.size = 8;
    assert_int_equal(receive_ends(world, 1, &end), TM_OK);
    assert_int_equal(receive_ends(world, 1, &end), TM_EWIRE); // used up
    message.type = MESSAGE_task_ask;
    assert_int_equal(tasks_receive(world->peers[0].tasks, 2, &message), TM_OK);
    assert_int_equal(tasks_receive(world->peers[0].tasks, 2, &message),
                     TM_EWIRE); // it has asked
    (void)run_all(&world->peers[0]);
    assert_int_equal(family_n_left(&family), 0);
    family_collect(&family);
    tasks_roster_changed(world->peers[0].tasks);
    assert_int_equal(tasks_receive(world->peers[0].tasks, 2, &message), TM_OK);
    (void)run_all(&world->peers[1]);
    end_releases(&world->peers[1]);
    free_world(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_of_the_oldest_go_behind_a_release),
        cmocka_unit_test(nobody_asks_twice_and_who_is_fed_may_ask_again),
        cmocka_unit_test(tasks_that_go_on_come_back_by_the_same_way),
        cmocka_unit_test(who_has_parked_is_woken_by_the_last_end),
        cmocka_unit_test(what_is_local_or_sent_stays),
        cmocka_unit_test(ends_that_make_no_sense_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
