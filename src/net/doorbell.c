// SPDX-License-Identifier: BSD-3-Clause
//
// UCX can wake a node that sleeps: who sends the first message after the transport
// was armed makes a descriptor readable. But that cannot be taken back. A node whose
// worker has computed is armed, and when that worker begins to poll the network
// itself, the next message still wakes the service thread: it costs the sender a
// signal of 10 us and more, and somebody, maybe a worker that the message is for,
// loses a processor. So between nodes on one host, over UCX's shared memory, the
// nodes ring doorbells of their own.
//
//     wants_ring   0 --doorbell_arm, doorbell_note_polling(0) by the last--> 1
//                  1 --doorbell_ring: rings, doorbell_note_polling(1)--> 0
//
// B1  No message lies unseen while all sleep. Who arms or stops polling writes 1, and
//     then looks for messages; who sends writes the message, and then reads the word;
//     both with a full fence between. One of them sees what the other wrote.
// B2  A ring too many does no harm: somebody polls and finds nothing.
//
// Who sends to a node that has a doorbell must be able to ring it: that is found out before the
// first message (transport_ucx_peer.c), and who cannot sends nothing.
//
// A doorbell is an anonymous file of one page, and a pipe. Others open them by their
// names in /proc, as UCX opens its segments; nothing is left behind by a kill -9. They open the
// pipe for reading as well: so it has a reader when its owner is gone, and a ring is no
// SIGPIPE.
#include "net/doorbell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "os/descriptor.h"

struct doorbell_word {
    uint64_t cookie; ///< it is that doorbell, and not another process's file
    _Alignas(64) _Atomic uint32_t wants_ring;
};

struct doorbell {
    struct doorbell_word *word;
    int memory;
    int pipe[2];
    _Atomic uint32_t n_polling;
};

static struct doorbell_word *map_word(int memory)
{
    void *word = mmap(NULL, sizeof(struct doorbell_word),
                      PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);

    return word == MAP_FAILED ? NULL : word;
}

static int make_word(struct doorbell *doorbell)
{
    uint64_t cookie;

    doorbell->memory = memfd_create("teamster-doorbell", MFD_CLOEXEC);
    if (doorbell->memory < 0 ||
        ftruncate(doorbell->memory, sizeof(struct doorbell_word)) != 0 ||
        getrandom(&cookie, sizeof cookie, GRND_NONBLOCK) != sizeof cookie) {
        return 0;
    }
    doorbell->word = map_word(doorbell->memory);
    if (doorbell->word == NULL) {
        return 0;
    }
    doorbell->word->cookie = cookie;
    return 1;
}

struct doorbell *doorbell_new(void)
{
    struct doorbell *doorbell = calloc(1, sizeof *doorbell);

    if (doorbell == NULL) {
        return NULL;
    }
    doorbell->pipe[0] = doorbell->pipe[1] = -1;
    if (!make_word(doorbell) ||
        pipe2(doorbell->pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        doorbell_free(doorbell);
        return NULL;
    }
    return doorbell;
}

void doorbell_free(struct doorbell *doorbell)
{
    if (doorbell == NULL) {
        return;
    }
    if (doorbell->word != NULL) {
        munmap(doorbell->word, sizeof *doorbell->word);
    }
    descriptor_close(doorbell->memory);
    descriptor_close(doorbell->pipe[0]);
    descriptor_close(doorbell->pipe[1]);
    free(doorbell);
}

void doorbell_describe(const struct doorbell *doorbell,
                       uint8_t bytes[DOORBELL_BYTES])
{
    struct wire_writer writer = {.at = bytes, .end = bytes + DOORBELL_BYTES};

    wire_put_u32(&writer, doorbell == NULL ? 0 : (uint32_t)getpid());
    wire_put_u32(&writer, doorbell == NULL ? 0 : (uint32_t)doorbell->memory);
    wire_put_u32(&writer, doorbell == NULL ? 0 : (uint32_t)doorbell->pipe[1]);
    wire_put_u64(&writer, doorbell == NULL ? 0 : doorbell->word->cookie);
}

#define NAME_SIZE 64

static void name_descriptor(uint32_t process, uint32_t fd, char name[NAME_SIZE])
{
    snprintf(name, NAME_SIZE, "/proc/%u/fd/%u", process, fd);
}

static int open_descriptor(uint32_t process, uint32_t fd)
{
    char name[NAME_SIZE];

    name_descriptor(process, fd, name);
    return open(name, O_RDWR | O_CLOEXEC | O_NONBLOCK);
}

// The system does not know its descriptor any more, and would if it were there. One that has
// ended and is not waited for has none left either.
static tm_status why_not_opened(void)
{
    const int error = errno;
    const int is_gone = error == ENOENT && access("/proc/self", F_OK) == 0;

    errno = error;
    return is_gone ? TM_EPEER : TM_ESYSTEM;
}

/** @param memory  that is another node's, or, if that has ended, of whoever has its number */
static tm_status map_peer_word(struct doorbell_peer *peer, int memory,
                               uint64_t cookie)
{
    if (lseek(memory, 0, SEEK_END) != (off_t)sizeof *peer->word) {
        return TM_EPEER;
    }
    peer->word = map_word(memory);
    if (peer->word == NULL) {
        return TM_ESYSTEM;
    }
    return peer->word->cookie == cookie ? TM_OK : TM_EPEER;
}

// Both are open for a moment: then UCX, which opens one and closes it again, can do that next.
static tm_status open_both(struct doorbell_peer *peer, uint32_t memory_number,
                           uint64_t cookie)
{
    const int memory = open_descriptor(peer->process, memory_number);
    tm_status status;

    if (memory < 0) {
        return why_not_opened();
    }
    status = map_peer_word(peer, memory, cookie);
    if (status == TM_OK) {
        peer->pipe = open_descriptor(peer->process, peer->pipe_number);
        status = peer->pipe < 0 ? why_not_opened() : TM_OK;
    }
    descriptor_close(memory);
    return status;
}

tm_status doorbell_attach(struct doorbell_peer *peer,
                          const uint8_t bytes[DOORBELL_BYTES])
{
    struct wire_reader reader = {.at = bytes, .end = bytes + DOORBELL_BYTES};
    uint32_t memory;
    tm_status status = TM_OK;

    *peer = (struct doorbell_peer){.pipe = -1};
    peer->process = wire_get_u32(&reader);
    memory = wire_get_u32(&reader);
    peer->pipe_number = wire_get_u32(&reader);
    if (peer->process != 0) {
        status = open_both(peer, memory, wire_get_u64(&reader));
    }
    if (status != TM_OK) {
        doorbell_detach(peer);
    }
    return status;
}

int doorbell_is_gone(const struct doorbell_peer *peer)
{
    char name[NAME_SIZE];

    name_descriptor(peer->process, peer->pipe_number, name);
    return peer->process != 0 && access(name, F_OK) != 0 &&
           why_not_opened() == TM_EPEER;
}

void doorbell_detach(struct doorbell_peer *peer)
{
    const int saved_errno = errno;

    if (peer->word == NULL) {
        return;
    }
    munmap(peer->word, sizeof *peer->word);
    descriptor_close(peer->pipe);
    errno = saved_errno;
    *peer = (struct doorbell_peer){.pipe = -1};
}

int doorbell_ring(const struct doorbell_peer *peer)
{
    if (peer->word == NULL) {
        return 0;
    }
    atomic_thread_fence(memory_order_seq_cst); // B1
    if (atomic_load_explicit(&peer->word->wants_ring, memory_order_relaxed) &&
        atomic_exchange(&peer->word->wants_ring, 0)) {
        ssize_t written = write(peer->pipe, "", 1);

        (void)written; // full: it is readable anyway
        return 1;
    }
    return 0;
}

void doorbell_arm(struct doorbell *doorbell)
{
    char rings[64];

    while (read(doorbell->pipe[0], rings, sizeof rings) == sizeof rings) {
    }
    if (atomic_load(&doorbell->n_polling) ==
        0) { // else the last that polls does it
        atomic_store(&doorbell->word->wants_ring, 1); // B1: a full fence
    }
}

void doorbell_note_polling(struct doorbell *doorbell, int is_polling)
{
    if (is_polling) {
        atomic_fetch_add(&doorbell->n_polling, 1);
        atomic_store_explicit(&doorbell->word->wants_ring, 0,
                              memory_order_relaxed);
    } else if (atomic_fetch_sub(&doorbell->n_polling, 1) == 1) {
        atomic_store(&doorbell->word->wants_ring, 1); // B1: a full fence
    }
}

int doorbell_fd(const struct doorbell *doorbell)
{
    return doorbell->pipe[0];
}
