// SPDX-License-Identifier: BSD-3-Clause
//
// A node's end of the control socket, the launcher's is cli/link.c.
//
//   bootstrap_open      no variable: a cluster of one, or PMIx; else the socket is
//                       taken
//   bootstrap_exchange  CARD out, CARDS or REFUSED in
//   bootstrap_ready     READY out, GO or REFUSED in
//   bootstrap_poll      from then on: STOP, STATUS, or the end of file
//   bootstrap_is_ended  the same, for a node that cannot go on
//   bootstrap_done, bootstrap_failed   the last word of a node
//   bootstrap_tell_*    what the launcher says of the run if a node is lost
//
// I1  A frame is taken from the socket whole and nothing behind it: the calls
//     share no buffer, and what comes between two of them stays in the kernel.
// I2  A last word is one send() of a few bytes. It is safe in a signal handler
//     and does not mix with another thread's.
//
// The first three block. They end when the launcher answers, which has a
// deadline, or when it is gone (end of file), so no wait is for ever.
#include "cluster/bootstrap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/boot_pmix.h"
#include "cluster/pmix.h"
#include "net/message.h"

/** A frame's kind and fields. */
struct frame {
    enum boot_kind kind;
    uint8_t *body; ///< free() it
    size_t size;
};

void boot_header(uint8_t *header, enum boot_kind kind, size_t body_size)
{
    struct wire_writer writer = {.at = header, .end = header + BOOT_HEADER};

    wire_put_u32(&writer, (uint32_t)body_size + 1);
    wire_put_u8(&writer, (uint8_t)kind);
}

static tm_status send_all(int fd, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0) {
            log_error("the launcher is gone: cannot write to it: %m");
            return TM_EPEER;
        }
        bytes += sent;
        size -= (size_t)sent;
    }
    return TM_OK;
}

static tm_status receive_all(int fd, uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ssize_t received = recv(fd, bytes, size, 0);

        if (received < 0 && errno == EINTR) {
            continue;
        }
        if (received <= 0) {
            log_error("the launcher is gone: this node ends");
            return TM_EPEER;
        }
        bytes += received;
        size -= (size_t)received;
    }
    return TM_OK;
}

static tm_status receive_frame(int fd, struct frame *frame)
{
    uint8_t header[BOOT_HEADER];
    struct wire_reader reader = {.at = header, .end = header + sizeof header};
    uint32_t length;
    tm_status status = receive_all(fd, header, sizeof header);

    if (status != TM_OK) {
        return status;
    }
    length = wire_get_u32(&reader);
    frame->kind = wire_get_u8(&reader);
    if (length == 0 || length > BOOT_FRAME_MAX) {
        log_error("the launcher sent a frame of %u bytes", length);
        return TM_EWIRE;
    }
    frame->size = length - 1;
    frame->body = malloc(length);
    if (frame->body == NULL) {
        log_error("no memory for a frame of %u bytes", length);
        return TM_ENOMEM;
    }
    status = receive_all(fd, frame->body, frame->size);
    if (status != TM_OK) {
        free(frame->body);
    }
    return status;
}

/** What it means that the launcher refuses; it has told the user. */
static tm_status refusal(const struct frame *frame)
{
    struct wire_reader reader = {.at = frame->body,
                                 .end = frame->body + frame->size};

    return wire_get_u32(&reader) == EXIT_MISMATCH ? TM_EMISMATCH : TM_EPEER;
}

/** Wait for one kind of frame. @param[out] frame  its body is the caller's */
static tm_status wait_for(int fd, enum boot_kind kind, struct frame *frame)
{
    for (;;) {
        tm_status status = receive_frame(fd, frame);

        if (status != TM_OK || frame->kind == kind) {
            return status;
        }
        if (frame->kind == BOOT_REFUSED || frame->kind == BOOT_STOP) {
            status = frame->kind == BOOT_REFUSED ? refusal(frame) : TM_EPEER;
        } else if (frame->kind != BOOT_STATUS) {
            log_error("the launcher sent an unexpected frame, kind %d",
                      (int)frame->kind);
            status = TM_EWIRE;
        }
        free(frame->body);
        if (status != TM_OK) {
            return status;
        }
    }
}

static tm_status read_number(const char *variable, long min, long max,
                             long *number)
{
    const char *text = getenv(variable);
    char *end;

    if (text == NULL) {
        log_error("TEAMSTER_BOOT_FD is set, but %s is not: start the program "
                  "with \"teamster run\"",
                  variable);
        return TM_ECONFIG;
    }
    errno = 0;
    *number = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *number < min ||
        *number > max) {
        log_error("%s=%s is not a number from %ld to %ld: start the program "
                  "with \"teamster run\"",
                  variable, text, min, max);
        return TM_ECONFIG;
    }
    return TM_OK;
}

static tm_status take_socket(int fd)
{
    struct stat info;

    if (fstat(fd, &info) != 0 || !S_ISSOCK(info.st_mode)) {
        log_error("TEAMSTER_BOOT_FD=%d is no socket of \"teamster run\"; did a "
                  "script between it and the program close it?",
                  fd);
        return TM_ECONFIG;
    }
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
        log_error("fcntl(TEAMSTER_BOOT_FD): %m");
        return TM_ECONFIG;
    }
    return TM_OK;
}

/** @return TM_OK, also if nothing is said: all nodes are here */
static tm_status read_place(struct bootstrap *bootstrap)
{
    const char *text = getenv("TEAMSTER_PLACE");

    bootstrap->n_here = bootstrap->n_nodes;
    bootstrap->n_here_below = bootstrap->self;
    if (text == NULL) {
        return TM_OK;
    }
    if (sscanf(text, "%u %u %31s", &bootstrap->n_here_below, &bootstrap->n_here,
               bootstrap->device) != 3 ||
        bootstrap->n_here > bootstrap->n_nodes ||
        bootstrap->n_here_below >= bootstrap->n_here) {
        log_error("TEAMSTER_PLACE=%s is not what \"teamster run\" sets", text);
        return TM_ECONFIG;
    }
    if (strcmp(bootstrap->device, "-") == 0) { // all nodes are here
        bootstrap->device[0] = '\0';
    }
    return TM_OK;
}

static tm_status send_card(int fd, const struct node_card *card)
{
    uint8_t *bytes = malloc(BOOT_HEADER + NODE_CARD_MAX);
    size_t size;
    tm_status status;

    if (bytes == NULL) {
        log_error("no memory for this node's card");
        return TM_ENOMEM;
    }
    size = node_card_encode(card, bytes + BOOT_HEADER, NODE_CARD_MAX);
    boot_header(bytes, BOOT_CARD, size);
    status = send_all(fd, bytes, BOOT_HEADER + size);
    free(bytes);
    return status;
}

static tm_status decode_cards(const struct frame *frame, unsigned n_nodes,
                              const struct boot_roster *roster)
{
    struct wire_reader reader = {.at = frame->body,
                                 .end = frame->body + frame->size};
    const void *key = wire_get_bytes(&reader, BOOT_KEY_SIZE);
    size_t used = 0;

    if (wire_get_u16(&reader) != n_nodes || reader.failed) {
        log_error("the launcher's cards are not those of %u nodes", n_nodes);
        return TM_EWIRE;
    }
    for (unsigned i = 0; i < n_nodes; i++) {
        roster->host_of[i] = wire_get_u16(&reader);
        if (roster->host_of[i] == BOOT_NO_HOST) {
            continue; // it has left; its card is of zeros
        }
        if (reader.failed ||
            node_card_decode(reader.at, (size_t)(reader.end - reader.at),
                             &roster->cards[i], &used) != TM_OK) {
            log_error("the launcher's card of node %u is malformed", i);
            return TM_EWIRE;
        }
        reader.at += used;
    }
    memcpy(roster->job_key, key, BOOT_KEY_SIZE);
    return TM_OK;
}

static tm_status exchange(struct bootstrap *bootstrap,
                          const struct node_card *card,
                          const struct boot_roster *roster)
{
    struct frame frame;
    tm_status status;

    status = send_card(bootstrap->fd, card);
    if (status != TM_OK) {
        return status;
    }
    status = wait_for(bootstrap->fd, BOOT_CARDS, &frame);
    if (status != TM_OK) {
        return status;
    }
    status = decode_cards(&frame, bootstrap->n_nodes, roster);
    explicit_bzero(frame.body, frame.size); // the key
    free(frame.body);
    return status;
}

static tm_status ready(struct bootstrap *bootstrap)
{
    uint8_t header[BOOT_HEADER];
    struct frame frame;
    tm_status status;

    boot_header(header, BOOT_READY, 0);
    status = send_all(bootstrap->fd, header, sizeof header);
    if (status != TM_OK) {
        return status;
    }
    status = wait_for(bootstrap->fd, BOOT_GO, &frame);
    if (status == TM_OK) {
        free(frame.body);
    }
    return status;
}

static tm_status exchange_alone(struct bootstrap *bootstrap,
                                const struct node_card *card,
                                const struct boot_roster *roster)
{
    (void)bootstrap;
    roster->cards[0] = *card;
    roster->host_of[0] = 0;
    return TM_OK;
}

static tm_status ready_alone(struct bootstrap *bootstrap)
{
    (void)bootstrap;
    return TM_OK;
}

static const struct boot_way ways[] = {
    {exchange_alone, ready_alone},
    {exchange, ready},
    {boot_pmix_exchange, boot_pmix_ready},
};

enum { ALONE, LAUNCHER, PMIX };

static tm_status open_launcher(struct bootstrap *bootstrap)
{
    long fd;
    long self;
    long n_nodes;

    if (read_number("TEAMSTER_BOOT_FD", 0, 1 << 20, &fd) != TM_OK ||
        read_number("TEAMSTER_NODES", 1, TM_MAX_NODES, &n_nodes) != TM_OK ||
        read_number("TEAMSTER_NODE", 0, n_nodes - 1, &self) != TM_OK ||
        take_socket((int)fd) != TM_OK) {
        return TM_ECONFIG;
    }
    unsetenv("TEAMSTER_BOOT_FD");
    unsetenv("TEAMSTER_NODE");
    unsetenv("TEAMSTER_NODES");
    bootstrap->fd = (int)fd;
    bootstrap->self = (node_id)self;
    bootstrap->n_nodes = (unsigned)n_nodes;
    if (read_place(bootstrap) != TM_OK) {
        return TM_ECONFIG;
    }
    unsetenv("TEAMSTER_PLACE");
    if (getenv("TEAMSTER_JOINS") != NULL) {
        bootstrap->joins =
            (uint32_t)strtoul(getenv("TEAMSTER_JOINS"), NULL, 10);
        unsetenv("TEAMSTER_JOINS");
    }
    return TM_OK;
}

int bootstrap_is_by_others(void)
{
    char name[512];

    return getenv("TEAMSTER_BOOT_FD") == NULL &&
           pmix_is_offered(name, sizeof name);
}

tm_status bootstrap_open(struct bootstrap *bootstrap)
{
    *bootstrap = (struct bootstrap){
        .way = &ways[ALONE], .fd = -1, .n_nodes = 1, .n_here = 1};
    if (getenv("TEAMSTER_BOOT_FD") != NULL) {
        bootstrap->way = &ways[LAUNCHER];
        return open_launcher(bootstrap);
    }
    if (bootstrap_is_by_others()) {
        tm_status status = boot_pmix_open(bootstrap);

        bootstrap->way = &ways[bootstrap->pmix != NULL ? PMIX : ALONE];
        return status;
    }
    boot_pmix_miss();
    return TM_OK;
}

tm_status bootstrap_exchange(struct bootstrap *bootstrap,
                             const struct node_card *card,
                             const struct boot_roster *roster)
{
    return bootstrap->way->exchange(bootstrap, card, roster);
}

tm_status bootstrap_ready(struct bootstrap *bootstrap)
{
    return bootstrap->way->ready(bootstrap);
}

int bootstrap_has_launcher(const struct bootstrap *bootstrap)
{
    return bootstrap->fd >= 0;
}

/** I2. Nobody is left to tell if it fails: the launcher is gone. */
static void say_code(int fd, enum boot_kind kind, int exit_code)
{
    int saved_errno = errno;
    uint8_t bytes[BOOT_HEADER + 4];
    struct wire_writer writer = {.at = bytes + BOOT_HEADER,
                                 .end = bytes + sizeof bytes};

    if (fd < 0) {
        return;
    }
    boot_header(bytes, kind, 4);
    wire_put_u32(&writer, (uint32_t)exit_code);
    while (send(fd, bytes, sizeof bytes, MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
    errno = saved_errno;
}

void bootstrap_done(const struct bootstrap *bootstrap, int exit_code)
{
    say_code(bootstrap->fd, BOOT_DONE, exit_code);
}

void bootstrap_failed(const struct bootstrap *bootstrap, int exit_code)
{
    say_code(bootstrap->fd, BOOT_FAILED, exit_code);
}

/** Send a small frame if there is room for it: a launcher that is stopped does not
 * stop the node. @param writer  behind BOOT_HEADER bytes and the fields */
static void tell(int fd, enum boot_kind kind, uint8_t *bytes,
                 const struct wire_writer *writer)
{
    size_t size = (size_t)(writer->at - bytes);
    ssize_t sent;

    if (fd < 0) {
        return;
    }
    boot_header(bytes, kind, size - BOOT_HEADER);
    do {
        sent = send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
}

void bootstrap_tell_progress(const struct bootstrap *bootstrap,
                             uint64_t n_iterations, uint32_t n_threads)
{
    uint8_t bytes[BOOT_HEADER + 12];
    struct wire_writer writer = {.at = bytes + BOOT_HEADER,
                                 .end = bytes + sizeof bytes};

    wire_put_u64(&writer, n_iterations);
    wire_put_u32(&writer, n_threads);
    tell(bootstrap->fd, BOOT_PROGRESS, bytes, &writer);
}

void bootstrap_tell_peer(const struct bootstrap *bootstrap, node_id peer,
                         enum boot_peer what, unsigned seconds)
{
    uint8_t bytes[BOOT_HEADER + 5];
    struct wire_writer writer = {.at = bytes + BOOT_HEADER,
                                 .end = bytes + sizeof bytes};

    wire_put_u16(&writer, peer);
    wire_put_u8(&writer, (uint8_t)what);
    wire_put_u16(&writer, (uint16_t)(seconds < 65535 ? seconds : 65535));
    tell(bootstrap->fd, BOOT_PEER, bytes, &writer);
}

/** Take a frame that is known to be in the socket. */
static enum bootstrap_event take_event(int fd, size_t length,
                                       enum boot_kind kind)
{
    uint8_t rest[64];

    if (length + 4 > sizeof rest ||
        recv(fd, rest, length + 4, MSG_DONTWAIT) != (ssize_t)length + 4) {
        return BOOTSTRAP_GONE;
    }
    switch (kind) {
    case BOOT_STATUS:
        return BOOTSTRAP_STATUS;
    case BOOT_STOP:
        return BOOTSTRAP_STOP;
    default:
        return BOOTSTRAP_NOTHING;
    }
}

enum bootstrap_event bootstrap_poll(struct bootstrap *bootstrap)
{
    uint8_t peeked[64];
    struct wire_reader reader = {.at = peeked, .end = peeked + BOOT_HEADER};
    enum boot_kind kind;
    size_t length;
    ssize_t received;

    if (bootstrap->fd < 0) {
        return BOOTSTRAP_NOTHING;
    }
    received =
        recv(bootstrap->fd, peeked, sizeof peeked, MSG_PEEK | MSG_DONTWAIT);
    if (received < 0 && (errno == EAGAIN || errno == EINTR)) {
        return BOOTSTRAP_NOTHING;
    }
    if (received <= 0) {
        return BOOTSTRAP_GONE;
    }
    if (received < (ssize_t)BOOT_HEADER) {
        return BOOTSTRAP_NOTHING;
    }
    length = wire_get_u32(&reader);
    kind = wire_get_u8(&reader);
    if (kind == BOOT_REFUSED) {
        return BOOTSTRAP_STOP; // whatever the text is, it was the last frame
    }
    if (kind == BOOT_NEWCOMER || kind == BOOT_ADMIT || kind == BOOT_REMOVE) {
        return BOOTSTRAP_CHANGE;
    }
    if (length == 0 || length > sizeof peeked - 4) {
        return BOOTSTRAP_GONE; // no launcher of ours
    }
    if ((size_t)received < length + 4) {
        return BOOTSTRAP_NOTHING;
    }
    return take_event(bootstrap->fd, length, kind);
}

static tm_status read_change(const struct frame *frame,
                             struct boot_change *change)
{
    struct wire_reader reader = {.at = frame->body,
                                 .end = frame->body + frame->size};
    size_t used;

    change->kind = frame->kind;
    change->node = wire_get_u16(&reader);
    if (frame->kind == BOOT_NEWCOMER) {
        change->host = wire_get_u16(&reader);
        if (node_card_decode(reader.at, (size_t)(reader.end - reader.at),
                             &change->card, &used) != TM_OK) {
            return TM_EWIRE;
        }
    }
    return reader.failed || change->node >= TM_MAX_NODES ? TM_EWIRE : TM_OK;
}

tm_status bootstrap_take_change(struct bootstrap *bootstrap,
                                struct boot_change *change)
{
    struct frame frame;
    tm_status status = receive_frame(bootstrap->fd, &frame);

    if (status != TM_OK) {
        return status;
    }
    status = read_change(&frame, change);
    free(frame.body);
    return status;
}

void bootstrap_peered(const struct bootstrap *bootstrap, node_id node)
{
    uint8_t bytes[BOOT_HEADER + 2];
    struct wire_writer writer = {bytes + BOOT_HEADER, bytes + sizeof bytes, 0};

    boot_header(bytes, BOOT_PEERED, 2);
    wire_put_u16(&writer, node);
    (void)send_all(bootstrap->fd, bytes, sizeof bytes); // or it is gone: logged
}

void bootstrap_news(const struct bootstrap *bootstrap, node_id node, int comes,
                    unsigned news, const char *text)
{
    uint8_t bytes[BOOT_HEADER + 256];
    struct wire_writer writer = {bytes + BOOT_HEADER, bytes + sizeof bytes, 0};

    if (bootstrap->fd < 0) {
        return;
    }
    wire_put_u16(&writer, node);
    wire_put_u8(&writer, comes != 0);
    wire_put_u8(&writer, (uint8_t)news);
    wire_put_string(&writer, text);
    boot_header(bytes, BOOT_NEWS, (size_t)(writer.at - bytes) - BOOT_HEADER);
    (void)send_all(bootstrap->fd, bytes, (size_t)(writer.at - bytes));
}

int bootstrap_is_ended(struct bootstrap *bootstrap, unsigned within_ms)
{
    uint64_t deadline_ns = clock_now_ns() + within_ms * UINT64_C(1000000);
    struct pollfd poll_fd = {.fd = bootstrap->fd, .events = POLLIN};

    if (bootstrap->fd < 0) {
        return 0;
    }
    for (;;) {
        enum bootstrap_event event = bootstrap_poll(bootstrap);
        uint64_t now_ns = clock_now_ns();

        if (event == BOOTSTRAP_STOP || event == BOOTSTRAP_GONE) {
            return 1;
        }
        if (now_ns >= deadline_ns) {
            return 0;
        }
        poll(&poll_fd, 1, (int)((deadline_ns - now_ns) / 1000000) + 1);
    }
}
