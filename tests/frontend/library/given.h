// SPDX-License-Identifier: BSD-3-Clause
#ifndef TESTS_FRONTEND_LIBRARY_GIVEN_H
#define TESTS_FRONTEND_LIBRARY_GIVEN_H

/* A library of others: compiled by the plain compiler, and linked as it is. */

struct given;

/** A file to be read by lines; NULL: it cannot be. */
struct given *given_open(const char *path);

/** The next line, which is the caller's; NULL: there is none. By one thread at a time. */
char *given_line(struct given *given);

/** Write how many lines and bytes have been read. */
void given_tell(const struct given *given);

/** The file's name, with more room and a word behind it; the caller's. */
char *given_name(const struct given *given, const char *word);

/** A text, the caller's. */
char *given_text(const struct given *given, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Remember a text until the program's end. */
void given_keep(const char *text);

void given_close(struct given *given);

#endif
