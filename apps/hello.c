// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>
#include <teamster.h>

static TM_SHARED double part[8]; // one value, whichever node looks

static void *integrate(void *me)
{
    double sum = 0;

    for (long i = (long)me; i < 100000000; i += 8) {
        double x = (i + 0.5) * 1e-8;
        sum += 4e-8 / (1 + x * x);
    }
    part[(long)me] = sum;
    return NULL;
}

int main(int argc, char **argv)
{
    tm_thread threads[8];
    double pi = 0;

    tm_init(&argc, &argv);
    for (long i = 0; i < 8; i++) {
        if (tm_thread_create(&threads[i], NULL, integrate, (void *)i)) {
            return 1;
        }
    }
    for (long i = 0; i < 8; i++) {
        tm_thread_join(threads[i], NULL);
        pi += part[i];
    }
    printf("pi is %.10f; nodes: %u\n", pi, tm_node_count());
    return 0;
}
