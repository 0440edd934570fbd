// SPDX-License-Identifier: BSD-3-Clause
// Code that the program makes itself, and that threads of all nodes run.
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { THREADS = 4, PAGE = 4096 };

// lea N(%rdi), %eax; ret
static const unsigned char add[] = {0x8d, 0x87, 0, 0, 0, 0, 0xc3};

static unsigned char *code[2];
static int sums[THREADS];

static unsigned char *make_adder(int32_t n, int protection)
{
    unsigned char *made =
        mmap(NULL, PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (made == MAP_FAILED) {
        return NULL;
    }
    memcpy(made, add, sizeof add);
    memcpy(made + 2, &n, sizeof n);
    if (mprotect(made, PAGE, PROT_READ | PROT_EXEC) != 0) {
        return NULL;
    }
    return made;
}

static int call(const unsigned char *adder, int n)
{
    int (*function)(int);

    memcpy(&function, &adder, sizeof function);
    return function(n);
}

static void *run(void *argument)
{
    const int number = (int)(intptr_t)argument;

    sums[number] = call(code[0], number) + call(code[1], number);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];

    (void)argv;
    code[0] = make_adder(1000, PROT_READ | PROT_WRITE | PROT_EXEC);
    code[1] = make_adder(argc * 50000, PROT_READ | PROT_WRITE);
    if (code[0] == NULL || code[1] == NULL) {
        return errno == EACCES ? 1 : 2;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, run, (void *)(intptr_t)i);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        printf("%d\n", sums[i]);
    }
    return 0;
}
