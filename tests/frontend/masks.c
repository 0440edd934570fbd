// SPDX-License-Identifier: BSD-3-Clause
// A mask for each thread: threads have their creator's, change their own, and get what is sent to
// them alone or to the process; what is blocked waits for the thread that it is for.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static sem_t ready;
static sem_t go_on;
static volatile int n_handled;
static volatile pthread_t handled_by;
static volatile int was_blocked; // the signal itself, and SIGHUP by the action

static void await(sem_t *sem)
{
    while (sem_wait(sem) != 0) {
    }
}

static int blocks(int number)
{
    sigset_t set;

    pthread_sigmask(SIG_BLOCK, NULL, &set);
    return sigismember(&set, number);
}

static int has_pending(int number)
{
    sigset_t set;

    sigpending(&set);
    return sigismember(&set, number);
}

static void change(int how, int number)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, number);
    if (pthread_sigmask(how, &set, NULL) != 0) {
        puts("pthread_sigmask");
    }
}

static void on_signal(int number)
{
    was_blocked = blocks(number) + 2 * blocks(SIGHUP);
    handled_by = pthread_self();
    n_handled++;
}

static void await_handled(int n)
{
    while (n_handled < n) {
        usleep(500);
    }
}

// ---- what is sent to one thread

static void *unblock_later(void *main_thread)
{
    const int before = blocks(SIGUSR1);

    sem_post(&ready);
    await(&go_on);
    printf("the thread: inherited %d, pending %d, handled %d\n", before,
           has_pending(SIGUSR1), n_handled);
    change(SIG_UNBLOCK, SIGUSR1);
    printf("unblocked: handled %d, by it %d, pending %d, blocked in it %d\n",
           n_handled, pthread_equal(handled_by, pthread_self()) != 0,
           has_pending(SIGUSR1), was_blocked);
    printf("then %d %d\n", blocks(SIGUSR1), blocks(SIGHUP));
    pthread_kill(*(pthread_t *)main_thread, SIGUSR1);
    return NULL;
}

static void send_to_one(void)
{
    pthread_t self = pthread_self();
    pthread_t thread;

    change(SIG_BLOCK, SIGUSR1);
    pthread_create(&thread, NULL, unblock_later, &self);
    await(&ready);
    pthread_kill(thread, SIGUSR1);
    pthread_kill(thread, SIGUSR1); // once is enough
    printf("main: pending %d\n", has_pending(SIGUSR1));
    sem_post(&go_on);
    pthread_join(thread, NULL);
    printf("main: blocks %d, pending %d, handled %d\n", blocks(SIGUSR1),
           has_pending(SIGUSR1), n_handled);
    change(SIG_UNBLOCK, SIGUSR1);
    printf("main: pending %d, handled %d, by it %d\n", has_pending(SIGUSR1),
           n_handled, pthread_equal(handled_by, self) != 0);
}

// ---- what is sent to the process

static void *let_in(void *number)
{
    change(SIG_UNBLOCK, *(int *)number);
    sem_post(&ready);
    await(&go_on);
    return NULL;
}

static void *keep_out(void *nothing)
{
    sem_post(&ready);
    await(&go_on);
    return nothing;
}

static void send_to_process(void)
{
    int number = SIGUSR2;
    pthread_t threads[2];

    n_handled = 0;
    change(SIG_BLOCK, SIGUSR2);
    kill(getpid(), SIGUSR2);
    printf("all block it: pending %d, handled %d\n", has_pending(SIGUSR2),
           n_handled);
    pthread_create(&threads[0], NULL, keep_out, NULL);
    await(&ready);
    printf("still %d\n", has_pending(SIGUSR2));
    pthread_create(&threads[1], NULL, let_in, &number);
    await(&ready);
    await_handled(1);
    kill(getpid(), SIGUSR2);
    await_handled(2);
    printf("one lets it in: pending %d, by that %d\n", has_pending(SIGUSR2),
           pthread_equal(handled_by, threads[1]) != 0);
    sem_post(&go_on);
    sem_post(&go_on);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    raise(SIGUSR2);
    printf("raised: pending %d, handled %d\n", has_pending(SIGUSR2), n_handled);
    change(SIG_UNBLOCK, SIGUSR2);
    printf("main: handled %d\n", n_handled);
}

// What nobody handles waits for nobody as soon as one thread lets it in.
static void send_what_is_ignored(void)
{
    int number = SIGWINCH;
    pthread_t thread;

    change(SIG_BLOCK, SIGWINCH);
    kill(getpid(), SIGWINCH);
    printf("ignored: pending %d\n", has_pending(SIGWINCH));
    pthread_create(&thread, NULL, let_in, &number);
    await(&ready);
    for (int i = 0; i < 2; i++) {
        while (has_pending(SIGWINCH)) {
            usleep(500);
        }
        kill(getpid(), SIGWINCH);
    }
    sem_post(&go_on);
    pthread_join(thread, NULL);
}

// ---- waiting

static void *suspend(void *nothing)
{
    sigset_t none;
    int result;

    sigemptyset(&none);
    sem_post(&ready);
    result = sigsuspend(&none);
    printf("suspended: %d %d, by it %d, blocks it %d\n", result, errno == EINTR,
           pthread_equal(handled_by, pthread_self()) != 0, blocks(SIGUSR1));
    return nothing;
}

static void *wait_for_own(void *nothing)
{
    sigset_t set;
    siginfo_t info;
    int number;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGRTMIN);
    number = sigwaitinfo(&set, &info);
    (void)nothing;
    return (void *)(long)(number == SIGRTMIN ? info.si_value.sival_int : -1);
}

static void wait_for_some(void)
{
    pthread_t threads[3];
    long sum = 0;

    n_handled = 0;
    change(SIG_BLOCK, SIGUSR1);
    change(SIG_BLOCK, SIGRTMIN);
    pthread_create(&threads[0], NULL, suspend, NULL);
    await(&ready);
    pthread_kill(threads[0], SIGUSR1);
    pthread_join(threads[0], NULL);
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, wait_for_own, NULL);
    }
    for (int i = 0; i < 3; i++) {
        const union sigval value = {.sival_int = 10 + i};

        pthread_sigqueue(threads[i], SIGRTMIN, value);
    }
    for (long i = 0; i < 3; i++) {
        void *value;

        pthread_join(threads[i], &value);
        sum += (i + 1) * (long)value;
    }
    printf("each has its own: %ld\n", sum);
}

static void wait_in_turn(void)
{
    const struct timespec soon = {.tv_nsec = 1000000};
    const struct itimerval timer = {.it_value = {.tv_usec = 10000}};
    siginfo_t info;
    sigset_t set;
    int result;

    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    for (int i = 1; i <= 3; i++) {
        const union sigval value = {.sival_int = i};

        sigqueue(getpid(), SIGRTMIN, value);
    }
    for (int i = 1; i <= 3; i++) {
        const int number = sigwaitinfo(&set, &info);

        printf("%d %d %d\n", number - SIGRTMIN, info.si_value.sival_int,
               info.si_code == SI_QUEUE);
    }
    result = sigtimedwait(&set, &info, &soon);
    printf("none: %d %d\n", result, errno == EAGAIN);
    // One that would end the process.
    change(SIG_BLOCK, SIGTERM);
    kill(getpid(), SIGTERM);
    sigaddset(&set, SIGTERM);
    printf("it waits: %d\n", sigtimedwait(&set, &info, NULL) == SIGTERM);
    change(SIG_BLOCK, SIGALRM);
    setitimer(ITIMER_REAL, &timer, NULL);
    sigaddset(&set, SIGALRM);
    printf("a timer: %d\n", sigwaitinfo(&set, &info) == SIGALRM);
    signal(SIGTERM, SIG_IGN);
    raise(SIGTERM);
    change(SIG_UNBLOCK, SIGTERM);
    printf("wrong: %d %d\n", pthread_sigmask(99, &set, NULL) == EINVAL,
           pthread_kill(pthread_self(), 99) == EINVAL);
}

// ---- signals of errors that are sent, and sleep that ends

static void send_errors(void)
{
    const struct sigaction action = {.sa_handler = on_signal};
    const int numbers[] = {SIGABRT, SIGSEGV, SIGFPE};

    n_handled = 0;
    for (int i = 0; i < 3; i++) {
        sigaction(numbers[i], &action, NULL);
        change(SIG_BLOCK, numbers[i]);
        raise(numbers[i]);
        printf("sent: handled %d", n_handled);
        change(SIG_UNBLOCK, numbers[i]);
        printf(", then %d\n", n_handled);
    }
}

static void *sleep_long(void *rest)
{
    const struct timespec time = {.tv_sec = 1000};

    change(SIG_UNBLOCK, SIGUSR1);
    sem_post(&ready);
    return (void *)(long)(nanosleep(&time, rest) == -1 && errno == EINTR);
}

static void end_sleep(void)
{
    struct timespec rest = {0};
    pthread_t thread;
    void *is_ended;

    n_handled = 0;
    change(SIG_BLOCK, SIGUSR1);
    pthread_create(&thread, NULL, sleep_long, &rest);
    await(&ready);
    usleep(50000); // it sleeps, or will be told as soon as it does
    do {
        pthread_kill(thread, SIGUSR1);
        usleep(30000);
    } while (rest.tv_sec == 0);
    pthread_join(thread, &is_ended);
    printf("woken: %ld, by it %d, some of %ld s left\n", (long)is_ended,
           pthread_equal(handled_by, thread) != 0, rest.tv_sec / 100 * 100);
}

// ---- a thread that begins with a mask of its own

static void *tell_mask(void *nothing)
{
    printf("by attributes: %d %d\n", blocks(SIGUSR1), blocks(SIGUSR2));
    return nothing;
}

static pthread_attr_t attr;

static void *set_attributes(void *nothing)
{
    cpu_set_t processors;
    sigset_t set;

    CPU_ZERO(&processors);
    CPU_SET(0, &processors);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_attr_init(&attr);
    pthread_attr_setaffinity_np(&attr, sizeof processors, &processors);
    pthread_attr_setsigmask_np(&attr, &set);
    return nothing;
}

static void begin_and_join(void *(*function)(void *), const pthread_attr_t *by)
{
    pthread_t thread;

    pthread_create(&thread, by, function, NULL);
    pthread_join(thread, NULL);
}

// Attributes that a thread of any node has set.
static void begin_with_mask(void)
{
    sigset_t set;

    for (int i = 0; i < 3; i++) {
        begin_and_join(set_attributes, NULL);
        pthread_attr_getsigmask_np(&attr, &set);
        printf("attributes: %d %d\n", sigismember(&set, SIGUSR1),
               sigismember(&set, SIGUSR2));
        begin_and_join(tell_mask, &attr);
        pthread_attr_destroy(&attr);
    }
    pthread_attr_init(&attr);
    printf("none: %d\n", pthread_attr_getsigmask_np(&attr, &set));
    begin_and_join(tell_mask, &attr);
    pthread_attr_destroy(&attr);
}

static void *block_and_end(void *nothing)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    return nothing;
}

// What is sent to a thread that has ended is gone, also where it would be queued.
static void send_to_ended(void)
{
    pthread_t thread;
    int n = 0;

    pthread_create(&thread, NULL, block_and_end, NULL);
    for (int tries = 0; n < 3000 && tries < 400; tries++) {
        while (n < 3000 && pthread_kill(thread, SIGRTMIN) == 0) {
            n++;
        }
        usleep(10000); // it has yet to end
    }
    printf("sent to one that has ended: %d\n", n);
    pthread_join(thread, NULL);
}

int main(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaddset(&action.sa_mask, SIGHUP);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    sem_init(&ready, 0, 0);
    sem_init(&go_on, 0, 0);
    send_to_one();
    send_to_process();
    send_what_is_ignored();
    wait_for_some();
    wait_in_turn();
    send_errors();
    end_sleep();
    begin_with_mask();
    send_to_ended();
    return 3;
}
