// SPDX-License-Identifier: BSD-3-Clause
#ifndef ULT_ULT_H
#define ULT_ULT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "ult/arena.h"

/*
 * User-level threads. A thread has a slot, numbered alike on all nodes, and its
 * stack is the same address range on all nodes. Workers (kernel threads) run
 * them, without preemption. A thread stays with the worker it was given on this
 * node until ult_assign(). Suspended, a thread is the used parts of its stack and its
 * arena, which follow each other, and one pointer into the stack: bytes that can be sent
 * to another node.
 */

struct ult_system; ///< the workers and stacks of a node
struct ult;        ///< a thread on this node

enum { ULT_STAYED_AWAKE = 2 }; ///< see idle() below

struct ult_config {
    unsigned n_workers; ///< at least 1
    size_t stack_size;  ///< bytes of a thread, whole pages, >= 64 KiB
    size_t arena_size;  ///< bytes of a thread, whole pages; 0: it has none
    unsigned n_slots;   ///< the most threads at one time, with those beside
    unsigned n_beside;  ///< of them the last ones: for ult_spawn_beside()
    int has_alternate_stacks; ///< each thread needs one: trap_is_off_stacks()
    double share;             ///< of a processor that a worker gets, 0 to 1, to
                              ///< emulate a slower one; 0: all of it
    int is_slow_by_kernel;    ///< it has no more than that share anyway

    /** A worker has nothing to run. May work for the node (make the network
     * progress). @return 1 if it did something: look again; ULT_STAYED_AWAKE: so it
     * did, and has not offered its processor to others; 0: sleep. Called on the
     * worker's own stack, no lock held. May be NULL. */
    int (*idle)(void *owner, unsigned worker);

    /** While the gate is closed: this thread is about to run, alone. On the
     * worker's own stack or, in ult_enter_gate(), on the thread's; no lock held.
     * May be NULL. */
    void (*turn)(void *owner, struct ult *thread);
    void *owner;
};

/** Base of the stacks: the same on all nodes. Above all places where a program
 * is loaded, with and without address randomisation, and within what the
 * sanitizers take for a program's addresses. */
#define ULT_STACKS_BASE ((char *)0x566000000000)

/** How much of an arena there is room for. @return whole pages, 0 if none */
size_t ult_arena_size(size_t stack_size, unsigned n_slots);

/** Reserve the stacks' addresses and make the workers' records; starts nothing.
 * @return TM_OK, TM_ENOMEM, TM_EBUSY (addresses taken; logged with by what) */
TM_CHECKED tm_status ult_open(struct ult_system **system,
                              const struct ult_config *config);

/** Start workers 1..n-1 as kernel threads. Worker 0 is the caller's kernel
 * thread: it either becomes a thread by ult_adopt(), or runs ult_work().
 * @return TM_OK, TM_ELIMIT (logged) */
TM_CHECKED tm_status ult_start_workers(struct ult_system *system);

/** Make the caller, on the stack it is on, an ordinary thread that never leaves
 * worker 0, with slot 0. Other threads of worker 0 run when it blocks.
 * trap_install() comes before this and before all threads. */
TM_CHECKED tm_status ult_adopt(struct ult_system *system, struct ult **thread);

/** Leave the stack that the kernel thread was started on, for ever, and go on in
 * a function on one that worker 0 keeps for its loop. Before ult_work(), in its
 * kernel thread. @return TM_ENOMEM (logged); else not at all */
tm_status ult_leave_stack(struct ult_system *system, void (*go_on)(void));

/** Be worker 0 until ult_stop(). */
void ult_work(struct ult_system *system);

/** Make all workers leave their loops once their present thread has blocked, and
 * wait until those that the caller is not on have left, for at most timeout_ms: none of
 * them calls config.idle then. An adopted thread that calls may still switch; if
 * another does, the adopted one does not run again.
 * Context: any. Worker 0 in ult_work() is not waited for. */
void ult_stop(struct ult_system *system, unsigned timeout_ms);
void ult_close(struct ult_system *system);

/** Make a thread in a free slot and make it runnable. entry(arg) must not
 * return: it ends with ult_exit().
 * @param slot    1..n_slots-1, not in use on this node
 * @param user    the caller's data, see ult_user()
 * @return TM_OK, TM_ENOMEM (stack cannot be mapped; logged, names
 *         vm.max_map_count when that is why)
 * Context: any thread of the node. */
TM_CHECKED tm_status ult_spawn(struct ult_system *system, unsigned slot,
                               void (*entry)(void *arg), void *arg, void *user,
                               struct ult **thread);

/** The same for a thread beside those that the node is asked about: it is in one of the last
 * n_beside slots, counts neither in ult_count() nor where new threads go, and is the given
 * worker's from the start. */
TM_CHECKED tm_status ult_spawn_beside(struct ult_system *system, unsigned slot,
                                      unsigned worker, void (*entry)(void *arg),
                                      void *arg, void *user,
                                      struct ult **thread);

/** The calling thread ends: switches away, then the worker calls
 * after(owner, thread), which is the last use of it: the slot is free when it
 * has returned. The stack's memory is given back. */
_Noreturn void ult_exit(void (*after)(void *owner, struct ult *thread),
                        void *owner);

/** The calling thread, NULL on a kernel thread that runs none. */
struct ult *ult_self(void);
void *ult_user(const struct ult *thread);
/** Give a thread other data; for an adopted one, which begins with none. */
void ult_set_user(struct ult *thread, void *user);
unsigned ult_slot(const struct ult *thread);
unsigned ult_worker(const struct ult *thread);

/** Let another worker run a thread that is parked. Does nothing to one that runs,
 * or is adopted.
 * @param worker  < n_workers
 * Context: who will unpark the thread; nobody else may do so meanwhile. */
void ult_assign(struct ult *thread, unsigned worker);

/** Its stack is [low, top), for backtraces; of main(), as far as it may grow. */
void ult_stack(const struct ult *thread, char **low, char **top);

/** The thread's own memory, NULL as long as it has used none. */
struct arena *ult_arena(const struct ult *thread);
/** The same, to be used now. @return NULL: it has none, or it cannot be mapped (logged)
 * Context: the thread itself. */
struct arena *ult_open_arena(struct ult *thread);

/** Wait for ult_unpark(). An unpark that came before makes it return at once
 * (one, not counted). Callers loop on their condition. With may_switch 0 the
 * kernel thread itself waits, and runs nothing else meanwhile.
 * Context: a thread; also in trap_fn. */
void ult_park(int may_switch);

/** Let a parked thread go on. Context: any kernel thread; does not block. */
void ult_unpark(struct ult *thread);

/** On a worker whose config.share is below 1: wait until a processor of that
 * share would have come as far as the calling thread has. Does not switch. To be
 * called before others learn how far that is.
 * Context: a thread, holding no lock; also in trap_fn. Ends by itself. */
void ult_pay(void);

/** Let the other threads of this worker run that can, then go on. */
void ult_yield(void);

/** Have functions called on each thread's stack, before another one runs and when it goes
 * on, for what belongs to the kernel thread and is to be the thread's. They touch private
 * memory only, and do not switch. Before threads run. */
void ult_follow_switches(struct ult_system *system, void (*leave)(void),
                         void (*arrive)(void));

/** From now on, of threads of a worker that are made runnable at one time, who was
 * last is first; or as usual again. Threads that meet at a barrier, again and again,
 * then run forwards and backwards in turn, if who passes it without parking does not
 * yield.
 * Context: any; does not block. */
void ult_reverse(struct ult_system *system, int is_reversed);

/** From now on only one thread of the node runs at a time, and config.turn is
 * called for each that does; those that run now go on until they switch, or call
 * ult_enter_gate(). Threads that wait in place keep their turn.
 * Context: any; does not block. */
void ult_close_gate(struct ult_system *system);
/** As before. ult_stop() does it too. */
void ult_open_gate(struct ult_system *system);

/** Wait in place until it is the calling thread's turn, if the gate is closed and
 * the thread has run since before. Context: a thread; also in trap_fn. Ends when
 * others have switched, or the gate opens. */
void ult_enter_gate(void);

/** Has a worker waited at the gate while one thread ran for so long? It may be
 * that this thread waits for another of the node, without switching. */
int ult_gate_is_stuck(struct ult_system *system, uint64_t ns);

/** Switch away, then call action(owner, thread) on the worker's stack, where the
 * thread's context is complete: the action may pack it, or unpark it. An unpark
 * from anywhere else may be late, so it does not resume the thread: it counts
 * for the next ult_park(). */
void ult_suspend(void (*action)(void *owner, struct ult *thread), void *owner);

/** Let a thread go on that is suspended since an action did nothing with it: once, and
 * after that action has returned or by it. Context: any kernel thread; does not block. */
void ult_resume(struct ult *thread);

/** The adopted thread's frames keep the canary that they were made with (os/image.h); all
 * others are to have this one. Before they run, and before other workers start, in a
 * function that changes the canary back. */
void ult_use_canary(struct ult_system *system, uint64_t canary);

/** A suspended thread as bytes. Valid while it is suspended. */
struct ult_packed {
    unsigned slot;
    uint64_t context;  ///< the saved stack pointer
    uint64_t end;      ///< address behind the last byte
    const void *bytes; ///< [context, end): of the stack, then of the arena
    size_t size;
};

/** Describe a suspended thread; the bytes are the stack itself, not a copy, and
 * hold until ult_forget() or ult_unpark(). */
void ult_pack(struct ult *thread, struct ult_packed *packed);

/** The thread has been sent: free its slot and its stack's memory here. In the
 * action, or later from any kernel thread if the action neither did this nor
 * unparked it. Bytes that come back before this find the slot in use. */
void ult_forget(struct ult *thread);

/** May ult_unpack() take this? Is there such a slot, and are the bytes the upper part
 * of its stack, and perhaps the lower part of its arena? Says nothing of whether the slot is in use. */
int ult_fits(const struct ult_system *system, const struct ult_packed *packed);

/** Make a thread of another node's bytes and make it runnable.
 * @return TM_OK, TM_EINVAL (does not fit the slot), TM_EBUSY (slot in use),
 *         TM_ENOMEM; logged */
TM_CHECKED tm_status ult_unpack(struct ult_system *system,
                                const struct ult_packed *packed, void *user,
                                struct ult **thread);

/** Which slot's guard page (or area below its stack) holds this address?
 * @return the slot, or -1. Context: async-signal-safe. */
int ult_guard_slot(const struct ult_system *system, uintptr_t address);

/** Is it an address of a thread's stack, other than of an adopted one? */
int ult_is_stack(const struct ult_system *system, uintptr_t address);

/** Processor time that a thread has used on this node, ns, and for a running
 * thread up to its last switch; what a processor of config.share would have
 * taken. ult_add_time() carries over what it used on
 * other nodes. */
uint64_t ult_time_ns(const struct ult *thread);
void ult_add_time(struct ult *thread, uint64_t ns);
/** The caller's own, up to now. Context: a thread. */
uint64_t ult_charge_self(void);

/** Processor time of all workers in threads, ns, also those that have gone. */
uint64_t ult_total_time_ns(const struct ult_system *system);

/** Time that a worker has spent in threads, ns, by the wall clock: also while the
 * kernel ran somebody else instead. Up to its last switch or ult_charge_self(). */
uint64_t ult_worker_wall_ns(const struct ult_system *system, unsigned worker);

/** Has somebody made a thread of this worker runnable? For config.idle, which
 * should then return 1. */
int ult_is_wanted(const struct ult_system *system, unsigned worker);

/** Threads that are on this node, without those beside. Cheap. */
unsigned ult_count(const struct ult_system *system);

/** Threads that are on this node, also beside, and those of them that are parked. Reads
 * without stopping the workers; exact when nothing runs. */
void ult_census(const struct ult_system *system, unsigned *n_threads,
                unsigned *n_parked);

#endif
