// SPDX-License-Identifier: BSD-3-Clause
/*
 * Motion in video: for each block of 16 x 16 pixels of a frame, where it was in
 * the frame before, by full search. An encoder like that of MPEG-4 then stores
 * the vector and what the two blocks differ by.
 *
 * An iteration is one frame, which is searched for in the one before. The rows
 * of blocks are divided among the threads, the same in all frames. A thread
 * reads its own rows of pixels and, above and below, as many others as a vector
 * may reach; nobody writes pixels once the threads have started. It writes
 * vectors of its own rows only. They lie by row and then by frame, each row on
 * pages of its own: vectors of a frame side by side would have all nodes write
 * to one page in each iteration.
 *
 * Only luma is searched, so only luma is kept: all frames, in shared memory.
 *
 * Nothing here says on which node a thread runs or where a page lies. All
 * numbers are whole ones, and equal sums of differences are decided by the
 * place of the vector (search.h), so the result has the same bits for any
 * number of threads and nodes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "common.h"
#include "files.h"
#include "scene.h"
#include "search.h"
#include "teamster.h"
#include "times.h"
#include "video.h"

struct sequence {
    size_t width, height;
    size_t n_frames;
    uint8_t *luma; // [n_frames][height][width]
};

// Bytes from the vectors of one row of blocks to those of the next.
static size_t found_stride(const struct sequence *sequence)
{
    const size_t n_bytes = (sequence->n_frames - 1) *
                           blocks_in(sequence->width) * sizeof(struct motion);

    return (n_bytes + TM_PAGE_SIZE - 1) / TM_PAGE_SIZE * TM_PAGE_SIZE;
}

// What is made up if there is no file; without the pixels.
static struct sequence sequence_made_up(const struct settings *settings)
{
    return (struct sequence){
        .width = settings->width != 0 ? settings->width : settings->size,
        .height = settings->height != 0 ? settings->height : settings->size,
        .n_frames = settings->n_iterations + 1};
}

// The memory that the data take.
static double data_bytes(const struct settings *settings)
{
    const struct sequence sequence = sequence_made_up(settings);

    return (double)sequence.n_frames * (double)sequence.width *
               (double)sequence.height +
           (double)blocks_in(sequence.height) * (double)found_stride(&sequence);
}

static const struct about about = {
    .text =
        "Find the motion in video by full search, for blocks of 16 x 16 "
        "pixels, in\n"
        "shared memory, with each thread on rows of blocks. Prints for each "
        "frame how\n"
        "well the blocks that were found in the one before predict it (PSNR of "
        "luma).\n",
    .size = "columns and rows of frames that are made up",
    .iterations = "how many frames are searched; of a file all, if not\n"
                  "                      given",
    .input = "video: .y4m (8 bits, 4:2:0), or raw YUV 4:2:0, which\n"
             "                      needs --width and --height; main() reads "
             "it. Without\n"
             "                      it, squares that move are made up",
    .data = "Shared data: a byte for each pixel of all frames, luma only, and "
            "12 bytes for\n"
            "each vector; in all, with 25 frames,\n",
    .data_bytes = data_bytes,
    .example = "--input clip.y4m --range 24 --vectors clip.txt",
    .offers = OFFER_INPUT | OFFER_FRAMES | OFFER_SEED,
};

// What all threads share. main() fills it in before it starts them.
static TM_SHARED struct {
    struct settings settings;
    struct sequence sequence;
    char *found; // see found_at()
    struct course course;
    tm_barrier barrier;
} job;

// Make up rows `first` to `end` - 1 of pixels, in all frames.
static void rows_fill(const struct sequence *sequence, uint32_t seed,
                      size_t first, size_t end)
{
    const struct scene scene = {sequence->width, sequence->height, seed};

    for (size_t frame = 0; frame < sequence->n_frames; frame++) {
        for (size_t y = first; y < end; y++) {
            scene_fill(
                &sequence->luma[(frame * scene.height + y) * scene.width], 0,
                scene.width, y, frame, &scene);
        }
    }
}

// The frames of a file. @param memory  where to put them
static struct sequence sequence_read(const struct settings *settings,
                                     void *(*memory)(size_t size))
{
    struct sequence sequence;
    struct video video;
    size_t n_most;

    video_open(&video, settings->input, settings->width, settings->height);
    n_most = video.n_frames_most;
    if (!settings->all_frames && n_most > settings->n_iterations + 1u) {
        n_most = settings->n_iterations + 1u;
    }
    sequence = (struct sequence){.width = video.width, .height = video.height};
    sequence.luma = memory(n_most * video.width * video.height);
    while (video.n_frames < n_most &&
           video_read(
               &video,
               &sequence.luma[video.n_frames * video.width * video.height])) {
    }
    sequence.n_frames = video.n_frames;
    if (sequence.n_frames < 2) {
        input_refuse(&video.input, "has %zu frame; motion takes two or more",
                     sequence.n_frames);
    }
    video_close(&video);
    return sequence;
}

// What to work on; frames that are made up are still without pixels.
static struct sequence sequence_open(const struct settings *settings,
                                     void *(*memory)(size_t size))
{
    struct sequence sequence;

    if (settings->input != NULL) {
        return sequence_read(settings, memory);
    }
    sequence = sequence_made_up(settings);
    sequence.luma =
        memory(sequence.n_frames * sequence.width * sequence.height);
    return sequence;
}

static struct frame_pair pair_at(const struct sequence *sequence, unsigned k,
                                 unsigned range)
{
    const uint8_t *now =
        &sequence->luma[k * sequence->width * sequence->height];

    return (struct frame_pair){.before =
                                   now - sequence->width * sequence->height,
                               .now = now,
                               .width = sequence->width,
                               .height = sequence->height,
                               .range = range};
}

// Where the vectors of a row of blocks in frame k lie.
static struct motion *found_at(size_t row, unsigned k)
{
    struct motion *of_row =
        (void *)&job.found[row * found_stride(&job.sequence)];

    return &of_row[(k - 1) * blocks_in(job.sequence.width)];
}

static void rows_search(unsigned k, size_t first, size_t end)
{
    const struct frame_pair pair =
        pair_at(&job.sequence, k, job.settings.range);

    for (size_t row = first; row < end; row++) {
        search_row(found_at(row, k), &pair, row);
    }
}

// What thread `me` does again, to be slower than others: the result of a row
// does not depend on how often it is computed.
static void rows_search_again(unsigned k, size_t me, size_t first, size_t end)
{
    size_t n_left = extra_rows(&job.settings, me, end - first);

    while (n_left > 0) {
        const size_t n = n_left < end - first ? n_left : end - first;

        rows_search(k, first, first + n);
        n_left -= n;
    }
}

// A thread makes up the pixels of its rows of blocks.
static void thread_fill(size_t first, size_t end)
{
    const size_t height = job.sequence.height;
    const size_t bottom = end * MACROBLOCK < height ? end * MACROBLOCK : height;

    rows_fill(&job.sequence, job.settings.seed, first * MACROBLOCK, bottom);
}

static void *thread_work(void *arg)
{
    const struct settings settings = job.settings;
    const size_t n_rows = blocks_in(job.sequence.height);
    const size_t me = (size_t)arg;
    const size_t first = n_rows * me / settings.n_threads;
    const size_t end = n_rows * (me + 1) / settings.n_threads;

    if (settings.input == NULL && !settings.init_on_root) {
        thread_fill(first, end);
    }
    tm_barrier_wait(&job.barrier);
    course_note(&job.course, &settings, me, 0);
    for (unsigned k = 1; k <= settings.n_iterations; k++) {
        rows_search(k, first, end);
        rows_search_again(k, me, first, end);
        tm_iteration_end(&job.barrier);
        course_note(&job.course, &settings, me, k);
    }
    return NULL;
}

// Vectors in a frame.
static size_t n_blocks(const struct sequence *sequence)
{
    return blocks_in(sequence->width) * blocks_in(sequence->height);
}

// @return [n_frames - 1][n_blocks()]  memory for all vectors, for free()
static struct motion *result_memory(const struct sequence *sequence)
{
    return plain_memory((sequence->n_frames - 1) * n_blocks(sequence) *
                        sizeof(struct motion));
}

// @return all vectors, frame by frame; for free()
static struct motion *result_make(const struct sequence *sequence)
{
    const size_t n_columns = blocks_in(sequence->width);
    struct motion *result = result_memory(sequence);
    struct motion *to = result;

    for (unsigned k = 1; k < sequence->n_frames; k++) {
        for (size_t row = 0; row < blocks_in(sequence->height); row++) {
            memcpy(to, found_at(row, k), n_columns * sizeof *to);
            to += n_columns;
        }
    }
    return result;
}

static void *shared_frames(size_t size)
{
    return shared_memory("frames", size);
}

// An iteration for each frame but the first.
static struct settings settings_for(const struct settings *settings,
                                    const struct sequence *sequence)
{
    struct settings own = *settings;

    own.n_iterations = (unsigned)sequence->n_frames - 1;
    return own;
}

static void title_print(const struct settings *settings,
                        const struct sequence *sequence)
{
    printf("motion, %zu x %zu pixels, range: %u, ", sequence->width,
           sequence->height, settings->range);
}

// @param[out] sequence  what was searched
// @return its vectors, for free()
static struct motion *search_with_threads(const struct settings *settings,
                                          struct sequence *sequence)
{
    const double start_s = now_s();

    *sequence = sequence_open(settings, shared_frames);
    job.settings = settings_for(settings, sequence);
    course_begin(&job.course, &job.settings);
    job.course.start_s = start_s;
    job.sequence = *sequence;
    job.found = shared_memory("vectors", blocks_in(sequence->height) *
                                             found_stride(sequence));
    tm_barrier_init(&job.barrier, settings->n_threads);
    if (settings->input == NULL && settings->init_on_root) {
        rows_fill(sequence, settings->seed, 0, sequence->height);
    }
    threads_run(settings->n_threads, thread_work);
    title_print(settings, sequence);
    course_print(&job.course, &job.settings, 0.0, "");
    return result_make(sequence);
}

// The sequential program. @return the same; the pixels are freed
static struct motion *search_sequentially(const struct settings *settings,
                                          struct sequence *sequence)
{
    const double start_s = now_s();
    struct settings own;
    struct course course;
    struct motion *result;
    struct motion *to;

    *sequence = sequence_open(settings, plain_memory);
    own = settings_for(settings, sequence);
    result = to = result_memory(sequence);
    course = course_begin_alone(&own);
    course.start_s = start_s;
    if (settings->input == NULL) {
        rows_fill(sequence, settings->seed, 0, sequence->height);
    }
    course_note(&course, &own, 0, 0);
    for (unsigned k = 1; k <= own.n_iterations; k++) {
        const struct frame_pair pair = pair_at(sequence, k, settings->range);

        for (size_t row = 0; row < blocks_in(sequence->height); row++) {
            search_row(to, &pair, row);
            to += blocks_in(sequence->width);
        }
        course_note(&course, &own, 0, k);
    }
    title_print(settings, sequence);
    course_print(&course, &own, 0.0, "");
    free(sequence->luma);
    return result;
}

// How well each frame is predicted, and all of them.
static void psnr_print(const struct sequence *sequence,
                       const struct motion *result)
{
    const size_t n = n_blocks(sequence);
    const double n_pixels = (double)sequence->width * (double)sequence->height;
    uint64_t all = 0;

    for (size_t k = 1; k < sequence->n_frames; k++) {
        uint64_t error = 0;

        for (size_t i = 0; i < n; i++) {
            error += result[(k - 1) * n + i].error;
        }
        printf("frame %zu: PSNR %.2f dB\n", k, psnr_db(error, n_pixels));
        all += error;
    }
    printf("all frames: PSNR %.2f dB\n",
           psnr_db(all, n_pixels * (double)(sequence->n_frames - 1)));
}

static void vectors_write(FILE *file, const struct sequence *sequence,
                          const struct motion *result)
{
    const size_t n_columns = blocks_in(sequence->width);
    const size_t n = n_blocks(sequence);

    fprintf(file, "# frame, left and top of the block, vector to where it was "
                  "(x, y), SAD\n");
    for (size_t i = 0; i < (sequence->n_frames - 1) * n; i++) {
        fprintf(file, "%zu %zu %zu %d %d %u\n", i / n + 1,
                i % n % n_columns * MACROBLOCK, i % n / n_columns * MACROBLOCK,
                result[i].x, result[i].y, result[i].sad);
    }
}

// @return is the result that of the sequential program?
static bool verify(const struct settings *settings, const struct motion *result)
{
    struct sequence sequence;
    struct motion *expected = search_sequentially(settings, &sequence);
    const bool right = is_identical_bytes(
        result, expected,
        (sequence.n_frames - 1) * n_blocks(&sequence) * sizeof *expected);

    free(expected);
    return right;
}

int main(int argc, char **argv)
{
    struct settings settings = {.size = 512,
                                .n_iterations = 24,
                                .range = 16,
                                .seed = 1,
                                .all_frames = true};
    struct sequence sequence;
    struct motion *result;
    FILE *file = NULL;
    bool right = true;

    tm_init(&argc, &argv);
    settings.n_threads = 4 * tm_node_count();
    settings_parse(&settings, argc, argv, &about);
    if (settings.vectors != NULL) {
        file = output_open(settings.vectors);
    }
    result = settings.sequential ? search_sequentially(&settings, &sequence)
                                 : search_with_threads(&settings, &sequence);
    psnr_print(&sequence, result);
    checksum_print(
        checksum_bytes(result, (sequence.n_frames - 1) * n_blocks(&sequence) *
                                   sizeof *result));
    if (file != NULL) {
        vectors_write(file, &sequence, result);
        output_close(file, settings.vectors);
    }
    if (settings.verify) {
        right = verify(&settings, result);
    }
    free(result);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
