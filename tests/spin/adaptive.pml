// SPDX-License-Identifier: BSD-3-Clause
//
// adaptive on one page, three nodes, FIFO channels between each two, every interleaving. The rules are
// those of docs/protocols.md, sections 1 to 3, 9 and 10.
//
// The program that runs on it is that of lazy_release.pml with both bytes in one page: byte k is written
// only by the node that has token k, which goes to another node when a release has ended that began
// after the last write (as a thread that moves, and what only it writes); a node may also tell another one without a token what it has heard of and
// released.
//
// What the engine finds out by counting is a free choice here, so that whatever it finds is safe:
//   whether a copy is subscribed; whether one that is pushed to is dropped, or to be pushed to no
//   more; whether ownership is handed over with an acknowledgement, and whether its owner keeps a copy;
//   when a page is found to migrate, and when copies that nobody asks for are called back; whether an
//   owner writes against a twin; whether stale copies, and what is known of lines, are kept; when the
//   directory is told.
// There is no `access`, and no page is held for the thread that it came for: it may go at once.
//
// After each step the whole state is checked (inline check):
//   A1 to A10  who has heard of the last write of a byte has that in its copy, if it may use it; so has
//              the owner, of all that is released
//   A3         a diff comes to an owner, at once or passed on; ownership comes to who has a copy
//   E1, E3, H2 as in eager_release.pml; the copyset names all subscribed copies (E2)
//   A1         while the page does not migrate, its owner knows of all copies that nobody pushes to
//   progress   nobody waits when no message is on its way
//
// Sizes (-D): WRITES, FETCHES, RELEASES, TELLS, of all nodes together.
// FREED: the block is freed, and the next one gets its page (section 11; blocks.pml).
// MEMBERS: a node leaves, and comes again (section 5; members.pml); not with FREED.
//   A6         behind a change there are copies that are pushed to, and no others; nothing is lost with a node
// PAIR: two nodes only. START: 0 untouched page, 1 any owner, any copies, each subscribed or not;
// 2 a page that migrates, and has stayed with any other nodes.
// A mutant is one rule left out, -DM_..., see mutants.sh.
//
// Each step is compared with the table of tests/steps; not with -DNO_STEPS.

#include "model_steps.h"

#ifndef WRITES
#define WRITES 2
#endif
#ifndef FETCHES
#define FETCHES 2
#endif
#ifndef RELEASES
#define RELEASES 2
#endif
#ifndef TELLS
#define TELLS 1
#endif
#ifndef START
#define START 1
#endif

#define BYTES 2
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
#define MOVE_LIMIT 1
#define MIGRATES 3 // `moves` of a page that does, or has
#define QUEUE 8
#define KEEP 4

#define ABSENT 0
#define CLEAN 1
#define DIRTY 2
#define EXCLUSIVE 3

// Messages have five fields:
//   FETCH        requester, epoch of the hint followed
//   GRANT        -
//   PAGE         contents, owned (bit 7) and moves, epoch, version, whether it is subscribed
//   REFRESH      base
//   REFRESHED    diff, owned (bit 7) and moves, epoch, version, whether it is subscribed
//   UPDATE       writer, diff, epoch of the hint followed, round
//   HANDED       moves and copyset, epoch, version; the ACK is right behind
//   ACK          writer, version or 0, round
//   PUSH         writer, diff, epoch, version, round
//   PUSH_ACK     writer, whether the copy was dropped (1), or is to be pushed to no more (2), round
//   OWNER_IS     epoch, which block
//   TOLD         token or NOBODY, notice and which block it is of (bit 6), counts, owner, its epoch
//   RECALL       whether it may be read on
//   RECALLED     -
//   GIVEN        contents, copyset, epoch, version
//   CLOSE, GONE, NEW, ANSWER  of a block: blocks.pml
// A diff is mask * 16 + value.
mtype = { FETCH, GRANT, PAGE, REFRESH, REFRESHED, UPDATE, HANDED, ACK, PUSH,
          PUSH_ACK, OWNER_IS, TOLD, RECALL, RECALLED, GIVEN,
          CLOSE, GONE, NEW, ANSWER };

chan wire[9] = [QUEUE] of { mtype, byte, byte, byte, byte, byte };
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
bit subscribed[NODES];
byte mem[NODES]; // bits 0 and 1
byte twin[NODES];
bit listed[NODES];
bit stale[NODES];
bit is_left[NODES]; // a copy that has stayed
bit has_owner_update[NODES];
byte notice[NODES]; // the latest version that was heard of,
bit notice_of[NODES]; // of which block,
byte noted_owner[NODES] = NOBODY; // and what it says of a page that migrates
byte noted_epoch[NODES];

// What the owner knows; nobody else has any of it (A3).
byte readers; // nodes that may have a copy that nobody pushes to
byte lack;    // of these, those that have missed a version
byte called;  // of these, those that are to give it up
byte calls[9]; // of an owner to a node, not answered yet
bit migrating;
bit has_written;
byte line[BYTES]; // the version that changed it last
byte since;
bit is_followed; // is that known?
#define CALLS(x, n) calls[(x) * 3 + (n)]

// Updates under way at a node, as in eager_release.pml; of each writer those of two rounds.
byte pushing[18];
byte reply_to[18];
#define BY(node, writer, of) ((node) * 6 + (writer) * 2 + (of))
#define REPLY_TO(node, writer, of) (reply_to[BY(node, writer, of)] % 4 - 1)
#define SUM_OF(array, x)                                                       \
    (array[BY(x, 0, 0)] + array[BY(x, 0, 1)] + array[BY(x, 1, 0)] +            \
     array[BY(x, 1, 1)] + array[BY(x, 2, 0)] + array[BY(x, 2, 1)])
#define NOT_PUSHED(x) (SUM_OF(pushing, x) == 0)

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
byte heard[NODES] = 3; // of the last write: a bit for each byte
byte n_writes, n_fetches, n_releases, n_tells;

bit touched;
byte moving;
byte moving_copyset;
byte copies_sent; // that are subscribed, on their way

#ifdef FREED
#define IS_OF_PAGE(type)                                                       \
    (type != OWNER_IS && type != TOLD && type != CLOSE && type != GONE &&      \
     type != NEW && type != ANSWER)
#define SAY(src, dst, type) send(src, dst, type, 0, 0, 0, 0, 0)
#include "blocks.pml"
#else
#define IS_USED_NOW true
#define IS_KNOWN(x, serial) true
#define SERIAL(x) 0
#endif

// A copy that is pushed to may come to a node that has stopped, and be written.
#define IS_WRITABLE(x)                                                         \
    (is_owner[x] && state[x] != CLEAN || subscribed[x] && state[x] == DIRTY ||  \
     subscribed[x] && !is_owner[x] && state[x] == CLEAN && phase == STOPPING)
#include "members.pml"

hidden mtype kind;
hidden byte a, b, c, d, e, v, w, n, m;
hidden mtype answer;
// What the message under way leads to.
hidden byte g_serves, g_cleans, g_stale, g_follows, g_ends, g_acknowledges;
hidden byte t_notice, t_counts, t_owner, t_epoch;
byte coin; // a free choice of the step under way; 0 between steps

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

#define IS_OF_BLOCK(x) (notice_of[x] == SERIAL(x))
#define IS_LATER(x, ver, serial)                                               \
    ((serial) > notice_of[x] || ((serial) == notice_of[x] && (ver) > notice[x]))

// ---- mutants

#ifdef M_NOT_NOTED
#define NOTED(n) 0
#else
#define NOTED(n) BIT(n)
#endif
#ifdef M_NO_NOTICE
#define MAKES_NOTICES(x) (moves[x] == MIGRATES)
#else
#define MAKES_NOTICES(x) (readers != 0 || moves[x] == MIGRATES && MIGRATED_TELLS)
#endif
#ifdef M_MIGRATED_SAYS_NOTHING
#define MIGRATED_TELLS false
#else
#define MIGRATED_TELLS true
#endif
#ifdef M_MOVES_WITH_READERS
#define NO_READERS true
#else
#define NO_READERS (readers == 0)
#endif
#ifdef M_HANDED_TO_ONE_OF_SEVERAL
#define IS_ONLY_READER(n) ((readers & BIT(n)) != 0)
#else
#define IS_ONLY_READER(n) (readers == BIT(n))
#endif
#ifdef M_HANDED_THOUGH_IT_LACKS
#define LACKS_NOTHING(n) true
#else
#define LACKS_NOTHING(n) ((lack & BIT(n)) == 0)
#endif
#ifdef M_NOT_FRESH
#define IS_FRESH(x, is_pushed, ver) true
#else
#define IS_FRESH(x, is_pushed, ver)                                            \
    ((is_pushed) || notice[x] <= (ver) || !IS_OF_BLOCK(x))
#endif
#ifdef M_NOT_STALE
#define BECOMES_STALE(x) false
#else
#define BECOMES_STALE(x) (!subscribed[x])
#endif
#ifdef M_NOT_LISTED
#define LOOK_AT(x) listed[x]
#else
#define LOOK_AT(x) 1
#endif
#ifdef M_GOES_WHILE_OTHERS_WRITE
#define OTHERS(n) 0
#else
#define OTHERS(n) (readers & ~BIT(n))
#endif

#ifdef M_LEFT_WHEN_STOPPED
#define MAY_BE_LEFT(x) true
#else
#define MAY_BE_LEFT(x) IS_RUNNING(x) // A6
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
    const char *const model_protocol = "adaptive";

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
        to[AT_MOVES] = now.moves[x] == MIGRATES ? 255 : now.moves[x];
        to[AT_VERSION] = now.version[x];
        to[AT_BASE] = now.base[x];
        to[AT_IN_FLIGHT] = now.in_flight[x];
        to[AT_SUBSCRIBED] = now.subscribed[x];
        to[AT_LISTED] = now.listed[x] || now.state[x] == DIRTY;
        for (int i = 0; i < 2 * NODES; i++) {
            to[AT_PUSHING] += now.pushing[BY(x, 0, i)] > 0;
        }
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
#define SENDS(type, f2)                                                        \
    (type == FETCH || type == REFRESH -> SENDS_FETCH :                         \
     (type == PAGE || type == REFRESHED ->                                     \
          (f2 >= 128 -> SENDS_AWAY : SENDS_COPY) :                             \
      (type == GRANT -> SENDS_GRANT :                                          \
       (type == PUSH -> SENDS_PUSH :                                           \
        (type == UPDATE -> SENDS_DIFF :                                        \
         (type == HANDED -> SENDS_HANDED :                                     \
          (type == GIVEN -> SENDS_GIVEN : SENDS_NOTHING)))))))

inline step_sends(type, f2, dst)
{
    s_sends = SENDS(type, (f2));
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
inline step_sends(type, f2, dst) { skip }
inline step_ends(event, from, who, facts, ver, ep) { skip }
inline step_so_far(event, from, who, facts, ver, ep) { skip }
#endif

// ---- checks

#define IS_USED(x) (state[x] != ABSENT)
#define HAS_HEARD(x, k) (heard[x] & BIT(k) || is_owner[x] && unreleased[k] == 0)
#define IS_GOOD(x, k)                                                          \
    (!IS_USED(x) || !HAS_HEARD(x, k) || ((mem[x] >> (k)) & 1) == VALUE(k))

inline check_node(j, o1, o2)
{
    assert(IS_GOOD(j, 0) && IS_GOOD(j, 1)); // heard
    assert(!stale[j] || (state[j] == ABSENT && !is_owner[j])); // Y1
    assert(!is_owner[j] || (state[j] != ABSENT && !(copyset[j] & BIT(j)))); // owns
    // E2, of copies that are pushed to
    assert(!is_owner[j] ||
           ((!IS_USED(o1) || !subscribed[o1] || copyset[j] & BIT(o1)) &&
            (!IS_USED(o2) || !subscribed[o2] || copyset[j] & BIT(o2)))); // copyset
    // E3
    assert(!is_owner[j] || state[j] != EXCLUSIVE ||
           (copyset[j] == 0 && copies_sent == 0)); // copies_sent
}

inline check()
{
    coin = 0;
    if
    :: IS_USED_NOW ->
        check_node(0, 1, 2);
        check_node(1, 0, 2);
        check_node(2, 0, 1);
        assert(is_owner[0] + is_owner[1] + is_owner[2] + moving == touched); // E1
    :: else -> assert(!QUIET); // progress
    fi;
    assert(!QUIET || (fetching[0] + fetching[1] + fetching[2] + in_flight[0] +
                          in_flight[1] + in_flight[2] + releasing[0] +
                          releasing[1] + releasing[2] ==
                      0)); // progress
}

// ---- pieces

inline send(src, dst, type, f1, f2, f3, f4, f5)
{
    assert(dst < NODES && len(WIRE(src, dst)) < QUEUE);
    assert(IS_LIVE(dst)); // gone
    printf("    %d -> %d: %e %d %d %d %d\n", src, dst, type, f1, f2, f3, f4);
    step_sends(type, f2, dst);
#ifdef FREED
    n_on_way = n_on_way + IS_OF_PAGE(type);
#endif
    WIRE(src, dst)!type, f1, f2, f3, f4, f5;
}

inline forget_copy(x)
{
    state[x] = ABSENT;
    mem[x] = 0;
    twin[x] = 0;
    base[x] = 0;
    stale[x] = 0;
    is_left[x] = 0;
}

// The record of who is no owner any more says nothing.
inline tidy(x)
{
    if
    :: !is_owner[x] -> version[x] = 0; listed[x] = 0; moves[x] = 0;
    :: else -> base[x] = 0; subscribed[x] = 0;
    fi;
    if
    :: !is_owner[x] && state[x] == ABSENT -> subscribed[x] = 0;
    :: else
    fi
}

// The old owner knows no more of it.
inline end_ownership(x, to, copies)
{
    moving++;
    moving_copyset = copies;
    is_owner[x] = 0;
    copyset[x] = 0;
    hint[x] = to;
    epoch[x]++;
    assert(readers == 0); // A3
    lack = 0;
    called = 0;
    migrating = 0;
}

inline take_ownership(x, from, ep, ver, mov, copies)
{
    moving--;
    moving_copyset = 0;
    is_owner[x] = 1;
    copyset[x] = copies;
    epoch[x] = ep;
    version[x] = ver;
    moves[x] = mov;
    hint[x] = NOBODY;
    stale[x] = 0;
    is_left[x] = 0;
    migrating = (mov == MIGRATES);
    has_owner_update[x] = (x != DIRECTORY && from != DIRECTORY);
}

inline learn_owner(x, who, ep)
{
    if
    :: ep > epoch[x] && !is_owner[x] -> hint[x] = who; epoch[x] = ep;
    :: else
    fi
}

inline note(x, ver)
{
    if
    :: IS_LATER(x, ver, SERIAL(x)) ->
        notice[x] = ver;
        notice_of[x] = SERIAL(x);
        noted_owner[x] = (is_owner[x] && migrating -> x : NOBODY);
        noted_epoch[x] = (is_owner[x] && migrating -> epoch[x] : 0);
    :: else
    fi
}

// ---- what has changed: recent.c

inline know_nothing(ver)
{
    since = ver;
    line[0] = ver;
    line[1] = ver;
}

inline given(x)
{
    if
    :: !is_followed -> is_followed = 1; know_nothing(version[x]);
    :: else
    fi
}

inline know_diff(diff, ver)
{
    if
    :: (diff) & 16 -> line[0] = ver;
    :: else
    fi;
    if
    :: (diff) & 32 -> line[1] = ver;
    :: else
    fi
}

// Not known, or the bytes are those of lines changed since.
#define CHANGED(k, from_version)                                               \
    (coin >= 2 || !is_followed || since > (from_version) ||                    \
             line[k] > (from_version) ->                                       \
         16 << (k) : 0)

inline forget_lines()
{
    is_followed = 0;
    since = 0;
    line[0] = 0;
    line[1] = 0;
}

#define HAS_NO_CALLS(x) (CALLS(x, 0) + CALLS(x, 1) + CALLS(x, 2) == 0)
#define HAS_ANSWERED(x)                                                        \
    (!fetching[x] && in_flight[x] == 0 && NOT_PUSHED(x) && HAS_NO_CALLS(x) &&  \
     SUM_OF(reply_to, x) == 0)

#ifdef FREED
#define IS_FINISHED(x) HAS_ANSWERED(x)

inline close_pages(x)
{
    if
#ifndef M_RELEASED_WHEN_CLOSED
    :: state[x] == DIRTY -> state[x] = CLEAN; twin[x] = 0; listed[x] = 0;
    :: state[x] != DIRTY -> listed[x] = 0;
#endif
    :: else
    fi
}

inline forget_pages(x)
{
    if
    :: is_owner[x] ->
        copyset[x] = 0;
        readers = 0;
        lack = 0;
        called = 0;
        migrating = 0;
        has_written = 0;
        forget_lines();
    :: else
    fi;
    forget_copy(x);
    is_owner[x] = 0;
    hint[x] = NOBODY;
    epoch[x] = 0;
    if
    :: notice_of[x] == 0 ->
        notice[x] = 0;
        noted_owner[x] = NOBODY;
        noted_epoch[x] = 0;
    :: else
    fi
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
    touched = 0;
    moving = 0;
    heard[0] = 3;
    heard[1] = 3;
    heard[2] = 3;
}

#include "blocks.pml"
#endif

// ---- versions, at the owner

// Who else has a copy has missed it.
inline note_version(writer)
{
    lack = lack | (readers & ~BIT(writer));
}

inline wrote(x)
{
    note_version(x);
    has_written = 1;
    if
    :: MAKES_NOTICES(x) -> note(x, version[x]);
    :: else
    fi
}

inline make_version(x)
{
    version[x]++;
    if
    :: is_followed -> know_nothing(version[x]);
    :: else
    fi;
    wrote(x);
}

inline make_version_of(x, diff)
{
    version[x]++;
    know_diff(diff, version[x]);
    wrote(x);
}

// ---- recall

#if defined(FREED) && !defined(M_CALLED_WHEN_CLOSED)
#define MAY_CALL(x) (known[x] != CLOSED) // B1
#else
#define MAY_CALL(x) IS_RUNNING(x)
#endif

// All readers but one.
inline call_back(x, but, to_read)
{
    n = 0;
    do
    :: n < NODES ->
        if
        :: n != but && (readers & ~called) & BIT(n) && MAY_CALL(x) ->
            called = called | BIT(n);
            CALLS(x, n)++;
            send(x, n, RECALL, to_read, 0, 0, 0, 0);
        :: else
        fi;
        n++
    :: else -> break
    od
}

inline on_recalled(x, from)
{
    CALLS(x, from)--;
    if
    :: is_owner[x] && (called & BIT(from)) && CALLS(x, from) == 0 -> // V3
        readers = readers & ~BIT(from);
        lack = lack & ~BIT(from);
        called = called & ~BIT(from);
    :: else
    fi
}

// ---- fetching

// What its owner has written is of a version before it is given to others.
inline seal(x)
{
    if
    :: state[x] == EXCLUSIVE ->
        if
        :: listed[x] -> make_version(x);
        :: else
        fi;
        state[x] = CLEAN;
    :: else
    fi
}

// A10
inline seal_to_go(x)
{
    if
    :: state[x] == EXCLUSIVE -> seal(x); has_written = 1;
    :: state[x] == DIRTY ->
        listed[x] = 1;
#ifndef M_NOT_SEALED
        w = DIFF(mem[x], twin[x]);
        if
        :: w > 15 -> make_version_of(x, w);
        :: else
        fi;
#endif
        twin[x] = 0;
        state[x] = CLEAN;
    :: else
    fi
}

inline send_page(x, dst, contents, owned, ver, is_pushed, refreshes)
{
    answer = (refreshes -> REFRESHED : PAGE);
    send(x, dst, answer, contents, owned, epoch[x] + (owned > 0), ver, is_pushed);
}

// It goes to who has asked, and a copy stays. What is known of lines goes along with what has changed.
inline hand_on(x, requester, from_version, refreshes)
{
    readers = readers & ~BIT(requester);
    w = (refreshes -> mem[x] | CHANGED(0, from_version) | CHANGED(1, from_version) : mem[x]);
    send_page(x, requester, w, 128 + MIGRATES, version[x], 0, refreshes);
    if
    :: !refreshes -> forget_lines();
    :: else
    fi;
    end_ownership(x, requester, 0);
    base[x] = version[x];
    is_left[x] = 1;
}

inline send_copy(x, requester, from_version, refreshes)
{
    given(x);
    m = (copyset[x] & BIT(requester) || (coin & 1) && !migrating); // subscribed
    if
    :: m -> copyset[x] = copyset[x] | BIT(requester);
        copies_sent++;
        readers = readers & ~BIT(requester);
    :: else -> readers = readers | NOTED(requester);
    fi;
    lack = lack & ~BIT(requester);
    called = called & ~BIT(requester);
    w = (state[x] == DIRTY -> twin[x] : mem[x]);
    w = (refreshes -> w | CHANGED(0, from_version) | CHANGED(1, from_version) : w);
    send_page(x, requester, w, 0, version[x], m, refreshes);
}

// A8
#define MAY_GO(x, requester)                                                   \
    (copyset[x] == 0 && NOT_PUSHED(x) && in_flight[x] == 0 && !fetching[x] &&     \
     OTHERS(requester) == 0 && IS_RUNNING(x))

inline serve(x, requester, from_version, refreshes)
{
    v = 0; // is it to go on?
    if
    :: migrating && !MAY_GO(x, requester) -> call_back(x, requester, 1);
    :: migrating && MAY_GO(x, requester) ->
        seal_to_go(x);
        v = has_written;
        migrating = has_written;
    :: else
    fi;
    if
    :: v -> hand_on(x, requester, from_version, refreshes);
    :: !v && state[x] == EXCLUSIVE && moves[x] < MOVE_LIMIT && NOT_PUSHED(x) &&
       NO_READERS && !refreshes && coin == 0 ->
        send(x, requester, PAGE, mem[x], 128 + moves[x] + 1, epoch[x] + 1,
             version[x], 0);
        end_ownership(x, requester, 0);
        forget_lines();
        forget_copy(x);
    :: else ->
        seal(x);
        send_copy(x, requester, from_version, refreshes);
    fi
}

inline on_fetch(x, requester, followed)
{
    if
    :: is_owner[x] && requester != x -> g_serves = 1;
    :: is_owner[x] && requester == x ->
        assert(fetching[x]);
        fetching[x] = 0;
    :: IS_UNTOUCHED(x) ->
        touched = 1;
        moving++;
        hint[x] = requester;
        epoch[x] = 1;
        send(x, requester, GRANT, 0, 0, 0, 0, 0);
    :: else ->
        assert(hint[x] != NOBODY && epoch[x] > followed); // H2
        send(x, hint[x], FETCH, requester, epoch[x], 0, 0, 0);
    fi
}

inline on_grant(x)
{
    assert(state[x] == ABSENT && fetching[x]);
    state[x] = EXCLUSIVE;
    take_ownership(x, DIRECTORY, 1, 0, 0, 0);
    fetching[x] = 0;
}

inline apply_kept(x)
{
    do
    :: nempty(kept[x]) ->
        kept[x]?v, w;
        if
        :: v > base[x] && state[x] != ABSENT ->
            assert(!is_owner[x]);
            mem[x] = MERGE(mem[x], w);
        :: else
        fi
    :: empty(kept[x]) -> break
    od
}

// Ownership has come, of a page that migrates, or of another.
inline own(x, from, owned, ep, ver)
{
    take_ownership(x, from, ep, ver, owned & 7, 0);
    base[x] = ver;
    if
    :: (owned & 7) == MIGRATES ->
        has_written = 0;
        given(x);
        if
        :: IS_RUNNING(x) -> state[x] = DIRTY; twin[x] = mem[x]; // it will be written
        :: else -> state[x] = CLEAN;
        fi
    :: else -> state[x] = EXCLUSIVE;
    fi
}

// The page, or what has changed of a stale copy.
inline on_page(x, from, owned, ep, ver, is_pushed)
{
    assert(fetching[x] && state[x] == ABSENT);
    fetching[x] = 0;
    copies_sent = copies_sent - is_pushed;
    if
    :: kind == PAGE -> w = a & 3;
    :: else -> assert(stale[x]); w = MERGE(mem[x], a); base[x] = ver;
    fi;
    v = WITH_CONTENTS + (owned > 0 -> WITH_OWNERSHIP : 0) +
        (is_pushed -> 0 : IS_NOT_PUSHED_TO) +
        (owned > 0 || IS_FRESH(x, is_pushed, ver) -> 0 : IS_TOO_OLD);
    if
    :: v < IS_TOO_OLD || kind == REFRESHED -> mem[x] = w; is_left[x] = 0;
    :: else
    fi;
    if
    :: owned -> own(x, from, owned, ep, ver);
    :: !owned && v < IS_TOO_OLD ->
        base[x] = ver;
        subscribed[x] = is_pushed;
        stale[x] = 0;
        state[x] = CLEAN;
        learn_owner(x, from, ep);
    :: else // what is stale is as before
    fi;
    v = v + (IS_RUNNING(x) -> 0 : IS_FROZEN);
    step_ends(ON_PAGE, from, x, v, ver, ep);
    apply_kept(x);
}

// ---- stale copies

inline send_diff(x, of_round)
{
    w = DIFF(mem[x], twin[x]);
    in_flight[x]++;
    v = ROUTE(x);
    send(x, v, UPDATE, x, w, epoch[x], of_round, 0);
}

// A dirty copy that is to be written no more.
inline release_now(x)
{
    if
    :: state[x] == DIRTY ->
#ifndef M_NO_LAST_DIFF
        if
        :: mem[x] != twin[x] ->
            if
            :: releasing[x] -> send_diff(x, !round[x]); out_next[x]++;
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

inline end_copy(x, is_kept)
{
    if
    :: is_kept -> state[x] = ABSENT; stale[x] = 1;
    :: else -> forget_copy(x);
    fi;
    step_ends(ON_DROPS, x, x, 0, 0, 0);
}

inline on_recall(x, from, to_read)
{
    if
    :: state[x] != ABSENT && !is_owner[x] && !subscribed[x] ->
        if
        :: to_read -> g_cleans = 1; is_left[x] = 1;
        :: else -> g_stale = 1;
        fi
    :: else
    fi
}

// ---- updates

inline push(x, writer, diff, of_round, to)
{
    m = to;
    n = 0;
    do
    :: n < NODES ->
        if
        :: m & BIT(n) ->
            send(x, n, PUSH, writer, diff, epoch[x], version[x], of_round);
            pushing[BY(x, writer, of_round)]++;
        :: else
        fi;
        n++
    :: else -> break
    od
}

// What an acknowledgement says: the version that the diff has made, if others are to hear of it.
byte made[18]; // by writer's diff, at a node; 0: nobody is to hear

// The free choice of an acknowledgement: 2 the owner gives the page away, 3 keeps a copy.
#define IS_CALM(x, to)                                                         \
    (is_owner[x] && state[x] == CLEAN && NOT_PUSHED(x) && !fetching[x] &&      \
     (readers == 0 -> (copyset[x] & BIT(to)) != 0 :                            \
                      IS_ONLY_READER(to) && LACKS_NOTHING(to)))

inline hand_over(x, to, keeps)
{
    readers = readers & ~BIT(to);
    m = (copyset[x] & ~BIT(to)) | (keeps -> BIT(x) : 0);
    send(x, to, HANDED, moves[x] * 8 + m, epoch[x] + 1, version[x], 0, 0);
    v = version[x];
    end_ownership(x, to, m);
    forget_lines();
    if
    :: keeps -> subscribed[x] = 1; base[x] = v;
    :: else -> forget_copy(x);
    fi;
    step_ends(ON_HAND_OVER, to, to, 0, 0, 0);
}

#define UPDATE_OF(writer, of_round) (((writer) << 1 | (of_round)) + 1)

inline acknowledge(x, writer, of_round)
{
    b = REPLY_TO(x, writer, of_round);
    reply_to[BY(x, writer, of_round)] = reply_to[BY(x, writer, of_round)] / 4;
    step_so_far(ON_ACKNOWLEDGED, b, writer, 0, 0, 0);
    if
    :: b == writer && IS_CALM(x, writer) && migrating && copyset[x] == 0 ->
        hand_over(x, writer, 0);
    :: b == writer && IS_CALM(x, writer) && !migrating && coin >= 2 ->
        hand_over(x, writer, (coin == 3));
    :: else
    fi;
    send(x, b, ACK, writer, made[BY(x, writer, of_round)], of_round, 0, 0);
    made[BY(x, writer, of_round)] = 0;
}

inline on_update(x, from, writer, diff, followed, of_round)
{
    assert(reply_to[BY(x, writer, of_round)] < 64);
    reply_to[BY(x, writer, of_round)] =
        reply_to[BY(x, writer, of_round)] * 4 + from + 1;
    if
    :: is_owner[x] ->
        mem[x] = MERGE(mem[x], diff);
        if
        :: state[x] == DIRTY -> twin[x] = MERGE(twin[x], diff);
        :: else
        fi;
        version[x]++;
        know_diff(diff, version[x]);
        push(x, writer, diff, of_round, copyset[x] & ~BIT(writer));
        made[BY(x, writer, of_round)] = (MAKES_NOTICES(x) -> version[x] : 0);
        note_version(writer);
        if
        :: coin == 1 && copyset[x] == 0 -> // it is found to migrate
            migrating = 1;
            has_written = 1;
            moves[x] = MIGRATES;
        :: else
        fi;
        step_ends(ON_DIFF, from, writer, 0, 0, 0);
        if
        :: coin == 4 -> call_back(x, writer, 0);
        :: else
        fi;
        if
        :: pushing[BY(x, writer, of_round)] == 0 ->
            g_acknowledges = UPDATE_OF(writer, of_round);
        :: else
        fi
    :: else ->
        assert(hint[x] != NOBODY && epoch[x] > followed); // H2
        assert(writer != x); // A3
        send(x, hint[x], UPDATE, writer, diff, epoch[x], of_round, 0);
        step_ends(ON_DIFF, from, writer, 0, 0, 0);
    fi
}

inline end_release_if_done(x)
{
    if
    :: out[x] == 0 && releasing[x] && pushing[BY(x, x, 0)] == 0 ->
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
    :: out[x] == 0 && !releasing[x] && out_next[x] > 0 ->
        round[x] = !round[x];
        out[x] = out_next[x];
        out_next[x] = 0;
    :: out[x] == 0 && out_next[x] == 0 -> round[x] = 0;
    :: else
    fi
}

// C2, A1: who has made a version makes its notice.
inline applied(x, ver)
{
#ifndef M_WRITER_SAYS_NOTHING
    note(x, ver);
#endif
    if
    :: base[x] + 1 == ver -> base[x] = ver;
    :: base[x] + 1 < ver && state[x] != ABSENT && !is_owner[x] && !subscribed[x] ->
        g_stale = 1;
    :: else
    fi
}

// Ownership comes with the acknowledgement, which is in the same message.
inline on_handed(x, from, copies, ep, ver)
{
    assert(state[x] != ABSENT && !is_owner[x]); // A3
    take_ownership(x, from, ep, ver, copies >> 3, copies & 7);
    has_written = 1;
    step_ends(ON_HANDED, from, x, 0, ver, ep);
    WIRE(from, x)?kind, a, b, c, d, e;
    assert(kind == ACK);
#ifdef FREED
    n_on_way--;
#endif
}

inline on_ack(x, from, writer, ver, of_round)
{
    if
    :: reply_to[BY(x, writer, of_round)] == 0 -> // nobody: it is this node's own
        assert(writer == x);
        if
        :: ver > 0 -> applied(x, ver);
        :: else
        fi;
        g_ends = 1;
    :: else ->
        made[BY(x, writer, of_round)] = ver;
        g_acknowledges = UPDATE_OF(writer, of_round);
    fi
}

inline on_push(x, from, writer, diff, ep, ver, of_round)
{
    assert(!is_owner[x]);
    learn_owner(x, from, ep);
    w = 0; // dropped, or left
    if
    :: fetching[x] -> kept[x]!ver, diff;
    :: !fetching[x] && state[x] != ABSENT && ver > base[x] ->
        mem[x] = MERGE(mem[x], diff);
        if
        :: state[x] == DIRTY -> twin[x] = MERGE(twin[x], diff);
        :: else
        fi;
        if
        :: coin == 1 && state[x] == CLEAN && in_flight[x] == 0 ->
            w = 1;
            forget_copy(x);
        :: (coin != 1 || state[x] != CLEAN) && in_flight[x] == 0 ->
            base[x] = ver;
            if
            :: coin == 2 && subscribed[x] && MAY_BE_LEFT(x) -> w = 2; subscribed[x] = 0;
            :: else
            fi
        :: else
        fi
    :: else
    fi;
    step_ends(ON_PUSHED, from, writer, 0, ver, ep);
    g_stale = (w == 2 && notice[x] > base[x]); // A4
    send(x, from, PUSH_ACK, writer, w, of_round, 0, 0);
}

inline on_push_ack(x, from, writer, what, of_round)
{
    if
    :: what > 0 ->
        assert(is_owner[x]); // owns
        copyset[x] = copyset[x] & ~BIT(from);
        if
        :: what == 2 ->
#ifndef M_LEFT_IS_NOT_NOTED
            readers = readers | BIT(from);
            lack = lack | BIT(from);
#endif
            given(x);
            step_ends(ON_LEFT, from, writer, 0, 0, 0);
        :: else -> step_ends(ON_DROPPED, from, writer, 0, 0, 0);
        fi
    :: else
    fi;
    pushing[BY(x, writer, of_round)]--;
    step_so_far(ON_ACKNOWLEDGED, from, writer, 0, 0, 0);
    if
    :: pushing[BY(x, writer, of_round)] == 0 &&
       reply_to[BY(x, writer, of_round)] != 0 ->
        g_acknowledges = UPDATE_OF(writer, of_round);
    :: else
    fi
}

// ---- what orders

#define TELLS_OF(x, k)                                                         \
    ((token[k] == x -> unreleased[k] == 0 : (heard[x] & BIT(k)) != 0) ->       \
         count[k] : UNKNOWN)

inline prepare_to_tell(x)
{
    t_counts = PACK(TELLS_OF(x, 0), TELLS_OF(x, 1));
    t_notice = notice[x] | notice_of[x] << 6;
    t_owner = noted_owner[x];
    t_epoch = noted_epoch[x];
}

#ifdef FREED
#define IS_IN_A_BLOCK(x) (known[x] != NONE)
#else
#define IS_IN_A_BLOCK(x) true
#endif

// A node that owns the page is the one to be asked, and has nothing here to be told.
inline follow_owner(x, owner, ep)
{
    if
    :: owner != NOBODY && owner != x && ep > epoch[x] && !is_owner[x] &&
       (state[x] == ABSENT || is_left[x]) && !fetching[x] && in_flight[x] == 0 ->
        hint[x] = owner;
        epoch[x] = ep;
        step_ends(ON_NOTICED, owner, x, 0, 0, ep);
    :: else
    fi
}

inline hear(x, ver, serial, counts, owner, ep)
{
    if
    :: (ver) > 0 && IS_LATER(x, ver, serial) ->
        notice[x] = ver;
        notice_of[x] = serial;
        noted_owner[x] = owner;
        noted_epoch[x] = ep;
        if
        :: IS_IN_A_BLOCK(x) && IS_OF_BLOCK(x) && state[x] != ABSENT &&
           !is_owner[x] && (ver) > base[x] && BECOMES_STALE(x) -> g_stale = 1;
        :: else
        fi;
        g_follows = IS_IN_A_BLOCK(x) && IS_OF_BLOCK(x);
    :: else
    fi;
    if
    :: FIRST(counts) == count[0] -> heard[x] = heard[x] | 1;
    :: else
    fi;
    if
    :: SECOND(counts) == count[1] -> heard[x] = heard[x] | 2;
    :: else
    fi
}

// ---- nodes come and go

#ifdef MEMBERS
#define IS_FINISHED(x)                                                         \
    (HAS_ANSWERED(x) && IS_AT_REST(x))
#define HAS_UPDATES(x) has_owner_update[x]
#define HAS_RELEASED_ALL(x)                                                    \
    (!(token[0] == x && unreleased[0]) && !(token[1] == x && unreleased[1]))

#define IS_AT_REST(x) (!releasing[x] && out[x] == 0 && out_next[x] == 0)

// A6
inline clean_pages(x)
{
    step_begins(x);
    if
#ifndef M_STAYS_DIRTY
    :: !is_owner[x] && !subscribed[x] -> release_now(x);
#endif
    :: else
    fi
}

inline forget_copies(x)
{
    notice[x] = 0;
    noted_owner[x] = NOBODY;
    noted_epoch[x] = 0;
    if
    :: stale[x] -> forget_copy(x);
    :: else
    fi;
    step_begins(x);
#ifndef M_COPIES_STAY_BEHIND_A_CHANGE
    if
    :: !is_owner[x] && !subscribed[x] && state[x] != ABSENT ->
        forget_copy(x);
        step_ends(ON_DROPS, x, x, 0, 0, 0);
    :: else
    fi;
    tidy(x)
#endif
}

inline forget_records()
{
    readers = 0;
    lack = 0;
    called = 0;
    forget_lines();
}

inline forget_leaver(x, leaver)
{
    step_begins(x);
#ifndef M_STAYS_IN_THE_COPYSET
    copyset[x] = copyset[x] & ~BIT(leaver);
#endif
    if
#ifndef M_LEAVER_IS_ASKED
    :: !is_owner[x] && hint[x] == leaver -> hint[x] = NOBODY; // K3
#endif
    :: else
    fi;
    step_so_far(ON_FORGETS, leaver, leaver, 0, 0, 0);
}

// To who has a copy that is pushed to, else to the directory node.
#define HEIR(set)                                                              \
    ((set) == 0 -> directory : ((set) & 1 -> 0 : ((set) & 2 -> 1 : 2)))

inline give_pages(x)
{
    step_begins(x);
    if
    :: is_owner[x] ->
        m = copyset[x];
        v = HEIR(m);
        send(x, v, GIVEN, mem[x], m, epoch[x] + 1, version[x], 0);
        listed[x] = listed[x] || state[x] == DIRTY;
        end_ownership(x, v, m);
        forget_copy(x);
        step_ends(ON_GIVES, x, v, 0, 0, 0);
    :: else -> forget_copy(x);
    fi;
    tidy(x)
}

inline on_given(x, from, contents, copies, ep, ver)
{
    if
#ifdef M_HEIRS_WRITES_ARE_LOST
    :: state[x] != ABSENT -> mem[x] = contents;
#endif
    :: state[x] == ABSENT -> mem[x] = contents; state[x] = CLEAN;
    :: else // K1
    fi;
    take_ownership(x, from, ep, ver, 0, copies & ~BIT(x));
    if
    :: state[x] == CLEAN && copyset[x] == 0 -> state[x] = EXCLUSIVE;
    :: else
    fi;
    base[x] = ver;
#ifdef M_VERSIONS_BEGIN_ANEW
    version[x] = 0;
#endif
    step_ends(ON_GIVEN, from, x, IS_FROZEN, ver, ep);
}

inline know_nothing_of_pages(x)
{
    hint[x] = NOBODY;
    epoch[x] = 0;
}

inline tell_new_directory(x)
{
    has_owner_update[x] = (is_owner[x] && directory != x);
}

#include "members.pml"
#endif

// ---- what happens at a node

// What a message has led to. (A step of the search has room for each of these once.)
inline go_on(x, from)
{
    if
    :: g_serves > 0 ->
        c = (g_serves == 1 -> a : from);
        d = (g_serves == 1 -> 0 : a);
        serve(x, c, d, (g_serves == 2));
    :: else
    fi;
    if
    :: kind == FETCH -> step_ends(ON_FETCH, from, a, 0, 0, 0);
    :: kind == REFRESH -> step_ends(ON_FETCH, from, from, 0, 0, 0);
    :: else
    fi;
    if
    :: g_cleans || g_stale -> release_now(x);
    :: else
    fi;
    if
    :: g_stale -> end_copy(x, (coin == 0));
    :: else
    fi;
    if
    :: g_follows -> follow_owner(x, d, e);
    :: else
    fi;
    if
    :: kind == RECALL -> send(x, from, RECALLED, 0, 0, 0, 0, 0); // V2
    :: else
    fi;
    if
    :: g_ends ->
        step_so_far(ON_APPLIED, x, x, 0, 0, 0);
        in_flight[x]--;
        step_so_far(ON_ACKNOWLEDGED, from, x, 0, 0, 0);
        if
        :: c == round[x] -> out[x]--;
        :: else -> out_next[x]--;
        fi
    :: else
    fi;
    if
    :: g_acknowledges > 0 ->
        a = (g_acknowledges - 1) >> 1;
        d = (g_acknowledges - 1) & 1;
        acknowledge(x, a, d);
    :: else
    fi;
    end_release_if_done(x);
    g_serves = 0;
    g_cleans = 0;
    g_stale = 0;
    g_follows = 0;
    g_ends = 0;
    g_acknowledges = 0;
}

inline receive(x, from)
{
    WIRE(from, x)?kind, a, b, c, d, e;
    printf("%d: %e from %d: %d %d %d %d %d\n", x, kind, from, a, b, c, d, e);
#ifdef FREED
    n_on_way = n_on_way - IS_OF_PAGE(kind);
#endif
    step_begins(x);
    if
    :: kind == FETCH ->
        on_fetch(x, a, b);
    :: kind == REFRESH ->
        if
        :: is_owner[x] -> g_serves = 2;
        :: else -> // from here on as if all of it had been asked for
            assert(hint[x] != NOBODY);
            send(x, hint[x], FETCH, from, epoch[x], 0, 0, 0);
        fi
    :: kind == GRANT ->
        on_grant(x);
        step_ends(ON_GRANT, from, x, 0, 0, 0);
    :: kind == PAGE || kind == REFRESHED -> on_page(x, from, b, c, d, e);
    :: kind == UPDATE -> on_update(x, from, a, b, c, d);
    :: kind == HANDED -> on_handed(x, from, a, b, c); // and is ACK now
    :: kind == ACK
    :: kind == PUSH -> on_push(x, from, a, b, c, d, e);
    :: kind == PUSH_ACK -> on_push_ack(x, from, a, b, c);
#ifdef FREED
    :: kind == OWNER_IS && !IS_KNOWN(x, b)
    :: kind == CLOSE ->
        on_close(x);
        step_ends(ON_CLOSED, from, 0, 0, 0, 0);
    :: kind == GONE -> on_gone(x);
    :: kind == NEW -> on_new(x);
    :: kind == ANSWER -> on_answer();
#endif
    :: kind == OWNER_IS && IS_KNOWN(x, b) ->
        learn_owner(x, from, a);
        step_ends(ON_OWNER_IS, from, 0, 0, 0, a);
    :: kind == TOLD ->
        hear(x, b & 63, (b >> 6), c, d, e);
        if
        :: a != NOBODY -> token[a] = x; heard[x] = heard[x] | BIT(a);
        :: else
        fi
    :: kind == RECALL -> on_recall(x, from, a);
    :: kind == RECALLED -> on_recalled(x, from);
#ifdef MEMBERS
    :: kind == GIVEN -> on_given(x, from, a, b, c, d);
#endif
    fi;
    if
    :: kind == ACK -> on_ack(x, from, a, b, c);
    :: else
    fi;
    go_on(x, from);
    tidy(x);
#ifdef FREED
    answer_if_finished(x);
#endif
    check();
}

inline fault(x)
{
    printf("%d: fault\n", x);
    n_fetches++;
    step_begins(x);
    fetching[x] = 1;
    v = ROUTE(x);
    if
    :: stale[x] -> send(x, v, REFRESH, base[x], 0, 0, 0, 0);
    :: else -> send(x, v, FETCH, x, epoch[x], 0, 0, 0);
    fi;
    step_ends(ON_ASKS, x, x, 0, 0, 0);
    check();
}

// A9
inline give_up(x)
{
    step_begins(x);
    release_now(x);
    end_copy(x, 1);
    tidy(x);
    check();
}

inline tell_owner(x)
{
    has_owner_update[x] = 0;
    if
    :: is_owner[x] -> send(x, DIRECTORY, OWNER_IS, epoch[x], SERIAL(x), 0, 0, 0);
    :: else
    fi;
    check();
}

inline write_byte(x, k, with_twin)
{
    printf("%d: write of byte %d in state %d\n", x, k, state[x]);
    step_begins(x);
    n_writes++;
    if
    :: state[x] == CLEAN && (with_twin || !is_owner[x] || copyset[x] != 0) ->
        state[x] = DIRTY;
        twin[x] = mem[x];
    :: state[x] == CLEAN && !(with_twin || !is_owner[x] || copyset[x] != 0) ->
        state[x] = EXCLUSIVE;
        listed[x] = LOOK_AT(x);
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
    tidy(x);
    check();
}

// An owner that nobody else shares with may be exclusive again.
inline release_dirty(x, how)
{
    if
    :: is_owner[x] && copyset[x] == 0 && (how == 2 || !is_followed) ->
        state[x] = EXCLUSIVE;
        twin[x] = 0;
        listed[x] = 0;
        make_version(x);
    :: else ->
        w = DIFF(mem[x], twin[x]);
        if
        :: w > 15 && is_owner[x] ->
            make_version_of(x, w);
            push(x, x, w, 0, copyset[x]);
        :: w > 15 && !is_owner[x] -> send_diff(x, round[x]); out[x]++;
        :: else
        fi;
        if
        :: how == 1 -> twin[x] = mem[x];
        :: else -> state[x] = CLEAN; twin[x] = 0; listed[x] = 0;
        fi
    fi
}

inline start_release(x, how)
{
    printf("%d: release\n", x);
    step_begins(x);
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
    if
    :: state[x] == DIRTY -> release_dirty(x, how);
    :: state[x] != DIRTY && listed[x] ->
        listed[x] = 0;
        if
        :: state[x] == EXCLUSIVE -> make_version(x);
        :: else
        fi
    :: else
    fi;
    step_so_far(ON_RELEASED, x, x, 0, 0, 0);
    end_release_if_done(x);
    tidy(x);
    check();
}

inline tell(x, dst, k)
{
    n_tells++;
    prepare_to_tell(x);
    send(x, dst, TOLD, k, t_notice, t_counts, t_owner, t_epoch);
    if
    :: k != NOBODY -> token[k] = ON_WAY;
    :: else
    fi;
    check();
}

#define MAY_FAULT(x)                                                           \
    (state[x] == ABSENT && !fetching[x] && n_fetches < FETCHES && IS_USED_NOW && \
     MAY_ASK(x))
#define MAY_WRITE(x, k)                                                        \
    (state[x] != ABSENT && (token[k] == x || token[k] == NOBODY) &&            \
     n_writes < WRITES && (!is_left[x] || is_owner[x]) && IS_USED_NOW &&       \
     MAY_USE(x))
#define NEEDS_RELEASE_OF(x, k) (token[k] == x && unreleased[k] == 1)
#define MAY_RELEASE(x)                                                         \
    (n_releases < RELEASES && !releasing[x] && out[x] == 0 && MAY_GO_ON(x) &&  \
     (NEEDS_RELEASE_OF(x, 0) || NEEDS_RELEASE_OF(x, 1)))
#ifdef M_MOVES_UNRELEASED
#define HAS_RELEASED_ITS_WRITES(k) true
#else
#define HAS_RELEASED_ITS_WRITES(k) (unreleased[k] == 0)
#endif
#define MAY_GIVE(x, k, dst)                                                    \
    (token[k] == x && HAS_RELEASED_ITS_WRITES(k) && n_tells < TELLS &&         \
     MAY_GO_ON(x) && MAY_GO_ON(dst))
#ifdef FREED
#define IS_ORDERED(x, k)                                                       \
    (token[k] != ON_WAY && HAS_HEARD(x, k) && (token[k] == x || unreleased[k] == 0))
#define MAY_FREE(x) (block == USED && IS_ORDERED(x, 0) && IS_ORDERED(x, 1))
#endif
#define MAY_TELL(x, dst)                                                       \
    (n_tells < TELLS && notice[x] != 0 && MAY_GO_ON(x) && MAY_GO_ON(dst))
#define HAS(type, from, x) WIRE(from, x)?[type, _, _, _, _, _]

inline receive_from(from, x)
{
    if
    :: true
    :: HAS(TOLD, from, x) || HAS(ACK, from, x) || HAS(RECALL, from, x) -> coin = 1
    :: HAS(FETCH, from, x) || HAS(REFRESH, from, x) -> coin = 1
    :: HAS(FETCH, from, x) || HAS(REFRESH, from, x) -> coin = 2
    :: HAS(PUSH, from, x) -> coin = 1
    :: HAS(PUSH, from, x) -> coin = 2
    :: HAS(UPDATE, from, x) -> coin = 1
    :: HAS(UPDATE, from, x) || HAS(PUSH_ACK, from, x) -> coin = 2
    :: HAS(UPDATE, from, x) || HAS(PUSH_ACK, from, x) -> coin = 3
    :: HAS(UPDATE, from, x) -> coin = 4
    fi;
    d_step { receive(x, from) }
}

proctype node(byte me; byte next; byte last)
{
end:
    do
    :: atomic { nempty(WIRE(me, me)) -> receive_from(me, me) }
    :: atomic { nempty(WIRE(next, me)) -> receive_from(next, me) }
    :: atomic { nempty(WIRE(last, me)) -> receive_from(last, me) }
    :: d_step { MAY_FAULT(me) -> fault(me) }
    :: d_step { has_owner_update[me] -> tell_owner(me) }
    :: d_step {
        is_left[me] && !is_owner[me] && state[me] != ABSENT && n_writes < WRITES &&
        IS_USED_NOW && MAY_ASK(me) ->
        give_up(me)
       }
    :: d_step { MAY_WRITE(me, 0) -> write_byte(me, 0, 0) }
    :: d_step { MAY_WRITE(me, 1) -> write_byte(me, 1, 0) }
    :: d_step {
        MAY_WRITE(me, 0) && is_owner[me] && is_followed && state[me] == CLEAN &&
        copyset[me] == 0 -> write_byte(me, 0, 1)
       }
    :: d_step { MAY_RELEASE(me) -> start_release(me, 0) }
    :: d_step { MAY_RELEASE(me) && state[me] == DIRTY -> start_release(me, 1) }
    :: d_step {
        MAY_RELEASE(me) && state[me] == DIRTY && is_owner[me] &&
        copyset[me] == 0 && is_followed -> start_release(me, 2)
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

#if START > 0
// Of version 1, with copies of which some are pushed to; or it has migrated, and copies have stayed.
inline start(owner, copies, pushed_to)
{
    touched = 1;
    is_followed = 1;
    know_nothing(1);
    is_owner[owner] = 1;
    version[owner] = 1;
    state[owner] = CLEAN;
    moves[owner] = 1;
#if START == 2
    moves[owner] = MIGRATES;
    migrating = 1;
#endif
    n = 0;
    do
    :: n <= LAST ->
        epoch[n] = 2;
        if
        :: n != owner ->
            hint[n] = owner;
            if
            :: copies & BIT(n) -> state[n] = CLEAN; base[n] = 1;
#if START == 2
                is_left[n] = 1;
#else
                if
                :: pushed_to & BIT(n) ->
                    subscribed[n] = 1;
                    copyset[owner] = copyset[owner] | BIT(n);
                :: else -> readers = readers | BIT(n);
                fi
#endif
            :: else
            fi
        :: else
        fi;
        n++
    :: else -> break
    od
}
#endif

init {
    byte x;
    byte y;
    byte z;

    atomic {
#if START > 0
        select(x : 0 .. 1);
        select(y : 0 .. ALL);
#if START == 1
        select(z : 0 .. ALL);
#endif
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
