// SPDX-License-Identifier: BSD-3-Clause
#ifndef FRONTEND_SIGNAL_TABLE_H
#define FRONTEND_SIGNAL_TABLE_H

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

/*
 * What the root knows of the program's signals: signal_table.c. A mask has a bit for each.
 */

enum { SIGNALS = 64 };

#define SIGNAL_BIT(number) ((uint64_t)1 << ((number)-1))

/** A handler that is to be called. */
struct delivery {
    int number; ///< 0: none
    struct sigaction action;
    siginfo_t info;
    pthread_t thread; ///< whom it is for
    uint64_t blocked; ///< while it is run
};

/** A call of the program's. In shared memory: front_at_root() is given it. */
struct signal_call {
    pthread_t self;   ///< who calls
    uint64_t blocked; ///< by it
    int is_deputy;    ///< another calls for it, whose mask is the deputy's
    pid_t process;    ///< to kill()
    int number;
    pthread_t target; ///< 0: the process
    siginfo_t info;
    uint64_t set;
    int64_t ns; ///< to wait at most; -1: for ever
    int is_set;
    struct sigaction action;
    struct sigaction before;
    int needs_server; ///< answer: there are handlers, and no thread for them yet
    struct delivery delivery; ///< answer
};

/** Does the program say what is done on it? */
int signal_is_programs(int number);

/** Does the kernel send it to who makes an error? */
int signal_is_error(int number);

/* Each for front_at_root(), with a struct signal_call. All but the last note what the caller
 * blocks. */

/** Set and tell the action. @return 0, or -1 and errno */
long signal_change_action(void *call);

/** The caller blocks others now. The delivery is the first that may come to it. */
long signal_change_mask(void *call);

/** set: those that are pending for the caller. */
long signal_list(void *call);

/** Send one to `process`, 0 being the program, or to its thread `target`. The delivery is for
 * the caller. @return 0, or -1 and errno */
long signal_send(void *call);

/** Wait for a delivery; there is none if the time is over or main() has gone. ns: what is left. */
long signal_suspend(void *call);

/** Wait for one of a set, which is taken from what is pending: in the delivery.
 * @return its number, or -1 and errno */
long signal_wait(void *call);

/** The caller ends, unless there is a delivery for it; or it is but a deputy. */
long signal_forget(void *call);

/** All threads from the first on are told by signal_change_mask() and signal_forget(). */
long signal_know_all(void *call);

/** Wait for a delivery to threads that do not wait for one. @return 0: there will be none */
long signal_serve(void *call);

/** On the root: how often a timer has expired while its latest signal was pending. */
int signal_overruns(timer_t timer);

/** On the root: why no checkpoint can be made, or NULL. NULL itself in a program without
 * signals. */
const char *signal_why_unsaved(void) __attribute__((weak));

#endif
