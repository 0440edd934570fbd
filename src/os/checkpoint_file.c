// SPDX-License-Identifier: BSD-3-Clause
//
// Files of a checkpoint. A file is
//
//     "TMCKPT3\n"  { stored u32, size u32, bytes, checksum u64 } ...  0 u32, checksum u64
//
// A record of `size` bytes is compressed if fewer are stored, which is so if that spares an
// eighth. Of each 256 records the first 16 are tried; if that was of use for fewer than four of
// them, the others are not. Checksums are of what is stored, so files can be looked at without
// zstd.
//
// A checksum goes on from the one before, so a record that is missing, or at another
// place, is seen as one that has changed. Who knows the checksum in front of a record can
// read it alone (checkpoint_read_at). The first records may be a head, which can be read where
// the rest of the file is not: the manifest says how long it is.
#include "os/checkpoint_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"

static const char magic[8] = "TMCKPT3\n";

#define SMALL 1024u      // records that are not worth it
#define N_TRIED 16u      // of ...
#define N_OF 256u        // ... so many
#define SMALLER_LEAST 4u // or the others are not tried

#define SEED UINT64_C(0x7465616d73746572)

// Each step can be undone, so two words that differ lead to two different sums.
static uint64_t add_word(uint64_t hash, uint64_t word)
{
    return random_mix((hash ^ word) + UINT64_C(0x9e3779b97f4a7c15));
}

uint64_t checkpoint_hash(uint64_t seed, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint64_t hash = add_word(seed, size);
    uint64_t word;

    for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = add_word(hash, word);
    }
    word = 0;
    if (size > 0) {
        memcpy(&word, at, size);
    }
    return add_word(hash, word);
}

// ---- writing

// Beyond `ulimit -f` a write would end the process; it is to fail instead.
static int hold_signal(sigset_t *before)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    return pthread_sigmask(SIG_BLOCK, &set, before);
}

static void let_signal(const sigset_t *before)
{
    const struct timespec at_once = {0};
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    while (sigtimedwait(&set, NULL, &at_once) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static uint64_t record_hash(uint64_t seed, uint32_t size, const void *bytes,
                            uint32_t stored)
{
    return checkpoint_hash(add_word(seed, size), bytes, stored);
}

static void put(struct checkpoint_writer *writer, const void *bytes,
                size_t size)
{
    sigset_t before;

    if (size == 0 || writer->error != 0) {
        return;
    }
    hold_signal(&before);
    errno = EIO; // if nobody says why
    if (fwrite(bytes, 1, size, writer->file) != size) {
        writer->error = errno; // told at the end
    }
    let_signal(&before);
    writer->sum.n_bytes += size;
}

const char *checkpoint_write_begin(struct checkpoint_writer *writer,
                                   const char *path, int is_compressed)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    *writer = (struct checkpoint_writer){.sum = {.hash = SEED}};
    writer->file = fd < 0 ? NULL : fdopen(fd, "w");
    if (writer->file == NULL) {
        return strerror(errno);
    }
    if (is_compressed) {
        writer->packed = malloc(CHECKPOINT_RECORD_MAX);
        writer->compression =
            writer->packed == NULL ? NULL : compression_open();
    }
    put(writer, magic, sizeof magic);
    return NULL;
}

// A record has been tried.
static void note_tried(struct checkpoint_writer *writer, int is_smaller)
{
    writer->n_smaller += (unsigned)is_smaller;
    if (++writer->n_tried == N_TRIED) {
        writer->n_left_alone =
            writer->n_smaller < SMALLER_LEAST ? N_OF - N_TRIED : 0;
        writer->n_tried = 0;
        writer->n_smaller = 0;
    }
}

// @return bytes of writer->packed; 0: it is stored as it is
static uint32_t pack(struct checkpoint_writer *writer, const void *bytes,
                     uint32_t size)
{
    uint32_t n;

    if (writer->compression == NULL || size < SMALL) {
        return 0;
    }
    if (writer->n_left_alone > 0) {
        writer->n_left_alone--;
        return 0;
    }
    n = compression_pack(writer->compression, bytes, size, writer->packed,
                         size - size / 8);
    note_tried(writer, n > 0);
    return n;
}

struct checkpoint_place checkpoint_write(struct checkpoint_writer *writer,
                                         const void *bytes, uint32_t size)
{
    const struct checkpoint_place place = {writer->sum.n_bytes,
                                           writer->sum.hash};
    const uint32_t packed = pack(writer, bytes, size);
    const uint32_t stored = packed > 0 ? packed : size;
    const void *what = packed > 0 ? writer->packed : bytes;
    const uint64_t hash = record_hash(place.seed, size, what, stored);

    writer->sum.hash = hash;
    writer->n_plain += size;
    put(writer, &stored, sizeof stored);
    put(writer, &size, sizeof size);
    put(writer, what, stored);
    put(writer, &hash, sizeof hash);
    return place;
}

void checkpoint_write_head(struct checkpoint_writer *writer)
{
    writer->sum.n_head = writer->sum.n_bytes;
}

const char *checkpoint_write_end(struct checkpoint_writer *writer)
{
    const uint32_t none = 0;
    sigset_t before;

    put(writer, &none, sizeof none);
    put(writer, &writer->sum.hash, sizeof writer->sum.hash);
    hold_signal(&before);
    errno = EIO;
    if (writer->error == 0 &&
        (fflush(writer->file) != 0 || fsync(fileno(writer->file)) != 0)) {
        writer->error = errno;
    }
    if (fclose(writer->file) != 0 && writer->error == 0) {
        writer->error = errno;
    }
    let_signal(&before);
    writer->file = NULL;
    compression_close(writer->compression);
    writer->compression = NULL;
    free(writer->packed);
    writer->packed = NULL;
    return writer->error == 0 ? NULL : strerror(writer->error);
}

// ---- reading

static int get(struct checkpoint_reader *reader, void *bytes, size_t size)
{
    reader->sum.n_bytes += size;
    return fread(bytes, 1, size, reader->file) == size;
}

const char *checkpoint_read_from(struct checkpoint_reader *reader, FILE *file)
{
    const char *why = NULL;
    char found[sizeof magic];

    *reader =
        (struct checkpoint_reader){.sum = {.hash = SEED},
                                   .file = file,
                                   .bytes = malloc(CHECKPOINT_RECORD_MAX),
                                   .packed = malloc(CHECKPOINT_RECORD_MAX)};
    errno = 0;
    if (reader->bytes == NULL || reader->packed == NULL) {
        why = strerror(ENOMEM);
    } else if (!get(reader, found, sizeof found) ||
               memcmp(found, magic, sizeof magic) != 0) {
        why = errno != 0 ? strerror(errno) : "it is no file of a checkpoint";
    }
    if (why != NULL) {
        checkpoint_read_end(reader);
    }
    return why;
}

const char *checkpoint_read_begin(struct checkpoint_reader *reader,
                                  const char *path)
{
    FILE *file = fopen(path, "re");

    return file == NULL ? strerror(errno) : checkpoint_read_from(reader, file);
}

static enum checkpoint_read judge_end(struct checkpoint_reader *reader)
{
    uint64_t found;

    return get(reader, &found, sizeof found) && found == reader->sum.hash &&
                   fgetc(reader->file) == EOF
               ? CHECKPOINT_END
               : CHECKPOINT_TORN;
}

// What is in front of a record; or behind the last one.
static enum checkpoint_read read_sizes(struct checkpoint_reader *reader,
                                       uint32_t *stored, uint32_t *size)
{
    if (!get(reader, stored, sizeof *stored) ||
        (*stored > 0 && !get(reader, size, sizeof *size))) {
        return CHECKPOINT_TORN;
    }
    if (*stored == 0) {
        return judge_end(reader);
    }
    return *size > CHECKPOINT_RECORD_MAX || *stored > *size ? CHECKPOINT_TORN
                                                            : CHECKPOINT_RECORD;
}

// What is stored of a record, to reader->bytes if it is all, else to reader->packed.
static enum checkpoint_read read_stored(struct checkpoint_reader *reader,
                                        uint32_t *stored, uint32_t *size)
{
    const enum checkpoint_read front = read_sizes(reader, stored, size);
    uint8_t *to;
    uint64_t found;

    if (front != CHECKPOINT_RECORD) {
        return front;
    }
    to = *stored < *size ? reader->packed : reader->bytes;
    if (!get(reader, to, *stored) || !get(reader, &found, sizeof found)) {
        return CHECKPOINT_TORN;
    }
    reader->sum.hash = record_hash(reader->sum.hash, *size, to, *stored);
    return found == reader->sum.hash ? CHECKPOINT_RECORD : CHECKPOINT_TORN;
}

static enum checkpoint_read unpack(struct checkpoint_reader *reader,
                                   uint32_t stored, uint32_t size)
{
    if (reader->compression == NULL) {
        reader->compression = compression_open();
    }
    return reader->compression == NULL ? CHECKPOINT_PACKED
           : compression_unpack(reader->compression, reader->packed, stored,
                                reader->bytes, size)
               ? CHECKPOINT_RECORD
               : CHECKPOINT_TORN;
}

int checkpoint_has_read(const struct checkpoint_reader *reader, uint64_t n_head)
{
    return reader->sum.n_bytes >= n_head;
}

enum checkpoint_read checkpoint_read(struct checkpoint_reader *reader,
                                     uint32_t *size)
{
    uint32_t stored;
    const enum checkpoint_read found = read_stored(reader, &stored, size);

    return found == CHECKPOINT_RECORD && stored < *size
               ? unpack(reader, stored, *size)
               : found;
}

// The checksum behind a record is what the next one goes on from.
enum checkpoint_read checkpoint_skip(struct checkpoint_reader *reader)
{
    uint32_t stored;
    uint32_t size;
    const enum checkpoint_read front = read_sizes(reader, &stored, &size);

    if (front != CHECKPOINT_RECORD) {
        return front;
    }
    if (fseeko(reader->file, (off_t)stored, SEEK_CUR) != 0) {
        return CHECKPOINT_TORN;
    }
    reader->sum.n_bytes += stored;
    reader->n_skipped += stored;
    return get(reader, &reader->sum.hash, sizeof reader->sum.hash)
               ? CHECKPOINT_RECORD
               : CHECKPOINT_TORN;
}

const char *checkpoint_why(enum checkpoint_read found)
{
    return found == CHECKPOINT_PACKED
               ? "it is compressed, and there is no zstd here (teamster info)"
               : "it is torn, or bytes of it have changed";
}

enum checkpoint_read checkpoint_read_at(struct checkpoint_reader *reader,
                                        const struct checkpoint_place *place,
                                        uint32_t *size)
{
    if (place->offset > INT64_MAX ||
        fseeko(reader->file, (off_t)place->offset, SEEK_SET) != 0) {
        return CHECKPOINT_TORN;
    }
    reader->sum =
        (struct checkpoint_sum){.n_bytes = place->offset, .hash = place->seed};
    return checkpoint_read(reader, size);
}

void checkpoint_read_end(struct checkpoint_reader *reader)
{
    if (reader->file != NULL) {
        fclose(reader->file);
    }
    free(reader->bytes);
    free(reader->packed);
    compression_close(reader->compression);
    *reader = (struct checkpoint_reader){0};
}

const char *checkpoint_check(const char *path, const struct checkpoint_sum *sum)
{
    struct checkpoint_reader reader;
    enum checkpoint_read found;
    const char *why = checkpoint_read_begin(&reader, path);
    uint32_t stored;
    uint32_t size;

    if (why != NULL) {
        return why;
    }
    do {
        found = read_stored(&reader, &stored, &size);
    } while (found == CHECKPOINT_RECORD);
    if (found == CHECKPOINT_TORN) {
        why = checkpoint_why(found);
    } else if (reader.sum.hash != sum->hash ||
               reader.sum.n_bytes != sum->n_bytes) {
        why = "it is of another checkpoint";
    }
    checkpoint_read_end(&reader);
    return why;
}

const char *checkpoint_sync_folder(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *why = NULL;

    if (fd < 0) {
        return strerror(errno);
    }
    // Some file systems have nothing to do there, and say so.
    if (fsync(fd) != 0 && errno != EINVAL) {
        why = strerror(errno);
    }
    close(fd);
    return why;
}
