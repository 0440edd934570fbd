// SPDX-License-Identifier: BSD-3-Clause
//
// The beginning and the end of a program.
//
// main() here is thread 0 of Teamster and stays where it is; the program's main() is a
// thread like others, on the root at first. Constructors of the program's objects (C++'s,
// and those with the attribute) run in it, once, on the root, in shared memory: before
// tm_init() each node would have run them for itself. What atexit() was told is called by
// whoever calls exit(), in the program's context. Thread 0 waits for the end of the program's
// main(), as a run that goes on from a checkpoint expects it (runtime/prepared.h), and ends
// the process; if another thread calls exit(), one beside thread 0 does.
//
// When main() has ended by pthread_exit(), thread 0 waits for the end of all others. If they
// simply end, one more thread calls what atexit() was told.
//
// Which protocol: a program in which `teamster cc` has found atomic or volatile accesses,
// or assembler, relies on what processors promise, and so all its memory is sequential.
#include "front.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/unchanged.h"

typedef void constructor(int, char **, char **);

// What the linker script and `teamster cc` say of the program.
extern char tmf_variables_start[], tmf_flags_end[], tmf_variables_end[];
extern constructor *tmf_constructors_start[], *tmf_constructors_end[];
extern void (*tmf_destructors_start[])(void);
extern void (*tmf_destructors_end[])(void);
extern char tmf_is_racy[] __attribute__((weak));

extern int tmf_main(int argc, char **argv, char **variables);

// The C++ library's streams, of which the program's objects would take care.
extern void make_streams(void *place) __asm__("_ZNSt8ios_base4InitC1Ev")
    __attribute__((weak));

struct promise {
    struct promise *next;
    void (*function)(void *);
    void *argument;
};

static TM_SHARED struct {
    int argc;
    char **argv;
    struct promise *promises;
    int status;
    int is_ending;      // somebody has called exit()
    tm_thread main;     // its thread
    void *main_result;  // if it has gone
    int is_main_gone;   // by pthread_exit()
    int have_all_ended; // and all others after it
} program;

static tm_mutex promises_mutex;
static tm_sem ended;
static tm_sem main_gone;
static tm_sem never;

// ---- promises

static int add_promise(void (*function)(void *), void *argument)
{
    struct promise *promise = front_allocate(sizeof *promise);

    if (promise == NULL) {
        return -1;
    }
    front_lock(&promises_mutex);
    *promise = (struct promise){program.promises, function, argument};
    program.promises = promise;
    front_unlock(&promises_mutex);
    return 0;
}

static struct promise *take_promise(void)
{
    struct promise *promise;

    front_lock(&promises_mutex);
    promise = program.promises;
    if (promise != NULL) {
        program.promises = promise->next;
    }
    front_unlock(&promises_mutex);
    return promise;
}

int tmf___cxa_atexit(void (*function)(void *), void *argument, void *object)
    __attribute__((weak));
int tmf___cxa_atexit(void (*function)(void *), void *argument, void *object)
{
    (void)object;
    return add_promise(function, argument);
}

FRONT(atexit)
int tmf_atexit(void (*function)(void))
{
    return add_promise((void (*)(void *))function, NULL);
}

// ---- the end

// The process's, when shared memory is gone. Private.
static int last_status;

static _Noreturn void leave(int status)
{
    last_status = status;
    exit(status);
}

static void *end_process(void *nothing)
{
    (void)nothing;
    leave(program.status);
}

// Thread 0 goes on, or another in its place; this one never.
long front_end(int status)
{
    static const tm_thread_attr attr = {
        .is_detached = 1, .placement = TM_ON_NODE, .node = 0};

    program.status = status;
    program.is_ending = 1;
    if (program.have_all_ended) {
        (void)!tm_sem_post(&ended);
    } else if (front_thread()->is_main) {
        tm_thread_exit(NULL);
    } else {
        (void)!tm_thread_create(NULL, &attr, end_process, NULL);
    }
    while (tm_sem_wait(&never) != TM_OK) {
        pause(); // thread 0 has left the cluster already
    }
    return 0;
}

void front_exit(int status)
{
    front_locals_end();
    for (struct promise *promise = take_promise(); promise != NULL;
         promise = take_promise()) {
        promise->function(promise->argument);
    }
    for (void (**end)(void) = tmf_destructors_end;
         end > tmf_destructors_start;) {
        (*--end)();
    }
    FRONT_1(front_end, status);
    abort();
}

FRONT(exit)
void tmf_exit(int status)
{
    front_exit(status);
}

FRONT(_exit)
void tmf__exit(int status)
{
    FRONT_1(front_end, status);
    abort();
}

SAME(_Exit, _exit);
SAME(quick_exit, _exit);

int front_main_is_gone(void)
{
    return program.is_main_gone;
}

void front_main_gone(void *result)
{
    program.main_result = result;
    program.is_main_gone = 1;
    (void)!tm_sem_post(&main_gone);
    tm_thread_exit(NULL);
}

int front_join_main(tm_thread thread, void **result)
{
    if (thread != program.main) {
        return 0;
    }
    (void)!tm_sem_wait(&main_gone); // else the process ends
    *result = program.main_result;
    return 1;
}

// ---- the beginning

static void *run_main(void *nothing)
{
    (void)nothing;
    if (front_openmp_begin != NULL) {
        front_openmp_begin();
    }
    for (constructor **next = tmf_constructors_start;
         next < tmf_constructors_end; next++) {
        (*next)(program.argc, program.argv, environ);
    }
    front_exit(tmf_main(program.argc, program.argv, environ));
}

static void *begin_main(void *nothing)
{
    struct front_thread thread = {.start = run_main, .is_main = 1};

    (void)nothing;
    program.main = tm_thread_self(); // before others can ask
    return front_run(&thread, front_stack_limit(), front_thread_body);
}

static void copy_arguments(int argc, char **argv)
{
    program.argc = argc;
    program.argv = tm_alloc(((size_t)argc + 1) * sizeof *program.argv, NULL);
    for (int i = 0; i < argc; i++) {
        program.argv[i] = tm_alloc(strlen(argv[i]) + 1, NULL);
        strcpy(program.argv[i], argv[i]);
    }
}

// @return the protocol that was asked for and cannot be had, or NULL
static const char *choose_protocol(void)
{
    const char *asked = getenv("TEAMSTER_PROTOCOL");

    if (tmf_is_racy == NULL ||
        (asked != NULL && strcmp(asked, "sequential") == 0)) {
        return NULL;
    }
    if (asked != NULL) {
        asked = strdup(asked);
    }
    setenv("TEAMSTER_PROTOCOL", "sequential", 1);
    return asked;
}

// @return the thread of the program's main()
static tm_thread begin_program(int argc, char **argv)
{
    const tm_thread_attr attr = {
        .name = "main", .placement = TM_ON_NODE, .node = 0};
    tm_thread thread;

    copy_arguments(argc, argv);
    if (tm_sem_init(&ended, 0) != TM_OK || tm_sem_init(&never, 0) != TM_OK ||
        tm_sem_init(&main_gone, 0) != TM_OK ||
        tm_thread_create(&thread, &attr, begin_main, NULL) != TM_OK) {
        front_fatal("cannot start main()");
    }
    return thread;
}

static void *run_promises(void *nothing)
{
    (void)nothing;
    front_exit(0);
}

static void *begin_promises(void *nothing)
{
    struct front_thread thread = {.start = run_promises};

    (void)nothing;
    return front_run(&thread, 0, front_thread_body);
}

// Called by exit(), in thread 0, before the library leaves the cluster.
static void end_after_all(void)
{
    static const tm_thread_attr attr = {
        .is_detached = 1, .placement = TM_ON_NODE, .node = 0};

    if (program.is_ending) {
        return;
    }
    program.have_all_ended = 1;
    if (tm_thread_create(NULL, &attr, begin_promises, NULL) == TM_OK) {
        (void)!tm_sem_wait(&ended);
    }
    if (program.status != 0) {
        leave(program.status); // goes on with the other handlers
    }
}

// What streams hold has been written by the program's end; but for what libraries' ends wrote.
static void end_at_once(void)
{
    fflush(NULL);
    _exit(last_status);
}

int main(int argc, char **argv)
{
    static char streams[16];
    const char *refused = choose_protocol();

    front_note_inherited();
    if (front_has_locals()) {
        front_never_saved("the program has thread-local variables");
    }
    if (make_streams != NULL) {
        make_streams(streams);
    }
    setenv("TEAMSTER_MOVE_AT", front_has_locals() ? "iterations" : "barriers",
           front_has_locals());
    front_program = (struct tm_unchanged){
        .variables = {.header_version = TM_VERSION_MAJOR << 16 |
                                        TM_VERSION_MINOR << 8 |
                                        TM_VERSION_PATCH,
                      .shared_start = tmf_variables_start,
                      .shared_end = tmf_variables_end},
        .flags_end = tmf_flags_end,
        .leave = front_locals_leave,
        .arrive = front_locals_arrive,
        .overflown = front_overflown,
        .why_unsaved = front_why_unsaved,
        .end = end_at_once,
    };
    if (front_begin_updates != NULL && tmf_is_racy == NULL) {
        front_begin_updates(); // then threads may run here
    }
    if (teamster_begin_unchanged(&front_program) != TM_OK) {
        return 70;
    }
    if (front_begin_updates != NULL && teamster_stays_alone()) {
        front_end_updates();
    }
    if (refused != NULL) {
        fprintf(stderr,
                "teamster: warning: %s has atomic or volatile accesses, so all "
                "its memory is sequential, not %s\n",
                argv[0], refused);
    }
    (void)!tm_thread_join(begin_program(argc, argv), NULL);
    if (program.is_main_gone) {
        atexit(end_after_all);
        tm_thread_exit(NULL); // waits for all others
    }
    leave(program.status);
}
