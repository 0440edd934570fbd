// SPDX-License-Identifier: BSD-3-Clause
// apps/video.c: YUV4MPEG2 files, and raw video of a size that the input says. No more
// frames are read than fit into the file.
#include <stdlib.h>

#include "../../apps/video.h"
#include "fuzz.h"
#include "pictures.h"

enum { MOST = 1 << 16 };

static size_t width;
static size_t height;
static uint8_t *luma;

static void read_video(const char *path)
{
    struct video video;

    video_open(&video, path, width, height);
    // No frame is longer than the file.
    FUZZ_CHECK(video.width * video.height <= MOST);
    luma = realloc(luma, video.width * video.height);
    FUZZ_CHECK(luma != NULL);
    while (video_read(&video, luma)) {
        FUZZ_CHECK(video.n_frames <= video.n_frames_most);
    }
    video_close(&video);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > MOST) {
        return 0;
    }
    width = data[0] % 64;
    height = data[1] % 64;
    fuzz_reader(data + 2, size - 2, read_video);
    free(luma);
    luma = NULL;
    return 0;
}
