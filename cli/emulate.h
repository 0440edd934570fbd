// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_EMULATE_H
#define CLI_EMULATE_H

#include "hostfile.h"

/**
 * Set each host's share of a processor, so that all of them on one machine are
 * to each other as their speeds are; and its workers, if the file does not say.
 *
 * The fastest gets a whole processor for each worker. Then all are slowed by a
 * common factor until together they use at most 0.4 of the machine, so that they
 * do not disturb each other. Without speeds no host is slowed.
 *
 *     share_i = s_i / s_max * min(1, 0.4 P / sum (s_j / s_max) W_j)
 *
 * @param hosts         share is set, and workers where it was 0
 * @param n_processors  P, at least 1
 * @param[out] error    [size] one line; set on failure
 * @return TM_OK
 * @return TM_ECONFIG  a node would be too slow to emulate
 */
TM_CHECKED tm_status emulate_speeds(struct hosts *hosts, unsigned n_processors,
                                    char *error, size_t size);

#endif
