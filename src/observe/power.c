// SPDX-License-Identifier: BSD-3-Clause
//
// The power C of [Liu06]: how fast a processor of this node computes beside those
// of other nodes. One kernel everywhere, the same machine code since all nodes run
// the same library: a five-point stencil, as in half of the programs that people
// run, over 32 KB, so that neither memory nor other nodes on this machine count.
//
// Several short runs, the best counts. A run is timed by the processor time of this
// kernel thread: other processes may take the processor away without doing harm.
// What they do to its caches and to its frequency makes runs differ; the spread of
// the runs says how much.
//
// A slow processor gets fewer runs, never less than MIN_RUNS. The power says how
// nodes compare, not how fast a given program will be: that is measured with the
// program's own threads as soon as they run.
#include "observe/power.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "observe/median.h"

enum {
    ROWS = 32,
    COLUMNS = 64,
    N_SWEEPS = 256, ///< of a run: 0.14 ms at 14 Gflop/s
    MAX_RUNS = 11,
    MIN_RUNS = 3,
    ENOUGH_NS = 2000 * 1000,
};

/** Additions and multiplications of a run. */
#define RUN_FLOPS (4.0 * N_SWEEPS * (ROWS - 2) * (COLUMNS - 2))

struct field {
    double at[ROWS][COLUMNS];
};

static void sweep(struct field *restrict to, const struct field *restrict from)
{
    for (int i = 1; i < ROWS - 1; i++) {
        for (int j = 1; j < COLUMNS - 1; j++) {
            to->at[i][j] = 0.25 * (from->at[i - 1][j] + from->at[i + 1][j] +
                                   from->at[i][j - 1] + from->at[i][j + 1]);
        }
    }
}

// @param fields  [2]
static uint64_t run(struct field *fields)
{
    uint64_t begun_ns = clock_thread_cpu_ns();

    for (int i = 0; i < N_SWEEPS; i += 2) {
        sweep(&fields[1], &fields[0]);
        sweep(&fields[0], &fields[1]);
    }
    return clock_thread_cpu_ns() - begun_ns;
}

// No zeros, no numbers so small that they are slow.
static void fill(struct field *field)
{
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            field->at[i][j] = 1 + (i * 7 + j * 3) % 11;
        }
    }
}

tm_status power_measure(struct power *power)
{
    struct field *fields = aligned_alloc(TM_PAGE_SIZE, 2 * sizeof *fields);
    uint64_t times_ns[MAX_RUNS];
    uint64_t all_ns = 0;
    unsigned n = 0;
    struct quartiles quartiles;

    if (fields == NULL) {
        log_error("no memory for measuring the processor");
        return TM_ENOMEM;
    }
    fill(&fields[0]);
    fill(&fields[1]);
    while (n < MAX_RUNS && (n < MIN_RUNS || all_ns < ENOUGH_NS)) {
        times_ns[n] = run(fields);
        all_ns += times_ns[n++];
    }
    free(fields);
    quartiles = quartiles_of(times_ns, n);
    if (times_ns[0] == 0) {
        times_ns[0] = 1; // a clock that stands
    }
    *power = (struct power){
        .mflops = RUN_FLOPS * 1e3 / (double)times_ns[0],
        .spread = (double)quartiles.median / (double)times_ns[0] - 1,
        .n_runs = n,
        .cpu_ns = all_ns,
    };
    return TM_OK;
}
