// SPDX-License-Identifier: BSD-3-Clause
/*
 * Runs all threads of a process step by step, and counts the instructions of the library
 * that serve faults, messages and calls.
 *
 *     nm -n LIBRARY | stepper CONTROL PID
 *
 * Counted is what is called by ROOTS, but for what WAITS calls: a worker that waits polls,
 * as long as it takes. It is known by the stack pointer who has been called and has not
 * returned, so threads that switch stacks are no matter. Messages that come by time, or to
 * be sure, are left out. When CONTROL says so the process is killed, and the sum is told.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

enum {
    ENTRIES_MAX = 16,
    DEPTH_MAX = 64,
    STACKS_MAX = 256,
    STACK_NEAR = 1 << 16, // bytes: such stack pointers are of one stack
    BARRIER_CHECK = 56,   // numbers in net/messages.def
    BEAT = 101,
};

static const char *const ROOTS[] = {"handle", "node_receive", "tm_barrier_wait",
                                    "tm_mutex_lock", "tm_mutex_unlock"};
static const char *const WAITS = "wait_for";

// The same as in operations.c.
struct control {
    _Atomic uint32_t is_over;
    _Atomic uint32_t n_steppers;
};

static struct entry {
    uint64_t pc;
    int counts;
    int is_receive;
} entries[ENTRIES_MAX];
static unsigned n_entries;

static struct stack {
    uint64_t sp; // when it was seen last
    unsigned depth;
    struct frame {
        uint64_t sp; // when it was entered
        int counts;
    } frames[DEPTH_MAX];
} stacks[STACKS_MAX];
static unsigned n_stacks;

static uint64_t library_start;
static uint64_t library_end;
static uint64_t n_counted;

static void fail(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static void find_library(pid_t pid)
{
    char line[512];
    FILE *maps;

    snprintf(line, sizeof line, "/proc/%d/maps", (int)pid);
    maps = fopen(line, "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        unsigned long low;
        unsigned long high;

        if (strstr(line, "libteamster.so") != NULL &&
            sscanf(line, "%lx-%lx", &low, &high) == 2) {
            library_start = library_start == 0 ? low : library_start;
            library_end = high;
        }
    }
    if (library_end == 0) {
        fail("stepper: no library");
    }
    fclose(maps);
}

static void add_entry(uint64_t address, const char *name)
{
    int is_root = 0;

    for (unsigned i = 0; i < sizeof ROOTS / sizeof *ROOTS; i++) {
        is_root |= strcmp(name, ROOTS[i]) == 0;
    }
    if ((is_root || strcmp(name, WAITS) == 0) && n_entries < ENTRIES_MAX) {
        entries[n_entries++] =
            (struct entry){.pc = library_start + address,
                           .counts = is_root,
                           .is_receive = strcmp(name, "node_receive") == 0};
    }
}

static void read_symbols(void)
{
    unsigned long address;
    char kind;
    char name[256];
    char line[512];

    while (fgets(line, sizeof line, stdin) != NULL) {
        if (sscanf(line, "%lx %c %255s", &address, &kind, name) == 3) {
            add_entry(address, name);
        }
    }
}

static uint64_t register_of(pid_t thread, size_t offset)
{
    return (uint64_t)ptrace(PTRACE_PEEKUSER, thread, offset, 0);
}

// node_receive(owner, from, message): the type is the first word of the message.
static int comes_by_time(pid_t thread)
{
    const uint64_t message =
        register_of(thread, offsetof(struct user_regs_struct, rdx));
    const uint32_t type = (uint32_t)ptrace(PTRACE_PEEKDATA, thread, message, 0);

    return type == BARRIER_CHECK || type == BEAT;
}

static struct stack *stack_of(uint64_t sp)
{
    struct stack *stack = NULL;
    uint64_t nearest = STACK_NEAR;

    for (unsigned i = 0; i < n_stacks; i++) {
        const uint64_t distance =
            sp > stacks[i].sp ? sp - stacks[i].sp : stacks[i].sp - sp;

        if (distance < nearest) {
            nearest = distance;
            stack = &stacks[i];
        }
    }
    if (stack == NULL) {
        if (n_stacks == STACKS_MAX) {
            fail("stepper: too many stacks");
        }
        stack = &stacks[n_stacks++];
    }
    stack->sp = sp;
    return stack;
}

static void enter(struct stack *stack, int counts)
{
    if (stack->depth == 0 || stack->frames[stack->depth - 1].sp != stack->sp) {
        if (stack->depth == DEPTH_MAX) {
            fail("stepper: too many calls");
        }
        stack->depth++; // else it is a tail call
    }
    stack->frames[stack->depth - 1] = (struct frame){stack->sp, counts};
}

static void note_step(pid_t thread)
{
    const uint64_t pc =
        register_of(thread, offsetof(struct user_regs_struct, rip));
    const uint64_t sp =
        register_of(thread, offsetof(struct user_regs_struct, rsp));
    struct stack *stack = stack_of(sp);

    while (stack->depth > 0 && stack->frames[stack->depth - 1].sp < sp) {
        stack->depth--;
    }
    for (unsigned i = 0; i < n_entries; i++) {
        if (entries[i].pc == pc) {
            enter(stack, entries[i].counts &&
                             !(entries[i].is_receive && comes_by_time(thread)));
        }
    }
    n_counted += stack->depth > 0 && stack->frames[stack->depth - 1].counts &&
                 pc >= library_start && pc < library_end;
}

static void seize_all(pid_t pid)
{
    char path[64];
    DIR *threads;
    struct dirent *entry;

    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    threads = opendir(path);
    while (threads != NULL && (entry = readdir(threads)) != NULL) {
        const pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

        if (thread > 0 && (ptrace(PTRACE_SEIZE, thread, 0, 0) != 0 ||
                           ptrace(PTRACE_INTERRUPT, thread, 0, 0) != 0)) {
            fail("stepper: ptrace");
        }
    }
    closedir(threads);
}

// One thread has made a step, or is to get a signal.
static void go_on(pid_t thread, int status)
{
    const int signal = WSTOPSIG(status);
    int passed = 0;

    if (status >> 16 == 0 && signal == SIGTRAP) {
        note_step(thread);
    } else if (status >> 16 == 0) {
        passed = signal;
    }
    ptrace(PTRACE_SINGLESTEP, thread, 0, passed);
}

int main(int argc, char **argv)
{
    const pid_t pid = argc == 3 ? (pid_t)strtol(argv[2], NULL, 10) : 0;
    struct control *control;
    pid_t thread;
    int status;

    if (pid <= 0) {
        fprintf(stderr, "usage: nm -n LIBRARY | stepper CONTROL PID\n");
        return 64;
    }
    control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED,
                   open(argv[1], O_RDWR | O_CLOEXEC), 0);
    if (control == MAP_FAILED) {
        fail("stepper: control");
    }
    find_library(pid);
    read_symbols();
    seize_all(pid);
    atomic_fetch_add(&control->n_steppers, 1);
    while (!atomic_load(&control->is_over) &&
           (thread = waitpid(-1, &status, __WALL)) > 0) {
        if (WIFSTOPPED(status)) {
            go_on(thread, status);
        }
    }
    kill(pid, SIGKILL);
    printf("%llu\n", (unsigned long long)n_counted);
    return EXIT_SUCCESS;
}
