// SPDX-License-Identifier: BSD-3-Clause
//
// A node's end of the control socket, the launcher's is cli/link.c.
//
//   bootstrap_open      no variable: a cluster of one, or PMIx; else the socket is
//                       taken
//   bootstrap_exchange  all cards are exchanged } boot_launcher.c, boot_pmix.c
//   bootstrap_ready     all are connected       }
//   bootstrap_poll      from then on: STOP, STATUS, or the end of file
//   bootstrap_is_ended  the same, for a node that cannot go on
//   bootstrap_done, bootstrap_failed   the last word of a node
//   bootstrap_tell_*    what the launcher says of the run if a node is lost
//
// I1  A frame is taken from the socket whole and nothing behind it: the calls
//     share no buffer, and what comes between two of them stays in the kernel.
// I2  A last word is one send() of a few bytes. It is safe in a signal handler
//     and does not mix with another thread's.
#include "cluster/bootstrap.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/boot_priv.h"
#include "cluster/pmix.h"
#include "net/message.h"

// More than the variables and arguments of two nodes differ by.
#define BOOT_STACK_SHIFT ((size_t)32 * 1024)

int bootstrap_is_by_others(void)
{
    char name[512];

    return getenv("TEAMSTER_BOOT_FD") == NULL &&
           pmix_is_offered(name, sizeof name);
}

int bootstrap_is_root_by_others(void)
{
    char name[512];

    return bootstrap_is_by_others() && pmix_is_offered(name, sizeof name) &&
           strcmp(strrchr(name, '.'), ".0") == 0;
}

void bootstrap_lower_stack(void)
{
    char text[BOOT_STACK_SHIFT];

    memset(text, '-', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    setenv("TEAMSTER_STACK", text, 1);
}

tm_status bootstrap_open(struct bootstrap *bootstrap)
{
    unsetenv("TEAMSTER_STACK");
    *bootstrap =
        (struct bootstrap){.fd = -1, .life_fd = -1, .n_nodes = 1, .n_here = 1};
    if (getenv("TEAMSTER_BOOT_FD") != NULL) {
        return boot_launcher_open(bootstrap);
    }
    if (bootstrap_is_by_others()) {
        return boot_pmix_open(bootstrap);
    }
    boot_pmix_miss();
    return TM_OK;
}

tm_status boot_keep(struct boot_member *member, const struct node_card *card)
{
    uint8_t *address = malloc(card->address_size + 1); // of one alone it is 0

    if (address == NULL) {
        log_error("no memory for the list of nodes");
        return TM_ENOMEM;
    }
    memcpy(address, card->address, card->address_size);
    *member = (struct boot_member){
        .capacity = card->capacity,
        .canary = card->canary,
        .pid = card->pid,
        .address_size = card->address_size,
        .address = address,
    };
    return TM_OK;
}

tm_status bootstrap_exchange(struct bootstrap *bootstrap,
                             const struct node_card *card,
                             const struct boot_roster *roster)
{
    if (bootstrap_has_launcher(bootstrap)) {
        return boot_launcher_exchange(bootstrap, card, roster);
    }
    if (bootstrap->pmix != NULL) {
        return boot_pmix_exchange(bootstrap, card, roster);
    }
    roster->host_of[0] = 0;
    return boot_keep(&roster->members[0], card);
}

tm_status bootstrap_ready(struct bootstrap *bootstrap)
{
    if (bootstrap_has_launcher(bootstrap)) {
        return boot_launcher_ready(bootstrap);
    }
    return bootstrap->pmix != NULL ? boot_pmix_ready(bootstrap) : TM_OK;
}

int bootstrap_has_launcher(const struct bootstrap *bootstrap)
{
    return bootstrap->fd >= 0;
}

/** Send a small frame. Nobody is left to tell if it fails: the launcher is gone.
 * @param writer  behind BOOT_HEADER bytes and the fields */
static void send_small(int fd, enum boot_kind kind, uint8_t *bytes,
                       const struct wire_writer *writer, int flags)
{
    int saved_errno = errno;
    size_t size = (size_t)(writer->at - bytes);

    if (fd < 0) {
        return;
    }
    boot_header(bytes, kind, size - BOOT_HEADER);
    while (send(fd, bytes, size, MSG_NOSIGNAL | flags) < 0 && errno == EINTR) {
    }
    errno = saved_errno;
}

/** I2 */
static void say_code(int fd, enum boot_kind kind, int exit_code)
{
    uint8_t bytes[BOOT_HEADER + WIRE_SIZE_boot_code];
    struct wire_writer writer = {.at = bytes + BOOT_HEADER,
                                 .end = bytes + sizeof bytes};

    wire_put_boot_code(&writer, &(struct wire_boot_code){(uint32_t)exit_code});
    send_small(fd, kind, bytes, &writer, 0);
}

void bootstrap_done(const struct bootstrap *bootstrap, int exit_code)
{
    say_code(bootstrap->fd, BOOT_DONE, exit_code);
}

void bootstrap_failed(const struct bootstrap *bootstrap, int exit_code)
{
    say_code(bootstrap->fd, BOOT_FAILED, exit_code);
}

/** If there is room for it: a launcher that is stopped does not stop the node. */
static void tell(int fd, enum boot_kind kind, uint8_t *bytes,
                 const struct wire_writer *writer)
{
    send_small(fd, kind, bytes, writer, MSG_DONTWAIT);
}

void bootstrap_tell_progress(const struct bootstrap *bootstrap,
                             const struct wire_boot_progress *progress)
{
    uint8_t bytes[BOOT_HEADER + WIRE_SIZE_boot_progress];
    struct wire_writer writer = {.at = bytes + BOOT_HEADER,
                                 .end = bytes + sizeof bytes};

    wire_put_boot_progress(&writer, progress);
    tell(bootstrap->fd, BOOT_PROGRESS, bytes, &writer);
}

void bootstrap_tell(const struct bootstrap *bootstrap, enum boot_kind kind,
                    const void *body, size_t size)
{
    uint8_t bytes[BOOT_HEADER + BOOT_FINDINGS_MAX];
    struct wire_writer writer = {bytes + BOOT_HEADER, bytes + sizeof bytes, 0};

    wire_put_bytes(&writer, body, size);
    tell(bootstrap->fd, kind, bytes, &writer);
}

void bootstrap_tell_outside(const struct bootstrap *bootstrap, const char *why)
{
    uint8_t bytes[BOOT_HEADER + 2 + BOOT_WHY_MAX];
    struct wire_writer writer = {.at = bytes + BOOT_HEADER,
                                 .end = bytes + sizeof bytes};

    wire_put_boot_words(&writer, &(struct wire_boot_words){why});
    tell(bootstrap->fd, BOOT_OUTSIDE, bytes, &writer);
}

void bootstrap_tell_peer(const struct bootstrap *bootstrap, node_id peer,
                         enum boot_peer what, unsigned seconds)
{
    uint8_t bytes[BOOT_HEADER + WIRE_SIZE_boot_hint];
    struct wire_writer writer = {.at = bytes + BOOT_HEADER,
                                 .end = bytes + sizeof bytes};

    wire_put_boot_hint(
        &writer, &(struct wire_boot_hint){
                     .node = peer,
                     .what = (uint8_t)what,
                     .seconds = (uint16_t)(seconds < 65535 ? seconds : 65535),
                 });
    tell(bootstrap->fd, BOOT_PEER, bytes, &writer);
}

void bootstrap_tell_heard(const struct bootstrap *bootstrap,
                          const struct wire_boot_heard *heard, unsigned n)
{
    uint8_t bytes[BOOT_HEADER + BOOT_HEARD_MAX * WIRE_SIZE_boot_heard];
    struct wire_writer writer = {.at = bytes + BOOT_HEADER,
                                 .end = bytes + sizeof bytes};

    for (unsigned i = 0; i < n; i++) {
        wire_put_boot_heard(&writer, &heard[i]);
    }
    tell(bootstrap->fd, BOOT_HEARD, bytes, &writer);
}

void bootstrap_tell_life(const struct bootstrap *bootstrap, uint32_t number)
{
    uint8_t bytes[WIRE_SIZE_boot_number];
    struct wire_writer writer = {.at = bytes, .end = bytes + sizeof bytes};

    if (bootstrap->life_fd >= 0) {
        wire_put_boot_number(&writer, &(struct wire_boot_number){number});
        // An agent that is stopped, or gone, is told no more.
        (void)send(bootstrap->life_fd, bytes, sizeof bytes,
                   MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

/** Take a frame that is known to be in the socket. */
static enum bootstrap_event take_event(struct bootstrap *bootstrap,
                                       size_t length, enum boot_kind kind)
{
    uint8_t rest[64];
    struct wire_reader reader = {.at = rest + BOOT_HEADER,
                                 .end = rest + length + 4};

    if (length + 4 > sizeof rest || recv(bootstrap->fd, rest, length + 4,
                                         MSG_DONTWAIT) != (ssize_t)length + 4) {
        return BOOTSTRAP_GONE;
    }
    if (!boot_frame_is_good(kind, reader.at, length - 1)) {
        return BOOTSTRAP_NOTHING;
    }
    switch (kind) {
    case BOOT_STATUS:
        return BOOTSTRAP_STATUS;
    case BOOT_SAVE:
        return BOOTSTRAP_SAVE;
    case BOOT_OUTSIDE_HEARD:
        return BOOTSTRAP_HEARD;
    case BOOT_LIFE:
        bootstrap->n_launcher_beats = wire_get_boot_number(&reader).number;
        return BOOTSTRAP_LIFE;
    case BOOT_SHOW:
        bootstrap->is_to_show = wire_get_boot_number(&reader).number != 0;
        return BOOTSTRAP_SHOW;
    case BOOT_STOP:
        return wire_get_boot_number(&reader).number == 0 ? BOOTSTRAP_END
                                                         : BOOTSTRAP_STOP;
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
    return take_event(bootstrap, length, kind);
}

static tm_status read_change(const struct boot_frame *frame,
                             struct boot_change *change)
{
    struct wire_reader reader = wire_read(frame->body, frame->size);
    size_t used;

    change->kind = frame->kind;
    change->node = wire_get_u16(&reader);
    if (frame->kind == BOOT_NEWCOMER) {
        const void *key;

        change->host = wire_get_u16(&reader);
        key = wire_get_bytes(&reader, BOOT_KEY_SIZE);
        if (key != NULL) {
            memcpy(change->key, key, BOOT_KEY_SIZE);
        }
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
    struct boot_frame frame;
    tm_status status = boot_receive(bootstrap->fd, &frame);

    if (status != TM_OK) {
        return status;
    }
    status = read_change(&frame, change);
    explicit_bzero(frame.body, frame.size); // the key
    free(frame.body);
    return status;
}

/** Send a frame that must not be lost. @param writer  as for send_small() */
static void say(int fd, enum boot_kind kind, uint8_t *bytes,
                const struct wire_writer *writer)
{
    size_t size = (size_t)(writer->at - bytes);

    boot_header(bytes, kind, size - BOOT_HEADER);
    if (fd >= 0 && boot_send(fd, bytes, size) != TM_OK) {
        return; // it has gone: logged
    }
}

void bootstrap_peered(const struct bootstrap *bootstrap, node_id node,
                      const char *why)
{
    uint8_t bytes[BOOT_HEADER + 320];
    struct wire_writer writer = {bytes + BOOT_HEADER, bytes + sizeof bytes, 0};

    wire_put_boot_peered(&writer, &(struct wire_boot_peered){node, why});
    say(bootstrap->fd, BOOT_PEERED, bytes, &writer);
}

void bootstrap_report(const struct bootstrap *bootstrap, node_id node,
                      int comes, unsigned report, const char *text)
{
    uint8_t bytes[BOOT_HEADER + 256];
    struct wire_writer writer = {bytes + BOOT_HEADER, bytes + sizeof bytes, 0};

    wire_put_boot_report(&writer, &(struct wire_boot_report){
                                      .node = node,
                                      .comes = comes != 0,
                                      .report = (uint8_t)report,
                                      .text = text,
                                  });
    say(bootstrap->fd, BOOT_REPORT, bytes, &writer);
}

void bootstrap_tell_findings(const struct bootstrap *bootstrap,
                             const char *text, size_t size)
{
    uint8_t bytes[BOOT_HEADER + BOOT_FINDINGS_MAX];
    struct wire_writer writer = {bytes + BOOT_HEADER, bytes + sizeof bytes, 0};

    wire_put_bytes(&writer, text, size);
    say(bootstrap->fd, BOOT_FINDINGS, bytes, &writer);
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

        if (event == BOOTSTRAP_STOP || event == BOOTSTRAP_END ||
            event == BOOTSTRAP_GONE) {
            return 1;
        }
        if (now_ns >= deadline_ns) {
            return 0;
        }
        poll(&poll_fd, 1, (int)((deadline_ns - now_ns) / 1000000) + 1);
    }
}
