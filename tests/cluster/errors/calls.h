// SPDX-License-Identifier: BSD-3-Clause
#ifndef ERRORS_CALLS_H
#define ERRORS_CALLS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <teamster.h>

#include "check.h"

/* What calls*.c share: calls.c has the essay. */

#define GLOBAL_SIZE 200000
#define OFFSET 1237 // of the buffer in its first page

/** What a thread on the other node does with the buffer. */
struct task {
    char *buffer;
    size_t size;
    int seed;
    enum { FILL, CLEAR, COMPARE, FILL_TEXT, COMPARE_TEXT } what;
};

// ---- calls.c

extern TM_SHARED struct task task; ///< the last one

// Private to each node.
extern char *buffer;
extern size_t size;
extern int seed;            ///< the contents follow from it
extern char *private_bytes; ///< [size] on the root
extern int ends[2];         ///< of a pipe, or two sockets

/** Lines of text, and a zero at the end: byte i of n. */
char text(size_t i, size_t n);
/** Have it done on the last node. @param what  see struct task */
void there(int what);
int temporary_file(void);

// ---- calls_rows.c

extern TM_SHARED char global[GLOBAL_SIZE];

/** A call that writes the buffer, and one that reads into it. @return as write() and
 * read() */
struct row {
    const char *name;
    ssize_t (*out)(int fd);
    ssize_t (*in)(int fd);
    enum { A_FILE, A_PIPE, A_SOCKET } through;
    int is_global; ///< the buffer is in `global`
};

extern const struct row rows[];
extern const unsigned n_rows;

// ---- calls_strings.c, calls_datagrams.c

void run_strings(void);
void run_datagrams(void);

#endif
