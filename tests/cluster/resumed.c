// SPDX-License-Identifier: BSD-3-Clause
/*
 * A program that uses all that a checkpoint has to bring back: blocks large and small, that
 * come and go, variables, each kind of synchronisation object, keys and memory of the
 * threads' own, stacks of various depths, threads that have ended and others that come late.
 * Its one number at the end is the same however often it was ended and went on.
 *
 *     resumed [-t THREADS] [-i ITERATIONS] [-s SEED] [-p MICROSECONDS] [-b PAGES] [-o]
 *             [-w W] [-z] [-c I] [-a I] [-f CHANGE] [-e I] [-l I] [-r I] [MISTAKE]
 *
 * -p  each thread rests so long in each iteration
 * -b  there are so many pages more; of the first quarter each thread changes one in each
 *     iteration, the others stay
 * -o  each thread writes a line in each, and main() two, and what it reads
 * -w  with so much white space before it
 * -z  with the time before it, so that no line is written twice
 * -c  thread 0 kills its process in iteration I, whenever it comes there
 * -a  in iteration I, and not before, all those pages change
 * -f  a node that gets SIGUSR1 does that in its next iteration (changes.h), and says so
 * -e  a thread does that in iteration I
 * -l  a thread appends a line to the file `log` after each I iterations
 * -r  thread 0 reads a number of the file `numbers`, which it has open meanwhile, in each iteration from I to 2 I
 *
 * MISTAKE is something that no checkpoint can be made with, or that none can be gone on from:
 *   held    a mutex is held at the iteration's end
 *   aside   a thread waits elsewhere, all the time
 *   early   main() locks a mutex while threads run, before it waits
 *   on      main() goes on from its first wait
 *   other   main() does something else each time
 *   starts  none, but each node writes a line before it calls tm_init()
 *   lost    main() ends with the exit code of a node that is lost
 *   bound   bytes are bound to a lock
 *   file    main() has a file open that it writes to
 *   input   it has one open that it reads
 *   alone   it goes on behind tm_end(), for long
 */
#include <signal.h>
#include <string.h>
#include <time.h>

#include "changes.h"
#include "program.h"

enum {
    THREADS_MAX = 32,
    LISTED = 5000,
    KEPT = 64,
    DEPTH_MAX = 12,
    PAGE_WORDS = 512
};

struct note {
    struct note *next;
    uint64_t value;
};

static TM_SHARED struct {
    unsigned n_threads;
    unsigned n_iterations;
    unsigned pause_us;
    int is_talking;
    int tells_time;
    unsigned width; // of what a line begins with
    unsigned crash_at;
    unsigned change_at;
    unsigned outside_at;
    unsigned log_every;
    unsigned read_from;
    uint64_t seed;
    char change[16];
    char mistake[8];
    unsigned n_pages;
    uint64_t *pages;    // a block of n_pages, most of which stay as they are
    uint64_t *table;    // a block of several pages, of all threads
    uint64_t *steps;    // one of a coherent protocol
    struct note *notes; // small blocks: a list
    tm_mutex mutex;     // recursive
    tm_mutex turn_mutex;
    tm_cond turn_changed;
    unsigned turn;
    tm_sem tickets;
    tm_rwlock rwlock;
    tm_once once;
    tm_barrier barrier;
    tm_barrier early;
    unsigned n_once;
    uint64_t total;
    tm_key key;
    tm_thread late[2];
    tm_sem never;
} job = {.seed = 77};

static TM_SHARED unsigned char begun[3 * 4096] = {1, 2, 3, 4};

static int rounds; // of this process, before main() waits: not shared

static void count_once(void)
{
    job.n_once++;
}

static void add_note(uint64_t value)
{
    struct note *note = tm_alloc(sizeof *note, NULL);

    if (note == NULL) {
        FAIL("no %s", "memory");
    }
    note->value = value;
    note->next = job.notes;
    job.notes = note;
}

static void drop_note(void)
{
    struct note *note = job.notes;

    if (note != NULL) {
        job.notes = note->next;
        OK(tm_free(note));
    }
}

static void change_notes(uint64_t value)
{
    OK(tm_mutex_lock(&job.mutex));
    OK(tm_mutex_lock(&job.mutex)); // its kind comes back, too
    job.total += value;
    OK(tm_mutex_unlock(&job.mutex));
    OK(tm_mutex_unlock(&job.mutex));
}

// One after the other, so that the list is the same in each run.
static void take_turn(unsigned me, unsigned iteration)
{
    OK(tm_mutex_lock(&job.turn_mutex));
    while (job.turn % job.n_threads != me) {
        OK(tm_cond_wait(&job.turn_changed, &job.turn_mutex));
    }
    job.turn++;
    if (mix(job.seed, iteration * 64 + me) % 3 == 0) {
        drop_note();
    } else {
        add_note(mix(iteration, me));
    }
    OK(tm_cond_broadcast(&job.turn_changed));
    OK(tm_mutex_unlock(&job.turn_mutex));
}

static void use_ticket(void)
{
    OK(tm_sem_wait(&job.tickets));
    change_notes(1);
    OK(tm_sem_post(&job.tickets));
}

static void rest_a_while(void)
{
    const struct timespec pause = {.tv_sec = job.pause_us / 1000000,
                                   .tv_nsec = job.pause_us % 1000000 * 1000L};

    if (job.pause_us > 0) {
        nanosleep(&pause, NULL);
    }
}

// The end of an iteration somewhere down the stack, with frames to be checked above it.
static uint64_t end_iteration(unsigned depth, uint64_t key)
{
    unsigned char frame[200];
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof frame; i++) {
        frame[i] = (unsigned char)mix(key, i + depth);
    }
    if (depth > 0) {
        sum = end_iteration(depth - 1, key);
    } else {
        OK(tm_iteration_end(&job.barrier));
    }
    for (size_t i = 0; i < sizeof frame; i++) {
        if (frame[i] != (unsigned char)mix(key, i + depth)) {
            FAIL("a frame %u deep has changed", depth);
        }
        sum += frame[i];
    }
    return sum;
}

static void *be_late(void *argument)
{
    OK(tm_barrier_wait(&job.early));
    return argument;
}

// Two threads that come late and end soon: their numbers are given again, or are not.
static void have_late_ones(unsigned iteration)
{
    for (uintptr_t i = 0; i < 2; i++) {
        OK(tm_thread_create(&job.late[i], NULL, be_late,
                            (void *)(iteration + i)));
    }
    for (uintptr_t i = 0; i < 2; i++) {
        void *result;

        OK(tm_thread_join(job.late[i], &result));
        change_notes((uintptr_t)result + job.late[i]);
    }
}

static void make_mistake(unsigned me)
{
    if (strcmp(job.mistake, "held") == 0 && me == 0) {
        OK(tm_mutex_lock(&job.turn_mutex));
        end_iteration(0, 0);
        OK(tm_mutex_unlock(&job.turn_mutex));
    } else {
        end_iteration(0, 0);
    }
}

static uint64_t read_begun(void)
{
    uint64_t sum = 0;

    OK(tm_rwlock_rdlock(&job.rwlock));
    for (size_t i = 0; i < sizeof begun; i += 512) {
        sum += begun[i];
    }
    OK(tm_rwlock_unlock(&job.rwlock));
    return sum;
}

static void write_begun(unsigned me, unsigned iteration)
{
    if (iteration % job.n_threads == me) {
        OK(tm_rwlock_wrlock(&job.rwlock));
        begun[mix(iteration, 5) % sizeof begun / 512 * 512]++;
        OK(tm_rwlock_unlock(&job.rwlock));
    }
}

// A word of each thread's own in each page; now and then a page becomes zero again.
static void change_page(unsigned me, unsigned iteration)
{
    const uint64_t random = mix(iteration, me);
    uint64_t *page = job.pages + random % (job.n_pages / 4 + 1) * PAGE_WORDS;

    page[me] = random % 5 == 0 ? 0 : page[me] + random;
}

static void change_all_pages(unsigned me)
{
    for (unsigned i = me; i < job.n_pages; i += job.n_threads) {
        job.pages[i * PAGE_WORDS + me] += mix(i, me);
    }
}

static void tell_time(FILE *file)
{
    struct timespec now;

    if (job.tells_time) {
        clock_gettime(CLOCK_REALTIME, &now);
        fprintf(file, "%lld.%09ld ", (long long)now.tv_sec, now.tv_nsec);
    }
}

static void tell_iteration(unsigned me, unsigned iteration)
{
    flockfile(stdout);
    tell_time(stdout);
    printf("%*sthread %u: iteration %u\n", (int)job.width, "", me, iteration);
    funlockfile(stdout);
}

static volatile sig_atomic_t is_to_change;

static void hear(int signal)
{
    (void)signal;
    is_to_change = 1;
}

// On whatever node it is.
static void change_if_asked(unsigned me, unsigned iteration)
{
    signal(SIGUSR1, hear);
    if (is_to_change || (job.outside_at > 0 && iteration == job.outside_at &&
                         iteration % job.n_threads == me)) {
        is_to_change = 0;
        if (!change_outside(job.change)) {
            FAIL("no change %s", job.change);
        }
        printf("thread %u has changed something\n", me);
    }
}

static void append_line(unsigned me, unsigned iteration)
{
    FILE *file;

    if (iteration % job.log_every == 0 &&
        iteration / job.log_every % job.n_threads == me) {
        file = fopen("log", "a");
        if (file == NULL || fprintf(file, "iteration %u\n", iteration) < 0 ||
            fclose(file) != 0) {
            FAIL("no file %s", "log");
        }
    }
}

// It stays on its node.
static void read_number(unsigned iteration)
{
    static FILE *file;
    uint64_t number;

    if (iteration == job.read_from) {
        file = fopen("numbers", "r");
    }
    if (iteration >= job.read_from && iteration < 2 * job.read_from) {
        if (file == NULL || fscanf(file, "%" SCNu64, &number) != 1) {
            FAIL("no %s", "number");
        }
        change_notes(number * iteration);
    }
    if (iteration == 2 * job.read_from) {
        fclose(file);
    }
}

static void iterate(unsigned me, unsigned iteration, uint64_t *kept)
{
    const size_t part = LISTED / job.n_threads;

    for (size_t i = me * part; i < (me + 1) * part; i++) {
        job.table[i] = mix(job.table[i], iteration);
    }
    job.steps[me * 40]++;
    if (job.n_pages > 0) {
        change_page(me, iteration);
    }
    if (job.change_at > 0 && iteration == job.change_at) {
        change_all_pages(me);
    }
    kept[iteration % KEPT] += mix(iteration, me);
    take_turn(me, iteration);
    use_ticket();
    OK(tm_once_run(&job.once, count_once));
    write_begun(me, iteration);
    if (me == 0 && iteration % 7 == 3) {
        have_late_ones(iteration);
    }
    if (job.is_talking) {
        tell_iteration(me, iteration);
    }
    if (job.change[0] != '\0') {
        change_if_asked(me, iteration);
    }
    if (job.log_every > 0) {
        append_line(me, iteration);
    }
    if (job.read_from > 0 && me == 0) {
        read_number(iteration);
    }
    if (me == 0 && job.crash_at > 0 && iteration == job.crash_at) {
        raise(SIGKILL);
    }
    rest_a_while();
}

static void *work(void *argument)
{
    const unsigned me = (unsigned)(uintptr_t)argument;
    uint64_t *kept = tm_thread_alloc(KEPT * sizeof *kept);
    int64_t sum = 0;

    memset(kept, 0, KEPT * sizeof *kept);
    OK(tm_key_set(job.key, kept));
    for (unsigned iteration = 0; iteration < job.n_iterations; iteration++) {
        int64_t all;

        iterate(me, iteration, tm_key_get(job.key));
        sum += (int64_t)end_iteration(mix(me, iteration) % DEPTH_MAX,
                                      iteration * 64 + me);
        if (job.mistake[0] != '\0') {
            make_mistake(me);
        }
        sum +=
            (int64_t)(read_begun() + job.table[(me + 1) * 7 % LISTED] % 1009);
        OK(tm_reduce_int64(&job.barrier, TM_SUM, sum, &all));
        sum = all % 1000003 + (int64_t)me;
    }
    for (unsigned i = 0; i < KEPT; i++) {
        sum += (int64_t)(((uint64_t *)tm_key_get(job.key))[i] % 1009);
    }
    change_notes((uint64_t)sum);
    return argument;
}

static void *end_at_once(void *argument)
{
    return argument;
}

static void *wait_aside(void *argument)
{
    OK(tm_sem_wait(&job.never));
    return argument;
}

static void read_words(int argc, char **argv)
{
    int letter;

    job.n_threads = 4;
    job.n_iterations = 60;
    while ((letter = getopt(argc, argv, "t:i:s:p:b:oc:a:f:e:l:r:w:z")) != -1) {
        const unsigned value =
            optarg != NULL ? (unsigned)strtoul(optarg, NULL, 10) : 0;

        switch (letter) {
        case 't':
            job.n_threads = value;
            break;
        case 'i':
            job.n_iterations = value;
            break;
        case 's':
            job.seed = value;
            break;
        case 'b':
            job.n_pages = value;
            break;
        case 'o':
            job.is_talking = 1;
            break;
        case 'c':
            job.crash_at = value;
            break;
        case 'a':
            job.change_at = value;
            break;
        case 'f':
            snprintf(job.change, sizeof job.change, "%s", optarg);
            break;
        case 'e':
            job.outside_at = value;
            break;
        case 'l':
            job.log_every = value;
            break;
        case 'r':
            job.read_from = value;
            break;
        case 'z':
            job.tells_time = 1;
            break;
        case 'w':
            job.width = value;
            break;
        default:
            job.pause_us = value;
        }
    }
    if (optind < argc) {
        snprintf(job.mistake, sizeof job.mistake, "%s", argv[optind]);
    }
}

// Every tenth is zero, and stays out of checkpoints.
static void prepare_pages(void)
{
    job.pages = tm_alloc(sizeof(uint64_t) * PAGE_WORDS * job.n_pages, NULL);
    for (size_t i = 0; i < (size_t)PAGE_WORDS * job.n_pages; i++) {
        job.pages[i] = i / PAGE_WORDS % 10 == 0 ? 0 : mix(job.seed, i);
    }
}

static void prepare(void)
{
    tm_alloc_attr coherent = {.name = "steps", .protocol = TM_SEQUENTIAL};
    tm_alloc_attr bound = {.name = "bound", .protocol = TM_ENTRY};
    void *first = tm_alloc(100000, NULL);

    job.table = tm_alloc(LISTED * sizeof *job.table, NULL);
    job.steps = tm_alloc(THREADS_MAX * 40 * sizeof *job.steps, &coherent);
    OK(tm_free(first)); // there is a gap
    if (strcmp(job.mistake, "bound") == 0 && tm_alloc(4096, &bound) == NULL) {
        FAIL("no %s", "memory");
    }
    for (size_t i = 0; i < LISTED; i++) {
        job.table[i] = mix(job.seed, i);
    }
    if (job.n_pages > 0) {
        prepare_pages();
    }
    for (unsigned i = 0; i < 30; i++) {
        add_note(i);
    }
    OK(tm_mutex_init(&job.mutex, TM_MUTEX_RECURSIVE));
    OK(tm_sem_init(&job.tickets, 2));
    OK(tm_sem_init(&job.never, 0));
    OK(tm_barrier_init(&job.barrier, job.n_threads));
    OK(tm_barrier_init(&job.early, 2));
    OK(tm_key_create(&job.key, NULL));
    if (strcmp(job.mistake, "other") == 0 && time(NULL) % 2 == 0) {
        OK(tm_sem_init(&job.never, 0));
    }
}

// It is gone when all is over, whoever is killed meanwhile.
static void open_file(void)
{
    char path[4096];
    const char *folder = getenv("TMPDIR");

    snprintf(path, sizeof path, "%s/resumed.XXXXXX",
             folder != NULL ? folder : "/tmp");
    if (mkstemp(path) < 0) {
        FAIL("no file %s", path);
    }
}

static void talk(void)
{
    char line[200];

    tell_time(stdout);
    printf("main() prepares\n");
    tell_time(stderr);
    fprintf(stderr, "main() complains\n");
    while (fgets(line, sizeof line, stdin) != NULL) {
        printf("main() reads %s", line);
    }
}

static uint64_t sum_up(void)
{
    uint64_t sum = job.total + job.n_once + job.turn;

    for (size_t i = 0; i < LISTED; i++) {
        sum = mix(sum, job.table[i]);
    }
    for (const struct note *note = job.notes; note != NULL; note = note->next) {
        sum = mix(sum, note->value);
    }
    for (unsigned i = 0; i < job.n_threads; i++) {
        sum = mix(sum, job.steps[i * 40]);
    }
    for (size_t i = 0; i < sizeof begun; i++) {
        sum = mix(sum, begun[i]);
    }
    for (size_t i = 0; i < (size_t)PAGE_WORDS * job.n_pages; i++) {
        sum = mix(sum, job.pages[i]);
    }
    return sum;
}

int main(int argc, char **argv)
{
    tm_thread threads[THREADS_MAX];
    char title[64]; // of this process, and of its canary
    tm_thread aside;

    if (strcmp(argv[argc - 1], "starts") == 0) {
        printf("a node starts\n");
    }
    tm_init(&argc, &argv);
    read_words(argc, argv);
    snprintf(title, sizeof title, "%u threads, %u iterations", job.n_threads,
             job.n_iterations);
    if (job.is_talking) {
        talk();
    }
    if (strcmp(job.mistake, "file") == 0) {
        open_file();
    }
    if (strcmp(job.mistake, "input") == 0 &&
        fopen("/proc/self/exe", "r") == NULL) { // that is its own file
        FAIL("no %s", "input");
    }
    prepare();
    rounds++;
    if (strcmp(job.mistake, "lost") == 0) {
        exit(75);
    }
    if (strcmp(job.mistake, "aside") == 0) {
        OK(tm_thread_create(&aside, NULL, wait_aside, NULL));
    }
    if (strcmp(job.mistake, "on") == 0) {
        OK(tm_thread_create(&aside, NULL, end_at_once, NULL));
    }
    for (uintptr_t i = 0; i < job.n_threads; i++) {
        OK(tm_thread_create(&threads[i], NULL, work, (void *)i));
    }
    if (strcmp(job.mistake, "early") == 0) {
        OK(tm_mutex_lock(&job.mutex));
        OK(tm_mutex_unlock(&job.mutex));
    }
    if (strcmp(job.mistake, "on") == 0) {
        OK(tm_thread_join(aside, NULL));
    }
    for (unsigned i = 0; i < job.n_threads; i++) {
        OK(tm_thread_join(threads[i], NULL));
    }
    printf("%s, main() prepared %d time: %016" PRIx64 "\n", title, rounds,
           sum_up());
    if (strcmp(job.mistake, "aside") == 0) {
        OK(tm_sem_post(&job.never));
        OK(tm_thread_join(aside, NULL));
    }
    if (strcmp(job.mistake, "alone") == 0) {
        OK(tm_end());
        printf("main() goes on alone\n");
        fflush(stdout);
        pause();
    }
    return 0;
}
