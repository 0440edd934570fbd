// SPDX-License-Identifier: BSD-3-Clause
// Threads that make threads, and give them addresses of their locals; realloc(); a large stack.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct range {
    int *a;
    int n;
    int depth;
};
static void *qs(void *p)
{
    struct range *r = p;
    if (r->n < 2)
        return NULL;
    int pivot = r->a[r->n / 2], i = 0, j = r->n - 1;
    while (i <= j) {
        while (r->a[i] < pivot)
            i++;
        while (r->a[j] > pivot)
            j--;
        if (i <= j) {
            int t = r->a[i];
            r->a[i] = r->a[j];
            r->a[j] = t;
            i++;
            j--;
        }
    }
    struct range left = {r->a, j + 1, r->depth + 1},
                 right = {r->a + i, r->n - i, r->depth + 1};
    if (r->depth < 4) {
        pthread_t t;
        pthread_create(&t, NULL, qs, &left);
        qs(&right);
        pthread_join(t, NULL);
    } else {
        qs(&left);
        qs(&right);
    }
    return NULL;
}
int main(void)
{
    int n = 20000;
    int *a = NULL;
    for (int i = 0; i < n; i++) {
        a = realloc(a, (i + 1) * sizeof *a);
        a[i] = (i * 7919) % 20011;
    }
    struct range all = {a, n, 0};
    qs(&all);
    for (int i = 1; i < n; i++)
        if (a[i - 1] > a[i]) {
            printf("wrong at %d\n", i);
            return 1;
        }
    double big[200000];
    memset(big, 0, sizeof big);
    big[1999] = 5;
    printf("sorted %d %d %f\n", a[0], a[n - 1], big[1999]);
    free(a);
    return 0;
}
