// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_CHECKPOINT_FILE_H
#define OS_CHECKPOINT_FILE_H

#include <stdint.h>
#include <stdio.h>

#include "os/compression.h"

/*
 * A file of a checkpoint: records of bytes, one behind the other, each with a checksum, and
 * an end that says that it is whole. What the bytes mean is for others to say. Records may
 * be compressed.
 */

/** Bytes of a record, at most. */
#define CHECKPOINT_RECORD_MAX (1u << 20)

/** What a whole file comes to: in the manifest (os/checkpoint_manifest.h). */
struct checkpoint_sum {
    uint64_t n_bytes;
    uint64_t hash;   ///< of all records, in their order
    uint64_t n_head; ///< bytes of the head, 0: it has none
};

/** A checksum that may be stored. A change of one byte, or of eight that lie together, is
 * always seen. @param seed  the checksum of what is in front
 * Context: any; pure. */
uint64_t checkpoint_hash(uint64_t seed, const void *bytes, size_t size);

/** Where a record is in its file, so that it can be read by itself. */
struct checkpoint_place {
    uint64_t offset;
    uint64_t seed; ///< the checksum of all that is in front
};

struct checkpoint_writer {
    FILE *file;
    int error; ///< of the first write that failed: errno
    struct checkpoint_sum sum;
    uint64_t n_plain; ///< bytes of all records, before they were compressed
    struct compression *compression; ///< NULL: they are not
    uint8_t *packed;                 ///< [CHECKPOINT_RECORD_MAX] if they are
    unsigned n_tried;      ///< since it was last asked whether it pays
    unsigned n_smaller;    ///< of these
    unsigned n_left_alone; ///< records that are not tried now
};

/** Begin a file that is not there yet. Whatever fails later is told at the end.
 * @param is_compressed  records are, where that pays and there is zstd
 * @return NULL, or why not: then there is nothing to end */
const char *checkpoint_write_begin(struct checkpoint_writer *writer,
                                   const char *path, int is_compressed);

/** Add a record. @param size  1 to CHECKPOINT_RECORD_MAX @return where it is */
struct checkpoint_place checkpoint_write(struct checkpoint_writer *writer,
                                         const void *bytes, uint32_t size);

/** What has been written until now is its head, which may be read without the rest. Once, or not at all. */
void checkpoint_write_head(struct checkpoint_writer *writer);

/** End it, and wait until it is on the disk. @return NULL, or why it is not whole */
const char *checkpoint_write_end(struct checkpoint_writer *writer);

struct checkpoint_reader {
    FILE *file;
    uint8_t *bytes; ///< [CHECKPOINT_RECORD_MAX]
    struct checkpoint_sum sum;
    uint64_t n_skipped;              ///< bytes of records that were gone past
    uint8_t *packed;                 ///< [CHECKPOINT_RECORD_MAX]
    struct compression *compression; ///< NULL: none has been needed
};

/** Read a file that is open, which is closed at the end.
 * @return NULL, or why not: then there is nothing to end */
const char *checkpoint_read_from(struct checkpoint_reader *reader, FILE *file);
/** The same of one on the disk. */
const char *checkpoint_read_begin(struct checkpoint_reader *reader,
                                  const char *path);

enum checkpoint_read {
    CHECKPOINT_RECORD, ///< there is one, good until the next call
    CHECKPOINT_END,    ///< there was none more, and the file is whole
    CHECKPOINT_TORN,   ///< it is not
    CHECKPOINT_PACKED, ///< the record is compressed, and there is no zstd here
};

/** What is said of a file of which that is found: TORN or PACKED. */
const char *checkpoint_why(enum checkpoint_read found);

/** Is that all of the head? @param n_head  bytes of it, as the writer's sum had it */
int checkpoint_has_read(const struct checkpoint_reader *reader,
                        uint64_t n_head);

/** The next record. Accepts any bytes. @param[out] size  of reader->bytes */
enum checkpoint_read checkpoint_read(struct checkpoint_reader *reader,
                                     uint32_t *size);

/** Go past the next record, which others read and check. As checkpoint_read(), without `bytes`. */
enum checkpoint_read checkpoint_skip(struct checkpoint_reader *reader);

/** The record at a place; others may follow it. As checkpoint_read(), which says that it is torn
 * if it is not the one that was written there. */
enum checkpoint_read checkpoint_read_at(struct checkpoint_reader *reader,
                                        const struct checkpoint_place *place,
                                        uint32_t *size);

/** Close the file; what was read is not good any more. */
void checkpoint_read_end(struct checkpoint_reader *reader);

/** Is a file whole, and the one that the manifest means? @return NULL, or why not */
const char *checkpoint_check(const char *path,
                             const struct checkpoint_sum *sum);

/** Have a folder's list of names on the disk. @return NULL, or why not */
const char *checkpoint_sync_folder(const char *path);

#endif
