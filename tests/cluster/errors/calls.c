// SPDX-License-Identifier: BSD-3-Clause
//
// Calls of the C library on shared memory that is on another node. For each of
// them: a thread on the last node fills the buffer, main() on the root writes it
// out and compares what has arrived; then the thread clears the buffer, main()
// reads into it, and the thread compares.
//
//   calls NAME SIZE   NAME: a row of calls_rows.c
//   calls small       buffers of every size and place around pages and steps
//   calls beyond      buffers that do not end in their block
//   calls count       short counts, ends of files, errors
//   calls strings     fputs(), puts(), fgets(), printf(): calls_strings.c
//   calls datagrams   names and descriptors that travel with messages:
//                     calls_datagrams.c
#include "calls.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

char *buffer; // set by main() and passed on
size_t size;
int seed;

static char pattern(size_t i)
{
    return (char)(i * 31 + i / 4096 * 7 + (size_t)seed);
}

char text(size_t i, size_t n)
{
    if (i + 1 == n) {
        return '\0';
    }
    return i % 71 == 70 ? '\n' : (char)('a' + (i * 7 + (size_t)seed) % 26);
}

// ---- on the other node

TM_SHARED struct task task;
static TM_SHARED size_t n_wrong;

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

void there(int what)
{
    tm_thread_attr attr = {
        .placement = TM_ON_NODE, .node = tm_node_count() - 1, .name = "other"};
    tm_thread thread;

    task = (struct task){buffer, size, seed, what};
    n_wrong = 0;
    CHECK(tm_thread_create(&thread, &attr, work, NULL) == TM_OK);
    CHECK(tm_thread_join(thread, NULL) == TM_OK);
    CHECK(n_wrong == 0);
}

// ---- on the root: private bytes through a descriptor, beside the tested call

int ends[2];
char *private_bytes;

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

int temporary_file(void)
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

// ---- a row

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
        for (unsigned row = 0; row < n_rows; row++) {
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
            CHECK(++row < n_rows);
        }
        run_row(row, strtoull(argv[2], NULL, 10));
    }
    puts("as it should be");
    return 0;
}
