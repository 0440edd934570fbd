// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_WEB_FILES_H
#define CLI_WEB_FILES_H

#include <stddef.h>

/* The files of the live page: those of cli/web/, and uPlot's if it was there. They are put
 * into the program when it is built (cmake/embed.cmake). */

struct web_file {
    const char *path; ///< from the slash on
    const char *type;
    const unsigned char *bytes;
    size_t size;
};

extern const struct web_file web_files[]; ///< the last one has no path

#endif
