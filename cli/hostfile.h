// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_HOSTFILE_H
#define CLI_HOSTFILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

/** Work of others from a time on: so much of each processor is left. */
struct host_load {
    double from_s;
    double share;
};

enum { HOST_LOADS_MAX = 16 };

/** What only `teamster simulate` asks of a node. What is not said is negative. */
struct host_lab {
    double net_bytes_per_s;
    double net_us;
    double disk_bytes_per_s;
    double disk_ms;
    struct host_load loads[HOST_LOADS_MAX]; ///< [n_loads]
    unsigned n_loads;
};

/** One node of a hostfile. What the file does not say is 0. */
struct host {
    char name[256];
    unsigned line;    ///< of the file, from 1
    unsigned slots;   ///< processors that may be used
    unsigned workers; ///< kernel threads that run threads; slots, if not said
    double speed;     ///< beside others, in any unit
    uint64_t memory;  ///< bytes
    double share;     ///< of a processor for each worker: emulate.h
    char label[64];   ///< what its node is called; "": just its number
    char address[64]; ///< of its network card that leads to the others; "": the
                      ///< one that ssh reaches it by
    struct host_lab lab;
};

struct hosts {
    struct host *all; ///< [n]
    unsigned n;
    unsigned n_room;
};

/**
 * Read a hostfile: one node a line, the format of mpirun's with more keys.
 *
 *     NAME [slots=N] [workers=W] [speed=S] [memory=SIZE] [addr=IP]   # comment
 *
 * with, for `teamster simulate` only, [net-rate=SIZE] [net-us=T] [disk-rate=SIZE]
 * [disk-ms=T] [load=FROM:SHARE,...]
 *
 * or a nodelist of Charm++ (nodelist.h).
 *
 * @param path        for messages
 * @param n_most      nodes that it may have: TM_MAX_NODES for a run
 * @param[out] hosts  to be released with hosts_release(); set on success only
 * @param[out] error  [size] one line with path and line, set on failure
 * @return TM_OK, TM_ECONFIG, TM_ENOMEM
 */
TM_CHECKED tm_status hosts_parse(FILE *file, const char *path, unsigned n_most,
                                 struct hosts *hosts, char *error, size_t size);

/** The same of a file by its name. */
TM_CHECKED tm_status hosts_read(const char *path, unsigned n_most,
                                struct hosts *hosts, char *error, size_t size);

/** Read a list of hosts as it is given to --hosts: NAME[:NODES],NAME[:NODES]...
 * @param option      for messages
 * @param[out] hosts  one for each node; otherwise as hosts_parse() */
TM_CHECKED tm_status hosts_parse_list(const char *list, const char *option,
                                      struct hosts *hosts, char *error,
                                      size_t size);

void hosts_release(struct hosts *hosts);

/** Nodes are called what the hosts' names are, if these all differ: label. */
void hosts_label(struct hosts *hosts);

/** Is this a name of the machine we are on? */
int host_is_local(const char *name);

/** Put what is said of a node into the environment, where it reads its options.
 * What is not said stays as it is. */
void host_export(const struct host *host);

#endif
