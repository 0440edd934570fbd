// SPDX-License-Identifier: BSD-3-Clause
// The threads, mutexes, conditions, keys and call_once() of C11.
#include <stdio.h>
#include <threads.h>
static mtx_t m;
static cnd_t c;
static int n;
static once_flag f = ONCE_FLAG_INIT;
static tss_t k;
static int o;
static void once(void)
{
    o++;
}
static int work(void *p)
{
    call_once(&f, once);
    tss_set(k, p);
    mtx_lock(&m);
    n++;
    cnd_signal(&c);
    mtx_unlock(&m);
    return *(int *)tss_get(k);
}
int main(void)
{
    thrd_t t[5];
    int v[5], s = 0, r;
    mtx_init(&m, mtx_plain);
    cnd_init(&c);
    tss_create(&k, NULL);
    for (int i = 0; i < 5; i++) {
        v[i] = i;
        if (thrd_create(&t[i], work, &v[i]) != thrd_success)
            return 1;
    }
    mtx_lock(&m);
    while (n < 5)
        cnd_wait(&c, &m);
    mtx_unlock(&m);
    for (int i = 0; i < 5; i++) {
        thrd_join(t[i], &r);
        s += r;
    }
    printf("%d %d %d\n", s, n, o);
    return 0;
}
