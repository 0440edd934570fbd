// SPDX-License-Identifier: BSD-3-Clause
#include "video.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE_MOST = 60000, LINE_SIZE = 1024 };

static const char magic[] = "YUV4MPEG2 ";

// Skip bytes that must be there, also where the file cannot be wound.
static void skip(struct video *video, size_t n_bytes)
{
    uint8_t bytes[4096];

    while (n_bytes > 0) {
        const size_t n = n_bytes < sizeof bytes ? n_bytes : sizeof bytes;

        if (fread(bytes, 1, n, video->input.file) != n) {
            input_refuse(&video->input, "ends inside frame %zu",
                         video->n_frames);
        }
        n_bytes -= n;
    }
}

static size_t side_parse(const struct video *video, const char *word)
{
    char *end = NULL;
    const long long side = strtoll(&word[1], &end, 10);

    if (end == &word[1] || *end != '\0' || side < 1 || side > SIDE_MOST) {
        input_refuse(&video->input,
                     "has '%s' in its header; width (W) and height (H) must "
                     "be from 1 to %d",
                     word, SIDE_MOST);
    }
    return (size_t)side;
}

// @return has it chroma? Another layout of pixels ends the program.
static bool layout_parse(const struct video *video, const char *word)
{
    static const char *const known[] = {"C420", "C420jpeg", "C420mpeg2",
                                        "C420paldv"};

    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(word, known[i]) == 0) {
            return true;
        }
    }
    if (strcmp(word, "Cmono") != 0) {
        input_refuse(&video->input,
                     "has '%s' in its header; it must be 8 bits of 4:2:0, "
                     "C420, or Cmono",
                     word);
    }
    return false;
}

static void header_parse(struct video *video, char *line)
{
    bool has_chroma = true;
    char *rest = &line[sizeof magic - 1];
    char *word;

    while ((word = strsep(&rest, " ")) != NULL) {
        if (word[0] == 'W') {
            video->width = side_parse(video, word);
        } else if (word[0] == 'H') {
            video->height = side_parse(video, word);
        } else if (word[0] == 'C') {
            has_chroma = layout_parse(video, word);
        }
    }
    if (video->width == 0 || video->height == 0) {
        input_refuse(&video->input,
                     "has no width (W) or no height (H) in its header");
    }
    video->n_chroma_bytes =
        has_chroma ? (video->width + 1) / 2 * ((video->height + 1) / 2) * 2 : 0;
    video->has_headers = true;
}

static void frames_count(struct video *video)
{
    const size_t n_frame_bytes =
        video->width * video->height + video->n_chroma_bytes;

    video->n_frames_most = video->input.n_bytes / n_frame_bytes + 1;
    if (video->input.n_bytes < n_frame_bytes) { // before memory is asked for
        input_refuse(&video->input,
                     "has %llu bytes, less than a frame of %zu x %zu",
                     (unsigned long long)video->input.n_bytes, video->width,
                     video->height);
    }
    if (!video->has_headers && video->input.n_bytes % n_frame_bytes != 0) {
        input_refuse(&video->input,
                     "has %llu bytes, which is no whole number of frames of "
                     "%zu x %zu, %zu bytes each",
                     (unsigned long long)video->input.n_bytes, video->width,
                     video->height, n_frame_bytes);
    }
}

void video_open(struct video *video, const char *path, size_t width,
                size_t height)
{
    char line[LINE_SIZE];

    *video = (struct video){0};
    input_open(&video->input, path);
    if (input_line(&video->input, line, sizeof line) &&
        strncmp(line, magic, sizeof magic - 1) == 0) {
        header_parse(video, line);
        if ((width != 0 && width != video->width) ||
            (height != 0 && height != video->height)) {
            input_refuse(&video->input,
                         "has frames of %zu x %zu, not what --width and "
                         "--height say",
                         video->width, video->height);
        }
    } else {
        if (width == 0 || height == 0) {
            input_refuse(&video->input, "is not a .y4m file; raw video needs "
                                        "--width and --height");
        }
        rewind(video->input.file);
        video->width = width;
        video->height = height;
        video->n_chroma_bytes = (width + 1) / 2 * ((height + 1) / 2) * 2;
    }
    frames_count(video);
}

void video_close(struct video *video)
{
    input_close(&video->input);
}

bool video_read(struct video *video, uint8_t *luma)
{
    const size_t n_bytes = video->width * video->height;
    const int next = getc(video->input.file);
    char line[LINE_SIZE];

    if (next == EOF) {
        return false;
    }
    ungetc(next, video->input.file);
    if (video->has_headers && (!input_line(&video->input, line, sizeof line) ||
                               strncmp(line, "FRAME", 5) != 0)) {
        input_refuse(&video->input, "has no FRAME where frame %zu begins",
                     video->n_frames);
    }
    if (fread(luma, 1, n_bytes, video->input.file) != n_bytes) {
        input_refuse(&video->input, "ends inside frame %zu", video->n_frames);
    }
    skip(video, video->n_chroma_bytes);
    video->n_frames++;
    return true;
}
