// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_ALLOCATION_H
#define CLI_ALLOCATION_H

#include <stddef.h>

#include "hostfile.h"

/** Are we in an allocation of Slurm, as salloc and sbatch make it, and alone there?
 * Reads variables only. */
int allocation_is_there(void);

/** Its hosts, as SLURM_JOB_NODELIST and SLURM_TASKS_PER_NODE have them.
 * @param[out] hosts  one for each node of the run; otherwise as hosts_parse() */
TM_CHECKED tm_status allocation_read(struct hosts *hosts, char *error,
                                     size_t size);

/**
 * Write Slurm's lists as one for hosts_parse_list():
 *
 *     n[01-03,7],login and 2(x3),1,4    n01:2,n02:2,n03:2,n7:1,login:4
 *
 * @param nodes      names, of which each may have one range in brackets at its end
 *                   or several anywhere
 * @param tasks      nodes of the run on each; NULL: one on each
 * @param[out] list  [size]
 * @return TM_OK, TM_ECONFIG (malformed, or it does not fit)
 */
TM_CHECKED tm_status allocation_expand(const char *nodes, const char *tasks,
                                       char *list, size_t size);

#endif
