// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdint.h>

#include "buffer.h"
#include "fold.h"
#include "held.h"
#include "seen.h"

/** Where lines go: the launcher's own stdout or stderr. */
struct sink {
    int fd;     ///< written without blocking where the system allows it
    int is_own; ///< fd was opened here, not inherited
    int is_socket;
    int is_slow; ///< may block: write little, after poll() only
    int error;   ///< errno of the first write that failed; all else is dropped
    struct buffer waiting;
    const struct stream *open; ///< whose unfinished line is the last thing here
    int is_showing;   ///< the last thing here is what sink_show() has shown
    struct fold fold; ///< lines that go behind what waits
};

/** Where lines come from: a node's stdout or stderr. */
struct stream {
    int fd; ///< read end of its pipe, not blocking; -1 after its end
    struct sink *sink;
    char tag[16];     ///< "[2] ", or ""
    char speaker[64]; ///< as its errors name the node; "": they are not folded
    int is_prompting; ///< unfinished lines are shown after a quiet time
    uint64_t last_ns; ///< when bytes came last
    uint64_t n_read;  ///< bytes that have come since its latest mark
    struct buffer line; ///< the unfinished line
    struct buffer
        piece; ///< what is to be shown of it from before its latest mark
    struct seen
        *seen; ///< a run that may go back: what it has shown; NULL: it may not
    struct held *held; ///< what is held until a checkpoint is behind it; NULL:
                       ///< nothing is
    unsigned writer;   ///< whose it is there
    int is_repeating;  ///< what it begins with, up to its first mark, was
                       ///< written before
    uint64_t cut;      ///< what its latest mark has said: seen.h
    char mark[SEEN_MARK]; ///< [n_mark] of the next one, perhaps
    unsigned n_mark;
};

/** Prepare to write to an inherited descriptor. */
void sink_open(struct sink *sink, int fd);
void sink_close(struct sink *sink);

/** Do the two descriptors lead to the same file? Then one sink serves both, or
 * their lines would mix. */
int sink_is_same(int fd_a, int fd_b);

/** Does it have so much that its streams should wait? */
int sink_is_full(const struct sink *sink);

/** Write what can be written now. Sets sink->error on failure. */
void sink_write(struct sink *sink);

/** Lines that have waited for their like until now go. */
void sink_settle(struct sink *sink, uint64_t now_ns);

/** When to call that next, 0 if not at all. */
uint64_t sink_due_ns(const struct sink *sink);

/** Add a line of the launcher's own; text without newline. */
void sink_say(struct sink *sink, const char *text);

/** No stream goes on with the last line here: the run's nodes are others now. */
void sink_end_line(struct sink *sink);

/** Show a text in a line of a terminal, until the next one, or anything else, is
 * written; "": take it away. Nothing happens while a line is unfinished, or much waits to
 * be written. */
void sink_show(struct sink *sink, const char *text);

/** Take what has come, up to the end or some 100 KB, and pass whole lines on.
 * At the end of file, closes and passes the rest on, but what may come again whole: that waits
 * for stream_close(). @return 1 if bytes came */
int stream_read(struct stream *stream, uint64_t now_ns);

/** Pass an unfinished line on if it is a prompt: no more bytes for 50 ms, or for
 * 2 s if it looks like the middle of a line. */
void stream_show_prompt(struct stream *stream, uint64_t now_ns);

/** When to call that next, 0 if not at all. */
uint64_t stream_prompt_ns(const struct stream *stream);

/** Pass the rest on and close. */
void stream_close(struct stream *stream);

/** Pass on what is held no longer, as far as sinks take it. */
void output_show_held(struct held *held);

/** Close; the rest is dropped, as it will come again, but what came before a mark. */
void stream_forget(struct stream *stream);

#endif
