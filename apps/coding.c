// SPDX-License-Identifier: BSD-3-Clause
/*
 * The files, for blocks of B x B pixels of P values each:
 *
 *   NAME.codebook  text: a line of comment; then a line for each codeword, its
 *                  pixels row by row
 *   NAME.vq        two lines of text, `VQ1` and `WIDTH HEIGHT P B CODEWORDS
 *                  BITS`; then for each block, row by row, the number of its
 *                  codeword in BITS bits, the highest first, without gaps
 *   NAME.pgm/.ppm  the image to which these two decode
 */
#include "coding.h"

#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "files.h"

struct layout layout_make(const struct image *image, size_t block)
{
    return (struct layout){.width = image->width,
                           .height = image->height,
                           .n_planes = image->n_planes,
                           .block = block,
                           .n_vectors =
                               (image->width / block) * (image->height / block),
                           .n_values = block * block * image->n_planes};
}

struct coding coding_make(const struct layout *layout, size_t n_codewords)
{
    const size_t n_number_bytes = layout->n_vectors * sizeof(uint16_t);
    struct coding coding = {.n_codewords = n_codewords,
                            .n_bytes = n_number_bytes +
                                       n_codewords * layout->n_values};

    coding.numbers = plain_memory(coding.n_bytes);
    coding.codebook = (uint8_t *)coding.numbers + n_number_bytes;
    return coding;
}

// Where row `row` of block `i` begins, in values of the image.
static size_t place_of(const struct layout *layout, size_t i, size_t row)
{
    const size_t n_columns = layout->width / layout->block;
    const size_t x = i % n_columns * layout->block;
    const size_t y = i / n_columns * layout->block + row;

    return (y * layout->width + x) * layout->n_planes;
}

void vectors_cut(uint8_t *vectors, const struct image *image,
                 const struct layout *layout, uint32_t seed, size_t first,
                 size_t end)
{
    const struct scene scene = {layout->width, layout->height, seed};
    const size_t n_row_bytes = layout->block * layout->n_planes;

    for (size_t i = first; i < end; i++) {
        for (size_t row = 0; row < layout->block; row++) {
            const size_t place = place_of(layout, i, row);
            uint8_t *to = &vectors[i * layout->n_values + row * n_row_bytes];

            if (image->values != NULL) {
                memcpy(to, &image->values[place], n_row_bytes);
            } else {
                scene_fill(to, place % scene.width, layout->block,
                           place / scene.width, 0, &scene);
            }
        }
    }
}

unsigned bits_for(size_t n_codewords)
{
    unsigned n = 0;

    while ((size_t)1 << n < n_codewords) {
        n++;
    }
    return n;
}

void coding_print(const struct coding *coding, const struct image *image,
                  const struct layout *layout, uint32_t seed)
{
    const double n_pixels = (double)layout->width * (double)layout->height;
    uint8_t *vector = plain_memory(layout->n_vectors * layout->n_values);
    uint64_t error = 0;

    vectors_cut(vector, image, layout, seed, 0, layout->n_vectors);
    for (size_t i = 0; i < layout->n_vectors * layout->n_values; i++) {
        const size_t c = coding->numbers[i / layout->n_values];
        const int difference =
            vector[i] -
            coding->codebook[c * layout->n_values + i % layout->n_values];

        error += (uint64_t)(difference * difference);
    }
    free(vector);
    printf("coded: %.3f bits per pixel, PSNR %.2f dB\n",
           (double)layout->n_vectors * bits_for(coding->n_codewords) / n_pixels,
           psnr_db(error, n_pixels * (double)layout->n_planes));
}

// The name of a file, for free().
static char *path_make(const char *name, const char *end)
{
    const size_t size = strlen(name) + strlen(end) + 1;
    char *path = plain_memory(size);

    snprintf(path, size, "%s%s", name, end);
    return path;
}

static FILE *file_open(const char *name, const char *end)
{
    char *path = path_make(name, end);
    FILE *file = output_open(path);

    free(path);
    return file;
}

static void file_close(FILE *file, const char *name, const char *end)
{
    char *path = path_make(name, end);

    output_close(file, path);
    free(path);
}

struct outputs outputs_open(const char *name, const struct layout *layout)
{
    struct outputs outputs = {
        .name = name, .image_end = layout->n_planes == 3 ? ".ppm" : ".pgm"};

    if (name != NULL) {
        outputs.codebook = file_open(name, ".codebook");
        outputs.coded = file_open(name, ".vq");
        outputs.decoded = file_open(name, outputs.image_end);
    }
    return outputs;
}

static void codebook_write(FILE *file, const struct coding *coding,
                           const struct layout *layout)
{
    const uint8_t *value = coding->codebook;

    fprintf(file, "# %zu codewords of %zu x %zu pixels of %zu values\n",
            coding->n_codewords, layout->block, layout->block,
            layout->n_planes);
    for (size_t c = 0; c < coding->n_codewords; c++) {
        for (size_t d = 0; d < layout->n_values; d++) {
            fprintf(file, "%s%u", d > 0 ? " " : "", *value++);
        }
        fprintf(file, "\n");
    }
}

static void coded_write(FILE *file, const struct coding *coding,
                        const struct layout *layout)
{
    const unsigned n_bits = bits_for(coding->n_codewords);
    unsigned n_waiting = 0;
    uint32_t waiting = 0; // its lowest n_waiting bits are still to be written

    fprintf(file, "VQ1\n%zu %zu %zu %zu %zu %u\n", layout->width,
            layout->height, layout->n_planes, layout->block,
            coding->n_codewords, n_bits);
    for (size_t i = 0; i < layout->n_vectors; i++) {
        waiting = waiting << n_bits | coding->numbers[i];
        n_waiting += n_bits;
        while (n_waiting >= 8) {
            n_waiting -= 8;
            putc((int)(waiting >> n_waiting & 255), file);
        }
    }
    if (n_waiting > 0) {
        putc((int)(waiting << (8 - n_waiting) & 255), file);
    }
}

static void decoded_write(FILE *file, const struct coding *coding,
                          const struct layout *layout)
{
    const size_t n_row_bytes = layout->block * layout->n_planes;
    struct image image = {layout->width, layout->height, layout->n_planes,
                          plain_memory(layout->n_vectors * layout->n_values)};

    for (size_t i = 0; i < layout->n_vectors; i++) {
        const uint8_t *codeword =
            &coding->codebook[coding->numbers[i] * layout->n_values];

        for (size_t row = 0; row < layout->block; row++) {
            memcpy(&image.values[place_of(layout, i, row)],
                   &codeword[row * n_row_bytes], n_row_bytes);
        }
    }
    image_write(file, &image);
    free(image.values);
}

void outputs_write(struct outputs *outputs, const struct coding *coding,
                   const struct layout *layout)
{
    if (outputs->name == NULL) {
        return;
    }
    codebook_write(outputs->codebook, coding, layout);
    file_close(outputs->codebook, outputs->name, ".codebook");
    coded_write(outputs->coded, coding, layout);
    file_close(outputs->coded, outputs->name, ".vq");
    decoded_write(outputs->decoded, coding, layout);
    file_close(outputs->decoded, outputs->name, outputs->image_end);
}
