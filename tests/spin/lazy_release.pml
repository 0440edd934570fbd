// SPDX-License-Identifier: BSD-3-Clause
//
// lazy-release on two pages, three nodes, FIFO channels between each two, every interleaving. The
// rules are those of docs/protocols.md, sections 1, 2 and 9.
//
// The program that runs on it is the most general one without data races. There are two bytes, each in
// a page of its own; -DPAGES=1: both in one page, so that two nodes write it side by side;
// -DBYTES=3: two in the first page, one in the second. Byte k is written only by the node that has
// token k, by any thread of it at any time; the token goes to another node only when a release has
// ended that began after the last write. (So does a thread that moves, with what only it writes.) A node may also tell another one what it has heard of and
// released, without a token: an end of a barrier, a signal, a new thread, an allocation. Any node may
// fault on any page at any time, and start an atomic operation on a counter in the first page (if the
// node has released). A write toggles its byte, so writing twice restores it.
//
// What a message that orders makes known is in it twice: as write notices, which the protocol sees; and
// as how often each byte has been written, which only the checks see.
//
// What the engine decides by counters, time and reference bits is a free choice here: when a page
// stays writable through a release, whether an owner writes against a twin, whether what has changed
// of a page is known still, whether a stale copy is kept, what is asked for ahead, when the
// directory is told. There is no `access`.
//
// After each step the whole state is checked (inline check):
//   Z1 to Z6  who has heard of the last write of a byte has that in its copy, if it has one that
//             it may use; and of the counter all that it has heard of
//   N1        a notice of this block is of a version that the page's owner has
//   Z7        a diff, and a question what has changed, comes to the owner
//   E1, H2    as in eager_release.pml
//   progress  nobody waits when no message is on its way
//
// SCOPE: the protocol is scope (section 12). Byte k is written under mutex k, whose token brings the notices of what was
// written under it, and nothing else; who is told without a token hears all. With -DBYTES=3 two of them have a page in common.
//   J1 to J3  in place of Z1 to Z6: who has had the token since the last write of a byte, or was told of it so, has
//             that in its copy
//
// Sizes (-D): WRITES, FETCHES, RELEASES, TELLS, ATOMICS, of all nodes together.
// FREED: the block is freed, and the next one gets its pages (section 11; blocks.pml); without atomic operations.
// MEMBERS: a node leaves, and comes again (section 5; members.pml); with SCOPE too, not with FREED.
//   Z8        behind a change there are no copies, and nothing is lost with a node
// PAIR: two nodes only. START: 0 untouched pages, 1 of each page any owner and any copies.
// A mutant is one rule left out, -DM_..., see mutants.sh.
//
// Each step is compared with the table of tests/steps; not with -DNO_STEPS.

#include "model_steps.h"

#ifndef WRITES
#define WRITES 2
#endif
#ifndef FETCHES
#define FETCHES 3
#endif
#ifndef RELEASES
#define RELEASES 2
#endif
#ifndef TELLS
#define TELLS 2
#endif
#ifndef ATOMICS
#define ATOMICS 0 // at most 3: counted in two bits
#endif
#ifndef START
#define START 1
#endif
#ifndef PAGES
#define PAGES 2
#endif
#ifndef BYTES
#define BYTES 2
#endif

#define NODES 3
#ifdef PAIR
#define LAST 1
#define ALL 3 // as a set
#else
#define LAST 2
#define ALL 7
#endif
#define NOBODY 3
#define ON_WAY 4 // a token
#ifndef MEMBERS
#define DIRECTORY 0
#endif
#define STAYS 2 // `moves` of a page that has its owner for good
#define QUEUE 8

#define ABSENT 0
#define CLEAN 1
#define DIRTY 2
#define EXCLUSIVE 3

// Messages have five fields:
//   FETCH        requester, page, whether the other one is wanted, too; epoch of the hint followed
//   GRANT        page, whether it answers a fetch of the receiver
//   PAGE         page, contents, owned (bit 7) and moves, epoch, version
//   REFRESH      page, base, whether the other one is wanted, too, and its base
//   REFRESHED    page, diff, epoch, version
//   DONE         page
//   UPDATE       page, diff, round
//   ACK          page, version, round
//   OWNER_IS     page, epoch, which block
//   TOLD         token or NOBODY, notices, counts, -, which block the notices are of
//   ATOMIC       requester, notices, counts, epoch of the hint followed
//   ATOMIC_DONE  -, notices, counts
// A diff is mask * 16 + value. Notices and counts are packed: PACK. Counts of the third byte, or of
// atomic operations, are a field of their own.
//   GIVEN        page, contents, -, epoch, version
//   CLOSE, GONE, NEW, ANSWER  of a block: blocks.pml
mtype = { FETCH, GRANT, PAGE, REFRESH, REFRESHED, DONE, UPDATE, ACK, OWNER_IS,
          TOLD, ATOMIC, ATOMIC_DONE, GIVEN, CLOSE, GONE, NEW, ANSWER };

chan wire[9] = [QUEUE] of { mtype, byte, byte, byte, byte, byte };
#define WIRE(from, to) wire[(from) * 3 + (to)]

// What a node knows about a page: the table of section 1.
#define SIZE 6 // room for two pages
#define AT(x, p) ((x) * PAGES + (p))
byte state[SIZE];
bit is_owner[SIZE];
byte hint[SIZE] = NOBODY;
byte epoch[SIZE];
byte version[SIZE];
byte base[SIZE];
byte moves[SIZE];
bit fetching[SIZE];
byte in_flight[SIZE];
byte mem[SIZE];      // bits 0, 1, 2: bytes; 2 and 3: the counter
byte twin[SIZE];
bit listed[SIZE];    // an owner's page that the next release looks at
bit stale[SIZE];     // absent, with the bytes of version `base`
byte notice[SIZE];   // the latest version that was heard of
bit notice_of[SIZE]; // of which block
bit has_owner_update[SIZE];

// At the owner that stays: the version that changed a byte last (bits 2 and 3 of the first page are one
// line), and from which on that is known.
byte line[4];
byte since[PAGES];
bit is_followed[PAGES];

// Diffs of a node that are not acknowledged: of the release under way, of the next.
byte out[NODES];
byte out_next[NODES];
bit round[NODES]; // which of two these are of
bit releasing[NODES];

// The program. `unreleased` of a byte: its last write is released (0), not (1),
// or covered by a release under way (2).
byte token[BYTES] = NOBODY; // nobody: anybody may take it
byte count[BYTES]; // of writes
byte unreleased[BYTES];
#ifdef SCOPE
byte list_of[BYTES];      // where the token is: the version of its byte's page
bit is_written[BYTES];    // since the token came, and was seen to be
#endif
byte heard[NODES] = 7; // of the last write: a bit for each byte
bit in_atomic[NODES];
byte performed;        // atomic operations,
byte knows[NODES];     // and of how many a node has heard
byte n_writes, n_fetches, n_releases, n_tells, n_atomics;

bit touched[PAGES];
byte moving[PAGES];

#ifdef FREED
#define IS_OF_PAGE(type)                                                       \
    (type != OWNER_IS && type != TOLD && type != CLOSE && type != GONE &&      \
     type != NEW && type != ANSWER)
#define SAY(src, dst, type) send(src, dst, type, 0, 0, 0, 0, 0)
#if defined(M_CLOSED_TOO_EARLY) || defined(M_RELEASED_WHEN_CLOSED)
#define MAY_BREAK_B1 // the mutant is to show what comes of it: old bytes
#endif
#include "blocks.pml"
#else
#define IS_USED_NOW true
#define IS_KNOWN(x, serial) true
#define SERIAL(x) 0
#endif
#define IS_WRITABLE(at) (is_owner[at] && (state[at] == EXCLUSIVE || state[at] == DIRTY))
#include "members.pml"

hidden mtype kind;
hidden byte a, b, c, d, e, v, w, n, m, q;
hidden byte t_notices, t_counts, t_more;
byte coin; // a free choice of the step under way; 0 between steps

#define BIT(n) (1 << (n))
#define MERGE(old, diff)                                                       \
    (((old) & ~((diff) >> 4)) | ((diff) & 15 & ((diff) >> 4)))
#define DIFF(page, twin) ((((page) ^ (twin)) << 4) | (page))
#define COUNT(page) ((page) >> 2)
#define VALUE(k) (count[k] & 1)
#define PACK(x, y) ((x) | (y) << 4)
#define FIRST(packed) ((packed) & 15)
#define SECOND(packed) ((packed) >> 4)
#define UNKNOWN 15 // no number of writes

#if PAGES == 1
#define PAGE_OF(k) 0
#define NOTICES(x) notice[x]
#define NOTICES_OF(x) notice_of[x]
#define OTHER(p) 0
#else
#define PAGE_OF(k) ((k) == BYTES - 1)
#define NOTICES(x) PACK(notice[AT(x, 0)], notice[AT(x, 1)])
#define NOTICES_OF(x) (notice_of[AT(x, 0)] | notice_of[AT(x, 1)] << 1)
#define OTHER(p) (1 - (p))
#endif

#define IS_IN(k, p) (PAGE_OF(k) == (p))
#define QUIET                                                                  \
    (len(wire[0]) + len(wire[1]) + len(wire[2]) + len(wire[3]) +               \
         len(wire[4]) + len(wire[5]) + len(wire[6]) + len(wire[7]) +           \
         len(wire[8]) == 0)
#define IS_UNTOUCHED(x, p)                                                     \
    (x == DIRECTORY && !is_owner[AT(x, p)] && epoch[AT(x, p)] == 0)
#define ROUTE(x, p)                                                            \
    (is_owner[AT(x, p)] -> x :                                                 \
     (hint[AT(x, p)] == NOBODY -> DIRECTORY : hint[AT(x, p)]))

// ---- mutants

#ifdef M_NOTICE_OF_ANOTHER_BLOCK
#define IS_OF_BLOCK(x, p) true
#define IS_LATER(x, p, ver, serial) ((ver) > notice[AT(x, p)])
#else
#define IS_OF_BLOCK(x, p) (notice_of[AT(x, p)] == SERIAL(x))
#define IS_LATER(x, p, ver, serial)                                            \
    ((serial) > notice_of[AT(x, p)] ||                                         \
     ((serial) == notice_of[AT(x, p)] && (ver) > notice[AT(x, p)]))
#endif
#ifdef M_MOVES_UNRELEASED
#define HAS_RELEASED_ITS_WRITES(k) true
#else
#define HAS_RELEASED_ITS_WRITES(k) (unreleased[k] == 0)
#endif
#ifdef M_NOT_FRESH
#define IS_FRESH(x, p, ver) true
#else
#define IS_FRESH(x, p, ver) (notice[AT(x, p)] <= (ver) || !IS_OF_BLOCK(x, p))
#endif
#ifdef M_MOVES_ON
#define MAY_MOVE(x, p) (!listed[AT(x, p)] && moves[AT(x, p)] <= STAYS)
#else
#define MAY_MOVE(x, p) (moves[AT(x, p)] == 0 && !listed[AT(x, p)])
#endif
#ifdef M_NOT_LISTED
#define LOOK_AT(x, p) listed[AT(x, p)]
#else
#define LOOK_AT(x, p) 1
#endif
#ifdef M_SEND_PAGE_NOT_TWIN
#define RELEASED(x, p) mem[AT(x, p)]
#else
#define RELEASED(x, p)                                                         \
    (state[AT(x, p)] == DIRTY -> twin[AT(x, p)] : mem[AT(x, p)])
#endif
#ifdef M_NOT_WAITING
#define ARE_THERE(x) true
#else
#define ARE_THERE(x) (out[x] == 0)
#endif
#ifdef M_NOTICES_STAY
#define TOLD_NOTICES(x) 0
#else
#define TOLD_NOTICES(x) NOTICES(x)
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
#ifdef SCOPE
    const char *const model_protocol = "scope";
#else
    const char *const model_protocol = "lazy-release";
#endif

    void model_record(int x, int p, int *to)
    {
        const int at = AT(x, p);

        to[AT_STATE] = now.state[at];
        to[AT_OWNER] = now.is_owner[at];
        to[AT_HINT] = now.is_owner[at]         ? x + 1
                      : now.hint[at] == NOBODY ? 0
                                               : now.hint[at] + 1;
        to[AT_EPOCH] = now.epoch[at];
        to[AT_FETCHING] = now.fetching[at];
        to[AT_MOVES] = now.moves[at] == STAYS ? 255 : now.moves[at];
        to[AT_VERSION] = now.version[at];
        to[AT_BASE] = now.base[at];
        to[AT_IN_FLIGHT] = now.in_flight[at];
        to[AT_LISTED] = now.listed[at] || now.state[at] == DIRTY;
    }
};

hidden byte s_node, s_page, s_event, s_from, s_who, s_facts, s_version, s_epoch;
hidden byte s_sends, s_to, s_is_allowed;

inline step_begins(x, p)
{
    s_node = x;
    s_page = p;
    c_code { model_begins(s_node, s_page); };
}

// Of a message, what the table calls it.
#define SENDS(type, f3)                                                        \
    (type == FETCH || type == REFRESH -> SENDS_FETCH :                         \
     (type == GIVEN -> SENDS_GIVEN :                                           \
     (type == PAGE -> (f3 >= 128 -> SENDS_AWAY : SENDS_COPY) :                 \
      (type == REFRESHED -> SENDS_COPY :                                       \
       (type == GRANT -> SENDS_GRANT :                                         \
        (type == UPDATE -> SENDS_DIFF : SENDS_NOTHING))))))

inline step_sends(type, f3, dst)
{
    s_sends = SENDS(type, (f3));
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
inline step_begins(x, p) { skip }
inline step_sends(type, f3, dst) { skip }
inline step_ends(event, from, who, facts, ver, ep) { skip }
inline step_so_far(event, from, who, facts, ver, ep) { skip }
#endif

// ---- checks

#define IS_USED(x, p) (state[AT(x, p)] != ABSENT)
#define IS_GOOD(x, k)                                                          \
    (!IS_USED(x, PAGE_OF(k)) || !(heard[x] & BIT(k)) ||                        \
     ((mem[AT(x, PAGE_OF(k))] >> (k)) & 1) == VALUE(k))
#define COUNTS(x) (!IS_USED(x, 0) || COUNT(mem[AT(x, 0)]) >= knows[x])
#define IS_STALE_RIGHTLY(at) (!stale[at] || (state[at] == ABSENT && !is_owner[at]))

// N1 of src/protocol/notices.c
#define HAS_VERSION(o, x, p)                                                   \
    (!is_owner[AT(o, p)] || !IS_OF_BLOCK(x, p) ||                              \
     notice[AT(x, p)] <= version[AT(o, p)])
#define IS_THERE(x, p)                                                         \
    (HAS_VERSION(0, x, p) && HAS_VERSION(1, x, p) && HAS_VERSION(2, x, p))

inline check_page(p)
{
    assert(IS_THERE(0, p) && IS_THERE(1, p) && IS_THERE(2, p)); // N1
    assert(is_owner[AT(0, p)] + is_owner[AT(1, p)] + is_owner[AT(2, p)] +
               moving[p] == touched[p]); // E1
    assert(IS_STALE_RIGHTLY(AT(0, p)) && IS_STALE_RIGHTLY(AT(1, p)) &&
           IS_STALE_RIGHTLY(AT(2, p))); // Y1
    assert(!QUIET || (fetching[AT(0, p)] + fetching[AT(1, p)] +
                          fetching[AT(2, p)] + in_flight[AT(0, p)] +
                          in_flight[AT(1, p)] + in_flight[AT(2, p)] ==
                      0)); // progress
}

inline check_byte(k)
{
    assert(IS_GOOD(0, k) && IS_GOOD(1, k) && IS_GOOD(2, k)); // heard
}

inline check_uses()
{
    check_byte(0);
    check_byte(1);
#if BYTES == 3
    check_byte(2);
#endif
#if ATOMICS > 0
    assert(COUNTS(0) && COUNTS(1) && COUNTS(2)); // knows
#endif
    check_page(0);
#if PAGES == 2
    check_page(1);
#endif
}

inline check()
{
    coin = 0;
    if
    :: IS_USED_NOW -> check_uses();
    :: else -> assert(!QUIET); // progress
    fi;
    assert(!QUIET || (releasing[0] + releasing[1] + releasing[2] +
                          in_atomic[0] + in_atomic[1] + in_atomic[2] ==
                      0)); // progress
}

// ---- pieces

inline send(src, dst, type, f1, f2, f3, f4, f5)
{
    assert(dst < NODES && len(WIRE(src, dst)) < QUEUE);
    assert(IS_LIVE(dst)); // gone
    printf("    %d -> %d: %e %d %d %d %d\n", src, dst, type, f1, f2, f3, f4);
    step_sends(type, f3, dst);
#ifdef FREED
    n_on_way = n_on_way + IS_OF_PAGE(type);
#endif
    WIRE(src, dst)!type, f1, f2, f3, f4, f5;
}

inline become_absent(at)
{
    state[at] = ABSENT;
    mem[at] = 0;
    twin[at] = 0;
    base[at] = 0;
    stale[at] = 0;
}

#ifdef FREED
#define HAS_ANSWERS(x, p) (!fetching[AT(x, p)] && in_flight[AT(x, p)] == 0)
#define IS_FINISHED(x)                                                         \
    (HAS_ANSWERS(x, 0) && HAS_ANSWERS(x, PAGES - 1) && out[x] == 0 &&          \
     out_next[x] == 0)

inline close_page(x, p)
{
    step_begins(x, p);
#ifndef M_RELEASED_WHEN_CLOSED
    listed[AT(x, p)] = 0;
    if
    :: state[AT(x, p)] == DIRTY -> state[AT(x, p)] = CLEAN; twin[AT(x, p)] = 0;
    :: else
    fi;
#endif
    step_ends(ON_CLOSED, 0, 0, 0, 0, 0);
}

inline close_pages(x)
{
    close_page(x, 0);
#if PAGES == 2
    close_page(x, 1);
#endif
}

inline forget_page(x, p)
{
    become_absent(AT(x, p));
    hint[AT(x, p)] = NOBODY;
    epoch[AT(x, p)] = 0;
    is_owner[AT(x, p)] = 0;
    version[AT(x, p)] = 0;
    moves[AT(x, p)] = 0;
    listed[AT(x, p)] = 0;
    if
    :: notice_of[AT(x, p)] == 0 -> notice[AT(x, p)] = 0;
    :: else
    fi
}

inline forget_pages(x)
{
    forget_page(x, 0);
#if PAGES == 2
    forget_page(x, 1);
#endif
}

// Nobody tells of these numbers of writes but who knows the new block.
inline begin_anew()
{
    n = 0;
    do
    :: n < BYTES ->
        token[n] = NOBODY;
        unreleased[n] = 0;
        count[n] = (count[n] | 1) + 1;
        n++
    :: else -> break
    od;
    n = 0;
    do
    :: n < PAGES ->
        touched[n] = 0;
        moving[n] = 0;
        is_followed[n] = 0;
        since[n] = 0;
        n++
    :: else -> break
    od;
    n = 0;
    do
    :: n < 4 -> line[n] = 0; n++
    :: else -> break
    od;
    n = 0;
    do
    :: n < NODES -> heard[n] = 7; n++
    :: else -> break
    od
}

#include "blocks.pml"
#endif

inline take_ownership(x, p, from, ep, ver, mov)
{
    moving[p]--;
    is_owner[AT(x, p)] = 1;
    epoch[AT(x, p)] = ep;
    version[AT(x, p)] = ver;
    base[AT(x, p)] = 0;
    moves[AT(x, p)] = mov;
    hint[AT(x, p)] = NOBODY;
    stale[AT(x, p)] = 0;
    has_owner_update[AT(x, p)] = (x != DIRECTORY && from != DIRECTORY);
}

inline learn_owner(at, who, ep)
{
    if
    :: ep > epoch[at] -> hint[at] = who; epoch[at] = ep;
    :: else
    fi
}

// ---- versions, at the owner

inline note(x, p, ver)
{
    if
    :: IS_LATER(x, p, ver, SERIAL(x)) ->
        notice[AT(x, p)] = ver;
        notice_of[AT(x, p)] = SERIAL(x);
    :: else
    fi
}

#if ATOMICS > 0
#define IS_LINE(k, p) ((k) < BYTES && IS_IN(k, p) || (k) >= 2 && (p) == 0)
#else
#define IS_LINE(k, p) ((k) < BYTES && IS_IN(k, p))
#endif

// All lines of the page, of which nothing is known from before.
inline know_nothing(p, ver)
{
    since[p] = ver;
    n = 0;
    do
    :: n < 4 ->
        if
        :: IS_LINE(n, p) -> line[n] = ver;
        :: else
        fi;
        n++
    :: else -> break
    od
}

inline know_diff(p, diff, ver)
{
    n = 0;
    do
    :: n < 4 ->
#ifdef M_LINE_STAYS_OLD
        if
        :: ((diff) >> 4) & BIT(n) && line[n] == since[p] -> line[n] = ver;
#else
        if
        :: ((diff) >> 4) & BIT(n) -> line[n] = ver;
#endif
        :: else
        fi;
        n++
    :: else -> break
    od
}

// The owner has written it, nobody knows what.
inline make_version(x, p)
{
    version[AT(x, p)]++;
#ifndef M_UNSEEN_WRITES
    know_nothing(p, version[AT(x, p)]);
#endif
    if
    :: moves[AT(x, p)] == STAYS -> note(x, p, version[AT(x, p)]);
    :: else
    fi
}

inline make_version_of(x, p, diff)
{
    version[AT(x, p)]++;
    know_diff(p, diff, version[AT(x, p)]);
    if
    :: moves[AT(x, p)] == STAYS -> note(x, p, version[AT(x, p)]);
    :: else
    fi
}

// What changed after a version; all that is in the page if that is not known.
inline find_changes(p, from_version)
{
    w = 0;
    n = 0;
    do
    :: n < 4 ->
        if
        :: IS_LINE(n, p) && (coin || since[p] > from_version ||
                             line[n] > from_version) -> w = w | BIT(n);
        :: else
        fi;
        n++
    :: else -> break
    od
}

// ---- fetching

// An owner that is asked for the page: it goes, or a copy does.
inline seal(x, p)
{
    moves[AT(x, p)] = STAYS;
    if
    :: state[AT(x, p)] == EXCLUSIVE ->
#if !defined(M_NOT_SEALED) && !defined(SCOPE)
        if
        :: listed[AT(x, p)] -> make_version(x, p);
        :: else
        fi;
#endif
#ifndef M_STAYS_EXCLUSIVE
        state[AT(x, p)] = CLEAN;
#endif
    :: else
    fi;
    if
    :: !is_followed[p] ->
        know_nothing(p, version[AT(x, p)]);
        is_followed[p] = 1;
    :: else
    fi
}

inline serve(x, p, requester)
{
    if
    :: state[AT(x, p)] == EXCLUSIVE && MAY_MOVE(x, p) ->
        send(x, requester, PAGE, p, mem[AT(x, p)], 128 + 1, epoch[AT(x, p)] + 1,
             version[AT(x, p)]);
        moving[p]++;
        is_owner[AT(x, p)] = 0;
        version[AT(x, p)] = 0;
        moves[AT(x, p)] = 0;
        become_absent(AT(x, p));
        hint[AT(x, p)] = requester;
        epoch[AT(x, p)]++;
    :: else ->
        seal(x, p);
        v = RELEASED(x, p);
        send(x, requester, PAGE, p, v, 0, epoch[AT(x, p)], version[AT(x, p)]);
    fi
}

inline grant(x, p, requester, is_fetch)
{
    touched[p] = 1;
    moving[p]++;
    hint[AT(x, p)] = requester;
    epoch[AT(x, p)] = 1;
    send(x, requester, GRANT, p, is_fetch, 0, 0, 0);
}

// Of a group, the page that is only ahead. FETCH_DONE if it is not to be had at once.
inline serve_ahead(x, p, requester, may_grant)
{
    step_begins(x, p);
    if
    :: is_owner[AT(x, p)] && requester != x -> serve(x, p, requester);
    :: may_grant && IS_UNTOUCHED(x, p) -> grant(x, p, requester, 1);
    :: else -> send(x, requester, DONE, p, 0, 0, 0, 0);
    fi;
    step_ends(ON_FETCH, requester, requester, IS_AHEAD, 0, 0);
}

inline on_fetch(x, requester, p, ahead, followed)
{
    step_begins(x, p);
    m = 0; // whether the other page is looked at here, 2: may be granted
    if
    :: is_owner[AT(x, p)] && requester != x -> serve(x, p, requester); m = 1;
    :: is_owner[AT(x, p)] && requester == x ->
        assert(fetching[AT(x, p)]);
        fetching[AT(x, p)] = 0;
        m = 1;
    :: IS_UNTOUCHED(x, p) -> grant(x, p, requester, 1); m = 2;
    :: else ->
        assert(hint[AT(x, p)] != NOBODY && epoch[AT(x, p)] > followed); // H2
        send(x, hint[AT(x, p)], FETCH, requester, p, ahead, epoch[AT(x, p)], 0);
    fi;
    step_ends(ON_FETCH, requester, requester, 0, 0, 0);
    if
    :: ahead && m > 0 -> q = OTHER(p); serve_ahead(x, q, requester, (m == 2));
    :: else
    fi
}

inline on_grant(x, p, answers)
{
    step_begins(x, p);
    assert(state[AT(x, p)] == ABSENT);
    state[AT(x, p)] = EXCLUSIVE;
    take_ownership(x, p, DIRECTORY, 1, 0, 0);
    if
    :: answers -> fetching[AT(x, p)] = 0;
    :: else
    fi;
    step_ends(ON_GRANT, DIRECTORY, x, 0, 0, 0);
}

// Z3: too old, and asked for again if a thread waits for it.
inline on_page(x, from, p, contents, owned, ep, ver)
{
    step_begins(x, p);
    assert(state[AT(x, p)] == ABSENT && fetching[AT(x, p)]);
    fetching[AT(x, p)] = 0;
    if
    :: owned ->
        mem[AT(x, p)] = contents;
        state[AT(x, p)] = EXCLUSIVE;
        take_ownership(x, p, from, ep, ver, owned & 7);
        base[AT(x, p)] = ver;
        step_ends(ON_PAGE, from, x, WITH_CONTENTS + WITH_OWNERSHIP, ver, ep);
        base[AT(x, p)] = 0;
    :: !owned && IS_FRESH(x, p, ver) ->
        mem[AT(x, p)] = contents;
        base[AT(x, p)] = ver;
        stale[AT(x, p)] = 0;
        state[AT(x, p)] = CLEAN;
        learn_owner(AT(x, p), from, ep);
        step_ends(ON_PAGE, from, x, WITH_CONTENTS + IS_NOT_PUSHED_TO, ver, ep);
    :: else ->
        step_ends(ON_PAGE, from, x,
                  WITH_CONTENTS + IS_NOT_PUSHED_TO + IS_TOO_OLD, ver, ep);
    fi
}

// ---- stale copies

inline refresh(x, p, from_version, requester, facts)
{
    step_begins(x, p);
    assert(is_owner[AT(x, p)]); // Z7, Y2
    seal(x, p);
    find_changes(p, from_version);
    v = (w << 4) | RELEASED(x, p);
    send(x, requester, REFRESHED, p, v, 0, epoch[AT(x, p)], version[AT(x, p)]);
    step_ends(ON_FETCH, requester, requester, facts, 0, 0);
}

inline on_refresh(x, requester, p, from_version, ahead, base_ahead)
{
    refresh(x, p, from_version, requester, 0);
    if
    :: ahead -> q = OTHER(p); refresh(x, q, base_ahead, requester, IS_AHEAD);
    :: else
    fi
}

// If it is too old it stays stale, but of that version.
inline on_refreshed(x, from, p, diff, ep, ver)
{
    step_begins(x, p);
    assert(state[AT(x, p)] == ABSENT && fetching[AT(x, p)] && stale[AT(x, p)]);
    fetching[AT(x, p)] = 0;
    mem[AT(x, p)] = MERGE(mem[AT(x, p)], diff);
    base[AT(x, p)] = ver;
    if
    :: IS_FRESH(x, p, ver) ->
        stale[AT(x, p)] = 0;
        state[AT(x, p)] = CLEAN;
        learn_owner(AT(x, p), from, ep);
        step_ends(ON_PAGE, from, x, WITH_CONTENTS + IS_NOT_PUSHED_TO, ver, ep);
    :: else ->
        step_ends(ON_PAGE, from, x,
                  WITH_CONTENTS + IS_NOT_PUSHED_TO + IS_TOO_OLD, ver, ep);
    fi
}

// ---- releases

inline send_diff(x, p, of_round)
{
    w = DIFF(mem[AT(x, p)], twin[AT(x, p)]);
    in_flight[AT(x, p)]++;
    v = ROUTE(x, p);
    send(x, v, UPDATE, p, w, of_round, 0, 0);
}

// A dirty copy that is to be written no more: M4, Z4.
inline release_now(x, p)
{
    if
    :: state[AT(x, p)] == DIRTY ->
#ifndef M_NO_LAST_DIFF
        if
        :: mem[AT(x, p)] != twin[AT(x, p)] ->
            if
#ifdef M_LAST_DIFFS_DO_NOT_COUNT
            :: releasing[x] || round[x] <= 1 ->
#else
            :: releasing[x] ->
#endif
                send_diff(x, p, !round[x]);
                out_next[x]++;
            :: else -> send_diff(x, p, round[x]); out[x]++;
            fi
        :: else
        fi;
#endif
        state[AT(x, p)] = CLEAN;
        twin[AT(x, p)] = 0;
        step_ends(ON_RELEASED, x, x, 0, 0, 0);
    :: else
    fi
}

#ifdef SCOPE
#define IS_DROPPED true
#else
#define IS_DROPPED coin
#endif

inline make_stale(x, p)
{
    release_now(x, p);
    if
    :: IS_DROPPED -> become_absent(AT(x, p));
    :: else ->
        state[AT(x, p)] = ABSENT;
        stale[AT(x, p)] = 1;
#ifdef M_STALE_OF_THE_NOTICE
        base[AT(x, p)] = notice[AT(x, p)];
#endif
    fi;
    step_ends(ON_DROPS, x, x, 0, 0, 0);
}

inline end_release_if_done(x)
{
    if
    :: releasing[x] && ARE_THERE(x) ->
        releasing[x] = 0;
        n = 0;
        do
        :: n < BYTES ->
            if
            :: token[n] == x && unreleased[n] == 2 -> unreleased[n] = 0;
            :: else
            fi;
            n++
        :: else -> break
        od
    :: else
    fi;
    if
    :: out[x] == 0 ->
        round[x] = (out_next[x] > 0 -> !round[x] : 0);
        out[x] = out_next[x];
        out_next[x] = 0;
    :: else
    fi
}

inline on_ack(x, p, ver)
{
    step_begins(x, p);
    note(x, p, ver);
    if
    :: base[AT(x, p)] + 1 == ver -> base[AT(x, p)] = ver;
#ifndef M_BASE_IS_LATEST
    :: base[AT(x, p)] + 1 < ver && state[AT(x, p)] != ABSENT ->
        make_stale(x, p); // Z5
#else
    :: base[AT(x, p)] + 1 < ver -> base[AT(x, p)] = ver;
#endif
    :: else
    fi;
    step_so_far(ON_APPLIED, x, x, 0, 0, 0);
    in_flight[AT(x, p)]--;
    step_ends(ON_ACKNOWLEDGED, x, x, 0, 0, 0);
}

inline apply(x, from, p, diff, of_round)
{
    step_begins(x, p);
    assert(is_owner[AT(x, p)]); // Z7
    mem[AT(x, p)] = MERGE(mem[AT(x, p)], diff);
    if
#ifndef M_NOT_TO_TWIN
    :: state[AT(x, p)] == DIRTY ->
        twin[AT(x, p)] = MERGE(twin[AT(x, p)], diff);
#endif
    :: else
    fi;
    version[AT(x, p)]++;
    know_diff(p, diff, version[AT(x, p)]);
    send(x, from, ACK, p, version[AT(x, p)], of_round, 0, 0);
    step_ends(ON_DIFF, from, from, 0, 0, 0);
}

inline on_update(x, from, p, diff, of_round)
{
#ifdef MAY_BREAK_B1
    if
    :: known[x] == NONE -> send(x, from, ACK, p, 0, of_round, 0, 0);
    :: else -> apply(x, from, p, diff, of_round);
    fi
#else
    apply(x, from, p, diff, of_round);
#endif
}

// ---- what orders

// What x has heard of and released: how often byte k has been written, if it knows.
#define TELLS_OF(x, k)                                                         \
    ((token[k] == x -> unreleased[k] == 0 : (heard[x] & BIT(k)) != 0) ->       \
         count[k] : UNKNOWN)
#define TOLD_COUNTS(x) PACK(TELLS_OF(x, 0), TELLS_OF(x, 1))
#if BYTES == 3
#define TOLD_MORE(x) TELLS_OF(x, 2)
#else
#define TOLD_MORE(x) knows[x]
#endif

// What it says to another node.
inline prepare_to_tell(x)
{
    t_notices = TOLD_NOTICES(x);
    t_counts = TOLD_COUNTS(x);
    t_more = TOLD_MORE(x);
}

#ifdef FREED
#define IS_IN_A_BLOCK(x) (known[x] != NONE)
#else
#define IS_IN_A_BLOCK(x) true
#endif

inline hear_notice(x, p, ver, serial)
{
    step_begins(x, p);
    if
    :: (ver) > 0 && IS_LATER(x, p, ver, serial) ->
        notice[AT(x, p)] = ver;
        notice_of[AT(x, p)] = serial;
        if
        :: IS_IN_A_BLOCK(x) && IS_OF_BLOCK(x, p) &&
           state[AT(x, p)] != ABSENT && !is_owner[AT(x, p)] &&
           ver > base[AT(x, p)] ->
#ifndef M_NOT_STALE
            make_stale(x, p);
#endif
        :: else
        fi
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

inline hear(x, notices, counts, more, serials)
{
    hear_notice(x, 0, FIRST(notices), ((serials) & 1));
#if PAGES == 2
    hear_notice(x, 1, SECOND(notices), ((serials) >> 1));
#endif
    hear_count(x, 0, FIRST(counts));
    hear_count(x, 1, SECOND(counts));
#if BYTES == 3
    hear_count(x, 2, more);
#else
    knows[x] = (more > knows[x] -> more : knows[x]);
#endif
}

// ---- atomic operations: one is added to the counter

inline on_atomic(x, requester, followed)
{
    step_begins(x, 0);
    if
    :: is_owner[AT(x, 0)] ->
        performed++;
        assert(performed == COUNT(mem[AT(x, 0)]) + 1); // the owner misses none
        w = (12 << 4) | (performed << 2);
        mem[AT(x, 0)] = MERGE(mem[AT(x, 0)], w);
        if
        :: state[AT(x, 0)] == DIRTY ->
            twin[AT(x, 0)] = MERGE(twin[AT(x, 0)], w);
        :: else
        fi;
#ifndef M_ATOMIC_MAKES_NO_VERSION
        make_version_of(x, 0, w);
#endif
        knows[x] = performed;
        prepare_to_tell(x);
        send(x, requester, ATOMIC_DONE, 0, t_notices, t_counts, t_more, 0);
    :: IS_UNTOUCHED(x, 0) ->
        grant(x, 0, requester, 0);
        prepare_to_tell(x);
        send(x, requester, ATOMIC, requester, t_notices, t_counts, t_more, 1);
    :: else ->
        assert(hint[AT(x, 0)] != NOBODY && epoch[AT(x, 0)] > followed); // H2
        prepare_to_tell(x);
        send(x, hint[AT(x, 0)], ATOMIC, requester, t_notices, t_counts, t_more, epoch[AT(x, 0)]);
    fi;
    step_ends(ON_ATOMIC, requester, requester, 0, 0, 0);
}

// ---- nodes come and go

#ifdef MEMBERS
#define HAS_ANSWERS(x, p) (!fetching[AT(x, p)] && in_flight[AT(x, p)] == 0)
#define IS_AT_REST(x) (!releasing[x] && out[x] == 0 && out_next[x] == 0)
#define IS_FINISHED(x)                                                         \
    (HAS_ANSWERS(x, 0) && HAS_ANSWERS(x, PAGES - 1) && IS_AT_REST(x) &&        \
     !in_atomic[x])
#define HAS_UPDATES(x)                                                         \
    (has_owner_update[AT(x, 0)] || has_owner_update[AT(x, PAGES - 1)])
#define HAS_RELEASED_ALL(x) (!HAS_UNRELEASED(x) && !in_atomic[x])

// Z8
inline clean_page(x, p)
{
    step_begins(x, p);
    if
#ifndef M_STAYS_DIRTY
    :: !is_owner[AT(x, p)] -> release_now(x, p);
#endif
    :: else
    fi
}

inline clean_pages(x)
{
    clean_page(x, 0);
#if PAGES == 2
    clean_page(x, 1);
#endif
}

// Copies are dropped, stale ones too, and notices are forgotten.
inline forget_copy(x, p)
{
    notice[AT(x, p)] = 0;
    if
    :: stale[AT(x, p)] -> become_absent(AT(x, p));
    :: else
    fi;
#ifndef M_COPIES_STAY_BEHIND_A_CHANGE
    step_begins(x, p);
    if
    :: !is_owner[AT(x, p)] -> become_absent(AT(x, p));
    :: else
    fi;
    step_so_far(ON_DROPS, x, x, 0, 0, 0);
#endif
}

inline forget_copies(x)
{
    forget_copy(x, 0);
#if PAGES == 2
    forget_copy(x, 1);
#endif
}

// What is known of changes, and of what was written under mutexes.
inline forget_records()
{
    n = 0;
    do
    :: n < PAGES -> is_followed[n] = 0; n++
    :: else -> break
    od;
#ifdef SCOPE
    n = 0;
    do
    :: n < BYTES -> list_of[n] = 0; is_written[n] = 0; n++
    :: else -> break
    od
#endif
}

inline forget_hint(x, p, leaver)
{
    step_begins(x, p);
    if
#ifndef M_LEAVER_IS_ASKED
    :: !is_owner[AT(x, p)] && hint[AT(x, p)] == leaver ->
        hint[AT(x, p)] = NOBODY; // K3
#endif
    :: else
    fi;
    step_so_far(ON_FORGETS, leaver, leaver, 0, 0, 0);
}

inline forget_leaver(x, leaver)
{
    forget_hint(x, 0, leaver);
#if PAGES == 2
    forget_hint(x, 1, leaver);
#endif
}

// Nobody is known to have a copy, so the directory node gets the page.
inline give_page(x, p)
{
    step_begins(x, p);
    if
    :: is_owner[AT(x, p)] ->
        v = directory;
        send(x, v, GIVEN, p, mem[AT(x, p)], 0, epoch[AT(x, p)] + 1,
             version[AT(x, p)]);
        is_owner[AT(x, p)] = 0;
        moving[p]++;
        epoch[AT(x, p)]++;
        hint[AT(x, p)] = v;
        version[AT(x, p)] = 0;
        moves[AT(x, p)] = 0;
        become_absent(AT(x, p));
        step_ends(ON_GIVES, x, v, 0, 0, 0);
        listed[AT(x, p)] = 0;
    :: else
    fi
}

inline give_pages(x)
{
    give_page(x, 0);
#if PAGES == 2
    give_page(x, 1);
#endif
}

inline on_given(x, p, from, contents, ep, ver)
{
    step_begins(x, p);
    if
    :: state[AT(x, p)] == ABSENT -> mem[AT(x, p)] = contents;
    :: else
    fi;
    state[AT(x, p)] = EXCLUSIVE;
    take_ownership(x, p, from, ep, ver, 0);
    base[AT(x, p)] = ver;
    has_owner_update[AT(x, p)] = (x != directory && from != directory);
    step_ends(ON_GIVEN, from, x, IS_FROZEN, ver, ep);
    base[AT(x, p)] = 0;
}

inline know_nothing_of_page(x, p)
{
    hint[AT(x, p)] = NOBODY;
    epoch[AT(x, p)] = 0;
}

inline know_nothing_of_pages(x)
{
    know_nothing_of_page(x, 0);
#if PAGES == 2
    know_nothing_of_page(x, 1);
#endif
}

inline tell_new_directory(x)
{
    has_owner_update[AT(x, 0)] = (is_owner[AT(x, 0)] && directory != x);
#if PAGES == 2
    has_owner_update[AT(x, 1)] = (is_owner[AT(x, 1)] && directory != x);
#endif
}

#include "members.pml"
#endif

// ---- what happens at a node

inline receive(x, from)
{
    WIRE(from, x)?kind, a, b, c, d, e;
    printf("%d: %e from %d: %d %d %d %d %d\n", x, kind, from, a, b, c, d, e);
#ifdef FREED
    n_on_way = n_on_way - IS_OF_PAGE(kind);
#endif
    if
    :: kind == FETCH -> on_fetch(x, a, b, c, d);
    :: kind == GRANT -> on_grant(x, a, b);
    :: kind == PAGE -> on_page(x, from, a, b, c, d, e);
    :: kind == REFRESH -> on_refresh(x, from, a, b, c, d);
    :: kind == REFRESHED -> on_refreshed(x, from, a, b, d, e);
    :: kind == DONE ->
        step_begins(x, a);
        assert(fetching[AT(x, a)]);
        fetching[AT(x, a)] = 0;
        step_ends(ON_SETTLED, from, 0, 0, 0, 0);
    :: kind == UPDATE -> on_update(x, from, a, b, c);
#ifdef MEMBERS
    :: kind == GIVEN -> on_given(x, a, from, b, d, e);
#endif
    :: kind == ACK ->
        on_ack(x, a, b);
        if
        :: c == round[x] -> out[x]--;
        :: else -> out_next[x]--;
        fi;
        end_release_if_done(x);
#ifdef M_OWNER_OF_ANOTHER_BLOCK
    :: kind == OWNER_IS ->
#else
    :: kind == OWNER_IS && IS_KNOWN(x, c) ->
#endif
        step_begins(x, a);
        learn_owner(AT(x, a), from, b);
        step_ends(ON_OWNER_IS, from, 0, 0, 0, b);
#ifdef FREED
    :: kind == OWNER_IS && !IS_KNOWN(x, c)
    :: kind == CLOSE -> on_close(x);
    :: kind == GONE -> on_gone(x);
    :: kind == NEW -> on_new(x);
    :: kind == ANSWER -> on_answer();
#endif
    :: kind == TOLD ->
        hear(x, b, c, d, e);
        if
        :: a != NOBODY -> token[a] = x; heard[x] = heard[x] | BIT(a);
        :: else
        fi
#if ATOMICS > 0
    :: kind == ATOMIC ->
        hear(x, b, c, d, 0);
        on_atomic(x, a, e);
    :: kind == ATOMIC_DONE ->
        hear(x, b, c, d, 0);
        in_atomic[x] = 0;
#endif
    fi;
#ifdef FREED
    answer_if_finished(x);
#endif
    check();
}

// A stale copy that was discarded is asked for as a whole.
#define MAY_FAULT(x, p)                                                        \
    (state[AT(x, p)] == ABSENT && !fetching[AT(x, p)] && n_fetches < FETCHES &&\
     IS_USED_NOW && MAY_ASK(x))
#define MAY_GO_ALONG(x, p)                                                     \
    (PAGES == 2 && state[AT(x, OTHER(p))] == ABSENT &&                         \
     !fetching[AT(x, OTHER(p))] && stale[AT(x, OTHER(p))] == stale[AT(x, p)] &&\
     (stale[AT(x, p)] -> (p == 0 && hint[AT(x, 0)] == hint[AT(x, OTHER(0))]) : \
      (hint[AT(x, OTHER(p))] == NOBODY ||                                      \
       hint[AT(x, OTHER(p))] == ROUTE(x, p))))

inline fault(x, p, ahead)
{
    printf("%d: fault on page %d\n", x, p);
    n_fetches++;
    step_begins(x, p);
    fetching[AT(x, p)] = 1;
    v = ROUTE(x, p);
    q = OTHER(p);
    if
    :: stale[AT(x, p)] ->
        send(x, v, REFRESH, p, base[AT(x, p)], ahead, base[AT(x, q)], 0);
    :: else -> send(x, v, FETCH, x, p, ahead, epoch[AT(x, p)], 0);
    fi;
    step_ends(ON_ASKS, x, x, 0, 0, 0);
#if PAGES == 2
    if
    :: ahead ->
        step_begins(x, q);
        fetching[AT(x, q)] = 1;
        step_sends(FETCH, 0, v);
        step_ends(ON_ASKS, x, x, IS_AHEAD, 0, 0);
    :: else
    fi;
#endif
    check();
}

inline start_atomic(x)
{
    n_atomics++;
    in_atomic[x] = 1;
    v = ROUTE(x, 0);
    prepare_to_tell(x);
    send(x, v, ATOMIC, x, t_notices, t_counts, t_more,
         epoch[AT(x, 0)]);
    check();
}

inline tell_owner(x, p)
{
    has_owner_update[AT(x, p)] = 0;
    if
    :: is_owner[AT(x, p)] ->
        send(x, DIRECTORY, OWNER_IS, p, epoch[AT(x, p)], SERIAL(x), 0, 0);
    :: else
    fi;
    check();
}

// An owner writes it against a twin, or is alone with it until somebody asks.
inline write_byte(x, k, with_twin)
{
    printf("%d: write of byte %d in state %d\n", x, k, state[AT(x, PAGE_OF(k))]);
    step_begins(x, PAGE_OF(k));
    n_writes++;
    if
    :: state[AT(x, PAGE_OF(k))] == CLEAN &&
       (with_twin || !is_owner[AT(x, PAGE_OF(k))]) ->
        state[AT(x, PAGE_OF(k))] = DIRTY;
        twin[AT(x, PAGE_OF(k))] = mem[AT(x, PAGE_OF(k))];
        listed[AT(x, PAGE_OF(k))] = is_owner[AT(x, PAGE_OF(k))];
    :: state[AT(x, PAGE_OF(k))] == CLEAN &&
       !(with_twin || !is_owner[AT(x, PAGE_OF(k))]) ->
        state[AT(x, PAGE_OF(k))] = EXCLUSIVE;
        listed[AT(x, PAGE_OF(k))] = LOOK_AT(x, PAGE_OF(k));
    :: else
    fi;
    mem[AT(x, PAGE_OF(k))] = mem[AT(x, PAGE_OF(k))] ^ BIT(k);
    count[k]++;
    token[k] = x;
    unreleased[k] = 1;
#ifdef SCOPE
    is_written[k] =
        is_written[k] || listed[AT(x, PAGE_OF(k))] || state[AT(x, PAGE_OF(k))] == DIRTY; // U2
#endif
    heard[0] = heard[0] & ~BIT(k);
    heard[1] = heard[1] & ~BIT(k);
    heard[2] = heard[2] & ~BIT(k);
    heard[x] = heard[x] | BIT(k);
    step_so_far(ON_FAULT, x, x, TO_WRITE, 0, 0);
    check();
}

// What a dirty page becomes: clean, or it stays as it is; or an owner's exclusive.
#define BECOMES_CLEAN 0
#define STAYS_DIRTY 1
#define BECOMES_EXCLUSIVE 2

inline release_dirty(x, p, how)
{
    if
    :: is_owner[AT(x, p)] && how == BECOMES_EXCLUSIVE ->
        state[AT(x, p)] = EXCLUSIVE;
        twin[AT(x, p)] = 0;
        listed[AT(x, p)] = 0;
        make_version(x, p);
    :: else ->
        w = DIFF(mem[AT(x, p)], twin[AT(x, p)]);
        if
        :: w > 15 && is_owner[AT(x, p)] -> make_version_of(x, p, w);
        :: w > 15 && !is_owner[AT(x, p)] ->
            send_diff(x, p, round[x]);
            out[x]++;
        :: else
        fi;
        if
        :: how == STAYS_DIRTY -> twin[AT(x, p)] = mem[AT(x, p)];
        :: else ->
            state[AT(x, p)] = CLEAN;
            twin[AT(x, p)] = 0;
            listed[AT(x, p)] = 0;
        fi
    fi
}

#ifdef SCOPE
#define MAKES_VERSION(x, p) is_owner[AT(x, p)]
#ifdef M_OWNER_WRITES_UNSEEN
#define IS_SEEN_AGAIN(x, p) false
#else
#define IS_SEEN_AGAIN(x, p) (is_owner[AT(x, p)] && moves[AT(x, p)] == STAYS) // J2
#endif
#else
#define MAKES_VERSION(x, p) (state[AT(x, p)] == EXCLUSIVE)
#define IS_SEEN_AGAIN(x, p) false
#endif

inline release_page(x, p, how)
{
    step_begins(x, p);
    if
    :: state[AT(x, p)] == DIRTY -> release_dirty(x, p, how);
    :: state[AT(x, p)] != DIRTY && listed[AT(x, p)] ->
        listed[AT(x, p)] = 0;
        if
        :: MAKES_VERSION(x, p) -> make_version(x, p);
        :: else
        fi;
        if
        :: IS_SEEN_AGAIN(x, p) -> state[AT(x, p)] = CLEAN;
        :: else
        fi
    :: else
    fi;
    step_so_far(ON_RELEASED, x, x, 0, 0, 0);
}

inline start_release(x, how)
{
    printf("%d: release\n", x);
    n_releases++;
    releasing[x] = 1;
    n = 0;
    do
    :: n < BYTES ->
        if
        :: token[n] == x && unreleased[n] == 1 -> unreleased[n] = 2;
        :: else
        fi;
        n++
    :: else -> break
    od;
    release_page(x, 0, how);
#if PAGES == 2
    release_page(x, 1, how);
#endif
    end_release_if_done(x);
    check();
}

#ifdef SCOPE
// U1, U3: what was written under the mutex, here and before.
inline prepare_to_tell_of(x, k)
{
    if
    :: is_written[k] ->
#ifndef M_LIST_IS_OLD
        list_of[k] = notice[AT(x, PAGE_OF(k))];
#endif
        is_written[k] = 0;
    :: else
    fi;
    t_notices = (PAGE_OF(k) == 0 -> list_of[k] : list_of[k] << 4);
    t_counts = PACK((k == 0 -> count[0] : UNKNOWN), (k == 1 -> count[1] : UNKNOWN));
    t_more = (BYTES < 3 -> 0 : (k == 2 -> count[2] : UNKNOWN));
}
#endif

inline tell(x, dst, k)
{
    n_tells++;
#ifdef SCOPE
    if
    :: k == NOBODY -> prepare_to_tell(x);
    :: else -> prepare_to_tell_of(x, k);
    fi;
#else
    prepare_to_tell(x);
#endif
    send(x, dst, TOLD, k, t_notices, t_counts, t_more, NOTICES_OF(x));
    if
    :: k != NOBODY -> token[k] = ON_WAY;
    :: else
    fi;
    check();
}

#define MAY_WRITE(x, k)                                                        \
    (state[AT(x, PAGE_OF(k))] != ABSENT &&                                     \
     (token[k] == x || token[k] == NOBODY) && n_writes < WRITES &&             \
     IS_USED_NOW && MAY_USE(AT(x, PAGE_OF(k))))
#define NEEDS_RELEASE_OF(x, k) (token[k] == x && unreleased[k] == 1)
#if BYTES == 3
#define HAS_WRITTEN(x)                                                         \
    (NEEDS_RELEASE_OF(x, 0) || NEEDS_RELEASE_OF(x, 1) || NEEDS_RELEASE_OF(x, 2))
#define HAS_UNRELEASED(x)                                                      \
    (token[0] == x && unreleased[0] || token[1] == x && unreleased[1] ||       \
     token[2] == x && unreleased[2])
#else
#define HAS_WRITTEN(x) (NEEDS_RELEASE_OF(x, 0) || NEEDS_RELEASE_OF(x, 1))
#define HAS_UNRELEASED(x)                                                      \
    (token[0] == x && unreleased[0] || token[1] == x && unreleased[1])
#endif
#define MAY_RELEASE(x)                                                         \
    (n_releases < RELEASES && !releasing[x] && HAS_WRITTEN(x) && MAY_GO_ON(x))
#define IS_DIRTY(x) (state[AT(x, 0)] == DIRTY || state[AT(x, PAGES - 1)] == DIRTY)
#define MAY_GIVE(x, k, dst)                                                    \
    (token[k] == x && HAS_RELEASED_ITS_WRITES(k) && n_tells < TELLS &&         \
     MAY_GO_ON(x) && MAY_GO_ON(dst))
#ifdef FREED
#define IS_ORDERED(x, k)                                                       \
    (token[k] != ON_WAY && (heard[x] & BIT(k)) &&                              \
     (token[k] == x || unreleased[k] == 0))
#if BYTES == 3
#define MAY_FREE(x)                                                            \
    (block == USED && IS_ORDERED(x, 0) && IS_ORDERED(x, 1) && IS_ORDERED(x, 2))
#else
#define MAY_FREE(x) (block == USED && IS_ORDERED(x, 0) && IS_ORDERED(x, 1))
#endif
#endif
// Else it has nothing to say.
#define MAY_TELL(x, dst)                                                       \
    (n_tells < TELLS && NOTICES(x) != 0 && MAY_GO_ON(x) && MAY_GO_ON(dst))
#define HAS_CHOICE(from, x)                                                    \
    (WIRE(from, x)?[TOLD, _, _, _, _, _] || WIRE(from, x)?[ACK, _, _, _, _, _] || \
     WIRE(from, x)?[REFRESH, _, _, _, _, _] ||                                 \
     WIRE(from, x)?[ATOMIC, _, _, _, _, _] ||                                  \
     WIRE(from, x)?[ATOMIC_DONE, _, _, _, _, _])

inline receive_from(from, x)
{
    if
    :: true
    :: HAS_CHOICE(from, x) -> coin = 1
    fi;
    d_step { receive(x, from) }
}

#ifdef SCOPE
#define WRITES_AGAINST_TWIN false // an owner
#else
#define WRITES_AGAINST_TWIN true
#endif

proctype node(byte me; byte next; byte last)
{
end:
    do
    :: atomic { nempty(WIRE(me, me)) -> receive_from(me, me) }
    :: atomic { nempty(WIRE(next, me)) -> receive_from(next, me) }
    :: atomic { nempty(WIRE(last, me)) -> receive_from(last, me) }
    :: d_step { MAY_FAULT(me, 0) -> fault(me, 0, 0) }
#if PAGES == 2
    :: d_step { MAY_FAULT(me, 1) -> fault(me, 1, 0) }
    :: d_step { MAY_FAULT(me, 0) && MAY_GO_ALONG(me, 0) -> fault(me, 0, 1) }
    :: d_step { MAY_FAULT(me, 1) && MAY_GO_ALONG(me, 1) -> fault(me, 1, 1) }
    :: d_step { has_owner_update[AT(me, 1)] -> tell_owner(me, 1) }
#endif
    :: d_step { has_owner_update[AT(me, 0)] -> tell_owner(me, 0) }
    :: d_step { MAY_WRITE(me, 0) -> write_byte(me, 0, 0) }
    :: d_step { MAY_WRITE(me, 1) -> write_byte(me, 1, 0) }
    :: d_step {
        WRITES_AGAINST_TWIN && MAY_WRITE(me, 0) && is_owner[AT(me, 0)] &&
        state[AT(me, 0)] == CLEAN ->
        write_byte(me, 0, 1)
       }
#if BYTES == 3
    :: d_step { MAY_WRITE(me, 2) -> write_byte(me, 2, 0) }
    :: d_step { MAY_GIVE(me, 2, next) -> tell(me, next, 2) }
    :: d_step { LAST == 2 && MAY_GIVE(me, 2, last) -> tell(me, last, 2) }
#endif
    :: d_step { MAY_RELEASE(me) -> start_release(me, BECOMES_CLEAN) }
    :: d_step {
        MAY_RELEASE(me) && IS_DIRTY(me) -> start_release(me, STAYS_DIRTY)
       }
    :: d_step {
        MAY_RELEASE(me) && state[AT(me, 0)] == DIRTY && is_owner[AT(me, 0)] ->
        start_release(me, BECOMES_EXCLUSIVE)
       }
    :: d_step { MAY_GIVE(me, 0, next) -> tell(me, next, 0) }
    :: d_step { MAY_GIVE(me, 1, next) -> tell(me, next, 1) }
    :: d_step { MAY_TELL(me, next) -> tell(me, next, NOBODY) }
#ifndef PAIR
    :: d_step { MAY_GIVE(me, 0, last) -> tell(me, last, 0) }
    :: d_step { MAY_GIVE(me, 1, last) -> tell(me, last, 1) }
    :: d_step { MAY_TELL(me, last) -> tell(me, last, NOBODY) }
#endif
#ifdef FREED
    :: d_step { MAY_FREE(me) -> free_block(me) }
#endif
#if ATOMICS > 0
    :: d_step {
        n_atomics < ATOMICS && !in_atomic[me] && !HAS_UNRELEASED(me) &&
        MAY_ASK(me) -> start_atomic(me)
       }
#endif
#ifdef MEMBERS
    :: d_step { MAY_CHANGE(me) -> begin_change(me) }
    :: d_step { MAY_STOP(me) -> stop_node(me) }
    :: d_step { changes == me && HAVE_STOPPED -> change_roster(me, next, last) }
    :: d_step { MAY_CLEAN(me) -> clean_node(me) }
    :: d_step { MAY_GIVE_UP(me) -> give_up_change() }
    :: d_step { changes == me && MAY_END -> end_change(me) }
    :: d_step { MAY_RESTART(me) -> restart_node(me) }
#endif
    od
}

#if START == 1
// A page that has moved once and that there have been copies of, of version 1.
inline start(p, owner, copies)
{
    touched[p] = 1;
    since[p] = 1;
    is_followed[p] = 1;
    n = 0;
    do
    :: n < 4 ->
        if
        :: IS_LINE(n, p) -> line[n] = 1;
        :: else
        fi;
        n++
    :: else -> break
    od;
    n = 0;
    do
    :: n <= LAST ->
        epoch[AT(n, p)] = 2;
        if
        :: n == owner ->
            is_owner[AT(n, p)] = 1;
            version[AT(n, p)] = 1;
            moves[AT(n, p)] = STAYS;
            state[AT(n, p)] = CLEAN;
#ifdef FREED
            notice[AT(n, p)] = 1; // so that there is one without a write
#endif
        :: n != owner && (copies & BIT(n)) ->
            state[AT(n, p)] = CLEAN;
            base[AT(n, p)] = 1;
            hint[AT(n, p)] = owner;
        :: else -> hint[AT(n, p)] = owner;
        fi;
        n++
    :: else -> break
    od
}
#endif

init {
    byte x;
    byte y;

    atomic {
#if START == 1
        select(x : 0 .. 1);
        select(y : 0 .. ALL); // any copies
        d_step { start(0, x, y) }
#if PAGES == 2
        select(x : 0 .. 1);
        select(y : 0 .. ALL);
        d_step { start(1, x, y) }
#endif
#endif
        d_step { x = 0; y = 0; check() }
        run node(0, 1, 2);
        run node(1, 2 - (LAST == 1) * 2, 0 + (LAST == 1) * 2);
#ifndef PAIR
        run node(2, 0, 1)
#endif
    }
}
