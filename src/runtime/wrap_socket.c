// SPDX-License-Identifier: BSD-3-Clause
// Sockets on shared memory: not only the bytes may be shared, but also the name of
// the other end, its size, and all parts of a message.
#include "runtime/wrap.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "runtime/node.h"
#include "runtime/outside.h"

WRAP(ssize_t, recv, (int fd, void *to, size_t size, int flags),
     (fd, to, size, flags), WRAP_IS_SHARED(to), wrap_serve(&request, to, size),
     recv, .fd = fd, .flags = flags)

WRAP(ssize_t, send, (int fd, const void *from, size_t size, int flags),
     (fd, from, size, flags), WRAP_IS_SHARED(from),
     wrap_serve(&request, from, size), send, .fd = fd, .flags = flags)

static ssize_t serve_buffer(const struct request *request, const void *buffer,
                            size_t n)
{
    return WRAP_IS_SHARED(buffer)
               ? wrap_serve(request, buffer, n)
               : wrap_transfer(request, (char *)(uintptr_t)buffer, n, 0);
}

// ---- with the name of the other end

// With or without a connection.
static void note_others(uintptr_t place, const void *name)
{
    if (name != NULL) {
        outside_note(place, "it has sent something to others", NULL);
    }
}

static ssize_t send_to(const struct request *asked, const void *from,
                       size_t size, const struct sockaddr *name,
                       socklen_t name_size)
{
    struct request request = *asked;
    struct sockaddr_storage own;

    request.name = (struct sockaddr *)(uintptr_t)name;
    request.name_size = &name_size;
    if (WRAP_IS_SHARED(name)) {
        // One that is too long is for the kernel to refuse.
        if (name_size <= sizeof own &&
            !wrap_copy_in(&request, &own, name, name_size)) {
            return -1;
        }
        request.name = (struct sockaddr *)&own;
    }
    return serve_buffer(&request, from, size);
}

WRAP(ssize_t, sendto,
     (int fd, const void *from, size_t size, int flags,
      const struct sockaddr *name, socklen_t name_size),
     (fd, from, size, flags, name, name_size),
     (note_others(PLACE, name), WRAP_IS_SHARED(from) || WRAP_IS_SHARED(name)),
     send_to(&request, from, size, name, name_size), sendto, .fd = fd,
     .flags = flags)

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static ssize_t receive_from(const struct request *asked, void *to, size_t size,
                            struct sockaddr *name, socklen_t *name_size)
{
    struct request request = *asked;
    struct sockaddr_storage own;
    socklen_t own_size = sizeof own;
    socklen_t room = 0;
    ssize_t got;

    if (name == NULL) {
        return serve_buffer(&request, to, size);
    }
    if (!wrap_copy_in(&request, &room, name_size, sizeof room)) {
        return -1;
    }
    if ((int)room < 0) {
        errno = EINVAL;
        return -1;
    }
    own_size = (socklen_t)smaller(room, sizeof own);
    request.name = (struct sockaddr *)&own;
    request.name_size = &own_size;
    got = serve_buffer(&request, to, size);
    if (got >= 0 &&
        (!wrap_copy_out(&request, name, &own, smaller(own_size, room)) ||
         !wrap_copy_out(&request, name_size, &own_size, sizeof own_size))) {
        return -1;
    }
    return got;
}

WRAP(ssize_t, recvfrom,
     (int fd, void *to, size_t size, int flags, struct sockaddr *name,
      socklen_t *name_size),
     (fd, to, size, flags, name, name_size),
     WRAP_IS_SHARED(to) || WRAP_IS_SHARED(name) || WRAP_IS_SHARED(name_size),
     receive_from(&request, to, size, name, name_size), recvfrom, .fd = fd,
     .flags = flags)

// ---- messages

static int message_is_shared(const struct msghdr *message)
{
    if (node_step(&this_node) != RUNTIME_RUNNING || message == NULL) {
        return 0; // for the kernel to judge
    }
    return WRAP_IS_SHARED(message) || WRAP_IS_SHARED(message->msg_name) ||
           WRAP_IS_SHARED(message->msg_control) ||
           wrap_vector_is_shared(message->msg_iov, (int)message->msg_iovlen);
}

/** A message whose parts are private, but the vector. */
struct private_message {
    struct msghdr header;
    struct msghdr given; ///< the parts of the program's
    struct sockaddr_storage name;
    struct bounce control;
};

// @return 0 if there is no memory, or the program's is no good
static int message_open(const struct request *request,
                        struct private_message *own,
                        const struct msghdr *message)
{
    int is_output = request->function == REAL_sendmsg;
    struct msghdr *header = &own->header;

    if (!wrap_copy_in(request, header, message, sizeof *header)) {
        return 0;
    }
    own->given = *header;
    own->control.bytes = own->control.small;
    if (WRAP_IS_SHARED(header->msg_name)) {
        header->msg_name = &own->name;
        if (is_output && header->msg_namelen <= sizeof own->name &&
            !wrap_copy_in(request, &own->name, own->given.msg_name,
                          header->msg_namelen)) {
            return 0;
        }
        if (!is_output && header->msg_namelen > sizeof own->name) {
            header->msg_namelen = sizeof own->name;
        }
    }
    if (!WRAP_IS_SHARED(header->msg_control)) {
        return 1;
    }
    if (!bounce_open(&own->control, header->msg_controllen)) {
        return 0;
    }
    header->msg_control = own->control.bytes;
    if (is_output &&
        !wrap_copy_in(request, own->control.bytes, own->given.msg_control,
                      header->msg_controllen)) {
        bounce_close(&own->control);
        return 0;
    }
    return 1;
}

// Give the program what recvmsg() has set.
static int message_copy_back(const struct request *request,
                             struct private_message *own,
                             struct msghdr *message)
{
    const struct msghdr *header = &own->header;
    struct msghdr result = own->given;

    result.msg_namelen = header->msg_namelen;
    result.msg_controllen = header->msg_controllen;
    result.msg_flags = header->msg_flags;
    if (header->msg_name == &own->name &&
        !wrap_copy_out(request, own->given.msg_name, &own->name,
                       smaller(header->msg_namelen, own->given.msg_namelen))) {
        return 0;
    }
    if (header->msg_control != own->given.msg_control &&
        !wrap_copy_out(request, own->given.msg_control, header->msg_control,
                       header->msg_controllen)) {
        return 0;
    }
    return wrap_copy_out(request, message, &result, sizeof result);
}

static ssize_t serve_message(const struct request *asked,
                             struct msghdr *message)
{
    struct request request = *asked;
    struct private_message own;
    ssize_t got;

    if (!message_open(&request, &own, message)) {
        return -1;
    }
    request.message = &own.header;
    if (own.header.msg_iovlen <= IOV_MAX) {
        got = wrap_vector_serve(&request, own.given.msg_iov,
                                (int)own.given.msg_iovlen);
    } else {
        errno = EMSGSIZE;
        got = -1;
    }
    if (got >= 0 && request.function == REAL_recvmsg &&
        !message_copy_back(&request, &own, message)) {
        got = -1;
    }
    bounce_close(&own.control);
    return got;
}

WRAP(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags),
     (fd, message, flags),
     (note_others(PLACE, message != NULL ? message->msg_name : NULL),
      message_is_shared(message)),
     serve_message(&request, (struct msghdr *)(uintptr_t)message), sendmsg,
     .fd = fd, .flags = flags)

WRAP(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags),
     (fd, message, flags), message_is_shared(message),
     serve_message(&request, message), recvmsg, .fd = fd, .flags = flags)

// ---- as compiled with _FORTIFY_SOURCE

WRAP(ssize_t, __recv_chk,
     (int fd, void *to, size_t size, size_t room, int flags),
     (fd, to, size, room, flags), WRAP_IS_SHARED(to) && size <= room,
     wrap_serve(&request, to, size), recv, .fd = fd, .flags = flags)

WRAP(ssize_t, __recvfrom_chk,
     (int fd, void *to, size_t size, size_t room, int flags,
      struct sockaddr *name, socklen_t *name_size),
     (fd, to, size, room, flags, name, name_size),
     size <= room && (WRAP_IS_SHARED(to) || WRAP_IS_SHARED(name) ||
                      WRAP_IS_SHARED(name_size)),
     receive_from(&request, to, size, name, name_size), recvfrom, .fd = fd,
     .flags = flags)
