// SPDX-License-Identifier: BSD-3-Clause
#ifndef TESTS_AUDIT_JUDGE_H
#define TESTS_AUDIT_JUDGE_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Says of each read of a program whether it gave the last write that is ordered
 * before it. It is told what the program's threads did, in an order that keeps each
 * thread's own, and in which what lets a thread go on comes before its going on. It
 * knows nothing of the runtime: orders follow from the calls of teamster.h alone.
 */
struct judge;

/** Where a byte is read or written; `place` is told again in reports. */
struct judge_access {
    uint64_t thread;
    uint64_t address;
    uint64_t place; ///< the program's counter, less where its image begins
    unsigned size;  ///< bytes, 1 to 8
    uint64_t value; ///< of them, the first byte lowest
};

/** Counts, in accesses; a read of some bytes of which one is X is an X. */
struct judge_counts {
    uint64_t reads;
    uint64_t writes;
    uint64_t events;  ///< that order
    uint64_t raced;   ///< reads of what others write or may write just then
    uint64_t unknown; ///< reads of what nobody is known to have written
    uint64_t wrong;   ///< reads of something else than was written last
    uint64_t wild;    ///< writes that race with others
};

/** A wrong read. */
struct judge_wrong {
    struct judge_access read;
    uint64_t byte; ///< the first wrong one's address
    uint8_t is;
    uint8_t should;
    uint64_t writer; ///< the thread that wrote it last, before the read
    uint64_t write_place;
};

/** Thread 0 is there from the start. Ends the process if there is no memory. */
struct judge *judge_new(void);
void judge_free(struct judge *judge);

/** Shared bytes have got values without a write of the program: a variable's first
 * ones, of thread 0; or a block's zeros, of the thread that allocated it.
 * @param bytes  [size], or NULL: zeros */
void judge_fill(struct judge *judge, uint64_t thread, uint64_t address,
                size_t size, const uint8_t *bytes, uint64_t place);

void judge_read(struct judge *judge, const struct judge_access *access);
void judge_write(struct judge *judge, const struct judge_access *access);

/** Something that orders nothing the judge knows of: the bytes are not judged until
 * they are filled again. */
void judge_leave_out(struct judge *judge, uint64_t address, size_t size);

/** A thread is created, joined. */
void judge_create(struct judge *judge, uint64_t thread, uint64_t child);
void judge_join(struct judge *judge, uint64_t thread, uint64_t child);

/** A mutex: `object` names it. */
void judge_lock(struct judge *judge, uint64_t thread, uint64_t object);
void judge_unlock(struct judge *judge, uint64_t thread, uint64_t object);

/** A barrier: told when a call begins and when it is over. */
void judge_barrier(struct judge *judge, uint64_t object, unsigned count);
void judge_arrive(struct judge *judge, uint64_t thread, uint64_t object);
void judge_depart(struct judge *judge, uint64_t thread, uint64_t object);

/** A semaphore: a post is told when the call begins, a wait when it is over. */
void judge_semaphore(struct judge *judge, uint64_t thread, uint64_t object,
                     unsigned value);
void judge_post(struct judge *judge, uint64_t thread, uint64_t object);
void judge_wait(struct judge *judge, uint64_t thread, uint64_t object);

/** tm_fetch_add() and the like: begun and over. `read` and `write` are of the
 * word, each may be NULL. */
void judge_atomic_begin(struct judge *judge, uint64_t thread, uint64_t word);
void judge_atomic_end(struct judge *judge, uint64_t thread, uint64_t word,
                      const struct judge_access *read,
                      const struct judge_access *write);

/** When all has been told. @return the `n`th wrong read, or NULL. A read is not wrong
 * if a write that races with it was told of later. */
const struct judge_wrong *judge_wrong(struct judge *judge, size_t n);
struct judge_counts judge_counts(const struct judge *judge);

#endif
