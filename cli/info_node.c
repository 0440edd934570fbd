// SPDX-License-Identifier: BSD-3-Clause
// What this machine would offer as a node of a cluster: what a run measures at its
// start, measured by the same functions.
#include "info_node.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "neighbour.h"
#include "observe/power.h"
#include "observe/swap_cost.h"

static void print_power(const struct options *options)
{
    struct power power;

    if (power_measure(&power) != TM_OK) {
        info_row("power", "not measured");
    } else {
        info_row("power",
                 "%.0f Mflop/s a processor, measured: best of %u runs, the "
                 "median is %.1f %% slower",
                 power.mflops, power.n_runs, power.spread * 100);
    }
    if (options->share < 1) {
        info_row("  emulated", "%.4f of a processor for a worker",
                 options->share);
    }
    if (options->speed != 0) {
        info_row("  declared", "speed %g; counts if all nodes declare one",
                 options->speed);
    }
}

static void print_processors(const struct options *options)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    info_row("processors", "%d of %ld may be used", CPU_COUNT(&set),
             sysconf(_SC_NPROCESSORS_ONLN));
    if (options->workers > 0) {
        info_row("workers", "%u, by --workers", options->workers);
    } else {
        info_row("workers", "%ld divided by the nodes of a run, at least 1",
                 sysconf(_SC_NPROCESSORS_ONLN));
    }
}

static void print_memory(const struct options *options)
{
    struct memory_watch watch;
    struct memory_state state;

    if (memory_open(&watch, "") != TM_OK) {
        info_row("memory", "unknown");
        return;
    }
    memory_read(&watch, &state);
    info_bound_row("memory", &state.total);
    info_bound_row("  available", &state.available);
    if (options->memory > 0) {
        info_row("  declared", "%" PRIu64 " MiB, by --memory",
                 options->memory >> 20);
    }
    info_row("  swap", "%" PRIu64 " MiB, %" PRIu64 " MiB of it free",
             state.swap_total >> 20, state.swap_free >> 20);
}

static double us(uint64_t ns)
{
    return (double)ns * 1e-3;
}

static void print_transfer(const char *name, const struct quartiles *ns,
                           unsigned n)
{
    info_row(name, "%.1f us; half of %u took %.1f to %.1f us", us(ns->median),
             n, us(ns->low), us(ns->high));
}

static void print_swapping(const struct options *options)
{
    static const char *const ways[] = {
        [SWAP_UNKNOWN] = "",
        [SWAP_DIRECT] = "direct transfers",
        [SWAP_CACHED] = "direct transfers are refused: through the kernel's "
                        "cache",
        [SWAP_IN_MEMORY] = "which is in memory, no place for swap files",
    };
    static const _Atomic int stop;
    const char *folder = swap_folder(options->swap_dir);
    struct swap_cost cost;
    char reason[256];

    if (swap_cost_measure(folder, options->swap_rate, &stop, &cost, reason,
                          sizeof reason) != TM_OK) {
        info_row("swap files", "none: %s", reason);
        return;
    }
    info_row("swap files", "in %s, %s", folder, ways[cost.kind]);
    print_transfer("  page out", &cost.out_ns, cost.n_out);
    print_transfer("  page in", &cost.in_ns, cost.n_in);
}

static void print_messages(void)
{
    struct node_costs costs;
    tm_status status = neighbour_measure(&costs);

    if (status != TM_OK) {
        info_row("page fetched", "not measured: %s", tm_strerror(status));
        return;
    }
    info_row("page fetched",
             "%.1f us, from another process of this machine; a run measures "
             "it between its nodes",
             us(costs.fetch_ns));
    info_row("packet",
             "%.2f us for %u bytes in a long message, latency %.1f us",
             us(costs.packet_ns), costs.packet_bytes, us(costs.latency_ns));
}

void info_print_node(const struct options *options)
{
    char host[256] = "";
    const char *source = info_fault_source(options);

    gethostname(host, sizeof host - 1);
    info_row("node", "%s", host);
    print_power(options);
    print_processors(options);
    print_memory(options);
    print_swapping(options);
    print_messages();
    info_row("service thread", "%s",
             info_has_real_time() ? "real-time priority"
                                  : "ordinary priority; see ulimit -r");
    info_row("fault source", "%s", source != NULL ? source : "none works here");
}
