// SPDX-License-Identifier: BSD-3-Clause
//
// entry on two pages, three nodes, FIFO channels between each two, every interleaving. The rules are those of
// docs/protocols.md, section 14, and of src/protocol/entry.c.
//
// There are three bytes, each a line by itself: byte 0 is on page 0, bytes 1 and 2 are on page 1. To begin with bytes 0
// and 1 are bound to a mutex, MUTEX, and byte 2 to a reader-writer lock, RWLOCK, whose home is node 0. So both locks
// have bytes on page 1.
//
// The program that runs on it is the most general one without errors. Whoever has a lock reads and writes its bytes
// at any time; a thread that holds both may bind byte 1 to the other one. The mutex's token goes from any node to
// any other one, which stands for an unlock and a lock there, by another thread or by one that has moved: who
// holds a lock stays where it is. The reader-writer lock is lent to any node, to several that read, some with several threads, or to one
// that writes, and comes back. A write toggles its byte, so writing twice restores it.
//
// Free choices are when a page is read, and when memory is short, so that what is written needs no twin any more.
// What is told to all nodes when bytes are bound is left out: it is for lines about errors.
//
// After each step the whole state is checked (inline check):
//   B1        of each lock one node, or the token, has the bytes to pass on; nobody has the last ones beside a
//             writer that has borrowed them
//   B2        who is known to have had an incarnation has the lines of it, with their stamps
//   B3        nothing that was written under a lock that has gone is without a stamp
//   B4        a page is mapped only while a lock is here that has bytes on it
//   B5, B6    whoever has a lock knows which bytes are bound to it
//   entry     and these are as they were written last
//
// Sizes (-D): WRITES, GIVES (of the token), LENDS, BINDS, of all nodes together. PAIR: two nodes only.
// MEMBERS: a node leaves, and comes again, with another number in the engine (section 5; members.pml). The reader-writer
// lock's home is another one then, or may be; with GIVEN_UP, or nothing changes after all.
// FREED: the block is freed, and the next one gets its pages (section 11; blocks.pml): bytes are bound anew.
// A mutant is one rule left out, -DM_..., see mutants.sh.
//
// Each step is compared with the table of tests/steps; not with -DNO_STEPS.

#include "model_steps.h"

#ifndef WRITES
#define WRITES 2
#endif
#ifndef GIVES
#define GIVES 2
#endif
#ifndef LENDS
#define LENDS 2
#endif
#ifndef BINDS
#define BINDS 1
#endif

#define NODES 3
#ifdef PAIR
#define LAST 1
#else
#define LAST 2
#endif
#define NOBODY 3
#define ON_WAY 4 // the token
#ifdef MEMBERS
#define HOME directory // of the reader-writer lock
#else
#define HOME 0
#endif
#define QUEUE 6
#define BYTES 3
#define PAGES 2

// What a byte is bound to.
#define NO_LOCK 0
#define MUTEX 1
#define RWLOCK 2

// Messages about locks have seven fields: the lock, its incarnation, its list, flags, what it knows of each node (4 bits
// each), and of each byte whether it is there, its value and its stamp (6 bits). Flags are which bytes are bound to
// it, and:
#define WITH_LIST 8
#define IS_OF_NEXT 16 // the ranges are of the second block
#define IS_EMPTY 32   // nothing has been written
#define IS_LENT 64    // a thread elsewhere has the lock, and may write
//   TOKEN          the mutex
//   LENT, LENT_TO_WRITE the reader-writer lock, to read or to write
//   BACK           from who has read or written
//   MOVED          the reader-writer lock, to its new home
mtype = { TOKEN, LENT, LENT_TO_WRITE, BACK, MOVED, CLOSE, GONE, NEW, ANSWER };

chan wire[9] = [QUEUE] of { mtype, byte, byte, byte, byte, short, int };
#define WIRE(from, to) wire[(from) * 3 + (to)]

// What a node knows of pages and bytes.
bit is_bound[6]; // a page: what a node has had is there
bit written[6];  // it has a twin
bit mapped[6];
byte here[6];
byte mem[NODES]; // a bit for each byte
byte twin[NODES];
byte lock_of[9]; // of each byte
byte stamp[9];

// What it knows of locks: [lock - 1].
bit is_here[6];
bit is_home[6];
byte incarnation[6];
byte list[6];
byte had[18]; // which incarnation each node has had
byte n_lent[NODES]; // of the reader-writer lock

// The program.
byte token = 0;     // where the mutex is
byte readers[NODES];
bit writes[NODES];
byte n_out;         // threads that have the reader-writer lock, or will, or have just had it
bit is_written_to;  // one of these to write
byte binding[BYTES];
byte count[BYTES]; // of writes
byte n_writes, n_gives, n_lends, n_binds;
#ifdef MEMBERS
bit moves_home; // the lock has another home though its own stays a node
bit home_moves; // it is on its way
#endif

hidden mtype kind;
hidden byte lock, inc, lst, flags;
hidden short knows;
hidden int lines;
hidden byte p, n, m, was_here, since, has_stamped, next_stamp, old;
hidden byte p2, k2, k3;
hidden short packed;

#define BIT(n) (1 << (n))
#define VALUE(k) (count[k] & 1)
#define OF(x, k) ((x) * BYTES + (k))
#define ON(x, p) ((x) * PAGES + (p))
#define AT(x, l) ((x) * 2 + (l) - 1)
#define HAD(x, l, n) (((x) * 2 + (l) - 1) * 3 + (n))
#define PAGE(k) ((k) > 0)
#define ONES(p) ((p) == 0 -> 1 : 6) // the bytes of a page
#define HAS(x, k) ((mem[x] >> (k)) & 1)
#define DIFFERS(x, k)                                                          \
    (written[ON(x, PAGE(k))] && (((mem[x] ^ twin[x]) >> (k)) & 1))
#define LINE(x, k) ((32 | HAS(x, k) << 4 | stamp[OF(x, k)]) << (6 * (k)))

#ifdef FREED
#define SAY(src, dst, type) WIRE(src, dst)!type, 0, 0, 0, 0, 0, 0
#include "blocks.pml"
#else
#define IS_USED_NOW true
#define IS_KNOWN(x, serial) true
#define SERIAL(x) 0
#endif

#define IS_WRITABLE(at) (mapped[at] && written[at])
#define TOKENS_HAVE_BYTES
#include "members.pml"

#define QUIET                                                                  \
    (len(wire[0]) + len(wire[1]) + len(wire[2]) + len(wire[3]) +               \
         len(wire[4]) + len(wire[5]) + len(wire[6]) + len(wire[7]) +           \
         len(wire[8]) == 0)

// ---- mutants

#ifdef M_RANGES_OF_ANOTHER_BLOCK
#define MAY_NOTE(x, serial) true
#else
#define MAY_NOTE(x, serial) IS_KNOWN(x, serial)
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
    const char *const model_protocol = "entry";

    void model_record(int x, int p, int *to)
    {
        to[AT_STATE] = now.is_bound[2 * x + p] ? IS_BOUND : 0;
        to[AT_HERE] = now.here[2 * x + p];
        to[AT_WRITTEN] = now.written[2 * x + p];
        for (int k = 0; k < 3; k++) {
            if ((k > 0) == p && now.lock_of[3 * x + k] != 0) {
                to[AT_VERSION] += now.stamp[3 * x + k];
            }
        }
    }
};

hidden byte s_node, s_page, s_event, s_who, s_version, s_epoch;
hidden short s_facts;
hidden byte s_is_allowed;

inline step_begins(x, page)
{
    s_node = x;
    s_page = page;
    c_code { model_begins(s_node, s_page); };
}

inline step_is(event, who, facts, ver, ep)
{
    s_event = event;
    s_who = who;
    s_facts = facts;
    s_version = ver;
    s_epoch = ep;
}

inline step_ends(event, who, facts, ver, ep)
{
    step_is(event, who, facts, ver, ep);
    c_code {
        if (s_event == ON_SENDS_BYTES) {
            model_sends(SENDS_BYTES, s_who);
        }
        s_is_allowed = model_ends(s_event, s_node, s_who, s_facts, s_version,
                                  s_epoch, 0);
    };
    assert(s_is_allowed);
}

// If anything has changed.
inline step_so_far(event)
{
    step_is(event, 0, 0, 0, 0);
    c_code {
        s_is_allowed = model_ends(s_event, s_node, s_who, s_facts, s_version,
                                  s_epoch, 1);
    };
    assert(s_is_allowed);
}
#else
inline step_begins(x, page) { skip }
inline step_ends(event, who, facts, ver, ep) { skip }
inline step_so_far(event) { skip }
#endif

// ---- checks

// The bytes that are bound to a lock.
#define ARE_RANGES_GOOD(x, l, k)                                               \
    ((lock_of[OF(x, k)] == l) == (binding[k] == l))
#define IS_BYTE_GOOD(x, l, k) (binding[k] != l || HAS(x, k) == VALUE(k))
#define KNOWS_RANGES(x, l)                                                     \
    (ARE_RANGES_GOOD(x, l, 0) && ARE_RANGES_GOOD(x, l, 1) &&                   \
     ARE_RANGES_GOOD(x, l, 2))
#define HAS_THE_LAST(x, l)                                                     \
    (IS_BYTE_GOOD(x, l, 0) && IS_BYTE_GOOD(x, l, 1) && IS_BYTE_GOOD(x, l, 2))
#define USES(x, l) (l == MUTEX -> token == x : readers[x] > 0 || writes[x])

// B2: what the home of a lock says of node y, if nothing is on its way there.
#define IS_LINE_KNOWN(x, l, y, k)                                              \
    (lock_of[OF(x, k)] != l || stamp[OF(x, k)] == 0 ||                         \
     stamp[OF(x, k)] > had[HAD(x, l, y)] ||                                \
     (lock_of[OF(y, k)] == l && stamp[OF(y, k)] >= stamp[OF(x, k)]))
#define IS_KNOWN_OF(x, l, y)                                                   \
    (x == y || nempty(WIRE(x, y)) || !IS_USED_NOW || !IS_LIVE(y) ||                           \
     (IS_LINE_KNOWN(x, l, y, 0) && IS_LINE_KNOWN(x, l, y, 1) &&                \
      IS_LINE_KNOWN(x, l, y, 2)))
#define IS_STAMPED(x, k)                                                       \
    (lock_of[OF(x, k)] == NO_LOCK || is_here[AT(x, lock_of[OF(x, k)])] ||      \
     !DIFFERS(x, k))

inline check_lock(x, l)
{
    assert(!is_here[AT(x, l)] || l == RWLOCK || is_home[AT(x, l)]); // B1
    if
    :: USES(x, l) && IS_USED_NOW ->
        assert(is_here[AT(x, l)]);
        assert(KNOWS_RANGES(x, l));      // B5, B6
        assert(HAS_THE_LAST(x, l));
    :: else
    fi;
    if
    :: is_home[AT(x, l)] && is_here[AT(x, l)] ->
        assert(IS_KNOWN_OF(x, l, 0) && IS_KNOWN_OF(x, l, 1) &&
               (LAST == 1 || IS_KNOWN_OF(x, l, 2))); // B2
    :: else
    fi
}

inline check_node(x)
{
    assert(!mapped[ON(x, 0)] || here[ON(x, 0)] > 0); // B4
    assert(!mapped[ON(x, 1)] || here[ON(x, 1)] > 0);
    assert(IS_STAMPED(x, 0) && IS_STAMPED(x, 1) && IS_STAMPED(x, 2)); // B3
    check_lock(x, MUTEX);
    check_lock(x, RWLOCK);
}

inline check()
{
    check_node(0);
    check_node(1);
#ifndef PAIR
    check_node(2);
#endif
    assert(is_home[AT(0, MUTEX)] + is_home[AT(1, MUTEX)] +
           is_home[AT(2, MUTEX)] + (token == ON_WAY) == 1); // B1
#ifdef MEMBERS
    assert(is_home[AT(0, RWLOCK)] + is_home[AT(1, RWLOCK)] +
           is_home[AT(2, RWLOCK)] + home_moves == 1);
    assert(is_home[AT(HOME, RWLOCK)] || home_moves || phase == CHANGING);
#else
    assert(is_home[AT(HOME, RWLOCK)] && !is_home[AT(1, RWLOCK)] &&
           !is_home[AT(2, RWLOCK)]);
#endif
    assert(!is_home[AT(HOME, RWLOCK)] || !is_here[AT(HOME, RWLOCK)] ||
           writes[0] + writes[1] + writes[2] == writes[HOME])
}

// ---- pages of a lock that is here (bound_pages.c)

inline lock_begins_here(x, l)
{
    is_here[AT(x, l)] = 1;
    k2 = 0;
    do
    :: k2 < BYTES ->
        if
        :: lock_of[OF(x, k2)] == l ->
            p2 = PAGE(k2);
            step_begins(x, p2);
            here[ON(x, p2)]++;
            step_so_far(ON_LOCK_COMES);
        :: else
        fi;
        k2++
    :: else -> break
    od
}

// B3
inline stamp_lock(x, l)
{
    has_stamped = 0;
    next_stamp = incarnation[AT(x, l)] + 1;
    k2 = 0;
    do
    :: k2 < BYTES ->
        if
        :: lock_of[OF(x, k2)] == l && DIFFERS(x, k2) ->
            step_begins(x, PAGE(k2));
            stamp[OF(x, k2)] = next_stamp;
            twin[x] = twin[x] ^ BIT(k2);
            has_stamped = 1;
            step_so_far(ON_STAMPED);
        :: else
        fi;
        k2++
    :: else -> break
    od;
    incarnation[AT(x, l)] = incarnation[AT(x, l)] + has_stamped
}

// Lines of it that have been written and have no stamp of that.
#define N_UNSTAMPED(x, p)                                                      \
    (p == 0 -> (lock_of[OF(x, 0)] != NO_LOCK && DIFFERS(x, 0)) :               \
               (lock_of[OF(x, 1)] != NO_LOCK && DIFFERS(x, 1)) +               \
               (lock_of[OF(x, 2)] != NO_LOCK && DIFFERS(x, 2)))

inline drop_twin(x, p)
{
    if
    :: written[ON(x, p)] ->
        step_begins(x, p);
        old = N_UNSTAMPED(x, p);
        written[ON(x, p)] = 0;
        twin[x] = twin[x] & ~ONES(p);
        step_ends(ON_TWIN_GOES, 0, 0, old, 0);
    :: else
    fi
}

inline lock_ends_here(x, l)
{
    is_here[AT(x, l)] = 0;
    k2 = 0;
    do
    :: k2 < BYTES ->
        if
        :: lock_of[OF(x, k2)] == l ->
            p2 = PAGE(k2);
            step_begins(x, p2);
            here[ON(x, p2)]--;
#ifndef M_STAYS_MAPPED
            mapped[ON(x, p2)] = mapped[ON(x, p2)] && here[ON(x, p2)] > 0; // B4
#endif
            step_so_far(ON_LOCK_GOES);
        :: else
        fi;
        k2++
    :: else -> break
    od;
#ifndef M_NOT_STAMPED
    stamp_lock(x, l);
#endif
    if
    :: here[ON(x, 0)] == 0 -> drop_twin(x, 0);
    :: else
    fi;
    if
    :: here[ON(x, 1)] == 0 -> drop_twin(x, 1);
    :: else
    fi
}

// Memory is short.
inline relieve(x)
{
    printf("%d: memory is short\n", x);
#ifndef M_RELIEF_STAMPS_NOTHING
    if
    :: is_here[AT(x, MUTEX)] -> stamp_lock(x, MUTEX);
    :: else
    fi;
    if
    :: is_here[AT(x, RWLOCK)] -> stamp_lock(x, RWLOCK);
    :: else
    fi;
#endif
    drop_twin(x, 0);
    drop_twin(x, 1);
    check();
}

// ---- what goes along (bound_parcel.c)

// Sets flags, knows and lines.
inline write_parcel(x, dst, l)
{
    since = had[HAD(x, l, dst)];
    flags = SERIAL(x) * IS_OF_NEXT;
    lines = 0;
    knows = had[HAD(x, l, 0)] | had[HAD(x, l, 1)] << 4 |
            had[HAD(x, l, 2)] << 8;
#ifndef M_LIST_STAYS
    flags = flags | (list[AT(x, l)] > since -> WITH_LIST : 0); // B5
#endif
    k2 = 0;
    do
    :: k2 < BYTES ->
        if
        :: lock_of[OF(x, k2)] == l && (flags & WITH_LIST) ->
            flags = flags | BIT(k2);
        :: else
        fi;
        if
        :: lock_of[OF(x, k2)] == l && stamp[OF(x, k2)] > since -> // B2
            step_begins(x, PAGE(k2));
            lines = lines | LINE(x, k2);
            step_ends(ON_SENDS_BYTES, dst, 0, stamp[OF(x, k2)], since);
        :: else
        fi;
        k2++
    :: else -> break
    od
}

inline forget_range(x, k)
{
    step_begins(x, PAGE(k));
    lock_of[OF(x, k)] = NO_LOCK;
    stamp[OF(x, k)] = 0;
    step_so_far(ON_UNBOUND);
}

// B6
inline note_range(x, l, k)
{
    if
    :: lock_of[OF(x, k)] == l
#ifdef M_OLD_RANGE_IS_IN_THE_WAY
    :: lock_of[OF(x, k)] != l && lock_of[OF(x, k)] != NO_LOCK
    :: lock_of[OF(x, k)] == NO_LOCK -> lock_of[OF(x, k)] = l;
#else
    :: else ->
        assert(lock_of[OF(x, k)] == NO_LOCK ||
               !is_here[AT(x, lock_of[OF(x, k)])]); // bound to two at once
        forget_range(x, k);
        lock_of[OF(x, k)] = l;
#endif
    fi
}

inline take_line(x, l, k)
{
    packed = (lines >> (6 * k)) & 63;
    if
    :: (packed & 32) && lock_of[OF(x, k)] == l ->
        step_begins(x, PAGE(k));
        is_bound[ON(x, PAGE(k))] = 1;
        mem[x] = (mem[x] & ~BIT(k)) | ((packed >> 4) & 1) << k;
        if
        :: written[ON(x, PAGE(k))] ->
            twin[x] = (twin[x] & ~BIT(k)) | ((packed >> 4) & 1) << k;
        :: else
        fi;
        old = stamp[OF(x, k)];
#ifndef M_STAMPS_STAY_BEHIND
        stamp[OF(x, k)] = packed & 15;
#endif
        step_ends(ON_TAKES_BYTES, 0, 0, packed & 15, old);
    :: else
    fi
}

inline take_parcel(x, l, is_token)
{
    was_here = is_here[AT(x, l)];
    if
    :: was_here -> lock_ends_here(x, l);
    :: else
    fi;
    if
    :: is_token ->
        had[HAD(x, l, 0)] = knows & 15;
        had[HAD(x, l, 1)] = (knows >> 4) & 15;
        had[HAD(x, l, 2)] = (knows >> 8) & 15;
    :: else
    fi;
    k3 = 0;
    do
    :: k3 < BYTES ->
        if
        :: (flags & BIT(k3)) && lst >= list[AT(x, l)] &&
           MAY_NOTE(x, (flags & IS_OF_NEXT) != 0) ->
            note_range(x, l, k3);
        :: else
        fi;
        k3++
    :: else -> break
    od;
    k3 = 0;
    do
    :: k3 < BYTES -> take_line(x, l, k3); k3++
    :: else -> break
    od;
    if
    :: inc > incarnation[AT(x, l)] -> incarnation[AT(x, l)] = inc;
    :: else
    fi;
    if
    :: (flags & WITH_LIST) && lst >= list[AT(x, l)] ->
        list[AT(x, l)] = lst;
        k3 = 0;
        do
        :: k3 < BYTES ->
            if
            :: lock_of[OF(x, k3)] == l && !(flags & BIT(k3)) ->
                forget_range(x, k3); // B5
            :: else
            fi;
            k3++
        :: else -> break
        od
    :: else
    fi;
    if
#ifdef M_HOME_HAS_WHAT_IS_LENT
    :: true -> lock_begins_here(x, l);
#else
    :: was_here || !(flags & IS_LENT) -> lock_begins_here(x, l);
    :: else
#endif
    fi
}

inline send_parcel(x, dst, type, l)
{
    assert(IS_LIVE(dst)); // gone
    WIRE(x, dst)!type, l, incarnation[AT(x, l)], list[AT(x, l)], flags, knows,
        lines;
}

// ---- the mutex

inline pass_token(x, dst)
{
    token = ON_WAY;
    lock_ends_here(x, MUTEX);
#ifndef M_STAYS_HOME
    is_home[AT(x, MUTEX)] = 0;
#endif
    had[HAD(x, MUTEX, x)] = incarnation[AT(x, MUTEX)];
    write_parcel(x, dst, MUTEX);
    send_parcel(x, dst, TOKEN, MUTEX);
}

inline give(x, dst)
{
    printf("%d: the mutex goes to %d\n", x, dst);
    n_gives++;
    pass_token(x, dst);
    check();
}

inline on_token(x)
{
    take_parcel(x, MUTEX, 1);
    is_home[AT(x, MUTEX)] = 1;
    token = x;
}

// ---- the reader-writer lock

inline lend(dst, to_write)
{
    printf("%d: the reader-writer lock goes to %d\n", HOME, dst);
    n_lends++;
    n_out++;
    is_written_to = to_write;
    if
    :: !is_here[AT(HOME, RWLOCK)] -> // the writer has written nothing
        lock_begins_here(HOME, RWLOCK);
    :: else
    fi;
    if
    :: dst == HOME ->
        n_lent[HOME]++;
        readers[HOME] = readers[HOME] + !to_write;
        writes[HOME] = to_write;
    :: else ->
        if
        :: n_lent[HOME] > 0 || !to_write -> stamp_lock(HOME, RWLOCK);
#ifndef M_HOME_HAS_THEM_MEANWHILE
        :: else -> lock_ends_here(HOME, RWLOCK);
#else
        :: else -> stamp_lock(HOME, RWLOCK);
#endif
        fi;
        had[HAD(HOME, RWLOCK, HOME)] = incarnation[AT(HOME, RWLOCK)];
        write_parcel(HOME, dst, RWLOCK);
        if
        :: to_write -> send_parcel(HOME, dst, LENT_TO_WRITE, RWLOCK);
        :: else -> send_parcel(HOME, dst, LENT, RWLOCK);
        fi;
        had[HAD(HOME, RWLOCK, dst)] = incarnation[AT(HOME, RWLOCK)];
    fi;
    check();
}

inline on_lent(x, to_write)
{
    if
    :: n_lent[x] > 0 // nobody has written since the first time
    :: else ->
        assert(!is_here[AT(x, RWLOCK)]); // B1
        take_parcel(x, RWLOCK, 1);
    fi;
    n_lent[x]++;
    readers[x] = readers[x] + !to_write;
    writes[x] = to_write;
}

// From here it goes back.
inline give_back(x)
{
    printf("%d: the reader-writer lock goes back\n", x);
    if
    :: writes[x] -> writes[x] = 0;
    :: else -> readers[x]--;
    fi;
    n_lent[x]--;
    if
    :: x == HOME -> n_out--;
    :: else ->
        if
        :: n_lent[x] > 0 -> stamp_lock(x, RWLOCK);
        :: else -> lock_ends_here(x, RWLOCK);
        fi;
        had[HAD(x, RWLOCK, x)] = incarnation[AT(x, RWLOCK)];
        flags = IS_EMPTY;
        lines = 0;
        knows = 0;
        if
        :: n_lent[x] == 0 &&
           incarnation[AT(x, RWLOCK)] > had[HAD(x, RWLOCK, HOME)] ->
            write_parcel(x, HOME, RWLOCK);
        :: else
        fi;
        send_parcel(x, HOME, BACK, RWLOCK);
        had[HAD(x, RWLOCK, HOME)] = incarnation[AT(x, RWLOCK)];
    fi;
    check();
}

inline on_back(x, from)
{
    assert(is_home[AT(x, RWLOCK)]); // B1
    n_out--;
    if
    :: !(flags & IS_EMPTY) ->
        take_parcel(HOME, RWLOCK, 0);
        had[HAD(HOME, RWLOCK, from)] = incarnation[AT(HOME, RWLOCK)];
    :: else
    fi
}

// ---- binding (bound_bind.c)

#define HOLDS(x, l) (l == MUTEX -> token == x : writes[x])

inline bind(x, k, l)
{
    printf("%d: byte %d is bound to lock %d\n", x, k, l);
    n_binds++;
    old = lock_of[OF(x, k)];
    incarnation[AT(x, l)]++;
    list[AT(x, l)] = incarnation[AT(x, l)];
    m = (old != NO_LOCK);
    if
    :: old != NO_LOCK ->
        incarnation[AT(x, old)]++;
        list[AT(x, old)] = incarnation[AT(x, old)]; // B5
        step_begins(x, PAGE(k));
        here[ON(x, PAGE(k))]--;
        lock_of[OF(x, k)] = NO_LOCK;
        stamp[OF(x, k)] = 0;
        step_so_far(ON_UNBOUND);
    :: else
    fi;
    step_begins(x, PAGE(k));
    lock_of[OF(x, k)] = l;
#ifndef M_NEW_BYTES_HAVE_NO_STAMP
    stamp[OF(x, k)] = (m || (is_bound[ON(x, PAGE(k))] && HAS(x, k)) ->
                           incarnation[AT(x, l)] : 0);
#endif
    here[ON(x, PAGE(k))]++;
    step_so_far(ON_BOUND);
    binding[k] = l;
    check();
}

// ---- the block is freed

#ifdef FREED
#define IS_FINISHED(x) true

inline close_page(x, p)
{
    step_begins(x, p);
    mapped[ON(x, p)] = 0;
    step_ends(ON_CLOSED, 0, 0, 0, 0);
}

inline close_pages(x)
{
    close_page(x, 0);
    close_page(x, 1);
}

inline forget_byte(x, k)
{
    if
    :: lock_of[OF(x, k)] != NO_LOCK ->
        step_begins(x, PAGE(k));
        here[ON(x, PAGE(k))] =
            here[ON(x, PAGE(k))] - is_here[AT(x, lock_of[OF(x, k)])];
        lock_of[OF(x, k)] = NO_LOCK;
        stamp[OF(x, k)] = 0;
        step_so_far(ON_UNBOUND);
    :: else
    fi
}

inline forget_pages(x)
{
#ifndef M_RANGES_STAY
    forget_byte(x, 0);
    forget_byte(x, 1);
    forget_byte(x, 2);
#endif
    is_bound[ON(x, 0)] = 0;
    is_bound[ON(x, 1)] = 0;
    written[ON(x, 0)] = 0;
    written[ON(x, 1)] = 0;
    mem[x] = 0;
    twin[x] = 0;
}

inline begin_anew()
{
    count[0] = 0;
    count[1] = 0;
    count[2] = 0;
}

#include "blocks.pml"

// Its thread has seen the last use of each byte: nobody has the reader-writer lock.
#define MAY_FREE(x) (block == USED && token == x && n_out == 0)

inline end_bindings()
{
    binding[0] = NO_LOCK;
    binding[1] = NO_LOCK;
    binding[2] = NO_LOCK;
}
#endif

// ---- nodes come and go

#ifdef MEMBERS
#define IS_AT_REST(x) true
#define IS_FINISHED(x) true
#ifndef M_TOKEN_STAYS
#define PASSES_TOKEN(x) (phase == CHANGING && token == x && !IS_LIVE(x))
#else
#define PASSES_TOKEN(x) false
#endif
#define MOVES_HOME(x) (phase == CHANGING && is_home[AT(x, RWLOCK)] && HOME != x)
#define HAS_UPDATES(x) (PASSES_TOKEN(x) || MOVES_HOME(x))
// No thread is there, nor waits there for a lock.
#define HAS_RELEASED_ALL(x)                                                    \
    (readers[x] == 0 && !writes[x] && empty(WIRE(0, x)) &&                     \
     empty(WIRE(1, x)) && empty(WIRE(2, x)))

inline clean_pages(x) { skip }
inline forget_copies(x) { skip }
inline forget_records() { skip }
inline forget_leaver(x, leaver) { skip }

// Its own threads may have the lock still, and write.
inline move_home(x, dst)
{
    printf("%d: the reader-writer lock's home is %d now\n", x, dst);
    m = (!is_here[AT(x, RWLOCK)] || n_lent[x] > 0);
    if
#ifdef M_ENDS_WHAT_IS_LENT
    :: is_here[AT(x, RWLOCK)] -> lock_ends_here(x, RWLOCK);
#else
    :: n_lent[x] > 0 -> stamp_lock(x, RWLOCK);
    :: n_lent[x] == 0 && is_here[AT(x, RWLOCK)] -> lock_ends_here(x, RWLOCK);
#endif
    :: else
    fi;
    is_home[AT(x, RWLOCK)] = 0;
    home_moves = 1;
    had[HAD(x, RWLOCK, x)] = incarnation[AT(x, RWLOCK)];
    write_parcel(x, dst, RWLOCK);
    flags = flags + m * IS_LENT;
    send_parcel(x, dst, MOVED, RWLOCK);
    check();
}

inline on_moved(x)
{
    assert(!is_home[AT(x, RWLOCK)]); // B1
    take_parcel(x, RWLOCK, 1);
    is_home[AT(x, RWLOCK)] = 1;
    home_moves = 0;
}

inline tell_new_directory(x) { skip }

// With another roster the manager of a lock may be another node that stays.
inline give_pages(x)
{
    if
    :: moves_home && directory != x -> change_directory(3 - x - directory);
    :: else
    fi;
    moves_home = 0
}

// Its number is a new one: so nobody knows anything of it.
inline know_nothing_of_byte(x, k)
{
    lock_of[OF(x, k)] = NO_LOCK;
    stamp[OF(x, k)] = 0;
}

inline know_nothing_of_lock(x, l)
{
    incarnation[AT(x, l)] = 0;
    list[AT(x, l)] = 0;
    had[HAD(x, l, 0)] = 0;
    had[HAD(x, l, 1)] = 0;
    had[HAD(x, l, 2)] = 0;
#ifndef M_COMES_WITH_ITS_OLD_NUMBER
    had[HAD(0, l, x)] = 0;
    had[HAD(1, l, x)] = 0;
    had[HAD(2, l, x)] = 0;
#endif
}

inline know_nothing_of_pages(x)
{
    know_nothing_of_byte(x, 0);
    know_nothing_of_byte(x, 1);
    know_nothing_of_byte(x, 2);
    know_nothing_of_lock(x, MUTEX);
    know_nothing_of_lock(x, RWLOCK);
    is_bound[ON(x, 0)] = 0;
    is_bound[ON(x, 1)] = 0;
    mem[x] = 0;
    twin[x] = 0;
    moves_home = 0;
}

#include "members.pml"
#endif

// ---- what happens at a node

inline receive(x, from)
{
    WIRE(from, x)?kind, lock, inc, lst, flags, knows, lines;
    printf("%d: %e from %d: incarnation %d, list %d, flags %d\n", x, kind, from,
           inc, lst, flags);
    if
    :: kind == TOKEN -> on_token(x);
    :: kind == LENT -> on_lent(x, 0);
    :: kind == LENT_TO_WRITE -> on_lent(x, 1);
    :: kind == BACK -> on_back(x, from);
#ifdef MEMBERS
    :: kind == MOVED -> on_moved(x);
#endif
#ifdef FREED
    :: kind == CLOSE -> on_close(x);
    :: kind == GONE -> on_gone(x);
    :: kind == NEW -> on_new(x);
    :: kind == ANSWER -> on_answer();
#endif
    fi;
#ifdef FREED
    answer_if_finished(x);
#endif
    check();
}

inline read_page(x, p)
{
    step_begins(x, p);
    is_bound[ON(x, p)] = 1;
    mapped[ON(x, p)] = 1;
    step_ends(ON_FAULT, 0, 0, 0, 0);
    check();
}

inline write_byte(x, k)
{
    printf("%d: write of byte %d\n", x, k);
    n_writes++;
    p = PAGE(k);
    if
    :: !written[ON(x, p)] ->
        step_begins(x, p);
        is_bound[ON(x, p)] = 1;
        written[ON(x, p)] = 1;
        twin[x] = (twin[x] & ~ONES(p)) | (mem[x] & ONES(p));
        step_ends(ON_FAULT, 0, TO_WRITE, 0, 0);
    :: else
    fi;
    mapped[ON(x, p)] = 1;
    mem[x] = mem[x] ^ BIT(k);
    count[k]++;
    check();
}

#ifdef FREED
#define IS_OPEN(x) (IS_USED_NOW && (known[x] == OPEN || known[x] == OPEN_AGAIN))
#else
#define IS_OPEN(x) true
#endif
#define IS_READ_HERE(x, k)                                                     \
    (binding[k] != NO_LOCK && USES(x, binding[k]) && IS_OPEN(x))
#define MAY_WRITE(x, k)                                                        \
    (binding[k] != NO_LOCK && HOLDS(x, binding[k]) && IS_OPEN(x) &&            \
     n_writes < WRITES && MAY_USE(ON(x, PAGE(k))))
#define MAY_READ(x, p)                                                         \
    (!mapped[ON(x, p)] && MAY_ASK(x) && IS_RUNNING(x) &&                                                      \
     (p == 0 -> IS_READ_HERE(x, 0) : IS_READ_HERE(x, 1) || IS_READ_HERE(x, 2)))
#define MAY_RELIEVE(x) (written[ON(x, 0)] || written[ON(x, 1)])
#define MAY_GIVE(x, dst)                                                       \
    (token == x && n_gives < GIVES && MAY_GO_ON(x) && MAY_ASK(dst))
#define MAY_LEND(dst) (n_lends < LENDS && MAY_GO_ON(HOME) && MAY_ASK(dst))
#define MAY_LEND_TO_READ(dst)                                                  \
    ((!is_written_to || n_out == 0) && MAY_LEND(dst))
#define MAY_LEND_TO_WRITE(dst) (n_out == 0 && MAY_LEND(dst))
#define MAY_GIVE_BACK(x) ((readers[x] > 0 || writes[x]) && MAY_GO_ON(x))
// Byte 1 to the other lock, which is held, too; any byte that is bound to none.
#define MAY_BIND(x, k, l)                                                      \
    (binding[k] != l && HOLDS(x, l) && IS_OPEN(x) && n_binds < BINDS &&        \
     MAY_ASK(x) && IS_RUNNING(x) &&                                            \
     (binding[k] == NO_LOCK || (k == 1 && HOLDS(x, binding[k]))))

proctype node(byte me; byte next; byte last)
{
end:
    do
    :: d_step { nempty(WIRE(me, me)) -> receive(me, me) }
    :: d_step { nempty(WIRE(next, me)) -> receive(me, next) }
    :: d_step { nempty(WIRE(last, me)) -> receive(me, last) }
    :: d_step { MAY_READ(me, 0) -> read_page(me, 0) }
    :: d_step { MAY_READ(me, 1) -> read_page(me, 1) }
    :: d_step { MAY_WRITE(me, 0) -> write_byte(me, 0) }
    :: d_step { MAY_WRITE(me, 1) -> write_byte(me, 1) }
    :: d_step { MAY_WRITE(me, 2) -> write_byte(me, 2) }
    :: d_step { MAY_RELIEVE(me) -> relieve(me) }
    :: d_step { MAY_BIND(me, 1, MUTEX) -> bind(me, 1, MUTEX) }
    :: d_step { MAY_BIND(me, 1, RWLOCK) -> bind(me, 1, RWLOCK) }
    :: d_step { MAY_GIVE(me, next) -> give(me, next) }
    :: d_step { me == HOME && MAY_LEND_TO_READ(me) -> lend(me, 0) }
    :: d_step { me == HOME && MAY_LEND_TO_WRITE(me) -> lend(me, 1) }
    :: d_step { me == HOME && MAY_LEND_TO_READ(next) -> lend(next, 0) }
    :: d_step { me == HOME && MAY_LEND_TO_WRITE(next) -> lend(next, 1) }
#ifndef PAIR
    :: d_step { MAY_GIVE(me, last) -> give(me, last) }
    :: d_step { me == HOME && MAY_LEND_TO_READ(last) -> lend(last, 0) }
    :: d_step { me == HOME && MAY_LEND_TO_WRITE(last) -> lend(last, 1) }
#endif
    :: d_step { MAY_GIVE_BACK(me) -> give_back(me) }
#ifdef MEMBERS
    :: d_step { MAY_CHANGE(me) -> begin_change(me) }
    :: d_step {
        MAY_CHANGE(me) && LAST == 2 && IS_LIVE(me) && me != HOME ->
        moves_home = 1;
        begin_change(me)
       }
    :: d_step { MAY_STOP(me) -> stop_node(me) }
    :: d_step { changes == me && HAVE_STOPPED -> change_roster(me, next, last) }
    :: d_step { MAY_GIVE_UP(me) -> moves_home = 0; give_up_change() }
    :: d_step { MOVES_HOME(me) -> move_home(me, HOME) }
    :: d_step { PASSES_TOKEN(me) -> pass_token(me, HOME); check() }
    :: d_step { changes == me && MAY_END -> end_change(me) }
    :: d_step { MAY_RESTART(me) -> restart_node(me) }
#endif
#ifdef FREED
    :: d_step { MAY_BIND(me, 0, MUTEX) -> bind(me, 0, MUTEX) }
    :: d_step { MAY_BIND(me, 0, RWLOCK) -> bind(me, 0, RWLOCK) }
    :: d_step { MAY_FREE(me) -> end_bindings(); free_block(me) }
#endif
    od
}

init {
    byte x;

    atomic {
        d_step {
            binding[0] = MUTEX;
            binding[1] = MUTEX;
            binding[2] = RWLOCK;
            n = 0;
            do
            :: n <= LAST ->
                lock_of[OF(n, 0)] = MUTEX;
                lock_of[OF(n, 1)] = MUTEX;
                lock_of[OF(n, 2)] = RWLOCK;
#ifdef MEMBERS
                incarnation[AT(n, MUTEX)] = 1; // all bound once
                incarnation[AT(n, RWLOCK)] = 1;
                list[AT(n, MUTEX)] = 1;
                list[AT(n, RWLOCK)] = 1;
                had[HAD(0, MUTEX, n)] = 1;
                had[HAD(0, RWLOCK, n)] = 1;
#endif
                n++
            :: else -> break
            od;
            is_here[AT(0, MUTEX)] = 1;
            is_home[AT(0, MUTEX)] = 1;
            is_here[AT(HOME, RWLOCK)] = 1;
            is_home[AT(HOME, RWLOCK)] = 1;
            here[ON(0, 0)] = 1;
            here[ON(0, 1)] = 2;
            check()
        }
        run node(0, 1, 2);
        run node(1, 2 - (LAST == 1) * 2, 0 + (LAST == 1) * 2);
#ifndef PAIR
        run node(2, 0, 1)
#endif
    }
}
