// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_COMPRESSION_H
#define OS_COMPRESSION_H

#include <stddef.h>
#include <stdint.h>

/*
 * Bytes made fewer, and the same again: by zstd (RFC 8878) at its fastest level. Its library is
 * loaded when it is needed; built without its header there is none (compression_absent.c).
 */

struct compression;

/** @return NULL: there is none here. Context: any thread, which is the one that uses it */
struct compression *compression_open(void);
void compression_close(struct compression *compression);

/** @return the version of the library; NULL, and why there is none. @param[out] why  [size] */
const char *compression_version(char *why, size_t size);

/** @param[out] to  [room] @return bytes of it that were needed; 0: it has not enough */
uint32_t compression_pack(struct compression *compression, const void *bytes,
                          uint32_t size, void *to, uint32_t room);

/** Accepts any bytes. @param[out] to  [size] @return 1; 0: they do not become `size` bytes */
int compression_unpack(struct compression *compression, const void *bytes,
                       uint32_t n, void *to, uint32_t size);

#endif
