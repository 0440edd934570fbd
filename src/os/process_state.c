// SPDX-License-Identifier: BSD-3-Clause
#include "os/process_state.h"

#include <link.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"

// One text behind the other.
static uint64_t hash_more(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text) + 1);
}

// Both are shown by the kernel only.
static void read_status(struct process_state *state)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    unsigned long long ignored;
    unsigned mask;

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "Umask: %o", &mask) == 1) {
            state->mask = mask;
        } else if (sscanf(line, "SigIgn: %llx", &ignored) == 1) {
            state->ignored = ignored;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

// @return 0: of some it cannot be told
static uint64_t hash_environment(process_state_reads *reads, const void *owner)
{
    uint64_t hash = HASH_START;

    if (reads != NULL && !reads(owner, environ)) {
        return 0;
    }
    for (char **each = environ; each != NULL && *each != NULL; each++) {
        if (reads != NULL && !reads(owner, *each)) {
            return 0;
        }
        hash = hash_more(hash, *each);
    }
    return hash;
}

void process_state_note(struct process_state *state, process_state_reads *reads,
                        const void *owner)
{
    const char *locale = setlocale(LC_ALL, NULL);
    struct stat folder;

    *state =
        (struct process_state){.environment = hash_environment(reads, owner)};
    if (stat(".", &folder) == 0) {
        state->device = folder.st_dev;
        state->folder = folder.st_ino;
    }
    read_status(state);
    state->locale = hash_more(HASH_START, locale != NULL ? locale : "");
}

const char *process_state_change(const struct process_state *before,
                                 process_state_reads *reads, const void *owner)
{
    struct process_state now;

    process_state_note(&now, reads, owner);
    if (now.device != before->device || now.folder != before->folder) {
        return "it is in another working folder than it began in (chdir)";
    }
    if (now.mask != before->mask) {
        return "it has another mask for files that it makes (umask)";
    }
    if (now.ignored != before->ignored) {
        return "it ignores other signals than when it began";
    }
    if (now.locale != before->locale) {
        return "it has another locale than it began with (setlocale)";
    }
    return now.environment != before->environment
               ? "it has changed its environment (setenv, putenv)"
               : NULL;
}

static int is_known(const char *name)
{
    static const char *const known[] = {
        "libc.so",      "libm.so",      "libmvec.so",   "libpthread.so",
        "libdl.so",     "librt.so",     "ld-linux",     "libgcc_s.so",
        "libstdc++.so", "libgfortran.", "libquadmath.", "libatomic.so",
        "libgomp.so",   "libteamster"};

    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        if (strncmp(name, known[i], strlen(known[i])) == 0) {
            return 1;
        }
    }
    return 0;
}

static const char *find_other(const ElfW(Dyn) * first)
{
    const char *texts = NULL;

    for (const ElfW(Dyn) *each = first; each->d_tag != DT_NULL; each++) {
        if (each->d_tag == DT_STRTAB) {
            texts = (const char *)each->d_un.d_ptr;
        }
    }
    for (const ElfW(Dyn) *each = first; each->d_tag != DT_NULL; each++) {
        if (texts != NULL && each->d_tag == DT_NEEDED &&
            !is_known(texts + each->d_un.d_val)) {
            return texts + each->d_un.d_val;
        }
    }
    return NULL;
}

// The first object is the program.
static int look_at_program(struct dl_phdr_info *object, size_t size, void *data)
{
    (void)size;
    for (unsigned i = 0; i < object->dlpi_phnum; i++) {
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            *(const char **)data =
                find_other((const void *)(object->dlpi_addr +
                                          object->dlpi_phdr[i].p_vaddr));
        }
    }
    return 1;
}

const char *process_state_library(void)
{
    const char *found = NULL;

    dl_iterate_phdr(look_at_program, &found);
    return found;
}
