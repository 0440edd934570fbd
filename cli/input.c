// SPDX-License-Identifier: BSD-3-Clause
//
// Standard input goes to the root. If it is a file or a pipe, the root simply
// inherits it: it then reads what it needs, and leaves the rest to whoever comes
// next (`while read host; do teamster run ...; done` works).
//
// A terminal cannot be inherited. The root is in a process group of its own, so
// that Ctrl-C reaches the launcher alone, and a group in the background that
// reads its terminal is stopped. So the launcher reads the terminal and writes
// a pipe. It reads only while it is itself in the foreground; otherwise it looks
// again twice a second. SIGTTIN is blocked, which makes a read that comes just
// too late an error (EIO) instead of a stop.
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "os/descriptor.h"

#define RETRY_NS 500000000u

void input_keep(struct input *input)
{
    input->is_kept = 1;
}

/** Does the root have the launcher's own? */
static int is_inherited(const struct input *input)
{
    return !isatty(STDIN_FILENO) && (!input->is_kept || input->from >= 0);
}

int input_open(struct input *input, int *for_root)
{
    *input = (struct input){
        .to_root = -1,
        .is_kept = input->is_kept,
        .from = input->is_kept ? lseek(STDIN_FILENO, 0, SEEK_CUR) : -1,
    };
    return input_open_again(input, for_root);
}

int input_open_again(struct input *input, int *for_root)
{
    int ends[2];

    if (is_inherited(input)) {
        if (input->from >= 0) {
            (void)lseek(STDIN_FILENO, input->from, SEEK_SET);
        }
        *for_root = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
        return *for_root < 0 ? -1 : 0;
    }
    buffer_release(&input->waiting);
    if (input->kept.used > 0) {
        buffer_append(&input->waiting, buffer_front(&input->kept),
                      input->kept.used);
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    input->to_root = ends[1];
    *for_root = ends[0];
    return 0;
}

void input_close(struct input *input)
{
    descriptor_drop(&input->to_root);
    buffer_release(&input->waiting);
}

void input_release(struct input *input)
{
    input_close(input);
    buffer_release(&input->kept);
}

static void keep(struct input *input, const char *bytes, size_t size)
{
    if (!input->is_kept || input->is_too_much) {
        return;
    }
    if (input->kept.used + size > INPUT_KEPT_MAX) {
        input->is_too_much = 1;
        buffer_release(&input->kept);
        return;
    }
    buffer_append(&input->kept, bytes, size);
}

static int is_in_foreground(void)
{
    pid_t foreground = tcgetpgrp(STDIN_FILENO);

    // Not our controlling terminal: reading it stops nobody.
    return foreground < 0 || foreground == getpgrp();
}

short input_wants_read(const struct input *input, uint64_t now_ns)
{
    return input->to_root >= 0 && !input->is_at_end &&
                   input->waiting.used == 0 && now_ns >= input->retry_ns
               ? POLLIN
               : 0;
}

short input_wants_write(const struct input *input)
{
    return input->to_root >= 0 && input->waiting.used > 0 ? POLLOUT : 0;
}

static void read_some(struct input *input, uint64_t now_ns)
{
    char bytes[4096];
    ssize_t size;

    if (!is_in_foreground()) {
        input->retry_ns = now_ns + RETRY_NS;
        return;
    }
    size = read(STDIN_FILENO, bytes, sizeof bytes);
    if (size > 0) {
        buffer_append(&input->waiting, bytes, (size_t)size);
        keep(input, bytes, (size_t)size);
    } else if (size < 0 && errno == EIO && !is_in_foreground()) {
        input->retry_ns = now_ns + RETRY_NS;
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
        input->is_at_end = 1;
    }
}

void input_move(struct input *input, int is_readable, uint64_t now_ns)
{
    if (input->to_root < 0) {
        return;
    }
    if (is_readable && input_wants_read(input, now_ns)) {
        read_some(input, now_ns);
    }
    // If it fails the root has closed its end.
    if (buffer_write(&input->waiting, input->to_root, 0) != 0 ||
        (input->is_at_end && input->waiting.used == 0)) {
        input_close(input);
    }
}
