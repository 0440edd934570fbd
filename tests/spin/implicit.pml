// SPDX-License-Identifier: BSD-3-Clause
//
// implicit on one page, three nodes, FIFO channels between each two, every interleaving. The rules
// are those of docs/protocols.md, sections 1, 2 and 8.
//
// The program that runs on it is the most general one without data races, as in lazy_release.pml: byte k is
// written only by the node that has token k, by any thread of it at any time; the token goes to another
// node when a release has ended that began after the last write. A node may also tell another one what it
// has heard of and released, without a token: an end of a barrier, a signal, a new thread. Whoever is
// told acquires. Any node may fault at any time. A write toggles its byte, so writing twice
// restores it. How often each byte has been written is in what is told for the checks only: the
// protocol sends nothing along.
//
// Free choices are when a page stays writable through a release, and when the directory is told. There is
// no `access`.
//
// After each step the whole state is checked (inline check):
//   M2, M3    who has heard of the last write of a byte has that in its copy, if it has one
//   M1        an owner's page is exclusive
//   M2        a diff comes to the owner
//   M4        what a node has written is in its copy, on its way, or at the owner: the last of these
//             is what a release has ended with
//   M6        behind a change there are no copies, and nothing is lost with a node
//   E1, H2    as in eager_release.pml
//   progress  nobody waits when no message is on its way
//
// Sizes (-D): WRITES, FETCHES, RELEASES, TELLS, of all nodes together.
// PAIR: two nodes only. START: 0 an untouched page, 1 any owner and any copies.
// MEMBERS: a node leaves, and comes again. All threads are stopped, and dirty copies are diffed; when nothing is under
// way any more all copies are dropped, and the node that leaves gives its page away; the directory node is
// another then if it was that (section 5).
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
#ifndef START
#define START 1
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
#ifdef MEMBERS
byte directory;
byte gone = 3;    // who has left, or nobody
byte changes = 3; // who is to leave, or to come
bit frozen;       // no thread runs
byte n_changes;
#define DIRECTORY directory
#define IS_FREE(x) (!frozen && gone != x)
#else
#define DIRECTORY 0
#define IS_FREE(x) true
#endif
#define QUEUE 8

#define ABSENT 0
#define CLEAN 1
#define DIRTY 2
#define EXCLUSIVE 3

// Messages have three fields:
//   FETCH     requester, epoch of the hint followed
//   GRANT     -
//   PAGE      contents, epoch, version
//   UPDATE    writer, diff, round
//   ACK       round
//   OWNER_IS  epoch
//   TOLD      token or NOBODY, counts
//   GIVEN     contents, epoch, version
// A diff is mask * 16 + value.
mtype = { FETCH, GRANT, PAGE, UPDATE, ACK, OWNER_IS, TOLD, GIVEN };

chan wire[9] = [QUEUE] of { mtype, byte, byte, byte };
#define WIRE(from, to) wire[(from) * 3 + (to)]

// What a node knows about the page: the table of section 1.
byte state[NODES];
bit is_owner[NODES];
byte hint[NODES] = NOBODY;
byte epoch[NODES];
byte version[NODES];
byte base[NODES];
bit moves[NODES];
bit fetching[NODES];
bit is_too_late[NODES]; // it has acquired since it asked
byte in_flight[NODES];
byte mem[NODES]; // bits 0 and 1: bytes
byte twin[NODES];
bit has_owner_update[NODES];

// Diffs of a node that are not acknowledged: of the release under way, of the next.
byte out[NODES];
byte out_next[NODES];
bit round[NODES]; // which of two these are of
bit releasing[NODES];

// The program. `unreleased` of a byte: its last write is released (0), not (1),
// or covered by a release under way (2).
byte token[2] = NOBODY; // nobody: anybody may take it
byte count[2];          // of writes
byte unreleased[2];
byte heard[NODES] = 3; // of the last write: a bit for each byte
byte n_writes, n_fetches, n_releases, n_tells;

bit touched;
bit moving;

hidden mtype kind;
hidden byte a, b, c, v, w, n;

#define BIT(n) (1 << (n))
#define MERGE(old, diff)                                                       \
    (((old) & ~((diff) >> 4)) | ((diff) & 15 & ((diff) >> 4)))
#define DIFF(page, twin) ((((page) ^ (twin)) << 4) | (page))
#define VALUE(k) (count[k] & 1)
#define PACK(x, y) ((x) | (y) << 4)
#define FIRST(packed) ((packed) & 15)
#define SECOND(packed) ((packed) >> 4)
#define UNKNOWN 15 // no number of writes

#define QUIET                                                                  \
    (len(wire[0]) + len(wire[1]) + len(wire[2]) + len(wire[3]) +               \
         len(wire[4]) + len(wire[5]) + len(wire[6]) + len(wire[7]) +           \
         len(wire[8]) == 0)
#define IS_UNTOUCHED(x) (x == DIRECTORY && !is_owner[x] && epoch[x] == 0)
#define ROUTE(x)                                                               \
    (is_owner[x] -> x : (hint[x] == NOBODY -> DIRECTORY : hint[x]))

// ---- mutants

#ifdef M_MOVES_UNRELEASED
#define HAS_RELEASED_ITS_WRITES(k) true
#else
#define HAS_RELEASED_ITS_WRITES(k) (unreleased[k] == 0)
#endif
#ifdef M_NOT_FRESH
#define IS_FRESH(x) true
#else
#define IS_FRESH(x) (!is_too_late[x])
#endif
#ifdef M_NOT_WAITING
#define ARE_THERE(x) true
#else
#define ARE_THERE(x) (out[x] == 0)
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
    const char *const model_protocol = "implicit";

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
        to[AT_VERSION] = now.version[x];
        to[AT_BASE] = now.base[x];
        to[AT_IN_FLIGHT] = now.in_flight[x];
        to[AT_LISTED] = now.state[x] == DIRTY;
    }
};

hidden byte s_node, s_event, s_from, s_who, s_facts, s_version, s_epoch;
hidden byte s_sends, s_to, s_is_allowed;

inline step_begins(x)
{
    s_node = x;
    c_code { model_begins(s_node, 0); };
}

// Of a message, what the table calls it.
#define SENDS(type)                                                            \
    (type == FETCH -> SENDS_FETCH :                                            \
     (type == PAGE -> SENDS_COPY :                                             \
      (type == GRANT -> SENDS_GRANT :                                          \
       (type == UPDATE -> SENDS_DIFF :                                         \
        (type == GIVEN -> SENDS_GIVEN : SENDS_NOTHING)))))

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
    (state[x] == ABSENT || !(heard[x] & BIT(k)) ||                             \
     ((mem[x] >> (k)) & 1) == VALUE(k))
#define IS_AT_OWNER(x, k)                                                      \
    (!is_owner[x] || token[k] == NOBODY || unreleased[k] != 0 ||               \
     ((mem[x] >> (k)) & 1) == VALUE(k))
#define IS_ALONE(x) (is_owner[x] == (state[x] == EXCLUSIVE))

inline check_byte(k)
{
    assert(IS_GOOD(0, k) && IS_GOOD(1, k) && IS_GOOD(2, k)); // heard
    assert(IS_AT_OWNER(0, k) && IS_AT_OWNER(1, k) && IS_AT_OWNER(2, k)); // M4
}

inline check()
{
    check_byte(0);
    check_byte(1);
    assert(is_owner[0] + is_owner[1] + is_owner[2] + moving == touched); // E1
    assert(IS_ALONE(0) && IS_ALONE(1) && IS_ALONE(2));                   // M1
    assert(!QUIET || (fetching[0] + fetching[1] + fetching[2] + in_flight[0] +
                          in_flight[1] + in_flight[2] + releasing[0] +
                          releasing[1] + releasing[2] ==
                      0)); // progress
}

// ---- pieces

inline send(src, dst, type, f1, f2, f3)
{
    assert(dst < NODES && len(WIRE(src, dst)) < QUEUE);
#ifdef MEMBERS
    assert(dst != gone);
#endif
    printf("    %d -> %d: %e %d %d %d\n", src, dst, type, f1, f2, f3);
    step_sends(type, dst);
    WIRE(src, dst)!type, f1, f2, f3;
}

inline become_absent(x)
{
    state[x] = ABSENT;
    mem[x] = 0;
    twin[x] = 0;
    base[x] = 0;
    version[x] = 0;
}

inline learn_owner(x, who, ep)
{
    if
    :: ep > epoch[x] -> hint[x] = who; epoch[x] = ep;
    :: else
    fi
}

// ---- fetching

inline on_fetch(x, requester, followed)
{
    step_begins(x);
    if
    :: is_owner[x] && requester != x ->
        moves[x] = 1;
        send(x, requester, PAGE, mem[x], epoch[x], version[x]);
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

inline on_grant(x)
{
    step_begins(x);
    assert(state[x] == ABSENT && fetching[x]);
    state[x] = EXCLUSIVE;
    moving = 0;
    is_owner[x] = 1;
    epoch[x] = 1;
    hint[x] = NOBODY;
    has_owner_update[x] = 0; // the directory has granted it
    fetching[x] = 0;
    step_ends(ON_GRANT, DIRECTORY, x, 0, 0, 0);
}

// M3: what was asked for too early is asked for again, if a thread waits for it.
inline on_page(x, from, contents, ep, ver)
{
    step_begins(x);
    assert(state[x] == ABSENT && fetching[x]);
    fetching[x] = 0;
    if
    :: IS_FRESH(x) ->
        mem[x] = contents;
        base[x] = ver;
        version[x] = ver;
        moves[x] = 0;
        state[x] = CLEAN;
        learn_owner(x, from, ep);
        step_ends(ON_PAGE, from, x, WITH_CONTENTS + IS_NOT_PUSHED_TO, ver, ep);
    :: else ->
        step_ends(ON_PAGE, from, x,
                  WITH_CONTENTS + IS_NOT_PUSHED_TO + IS_TOO_OLD, ver, ep);
    fi
}

// ---- releases

inline send_diff(x, of_round)
{
    w = DIFF(mem[x], twin[x]);
    in_flight[x]++;
    v = ROUTE(x);
    send(x, v, UPDATE, x, w, of_round);
}

// A dirty copy that is to be written no more: M4.
inline release_now(x)
{
    if
    :: state[x] == DIRTY ->
#ifndef M_NO_LAST_DIFF
        if
        :: mem[x] != twin[x] ->
            if
#ifdef M_LAST_DIFFS_DO_NOT_COUNT
            :: releasing[x] || round[x] <= 1 ->
#else
            :: releasing[x] ->
#endif
                send_diff(x, !round[x]);
                out_next[x]++;
            :: else -> send_diff(x, round[x]); out[x]++;
            fi
        :: else
        fi;
#endif
        state[x] = CLEAN;
        twin[x] = 0;
        step_ends(ON_RELEASED, x, x, 0, 0, 0);
    :: else
    fi
}

inline end_release_if_done(x)
{
    if
    :: releasing[x] && ARE_THERE(x) ->
        releasing[x] = 0;
        n = 0;
        do
        :: n < 2 ->
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

inline on_update(x, writer, diff, of_round)
{
    step_begins(x);
    assert(is_owner[x]); // M2
#ifndef M_DIFF_IS_LOST
    mem[x] = MERGE(mem[x], diff);
#endif
    version[x]++;
    send(x, writer, ACK, of_round, 0, 0);
    step_ends(ON_DIFF, writer, writer, 0, 0, 0);
}

inline on_ack(x, of_round)
{
    step_begins(x);
    in_flight[x]--;
    step_ends(ON_ACKNOWLEDGED, x, x, 0, 0, 0);
    if
    :: of_round == round[x] -> out[x]--;
    :: else -> out_next[x]--;
    fi;
    end_release_if_done(x);
}

// ---- acquires

// All copies are dropped.
inline acquire(x)
{
    is_too_late[x] = fetching[x];
    step_begins(x);
    if
    :: !is_owner[x] && state[x] != ABSENT ->
        release_now(x);
#ifndef M_COPIES_STAY
        become_absent(x);
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

inline on_told(x, k, counts)
{
    acquire(x);
    hear_count(x, 0, FIRST(counts));
    hear_count(x, 1, SECOND(counts));
    if
    :: k != NOBODY -> token[k] = x; heard[x] = heard[x] | BIT(k);
    :: else
    fi
}

// ---- nodes come and go

#ifdef MEMBERS
#define ALL_TOLD                                                               \
    (QUIET && has_owner_update[0] + has_owner_update[1] +                      \
                      has_owner_update[2] == 0)
#define IS_STILL                                                               \
    (ALL_TOLD && fetching[0] + fetching[1] + fetching[2] + in_flight[0] +      \
                         in_flight[1] + in_flight[2] + releasing[0] +          \
                         releasing[1] + releasing[2] ==                        \
                     0)
// K1: its threads have gone, so what they have written is released.
#define MAY_LEAVE(x)                                                           \
    (!frozen && n_changes < 2 && gone == NOBODY &&                             \
     !(token[0] == x && unreleased[0]) && !(token[1] == x && unreleased[1]))
#define MAY_COME(x) (!frozen && n_changes < 2 && gone == x)

// M6
inline stop_all(who)
{
    printf("%d: is to leave or to come\n", who);
    n_changes++;
    frozen = 1;
    changes = who;
#ifndef M_STAYS_DIRTY
    step_begins(0);
    release_now(0);
    step_begins(1);
    release_now(1);
    step_begins(2);
    release_now(2);
#endif
    check();
}

inline drop_copy(x)
{
    step_begins(x);
#ifndef M_COPIES_STAY_BEHIND_A_CHANGE
    if
    :: !is_owner[x] && state[x] != ABSENT -> become_absent(x);
    :: else
    fi;
#endif
    step_so_far(ON_DROPS, x, x, 0, 0, 0);
}

inline forget_node(x, leaver)
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

// Nobody is known to have a copy, so the directory node gets the page.
inline leave(x, o1, o2)
{
    printf("%d: leaves\n", x);
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
        v = directory;
        send(x, v, GIVEN, mem[x], epoch[x] + 1, version[x]);
        is_owner[x] = 0;
        moving = 1;
        epoch[x]++;
        hint[x] = v;
        become_absent(x);
        step_ends(ON_GIVES, x, v, 0, 0, 0);
    :: else
    fi
}

// Who comes knows nothing.
inline come(x)
{
    printf("%d: comes\n", x);
    gone = NOBODY;
    hint[x] = NOBODY;
    epoch[x] = 0;
    if
    :: x == 0 -> change_directory(0);
    :: else
    fi
}

inline change(x, o1, o2)
{
    changes = NOBODY;
    drop_copy(0);
    drop_copy(1);
    drop_copy(2);
    if
    :: gone == x -> come(x);
    :: else -> leave(x, o1, o2);
    fi;
    check();
}

inline on_given(x, from, contents, ep, ver)
{
    step_begins(x);
    if
    :: state[x] == ABSENT -> mem[x] = contents;
    :: else
    fi;
    state[x] = EXCLUSIVE;
    is_owner[x] = 1;
    moving = 0;
    moves[x] = 0;
    hint[x] = NOBODY;
    epoch[x] = ep;
    version[x] = ver;
    base[x] = ver;
    has_owner_update[x] = (x != directory);
    step_ends(ON_GIVEN, from, x, IS_FROZEN, ver, ep);
}
#endif

// ---- what happens at a node

inline receive(x, from)
{
    WIRE(from, x)?kind, a, b, c;
    printf("%d: %e from %d: %d %d %d\n", x, kind, from, a, b, c);
    if
    :: kind == FETCH -> on_fetch(x, a, b);
    :: kind == GRANT -> on_grant(x);
    :: kind == PAGE -> on_page(x, from, a, b, c);
    :: kind == UPDATE -> on_update(x, a, b, c);
    :: kind == ACK -> on_ack(x, a);
    :: kind == OWNER_IS ->
        step_begins(x);
        learn_owner(x, from, a);
        step_ends(ON_OWNER_IS, from, 0, 0, 0, a);
    :: kind == TOLD -> on_told(x, a, b);
#ifdef MEMBERS
    :: kind == GIVEN -> on_given(x, from, a, b, c);
#endif
    fi;
    check();
}

inline fault(x)
{
    printf("%d: fault\n", x);
    n_fetches++;
    step_begins(x);
    fetching[x] = 1;
    is_too_late[x] = 0;
    v = ROUTE(x);
    send(x, v, FETCH, x, epoch[x], 0);
    step_ends(ON_ASKS, x, x, 0, 0, 0);
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

// A dirty page becomes clean, or stays as it is.
inline start_release(x, stays)
{
    printf("%d: release\n", x);
    n_releases++;
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
    step_begins(x);
    if
    :: state[x] == DIRTY ->
        if
        :: mem[x] != twin[x] -> send_diff(x, round[x]); out[x]++;
        :: else
        fi;
        if
        :: stays -> twin[x] = mem[x];
        :: else -> state[x] = CLEAN; twin[x] = 0;
        fi
    :: else
    fi;
    step_so_far(ON_RELEASED, x, x, 0, 0, 0);
    end_release_if_done(x);
    check();
}

// What x has heard of and released: how often byte k has been written, if it knows.
#define TELLS_OF(x, k)                                                         \
    ((token[k] == x -> unreleased[k] == 0 : (heard[x] & BIT(k)) != 0) ->       \
         count[k] : UNKNOWN)

inline tell(x, dst, k)
{
    n_tells++;
    w = PACK(TELLS_OF(x, 0), TELLS_OF(x, 1));
    send(x, dst, TOLD, k, w, 0);
    if
    :: k != NOBODY -> token[k] = ON_WAY;
    :: else
    fi;
    check();
}

#define MAY_FAULT(x)                                                           \
    (state[x] == ABSENT && !fetching[x] && n_fetches < FETCHES && IS_FREE(x))
#define MAY_WRITE(x, k)                                                        \
    (state[x] != ABSENT && (token[k] == x || token[k] == NOBODY) &&            \
     n_writes < WRITES && IS_FREE(x))
#define NEEDS_RELEASE_OF(x, k) (token[k] == x && unreleased[k] == 1)
#define MAY_RELEASE(x)                                                         \
    (n_releases < RELEASES && !releasing[x] && IS_FREE(x) &&                   \
     (NEEDS_RELEASE_OF(x, 0) || NEEDS_RELEASE_OF(x, 1)))
#define MAY_GIVE(x, k, dst)                                                    \
    (token[k] == x && HAS_RELEASED_ITS_WRITES(k) && n_tells < TELLS &&         \
     IS_FREE(x) && IS_FREE(dst))
// Else it would be as if nothing had been told.
#define MAY_TELL(x, dst)                                                       \
    (n_tells < TELLS && (state[dst] != ABSENT || fetching[dst]) &&             \
     !is_owner[dst] && IS_FREE(x) && IS_FREE(dst))

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
    :: d_step { MAY_RELEASE(me) -> start_release(me, 0) }
    :: d_step { MAY_RELEASE(me) && state[me] == DIRTY -> start_release(me, 1) }
    :: d_step { MAY_GIVE(me, 0, next) -> tell(me, next, 0) }
    :: d_step { MAY_GIVE(me, 1, next) -> tell(me, next, 1) }
    :: d_step { MAY_TELL(me, next) -> tell(me, next, NOBODY) }
#ifndef PAIR
    :: d_step { MAY_GIVE(me, 0, last) -> tell(me, last, 0) }
    :: d_step { MAY_GIVE(me, 1, last) -> tell(me, last, 1) }
    :: d_step { MAY_TELL(me, last) -> tell(me, last, NOBODY) }
#endif
#ifdef MEMBERS
    :: d_step { MAY_LEAVE(me) || MAY_COME(me) -> stop_all(me) }
    :: d_step { changes == me && IS_STILL -> change(me, next, last) }
    :: d_step { frozen && changes == NOBODY && ALL_TOLD -> frozen = 0 }
#endif
    od
}

#if START == 1
// A page of version 1, of which there have been copies; its owner has it from a node that has left.
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
            version[n] = 1;
            moves[n] = 1;
            state[n] = EXCLUSIVE;
        :: n != owner && (copies & BIT(n)) ->
            state[n] = CLEAN;
            base[n] = 1;
            version[n] = 1;
            hint[n] = owner;
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
#endif
        d_step { x = 0; y = 0; z = 0; check() }
        run node(0, 1, 2);
        run node(1, 2 - (LAST == 1) * 2, 0 + (LAST == 1) * 2);
#ifndef PAIR
        run node(2, 0, 1)
#endif
    }
}
