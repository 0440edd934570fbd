// SPDX-License-Identifier: BSD-3-Clause
//
// The manifest is text, a number or a word a line, so that one can look at it; its last
// line is a checksum of all before it. Order and names are those of `fields`.
#include "os/checkpoint_manifest.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/unseen.h"

#define FIRST_LINE "Teamster checkpoint 4\n"
#define MANIFEST_MAX (1u << 20)
#define WHOLE_KEPT 2u
#define SHARE_RECORDS                                                          \
    16u // one behind the other, so that pages that lie together stay so

static const struct {
    const char *name;
    size_t offset;
} fields[] = {
#define FIELD(name, member)                                                    \
    {                                                                          \
        (name), offsetof(struct checkpoint_manifest, member)                   \
    }
    FIELD("generation", generation), FIELD("time", time_s),
    FIELD("layout", layout),         FIELD("canary", canary),
    FIELD("stack", stack_size),      FIELD("max-threads", max_threads),
    FIELD("space", space),           FIELD("told", n_told),
    FIELD("prepared", prepared),     FIELD("calls", n_calls),
    FIELD("iteration", iteration),   FIELD("ended", n_ended),
    FIELD("threads", n_threads),     FIELD("pages", n_pages),
#undef FIELD
};

#define N_FIELDS (sizeof fields / sizeof fields[0])

static uint64_t *field_of(const struct checkpoint_manifest *manifest, size_t i)
{
    return (uint64_t *)((char *)manifest + fields[i].offset);
}

// ---- the program's words

void checkpoint_set_arguments(struct checkpoint_manifest *manifest,
                              char *const *argv)
{
    manifest->arguments_size = 0;
    for (; *argv != NULL; argv++) {
        const size_t size = strlen(*argv) + 1;

        if (size > sizeof manifest->arguments - manifest->arguments_size) {
            manifest->arguments_size = 0; // who restarts has to say them again
            return;
        }
        memcpy(manifest->arguments + manifest->arguments_size, *argv, size);
        manifest->arguments_size += size;
    }
}

// The words behind the program's name.
static size_t behind_name(const struct checkpoint_manifest *manifest)
{
    return manifest->arguments_size > 0 ? strlen(manifest->arguments) + 1 : 0;
}

int checkpoint_has_arguments(const struct checkpoint_manifest *manifest,
                             const struct checkpoint_manifest *other)
{
    const size_t from = behind_name(manifest);
    const size_t other_from = behind_name(other);
    const size_t size = manifest->arguments_size - from;

    return size == other->arguments_size - other_from &&
           memcmp(manifest->arguments + from, other->arguments + other_from,
                  size) == 0;
}

char **checkpoint_arguments(struct checkpoint_manifest *manifest)
{
    char **argv = calloc(manifest->arguments_size + 1, sizeof *argv);
    size_t n = 0;

    for (size_t at = 0; argv != NULL && at < manifest->arguments_size;
         at += strlen(manifest->arguments + at) + 1) {
        argv[n++] = manifest->arguments + at;
    }
    return argv;
}

uint64_t checkpoint_new_bytes(const struct checkpoint_manifest *manifest)
{
    uint64_t n_bytes = 0;

    for (unsigned i = 0; i < manifest->n_nodes; i++) {
        n_bytes += manifest->files[i].n_bytes;
    }
    return n_bytes;
}

uint64_t checkpoint_bytes(const struct checkpoint_manifest *manifest)
{
    uint64_t n_bytes = checkpoint_new_bytes(manifest);

    for (unsigned i = 0; i < manifest->n_older; i++) {
        n_bytes += manifest->older[i].sum.n_bytes;
    }
    return n_bytes;
}

// ---- as text

static void write_argument(FILE *file, const char *word)
{
    fputs("argument ", file);
    for (; *word != '\0'; word++) {
        if (isgraph((unsigned char)*word) && *word != '%') {
            putc(*word, file);
        } else {
            fprintf(file, "%%%02x", (unsigned char)*word);
        }
    }
    putc('\n', file);
}

static void write_sum(FILE *file, const struct checkpoint_sum *sum)
{
    fprintf(file, "file %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", sum->n_bytes,
            sum->hash, sum->n_head);
}

static void write_older(FILE *file, const struct checkpoint_older *older)
{
    fprintf(file,
            "older %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
            "\n",
            older->generation, older->index, older->sum.n_bytes,
            older->sum.hash, older->by);
}

char *checkpoint_manifest_write(const struct checkpoint_manifest *manifest,
                                size_t *size)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, size);

    if (file == NULL) {
        return NULL;
    }
    fprintf(file, FIRST_LINE "version %s\nprogram %s\n", manifest->version,
            manifest->build_id);
    for (size_t i = 0; i < N_FIELDS; i++) {
        fprintf(file, "%s %" PRIu64 "\n", fields[i].name,
                *field_of(manifest, i));
    }
    for (size_t at = 0; at < manifest->arguments_size;
         at += strlen(manifest->arguments + at) + 1) {
        write_argument(file, manifest->arguments + at);
    }
    for (unsigned i = 0; i < manifest->n_nodes; i++) {
        write_sum(file, &manifest->files[i]);
    }
    for (unsigned i = 0; i < manifest->n_older; i++) {
        write_older(file, &manifest->older[i]);
    }
    fflush(file);
    fprintf(file, "end %" PRIu64 "\n", checkpoint_hash(0, text, *size));
    return fclose(file) == 0 ? text : NULL;
}

/** The rest of a line whose first word is `name`. @return NULL if it is not, or too long */
static const char *take_line(const char **at, const char *end, const char *name,
                             char line[512])
{
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    const size_t length = strlen(name);

    if (stop == NULL || stop - *at >= 512) {
        return NULL;
    }
    memcpy(line, *at, (size_t)(stop - *at));
    line[stop - *at] = '\0';
    if (strncmp(line, name, length) != 0 || line[length] != ' ') {
        return NULL;
    }
    *at = stop + 1;
    return line + length + 1;
}

static int take_word(const char **at, const char *end, const char *name,
                     char word[64])
{
    char line[512];
    const char *rest = take_line(at, end, name, line);

    if (rest == NULL || strlen(rest) >= 64) {
        return 0;
    }
    memcpy(word, rest, strlen(rest) + 1);
    return 1;
}

static int take_number(const char **at, const char *end, const char *name,
                       uint64_t *number)
{
    char line[512];
    const char *rest = take_line(at, end, name, line);
    char *behind;

    if (rest == NULL || !isdigit((unsigned char)*rest)) {
        return 0;
    }
    errno = 0;
    *number = strtoull(rest, &behind, 10);
    return errno == 0 && *behind == '\0';
}

static int hex_value(char c)
{
    return isdigit((unsigned char)c) ? c - '0'
           : c >= 'a' && c <= 'f'    ? c - 'a' + 10
                                     : -1;
}

// Lines of arguments are as long as they are.
static int take_argument(const char **at, const char *end,
                         struct checkpoint_manifest *manifest)
{
    static const char name[] = "argument ";
    const char *c = *at;

    if ((size_t)(end - c) < sizeof name ||
        memcmp(c, name, sizeof name - 1) != 0) {
        return 0;
    }
    for (c += sizeof name - 1; c < end && *c != '\n'; c++) {
        int byte = (unsigned char)*c;

        if (byte == '%') {
            if (end - c < 3 || hex_value(c[1]) < 0 || hex_value(c[2]) < 0) {
                return 0;
            }
            byte = hex_value(c[1]) * 16 + hex_value(c[2]);
            c += 2;
        }
        if (byte == 0 ||
            manifest->arguments_size + 2 > sizeof manifest->arguments) {
            return 0;
        }
        manifest->arguments[manifest->arguments_size++] = (char)byte;
    }
    if (c == end || manifest->arguments_size == sizeof manifest->arguments) {
        return 0;
    }
    manifest->arguments[manifest->arguments_size++] = '\0';
    *at = c + 1;
    return 1;
}

// A line of numbers. @return 0, and `at` stays: it is another line
static int take_numbers(const char **at, const char *end, const char *name,
                        uint64_t *numbers, unsigned n)
{
    const char *const before = *at;
    char line[512];
    const char *rest = take_line(at, end, name, line);
    int behind = 0;

    for (unsigned i = 0; i < n && rest != NULL; i++, rest += behind) {
        if (sscanf(rest, "%" SCNu64 "%n", &numbers[i], &behind) != 1) {
            *at = before;
            return 0;
        }
    }
    if (rest == NULL || *rest != '\0') {
        *at = before;
        return 0;
    }
    return 1;
}

static int take_file(const char **at, const char *end,
                     struct checkpoint_manifest *manifest)
{
    uint64_t numbers[3];

    if (manifest->n_nodes == TM_MAX_NODES ||
        !take_numbers(at, end, "file", numbers, 3)) {
        return 0;
    }
    manifest->files[manifest->n_nodes++] =
        (struct checkpoint_sum){numbers[0], numbers[1], numbers[2]};
    return 1;
}

static int take_older(const char **at, const char *end,
                      struct checkpoint_manifest *manifest)
{
    uint64_t numbers[5];

    if (manifest->n_older == TM_MAX_NODES * CHECKPOINT_OLDER_MAX ||
        !take_numbers(at, end, "older", numbers, 5)) {
        return 0;
    }
    manifest->older[manifest->n_older++] = (struct checkpoint_older){
        numbers[0], numbers[1], {numbers[2], numbers[3], 0}, numbers[4]};
    return 1;
}

static int take_all(const char **at, const char *end,
                    struct checkpoint_manifest *manifest)
{
    if ((size_t)(end - *at) < strlen(FIRST_LINE) ||
        memcmp(*at, FIRST_LINE, strlen(FIRST_LINE)) != 0) {
        return 0;
    }
    *at += strlen(FIRST_LINE);
    if (!take_word(at, end, "version", manifest->version) ||
        !take_word(at, end, "program", manifest->build_id)) {
        return 0;
    }
    for (size_t i = 0; i < N_FIELDS; i++) {
        if (!take_number(at, end, fields[i].name, field_of(manifest, i))) {
            return 0;
        }
    }
    while (take_argument(at, end, manifest)) {
    }
    while (take_file(at, end, manifest)) {
    }
    while (take_older(at, end, manifest)) {
    }
    return manifest->n_nodes > 0;
}

tm_status checkpoint_manifest_read(const char *text, size_t size,
                                   struct checkpoint_manifest *manifest)
{
    const char *const end = text + size;
    const char *at = text;
    const char *last;
    uint64_t hash;

    memset(manifest, 0, sizeof *manifest);
    if (!take_all(&at, end, manifest)) {
        return TM_EINVAL;
    }
    last = at;
    return take_number(&at, end, "end", &hash) && at == end &&
                   hash == checkpoint_hash(0, text, (size_t)(last - text))
               ? TM_OK
               : TM_EINVAL;
}

// ---- who reads what

// The nodes between which a file is divided: one at least.
static unsigned first_place(unsigned file, unsigned n_files, unsigned n_nodes)
{
    return (unsigned)((uint64_t)file * n_nodes / n_files);
}

static unsigned count_places(unsigned file, unsigned n_files, unsigned n_nodes)
{
    const unsigned first = first_place(file, n_files, n_nodes);
    const unsigned next = first_place(file + 1, n_files, n_nodes);

    return next > first + 1 ? next - first : 1;
}

unsigned checkpoint_place_of(unsigned file, unsigned n_files, unsigned n_nodes,
                             uint64_t item)
{
    return first_place(file, n_files, n_nodes) +
           (unsigned)(item % count_places(file, n_files, n_nodes));
}

struct checkpoint_share checkpoint_share_of(unsigned file, unsigned n_files,
                                            unsigned n_nodes, unsigned place)
{
    const unsigned first = first_place(file, n_files, n_nodes);
    const unsigned n = count_places(file, n_files, n_nodes);

    return (struct checkpoint_share){
        .place = place >= first && place < first + n ? place - first : n,
        .n = n,
    };
}

int checkpoint_is_read_at(unsigned file, unsigned n_files, unsigned n_nodes,
                          unsigned place)
{
    const struct checkpoint_share share =
        checkpoint_share_of(file, n_files, n_nodes, place);

    return share.place < share.n;
}

int checkpoint_is_in_share(const struct checkpoint_share *share,
                           uint64_t number)
{
    return number / SHARE_RECORDS % share->n == share->place;
}

// ---- on the disk

void checkpoint_generation_path(char *path, const char *folder,
                                uint64_t generation)
{
    snprintf(path, CHECKPOINT_PATH_MAX, "%s/generation-%" PRIu64, folder,
             generation);
}

void checkpoint_file_path(char *path, const char *folder, uint64_t generation,
                          unsigned index)
{
    snprintf(path, CHECKPOINT_PATH_MAX, "%s/generation-%" PRIu64 "/node-%u",
             folder, generation, index);
}

void checkpoint_older_path(char *path, const char *folder, uint64_t generation,
                           uint64_t of, uint64_t index)
{
    snprintf(path, CHECKPOINT_PATH_MAX,
             "%s/generation-%" PRIu64 "/older-%" PRIu64 "-%" PRIu64, folder,
             generation, of, index);
}

void checkpoint_path_of(char *path, const char *folder, uint64_t generation,
                        const struct checkpoint_older *file)
{
    if (file->generation == generation) {
        checkpoint_file_path(path, folder, generation, (unsigned)file->index);
    } else {
        checkpoint_older_path(path, folder, generation, file->generation,
                              file->index);
    }
}

static void manifest_path(char *path, const char *folder, uint64_t generation,
                          const char *behind)
{
    snprintf(path, CHECKPOINT_PATH_MAX, "%s/generation-%" PRIu64 "/manifest%s",
             folder, generation, behind);
}

const char *checkpoint_open_folder(const char *folder)
{
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        return strerror(errno);
    }
    return access(folder, R_OK | W_OK | X_OK) == 0 ? NULL : strerror(errno);
}

static const char *make_generation(const char *folder, uint64_t generation,
                                   int may_be_there)
{
    char path[CHECKPOINT_PATH_MAX];
    const char *why = checkpoint_open_folder(folder);

    if (why != NULL) {
        return why;
    }
    checkpoint_generation_path(path, folder, generation);
    return mkdir(path, 0700) == 0 || (may_be_there && errno == EEXIST)
               ? NULL
               : strerror(errno);
}

const char *checkpoint_open_generation(const char *folder, uint64_t generation)
{
    return make_generation(folder, generation, 1);
}

const char *checkpoint_begin(const char *folder, uint64_t generation)
{
    return make_generation(folder, generation, 0);
}

const char *checkpoint_keep(const char *folder, uint64_t generation,
                            uint64_t other,
                            const struct checkpoint_older *older)
{
    char from[CHECKPOINT_PATH_MAX];
    char to[CHECKPOINT_PATH_MAX];
    struct stat state;

    checkpoint_path_of(from, folder, other, older);
    checkpoint_path_of(to, folder, generation, older);
    if (stat(from, &state) != 0) {
        return strerror(errno);
    }
    if ((uint64_t)state.st_size != older->sum.n_bytes) {
        return "it does not have the bytes that it had";
    }
    return link(from, to) == 0 ? NULL : strerror(errno);
}

static const char *write_manifest(const char *path, const char *text,
                                  size_t size)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    int is_whole;

    if (file == NULL) {
        return strerror(errno);
    }
    errno = 0;
    is_whole = fwrite(text, 1, size, file) == size && fflush(file) == 0 &&
               fsync(fileno(file)) == 0;
    is_whole &= fclose(file) == 0;
    return is_whole ? NULL : errno != 0 ? strerror(errno) : "writing failed";
}

// The files of nodes are on the disk; their names, then the manifest, then its name.
const char *checkpoint_commit(const char *folder,
                              const struct checkpoint_manifest *manifest)
{
    char generation[CHECKPOINT_PATH_MAX];
    char beside[CHECKPOINT_PATH_MAX];
    char path[CHECKPOINT_PATH_MAX];
    const char *why;
    size_t size;
    char *text = checkpoint_manifest_write(manifest, &size);

    if (text == NULL) {
        return strerror(ENOMEM);
    }
    checkpoint_generation_path(generation, folder, manifest->generation);
    manifest_path(beside, folder, manifest->generation, ".new");
    manifest_path(path, folder, manifest->generation, "");
    why = write_manifest(beside, text, size);
    free(text);
    if (why == NULL) {
        why = checkpoint_sync_folder(generation);
    }
    if (why == NULL && rename(beside, path) != 0) {
        why = strerror(errno);
    }
    if (why == NULL) {
        why = checkpoint_sync_folder(generation);
    }
    return why != NULL ? why : checkpoint_sync_folder(folder);
}

// Files that nobody knows stay, and so does the folder then.
static int is_ours(const char *name)
{
    return strncmp(name, "node-", strlen("node-")) == 0 ||
           strncmp(name, "older-", strlen("older-")) == 0 ||
           strcmp(name, "manifest.new") == 0;
}

void checkpoint_remove(const char *folder, uint64_t generation)
{
    char path[CHECKPOINT_PATH_MAX];
    DIR *opened;
    struct dirent *entry;

    manifest_path(path, folder, generation, ""); // first: now it is none
    unlink(path);
    checkpoint_generation_path(path, folder, generation);
    opened = opendir(path);
    while (opened != NULL && (entry = readdir(opened)) != NULL) {
        if (is_ours(entry->d_name)) {
            (void)unseen_unlink(dirfd(opened), entry->d_name);
        }
    }
    if (opened != NULL) {
        closedir(opened);
    }
    rmdir(path);
}

static int compare_falling(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;

    return (a < b) - (a > b);
}

size_t checkpoint_list(const char *folder, uint64_t **generations)
{
    DIR *opened = opendir(folder);
    struct dirent *entry;
    size_t n = 0;

    *generations = NULL;
    while (opened != NULL && (entry = readdir(opened)) != NULL) {
        uint64_t number;
        int behind = 0;

        if (sscanf(entry->d_name, "generation-%" SCNu64 "%n", &number,
                   &behind) == 1 &&
            isdigit((unsigned char)entry->d_name[strlen("generation-")]) &&
            entry->d_name[behind] == '\0') {
            uint64_t *more = realloc(*generations, (n + 1) * sizeof *more);

            if (more == NULL) {
                break;
            }
            *generations = more;
            more[n++] = number;
        }
    }
    if (opened != NULL) {
        closedir(opened);
    }
    if (n > 0) {
        qsort(*generations, n, sizeof **generations, compare_falling);
    }
    return n;
}

void checkpoint_remove_between(const char *folder, uint64_t above,
                               uint64_t below)
{
    uint64_t *generations;
    const size_t n = checkpoint_list(folder, &generations);

    for (size_t i = 0; i < n; i++) {
        if (generations[i] > above && generations[i] < below) {
            checkpoint_remove(folder, generations[i]);
        }
    }
    free(generations);
}

void checkpoint_tidy(const char *folder)
{
    uint64_t *generations;
    const size_t n = checkpoint_list(folder, &generations);
    unsigned n_whole = 0;

    for (size_t i = 0; i < n; i++) {
        char path[CHECKPOINT_PATH_MAX];

        manifest_path(path, folder, generations[i], "");
        if (n_whole == WHOLE_KEPT || access(path, F_OK) != 0) {
            checkpoint_remove(folder, generations[i]);
        } else {
            n_whole++;
        }
    }
    free(generations);
}

const char *checkpoint_claim(const char *folder)
{
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0) {
        return strerror(errno);
    }
    // Where files cannot be locked nobody knows.
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(fd);
        return "another run writes its checkpoints there";
    }
    checkpoint_tidy(folder);
    return NULL; // the lock goes with the process
}

static char *read_all(const char *path, size_t *size, const char **why)
{
    FILE *file = fopen(path, "re");
    char *text = malloc(MANIFEST_MAX);

    *why = NULL;
    if (file == NULL || text == NULL) {
        *why = strerror(errno);
        free(text);
        text = NULL;
    } else {
        *size = fread(text, 1, MANIFEST_MAX, file);
    }
    if (file != NULL) {
        fclose(file);
    }
    return text;
}

const char *checkpoint_load(const char *folder, uint64_t generation,
                            struct checkpoint_manifest *manifest)
{
    char path[CHECKPOINT_PATH_MAX];
    const char *why;
    size_t size = 0;
    char *text;

    manifest_path(path, folder, generation, "");
    text = read_all(path, &size, &why);
    if (why != NULL) {
        return access(path, F_OK) != 0
                   ? "it was not finished: there is no manifest"
                   : why;
    }
    if (checkpoint_manifest_read(text, size, manifest) != TM_OK ||
        manifest->generation != generation) {
        why = "its manifest is torn, or bytes of it have changed";
    }
    free(text);
    return why;
}

static const char *name_in(const char *path)
{
    return strrchr(path, '/') + 1;
}

static const char *check_file(const char *path,
                              const struct checkpoint_sum *sum, char *name)
{
    const char *why = checkpoint_check(path, sum);

    snprintf(name, CHECKPOINT_NAME_MAX, "%s", why == NULL ? "" : name_in(path));
    return why;
}

const char *checkpoint_check_files(const char *folder,
                                   const struct checkpoint_manifest *manifest,
                                   char *name)
{
    char path[CHECKPOINT_PATH_MAX];
    const char *why = NULL;

    for (unsigned i = 0; i < manifest->n_nodes && why == NULL; i++) {
        checkpoint_file_path(path, folder, manifest->generation, i);
        why = check_file(path, &manifest->files[i], name);
    }
    for (unsigned i = 0; i < manifest->n_older && why == NULL; i++) {
        const struct checkpoint_older *older = &manifest->older[i];

        checkpoint_older_path(path, folder, manifest->generation,
                              older->generation, older->index);
        why = check_file(path, &older->sum, name);
    }
    return why;
}

/** @param[out] why  [256] @return 1 it may be chosen */
typedef int judge_fn(const char *folder, uint64_t generation,
                     struct checkpoint_manifest *manifest, char *why);

static int has_manifest(const char *folder, uint64_t generation,
                        struct checkpoint_manifest *manifest, char *why)
{
    const char *found = checkpoint_load(folder, generation, manifest);

    snprintf(why, 256, "%s", found == NULL ? "" : found);
    return found == NULL;
}

static int is_whole(const char *folder, uint64_t generation,
                    struct checkpoint_manifest *manifest, char *why)
{
    char name[CHECKPOINT_NAME_MAX];
    const char *found;

    if (!has_manifest(folder, generation, manifest, why)) {
        return 0;
    }
    found = checkpoint_check_files(folder, manifest, name);
    if (found != NULL) {
        snprintf(why, 256, "%s: %s", name, found);
        return 0;
    }
    return 1;
}

static const char *choose(
    const char *folder, struct checkpoint_manifest *manifest, judge_fn *is_good,
    void (*tell)(void *owner, uint64_t generation, const char *why),
    void *owner)
{
    uint64_t *generations;
    const size_t n = checkpoint_list(folder, &generations);
    char why[256];
    size_t i = 0;

    if (n == 0 && access(folder, R_OK | X_OK) != 0) {
        return strerror(errno);
    }
    for (; i < n && !is_good(folder, generations[i], manifest, why); i++) {
        if (tell != NULL) {
            tell(owner, generations[i], why);
        }
    }
    free(generations);
    return i < n    ? NULL
           : n == 0 ? "there is no checkpoint"
                    : "no checkpoint there is whole";
}

const char *checkpoint_choose(const char *folder,
                              struct checkpoint_manifest *manifest,
                              void (*tell)(void *owner, uint64_t generation,
                                           const char *why),
                              void *owner)
{
    return choose(folder, manifest, is_whole, tell, owner);
}

const char *checkpoint_newest(const char *folder,
                              struct checkpoint_manifest *manifest)
{
    return choose(folder, manifest, has_manifest, NULL, NULL);
}
