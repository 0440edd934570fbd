// SPDX-License-Identifier: BSD-3-Clause
//
// The output of all nodes as one: each node's stdout and stderr is a pipe to the
// launcher (a stream), which passes whole lines on to its own stdout and stderr
// (a sink).
//
// I1  A line in a sink holds bytes of one stream only. What one stream left
//     unfinished there (a prompt, a last line without its newline) is finished
//     with a newline if another stream's line follows.
// I2  No bytes are added to those of a stream, unless I1 or tags ask for it, and
//     none are lost while the sink can be written: with one node writing, output
//     is what it would be without a launcher.
//     The line of sink_show(), on a terminal, is taken away before anything else comes.
// I3  The launcher never blocks in a write. Sinks are written when poll() allows
//     it; while one is full its streams are not read, so that nodes which write
//     faster than their reader reads wait in their own write().
//
// Errors and warnings of several nodes that are alike become one line: they wait in the
// sink (fold.c), and all that comes to the sink goes behind them.
//
// An inherited descriptor must not be made non-blocking: its other users, a
// shell for one, would notice. So pipes and terminals are opened once more,
// sockets are written with MSG_DONTWAIT, and files do not block. Where opening
// again is refused, small writes after poll() are the next best thing.
//
// A line is kept until its newline comes, up to LINE_LIMIT bytes: longer ones
// are passed on in parts. The root's stdout shows unfinished lines after 50 ms
// without more, so that a program can ask a question. What is longer than a question,
// or ends where stdio's buffer was full, is rather the middle of a line whose writer
// has lost its processor for a while: it is shown after 2 s only.
//
// A run that goes back to a checkpoint writes lines again: those that were shown are dropped
// (seen.c), and so are the marks that say where in a stream a checkpoint is. With --output=held
// no line is shown before a checkpoint is behind it (held.c); prompts are not shown, either.
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/descriptor.h"

#define LINE_LIMIT (16u << 20)
#define SINK_LIMIT (1u << 20)
#define CLEAR_LINE "\r\033[K"
#define READ_SIZE (64u << 10)
#define QUIET_NS 50000000u
#define QUIET_IN_LINE_NS 2000000000u
#define STDIO_BUFFER 4096u // of a pipe, in the C library

void sink_open(struct sink *sink, int fd)
{
    char path[32] = "/proc/self/fd/0";
    struct stat info;
    int again;

    *sink = (struct sink){.fd = fd};
    if (fstat(fd, &info) != 0 || S_ISREG(info.st_mode)) {
        return;
    }
    if (S_ISSOCK(info.st_mode)) {
        sink->is_socket = 1;
        return;
    }
    path[strlen(path) - 1] = (char)('0' + fd);
    again = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (again < 0) {
        sink->is_slow = 1;
        return;
    }
    sink->fd = again;
    sink->is_own = 1;
}

void sink_close(struct sink *sink)
{
    if (sink->is_own) {
        close(sink->fd);
    }
    buffer_release(&sink->waiting);
    fold_release(&sink->fold);
}

int sink_is_same(int fd_a, int fd_b)
{
    struct stat a;
    struct stat b;

    return fstat(fd_a, &a) == 0 && fstat(fd_b, &b) == 0 &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int sink_is_full(const struct sink *sink)
{
    return sink->waiting.used >= SINK_LIMIT;
}

static ssize_t write_some(struct sink *sink)
{
    const char *bytes = buffer_front(&sink->waiting);
    size_t size = sink->waiting.used;

    if (sink->is_socket) {
        return send(sink->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (sink->is_slow && size > PIPE_BUF) {
        size = PIPE_BUF;
    }
    return write(sink->fd, bytes, size);
}

static int can_take(const struct sink *sink)
{
    struct pollfd poll_fd = {.fd = sink->fd, .events = POLLOUT};

    return !sink->is_slow || poll(&poll_fd, 1, 0) == 1;
}

void sink_write(struct sink *sink)
{
    ssize_t written;

    while (sink->waiting.used > 0 && sink->error == 0 && can_take(sink)) {
        written = write_some(sink);
        if (written >= 0) {
            buffer_drop(&sink->waiting, (size_t)written);
        } else if (errno == EAGAIN) {
            return;
        } else if (errno != EINTR) {
            sink->error = errno;
        }
    }
    if (sink->error != 0) {
        buffer_drop(&sink->waiting, sink->waiting.used);
    }
}

/** I1: what comes next is not of this stream. */
static void end_line_but_of(struct sink *sink, const struct stream *stream)
{
    if (sink->open != NULL && sink->open != stream) {
        buffer_append(&sink->waiting, "\n", 1);
        sink->open = NULL;
    }
}

static void stop_showing(struct sink *sink)
{
    if (sink->is_showing) {
        buffer_append(&sink->waiting, CLEAR_LINE, strlen(CLEAR_LINE));
        sink->is_showing = 0;
    }
}

static void let_go(struct sink *sink)
{
    if (sink->fold.n > 0) {
        stop_showing(sink);
        end_line_but_of(sink, NULL);
        fold_flush(&sink->fold, &sink->waiting);
    }
}

void sink_settle(struct sink *sink, uint64_t now_ns)
{
    if (sink->fold.due_ns <= now_ns) {
        let_go(sink);
    }
}

uint64_t sink_due_ns(const struct sink *sink)
{
    return sink->fold.due_ns;
}

/** I1: begin a line of this stream, NULL for the launcher. */
static void begin_line(struct sink *sink, const struct stream *stream)
{
    let_go(sink);
    stop_showing(sink);
    end_line_but_of(sink, stream);
    if (stream != NULL && sink->open == NULL) {
        buffer_append(&sink->waiting, stream->tag, strlen(stream->tag));
    }
}

/** Add one line, perhaps without its newline, or, if there are no tags, any
 * number of them. */
static void pass_on(struct stream *stream, const char *bytes, size_t size)
{
    struct sink *sink = stream->sink;

    if (size == 0 || sink->error != 0) {
        return;
    }
    begin_line(sink, stream);
    buffer_append(&sink->waiting, bytes, size);
    sink->open = bytes[size - 1] == '\n' ? NULL : stream;
}

/** What a line began with, before a mark. */
static void pass_on_piece(struct stream *stream)
{
    if (stream->piece.used > 0) {
        pass_on(stream, buffer_front(&stream->piece), stream->piece.used);
        buffer_drop(&stream->piece, stream->piece.used);
    }
}

/** What the runtime says itself is shown at once. */
static int is_held_line(const struct stream *stream, const char *bytes,
                        size_t size)
{
    return stream->held != NULL && !seen_is_said(stream->seen, bytes, size);
}

/** Have it wait for a checkpoint that is behind it. */
static void hold_line(struct stream *stream, const char *bytes, size_t size)
{
    if (size > 0 && !(stream->is_repeating && stream->cut == SEEN_PREPARING)) {
        held_add(stream->held, &(struct held_piece){.cut = stream->cut,
                                                    .writer = stream->writer,
                                                    .size = (uint32_t)size,
                                                    .bytes = bytes});
    }
}

void output_show_held(struct held *held)
{
    struct held_piece piece;
    struct stream *writer;

    while (held_take(held, &piece)) {
        writer = &held->writers[piece.writer];
        // Its checkpoint was whole, and may have been found torn since.
        if (writer->seen == NULL || piece.cut == SEEN_PREPARING ||
            seen_is_new(writer->seen, piece.cut, piece.bytes, piece.size)) {
            pass_on(writer, piece.bytes, piece.size);
        }
        if (sink_is_full(writer->sink)) {
            return;
        }
    }
}

/** Add a line, or what there is of it, or have it wait for its like. */
static void pass_on_line(struct stream *stream, const char *bytes, size_t size,
                         uint64_t now_ns)
{
    if (is_held_line(stream, bytes, size)) {
        hold_line(stream, bytes, size);
        return;
    }
    pass_on_piece(stream);
    if (stream->seen != NULL && stream->held == NULL &&
        !seen_is_new(stream->seen, stream->cut, bytes, size)) {
        return;
    }
    if (stream->speaker[0] == '\0' || stream->sink->open == stream ||
        bytes[size - 1] != '\n' ||
        !fold_take(&stream->sink->fold, stream->speaker, bytes, size, now_ns)) {
        pass_on(stream, bytes, size);
    }
}

static void pass_on_lines(struct stream *stream, const char *bytes, size_t size,
                          uint64_t now_ns)
{
    if (stream->tag[0] == '\0' && stream->speaker[0] == '\0' &&
        stream->seen == NULL) {
        pass_on(stream, bytes, size);
        return;
    }
    while (size > 0) {
        const char *newline = memchr(bytes, '\n', size);
        size_t length = newline != NULL ? (size_t)(newline - bytes) + 1 : size;

        pass_on_line(stream, bytes, length, now_ns);
        bytes += length;
        size -= length;
    }
}

static void pass_on_rest(struct stream *stream, uint64_t now_ns)
{
    pass_on_piece(stream);
    if (stream->line.used > 0) {
        pass_on_line(stream, buffer_front(&stream->line), stream->line.used,
                     now_ns);
        buffer_drop(&stream->line, stream->line.used);
    }
}

static void take_bytes(struct stream *stream, const char *bytes, size_t size,
                       uint64_t now_ns)
{
    const char *newline = memrchr(bytes, '\n', size);
    size_t whole = newline != NULL ? (size_t)(newline - bytes) + 1 : 0;
    size_t first = 0;

    stream->n_read += size;
    if (whole > 0 && stream->line.used > 0) {
        first = (size_t)((char *)memchr(bytes, '\n', whole) - bytes) + 1;
        buffer_append(&stream->line, bytes, first);
        pass_on_rest(stream, now_ns);
    }
    pass_on_lines(stream, bytes + first, whole - first, now_ns);
    buffer_append(&stream->line, bytes + whole, size - whole);
    if (stream->line.used >= LINE_LIMIT) {
        pass_on_rest(stream, now_ns);
    }
}

/** There is a cut in the line: its first piece does not come again after it. But it
 * waits for the other, or lines of others would come between them. */
static void hold_piece(struct stream *stream)
{
    const char *bytes = buffer_front(&stream->line);
    const size_t size = stream->line.used;

    if (stream->held != NULL) {
        hold_line(stream, bytes, size);
    } else if (size > 0 &&
               seen_is_new(stream->seen, stream->cut, bytes, size)) {
        buffer_append(&stream->piece, bytes, size);
    }
    buffer_drop(&stream->line, size);
}

/** One more byte of what may be a mark. @return 0 it is none, and the byte is not taken */
static int take_mark(struct stream *stream, char byte)
{
    stream->mark[stream->n_mark] = byte;
    if (!seen_is_mark(stream->seen, stream->mark, stream->n_mark + 1)) {
        return 0;
    }
    if (++stream->n_mark == SEEN_MARK) {
        const uint64_t said = seen_mark(stream->mark);

        hold_piece(stream);
        stream->cut = said != 0 ? said : stream->seen->whole[0];
        stream->n_mark = 0;
        stream->n_read = 0; // stdio's buffer was emptied
    }
    return 1;
}

/** It was no mark. */
static void pass_on_mark(struct stream *stream, uint64_t now_ns)
{
    const unsigned n = stream->n_mark;

    stream->n_mark = 0;
    take_bytes(stream, stream->mark, n, now_ns);
}

static void take_with_marks(struct stream *stream, const char *bytes,
                            size_t size, uint64_t now_ns)
{
    while (size > 0) {
        const char *zero = memchr(bytes, '\0', size);
        size_t n = zero != NULL ? (size_t)(zero - bytes) : size;

        if (stream->n_mark > 0 || n == 0) {
            n = (size_t)take_mark(stream, *bytes);
            if (n == 0 && stream->n_mark == 0) { // a byte of the program's
                take_bytes(stream, bytes, 1, now_ns);
                n = 1;
            } else if (n == 0) {
                pass_on_mark(stream, now_ns);
            }
        } else {
            take_bytes(stream, bytes, n, now_ns);
        }
        bytes += n;
        size -= n;
    }
}

/** Its end has come. What there is of a line may come again, whole. */
static void end_stream(struct stream *stream)
{
    if (stream->seen == NULL) {
        stream_close(stream);
    } else {
        descriptor_drop(&stream->fd);
    }
}

int stream_read(struct stream *stream, uint64_t now_ns)
{
    char bytes[READ_SIZE];
    int has_bytes = 0;

    for (int i = 0; i < 2 && stream->fd >= 0; i++) {
        ssize_t size = read(stream->fd, bytes, sizeof bytes);

        if (size > 0) {
            if (stream->seen != NULL) {
                take_with_marks(stream, bytes, (size_t)size, now_ns);
            } else {
                take_bytes(stream, bytes, (size_t)size, now_ns);
            }
            stream->last_ns = now_ns;
            has_bytes = 1;
        } else if (size == 0) {
            end_stream(stream);
        } else {
            break; // EAGAIN
        }
    }
    return has_bytes;
}

static int looks_cut(const struct stream *stream)
{
    return stream->line.used >= STDIO_BUFFER ||
           stream->n_read % STDIO_BUFFER == 0;
}

uint64_t stream_prompt_ns(const struct stream *stream)
{
    if (!stream->is_prompting ||
        (stream->line.used == 0 && stream->piece.used == 0)) {
        return 0;
    }
    return stream->last_ns + (looks_cut(stream) ? QUIET_IN_LINE_NS : QUIET_NS);
}

void stream_show_prompt(struct stream *stream, uint64_t now_ns)
{
    uint64_t due_ns = stream_prompt_ns(stream);

    if (due_ns != 0 && due_ns <= now_ns) {
        pass_on_rest(stream, now_ns);
    }
}

void stream_forget(struct stream *stream)
{
    descriptor_drop(&stream->fd);
    pass_on_piece(stream);
    buffer_release(&stream->piece);
    buffer_release(&stream->line);
    stream->n_mark = 0;
}

void stream_close(struct stream *stream)
{
    descriptor_drop(&stream->fd);
    if (stream->n_mark > 0) {
        pass_on_mark(stream, stream->last_ns);
    }
    pass_on_rest(stream, stream->last_ns);
    buffer_release(&stream->piece);
    buffer_release(&stream->line);
}

void sink_end_line(struct sink *sink)
{
    let_go(sink);
    stop_showing(sink);
    end_line_but_of(sink, NULL);
}

void sink_say(struct sink *sink, const char *text)
{
    if (sink->error != 0 || fold_add(&sink->fold, text)) {
        return;
    }
    begin_line(sink, NULL);
    buffer_append(&sink->waiting, text, strlen(text));
    buffer_append(&sink->waiting, "\n", 1);
}

void sink_show(struct sink *sink, const char *text)
{
    if (sink->error != 0 || sink->open != NULL ||
        (text[0] != '\0' && sink->waiting.used > 0)) {
        return;
    }
    stop_showing(sink);
    if (text[0] != '\0') {
        buffer_append(&sink->waiting, text, strlen(text));
        sink->is_showing = 1;
    }
}
