// SPDX-License-Identifier: BSD-3-Clause
//
// A node leaves, and comes again: what src/reconfig/membership.c and src/pages/roster_change.c do, for the
// models with -DMEMBERS that include this.
//
//   IDLE      begin_change()   a node is to leave: it has no thread any more; or to come
//   STOPPING  stop_node()      one node after the other stops; what is under way goes on, until nothing is: then
//             clean_node()     copies that are dirty are diffed, when their node is releasing nothing
//   or        give_up_change() threads have come to who is to leave, or a node is silent -> GOING;
//                              with -DGIVEN_UP only
//   CHANGING  change_roster()  all have the new roster, forget copies and who has left; the leaver gives its pages
//                              and its tokens away, and owners tell a new directory node
//   GOING     restart_node()   one node after the other goes on -> IDLE
//
// A thread of a node that has stopped waits when it asks for something, but it goes on with the pages that it may
// use, and may write an owner's that is writable, until the end. What was asked for before it stopped, or is asked for again,
// may come later; and messages that order others may go out, such as those of a barrier's manager.
//
// A model includes this twice: for the state, and for the steps behind all it does. For the state it has
//   IS_WRITABLE(at)     a page at a node that has stopped is mapped writable
// and then
//   IS_FINISHED(x)      a node has all its answers and acknowledgements
//   HAS_UPDATES(x)      it has owners to tell of
//   HAS_RELEASED_ALL(x) nothing that was written there is unreleased
//   IS_AT_REST(x)       it is releasing nothing
//   clean_pages(x)      dirty copies are diffed, which are to be dropped when the roster changes
//   forget_copies(x)    what it keeps of copies is void
//   forget_records()    and so is what owners know of them
//   forget_leaver(x, leaver)  no hint to it, and it is in no copyset
//   give_pages(x)       the leaver's
//   know_nothing_of_pages(x)  who comes knows nothing
//   tell_new_directory(x)     it is to be told of the pages that x owns
// With TOKENS_HAVE_BYTES it passes the leaver's tokens on itself.

#ifndef MEMBERS_STATE
#define MEMBERS_STATE

#ifndef PAGES
#define NODE_OF(at) (at)
#else
#define NODE_OF(at) ((at) / PAGES)
#endif

#ifdef MEMBERS
#define IDLE 0
#define STOPPING 1
#define CHANGING 2
#define GOING 3
byte phase;
byte directory;
byte gone = 3;    // who has left, or nobody
byte changes = 3; // who is to leave, or to come
bit has_stopped[NODES];
bit is_to_clean[NODES]; // behind the release under way
byte n_changes;

#define DIRECTORY directory
#define IS_LIVE(x) (gone != x)
#define LEAVES(x) (changes == x && IS_LIVE(x) && phase == STOPPING)
// A thread begins something.
#define MAY_ASK(x) (MAY_GO_ON(x) && !LEAVES(x))
// What has begun goes on.
#define MAY_GO_ON(x)                                                           \
    (IS_LIVE(x) && phase != CHANGING && (phase != GOING || !has_stopped[x]))
// A page that the node need not ask for.
#ifdef M_WRITES_WHEN_STOPPED
#define MAY_USE(at) (IS_LIVE(NODE_OF(at)) && !LEAVES(NODE_OF(at)))
#else
#define MAY_USE(at)                                                            \
    (IS_LIVE(NODE_OF(at)) && !LEAVES(NODE_OF(at)) &&                           \
     (!has_stopped[NODE_OF(at)] || IS_WRITABLE(at)))
#endif
#define IS_RUNNING(x) (!has_stopped[x])
#else
#define IS_LIVE(x) true
#define MAY_ASK(x) true
#define MAY_GO_ON(x) true
#define MAY_USE(at) true
#define IS_RUNNING(x) true
#endif

#else

#define ALL_TOLD                                                               \
    (QUIET && !HAS_UPDATES(0) && !HAS_UPDATES(1) && !HAS_UPDATES(2))
#define IS_AWAY(x) (x > LAST || has_stopped[x] || gone == x)
#ifdef M_CHANGES_TOO_EARLY
#define IS_STILL true
#else
#define IS_STILL                                                               \
    (ALL_TOLD && IS_FINISHED(0) && IS_FINISHED(1) && IS_FINISHED(2) &&         \
     is_to_clean[0] + is_to_clean[1] + is_to_clean[2] == 0)
#endif
#ifdef M_GOES_ON_TOO_EARLY
#define MAY_END (phase == CHANGING)
#else
#define MAY_END (phase == CHANGING && ALL_TOLD)
#endif
// K1: its threads have gone, so what they have written is released.
#define MAY_CHANGE(x)                                                          \
    (phase == IDLE && n_changes < 2 &&                                         \
     (gone == x || gone == NOBODY && HAS_RELEASED_ALL(x)))
#ifdef M_CLEANED_WHILE_RELEASING
#define IS_TO_CLEAN_LATER(x) false
#else
#define IS_TO_CLEAN_LATER(x) (!IS_AT_REST(x))
#endif
#define MAY_CLEAN(x) (is_to_clean[x] && IS_AT_REST(x))
#define MAY_STOP(x) (phase == STOPPING && IS_LIVE(x) && !has_stopped[x])
#define HAVE_STOPPED                                                           \
    (phase == STOPPING && IS_AWAY(0) && IS_AWAY(1) && IS_AWAY(2) && IS_STILL)
#ifdef GIVEN_UP
#define MAY_GIVE_UP(x) (phase == STOPPING && changes == x && has_stopped[x])
#else
#define MAY_GIVE_UP(x) false
#endif
#define MAY_RESTART(x) (phase == GOING && has_stopped[x])

inline begin_change(who)
{
    printf("%d: is to leave or to come\n", who);
    n_changes++;
    phase = STOPPING;
    changes = who;
    check();
}

inline stop_node(x)
{
    printf("%d: stops\n", x);
    has_stopped[x] = 1;
    if
    :: IS_TO_CLEAN_LATER(x) -> is_to_clean[x] = 1;
    :: else -> clean_pages(x);
    fi;
    check();
}

inline clean_node(x)
{
    is_to_clean[x] = 0;
    clean_pages(x);
    check();
}

// Each owner tells a page's new directory node.
inline change_directory(who)
{
    directory = who;
#ifndef M_DIRECTORY_UNTOLD
    tell_new_directory(0);
    tell_new_directory(1);
    tell_new_directory(2);
#endif
}

#ifndef TOKENS_HAVE_BYTES
// Another node is the manager of mutexes now.
inline give_tokens(x)
{
    n = 0;
    do
    :: n < BYTES ->
        if
        :: token[n] == x ->
            token[n] = directory;
            heard[directory] = heard[directory] | BIT(n);
        :: else
        fi;
        n++
    :: else -> break
    od
}
#endif

inline leave(x, o1, o2)
{
    printf("%d: leaves\n", x);
    gone = x;
    has_stopped[x] = 0;
    forget_leaver(o1, x);
    forget_leaver(o2, x);
    if
    :: directory == x -> change_directory((x == 0 -> 1 : 0));
    :: else
    fi;
#ifndef TOKENS_HAVE_BYTES
    give_tokens(x);
#endif
    give_pages(x);
}

inline come(x)
{
    printf("%d: comes\n", x);
    gone = NOBODY;
    has_stopped[x] = 1;
    know_nothing_of_pages(x);
    if
    :: x == 0 -> change_directory(0);
    :: else
    fi
}

inline change_roster(x, o1, o2)
{
    phase = CHANGING;
    forget_copies(0);
    forget_copies(1);
    forget_copies(2);
    forget_records();
    if
    :: gone == x -> come(x);
    :: else -> leave(x, o1, o2);
    fi;
    check();
}

// N4: threads may have come to who is to leave, or somebody does not answer. All go on as they were.
inline give_up_change()
{
    printf("no change after all\n");
    phase = GOING;
    changes = NOBODY;
    check();
}

inline end_change(x)
{
    phase = GOING;
    changes = NOBODY;
    check();
}

inline restart_node(x)
{
    has_stopped[x] = 0;
    is_to_clean[x] = 0;
    if
    :: has_stopped[0] + has_stopped[1] + has_stopped[2] == 0 -> phase = IDLE;
    :: else
    fi;
    check();
}

#endif
