// SPDX-License-Identifier: BSD-3-Clause
/*
 * The loops of mem/diff.c, once in plain C and, for x86-64, with vectors: SSE2
 * (every x86-64), AVX2, and AVX-512 with VBMI2, which can also put the chosen
 * bytes of a vector side by side and the reverse. What the processor has is
 * asked on each call; that costs one load and a test.
 *
 * Each byte of the page is read once: a vector is loaded and made opaque to the
 * compiler by an empty asm, so that it cannot fetch it from the page again.
 * Vectors are loaded and stored aligned, so aligned words of the program are
 * never seen or made half changed.
 *
 * K1 Upper halves of vector registers are zero at the end. A thread goes on with the
 *    program from here, and while they are not its SSE instructions take up to three
 *    times as long. Compilers see to it when they optimize; at -O1 gcc does not.
 */
#include "mem/diff_priv.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// The page is written meanwhile by threads that this one does not wait for.
#define RACY __attribute__((no_sanitize("thread")))

/** Runs that start in a block; `before` is the mask of the block before. */
#define RUN_STARTS(changed, before)                                            \
    ((changed) & ~((changed) << 1 | (before) >> 63))

/* ---- Plain C ------------------------------------------------------------ */

static int always(void)
{
    return 1;
}

RACY static size_t scan_plain(const uint8_t *page, uint8_t *twin,
                              uint64_t *mask)
{
    uint64_t before = 0;
    size_t n_runs = 0;

    for (size_t i = 0; i < DIFF_BLOCKS; i++) {
        uint64_t changed = 0;

        for (size_t j = 0; j < DIFF_BLOCK; j++) {
            size_t at = i * DIFF_BLOCK + j;
            uint8_t byte = *(const volatile uint8_t *)(page + at);

            changed |= (uint64_t)(byte != twin[at]) << j;
            twin[at] = byte;
        }
        n_runs += diff_count_bits(RUN_STARTS(changed, before));
        mask[i] = changed;
        before = changed;
    }
    return n_runs;
}

/** Copy bytes [start, start + length) of a block; reads nothing outside it, but
 * may write up to the 8th byte. */
static inline void copy_run(uint8_t *out, const uint8_t *block, size_t start,
                            size_t length)
{
    if (length <= 8 && start + 8 <= DIFF_BLOCK) {
        memcpy(out, block + start, 8);
        return;
    }
    while (length >= 8) {
        memcpy(out, block + start, 8);
        out += 8;
        start += 8;
        length -= 8;
    }
    for (size_t i = 0; i < length; i++) {
        out[i] = block[start + i];
    }
}

static uint8_t *pack_plain(const uint64_t *mask, const uint8_t *page,
                           uint8_t *out)
{
    for (size_t i = 0; i < DIFF_BLOCKS; i++) {
        const uint8_t *block = page + i * DIFF_BLOCK;
        uint64_t left = mask[i];

        if (left == ~UINT64_C(0)) {
            memcpy(out, block, DIFF_BLOCK);
            out += DIFF_BLOCK;
            continue;
        }
        while (left != 0) {
            size_t start = (size_t)__builtin_ctzll(left);
            size_t length = (size_t)__builtin_ctzll(~(left >> start));

            copy_run(out, block, start, length);
            out += length;
            left &= left + (left & -left); // without its lowest run
        }
    }
    return out;
}

static void copy_plain(uint8_t *to, const uint8_t *from, size_t length)
{
    for (; length >= DIFF_BLOCK; length -= DIFF_BLOCK) {
        memcpy(to, from, DIFF_BLOCK);
        to += DIFF_BLOCK;
        from += DIFF_BLOCK;
    }
    memcpy(to, from, length);
}

typedef uint64_t __attribute__((may_alias)) any_u64;
typedef uint32_t __attribute__((may_alias)) any_u32;
typedef uint16_t __attribute__((may_alias)) any_u16;

// Volatile, so that the compiler neither joins nor splits the stores.
// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define STORE(type, to, from)                                                  \
    do {                                                                       \
        type value_;                                                           \
        memcpy(&value_, (from), sizeof(value_));                               \
        *(volatile type *)(to) = value_;                                       \
    } while (0)
// NOLINTEND(bugprone-macro-parentheses)

/** Less than 8 bytes that lie in one aligned group of 8. */
static inline void store_part(uint8_t *to, const uint8_t *from, size_t length)
{
    while (length > 0) {
        size_t step = 1;

        if (((uintptr_t)to & 3) == 0 && length >= 4) {
            step = 4;
            STORE(any_u32, to, from);
        } else if (((uintptr_t)to & 1) == 0 && length >= 2) {
            step = 2;
            STORE(any_u16, to, from);
        } else {
            STORE(uint8_t, to, from);
        }
        to += step;
        from += step;
        length -= step;
    }
}

static inline void store_run(uint8_t *to, const uint8_t *from, size_t length)
{
    size_t head = -(uintptr_t)to & 7;

    if (head > length) {
        head = length;
    }
    store_part(to, from, head);
    to += head;
    from += head;
    length -= head;
    for (; length >= 8; length -= 8) {
        STORE(any_u64, to, from);
        to += 8;
        from += 8;
    }
    store_part(to, from, length);
}

void diff_store(uint8_t *to, const uint8_t *from, size_t length)
{
    store_run(to, from, length);
}

static void unpack_plain(const uint64_t *mask, const uint8_t *packed,
                         uint8_t *page)
{
    for (size_t i = 0; i < DIFF_BLOCKS; i++) {
        uint64_t left = mask[i];

        while (left != 0) {
            size_t start = (size_t)__builtin_ctzll(left);
            uint64_t rest = ~(left >> start);
            size_t length =
                rest == 0 ? DIFF_BLOCK : (size_t)__builtin_ctzll(rest);

            store_run(page + i * DIFF_BLOCK + start, packed, length);
            packed += length;
            left &= left + (left & -left);
        }
    }
}

static const struct diff_kernel kernel_plain = {
    .name = "plain",
    .is_usable = always,
    .scan = scan_plain,
    .pack = pack_plain,
    .copy = copy_plain,
    .unpack = unpack_plain,
};

#if defined(__x86_64__)

/* ---- SSE2 --------------------------------------------------------------- */

static inline uint64_t equal_16(__m128i a, __m128i b)
{
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(a, b));
}

RACY static size_t scan_sse2(const uint8_t *page, uint8_t *twin, uint64_t *mask)
{
    uint64_t before = 0;
    size_t n_runs = 0;

    for (size_t i = 0; i < DIFF_BLOCKS; i++) {
        const __m128i *from = (const __m128i *)page + i * 4;
        __m128i *old = (__m128i *)twin + i * 4;
        __m128i new0 = _mm_load_si128(&from[0]);
        __m128i new1 = _mm_load_si128(&from[1]);
        __m128i new2 = _mm_load_si128(&from[2]);
        __m128i new3 = _mm_load_si128(&from[3]);
        uint64_t changed;

        __asm__("" : "+x"(new0), "+x"(new1), "+x"(new2), "+x"(new3));
        changed =
            ~(equal_16(new0, old[0]) | equal_16(new1, old[1]) << 16 |
              equal_16(new2, old[2]) << 32 | equal_16(new3, old[3]) << 48);
        if (changed != 0) {
            n_runs += diff_count_bits(RUN_STARTS(changed, before));
            _mm_store_si128(&old[0], new0);
            _mm_store_si128(&old[1], new1);
            _mm_store_si128(&old[2], new2);
            _mm_store_si128(&old[3], new3);
        }
        mask[i] = changed;
        before = changed;
    }
    return n_runs;
}

static const struct diff_kernel kernel_sse2 = {
    .name = "sse2",
    .is_usable = always,
    .scan = scan_sse2,
    .pack = pack_plain,
    .copy = copy_plain,
    .unpack = unpack_plain,
};

/* ---- AVX2 --------------------------------------------------------------- */

#define AVX2 __attribute__((target("avx2,popcnt")))

static int has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}

AVX2 static inline uint64_t equal_32(__m256i a, __m256i b)
{
    return (unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, b));
}

AVX2 RACY static size_t scan_avx2(const uint8_t *page, uint8_t *twin,
                                  uint64_t *mask)
{
    uint64_t before = 0;
    size_t n_runs = 0;

    for (size_t i = 0; i < DIFF_BLOCKS; i++) {
        const __m256i *from = (const __m256i *)page + i * 2;
        __m256i *old = (__m256i *)twin + i * 2;
        __m256i new0 = _mm256_load_si256(&from[0]);
        __m256i new1 = _mm256_load_si256(&from[1]);
        uint64_t changed;

        __asm__("" : "+x"(new0), "+x"(new1));
        changed = ~(equal_32(new0, old[0]) | equal_32(new1, old[1]) << 32);
        if (changed != 0) {
            n_runs +=
                (unsigned)__builtin_popcountll(RUN_STARTS(changed, before));
            _mm256_store_si256(&old[0], new0);
            _mm256_store_si256(&old[1], new1);
        }
        mask[i] = changed;
        before = changed;
    }
    _mm256_zeroupper(); // K1
    return n_runs;
}

// Stores aligned: crossing a line costs more for them than for loads.
AVX2 static void copy_avx2(uint8_t *to, const uint8_t *from, size_t length)
{
    size_t i = 32 - ((uintptr_t)to & 31);

    if (length < 64) {
        memcpy(to, from, length);
        return;
    }
    _mm256_storeu_si256((__m256i *)to,
                        _mm256_loadu_si256((const __m256i *)from));
    for (; i + 32 <= length; i += 32) {
        _mm256_store_si256((__m256i *)(to + i),
                           _mm256_loadu_si256((const __m256i *)(from + i)));
    }
    memcpy(to + i, from + i, length - i);
    _mm256_zeroupper(); // K1
}

static const struct diff_kernel kernel_avx2 = {
    .name = "avx2",
    .is_usable = has_avx2,
    .scan = scan_avx2,
    .pack = pack_plain,
    .copy = copy_avx2,
    .unpack = unpack_plain,
};

/* ---- AVX-512 ------------------------------------------------------------ */

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi2,popcnt")))

static int has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vbmi2") &&
           __builtin_cpu_supports("popcnt");
}

AVX512 RACY static size_t scan_avx512(const uint8_t *page, uint8_t *twin,
                                      uint64_t *mask)
{
    uint64_t before = 0;
    size_t n_runs = 0;

    for (size_t i = 0; i < DIFF_BLOCKS; i++) {
        __m512i new = _mm512_load_si512(page + i * DIFF_BLOCK);
        __m512i old = _mm512_load_si512(twin + i * DIFF_BLOCK);
        uint64_t changed;

        __asm__("" : "+v"(new));
        changed = _mm512_cmpneq_epu8_mask(new, old);
        __asm__("" : "+r"(changed)); // no arithmetic in mask registers
        if (changed != 0) {
            n_runs +=
                (unsigned)__builtin_popcountll(RUN_STARTS(changed, before));
            _mm512_store_si512(twin + i * DIFF_BLOCK, new);
        }
        mask[i] = changed;
        before = changed;
    }
    _mm256_zeroupper(); // K1
    return n_runs;
}

// Whole vectors are stored. What is packed never gets ahead of the page, so even
// the last one ends within out[4096].
AVX512 static uint8_t *pack_avx512(const uint64_t *mask, const uint8_t *page,
                                   uint8_t *out)
{
    for (size_t i = 0; i < DIFF_BLOCKS; i++) {
        __m512i block = _mm512_load_si512(page + i * DIFF_BLOCK);

        _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(mask[i], block));
        out += __builtin_popcountll(mask[i]);
    }
    _mm256_zeroupper(); // K1
    return out;
}

AVX512 static void unpack_avx512(const uint64_t *mask, const uint8_t *packed,
                                 uint8_t *page)
{
    for (size_t i = 0; i < DIFF_BLOCKS; i++) {
        if (mask[i] != 0) {
            __m512i block = _mm512_maskz_expandloadu_epi8(mask[i], packed);

            _mm512_mask_storeu_epi8(page + i * DIFF_BLOCK, mask[i], block);
            packed += __builtin_popcountll(mask[i]);
        }
    }
    _mm256_zeroupper(); // K1
}

static const struct diff_kernel kernel_avx512 = {
    .name = "avx512",
    .is_usable = has_avx512,
    .scan = scan_avx512,
    .pack = pack_avx512,
    .copy = copy_avx2,
    .unpack = unpack_avx512,
};

#endif

const struct diff_kernel *const diff_kernels[] = {
#if defined(__x86_64__)
    &kernel_avx512,
    &kernel_avx2,
    &kernel_sse2,
#endif
    &kernel_plain,
};
const unsigned n_diff_kernels = sizeof(diff_kernels) / sizeof(diff_kernels[0]);
