// SPDX-License-Identifier: BSD-3-Clause
//
// Sockets, which are the root's as all descriptors are.
#include "on_root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "readiness.h"

/** One call, in shared memory. */
struct on_socket {
    int fd;
    int a;
    int b;
    int flags;
    void *buffer; ///< of the caller's, or on loan
    size_t size;
    struct sockaddr_storage name;
    socklen_t name_size;
    int has_name;
};

static int is_patient(const struct on_socket *call)
{
    return (call->flags & MSG_DONTWAIT) == 0;
}

// ---- names

// What is too long is for the kernel to refuse.
static void put_name(struct on_socket *call, const struct sockaddr *name,
                     socklen_t size)
{
    call->has_name = name != NULL;
    call->name_size = size;
    if (name != NULL) {
        memcpy(&call->name, name,
               size < sizeof call->name ? size : sizeof call->name);
    }
}

static void get_name(const struct on_socket *call, struct sockaddr *name,
                     socklen_t *size)
{
    if (name != NULL) {
        memcpy(name, &call->name,
               *size < call->name_size ? *size : call->name_size);
        *size = call->name_size;
    }
}

static long do_bind(void *arguments)
{
    const struct on_socket call = *(struct on_socket *)arguments;

    return bind(call.fd, (const struct sockaddr *)&call.name, call.name_size);
}

static int at_root_with_name(long (*function)(void *arguments), int fd,
                             const struct sockaddr *name, socklen_t size)
{
    struct on_socket call = {.fd = fd};

    put_name(&call, name, size);
    return (int)front_at_root(function, &call);
}

FRONT(bind)
int tmf_bind(int fd, const struct sockaddr *name, socklen_t size)
{
    return at_root_with_name(do_bind, fd, name, size);
}

// One that takes long is begun, and waited for.
static long do_connect(void *arguments)
{
    const struct on_socket call = *(struct on_socket *)arguments;
    const struct sockaddr *name = (const struct sockaddr *)&call.name;
    const int flags = fcntl(call.fd, F_GETFL);
    struct pollfd entry = {.fd = call.fd, .events = POLLOUT};
    socklen_t size = sizeof(int);
    int error = 0;

    if (flags < 0 || (flags & O_NONBLOCK) != 0) {
        return connect(call.fd, name, call.name_size);
    }
    (void)fcntl(call.fd, F_SETFL, flags | O_NONBLOCK);
    error = connect(call.fd, name, call.name_size) == 0 ? 0 : errno;
    (void)fcntl(call.fd, F_SETFL, flags);
    if (error == EINPROGRESS) {
        front_await(entry.fd, POLLOUT);
        (void)getsockopt(call.fd, SOL_SOCKET, SO_ERROR, &error, &size);
    } else if (error ==
               EAGAIN) { // a local one whose list of waiting ones is full
        return connect(call.fd, name, call.name_size);
    }
    errno = error;
    return error == 0 ? 0 : -1;
}

FRONT(connect)
int tmf_connect(int fd, const struct sockaddr *name, socklen_t size)
{
    return at_root_with_name(do_connect, fd, name, size);
}

static long do_accept(void *arguments)
{
    struct on_socket *shared = arguments;
    struct on_socket call = *shared;
    int fd;

    front_await(call.fd, POLLIN);
    call.name_size = sizeof call.name;
    fd = accept4(call.fd, (struct sockaddr *)&call.name, &call.name_size,
                 call.flags);
    *shared = call;
    return fd;
}

FRONT(accept4)
int tmf_accept4(int fd, struct sockaddr *name, socklen_t *size, int flags)
{
    struct on_socket call = {.fd = fd, .flags = flags};
    const int made = (int)front_at_root(do_accept, &call);

    if (made >= 0) {
        get_name(&call, name, size);
    }
    return made;
}

FRONT(accept)
int tmf_accept(int fd, struct sockaddr *name, socklen_t *size)
{
    return tmf_accept4(fd, name, size, 0);
}

#define NAME_OF(name_of)                                                       \
    static long do_##name_of(void *arguments)                                  \
    {                                                                          \
        struct on_socket *shared = arguments;                                  \
        struct on_socket call = *shared;                                       \
        int error;                                                             \
                                                                               \
        call.name_size = sizeof call.name;                                     \
        error =                                                                \
            name_of(call.fd, (struct sockaddr *)&call.name, &call.name_size);  \
        *shared = call;                                                        \
        return error;                                                          \
    }                                                                          \
    FRONT(name_of)                                                             \
    int tmf_##name_of(int fd, struct sockaddr *name, socklen_t *size)          \
    {                                                                          \
        struct on_socket call = {.fd = fd};                                    \
        const int error = (int)front_at_root(do_##name_of, &call);             \
                                                                               \
        if (error == 0) {                                                      \
            get_name(&call, name, size);                                       \
        }                                                                      \
        return error;                                                          \
    }

NAME_OF(getsockname)
NAME_OF(getpeername)

// ---- making and setting

FRONT_CALL(3, int, socket, int, a, int, b, int, c)
FRONT_CALL(2, int, listen, int, a, int, b)
FRONT_CALL(2, int, shutdown, int, a, int, b)
FRONT_CALL(2, int, eventfd, unsigned, a, int, b)
FRONT_CALL(1, int, epoll_create, int, a)
FRONT_CALL(1, int, epoll_create1, int, a)
FRONT_CALL(2, int, timerfd_create, clockid_t, a, int, b)

struct pair_call {
    int family;
    int type;
    int protocol;
    int fds[2];
};

static long do_socketpair(void *arguments)
{
    struct pair_call *call = arguments;
    int fds[2];
    const int error = socketpair(call->family, call->type, call->protocol, fds);

    if (error == 0) {
        memcpy(call->fds, fds, sizeof fds);
    }
    return error;
}

FRONT(socketpair)
int tmf_socketpair(int family, int type, int protocol, int fds[2])
{
    struct pair_call call = {family, type, protocol, {-1, -1}};
    const int error = (int)front_at_root(do_socketpair, &call);

    if (error == 0) {
        memcpy(fds, call.fds, sizeof call.fds);
    }
    return error;
}

static long do_setsockopt(void *arguments)
{
    const struct on_socket call = *(struct on_socket *)arguments;
    void *own = alloca(call.size + 1);

    memcpy(own, call.buffer, call.size);
    return setsockopt(call.fd, call.a, call.b, own, (socklen_t)call.size);
}

FRONT(setsockopt)
int tmf_setsockopt(int fd, int level, int name, const void *value,
                   socklen_t size)
{
    struct front_loan loan = front_lend(value, size);
    struct on_socket call = {
        .fd = fd, .a = level, .b = name, .buffer = loan.at, .size = size};
    const int error = (int)front_at_root(do_setsockopt, &call);

    front_end_loan(loan, 0);
    return error;
}

static long do_getsockopt(void *arguments)
{
    struct on_socket *call = arguments;
    socklen_t size = (socklen_t)call->size;
    void *own = alloca(size + 1);
    const int error = getsockopt(call->fd, call->a, call->b, own, &size);

    if (error == 0) {
        memcpy(call->buffer, own, size);
        call->size = size;
    }
    return error;
}

FRONT(getsockopt)
int tmf_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    struct front_loan loan = front_borrow(value, *size);
    struct on_socket call = {
        .fd = fd, .a = level, .b = name, .buffer = loan.at, .size = *size};
    const int error = (int)front_at_root(do_getsockopt, &call);

    front_end_loan(loan, error == 0 ? call.size : 0);
    if (error == 0) {
        *size = (socklen_t)call.size;
    }
    return error;
}

// ---- sending and receiving

static long do_recvfrom(void *arguments)
{
    struct on_socket *shared = arguments;
    struct on_socket call = *shared;
    ssize_t n;

    if (is_patient(&call)) {
        front_await(call.fd, POLLIN);
    }
    call.name_size = sizeof call.name;
    n = recvfrom(call.fd, call.buffer, call.size, call.flags,
                 (struct sockaddr *)&call.name, &call.name_size);
    shared->name = call.name;
    shared->name_size = call.name_size;
    return n;
}

FRONT(recvfrom)
ssize_t tmf_recvfrom(int fd, void *to, size_t size, int flags,
                     struct sockaddr *name, socklen_t *name_size)
{
    struct front_loan loan = front_borrow(to, size);
    struct on_socket call = {
        .fd = fd, .flags = flags, .buffer = loan.at, .size = size};
    const ssize_t n = front_at_root(do_recvfrom, &call);

    front_end_loan(loan, n < 0 ? 0 : (size_t)n < size ? (size_t)n : size);
    if (n >= 0) {
        get_name(&call, name, name_size);
    }
    return n;
}

FRONT(recv)
ssize_t tmf_recv(int fd, void *to, size_t size, int flags)
{
    return tmf_recvfrom(fd, to, size, flags, NULL, NULL);
}

CHECKED(ssize_t, __recv_chk,
        (int fd, void *to, size_t n, size_t room, int flags), n, room,
        tmf_recv(fd, to, n, flags))
CHECKED(ssize_t, __recvfrom_chk,
        (int fd, void *to, size_t n, size_t room, int flags,
         struct sockaddr *name, socklen_t *name_size),
        n, room, tmf_recvfrom(fd, to, n, flags, name, name_size))

static long do_sendto(void *arguments)
{
    const struct on_socket call = *(struct on_socket *)arguments;

    if (is_patient(&call)) {
        front_await(call.fd, POLLOUT);
    }
    return sendto(call.fd, call.buffer, call.size, call.flags,
                  call.has_name ? (const struct sockaddr *)&call.name : NULL,
                  call.has_name ? call.name_size : 0);
}

FRONT(sendto)
ssize_t tmf_sendto(int fd, const void *from, size_t size, int flags,
                   const struct sockaddr *name, socklen_t name_size)
{
    struct front_loan loan = front_lend(from, size);
    struct on_socket call = {
        .fd = fd, .flags = flags, .buffer = loan.at, .size = size};
    ssize_t n;

    put_name(&call, name, name_size);
    n = front_at_root(do_sendto, &call);
    front_end_loan(loan, 0);
    return n;
}

FRONT(send)
ssize_t tmf_send(int fd, const void *from, size_t size, int flags)
{
    return tmf_sendto(fd, from, size, flags, NULL, 0);
}

// ---- messages of parts: one after the other they are a buffer; control data are refused

static size_t size_of(const struct msghdr *message)
{
    size_t size = 0;

    for (size_t i = 0; i < message->msg_iovlen; i++) {
        size += message->msg_iov[i].iov_len;
    }
    return size;
}

// Between the parts and one buffer behind each other, as far as n bytes go.
static void move_parts(const struct msghdr *message, char *buffer, size_t n,
                       int is_out)
{
    for (size_t i = 0; i < message->msg_iovlen && n > 0; i++) {
        const struct iovec *part = &message->msg_iov[i];
        const size_t size = part->iov_len < n ? part->iov_len : n;

        memcpy(is_out ? buffer : part->iov_base,
               is_out ? part->iov_base : buffer, size);
        buffer += size;
        n -= size;
    }
}

FRONT(sendmsg)
ssize_t tmf_sendmsg(int fd, const struct msghdr *message, int flags)
{
    const size_t size = size_of(message);
    char *buffer;
    ssize_t n;

    if (message->msg_controllen > 0) { // descriptors that are passed on, say
        errno = EOPNOTSUPP;
        return -1;
    }
    buffer = front_allocate(size + 1);
    if (buffer == NULL) {
        errno = ENOMEM;
        return -1;
    }
    move_parts(message, buffer, size, 1);
    n = tmf_sendto(fd, buffer, size, flags, message->msg_name,
                   message->msg_namelen);
    front_free(buffer);
    return n;
}

FRONT(recvmsg)
ssize_t tmf_recvmsg(int fd, struct msghdr *message, int flags)
{
    const size_t size = size_of(message);
    char *buffer = front_allocate(size + 1);
    ssize_t n;

    if (buffer == NULL) {
        errno = ENOMEM;
        return -1;
    }
    n = tmf_recvfrom(fd, buffer, size, flags, message->msg_name,
                     &message->msg_namelen);
    if (n > 0) {
        move_parts(message, buffer, (size_t)n, 0);
    }
    message->msg_controllen = 0;
    message->msg_flags = 0;
    front_free(buffer);
    return n;
}

// ---- epoll

static long do_epoll_ctl(void *arguments)
{
    const struct on_socket *call = arguments;
    struct epoll_event event;

    if (call->buffer == NULL) {
        return epoll_ctl(call->fd, call->a, call->b, NULL);
    }
    memcpy(&event, &call->name, sizeof event);
    return epoll_ctl(call->fd, call->a, call->b, &event);
}

FRONT(epoll_ctl)
int tmf_epoll_ctl(int fd, int what, int other, struct epoll_event *event)
{
    struct on_socket call = {.fd = fd, .a = what, .b = other, .buffer = event};

    if (event != NULL) {
        memcpy(&call.name, event, sizeof *event);
    }
    return (int)front_at_root(do_epoll_ctl, &call);
}

static long do_epoll_wait(void *arguments)
{
    const struct on_socket *call = arguments;
    struct epoll_event *own = malloc((size_t)call->a * sizeof *own);
    int n;

    if (own == NULL) {
        errno = ENOMEM;
        return -1;
    }
    n = front_found(epoll_wait(call->fd, own, call->a, 0));
    if (n > 0) {
        memcpy(call->buffer, own, (size_t)n * sizeof *own);
    }
    free(own);
    return n;
}

// An epoll descriptor can be read when it has events.
FRONT(epoll_wait)
int tmf_epoll_wait(int fd, struct epoll_event *events, int most, int ms)
{
    extern __typeof__(poll) tmf_poll;
    struct front_loan loan;
    struct on_socket call = {.fd = fd, .a = most};
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    int n;

    if (most <= 0) {
        errno = EINVAL;
        return -1;
    }
    n = tmf_poll(&entry, 1, ms);
    if (n <= 0) {
        return n;
    }
    loan = front_borrow(events, (size_t)most * sizeof *events);
    call.buffer = loan.at;
    n = (int)front_at_root(do_epoll_wait, &call);
    front_end_loan(loan, n < 0 ? 0 : (size_t)n * sizeof *events);
    return n;
}

FRONT(epoll_pwait)
int tmf_epoll_pwait(int fd, struct epoll_event *events, int most, int ms,
                    const sigset_t *mask)
{
    (void)mask;
    return tmf_epoll_wait(fd, events, most, ms);
}
