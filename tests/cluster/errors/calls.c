// SPDX-License-Identifier: BSD-3-Clause
//
// Calls of the C library on shared memory that is on another node. For each of
// them: a thread on the last node fills the buffer, main() on the root writes it
// out and compares what has arrived; then the thread clears the buffer, main()
// reads into it, and the thread compares.
//
//   calls NAME SIZE   NAME: a row of the table below
//   calls small       buffers of every size and place around pages and steps
//   calls beyond      buffers that do not end in their block
//   calls count       short counts, ends of files, errors
//   calls strings     fputs(), puts(), fgets(), printf()
//   calls datagrams   names and descriptors that travel with messages
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <teamster.h>
#include <unistd.h>

#define GLOBAL_SIZE 200000
#define OFFSET 1237 // of the buffer in its first page

static TM_SHARED char global[GLOBAL_SIZE];
static TM_SHARED size_t n_wrong;

static char *buffer; // private to each node; set by main() and passed on
static size_t size;
static int seed;

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            printf("line %d: %s does not hold, errno %d\n", __LINE__,          \
                   #condition, errno);                                         \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

static char pattern(size_t i)
{
    return (char)(i * 31 + i / 4096 * 7 + (size_t)seed);
}

// Lines of text, and a zero at the end.
static char text(size_t i, size_t n)
{
    if (i + 1 == n) {
        return '\0';
    }
    return i % 71 == 70 ? '\n' : (char)('a' + (i * 7 + (size_t)seed) % 26);
}

// ---- on the other node

struct task {
    char *buffer;
    size_t size;
    int seed;
    enum { FILL, CLEAR, COMPARE, FILL_TEXT, COMPARE_TEXT } what;
};

static TM_SHARED struct task task;

static void *work(void *unused)
{
    seed = task.seed;
    for (size_t i = 0; i < task.size; i++) {
        char is_text = task.what == FILL_TEXT || task.what == COMPARE_TEXT;
        char right = is_text ? text(i, task.size) : pattern(i);

        if (task.what == COMPARE || task.what == COMPARE_TEXT) {
            n_wrong += task.buffer[i] != right;
        } else {
            task.buffer[i] = task.what == CLEAR ? 0 : right;
        }
    }
    return unused;
}

static void there(int what)
{
    tm_thread_attr attr = {.on_node = (int)tm_node_count(), .name = "other"};
    tm_thread thread;

    task = (struct task){buffer, size, seed, what};
    n_wrong = 0;
    CHECK(tm_thread_create(&thread, &attr, work, NULL) == TM_OK);
    CHECK(tm_thread_join(thread, NULL) == TM_OK);
    CHECK(n_wrong == 0);
}

// ---- on the root: private bytes through a descriptor, beside the tested call

static int ends[2];
static char *private_bytes;

static void *drain(void *unused)
{
    size_t done = 0;
    ssize_t got;

    while (done < size &&
           (got = read(ends[0], private_bytes + done, size - done)) > 0) {
        done += (size_t)got;
    }
    return unused;
}

static void *feed(void *unused)
{
    size_t done = 0;
    ssize_t got;

    while (done < size &&
           (got = write(ends[1], private_bytes + done, size - done)) > 0) {
        done += (size_t)got;
    }
    close(ends[1]);
    return unused;
}

static int temporary_file(void)
{
    char name[] = "calls-XXXXXX";
    int fd = mkstemp(name);

    CHECK(fd >= 0 && unlink(name) == 0);
    return fd;
}

static void expect_pattern(void)
{
    for (size_t i = 0; i < size; i++) {
        CHECK(private_bytes[i] == pattern(i));
    }
}

static void make_pattern(void)
{
    for (size_t i = 0; i < size; i++) {
        private_bytes[i] = pattern(i);
    }
}

static void through_pipe(ssize_t (*out)(int fd), ssize_t (*in)(int fd),
                         int is_socket)
{
    pthread_t helper;
    size_t done = 0;

    CHECK((is_socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends)
                     : pipe(ends)) == 0);
    there(FILL);
    CHECK(pthread_create(&helper, NULL, drain, NULL) == 0);
    CHECK(out(ends[1]) == (ssize_t)size);
    pthread_join(helper, NULL);
    expect_pattern();
    seed++;
    there(CLEAR);
    make_pattern();
    CHECK(pthread_create(&helper, NULL, feed, NULL) == 0);
    while (done < size) {
        char *whole = buffer;
        size_t whole_size = size;
        ssize_t got;

        buffer += done; // the rest, as after any short count
        size -= done;
        got = in(ends[0]);
        buffer = whole;
        size = whole_size;
        CHECK(got > 0);
        done += (size_t)got;
    }
    pthread_join(helper, NULL);
    there(COMPARE);
    close(ends[0]);
}

static void through_file(ssize_t (*out)(int fd), ssize_t (*in)(int fd))
{
    int fd = temporary_file();

    there(FILL);
    CHECK(out(fd) == (ssize_t)size);
    CHECK(pread(fd, private_bytes, size, 0) == (ssize_t)size);
    expect_pattern();
    seed++;
    make_pattern();
    CHECK(pwrite(fd, private_bytes, size, 0) == (ssize_t)size);
    there(CLEAR);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    CHECK(in(fd) == (ssize_t)size);
    there(COMPARE);
    close(fd);
}

// ---- the calls

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

static const struct {
    const char *name;
    ssize_t (*out)(int fd);
    ssize_t (*in)(int fd);
    enum { A_FILE, A_PIPE, A_SOCKET } through;
    int is_global;
} rows[] = {
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

static void run_row(unsigned row, size_t bytes)
{
    char *block = rows[row].is_global
                      ? global
                      : tm_alloc(OFFSET + bytes, &(tm_alloc_attr){0});

    CHECK(block != NULL);
    CHECK(!rows[row].is_global || bytes + OFFSET <= GLOBAL_SIZE);
    buffer = block + OFFSET;
    size = bytes;
    private_bytes = calloc(1, size);
    if (rows[row].through == A_FILE) {
        through_file(rows[row].out, rows[row].in);
    } else {
        through_pipe(rows[row].out, rows[row].in,
                     rows[row].through == A_SOCKET);
    }
    free(private_bytes);
    if (!rows[row].is_global) {
        CHECK(tm_free(block) == TM_OK);
    }
}

static void run_small(void)
{
    static const size_t sizes[] = {1,    2,    15,   1023, 1024,
                                   1025, 2859, 4095, 4096};

    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (unsigned row = 0; row < sizeof rows / sizeof rows[0]; row++) {
            run_row(row, sizes[i]);
        }
    }
}

// ---- where the buffer is larger than its block

static void expect_bad_address(ssize_t got)
{
    CHECK(got == -1 && errno == EFAULT);
}

static void run_beyond(void)
{
    char *block = tm_alloc(8192, &(tm_alloc_attr){.name = "short"});
    static char bytes[8192];
    FILE *file;
    int fd = temporary_file();

    CHECK(write(fd, bytes, sizeof bytes) == sizeof bytes);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    CHECK(read(fd, block + 4096, 8192) == 4096);
    expect_bad_address(read(fd, block + 8192, 4096));
    expect_bad_address(write(fd, block + 8192, 1));
    CHECK(write(fd, block + 8000, 1000) == 192);
    expect_bad_address(
        writev(fd, (struct iovec[]){{block + 8192, 10}, {bytes, 10}}, 2));
    CHECK(writev(fd, (struct iovec[]){{bytes, 10}, {block + 8190, 10}}, 2) ==
          12);
    file = fdopen(fd, "w+b");
    errno = 0;
    CHECK(fwrite(block + 8192, 1, 10, file) == 0 && errno == EFAULT);
    fclose(file);
    CHECK(tm_free(block) == TM_OK);
    expect_bad_address(pread(0, block, 10, 0));
}

static void run_count(void)
{
    char *block = tm_alloc(8192, &(tm_alloc_attr){0});
    struct iovec *parts = tm_alloc(2 * sizeof *parts, NULL);
    int fd = temporary_file();
    FILE *file;

    CHECK(write(fd, "0123456789", 10) == 10);
    CHECK(pread(fd, block, 8192, 0) == 10 &&
          memcmp(block, "0123456789", 10) == 0);
    CHECK(pread(fd, block, 8192, 7) == 3 && block[3] == '3');
    CHECK(pread(fd, block, 8192, 10) == 0);
    CHECK(pread(fd, block, 0, 0) == 0);
    CHECK(pread(-1, block, 10, 0) == -1 && errno == EBADF);
    CHECK(pread(fd, block, 10, -1) == -1 && errno == EINVAL);
    CHECK(write(-1, block, 10) == -1 && errno == EBADF);
    CHECK(pipe2(ends, O_NONBLOCK) == 0);
    CHECK(read(ends[0], block, 10) == -1 && errno == EAGAIN);
    CHECK(write(ends[1], "abc", 3) == 3);
    CHECK(read(ends[0], block, 8192) == 3);
    parts[0] = (struct iovec){block, 2}; // the vector itself is shared
    parts[1] = (struct iovec){block + 10, 2};
    CHECK(write(ends[1], "abcdef", 6) == 6);
    CHECK(readv(ends[0], parts, 2) == 4 && block[10] == 'c');
    CHECK(readv(ends[0], parts, seed - 1) == -1 && errno == EINVAL);
    CHECK(read(ends[0], block, 100) == 2);
    close(ends[1]);
    CHECK(read(ends[0], block, 100) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
    CHECK(send(ends[1], block, 100, 0) == 100);
    CHECK(recv(ends[0], block, 10, MSG_PEEK) == 10);
    CHECK(recv(ends[0], block, 10, MSG_TRUNC) == 100);
    CHECK(recv(ends[0], block, 10, MSG_DONTWAIT) == -1 && errno == EAGAIN);
    file = fdopen(fd, "r+b");
    rewind(file);
    CHECK(fread(block, 4, 5, file) == 2 && feof(file) && !ferror(file));
    CHECK(memcmp(block, "0123456789", 10) == 0);
    CHECK(fread(block, 4, 5, file) == 0);
    CHECK(fread(block, 0, 5, file) == 0);
    fclose(file);
}

// ---- strings

static void expect_text_in(FILE *file)
{
    int fd = fileno(file);

    CHECK(fflush(file) == 0);
    CHECK(pread(fd, private_bytes, size + 1, 0) == (ssize_t)size);
    CHECK(private_bytes[size - 1] == '\n');
    for (size_t i = 0; i + 1 < size; i++) {
        CHECK(private_bytes[i] == text(i, size));
    }
    CHECK(ftruncate(fd, 0) == 0);
    rewind(file);
    seed++;
}

// puts() writes to standard output: this is a file meanwhile.
static void run_puts(FILE *file)
{
    int stdout_fd = dup(STDOUT_FILENO);

    CHECK(fflush(stdout) == 0);
    CHECK(dup2(fileno(file), STDOUT_FILENO) == STDOUT_FILENO);
    there(FILL_TEXT);
    CHECK(puts(buffer) >= 0);
    CHECK(fflush(stdout) == 0);
    CHECK(dup2(stdout_fd, STDOUT_FILENO) == STDOUT_FILENO);
    close(stdout_fd);
    expect_text_in(file);
}

static void run_printf(FILE *file)
{
    for (unsigned i = 0; i < 10; i++) {
        there(FILL_TEXT);
        CHECK(fprintf(file, "%s\n", buffer) == (int)size);
        expect_text_in(file);
        there(FILL_TEXT);
        CHECK(fprintf(file, "%.*s%s\n", 50, buffer, buffer + 50) == (int)size);
        expect_text_in(file);
    }
}

// Another node keeps writing beside the string, in its first page and its last.
static TM_SHARED int64_t is_over;

static void *disturb(void *block)
{
    volatile char *at = block;

    while (tm_fetch_add(&is_over, 0) == 0) {
        for (unsigned i = 0; i < 100; i++) {
            at[0]++;
            at[OFFSET + task.size]++;
        }
    }
    return NULL;
}

static void run_disturbed(FILE *file, char *block)
{
    tm_thread_attr attr = {.on_node = (int)tm_node_count()};
    tm_thread thread;

    there(FILL_TEXT);
    CHECK(tm_thread_create(&thread, &attr, disturb, block) == TM_OK);
    for (unsigned i = 0; i < 50; i++) {
        CHECK(fprintf(file, "%s%s", buffer, "\n") == (int)size);
        expect_text_in(file);
        seed--;
        CHECK(fputs(buffer, file) >= 0 && fputs("\n", file) >= 0);
        expect_text_in(file);
        seed--;
        CHECK(dprintf(fileno(file), "%s%s", buffer, "\n") == (int)size);
        expect_text_in(file);
        seed--;
    }
    tm_fetch_add(&is_over, 1);
    CHECK(tm_thread_join(thread, NULL) == TM_OK);
}

static void run_fgets(FILE *file)
{
    char *line = buffer;

    for (size_t i = 0; i < size; i++) {
        private_bytes[i] = text(i, size);
    }
    CHECK(fputs(private_bytes, file) >= 0);
    rewind(file);
    there(CLEAR);
    while (line + 1 < buffer + size) {
        size_t rest = (size_t)(buffer + size - line);
        int room = rest > 100 ? 100 : (int)rest;

        CHECK(fgets(line, line == buffer ? 30 : room, file) == line);
        line += strlen(line);
    }
    there(COMPARE_TEXT);
    CHECK(fgets(buffer, 100, file) == NULL && feof(file));
    there(COMPARE_TEXT); // it is as it was
    CHECK(fgets(buffer, 1, file) == buffer && buffer[0] == '\0');
}

static void run_strings(void)
{
    FILE *file = fdopen(temporary_file(), "w+b");
    char *block = tm_alloc(500000, &(tm_alloc_attr){.name = "text"});

    buffer = block + OFFSET;
    size = 300000;
    private_bytes = calloc(1, size + 1);
    there(FILL_TEXT);
    CHECK(fputs(buffer, file) >= 0 && fputs("\n", file) >= 0);
    expect_text_in(file);
    run_puts(file);
    run_printf(file);
    run_disturbed(file, block);
    run_fgets(file);
    buffer[0] = '\0';
    CHECK(fputs(buffer, file) >= 0);
    memset(block, 'x', 500000); // and on to the end of its last page
    memset(block + 500000, 'x', 4096 - 500000 % 4096);
    errno = 0;
#ifndef __SANITIZE_ADDRESS__ // it looks for the end of the string itself
    CHECK(fputs(block, file) == EOF && errno == EFAULT);
#endif
    CHECK(fgets(block + 503808, 10, file) == NULL && errno == EFAULT);
    fclose(file);
    free(private_bytes);
}

// ---- datagrams

struct letter {
    struct msghdr header;
    struct iovec part;
    struct sockaddr_un name;
    socklen_t name_size;
    char bytes[100];
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
};

static void *touch_letter(void *letter)
{
    volatile char *bytes = letter;

    for (size_t i = 0; i < sizeof(struct letter); i++) {
        bytes[i] = bytes[i]; // the page is there now, and not here
    }
    return NULL;
}

static void send_away(struct letter *letter)
{
    tm_thread_attr attr = {.on_node = (int)tm_node_count()};
    tm_thread thread;

    CHECK(tm_thread_create(&thread, &attr, touch_letter, letter) == TM_OK);
    CHECK(tm_thread_join(thread, NULL) == TM_OK);
}

static socklen_t bind_to(int fd, struct sockaddr_un *name)
{
    socklen_t name_size = sizeof *name;

    // The kernel chooses a name.
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    CHECK(bind(fd, (struct sockaddr *)name, sizeof name->sun_family) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)name, &name_size) == 0);
    return name_size;
}

static void run_names(struct letter *letter, const struct sockaddr_un *from,
                      socklen_t from_size)
{
    send_away(letter);
    CHECK(sendto(ends[0], letter->bytes, 10, 0,
                 (struct sockaddr *)&letter->name, letter->name_size) == 10);
    letter->name = (struct sockaddr_un){0};
    letter->name_size = sizeof letter->name;
    send_away(letter);
    CHECK(recvfrom(ends[1], letter->bytes, 100, 0,
                   (struct sockaddr *)&letter->name, &letter->name_size) == 10);
    CHECK(letter->name_size == from_size &&
          memcmp(&letter->name, from, from_size) == 0);
    CHECK(sendto(ends[0], letter->bytes, 10, 0,
                 (struct sockaddr *)&letter->name, 10000) == -1 &&
          errno == EINVAL);
}

static void set_header(struct letter *letter)
{
    letter->part = (struct iovec){letter->bytes, sizeof letter->bytes};
    letter->header = (struct msghdr){
        .msg_name = &letter->name,
        .msg_namelen = letter->name_size,
        .msg_iov = &letter->part,
        .msg_iovlen = 1,
        .msg_control = letter->control,
        .msg_controllen = sizeof letter->control,
    };
}

// A descriptor travels with the message.
static void run_control(struct letter *letter, const struct sockaddr_un *from,
                        socklen_t from_size)
{
    struct cmsghdr *control;
    int passed = temporary_file();

    set_header(letter);
    control = CMSG_FIRSTHDR(&letter->header);
    *control = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)),
        .cmsg_level = SOL_SOCKET,
        .cmsg_type = SCM_RIGHTS,
    };
    memcpy(CMSG_DATA(control), &passed, sizeof passed);
    send_away(letter);
    CHECK(sendmsg(ends[0], &letter->header, 0) == 100);
    memset(letter, 0, sizeof *letter);
    letter->name_size = sizeof letter->name;
    set_header(letter);
    letter->part.iov_len = 60;
    send_away(letter);
    CHECK(recvmsg(ends[1], &letter->header, 0) == 60);
    CHECK(letter->header.msg_flags & MSG_TRUNC);
    CHECK(letter->header.msg_namelen == from_size &&
          memcmp(&letter->name, from, from_size) == 0);
    control = CMSG_FIRSTHDR(&letter->header);
    CHECK(control != NULL && control->cmsg_type == SCM_RIGHTS);
    memcpy(&passed, CMSG_DATA(control), sizeof passed);
    CHECK(write(passed, "it works", 8) == 8);
    letter->header.msg_iovlen = 100000;
    CHECK(sendmsg(ends[0], &letter->header, 0) == -1 && errno == EMSGSIZE);
}

static void run_datagrams(void)
{
    struct letter *letter = tm_alloc(sizeof *letter, NULL);
    struct sockaddr_un from;
    struct sockaddr_un to;
    socklen_t from_size;

    ends[0] = socket(AF_UNIX, SOCK_DGRAM, 0);
    ends[1] = socket(AF_UNIX, SOCK_DGRAM, 0);
    from_size = bind_to(ends[0], &from);
    letter->name_size = bind_to(ends[1], &to);
    letter->name = to;
    run_names(letter, &from, from_size);
    letter->name = to;
    letter->name_size = from_size;
    run_control(letter, &from, from_size);
}

int main(int argc, char **argv)
{
    tm_init(&argc, &argv);
    CHECK(argc >= 2);
    if (strcmp(argv[1], "small") == 0) {
        run_small();
    } else if (strcmp(argv[1], "beyond") == 0) {
        run_beyond();
    } else if (strcmp(argv[1], "count") == 0) {
        run_count();
    } else if (strcmp(argv[1], "strings") == 0) {
        run_strings();
    } else if (strcmp(argv[1], "datagrams") == 0) {
        run_datagrams();
    } else {
        unsigned row = 0;

        while (strcmp(argv[1], rows[row].name) != 0) {
            CHECK(++row < sizeof rows / sizeof rows[0]);
        }
        run_row(row, strtoull(argv[2], NULL, 10));
    }
    puts("as it should be");
    return 0;
}
