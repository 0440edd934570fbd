// SPDX-License-Identifier: BSD-3-Clause
//
// homeless on one page, three nodes, FIFO channels between each two, every interleaving. The rules
// are those of docs/protocols.md, sections 1, 2 and 16.
//
// The program that runs on it is the most general one without data races, as in lazy_release.pml: byte k is
// written only by the node that has token k, by any thread of it at any time; the token goes to another
// node when a release has begun after the last write, which is over at once. A node may also tell
// another one what it has heard of and released, without a token: an end of a barrier, a signal, a new
// thread. Any node may fault at any time. Who has a token may also have its byte toggled by an atomic operation, at
// the page's owner. A write toggles its byte, so writing twice restores it.
//
// What a message that orders makes known is in it twice: as write notices, which the protocol sees; and
// as how often each byte has been written, which only the checks see.
//
// A diff has a number, that of its writer and its place there; what it changes and its stamp stand for all nodes
// in one table, so that a node's diffs are a set of numbers. Of each writer a node has all up to a place (`has`), and
// has heard of all up to one (`note`).
//
// Free choices are when a page stays writable through a release, when a writer wants to drop what it keeps, when
// a node gives up others' diffs and stale bytes, and when the directory is told. There is no `access`: an owner's
// page that lacks what its node has heard of is not used.
//
// After each step the whole state is checked (inline check):
//   Z11 to Z15 who has heard of the last write of a byte has that in its copy, if it has one that
//             it may use
//   Z15       whatever a writer has dropped the owner has
//   Z18       an atomic operation finds the last write
//   Z16       who wants to drop diffs asks the owner
//   Z17       when the roster changes no diff is kept
//   E1, H2    as in eager_release.pml
//   progress  nobody waits when no message is on its way
//
// Sizes (-D): WRITES, FETCHES, TELLS, HOMES (times that diffs are to be dropped), ATOMICS (not with START=0),
// of all nodes together. PAIR: two nodes only. START: 0 an untouched page, 1 any owner and any copies, 2 node 0
// owns it, and all have copies.
// MEMBERS: a node leaves, and comes again (section 5; members.pml); with GIVEN_UP, or does not after all.
// A mutant is one rule left out, -DM_..., see mutants.sh.
//
// Each step is compared with the table of tests/steps; not with -DNO_STEPS.

#include "model_steps.h"

#ifndef WRITES
#define WRITES 2 // with ATOMICS at most MOST
#endif
#ifndef FETCHES
#define FETCHES 3
#endif
#ifndef TELLS
#define TELLS 2
#endif
#ifndef HOMES
#define HOMES 1
#endif
#ifndef ATOMICS
#define ATOMICS 0
#endif
#ifndef START
#define START 1
#endif

#define NODES 3
#define BYTES 2
#ifdef PAIR
#define LAST 1
#define ALL 3 // as a set
#else
#define LAST 2
#define ALL 7
#endif
#define MOST 3 // diffs of a writer
#define NOBODY 3
#define ON_WAY 4 // a token
#ifndef MEMBERS
#define DIRECTORY 0
#endif
#define QUEUE 8

#define ABSENT 0
#define CLEAN 1
#define DIRTY 2
#define EXCLUSIVE 3
#define STAYS 255 // `moves` of a page that has an owner for good

// Messages have four fields. Of each writer one number makes three pairs of bits:
//   FETCH     requester, epoch of the hint followed
//   GRANT     -
//   AWAY      contents, epoch: the page and its ownership
//   COPY      contents, epoch, what is in them of each writer
//   ASK       since, until: of each writer
//   DIFFS     a set, and up to where the sender has dropped its own; 0: it has not
//   HOME      -
//   AT_HOME   up to where
//   OWNER_IS  epoch
//   GIVEN     contents, epoch: of who leaves
//   TOLD      token or NOBODY, counts, notices: of each writer
//   ATOMIC    token, epoch of the hint followed
//   ATOMIC_DONE token
// A diff is mask * 16 + value.
mtype = { FETCH, GRANT, AWAY, COPY, ASK, DIFFS, HOME, AT_HOME, OWNER_IS, TOLD,
          ATOMIC, ATOMIC_DONE, GIVEN };

chan wire[9] = [QUEUE] of { mtype, short, byte, byte };
#define WIRE(from, to) wire[(from) * 3 + (to)]

// What a node knows about the page: the table of section 1.
byte state[NODES];
bit is_owner[NODES];
byte hint[NODES] = NOBODY;
byte epoch[NODES];
byte moves[NODES];
bit fetching[NODES];
bit stale[NODES]; // absent, with its bytes
byte mem[NODES];  // bits 0 and 1: bytes
byte twin[NODES];
bit has_owner_update[NODES];

// What it keeps beside: kept.h.
byte has[9];          // of each writer: what is in the bytes
byte note[9];         // and what it has heard of
byte made[NODES];     // its own
byte dropped[NODES];  // of these, so many of the first
short others[NODES];   // as a set: what it has applied, and keeps for others
short arrived[NODES];  // as a set: what is to be applied
byte owner_has[9];    // has come with it: the owner has all of that writer up to there
byte asked[NODES];    // nodes that are yet to answer
bit was_asked[NODES]; // one has been, for the diffs of all
bit is_lost[NODES];
bit goes_home[NODES];
byte waiting[NODES]; // as a set
byte clock[NODES];

// Atomic operations.
bit busy[NODES];     // its page is brought up to date for some:
byte deferred[NODES]; // as a set of tokens
byte caller[2];
byte n_atomics;

// The diffs.
byte diffs[9]; // what they change
byte stamp[9];

// The program.
byte token[2] = NOBODY; // nobody: anybody may take it
byte count[2];          // of writes
bit unreleased[2];
byte heard[NODES] = 3; // of the last write: a bit for each byte
byte n_writes, n_fetches, n_tells, n_homes;

bit touched;
bit moving;

#define IS_WRITABLE(at)                                                        \
    (is_owner[at] && (state[at] == EXCLUSIVE || state[at] == DIRTY))
#include "members.pml"

hidden mtype kind;
hidden short a, v;
hidden byte b, c, w, n, i, low;
hidden byte since, until, below, above;
hidden short what;
hidden byte knows;
hidden byte none_kept;

#define BIT(n) (1 << (n))
#define MERGE(old, diff)                                                       \
    (((old) & ~((diff) >> 4)) | ((diff) & 15 & ((diff) >> 4)))
#define DIFF(page, twin) ((((page) ^ (twin)) << 4) | (page))
#define VALUE(k) (count[k] & 1)
#define PACK(x, y) ((x) | (y) << 4)
#define FIRST(packed) ((packed) & 15)
#define SECOND(packed) ((packed) >> 4)
#define UNKNOWN 15 // no number of writes

#define OF(x, writer) ((x) * 3 + (writer))
#define NUMBER(writer, place) ((writer) * MOST + (place) - 1)
#define PACK3(array, x)                                                        \
    (array[OF(x, 0)] | array[OF(x, 1)] << 2 | array[OF(x, 2)] << 4)
#define PART(packed, writer) (((packed) >> (2 * (writer))) & 3)

#define QUIET                                                                  \
    (len(wire[0]) + len(wire[1]) + len(wire[2]) + len(wire[3]) +               \
         len(wire[4]) + len(wire[5]) + len(wire[6]) + len(wire[7]) +           \
         len(wire[8]) == 0)
#define IS_UNTOUCHED(x) (x == DIRECTORY && !is_owner[x] && epoch[x] == 0)
#define ROUTE(x)                                                               \
    (is_owner[x] -> x : (hint[x] == NOBODY -> DIRECTORY : hint[x]))

#define KEEPS(x) (made[x] - dropped[x])
// The place up to which the bytes at x are to have a writer's diffs.
#define WANTED(x, writer)                                                      \
    (writer == x -> (KEEPS(x) > 0 -> made[x] : 0) : note[OF(x, writer)])
#define LACKS_OF(x, writer) (WANTED(x, writer) > has[OF(x, writer)])
#define LACKS(x) (LACKS_OF(x, 0) || LACKS_OF(x, 1) || LACKS_OF(x, 2))

// ---- mutants

#ifdef M_MOVES_UNRELEASED
#define HAS_RELEASED_ITS_WRITES(k) true
#else
#define HAS_RELEASED_ITS_WRITES(k) (unreleased[k] == 0)
#endif
#ifdef M_OWNER_IS_NEVER_OLD
#define IS_USABLE(x) (state[x] != ABSENT)
#else
#define IS_USABLE(x) (state[x] != ABSENT && !(is_owner[x] && LACKS(x))) // Z13
#endif
#ifdef M_BY_WRITER
#define COMES_BEFORE(number, than) (number < than)
#else
#define COMES_BEFORE(number, than)                                             \
    (stamp[number] < stamp[than] ||                                            \
     (stamp[number] == stamp[than] && number < than)) // Z12
#endif
#ifdef M_ATOMIC_ON_WHAT_IS_OLD
#define IS_PUT_OFF(x) false
#else
#define IS_PUT_OFF(x) LACKS(x) // Z18
#endif
#ifdef M_MOVES_ON
#define MAY_MOVE(x) (state[x] != DIRTY && !fetching[x] && KEEPS(x) == 0)
#else
#define MAY_MOVE(x) (state[x] == EXCLUSIVE && moves[x] == 0) // Z16
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
    const char *const model_protocol = "homeless";

    void model_record(int x, int p, int *to)
    {
        (void)p;
        to[AT_STATE] = now.state[x];
        to[AT_OWNER] = now.is_owner[x];
        to[AT_HINT] = now.is_owner[x]         ? x + 1
                      : now.hint[x] == NOBODY ? 0
                                              : now.hint[x] + 1;
        to[AT_EPOCH] = now.epoch[x];
        to[AT_FETCHING] = now.fetching[x];
        to[AT_MOVES] = now.moves[x];
        to[AT_LISTED] = now.state[x] == DIRTY;
        to[AT_KEPT] = now.made[x] - now.dropped[x];
        to[AT_BUSY] = now.busy[x];
        to[AT_ASKED] = now.asked[x];
        to[AT_GOES_HOME] = now.goes_home[x];
        for (int writer = 0; writer < 3; writer++) {
            const int wanted = writer != x          ? now.note[3 * x + writer]
                               : to[AT_KEPT] > 0 ? now.made[x]
                                                 : 0;

            to[AT_AWAITED] += now.waiting[x] >> writer & 1;
            to[AT_LACKS] |= wanted > now.has[3 * x + writer];
        }
    }
};

hidden byte s_node, s_event, s_from, s_who, s_version, s_epoch;
hidden short s_facts;
hidden byte s_sends, s_to, s_is_allowed;

inline step_begins(x)
{
    s_node = x;
    c_code { model_begins(s_node, 0); };
}

// Of a message, what the table calls it.
#define SENDS(type)                                                            \
    (type == FETCH -> SENDS_FETCH :                                            \
     (type == COPY -> SENDS_COPY :                                             \
      (type == AWAY -> SENDS_AWAY :                                            \
       (type == GRANT -> SENDS_GRANT :                                         \
        (type == ASK -> SENDS_ASK_DIFFS :                                      \
         (type == DIFFS -> SENDS_DIFFS :                                       \
          (type == HOME -> SENDS_HOME :                                        \
           (type == AT_HOME -> SENDS_AT_HOME :                                     \
         (type == GIVEN -> SENDS_GIVEN : SENDS_NOTHING)))))))))

inline step_sends(type, dst)
{
    s_sends = SENDS(type);
    s_to = dst;
    c_code { model_sends(s_sends, s_to); };
}

inline step_is(event, from, who, facts, ver, ep)
{
    s_event = event;
    s_from = from;
    s_who = who;
    s_facts = facts;
    s_version = ver;
    s_epoch = ep;
}

inline step_ends(event, from, who, facts, ver, ep)
{
    step_is(event, from, who, facts, ver, ep);
    c_code {
        s_is_allowed = model_ends(s_event, s_from, s_who, s_facts, s_version,
                                  s_epoch, 0);
    };
    assert(s_is_allowed);
}

// If anything has changed, or was sent.
inline step_so_far(event, from, who, facts, ver, ep)
{
    step_is(event, from, who, facts, ver, ep);
    c_code {
        s_is_allowed = model_ends(s_event, s_from, s_who, s_facts, s_version,
                                  s_epoch, 1);
    };
    assert(s_is_allowed);
}
#else
inline step_begins(x) { skip }
inline step_sends(type, dst) { skip }
inline step_ends(event, from, who, facts, ver, ep) { skip }
inline step_so_far(event, from, who, facts, ver, ep) { skip }
#endif

// ---- checks

#define IS_GOOD(x, k)                                                          \
    (!IS_USABLE(x) || !(heard[x] & BIT(k)) || ((mem[x] >> (k)) & 1) == VALUE(k))
#define IS_ALONE(x)                                                            \
    (state[x] != EXCLUSIVE ||                                                  \
     (is_owner[x] && (x == 0 || state[0] == ABSENT) &&                         \
      (x == 1 || state[1] == ABSENT) && (x == 2 || state[2] == ABSENT)))
#define HAS_WHAT_WAS_DROPPED(x)                                                \
    (!is_owner[x] || (has[OF(x, 0)] >= dropped[0] &&                           \
                      has[OF(x, 1)] >= dropped[1] && has[OF(x, 2)] >= dropped[2]))

inline check_byte(k)
{
    assert(IS_GOOD(0, k) && IS_GOOD(1, k) && IS_GOOD(2, k)); // heard
}

inline check()
{
    check_byte(0);
    check_byte(1);
    assert(is_owner[0] + is_owner[1] + is_owner[2] + moving == touched); // E1
    assert(IS_ALONE(0) && IS_ALONE(1) && IS_ALONE(2));                   // E3
    assert(HAS_WHAT_WAS_DROPPED(0) && HAS_WHAT_WAS_DROPPED(1) &&
           HAS_WHAT_WAS_DROPPED(2)); // Z15
    assert(!QUIET || (fetching[0] + fetching[1] + fetching[2] + asked[0] +
                          asked[1] + asked[2] + goes_home[0] + goes_home[1] +
                          goes_home[2] + (token[0] == ON_WAY) +
                          (token[1] == ON_WAY) ==
                      0)); // progress
}

// ---- pieces

inline send(src, dst, type, f1, f2, f3)
{
    assert(dst < NODES && len(WIRE(src, dst)) < QUEUE);
    assert(IS_LIVE(dst)); // gone
    printf("    %d -> %d: %e %d %d %d\n", src, dst, type, f1, f2, f3);
    step_sends(type, dst);
    WIRE(src, dst)!type, f1, f2, f3;
}

inline learn_owner(x, who, ep)
{
    if
    :: ep > epoch[x] -> hint[x] = who; epoch[x] = ep;
    :: else
    fi
}

// ---- what a page lacks is asked for (gather.c)

// Up to where x has a writer's diffs, or gets them.
inline find_last(x, writer)
{
    since = (has[OF(x, writer)] > owner_has[OF(x, writer)] ->
                 has[OF(x, writer)] : owner_has[OF(x, writer)]);
    i = MOST;
    do
    :: i > since ->
        if
        :: arrived[x] & BIT(NUMBER(writer, i)) -> since = i;
        :: else -> i--
        fi
    :: else -> break
    od
}

inline take_own(x)
{
    find_last(x, x);
    i = (since > dropped[x] -> since : dropped[x]);
    do
    :: i < made[x] -> i++; arrived[x] = arrived[x] | BIT(NUMBER(x, i));
    :: else -> break
    od
}

// below, above: since and until, of each writer.
inline find_wanted(x)
{
    below = 0;
    above = 0;
    n = 0;
    do
    :: n <= LAST ->
        if
        :: n != x ->
            find_last(x, n);
            if
            :: note[OF(x, n)] > since ->
                below = below | (since << (2 * n));
                above = above | (note[OF(x, n)] << (2 * n));
            :: else
            fi
        :: else
        fi;
        n++
    :: else -> break
    od
}

// v: who of these has written last.
inline find_writer(x)
{
    v = NOBODY;
    n = 0;
    do
    :: n <= LAST ->
        if
        :: PART(above, n) > 0 &&
           (v == NOBODY ->
                1 : stamp[NUMBER(n, PART(above, n))] > stamp[NUMBER(v, PART(above, v))]) ->
            v = n;
        :: else
        fi;
        n++
    :: else -> break
    od
}

// above: not 0, somebody has been asked.
inline ask_writers(x)
{
    take_own(x);
    find_wanted(x);
    if
    :: above > 0 && !was_asked[x] ->
        was_asked[x] = 1;
        find_writer(x);
        asked[x] = 1;
        send(x, v, ASK, below, above, 0);
    :: above > 0 && was_asked[x] ->
        n = 0;
        do
        :: n <= LAST ->
            if
            :: PART(above, n) > 0 ->
                asked[x]++;
                since = below & (3 << (2 * n));
                until = above & (3 << (2 * n));
                send(x, n, ASK, since, until, 0);
            :: else
            fi;
            n++
        :: else -> break
        od
    :: else
    fi
}

inline gather_begin(x)
{
    fetching[x] = 1;
    if
    :: asked[x] == 0 -> ask_writers(x);
    :: else
    fi
}

// Z12; low: the next of what has come.
inline find_next(x)
{
    low = 9;
    i = 0;
    do
    :: i < 9 ->
        if
        :: (arrived[x] & BIT(i)) && (low == 9 -> 1 : COMES_BEFORE(i, low)) -> low = i;
        :: else
        fi;
        i++
    :: else -> break
    od
}

inline has_up_to(x, writer, place)
{
    if
    :: place > has[OF(x, writer)] -> has[OF(x, writer)] = place;
    :: else
    fi
}

inline apply_all(x)
{
    do
    :: arrived[x] != 0 ->
        find_next(x);
        mem[x] = MERGE(mem[x], diffs[low]);
        arrived[x] = arrived[x] & ~BIT(low);
        if
        :: low / MOST != x -> others[x] = others[x] | BIT(low);
        :: else
        fi;
        has_up_to(x, low / MOST, low % MOST + 1);
    :: else -> break
    od;
    n = 0;
    do
    :: n <= LAST ->
        has_up_to(x, n, owner_has[OF(x, n)]);
        owner_has[OF(x, n)] = 0;
        n++
    :: else -> break
    od
}

inline tell_at_home(x)
{
    n = 0;
    do
    :: n <= LAST ->
        if
        :: waiting[x] & BIT(n) -> send(x, n, AT_HOME, has[OF(x, n)], 0, 0);
        :: else
        fi;
        n++
    :: else -> break
    od;
    waiting[x] = 0;
}

// A thread waits for it still.
inline ask_owner(x, event, from, facts, ep)
{
    is_lost[x] = 0;
    was_asked[x] = 0;
    arrived[x] = 0;
    stale[x] = 0;
    mem[x] = 0;
    step_ends(event, from, x, facts, 0, ep);
    fetching[x] = 0;
    step_ends(ON_SETTLED, x, x, 0, 0, 0);
    fetching[x] = 1;
    v = ROUTE(x);
    send(x, v, FETCH, x, epoch[x], 0);
    step_ends(ON_ASKS, x, x, 0, 0, 0);
}

// What this node keeps is to be at the owner.
inline ask_home(x)
{
    goes_home[x] = 1;
    v = ROUTE(x);
    low = PACK3(note, x);
    send(x, v, TOLD, NOBODY, PACK(UNKNOWN, UNKNOWN), low); // Z11
    send(x, v, HOME, 0, 0, 0);
}

// Z17: while nodes may come or go no diff stays.
inline bound_kept(x)
{
#if defined(MEMBERS) && !defined(M_KEEPS_WHEN_STOPPED)
    if
    :: has_stopped[x] && KEEPS(x) > 0 && is_owner[x] -> dropped[x] = has[OF(x, x)];
    :: has_stopped[x] && KEEPS(x) > 0 && !is_owner[x] && !goes_home[x] -> ask_home(x);
    :: else
    fi
#else
    skip
#endif
}

inline add_diff(x, diff)
{
    assert(made[x] < MOST);
#ifndef M_STAMPS_OF_ITS_OWN
    clock[x]++;
    stamp[NUMBER(x, made[x] + 1)] = clock[x];
#else
    stamp[NUMBER(x, made[x] + 1)] = made[x] + 1;
#endif
    diffs[NUMBER(x, made[x] + 1)] = diff;
    made[x]++;
    has[OF(x, x)] = made[x];
    note[OF(x, x)] = made[x];
    bound_kept(x);
}

// ---- atomic operations

// Notices go first.
inline order(x, dst)
{
    if
    :: dst != x ->
        w = PACK3(note, x);
        send(x, dst, TOLD, NOBODY, PACK(UNKNOWN, UNKNOWN), w);
    :: else
    fi
}

// A byte is toggled. Nobody but the owner keeps the diff, if others may have the page.
inline perform(x, k)
{
    knows = ((mem[x] >> (k)) & 1) == VALUE(k);
    assert(knows); // Z18
    mem[x] = mem[x] ^ BIT(k);
    if
    :: state[x] == DIRTY -> twin[x] = twin[x] ^ BIT(k);
    :: else
    fi;
    count[k]++;
    heard[0] = heard[0] & ~BIT(k);
    heard[1] = heard[1] & ~BIT(k);
    heard[2] = heard[2] & ~BIT(k);
    if
    :: state[x] != EXCLUSIVE -> add_diff(x, BIT(k) << 4 | mem[x]);
    :: else
    fi;
    order(x, caller[k]);
    send(x, caller[k], ATOMIC_DONE, k, 0, 0);
    step_ends(ON_ATOMIC, x, x, 0, 0, 0);
}

inline run_deferred(x)
{
#if ATOMICS > 0
    if
    :: !busy[x] && (deferred[x] & 1) -> deferred[x] = deferred[x] & ~1; perform(x, 0);
    :: else
    fi;
    if
    :: !busy[x] && (deferred[x] & 2) -> deferred[x] = deferred[x] & ~2; perform(x, 1);
    :: else
    fi
#else
    skip
#endif
}

inline on_atomic(x, k, followed)
{
    step_begins(x);
    if
    :: is_owner[x] && IS_PUT_OFF(x) ->
        busy[x] = 1;
        deferred[x] = deferred[x] | BIT(k);
        gather_begin(x);
        step_ends(ON_ATOMIC, x, x, 0, 0, 0);
    :: is_owner[x] && !IS_PUT_OFF(x) -> perform(x, k);
    :: else ->
        assert(hint[x] != NOBODY && epoch[x] > followed); // H2
        order(x, hint[x]);
        send(x, hint[x], ATOMIC, k, epoch[x], 0);
        step_ends(ON_ATOMIC, x, x, 0, 0, 0);
    fi
}

inline start_atomic(x, k)
{
    printf("%d: atomic operation on byte %d\n", x, k);
    n_atomics++;
    token[k] = ON_WAY;
    caller[k] = x;
    v = ROUTE(x);
    order(x, v);
    send(x, v, ATOMIC, k, epoch[x] * (v != x), 0);
    check();
}

// All who were asked have answered: Z11.
inline go_on(x, event, from, facts, ep)
{
    if
    :: is_lost[x] && !is_owner[x] -> ask_owner(x, event, from, facts, ep);
    :: else ->
        is_lost[x] = 0;
        ask_writers(x);
        if
        :: above == 0 ->
            was_asked[x] = 0;
            apply_all(x);
            assert(!LACKS(x));
            fetching[x] = 0;
            if
            :: is_owner[x] -> busy[x] = 0; tell_at_home(x);
            :: else -> stale[x] = 0; state[x] = CLEAN;
            fi
        :: else
        fi;
        step_ends(event, from, x, facts, 0, ep);
        run_deferred(x);
    fi
}

inline on_copy(x, from, contents, ep, parts)
{
    step_begins(x);
    assert(state[x] == ABSENT && fetching[x] && !stale[x] && asked[x] == 0);
    mem[x] = contents;
    has[OF(x, 0)] = PART(parts, 0);
    has[OF(x, 1)] = PART(parts, 1);
    has[OF(x, 2)] = PART(parts, 2);
    learn_owner(x, from, ep);
    go_on(x, ON_COPY, from, 0, ep);
}

inline on_diffs(x, from, set, place)
{
    step_begins(x);
    assert(fetching[x] && asked[x] > 0);
    arrived[x] = arrived[x] | set;
    asked[x]--;
    what = 0;
    if
    :: place > 0 ->
        is_lost[x] = 1;
        what = IS_GONE;
        if
        :: place > owner_has[OF(x, from)] -> owner_has[OF(x, from)] = place;
        :: else
        fi
    :: else
    fi;
#ifdef M_APPLIED_AS_THEY_COME
    if
    :: is_owner[x] || stale[x] -> apply_all(x);
    :: else
    fi;
#endif
    if
    :: asked[x] == 0 -> go_on(x, ON_DIFFS_COME, from, what, 0);
    :: else -> step_ends(ON_DIFFS_COME, from, x, what, 0, 0);
    fi
}

// v: a set; w: up to where what is asked for is not kept.
inline on_ask(x, from, sinces, untils)
{
    step_begins(x);
    v = 0;
    w = 0;
    n = 0;
    do
    :: n <= LAST ->
        since = PART(sinces, n);
        until = PART(untils, n);
        if
        :: n == x && until > 0 ->
            w = (until <= dropped[x] -> until :
                     (dropped[x] > since -> dropped[x] : 0));
            do
            :: w == 0 && since < until ->
                since++;
                v = v | BIT(NUMBER(x, since));
            :: else -> break
            od
        :: n != x && until > 0 ->
            do
            :: since < until && (others[x] & BIT(NUMBER(n, since + 1))) ->
                since++;
                v = v | BIT(NUMBER(n, since));
            :: else -> break
            od
        :: else
        fi;
        n++
    :: else -> break
    od;
    send(x, from, DIFFS, v, w, 0);
    step_ends(ON_WANTED, from, x, 0, 0, 0);
}

// ---- requests

inline on_fetch(x, requester, followed)
{
    step_begins(x);
    if
    :: is_owner[x] && requester != x && MAY_MOVE(x) ->
        send(x, requester, AWAY, mem[x], epoch[x] + 1, 0);
        moves[x] = 1;
        moving = 1;
        epoch[x]++;
        is_owner[x] = 0;
        hint[x] = requester;
        state[x] = ABSENT;
        mem[x] = 0;
    :: is_owner[x] && requester != x && !MAY_MOVE(x) ->
        moves[x] = STAYS;
        if
        :: state[x] == EXCLUSIVE -> state[x] = CLEAN;
        :: else
        fi;
#ifdef M_SEND_PAGE_NOT_TWIN
        w = mem[x];
#else
        w = (state[x] == DIRTY -> twin[x] : mem[x]);
#endif
        v = PACK3(has, x);
        send(x, requester, COPY, w, epoch[x], v);
    :: is_owner[x] && requester == x ->
        assert(fetching[x]);
        fetching[x] = 0;
    :: IS_UNTOUCHED(x) ->
        touched = 1;
        moving = 1;
        hint[x] = requester;
        epoch[x] = 1;
        send(x, requester, GRANT, 0, 0, 0);
    :: else ->
        assert(hint[x] != NOBODY && epoch[x] > followed); // H2
        send(x, hint[x], FETCH, requester, epoch[x], 0);
    fi;
    step_ends(ON_FETCH, requester, requester, 0, 0, 0);
}

inline take_ownership(x, ep)
{
    state[x] = EXCLUSIVE;
    moving = 0;
    is_owner[x] = 1;
    epoch[x] = ep;
    hint[x] = NOBODY;
    has_owner_update[x] = 0;
    fetching[x] = 0;
}

inline on_grant(x)
{
    step_begins(x);
    assert(state[x] == ABSENT && fetching[x]);
    take_ownership(x, 1); // the directory has granted it, and knows
    step_ends(ON_GRANT, DIRECTORY, x, 0, 0, 0);
}

inline on_away(x, from, contents, ep)
{
    step_begins(x);
    assert(state[x] == ABSENT && fetching[x] && !is_owner[x]);
    take_ownership(x, ep);
    mem[x] = contents;
    moves[x] = 1;
    has_owner_update[x] = (x != DIRECTORY && from != DIRECTORY);
    step_ends(ON_PAGE, from, x, WITH_OWNERSHIP + WITH_CONTENTS + IS_NOT_PUSHED_TO, 0, ep);
}

// ---- what is kept is bounded (kept_bound.c)

inline let_them_go(x)
{
    step_begins(x);
#ifdef M_DROPPED_TOO_EARLY
    dropped[x] = made[x];
#else
    if
    :: is_owner[x] -> dropped[x] = has[OF(x, x)];
    :: else -> ask_home(x);
    fi;
#endif
    step_ends(ON_LETS_DIFFS_GO, x, x, 0, 0, 0);
}

inline let_go(x)
{
    printf("%d: lets diffs go\n", x);
    n_homes++;
    let_them_go(x);
    check();
}

inline on_home(x, from)
{
    step_begins(x);
    assert(is_owner[x]); // Z16
    if
    :: asked[x] == 0 && !LACKS(x) -> send(x, from, AT_HOME, has[OF(x, from)], 0, 0);
    :: asked[x] == 0 && LACKS(x) ->
        waiting[x] = waiting[x] | BIT(from);
        gather_begin(x);
    :: else -> waiting[x] = waiting[x] | BIT(from);
    fi;
    step_ends(ON_HOME, from, x, 0, 0, 0);
}

inline on_at_home(x, place)
{
    step_begins(x);
    assert(goes_home[x]);
    goes_home[x] = 0;
    if
    :: place > dropped[x] -> dropped[x] = place;
    :: else
    fi;
    bound_kept(x);
    step_ends(ON_AT_HOME, x, x, 0, 0, 0);
}

// ---- releases and notices

// A dirty page has been diffed: it stays here.
inline keep_diff(x)
{
    if
    :: mem[x] != twin[x] -> add_diff(x, DIFF(mem[x], twin[x]));
    :: else
    fi
}

inline release_now(x)
{
    if
    :: state[x] == DIRTY ->
#ifndef M_NO_LAST_DIFF
        keep_diff(x);
#endif
        state[x] = CLEAN;
        twin[x] = 0;
        step_ends(ON_RELEASED, x, x, 0, 0, 0);
    :: else
    fi
}

// w: something here is older than a notice.
inline hear_of(x, writer, place)
{
    if
    :: place > note[OF(x, writer)] ->
        assert(place <= made[writer]); // N1
        note[OF(x, writer)] = place;
        if
        :: stamp[NUMBER(writer, place)] > clock[x] ->
            clock[x] = stamp[NUMBER(writer, place)];
        :: else
        fi;
        if
        :: state[x] != ABSENT && place > has[OF(x, writer)] -> w = 1;
        :: else
        fi
    :: else
    fi
}

inline hear(x, notices)
{
    w = 0;
    step_begins(x);
    hear_of(x, 0, PART(notices, 0));
    hear_of(x, 1, PART(notices, 1));
    hear_of(x, 2, PART(notices, 2));
    step_so_far(ON_HEARD, x, x, 0, 0, 0);
    if
    :: w && is_owner[x] -> release_now(x); // Z14
    :: w && !is_owner[x] ->
        release_now(x);
#ifndef M_NOT_STALE
        state[x] = ABSENT;
        stale[x] = 1;
#endif
        step_so_far(ON_DROPS, x, x, 0, 0, 0);
    :: else
    fi
}

inline hear_count(x, k, number)
{
    if
    :: number == count[k] -> heard[x] = heard[x] | BIT(k);
    :: else
    fi
}

inline on_told(x, tok, counts, notices)
{
    hear(x, notices);
    hear_count(x, 0, FIRST(counts));
    hear_count(x, 1, SECOND(counts));
    if
    :: tok != NOBODY -> token[tok] = x; heard[x] = heard[x] | BIT(tok);
    :: else
    fi
}

// ---- nodes come and go

#ifdef MEMBERS
#define IS_AT_REST(x) true // a release is over at once
#define IS_FINISHED(x) (!fetching[x] && !goes_home[x])
#define HAS_UPDATES(x) has_owner_update[x]
#define HAS_RELEASED_ALL(x)                                                    \
    (!NEEDS_RELEASE_OF(x, 0) && !NEEDS_RELEASE_OF(x, 1) &&                     \
     !(token[0] == ON_WAY && caller[0] == x) &&                                \
     !(token[1] == ON_WAY && caller[1] == x))

// Z17: all diffs go home.
inline clean_pages(x)
{
    step_begins(x);
    if
#ifndef M_STAYS_DIRTY
    :: !is_owner[x] -> release_now(x);
#endif
    :: else
    fi;
#ifndef M_DIFFS_DO_NOT_GO_HOME
    if
    :: KEEPS(x) > 0 && !goes_home[x] -> let_them_go(x);
    :: else
    fi
#endif
}

// Copies are dropped, stale ones too; there is no diff and no notice any more. Stamps go on.
inline forget_copies(x)
{
    step_begins(x);
    none_kept = KEEPS(x) == 0;
    assert(none_kept); // Z17
    n = 0;
    do
    :: n < NODES ->
        has[OF(x, n)] = 0;
        note[OF(x, n)] = 0;
        n++
    :: else -> break
    od;
    made[x] = 0;
    dropped[x] = 0;
    others[x] = 0;
    if
    :: stale[x] -> stale[x] = 0; mem[x] = 0;
    :: else
    fi;
    step_so_far(ON_FORGETS, x, x, IS_FROZEN, 0, 0);
#ifndef M_COPIES_STAY_BEHIND_A_CHANGE
    if
    :: !is_owner[x] -> state[x] = ABSENT; mem[x] = 0; twin[x] = 0;
    :: else
    fi;
    step_so_far(ON_DROPS, x, x, IS_FROZEN, 0, 0);
#endif
}

inline forget_records()
{
    n = 0;
    do
    :: n < 9 -> diffs[n] = 0; stamp[n] = 0; n++
    :: else -> break
    od
}

inline forget_leaver(x, leaver)
{
    step_begins(x);
    if
#ifndef M_LEAVER_IS_ASKED
    :: !is_owner[x] && hint[x] == leaver -> hint[x] = NOBODY; // K3
#endif
    :: else
    fi;
    step_so_far(ON_FORGETS, leaver, leaver, 0, 0, 0);
}

// Nobody is known to have a copy, so the directory node gets the page.
inline give_pages(x)
{
    if
    :: is_owner[x] && state[x] == DIRTY ->
        state[x] = CLEAN; // K1: what was written is released
    :: else
    fi;
    step_begins(x);
    if
    :: is_owner[x] ->
        v = directory;
        send(x, v, GIVEN, mem[x], epoch[x] + 1, 0);
        is_owner[x] = 0;
        moving = 1;
        epoch[x]++;
        hint[x] = v;
        moves[x] = 0;
        state[x] = ABSENT;
        mem[x] = 0;
        twin[x] = 0;
        step_ends(ON_GIVES, x, v, 0, 0, 0);
    :: else
    fi
}

inline on_given(x, from, contents, ep)
{
    step_begins(x);
    if
    :: state[x] == ABSENT -> mem[x] = contents;
    :: else
    fi;
    take_ownership(x, ep);
    moves[x] = 0;
    has_owner_update[x] = (x != directory && from != directory);
    step_ends(ON_GIVEN, from, x, IS_FROZEN, 0, ep);
}

inline know_nothing_of_pages(x)
{
    hint[x] = NOBODY;
    epoch[x] = 0;
    clock[x] = 0;
}

inline tell_new_directory(x)
{
    has_owner_update[x] = (is_owner[x] && directory != x);
}

#include "members.pml"
#endif

// ---- what happens at a node

inline receive(x, from)
{
    WIRE(from, x)?kind, a, b, c;
    printf("%d: %e from %d: %d %d %d\n", x, kind, from, a, b, c);
    if
    :: kind == FETCH -> on_fetch(x, a, b);
    :: kind == GRANT -> on_grant(x);
    :: kind == AWAY -> on_away(x, from, a, b);
    :: kind == COPY -> on_copy(x, from, a, b, c);
    :: kind == ASK -> on_ask(x, from, a, b);
    :: kind == DIFFS -> on_diffs(x, from, a, b);
    :: kind == HOME -> on_home(x, from);
    :: kind == AT_HOME -> on_at_home(x, a);
    :: kind == OWNER_IS ->
        step_begins(x);
        learn_owner(x, from, a);
        step_ends(ON_OWNER_IS, from, 0, 0, 0, a);
    :: kind == TOLD -> on_told(x, a, b, c);
#ifdef MEMBERS
    :: kind == GIVEN -> on_given(x, from, a, b);
#endif
#if ATOMICS > 0
    :: kind == ATOMIC && a == 0 -> on_atomic(x, 0, b);
    :: kind == ATOMIC && a == 1 -> on_atomic(x, 1, b);
    :: kind == ATOMIC_DONE ->
        token[a] = x;
        unreleased[a] = 0;
        heard[x] = heard[x] | BIT(a);
#endif
    fi;
    check();
}

inline fault(x)
{
    printf("%d: fault\n", x);
    n_fetches++;
    step_begins(x);
    if
    :: (is_owner[x] || stale[x]) && LACKS(x) -> gather_begin(x);
    :: else ->
        stale[x] = 0;
        mem[x] = 0;
        fetching[x] = 1;
        v = ROUTE(x);
        send(x, v, FETCH, x, epoch[x], 0);
    fi;
    step_ends(ON_ASKS, x, x, 0, 0, 0);
    check();
}

// Memory is short.
inline forget(x)
{
    printf("%d: forgets\n", x);
    others[x] = 0;
    if
    :: stale[x] && !fetching[x] -> stale[x] = 0; mem[x] = 0;
    :: else
    fi;
    check();
}

inline tell_owner(x)
{
    has_owner_update[x] = 0;
    if
    :: is_owner[x] -> send(x, DIRECTORY, OWNER_IS, epoch[x], 0, 0);
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
    :: state[x] == CLEAN -> state[x] = DIRTY; twin[x] = mem[x];
    :: else
    fi;
    mem[x] = mem[x] ^ BIT(k);
    count[k]++;
    token[k] = x;
    unreleased[k] = 1;
    heard[0] = heard[0] & ~BIT(k);
    heard[1] = heard[1] & ~BIT(k);
    heard[2] = heard[2] & ~BIT(k);
    heard[x] = heard[x] | BIT(k);
    step_so_far(ON_FAULT, x, x, TO_WRITE, 0, 0);
    check();
}

// A dirty page becomes clean, or stays as it is. Nothing is sent.
inline release(x, stays)
{
    printf("%d: release\n", x);
    n = 0;
    do
    :: n < 2 ->
        if
        :: token[n] == x -> unreleased[n] = 0;
        :: else
        fi;
        n++
    :: else -> break
    od;
    step_begins(x);
    if
    :: state[x] == DIRTY ->
        keep_diff(x);
        if
        :: stays -> twin[x] = mem[x];
        :: else -> state[x] = CLEAN; twin[x] = 0;
        fi
    :: else
    fi;
    step_so_far(ON_RELEASED, x, x, 0, 0, 0);
    check();
}

// What x has heard of and released: how often byte k has been written, if it knows.
#define TELLS_OF(x, k)                                                         \
    ((token[k] == x -> unreleased[k] == 0 : (heard[x] & BIT(k)) != 0) ->       \
         count[k] : UNKNOWN)

inline tell(x, dst, tok)
{
    n_tells++;
    w = PACK(TELLS_OF(x, 0), TELLS_OF(x, 1));
    v = PACK3(note, x);
    send(x, dst, TOLD, tok, w, v);
    if
    :: tok != NOBODY -> token[tok] = ON_WAY;
    :: else
    fi;
    check();
}

#define MAY_FAULT(x)                                                           \
    (!IS_USABLE(x) && !fetching[x] && n_fetches < FETCHES && MAY_ASK(x))
#define MAY_WRITE(x, k)                                                        \
    (IS_USABLE(x) && MAY_USE(x) && (token[k] == x || token[k] == NOBODY) &&      \
     n_writes < WRITES)
#define NEEDS_RELEASE_OF(x, k) (token[k] == x && unreleased[k])
#define MAY_RELEASE(x)                                                         \
    ((NEEDS_RELEASE_OF(x, 0) || NEEDS_RELEASE_OF(x, 1)) && MAY_GO_ON(x))
#define MAY_OPERATE(x, k)                                                      \
    ((token[k] == x || token[k] == NOBODY) && unreleased[k] == 0 &&            \
     n_atomics < ATOMICS && MAY_ASK(x))
#define MAY_GIVE(x, k, dst)                                                    \
    (token[k] == x && HAS_RELEASED_ITS_WRITES(k) && n_tells < TELLS &&         \
     MAY_GO_ON(x) && MAY_GO_ON(dst))
#define MAY_TELL(x, dst) (n_tells < TELLS && MAY_GO_ON(x) && MAY_GO_ON(dst))
#define MAY_LET_GO(x)                                                          \
    (KEEPS(x) > 0 && !goes_home[x] && n_homes < HOMES && MAY_GO_ON(x))
#define MAY_FORGET(x) (others[x] != 0 || (stale[x] && !fetching[x]))

proctype node(byte me; byte next; byte last)
{
end:
    do
    :: d_step { nempty(WIRE(me, me)) -> receive(me, me) }
    :: d_step { nempty(WIRE(next, me)) -> receive(me, next) }
    :: d_step { nempty(WIRE(last, me)) -> receive(me, last) }
    :: d_step { MAY_FAULT(me) -> fault(me) }
    :: d_step { has_owner_update[me] -> tell_owner(me) }
    :: d_step { MAY_WRITE(me, 0) -> write_byte(me, 0) }
    :: d_step { MAY_WRITE(me, 1) -> write_byte(me, 1) }
    :: d_step { MAY_RELEASE(me) -> release(me, 0) }
    :: d_step { MAY_RELEASE(me) && state[me] == DIRTY -> release(me, 1) }
#if ATOMICS > 0
    :: d_step { MAY_OPERATE(me, 0) -> start_atomic(me, 0) }
    :: d_step { MAY_OPERATE(me, 1) -> start_atomic(me, 1) }
#endif
    :: d_step { MAY_LET_GO(me) -> let_go(me) }
    :: d_step { MAY_FORGET(me) -> forget(me) }
#ifdef MEMBERS
    :: d_step { MAY_CHANGE(me) -> begin_change(me) }
    :: d_step { MAY_STOP(me) -> stop_node(me) }
    :: d_step { changes == me && HAVE_STOPPED -> change_roster(me, next, last) }
    :: d_step { MAY_CLEAN(me) -> clean_node(me) }
    :: d_step { MAY_GIVE_UP(me) -> give_up_change() }
    :: d_step { changes == me && MAY_END -> end_change(me) }
    :: d_step { MAY_RESTART(me) -> restart_node(me) }
#endif
    :: d_step { MAY_GIVE(me, 0, next) -> tell(me, next, 0) }
    :: d_step { MAY_GIVE(me, 1, next) -> tell(me, next, 1) }
    :: d_step { MAY_TELL(me, next) -> tell(me, next, NOBODY) }
#ifndef PAIR
    :: d_step { MAY_GIVE(me, 0, last) -> tell(me, last, 0) }
    :: d_step { MAY_GIVE(me, 1, last) -> tell(me, last, 1) }
    :: d_step { MAY_TELL(me, last) -> tell(me, last, NOBODY) }
#endif
    od
}

#if START >= 1
// Its owner has it for good, if there have been copies.
inline start(owner, copies, does_directory_know)
{
    touched = 1;
    n = 0;
    do
    :: n <= LAST ->
        epoch[n] = 2;
        if
        :: n == owner ->
            is_owner[n] = 1;
            moves[n] = ((copies & ~BIT(owner)) != 0 -> STAYS : 1);
            state[n] = ((copies & ~BIT(owner)) != 0 -> CLEAN : EXCLUSIVE);
        :: n != owner && (copies & BIT(n)) -> state[n] = CLEAN; hint[n] = owner;
        :: else -> hint[n] = owner;
        fi;
        n++
    :: else -> break
    od;
    if
    :: !does_directory_know && owner != DIRECTORY && owner != 1 &&
       state[DIRECTORY] == ABSENT ->
        hint[DIRECTORY] = 1; // of before, and so on to the owner
        epoch[DIRECTORY] = 1;
        has_owner_update[owner] = 1;
    :: else
    fi
}
#endif

init {
    byte x;
    byte y;
    byte z;

    atomic {
#if START == 1
        select(x : 0 .. LAST);
        select(y : 0 .. ALL); // any copies
        select(z : 0 .. 1);
        d_step { start(x, y, z) }
#elif START == 2
        d_step { start(0, ALL, 1) }
#endif
        d_step { x = 0; y = 0; z = 0; check() }
        run node(0, 1, 2);
        run node(1, 2 - (LAST == 1) * 2, 0 + (LAST == 1) * 2);
#ifndef PAIR
        run node(2, 0, 1)
#endif
    }
}
