// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLUSTER_SETTINGS_H
#define CLUSTER_SETTINGS_H

#include <stddef.h>

#include "base/status.h"

/*
 * The options of a run, TEAMSTER_* variables, where no launcher of ours gives all
 * nodes the same. mpirun gives other hosts none unless it is told to.
 *
 * Those that must be equal are node 0's on every node. Those that say what a single
 * node is like (workers, speed, memory, swap file and so on) are the node's own; where
 * it has none, node 0's.
 */

/** Room that any settings fit in. */
#define SETTINGS_MAX 8192u

/** Write the variables of this process. @param[out] bytes  [SETTINGS_MAX]
 * @return the bytes written
 * @return 0  they are longer (logged) */
size_t settings_encode(char *bytes);

/** Make the variables of this process those that node 0 wants it to have.
 * @param bytes  [size] from node 0's settings_encode()
 * @return TM_OK, TM_EWIRE */
TM_CHECKED tm_status settings_adopt(const char *bytes, size_t size);

#endif
