// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_SEGMENTS_H
#define CLI_SEGMENTS_H

#include <stddef.h>

/*
 * The folder in memory where the nodes of a host make their segments; segments.c says
 * why, and how it goes when nobody is left to remove it.
 */

/** Remove what runs of this user have left that were killed as a whole, and make a
 * folder.
 *
 * @param[out] path  [size] "" if there can be none
 * @return the lock that says that it is used, for close() of the last process that may
 *         have to do with it; -1 without a folder */
int segments_make_folder(char *path, size_t size);

/** Remove the segments in it, when no node is left, but no checkpoints; "": none. */
void segments_empty_folder(const char *path);

/** Remove it, with what is in it; "": none. Waits for nodes that are just making
 * something there. */
void segments_remove_folder(const char *path);

#endif
