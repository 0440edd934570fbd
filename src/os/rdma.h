// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_RDMA_H
#define OS_RDMA_H

#include <stddef.h>

/**
 * The RDMA devices that a network card is, too, behind its own name and as UCX calls
 * them: "eth0", or "ib0,mlx5_0:1". Linux knows that of a card itself, not of a bond or a
 * VLAN upon it.
 *
 * @param[out] text  [size]  cut behind a whole name
 */
void rdma_devices_of(const char *card, char *text, size_t size);

/** The same with another folder than /sys/class/net: for tests. */
void rdma_devices_in(const char *folder, const char *card, char *text,
                     size_t size);

#endif
