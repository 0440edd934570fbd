// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <stddef.h>

/*
 * Libraries that are loaded when they are needed. A user lists the functions once,
 *
 *     #define FUNCTIONS(F) F(first) F(second)
 *
 * and has a struct of pointers to them, FUNCTIONS(LIBRARY_MEMBER), and their names in the same
 * order, FUNCTIONS(LIBRARY_NAME).
 */
#define LIBRARY_MEMBER(name) __typeof__(name) *(name);
#define LIBRARY_NAME(name) #name,

/** Load a library, which stays loaded until the process ends, and find its functions.
 * @param library  its name, with the version of its interface
 * @param names  [n]
 * @param[out] functions  the struct: n pointers, nothing else
 * @param[out] why  [size] it cannot be
 * @return 1, 0 if it cannot be. Context: any thread; takes the dynamic linker's lock. */
int library_load(const char *library, const char *const *names, size_t n,
                 void *functions, char *why, size_t size);

#endif
