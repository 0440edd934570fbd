// SPDX-License-Identifier: BSD-3-Clause
#ifndef TEAMSTER_H
#define TEAMSTER_H
/*
 * Teamster: one shared-memory C program over several machines.
 *
 * Chapters
 *   1  Status codes
 *   2  Start and end
 *   3  Nodes
 *   4  Shared memory
 *   5  Threads
 *   6  Mutexes, condition variables, semaphores, reader-writer locks, once
 *   7  Barriers, iterations, reductions
 *   8  Atomic operations
 *   9  Tasks and loops
 *   10 Statistics
 *
 * One header, though it is long: it is the reference, most of it is contracts, and a
 * program includes all of it.
 *
 * Words used below: a *node* is one process of the cluster; the *root* is
 * node 0, where main() runs; a *thread* is an application thread made with
 * tm_thread_create(), it runs on some node and may move; a *page* is 4096
 * bytes of shared memory.
 *
 * What a thread may rely on. Shared memory (chapter 4), its own stack, and
 * constants have the same address and the same contents on every node, and what it has
 * of tm_thread_alloc() goes with it. Other globals and malloc()ed memory are private
 * to each node: a thread that may run elsewhere must not keep pointers to them, nor
 * to thread-local variables (errno among them), across tm_iteration_end().
 *
 * Only threads of Teamster may call what is below. A kernel thread that was made with
 * pthread_create() and calls a function which needs a thread ends the process with one
 * line, exit code 70.
 *
 * Synchronisation objects (tm_mutex, tm_barrier, tm_cond, tm_sem, tm_rwlock,
 * tm_once) are named by their address, and their bytes are never read. They may
 * therefore be globals, locals of main(), members of a shared structure, whatever has
 * one address in the life of the program; passing a pointer to a thread on another
 * node is enough. They must not be copied. Only a tm_barrier and a tm_sem need to
 * be initialised.
 *
 * Memory model. A program without data races (any two accesses to one byte, one
 * of them a write, are ordered by the calls below) gets sequentially consistent
 * results, byte by byte. Two nodes may write neighbouring bytes at once. (Blocks to which
 * the program gives TM_SCOPE promise less: chapter 4.)
 */

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TM_VERSION_MAJOR 0
#define TM_VERSION_MINOR 2
#define TM_VERSION_PATCH 0

/** The size of a page, the unit of sharing, in bytes. */
#define TM_PAGE_SIZE 4096u

/** The most nodes a cluster can have. A laboratory may be built for up to 4096 (docs/simulate.md). */
#ifndef TM_MAX_NODES
#define TM_MAX_NODES 1024u
#endif

#define TM_API __attribute__((visibility("default")))
#define TM_CHECKED __attribute__((warn_unused_result))

/* ---- 1  Status codes ---------------------------------------------------- */

/** What most functions return: TM_OK, or one of the negative numbers below. */
typedef int tm_status;

enum {
    TM_OK = 0,
    TM_EINVAL = -1,     ///< an argument is out of its range
    TM_ENOMEM = -2,     ///< memory or address space is used up
    TM_EBUSY = -3,      ///< the object is in use; try again
    TM_EPERM = -4,      ///< the caller does not hold the mutex or lock
    TM_EDEADLK = -5,    ///< the caller holds the mutex or lock already
    TM_ENOBLOCK = -6,   ///< the address is not the start of a shared block
    TM_EFREED = -7,     ///< the shared block was freed before
    TM_EOVERRUN = -8,   ///< something wrote past the end of the shared block
    TM_ESTATE = -9,     ///< called before tm_init() or after tm_end()
    TM_ELIMIT = -10,    ///< a limit of the system or of Teamster is reached
    TM_ESYSTEM = -11,   ///< the operating system refused; see the log line
    TM_EWIRE = -12,     ///< a message is malformed
    TM_EMISMATCH = -13, ///< nodes differ in version, program or layout
    TM_ECONFIG = -14,   ///< an option or environment variable is wrong
    TM_EPEER = -15,     ///< a node was lost
    TM_ENOTHREAD = -16, ///< no such thread, or it was joined before
    TM_ECOUNT = -17,    ///< the barrier has another count
    TM_EUNKNOWN = -18,  ///< no such name
    TM_ETIMEDOUT = -19, ///< the time was over before it came about
};

/**
 * The meaning of a status in one English sentence without a full stop.
 *
 * @param status  any number
 * @return a constant string; never NULL, also for unknown numbers
 *
 * Context: any thread; does not block; async-signal-safe.
 */
TM_API const char *tm_strerror(tm_status status);

/* ---- 2  Start and end --------------------------------------------------- */

/** What the header tells the library about the program; made by tm_init(). */
struct tm_program {
    uint32_t header_version; ///< TM_VERSION_* of the header used
    char *shared_start;      ///< first byte of the TM_SHARED variables
    char *shared_end;        ///< the byte behind them
};

/**
 * Put a global or static variable into shared memory:
 *
 *     TM_SHARED double grid[N][N];
 *     TM_SHARED struct { int next; tm_mutex lock; } queue = {1};
 *
 * The variable has one value for the whole program. Before tm_init() it is an
 * ordinary variable; its value at that point on the root is the one that all
 * nodes see. It is written before a declaration, of no inline variable and no member of
 * a template; where it would belong to a type it is an error, in C++ of GCC with
 * -Werror=attributes, which the package's flags have. Only the program can have such
 * variables, none of its shared libraries: tm_init() refuses to start. The program must
 * not be linked with -flto.
 */
#if !defined(__cplusplus) && defined(__STDC_VERSION__) &&                      \
    __STDC_VERSION__ >= 201112L && !defined(__clang__)
// _Alignas is of variables only: GCC would drop the attribute of a type, with a warning.
#define TM_SHARED _Alignas(64) __attribute__((section("tm_shared")))
#else
#define TM_SHARED __attribute__((section("tm_shared"), aligned(64)))
#endif

#ifndef TM_NO_SHARED_SECTION
/* Fill this file's part of the section up to a whole page: subsection 8192 is
 * laid behind everything else that the file puts there. */
__asm__(".pushsection tm_shared,8192,\"aw\",@progbits\n"
        ".balign 4096\n"
        ".popsection\n");
#endif

extern char tm_shared_start_[] __asm__("__start_tm_shared")
    __attribute__((weak, visibility("hidden")));
extern char tm_shared_end_[] __asm__("__stop_tm_shared")
    __attribute__((weak, visibility("hidden")));

/** tm_init() without the inline part; programs call tm_init(). */
TM_API tm_status tm_init_program(int *argc, char ***argv,
                                 const struct tm_program *program);

/**
 * Join the cluster. Call it first in main(), once, from the thread that main()
 * was started on.
 *
 * On the root it returns, and main() goes on as an application thread that
 * never moves. On every other node it does not return: that process serves and
 * runs threads until the program ends, then exits; main()'s local variables are
 * gone there, argv and what it points to stay. A program that was not
 * started by `teamster run` is a cluster of one node. Options are read from
 * TEAMSTER_* variables (see `teamster run --help`).
 *
 * What main() did before this call happened on every node; what it does after
 * happens on the root only.
 *
 * @param argc, argv  the arguments of main(); reserved, now left as they are
 * @return TM_OK on the root
 * @return TM_ESTATE     called for the second time
 * Other failures end the process with one line on stderr and exit code 70
 * (internal), 71 (memory), 76 (nodes differ) or 78 (configuration).
 */
static inline tm_status tm_init(int *argc, char ***argv)
{
    struct tm_program program; // no designators: C++ before 20 has none

    program.header_version =
        TM_VERSION_MAJOR << 16 | TM_VERSION_MINOR << 8 | TM_VERSION_PATCH;
    program.shared_start = tm_shared_start_;
    program.shared_end = tm_shared_end_;
    return tm_init_program(argc, argv, &program);
}

/**
 * Leave the cluster: waits for nothing, ends the other nodes, gives shared
 * memory back. Shared memory must not be used afterwards. Threads that still
 * run are ended. Returning from main() or calling exit() does the same.
 *
 * @return TM_OK
 * @return TM_ESTATE  not between tm_init() and tm_end(), or not on the root
 *
 * Context: main() on the root only.
 */
TM_API tm_status tm_end(void);

/* ---- 3  Nodes ----------------------------------------------------------- */

/**
 * How many numbers have been given to nodes: those of the start, and one more for each
 * that has joined (`teamster add`). Numbers of nodes that have left are not given
 * again, so this only grows, and may be more than there are nodes now:
 * tm_node_is_alive() says who is there.
 *
 * @return at least 1
 * Context: any thread; does not block.
 */
TM_API unsigned tm_node_count(void);

/**
 * Is there a node of this number now? A node that was told to leave is alive until it
 * has left. Nodes come and go at any time: what is true now may not be so a moment
 * later.
 *
 * @param node  any number
 * @return 1 if it takes part, 0 if it has left or was never there
 * Context: any thread; does not block.
 */
TM_API int tm_node_is_alive(unsigned node);

/**
 * @return the node the caller runs on, 0 for the root
 * Context: any thread; does not block.
 */
TM_API unsigned tm_node_self(void);

/**
 * @return the number of workers of the caller's node: how many threads it runs
 *         at one time
 * Context: any thread; does not block.
 */
TM_API unsigned tm_node_workers(void);

/* ---- 4  Shared memory --------------------------------------------------- */

/** Consistency protocols; see docs/protocols.md. */
typedef enum tm_protocol {
    TM_PROTOCOL_DEFAULT = 0, ///< what --protocol says
    TM_SEQUENTIAL = 1,       ///< write-invalidate; plain atomics work
    TM_EAGER_RELEASE = 2,    ///< multiple writers, diffs pushed at releases
    TM_IMPLICIT = 3,         ///< multiple writers, copies dropped at acquires
    TM_LAZY_RELEASE = 4,     ///< multiple writers, copies dropped that are old
    TM_ADAPTIVE = 5,         ///< each copy as with 2 or 4, as it is used
    TM_SCOPE = 6,            ///< as 4, but weaker: see below
    TM_ENTRY = 7,            ///< bytes travel with the lock they are bound to
    TM_HOMELESS = 8,         ///< as 4, but diffs stay with who has made them
} tm_protocol;

/*
 * TM_SCOPE is scope consistency. It promises less than the memory model above, so only
 * blocks have it to which the program gives it; --protocol cannot name it. With a mutex goes
 * what was written while that mutex was held, and nothing else: a thread that locks it
 * sees what all threads have written between their tm_mutex_lock() and tm_mutex_unlock() of
 * the same mutex, whatever else they held then. What was written under another mutex, or
 * under none, it may see, byte by byte, as it was written or as it was before; also what
 * was written just before the mutex was locked.
 *
 * All other calls that order threads do so as ever: barriers and the ends of iterations,
 * reductions, tm_thread_create() and tm_thread_join(), semaphores, signals, reader-writer
 * locks, tm_once_run(), atomic operations, tm_alloc() and tm_free().
 *
 * So a program is right with it if between two barriers each byte of the block is used
 * by one thread, or is only read, or is used under one mutex, always the same. What it
 * brings: with a mutex go news of a few pages, not of all that its node has heard of, and
 * copies of other pages stay.
 */

/**
 * How threads use a block, if the program knows. TM_ADAPTIVE takes it for given, instead
 * of finding out page by page; other protocols do not look at it. What is said wrong costs
 * time and changes no result, but for TM_READ_ONLY.
 */
typedef enum tm_sharing {
    TM_SHARING_DEFAULT = 0, ///< not known: it is found out
    /** Written at first, then only read. A page goes to who writes it until another node
     * reads it, and copies stay. A thread that writes to a page of which another node
     * has, or has had, a copy ends the program: segmentation fault, with one line that
     * says who and where. What nobody else has read yet can still be written. */
    TM_READ_ONLY = 1,
    /** Used by one thread after the other, each of which reads and writes it, under a
     * mutex for example. A page goes to whoever asks for it, and leaves no copy behind. */
    TM_MIGRATORY = 2,
    /** Written by one thread, and then read by others, again and again. What is written is
     * pushed to all who have read it. */
    TM_PRODUCER_CONSUMER = 3,
    /** Written by several threads at once, each its own bytes, and little read by others. A
     * page has a home that gets what is written; whoever reads it asks for it. */
    TM_WRITE_SHARED = 4,
    /** Results that many threads add to, by atomic operations or under a mutex. A page
     * stays where it was first used, and what is written goes there. */
    TM_REDUCTION = 5,
} tm_sharing;

/** Which node holds a page before anybody has used it. */
typedef enum tm_placement {
    TM_FIRST_TOUCH = 0, ///< the node that touches it first
    TM_ANYWHERE = 0,    ///< the same value, for threads: the runtime decides
    TM_BLOCK = 1,       ///< the block in equal consecutive parts, node 0 first
    TM_CYCLIC = 2,      ///< page by page in turn, node 0 first
    TM_ON_NODE = 3,     ///< all pages on attr.node
} tm_placement;

/** Attributes of a block; all zero is the default. */
typedef struct tm_alloc_attr {
    const char *name; ///< for reports, copied, at most 31 characters; or NULL
    tm_protocol protocol; ///< of all pages of the block
    tm_placement placement;
    unsigned node;      ///< for TM_ON_NODE, < tm_node_count()
    size_t alignment;   ///< a power of two up to TM_PAGE_SIZE; 0: 16
    tm_sharing sharing; ///< for TM_ADAPTIVE
    size_t grain;       ///< 64 to 2048, a power of two: see below; 0: none
} tm_alloc_attr;

/*
 * Blocks with a grain. A page is protected as a whole, so with TM_SEQUENTIAL two nodes that
 * write two blocks of one page take it from each other (false sharing). Blocks allocated
 * with attr.grain, of at most so many bytes each, do not: they lie side by side in memory,
 * but each has addresses in a page of its own, is fetched and taken away by itself, and
 * messages carry attr.grain bytes instead of a page's. They are TM_SEQUENTIAL, whatever
 * --protocol says.
 *
 *     for (int i = 0; i < N; i++) {
 *         counter[i] = tm_alloc(sizeof(struct counter), &(tm_alloc_attr){.grain = 64});
 *     }
 *
 * What lies behind such a block in its page is other blocks: a program that runs over its
 * end is not stopped there. Each that is in use costs a node some 130 bytes besides its own,
 * and, with --fault-source=mprotect, kernel mappings, of which a process may have
 * vm.max_map_count; so it is for data that nodes fight for, not for millions of small ones.
 */

/** tm_alloc() with the place of the call; programs call tm_alloc(). */
TM_API void *tm_alloc_at(size_t size, const tm_alloc_attr *attr,
                         const char *file, int line);

/** tm_realloc() with the place of the call; programs call tm_realloc(). */
TM_API void *tm_realloc_at(void *block, size_t size, const char *file,
                           int line);

/** tm_free() with the place of the call; programs call tm_free(). */
TM_API tm_status tm_free_at(void *block, const char *file, int line);

/**
 * Allocate a block of shared memory, all bytes zero, with the same address on
 * every node.
 *
 *     void *tm_alloc(size_t size, const tm_alloc_attr *attr);
 *
 *     grid = tm_alloc(size, &(tm_alloc_attr){.name = "grid", .placement = TM_BLOCK});
 *
 * A block with a protocol, a placement or a sharing, or larger than 2048 bytes, starts on
 * a page of its own; smaller ones share pages and are aligned to 16 bytes, or to
 * attr.alignment (of more than 1024 bytes: on a page of its own). One with a grain is aligned
 * to that.
 *
 * @param size  bytes, 1 to 64 GiB in all
 * @param attr  attributes, read during the call; NULL for the defaults
 * @return the block, to be given back with tm_free()
 * @return NULL  out of shared address space, or an argument is out of range;
 *               one line on stderr says which
 *
 * A small block is on the caller's node until others use it.
 *
 * Context: an application thread; blocks for one round trip to the nodes, for a small
 * block only where the node has no room left in those before.
 */
#define tm_alloc(size, ...) /* the attributes may have commas */               \
    tm_alloc_at((size), (__VA_ARGS__), __FILE__, __LINE__)

/**
 * Give a block another size: a new block with the name, protocol, placement, sharing and,
 * if it still fits, grain of the old one, the contents of it as far as they fit, and zeros behind them; the old one is
 * freed. No other thread may be using it, and pointers into it are wrong afterwards.
 * The caller copies, so it is the first to touch what has no other placement.
 *
 *     void *tm_realloc(void *block, size_t size);
 *
 * @param block  what tm_alloc() returned; NULL: as tm_alloc(size, NULL)
 * @param size   bytes, at least 1
 * @return the new block, aligned to 16 bytes or, as tm_alloc() has it, to a page; the old
 *         one if the size is the same
 * @return NULL  not the start of a block, out of shared address space, or size is 0: one
 *               line on stderr says which; the old block is as it was
 *
 * Context: an application thread; blocks for some round trips to the nodes.
 */
#define tm_realloc(block, size)                                                \
    tm_realloc_at((block), (size), __FILE__, __LINE__)

/**
 * Give a block of shared memory back. No other thread may be using it. Its
 * memory goes back to the operating system on all nodes (of small blocks, when nothing
 * is left beside them).
 *
 *     tm_status tm_free(void *block);
 *
 * @param block  what tm_alloc() returned, or NULL (nothing happens)
 * @return TM_OK
 * @return TM_ENOBLOCK  not the start of a block
 * @return TM_EFREED    freed before; the log line names both places. (Small, by another
 *                      node, with nothing that orders the two: TM_OK, and the line.)
 * @return TM_EOVERRUN  bytes behind the block's end were written; it is freed
 *
 * Context: an application thread; blocks for two round trips to the nodes, for a small
 * block seldom.
 */
#define tm_free(block) tm_free_at((block), __FILE__, __LINE__)

/* ---- 5  Threads --------------------------------------------------------- */

/** The number of a thread; unique in a run. 0 is main(). */
typedef uint64_t tm_thread;

/** Attributes of a thread; all zero is the default. */
typedef struct tm_thread_attr {
    const char *name; ///< for reports, copied, at most 15 characters; or NULL
    tm_placement placement; ///< TM_ANYWHERE, or TM_ON_NODE: it starts on `node`
    unsigned node;          ///< for TM_ON_NODE, < tm_node_count()
    int is_detached;        ///< 1: nobody joins it, as after tm_thread_detach()
} tm_thread_attr;

/**
 * Start a thread. The threads that one caller creates before it next blocks are
 * spread over the nodes together: blocks of consecutive threads, as equal as
 * possible with those of its that live. Where they cannot be equal, node 0, which
 * has main() besides, is one of those with the fewer. They start when the caller
 * blocks, yields, or after 2 ms.
 *
 * What the creator wrote before, the new thread sees.
 *
 *     tm_thread_create(&thread, NULL, work, arg);
 *     tm_thread_create(&thread, &(tm_thread_attr){.placement = TM_ON_NODE, .node = 2},
 *                      work, arg);
 *
 * @param[out] thread  its number; may be NULL
 * @param attr         read during the call; NULL for the defaults
 * @param start        the function to run; same address on all nodes
 * @param arg          its argument, passed as it is: a number, or a pointer to
 *                     shared memory; the first ones that are not, and go to
 *                     another node, are told in a warning
 * @return TM_OK
 * @return TM_EINVAL  start is NULL, or an attribute is out of range
 * @return TM_ELIMIT  as many threads as there are stacks (32,000 by default)
 *
 * Context: an application thread; blocks for a round trip to the root.
 */
TM_API TM_CHECKED tm_status tm_thread_create(tm_thread *thread,
                                             const tm_thread_attr *attr,
                                             void *(*start)(void *), void *arg);

/**
 * Wait until a thread has ended. What it wrote, the caller sees. Each thread
 * can be joined once, by one thread.
 *
 * @param thread       a thread other than the caller and main()
 * @param[out] result  what its function returned; may be NULL
 * @return TM_OK
 * @return TM_EINVAL     it is detached
 * @return TM_ENOTHREAD  there is no such thread, or it was joined before
 *
 * Context: an application thread; blocks.
 */
TM_API tm_status tm_thread_join(tm_thread thread, void **result);

/**
 * Nobody will join this thread: when it ends nothing of it is kept. A detached thread
 * does not keep the program alive: when main() returns it is ended, wherever it is
 * (main() may call tm_thread_exit() instead).
 *
 * @param thread  a thread that lives, or has ended and was not joined; not main()
 * @return TM_OK
 * @return TM_EINVAL     it is detached already, somebody waits for its end, or it is
 *                       main()
 * @return TM_ENOTHREAD  there is no such thread, or it was joined before
 *
 * Context: an application thread; blocks for a round trip to the root.
 */
TM_API tm_status tm_thread_detach(tm_thread thread);

/**
 * End the calling thread, as if its function returned. Handlers of
 * pthread_cleanup_push(), and destructors of C++ objects on its stack, do not run. A mutex
 * that it holds stays locked. pthread_exit() and thrd_exit() do the same.
 *
 * In main() it waits until all other threads have ended, detached ones too, then ends
 * the program as exit(0) does.
 *
 * @param result  what tm_thread_join() tells; of no use in main()
 *
 * Context: an application thread. Outside of one, or before tm_init(), it ends the
 * process with one line, exit code 70.
 */
TM_API void tm_thread_exit(void *result) __attribute__((noreturn));

/**
 * @return the number of the calling thread, 0 in main()
 * Context: an application thread; does not block.
 */
TM_API tm_thread tm_thread_self(void);

/**
 * Let the other runnable threads of this worker go first.
 * Context: an application thread.
 */
TM_API void tm_thread_yield(void);

/**
 * Ask for a thread to be moved. It moves when it next passes
 * tm_iteration_end(), and continues on the other node.
 *
 * While a mapping policy is on (--policy, TEAMSTER_POLICY) the thread does not
 * have to stay there: the policy takes the move for any other fact, and may ask for
 * it to go elsewhere, or back, before it has moved or later. Programs that place
 * their threads themselves run with --policy=none.
 *
 * @param thread  a thread other than main()
 * @param node    where to, < tm_node_count()
 * @return TM_OK         noted; the last request before the move counts
 * @return TM_EINVAL     node is out of range, or thread is main()
 * @return TM_ENOTHREAD  there is no such thread
 *
 * Context: an application thread; blocks for a round trip.
 */
TM_API tm_status tm_thread_migrate(tm_thread thread, unsigned node);

/**
 * Allocate memory of the caller's own: it lies beside its stack, moves with it to other
 * nodes and keeps its address, so pointers to and within it stay right across
 * tm_iteration_end(). No other thread can use it. It ends with the thread.
 *
 * What moves is all between the first and the last block in use: much of it makes moves
 * slow; data that others use belong in tm_alloc().
 *
 * @param size  bytes, 1 to 16 MiB in all for each thread (less if --max-threads is above
 *              100,000 or --stack-size above 32M)
 * @return the block, aligned to 16 bytes, its bytes not set
 * @return NULL  there is no room, or size is 0
 *
 * Context: an application thread; does not block.
 */
TM_API void *tm_thread_alloc(size_t size);

/**
 * Give back memory of tm_thread_alloc().
 *
 * @param block  what it returned to this thread, or NULL (nothing happens)
 * @return TM_OK
 * @return TM_ENOBLOCK  not the start of a block of this thread, or freed before
 *
 * Context: an application thread; does not block.
 */
TM_API tm_status tm_thread_free(void *block);

/** Names a value that each thread has for itself; never 0. */
typedef uint64_t tm_key;

/**
 * Make a key, for all threads; the value of each is NULL at first.
 *
 * @param[out] key    the key
 * @param destructor  called with the value of each thread that ends with another than
 *                    NULL, on the thread's node, after the value is set to NULL; again
 *                    up to 4 times if values are set by destructors. NULL: none. Not
 *                    called when main() returns, or the program ends
 * @return TM_OK
 * @return TM_ELIMIT  there are 1024
 *
 * Context: an application thread; blocks for a round trip to the root.
 */
TM_API tm_status tm_key_create(tm_key *key, void (*destructor)(void *value));

/**
 * Delete a key. No destructor is called for it any more.
 *
 * @return TM_OK
 * @return TM_EINVAL  there is no such key
 *
 * Context: an application thread; blocks for a round trip to the root.
 */
TM_API tm_status tm_key_delete(tm_key key);

/**
 * Set the caller's value. It moves with the thread: what it points to should be shared
 * memory, or tm_thread_alloc(), if the thread may move.
 *
 * @param key  of tm_key_create(), not deleted since; that is not checked
 * @return TM_OK
 * @return TM_EINVAL  this cannot be a key
 * @return TM_ENOMEM  the caller's own memory is used up
 *
 * Context: an application thread; does not block.
 */
TM_API tm_status tm_key_set(tm_key key, const void *value);

/**
 * @return the caller's value; NULL if it has set none, or the key is deleted and its
 *         number was given out anew
 * Context: an application thread; does not block.
 */
TM_API void *tm_key_get(tm_key key);

/* ---- 6  Mutexes, condition variables, semaphores, reader-writer locks, once --- */

/*
 * Calls that wait for a time take a *deadline*: when to give up, by CLOCK_REALTIME, as
 * POSIX has it. It is translated once, at the call, with the clock of the caller's node, so
 * clocks of other hosts need not agree, and setting a clock later has no effect. A call
 * gives up some milliseconds late, never early, and leaves no trace: nothing is granted
 * to a thread that has given up. What can be had at once is had, also after the deadline.
 */

/** What happens when a thread locks a mutex that it holds, or unlocks another's. */
typedef enum tm_mutex_type {
    TM_MUTEX_NORMAL = 0, ///< TM_EDEADLK; ends the program. What every mutex is
    TM_MUTEX_ERRORCHECK = 1, ///< TM_EDEADLK; TM_EPERM
    TM_MUTEX_RECURSIVE = 2,  ///< it is locked once more; TM_EPERM
} tm_mutex_type;

/** A mutex: named by its address, needs no initialisation. */
typedef struct tm_mutex {
    uint64_t reserved;
} tm_mutex;

/** A condition variable: named by its address, needs no initialisation. */
typedef struct tm_cond {
    uint64_t reserved;
} tm_cond;

/** A semaphore: named by its address; tm_sem_init() gives its first value. */
typedef struct tm_sem {
    uint64_t reserved;
} tm_sem;

/** A reader-writer lock: named by its address, needs no initialisation. */
typedef struct tm_rwlock {
    uint64_t reserved;
} tm_rwlock;

/** What is done once: named by its address, needs no initialisation. */
typedef struct tm_once {
    uint64_t reserved;
} tm_once;

/**
 * Say what kind of mutex it is, for all nodes from now on. Needed for those other than
 * TM_MUTEX_NORMAL only; a mutex in memory that is used anew is of the kind that it was
 * before, until tm_mutex_destroy() or this.
 *
 * @return TM_OK
 * @return TM_EBUSY   somebody holds it
 * @return TM_EINVAL  there is no such type
 *
 * Context: an application thread; blocks for two round trips at most.
 */
TM_API tm_status tm_mutex_init(tm_mutex *mutex, tm_mutex_type type);

/**
 * Make it TM_MUTEX_NORMAL again. A mutex of that type need not be destroyed: what is kept
 * of those that nobody uses is given up when there are many.
 *
 * @return TM_OK
 * @return TM_EBUSY  somebody holds it
 *
 * Context: an application thread; blocks for two round trips at most.
 */
TM_API tm_status tm_mutex_destroy(tm_mutex *mutex);

/**
 * Bind bytes to a mutex: they are used by its holder only, and travel with it, so
 * that who locks it has what was written under it with the same message. The bytes are of
 * a block with attr.protocol = TM_ENTRY; no other way makes them known on other nodes.
 * Bytes of such a block that are bound to nothing may not be used. Zero until they are
 * written, like any block.
 *
 * An access without the mutex is an error of the program: a segmentation fault, after one
 * line that names thread, place, block and mutex. It is found unless another mutex that
 * this node had last has bytes in the same page, or it was this mutex.
 *
 * The mutex is locked meanwhile, if the caller does not hold it. Bytes that are bound
 * already stay bound; those of another mutex, which the caller must hold then, go from
 * that to this one, whole ranges only. tm_free() ends what is bound in a block. For
 * processors' atomic operations the bytes are as any memory; tm_fetch_add() and so on are
 * for other data.
 *
 * @param data  [size]  in one block
 * @return TM_OK
 * @return TM_EINVAL  not bytes of one block of protocol TM_ENTRY, or part of them are bound
 *                    already
 * @return TM_EBUSY   they are bound to another mutex, which the caller does not hold
 *
 * Context: an application thread; blocks until the mutex can be had.
 * Source: [Bershad93]
 */
TM_API tm_status tm_bind(tm_mutex *mutex, void *data, size_t size);

/**
 * The same to a reader-writer lock: who holds it to read may read the bytes, who holds it
 * to write may write them. They stay with the lock's manager, which lends them: a message
 * that grants the lock has what was written since the node had it last, and the one that
 * gives it back what was written meanwhile. A thread that holds such a lock does not move.
 *
 * The lock is locked to write meanwhile; the caller must not hold it.
 *
 * @return as tm_bind()
 * @return TM_EDEADLK  the caller holds the lock
 *
 * Context: an application thread; blocks until the lock can be had.
 */
TM_API tm_status tm_bind_rwlock(tm_rwlock *lock, void *data, size_t size);

/**
 * Take a mutex; waits while another thread holds it. What its last holder wrote
 * before unlocking, the caller sees. A thread that holds a TM_MUTEX_RECURSIVE gets it once
 * more at once, and gives it back by as many tm_mutex_unlock().
 *
 * @return TM_OK
 * @return TM_EDEADLK  the caller holds it already
 * @return TM_ELIMIT   the caller holds it 2^32 times
 *
 * Context: an application thread; blocks. Granted in order of request.
 */
TM_API tm_status tm_mutex_lock(tm_mutex *mutex);

/**
 * Take a mutex if nobody holds it.
 *
 * @return TM_OK       taken
 * @return TM_EBUSY    somebody holds it
 *
 * Context: an application thread; blocks for a round trip at most.
 */
TM_API tm_status tm_mutex_trylock(tm_mutex *mutex);

/**
 * tm_mutex_lock() that waits for a time only.
 *
 * @param deadline  see above; read during the call
 * @return TM_OK         taken
 * @return TM_ETIMEDOUT  somebody else held it all the time
 * @return TM_EDEADLK    the caller holds it already
 * @return TM_ELIMIT     the caller holds it 2^32 times
 * @return TM_EINVAL     the deadline's nanoseconds are not 0 to 999,999,999
 *
 * Context: an application thread; blocks.
 */
TM_API tm_status tm_mutex_timedlock(tm_mutex *mutex,
                                    const struct timespec *deadline);

/**
 * Give a mutex back. Unlocking a TM_MUTEX_NORMAL that the caller does not hold is an
 * error of the program: it ends with one line that names the holder, exit
 * code 70.
 *
 * @return TM_OK
 * @return TM_EPERM  the caller does not hold it, and it is not TM_MUTEX_NORMAL
 *
 * Context: an application thread. What was written is pushed to the nodes that
 * hold copies before another node gets the mutex; the caller need not wait for
 * that.
 */
TM_API tm_status tm_mutex_unlock(tm_mutex *mutex);

/**
 * Give the mutex back and wait for a signal, as one step; then take the mutex
 * again. As with POSIX threads it may wake without a signal.
 *
 * @return TM_OK      woken, and the mutex is held
 * @return TM_EPERM   the caller does not hold the mutex; nothing happened
 * @return TM_EINVAL  the caller holds it more than once; nothing happened
 *
 * Context: an application thread; blocks.
 */
TM_API tm_status tm_cond_wait(tm_cond *cond, tm_mutex *mutex);

/**
 * tm_cond_wait() that waits for a signal for a time only; for the mutex it then waits as
 * long as that takes. A signal that wakes the caller is not lost on it: it returns TM_OK
 * then, also if the time is over meanwhile.
 *
 * @param deadline  see above; read during the call
 * @return TM_OK         woken, and the mutex is held
 * @return TM_ETIMEDOUT  not woken, and the mutex is held
 * @return TM_EPERM      the caller does not hold the mutex; nothing happened
 * @return TM_EINVAL     the caller holds it more than once, or the deadline's nanoseconds
 *                       are not 0 to 999,999,999; nothing happened
 *
 * Context: an application thread; blocks.
 */
TM_API tm_status tm_cond_timedwait(tm_cond *cond, tm_mutex *mutex,
                                   const struct timespec *deadline);

/**
 * Wake one thread that waits, if there is one.
 * @return TM_OK
 * Context: an application thread.
 */
TM_API tm_status tm_cond_signal(tm_cond *cond);

/**
 * Wake all threads that wait.
 * @return TM_OK
 * Context: an application thread.
 */
TM_API tm_status tm_cond_broadcast(tm_cond *cond);

/**
 * Give a semaphore its first value.
 *
 * @param value  0 or more
 * @return TM_OK
 * @return TM_EBUSY   threads wait on it
 *
 * Context: an application thread; blocks for a round trip.
 */
TM_API tm_status tm_sem_init(tm_sem *sem, unsigned value);

/**
 * Wait until the value is above 0 and take one off it.
 * @return TM_OK
 * @return TM_EINVAL  never initialised
 * Context: an application thread; blocks.
 */
TM_API tm_status tm_sem_wait(tm_sem *sem);

/**
 * Take one off the value if it is above 0.
 * @return TM_OK
 * @return TM_EBUSY   it is 0
 * @return TM_EINVAL  never initialised
 * Context: an application thread; blocks for a round trip.
 */
TM_API tm_status tm_sem_trywait(tm_sem *sem);

/**
 * tm_sem_wait() that waits for a time only.
 *
 * @param deadline  see above; read during the call
 * @return TM_OK
 * @return TM_ETIMEDOUT  the value was 0 all the time
 * @return TM_EINVAL     never initialised, or the deadline's nanoseconds are not 0 to
 *                       999,999,999
 *
 * Context: an application thread; blocks.
 */
TM_API tm_status tm_sem_timedwait(tm_sem *sem, const struct timespec *deadline);

/**
 * Add one to the value. What the caller wrote before, the thread that gets past
 * tm_sem_wait() because of it sees.
 * @return TM_OK
 * @return TM_EINVAL  never initialised
 * Context: an application thread; blocks as tm_mutex_unlock().
 */
TM_API tm_status tm_sem_post(tm_sem *sem);

/*
 * Reader-writer locks. Many threads hold one to read, or one holds it to write. It is
 * granted in order of request: who comes to read waits behind a writer that waits, so
 * neither kind waits for ever. But a thread that reads already may lock it to read once
 * more at once, and unlocks it as often. A thread that holds one may move, unless bytes are
 * bound to it.
 */

/**
 * Take a lock to read; waits while another thread holds it to write, or waits to. What
 * was written before any tm_rwlock_unlock() of it, the caller sees.
 *
 * @return TM_OK
 * @return TM_EDEADLK  the caller holds it to write
 * @return TM_ELIMIT   the caller holds it 2^32 - 1 times
 *
 * Context: an application thread; blocks, for a round trip at least.
 */
TM_API tm_status tm_rwlock_rdlock(tm_rwlock *lock);

/**
 * Take a lock to read if that takes no waiting.
 *
 * @return TM_OK      taken
 * @return TM_EBUSY   somebody holds it to write, the caller included, or waits to
 * @return TM_ELIMIT  the caller holds it 2^32 - 1 times
 *
 * Context: an application thread; blocks for a round trip.
 */
TM_API tm_status tm_rwlock_tryrdlock(tm_rwlock *lock);

/**
 * tm_rwlock_rdlock() that waits for a time only.
 *
 * @param deadline  see above; read during the call
 * @return TM_ETIMEDOUT  the time was over before it could be had
 * @return TM_EINVAL     the deadline's nanoseconds are not 0 to 999,999,999
 * @return otherwise as tm_rwlock_rdlock()
 *
 * Context: an application thread; blocks.
 */
TM_API tm_status tm_rwlock_timedrdlock(tm_rwlock *lock,
                                       const struct timespec *deadline);

/**
 * Take a lock to write; waits while other threads hold it. What was written before any
 * tm_rwlock_unlock() of it, the caller sees.
 *
 * @return TM_OK
 * @return TM_EDEADLK  the caller holds it already
 *
 * Context: an application thread; blocks, for a round trip at least.
 */
TM_API tm_status tm_rwlock_wrlock(tm_rwlock *lock);

/**
 * Take a lock to write if nobody holds it.
 *
 * @return TM_OK     taken
 * @return TM_EBUSY  somebody holds it, the caller included, or waits for it
 *
 * Context: an application thread; blocks for a round trip.
 */
TM_API tm_status tm_rwlock_trywrlock(tm_rwlock *lock);

/**
 * tm_rwlock_wrlock() that waits for a time only.
 *
 * @param deadline  see above; read during the call
 * @return TM_ETIMEDOUT  the time was over before it could be had
 * @return TM_EINVAL     the deadline's nanoseconds are not 0 to 999,999,999
 * @return otherwise as tm_rwlock_wrlock()
 *
 * Context: an application thread; blocks.
 */
TM_API tm_status tm_rwlock_timedwrlock(tm_rwlock *lock,
                                       const struct timespec *deadline);

/**
 * Give a lock back that the caller holds, to read or to write. Unlocking one that it does
 * not hold is an error of the program: it ends with one line that names a holder, exit
 * code 70.
 *
 * @return TM_OK
 *
 * Context: an application thread; blocks until what it wrote is pushed, and for a
 * round trip.
 */
TM_API tm_status tm_rwlock_unlock(tm_rwlock *lock);

/**
 * Call a function if nobody has called it by this tm_once; if somebody is about it, wait
 * until it has returned. What it wrote, the caller sees. It is called on the node of
 * whoever comes first, so what it sets should be shared memory. A tm_once in memory
 * that is used anew stays done.
 *
 * @param function  not NULL; must return
 * @return TM_OK       it has returned
 * @return TM_EDEADLK  called by the function itself
 * @return TM_EINVAL   function is NULL
 *
 * Context: an application thread; blocks for a round trip at least, but not once the
 * node knows that it is done.
 */
TM_API tm_status tm_once_run(tm_once *once, void (*function)(void));

/* ---- 7  Barriers, iterations, reductions -------------------------------- */

/** A barrier: named by its address; tm_barrier_init() gives its count. */
typedef struct tm_barrier {
    uint64_t reserved;
} tm_barrier;

/**
 * Say how many threads meet at a barrier.
 *
 * @param count  threads, at least 1
 * @return TM_OK
 * @return TM_EINVAL  count is 0
 * @return TM_ECOUNT  threads wait at it under another count
 *
 * Context: an application thread; blocks for a round trip.
 */
TM_API tm_status tm_barrier_init(tm_barrier *barrier, unsigned count);

/**
 * Wait until as many threads as the barrier counts have called this. What any
 * of them wrote before, all of them see after. Usable again at once.
 *
 * A barrier that was never initialised, or whose count exceeds the threads that
 * are left to arrive, ends the program with one line, exit code 70.
 *
 * @return TM_OK
 *
 * Context: an application thread; blocks.
 */
TM_API tm_status tm_barrier_wait(tm_barrier *barrier);

/**
 * tm_barrier_wait() that also says "an iteration of the program ends here". The
 * only place where threads move to other nodes. All threads of one barrier call
 * this function, or all call the other.
 *
 * @return TM_OK
 *
 * Context: an application thread; blocks; may return on another node.
 */
TM_API tm_status tm_iteration_end(tm_barrier *barrier);

/**
 * Have a parameter of the program tuned while it runs: the size of a tile, of a buffer, the
 * grain of a loop; whatever changes how long an iteration takes, and not what it computes.
 *
 *     static const int64_t tiles[] = {64, 16, 32, 128};
 *
 *     for (int i = 0; i < n; i++) {
 *         const int64_t tile = tm_tune("tile", tiles, 4);
 *
 *         sweep(tile);
 *         tm_iteration_end(&barrier);
 *     }
 *
 * The answer is one of the values. It is the same for all threads that meet at the same
 * ends of iterations, on all nodes, and for each call between two of them: it changes at
 * tm_iteration_end() only. Threads that are created once others have ended iterations may
 * be given other values than each other, and see theirs change at any barrier, up to the
 * first tm_iteration_end() at which they meet; from there on it is so for them too.
 *
 * The root tries the values, some iterations each, and keeps the one with which iterations
 * are shortest; the first value is kept if no other is better by 2 % and by more than chance. Of 8 values this takes about 100 iterations, or a second of
 * shorter ones; --explain says what was tried and taken. When iterations take another time
 * for good (by 15 %), it is searched anew. A checkpoint has the value that was found.
 * Several parameters are searched one after the other, in the order of their first calls.
 *
 * The threads whose iterations are tuned call it in each iteration, all or some of them. A
 * parameter that they do not ask for any more holds up no other one.
 * Before the first tm_iteration_end(), and in threads that call none, the answer is the
 * first value.
 *
 * @param name    1 to 31 bytes, not empty; the same name is the same parameter on all nodes
 * @param values  [n], in any order, not two alike; the first is what the program would take
 *                untuned. Each call of a name has the same ones. Read during the call, not kept
 * @param n       1 to 64
 * @return one of the values
 *
 * A name or n out of these limits, two values alike, other values than in another call, and
 * a call in a task, a loop's body or outside of a thread end the program with one line, exit
 * code 70.
 *
 * Context: an application thread; blocks for a round trip to the root while values are tried,
 * and now and then later.
 */
TM_API int64_t tm_tune(const char *name, const int64_t *values, unsigned n);

/** How tm_reduce_*() combines two values. */
typedef enum tm_op {
    TM_SUM = 0,
    TM_PRODUCT = 1,
    TM_MIN = 2,
    TM_MAX = 3,
} tm_op;

/**
 * A barrier at which each thread gives a value and gets all values combined.
 * Values are combined in the order of thread numbers, so that the result has
 * the same bits wherever the threads run.
 *
 * @param barrier      all its threads call this, with one op
 * @param value        this thread's value
 * @param[out] result  the combined value, the same for all
 * @return TM_OK
 *
 * Context: an application thread; blocks.
 */
TM_API tm_status tm_reduce_double(tm_barrier *barrier, tm_op op, double value,
                                  double *result);

/** tm_reduce_double() for 64-bit integers; sums and products wrap around. */
TM_API tm_status tm_reduce_int64(tm_barrier *barrier, tm_op op, int64_t value,
                                 int64_t *result);

/* ---- 8  Atomic operations ----------------------------------------------- */

/*
 * Each is one indivisible step for the whole program, sequentially consistent,
 * and orders the caller's other accesses as a mutex would. They run at the node
 * that owns the page. `word` is in shared memory, aligned to 8 bytes, and
 * touched only by these functions while several threads use it.
 * Context: an application thread; blocks for a round trip at most.
 */

/** Add to a word. @return its value before */
TM_API int64_t tm_fetch_add(int64_t *word, int64_t addend);

/** Set a word. @return its value before */
TM_API int64_t tm_exchange(int64_t *word, int64_t value);

/** Set a word if it has the value expected. @return its value before */
TM_API int64_t tm_compare_exchange(int64_t *word, int64_t expected,
                                   int64_t value);

/** @return the word's value */
TM_API int64_t tm_atomic_load(const int64_t *word);

/** Set a word. */
TM_API void tm_atomic_store(int64_t *word, int64_t value);

/* ---- 9  Tasks and loops ------------------------------------------------- */

/*
 * A task is a function with a copy of its argument. It runs to its end on one node, on a
 * thread of the runtime's, or of the program's that waits for tasks; which, and where, is not
 * said. What was written before it was spawned, it sees; what it has written, who has waited
 * for it sees.
 *
 *     struct fib { int n; long result; };
 *
 *     static void fib(void *arg)
 *     {
 *         struct fib *me = arg;
 *         struct fib left = {me->n - 1, 0};
 *         struct fib right = {me->n - 2, 0};
 *         tm_group group = {0};
 *
 *         if (me->n < 2) {
 *             me->result = me->n;
 *             return;
 *         }
 *         tm_spawn_back(&group, fib, &left, sizeof left);
 *         fib(&right);
 *         tm_wait(&group);
 *         me->result = left.result + right.result;
 *     }
 *
 * A task may spawn others and wait for them, loop, allocate, lock mutexes and wait for
 * conditions, use shared memory like a thread. It must not rely on which thread it runs:
 * what it locks it unlocks, what it has from tm_thread_alloc() it frees. It waits for nothing
 * that only a task not yet run, or who waits for it, could bring about. It does not call
 * tm_barrier_wait(), tm_iteration_end(), tm_reduce_*(), tm_thread_create() or
 * tm_thread_exit(): that ends the program with one line, exit code 70. exit() ends the program.
 *
 * Pointers in an argument are to shared memory, functions and constants, as those of a
 * thread; to anything else only in a group that is local.
 */

/** The longest argument of a task, and the longest value of a reduction, in bytes. */
#define TM_TASK_BYTES 2048u

/** What tasks, or the parts of a loop, add up by tm_contribute(). */
typedef struct tm_reduction {
    /** *into = *into and *value. The order of values and how they are put together differ
     * from run to run, so it should be associative and commutative. Runs on any node. */
    void (*combine)(void *into, const void *value);
    size_t size;         ///< bytes of a value, 1 to TM_TASK_BYTES
    const void *initial; ///< [size]  counts once; read at the first tm_spawn()
    void *result;        ///< [size]  set by tm_wait()
} tm_reduction;

/** Tasks that are waited for together. All zero at first, but for the first two; not copied.
 * It belongs to the thread or task that spawns into it, on whose stack it may lie, and that
 * waits for it before it ends or returns. A thread with a group that it has not waited for
 * does not move. */
typedef struct tm_group {
    const tm_reduction *reduction; ///< NULL: none; read at the first tm_spawn()
    int is_local;   ///< 1: its tasks stay on the node of who spawns them
    void *reserved; ///< NULL
    uint64_t owner; ///< 0
} tm_group;

/**
 * Have a function run as a task. It may begin at once, or when the caller waits.
 *
 * @param group     all zero or in use by the caller; NULL: that of the task, or part of a
 *                  loop, that calls: who waits for that one waits for this too
 * @param function  the function; same address on all nodes
 * @param argument  [size]  copied: the function gets a pointer to its copy, aligned to 16
 *                  bytes; NULL if size is 0
 * @param size      bytes, 0 to TM_TASK_BYTES
 * @return TM_OK
 * @return TM_EINVAL  an argument is out of its range, or group is NULL and the caller is
 *                    none of a group
 * @return TM_EPERM   the group is another thread's
 *
 * Context: an application thread; does not wait for other nodes.
 * Source: [Blumofe99], [Chase05]
 */
TM_API tm_status tm_spawn(tm_group *group, void (*function)(void *argument),
                          const void *argument, size_t size);

/**
 * tm_spawn(), and what the function has made of its copy is in *argument when tm_wait()
 * has returned. Until then *argument is not used by others.
 *
 * @param group     as tm_spawn()'s, not NULL
 * @param argument  [size]  of the caller's stack, or shared
 * @return as tm_spawn()
 */
TM_API tm_status tm_spawn_back(tm_group *group,
                               void (*function)(void *argument), void *argument,
                               size_t size);

/**
 * Wait until all tasks of a group have ended, and those that they spawned into it. Runs
 * tasks meanwhile that come of this group. The group is as new afterwards.
 *
 * @return TM_OK     also if there was none
 * @return TM_EPERM  the group is another thread's
 *
 * Context: an application thread; blocks.
 */
TM_API tm_status tm_wait(tm_group *group);

/**
 * Add a value to the reduction of the innermost group or loop with one that the caller is a
 * task or part of.
 *
 * @param value  [size of that reduction]  copied
 * @return TM_OK
 * @return TM_EINVAL  there is none
 *
 * Context: a task, or the body of a loop; calls the reduction's function.
 */
TM_API tm_status tm_contribute(const void *value);

/** Attributes of a loop; all zero is the default. */
typedef struct tm_loop_attr {
    const char
        *name; ///< which loop it is; NULL: that of this place in the program
    size_t arg_size; ///< bytes of *arg that are copied to all nodes, up to
                     ///< TM_TASK_BYTES; 0: arg is passed as it is
    const tm_reduction *reduction; ///< NULL: none
    int is_local;                  ///< 1: all of it runs on the caller's node
} tm_loop_attr;

/**
 * Run the iterations first to end - 1, by calls body(from, to, arg) of which each does
 * those from `from` to `to` - 1, on all workers of all nodes. Each node does one share of the
 * range, its workers parts of that as they have time.
 *
 * A loop has memory: entered again, a node does the same iterations as before, with the data
 * that it has; but if nodes have not ended together, by the processor time that parts have taken,
 * shares are cut anew, so that they do. At first they are by the power of nodes and their
 * workers. With another range the cuts are where they were in proportion. If a node is short of
 * memory, entry after entry, the policy in force (--policy) says which pieces of the range it
 * gives away, by power, memory and shared pages, as it does for threads; a node's iterations need
 * not be in a row then, and one entry is slower, in which it is found out which pages they use.
 *
 * Within a task or another loop it runs on the caller's node.
 *
 * @param first, end  nothing is done if end <= first; at most INT64_MAX iterations
 * @param grain       the most iterations of a part; 0: so that each worker has some 16 parts
 * @param body        same address on all nodes; as a task, see above
 * @param arg         a number, a pointer to shared memory, or, with attr->arg_size, any
 * @param attr        read during the call; NULL for the defaults
 * @return TM_OK      all iterations are done
 * @return TM_EINVAL  an argument is out of its range
 *
 * Context: an application thread; blocks.
 * Source: [Lowenthal96]; shares of measured times as [Liu06] has them for threads
 */
TM_API tm_status tm_parallel_for(int64_t first, int64_t end, int64_t grain,
                                 void (*body)(int64_t from, int64_t to,
                                              void *arg),
                                 void *arg, const tm_loop_attr *attr);

/* ---- 10  Statistics ----------------------------------------------------- */

/** What one node has done since the start; all numbers only grow, but for those
 * that say otherwise. */
struct tm_node_stats {
    uint64_t n_threads;        ///< threads on the node now (does not only grow)
    uint64_t compute_ns;       ///< processor time of workers in the program; of
                               ///< a slow node that is emulated, what it would
                               ///< have taken
    uint64_t read_faults;      ///< faults taken by reads
    uint64_t write_faults;     ///< faults taken by writes
    uint64_t remote_faults;    ///< of these, those that waited for a node
    uint64_t pages_fetched;    ///< pages received, asked for or ahead
    uint64_t pages_served;     ///< pages sent
    uint64_t pages_granted;    ///< untouched pages that became this node's
    uint64_t pages_moved_in;   ///< of the fetched, those that changed owner
    uint64_t twins;            ///< twins made
    uint64_t updates_sent;     ///< diffs sent, one per page and destination
    uint64_t updates_received; ///< diffs received
    uint64_t copies_dropped;   ///< unused copies given up
    uint64_t releases;         ///< releases that had something to send
    uint64_t barriers;         ///< barrier episodes passed
    uint64_t messages_sent;    ///< messages to other nodes
    uint64_t bytes_sent;       ///< their bytes
    uint64_t threads_in;       ///< threads that moved here
    uint64_t threads_out;      ///< threads that moved away
    uint64_t fault_ns;         ///< time threads waited in faults, summed
    uint64_t sync_ns;          ///< time threads waited in locks and barriers
    uint64_t memory;           ///< bytes that the node may use for shared data,
                               ///< constant; 0: there is no budget
    uint64_t resident;  ///< bytes of it in memory now (does not only grow)
    uint64_t page_ins;  ///< pages swapped in
    uint64_t page_outs; ///< pages written to it
    uint64_t copies_forgotten; ///< copies given up because memory was short
    uint64_t swap_ns;          ///< time threads waited for memory, summed
    uint64_t swap_out_ns;      ///< of it, until other pages had gone
    uint64_t lack;         ///< bytes that its threads use beyond `memory`, as
                           ///< tracked last; 0: never (does not only grow)
    uint64_t speed_ppm;    ///< what a worker gets of a processor of its
                           ///< machine, constant: 1000000; less if a slow
                           ///< node is emulated
    uint64_t bad_messages; ///< messages that were refused: no node sends such
    uint64_t strangers;    ///< connections of others that were refused
};

/**
 * @param node        < tm_node_count()
 * @param[out] stats  the numbers of that node
 * @return TM_OK
 * @return TM_EINVAL  node is out of range, or has left
 *
 * Context: an application thread; blocks for a round trip.
 */
TM_API tm_status tm_stats(unsigned node, struct tm_node_stats *stats);

/** What too little memory has cost a thread on one node since the start. */
struct tm_paging_stats {
    tm_thread thread;
    uint64_t page_ins; ///< pages that came from the swap file for it: those it
                       ///< waited for, and those read ahead that it came to
    uint64_t swap_ns;  ///< time it waited for memory
    uint64_t swap_out_ns; ///< of it, until other pages had gone
};

/**
 * The threads that have paged on a node, whether they are still there or not.
 *
 * @param node       < tm_node_count()
 * @param[out] rows  [room] by thread; the first min(room, *n) are set
 * @param[out] n     how many threads there are
 * @return TM_OK
 * @return TM_EINVAL  node is out of range, or has left
 *
 * Context: an application thread; blocks for some round trips.
 */
TM_API tm_status tm_thread_stats(unsigned node, struct tm_paging_stats *rows,
                                 size_t room, size_t *n);

#ifdef __cplusplus
}
#endif

#endif
