// SPDX-License-Identifier: BSD-3-Clause
//
// The command line of a compiler, as far as `teamster cc` must understand it: which
// arguments are files to compile, which are for the linker, and which word belongs to the
// option before it. All others are handed on as they are.
#include "cc.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"

enum { FILES_DEEP = 8 };

// ---- words

void words_add(struct words *words, const char *word)
{
    if (words->n + 2 > words->room) {
        words->room = words->room * 2 + 16;
        words->word = realloc(words->word, words->room * sizeof *words->word);
        ensure_memory(words->word != NULL);
    }
    words->word[words->n] = strdup(word);
    ensure_memory(words->word[words->n] != NULL);
    words->word[++words->n] = NULL;
}

void words_add_all(struct words *words, const struct words *others)
{
    for (size_t i = 0; i < others->n; i++) {
        words_add(words, others->word[i]);
    }
}

void words_free(struct words *words)
{
    for (size_t i = 0; i < words->n; i++) {
        free(words->word[i]);
    }
    free(words->word);
    *words = (struct words){0};
}

// ---- files of arguments: words between blanks, with quotes and backslashes

// @return behind the word, which is copied to `to`
static const char *copy_word(const char *at, char *to)
{
    char quote = '\0';

    for (; *at != '\0' && (quote != '\0' || !isspace((unsigned char)*at));
         at++) {
        if (*at == '\\' && at[1] != '\0') {
            *to++ = *++at;
        } else if (*at == quote) {
            quote = '\0';
        } else if (quote == '\0' && (*at == '"' || *at == '\'')) {
            quote = *at;
        } else {
            *to++ = *at;
        }
    }
    *to = '\0';
    return at;
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;

    if (file == NULL) {
        return NULL;
    }
    if (getdelim(&text, &room, '\0', file) < 0) {
        free(text);
        text = strdup("");
    }
    fclose(file);
    return text;
}

void words_add_text(struct words *words, const char *text)
{
    char *part = malloc(strlen(text) + 1);

    ensure_memory(part != NULL);
    for (const char *at = text; *at != '\0';) {
        if (isspace((unsigned char)*at)) {
            at++;
            continue;
        }
        at = copy_word(at, part);
        words_add(words, part);
    }
    free(part);
}

static void expand_word(struct words *to, const char *word, int depth)
{
    char *text =
        word[0] == '@' && depth < FILES_DEEP ? read_text(word + 1) : NULL;
    struct words parts = {0};

    if (text == NULL) {
        words_add(to, word);
        return;
    }
    words_add_text(&parts, text);
    for (size_t i = 0; i < parts.n; i++) {
        expand_word(to, parts.word[i], depth + 1);
    }
    words_free(&parts);
    free(text);
}

static void expand_files(struct words *words)
{
    struct words expanded = {0};

    for (size_t i = 0; i < words->n; i++) {
        expand_word(&expanded, words->word[i], 0);
    }
    words_free(words);
    *words = expanded;
}

// ---- options

struct option {
    const char *name;
    enum {
        ALONE,
        WITH_WORD,   // the next word belongs to it
        BEGINS_WITH, // what follows is in the same word
    } form;
    enum cc_kind kind;
};

// Those that are for compiling and for linking, and of one word, are not here.
static const struct option options[] = {
    {"-I", WITH_WORD, CC_LEFT_OUT},
    {"-D", WITH_WORD, CC_LEFT_OUT},
    {"-U", WITH_WORD, CC_LEFT_OUT},
    {"-include", WITH_WORD, CC_LEFT_OUT},
    {"-imacros", WITH_WORD, CC_LEFT_OUT},
    {"-isystem", WITH_WORD, CC_LEFT_OUT},
    {"-iquote", WITH_WORD, CC_LEFT_OUT},
    {"-idirafter", WITH_WORD, CC_LEFT_OUT},
    {"-iprefix", WITH_WORD, CC_LEFT_OUT},
    {"-isysroot", WITH_WORD, CC_FLAG},
    {"-J", WITH_WORD, CC_LEFT_OUT},
    {"-MF", WITH_WORD, CC_LEFT_OUT},
    {"-MT", WITH_WORD, CC_LEFT_OUT},
    {"-MQ", WITH_WORD, CC_LEFT_OUT},
    {"-MD", ALONE, CC_LEFT_OUT},
    {"-MMD", ALONE, CC_LEFT_OUT},
    {"-MP", ALONE, CC_LEFT_OUT},
    {"-MG", ALONE, CC_LEFT_OUT},
    {"-Xpreprocessor", WITH_WORD, CC_LEFT_OUT},
    {"-Xassembler", WITH_WORD, CC_LEFT_OUT},
    {"-Xlinker", WITH_WORD, CC_LINKED},
    {"-aux-info", WITH_WORD, CC_LEFT_OUT},
    {"--param", WITH_WORD, CC_FLAG},
    {"-L", WITH_WORD, CC_LINKED},
    {"-l", WITH_WORD, CC_LINKED},
    {"-T", WITH_WORD, CC_LINKED},
    {"-u", WITH_WORD, CC_LINKED},
    {"-z", WITH_WORD, CC_LINKED},
    {"-e", WITH_WORD, CC_LINKED},
    {"-B", WITH_WORD, CC_FLAG},
    {"-Wl,", BEGINS_WITH, CC_LINKED},
    {"-Wa,", BEGINS_WITH, CC_LEFT_OUT},
    {"-Wp,", BEGINS_WITH, CC_LEFT_OUT},
    {"-I", BEGINS_WITH, CC_LEFT_OUT},
    {"-D", BEGINS_WITH, CC_LEFT_OUT},
    {"-U", BEGINS_WITH, CC_LEFT_OUT},
    {"-L", BEGINS_WITH, CC_LINKED},
    {"-l", BEGINS_WITH, CC_LINKED},
    {"-rdynamic", ALONE, CC_LINKED},
    {"-s", ALONE, CC_LINKED},
    {"-pie", ALONE, CC_LINKED},
    {"-no-pie", ALONE, CC_LINKED},
    {"-static-libgcc", ALONE, CC_LINKED},
    {"-static-libstdc++", ALONE, CC_LINKED},
    {"-fopenmp", ALONE, CC_LEFT_OUT},
};

static const struct option *find_option(const char *word)
{
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        const struct option *option = &options[i];

        if (option->form == BEGINS_WITH
                ? strncmp(word, option->name, strlen(option->name)) == 0
                : strcmp(word, option->name) == 0) {
            return option;
        }
    }
    return NULL;
}

static const char *const makes_nothing[] = {
    "-E",           "-S",
    "-M",           "-MM",
    "-###",         "--version",
    "--help",       "-dumpversion",
    "-dumpmachine", "-dumpfullversion",
    "-dumpspecs",   "-fsyntax-only",
    "-r",
};

static int makes_no_object(const char *word)
{
    for (size_t i = 0; i < sizeof makes_nothing / sizeof makes_nothing[0];
         i++) {
        if (strcmp(word, makes_nothing[i]) == 0) {
            return 1;
        }
    }
    return strncmp(word, "-print-", 7) == 0 ||
           strncmp(word, "--print-", 8) == 0 ||
           strncmp(word, "--help=", 7) == 0;
}

static const struct {
    const char *option;
    const char *why;
} refused_options[] = {
    {"-shared", "the variables of a shared library cannot be shared by nodes: "
                "link its objects into the program"},
    {"-static", "a program that runs on several nodes needs libteamster.so: "
                "link without it"},
    {"-static-pie", "a program that runs on several nodes needs "
                    "libteamster.so: link without it"},
};

static const struct {
    const char *name;
    const char *why;
} refused_sanitizers[] = {
    {"thread", "ThreadSanitizer does not know Teamster's threads: use the "
               "compiler itself to look for races"},
    {"address", "AddressSanitizer does not know Teamster's stacks: use the "
                "compiler itself to look for errors"},
    {"hwaddress", "AddressSanitizer does not know Teamster's stacks: use the "
                  "compiler itself to look for errors"},
    {"leak", "LeakSanitizer does not know Teamster's blocks: use the compiler "
             "itself to look for leaks"},
    {"memory", "MemorySanitizer does not know Teamster's blocks: use the "
               "compiler itself to look for errors"},
};

// Is it one of the names between commas?
static int is_in_list(const char *list, const char *name)
{
    const size_t length = strlen(name);

    while (list != NULL) {
        if (strncmp(list, name, length) == 0 &&
            (list[length] == '\0' || list[length] == ',')) {
            return 1;
        }
        list = strchr(list, ',');
        list += list != NULL;
    }
    return 0;
}

static void note_sanitizers(struct cc_arguments *arguments, const char *word)
{
    static const char option[] = "-fsanitize=";

    if (strncmp(word, option, sizeof option - 1) != 0) {
        return;
    }
    for (size_t i = 0;
         i < sizeof refused_sanitizers / sizeof refused_sanitizers[0]; i++) {
        if (is_in_list(word + sizeof option - 1, refused_sanitizers[i].name)) {
            arguments->refused = word;
            arguments->refused_why = refused_sanitizers[i].why;
        }
    }
}

static void note_refused(struct cc_arguments *arguments, const char *word)
{
    note_sanitizers(arguments, word);
    for (size_t i = 0; i < sizeof refused_options / sizeof refused_options[0];
         i++) {
        if (strcmp(word, refused_options[i].option) == 0) {
            arguments->refused = word;
            arguments->refused_why = refused_options[i].why;
        }
    }
}

// ---- files

static const char *const source_suffixes[] = {
    "c",   "i", "cc",  "cp",  "cxx", "cpp", "CPP", "c++", "C",   "ii",
    "s",   "S", "sx",  "f",   "for", "ftn", "f90", "f95", "f03", "f08",
    "fpp", "F", "FOR", "FTN", "F90", "F95", "F03", "F08", "FPP", NULL,
};

static const char *const header_suffixes[] = {
    "h", "H", "hh", "hp", "hxx", "hpp", "HPP", "h++", "tcc", NULL,
};

static int has_suffix(const char *path, const char *const *suffixes)
{
    const char *dot = strrchr(path, '.');

    if (dot == NULL || strchr(dot, '/') != NULL) {
        return 0;
    }
    for (; *suffixes != NULL; suffixes++) {
        if (strcmp(dot + 1, *suffixes) == 0) {
            return 1;
        }
    }
    return 0;
}

// Of it the compiler makes what it can read faster, and no object.
static int is_header(const char *path, const char *language)
{
    return language != NULL ? strstr(language, "-header") != NULL
                            : has_suffix(path, header_suffixes);
}

static void add_argument(struct cc_arguments *arguments, const char *text,
                         enum cc_kind kind, const char *language)
{
    arguments->argument[arguments->n++] =
        (struct cc_argument){text, kind, language};
}

static void add_file(struct cc_arguments *arguments, const char *path,
                     const char *language)
{
    if (is_header(path, language)) {
        arguments->task = CC_OTHER;
    }
    if (has_suffix(path, source_suffixes) || language != NULL) {
        add_argument(arguments, path, CC_SOURCE, language);
        arguments->n_sources++;
    } else {
        add_argument(arguments, path, CC_LINKED, NULL);
        arguments->n_objects++;
    }
}

static void note_flags(struct cc_arguments *arguments, const char *word)
{
    note_refused(arguments, word);
    arguments->makes_dependencies |=
        strcmp(word, "-MD") == 0 || strcmp(word, "-MMD") == 0;
    arguments->names_dependencies |= strcmp(word, "-MF") == 0;
    arguments->names_targets |=
        strcmp(word, "-MT") == 0 || strcmp(word, "-MQ") == 0;
}

// @return how many words it takes
static size_t read_option(struct cc_arguments *arguments, char **word,
                          size_t n_left)
{
    const struct option *option = find_option(word[0]);
    enum cc_kind kind = option == NULL ? CC_FLAG : option->kind;

    note_flags(arguments, word[0]);
    add_argument(arguments, word[0], kind, NULL);
    if (option != NULL && option->form == WITH_WORD && n_left > 1) {
        add_argument(arguments, word[1], kind, NULL);
        return 2;
    }
    return 1;
}

// Those of which a word or a place is kept. @return how many words it takes, 0: no such
static size_t read_own(struct cc_arguments *arguments, char **word,
                       size_t n_left, const char **language)
{
    if (strcmp(word[0], "-o") == 0 && n_left > 1) {
        arguments->output = word[1];
        return 2;
    }
    if (strncmp(word[0], "-o", 2) == 0 && word[0][2] != '\0') {
        arguments->output = word[0] + 2;
        return 1;
    }
    if (strncmp(word[0], "-x", 2) == 0) {
        int is_apart = word[0][2] == '\0';

        *language = is_apart ? word[1] : word[0] + 2;
        if (*language != NULL && strcmp(*language, "none") == 0) {
            *language = NULL;
        }
        return is_apart && n_left > 1 ? 2 : 1;
    }
    if (strcmp(word[0], "-c") == 0) {
        arguments->task = arguments->task == CC_OTHER ? CC_OTHER : CC_COMPILE;
        return 1;
    }
    if (strncmp(word[0], "-flto", 5) == 0) {
        return 1; // what is linked must be whole
    }
    return 0;
}

int cc_read_arguments(struct words *words, struct cc_arguments *arguments)
{
    const char *language = NULL;

    expand_files(words);
    *arguments = (struct cc_arguments){.task = CC_LINK};
    arguments->argument = calloc(words->n + 1, sizeof *arguments->argument);
    ensure_memory(arguments->argument != NULL);
    for (size_t i = 0; i < words->n;) {
        char **word = &words->word[i];
        size_t own = read_own(arguments, word, words->n - i, &language);

        if (own > 0) {
            i += own;
        } else if (word[0][0] == '-' && word[0][1] != '\0') {
            arguments->task =
                makes_no_object(word[0]) ? CC_OTHER : arguments->task;
            i += read_option(arguments, word, words->n - i);
        } else {
            add_file(arguments, word[0], language);
            i++;
        }
    }
    if (arguments->n_sources == 0 &&
        (arguments->n_objects == 0 || arguments->task == CC_COMPILE)) {
        arguments->task = CC_OTHER; // what it does is the compiler's to say
    }
    return 0;
}

void cc_free_arguments(struct cc_arguments *arguments)
{
    free(arguments->argument);
}
