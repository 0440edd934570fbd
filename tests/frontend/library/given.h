// SPDX-License-Identifier: BSD-3-Clause
#ifndef TESTS_FRONTEND_LIBRARY_GIVEN_H
#define TESTS_FRONTEND_LIBRARY_GIVEN_H

/* A library of others: compiled by the plain compiler, and linked as it is. */

struct given;

/** A file to be read by lines; NULL: it cannot be. */
struct given *given_open(const char *path);

/** The next line, which is the caller's; NULL: there is none. By any thread. */
char *given_line(struct given *given);

/** Wait until so many lines have been read. */
void given_await(struct given *given, int n_lines);

/** Write how many lines and bytes have been read. */
void given_tell(const struct given *given);

/** The file's name, with more room and a word behind it; the caller's. */
char *given_name(const struct given *given, const char *word);

void given_close(struct given *given);

#endif
