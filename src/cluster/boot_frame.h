// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLUSTER_BOOT_FRAME_H
#define CLUSTER_BOOT_FRAME_H

#include "cluster/bootstrap.h"

/*
 * Frames on the control socket, as bootstrap.h has them. Used inside of cluster/
 * only. Both calls end when the launcher answers or is gone.
 */

struct boot_frame {
    enum boot_kind kind;
    uint8_t *body; ///< free() it
    size_t size;
};

/** Send bytes, as a whole. @return TM_OK, TM_EPEER (logged) */
TM_CHECKED tm_status boot_send(int fd, const uint8_t *bytes, size_t size);

/** Take one frame, and nothing behind it.
 * @return TM_OK, TM_EPEER, TM_EWIRE, TM_ENOMEM (logged) */
TM_CHECKED tm_status boot_receive(int fd, struct boot_frame *frame);

#endif
