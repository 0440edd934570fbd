// SPDX-License-Identifier: BSD-3-Clause
#ifndef OBSERVE_SWAP_COST_H
#define OBSERVE_SWAP_COST_H

#include <stdatomic.h>
#include <stddef.h>

#include "cluster/node_capacity.h"
#include "observe/median.h"

/** What it costs to swap a page here. */
struct swap_cost {
    enum swap_kind kind;
    struct quartiles out_ns; ///< a page that is written, of a transfer of many
    struct quartiles in_ns;  ///< a page that is read, of a transfer of many
    unsigned n_out;          ///< how often each was measured
    unsigned n_in;
};

/** The folder where swap files live.
 * @param option  of --swap-dir: a path, or "auto", which is TMPDIR, or /tmp if
 *                that is not set */
const char *swap_folder(const char *option);

/**
 * Measure what it costs to write and to read many pages together at random places of a
 * swap file in a folder: a few of each, fewer if that takes long.
 *
 * @param rate         of the swap file: struct swap_settings
 * @param stop         may become 1 meanwhile: then it ends after the page at hand
 * @param[out] cost    set on TM_OK
 * @param[out] reason  [size] on failure: why, not logged
 * @return TM_OK
 * @return TM_ENOMEM, TM_ESYSTEM  nothing is measured
 *
 * Context: any kernel thread that may block for a device.
 */
TM_CHECKED tm_status swap_cost_measure(const char *folder, uint64_t rate,
                                       const _Atomic int *stop,
                                       struct swap_cost *cost, char *reason,
                                       size_t size);

#endif
