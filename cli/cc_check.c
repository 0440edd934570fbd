// SPDX-License-Identifier: BSD-3-Clause
//
// What `teamster cc` looks at before it links.
//
//   file                                        what is said
//   object without the mark                     refused: its variables would not be shared
//   archive, some members with it               those without: refused
//   archive without any, of the system          nothing: a library of others
//   archive without any, of other folders,
//     with variables or calls of threads        a warning: they are each node's own
//   call that cannot be had, or of Teamster's   refused, if no file defines the function
//   the first, in a member of an archive        nothing: the program ends with one line if it
//                                               is made (frontend/refused.sh)
//
// Archives are given by path or by -l, along the folders of -L; those that only the compiler
// finds are the system's.
#include "cc.h"

#include <ar.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cc_image.h"

/** What is found in an object. */
struct findings {
    const struct object *object;
    struct cc_check *check;
    int is_member; ///< of an archive
    int has_mark;
    const char *variable; ///< one of its, or NULL
    const char *call;     ///< of threads, or NULL
};

static int is_variable(const struct object *object, const Elf64_Sym *symbol)
{
    return ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT &&
           symbol->st_shndx < object->n_sections &&
           object_is_variable(object, &object->sections[symbol->st_shndx]);
}

static int is_of_teamster(const char *name)
{
    return begins_with(name, "tm_") || begins_with(name, "teamster_");
}

// Whether a member of an archive is part of the program is for the linker to say.
static void note_wanted(struct findings *findings, const char *name)
{
    if (!findings->is_member || is_of_teamster(name + strlen(CC_REFUSED))) {
        words_add(&findings->check->wanted, findings->object->name);
        words_add(&findings->check->wanted, name);
    }
}

static void look_at_symbol(void *argument, const Elf64_Sym *symbol,
                           const char *name)
{
    struct findings *findings = argument;

    findings->has_mark |= strcmp(name, CC_MARK) == 0;
    if (is_variable(findings->object, symbol)) {
        findings->variable = name;
    }
    if (symbol->st_shndx != SHN_UNDEF) {
        if (begins_with(name, CC_REFUSED)) {
            words_add(&findings->check->defined, name);
        }
    } else if (begins_with(name, CC_REFUSED)) {
        note_wanted(findings, name);
    } else if (begins_with(name, "pthread_")) {
        findings->call = name;
    }
}

static struct findings look_at_object(struct cc_check *check,
                                      const struct object *object,
                                      int is_member)
{
    struct findings findings = {
        .object = object, .check = check, .is_member = is_member};

    object_each_symbol(object, look_at_symbol, &findings);
    return findings;
}

static void refuse_object(struct cc_check *check, const char *name)
{
    fprintf(stderr,
            "teamster: %s was not compiled by `teamster cc`, so its "
            "variables would not be shared: compile it again\n",
            name);
    check->exit_code = 1;
}

// ---- archives

struct archive {
    int n_marked;
    int n_others;
    char variable[128];
    char call[128];
};

static void note_member(struct archive *archive, const struct findings *found)
{
    archive->n_marked += found->has_mark;
    archive->n_others += !found->has_mark;
    if (!found->has_mark && found->variable != NULL) {
        snprintf(archive->variable, sizeof archive->variable, "%s",
                 found->variable);
    }
    if (!found->has_mark && found->call != NULL) {
        snprintf(archive->call, sizeof archive->call, "%s", found->call);
    }
}

static void look_at_members(struct cc_check *check, const struct image *image,
                            struct archive *archive)
{
    const char *at = image->bytes + SARMAG;
    const char *end = image->bytes + image->size;

    while (end - at >= (long)sizeof(struct ar_hdr)) {
        const struct ar_hdr *member = (const struct ar_hdr *)(const void *)at;
        size_t size = strtoul(member->ar_size, NULL, 10);
        struct object object;

        at += sizeof *member;
        if (size > (size_t)(end - at)) {
            break;
        }
        if (object_read(&object, at, size, image->path)) {
            const struct findings found = look_at_object(check, &object, 1);

            note_member(archive, &found);
        }
        at += size + size % 2;
    }
}

static int is_of_system(const char *path)
{
    char whole[PATH_MAX];

    return realpath(path, whole) != NULL &&
           (begins_with(whole, "/usr/") || begins_with(whole, "/lib"));
}

static void judge_archive(struct cc_check *check, const struct image *image)
{
    struct archive archive = {0};

    look_at_members(check, image, &archive);
    if (archive.n_marked > 0 && archive.n_others > 0) {
        refuse_object(check, image->path);
    } else if (archive.n_others > 0 && !is_of_system(image->path)) {
        if (archive.variable[0] != '\0') {
            fprintf(stderr,
                    "teamster: warning: %s was not compiled by `teamster cc`, "
                    "so each node has its own %s: compile it again if it is "
                    "the program's\n",
                    image->path, archive.variable);
        } else if (archive.call[0] != '\0') {
            fprintf(stderr,
                    "teamster: warning: %s was not compiled by `teamster cc`, "
                    "so its %s() is for one node: compile it again if it is "
                    "the program's\n",
                    image->path, archive.call);
        }
    }
}

// ---- files

void cc_check_file(struct cc_check *check, const char *path, const char *told)
{
    struct object object;
    struct image image;

    if (!image_open(&image, path)) {
        return; // the linker says it
    }
    if (image.size > SARMAG && memcmp(image.bytes, ARMAG, SARMAG) == 0) {
        judge_archive(check, &image);
    } else if (object_read(&object, image.bytes, image.size, told) &&
               !look_at_object(check, &object, 0).has_mark) {
        refuse_object(check, told);
    }
    image_close(&image);
}

// In one folder a shared library goes first, as for the linker.
// @return 1: the library is there
static int check_in_folder(struct cc_check *check, const char *folder,
                           const char *name)
{
    char path[PATH_MAX];

    if (name[0] == ':') {
        snprintf(path, sizeof path, "%s/%s", folder, name + 1);
    } else {
        snprintf(path, sizeof path, "%s/lib%s.so", folder, name);
        if (access(path, R_OK) == 0) {
            return 1;
        }
        snprintf(path, sizeof path, "%s/lib%s.a", folder, name);
    }
    if (access(path, R_OK) != 0) {
        return 0;
    }
    cc_check_file(check, path, path);
    return 1;
}

void cc_check_library(struct cc_check *check,
                      const struct cc_arguments *arguments, const char *name)
{
    for (size_t i = 0; i < arguments->n; i++) {
        const char *text = arguments->argument[i].text;

        if (strncmp(text, "-L", 2) != 0) {
            continue;
        }
        if (text[2] == '\0') {
            text = i + 1 < arguments->n ? arguments->argument[++i].text : "-L.";
        } else {
            text += 2;
        }
        if (check_in_folder(check, text, name)) {
            return;
        }
    }
}

// ---- calls that cannot be had

static int is_defined(const struct cc_check *check, const char *name)
{
    for (size_t i = 0; i < check->defined.n; i++) {
        if (strcmp(check->defined.word[i], name) == 0) {
            return 1;
        }
    }
    return 0;
}

/** The value of TEAMSTER_CC_REFUSE with which it is linked all the same. */
#define WHEN_CALLED "when-called"

static int are_refused_when_called(void)
{
    const char *when = getenv("TEAMSTER_CC_REFUSE");

    return when != NULL && strcmp(when, WHEN_CALLED) == 0;
}

// Say that a file calls a function. @return the exit code
static int refuse_call(const char *file, const char *name)
{
    const int is_ours = is_of_teamster(name);
    const int is_late = !is_ours && are_refused_when_called();

    fprintf(
        stderr, "teamster: %s%s calls %s(), which %s\n",
        is_late ? "warning: " : "", file, name,
        is_ours ? "is for programs of the plain compiler and -lteamster"
        : is_late
            ? "cannot be had on several nodes: the program ends there"
            : "cannot be had on several nodes (TEAMSTER_CC_REFUSE=" WHEN_CALLED
              " links it, and the program ends if it calls that)");
    return !is_late;
}

int cc_end_check(struct cc_check *check)
{
    for (size_t i = 0; i + 1 < check->wanted.n; i += 2) {
        const char *name = check->wanted.word[i + 1];

        if (!is_defined(check, name) &&
            refuse_call(check->wanted.word[i], name + strlen(CC_REFUSED)) !=
                0) {
            check->exit_code = 1;
        }
    }
    words_free(&check->wanted);
    words_free(&check->defined);
    return check->exit_code;
}
