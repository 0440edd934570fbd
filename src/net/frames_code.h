// SPDX-License-Identifier: BSD-3-Clause
//
// The code of a table of frames, FRAME(number, name, way, meaning, body), with FRAMES as its
// name: that of its records (net/records_code.h), and frame_is_good(). Once in a file.
#define RECORDS FRAMES
#include "net/records_code.h"

/** @return 1 if the body of a frame of this kind is what its row says */
static int frame_is_good(unsigned kind, const void *body, size_t size)
{
    struct wire_reader reader = wire_read(body, size);

    switch (kind) {
#define FRAME(number, name, way, meaning, body)                                \
    case number:                                                               \
        body break;
#include FRAMES
    default:
        return 0;
    }
    return !reader.failed && reader.at == reader.end;
}

#undef FRAMES
