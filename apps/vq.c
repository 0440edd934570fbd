// SPDX-License-Identifier: BSD-3-Clause
/*
 * Image compression by vector quantization: each block of an image is coded as
 * the number of the codeword in a codebook that is nearest to it. The codebook
 * is trained on the image itself by the LBG algorithm.
 *
 * An iteration is one pass of it: the vectors, blocks of the image, are divided
 * into cells by their nearest codewords, and each codeword becomes the mean of
 * its cell. In the first half of all passes the codebook grows, with --start
 * split, from one codeword to all of them: codewords_in().
 *
 * Each thread owns a block of vectors. It adds them up in cells of its own, on
 * pages of its own; at a barrier, thread 0 adds the cells of all threads and
 * makes the next codebook, which all read after the next barrier. So what
 * travels in an iteration is the sums, from all nodes to one, and the codebook,
 * from there to all; image and numbers stay where they are.
 *
 * Nothing here says on which node a thread runs or where a page lies. All
 * numbers are whole ones, so the order of additions does not matter, and the
 * result has the same bits for any number of threads and nodes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "codebook.h"
#include "coding.h"
#include "common.h"
#include "image.h"
#include "teamster.h"

// Bytes of the cells of a thread, on pages of its own.
static size_t cells_stride(const struct settings *settings,
                           const struct layout *layout)
{
    const size_t n_bytes =
        settings->n_codewords * cell_width(layout->n_values) * sizeof(uint64_t);

    return (n_bytes + TM_PAGE_SIZE - 1) / TM_PAGE_SIZE * TM_PAGE_SIZE;
}

// What there is if there is no file; without values.
static struct image image_made_up(const struct settings *settings)
{
    return (struct image){
        .width = settings->size, .height = settings->size, .n_planes = 1};
}

// The memory that the data take.
static double data_bytes(const struct settings *settings)
{
    const struct image image = image_made_up(settings);
    const struct layout layout = layout_make(&image, settings->block);

    return (double)layout.n_vectors *
               (double)(layout.n_values + sizeof(uint16_t)) +
           (double)settings->n_codewords * (double)layout.n_values +
           settings->n_threads * (double)cells_stride(settings, &layout);
}

static const struct about about = {
    .text =
        "Compress an image by vector quantization, with a codebook that is "
        "trained on\n"
        "it (LBG algorithm), in shared memory, with each thread on a part of "
        "the\n"
        "blocks. Prints bits per pixel, without the codebook, and how far the "
        "decoded\n"
        "image is from the first (PSNR).\n",
    .size = "columns and rows of the image that is made up",
    .iterations = "how many passes over the image; the codebook grows in\n"
                  "                      the first half of them",
    .input = "image: PGM or PPM, 8 bits, of a whole number of\n"
             "                      blocks; main() reads it. Without it, one "
             "is made up",
    .residual = "every R iterations, the mean square error",
    .data = "Shared data: a byte for each value of a pixel, 2 for each vector, "
            "and for each\n"
            "thread and codeword B x B + 2 sums of 8 bytes; in all, with the "
            "other options\n"
            "as by default,\n",
    .data_bytes = data_bytes,
    .example = "--input face.pgm --codebook 512 --output face",
    .offers = OFFER_INPUT | OFFER_CODEBOOK | OFFER_SEED | OFFER_RESIDUAL,
};

// What all threads share. main() fills it in before it starts them.
static TM_SHARED struct {
    struct settings settings;
    struct layout layout;
    uint8_t *vectors;  // [n_vectors][n_values]
    uint8_t *codebook; // [n_codewords][n_values]
    char *cells;       // [n_threads]  see cells_of()
    uint16_t *numbers; // [n_vectors]
    struct course course;
    tm_barrier barrier;
} job;

static uint64_t *cells_of(size_t thread)
{
    return (void *)&job
        .cells[thread * cells_stride(&job.settings, &job.layout)];
}

// How many codewords there are in iteration k, which is 1 or more.
static size_t codewords_in(const struct settings *settings, unsigned k)
{
    const unsigned n = bits_for(settings->n_codewords);
    const unsigned half = settings->n_iterations / 2;
    const size_t n_growing = half > n ? half : n;
    size_t level = n;

    if (settings->start_drawn) {
        return settings->n_codewords;
    }
    while (level > 0 && level * n_growing / n > k - 1) {
        level--;
    }
    return level == n ? settings->n_codewords : (size_t)1 << level;
}

static void codebook_start(uint8_t *codebook, const struct settings *settings,
                           const struct vectors *vectors)
{
    if (settings->start_drawn) {
        codebook_draw(codebook, vectors, settings->n_codewords, settings->seed);
    } else {
        memset(codebook, 0, vectors->n_values); // becomes the mean of all
    }
}

static void error_print(const uint64_t *cells, const struct settings *settings,
                        const struct layout *layout, unsigned k)
{
    const size_t n_now = codewords_in(settings, k);

    if (settings->residual_every > 0 && k % settings->residual_every == 0) {
        printf("iteration %u: %zu codewords, mean square error %.3f\n", k,
               n_now,
               (double)cells_error(cells, n_now, layout->n_values) /
                   ((double)layout->n_vectors * (double)layout->n_values));
    }
}

// From the cells of all vectors to the next codebook; after the last iteration
// to one with as many codewords.
static void codebook_next(uint8_t *codebook, const uint64_t *cells,
                          const struct settings *settings,
                          const struct layout *layout, unsigned k)
{
    const size_t n_now = codewords_in(settings, k);
    const size_t n_next = k < settings->n_iterations
                              ? codewords_in(settings, k + 1)
                              : settings->n_codewords;
    size_t *order = plain_memory(n_now * sizeof *order);

    codebook_renew(codebook, cells, n_now, n_next, layout->n_values, order);
    free(order);
}

// What thread 0 does while the others wait.
static void cells_gather(unsigned k)
{
    const size_t n_now = codewords_in(&job.settings, k);

    for (size_t i = 1; i < job.settings.n_threads; i++) {
        cells_add(cells_of(0), cells_of(i), n_now, job.layout.n_values);
    }
    error_print(cells_of(0), &job.settings, &job.layout, k);
    codebook_next(job.codebook, cells_of(0), &job.settings, &job.layout, k);
}

// Collect the cells of a thread; those that it does again, to be slower than
// others, come first, and are forgotten.
static void vectors_collect(unsigned k, size_t me, const struct vectors *mine)
{
    const size_t n_now = codewords_in(&job.settings, k);
    size_t n_left = extra_rows(&job.settings, me, mine->n);

    while (n_left > 0) {
        struct vectors some = *mine;

        some.n = n_left < mine->n ? n_left : mine->n;
        cells_collect(cells_of(me), &some, job.codebook, n_now);
        n_left -= some.n;
    }
    cells_collect(cells_of(me), mine, job.codebook, n_now);
}

static struct vectors vectors_between(size_t first, size_t end)
{
    return (struct vectors){.values = &job.vectors[first * job.layout.n_values],
                            .n = end - first,
                            .n_values = job.layout.n_values};
}

static void *thread_work(void *arg)
{
    const struct settings settings = job.settings;
    const size_t n = job.layout.n_vectors;
    const size_t me = (size_t)arg;
    const size_t first = n * me / settings.n_threads;
    const size_t end = n * (me + 1) / settings.n_threads;
    const struct vectors all = vectors_between(0, n);
    const struct vectors mine = vectors_between(first, end);

    if (settings.input == NULL && !settings.init_on_root) {
        vectors_cut(job.vectors, &(struct image){0}, &job.layout, settings.seed,
                    first, end);
    }
    tm_barrier_wait(&job.barrier);
    if (me == 0) {
        codebook_start(job.codebook, &settings, &all);
        course_note(&job.course, &settings, me, 0);
    }
    tm_barrier_wait(&job.barrier);
    for (unsigned k = 1; k <= settings.n_iterations; k++) {
        vectors_collect(k, me, &mine);
        tm_barrier_wait(&job.barrier);
        if (me == 0) {
            cells_gather(k);
        }
        tm_iteration_end(&job.barrier);
        course_note(&job.course, &settings, me, k);
    }
    vectors_code(&job.numbers[first], &mine, job.codebook,
                 settings.n_codewords);
    return NULL;
}

static void job_make(const struct settings *settings,
                     const struct layout *layout)
{
    job.settings = *settings;
    job.layout = *layout;
    job.vectors =
        shared_memory("vectors", layout->n_vectors * layout->n_values);
    job.codebook =
        shared_memory("codebook", settings->n_codewords * layout->n_values);
    job.cells = shared_memory("cells", settings->n_threads *
                                           cells_stride(settings, layout));
    job.numbers =
        shared_memory("numbers", layout->n_vectors * sizeof *job.numbers);
    tm_barrier_init(&job.barrier, settings->n_threads);
}

static void title_print(const struct settings *settings,
                        const struct layout *layout)
{
    printf("vq, %zu x %zu pixels, vectors: %zu of %zu values, codewords: %u, ",
           layout->width, layout->height, layout->n_vectors, layout->n_values,
           settings->n_codewords);
}

static struct coding train_with_threads(const struct settings *settings,
                                        const struct image *image,
                                        const struct layout *layout)
{
    struct coding result = coding_make(layout, settings->n_codewords);

    job_make(settings, layout);
    course_begin(&job.course, settings);
    if (settings->input != NULL || settings->init_on_root) {
        vectors_cut(job.vectors, image, layout, settings->seed, 0,
                    layout->n_vectors);
    }
    threads_run(settings->n_threads, thread_work);
    title_print(settings, layout);
    course_print(&job.course, settings, 0.0, "");
    memcpy(result.numbers, job.numbers,
           layout->n_vectors * sizeof *result.numbers);
    memcpy(result.codebook, job.codebook,
           settings->n_codewords * layout->n_values);
    return result;
}

// The sequential program.
static struct coding train_sequentially(const struct settings *settings,
                                        const struct image *image,
                                        const struct layout *layout)
{
    struct coding result = coding_make(layout, settings->n_codewords);
    uint8_t *values = plain_memory(layout->n_vectors * layout->n_values);
    uint64_t *cells = plain_memory(cells_stride(settings, layout));
    const struct vectors vectors = {values, layout->n_vectors,
                                    layout->n_values};
    const struct course course = course_begin_alone(settings);

    vectors_cut(values, image, layout, settings->seed, 0, layout->n_vectors);
    codebook_start(result.codebook, settings, &vectors);
    course_note(&course, settings, 0, 0);
    for (unsigned k = 1; k <= settings->n_iterations; k++) {
        cells_collect(cells, &vectors, result.codebook,
                      codewords_in(settings, k));
        if (settings->sequential) {
            error_print(cells, settings, layout, k);
        }
        codebook_next(result.codebook, cells, settings, layout, k);
        course_note(&course, settings, 0, k);
    }
    vectors_code(result.numbers, &vectors, result.codebook,
                 settings->n_codewords);
    title_print(settings, layout);
    course_print(&course, settings, 0.0, "");
    free(cells);
    free(values);
    return result;
}

// Options and image that do not go together end the program.
static void layout_check(const char *program, const struct settings *settings,
                         const struct layout *layout)
{
    const unsigned n_iterations = bits_for(settings->n_codewords) + 1;
    const size_t block = layout->block;

    if (layout->width % block != 0 || layout->height % block != 0) {
        fprintf(stderr,
                "%s: %s has %zu x %zu pixels, which is no whole number of "
                "blocks; --block is %zu\n",
                program,
                settings->input != NULL ? settings->input : "the image",
                layout->width, layout->height, block);
        exit(EXIT_USAGE);
    }
    if (settings->n_codewords > layout->n_vectors) {
        fprintf(stderr,
                "%s: --codebook is %u; it must not be more than there are "
                "blocks, %zu\n",
                program, settings->n_codewords, layout->n_vectors);
        exit(EXIT_USAGE);
    }
    if (!settings->start_drawn && settings->n_iterations < n_iterations) {
        fprintf(stderr,
                "%s: --iterations is %u; %u codewords by splitting take %u or "
                "more, or use --start seed\n",
                program, settings->n_iterations, settings->n_codewords,
                n_iterations);
        exit(EXIT_USAGE);
    }
}

// @return is the result that of the sequential program?
static bool verify(const struct settings *settings, const struct image *image,
                   const struct layout *layout, const struct coding *result)
{
    struct coding expected = train_sequentially(settings, image, layout);
    const bool right =
        is_identical_bytes(result->numbers, expected.numbers, result->n_bytes);

    free(expected.numbers);
    return right;
}

int main(int argc, char **argv)
{
    struct settings settings = {.size = 512,
                                .n_iterations = 40,
                                .n_codewords = 256,
                                .block = 4,
                                .seed = 1};
    struct image image;
    struct layout layout;
    struct outputs outputs;
    struct coding result;
    bool right = true;

    tm_init(&argc, &argv);
    settings.n_threads = 4 * tm_node_count();
    settings_parse(&settings, argc, argv, &about);
    image = settings.input != NULL ? image_read(settings.input)
                                   : image_made_up(&settings);
    layout = layout_make(&image, settings.block);
    layout_check(argv[0], &settings, &layout);
    outputs = outputs_open(settings.output, &layout);
    result = settings.sequential
                 ? train_sequentially(&settings, &image, &layout)
                 : train_with_threads(&settings, &image, &layout);
    coding_print(&result, &image, &layout, settings.seed);
    checksum_print(checksum_bytes(result.numbers, result.n_bytes));
    outputs_write(&outputs, &result, &layout);
    if (settings.verify) {
        right = verify(&settings, &image, &layout, &result);
    }
    free(result.numbers);
    free(image.values);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
