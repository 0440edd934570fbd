// SPDX-License-Identifier: BSD-3-Clause
// os/checkpoint_manifest.c and os/checkpoint_file.c: a manifest that is taken is written again
// as it was; a file is read to its end or to where it is torn, and no further. The first byte
// says which of the two; a manifest gets the checksum that it needs to be looked at.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "os/checkpoint_manifest.h"

static void check_manifest(const char *text, size_t size)
{
    struct checkpoint_manifest *manifest = calloc(1, sizeof *manifest);
    struct checkpoint_manifest *again = calloc(1, sizeof *again);
    char **argv;
    char *written;
    size_t n;

    FUZZ_CHECK(manifest != NULL && again != NULL);
    if (checkpoint_manifest_read(text, size, manifest) == TM_OK) {
        FUZZ_CHECK(manifest->n_nodes >= 1 && manifest->n_nodes <= TM_MAX_NODES);
        written = checkpoint_manifest_write(manifest, &n);
        FUZZ_CHECK(written != NULL);
        FUZZ_CHECK(checkpoint_manifest_read(written, n, again) == TM_OK);
        FUZZ_CHECK(memcmp(manifest, again, sizeof *again) == 0);
        free(written);
        argv = checkpoint_arguments(manifest);
        FUZZ_CHECK(argv != NULL);
        free(argv);
    }
    free(again);
    free(manifest);
}

static void fuzz_manifest(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 32);
    int n;

    FUZZ_CHECK(text != NULL);
    if (size > 0) {
        memcpy(text, data, size);
    }
    n = snprintf(text + size, 32, "end %" PRIu64 "\n",
                 checkpoint_hash(0, text, size));
    check_manifest(text, size + (size_t)n);
    check_manifest(text, size);
    free(text);
}

static void fuzz_file_of(const uint8_t *data, size_t size)
{
    struct checkpoint_reader reader;
    enum checkpoint_read found;
    uint32_t n;

    if (checkpoint_read_from(&reader, fuzz_file(data, size)) != NULL) {
        return;
    }
    do {
        found = checkpoint_read(&reader, &n);
        FUZZ_CHECK(found != CHECKPOINT_RECORD ||
                   (n > 0 && n <= CHECKPOINT_RECORD_MAX));
    } while (found == CHECKPOINT_RECORD);
    FUZZ_CHECK(found != CHECKPOINT_END || reader.sum.n_bytes == size);
    checkpoint_read_end(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] % 2 == 0) {
        fuzz_manifest(data + 1, size - 1);
    } else if (size > 0) {
        fuzz_file_of(data + 1, size - 1);
    }
    return 0;
}
