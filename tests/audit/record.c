// SPDX-License-Identifier: BSD-3-Clause
/*
 * The recorder. A program that is compiled with -fsanitize=thread calls __tsan_*()
 * before each access; these are ours, and libtsan is not linked. With audit.h in front
 * its calls of teamster.h come here too. All that happens to shared memory is
 * written to the log of its thread (log.h), in the folder that the variable TM_AUDIT
 * names; without it nothing is.
 *
 * R1 A read's value is read here, just before the program reads it. Of a program
 *    without races it is the same, unless what serves the page changes it between: the
 *    checker of the next read may find that.
 * R2 A write's value is read here when the thread comes here next, at the latest when
 *    its function returns or it calls something of teamster.h: until then it is
 *    `pending`. What was lost in between looks as if it had never been written: that is
 *    what the recorder cannot see. (memcpy() and the like know what they write.)
 * R3 An event has a number out of a word that all processes share, drawn before the
 *    call if the call gives something to other threads, and after it if it takes. So
 *    in the order of numbers whoever takes comes after whom it takes from, whatever
 *    the runtime believes of it.
 * R4 A record belongs to its thread alone, so nothing here is locked. A thread may come
 *    back on another node from tm_iteration_end() only; it goes on there in a new
 *    chunk, for the number of a chunk says which comes first.
 * R5 C11's atomics order what they order only on pages of `sequential`: their bytes are
 *    left to others to judge (LOG_OUTSIDE).
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "log.h"
#include "mem/space.h"
#include "teamster.h"

#define LOG_BYTES (1ull << 34) // of a file with holes
#define SPACE_BYTES (1ull << 40)
enum { MOST_THREADS = 1 << 18 };

struct recorder {
    _Atomic uint64_t name; // the thread's number + 1, 0: free
    struct log_chunk *chunk;
    uint64_t thread;
    uint64_t pending; // an address, 0: none
    uint32_t pending_size;
    uint32_t pending_place;
    struct once_call *once; // what it does once, the innermost
};

static struct {
    int is_on;
    _Atomic uint64_t *clock;
    struct log_head *head;
    char *file; // LOG_BYTES of it
    uint64_t shared_start;
    uint64_t shared_end;
    struct recorder recorders[MOST_THREADS]; // hashed by thread
} all;

extern char program_start[] __asm__("__executable_start");

#define PLACE()                                                                \
    ((uint32_t)((uintptr_t)__builtin_return_address(0) -                       \
                (uintptr_t)program_start - 1))

_Noreturn static void give_up(const char *what)
{
    perror(what);
    _exit(73);
}

// ---- chunks and records

static uint64_t next_event(void)
{
    return atomic_fetch_add_explicit(all.clock, 1, memory_order_seq_cst) + 1;
}

static struct log_chunk *new_chunk(uint64_t thread)
{
    const uint64_t n =
        __atomic_fetch_add(&all.head->n_chunks, 1, __ATOMIC_RELAXED) +
        all.head->first_chunk;
    struct log_chunk *chunk = (struct log_chunk *)(all.file + n * LOG_CHUNK);

    if ((n + 1) * LOG_CHUNK > LOG_BYTES) {
        give_up("audit: the log is full");
    }
    chunk->number = next_event();
    chunk->thread = thread;
    chunk->node = tm_node_self();
    return chunk;
}

// Of the caller. Threads of two workers may look for theirs at a time.
static struct recorder *recorder(void)
{
    const tm_thread number = tm_thread_self();
    uint64_t i = number * 0x9e3779b97f4a7c15u >> 46;

    for (unsigned n = 0; n < MOST_THREADS; n++, i++) {
        struct recorder *it = &all.recorders[i % MOST_THREADS];
        uint64_t name = atomic_load(&it->name);

        if (name == 0 &&
            atomic_compare_exchange_strong(&it->name, &name, number + 1)) {
            it->thread = number;
            return it;
        }
        if (name == number + 1) {
            return it;
        }
    }
    give_up("audit: too many threads");
}

static void put(struct recorder *it, struct log_record record)
{
    if (it->chunk == NULL || it->chunk->n_records == LOG_RECORDS) {
        it->chunk = new_chunk(it->thread);
    }
    log_records(it->chunk)[it->chunk->n_records] = record;
    it->chunk->n_records++;
}

// ---- reads and writes

static int is_shared(uint64_t address)
{
    return address - (uint64_t)SPACE_HEAP_BASE < SPACE_BYTES ||
           address - all.shared_start < all.shared_end - all.shared_start;
}

static void put_values(struct recorder *it, enum log_kind kind,
                       uint64_t address, uint64_t size, uint32_t place)
{
    while (size > 0) {
        const unsigned n = size < 8 ? (unsigned)size : 8;
        uint64_t value = 0;

        __builtin_memcpy(&value, (const void *)(uintptr_t)address, n);
        put(it, (struct log_record){.kind = (uint8_t)kind,
                                    .size = (uint8_t)n,
                                    .place = place,
                                    .address = address,
                                    .value = value});
        address += n;
        size -= n;
    }
}

static void finish_pending(struct recorder *it)
{
    const uint64_t address = it->pending;

    if (address != 0) {
        it->pending = 0;
        put_values(it, LOG_WRITE, address, it->pending_size, it->pending_place);
    }
}

static void note(const void *where, uint64_t size, int is_write, uint32_t place)
{
    const uint64_t address = (uint64_t)(uintptr_t)where;
    struct recorder *it;

    if (!all.is_on || !is_shared(address)) {
        return;
    }
    it = recorder();
    finish_pending(it);
    if (is_write) {
        it->pending = address;
        it->pending_size = (uint32_t)size;
        it->pending_place = place;
    } else {
        put_values(it, LOG_READ, address, size, place);
    }
}

// Something else uses the bytes, too.
static void note_outside(const void *where, uint64_t size)
{
    const uint64_t address = (uint64_t)(uintptr_t)where;
    struct recorder *it;

    if (all.is_on && is_shared(address)) {
        it = recorder();
        finish_pending(it);
        put(it, (struct log_record){
                    .kind = LOG_OUTSIDE, .address = address, .value = size});
    }
}

// ---- events

static void event_at(enum log_kind kind, uint64_t object, uint32_t number,
                     uint64_t event)
{
    struct recorder *it;

    if (all.is_on) {
        it = recorder();
        finish_pending(it);
        put(it, (struct log_record){.kind = (uint8_t)kind,
                                    .place = number,
                                    .address = object,
                                    .value = event});
    }
}

static uint64_t now(void)
{
    if (!all.is_on) {
        return 0;
    }
    finish_pending(recorder());
    return next_event();
}

static void event(enum log_kind kind, const void *object, uint32_t number)
{
    event_at(kind, (uint64_t)(uintptr_t)object, number, now());
}

// ---- what the compiler calls

void __tsan_init(void);
void __tsan_func_entry(void *);
void __tsan_func_exit(void *);
void __tsan_vptr_update(void **, void *);

void __tsan_init(void)
{
}

void __tsan_func_entry(void *caller)
{
    (void)caller;
}

void __tsan_func_exit(void *caller)
{
    (void)caller;
    if (all.is_on) {
        finish_pending(recorder());
    }
}

#define ACCESS(name, size, is_write)                                           \
    void __tsan_##name(void *);                                                \
    void __tsan_##name(void *address)                                          \
    {                                                                          \
        note(address, size, is_write, PLACE());                                \
    }

#define ACCESSES(size)                                                         \
    ACCESS(read##size, size, 0)                                                \
    ACCESS(write##size, size, 1)                                               \
    ACCESS(unaligned_read##size, size, 0)                                      \
    ACCESS(unaligned_write##size, size, 1)                                     \
    ACCESS(volatile_read##size, size, 0)                                       \
    ACCESS(volatile_write##size, size, 1)

ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

void __tsan_read_range(void *, unsigned long);
void __tsan_write_range(void *, unsigned long);

void __tsan_read_range(void *address, unsigned long size)
{
    note(address, size, 0, PLACE());
}

void __tsan_write_range(void *address, unsigned long size)
{
    note(address, size, 1, PLACE());
}

// C11's atomics: R5. Of the orders asked for the strongest is taken.
#define ATOMIC_VALUE(bits, name, built_in)                                     \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile void *,               \
                                                uint##bits##_t, int);          \
    uint##bits##_t __tsan_atomic##bits##_##name(                               \
        volatile void *word, uint##bits##_t value, int order)                  \
    {                                                                          \
        (void)order;                                                           \
        note_outside((const void *)(uintptr_t)word, bits / 8);                 \
        return built_in((volatile uint##bits##_t *)word, value,                \
                        __ATOMIC_SEQ_CST);                                     \
    }

#define ATOMICS(bits)                                                          \
    ATOMIC_VALUE(bits, exchange, __atomic_exchange_n)                          \
    ATOMIC_VALUE(bits, fetch_add, __atomic_fetch_add)                          \
    ATOMIC_VALUE(bits, fetch_sub, __atomic_fetch_sub)                          \
    ATOMIC_VALUE(bits, fetch_and, __atomic_fetch_and)                          \
    ATOMIC_VALUE(bits, fetch_or, __atomic_fetch_or)                            \
    ATOMIC_VALUE(bits, fetch_xor, __atomic_fetch_xor)                          \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile void *, int);     \
    void __tsan_atomic##bits##_store(volatile void *, uint##bits##_t, int);    \
    int __tsan_atomic##bits##_compare_exchange_strong(                         \
        volatile void *, void *, uint##bits##_t, int, int);                    \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile void *, void *,   \
                                                    uint##bits##_t, int, int); \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile void *word,       \
                                              int order)                       \
    {                                                                          \
        (void)order;                                                           \
        note_outside((const void *)(uintptr_t)word, bits / 8);                 \
        return __atomic_load_n((const volatile uint##bits##_t *)word,          \
                               __ATOMIC_SEQ_CST);                              \
    }                                                                          \
    void __tsan_atomic##bits##_store(volatile void *word,                      \
                                     uint##bits##_t value, int order)          \
    {                                                                          \
        note_outside((const void *)(uintptr_t)word, bits / 8);                 \
        if (order == __ATOMIC_RELAXED) {                                       \
            __atomic_store_n((volatile uint##bits##_t *)word, value,           \
                             __ATOMIC_RELAXED);                                \
        } else {                                                               \
            __atomic_store_n((volatile uint##bits##_t *)word, value,           \
                             __ATOMIC_SEQ_CST);                                \
        }                                                                      \
    }                                                                          \
    int __tsan_atomic##bits##_compare_exchange_strong(                         \
        volatile void *word, void *expected, uint##bits##_t value, int order,  \
        int failure)                                                           \
    {                                                                          \
        (void)order;                                                           \
        (void)failure;                                                         \
        note_outside((const void *)(uintptr_t)word, bits / 8);                 \
        return __atomic_compare_exchange_n(                                    \
            (volatile uint##bits##_t *)word, (uint##bits##_t *)expected,       \
            value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                     \
    }                                                                          \
    int __tsan_atomic##bits##_compare_exchange_weak(                           \
        volatile void *word, void *expected, uint##bits##_t value, int order,  \
        int failure)                                                           \
    {                                                                          \
        return __tsan_atomic##bits##_compare_exchange_strong(                  \
            word, expected, value, order, failure);                            \
    }

ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)

void __tsan_atomic_thread_fence(int);
void __tsan_atomic_signal_fence(int);

void __tsan_atomic_thread_fence(int order)
{
    (void)order;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int order)
{
    (void)order;
}

// ---- calls of the C library that write

void *audit_memcpy(void *to, const void *from, size_t n);
void *audit_memmove(void *to, const void *from, size_t n);
void *audit_memset(void *to, int value, size_t n);
size_t audit_fread(void *to, size_t size, size_t n, FILE *file);

static void note_written(const void *to, size_t n, uint32_t place)
{
    struct recorder *it;

    if (all.is_on && is_shared((uint64_t)(uintptr_t)to)) {
        it = recorder();
        finish_pending(it);
        put_values(it, LOG_WRITE, (uint64_t)(uintptr_t)to, n, place);
    }
}

void *audit_memmove(void *to, const void *from, size_t n)
{
    note(from, n, 0, PLACE());
    memmove(to, from, n);
    note_written(to, n, PLACE());
    return to;
}

void *audit_memcpy(void *to, const void *from, size_t n)
{
    note(from, n, 0, PLACE());
    memcpy(to, from, n);
    note_written(to, n, PLACE());
    return to;
}

void *audit_memset(void *to, int value, size_t n)
{
    memset(to, value, n);
    note_written(to, n, PLACE());
    return to;
}

size_t audit_fread(void *to, size_t size, size_t n, FILE *file)
{
    const size_t n_read = fread(to, size, n, file);

    note_written(to, size * n, PLACE());
    return n_read;
}

// ---- calls of teamster.h

tm_status audit_init_program(int *argc, char ***argv,
                             const struct tm_program *program);
void *audit_alloc_at(size_t size, const tm_alloc_attr *attr, const char *file,
                     int line);
void *audit_realloc_at(void *block, size_t size, const char *file, int line);
tm_status audit_thread_create(tm_thread *thread, const tm_thread_attr *attr,
                              void *(*start)(void *), void *arg);
tm_status audit_thread_join(tm_thread thread, void **result);
_Noreturn void audit_thread_exit(void *result);
tm_status audit_mutex_lock(tm_mutex *mutex);
tm_status audit_mutex_trylock(tm_mutex *mutex);
tm_status audit_mutex_timedlock(tm_mutex *mutex,
                                const struct timespec *deadline);
tm_status audit_mutex_unlock(tm_mutex *mutex);
tm_status audit_cond_wait(tm_cond *cond, tm_mutex *mutex);
tm_status audit_cond_timedwait(tm_cond *cond, tm_mutex *mutex,
                               const struct timespec *deadline);
tm_status audit_sem_init(tm_sem *sem, unsigned value);
tm_status audit_sem_wait(tm_sem *sem);
tm_status audit_sem_trywait(tm_sem *sem);
tm_status audit_sem_timedwait(tm_sem *sem, const struct timespec *deadline);
tm_status audit_sem_post(tm_sem *sem);
tm_status audit_rwlock_rdlock(tm_rwlock *lock);
tm_status audit_rwlock_tryrdlock(tm_rwlock *lock);
tm_status audit_rwlock_timedrdlock(tm_rwlock *lock,
                                   const struct timespec *deadline);
tm_status audit_rwlock_wrlock(tm_rwlock *lock);
tm_status audit_rwlock_trywrlock(tm_rwlock *lock);
tm_status audit_rwlock_timedwrlock(tm_rwlock *lock,
                                   const struct timespec *deadline);
tm_status audit_rwlock_unlock(tm_rwlock *lock);
tm_status audit_once_run(tm_once *once, void (*function)(void));
tm_status audit_key_create(tm_key *key, void (*destructor)(void *value));
tm_status audit_barrier_init(tm_barrier *barrier, unsigned count);
tm_status audit_barrier_wait(tm_barrier *barrier);
tm_status audit_iteration_end(tm_barrier *barrier);
tm_status audit_reduce_double(tm_barrier *barrier, tm_op op, double value,
                              double *result);
tm_status audit_reduce_int64(tm_barrier *barrier, tm_op op, int64_t value,
                             int64_t *result);
int64_t audit_fetch_add(int64_t *word, int64_t addend);
int64_t audit_exchange(int64_t *word, int64_t value);
int64_t audit_compare_exchange(int64_t *word, int64_t expected, int64_t value);
int64_t audit_atomic_load(const int64_t *word);
void audit_atomic_store(int64_t *word, int64_t value);

static void *map(const char *folder, const char *name, size_t size)
{
    char path[512];
    void *mapped;
    int fd;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0) {
        give_up(path);
    }
    mapped = mmap(NULL, size, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (mapped == MAP_FAILED) {
        give_up(path);
    }
    close(fd);
    return mapped;
}

// With what the variables hold now, which is the same on all nodes.
static void begin(const char *folder, const struct tm_program *program)
{
    const size_t size = (size_t)(program->shared_end - program->shared_start);
    char name[64];

    snprintf(name, sizeof name, "%s.%d", LOG_NAME, (int)getpid());
    all.clock = map(folder, LOG_CLOCK, TM_PAGE_SIZE);
    all.file = map(folder, name, LOG_BYTES);
    all.shared_start = (uint64_t)(uintptr_t)program->shared_start;
    all.shared_end = all.shared_start + size;
    all.head = (struct log_head *)all.file;
    *all.head = (struct log_head){
        .magic = LOG_MAGIC,
        .image = (uint64_t)(uintptr_t)program_start,
        .shared_start = all.shared_start,
        .shared_size = size,
        .first_chunk = (sizeof *all.head + size) / LOG_CHUNK + 1,
    };
    memcpy(all.head + 1, program->shared_start, size);
    all.is_on = 1;
}

tm_status audit_init_program(int *argc, char ***argv,
                             const struct tm_program *program)
{
    const char *folder = getenv("TM_AUDIT");

    if (folder != NULL) {
        begin(folder, program);
    }
    return tm_init_program(argc, argv, program);
}

void *audit_alloc_at(size_t size, const tm_alloc_attr *attr, const char *file,
                     int line)
{
    void *block = tm_alloc_at(size, attr, file, line);

    if (all.is_on && block != NULL) {
        event(LOG_ALLOC, block, PLACE());
        put(recorder(), (struct log_record){.kind = LOG_SIZE, .value = size});
    }
    return block;
}

// What the new block holds is taken as written by the caller.
void *audit_realloc_at(void *block, size_t size, const char *file, int line)
{
    void *moved;

    if (all.is_on) {
        finish_pending(recorder());
    }
    moved = tm_realloc_at(block, size, file, line);
    if (all.is_on && moved != NULL && moved != block) {
        event(LOG_ALLOC, moved, PLACE());
        put(recorder(), (struct log_record){.kind = LOG_SIZE, .value = size});
        note_written(moved, size, PLACE());
    }
    return moved;
}

tm_status audit_thread_create(tm_thread *thread, const tm_thread_attr *attr,
                              void *(*start)(void *), void *arg)
{
    const uint64_t began = now();
    tm_thread number = 0;
    const tm_status status = tm_thread_create(&number, attr, start, arg);

    if (status == TM_OK) {
        event_at(LOG_CREATE, number, PLACE(), began);
    }
    if (thread != NULL) {
        note(thread, sizeof *thread, 1, PLACE());
        *thread = number;
    }
    return status;
}

tm_status audit_thread_join(tm_thread thread, void **result)
{
    const tm_status status = tm_thread_join(thread, result);

    if (status == TM_OK) {
        event_at(LOG_JOIN, thread, PLACE(), now());
    }
    return status;
}

void audit_thread_exit(void *result)
{
    if (all.is_on) {
        finish_pending(recorder());
    }
    tm_thread_exit(result);
}

tm_status audit_mutex_lock(tm_mutex *mutex)
{
    const tm_status status = tm_mutex_lock(mutex);

    if (status == TM_OK) {
        event(LOG_LOCK, mutex, PLACE());
    }
    return status;
}

tm_status audit_mutex_trylock(tm_mutex *mutex)
{
    const tm_status status = tm_mutex_trylock(mutex);

    if (status == TM_OK) {
        event(LOG_LOCK, mutex, PLACE());
    }
    return status;
}

tm_status audit_mutex_timedlock(tm_mutex *mutex,
                                const struct timespec *deadline)
{
    const tm_status status = tm_mutex_timedlock(mutex, deadline);

    if (status == TM_OK) {
        event(LOG_LOCK, mutex, PLACE());
    }
    return status;
}

tm_status audit_mutex_unlock(tm_mutex *mutex)
{
    event(LOG_UNLOCK, mutex, PLACE());
    return tm_mutex_unlock(mutex);
}

// A signal orders nothing by itself: the mutex does.
tm_status audit_cond_wait(tm_cond *cond, tm_mutex *mutex)
{
    tm_status status;

    event(LOG_UNLOCK, mutex, PLACE());
    status = tm_cond_wait(cond, mutex);
    event(LOG_LOCK, mutex, PLACE());
    return status;
}

tm_status audit_cond_timedwait(tm_cond *cond, tm_mutex *mutex,
                               const struct timespec *deadline)
{
    tm_status status;

    event(LOG_UNLOCK, mutex, PLACE());
    status = tm_cond_timedwait(cond, mutex, deadline);
    event(LOG_LOCK, mutex, PLACE());
    return status;
}

tm_status audit_sem_init(tm_sem *sem, unsigned value)
{
    event(LOG_SEMAPHORE, sem, value);
    return tm_sem_init(sem, value);
}

tm_status audit_sem_wait(tm_sem *sem)
{
    const tm_status status = tm_sem_wait(sem);

    if (status == TM_OK) {
        event(LOG_WAIT, sem, PLACE());
    }
    return status;
}

tm_status audit_sem_trywait(tm_sem *sem)
{
    const tm_status status = tm_sem_trywait(sem);

    if (status == TM_OK) {
        event(LOG_WAIT, sem, PLACE());
    }
    return status;
}

tm_status audit_sem_timedwait(tm_sem *sem, const struct timespec *deadline)
{
    const tm_status status = tm_sem_timedwait(sem, deadline);

    if (status == TM_OK) {
        event(LOG_WAIT, sem, PLACE());
    }
    return status;
}

tm_status audit_sem_post(tm_sem *sem)
{
    event(LOG_POST, sem, PLACE());
    return tm_sem_post(sem);
}

// As of a mutex: readers that come after readers count as ordered, which asks for no
// more than what a program without races sees anyway.
static tm_status note_locked(tm_rwlock *lock, tm_status status, uint32_t place)
{
    if (status == TM_OK) {
        event(LOG_LOCK, lock, place);
    }
    return status;
}

tm_status audit_rwlock_rdlock(tm_rwlock *lock)
{
    return note_locked(lock, tm_rwlock_rdlock(lock), PLACE());
}

tm_status audit_rwlock_tryrdlock(tm_rwlock *lock)
{
    return note_locked(lock, tm_rwlock_tryrdlock(lock), PLACE());
}

tm_status audit_rwlock_timedrdlock(tm_rwlock *lock,
                                   const struct timespec *deadline)
{
    return note_locked(lock, tm_rwlock_timedrdlock(lock, deadline), PLACE());
}

tm_status audit_rwlock_wrlock(tm_rwlock *lock)
{
    return note_locked(lock, tm_rwlock_wrlock(lock), PLACE());
}

tm_status audit_rwlock_trywrlock(tm_rwlock *lock)
{
    return note_locked(lock, tm_rwlock_trywrlock(lock), PLACE());
}

tm_status audit_rwlock_timedwrlock(tm_rwlock *lock,
                                   const struct timespec *deadline)
{
    return note_locked(lock, tm_rwlock_timedwrlock(lock, deadline), PLACE());
}

tm_status audit_rwlock_unlock(tm_rwlock *lock)
{
    event(LOG_UNLOCK, lock, PLACE());
    return tm_rwlock_unlock(lock);
}

// What a thread does once has no argument.
struct once_call {
    tm_once *once;
    void (*function)(void);
    struct once_call *outer;
};

static void do_once(void)
{
    struct once_call *call = recorder()->once;

    call->function();
    event(LOG_UNLOCK, call->once, 0);
}

tm_status audit_once_run(tm_once *once, void (*function)(void))
{
    struct once_call call = {once, function, NULL};
    tm_status status;

    if (!all.is_on || function == NULL) {
        return tm_once_run(once, function);
    }
    finish_pending(recorder());
    call.outer = recorder()->once;
    recorder()->once = &call;
    status = tm_once_run(once, do_once);
    recorder()->once = call.outer;
    if (status == TM_OK) {
        event(LOG_LOCK, once, PLACE());
    }
    return status;
}

tm_status audit_key_create(tm_key *key, void (*destructor)(void *value))
{
    const tm_status status = tm_key_create(key, destructor);

    note_written(key, sizeof *key, PLACE());
    return status;
}

tm_status audit_barrier_init(tm_barrier *barrier, unsigned count)
{
    event(LOG_BARRIER, barrier, count);
    return tm_barrier_init(barrier, count);
}

tm_status audit_barrier_wait(tm_barrier *barrier)
{
    tm_status status;

    event(LOG_ARRIVE, barrier, PLACE());
    status = tm_barrier_wait(barrier);
    event(LOG_DEPART, barrier, PLACE());
    return status;
}

// Behind it the thread may be on another node: R4.
tm_status audit_iteration_end(tm_barrier *barrier)
{
    const unsigned node = tm_node_self();
    tm_status status;

    event(LOG_ARRIVE, barrier, PLACE());
    status = tm_iteration_end(barrier);
    if (all.is_on && tm_node_self() != node) {
        recorder()->chunk = NULL;
    }
    event(LOG_DEPART, barrier, PLACE());
    return status;
}

tm_status audit_reduce_double(tm_barrier *barrier, tm_op op, double value,
                              double *result)
{
    tm_status status;

    event(LOG_ARRIVE, barrier, PLACE());
    status = tm_reduce_double(barrier, op, value, result);
    event(LOG_DEPART, barrier, PLACE());
    note_written(result, sizeof *result, PLACE());
    return status;
}

tm_status audit_reduce_int64(tm_barrier *barrier, tm_op op, int64_t value,
                             int64_t *result)
{
    tm_status status;

    event(LOG_ARRIVE, barrier, PLACE());
    status = tm_reduce_int64(barrier, op, value, result);
    event(LOG_DEPART, barrier, PLACE());
    note_written(result, sizeof *result, PLACE());
    return status;
}

static void put_word(enum log_kind kind, const int64_t *word, int64_t value,
                     uint32_t place)
{
    if (all.is_on) {
        put(recorder(),
            (struct log_record){.kind = (uint8_t)kind,
                                .size = sizeof value,
                                .place = place,
                                .address = (uint64_t)(uintptr_t)word,
                                .value = (uint64_t)value});
    }
}

int64_t audit_fetch_add(int64_t *word, int64_t addend)
{
    int64_t was;

    event(LOG_ATOMIC_BEGIN, word, 0);
    was = tm_fetch_add(word, addend);
    put_word(LOG_ATOMIC_READ, word, was, PLACE());
    put_word(LOG_ATOMIC_WRITE, word,
             (int64_t)((uint64_t)was + (uint64_t)addend), PLACE());
    event(LOG_ATOMIC_END, word, 0);
    return was;
}

int64_t audit_exchange(int64_t *word, int64_t value)
{
    int64_t was;

    event(LOG_ATOMIC_BEGIN, word, 0);
    was = tm_exchange(word, value);
    put_word(LOG_ATOMIC_READ, word, was, PLACE());
    put_word(LOG_ATOMIC_WRITE, word, value, PLACE());
    event(LOG_ATOMIC_END, word, 0);
    return was;
}

int64_t audit_compare_exchange(int64_t *word, int64_t expected, int64_t value)
{
    int64_t was;

    event(LOG_ATOMIC_BEGIN, word, 0);
    was = tm_compare_exchange(word, expected, value);
    put_word(LOG_ATOMIC_READ, word, was, PLACE());
    if (was == expected) {
        put_word(LOG_ATOMIC_WRITE, word, value, PLACE());
    }
    event(LOG_ATOMIC_END, word, 0);
    return was;
}

int64_t audit_atomic_load(const int64_t *word)
{
    int64_t is;

    event(LOG_ATOMIC_BEGIN, word, 0);
    is = tm_atomic_load(word);
    put_word(LOG_ATOMIC_READ, word, is, PLACE());
    event(LOG_ATOMIC_END, word, 0);
    return is;
}

void audit_atomic_store(int64_t *word, int64_t value)
{
    event(LOG_ATOMIC_BEGIN, word, 0);
    tm_atomic_store(word, value);
    put_word(LOG_ATOMIC_WRITE, word, value, PLACE());
    event(LOG_ATOMIC_END, word, 0);
}
