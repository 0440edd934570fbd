// SPDX-License-Identifier: BSD-3-Clause
// readv(), writev() and their like on shared memory, in one call of the C library:
// private parts are passed on, shared ones replaced by private memory. The vector
// itself may be shared too. sendmsg() and recvmsg() do the rest of their work in
// wrap_socket.c.
#include "runtime/wrap.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/node.h"

/** A vector, with its shared parts in a bounce. */
struct vector {
    int n;
    struct iovec own[IOV_MAX];
    const struct iovec *given;
    struct bounce bounce;
};

int wrap_vector_is_shared(const struct iovec *parts, int n)
{
    if (n <= 0 || n > IOV_MAX || node_step(&this_node) != RUNTIME_RUNNING) {
        return 0; // for the kernel to judge
    }
    if (WRAP_IS_SHARED(parts)) {
        return 1;
    }
    for (int i = 0; i < n; i++) {
        if (WRAP_IS_SHARED(parts[i].iov_base)) {
            return 1;
        }
    }
    return 0;
}

// Replace the shared parts; those behind a bad byte are left out. @return 0 EFAULT
static int vector_check(const struct request *request, struct vector *vector,
                        size_t *shared_size)
{
    size_t total = 0;

    *shared_size = 0;
    for (int i = 0; i < vector->n; i++) {
        struct iovec *part = &vector->own[i];
        size_t wanted = part->iov_len;

        if (WRAP_IS_SHARED(part->iov_base) && wanted > 0) {
            part->iov_len = wrap_good_bytes(part->iov_base, wanted);
            *shared_size += part->iov_len;
        }
        total += part->iov_len;
        if (part->iov_len < wanted) {
            vector->n = i + 1;
        }
    }
    if (total > 0 || vector->n == 0) {
        return 1;
    }
    for (int i = 0; i < vector->n; i++) {
        if (vector->given[i].iov_len > 0) {
            wrap_check(request, vector->given[i].iov_base, 1);
            return 0;
        }
    }
    return 1;
}

static void vector_replace(struct vector *vector, int is_output)
{
    char *at = vector->bounce.bytes;

    for (int i = 0; i < vector->n; i++) {
        struct iovec *part = &vector->own[i];

        if (WRAP_IS_SHARED(part->iov_base)) {
            if (is_output) {
                memcpy(at, part->iov_base, part->iov_len);
            }
            part->iov_base = at;
            at += part->iov_len;
        }
    }
}

static void vector_copy_back(const struct vector *vector, size_t got)
{
    for (int i = 0; i < vector->n && got > 0; i++) {
        const struct iovec *part = &vector->own[i];
        size_t n = part->iov_len < got ? part->iov_len : got;

        if (part->iov_base != vector->given[i].iov_base) {
            memcpy(vector->given[i].iov_base, part->iov_base, n);
        }
        got -= n;
    }
}

static ssize_t vector_transfer(const struct request *request,
                               const struct vector *vector)
{
    struct msghdr *message = request->message;

    switch (request->function) {
    case REAL_readv:
        return CALL(readv)(request->fd, vector->own, vector->n);
    case REAL_writev:
        return CALL(writev)(request->fd, vector->own, vector->n);
    case REAL_preadv:
        return CALL(preadv)(request->fd, vector->own, vector->n,
                            request->offset);
    case REAL_pwritev:
        return CALL(pwritev)(request->fd, vector->own, vector->n,
                             request->offset);
    default:
        message->msg_iov = (struct iovec *)vector->own;
        message->msg_iovlen = (size_t)vector->n;
        return request->function == REAL_sendmsg
                   ? CALL(sendmsg)(request->fd, message, request->flags)
                   : CALL(recvmsg)(request->fd, message, request->flags);
    }
}

static ssize_t vector_move(const struct request *request, struct vector *vector,
                           size_t shared_size)
{
    ssize_t got;

    if (!bounce_open(&vector->bounce, shared_size)) {
        return -1;
    }
    vector_replace(vector, !wrap_is_input(request));
    got = vector_transfer(request, vector);
    if (wrap_is_input(request)) {
        vector_copy_back(vector, got > 0 ? (size_t)got : 0);
    }
    bounce_close(&vector->bounce);
    return got;
}

ssize_t wrap_vector_serve(const struct request *request,
                          const struct iovec *parts, int n)
{
    struct vector *vector = mmap(NULL, sizeof *vector, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t shared_size;
    ssize_t got = -1;
    int saved_errno;

    if (vector == MAP_FAILED) {
        return -1;
    }
    wrap_begin(request);
    vector->n = n;
    vector->given = parts;
    if (n > 0) {
        memcpy(vector->own, parts, (size_t)n * sizeof *parts);
    }
    if (vector_check(request, vector, &shared_size)) {
        got = vector_move(request, vector, shared_size);
    }
    wrap_end();
    saved_errno = errno;
    munmap(vector, sizeof *vector);
    errno = saved_errno;
    return got;
}

WRAP(ssize_t, readv, (int fd, const struct iovec *parts, int n), (fd, parts, n),
     wrap_vector_is_shared(parts, n), wrap_vector_serve(&request, parts, n),
     readv, .fd = fd)

WRAP(ssize_t, writev, (int fd, const struct iovec *parts, int n),
     (fd, parts, n), wrap_vector_is_shared(parts, n),
     wrap_vector_serve(&request, parts, n), writev, .fd = fd)

WRAP(ssize_t, preadv, (int fd, const struct iovec *parts, int n, off_t offset),
     (fd, parts, n, offset), wrap_vector_is_shared(parts, n),
     wrap_vector_serve(&request, parts, n), preadv, .fd = fd, .offset = offset)
WRAP_ALIAS(preadv64, preadv);

WRAP(ssize_t, pwritev, (int fd, const struct iovec *parts, int n, off_t offset),
     (fd, parts, n, offset), wrap_vector_is_shared(parts, n),
     wrap_vector_serve(&request, parts, n), pwritev, .fd = fd, .offset = offset)
WRAP_ALIAS(pwritev64, pwritev);
