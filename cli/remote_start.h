// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_REMOTE_START_H
#define CLI_REMOTE_START_H

#include "buffer.h"
#include "hostfile.h"

/*
 * What the launcher and the agent on another host tell each other before nodes run.
 */

/** One node of that host. */
struct remote_node_start {
    unsigned node; ///< its number in the run
    struct host host;
};

/** The body of MUX_START. */
struct remote_start {
    unsigned n_nodes;  ///< of the run
    unsigned n_before; ///< on that host already
    unsigned
        joins; ///< the roster epoch that they will be in; 0: from the start
    const char *folder;  ///< where the nodes are to run
    const char *address; ///< addr= of the host; "": the one ssh has reached
    char **argv;         ///< program and arguments, NULL at the end
    char **variables;    ///< NAME=VALUE, NULL at the end
    unsigned n_here;     ///< nodes of that host
    struct remote_node_start *nodes; ///< [n_here]
};

/** Append it to a buffer. */
void remote_start_put(const struct remote_start *start, struct buffer *body);

/** Take it apart; accepts any bytes.
 * @param bytes       must outlive the result, which points into it
 * @param[out] start  to be released with remote_start_release(), set on success
 * @return TM_OK, TM_EWIRE, TM_ENOMEM */
TM_CHECKED tm_status remote_start_get(const void *bytes, size_t size,
                                      struct remote_start *start);
void remote_start_release(struct remote_start *start);

/** Find the network card that has an address.
 * @param[out] device  [size]  its name
 * @return 1, 0 if there is none */
int find_device(const char *address, char *device, size_t size);

/** Find the address of this host by which it reaches another one.
 * @param other         an address, in numbers
 * @param[out] address  [size]  "": there is none */
void find_own_address(const char *other, char *address, size_t size);

#endif
