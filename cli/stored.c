// SPDX-License-Identifier: BSD-3-Clause
//
// What a run with --buddy goes back to. Each host has some files of each generation in its memory, its
// own and those of the host in front of it (runtime/buddies.c); those of lost hosts are gone with
// these.
//
//   stored_find    all agents that are left say which files they have (LIST, FILE). A generation
//                  is whole if somebody has its manifest, and of each file that it names, older
//                  ones too, somebody has all bytes; the newest is taken
//   stored_keep    the others go
//   stored_bring   each host that is to have nodes, new ones too, gets what it does not have,
//                  a part at a time, from one that has it, through the launcher: each node reads
//                  all files when it goes on
//
// The launcher's own host is one of them, without an agent.
//
// S1 A file that is not whole yet has fewer bytes than its manifest says, for it is written from
//    front to back.
#include "stored.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/log.h"
#include "base/vector.h"
#include "job.h"
#include "memory_files.h"
#include "os/checkpoint_manifest.h"

#define LIST_S 30.0 // a host that is silent is given up before
#define PART_S 30.0

// ---- what hosts say

static void note_file(void *owner, const struct wire_agent_file *file,
                      const char *text, size_t size)
{
    struct stored *stored = owner;
    struct stored_file *noted;

    vector_reserve(stored->files, stored->n_room, stored->n + 1);
    noted = &stored->files[stored->n++];
    *noted = (struct stored_file){.is = *file, .size = size};
    if (size > 0) {
        noted->text = malloc(size);
        ensure_memory(noted->text != NULL);
        memcpy(noted->text, text, size);
    }
}

int stored_take(struct stored *stored, const struct mux_frame *frame)
{
    struct wire_reader reader = wire_read(frame->body, frame->size);
    struct wire_agent_file file;

    switch (frame->kind) {
    case MUX_FILE:
        file = wire_get_agent_file(&reader);
        if (!reader.failed) {
            note_file(stored, &file, (const char *)reader.at,
                      (size_t)(reader.end - reader.at));
        }
        return !reader.failed;
    case MUX_LISTED:
        stored->is_listed = 1;
        return 1;
    case MUX_PART:
        buffer_drop(&stored->part, stored->part.used);
        buffer_append(&stored->part, frame->body, frame->size);
        stored->is_asked = 0;
        return 1;
    case MUX_WRITTEN:
        stored->error = (int)wire_get_agent_number(&reader).number;
        stored->is_asked = 0;
        return 1;
    default:
        return 0;
    }
}

void stored_forget(struct stored *stored)
{
    for (unsigned i = 0; i < stored->n; i++) {
        free(stored->files[i].text);
    }
    free(stored->files);
    buffer_release(&stored->part);
    *stored = (struct stored){0};
}

// ---- all hosts: 0 is the launcher's, the others have agents

static struct stored *stored_of(struct job *job, unsigned host)
{
    return host == 0 ? &job->recovery.here
                     : &job->remote.hosts[host - 1].stored;
}

static int has_file(struct job *job, unsigned host,
                    const struct wire_agent_file *file)
{
    const struct stored *stored = stored_of(job, host);

    for (unsigned i = 0; i < stored->n; i++) {
        const struct wire_agent_file *is = &stored->files[i].is;

        if (is->generation == file->generation && is->of == file->of &&
            is->index == file->index &&
            (file->index == MEMORY_MANIFEST || is->at == file->at)) { // S1
            return 1;
        }
    }
    return 0;
}

/** All that a generation needs: its nodes' files, then older ones. */
static unsigned count_files(const struct checkpoint_manifest *manifest)
{
    return manifest->n_nodes + manifest->n_older;
}

/** @param i  < count_files() */
static struct wire_agent_file file_of(
    const struct checkpoint_manifest *manifest, unsigned i)
{
    const struct checkpoint_older own = {manifest->generation, i,
                                         i < manifest->n_nodes
                                             ? manifest->files[i]
                                             : (struct checkpoint_sum){0}};
    const struct checkpoint_older *file =
        i < manifest->n_nodes ? &own : &manifest->older[i - manifest->n_nodes];

    return (struct wire_agent_file){manifest->generation, file->generation,
                                    (uint32_t)file->index, file->sum.n_bytes};
}

/** @return a host that has a file; -1: none has */
static int find_host(struct job *job, const struct wire_agent_file *file)
{
    for (unsigned host = 0; host <= job->remote.n; host++) {
        if (has_file(job, host, file)) {
            return (int)host;
        }
    }
    return -1;
}

// ---- which one

static int is_whole(struct job *job, const struct checkpoint_manifest *manifest)
{
    for (unsigned i = 0; i < count_files(manifest); i++) {
        const struct wire_agent_file file = file_of(manifest, i);

        if (find_host(job, &file) < 0) {
            return 0;
        }
    }
    return 1;
}

/** Take a manifest if it is of a newer generation that is whole. */
static void consider(struct job *job, const struct stored_file *file,
                     struct checkpoint_manifest *newest)
{
    struct checkpoint_manifest *manifest = calloc(1, sizeof *manifest);

    ensure_memory(manifest != NULL);
    if (checkpoint_manifest_read(file->text, file->size, manifest) == TM_OK &&
        is_whole(job, manifest)) {
        *newest = *manifest;
    }
    free(manifest);
}

void stored_choose(struct job *job, struct checkpoint_manifest *newest)
{
    memset(newest, 0, sizeof *newest);
    for (unsigned host = 0; host <= job->remote.n; host++) {
        const struct stored *stored = stored_of(job, host);

        for (unsigned i = 0; i < stored->n; i++) {
            const struct stored_file *file = &stored->files[i];

            if (file->is.index == MEMORY_MANIFEST &&
                file->is.generation > newest->generation) {
                consider(job, file, newest);
            }
        }
    }
}

/** Is its agent there to be asked? */
static int has_agent(const struct remote_host *host)
{
    return host->has_hello && !host->is_lost && !host->is_over;
}

static int has_listed(const struct remote_host *host)
{
    return !has_agent(host) || host->why[0] != '\0' || host->stored.is_listed;
}

int stored_find(struct job *job, struct checkpoint_manifest *manifest)
{
    int exit_code;

    stored_forget(&job->recovery.here);
    memory_list(job->recovery.folder, note_file, &job->recovery.here);
    for (unsigned i = 0; i < job->remote.n; i++) {
        struct remote_host *host = &job->remote.hosts[i];

        stored_forget(&host->stored);
        if (has_agent(host)) {
            mux_send(&host->mux, MUX_LIST, 0, NULL, 0);
        }
    }
    exit_code = remote_wait(job, has_listed, NULL, LIST_S);
    stored_choose(job, manifest);
    return exit_code;
}

// ---- the others go

void stored_keep(struct job *job, uint64_t generation)
{
    const struct wire_agent_file kept = {generation, generation, 0, 0};

    memory_keep(job->recovery.folder, generation);
    for (unsigned i = 0; i < job->remote.n; i++) {
        if (has_agent(&job->remote.hosts[i])) {
            memory_send(&job->remote.hosts[i].mux, MUX_KEEP, &kept, NULL, 0);
        }
    }
}

// ---- from host to host

static int has_answered(const struct remote_host *host)
{
    return host->why[0] != '\0' || !host->stored.is_asked;
}

/** @return 0, or an exit code (told) */
static int await_answers(struct job *job)
{
    int exit_code = remote_wait(job, has_answered, NULL, PART_S);

    for (unsigned i = 0; i < job->remote.n && exit_code == 0; i++) {
        struct remote_host *host = &job->remote.hosts[i];

        if (host->stored.is_asked) {
            remote_give_up(&job->remote, host);
            job_say(job, "host %s is lost while it is given a checkpoint: %s",
                    host->name, host->why);
            exit_code = EXIT_UNREACHABLE;
        } else if (host->stored.error != 0) {
            job_say(job, "host %s cannot keep the checkpoint: %s", host->name,
                    strerror(host->stored.error));
            exit_code = EXIT_MEMORY;
        }
    }
    return exit_code;
}

/** Have a part of a file be in `part` of its host. @return 0, or an exit code (told) */
static int fetch_part(struct job *job, unsigned host,
                      const struct wire_agent_file *part)
{
    struct stored *stored = stored_of(job, host);
    static uint8_t bytes[MEMORY_PART];
    ssize_t size;

    if (host > 0) {
        stored->is_asked = 1;
        memory_send(&job->remote.hosts[host - 1].mux, MUX_READ, part, NULL, 0);
        return await_answers(job);
    }
    size = memory_read_part(job->recovery.folder, part, bytes, sizeof bytes);
    buffer_drop(&stored->part, stored->part.used);
    if (size > 0) {
        buffer_append(&stored->part, bytes, (size_t)size);
    }
    return 0;
}

/** Has this host nodes that start? */
static int is_used(const struct job *job, unsigned host)
{
    for (unsigned i = 0; i < job->plan->n_nodes; i++) {
        if (job->nodes[i].host == host) {
            return 1;
        }
    }
    return 0;
}

/** Ask a host to write something. @return 0, or an exit code (told) */
static int give_part(struct job *job, unsigned host,
                     const struct wire_agent_file *to, const void *bytes,
                     size_t size)
{
    int error;

    if (host == 0) {
        error = memory_write_part(job->recovery.folder, to, bytes, size);
        if (error != 0) {
            job_say(job, "the checkpoint cannot be kept here: %s",
                    strerror(error));
        }
        return error != 0 ? EXIT_MEMORY : 0;
    }
    stored_of(job, host)->is_asked = 1;
    stored_of(job, host)->error = 0;
    memory_send(&job->remote.hosts[host - 1].mux, MUX_WRITE, to, bytes, size);
    return 0;
}

/** To all that lack the file. @return 0, or an exit code (told) */
static int give_all(struct job *job, const struct wire_agent_file *file,
                    const struct wire_agent_file *to, const void *bytes,
                    size_t size)
{
    int exit_code = 0;

    for (unsigned host = 0; host <= job->remote.n && exit_code == 0; host++) {
        if (is_used(job, host) && !has_file(job, host, file)) {
            exit_code = give_part(job, host, to, bytes, size);
        }
    }
    return exit_code == 0 ? await_answers(job) : exit_code;
}

static int is_lacking(struct job *job, const struct wire_agent_file *file)
{
    for (unsigned host = 0; host <= job->remote.n; host++) {
        if (is_used(job, host) && !has_file(job, host, file)) {
            return 1;
        }
    }
    return 0;
}

/** @return an exit code */
static int tell_unread(struct job *job)
{
    job_say(job, "a file of the checkpoint cannot be read any more");
    return EXIT_UNREACHABLE;
}

static int bring_file(struct job *job, const struct wire_agent_file *file)
{
    const int from = find_host(job, file);
    struct wire_agent_file part = *file;
    int exit_code = 0;

    if (!is_lacking(job, file)) {
        return 0;
    }
    if (from < 0) {
        return tell_unread(job);
    }
    for (part.at = 0; part.at < file->at && exit_code == 0;) {
        const struct buffer *got = &stored_of(job, (unsigned)from)->part;

        exit_code = fetch_part(job, (unsigned)from, &part);
        if (exit_code == 0 && got->used == 0) {
            exit_code = tell_unread(job);
        }
        if (exit_code == 0) {
            exit_code =
                give_all(job, file, &part, got->bytes + got->start, got->used);
            part.at += got->used;
        }
    }
    return exit_code;
}

static int bring_manifest(struct job *job,
                          const struct checkpoint_manifest *manifest)
{
    const struct wire_agent_file file = {
        manifest->generation, manifest->generation, MEMORY_MANIFEST, 0};
    size_t size;
    char *text = checkpoint_manifest_write(manifest, &size);
    int exit_code;

    ensure_memory(text != NULL);
    exit_code = give_all(job, &file, &file, text, size);
    free(text);
    return exit_code;
}

int stored_bring(struct job *job)
{
    const struct checkpoint_manifest *manifest = job->recovery.manifest;
    int exit_code = 0;

    if (manifest == NULL || manifest->generation == 0) {
        return 0;
    }
    for (unsigned i = 0; i < count_files(manifest) && exit_code == 0; i++) {
        const struct wire_agent_file file = file_of(manifest, i);

        exit_code = bring_file(job, &file);
    }
    if (exit_code == 0) {
        exit_code = bring_manifest(job, manifest);
    }
    // Nobody has asked for it: then it ends as without.
    return exit_code == EXIT_MEMORY && job->plan->is_tried ? EXIT_NODE_LOST
                                                           : exit_code;
}
