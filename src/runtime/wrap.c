// SPDX-License-Identifier: BSD-3-Clause
//
// read(), fwrite() and their like on shared memory. The kernel takes no faults on
// our behalf: it answers EFAULT for a page that is not here. So these functions
// stand before the C library's. A buffer in private memory is passed on as it is;
// for one in shared memory the C library gets a private buffer, and the bytes are
// copied by the calling thread, whose faults are served as always.
//
//   W1 Errors, short counts and blocking are those of one call of the C library.
//      Regular files alone are read and written in steps of at most STEP bytes;
//      anything else (a pipe, a datagram, a device) in one call.
//   W2 As with the kernel, bytes up to the first one that is no good are moved,
//      and a buffer whose first byte is no good is EFAULT; that is explained in
//      one line, since it is an error of the program.
//   W3 No malloc: write() may be called from a signal handler.
//
// The names are those that programs are compiled to, with and without
// _FORTIFY_SOURCE. The C library's own calls among themselves do not come here.
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/ensure.h"
#include "runtime/runtime.h"

#define EXPORTED __attribute__((visibility("default")))
#define PLACE ((uintptr_t)__builtin_return_address(0))
#define STEP ((size_t)1024 * 1024)

// ---- the C library's functions

#define FUNCTIONS(X)                                                           \
    X(read)                                                                    \
    X(write) X(readv) X(writev) X(pread) X(pwrite) X(pread64) X(pwrite64)      \
        X(fread) X(fwrite) X(send) X(recv) X(__read_chk) X(__pread_chk)        \
            X(__pread64_chk) X(__fread_chk) X(__recv_chk)

#define NUMBER(name) REAL_##name,
enum function { FUNCTIONS(NUMBER) N_FUNCTIONS };

#define NAME(name) #name,
static const char *const names[] = {FUNCTIONS(NAME)};

static void *real(enum function function)
{
    static _Atomic(void *) found[N_FUNCTIONS];
    void *address =
        atomic_load_explicit(&found[function], memory_order_relaxed);

    if (address == NULL) {
        address = dlsym(RTLD_NEXT, names[function]);
        ensure(address != NULL);
        atomic_store_explicit(&found[function], address, memory_order_relaxed);
    }
    return address;
}

// What calls one of them, with its type.
#define CALL(name) ((__typeof__(&name))real(REAL_##name))

ssize_t __read_chk(int fd, void *to, size_t size, size_t room);
ssize_t __pread_chk(int fd, void *to, size_t size, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *to, size_t size, off64_t offset,
                      size_t room);
size_t __fread_chk(void *to, size_t room, size_t size, size_t n, FILE *file);
ssize_t __recv_chk(int fd, void *to, size_t size, size_t room, int flags);

// Look them up early: later it may be inside a signal handler.
__attribute__((constructor)) static void find_all(void)
{
    for (enum function i = 0; i < N_FUNCTIONS; i++) {
        real(i);
    }
}

// ---- buffers

// Not inlined: compilers would take the pointer for a promise to read.
__attribute__((noinline)) static int is_shared(uintptr_t address)
{
    page_no page;

    return runtime.step == RUNTIME_RUNNING &&
           space_find(&runtime.space, (void *)address, &page) &&
           thread_self() != NULL;
}

#define IS_SHARED(pointer) is_shared((uintptr_t)(pointer))

/** A call on shared memory. */
struct request {
    enum function function;
    int fd;
    int flags;
    off64_t offset;
    FILE *file;
    uintptr_t place; ///< of the call in the program
};

static void begin(const struct request *request)
{
    struct thread *thread = thread_self();

    thread->wrapped = names[request->function];
    thread->place = request->place;
}

static void end(void)
{
    thread_self()->wrapped = NULL;
}

// How many of n bytes are in pages of blocks (W2).
static size_t good_bytes(const char *address, size_t n)
{
    const char *at = address;
    page_no page;

    node_enter();
    while (at < address + n && space_find(&runtime.space, at, &page)) {
        const struct extent *extent = engine_extent(runtime.engine, page);

        if (extent == NULL || extent->is_closed) {
            break;
        }
        at = space_address(&runtime.space, extent->page) +
             extent->n_pages * TM_PAGE_SIZE;
    }
    node_leave();
    return at > address + n ? n : (size_t)(at - address);
}

// @return the bytes to move; 0: EFAULT has been said and set
static size_t check(const struct request *request, const char *address,
                    size_t n)
{
    size_t good = good_bytes(address, n);

    if (good == 0) {
        report_bad_buffer(names[request->function], request->place, address);
        errno = EFAULT;
    }
    return good;
}

/** Private memory for a while (W3); takes memory only where it is used. */
struct bounce {
    size_t size;
    char *bytes;
    char small[1024];
};

static int bounce_open(struct bounce *bounce, size_t size)
{
    bounce->size = size;
    bounce->bytes = bounce->small;
    if (size > sizeof bounce->small) {
        bounce->bytes =
            mmap(NULL, size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    return bounce->bytes != MAP_FAILED;
}

static void bounce_close(struct bounce *bounce)
{
    int saved_errno = errno;

    if (bounce->bytes != bounce->small) {
        munmap(bounce->bytes, bounce->size);
    }
    errno = saved_errno;
}

// ---- one call

static ssize_t transfer(const struct request *request, char *bytes, size_t n,
                        size_t done)
{
    off64_t offset = request->offset + (off64_t)done;

    switch (request->function) {
    case REAL_read:
        return CALL(read)(request->fd, bytes, n);
    case REAL_write:
        return CALL(write)(request->fd, bytes, n);
    case REAL_pread:
        return CALL(pread64)(request->fd, bytes, n, offset);
    case REAL_pwrite:
        return CALL(pwrite64)(request->fd, bytes, n, offset);
    case REAL_recv:
        return CALL(recv)(request->fd, bytes, n, request->flags);
    case REAL_send:
        return CALL(send)(request->fd, bytes, n, request->flags);
    case REAL_fread:
        return (ssize_t)CALL(fread)(bytes, 1, n, request->file);
    default:
        return (ssize_t)CALL(fwrite)(bytes, 1, n, request->file);
    }
}

static int is_input(const struct request *request)
{
    return request->function == REAL_read || request->function == REAL_pread ||
           request->function == REAL_recv || request->function == REAL_fread;
}

// At most so many bytes in one call (W1).
static size_t step_of(const struct request *request, size_t n)
{
    struct stat status;

    if (n <= STEP) {
        return n;
    }
    if (request->file != NULL ||
        (fstat(request->fd, &status) == 0 && S_ISREG(status.st_mode))) {
        return STEP;
    }
    return n;
}

// Move n bytes between the shared buffer and the file. @return as read(), write()
static ssize_t move(const struct request *request, char *shared, size_t n)
{
    size_t step = step_of(request, n);
    size_t done = 0;
    ssize_t got = 0;
    struct bounce bounce;

    if (!bounce_open(&bounce, step)) {
        return -1;
    }
    while (done < n) {
        size_t part = n - done < step ? n - done : step;

        if (!is_input(request)) {
            memcpy(bounce.bytes, shared + done, part);
        }
        got = transfer(request, bounce.bytes, part, done);
        if (got > 0 && is_input(request)) {
            memcpy(shared + done, bounce.bytes,
                   (size_t)got < part ? (size_t)got : part); // MSG_TRUNC
        }
        done += got > 0 ? (size_t)got : 0;
        if (got < (ssize_t)part) {
            break;
        }
    }
    bounce_close(&bounce);
    return done > 0 ? (ssize_t)done : got;
}

static ssize_t serve(const struct request *request, const void *shared,
                     size_t n)
{
    char *address = (char *)(uintptr_t)shared;
    ssize_t got = -1;

    if (n > SSIZE_MAX) {
        errno = EINVAL;
        return -1;
    }
    if (n == 0) {
        return transfer(request, (char[1]){0}, 0, 0);
    }
    begin(request);
    n = check(request, address, n);
    if (n > 0) {
        got = move(request, address, n);
    }
    end();
    return got;
}

// ---- files

EXPORTED ssize_t read(int fd, void *to, size_t size)
{
    struct request request = {.function = REAL_read, .fd = fd, .place = PLACE};

    return IS_SHARED(to) ? serve(&request, to, size) : CALL(read)(fd, to, size);
}

EXPORTED ssize_t write(int fd, const void *from, size_t size)
{
    struct request request = {.function = REAL_write, .fd = fd, .place = PLACE};

    return IS_SHARED(from) ? serve(&request, from, size)
                           : CALL(write)(fd, from, size);
}

EXPORTED ssize_t pread(int fd, void *to, size_t size, off_t offset)
{
    struct request request = {
        .function = REAL_pread, .fd = fd, .offset = offset, .place = PLACE};

    return IS_SHARED(to) ? serve(&request, to, size)
                         : CALL(pread)(fd, to, size, offset);
}

EXPORTED ssize_t pread64(int fd, void *to, size_t size, off64_t offset)
{
    struct request request = {
        .function = REAL_pread, .fd = fd, .offset = offset, .place = PLACE};

    return IS_SHARED(to) ? serve(&request, to, size)
                         : CALL(pread64)(fd, to, size, offset);
}

EXPORTED ssize_t pwrite(int fd, const void *from, size_t size, off_t offset)
{
    struct request request = {
        .function = REAL_pwrite, .fd = fd, .offset = offset, .place = PLACE};

    return IS_SHARED(from) ? serve(&request, from, size)
                           : CALL(pwrite)(fd, from, size, offset);
}

EXPORTED ssize_t pwrite64(int fd, const void *from, size_t size, off64_t offset)
{
    struct request request = {
        .function = REAL_pwrite, .fd = fd, .offset = offset, .place = PLACE};

    return IS_SHARED(from) ? serve(&request, from, size)
                           : CALL(pwrite64)(fd, from, size, offset);
}

// ---- sockets

EXPORTED ssize_t recv(int fd, void *to, size_t size, int flags)
{
    struct request request = {
        .function = REAL_recv, .fd = fd, .flags = flags, .place = PLACE};

    return IS_SHARED(to) ? serve(&request, to, size)
                         : CALL(recv)(fd, to, size, flags);
}

EXPORTED ssize_t send(int fd, const void *from, size_t size, int flags)
{
    struct request request = {
        .function = REAL_send, .fd = fd, .flags = flags, .place = PLACE};

    return IS_SHARED(from) ? serve(&request, from, size)
                           : CALL(send)(fd, from, size, flags);
}

// ---- streams

// The stream stays ours between the steps.
static size_t serve_stream(const struct request *request, const void *shared,
                           size_t size, size_t n)
{
    size_t total;
    ssize_t got;

    if (__builtin_mul_overflow(size, n, &total) || total > SSIZE_MAX) {
        errno = EOVERFLOW;
        return 0;
    }
    if (total == 0) {
        return 0;
    }
    flockfile(request->file);
    got = serve(request, shared, total);
    funlockfile(request->file);
    return got < 0 ? 0 : (size_t)got / size;
}

EXPORTED size_t fread(void *to, size_t size, size_t n, FILE *file)
{
    struct request request = {
        .function = REAL_fread, .fd = -1, .file = file, .place = PLACE};

    return IS_SHARED(to) ? serve_stream(&request, to, size, n)
                         : CALL(fread)(to, size, n, file);
}

EXPORTED size_t fwrite(const void *from, size_t size, size_t n, FILE *file)
{
    struct request request = {
        .function = REAL_fwrite, .fd = -1, .file = file, .place = PLACE};

    return IS_SHARED(from) ? serve_stream(&request, from, size, n)
                           : CALL(fwrite)(from, size, n, file);
}

// ---- vectors: private parts are passed on, shared ones replaced

/** A vector, with its shared parts in a bounce. */
struct vector {
    int n;
    struct iovec own[IOV_MAX];
    const struct iovec *given;
    struct bounce bounce;
};

static int vector_is_shared(const struct iovec *parts, int n)
{
    if (n <= 0 || n > IOV_MAX || runtime.step != RUNTIME_RUNNING) {
        return 0; // for the kernel to judge
    }
    if (IS_SHARED(parts)) {
        return 1;
    }
    for (int i = 0; i < n; i++) {
        if (IS_SHARED(parts[i].iov_base)) {
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

        if (IS_SHARED(part->iov_base) && wanted > 0) {
            part->iov_len = good_bytes(part->iov_base, wanted);
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
            check(request, vector->given[i].iov_base, 1);
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

        if (IS_SHARED(part->iov_base)) {
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

static ssize_t vector_move(const struct request *request, struct vector *vector,
                           size_t shared_size)
{
    int is_output = request->function == REAL_writev;
    ssize_t got;

    if (!bounce_open(&vector->bounce, shared_size)) {
        return -1;
    }
    vector_replace(vector, is_output);
    if (is_output) {
        got = CALL(writev)(request->fd, vector->own, vector->n);
    } else {
        got = CALL(readv)(request->fd, vector->own, vector->n);
        vector_copy_back(vector, got > 0 ? (size_t)got : 0);
    }
    bounce_close(&vector->bounce);
    return got;
}

static ssize_t serve_vector(const struct request *request,
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
    begin(request);
    vector->n = n;
    vector->given = parts;
    memcpy(vector->own, parts, (size_t)n * sizeof *parts);
    if (vector_check(request, vector, &shared_size)) {
        got = vector_move(request, vector, shared_size);
    }
    end();
    saved_errno = errno;
    munmap(vector, sizeof *vector);
    errno = saved_errno;
    return got;
}

EXPORTED ssize_t readv(int fd, const struct iovec *parts, int n)
{
    struct request request = {.function = REAL_readv, .fd = fd, .place = PLACE};

    return vector_is_shared(parts, n) ? serve_vector(&request, parts, n)
                                      : CALL(readv)(fd, parts, n);
}

EXPORTED ssize_t writev(int fd, const struct iovec *parts, int n)
{
    struct request request = {
        .function = REAL_writev, .fd = fd, .place = PLACE};

    return vector_is_shared(parts, n) ? serve_vector(&request, parts, n)
                                      : CALL(writev)(fd, parts, n);
}

// ---- as compiled with _FORTIFY_SOURCE: room is what the compiler knows of the
// buffer, and the C library ends the program if it does not suffice.

EXPORTED ssize_t __read_chk(int fd, void *to, size_t size, size_t room)
{
    struct request request = {.function = REAL_read, .fd = fd, .place = PLACE};

    return IS_SHARED(to) && size <= room ? serve(&request, to, size)
                                         : CALL(__read_chk)(fd, to, size, room);
}

EXPORTED ssize_t __pread_chk(int fd, void *to, size_t size, off_t offset,
                             size_t room)
{
    struct request request = {
        .function = REAL_pread, .fd = fd, .offset = offset, .place = PLACE};

    return IS_SHARED(to) && size <= room
               ? serve(&request, to, size)
               : CALL(__pread_chk)(fd, to, size, offset, room);
}

EXPORTED ssize_t __pread64_chk(int fd, void *to, size_t size, off64_t offset,
                               size_t room)
{
    struct request request = {
        .function = REAL_pread, .fd = fd, .offset = offset, .place = PLACE};

    return IS_SHARED(to) && size <= room
               ? serve(&request, to, size)
               : CALL(__pread64_chk)(fd, to, size, offset, room);
}

EXPORTED size_t __fread_chk(void *to, size_t room, size_t size, size_t n,
                            FILE *file)
{
    struct request request = {
        .function = REAL_fread, .fd = -1, .file = file, .place = PLACE};
    size_t total;

    return IS_SHARED(to) && !__builtin_mul_overflow(size, n, &total) &&
                   total <= room
               ? serve_stream(&request, to, size, n)
               : CALL(__fread_chk)(to, room, size, n, file);
}

EXPORTED ssize_t __recv_chk(int fd, void *to, size_t size, size_t room,
                            int flags)
{
    struct request request = {
        .function = REAL_recv, .fd = fd, .flags = flags, .place = PLACE};

    return IS_SHARED(to) && size <= room
               ? serve(&request, to, size)
               : CALL(__recv_chk)(fd, to, size, room, flags);
}
