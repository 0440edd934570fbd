// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_MUX_H
#define CLI_MUX_H

#include <poll.h>
#include <stdint.h>

#include "buffer.h"
#include "net/wire.h"

/*
 * Many channels through one pair of pipes: the launcher's or an agent's end of
 * the connection between them, which ssh makes. mux.c says what travels.
 */

/** The channels of each node. */
enum mux_channel {
    MUX_LINK,  ///< the control socket, both ways
    MUX_INPUT, ///< standard input, to the agent
    MUX_OUT,   ///< standard output, to the launcher
    MUX_ERR,   ///< standard error, to the launcher
    MUX_CHANNELS,
};

enum mux_kind {
#define FRAME(number, name, way, meaning, body) MUX_##name = (number),
#include "agent_frames.def"
};

#define RECORDS "agent_frames.def"
#include "net/records.h"

/** The most bytes of a channel that wait for its file. */
#define MUX_WAITING_MAX (416u << 10)

/** A frame that is not mux.c's own; body is valid until the next call. */
struct mux_frame {
    enum mux_kind kind;
    unsigned node;
    const uint8_t *body;
    size_t size;
};

struct channel {
    int fd;            ///< this end's file; -1: none, or closed
    int is_read;       ///< what comes from it goes to the other side
    int is_written;    ///< what comes from the other side goes to it
    int is_ending;     ///< the other side's end of file has come
    size_t n_flying;   ///< bytes sent that the other side has not passed on
    size_t n_passed;   ///< bytes passed on and not yet told to the other side
    struct buffer out; ///< to be written to fd
};

struct mux {
    int in; ///< -1 after its end
    int out_fd;
    int is_broken; ///< the other side does not speak this language, or is gone
    int is_deaf;   ///< to channels: there are none any more, or not yet again
    struct buffer from;
    struct buffer to;
    unsigned n_nodes;
    struct channel *channels; ///< [n_nodes * MUX_CHANNELS]
    uint64_t heard_ns;        ///< when something came last
};

/** Descriptors that mux_fill() wants room for. */
size_t mux_n_polled(const struct mux *mux);

/** Both descriptors become mux's. It has no channels yet. */
void mux_open(struct mux *mux, int in, int out);
void mux_close(struct mux *mux);

/** Nothing comes any more: files end, when what has come for them is written. */
void mux_end(struct mux *mux);

/** Nodes have ended, and others will come: the channels go, and what still comes of them is
 * dropped, until there are new ones. */
void mux_forget(struct mux *mux);

/** Make the channels; nodes are those of one host, counted from 0. Once, and again behind
 * mux_forget(). @return 0, -1 without memory */
int mux_make_channels(struct mux *mux, unsigned n_nodes);

/** Connect a channel to a file, which becomes mux's and is made non-blocking, but
 * for one that is read as standard input: others may have it too. */
void mux_attach(struct mux *mux, unsigned node, enum mux_channel which, int fd);

void mux_fill(const struct mux *mux, struct pollfd *set);

/** Move what can be moved. @param set  as poll() left what mux_fill() put in */
void mux_move(struct mux *mux, const struct pollfd *set, uint64_t now_ns);

/** Take what has come. @return 1 and the next frame, 0 if there is none */
int mux_next(struct mux *mux, struct mux_frame *frame);

void mux_send(struct mux *mux, enum mux_kind kind, unsigned node,
              const void *body, size_t size);
void mux_send_number(struct mux *mux, enum mux_kind kind, unsigned node,
                     uint32_t number);

/** Send what the files of a node hold now, whatever the other side has room for:
 * its process has ended. */
void mux_drain(struct mux *mux, unsigned node);

#endif
