// SPDX-License-Identifier: BSD-3-Clause
// Signals: handlers that write shared memory, by a timer, kill() and raise(); signals that are
// blocked, that a thread of their own waits for, or that end a pause; and those that are ignored.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4

static volatile sig_atomic_t alarms, stops;
static int users; // of several threads at once
static volatile sig_atomic_t code;
static int *counted; // on main()'s stack
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void on_alarm(int number)
{
    (void)number;
    alarms++;
}

static void on_user(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (number == SIGUSR1 && info->si_signo == SIGUSR1) {
        __sync_fetch_and_add(&users, 1);
    }
    code = 1;
}

static void on_stop(int number)
{
    (void)number;
    pthread_mutex_lock(&mutex);
    ++*counted;
    pthread_mutex_unlock(&mutex);
    stops = 1;
}

static void rest(void)
{
    const struct timespec time = {.tv_nsec = 1000000};

    nanosleep(&time, NULL);
}

// Threads that work until a handler tells them to stop.
static void *work(void *me)
{
    long n = 0;

    do { // once, though it is created late
        pthread_mutex_lock(&mutex);
        n++;
        pthread_mutex_unlock(&mutex);
        usleep(300);
    } while (!stops);
    raise(SIGUSR1); // in this thread, before it returns
    return n > 0 ? me : NULL;
}

static void *wait_for_signals(void *set)
{
    long numbers = 0;

    for (int i = 0; i < 2; i++) {
        int number = 0;

        sigwait(set, &number);
        numbers = numbers * 100 + number;
    }
    return (void *)numbers;
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    if (sigaction(number, &action, NULL) != 0) {
        perror("sigaction");
    }
}

static void run_threads(void)
{
    const struct itimerval soon = {.it_value = {.tv_usec = 30000}};
    pthread_t threads[THREADS];
    long sum = 0;

    handle(SIGALRM, on_stop);
    setitimer(ITIMER_REAL, &soon, NULL);
    for (long i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    }
    for (int i = 0; i < THREADS; i++) {
        void *result;

        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    printf("worked %ld, counted %d, users %d\n", sum, *counted, users);
}

static void block(void)
{
    sigset_t set;
    sigset_t pending;
    pthread_t thread;
    void *numbers;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    kill(getpid(), SIGUSR2);
    do {
        rest();
        sigpending(&pending);
    } while (!sigismember(&pending, SIGUSR2));
    pthread_create(&thread, NULL, wait_for_signals, &set);
    do {
        rest();
        sigpending(&pending);
    } while (sigismember(&pending, SIGUSR2));
    pthread_kill(thread, SIGHUP);
    pthread_join(thread, &numbers);
    printf("waited for %ld\n", (long)numbers);
}

static volatile int goes_on;

static void *spin(void *me)
{
    while (!goes_on) {
    }
    return me;
}

// Threads take turns although all signals are blocked.
static void block_all(void)
{
    sigset_t all;
    sigset_t before;
    pthread_t threads[3];

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    for (long i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, spin, NULL);
    }
    usleep(3000);
    goes_on = 1;
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    puts("all took turns");
}

int main(void)
{
    struct sigaction action;
    struct sigaction before;
    int counter = 0;

    counted = &counter;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_user;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR1, NULL, &before);
    printf("kept %d\n", before.sa_sigaction == on_user);
    raise(SIGUSR1);
    printf("raised %d %d\n", users, (int)code);
    users = 0;
    run_threads();
    block();
    block_all();
    if (signal(SIGALRM, on_alarm) != on_stop) {
        puts("another handler");
    }
    alarm(1);
    while (!alarms) {
        pause();
    }
    signal(SIGTERM, SIG_IGN);
    kill(getpid(), SIGTERM);
    printf("alarms %d\n", (int)alarms);
    fflush(stdout);
    signal(SIGTERM, SIG_DFL);
    return 5;
}
