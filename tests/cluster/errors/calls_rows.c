// SPDX-License-Identifier: BSD-3-Clause
//
// The calls that move bytes, in pairs: one writes the buffer to a descriptor, the
// other reads into it. Those named _global read into a variable, whose size
// compilers know: checked calls take another way there.
#include "calls.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

TM_SHARED char global[GLOBAL_SIZE];

static ssize_t call_write(int fd)
{
    return write(fd, buffer, size);
}

static ssize_t call_read(int fd)
{
    return read(fd, buffer, size);
}

static ssize_t call_read_global(int fd)
{
    CHECK(buffer == global + OFFSET);
    return read(fd, global + OFFSET, size); // __read_chk, if fortified
}

static ssize_t call_pwrite(int fd)
{
    return pwrite(fd, buffer, size, 0);
}

static ssize_t call_pread(int fd)
{
    return pread(fd, buffer, size, 0);
}

static ssize_t call_pread_global(int fd)
{
    return pread(fd, global + OFFSET, size, 0);
}

static ssize_t call_pwrite64(int fd)
{
    return pwrite64(fd, buffer, size, 0);
}

static ssize_t call_pread64(int fd)
{
    return pread64(fd, buffer, size, 0);
}

static ssize_t call_pread64_global(int fd)
{
    return pread64(fd, global + OFFSET, size, 0);
}

static ssize_t call_send(int fd)
{
    return send(fd, buffer, size, 0);
}

static ssize_t call_recv(int fd)
{
    return recv(fd, buffer, size, 0);
}

static ssize_t call_recv_global(int fd)
{
    char *at = buffer; // it moves on

    return recv(fd, global + (at - global), size, MSG_WAITALL);
}

static ssize_t call_sendto(int fd)
{
    return sendto(fd, buffer, size, 0, NULL, 0);
}

static ssize_t call_recvfrom(int fd)
{
    return recvfrom(fd, buffer, size, 0, NULL, NULL);
}

static ssize_t call_recvfrom_global(int fd)
{
    char *at = buffer;

    return recvfrom(fd, global + (at - global), size, MSG_WAITALL, NULL, NULL);
}

// Three parts: shared, private, shared; the private one is empty at the ends.
static ssize_t put_parts(int fd, ssize_t (*call)(int, struct iovec *, int))
{
    size_t third = size / 3;
    char *middle = malloc(third + 1);
    struct iovec parts[] = {
        {buffer, third},
        {middle, third},
        {buffer + 2 * third, size - 2 * third},
    };
    ssize_t got;

    memcpy(middle, buffer + third, third);
    got = call(fd, parts, 3);
    free(middle);
    return got;
}

static ssize_t get_parts(int fd, ssize_t (*call)(int, struct iovec *, int))
{
    size_t third = size / 3;
    char *middle = calloc(1, third + 1);
    struct iovec parts[] = {
        {buffer, third},
        {middle, third},
        {buffer + 2 * third, size - 2 * third},
    };
    ssize_t got = call(fd, parts, 3);

    if (got > (ssize_t)third) {
        size_t n = (size_t)got - third;

        memcpy(buffer + third, middle, n < third ? n : third);
    }
    free(middle);
    return got;
}

static ssize_t put_plain(int fd, struct iovec *parts, int n)
{
    return writev(fd, parts, n);
}

static ssize_t get_plain(int fd, struct iovec *parts, int n)
{
    return readv(fd, parts, n);
}

static ssize_t put_at(int fd, struct iovec *parts, int n)
{
    return pwritev(fd, parts, n, 0);
}

static ssize_t get_at(int fd, struct iovec *parts, int n)
{
    return preadv(fd, parts, n, 0);
}

static ssize_t put_at64(int fd, struct iovec *parts, int n)
{
    return pwritev64(fd, parts, n, 0);
}

static ssize_t get_at64(int fd, struct iovec *parts, int n)
{
    return preadv64(fd, parts, n, 0);
}

static ssize_t put_message(int fd, struct iovec *parts, int n)
{
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)n};

    return sendmsg(fd, &message, 0);
}

static ssize_t get_message(int fd, struct iovec *parts, int n)
{
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)n};

    return recvmsg(fd, &message, 0);
}

static ssize_t call_writev(int fd)
{
    return put_parts(fd, put_plain);
}

static ssize_t call_readv(int fd)
{
    return get_parts(fd, get_plain);
}

static ssize_t call_pwritev(int fd)
{
    return put_parts(fd, put_at);
}

static ssize_t call_preadv(int fd)
{
    return get_parts(fd, get_at);
}

static ssize_t call_pwritev64(int fd)
{
    return put_parts(fd, put_at64);
}

static ssize_t call_preadv64(int fd)
{
    return get_parts(fd, get_at64);
}

static ssize_t call_sendmsg(int fd)
{
    return put_parts(fd, put_message);
}

static ssize_t call_recvmsg(int fd)
{
    return get_parts(fd, get_message);
}

static ssize_t call_fwrite(int fd)
{
    FILE *file = fdopen(dup(fd), "wb");
    size_t n = size % 4 == 0 ? fwrite(buffer, 4, size / 4, file) * 4
                             : fwrite(buffer, 1, size, file);

    CHECK(fclose(file) == 0);
    return (ssize_t)n;
}

static ssize_t call_fread(int fd)
{
    FILE *file = fdopen(dup(fd), "rb");
    size_t n = size % 4 == 0 ? fread(buffer, 4, size / 4, file) * 4
                             : fread(buffer, 1, size, file);

    fclose(file);
    return (ssize_t)n;
}

static ssize_t call_fread_global(int fd)
{
    FILE *file = fdopen(dup(fd), "rb");
    size_t n = fread(global + OFFSET, 1, size, file);

    fclose(file);
    return (ssize_t)n;
}

static ssize_t call_fwrite_unlocked(int fd)
{
    FILE *file = fdopen(dup(fd), "wb");
    size_t n = fwrite_unlocked(buffer, 1, size, file);

    CHECK(fclose(file) == 0);
    return (ssize_t)n;
}

static ssize_t call_fread_unlocked(int fd)
{
    FILE *file = fdopen(dup(fd), "rb");
    size_t n = fread_unlocked(buffer, 1, size, file);

    fclose(file);
    return (ssize_t)n;
}

static ssize_t call_fread_unlocked_global(int fd)
{
    FILE *file = fdopen(dup(fd), "rb");
    size_t n = fread_unlocked(global + OFFSET, 1, size, file);

    fclose(file);
    return (ssize_t)n;
}

const struct row rows[] = {
    {"file", call_write, call_read, A_FILE, 0},
    {"pipe", call_write, call_read, A_PIPE, 0},
    {"socket", call_write, call_read, A_SOCKET, 0},
    {"vector", call_writev, call_readv, A_FILE, 0},
    {"vector_pipe", call_writev, call_readv, A_PIPE, 0},
    {"vector_at", call_pwritev, call_preadv, A_FILE, 0},
    {"vector_at64", call_pwritev64, call_preadv64, A_FILE, 0},
    {"vector_message", call_sendmsg, call_recvmsg, A_SOCKET, 0},
    {"at", call_pwrite, call_pread, A_FILE, 0},
    {"at64", call_pwrite64, call_pread64, A_FILE, 0},
    {"stream", call_fwrite, call_fread, A_FILE, 0},
    {"stream_pipe", call_fwrite, call_fread, A_PIPE, 0},
    {"stream_unlocked", call_fwrite_unlocked, call_fread_unlocked, A_FILE, 0},
    {"message_to", call_sendto, call_recvfrom, A_SOCKET, 0},
    {"message", call_send, call_recv, A_SOCKET, 0},
    {"global_file", call_write, call_read_global, A_FILE, 1},
    {"global_at", call_pwrite, call_pread_global, A_FILE, 1},
    {"global_at64", call_pwrite64, call_pread64_global, A_FILE, 1},
    {"global_stream", call_fwrite, call_fread_global, A_FILE, 1},
    {"global_stream_unlocked", call_fwrite_unlocked, call_fread_unlocked_global,
     A_FILE, 1},
    {"global_message_to", call_sendto, call_recvfrom_global, A_SOCKET, 1},
    {"global_message", call_send, call_recv_global, A_SOCKET, 1},
};
const unsigned n_rows = sizeof rows / sizeof rows[0];
