// SPDX-License-Identifier: BSD-3-Clause
//
// Files of a checkpoint. A file is
//
//     "TMCKPT2\n"  { size u32, bytes, checksum u64 } ...  0 u32, checksum u64
//
// A checksum goes on from the one before, so a record that is missing, or at another
// place, is seen as one that has changed. Who knows the checksum in front of a record can
// read it alone (checkpoint_read_at).
#include "os/checkpoint_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"

static const char magic[8] = "TMCKPT2\n";

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
                                   const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    *writer = (struct checkpoint_writer){.sum = {.hash = SEED}};
    writer->file = fd < 0 ? NULL : fdopen(fd, "w");
    if (writer->file == NULL) {
        return strerror(errno);
    }
    put(writer, magic, sizeof magic);
    return NULL;
}

struct checkpoint_place checkpoint_write(struct checkpoint_writer *writer,
                                         const void *bytes, uint32_t size)
{
    const struct checkpoint_place place = {writer->sum.n_bytes,
                                           writer->sum.hash};
    const uint64_t hash = checkpoint_hash(place.seed, bytes, size);

    writer->sum.hash = hash;
    put(writer, &size, sizeof size);
    put(writer, bytes, size);
    put(writer, &hash, sizeof hash);
    return place;
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
                                   .bytes = malloc(CHECKPOINT_RECORD_MAX)};
    errno = 0;
    if (reader->bytes == NULL) {
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

// A record has been read up to its checksum.
static enum checkpoint_read judge(struct checkpoint_reader *reader,
                                  uint32_t size)
{
    const uint64_t hash =
        checkpoint_hash(reader->sum.hash, reader->bytes, size);
    uint64_t found;

    reader->sum.hash = hash;
    return get(reader, &found, sizeof found) && found == hash
               ? CHECKPOINT_RECORD
               : CHECKPOINT_TORN;
}

static enum checkpoint_read judge_end(struct checkpoint_reader *reader)
{
    uint64_t found;

    return get(reader, &found, sizeof found) && found == reader->sum.hash &&
                   fgetc(reader->file) == EOF
               ? CHECKPOINT_END
               : CHECKPOINT_TORN;
}

enum checkpoint_read checkpoint_read(struct checkpoint_reader *reader,
                                     uint32_t *size)
{
    if (!get(reader, size, sizeof *size) || *size > CHECKPOINT_RECORD_MAX) {
        return CHECKPOINT_TORN;
    }
    if (*size == 0) {
        return judge_end(reader);
    }
    return get(reader, reader->bytes, *size) ? judge(reader, *size)
                                             : CHECKPOINT_TORN;
}

enum checkpoint_read checkpoint_read_at(struct checkpoint_reader *reader,
                                        const struct checkpoint_place *place,
                                        uint32_t *size)
{
    if (place->offset > INT64_MAX ||
        fseeko(reader->file, (off_t)place->offset, SEEK_SET) != 0) {
        return CHECKPOINT_TORN;
    }
    reader->sum = (struct checkpoint_sum){place->offset, place->seed};
    return checkpoint_read(reader, size);
}

void checkpoint_read_end(struct checkpoint_reader *reader)
{
    if (reader->file != NULL) {
        fclose(reader->file);
    }
    free(reader->bytes);
    *reader = (struct checkpoint_reader){0};
}

const char *checkpoint_check(const char *path, const struct checkpoint_sum *sum)
{
    struct checkpoint_reader reader;
    enum checkpoint_read found;
    const char *why = checkpoint_read_begin(&reader, path);
    uint32_t size;

    if (why != NULL) {
        return why;
    }
    do {
        found = checkpoint_read(&reader, &size);
    } while (found == CHECKPOINT_RECORD);
    if (found == CHECKPOINT_TORN) {
        why = "it is torn, or bytes of it have changed";
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
