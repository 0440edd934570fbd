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
//   stored_bring   each host that is to have nodes, new ones too, gets what it is to have and
//                  does not (stored_files.c), in parts, from one that has it, through the
//                  launcher: while one is written the next one is read
//
// The launcher's own host is one of them, without an agent.
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
#include "stored_files.h"

#define LIST_S 30.0 // a host that is silent is given up before
#define PART_S 30.0

// ---- what hosts say

static void note_file(void *owner, const struct wire_agent_file *file,
                      const char *text, size_t size)
{
    stored_note(owner, file, text, size);
}

int stored_take(struct stored *stored, const struct mux_frame *frame)
{
    struct wire_reader reader = wire_read(frame->body, frame->size);
    struct wire_agent_file file;

    switch (frame->kind) {
    case MUX_FILE:
        file = wire_get_agent_file(&reader);
        if (!reader.failed) {
            stored_note(stored, &file, (const char *)reader.at,
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

// ---- which one

static int is_whole(struct job *job, const struct checkpoint_manifest *manifest)
{
    for (unsigned i = 0; i < stored_count(manifest); i++) {
        const struct wire_agent_file file = stored_file_of(manifest, i);

        if (stored_find_host(job, &file) < 0) {
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
        }
    }
    return exit_code;
}

/** Have a part of a file be in `part` of its host, when that has answered. */
static void fetch_part(struct job *job, unsigned host,
                       const struct wire_agent_file *part)
{
    struct stored *stored = stored_of(job, host);
    static uint8_t bytes[MEMORY_PART];
    ssize_t size;

    if (host > 0) {
        stored->is_asked = 1;
        memory_send(&job->remote.hosts[host - 1].mux, MUX_READ, part, NULL, 0);
        return;
    }
    size = memory_read_part(job->recovery.folder, part, bytes, sizeof bytes);
    buffer_drop(&stored->part, stored->part.used);
    if (size > 0) {
        buffer_append(&stored->part, bytes, (size_t)size);
    }
}

/** Have a host write something; stored.error says what has come of it, when it has answered. */
static void give_part(struct job *job, unsigned host,
                      const struct wire_agent_file *to, const void *bytes,
                      size_t size)
{
    struct stored *stored = stored_of(job, host);

    stored->n_given += size;
    if (host == 0) {
        stored->error =
            memory_write_part(job->recovery.folder, to, bytes, size);
        return;
    }
    stored->is_asked = 1;
    stored->error = 0;
    memory_send(&job->remote.hosts[host - 1].mux, MUX_WRITE, to, bytes, size);
}

/** To all that want what is there, who will answer. */
static void give_all(struct job *job, const struct wire_agent_file *to,
                     const void *bytes, size_t size)
{
    for (unsigned host = 0; host <= job->remote.n; host++) {
        const struct stored *stored = stored_of(job, host);

        if (stored->n_wanted > to->at) {
            const uint64_t n_left = stored->n_wanted - to->at;

            give_part(job, host, to, bytes,
                      n_left < size ? (size_t)n_left : size);
        }
    }
}

/** @return a host that cannot keep what it was given; -1: all can */
static int find_refusal(struct job *job)
{
    for (unsigned host = 0; host <= job->remote.n; host++) {
        if (stored_of(job, host)->error != 0) {
            return (int)host;
        }
    }
    return -1;
}

/** @param what  it cannot keep */
static void tell_refusal(struct job *job, unsigned host, const char *what)
{
    job_say(job, "%s%s cannot keep %s: %s", host == 0 ? "" : "host ",
            host == 0 ? "this machine" : job->remote.hosts[host - 1].name, what,
            strerror(stored_of(job, host)->error));
}

/** @return an exit code */
static int tell_unread(struct job *job)
{
    job_say(job, "a file of the checkpoint cannot be read any more");
    return EXIT_UNREACHABLE;
}

static uint64_t most_wanted(struct job *job)
{
    uint64_t most = 0;

    for (unsigned host = 0; host <= job->remote.n; host++) {
        const uint64_t n_wanted = stored_of(job, host)->n_wanted;

        most = n_wanted > most ? n_wanted : most;
    }
    return most;
}

/** A part has come: on to those that want it, and meanwhile the next one is fetched.
 * @return 0, or an exit code (told) */
static int hand_on_part(struct job *job, unsigned from,
                        struct wire_agent_file *part, uint64_t n_wanted)
{
    const struct buffer *got = &stored_of(job, from)->part;

    if (got->used == 0) {
        return tell_unread(job);
    }
    give_all(job, part, got->bytes + got->start, got->used);
    part->at += got->used;
    if (part->at < n_wanted) {
        fetch_part(job, from, part);
    }
    return await_answers(job);
}

/** Bring each host as much of a file as it wants, until one cannot keep it.
 * @return 0, or an exit code (told) */
static int bring_file(struct job *job, const struct wire_agent_file *file)
{
    const uint64_t n_wanted = most_wanted(job);
    const int from = stored_find_host(job, file);
    struct wire_agent_file part = *file;
    int exit_code;

    if (n_wanted == 0) {
        return 0;
    }
    if (from < 0) {
        return tell_unread(job);
    }
    part.at = 0;
    fetch_part(job, (unsigned)from, &part);
    exit_code = await_answers(job);
    while (part.at < n_wanted && exit_code == 0 && find_refusal(job) < 0) {
        exit_code = hand_on_part(job, (unsigned)from, &part, n_wanted);
    }
    return exit_code;
}

/** Those that have been given all of it have it. */
static void note_brought(struct job *job, const struct wire_agent_file *file)
{
    for (unsigned host = 0; host <= job->remote.n; host++) {
        if (stored_of(job, host)->n_wanted == file->at && file->at > 0) {
            stored_note(stored_of(job, host), file, NULL, 0);
        }
    }
}

/** @return 0, or an exit code (told) */
static int judge_needed(struct job *job)
{
    const int host = find_refusal(job);

    if (host >= 0) {
        tell_refusal(job, (unsigned)host, "the checkpoint");
    }
    return host >= 0 ? EXIT_MEMORY : 0;
}

/** What nodes read. @return 0, or an exit code (told) */
static int bring_needed(struct job *job,
                        const struct checkpoint_manifest *manifest, unsigned i)
{
    const struct wire_agent_file file = stored_file_of(manifest, i);
    int exit_code;

    stored_want_read(job, manifest, i);
    exit_code = bring_file(job, &file);
    exit_code = exit_code == 0 ? judge_needed(job) : exit_code;
    if (exit_code == 0) {
        note_brought(job, &file);
    }
    return exit_code;
}

/** What the root reads of a file, if that is its head only. @return 0, or an exit code (told) */
static int bring_head(struct job *job,
                      const struct checkpoint_manifest *manifest, unsigned i)
{
    const struct wire_agent_file file = stored_file_of(manifest, i);
    int exit_code;

    stored_want_none(job);
    if (i < manifest->n_nodes) {
        stored_of(job, job->nodes[0].host)->n_wanted =
            manifest->files[i].n_head;
    }
    exit_code = bring_file(job, &file);
    return exit_code == 0 ? judge_needed(job) : exit_code;
}

/** A host has no room for a second copy: it is to keep nothing of it but what the root reads,
 * and is asked no more. @return 0, or an exit code (told) */
static int give_up_second(struct job *job, unsigned host,
                          const struct checkpoint_manifest *manifest,
                          unsigned i)
{
    struct wire_agent_file empty = stored_file_of(manifest, i);
    int exit_code;

    empty.at = 0;
    tell_refusal(job, host, "a second copy of it");
    give_part(job, host, &empty, NULL, 0);
    exit_code = await_answers(job);
    stored_of(job, host)->is_full = 1;
    stored_of(job, host)->error = 0;
    return exit_code == 0 && host == job->nodes[0].host
               ? bring_head(job, manifest, i)
               : exit_code;
}

/** To a second host. @return 0, or an exit code (told) */
static int bring_second(struct job *job,
                        const struct checkpoint_manifest *manifest, unsigned i)
{
    const struct wire_agent_file file = stored_file_of(manifest, i);
    const int second = stored_find_second(job, &file);
    int exit_code;

    if (second < 0) {
        return 0;
    }
    stored_want_none(job);
    stored_of(job, (unsigned)second)->n_wanted = file.at;
    exit_code = bring_file(job, &file);
    if (exit_code == 0 && stored_of(job, (unsigned)second)->error != 0) {
        return give_up_second(job, (unsigned)second, manifest, i);
    }
    if (exit_code == 0) {
        note_brought(job, &file);
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
    stored_want_none(job);
    for (unsigned i = 0; i < job->plan->n_nodes; i++) {
        const unsigned host = job->nodes[i].host;

        stored_of(job, host)->n_wanted =
            stored_has(job, host, &file) ? 0 : size;
    }
    give_all(job, &file, text, size);
    free(text);
    exit_code = await_answers(job);
    return exit_code == 0 ? judge_needed(job) : exit_code;
}

static void tell_given(struct job *job,
                       const struct checkpoint_manifest *manifest)
{
    for (unsigned host = 0; host <= job->remote.n && job->plan->is_verbose;
         host++) {
        if (stored_of(job, host)->n_given > 0) {
            job_say(job, "%s%s is given %.1f of %.1f MB that are saved",
                    host == 0 ? "" : "host ",
                    host == 0 ? "this machine"
                              : job->remote.hosts[host - 1].name,
                    (double)stored_of(job, host)->n_given * 1e-6,
                    (double)checkpoint_bytes(manifest) * 1e-6);
        }
    }
}

/** @return 0, or an exit code (told) */
static int bring_all(struct job *job,
                     const struct checkpoint_manifest *manifest)
{
    const unsigned n = stored_count(manifest);
    int exit_code = 0;

    for (unsigned i = 0; i < n && exit_code == 0; i++) {
        exit_code = bring_needed(job, manifest, i);
    }
    for (unsigned i = 0; i < n && exit_code == 0; i++) { // B1 of buddies.c
        exit_code = bring_second(job, manifest, i);
    }
    return exit_code == 0 ? bring_manifest(job, manifest) : exit_code;
}

int stored_bring(struct job *job)
{
    const struct checkpoint_manifest *manifest = job->recovery.manifest;
    int exit_code;

    if (manifest == NULL || manifest->generation == 0) {
        return 0;
    }
    exit_code = bring_all(job, manifest);
    if (exit_code == 0) {
        tell_given(job, manifest);
    }
    // Nobody has asked for it: then it ends as without.
    return exit_code == EXIT_MEMORY && job->plan->is_tried ? EXIT_NODE_LOST
                                                           : exit_code;
}
