// SPDX-License-Identifier: BSD-3-Clause
//
// Which host has which file of a checkpoint in memory, and which is to have it when a run goes back.
//
//   what nodes read   a file's pages are read by one node, or by some if there are more nodes than
//                     files (checkpoint_is_read_at()); all files' heads, which have all else, by
//                     the root
//   a second place    what is on one host only, for others are lost, comes to the next one in the ring of
//                     those that have nodes now
//
// S1 A file that is not whole yet, or of which a host is to have the head only, has fewer bytes than
//    its manifest says, for it is written from front to back.
// S2 A host is given nothing of a file that its nodes do not read, but as its second place.
#include "stored_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/vector.h"
#include "job.h"
#include "memory_files.h"
#include "os/checkpoint_manifest.h"

// ---- what there is

struct stored *stored_of(struct job *job, unsigned host)
{
    return host == 0 ? &job->recovery.here
                     : &job->remote.hosts[host - 1].stored;
}

void stored_note(struct stored *stored, const struct wire_agent_file *file,
                 const char *text, size_t size)
{
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

int stored_has(struct job *job, unsigned host,
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

int stored_find_host(struct job *job, const struct wire_agent_file *file)
{
    for (unsigned host = 0; host <= job->remote.n; host++) {
        if (stored_has(job, host, file)) {
            return (int)host;
        }
    }
    return -1;
}

unsigned stored_count(const struct checkpoint_manifest *manifest)
{
    return manifest->n_nodes + manifest->n_older;
}

struct wire_agent_file stored_file_of(
    const struct checkpoint_manifest *manifest, unsigned i)
{
    const struct checkpoint_older own = {
        .generation = manifest->generation,
        .index = i,
        .sum = i < manifest->n_nodes ? manifest->files[i]
                                     : (struct checkpoint_sum){0}};
    const struct checkpoint_older *file =
        i < manifest->n_nodes ? &own : &manifest->older[i - manifest->n_nodes];

    return (struct wire_agent_file){manifest->generation, file->generation,
                                    (uint32_t)file->index, file->sum.n_bytes};
}

// ---- what nodes read

/** A host wants so many bytes of a file, if it does not have all of it. */
static void want(struct job *job, unsigned host,
                 const struct wire_agent_file *file, uint64_t n_bytes)
{
    struct stored *stored = stored_of(job, host);

    if (stored->n_wanted < n_bytes && !stored_has(job, host, file)) {
        stored->n_wanted = n_bytes;
    }
}

void stored_want_none(struct job *job)
{
    for (unsigned host = 0; host <= job->remote.n; host++) {
        stored_of(job, host)->n_wanted = 0;
    }
}

void stored_want_read(struct job *job,
                      const struct checkpoint_manifest *manifest, unsigned i)
{
    const unsigned n_files = manifest->n_nodes;
    const struct wire_agent_file file = stored_file_of(manifest, i);
    const unsigned by =
        i < n_files ? i : (unsigned)manifest->older[i - n_files].by;

    stored_want_none(job);
    for (unsigned node = 0; node < job->plan->n_nodes; node++) {
        if (checkpoint_is_read_at(by, n_files, job->plan->n_nodes, node)) {
            want(job, job->nodes[node].host, &file, file.at);
        }
    }
    if (i < n_files) {
        want(job, job->nodes[0].host, &file, manifest->files[i].n_head);
    }
}

// ---- second places

/** @param[out] last  node whose host has it @return hosts that have it, and nodes */
static unsigned count_places(struct job *job,
                             const struct wire_agent_file *file, unsigned *last)
{
    unsigned n_places = 0;

    for (unsigned i = 0; i < job->plan->n_nodes; i++) {
        const unsigned host = job->nodes[i].host;

        if (stored_has(job, host, file)) {
            n_places += n_places == 0 || host != job->nodes[*last].host;
            *last = i;
        }
    }
    return n_places;
}

int stored_find_second(struct job *job, const struct wire_agent_file *file)
{
    const unsigned n = job->plan->n_nodes;
    unsigned last = 0;

    if (count_places(job, file, &last) != 1) {
        return -1;
    }
    for (unsigned i = 1; i < n; i++) {
        const unsigned host = job->nodes[(last + i) % n].host;

        if (host != job->nodes[last].host && !stored_of(job, host)->is_full) {
            return (int)host;
        }
    }
    return -1;
}
