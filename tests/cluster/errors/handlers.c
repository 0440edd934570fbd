// SPDX-License-Identifier: BSD-3-Clause
//
// handlers NAME: a program with handlers of its own for the signals that accesses
// to shared memory raise. Each does its part in main() on the root and in a thread
// on the last node, with faults before, between and after.
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <teamster.h>
#include <unistd.h>

#include "check.h"

#define N_PAGES 64

static TM_SHARED char *shared; // N_PAGES pages
static TM_SHARED char *grid;   // 10000 bytes

static sigjmp_buf back;
static volatile int n_called;
static void *volatile last_address;

static int *volatile nowhere;

static void make_mistake(void)
{
    *nowhere = 1;
}

// ---- faults of shared memory

static char fill;

static void *write_there(void *unused)
{
    for (size_t i = 0; i < N_PAGES; i++) {
        shared[i * TM_PAGE_SIZE]++;
    }
    return unused;
}

static void there(void)
{
    tm_thread_attr attr = {.placement = TM_ON_NODE,
                           .node =
                               tm_node_self() == 0 ? tm_node_count() - 1 : 0};
    tm_thread thread;

    CHECK(tm_thread_create(&thread, &attr, write_there, NULL) == TM_OK);
    CHECK(tm_thread_join(thread, NULL) == TM_OK);
}

// Pages go to the other node and come back.
static void expect_faults_to_work(void)
{
    fill = shared[0];
    there();
    for (size_t i = 0; i < N_PAGES; i++) {
        CHECK(shared[i * TM_PAGE_SIZE] == (char)(fill + 1));
        shared[i * TM_PAGE_SIZE]++;
    }
}

// ---- handlers

static void jump(int number, siginfo_t *info, void *context)
{
    CHECK(number == SIGSEGV && info->si_signo == SIGSEGV && context != NULL);
    n_called++;
    last_address = info->si_addr;
    siglongjmp(back, 1);
}

static void jump_plain(int number)
{
    CHECK(number == SIGSEGV);
    n_called++;
    siglongjmp(back, 1);
}

static void install(void (*handler)(int, siginfo_t *, void *), int number)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

    sigfillset(&action.sa_mask);
    CHECK(sigaction(number, &action, NULL) == 0);
}

static void expect_call(void (*mistake)(void))
{
    n_called = 0;
    if (sigsetjmp(back, 1) == 0) {
        mistake();
        CHECK(!"the mistake has no effect");
    }
    CHECK(n_called == 1);
}

// ---- the tests

static void recover(void)
{
    install(jump, SIGSEGV);
    install(jump, SIGBUS);
    for (int i = 0; i < 5; i++) {
        expect_faults_to_work();
        expect_call(make_mistake);
        CHECK(last_address == NULL);
    }
    expect_faults_to_work();
}

static void plain(void)
{
    CHECK(signal(SIGSEGV, jump_plain) == SIG_DFL);
    CHECK(signal(SIGBUS, jump_plain) == SIG_DFL);
    expect_faults_to_work();
    expect_call(make_mistake);
    expect_call(make_mistake);
    expect_faults_to_work();
    CHECK(signal(SIGSEGV, SIG_DFL) == jump_plain);
    CHECK(signal(SIGBUS, SIG_DFL) == jump_plain);
}

static void once(void)
{
    struct sigaction action = {.sa_handler = jump_plain,
                               .sa_flags = (int)SA_RESETHAND | SA_NODEFER};

    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    expect_faults_to_work();
    expect_call(make_mistake);
    CHECK(sigaction(SIGSEGV, NULL, &action) == 0);
    CHECK(action.sa_handler == SIG_DFL);
    expect_faults_to_work();
}

static void write_beyond(void)
{
    *(volatile char *)&grid[12288 + 8] = 1;
}

static void beyond(void)
{
    install(jump, SIGSEGV);
    for (int i = 0; i < 3; i++) {
        expect_call(write_beyond);
        CHECK(last_address == grid + 12288 + 8);
        expect_faults_to_work();
    }
}

static void add_up(int number, siginfo_t *info, void *context)
{
    int sum = 0;

    for (size_t i = 0; i < N_PAGES; i++) {
        sum += shared[i * TM_PAGE_SIZE] == (char)(fill + 1);
    }
    n_called = sum == N_PAGES;
    jump(number, info, context);
}

static void add_up_and_miss(void)
{
    fill = shared[0];
    there();
    make_mistake();
}

static void touch(void)
{
    install(add_up, SIGSEGV);
    for (int i = 0; i < 3; i++) {
        n_called = 0;
        if (sigsetjmp(back, 1) == 0) {
            add_up_and_miss();
        }
        CHECK(n_called == 2);
        expect_faults_to_work();
    }
}

static void before(void)
{
    expect_faults_to_work();
    expect_call(make_mistake);
    expect_faults_to_work();
}

static void tell(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction old;

    CHECK(sigaction(SIGBUS, NULL, &old) == 0);
    CHECK(old.sa_handler == SIG_DFL && old.sa_flags == 0);
    action.sa_sigaction = jump;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR2);
    CHECK(sigaction(SIGBUS, &action, &old) == 0);
    CHECK(old.sa_handler == SIG_DFL);
    CHECK(sigaction(SIGBUS, &old, &action) == 0);
    CHECK(action.sa_sigaction == jump &&
          action.sa_flags == (SA_SIGINFO | SA_RESTART) &&
          sigismember(&action.sa_mask, SIGUSR2) &&
          !sigismember(&action.sa_mask, SIGUSR1));
    CHECK(sigaction(SIGKILL, &action, NULL) == -1 && errno == EINVAL);
    expect_faults_to_work();
}

static void ignore(void)
{
    CHECK(signal(SIGSEGV, SIG_IGN) == SIG_DFL);
    CHECK(signal(SIGBUS, SIG_IGN) == SIG_DFL);
    CHECK(raise(SIGSEGV) == 0 && raise(SIGBUS) == 0);
    expect_faults_to_work();
    CHECK(signal(SIGSEGV, SIG_DFL) == SIG_IGN);
    CHECK(signal(SIGBUS, SIG_DFL) == SIG_IGN);
}

static void give_up(int number)
{
    signal(number, SIG_DFL); // and the instruction runs again
}

static void restore(void)
{
    expect_faults_to_work();
    signal(SIGSEGV, give_up);
    make_mistake();
}

static void block(void)
{
    sigset_t all;
    sigset_t old;

    sigfillset(&all);
    CHECK(sigprocmask(SIG_BLOCK, &all, &old) == 0);
    expect_faults_to_work();
    CHECK(sigprocmask(SIG_SETMASK, &all, NULL) == 0);
    expect_faults_to_work();
    CHECK(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
    expect_faults_to_work();
    CHECK(sigprocmask(SIG_SETMASK, NULL, &all) == 0);
    CHECK(sigismember(&all, SIGUSR1) && sigismember(&all, SIGTERM));
    CHECK(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
}

static void block_before(void)
{
    expect_faults_to_work();
}

static void use_shared_memory(int number)
{
    (void)number;
    for (size_t i = 0; i < N_PAGES; i++) {
        n_called += shared[i * TM_PAGE_SIZE] == (char)(fill + 1);
    }
}

static void mask_of_handler(void)
{
    struct sigaction action = {.sa_handler = use_shared_memory};

    sigfillset(&action.sa_mask);
    CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
    fill = shared[0];
    there();
    n_called = 0;
    CHECK(raise(SIGUSR2) == 0);
    CHECK(n_called == N_PAGES);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"recover", recover},
    {"plain", plain},
    {"once", once},
    {"beyond", beyond},
    {"touch", touch},
    {"before", before},
    {"tell", tell},
    {"ignore", ignore},
    {"restore", restore},
    {"block", block},
    {"block_before", block_before},
    {"mask_of_handler", mask_of_handler},
};

static void *run(void *row)
{
    tests[(size_t)row].run();
    return NULL;
}

static void before_the_start(const char *name)
{
    sigset_t all;

    if (strcmp(name, "before") == 0) {
        install(jump, SIGSEGV);
        install(jump, SIGBUS);
    } else if (strcmp(name, "block_before") == 0) {
        sigfillset(&all);
        CHECK(sigprocmask(SIG_BLOCK, &all, NULL) == 0);
    }
}

int main(int argc, char **argv)
{
    size_t row = 0;
    tm_thread thread;
    tm_thread_attr attr;

    before_the_start(argv[1]);
    tm_init(&argc, &argv);
    while (strcmp(tests[row].name, argv[1]) != 0) {
        row++;
    }
    attr =
        (tm_thread_attr){.placement = TM_ON_NODE, .node = tm_node_count() - 1};
    shared = tm_alloc((size_t)N_PAGES * TM_PAGE_SIZE, NULL);
    grid = tm_alloc(10000, &(tm_alloc_attr){.name = "grid"});
    CHECK(tm_thread_create(&thread, &attr, run, (void *)row) == TM_OK);
    CHECK(tm_thread_join(thread, NULL) == TM_OK);
    if (tm_node_count() > 1) {
        tests[row].run();
    }
    puts("as it should be");
    return 0;
}
