// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_MEMORY_FILES_H
#define CLI_MEMORY_FILES_H

#include <stddef.h>
#include <sys/types.h>

#include "mux.h"

/*
 * Checkpoints in the memory of this host (--buddy), as the launcher and agents find, read and write
 * them when a run goes back. Their folder need not be there.
 */

/** The number of a file that is a manifest; it is of its own generation. */
#define MEMORY_MANIFEST UINT32_MAX

/** Bytes that are read or written at a time. */
#define MEMORY_PART (512u << 10)

/** Send a frame of agent_frames.def that is about a file: its record, then bytes.
 * @param bytes  [size] */
void memory_send(struct mux *mux, enum mux_kind kind,
                 const struct wire_agent_file *file, const void *bytes,
                 size_t size);

/** There is a file, of so many bytes. @param text  [size] of a manifest */
typedef void memory_tell_fn(void *owner, const struct wire_agent_file *file,
                            const char *text, size_t size);

/** Tell of all files, of generations whole or not. */
void memory_list(const char *folder, memory_tell_fn *tell, void *owner);

/** Read from a place on. @return bytes; 0 or less: it cannot be read */
ssize_t memory_read_part(const char *folder, const struct wire_agent_file *from,
                         void *bytes, size_t size);

/** Write what is to be at a place of a file; a manifest as a whole, when all files are there.
 * @return 0, errno */
int memory_write_part(const char *folder, const struct wire_agent_file *to,
                      const void *bytes, size_t size);

/** Remove all generations but one. */
void memory_keep(const char *folder, uint64_t generation);

#endif
