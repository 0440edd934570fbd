// SPDX-License-Identifier: BSD-3-Clause
//
// The connection between the launcher and the agent on another host: frames
//
//     length u32, kind u8, node u16, body
//
// through the standard input and output of an ssh. The length counts what is
// behind it. Bytes of a node's control socket, input and output are frames of kind
// DATA, with the channel in front; at both ends the channel is an ordinary file, so
// that neither the node nor the rest of the launcher knows of the way between.
//
// I1  A channel has at most WINDOW bytes on the way that the other end could not
//     pass on yet: whoever does not read its output holds up the writer alone, and
//     no other channel.
// I2  A side that says what makes no sense is not listened to any more
//     (is_broken). Nor is one that sends more than I1 lets it: what waits here is
//     bounded, whatever the other side does.
#include "mux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FRAMES "agent_frames.def"
#include "net/frames_code.h"
#include "os/descriptor.h"

#define FRAME_HEADER 7u
#define FRAME_LIMIT (8u << 20)
#define WINDOW (256u << 10)
#define PART (32u << 10)
#define LAST_PARTS 4u ///< that mux_drain() sends, whatever the window is

_Static_assert(MUX_WAITING_MAX == WINDOW + (1 + LAST_PARTS) * PART,
               "what a side that keeps to I1 sends at most");

size_t mux_n_polled(const struct mux *mux)
{
    return 2 + (size_t)mux->n_nodes * MUX_CHANNELS;
}

static struct channel *channel_of(const struct mux *mux, unsigned node,
                                  unsigned which)
{
    return &mux->channels[node * MUX_CHANNELS + which];
}

void mux_open(struct mux *mux, int in, int out)
{
    *mux = (struct mux){.in = in, .out_fd = out};
    fcntl(in, F_SETFL, O_NONBLOCK);
    fcntl(out, F_SETFL, O_NONBLOCK);
}

int mux_make_channels(struct mux *mux, unsigned n_nodes)
{
    size_t n = (size_t)n_nodes * MUX_CHANNELS;

    mux->channels = calloc(n, sizeof(struct channel));
    if (mux->channels == NULL) {
        return -1;
    }
    mux->n_nodes = n_nodes;
    mux->is_deaf = 0;
    for (size_t i = 0; i < n; i++) {
        mux->channels[i].fd = -1;
    }
    return 0;
}

static void channel_close(struct channel *channel)
{
    descriptor_drop(&channel->fd);
    buffer_release(&channel->out);
}

void mux_forget(struct mux *mux)
{
    for (size_t i = 0; i < (size_t)mux->n_nodes * MUX_CHANNELS; i++) {
        channel_close(&mux->channels[i]);
    }
    free(mux->channels);
    mux->channels = NULL;
    mux->n_nodes = 0;
    mux->is_deaf = 1;
}

void mux_close(struct mux *mux)
{
    descriptor_drop(&mux->in);
    descriptor_drop(&mux->out_fd);
    mux_forget(mux);
    buffer_release(&mux->from);
    buffer_release(&mux->to);
}

void mux_attach(struct mux *mux, unsigned node, enum mux_channel which, int fd)
{
    struct channel *channel = channel_of(mux, node, which);
    int access = fcntl(fd, F_GETFL) & O_ACCMODE;

    channel->fd = fd;
    channel->is_read = access != O_WRONLY;
    channel->is_written = access != O_RDONLY;
    if (which != MUX_INPUT || channel->is_written) {
        fcntl(fd, F_SETFL, O_NONBLOCK);
    }
}

// ---- to the other side ----

static void put_header(struct mux *mux, enum mux_kind kind, unsigned node,
                       size_t body_size)
{
    uint8_t header[FRAME_HEADER];
    struct wire_writer writer = {.at = header, .end = header + sizeof header};

    wire_put_u32(&writer, (uint32_t)(FRAME_HEADER - 4 + body_size));
    wire_put_u8(&writer, (uint8_t)kind);
    wire_put_u16(&writer, (uint16_t)node);
    buffer_append(&mux->to, header, sizeof header);
}

/** Write what waits, as far as possible now. */
static void mux_write(struct mux *mux)
{
    if (buffer_write(&mux->to, mux->out_fd, 0) != 0) {
        mux->is_broken = 1;
    }
}

void mux_send(struct mux *mux, enum mux_kind kind, unsigned node,
              const void *body, size_t size)
{
    if (mux->is_broken) {
        return;
    }
    put_header(mux, kind, node, size);
    if (size > 0) {
        buffer_append(&mux->to, body, size);
    }
    mux_write(mux);
}

void mux_send_number(struct mux *mux, enum mux_kind kind, unsigned node,
                     uint32_t number)
{
    uint8_t body[WIRE_SIZE_agent_number];
    struct wire_writer writer = {.at = body, .end = body + sizeof body};

    wire_put_agent_number(&writer, &(struct wire_agent_number){number});
    mux_send(mux, kind, node, body, sizeof body);
}

static unsigned node_of(const struct mux *mux, const struct channel *channel)
{
    return (unsigned)(channel - mux->channels) / MUX_CHANNELS;
}

static uint8_t which_of(const struct mux *mux, const struct channel *channel)
{
    return (uint8_t)((channel - mux->channels) % MUX_CHANNELS);
}

static void send_data(struct mux *mux, struct channel *channel,
                      const char *bytes, size_t size)
{
    uint8_t which = which_of(mux, channel);

    if (mux->is_broken) {
        return;
    }
    put_header(mux, MUX_DATA, node_of(mux, channel), 1 + size);
    buffer_append(&mux->to, &which, 1);
    buffer_append(&mux->to, bytes, size);
    mux_write(mux);
    channel->n_flying += size;
}

/** @return 1 if there may be more */
static int read_file(struct mux *mux, struct channel *channel)
{
    char bytes[PART];
    ssize_t size = read(channel->fd, bytes, sizeof bytes);
    uint8_t which = which_of(mux, channel);

    if (size > 0) {
        send_data(mux, channel, bytes, (size_t)size);
        explicit_bzero(bytes, (size_t)size); // the key may be among them
        return 1;
    }
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    mux_send(mux, MUX_END, node_of(mux, channel), &which, 1);
    channel->is_read = 0;
    if (!channel->is_written || channel->is_ending) {
        channel_close(channel);
    }
    return 0;
}

void mux_drain(struct mux *mux, unsigned node)
{
    for (unsigned which = 0; which < MUX_CHANNELS; which++) {
        struct channel *channel = channel_of(mux, node, which);

        // A process that it left behind may write for ever.
        for (unsigned i = 0; i < LAST_PARTS && channel->fd >= 0 &&
                             channel->is_read && read_file(mux, channel);
             i++) {
        }
    }
}

// ---- from the other side ----

static void tell_taken(struct mux *mux, struct channel *channel)
{
    uint8_t body[WIRE_SIZE_mux_taken];
    struct wire_writer writer = {.at = body, .end = body + sizeof body};

    wire_put_mux_taken(&writer,
                       &(struct wire_mux_taken){which_of(mux, channel),
                                                (uint32_t)channel->n_passed});
    mux_send(mux, MUX_TAKEN, node_of(mux, channel), body, sizeof body);
    channel->n_passed = 0;
}

static void write_file(struct mux *mux, struct channel *channel)
{
    const size_t n_before = channel->out.used;

    // What nobody reads, or has closed, is passed on as well.
    (void)buffer_write(&channel->out, channel->fd, 0);
    channel->n_passed += n_before - channel->out.used;
    if (channel->out.used > 0) {
        return;
    }
    if (channel->n_passed >= WINDOW / 4) {
        tell_taken(mux, channel);
    }
    if (channel->is_ending && channel->fd >= 0) {
        if (channel->is_read) {
            shutdown(channel->fd, SHUT_WR);
        } else {
            channel_close(channel);
        }
    }
}

void mux_end(struct mux *mux)
{
    mux->is_broken = 1;
    for (size_t i = 0; i < (size_t)mux->n_nodes * MUX_CHANNELS; i++) {
        mux->channels[i].is_ending = 1;
        write_file(mux, &mux->channels[i]);
    }
}

/** Take bytes for a file. @return 0 if they are more than may wait: I2 */
static int take_bytes(struct channel *channel, const uint8_t *bytes,
                      size_t size)
{
    if (channel->fd < 0 || !channel->is_written) {
        return 1; // nobody reads them
    }
    if (size > MUX_WAITING_MAX - channel->out.used) {
        return 0;
    }
    buffer_append(&channel->out, bytes, size);
    return 1;
}

/** Take a frame of a channel. @return 0 if it makes no sense */
static int take_channel_frame(struct mux *mux, const struct mux_frame *frame)
{
    struct channel *channel;
    struct wire_reader reader = wire_read(frame->body, frame->size);
    unsigned which = wire_get_u8(&reader);

    if (mux->is_deaf) {
        return 1; // it was sent before the other side knew that they have gone
    }
    if (reader.failed || which >= MUX_CHANNELS || frame->node >= mux->n_nodes) {
        return 0;
    }
    channel = channel_of(mux, frame->node, which);
    if (frame->kind == MUX_TAKEN) {
        size_t n = wire_get_u32(&reader);

        if (reader.failed || n > channel->n_flying) {
            return 0;
        }
        channel->n_flying -= n;
        return 1;
    }
    if (frame->kind == MUX_END) {
        channel->is_ending = 1;
    } else if (frame->kind != MUX_DATA ||
               !take_bytes(channel, reader.at,
                           (size_t)(reader.end - reader.at))) {
        return 0;
    }
    write_file(mux, channel);
    return 1;
}

/** @return 1 and a whole frame, 0 if there is none, -1 if it is none of ours */
static int take_frame(struct mux *mux, struct mux_frame *frame)
{
    struct wire_reader reader;
    const uint8_t *front;
    size_t length;

    front = (const uint8_t *)buffer_front(&mux->from); // wipes the last one
    if (mux->from.used < FRAME_HEADER) {
        return 0;
    }
    reader = (struct wire_reader){.at = front, .end = front + FRAME_HEADER};
    length = wire_get_u32(&reader);
    if (length < FRAME_HEADER - 4 || length > FRAME_LIMIT) {
        return -1;
    }
    if (mux->from.used < length + 4) {
        return 0;
    }
    frame->kind = wire_get_u8(&reader);
    frame->node = wire_get_u16(&reader);
    frame->body = front + FRAME_HEADER;
    frame->size = length + 4 - FRAME_HEADER;
    buffer_drop(&mux->from, length + 4); // the bytes stay until the next call
    return frame_is_good(frame->kind, frame->body, frame->size) ? 1 : -1;
}

int mux_next(struct mux *mux, struct mux_frame *frame)
{
    while (!mux->is_broken) {
        int found = take_frame(mux, frame);

        if (found == 0) {
            return 0;
        }
        if (found > 0 && frame->kind > MUX_TAKEN) {
            return 1;
        }
        if (found < 0 || !take_channel_frame(mux, frame)) {
            mux->is_broken = 1; // I2
        }
    }
    return 0;
}

static void read_pipe(struct mux *mux, uint64_t now_ns)
{
    char bytes[2 * PART];

    for (unsigned i = 0; i < 8 && mux->in >= 0; i++) {
        ssize_t size = read(mux->in, bytes, sizeof bytes);

        if (size > 0) {
            buffer_append(&mux->from, bytes, (size_t)size);
            explicit_bzero(bytes, (size_t)size); // the key may be among them
            mux->heard_ns = now_ns;
        } else if (size < 0 && errno == EINTR) {
            continue;
        } else if (size < 0 && errno == EAGAIN) {
            return;
        } else {
            descriptor_drop(&mux->in);
        }
    }
}

// ---- poll() ----

static struct pollfd watch(int fd, int events)
{
    return (struct pollfd){.fd = events != 0 ? fd : -1,
                           .events = (short)events};
}

void mux_fill(const struct mux *mux, struct pollfd *set)
{
    set[0] = watch(mux->in, mux->is_broken ? 0 : POLLIN); // I2
    set[1] = watch(mux->out_fd, mux->to.used > 0 ? POLLOUT : 0);
    for (size_t i = 0; i < (size_t)mux->n_nodes * MUX_CHANNELS; i++) {
        const struct channel *channel = &mux->channels[i];
        int events =
            channel->is_read && channel->n_flying < WINDOW ? POLLIN : 0;

        events |= channel->out.used > 0 ? POLLOUT : 0; // I1
        set[2 + i] = watch(channel->fd, events);
    }
}

void mux_move(struct mux *mux, const struct pollfd *set, uint64_t now_ns)
{
    if (mux->in >= 0 && set[0].revents != 0) {
        read_pipe(mux, now_ns);
    }
    for (size_t i = 0; i < (size_t)mux->n_nodes * MUX_CHANNELS; i++) {
        struct channel *channel = &mux->channels[i];

        if (channel->fd < 0 || set[2 + i].revents == 0) {
            continue;
        }
        if (set[2 + i].events & POLLOUT) {
            write_file(mux, channel);
        }
        if (channel->fd >= 0 && set[2 + i].events & POLLIN) {
            read_file(mux, channel);
        }
    }
    if (!mux->is_broken) {
        mux_write(mux);
    }
}
