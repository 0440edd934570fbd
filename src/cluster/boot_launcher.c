// SPDX-License-Identifier: BSD-3-Clause
//
// A node that `teamster run` has started meets the others through the launcher,
// whose end of the socket is cli/link.c:
//
//   boot_launcher_open      the variables are read, the socket is taken
//   boot_launcher_exchange  CARD out, CARDS or REFUSED in
//   boot_launcher_ready     READY out, GO or REFUSED in
//
// The last two block. They end when the launcher answers, which has a deadline, or
// when it is gone (end of file), so no wait is for ever.
#include "cluster/boot_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "net/message.h"

// ---- variables ----

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
    if (text == NULL) {
        return TM_OK;
    }
    if (sscanf(text, "%u %31s", &bootstrap->n_here, bootstrap->device) != 2 ||
        bootstrap->n_here > bootstrap->n_nodes || bootstrap->n_here < 1) {
        log_error("TEAMSTER_PLACE=%s is not what \"teamster run\" sets", text);
        return TM_ECONFIG;
    }
    if (strcmp(bootstrap->device, "-") == 0) { // all nodes are here
        bootstrap->device[0] = '\0';
    }
    return TM_OK;
}

/** The agent's socket, if there is one. What is none of ours is left alone. */
static int take_life(void)
{
    const char *text = getenv("TEAMSTER_LIFE_FD");
    struct stat info;
    int fd = text != NULL ? (int)strtol(text, NULL, 10) : -1;

    unsetenv("TEAMSTER_LIFE_FD");
    if (fd < 3 || fstat(fd, &info) != 0 || !S_ISSOCK(info.st_mode) ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
        return -1;
    }
    return fd;
}

tm_status boot_launcher_open(struct bootstrap *bootstrap)
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
    bootstrap->life_fd = take_life();
    bootstrap->self = (node_id)self;
    bootstrap->n_nodes = (unsigned)n_nodes;
    if (read_place(bootstrap) != TM_OK) {
        return TM_ECONFIG;
    }
    unsetenv("TEAMSTER_PLACE");
    if (getenv("TEAMSTER_NAME") != NULL) {
        snprintf(bootstrap->name, sizeof bootstrap->name, "%s",
                 getenv("TEAMSTER_NAME"));
        unsetenv("TEAMSTER_NAME");
    }
    if (getenv("TEAMSTER_JOINS") != NULL) {
        bootstrap->joins =
            (uint32_t)strtoul(getenv("TEAMSTER_JOINS"), NULL, 10);
        unsetenv("TEAMSTER_JOINS");
    }
    return TM_OK;
}

// ---- meeting ----

/** What it means that the launcher refuses; it has told the user. */
static tm_status refusal(const struct boot_frame *frame)
{
    struct wire_reader reader = wire_read(frame->body, frame->size);

    return wire_get_boot_refusal(&reader).exit_code == EXIT_MISMATCH
               ? TM_EMISMATCH
               : TM_EPEER;
}

/** Wait for one kind of frame. @param[out] frame  its body is the caller's */
static tm_status wait_for(int fd, enum boot_kind kind, struct boot_frame *frame)
{
    for (;;) {
        tm_status status = boot_receive(fd, frame);

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
    status = boot_send(fd, bytes, BOOT_HEADER + size);
    free(bytes);
    return status;
}

// @param card  room for one
static tm_status decode_cards(const struct boot_frame *frame, unsigned n_nodes,
                              const struct boot_roster *roster,
                              struct node_card *card)
{
    struct wire_reader reader = wire_read(frame->body, frame->size);
    const void *key = wire_get_bytes(&reader, BOOT_KEY_SIZE);
    tm_status status;
    size_t used = 0;

    if (wire_get_u16(&reader) != n_nodes || reader.failed) {
        log_error("the launcher's cards are not those of %u nodes", n_nodes);
        return TM_EWIRE;
    }
    for (unsigned i = 0; i < n_nodes; i++) {
        roster->host_of[i] = wire_get_u16(&reader);
        if (roster->host_of[i] == BOOT_NO_HOST) {
            continue; // it has left
        }
        if (reader.failed ||
            node_card_decode(reader.at, (size_t)(reader.end - reader.at), card,
                             &used) != TM_OK) {
            log_error("the launcher's card of node %u is malformed", i);
            return TM_EWIRE;
        }
        reader.at += used;
        status = boot_keep(&roster->members[i], card);
        if (status != TM_OK) {
            return status;
        }
    }
    memcpy(roster->job_key, key, BOOT_KEY_SIZE);
    return TM_OK;
}

static tm_status take_cards(const struct bootstrap *bootstrap,
                            const struct boot_frame *frame,
                            const struct boot_roster *roster)
{
    struct node_card *card = malloc(sizeof *card);
    tm_status status = TM_ENOMEM;

    if (card == NULL) {
        log_error("no memory for a node's card");
    } else {
        status = decode_cards(frame, bootstrap->n_nodes, roster, card);
    }
    free(card);
    return status;
}

tm_status boot_launcher_exchange(struct bootstrap *bootstrap,
                                 const struct node_card *card,
                                 const struct boot_roster *roster)
{
    struct boot_frame frame;
    tm_status status;

    status = send_card(bootstrap->fd, card);
    if (status != TM_OK) {
        return status;
    }
    status = wait_for(bootstrap->fd, BOOT_CARDS, &frame);
    if (status != TM_OK) {
        return status;
    }
    status = take_cards(bootstrap, &frame, roster);
    explicit_bzero(frame.body, frame.size); // the key
    free(frame.body);
    return status;
}

tm_status boot_launcher_ready(struct bootstrap *bootstrap)
{
    uint8_t header[BOOT_HEADER];
    struct boot_frame frame;
    tm_status status;

    boot_header(header, BOOT_READY, 0);
    status = boot_send(bootstrap->fd, header, sizeof header);
    if (status != TM_OK) {
        return status;
    }
    status = wait_for(bootstrap->fd, BOOT_GO, &frame);
    if (status == TM_OK) {
        free(frame.body);
    }
    return status;
}
