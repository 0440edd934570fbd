// SPDX-License-Identifier: BSD-3-Clause
#include "nodelist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\n\v\f"

/** Take what follows the name. @return 1, 0 if it is wrong (told in text) */
static int take_qualifiers(char **rest, char *cpus, char *speed, char *text,
                           size_t size)
{
    char *word;

    while ((word = strtok_r(NULL, BLANKS, rest)) != NULL) {
        const char *value = strtok_r(NULL, BLANKS, rest);
        char *kept = strcmp(word, "++cpus") == 0    ? cpus
                     : strcmp(word, "++speed") == 0 ? speed
                                                    : NULL;

        if (value == NULL) {
            snprintf(text, size, "'%s' has no value", word);
            return 0;
        }
        if (kept != NULL &&
            strlen(value) < sizeof((struct nodelist *)0)->cpus) {
            snprintf(kept, sizeof((struct nodelist *)0)->cpus, "%s", value);
        } else if (kept != NULL || strcmp(word, "++shell") != 0) {
            snprintf(text, size,
                     "'%s %s' is not known; of a nodelist: group NAME or host "
                     "NAME, [++cpus N] [++speed S] [++shell ssh]",
                     word, value);
            return 0;
        } else if (strcmp(value, "ssh") != 0) {
            snprintf(text, size,
                     "'++shell %s': give it to all hosts, with --ssh", value);
            return 0;
        }
    }
    return 1;
}

static enum nodelist_line take_group(struct nodelist *list, const char *name,
                                     char **rest, char *text, size_t size)
{
    *list = (struct nodelist){.is_other = strcmp(name, "main") != 0};
    return take_qualifiers(rest, list->cpus, list->speed, text, size)
               ? NODELIST_EMPTY
               : NODELIST_WRONG;
}

static enum nodelist_line take_host(const struct nodelist *list,
                                    const char *name, char **rest, char *text,
                                    size_t size)
{
    struct nodelist own = *list;

    if (!take_qualifiers(rest, own.cpus, own.speed, text, size)) {
        return NODELIST_WRONG;
    }
    snprintf(text, size, "%s%s%s%s%s", name,
             own.cpus[0] != '\0' ? " slots=" : "", own.cpus,
             own.speed[0] != '\0' ? " speed=" : "", own.speed);
    return list->is_other ? NODELIST_EMPTY : NODELIST_HOST;
}

enum nodelist_line nodelist_translate(struct nodelist *list, const char *line,
                                      char *text, size_t size)
{
    char *copy = strdup(line);
    char *rest = NULL;
    const char *what = copy != NULL ? strtok_r(copy, BLANKS, &rest) : NULL;
    const char *name = what != NULL ? strtok_r(NULL, BLANKS, &rest) : NULL;
    enum nodelist_line result = NODELIST_NOT;

    if (name != NULL && strchr(name, '=') == NULL) {
        if (strcmp(what, "group") == 0) {
            result = take_group(list, name, &rest, text, size);
        } else if (strcmp(what, "host") == 0) {
            result = take_host(list, name, &rest, text, size);
        }
    }
    free(copy);
    return result;
}
