// SPDX-License-Identifier: BSD-3-Clause
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "net/message.h"

/*
 * What the fuzzers share. A fuzzer is the one function below. libFuzzer calls it
 * with inputs that it makes up (`make fuzz`), replay.c with those of the corpus.
 * It may be given any bytes, and keeps nothing from one call to the next.
 */

/** @return 0 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Stop, with a trace, if something does not hold that holds for any input. */
#define FUZZ_CHECK(condition)                                                  \
    ((condition) ? (void)0 : fuzz_failed(#condition, __FILE__, __LINE__))

_Noreturn void fuzz_failed(const char *condition, const char *file, int line);

/** @return a file that holds these bytes; for fclose() */
FILE *fuzz_file(const void *bytes, size_t size);

/** @return the bytes with a NUL behind; for free() */
char *fuzz_text(const void *bytes, size_t size);

/** @return the rest of an input */
static inline size_t fuzz_left(const struct wire_reader *input)
{
    return (size_t)(input->end - input->at);
}

#endif
