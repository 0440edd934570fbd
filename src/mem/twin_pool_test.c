// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/status.h"
#include "mem/random_numbers_test.h"
#include "mem/twin_pool.h"

#define N_BUFFERS 1000u
#define CHUNK ((size_t)63) // buffers

/** The buffers in use, each filled with its mark. */
struct model {
    struct twin_pool pool;
    char *buffers[N_BUFFERS];
    uint64_t marks[N_BUFFERS];
    size_t n;
};

static int is_mapped(void *page)
{
    unsigned char present;

    return mincore(page, TM_PAGE_SIZE, &present) == 0 || errno != ENOMEM;
}

static void get(struct model *model)
{
    char *buffer = twin_pool_get(&model->pool);
    uint64_t mark = next_random();

    assert_int_equal((uintptr_t)buffer % TM_PAGE_SIZE, 0);
    for (size_t i = 0; i < TM_PAGE_SIZE; i += sizeof(mark)) {
        memcpy(buffer + i, &mark, sizeof(mark));
    }
    model->buffers[model->n] = buffer;
    model->marks[model->n] = mark;
    model->n++;
}

static void put(struct model *model, size_t which)
{
    char *buffer = model->buffers[which];

    for (size_t i = 0; i < TM_PAGE_SIZE; i += sizeof(uint64_t)) {
        assert_memory_equal(buffer + i, &model->marks[which], sizeof(uint64_t));
    }
    twin_pool_put(&model->pool, buffer);
    model->n--;
    model->buffers[which] = model->buffers[model->n];
    model->marks[which] = model->marks[model->n];
}

static void buffers_never_overlap(void **state)
{
    struct model *model = calloc(1, sizeof(*model));

    (void)state;
    assert_non_null(model);
    twin_pool_init(&model->pool);
    for (int i = 0; i < 20000; i++) {
        int is_growing = i / 2500 % 2 == 0;

        if (model->n < N_BUFFERS &&
            random_below(100) < (is_growing ? 70 : 30)) {
            get(model);
        } else if (model->n > 0) {
            put(model, random_below(model->n));
        }
        assert_int_equal(model->pool.n_used, model->n);
        assert_true(twin_pool_is_valid(&model->pool));
    }
    while (model->n > 0) {
        put(model, random_below(model->n));
    }
    assert_int_equal(model->pool.n_used, 0);
    assert_int_equal(model->pool.n_chunks, 1);
    twin_pool_release(&model->pool);
    free(model);
}

static void unused_chunks_go_back_below_half(void **state)
{
    struct twin_pool pool;
    char *buffers[CHUNK * 4];

    (void)state;
    twin_pool_init(&pool);
    for (size_t i = 0; i < CHUNK * 4; i++) {
        buffers[i] = twin_pool_get(&pool);
    }
    assert_int_equal(pool.n_chunks, 4);
    for (size_t i = 0; i < CHUNK * 2;
         i++) { // two chunks are unused, half is used
        twin_pool_put(&pool, buffers[i]);
    }
    assert_int_equal(pool.n_chunks, 4);
    twin_pool_put(&pool, buffers[CHUNK * 2]);
    assert_int_equal(pool.n_chunks, 3);
    assert_int_not_equal(is_mapped(buffers[0]), is_mapped(buffers[CHUNK]));
    assert_true(is_mapped(buffers[CHUNK * 3]));
    twin_pool_release(&pool);
    assert_false(is_mapped(buffers[CHUNK * 3]));
}

static void the_last_chunk_stays(void **state)
{
    struct twin_pool pool;
    char *first;

    (void)state;
    twin_pool_init(&pool);
    first = twin_pool_get(&pool);
    for (int i = 0; i < 10; i++) {
        twin_pool_put(&pool, first);
        assert_true(is_mapped(first));
        assert_ptr_equal(twin_pool_get(&pool), first);
    }
    assert_int_equal(pool.n_chunks, 1);
    twin_pool_release(&pool);
    assert_false(is_mapped(first));
}

static void a_buffer_that_is_put_twice_ends_the_process(void **state)
{
    pid_t child = fork();
    int status;

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        struct twin_pool pool;
        char *buffers[2];

        twin_pool_init(&pool);
        buffers[0] = twin_pool_get(&pool);
        buffers[1] = twin_pool_get(&pool);
        twin_pool_put(&pool, buffers[0]);
        twin_pool_put(&pool, buffers[0]);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EXIT_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_never_overlap),
        cmocka_unit_test(unused_chunks_go_back_below_half),
        cmocka_unit_test(the_last_chunk_stays),
        cmocka_unit_test(a_buffer_that_is_put_twice_ends_the_process),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
