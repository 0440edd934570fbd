// SPDX-License-Identifier: BSD-3-Clause
//
// sequential on one page, three nodes, FIFO channels between each two, every
// interleaving. The rules are those of docs/protocols.md, sections 1, 2 and 4.
//
// Each node has one thread, which reads and writes the page as it likes, with
// no synchronisation at all. A write toggles the page's one bit.
//
// After each step the whole state is checked (inline check):
//   E1        one owner, counting an ownership message on its way
//   S1        if a node is exclusive, no other has a copy
//   SC        every copy has the last value written: so every read returns it,
//             and reads and writes are in one total order
//   H2        (where requests are forwarded) each hop follows a higher epoch
//   progress  nobody waits when no message is on its way
//
// With -DLIVE the threads go on for ever, and the claim `served` is checked
// under weak fairness: every fault is answered and its access then done. To be
// finite that model has no epochs, and the directory node is not told of new
// owners; all hints that are left are then newer than what they replace.
//
// Sizes (-D): FAULTS of all nodes together. START: 0 untouched page, 1 any
// owner and any copyset, 2 a page that is owned from the start, by a node that is not
// the directory node. AHEAD: nodes also ask for the page behind another one, so
// that the request may come to any node first. PLACED: an untouched page goes to any node instead of
// to the one that asks for it. HURRY: a page may also be let go before the
// thread that it came for has run (the 2 ms are over).
// MEMBERS: while nothing is under way and all threads are stopped, a node leaves, and comes again; as in
// eager_release.pml (section 5).
// FREED: the block is freed when no thread waits, and the next one gets its page (section 11; blocks.pml).
// A mutant is one rule left out, -DM_..., see mutants.sh.
//
// Each step is compared with the table of tests/steps; not with -DNO_STEPS or -DLIVE.

#ifdef LIVE
#define NO_STEPS
#endif

#include "model_steps.h"

#ifndef FAULTS
#define FAULTS 5
#endif
#ifndef START
#define START 1
#endif

#define NODES 3
#define NOBODY 3
#ifdef MEMBERS
byte directory;
byte gone = 3; // who has left, or nobody
bit frozen; // no thread runs
byte n_changes;
#define DIRECTORY directory
#define IS_FREE(x) (!frozen && gone != x)
#else
#define DIRECTORY 0
#define IS_FREE(x) IS_USED_NOW
#endif
#define QUEUE 6

#define ABSENT 0
#define CLEAN 1
#define EXCLUSIVE 2

#define NOTHING 0
#define READ 1
#define WRITE 2

// Messages have three fields:
//   FETCH       requester, READ or WRITE, epoch of the hint followed
//   GRANT       whether it answers a fetch of the receiver
//   PAGE        contents or NO_CONTENTS, owned (bit 7) and moves, epoch
//   INVALIDATE  -
//   INVALID     -
//   OWNER_IS    epoch, which block
//   ASK_AHEAD   requester, READ or WRITE
//   DONE        -
//   GIVEN       contents, copyset, epoch
//   CLOSE, GONE, NEW, ANSWER  of a block: blocks.pml
mtype = { FETCH, GRANT, PAGE, INVALIDATE, INVALID, OWNER_IS, ASK_AHEAD, DONE,
          GIVEN, CLOSE, GONE, NEW, ANSWER };
#define NO_CONTENTS 2

chan wire[9] = [QUEUE] of { mtype, byte, byte, byte };
#define WIRE(from, to) wire[(from) * 3 + (to)]

// Messages that wait until the page is neither held nor busy; with the sender.
chan deferred[NODES] = [QUEUE] of { mtype, byte, byte, byte, byte };

// What a node knows about the page.
byte state[NODES];
bit is_owner[NODES];
byte copyset[NODES];
byte hint[NODES] = NOBODY;
byte epoch[NODES];
bit has_moved[NODES];          // moves > 0
bit fetching[NODES];
bit queues[NODES];             // the fetch under way will make it the owner
bit held[NODES];
byte busy_for[NODES] = NOBODY; // who gets the page after the invalidations
byte to_come[NODES];           // acknowledgements of invalidations
bit mem[NODES];
bit has_owner_update[NODES];

// The program: what a node's thread waits for, the value last written.
byte wants[NODES];
bit wanted;
byte n_faults;

// The system as a whole.
bit touched;
byte placement = NOBODY;
byte moving;      // ownership on its way
byte copies_sent; // on their way

#ifdef LIVE
byte served_last[NODES];
#endif

#ifdef FREED
#define LAST 2
#define IS_OF_PAGE(type)                                                       \
    (type != OWNER_IS && type != CLOSE && type != GONE && type != NEW &&       \
     type != ANSWER)
#define SAY(src, dst, type) send(src, dst, type, 0, 0, 0)
#include "blocks.pml"
#else
#define IS_USED_NOW true
#define IS_KNOWN(x, serial) true
#define SERIAL(x) 0
#endif

hidden mtype kind;
hidden byte a, b, c, s, v, w, n, rest;

#define BIT(n) (1 << (n))
// READ or WRITE, and 4 for a copy: facts of a step.
#define FETCH_FACTS(asked)                                                     \
    (((asked) & WRITE -> TO_WRITE : 0) + ((asked) & 4 -> WITH_COPY : 0))
#define PAGE_FACTS(contents, owned)                                            \
    (((contents) == NO_CONTENTS -> 0 : WITH_CONTENTS) +                        \
     ((owned) -> WITH_OWNERSHIP : 0))
#define QUIET                                                                  \
    (len(wire[0]) + len(wire[1]) + len(wire[2]) + len(wire[3]) +               \
         len(wire[4]) + len(wire[5]) + len(wire[6]) + len(wire[7]) +           \
         len(wire[8]) == 0)
#ifdef LIVE // without epochs
#define IS_UNTOUCHED(x) (x == DIRECTORY && !touched)
#else
#define IS_UNTOUCHED(x) (x == DIRECTORY && !is_owner[x] && epoch[x] == 0)
#endif
#define ROUTE(x)                                                               \
    (is_owner[x] -> x : (hint[x] == NOBODY -> DIRECTORY : hint[x]))
#define IS_BUSY(x) (busy_for[x] != NOBODY)
#define MAY_ACCESS(x, kind)                                                    \
    (state[x] == EXCLUSIVE || (kind == READ && state[x] == CLEAN))

#ifdef LIVE
#define FIRST_EPOCH 0
#define NEXT_EPOCH(x) 0
#define IS_BETTER(e, x) (!is_owner[x])
#else
#define FIRST_EPOCH 1
#define NEXT_EPOCH(x) (epoch[x] + 1)
#ifdef M_HINT_WITHOUT_EPOCH
#define IS_BETTER(e, x) (!is_owner[x])
#else
#define IS_BETTER(e, x) ((e) > epoch[x])
#endif
#endif

#ifdef M_NO_HOLD
#define HOLDS(x) false
#else
#define HOLDS(x) (wants[x] != NOTHING)
#endif
#ifdef M_CONTENTS_AS_ASKED
#define NEEDS_CONTENTS(x, requester, has_copy) (!(has_copy))
#else
#define NEEDS_CONTENTS(x, requester, has_copy)                                 \
    (!(copyset[x] & BIT(requester)))
#endif
#ifdef M_CHASE
#define QUEUES(x) false
#else
#define QUEUES(x) (queues[x])
#endif
#ifdef M_QUEUE_FIRST_TOUCH
#define WILL_OWN(x) (wants[x] == WRITE)
#else
#define WILL_OWN(x) (wants[x] == WRITE && !IS_UNTOUCHED(x))
#endif
#ifdef M_GRANT_ENDS_FETCH
#define ENDS_FETCH(answers) true
#else
#define ENDS_FETCH(answers) (answers)
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
    const char *const model_protocol = "sequential";

    void model_record(int x, int page, int *to)
    {
        (void)page; // there is one
        static const int states[] = {0, 1, 3};

        to[AT_STATE] = states[now.state[x]];
        to[AT_OWNER] = now.is_owner[x];
        to[AT_COPIES] = now.copyset[x];
        to[AT_HINT] = now.is_owner[x]         ? x + 1
                      : now.hint[x] == NOBODY ? 0
                                              : now.hint[x] + 1;
        to[AT_EPOCH] = now.epoch[x];
        to[AT_FETCHING] = now.fetching[x];
        to[AT_QUEUES] = now.queues[x];
        to[AT_PINNED] = now.held[x];
        to[AT_BUSY] = now.busy_for[x] != NOBODY;
        to[AT_PUSHING] = now.to_come[x];
        to[AT_MOVES] = now.has_moved[x];
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
       (type == INVALIDATE -> SENDS_INVALIDATE :                               \
        (type == INVALID -> SENDS_INVALID :                                    \
         (type == GIVEN -> SENDS_GIVEN : SENDS_NOTHING))))))

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
    // SC
    assert(state[j] == ABSENT || mem[j] == wanted);
    // S1
    assert(state[j] != EXCLUSIVE ||
           (is_owner[j] && copyset[j] == 0 && copies_sent == 0 &&
            state[o1] == ABSENT && state[o2] == ABSENT));
    // Copies are in the copyset.
    assert(!is_owner[j] ||
           (state[j] != ABSENT && !(copyset[j] & BIT(j)) &&
            (state[o1] == ABSENT || (copyset[j] & BIT(o1))) &&
            (state[o2] == ABSENT || (copyset[j] & BIT(o2)))));
    assert(is_owner[j] || !IS_BUSY(j));
}

inline check()
{
    if
    :: IS_USED_NOW ->
        check_node(0, 1, 2);
        check_node(1, 0, 2);
        check_node(2, 0, 1);
        // E1
        assert(is_owner[0] + is_owner[1] + is_owner[2] + moving == touched);
    :: else -> assert(!QUIET); // progress
    fi;
    // Progress: what is deferred waits for a thread to run.
    assert(!QUIET || held[0] + held[1] + held[2] > 0 ||
           (fetching[0] + fetching[1] + fetching[2] + to_come[0] + to_come[1] +
                to_come[2] + len(deferred[0]) + len(deferred[1]) +
                len(deferred[2]) ==
            0));
}

// ---- pieces

inline send(src, dst, type, f1, f2, f3)
{
    assert(dst < NODES && len(WIRE(src, dst)) < QUEUE);
#ifdef MEMBERS
    assert(dst != gone);
#endif
    printf("    %d -> %d: %e %d %d %d\n", src, dst, type, f1, f2, f3);
    step_sends(type, f2, dst);
#ifdef FREED
    n_on_way = n_on_way + IS_OF_PAGE(type);
#endif
    WIRE(src, dst)!type, f1, f2, f3;
}

inline defer(x, type, from, f1, f2, f3)
{
    assert(len(deferred[x]) < QUEUE);
    deferred[x]!type, from, f1, f2, f3;
}

inline settle(x)
{
    fetching[x] = 0;
    queues[x] = 0;
    held[x] = HOLDS(x);
}

inline take_ownership(x, from, e)
{
    moving--;
    is_owner[x] = 1;
    state[x] = EXCLUSIVE;
    epoch[x] = e;
    hint[x] = NOBODY;
#ifndef LIVE
    has_owner_update[x] = (x != DIRECTORY && from != DIRECTORY);
#endif
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

// ---- fetching

// Nobody but this node and the requester has a copy any more. `has_copy` is
// what the requester said when it asked.
inline transfer(x, requester, has_copy)
{
    if
    :: requester == x ->
        state[x] = EXCLUSIVE;
        settle(x);
    :: else ->
        w = (NEEDS_CONTENTS(x, requester, has_copy) -> mem[x] : NO_CONTENTS);
        v = NEXT_EPOCH(x);
        send(x, requester, PAGE, w, 128, v);
        moving++;
        epoch[x] = v;
        hint[x] = requester;
        is_owner[x] = 0;
        copyset[x] = 0;
        has_moved[x] = 0;
        state[x] = ABSENT;
        mem[x] = 0;
    fi
}

inline serve_write(x, requester, has_copy)
{
    n = 0;
    do
    :: n < NODES ->
        if
        :: n != requester && (copyset[x] & BIT(n)) ->
            send(x, n, INVALIDATE, 0, 0, 0);
            to_come[x]++;
        :: else
        fi;
        n++
    :: else -> break
    od;
    if
#ifndef M_NOT_WAITING
    :: to_come[x] > 0 -> busy_for[x] = requester + 4 * (has_copy);
#endif
    :: else ->
#ifdef M_NOT_WAITING
        to_come[x] = 0;
#endif
        transfer(x, requester, has_copy);
    fi
}

inline serve_read(x, requester)
{
    if
    :: requester == x -> // it has become the owner on another way
        settle(x);
    :: requester != x && state[x] == EXCLUSIVE && !has_moved[x] ->
        transfer(x, requester, 0);
    :: else ->
#ifndef M_NOT_PROTECTED
        state[x] = CLEAN;
#endif
        copyset[x] = copyset[x] | BIT(requester);
        copies_sent++;
        w = mem[x];
        send(x, requester, PAGE, w, 0, epoch[x]);
    fi
}

// An untouched page, at the directory node; `v` gets the new owner.
inline grant(x, requester)
{
    v = (placement == NOBODY -> requester : placement);
    touched = 1;
    moving++;
    hint[x] = v;
    epoch[x] = FIRST_EPOCH;
    send(x, v, GRANT, (v == requester), 0, 0);
}

inline on_fetch(x, from, requester, asked, followed)
{
    if
    :: is_owner[x] && (held[x] || IS_BUSY(x)) ->
        defer(x, FETCH, from, requester, asked, followed);
    :: is_owner[x] && !held[x] && !IS_BUSY(x) && (asked & WRITE) ->
        serve_write(x, requester, (asked >> 2));
    :: is_owner[x] && !held[x] && !IS_BUSY(x) && asked == READ ->
        serve_read(x, requester);
    :: !is_owner[x] && IS_UNTOUCHED(x) ->
        grant(x, requester);
        if
        :: v != requester -> send(x, v, FETCH, requester, asked, epoch[x]);
        :: else
        fi
    :: !is_owner[x] && !IS_UNTOUCHED(x) && requester != x && QUEUES(x) ->
        defer(x, FETCH, from, requester, asked, followed);
    :: else ->
        assert(hint[x] != NOBODY);
#ifndef LIVE
        assert(epoch[x] > followed); // H2
#endif
        send(x, hint[x], FETCH, requester, asked, epoch[x]);
    fi
}

// Nobody waits for it: it is served if nothing must wait.
inline on_ask_ahead(x, requester, asked)
{
    if
    :: is_owner[x] && requester != x && !held[x] && !IS_BUSY(x) &&
       asked == READ ->
        serve_read(x, requester);
    :: is_owner[x] && requester != x && !held[x] && !IS_BUSY(x) &&
       asked == WRITE && state[x] == EXCLUSIVE ->
        transfer(x, requester, 0);
    :: IS_UNTOUCHED(x) ->
        grant(x, requester);
        if
        :: v != requester -> send(x, v, ASK_AHEAD, requester, asked, 0);
        :: else
        fi
    :: else -> send(x, requester, DONE, 0, 0, 0);
    fi
}

inline on_grant(x, answers)
{
    assert(state[x] == ABSENT);
    take_ownership(x, DIRECTORY, FIRST_EPOCH);
#ifndef M_QUEUE_AFTER_GRANT
    queues[x] = 0; // the page may go before that fetch is answered
#endif
    if
    :: ENDS_FETCH(answers) -> settle(x);
    :: else
    fi
}

inline on_page(x, from, contents, owned, e)
{
    assert(fetching[x] && !held[x]);
    if
    :: contents != NO_CONTENTS ->
        assert(state[x] == ABSENT);
        mem[x] = contents;
    :: else -> assert(state[x] == CLEAN);
    fi;
    if
    :: owned -> take_ownership(x, from, e); has_moved[x] = 1;
    :: else ->
        state[x] = CLEAN;
        copies_sent--;
        learn_owner(x, from, e);
    fi;
    settle(x);
}

inline on_invalidate(x, from)
{
    if
    :: held[x] -> defer(x, INVALIDATE, from, 0, 0, 0);
    :: else ->
        assert(state[x] == CLEAN && !is_owner[x]);
        state[x] = ABSENT;
        mem[x] = 0;
        send(x, from, INVALID, 0, 0, 0);
    fi
}

// The messages that wait, once each, in their order.
inline run_deferred(x)
{
    rest = (held[x] || IS_BUSY(x) -> 0 : len(deferred[x]));
    do
    :: rest > 0 ->
        deferred[x]?kind, s, a, b, c;
        if
        :: kind == FETCH ->
            on_fetch(x, s, a, b, c);
            step_ends(x, ON_FETCH, s, a, FETCH_FACTS(b), 0, 0);
        :: kind == INVALIDATE ->
            on_invalidate(x, s);
            step_ends(x, ON_INVALIDATE, s, 0, 0, 0, 0);
        fi;
        rest--
    :: else -> break
    od
}

inline on_invalid(x, from)
{
#ifdef M_NOT_WAITING
    skip;
#else
    copyset[x] = copyset[x] & ~BIT(from);
    to_come[x]--;
    if
    :: to_come[x] == 0 ->
        a = busy_for[x] % 4;
        b = busy_for[x] / 4;
        busy_for[x] = NOBODY;
        transfer(x, a, b);
    :: else
    fi
#endif
}

// ---- nodes come and go

#ifdef MEMBERS
#define ALL_IDLE                                                               \
    (QUIET && !frozen && n_changes < 2 &&                                      \
     wants[0] + wants[1] + wants[2] + fetching[0] + fetching[1] +              \
             fetching[2] + held[0] + held[1] + held[2] + to_come[0] +          \
             to_come[1] + to_come[2] + len(deferred[0]) + len(deferred[1]) +   \
             len(deferred[2]) + has_owner_update[0] + has_owner_update[1] +    \
             has_owner_update[2] ==                                            \
         0)

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
        send(x, v, GIVEN, mem[x], copyset[x], epoch[x] + 1);
        moving++;
        is_owner[x] = 0;
        copyset[x] = 0;
        has_moved[x] = 0;
        state[x] = ABSENT;
        mem[x] = 0;
        hint[x] = v;
        epoch[x]++;
        step_ends(x, ON_GIVES, x, v, 0, 0, 0);
    :: else -> state[x] = ABSENT; mem[x] = 0;
    fi;
    check();
}

inline on_given(x, from, contents, copies, e)
{
    if
    :: state[x] == ABSENT -> mem[x] = contents;
    :: else
    fi;
    take_ownership(x, from, e);
    has_moved[x] = 0;
    copyset[x] = (copies) & ~BIT(x);
    state[x] = (copyset[x] == 0 -> EXCLUSIVE : CLEAN);
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
    if
    :: x == 0 -> change_directory(0);
    :: else
    fi;
    check();
}
#endif

#ifdef FREED
#define IS_FINISHED(x)                                                         \
    (!fetching[x] && to_come[x] == 0 && !held[x] && len(deferred[x]) == 0)
#define MAY_FREE                                                               \
    (block == USED && wants[0] + wants[1] + wants[2] == NOTHING)

inline close_pages(x)
{
    skip // there is nothing to release
}

inline forget_pages(x)
{
    state[x] = ABSENT;
    mem[x] = 0;
    is_owner[x] = 0;
    copyset[x] = 0;
    has_moved[x] = 0;
    epoch[x] = 0;
#ifndef M_HINT_IS_KEPT
    hint[x] = NOBODY;
#endif
}

inline begin_anew()
{
    wanted = 0;
    touched = 0;
    moving = 0;
}

#include "blocks.pml"
#endif

// ---- what happens at a node

inline receive(x, from)
{
    WIRE(from, x)?kind, a, b, c;
    printf("%d: %e from %d: %d %d %d\n", x, kind, from, a, b, c);
#ifdef FREED
    n_on_way = n_on_way - IS_OF_PAGE(kind);
#endif
    step_begins(x);
    if
    :: kind == FETCH ->
        on_fetch(x, from, a, b, c);
        step_ends(x, ON_FETCH, from, a, FETCH_FACTS(b), 0, 0);
    :: kind == GRANT ->
        on_grant(x, a);
        step_ends(x, ON_GRANT, from, x, 0, 0, 0);
    :: kind == PAGE ->
        on_page(x, from, a, b, c);
        step_ends(x, ON_PAGE, from, x, PAGE_FACTS(a, b), 0, c);
    :: kind == INVALIDATE ->
        on_invalidate(x, from);
        step_ends(x, ON_INVALIDATE, from, 0, 0, 0, 0);
    :: kind == INVALID ->
        on_invalid(x, from);
        step_ends(x, ON_INVALIDATE_ACK, from, 0, 0, 0, 0);
#ifdef M_OWNER_OF_ANOTHER_BLOCK
    :: kind == OWNER_IS ->
#else
    :: kind == OWNER_IS && IS_KNOWN(x, b) ->
#endif
        learn_owner(x, from, a);
        step_ends(x, ON_OWNER_IS, from, 0, 0, 0, a);
#ifdef FREED
#ifndef M_OWNER_OF_ANOTHER_BLOCK
    :: kind == OWNER_IS && !IS_KNOWN(x, b)
#endif
    :: kind == CLOSE ->
        on_close(x);
        step_ends(x, ON_CLOSED, from, 0, 0, 0, 0);
    :: kind == GONE -> on_gone(x);
    :: kind == NEW -> on_new(x);
    :: kind == ANSWER -> on_answer();
#endif
#ifdef MEMBERS
    :: kind == GIVEN ->
        on_given(x, from, a, b, c);
        step_ends(x, ON_GIVEN, from, x, IS_FROZEN, 0, c);
#endif
#ifdef AHEAD
    :: kind == ASK_AHEAD ->
        on_ask_ahead(x, a, b);
        step_ends(x, ON_FETCH, from, a, IS_AHEAD + FETCH_FACTS(b), 0, 0);
    :: kind == DONE ->
        assert(fetching[x]);
        fetching[x] = 0;
        queues[x] = 0;
        step_ends(x, ON_SETTLED, from, 0, 0, 0, 0);
#endif
    fi;
    run_deferred(x);
#ifdef FREED
    answer_if_finished(x);
#endif
    check();
}

inline tell_owner(x)
{
    has_owner_update[x] = 0;
    if
    :: is_owner[x] -> send(x, DIRECTORY, OWNER_IS, epoch[x], SERIAL(x), 0);
    :: else
    fi;
    check();
}

inline let_go(x)
{
    if
    :: held[x] ->
        held[x] = 0;
        step_ends(x, ON_LETS_GO, x, x, 0, 0, 0);
    :: else
    fi;
    run_deferred(x);
}

// The thread's access, if the page allows it, else a fault.
inline try_access(x)
{
    step_begins(x);
    if
    :: MAY_ACCESS(x, wants[x]) ||
       (state[x] == CLEAN && is_owner[x] && copyset[x] == 0 && !IS_BUSY(x)) ->
        if
        :: wants[x] == WRITE ->
            state[x] = EXCLUSIVE;
#ifndef LIVE
            mem[x] = 1 - mem[x];
            wanted = 1 - wanted;
#endif
        :: else -> assert(mem[x] == wanted);
        fi;
        printf("%d: access %d\n", x, wants[x]);
        wants[x] = NOTHING;
        step_so_far(x, ON_FAULT, x, x, TO_WRITE, 0, 0);
        let_go(x);
    :: else ->
        n_faults++;
        let_go(x);
        fetching[x] = 1;
        queues[x] = WILL_OWN(x);
        v = ROUTE(x);
        w = wants[x] + 4 * (state[x] == CLEAN && wants[x] == WRITE);
        send(x, v, FETCH, x, w, epoch[x]);
        step_ends(x, ON_ASKS, x, x, FETCH_FACTS(wants[x]), 0, 0);
        printf("%d: fault %d\n", x, wants[x]);
    fi;
    check();
}

#ifdef AHEAD
inline ask_ahead(x, asked, first)
{
    printf("%d: ask ahead %d\n", x, asked);
    step_begins(x);
    n_faults++;
    fetching[x] = 1;
    send(x, first, ASK_AHEAD, x, asked, 0);
    step_ends(x, ON_ASKS, x, x, IS_AHEAD, 0, 0);
    check();
}

#define MAY_ASK(x)                                                             \
    (wants[x] == NOTHING && !fetching[x] && state[x] == ABSENT &&               \
     hint[x] == NOBODY && n_faults < FAULTS && IS_USED_NOW)
#endif

#ifdef LIVE
#define MAY_START(x) (wants[x] == NOTHING)
#define MAY_TRY(x)                                                             \
    (wants[x] != NOTHING && (!fetching[x] || MAY_ACCESS(x, wants[x])))
#define MAY_HEAR(from, other, x)                                               \
    (nempty(WIRE(from, x)) && empty(WIRE(x, x)) &&                             \
     (served_last[x] != from || empty(WIRE(other, x))))
#define NOTE_SERVED(x, from) served_last[x] = from
#else
#define MAY_START(x) (wants[x] == NOTHING && n_faults < FAULTS && IS_FREE(x))
#define MAY_TRY(x)                                                             \
    (wants[x] != NOTHING && (MAY_ACCESS(x, wants[x]) ||                        \
                             (!fetching[x] && n_faults < FAULTS)))
#define MAY_HEAR(from, other, x) nempty(WIRE(from, x))
#define NOTE_SERVED(x, from) skip
#endif

proctype service(byte me; byte next; byte last)
{
end:
    do
    :: d_step { nempty(WIRE(me, me)) -> receive(me, me) }
    :: d_step {
        MAY_HEAR(next, last, me) -> NOTE_SERVED(me, next); receive(me, next)
       }
    :: d_step {
        MAY_HEAR(last, next, me) -> NOTE_SERVED(me, last); receive(me, last)
       }
    :: d_step { has_owner_update[me] -> tell_owner(me) }
#ifdef MEMBERS
    :: d_step { ALL_IDLE && gone == NOBODY -> leave(me, next, last) }
    :: d_step { ALL_IDLE && gone == me -> come(me) }
    :: d_step {
        frozen && QUIET && has_owner_update[0] + has_owner_update[1] +
                has_owner_update[2] == 0 -> frozen = 0
       }
#endif
#ifdef FREED
    :: d_step { MAY_FREE -> free_block(me) }
#endif
#ifdef HURRY
    :: d_step { held[me] -> step_begins(me); let_go(me); check() }
#endif
    od
}

proctype thread(byte me; byte next; byte last)
{
end:
    do
#ifdef AHEAD
    :: d_step { MAY_ASK(me) -> ask_ahead(me, READ, next) }
    :: d_step { MAY_ASK(me) -> ask_ahead(me, READ, last) }
    :: d_step { MAY_ASK(me) -> ask_ahead(me, WRITE, next) }
    :: d_step { MAY_ASK(me) -> ask_ahead(me, WRITE, last) }
#endif
    :: d_step {
        MAY_START(me) && !fetching[me] && state[me] == ABSENT ->
        wants[me] = READ;
        try_access(me)
       }
    :: d_step {
        MAY_START(me) && !fetching[me] ->
        wants[me] = WRITE;
        try_access(me)
       }
    :: d_step { MAY_START(me) && fetching[me] -> wants[me] = READ }
    :: d_step { MAY_START(me) && fetching[me] -> wants[me] = WRITE }
    :: d_step { MAY_TRY(me) -> try_access(me) }
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
    has_moved[owner] = 1;
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
        select(y : 0 .. 7);
        select(z : 0 .. 1);
        d_step { start(x, y, z) }
#endif
#if START == 2
        d_step { start_owned() }
#endif
#ifdef PLACED
        select(placement : 0 .. 2);
#endif
        d_step { x = 0; y = 0; z = 0; check() }
        run service(0, 1, 2);
        run service(1, 2, 0);
        run service(2, 0, 1);
        run thread(0, 1, 2);
        run thread(1, 2, 0);
        run thread(2, 0, 1)
    }
}

#ifdef LIVE
#define WAITS_0 (wants[0] != NOTHING)
#define WAITS_1 (wants[1] != NOTHING)
ltl served { [] ((WAITS_0 -> <> !WAITS_0) && (WAITS_1 -> <> !WAITS_1)) }
#endif
