// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_QUESTION_H
#define CLI_QUESTION_H

#include "base/thread_counts.h"
#include "hostfile.h"
#include "planner/scenario.h"

/* What `teamster plan` and `teamster simulate` are asked alike. Errors begin with `command`. */

/** An option or a word that is not allowed. @return EXIT_USAGE */
int question_refuse(const char *command, const char *what, const char *value,
                    const char *hint);

/** --counts. @return 0 or EXIT_USAGE, which has been told */
int question_take_counts(const char *command, const char *text,
                         struct thread_counts *counts);

/** The one word behind the options. @return 0 or EXIT_USAGE, which has been told */
int question_take_profile(const char *command, int argc, char **argv,
                          const char **profile);

/** There is no such policy. @param besides  what is allowed, too. @return EXIT_USAGE */
int question_refuse_policy(const char *command, const char *name,
                           const char *besides);

/** Does the mapping by hand fit the cluster and the threads? */
int question_counts_fit(const struct thread_counts *counts,
                        const struct cluster_view *view);

/** @return 0, or EXIT_USAGE if there is a mapping by hand that does not fit; told */
int question_check_counts(const char *command,
                          const struct thread_counts *counts,
                          const struct cluster_view *view);

/** Of a question; a run has at most TM_MAX_NODES. */
#define PLAN_NODES_MOST 65536u

/**
 * Have a scenario's nodes be those of a hostfile.
 *
 * @param n_most      nodes that it may have
 * @param[out] hosts  what the file says, in the order of the nodes, to be released with
 *                    hosts_release(); set on success; NULL: is not wanted
 * @param[out] error  [size] one line, set on failure
 * @return TM_OK, TM_ECONFIG, TM_ENOMEM
 */
TM_CHECKED tm_status question_use_cluster(const char *path, unsigned n_most,
                                          struct hosts *hosts,
                                          struct scenario *scenario,
                                          char *error, size_t size);

#endif
