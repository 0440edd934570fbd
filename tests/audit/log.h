// SPDX-License-Identifier: BSD-3-Clause
#ifndef TESTS_AUDIT_LOG_H
#define TESTS_AUDIT_LOG_H
#include <stdint.h>

/*
 * What record.c writes and check.c reads: in one folder a file LOG_CLOCK, whose first
 * word numbers events of all processes, and of each node a file LOG_NAME.PID. That is
 * a log_head, the values that the TM_SHARED variables had at tm_init(), and from
 * LOG_CHUNK * first_chunk on chunks, each of one thread. The chunks of a thread follow
 * each other by `number`.
 */
#define LOG_CLOCK "clock"
#define LOG_NAME "log"
#define LOG_MAGIC 0x6c67617564697431u

enum { LOG_CHUNK = 1 << 16 };

struct log_head {
    uint64_t magic;
    uint64_t image;        // where the program's image begins
    uint64_t shared_start; // the TM_SHARED variables
    uint64_t shared_size;
    uint64_t first_chunk;
    uint64_t n_chunks;
};

// What a record is; in brackets what its fields hold, where that is not plain.
enum log_kind {
    LOG_READ = 1,     // value
    LOG_WRITE,        // value
    LOG_OUTSIDE,      // size in `value`: used by what orders nothing for us
    LOG_ATOMIC_READ,  // between BEGIN and END, as READ
    LOG_ATOMIC_WRITE, // between BEGIN and END, as WRITE
    // All from here on have the number of the event in `value`.
    LOG_FIRST_EVENT,
    LOG_ALLOC = LOG_FIRST_EVENT, // behind it LOG_SIZE
    LOG_CREATE,                  // address: the child
    LOG_JOIN,                    // address: the child
    LOG_LOCK,
    LOG_UNLOCK,
    LOG_BARRIER, // place: the count
    LOG_ARRIVE,
    LOG_DEPART,
    LOG_SEMAPHORE, // place: the value
    LOG_POST,
    LOG_WAIT,
    LOG_ATOMIC_BEGIN,
    LOG_ATOMIC_END,
    LOG_N_EVENTS,
    LOG_SIZE = 64, // value: bytes
};

struct log_record {
    uint8_t kind;
    uint8_t size;
    uint16_t gap;
    uint32_t place; // the program's counter, less where its image begins
    uint64_t address;
    uint64_t value;
};

struct log_chunk {
    uint64_t number;
    uint64_t thread;
    uint32_t n_records;
    uint32_t node;
};

enum {
    LOG_RECORDS =
        (LOG_CHUNK - sizeof(struct log_chunk)) / sizeof(struct log_record)
};

static inline struct log_record *log_records(struct log_chunk *chunk)
{
    return (struct log_record *)(chunk + 1);
}

#endif
