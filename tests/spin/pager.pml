// SPDX-License-Identifier: BSD-3-Clause
//
// Forward progress of the pager (G7 of mem/pager.c, C1 to C3 of mem/pager_claims.c): one
// node with room for BUDGET pages, threads whose instructions need one or two pages at
// once, any two each time, and every interleaving.
//
// A thread faults on a page that is not here, in either order, and asks the pager. If
// there is room the page comes, else the thread waits for room, in a queue. A page
// that no claim keeps may go at any time (`others`: other workers and the network make
// room, too), even before the thread that it came for has run.
//
// An instruction is another one or the same again, round a loop: the pager cannot tell
// that from the first time but by the pages. Of all claims those of the oldest stay. A
// thread that goes on and on without a fault is left out: there is room for what each
// worker leaves behind so.
//
// With -DONE_WORKER threads share a worker. One that waits for a page of another node gives
// it away, one that waits for the disk or for room keeps it; so the oldest may have its
// pages and wait for the worker. Of two that are ready the one goes first that did not have it
// last. Then `goes_on` is checked: some instruction is done again and again.
//
// What is checked: the budget is exceeded by one page at most (no other are let in
// without room), and, with -DLIVE, the claim `done`: under weak fairness each instruction
// that has begun is done at last. (Threads are alike, so it is checked of one.)
//
// Sizes (-D): THREADS, PAGES, BUDGET; with ONE_WORKER 4 pages and room for 3, so that there are
// pages besides those of the oldest, and others make no room. A mutant is one rule left out, -DM_..., see
// mutants.sh.

#ifndef THREADS
#define THREADS 2
#endif
#ifndef PAGES
#ifdef ONE_WORKER
#define PAGES 4
#else
#define PAGES 3
#endif
#endif
#ifndef BUDGET
#define BUDGET (PAGES - 1)
#endif

#define CLAIMS 2 // pages that an instruction needs at most
#define NO_PAGE PAGES
#define NOBODY THREADS

bool is_here[PAGES];
bool is_coming[PAGES];
byte n_used;     // here or coming
byte n_promised; // to threads that were let in and have not asked again
byte claim[THREADS * CLAIMS]; // the latest first; NO_PAGE
byte order[THREADS];          // who has claims, the oldest first; NOBODY
byte queue[THREADS];          // who waits for room; NOBODY
bool is_let_in[THREADS];
bool is_at_work[THREADS]; // an instruction has begun and is not done
#ifdef ONE_WORKER
byte at_worker = NOBODY;
byte last_at_worker = NOBODY;
bool is_waiting[THREADS]; // for the worker
byte awaits[THREADS];     // and for this page, if it is coming
bool flip;                // with each instruction that is done
#define IS_READY(t) (is_waiting[t] && !is_coming[awaits[t]])
#define HAS_WORKER (at_worker == me || \
    (at_worker == NOBODY && (last_at_worker != me || !IS_READY(1 - me))))
#define TAKE_WORKER at_worker = me; last_at_worker = me; is_waiting[me] = false; awaits[me] = 0
inline give_worker_away(me, page)
{
    at_worker = NOBODY;
    is_waiting[me] = true;
    awaits[me] = page
}
#else
#define HAS_WORKER true
#define TAKE_WORKER skip
#endif

#define LATEST(t) claim[(t) * CLAIMS]
#define BEFORE(t) claim[(t) * CLAIMS + 1]

#define ONE_OF(t, page) ((t) != NOBODY && (LATEST(t) == (page) || BEFORE(t) == (page)))

#ifdef M_NO_CLAIMS
#define STAYS(page) false
#elif defined ONE_WORKER && !defined M_RUNNING_IS_LOOSE
#define STAYS(page) (ONE_OF(order[0], page) || ONE_OF(at_worker, page))
#else
#define STAYS(page) ONE_OF(order[0], page)
#endif

#ifdef M_NO_PROMISE
#define HAS_ROOM (n_used < BUDGET)
#else
#define HAS_ROOM (n_used + n_promised < BUDGET)
#endif

// A thread leaves the order, and the younger move up. It need not be in it.
inline leave_order(me)
{
    i = 0;
    do
    :: i < THREADS && order[i] != me -> i++
    :: else -> break
    od;
    do
    :: i + 1 < THREADS -> order[i] = order[i + 1]; i++
    :: i + 1 == THREADS -> order[i] = NOBODY; i++
    :: else -> break
    od
}

inline join_order(me)
{
    i = 0;
    do
    :: order[i] != NOBODY -> i++
    :: else -> break
    od;
    order[i] = me
}

inline join_queue(me)
{
    i = 0;
    do
    :: queue[i] != NOBODY -> i++
    :: else -> break
    od;
    queue[i] = me
}

inline leave_queue()
{
    i = 0;
    do
    :: i + 1 < THREADS -> queue[i] = queue[i + 1]; i++
    :: else -> queue[i] = NOBODY; break
    od
}

inline release_claims(me)
{
    LATEST(me) = NO_PAGE;
    BEFORE(me) = NO_PAGE;
    leave_order(me)
}

inline add_claim(me, page)
{
    if
    :: LATEST(me) == NO_PAGE -> join_order(me)
    :: LATEST(me) != NO_PAGE && BEFORE(me) != NO_PAGE &&
       LATEST(me) != page && BEFORE(me) != page ->
#ifndef M_NOT_THE_YOUNGEST_AGAIN
        leave_order(me); // it has gone on
        join_order(me);
#endif
        skip
    :: else -> skip
    fi;
    if
    :: LATEST(me) != page -> BEFORE(me) = LATEST(me); LATEST(me) = page
    :: else -> skip
    fi
}

proctype thread(byte me)
{
    byte first;
    byte second;
    byte page;
    bool has_faulted;
    byte i;

begin:
    atomic {
        HAS_WORKER;
        TAKE_WORKER;
#ifdef ONE_WORKER // fewer states: two pages, in this order
        select(first : 0 .. PAGES - 2);
        select(second : first + 1 .. PAGES - 1);
#else
        select(first : 0 .. PAGES - 1);
        select(second : 0 .. PAGES - 1);
#endif
        if
        :: has_faulted // round a loop
        :: d_step { release_claims(me); i = 0 }
        fi;
        has_faulted = false;
        is_at_work[me] = true
    }
try:
    atomic {
        if
        :: is_here[first] && is_here[second] ->
            is_at_work[me] = false;
            first = 0; second = 0; page = 0;
#ifdef ONE_WORKER
            flip = !flip;
            if
            :: true // others come before its next one
                -> d_step { release_claims(me); i = 0 };
                has_faulted = false;
                give_worker_away(me, 0)
            :: true
            fi;
#endif
            goto begin
        :: !is_here[first] -> page = first
        :: !is_here[second] -> page = second
        fi;
        has_faulted = true;
        d_step { add_claim(me, page); i = 0 }
    }
ask:
    atomic {
        if
        :: is_let_in[me] && n_promised > 0 -> n_promised--
        :: else -> skip
        fi;
        if
        :: is_here[page] || is_coming[page] -> is_let_in[me] = false
#ifdef M_NO_PROMISE
        :: else -> is_let_in[me] = false;
            if
            :: HAS_ROOM ->
#else
        :: else ->
            if
            :: is_let_in[me] || HAS_ROOM ->
#endif
                is_let_in[me] = false;
                is_coming[page] = true;
                n_used++;
                assert(n_used <= BUDGET + 1);
#ifdef ONE_WORKER
                if
                :: true -> give_worker_away(me, page) // it comes from another node
                :: true
                fi
#endif
            :: else ->
                d_step { join_queue(me); i = 0 };
                goto outside
            fi
        fi
    }
    atomic { !is_coming[page] && HAS_WORKER; TAKE_WORKER; goto try }
outside:
    atomic { is_let_in[me]; goto ask }
}

proctype disk(byte page)
{
    do
    :: d_step { is_coming[page] -> is_coming[page] = false; is_here[page] = true }
    od
}

#define MAY_GO(page) (is_here[page] && !STAYS(page))

inline let_in()
{
    is_let_in[queue[0]] = true;
    n_promised++;
    d_step { leave_queue(); i = 0 }
}

inline let_go()
{
    if
    :: MAY_GO(0) -> is_here[0] = false
    :: MAY_GO(1) -> is_here[1] = false
    :: MAY_GO(2) -> is_here[2] = false
#if PAGES > 3
    :: MAY_GO(3) -> is_here[3] = false
#endif
    fi;
    n_used--;
    if
    :: queue[0] != NOBODY && HAS_ROOM -> let_in()
    :: else -> skip
    fi
}

#if PAGES > 3
#define ONE_MAY_GO (MAY_GO(0) || MAY_GO(1) || MAY_GO(2) || MAY_GO(3))
#define ONE_COMES (is_coming[0] || is_coming[1] || is_coming[2] || is_coming[3])
#else
#define ONE_MAY_GO (MAY_GO(0) || MAY_GO(1) || MAY_GO(2))
#define ONE_COMES (is_coming[0] || is_coming[1] || is_coming[2])
#endif

// Who gives the node lock back makes room, and lets threads in: before anybody else sees
// it.
proctype pager()
{
    byte i;

    do
    :: atomic { queue[0] != NOBODY && ONE_MAY_GO -> let_go() }
#ifndef M_NOT_LET_IN
    :: atomic { queue[0] != NOBODY && !ONE_MAY_GO && !ONE_COMES && n_promised == 0 -> let_in() }
#endif
    od
}

proctype others()
{
    byte i;

    do
    :: atomic { ONE_MAY_GO -> let_go() }
    od
}

init {
    byte i;

    atomic {
        d_step {
            for (i : 0 .. THREADS - 1) {
                order[i] = NOBODY;
                queue[i] = NOBODY;
                LATEST(i) = NO_PAGE;
                BEFORE(i) = NO_PAGE
            };
            i = 0
        }
        for (i : 0 .. THREADS - 1) {
            run thread(i)
        }
        for (i : 0 .. PAGES - 1) {
            run disk(i)
        }
        i = 0;
        run pager()
#ifndef ONE_WORKER
        ;
        run others()
#endif
    }
}

#ifdef LIVE
#ifdef ONE_WORKER
ltl goes_on { [] ((flip -> <> !flip) && (!flip -> <> flip)) }
#else
#define WORKS (is_at_work[0])
ltl done { [] (WORKS -> <> !WORKS) }
#endif
#endif
