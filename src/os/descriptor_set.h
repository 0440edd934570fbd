// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_DESCRIPTOR_SET_H
#define OS_DESCRIPTOR_SET_H

#include <stdatomic.h>
#include <stdint.h>

/** Descriptors from this number on are not noted. */
#define DESCRIPTOR_SET_END 65536u

/*
 * Descriptors that a child of fork() is not to have. (After exec*() it has none
 * that is close-on-exec.) A connection ends when the last process that has it
 * closes it: with a child that lives on, others would not notice that its
 * parent has died.
 *
 * Zeros are an empty set. The child may read it whatever other threads of the
 * parent were doing.
 */
struct descriptor_set {
    _Atomic uint64_t bits[DESCRIPTOR_SET_END / 64];
};

/** Note an open descriptor. Context: any kernel thread. */
void descriptor_set_add(struct descriptor_set *set, int fd);

/** Forget it, before it is closed: then its number may be somebody else's.
 * @param fd  -1: nothing is done
 * Context: any kernel thread. */
void descriptor_set_remove(struct descriptor_set *set, int fd);

/** Close all of them, and forget them. Context: a child of fork(). */
void descriptor_set_close(struct descriptor_set *set);

#endif
