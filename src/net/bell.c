// SPDX-License-Identifier: BSD-3-Clause
//
// UCX can wake a node that sleeps: who sends the first message after the transport
// was armed makes a descriptor readable. But that cannot be taken back. A node whose
// worker has computed is armed, and when that worker begins to look at the network
// itself, the next message still wakes the service thread: it costs the sender a
// signal of 10 us and more, and somebody, maybe a worker that the message is for,
// loses a processor. So between nodes on one host, over UCX's shared memory, the
// nodes ring bells of their own.
//
//     wants_ring   0 --bell_arm, bell_look(0) by the last--> 1
//                  1 --rope_pull: rings, bell_look(1)--> 0
//
// B1  No message lies unseen while all sleep. Who arms or stops looking writes 1, and
//     then looks for messages; who sends writes the message, and then reads the word;
//     both with a full fence between. One of them sees what the other wrote.
// B2  A ring too many does no harm: somebody looks and finds nothing.
//
// A bell counts its ringers. Until all other nodes of the host ring it its owner must
// sleep as it would without one; so a node that cannot reach a bell need not tell.
//
// A bell is an anonymous file of one page, and a pipe. Others open them by their
// names in /proc, as UCX opens its segments; nothing is left behind by a kill -9. They open the
// pipe for reading as well: so it has a reader when its owner is gone, and a ring is no
// SIGPIPE.
#include "net/bell.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "os/descriptor.h"

struct bell_word {
    uint64_t cookie; ///< it is that bell, and not another process's file
    _Atomic uint32_t n_ringers;
    _Alignas(64) _Atomic uint32_t wants_ring;
};

struct bell {
    struct bell_word *word;
    int memory;
    int pipe[2];
    _Atomic uint32_t n_looking;
};

static struct bell_word *map_word(int memory)
{
    void *word = mmap(NULL, sizeof(struct bell_word), PROT_READ | PROT_WRITE,
                      MAP_SHARED, memory, 0);

    return word == MAP_FAILED ? NULL : word;
}

static int make_word(struct bell *bell)
{
    uint64_t cookie;

    bell->memory = memfd_create("teamster-bell", MFD_CLOEXEC);
    if (bell->memory < 0 ||
        ftruncate(bell->memory, sizeof(struct bell_word)) != 0 ||
        getrandom(&cookie, sizeof cookie, GRND_NONBLOCK) != sizeof cookie) {
        return 0;
    }
    bell->word = map_word(bell->memory);
    if (bell->word == NULL) {
        return 0;
    }
    bell->word->cookie = cookie;
    return 1;
}

struct bell *bell_new(void)
{
    struct bell *bell = calloc(1, sizeof *bell);

    if (bell == NULL) {
        return NULL;
    }
    bell->pipe[0] = bell->pipe[1] = -1;
    if (!make_word(bell) || pipe2(bell->pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        bell_free(bell);
        return NULL;
    }
    return bell;
}

void bell_free(struct bell *bell)
{
    if (bell == NULL) {
        return;
    }
    if (bell->word != NULL) {
        munmap(bell->word, sizeof *bell->word);
    }
    descriptor_close(bell->memory);
    descriptor_close(bell->pipe[0]);
    descriptor_close(bell->pipe[1]);
    free(bell);
}

void bell_describe(const struct bell *bell, uint8_t bytes[BELL_BYTES])
{
    struct wire_writer writer = {.at = bytes, .end = bytes + BELL_BYTES};

    wire_put_u32(&writer, bell == NULL ? 0 : (uint32_t)getpid());
    wire_put_u32(&writer, bell == NULL ? 0 : (uint32_t)bell->memory);
    wire_put_u32(&writer, bell == NULL ? 0 : (uint32_t)bell->pipe[1]);
    wire_put_u64(&writer, bell == NULL ? 0 : bell->word->cookie);
}

static int open_of(uint32_t process, uint32_t fd)
{
    char name[64];

    snprintf(name, sizeof name, "/proc/%u/fd/%u", process, fd);
    return open(name, O_RDWR | O_CLOEXEC | O_NONBLOCK);
}

static struct bell_word *map_word_of(uint32_t process, uint32_t fd,
                                     uint64_t cookie)
{
    int memory = open_of(process, fd);
    struct bell_word *word = NULL;

    if (memory < 0) {
        return NULL;
    }
    if (lseek(memory, 0, SEEK_END) == (off_t)sizeof *word) {
        word = map_word(memory);
    }
    close(memory);
    if (word != NULL && word->cookie != cookie) {
        munmap(word, sizeof *word);
        word = NULL;
    }
    return word;
}

void rope_take(struct rope *rope, const uint8_t bytes[BELL_BYTES])
{
    struct wire_reader reader = {.at = bytes, .end = bytes + BELL_BYTES};
    uint32_t process = wire_get_u32(&reader);
    uint32_t memory = wire_get_u32(&reader);
    uint32_t pipe = wire_get_u32(&reader);

    *rope = (struct rope){.pipe = -1};
    if (process == 0) {
        return;
    }
    rope->word = map_word_of(process, memory, wire_get_u64(&reader));
    if (rope->word == NULL) {
        return;
    }
    rope->pipe = open_of(process, pipe);
    if (rope->pipe < 0) {
        rope_drop(rope);
        return;
    }
    atomic_fetch_add(&rope->word->n_ringers, 1);
}

void rope_drop(struct rope *rope)
{
    if (rope->word == NULL) {
        return;
    }
    if (rope->pipe >= 0) {
        atomic_fetch_sub(&rope->word->n_ringers, 1);
    }
    munmap(rope->word, sizeof *rope->word);
    descriptor_close(rope->pipe);
    *rope = (struct rope){.pipe = -1};
}

int rope_pull(const struct rope *rope)
{
    if (rope->word == NULL) {
        return 0;
    }
    atomic_thread_fence(memory_order_seq_cst); // B1
    if (atomic_load_explicit(&rope->word->wants_ring, memory_order_relaxed) &&
        atomic_exchange(&rope->word->wants_ring, 0)) {
        ssize_t written = write(rope->pipe, "", 1);

        (void)written; // full: it is readable anyway
        return 1;
    }
    return 0;
}

int bell_is_rung_by(const struct bell *bell, unsigned n_nodes)
{
    return bell != NULL &&
           atomic_load_explicit(&bell->word->n_ringers, memory_order_relaxed) >=
               n_nodes; // one that leaves lets go last
}

void bell_arm(struct bell *bell)
{
    char rings[64];

    while (read(bell->pipe[0], rings, sizeof rings) == sizeof rings) {
    }
    if (atomic_load(&bell->n_looking) ==
        0) { // else the last that looks does it
        atomic_store(&bell->word->wants_ring, 1); // B1: a full fence
    }
}

void bell_look(struct bell *bell, int is_looking)
{
    if (is_looking) {
        atomic_fetch_add(&bell->n_looking, 1);
        atomic_store_explicit(&bell->word->wants_ring, 0, memory_order_relaxed);
    } else if (atomic_fetch_sub(&bell->n_looking, 1) == 1) {
        atomic_store(&bell->word->wants_ring, 1); // B1: a full fence
    }
}

int bell_fd(const struct bell *bell)
{
    return bell->pipe[0];
}
