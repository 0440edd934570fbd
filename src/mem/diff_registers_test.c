// SPDX-License-Identifier: BSD-3-Clause
// K1 of mem/diff_kernel.c: what the kernels leave in vector registers. The processor
// tells which of them are in use (XGETBV with ECX = 1).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mem/diff_priv.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#define UPPER_YMM (1u << 2)
#define UPPER_ZMM (1u << 6)

static int tells_use(void)
{
    unsigned a;
    unsigned b;
    unsigned c;
    unsigned d;

    return __builtin_cpu_supports("avx2") &&
           __get_cpuid_count(0xd, 1, &a, &b, &c, &d) != 0 && (a >> 2 & 1) != 0;
}

__attribute__((target("xsave"))) static unsigned upper_halves(void)
{
    return (unsigned)_xgetbv(1) & (UPPER_YMM | UPPER_ZMM);
}

__attribute__((target("avx2"), noinline)) static void clear(void)
{
    _mm256_zeroupper();
}

__attribute__((target("avx2"), noinline)) static unsigned after_use(
    const uint8_t *page)
{
    __m256i vector = _mm256_load_si256((const __m256i *)page);

    __asm__ volatile("" ::"x"(vector));
    return upper_halves();
}

static void check_kernel(const struct diff_kernel *kernel)
{
    static uint8_t page[TM_PAGE_SIZE] __attribute__((aligned(64)));
    static uint8_t twin[TM_PAGE_SIZE] __attribute__((aligned(64)));
    static uint8_t packed[2 * TM_PAGE_SIZE];
    uint64_t mask[DIFF_BLOCKS];

    for (unsigned i = 0; i < TM_PAGE_SIZE; i += 3) {
        page[i] = 1;
        twin[i] = 0;
    }
    clear();
    kernel->scan(page, twin, mask);
    assert_int_equal(upper_halves(), 0);
    kernel->pack(mask, page, packed);
    assert_int_equal(upper_halves(), 0);
    kernel->unpack(mask, packed, twin);
    assert_int_equal(upper_halves(), 0);
    kernel->copy(twin, page, TM_PAGE_SIZE);
    assert_int_equal(upper_halves(), 0);
}

static void kernels_leave_upper_halves_zero(void **state)
{
    static uint8_t page[TM_PAGE_SIZE] __attribute__((aligned(64))) = {1};

    (void)state;
    if (!tells_use() || after_use(page) == 0) {
        skip(); // the processor does not tell
    }
    for (unsigned i = 0; i < n_diff_kernels; i++) {
        if (diff_kernels[i]->is_usable()) {
            print_message("kernel %s\n", diff_kernels[i]->name);
            check_kernel(diff_kernels[i]);
        }
    }
}
#else
static void kernels_leave_upper_halves_zero(void **state)
{
    (void)state;
    skip();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_leave_upper_halves_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
