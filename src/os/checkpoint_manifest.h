// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_CHECKPOINT_MANIFEST_H
#define OS_CHECKPOINT_MANIFEST_H

#include "base/status.h"
#include "os/checkpoint_file.h"

/*
 * What a checkpoint consists of. In its folder each *generation* is a folder
 * `generation-N`, with a file of each node and a `manifest`, which is written last: one
 * without is no checkpoint. What has not changed since an earlier generation is not written
 * again: the folder has a second name (a hard link) for each file of that one that has it,
 * `older-GENERATION-INDEX`. So a generation needs nothing outside its folder.
 */

#define CHECKPOINT_ARGUMENTS_MAX 8192u ///< bytes of the program's words
#define CHECKPOINT_PATH_MAX 1280u
/** The name of a folder of checkpoints, in the folder in memory that goes with a run. */
#define CHECKPOINT_IN_MEMORY "checkpoints"

#define CHECKPOINT_NAME_MAX 64u ///< of a file in a generation's folder
#define CHECKPOINT_OLDER_MAX 8u ///< older files that a node's file refers to

/** A file of an earlier generation. */
struct checkpoint_older {
    uint64_t generation; ///< that it was written for ...
    uint64_t index;      ///< ... as the file of this node
    struct checkpoint_sum sum;
    uint64_t by; ///< the file of this generation that refers to it
};

struct checkpoint_manifest {
    uint64_t generation;
    uint64_t time_s;     ///< of the day, since 1970
    char version[64];    ///< of Teamster
    char build_id[64];   ///< of the program
    uint64_t layout;     ///< of its mappings: image_layout()
    uint64_t canary;     ///< in the frames on its stacks
    uint64_t stack_size; ///< and what else must be as then
    uint64_t max_threads;
    uint64_t space;
    uint64_t n_told;    ///< nodes, as main() was told while it prepared
    uint64_t prepared;  ///< what main() did until it waited: a checksum ...
    uint64_t n_calls;   ///< ... and so many calls
    uint64_t iteration; ///< in barriers that each thread has passed
    uint64_t n_ended;   ///< iterations, for people
    uint64_t n_threads;
    uint64_t n_pages;
    unsigned n_nodes; ///< files
    struct checkpoint_sum files[TM_MAX_NODES];
    unsigned n_older; ///< files that these refer to
    struct checkpoint_older older[TM_MAX_NODES * CHECKPOINT_OLDER_MAX];
    char arguments
        [CHECKPOINT_ARGUMENTS_MAX]; ///< the program's, each with its NUL
    size_t arguments_size;
};

/** The words that the program was called with, NULL behind the last. */
void checkpoint_set_arguments(struct checkpoint_manifest *manifest,
                              char *const *argv);
/** Do two have the same words, but for the program's name? */
int checkpoint_has_arguments(const struct checkpoint_manifest *manifest,
                             const struct checkpoint_manifest *other);
/** @return the same, to be freed; the words stay in the manifest */
char **checkpoint_arguments(struct checkpoint_manifest *manifest);

/** Bytes of all files, and of those that were written for this generation. */
uint64_t checkpoint_bytes(const struct checkpoint_manifest *manifest);
uint64_t checkpoint_new_bytes(const struct checkpoint_manifest *manifest);

/** As text. @return to be freed; NULL if memory is short */
char *checkpoint_manifest_write(const struct checkpoint_manifest *manifest,
                                size_t *size);

/** From text; accepts any bytes. @return TM_OK, TM_EINVAL: it is none, or not whole */
TM_CHECKED tm_status checkpoint_manifest_read(
    const char *text, size_t size, struct checkpoint_manifest *manifest);

// ---- who reads what

/** Which of n_nodes reads a file of a checkpoint of n_files, as far as an item of it goes:
 * those that had neighbours have them again. @param item  a thread's place
 * @return < n_nodes */
unsigned checkpoint_place_of(unsigned file, unsigned n_files, unsigned n_nodes,
                             uint64_t item);

/** Are there items of a file that one of n_nodes reads? */
int checkpoint_is_read_at(unsigned file, unsigned n_files, unsigned n_nodes,
                          unsigned place);

/** What one of n nodes reads of a file's records. */
struct checkpoint_share {
    unsigned place; ///< of this node among them; n: it reads none
    unsigned n;
};

/** What is that, of the node at a place? */
struct checkpoint_share checkpoint_share_of(unsigned file, unsigned n_files,
                                            unsigned n_nodes, unsigned place);

/** Is a record among these? @param number  how many are in front of it */
int checkpoint_is_in_share(const struct checkpoint_share *share,
                           uint64_t number);

// ---- on the disk

/** The folder of a generation, and in it the file of a node, which is a place among those
 * there were. @param[out] path  [CHECKPOINT_PATH_MAX] */
void checkpoint_generation_path(char *path, const char *folder,
                                uint64_t generation);
void checkpoint_file_path(char *path, const char *folder, uint64_t generation,
                          unsigned index);
/** And an older file that it has. @param of  the generation that it was written for */
void checkpoint_older_path(char *path, const char *folder, uint64_t generation,
                           uint64_t of, uint64_t index);

/** Where a generation has a file: one of its own, or an older one that it has. */
void checkpoint_path_of(char *path, const char *folder, uint64_t generation,
                        const struct checkpoint_older *file);

/** Have a generation that has been begun keep a file that another one has, whole: with as many bytes
 * as it should have. @return NULL, or why it cannot */
const char *checkpoint_keep(const char *folder, uint64_t generation,
                            uint64_t other,
                            const struct checkpoint_older *older);

/** Make the folder, if it is not there. @return NULL, or why not */
const char *checkpoint_open_folder(const char *folder);

/** Keep other runs from writing to the folder, until the process ends, and remove generations
 * that were begun and not finished. @return NULL, or why not */
const char *checkpoint_claim(const char *folder);

/** Have the folder of a generation, and its own, if they are not there. @return NULL, or why
 * not */
const char *checkpoint_open_generation(const char *folder, uint64_t generation);

/** Begin a generation: an empty folder of it. @return NULL, or why not */
const char *checkpoint_begin(const char *folder, uint64_t generation);

/** Its files are whole: it is a checkpoint from now on. @return NULL, or why not */
const char *checkpoint_commit(const char *folder,
                              const struct checkpoint_manifest *manifest);

/** Remove what there is of a generation. */
void checkpoint_remove(const char *folder, uint64_t generation);

/** Remove all generations above one number and below another. */
void checkpoint_remove_between(const char *folder, uint64_t above,
                               uint64_t below);

/** Remove all but the two newest whose manifest is there. */
void checkpoint_tidy(const char *folder);

/** The numbers of all generations, also those that are not whole, newest first.
 * @param[out] generations  to be freed @return how many; 0 also if there is no folder */
size_t checkpoint_list(const char *folder, uint64_t **generations);

/** A generation's manifest, looked at alone. @return NULL, or why there is none */
const char *checkpoint_load(const char *folder, uint64_t generation,
                            struct checkpoint_manifest *manifest);

/** The newest that is whole, with all its files.
 * @param tell  of each newer one, why it is not; may be NULL
 * @return NULL, or why there is none */
const char *checkpoint_choose(const char *folder,
                              struct checkpoint_manifest *manifest,
                              void (*tell)(void *owner, uint64_t generation,
                                           const char *why),
                              void *owner);

/** The newest whose manifest is whole; what it names is not looked at.
 * @return NULL, or why there is none */
const char *checkpoint_newest(const char *folder,
                              struct checkpoint_manifest *manifest);

/** Are all its files whole, and the older ones that it has?
 * @param[out] name  [CHECKPOINT_NAME_MAX] of one that is not
 * @return NULL, or why not */
const char *checkpoint_check_files(const char *folder,
                                   const struct checkpoint_manifest *manifest,
                                   char *name);

#endif
