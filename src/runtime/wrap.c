// SPDX-License-Identifier: BSD-3-Clause
//
// read(), write() and their like on shared memory. The kernel takes no faults on
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
// What all share is here, and what has a descriptor and one buffer; vectors are in
// wrap_vector.c, sockets in wrap_socket.c, streams in wrap_stream.c, printf() in
// wrap_print.c. wrap_sleep.c has what does not read or write, but waits; wrap_exit.c
// what ends a thread.
#include "runtime/wrap.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/early.h"
#include "base/ensure.h"
#include "runtime/error_report.h"
#include "runtime/node.h"
#include "runtime/threads.h"

#define STEP ((size_t)1024 * 1024)

#define NAME(name) #name,
static const char *const names[] = {FUNCTIONS(NAME)};

EARLY void *wrap_real(enum function function)
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

// Look them up early: later it may be inside a signal handler.
__attribute__((constructor)) static void find_all(void)
{
    for (enum function i = 0; i < N_FUNCTIONS; i++) {
        wrap_real(i);
    }
}

// ---- buffers

int wrap_is_thread(void)
{
    return node_step(&this_node) == RUNTIME_RUNNING && thread_self() != NULL;
}

int wrap_is_shared(uintptr_t address)
{
    page_no page;

    return wrap_is_thread() &&
           space_find(&this_node.space, (void *)address, &page);
}

void wrap_begin(const struct request *request)
{
    struct thread *thread = thread_self();

    thread->wrapped = names[request->function];
    thread->place = request->place;
}

void wrap_end(void)
{
    thread_self()->wrapped = NULL;
}

size_t wrap_good_bytes(const char *address, size_t n)
{
    const char *at = address;
    page_no page;

    node_enter(&this_node);
    while (at < address + n && space_find(&this_node.space, at, &page)) {
        const struct extent *extent = engine_extent(this_node.engine, page);

        if (extent == NULL || extent->is_closed) {
            break;
        }
        at = space_address(&this_node.space, extent->page) +
             extent->n_pages * TM_PAGE_SIZE;
    }
    node_leave(&this_node);
    return at > address + n ? n : (size_t)(at - address);
}

size_t wrap_check(const struct request *request, const char *address, size_t n)
{
    size_t good = wrap_good_bytes(address, n);

    if (good == 0) {
        report_bad_buffer(&this_node, names[request->function], request->place,
                          address);
        errno = EFAULT;
    }
    return good;
}

static int check_all(const struct request *request, const char *address,
                     size_t n)
{
    size_t good = WRAP_IS_SHARED(address) ? wrap_good_bytes(address, n) : n;

    wrap_begin(request);
    return good == n || wrap_check(request, address + good, 1) > 0;
}

int wrap_copy_in(const struct request *request, void *private,
                 const void *shared, size_t n)
{
    int is_good = n == 0 || check_all(request, shared, n);

    if (is_good) {
        memcpy(private, shared, n);
    }
    wrap_end();
    return is_good;
}

int wrap_copy_out(const struct request *request, void *shared,
                  const void *private, size_t n)
{
    int is_good = n == 0 || check_all(request, shared, n);

    if (is_good) {
        memcpy(shared, private, n);
    }
    wrap_end();
    return is_good;
}

int bounce_open(struct bounce *bounce, size_t size)
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

void bounce_close(struct bounce *bounce)
{
    int saved_errno = errno;

    if (bounce->bytes != bounce->small) {
        munmap(bounce->bytes, bounce->size);
    }
    errno = saved_errno;
}

// ---- one call

ssize_t wrap_transfer(const struct request *request, char *bytes, size_t n,
                      size_t done)
{
    off64_t offset = request->offset + (off64_t)done;

    switch (request->function) {
    case REAL_read:
        return CALL(read)(request->fd, bytes, n);
    case REAL_write:
        return CALL(write)(request->fd, bytes, n);
    case REAL_pread:
        return CALL(pread)(request->fd, bytes, n, offset);
    case REAL_pwrite:
        return CALL(pwrite)(request->fd, bytes, n, offset);
    case REAL_recv:
        return CALL(recv)(request->fd, bytes, n, request->flags);
    case REAL_send:
        return CALL(send)(request->fd, bytes, n, request->flags);
    case REAL_recvfrom:
        return CALL(recvfrom)(request->fd, bytes, n, request->flags,
                              request->name, request->name_size);
    case REAL_sendto:
        return CALL(sendto)(request->fd, bytes, n, request->flags,
                            request->name, *request->name_size);
    case REAL_fread:
        return (ssize_t)CALL(fread)(bytes, 1, n, request->file);
    case REAL_fread_unlocked:
        return (ssize_t)CALL(fread_unlocked)(bytes, 1, n, request->file);
    case REAL_fwrite_unlocked:
        return (ssize_t)CALL(fwrite_unlocked)(bytes, 1, n, request->file);
    default: // fwrite, fputs, puts
        return (ssize_t)CALL(fwrite)(bytes, 1, n, request->file);
    }
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

        if (!wrap_is_input(request)) {
            memcpy(bounce.bytes, shared + done, part);
        }
        got = wrap_transfer(request, bounce.bytes, part, done);
        if (got > 0 && wrap_is_input(request)) {
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

ssize_t wrap_serve(const struct request *request, const void *shared, size_t n)
{
    char *address = (char *)(uintptr_t)shared;
    ssize_t got = -1;

    if (n > SSIZE_MAX) {
        errno = EINVAL;
        return -1;
    }
    if (n == 0) {
        return wrap_transfer(request, (char[1]){0}, 0, 0);
    }
    wrap_begin(request);
    n = wrap_check(request, address, n);
    if (n > 0) {
        got = move(request, address, n);
    }
    wrap_end();
    return got;
}

// ---- files

WRAP(ssize_t, read, (int fd, void *to, size_t size), (fd, to, size),
     WRAP_IS_SHARED(to), wrap_serve(&request, to, size), read, .fd = fd)

WRAP(ssize_t, write, (int fd, const void *from, size_t size), (fd, from, size),
     WRAP_IS_SHARED(from), wrap_serve(&request, from, size), write, .fd = fd)

WRAP(ssize_t, pread, (int fd, void *to, size_t size, off_t offset),
     (fd, to, size, offset), WRAP_IS_SHARED(to), wrap_serve(&request, to, size),
     pread, .fd = fd, .offset = offset)
WRAP_ALIAS(pread64, pread);

WRAP(ssize_t, pwrite, (int fd, const void *from, size_t size, off_t offset),
     (fd, from, size, offset), WRAP_IS_SHARED(from),
     wrap_serve(&request, from, size), pwrite, .fd = fd, .offset = offset)
WRAP_ALIAS(pwrite64, pwrite);

// ---- as compiled with _FORTIFY_SOURCE: room is what the compiler knows of the
// buffer, and the C library ends the program if it does not suffice.

WRAP(ssize_t, __read_chk, (int fd, void *to, size_t size, size_t room),
     (fd, to, size, room), WRAP_IS_SHARED(to) && size <= room,
     wrap_serve(&request, to, size), read, .fd = fd)

WRAP(ssize_t, __pread_chk,
     (int fd, void *to, size_t size, off_t offset, size_t room),
     (fd, to, size, offset, room), WRAP_IS_SHARED(to) && size <= room,
     wrap_serve(&request, to, size), pread, .fd = fd, .offset = offset)
WRAP_ALIAS(__pread64_chk, __pread_chk);
