// SPDX-License-Identifier: BSD-3-Clause
//
// eager-release on one page, three nodes, FIFO channels between each two, every
// interleaving. The rules are those of docs/protocols.md, sections 1 to 3.
//
// The program that runs on it is the most general one without data races. The
// page has two bytes. Byte k may be read and written only by the node that has
// token k (a lock, or the phase between two barriers), by any thread of that
// node at any time, and the token goes to another node only when a release has
// ended that began after the last write, or when a node is TOLD of it: the only one
// that the diff went to, if it need not pass the diff on. Any node may fault on the page, and
// start an atomic operation on the page's counter, at any time. A write toggles
// its byte, so writing twice restores it.
//
// What the engine decides by counters, time and reference bits is a free choice
// here: when a copy is dropped, whether the owner uses its copy, when a page
// stays writable through a release, when the directory is told. So there is no
// `access`: every copy may be thought mapped or not.
//
// After each step the whole state is checked (inline check):
//   E1, E2 and its converse, E3   as in the document
//   E4, E5    a copy has of each byte the last value written, if that has been
//             released or this node is the writer; the counter never goes back,
//             and has reached what any answered operation made it
//   H2        (where requests are forwarded) each hop follows a higher epoch
//   progress  nobody waits when no message is on its way
// The last two together exclude deadlock and requests that circulate for ever.
//
// Sizes (-D): WRITES, FETCHES, RELEASES, ATOMICS, of all nodes together.
// PAIR: two nodes only. START: 0 untouched page, 1 any owner and any copyset, 2 a page
// that is owned from the start, by a node that is not the directory node.
// AHEAD: nodes also ask for the page behind another one, so that the request may come to
// any node first.
// PLACED: an untouched page goes to any node instead of to the one that asks for
// it.
// MEMBERS: while nothing is under way and all threads are stopped, a node leaves, and comes again. It
// gives its page away; the directory node is another then if it was that (section 5).
// FREED: the block is freed, and the next one gets its page (section 11; blocks.pml).
// THREADS: byte 1 is a thread's own, which nobody else uses: it goes from node to node with it, when what it has
// written is released; owners may hear that a thread has gone.
// A mutant is one rule left out, -DM_..., see mutants.sh.
//
// Each step is compared with the table of tests/steps; not with -DNO_STEPS.

#include "model_steps.h"

#ifndef WRITES
#define WRITES 3
#endif
#ifndef FETCHES
#define FETCHES 3
#endif
#ifndef RELEASES
#define RELEASES 3
#endif
#ifndef ATOMICS
#define ATOMICS 0 // at most 3: counted in two bits
#endif
#ifndef START
#define START 1
#endif

#define NODES 3
#ifdef PAIR
#define LAST 1
#else
#define LAST 2
#endif
#define NOBODY 3
#define ON_WAY 4 // a thread
#ifdef MEMBERS
byte directory;
byte gone = 3; // who has left, or nobody
bit frozen; // no thread runs
byte n_changes;
#define DIRECTORY directory
#define IS_FREE(x) (!frozen && gone != x)
#else
#define DIRECTORY 0
#define IS_FREE(x) true
#endif
#define MOVE_LIMIT 2 // exclusive pages move at write faults below this
#define QUEUE 6
#define KEEP 4

#define ABSENT 0
#define CLEAN 1
#define DIRTY 2
#define EXCLUSIVE 3

// Messages have four fields:
//   FETCH        requester, for writing, epoch of the hint followed
//   GRANT        whether it answers a fetch of the receiver
//   PAGE         contents, owned (bit 7) and moves, epoch, version
//   UPDATE       writer, diff, epoch of the hint followed
//   ACK          writer, owned (bit 7), moves and copyset, epoch, version
//   PUSH         writer, diff, epoch, version
//   PUSH_ACK     writer, whether the copy was dropped
//   OWNER_IS     epoch, which block
//   ATOMIC       requester, -, epoch of the hint followed
//   ATOMIC_DONE  -
//   TOLD         which release
//   ASK_AHEAD    requester, for writing
//   DONE         -
//   GIVEN        contents, copyset, epoch, version
//   MOVE         -
//   CLOSE, GONE, NEW, ANSWER  of a block: blocks.pml
// A diff is mask * 16 + value; an atomic operation of node n has writer n + 3.
mtype = { FETCH, GRANT, PAGE, UPDATE, ACK, PUSH, PUSH_ACK, OWNER_IS, ATOMIC,
          ATOMIC_DONE, TOLD, ASK_AHEAD, DONE, GIVEN, MOVE, CLOSE, GONE, NEW,
          ANSWER };

chan wire[9] = [QUEUE] of { mtype, byte, byte, byte, byte };
#define WIRE(from, to) wire[(from) * 3 + (to)]

// Pushes kept by a node whose fetch is under way: version, diff.
chan kept[NODES] = [KEEP] of { byte, byte };

// What a node knows about the page: the table of section 1.
byte state[NODES];
bit is_owner[NODES];
byte copyset[NODES];
byte hint[NODES] = NOBODY;
byte epoch[NODES];
byte version[NODES];
byte base[NODES];
byte moves[NODES];
bit fetching[NODES];
byte in_flight[NODES];
byte mem[NODES];     // bits 0 and 1: the bytes; 2 and 3: the counter
byte twin[NODES];
bit has_owner_update[NODES]; // owner, and the directory node is not told yet

// Updates under way at a node: acknowledgements still to come from copies, and
// whom to tell then (two bits each: an update may pass a node twice, first as a
// forwarder and then as owner; acknowledgements return in the opposite order).
#if ATOMICS > 0
#define WRITERS 6
#else
#define WRITERS 3
#endif
byte pushing[NODES * WRITERS];
byte reply_to[NODES * WRITERS];
#define AT(node, writer) ((node) * WRITERS + (writer))
#define REPLY_TO(node, writer) (reply_to[AT(node, writer)] % 4 - 1)

// The program. `unreleased` of a byte: its last write is released (0), not (1),
// or covered by a release under way (2).
byte token[2]; // who has it; 0 also while anybody may take it
byte wanted; // the values last written
byte unreleased[2];
bit releasing[NODES];
byte told[NODES]; // the release under way that somebody is to be told of
bit in_atomic[NODES];
byte count;         // of atomic operations performed,
byte result[NODES]; // after the last of this node,
byte answered;      // after the last that was answered
byte n_writes, n_fetches, n_releases, n_atomics, n_moves;

// The system as a whole.
bit touched;
byte placement = NOBODY;
byte moving;         // ownership on its way,
byte moving_copyset; // with this copyset and its receiver
byte copies_sent;    // on their way

#ifdef M_NO_UNMAP
bit is_reading[NODES];
#endif

#ifdef FREED
#define IS_OF_PAGE(type)                                                       \
    (type != OWNER_IS && type != TOLD && type != MOVE && type != CLOSE &&      \
     type != GONE && type != NEW && type != ANSWER)
#define SAY(src, dst, type) send(src, dst, type, 0, 0, 0, 0)
#include "blocks.pml"
#else
#define IS_USED_NOW true
#define IS_KNOWN(x, serial) true
#define SERIAL(x) 0
#endif
#define MAY_USE(x) (IS_FREE(x) && IS_USED_NOW)

hidden mtype kind;
hidden byte a, b, c, d, v, w, set, n;
byte coin; // a free choice of the step under way; 0 between steps

#define BIT(n) (1 << (n))
#define MERGE(old, diff)                                                       \
    (((old) & ~((diff) >> 4)) | ((diff) & 15 & ((diff) >> 4)))
#define DIFF(page, twin) ((((page) ^ (twin)) << 4) | (page))
#define COUNT(page) ((page) >> 2)
#define KNOWN(node)                                                            \
    ((unreleased[0] == 0 || token[0] == node) +                                \
     2 * (unreleased[1] == 0 || token[1] == node))
#define QUIET                                                                  \
    (len(wire[0]) + len(wire[1]) + len(wire[2]) + len(wire[3]) +               \
         len(wire[4]) + len(wire[5]) + len(wire[6]) + len(wire[7]) +           \
         len(wire[8]) == 0)
#ifdef M_GRANT_AGAIN
#define IS_UNTOUCHED(x) (x == DIRECTORY && !is_owner[x])
#else
#define IS_UNTOUCHED(x) (x == DIRECTORY && !is_owner[x] && epoch[x] == 0)
#endif
#define ROUTE(x)                                                               \
    (is_owner[x] -> x : (hint[x] == NOBODY -> DIRECTORY : hint[x]))

#define ONLY(set) (set == 1 -> 0 : (set == 2 -> 1 : (set == 4 -> 2 : NOBODY)))

// ---- mutants

#ifdef M_TELL_ONE_OF_SEVERAL
#define ONE_OF(set) (set & 1 -> 0 : (set & 2 -> 1 : (set & 4 -> 2 : NOBODY)))
#else
#define ONE_OF(set) ONLY(set)
#endif
#if defined(PAIR) || defined(M_TELL_WHO_PASSES_ON)
#define MAY_TELL_OWNER
#endif

#ifdef M_MOVE_WHILE_PUSHING
#define MAY_MOVE(x) true
#else
#define MAY_MOVE(x) NOT_PUSHED(x)
#endif
#if defined(M_CLOSED_TOO_EARLY) || defined(M_RELEASED_WHEN_CLOSED)
#define MAY_BREAK_B1 // the mutant is to show what comes of it: old bytes
#define MAY_HAND_OVER(x) false
#elif defined(M_HAND_OVER_WHILE_PUSHING)
#define MAY_HAND_OVER(x) (!fetching[x])
#else
#define MAY_HAND_OVER(x) (!fetching[x] && NOT_PUSHED(x))
#endif
#ifdef M_IGNORE_BASE
#define IS_NEW(version, base) true
#else
#define IS_NEW(version, base) ((version) > (base))
#endif
#ifdef M_DROP_IN_FLIGHT
#define MAY_DROP(x) true
#else
#define MAY_DROP(x) (in_flight[x] == 0)
#endif
#ifdef M_OVERLAPPING_RELEASES
#define MAY_RELEASE(x) true
#define MAY_WAIT true // the mutant is to show lost bytes
#else
#define MAY_WAIT false
#define MAY_RELEASE(x) (!releasing[x])
#endif
#ifdef M_OWN_DIFF_BACK
#define BACK_TO(writer) 0
#else
#define BACK_TO(writer) BIT(writer)
#endif
#ifdef M_SEND_PAGE_NOT_TWIN
#define RELEASED(x) mem[x]
#else
#define RELEASED(x) (state[x] == DIRTY -> twin[x] : mem[x])
#endif
#ifdef M_HINT_WITHOUT_EPOCH
#define IS_BETTER(e, x) (!is_owner[x])
#else
#define IS_BETTER(e, x) ((e) > epoch[x])
#endif
#ifdef M_GRANT_ENDS_FETCH
#define ENDS_FETCH(answers) true
#define UNASKED_IS_WELCOME true // as the page is needed
#else
#define ENDS_FETCH(answers) (answers)
#define UNASKED_IS_WELCOME false
#endif

#if ATOMICS > 0
#define NOT_PUSHED(x)                                                          \
    (pushing[AT(x, 0)] + pushing[AT(x, 1)] + pushing[AT(x, 2)] +               \
         pushing[AT(x, 3)] + pushing[AT(x, 4)] + pushing[AT(x, 5)] == 0)
#else
#define NOT_PUSHED(x)                                                          \
    (pushing[AT(x, 0)] + pushing[AT(x, 1)] + pushing[AT(x, 2)] == 0)
#endif


// ---- each step is one of the protocol's table (model_steps.c)

#ifndef NO_STEPS
c_decl {
    extern void model_begins(int node, int page);
    extern void model_sends(int message, int to);
    extern int model_ends(int event, int from, int who, int facts, int version,
                          int epoch, int only_changed);
};

c_code {
    const char *const model_protocol = "eager-release";

    void model_record(int x, int page, int *to)
    {
        (void)page; // there is one
        to[AT_STATE] = now.state[x];
        to[AT_OWNER] = now.is_owner[x];
        to[AT_COPIES] = now.copyset[x];
        to[AT_HINT] = now.is_owner[x]         ? x + 1
                      : now.hint[x] == NOBODY ? 0
                                              : now.hint[x] + 1;
        to[AT_EPOCH] = now.epoch[x];
        to[AT_FETCHING] = now.fetching[x];
        to[AT_MOVES] = now.moves[x];
        to[AT_VERSION] = now.version[x];
        to[AT_BASE] = now.base[x];
        to[AT_IN_FLIGHT] = now.in_flight[x];
        for (int i = 0; i < WRITERS; i++) {
            to[AT_PUSHING] += now.pushing[AT(x, i)] > 0;
        }
    }
};

hidden byte s_node, s_event, s_from, s_who, s_facts, s_version, s_epoch, s_sends;
hidden byte s_is_allowed;

inline step_begins(x)
{
    s_node = x;
    c_code { model_begins(s_node, 0); };
}

// Of a message, what the table calls it.
#define SENDS(type, f2)                                                        \
    (type == FETCH || type == ASK_AHEAD -> SENDS_FETCH :                       \
     (type == PAGE -> (f2 >= 128 -> SENDS_AWAY : SENDS_COPY) :                 \
      (type == GRANT -> SENDS_GRANT :                                          \
       (type == PUSH -> SENDS_PUSH :                                           \
        (type == UPDATE -> SENDS_DIFF :                                        \
         (type == GIVEN -> SENDS_GIVEN :                                       \
          (type == ACK && f2 >= 128 -> SENDS_HANDED : SENDS_NOTHING)))))))

inline step_sends(type, f2, dst)
{
    s_sends = SENDS(type, (f2));
    s_node = dst;
    c_code { model_sends(s_sends, s_node); };
}

inline step_is(x, event, from, who, facts, ver, e)
{
    s_node = x;
    s_event = event;
    s_from = from;
    s_who = who;
    s_facts = facts;
    s_version = ver;
    s_epoch = e;
}

inline step_ends(x, event, from, who, facts, ver, e)
{
    step_is(x, event, from, who, facts, ver, e);
    c_code {
        s_is_allowed = model_ends(s_event, s_from, s_who, s_facts,
                                  s_version, s_epoch, 0);
    };
    assert(s_is_allowed);
}

// If anything has changed, or was sent.
inline step_so_far(x, event, from, who, facts, ver, e)
{
    step_is(x, event, from, who, facts, ver, e);
    c_code {
        s_is_allowed = model_ends(s_event, s_from, s_who, s_facts,
                                  s_version, s_epoch, 1);
    };
    assert(s_is_allowed);
}
#else
inline step_begins(x) { skip }
inline step_sends(type, f2, dst) { skip }
inline step_ends(x, event, from, who, facts, ver, e) { skip }
inline step_so_far(x, event, from, who, facts, ver, e) { skip }
#endif

// ---- checks

inline check_node(j, o1, o2)
{
    // E4, E5
    assert(state[j] == ABSENT || ((mem[j] ^ wanted) & KNOWN(j)) == 0);
    assert(state[j] == ABSENT || COUNT(mem[j]) >= answered);
    // E3
    assert(state[j] != EXCLUSIVE ||
           (is_owner[j] && copyset[j] == 0 && copies_sent == 0 &&
            state[o1] == ABSENT && state[o2] == ABSENT));
    // E2
    assert(!is_owner[j] ||
           (state[j] != ABSENT && !(copyset[j] & BIT(j)) &&
            (state[o1] == ABSENT || (copyset[j] & BIT(o1))) &&
            (state[o2] == ABSENT || (copyset[j] & BIT(o2)))));
    assert(moving == 0 || state[j] == ABSENT || (moving_copyset & BIT(j)));
}

#define HAS_COPY(j) (state[j] != ABSENT && !is_owner[j])

inline check()
{
    coin = 0;
    if
    :: IS_USED_NOW ->
        check_node(0, 1, 2);
        check_node(1, 0, 2);
        check_node(2, 0, 1);
        // E1
        assert(is_owner[0] + is_owner[1] + is_owner[2] + moving == touched);
    :: else
    fi;
#ifdef FREED
    assert(!QUIET || MAY_WAIT || IS_USED_NOW);
#endif
    // Progress.
    assert(!QUIET || MAY_WAIT ||
           (fetching[0] + fetching[1] + fetching[2] + in_flight[0] +
                in_flight[1] + in_flight[2] + releasing[0] + releasing[1] +
                releasing[2] + in_atomic[0] + in_atomic[1] + in_atomic[2] ==
            0));
    // The converse of E2.
    assert(!QUIET || !IS_USED_NOW || HAS_COPY(0) + 2 * HAS_COPY(1) + 4 * HAS_COPY(2) ==
                         (copyset[0] | copyset[1] | copyset[2]));
}

// ---- pieces

inline send(src, dst, type, f1, f2, f3, f4)
{
    assert(dst < NODES && len(WIRE(src, dst)) < QUEUE);
#ifdef MEMBERS
    assert(dst != gone);
#endif
    printf("    %d -> %d: %e %d %d %d %d\n", src, dst, type, f1, f2, f3, f4);
    step_sends(type, f2, dst);
#ifdef FREED
    n_on_way = n_on_way + IS_OF_PAGE(type);
#endif
    WIRE(src, dst)!type, f1, f2, f3, f4;
}

inline forward(x, request, asker, detail, followed)
{
    assert(hint[x] != NOBODY && epoch[x] > followed); // H2
    send(x, hint[x], request, asker, detail, epoch[x], 0);
}

inline become_absent(x)
{
    state[x] = ABSENT;
    mem[x] = 0;
    twin[x] = 0;
    base[x] = 0;
}

#ifdef FREED
#define IS_FINISHED(x)                                                         \
    (!fetching[x] && in_flight[x] == 0 && NOT_PUSHED(x) &&                     \
     reply_to[AT(x, 0)] + reply_to[AT(x, 1)] + reply_to[AT(x, 2)] == 0)

inline close_pages(x)
{
    if
#ifndef M_RELEASED_WHEN_CLOSED
    :: state[x] == DIRTY -> state[x] = CLEAN; twin[x] = 0;
#endif
    :: else
    fi
}

inline forget_pages(x)
{
    become_absent(x);
#ifndef M_HINT_IS_KEPT
    hint[x] = NOBODY;
    epoch[x] = 0;
#endif
    is_owner[x] = 0;
    copyset[x] = 0;
    version[x] = 0;
    moves[x] = 0;
}

inline begin_anew()
{
    touched = 0;
    moving = 0;
    moving_copyset = 0;
    copies_sent = 0;
    token[0] = 0;
    token[1] = 0;
    unreleased[0] = 0;
    unreleased[1] = 0;
    wanted = 0;
    count = 0;
    answered = 0;
}

#include "blocks.pml"
#endif

inline give_ownership(x, to)
{
    moving++;
    moving_copyset = copyset[x];
    is_owner[x] = 0;
    copyset[x] = 0;
    version[x] = 0;
    moves[x] = 0;
    become_absent(x);
#ifndef M_HINT_STAYS
    hint[x] = to;
#endif
    epoch[x]++;
}

inline take_ownership(x, from, e, ver, mov, copies)
{
    moving--;
    moving_copyset = 0;
    is_owner[x] = 1;
    epoch[x] = e;
    version[x] = ver;
    moves[x] = mov;
    copyset[x] = copies;
    hint[x] = NOBODY;
    has_owner_update[x] = (x != DIRECTORY && from != DIRECTORY);
}

inline learn_owner(x, who, e)
{
    if
    :: IS_BETTER(e, x) ->
        assert(!is_owner[x] && who != x);
        hint[x] = who;
        epoch[x] = e;
    :: else
    fi
}

inline apply_to_twin(x, diff)
{
    if
    :: state[x] == DIRTY -> twin[x] = MERGE(twin[x], diff);
    :: else
    fi
}

// ---- fetching

inline move_page(x, to)
{
    send(x, to, PAGE, mem[x], 128 + moves[x] + 1, epoch[x] + 1, version[x]);
    give_ownership(x, to);
}

inline send_copy(x, to)
{
    copyset[x] = copyset[x] | BIT(to);
    copies_sent++;
    w = RELEASED(x);
    send(x, to, PAGE, w, 0, epoch[x], version[x]);
}

inline serve(x, requester, writing)
{
    if
    :: state[x] == EXCLUSIVE && MAY_MOVE(x) &&
       (moves[x] == 0 || (writing && moves[x] < MOVE_LIMIT)) ->
        move_page(x, requester);
    :: else ->
        if
        :: state[x] == EXCLUSIVE ->
#ifndef M_STAYS_EXCLUSIVE
            state[x] = CLEAN;
#endif
#ifdef M_NO_UNMAP
            is_reading[x] = 1; // its thread may still write
#endif
        :: else
        fi;
        send_copy(x, requester);
    fi
}

// An untouched page, at the directory node; `v` gets the new owner.
inline grant(x, requester, is_fetch)
{
    v = (placement == NOBODY -> requester : placement);
    touched = 1;
    moving++;
    hint[x] = v;
    epoch[x] = 1;
    send(x, v, GRANT, (is_fetch && v == requester), 0, 0, 0);
}

inline on_fetch(x, requester, writing, followed)
{
    if
    :: is_owner[x] && requester != x -> serve(x, requester, writing);
    :: is_owner[x] && requester == x ->
        assert(fetching[x] || UNASKED_IS_WELCOME);
        fetching[x] = 0;
    :: IS_UNTOUCHED(x) ->
        grant(x, requester, 1);
        if
        :: v != requester -> send(x, v, FETCH, requester, writing, 1, 0);
        :: else
        fi
    :: else -> forward(x, FETCH, requester, writing, followed);
    fi
}

// Nobody waits for it: who does not own the page says so.
inline on_ask_ahead(x, requester, writing)
{
    if
    :: is_owner[x] && requester != x -> serve(x, requester, writing);
    :: IS_UNTOUCHED(x) ->
        grant(x, requester, 1);
        if
        :: v != requester -> send(x, v, ASK_AHEAD, requester, writing, 0, 0);
        :: else
        fi
    :: else -> send(x, requester, DONE, 0, 0, 0, 0);
    fi
}

inline on_grant(x, from, answers)
{
    assert(state[x] == ABSENT);
    state[x] = EXCLUSIVE;
    take_ownership(x, DIRECTORY, 1, 0, 0, 0);
    if
    :: ENDS_FETCH(answers) -> fetching[x] = 0;
    :: else
    fi
}

inline apply_kept(x)
{
    do
    :: nempty(kept[x]) ->
        kept[x]?v, w;
        if
        :: IS_NEW(v, base[x]) ->
            assert(!is_owner[x]);
            mem[x] = MERGE(mem[x], w);
        :: else
        fi
    :: empty(kept[x]) -> break
    od
}

inline install(x, from, contents, owned, e, ver)
{
    mem[x] = contents;
    base[x] = ver;
    if
    :: owned ->
        state[x] = EXCLUSIVE;
        take_ownership(x, from, e, ver, owned & 7, 0);
    :: else ->
        state[x] = CLEAN;
        copies_sent--;
        learn_owner(x, from, e);
    fi;
    apply_kept(x);
}

inline on_page(x, from, contents, owned, e, ver)
{
    assert(UNASKED_IS_WELCOME || (state[x] == ABSENT && fetching[x]));
    fetching[x] = 0;
    if
    :: state[x] != ABSENT -> assert(!owned); copies_sent--;
    :: else -> install(x, from, contents, owned, e, ver);
    fi
}

// ---- updates

// Send a diff to the nodes of a set.
inline push(x, writer, diff, to)
{
    version[x]++;
    set = to;
    n = 0;
    do
    :: n < NODES ->
        if
        :: set & BIT(n) ->
            send(x, n, PUSH, writer, diff, epoch[x], version[x]);
            pushing[AT(x, writer)]++;
        :: else
        fi;
        n++
    :: else -> break
    od
}

inline remember_sender(x, writer, from)
{
    assert(reply_to[AT(x, writer)] < 64);
    reply_to[AT(x, writer)] = reply_to[AT(x, writer)] * 4 + from + 1;
}

inline acknowledge(x, writer)
{
    if
    :: coin && is_owner[x] && REPLY_TO(x, writer) == writer &&
       (copyset[x] & BIT(writer)) && state[x] == CLEAN && MAY_HAND_OVER(x) ->
        assert(in_flight[x] == 0);
        send(x, writer, ACK, writer,
             128 + moves[x] * 8 + (copyset[x] & ~BIT(writer)), epoch[x] + 1,
             version[x]);
        give_ownership(x, writer);
    :: else -> send(x, REPLY_TO(x, writer), ACK, writer, 0, 0, 0);
    fi;
    reply_to[AT(x, writer)] = reply_to[AT(x, writer)] / 4;
}

inline on_update(x, from, writer, diff, followed)
{
    remember_sender(x, writer, from);
    if
#ifdef MAY_BREAK_B1
    :: known[x] == NONE -> acknowledge(x, writer);
#endif
    :: is_owner[x] ->
        mem[x] = MERGE(mem[x], diff);
        apply_to_twin(x, diff);
        push(x, writer, diff, copyset[x] & ~BACK_TO(writer));
        step_ends(x, ON_DIFF, from, writer, 0, 0, 0);
        if
#ifdef M_ACKNOWLEDGE_EARLY
        :: pushing[AT(x, writer)] > 0 -> acknowledge(x, writer);
#endif
        :: pushing[AT(x, writer)] == 0 -> acknowledge(x, writer);
        :: else
        fi
    :: else ->
#ifdef PAIR
        assert(false); // of two nodes the other one is the owner
#endif
        forward(x, UPDATE, writer, diff, followed);
        step_ends(x, ON_DIFF, from, writer, 0, 0, 0);
    fi
}

#ifdef THREADS
#define IS_OWN(k) ((k) == 1) // the thread's, wherever it is
#define MAY_TAKE(x, k) (token[k] == x || (unreleased[k] == 0 && !IS_OWN(k)))
#ifdef M_MOVES_UNRELEASED
#define HAS_RELEASED_ITS_WRITES true
#elif defined(M_MOVES_TOO_EARLY)
#define HAS_RELEASED_ITS_WRITES (unreleased[1] != 1)
#else
#define HAS_RELEASED_ITS_WRITES (unreleased[1] == 0)
#endif
#else
#define IS_OWN(k) false
#define MAY_TAKE(x, k) (token[k] == x || unreleased[k] == 0)
#endif

// What the release under way covers, anybody may take.
inline let_go(x)
{
    told[x] = 0;
    n = 0;
    do
    :: n < 2 ->
        if
        :: token[n] == x && unreleased[n] == 2 ->
            unreleased[n] = 0;
            if
            :: !IS_OWN(n) -> token[n] = 0;
            :: else
            fi
        :: else
        fi;
        n++
    :: else -> break
    od
}

inline end_release_if_done(x)
{
    if
    :: releasing[x] && in_flight[x] == 0 && pushing[AT(x, x)] == 0 ->
        releasing[x] = 0;
        let_go(x);
    :: else
    fi
}

// Behind the diff of a release.
inline tell(x, to)
{
    if
    :: to != NOBODY ->
        told[x] = n_releases;
        send(x, to, TOLD, n_releases, 0, 0, 0);
    :: else
    fi
}

inline on_told(from, release)
{
    if
    :: told[from] == release -> let_go(from);
    :: else // it has ended
    fi
}

inline on_ack(x, from, writer, owned, e, ver)
{
    if
    :: reply_to[AT(x, writer)] == 0 -> // nobody: it is this node's own
        assert(writer == x);
        in_flight[x]--;
        step_so_far(x, ON_ACKNOWLEDGED, from, x, 0, 0, 0);
        if
        :: owned ->
            assert(state[x] != ABSENT);
            take_ownership(x, from, e, ver, (owned >> 3) & 7, owned & 7);
            step_ends(x, ON_HANDED, from, x, 0, ver, e);
        :: else
        fi;
        end_release_if_done(x);
    :: else -> acknowledge(x, writer);
    fi
}

inline on_push(x, from, writer, diff, e, ver)
{
    assert(!is_owner[x]);
#ifndef M_NO_HINT_FROM_PUSH
    learn_owner(x, from, e);
#endif
    w = 0; // whether it is dropped
    if
    :: state[x] == ABSENT && fetching[x] -> kept[x]!ver, diff;
    :: state[x] != ABSENT ->
        if
        :: IS_NEW(ver, base[x]) ->
            v = COUNT(mem[x]);
            mem[x] = MERGE(mem[x], diff);
            assert(COUNT(mem[x]) >= v); // E5
#ifndef M_NOT_TO_TWIN
            apply_to_twin(x, diff);
#endif
        :: else
        fi;
        if
        :: coin && state[x] == CLEAN && MAY_DROP(x) && IS_NEW(ver, base[x]) ->
            w = 1;
            become_absent(x);
        :: else
        fi
    :: else
    fi;
    send(x, from, PUSH_ACK, writer, w, 0, 0);
}

inline on_push_ack(x, from, writer, dropped)
{
    if
    :: dropped ->
        assert(is_owner[x]);
        copyset[x] = copyset[x] & ~BIT(from);
        step_ends(x, ON_DROPPED, from, writer, 0, 0, 0);
    :: else
    fi;
    pushing[AT(x, writer)]--;
    step_so_far(x, ON_ACKNOWLEDGED, from, writer, 0, 0, 0);
    if
    :: pushing[AT(x, writer)] > 0
    :: pushing[AT(x, writer)] == 0 && writer >= NODES ->
        send(x, writer - NODES, ATOMIC_DONE, 0, 0, 0, 0);
    :: pushing[AT(x, writer)] == 0 && reply_to[AT(x, writer)] == 0 ->
        end_release_if_done(x);
#ifndef M_ACKNOWLEDGE_EARLY
    :: pushing[AT(x, writer)] == 0 && writer < NODES &&
       reply_to[AT(x, writer)] != 0 -> acknowledge(x, writer);
#endif
    :: else
    fi
}

// ---- atomic operations: one is added to the counter

inline perform(x, requester)
{
    count++;
    result[requester] = count;
    assert(count == COUNT(mem[x]) + 1); // the owner misses none
    w = (12 << 4) | (count << 2);
    mem[x] = MERGE(mem[x], w);
    apply_to_twin(x, w);
    push(x, requester + NODES, w, copyset[x]);
    if
    :: pushing[AT(x, requester + NODES)] == 0 ->
        send(x, requester, ATOMIC_DONE, 0, 0, 0, 0);
    :: else
    fi
}

inline on_atomic(x, requester, followed)
{
    if
    :: is_owner[x] -> perform(x, requester);
    :: IS_UNTOUCHED(x) ->
        grant(x, requester, 0);
        send(x, v, ATOMIC, requester, 0, 1, 0);
    :: else -> forward(x, ATOMIC, requester, 0, followed);
    fi
}

inline on_atomic_done(x)
{
    in_atomic[x] = 0;
    answered = (result[x] > answered -> result[x] : answered);
    result[x] = 0;
}

// ---- nodes come and go

#ifdef MEMBERS
#define ALL_IDLE                                                               \
    (QUIET && !frozen && n_changes < 2 &&                                      \
     fetching[0] + fetching[1] + fetching[2] + in_flight[0] + in_flight[1] +   \
             in_flight[2] + releasing[0] + releasing[1] + releasing[2] +       \
             in_atomic[0] + in_atomic[1] + in_atomic[2] +                      \
             has_owner_update[0] + has_owner_update[1] + has_owner_update[2] ==\
         0)
// K1: its last release is over.
#define HAS_RELEASED(x)                                                        \
    (!(token[0] == x && unreleased[0]) && !(token[1] == x && unreleased[1]) && \
     (state[x] != DIRTY || mem[x] == twin[x]))

inline forget_node(x, leaver)
{
    step_begins(x);
#ifndef M_STAYS_IN_THE_COPYSET
    copyset[x] = copyset[x] & ~BIT(leaver);
#endif
    if
#ifndef M_LEAVER_IS_ASKED
    :: !is_owner[x] && hint[x] == leaver -> hint[x] = NOBODY;
#endif
    :: else
    fi;
    step_so_far(x, ON_FORGETS, leaver, leaver, 0, 0, 0);
}

// Each owner tells a page's new directory node.
inline change_directory(who)
{
    directory = who;
#ifndef M_DIRECTORY_UNTOLD
    has_owner_update[0] = (is_owner[0] && gone != 0 && directory != 0);
    has_owner_update[1] = (is_owner[1] && gone != 1 && directory != 1);
    has_owner_update[2] = (is_owner[2] && gone != 2 && directory != 2);
#endif
}

// Who leaves gives the page to a node that has a copy, else to the directory node.
inline leave(x, o1, o2)
{
    printf("%d: leaves\n", x);
    n_changes++;
    frozen = 1;
    gone = x;
    forget_node(o1, x);
    forget_node(o2, x);
    if
    :: directory == x -> change_directory((x == 0 -> 1 : 0));
    :: else
    fi;
    step_begins(x);
    if
    :: is_owner[x] ->
        v = (copyset[x] & BIT(o1) -> o1 : (copyset[x] & BIT(o2) -> o2 : directory));
        send(x, v, GIVEN, mem[x], copyset[x], epoch[x] + 1, version[x]);
        give_ownership(x, v);
        step_ends(x, ON_GIVES, x, v, 0, 0, 0);
    :: else -> become_absent(x);
    fi;
    check();
}

inline on_given(x, from, contents, copies, e, ver)
{
    if
    :: state[x] == ABSENT -> mem[x] = contents; state[x] = CLEAN;
    :: else
    fi;
    take_ownership(x, from, e, ver, 0, (copies) & ~BIT(x));
    base[x] = ver;
    if
    :: state[x] == CLEAN && copyset[x] == 0 -> state[x] = EXCLUSIVE;
    :: else
    fi
}

// Who comes knows nothing.
inline come(x)
{
    printf("%d: comes\n", x);
    n_changes++;
    frozen = 1;
    gone = NOBODY;
    hint[x] = NOBODY;
    epoch[x] = 0;
    version[x] = 0;
    if
    :: x == 0 -> change_directory(0);
    :: else
    fi;
    check();
}
#endif

// ---- what happens at a node

inline receive(x, from)
{
    WIRE(from, x)?kind, a, b, c, d;
    printf("%d: %e from %d: %d %d %d %d\n", x, kind, from, a, b, c, d);
#ifdef FREED
    n_on_way = n_on_way - IS_OF_PAGE(kind);
#endif
    step_begins(x);
    if
    :: kind == FETCH ->
        on_fetch(x, a, b, c);
        step_ends(x, ON_FETCH, from, a, b, 0, 0);
    :: kind == GRANT ->
        on_grant(x, from, a);
        step_ends(x, ON_GRANT, from, x, 0, 0, 0);
    :: kind == PAGE ->
        on_page(x, from, a, b, c, d);
        step_ends(x, ON_PAGE, from, x,
                  WITH_CONTENTS + (b >= 128 -> WITH_OWNERSHIP : 0), d, c);
    :: kind == UPDATE ->
        on_update(x, from, a, b, c);
        step_so_far(x, ON_HAND_OVER, from, a, 0, 0, 0);
    :: kind == ACK ->
        on_ack(x, from, a, b, c, d);
        step_so_far(x, ON_HAND_OVER, from, a, 0, 0, 0);
    :: kind == PUSH ->
        on_push(x, from, a, b, c, d);
        step_ends(x, ON_PUSHED, from, a, 0, d, c);
    :: kind == PUSH_ACK ->
        on_push_ack(x, from, a, b);
        step_so_far(x, ON_HAND_OVER, from, a, 0, 0, 0);
#ifdef M_OWNER_OF_ANOTHER_BLOCK
    :: kind == OWNER_IS ->
#else
    :: kind == OWNER_IS && IS_KNOWN(x, b) ->
#endif
        learn_owner(x, from, a);
        step_ends(x, ON_OWNER_IS, from, 0, 0, 0, a);
    :: kind == TOLD -> on_told(from, a);
#ifdef THREADS
    :: kind == MOVE -> token[1] = x;
#endif
#ifdef FREED
    :: kind == OWNER_IS && !IS_KNOWN(x, b)
    :: kind == CLOSE ->
        on_close(x);
        step_ends(x, ON_CLOSED, from, 0, 0, 0, 0);
    :: kind == GONE -> on_gone(x);
    :: kind == NEW -> on_new(x);
    :: kind == ANSWER -> on_answer();
#endif
#ifdef MEMBERS
    :: kind == GIVEN ->
        on_given(x, from, a, b, c, d);
        step_ends(x, ON_GIVEN, from, x, IS_FROZEN, d, c);
#endif
#ifdef AHEAD
    :: kind == ASK_AHEAD ->
        on_ask_ahead(x, a, b);
        step_ends(x, ON_FETCH, from, a, IS_AHEAD + b, 0, 0);
    :: kind == DONE ->
        assert(fetching[x]);
        fetching[x] = 0;
        step_ends(x, ON_SETTLED, from, 0, 0, 0, 0);
#endif
#if ATOMICS > 0
    :: kind == ATOMIC ->
        on_atomic(x, a, c);
        step_ends(x, ON_ATOMIC, from, a, 0, 0, 0);
    :: kind == ATOMIC_DONE -> on_atomic_done(x);
#endif
    fi;
#ifdef FREED
    answer_if_finished(x);
#endif
    check();
}

inline fault(x, writing)
{
    printf("%d: fault %d\n", x, writing);
    step_begins(x);
    n_fetches++;
    fetching[x] = 1;
    w = ROUTE(x);
    send(x, w, FETCH, x, writing, epoch[x], 0);
    step_ends(x, ON_ASKS, x, x, writing, 0, 0);
    check();
}

#ifdef AHEAD
inline ask_ahead(x, writing, first)
{
    printf("%d: ask ahead %d\n", x, writing);
    step_begins(x);
    n_fetches++;
    fetching[x] = 1;
    send(x, first, ASK_AHEAD, x, writing, 0, 0);
    step_ends(x, ON_ASKS, x, x, IS_AHEAD, 0, 0);
    check();
}

#define MAY_ASK(x) (MAY_FAULT(x) && hint[x] == NOBODY)
#endif

inline start_atomic(x)
{
    n_atomics++;
    in_atomic[x] = 1;
    w = ROUTE(x);
    send(x, w, ATOMIC, x, 0, epoch[x], 0);
    check();
}

// The owner tells the directory node, if it still is the owner.
inline tell_owner(x)
{
    has_owner_update[x] = 0;
    if
    :: is_owner[x] -> send(x, DIRECTORY, OWNER_IS, epoch[x], SERIAL(x), 0, 0);
    :: else
    fi;
    check();
}

inline write_byte(x, k)
{
    printf("%d: write of byte %d in state %d\n", x, k, state[x]);
    step_begins(x);
    n_writes++;
    if
#ifdef M_NO_UNMAP
    :: is_reading[x]
#endif
    :: state[x] == CLEAN && is_owner[x] && copyset[x] == 0 ->
        state[x] = EXCLUSIVE;
    :: state[x] == CLEAN && !(is_owner[x] && copyset[x] == 0) ->
        state[x] = DIRTY;
        twin[x] = mem[x];
    :: else
    fi;
    mem[x] = mem[x] ^ BIT(k);
    wanted = wanted ^ BIT(k);
    token[k] = x;
    unreleased[k] = 1;
    step_so_far(x, ON_FAULT, x, x, TO_WRITE, 0, 0);
    check();
}

// A page that is written again and again stays writable and dirty.
inline send_diff(x, stays_dirty)
{
    n_releases++;
    w = DIFF(mem[x], twin[x]);
    if
    :: stays_dirty -> twin[x] = mem[x];
    :: else -> state[x] = CLEAN; twin[x] = 0;
    fi;
    if
    :: is_owner[x] ->
        push(x, x, w, copyset[x]);
        v = ONE_OF(copyset[x]);
        tell(x, v);
    :: else ->
        in_flight[x]++;
        v = ROUTE(x);
        send(x, v, UPDATE, x, w, epoch[x], 0);
#ifdef MAY_TELL_OWNER
        tell(x, v);
#endif
    fi
}

inline start_release(x, stays_dirty)
{
    printf("%d: release\n", x);
    step_begins(x);
    releasing[x] = 1;
    n = 0;
    do
    :: n < 2 ->
        if
        :: token[n] == x && unreleased[n] == 1 -> unreleased[n] = 2;
        :: else
        fi;
        n++
    :: else -> break
    od;
    if
    :: state[x] != DIRTY
    :: state[x] == DIRTY && is_owner[x] && copyset[x] == 0 ->
        state[x] = EXCLUSIVE;
        twin[x] = 0;
    :: state[x] == DIRTY && !(is_owner[x] && copyset[x] == 0) ->
        if
        :: mem[x] == twin[x] -> state[x] = CLEAN; twin[x] = 0;
        :: else -> send_diff(x, stays_dirty);
        fi
    fi;
    step_so_far(x, ON_RELEASED, x, x, 0, 0, 0);
    end_release_if_done(x);
    check();
}

#ifdef THREADS
#define MAY_MOVE_ON(x)                                                         \
    (token[1] == x && HAS_RELEASED_ITS_WRITES && n_moves < THREADS)

inline move_thread(x, dst)
{
    printf("%d: a thread goes to %d\n", x, dst);
    n_moves++;
    token[1] = ON_WAY;
    send(x, dst, MOVE, 0, 0, 0, 0);
    check();
}

// It has gone: a page that has moved often enough may follow it.
inline advise(x)
{
    step_begins(x);
    moves[x] = 0;
    step_ends(x, ON_ADVISED, x, 0, 0, 0, 0);
    check();
}
#endif

#ifdef FREED
#define IS_ORDERED(x, k) (unreleased[k] == 0 || token[k] == x)
#define MAY_FREE(x)                                                            \
    (block == USED && IS_ORDERED(x, 0) && IS_ORDERED(x, 1) &&                  \
     in_atomic[0] + in_atomic[1] + in_atomic[2] == 0)
#endif

#define MAY_FAULT(x)                                                           \
    (state[x] == ABSENT && !fetching[x] && n_fetches < FETCHES && MAY_USE(x))
#define MAY_WRITE(x, k)                                                        \
    (state[x] != ABSENT && MAY_TAKE(x, k) &&                                   \
     n_writes < WRITES && MAY_USE(x))
#define NEEDS_RELEASE(x)                                                       \
    (n_releases < RELEASES && MAY_RELEASE(x) && IS_FREE(x) &&                  \
     ((token[0] == x && unreleased[0] == 1) ||                                 \
      (token[1] == x && unreleased[1] == 1)))
#define HAS_CHOICE(from, x)                                                    \
    (WIRE(from, x)?[UPDATE, _, _, _, _] || WIRE(from, x)?[PUSH, _, _, _, _] || \
     WIRE(from, x)?[PUSH_ACK, _, _, _, _])

inline receive_from(from, x)
{
    if
    :: true
    :: HAS_CHOICE(from, x) -> coin = 1
    fi;
    d_step { receive(x, from) }
}

proctype node(byte me; byte next; byte last)
{
end:
    do
    :: atomic { nempty(WIRE(me, me)) -> d_step { receive(me, me) } }
    :: atomic { nempty(WIRE(next, me)) -> receive_from(next, me) }
    :: atomic { nempty(WIRE(last, me)) -> receive_from(last, me) }
    :: d_step { MAY_FAULT(me) -> fault(me, 0) }
    :: d_step { MAY_FAULT(me) -> fault(me, 1) }
#ifdef AHEAD
    :: d_step { MAY_ASK(me) -> ask_ahead(me, 0, next) }
    :: d_step { MAY_ASK(me) -> ask_ahead(me, 0, last) }
    :: d_step { MAY_ASK(me) -> ask_ahead(me, 1, next) }
    :: d_step { MAY_ASK(me) -> ask_ahead(me, 1, last) }
#endif
    :: d_step { has_owner_update[me] -> tell_owner(me) }
    :: d_step { MAY_WRITE(me, 0) -> write_byte(me, 0) }
    :: d_step { MAY_WRITE(me, 1) -> write_byte(me, 1) }
    :: d_step { NEEDS_RELEASE(me) -> start_release(me, 0) }
    :: d_step {
        NEEDS_RELEASE(me) && state[me] == DIRTY -> start_release(me, 1)
       }
#ifdef MEMBERS
    :: d_step {
        ALL_IDLE && gone == NOBODY && HAS_RELEASED(me) -> leave(me, next, last)
       }
    :: d_step { ALL_IDLE && gone == me -> come(me) }
    :: d_step {
        frozen && QUIET && has_owner_update[0] + has_owner_update[1] +
                has_owner_update[2] == 0 -> frozen = 0
       }
#endif
#ifdef THREADS
    :: d_step { MAY_MOVE_ON(me) -> move_thread(me, next) }
    :: d_step { LAST == 2 && MAY_MOVE_ON(me) -> move_thread(me, last) }
    :: d_step { is_owner[me] && moves[me] > 0 && n_moves > 0 -> advise(me) }
#endif
#ifdef FREED
    :: d_step { MAY_FREE(me) -> free_block(me) }
#endif
#if ATOMICS > 0
    :: d_step {
        n_atomics < ATOMICS && !in_atomic[me] && MAY_USE(me) -> start_atomic(me)
       }
#endif
#ifdef M_NO_UNMAP
    :: is_reading[me] -> is_reading[me] = 0
#endif
    od
}

#if START == 1
// A page that has moved once: its owner, the nodes with copies, and whether the
// directory node knows. (Owner 2 is owner 1 with other names.)
inline start(owner, copies, is_known)
{
    touched = 1;
    is_owner[owner] = 1;
    epoch[owner] = 2;
    moves[owner] = 1;
    copyset[owner] = copies & ~BIT(owner);
    state[owner] = (copyset[owner] == 0 -> EXCLUSIVE : CLEAN);
    n = 0;
    do
    :: n < NODES ->
        if
        :: copyset[owner] & BIT(n) ->
            state[n] = CLEAN;
            hint[n] = owner;
            epoch[n] = 2;
        :: else
        fi;
        n++
    :: else -> break
    od;
    if
    :: owner == DIRECTORY || state[DIRECTORY] == CLEAN
    :: owner != DIRECTORY && state[DIRECTORY] != CLEAN && is_known ->
        hint[DIRECTORY] = owner;
        epoch[DIRECTORY] = 2;
    :: else -> // it knows the owner before
        hint[DIRECTORY] = 3 - owner;
        epoch[DIRECTORY] = 1;
        hint[3 - owner] = owner;
        epoch[3 - owner] = 2;
        has_owner_update[owner] = 1;
    fi
}
#endif

#if START == 2
// As a variable of the program is the root's: here node 1.
inline start_owned()
{
    touched = 1;
    is_owner[1] = 1;
    epoch[1] = 1;
    state[1] = EXCLUSIVE;
#ifndef M_DIRECTORY_UNTOLD
    hint[DIRECTORY] = 1;
    epoch[DIRECTORY] = 1;
#endif
}
#endif

init {
    byte x;
    byte y;
    byte z;

    atomic {
#if START == 1
        select(x : 0 .. 1);
#ifdef PAIR
        select(y : 0 .. 3);
        z = 1;
#else
        select(y : 0 .. 7);
        select(z : 0 .. 1);
#endif
        d_step { start(x, y, z) }
#endif
#if START == 2
        d_step { start_owned() }
#endif
#ifdef PLACED
#ifdef PAIR
        select(placement : 0 .. 1);
#else
        select(placement : 0 .. 2);
#endif
#endif
        d_step { x = 0; y = 0; z = 0; check() }
        run node(0, 1, 2);
        run node(1, 2, 0);
#ifndef PAIR
        run node(2, 0, 1)
#endif
    }
}
