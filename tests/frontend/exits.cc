// SPDX-License-Identifier: BSD-3-Clause
// pthread_exit() in C++: objects of all frames are destroyed, cleanup handlers are called in
// between, catch (...) sees it pass. Memory as a file, in any thread.
#include <cstdio>
#include <pthread.h>

static int destroyed;
static int cleaned;

struct Object {
    ~Object()
    {
        destroyed++;
    }
};

static void clean(void *by)
{
    cleaned = cleaned * 10 + static_cast<int>(reinterpret_cast<long>(by));
}

static void descend(long depth)
{
    Object object;

    if (depth == 0) {
        pthread_exit(reinterpret_cast<void *>(7));
    }
    pthread_cleanup_push(clean, reinterpret_cast<void *>(depth));
    try {
        descend(depth - 1);
    } catch (...) {
        destroyed += 100;
        throw;
    }
    pthread_cleanup_pop(0);
}

static void *work(void *depth)
{
    Object object;

    descend(reinterpret_cast<long>(depth));
    return NULL;
}

static void *read_memory(void *)
{
    char text[] = "12 34";
    FILE *file = fmemopen(text, sizeof text, "r");
    long a = 0;
    long b = 0;

    if (file == NULL || fscanf(file, "%ld %ld", &a, &b) != 2) {
        return NULL;
    }
    fclose(file);
    return reinterpret_cast<void *>(a + b);
}

int main()
{
    pthread_t threads[2];
    void *results[2];

    for (int i = 0; i < 3; i++) {
        destroyed = cleaned = 0;
        pthread_create(&threads[0], NULL, work, reinterpret_cast<void *>(3));
        pthread_join(threads[0], &results[0]);
        pthread_create(&threads[1], NULL, read_memory, NULL);
        pthread_join(threads[1], &results[1]);
        printf("%d %d %ld %ld\n", destroyed, cleaned,
               reinterpret_cast<long>(results[0]),
               reinterpret_cast<long>(results[1]));
    }
    pthread_exit(NULL);
}
