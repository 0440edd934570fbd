// SPDX-License-Identifier: BSD-3-Clause
//
// All nodes of a cluster, each with its failure detector, in one process. Time is a number,
// messages arrive at once or, by a way that is broken, never. What runtime/liveness.c does
// around a detector is written again, shorter.
#include "cluster/failure_detector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "cluster/host_ring.h"

#define MS UINT64_C(1000000)
#define POLL_MS 50
#define TIMEOUT_S 5
#define LATE_MS 300 // a poll or two, and the time since the last beat
#define MOST_NODES 256

struct cluster;

struct end {
    struct cluster *cluster;
    struct port port;
    struct failure_detector detector;
    uint64_t
        begin_ns; // it polls from then on: not all send beats at the same time
    int is_dead;  // or frozen
    int is_suspect; // somebody has said so, and not taken it back
};

static struct cluster {
    uint64_t now_ns;
    unsigned n_messages; // beats
    unsigned n_to[MOST_NODES];
    int is_broken[MOST_NODES][MOST_NODES]; // [from][to]
    uint16_t host_of[TM_MAX_NODES];
    struct end ends[MOST_NODES];

    // the first loss
    node_id lost; // NODE_NONE
    node_id by;
    uint64_t lost_ns;
} cluster;

static uint64_t read_clock(void *owner)
{
    const struct end *end = owner;

    return end->cluster->now_ns;
}

static int arrives(node_id from, node_id to)
{
    return !cluster.is_broken[from][to] && !cluster.ends[to].is_dead;
}

static void deliver_beat(void *owner, node_id to, const struct message *message)
{
    struct end *from = owner;
    struct failure_detector *receiver = &cluster.ends[to].detector;

    assert_int_equal(message->type, MESSAGE_beat);
    assert_int_not_equal(to, from->port.self);
    cluster.n_messages++;
    cluster.n_to[to]++;
    if (!arrives(from->port.self, to)) {
        return;
    }
    detector_hear(receiver, from->port.self);
    detector_hear_launcher(receiver, message->u.beat.launcher);
    if (message->u.beat.asks) {
        detector_answer(receiver, from->port.self);
    }
}

/** A message of the program's. */
static void say(node_id from, node_id to)
{
    detector_sent(&cluster.ends[from].detector, to);
    if (arrives(from, to)) {
        detector_hear(&cluster.ends[to].detector, from);
    }
}

static void open_cluster(unsigned n_hosts, unsigned n_on_each)
{
    const unsigned n = n_hosts * n_on_each;

    memset(&cluster, 0, sizeof cluster);
    cluster.now_ns = 1000000 * MS;
    cluster.lost = NODE_NONE;
    for (unsigned i = 0; i < n; i++) {
        cluster.host_of[i] = (uint16_t)(i / n_on_each);
    }
    for (unsigned i = 0; i < n; i++) {
        struct end *end = &cluster.ends[i];

        end->cluster = &cluster;
        end->begin_ns = cluster.now_ns + 7 * i % 20 * POLL_MS * MS;
        end->port = (struct port){.self = (node_id)i,
                                  .owner = end,
                                  .send = deliver_beat,
                                  .now_ns = read_clock};
        roster_init(&end->port.roster, n);
        detector_init(&end->detector, &end->port, cluster.host_of, TIMEOUT_S);
    }
}

static void poll_end(struct end *end)
{
    node_id node;

    switch (detector_poll(&end->detector, &node)) {
    case DETECTOR_SUSPECT:
        cluster.ends[node].is_suspect = 1;
        break;
    case DETECTOR_BACK:
        cluster.ends[node].is_suspect = 0;
        break;
    case DETECTOR_LOST:
        if (cluster.lost == NODE_NONE) {
            cluster.lost = node;
            cluster.by = end->port.self;
            cluster.lost_ns = cluster.now_ns;
        }
        break;
    default:
        break;
    }
}

/** Until somebody is lost, if anybody is. */
static void let_pass(unsigned ms)
{
    const struct roster *roster = &cluster.ends[0].port.roster;

    for (unsigned at = 0; at < ms && cluster.lost == NODE_NONE; at += POLL_MS) {
        cluster.now_ns += POLL_MS * MS;
        // Backwards: what one sends to those behind it these pass on with their next poll.
        for (unsigned i = roster->n_live; i-- > 0;) {
            struct end *end = &cluster.ends[roster->live[i]];

            if (!end->is_dead && cluster.now_ns >= end->begin_ns) {
                poll_end(end);
            }
        }
    }
}

static void expect_nobody_lost(void)
{
    assert_int_equal(cluster.lost, NODE_NONE);
    for (unsigned i = 0; i < MOST_NODES; i++) {
        assert_false(cluster.ends[i].is_suspect);
    }
}

/** Some have died now: one of them is lost in time, by one that lives. */
static void expect_a_loss(void)
{
    const uint64_t start_ns = cluster.now_ns;

    let_pass(20000);
    assert_int_not_equal(cluster.lost, NODE_NONE);
    assert_true(cluster.ends[cluster.lost].is_dead);
    assert_false(cluster.ends[cluster.by].is_dead);
    assert_in_range(cluster.lost_ns - start_ns,
                    TIMEOUT_S * 1000 * MS - 1050 * MS,
                    (TIMEOUT_S * 1000 + LATE_MS) * MS);
}

static void kill_host(unsigned host)
{
    for (unsigned i = 0; i < cluster.ends[0].port.roster.n_ids; i++) {
        cluster.ends[i].is_dead |= cluster.host_of[i] == host;
    }
}

// ---- how many

static double beats_each_second(unsigned n_hosts, unsigned n_on_each)
{
    unsigned before;

    open_cluster(n_hosts, n_on_each);
    let_pass(5000);
    before = cluster.n_messages;
    let_pass(10000);
    expect_nobody_lost();
    return (cluster.n_messages - before) / 10.0;
}

static void beats_grow_as_nodes_do(void **unused)
{
    (void)unused;
    assert_true(beats_each_second(4, 1) <= 12);
    assert_true(beats_each_second(64, 1) <= 64 * HOST_RING_REACH);
    assert_true(beats_each_second(256, 1) <= 256 * HOST_RING_REACH);
    assert_true(beats_each_second(16, 16) <=
                16 * HOST_RING_REACH + 2 * 15 * 16);
    assert_true(beats_each_second(1, 64) <= 2 * 63);
}

static void one_question_is_enough_for_who_answers(void **unused)
{
    unsigned before;

    (void)unused;
    open_cluster(32, 1);
    let_pass(5000);
    before = cluster.n_to[20];
    say(4, 20);
    let_pass(1000 - POLL_MS);
    assert_in_range(cluster.n_to[20] - before, 2, 3); // the usual ones
    let_pass(20000 + POLL_MS);
    assert_in_range(cluster.n_to[20] - before, 61, 66); // and one more
    expect_nobody_lost();
}

static void who_does_not_answer_is_asked_each_second(void **unused)
{
    unsigned before;

    (void)unused;
    open_cluster(32, 1);
    let_pass(5000);
    cluster.is_broken[20][4] = 1;
    before = cluster.n_to[20];
    say(4, 20);
    let_pass(4900);
    assert_in_range(cluster.n_to[20] - before, 4 * 3 + 3, 5 * 3 + 4);
}

static void who_is_answered_asks_nothing(void **unused)
{
    unsigned before;

    (void)unused;
    open_cluster(32, 1);
    let_pass(5000);
    before = cluster.n_messages;
    for (unsigned i = 0; i < 100; i++) {
        say(4, 20);
        let_pass(100);
        say(20, 4);
        let_pass(POLL_MS);
    }
    // What the last one said is not answered yet.
    assert_true(cluster.n_messages - before <= 32 * HOST_RING_REACH * 16);
    expect_nobody_lost();
}

// ---- who dies

static void a_host_that_dies_is_missed(void **unused)
{
    (void)unused;
    for (unsigned host = 0; host < 12; host++) {
        open_cluster(12, 4);
        let_pass(3000 + 70 * host);
        kill_host(host);
        expect_a_loss();
    }
}

static void several_hosts_that_die_are_missed(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed < 60; seed++) {
        const unsigned n_hosts = 2 + (unsigned)(random_mix(seed) % 20);
        const unsigned share = 1 + (unsigned)(random_mix(seed + 1000) % 8);

        open_cluster(n_hosts, 1 + (unsigned)(seed % 3));
        let_pass(3000);
        for (unsigned host = 1; host < n_hosts; host++) {
            if (host == 1 || random_mix(seed * 100 + host) % 8 < share) {
                kill_host(host);
            }
        }
        expect_a_loss();
    }
}

static void neighbours_that_die_together_are_missed(void **unused)
{
    (void)unused;
    for (unsigned first = 0; first < 12; first++) {
        open_cluster(12, 2);
        let_pass(3000);
        for (unsigned i = 0; i <= HOST_RING_REACH; i++) {
            kill_host((first + i) % 12);
        }
        expect_a_loss();
    }
}

static void a_node_that_is_frozen_alone_is_missed(void **unused)
{
    (void)unused;
    for (unsigned node = 0; node < 20; node++) { // leaders, too
        open_cluster(5, 4);
        let_pass(3000);
        cluster.ends[node].is_dead = 1;
        expect_a_loss();
    }
}

static void a_leader_and_all_that_miss_it_elsewhere_are_missed(void **unused)
{
    (void)unused;
    open_cluster(8, 3);
    let_pass(3000);
    for (unsigned i = 0; i <= HOST_RING_REACH; i++) {
        cluster.ends[3 * i].is_dead = 1;
    }
    expect_a_loss();
}

// ---- ways that are broken

static void a_way_that_nobody_uses_may_be_broken(void **unused)
{
    (void)unused;
    open_cluster(16, 1);
    let_pass(3000);
    cluster.is_broken[2][9] = 1;
    cluster.is_broken[9][2] = 1;
    let_pass(60000);
    expect_nobody_lost();
}

static void a_broken_way_is_missed_by_who_uses_it(void **unused)
{
    (void)unused;
    for (unsigned which = 1; which <= 3; which++) {
        uint64_t start_ns;

        open_cluster(16, 1);
        let_pass(30000);
        cluster.is_broken[2][9] = which & 1;
        cluster.is_broken[9][2] = (which & 2) != 0;
        start_ns = cluster.now_ns;
        say(2, 9);
        let_pass(20000);
        assert_int_equal(cluster.lost, 9);
        assert_int_equal(cluster.by, 2);
        assert_in_range(cluster.lost_ns - start_ns, TIMEOUT_S * 1000 * MS,
                        (TIMEOUT_S * 1000 + LATE_MS) * MS);
    }
}

static void a_suspect_that_answers_is_taken_back(void **unused)
{
    (void)unused;
    open_cluster(16, 1);
    let_pass(3000);
    cluster.is_broken[2][9] = 1;
    say(2, 9);
    let_pass(4000);
    assert_true(cluster.ends[9].is_suspect);
    cluster.is_broken[2][9] = 0;
    let_pass(1500);
    assert_false(cluster.ends[9].is_suspect);
    let_pass(30000);
    expect_nobody_lost();
}

static void those_that_were_sent_nothing_are_not_fenced(void **unused)
{
    const struct failure_detector *detector = &cluster.ends[2].detector;

    (void)unused;
    open_cluster(16, 1);
    let_pass(30000);
    assert_false(detector_is_silent(detector, 9));
    cluster.ends[9].is_dead = 1;
    say(2, 9);
    let_pass(1800);
    assert_false(detector_is_silent(detector, 9));
    let_pass(400);
    assert_true(detector_is_silent(detector, 9));
    assert_true(detector_is_silent(&cluster.ends[10].detector, 9));
    assert_false(detector_is_silent(&cluster.ends[14].detector, 9));
}

// ---- who comes and goes

static void change_all(void (*change)(struct roster *roster, node_id node),
                       node_id node)
{
    for (unsigned i = 0; i < MOST_NODES; i++) {
        struct end *end = &cluster.ends[i];

        if (end->cluster == NULL) {
            continue;
        }
        change(&end->port.roster, node);
        if (change == roster_add && i != node) {
            detector_expect(&end->detector, node);
        }
        if (roster_has(&end->port.roster, (node_id)i)) {
            detector_follow(&end->detector);
        }
    }
}

static void join(node_id node, uint16_t host)
{
    struct end *end = &cluster.ends[node];

    cluster.host_of[node] = host;
    change_all(roster_add, node);
    *end = (struct end){
        .cluster = &cluster,
        .port = {.self = node,
                 .roster = cluster.ends[0].port.roster,
                 .owner = end,
                 .send = deliver_beat,
                 .now_ns = read_clock},
    };
    detector_init(&end->detector, &end->port, cluster.host_of, TIMEOUT_S);
}

static void who_becomes_near_has_all_the_time(void **unused)
{
    (void)unused;
    open_cluster(10, 2);
    let_pass(60000);
    change_all(roster_remove,
               6); // of its host 7 leads now, and more are near others
    change_all(roster_remove, 7); // and now none
    let_pass(30000);
    expect_nobody_lost();
    change_all(roster_remove, 8); // 9 leads
    let_pass(30000);
    expect_nobody_lost();
    cluster.ends[9].is_dead = 1;
    expect_a_loss();
}

static void who_joins_is_missed_as_others_are(void **unused)
{
    (void)unused;
    open_cluster(10, 1);
    let_pass(30000);
    join(10, 10); // of a host of its own, behind 9
    let_pass(30000);
    join(11, 4);
    let_pass(30000);
    expect_nobody_lost();
    cluster.ends[11].is_dead = 1;
    expect_a_loss();
    assert_int_equal(cluster.by, 4);
}

static void who_has_left_is_missed_by_nobody(void **unused)
{
    (void)unused;
    open_cluster(10, 1);
    let_pass(3000);
    say(1, 6);
    cluster.ends[6].is_dead = 1;
    let_pass(1500);
    change_all(roster_remove, 6);
    let_pass(30000);
    expect_nobody_lost();
}

// ---- the launcher

static void what_one_host_knows_of_the_launcher_all_know_soon(void **unused)
{
    (void)unused;
    open_cluster(128, 2);
    let_pass(30000);
    for (uint32_t number = 1; number < 20; number++) {
        detector_hear_launcher(&cluster.ends[17].detector, number);
        let_pass(1000);
    }
    // It takes a poll at each third host; beats alone would take 40 s.
    let_pass(POLL_MS * (128 / HOST_RING_REACH + 4));
    for (unsigned i = 0; i < 256; i++) {
        assert_int_equal(cluster.ends[i].detector.launcher, 19);
    }
}

static void news_of_the_launcher_are_no_more_beats(void **unused)
{
    unsigned before;

    (void)unused;
    open_cluster(16, 1);
    let_pass(5000);
    before = cluster.n_messages;
    for (uint32_t number = 1; number <= 20; number++) {
        for (unsigned i = 0; i < 16; i++) { // as the launcher tells all
            detector_hear_launcher(&cluster.ends[i].detector, number);
        }
        let_pass(1000);
    }
    assert_true(cluster.n_messages - before <= 16 * HOST_RING_REACH * 22);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beats_grow_as_nodes_do),
        cmocka_unit_test(one_question_is_enough_for_who_answers),
        cmocka_unit_test(who_does_not_answer_is_asked_each_second),
        cmocka_unit_test(who_is_answered_asks_nothing),
        cmocka_unit_test(a_host_that_dies_is_missed),
        cmocka_unit_test(several_hosts_that_die_are_missed),
        cmocka_unit_test(neighbours_that_die_together_are_missed),
        cmocka_unit_test(a_node_that_is_frozen_alone_is_missed),
        cmocka_unit_test(a_leader_and_all_that_miss_it_elsewhere_are_missed),
        cmocka_unit_test(a_way_that_nobody_uses_may_be_broken),
        cmocka_unit_test(a_broken_way_is_missed_by_who_uses_it),
        cmocka_unit_test(a_suspect_that_answers_is_taken_back),
        cmocka_unit_test(those_that_were_sent_nothing_are_not_fenced),
        cmocka_unit_test(who_becomes_near_has_all_the_time),
        cmocka_unit_test(who_joins_is_missed_as_others_are),
        cmocka_unit_test(who_has_left_is_missed_by_nobody),
        cmocka_unit_test(what_one_host_knows_of_the_launcher_all_know_soon),
        cmocka_unit_test(news_of_the_launcher_are_no_more_beats),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
