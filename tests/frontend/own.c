// SPDX-License-Identifier: BSD-3-Clause
// A program whose functions have names of Teamster's, and of the C library's that only
// Teamster calls: they are its own, and nobody else calls them.
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 3 };

struct tm_queue {
    int n;
};

static struct tm_queue queue;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int tm_init(int n);
int tm_init(int n)
{
    queue.n = n;
    return 42;
}

int tm_sem_init(int a);
int tm_sem_init(int a)
{
    return a + 1;
}

void *tm_alloc(void);
void *tm_alloc(void)
{
    return NULL;
}

int tm_mutex_lock(struct tm_queue *locked);
int tm_mutex_lock(struct tm_queue *locked)
{
    return locked->n;
}

int teamster_front(void);
int teamster_front(void)
{
    return 7;
}

int io_uring_submit(int n);
int io_uring_submit(int n)
{
    return 2 * n;
}

int make_fcontext(void);
int make_fcontext(void)
{
    return 11;
}

static void *work(void *argument)
{
    pthread_mutex_lock(&mutex);
    queue.n += tm_sem_init((int)(long)argument);
    pthread_mutex_unlock(&mutex);
    return tm_alloc();
}

int main(void)
{
    pthread_t threads[THREADS];
    int sum =
        tm_init(1) + teamster_front() + io_uring_submit(4) + make_fcontext();

    for (long i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("%d %d\n", sum, tm_mutex_lock(&queue));
    return 0;
}
