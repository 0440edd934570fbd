// SPDX-License-Identifier: BSD-3-Clause
/*
 * Reads what record.c has written of a run, and has the judge say whether its reads
 * gave what they must.
 *
 *     audit_check [--program=FILE] [--alter=N] FOLDER
 *
 * --program  what was run, to say file and line of a place
 * --alter    for the test of this: the Nth read has given something else
 *
 * Events are told in the order of their numbers, and behind each what its thread read
 * and wrote until its next one. That keeps to J1 of the judge: what is ordered before
 * an access comes to its thread with an event before it.
 *
 * Exit code 0: no read is wrong; 1: some are; 64 and above: they cannot be judged.
 */
#include <dirent.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "judge.h"
#include "log.h"

enum { MOST_FILES = 512, MOST_TOLD = 5, MOST_THREADS = 1 << 18 };

struct thread {
    uint64_t name; // as the program has it; the judge is told its index
    struct log_chunk **chunks; // in order
    size_t n_chunks;
    size_t chunk; // what comes next
    uint32_t record;
    int is_active;
    uint64_t next_event; // its number, of an active thread
    // within an atomic function
    int has_read;
    int has_write;
    struct judge_access read;
    struct judge_access write;
};

static struct {
    struct judge *judge;
    struct log_head *files[MOST_FILES];
    unsigned n_files;
    struct thread *threads;
    size_t n_threads;
    size_t *index_of; // hashed by name, index + 1
    size_t *heap;     // active threads, that with the next event first
    size_t n_heap;
    uint64_t n_reads;
    uint64_t altered;
    const char *program;
} all;

_Noreturn static void give_up(const char *what)
{
    fprintf(stderr, "audit: %s\n", what);
    exit(65);
}

static void *need(void *memory)
{
    if (memory == NULL) {
        give_up("no memory");
    }
    return memory;
}

// ---- the logs

static void map_log(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    void *mapped;

    if (fd < 0 || fstat(fd, &status) != 0 || all.n_files == MOST_FILES) {
        give_up(path);
    }
    mapped = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_NORESERVE, fd, 0);
    close(fd);
    if (mapped == MAP_FAILED ||
        ((struct log_head *)mapped)->magic != LOG_MAGIC) {
        give_up(path);
    }
    all.files[all.n_files++] = mapped;
}

static void map_logs(const char *folder)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    char path[4096];

    if (directory == NULL) {
        give_up(folder);
    }
    while ((entry = readdir(directory)) != NULL) {
        if (strncmp(entry->d_name, LOG_NAME ".", strlen(LOG_NAME ".")) == 0) {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            map_log(path);
        }
    }
    closedir(directory);
}

static size_t new_thread(uint64_t name)
{
    if (all.n_threads == MOST_THREADS) {
        give_up("too many threads");
    }
    all.threads[all.n_threads].name = name;
    return all.n_threads++;
}

static size_t index_of(uint64_t name)
{
    size_t i = (size_t)(name * 0x9e3779b97f4a7c15u >> 45);

    while (all.index_of[i] != 0 &&
           all.threads[all.index_of[i] - 1].name != name) {
        i = (i + 1) % (2 * MOST_THREADS);
    }
    if (all.index_of[i] == 0) {
        all.index_of[i] = new_thread(name) + 1;
    }
    return all.index_of[i] - 1;
}

static void fill_variables(const struct log_head *head)
{
    judge_fill(all.judge, 0, head->shared_start, head->shared_size,
               (const uint8_t *)(head + 1), 0);
}

static void take_chunks(struct log_head *head)
{
    for (uint64_t i = 0; i < head->n_chunks; i++) {
        struct log_chunk *chunk =
            (struct log_chunk *)((char *)head +
                                 (head->first_chunk + i) * LOG_CHUNK);
        struct thread *thread = &all.threads[index_of(chunk->thread)];

        thread->chunks = need(realloc(
            thread->chunks, (thread->n_chunks + 1) * sizeof *thread->chunks));
        thread->chunks[thread->n_chunks++] = chunk;
        if (chunk->thread == 0 && thread->n_chunks == 1) {
            fill_variables(head);
        }
    }
}

static int compare_chunks(const void *a, const void *b)
{
    const uint64_t left = (*(struct log_chunk *const *)a)->number;
    const uint64_t right = (*(struct log_chunk *const *)b)->number;

    return left < right ? -1 : left > right;
}

// The thread's next record, or NULL.
static struct log_record *peek(struct thread *thread)
{
    while (thread->chunk < thread->n_chunks) {
        struct log_chunk *chunk = thread->chunks[thread->chunk];

        if (thread->record < chunk->n_records) {
            return &log_records(chunk)[thread->record];
        }
        thread->chunk++;
        thread->record = 0;
    }
    return NULL;
}

// ---- who comes next

static uint64_t next_event(size_t number)
{
    return all.threads[number].next_event;
}

static void heap_swap(size_t i, size_t j)
{
    const size_t held = all.heap[i];

    all.heap[i] = all.heap[j];
    all.heap[j] = held;
}

static void heap_sink(void)
{
    for (size_t i = 0;;) {
        size_t least = i;

        for (size_t child = 2 * i + 1; child <= 2 * i + 2; child++) {
            if (child < all.n_heap &&
                next_event(all.heap[child]) < next_event(all.heap[least])) {
                least = child;
            }
        }
        if (least == i) {
            return;
        }
        heap_swap(i, least);
        i = least;
    }
}

static void heap_add(size_t number)
{
    size_t i = all.n_heap++;

    all.heap[i] = number;
    while (i > 0 &&
           next_event(all.heap[i]) < next_event(all.heap[(i - 1) / 2])) {
        heap_swap(i, (i - 1) / 2);
        i = (i - 1) / 2;
    }
}

// ---- telling the judge

static struct judge_access access_of(uint64_t thread, struct log_record *record)
{
    if ((record->kind == LOG_READ || record->kind == LOG_ATOMIC_READ) &&
        ++all.n_reads == all.altered) {
        record->value ^= 1u << 3;
    }
    return (struct judge_access){.thread = thread,
                                 .address = record->address,
                                 .place = record->place,
                                 .size = record->size,
                                 .value = record->value};
}

static void tell_access(size_t number, struct log_record *record)
{
    struct thread *thread = &all.threads[number];
    struct judge_access access = access_of(number, record);

    switch (record->kind) {
    case LOG_READ:
        judge_read(all.judge, &access);
        break;
    case LOG_WRITE:
        judge_write(all.judge, &access);
        break;
    case LOG_OUTSIDE:
        judge_leave_out(all.judge, record->address, record->value);
        break;
    case LOG_ATOMIC_READ:
        thread->has_read = 1;
        thread->read = access;
        break;
    case LOG_ATOMIC_WRITE:
        thread->has_write = 1;
        thread->write = access;
        break;
    default:
        give_up("a log has records that are not known");
    }
}

// What a thread does until its next event.
static void tell_accesses(size_t number)
{
    struct thread *thread = &all.threads[number];
    struct log_record *record;

    while ((record = peek(thread)) != NULL &&
           (record->kind < LOG_FIRST_EVENT || record->kind >= LOG_N_EVENTS)) {
        thread->record++;
        tell_access(number, record);
    }
    thread->next_event = record == NULL ? UINT64_MAX : record->value;
}

static void activate(size_t number)
{
    if (!all.threads[number].is_active) {
        all.threads[number].is_active = 1;
        tell_accesses(number);
        heap_add(number);
    }
}

static void tell_alloc(size_t number, const struct log_record *record)
{
    const struct log_record *size = peek(&all.threads[number]);

    if (size == NULL || size->kind != LOG_SIZE) {
        give_up("a log has no size of a block");
    }
    judge_fill(all.judge, number, record->address, size->value, NULL,
               record->place);
    all.threads[number].record++;
}

static void tell_atomic(size_t number, const struct log_record *record)
{
    struct thread *thread = &all.threads[number];

    judge_atomic_end(all.judge, number, record->address,
                     thread->has_read ? &thread->read : NULL,
                     thread->has_write ? &thread->write : NULL);
    thread->has_read = thread->has_write = 0;
}

static void tell_event(size_t number, const struct log_record *record)
{
    struct judge *judge = all.judge;
    const uint64_t object = record->address;

    switch (record->kind) {
    case LOG_ALLOC:
        tell_alloc(number, record);
        break;
    case LOG_CREATE:
        judge_create(judge, number, index_of(object));
        activate(index_of(object));
        break;
    case LOG_JOIN:
        judge_join(judge, number, index_of(object));
        break;
    case LOG_LOCK:
        judge_lock(judge, number, object);
        break;
    case LOG_UNLOCK:
        judge_unlock(judge, number, object);
        break;
    case LOG_BARRIER:
        judge_barrier(judge, object, record->place);
        break;
    case LOG_ARRIVE:
        judge_arrive(judge, number, object);
        break;
    case LOG_DEPART:
        judge_depart(judge, number, object);
        break;
    case LOG_SEMAPHORE:
        judge_semaphore(judge, number, object, record->place);
        break;
    case LOG_POST:
        judge_post(judge, number, object);
        break;
    case LOG_WAIT:
        judge_wait(judge, number, object);
        break;
    case LOG_ATOMIC_BEGIN:
        judge_atomic_begin(judge, number, object);
        break;
    default:
        tell_atomic(number, record);
    }
}

static void tell_all(void)
{
    activate(0);
    while (all.n_heap > 0) {
        const size_t number = all.heap[0];
        const struct log_record *record = peek(&all.threads[number]);

        if (record == NULL) { // so it is of all
            return;
        }
        all.threads[number].record++;
        tell_event(number, record);
        tell_accesses(number);
        heap_sink();
    }
}

// ---- what it has said

static void print_place(uint64_t place)
{
    char command[4096];
    char line[1024];
    FILE *pipe;

    if (all.program != NULL && place != 0) {
        snprintf(command, sizeof command, "addr2line -s -e '%s' 0x%" PRIx64,
                 all.program, place);
        pipe = popen(command, "r");
        if (pipe != NULL && fgets(line, sizeof line, pipe) != NULL) {
            line[strcspn(line, "\n")] = '\0';
            printf("%s", line);
        }
        if (pipe != NULL) {
            pclose(pipe);
        }
        return;
    }
    printf("+0x%" PRIx64, place);
}

static void print_wrong(const struct judge_wrong *wrong)
{
    printf("WRONG READ: thread %" PRIu64 ", ",
           all.threads[wrong->read.thread].name);
    print_place(wrong->read.place);
    printf(", reads %u bytes at 0x%" PRIx64 ": byte 0x%" PRIx64
           " is %02x, should be %02x, written by thread %" PRIu64 ", ",
           wrong->read.size, wrong->read.address, wrong->byte, wrong->is,
           wrong->should, all.threads[wrong->writer].name);
    if (wrong->write_place == 0) {
        printf("before tm_init()");
    } else {
        print_place(wrong->write_place);
    }
    printf("\n");
}

static uint64_t print_result(double seconds)
{
    const struct judge_counts counts = judge_counts(all.judge);
    const uint64_t n = counts.reads + counts.writes + counts.events;
    const struct judge_wrong *wrong;

    for (size_t i = 0;
         i < MOST_TOLD && (wrong = judge_wrong(all.judge, i)) != NULL; i++) {
        print_wrong(wrong);
    }
    printf("audit: %" PRIu64 " reads, %" PRIu64 " not judged (%" PRIu64
           " race, %" PRIu64 " of unknown origin), %" PRIu64 " writes (%" PRIu64
           " race), %" PRIu64 " events, %" PRIu64
           " wrong reads; %.1f million a second\n",
           counts.reads, counts.raced + counts.unknown, counts.raced,
           counts.unknown, counts.writes, counts.wild, counts.events,
           counts.wrong, (double)n / seconds / 1e6);
    return counts.wrong;
}

static double now_s(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"program", required_argument, NULL, 'p'},
        {"alter", required_argument, NULL, 'a'},
        {NULL, 0, NULL, 0},
    };
    const double began_s = now_s();
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'p':
            all.program = optarg;
            break;
        case 'a':
            all.altered = strtoull(optarg, NULL, 0);
            break;
        default:
            return 64;
        }
    }
    if (optind + 1 != argc) {
        fprintf(stderr, "usage: %s [--program=FILE] [--alter=N] FOLDER\n",
                argv[0]);
        return 64;
    }
    all.judge = judge_new();
    all.threads = need(calloc(MOST_THREADS, sizeof *all.threads));
    all.index_of = need(calloc(2 * MOST_THREADS, sizeof *all.index_of));
    all.heap = need(calloc(MOST_THREADS, sizeof *all.heap));
    index_of(0);
    map_logs(argv[optind]);
    for (unsigned i = 0; i < all.n_files; i++) {
        take_chunks(all.files[i]);
    }
    if (all.threads[0].n_chunks == 0) {
        give_up("main() has written no log");
    }
    for (size_t i = 0; i < all.n_threads; i++) {
        if (all.threads[i].n_chunks > 0) {
            qsort(all.threads[i].chunks, all.threads[i].n_chunks,
                  sizeof *all.threads[i].chunks, compare_chunks);
        }
    }
    tell_all();
    return print_result(now_s() - began_s) > 0;
}
