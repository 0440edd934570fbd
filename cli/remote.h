// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_REMOTE_H
#define CLI_REMOTE_H

#include <sys/types.h>

#include "beat.h"
#include "buffer.h"
#include "mux.h"
#include "spawn.h"
#include "stored.h"

/** How long an agent may take to answer, of which ssh may connect for 5 s: the rest is for a
 * login that is slow, because the host is busy or its home folder far away. When it is said
 * that a host is waited for. And how long the agent may take to start its nodes. */
#define REMOTE_REACH_S 30
#define REMOTE_SLOW_S 8
#define REMOTE_START_S 20

/** A node of another host, as its agent tells of it. */
struct remote_node {
    unsigned node;            ///< its number in the run
    const struct host *given; ///< what the user says of it
    pid_t pid;                ///< there; 0: not started yet
    int error;                ///< why it could not be started
    char what[512];           ///< in doing what; "": no failure
    struct spawned ends;      ///< the run's ends of its channels
    int has_ended;            ///< with what waitid() says:
    int code;
    int status;
    char oom_kill[700]; ///< how the kernel has killed it for memory, or ""
};

/** Another host with nodes of the run. Each node that joins has one of its own, with an
 * agent, though there may be others of that name. */
struct remote_host {
    struct host
        *own; ///< with the name, if it is a guest's or stays; NULL: the plan's
    const char *name;
    const char *address; ///< addr=, or ""
    pid_t ssh;           ///< 0: there is none
    int words_fd;        ///< what ssh and the agent write to stderr; -1: closed
    struct buffer words;
    struct mux mux;
    struct beat_peer life;
    char launcher[64]; ///< this machine's address as that host sees it
    int has_hello;
    int is_suspect; ///< told so
    int is_lost;
    int is_over;          ///< BYE was sent: its end is no loss
    int is_clear;         ///< its nodes have ended, and it waits for others
    struct stored stored; ///< checkpoints in its memory
    char why[256];        ///< it could not be reached; "": it was
    unsigned n_nodes;
    unsigned n_room;
    struct remote_node *nodes; ///< [n_nodes]
};

struct remote;

/** Listen to an agent, and tell it that the launcher lives, from its greeting on.
 * @param is_due  it is time to tell that */
enum beat_state remote_listen(struct remote *remote, struct remote_host *host,
                              int is_due);

/** Tell all agents that the launcher lives, if it is time to: in what takes long. */
void remote_say_alive(struct remote *remote);

/** Take a frame that is about a node or a checkpoint, or a beat. */
void remote_take(struct remote_host *host, const struct mux_frame *frame);

struct remote {
    unsigned n; ///< 0: all nodes are on this machine
    unsigned n_room;
    struct remote_host *hosts;
    struct beat beat;
    char
        device[32]; ///< of this machine, that leads to them; "": not needed yet
    unsigned coming; ///< hosts[coming - 1] is to start a guest; 0: none
    int is_started;  ///< it has been told to
};

#endif
