// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_ERROR_REPORT_H
#define RUNTIME_ERROR_REPORT_H

#include "mem/heap.h"
#include "net/message.h"
#include "os/trap.h"

struct node;

/* What is wrong with the program, in words. */

// ---- error_report.c: errors of the program

/** Explain a trap that is not an access to a page of a live block. */
void report_trap(struct node *node, const struct trap *trap);
/** Explain why a call of the C library on shared memory fails.
 * @param address  the first byte that does not belong to a block */
void report_bad_buffer(struct node *node, const char *function, uintptr_t place,
                       const void *address);
/** Warn, if the argument of a thread that may start elsewhere is an address of memory
 * that each node has for itself. Context: a public function, outside the node lock. */
void report_argument(struct node *node, const void *argument);
/** tm_free() has found that something wrote behind a block.
 * @param at  the byte of it that has changed, >= block->size */
void report_overrun(struct node *node, const struct heap_block *block,
                    uint64_t at, const char *file, int line);
/** A thread other than main() has called exit() with a status that is no success.
 * Context: a handler of atexit(). */
void report_exit(struct node *node, int status);
/** End the program with what is wrong with it, exit code 70. Under the node
 * lock. */
_Noreturn void report_program_error(struct node *node, const char *text);
/** Write a line that begins with "thread 3 ...", with what this node knows of
 * that thread: its name, and where it called. Under the node lock. */
void report_complete_line(struct node *node, const char *line, char *text,
                          size_t size);

// ---- freed.c: blocks that are no more

enum { FREED_KEPT = 256 };

/** A place in the program, "" if it is not known. */
struct freed_place {
    uint32_t line;
    char file[64];
};

struct freed {
    page_no page;
    page_no n_pages;
    uint64_t size;
    char name[32];
    struct freed_place begin;
    struct freed_place end;
};

/** Guarded by the node lock; the latest FREED_KEPT of n_blocks are there. */
struct freed_blocks {
    struct freed blocks[FREED_KEPT];
    uint64_t n_blocks;
};

/** The engine has been told of a block's end. Under the node lock. */
void freed_note(struct node *node, const struct message *extent_close);
/** "in block 'x' of 8 bytes, allocated at a.c:1, freed at a.c:2"
 * @return 0 if the page was in no block lately. Under the node lock. */
int freed_describe(struct node *node, page_no page, char *text, size_t size);

// ---- call_site.c: where the program was

/** "main (a.c:12)", or "libc.so.6+0x12, called from main (a.c:12)". */
void call_site_describe(const struct trap *trap, char *text, size_t size);

/** Where the program called the function of a library that calls this one, perhaps
 * through others; 0 if that cannot be told. */
uintptr_t place_of_call(void);

#endif
