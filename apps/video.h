// SPDX-License-Identifier: BSD-3-Clause
#ifndef APPS_VIDEO_H
#define APPS_VIDEO_H
/*
 * Reads the luma, the grey picture, of video files, frame by frame: YUV4MPEG2
 * (.y4m) with 8 bits and 4:2:0 chroma or none, and raw planar YUV 4:2:0.
 * Whatever is wrong with a file ends the program; see files.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "files.h"

struct video {
    struct input input;
    size_t width, height;
    size_t n_chroma_bytes; ///< of a frame
    size_t n_frames_most;  ///< no more fit into the file
    size_t n_frames;       ///< that were read
    bool has_headers;      ///< .y4m
};

/**
 * Open a file and find out what it is.
 * @param width, height  of a frame of raw video; 0: not said. A .y4m file says
 *                       it itself, and must not be contradicted.
 */
void video_open(struct video *video, const char *path, size_t width,
                size_t height);
void video_close(struct video *video);

/**
 * Read the next frame.
 * @param[out] luma  [height][width]
 * @return was there one?
 */
bool video_read(struct video *video, uint8_t *luma);

#endif
