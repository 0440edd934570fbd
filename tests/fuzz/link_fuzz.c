// SPDX-License-Identifier: BSD-3-Clause
// cli/link.c: a launcher to which anything may speak as a node, in pieces of any
// size. What comes out does not depend on how it was cut.
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "link.h"

/** What was heard: of all frames together. */
struct heard {
    unsigned n_frames;
    size_t n_bytes;
    uint64_t hash;
    int is_wrong;
};

static void hear(struct link *link, struct heard *heard)
{
    struct link_frame frame;
    int found;

    while (!heard->is_wrong && (found = link_next(link, &frame)) != 0) {
        if (found < 0) {
            heard->is_wrong = 1;
            return;
        }
        heard->n_frames++;
        heard->n_bytes += BOOT_HEADER + frame.size;
        heard->hash = heard->hash * 31 + frame.kind;
        for (size_t i = 0; i < frame.size; i++) {
            heard->hash = heard->hash * 31 + frame.body[i];
        }
    }
}

/** @param piece  bytes that come at a time */
static struct heard speak(const uint8_t *data, size_t size, size_t piece)
{
    struct heard heard = {0};
    struct link link = {0};
    int ends[2];

    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    link.fd = ends[0];
    for (size_t at = 0; at < size; at += piece) {
        size_t n = piece < size - at ? piece : size - at;

        FUZZ_CHECK(send(ends[1], data + at, n, 0) == (ssize_t)n);
        link_receive(&link);
        hear(&link, &heard);
    }
    close(ends[1]);
    link_receive(&link);
    FUZZ_CHECK(link.fd == -1);
    hear(&link, &heard);
    FUZZ_CHECK(heard.n_bytes <= size);
    link_close(&link);
    return heard;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heard whole;
    struct heard cut;

    if (size < 1 || size > 32768) {
        return 0;
    }
    whole = speak(data + 1, size - 1, size);
    cut = speak(data + 1, size - 1, size / 16 + data[0] % 16 + 1);
    FUZZ_CHECK(whole.n_frames == cut.n_frames && whole.hash == cut.hash);
    FUZZ_CHECK(whole.is_wrong == cut.is_wrong);
    return 0;
}
