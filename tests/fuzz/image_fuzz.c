// SPDX-License-Identifier: BSD-3-Clause
// apps/image.c: PGM and PPM files. A picture that is read is as large as it says, and is
// written as a file that is read as the same.
#include <stdlib.h>
#include <string.h>

#include "../../apps/image.h"
#include "fuzz.h"
#include "pictures.h"

static unsigned sum;

static void read_image(const char *path)
{
    struct image image = image_read(path);
    size_t n_values = image.width * image.height * image.n_planes;
    FILE *nowhere = fopen("/dev/null", "we");

    FUZZ_CHECK(image.n_planes == 1 || image.n_planes == 3);
    for (size_t i = 0; i < n_values; i++) {
        sum += image.values[i];
    }
    FUZZ_CHECK(nowhere != NULL);
    image_write(nowhere, &image);
    fclose(nowhere);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_reader(data, size, read_image);
    return 0;
}
