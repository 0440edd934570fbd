// SPDX-License-Identifier: BSD-3-Clause
// What Teamster finds on this machine. Everything is tried, not guessed from
// versions: a container may forbid what its kernel can do.
#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "allocation.h"
#include "base/log.h"
#include "base/options.h"
#include "cluster/bootstrap.h"
#include "cluster/pmix.h"
#include "command.h"
#include "neighbour.h"
#include "observe/power.h"
#include "observe/swap_cost.h"
#include "os/compression.h"
#include "os/fault_source.h"
#include "os/image.h"
#include "os/kthread.h"
#include "os/memory_watch.h"
#include "os/processor.h"
#include "os/swap_file.h"
#include "os/text_file.h"
#include "web.h"

void info_print_help(void)
{
    puts("Usage: teamster info [--node]\n"
         "\n"
         "Show the version, how accesses to shared memory are caught here, "
         "what\n"
         "carries messages, which optional parts are there (libsodium, zstd, "
         "PMIx, Slurm,\n"
         "io_uring, the live page), and the limits that a run may meet. Run as "
         "the\n"
         "program of \"teamster run\", each node shows what it was given.\n"
         "\n"
         "      --node  measure instead what this machine has to offer as a "
         "node:\n"
         "              its power and memory, and what pages and messages "
         "cost\n"
         "  -h, --help  print this");
}

__attribute__((format(printf, 2, 3))) static void print_row(const char *name,
                                                            const char *format,
                                                            ...)
{
    va_list arguments;

    va_start(arguments, format);
    printf("%-22s", name);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

/** The one that a run would use, or what is said if there is none. */
static const char *fault_source(const struct options *options, const char *none)
{
    char reason[256];
    const struct fault_source *source =
        fault_source_choose(options->fault_source, reason, sizeof reason);

    return source != NULL ? source->name : none;
}

static void print_fault_sources(const struct options *options)
{
    print_row("fault source", "%s (asked for: %s)",
              fault_source(options, "none"), options->fault_source);
    for (unsigned i = 0; fault_sources[i] != NULL; i++) {
        char name[32];
        char reason[256];
        int works = fault_sources[i]->is_available(reason, sizeof reason);

        snprintf(name, sizeof name, "  %s", fault_sources[i]->name);
        print_row(name, "%s%s",
                  works ? "available" : "not available: ", works ? "" : reason);
    }
}

static void print_transport(void)
{
    void *ucx = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
    const char *(*version)(void) = NULL;

    if (ucx == NULL) {
        print_row("transport", "none: UCX cannot be loaded: %s", dlerror());
        return;
    }
    *(void **)&version = dlsym(ucx, "ucp_get_version_string");
    print_row("transport", "UCX %s", version != NULL ? version() : "(unknown)");
}

static void print_pmix(void)
{
    char why[256];
    const char *version = pmix_version(why, sizeof why);

    if (version == NULL) {
        print_row("mpirun, srun", "no: %s", why);
    } else {
        print_row("mpirun, srun", "by %.*s", (int)strcspn(version, "("),
                  version);
    }
}

/** What encrypts between hosts. */
static void print_encryption(void)
{
    void *sodium = dlopen("libsodium.so.23", RTLD_NOW | RTLD_LOCAL);
    const char *(*version)(void) = NULL;

    if (sodium == NULL) {
        print_row("encryption", "none, which runs on several hosts need: %s",
                  dlerror());
        return;
    }
    *(void **)&version = dlsym(sodium, "sodium_version_string");
    print_row("encryption", "libsodium %s",
              version != NULL ? version() : "(unknown)");
}

/** What makes checkpoints smaller. */
static void print_compression(void)
{
    char why[256];
    const char *version = compression_version(why, sizeof why);

    if (version == NULL) {
        print_row("compression", "none, of checkpoints: %s", why);
    } else {
        print_row("compression", "zstd %s", version);
    }
}

static void print_live_page(void)
{
    if (web_lacks() != NULL) {
        print_row("live page", "no: %s", web_lacks());
    } else {
        print_row("live page", "yes: libmicrohttpd %s%s", web_version(),
                  web_has_charts() ? ", with uPlot" : ", without charts");
    }
}

static void print_uring(void)
{
    const int error = swap_uring_error();

    if (error == 0) {
        print_row("io_uring", "yes");
    } else {
        print_row("io_uring", "no (%s): threads do transfers to swap files",
                  strerror(error));
    }
}

/** Is a program in one of the folders of PATH? */
static int is_in_path(const char *program)
{
    const char *at = getenv("PATH");

    while (at != NULL && *at != '\0') {
        const int length = (int)strcspn(at, ":");
        char path[1024];

        if ((size_t)snprintf(path, sizeof path, "%.*s/%s", length, at,
                             program) < sizeof path &&
            access(path, X_OK) == 0) {
            return 1;
        }
        at += length + (at[length] == ':');
    }
    return 0;
}

static void print_slurm(void)
{
    if (!is_in_path("srun")) {
        print_row("Slurm", "no: srun is not in PATH");
        return;
    }
    print_row("Slurm", "yes: srun is in PATH%s",
              allocation_is_there() ? "; this is an allocation" : "");
}

static void print_processors(long n_all)
{
    print_row("processors", "%u of %ld may be used", processor_count(), n_all);
}

static void print_system(void)
{
    struct utsname name;

    uname(&name);
    print_row("kernel", "%s %s %s", name.sysname, name.release, name.machine);
    print_row("C library", "glibc %s", gnu_get_libc_version());
    print_row("page size", "%ld", sysconf(_SC_PAGESIZE));
    print_processors(sysconf(_SC_NPROCESSORS_CONF));
}

/** What a hostfile or the user has said of the node that this runs as. */
static void print_speed(const struct options *options)
{
    char share[48] = "";

    if (options->share < 1) {
        snprintf(share, sizeof share, "; %.4f of a processor, emulated",
                 options->share);
    }
    if (options->speed != 0) {
        print_row("speed", "%g, declared%s", options->speed, share);
    } else {
        print_row("speed", "not declared%s", share);
    }
}

static void print_bound(const char *name, const struct memory_bound *bound)
{
    char by[800];

    memory_bound_describe(bound, by, sizeof by);
    print_row(name, "%" PRIu64 " MiB, by %s", bound->bytes >> 20, by);
}

static void print_declared(const char *name, const struct options *options)
{
    print_row(name, "%" PRIu64 " MiB, by --memory", options->memory >> 20);
}

/** @param is_node  what is declared is told beside what there is, not instead */
static void print_memory(const struct options *options, int is_node)
{
    struct memory_watch watch;
    struct memory_state state;

    if (memory_open(&watch, "") != TM_OK) {
        print_row("memory", "unknown");
        return;
    }
    memory_read(&watch, &state);
    if (options->memory != 0 && !is_node) {
        print_declared("memory", options);
    } else {
        print_bound("memory", &state.total);
    }
    print_bound("  available", &state.available);
    if (options->memory != 0 && is_node) {
        print_declared("  declared", options);
    }
    print_row("  swap", "%" PRIu64 " MiB, %" PRIu64 " MiB of it free",
              state.swap_total >> 20, state.swap_free >> 20);
}

/** Is real-time priority permitted? Asks for it, and gives it back.
 * @return 0, or the error number */
static int real_time_error(void)
{
    int error = kthread_hurry(pthread_self());

    if (error == 0) {
        kthread_calm(pthread_self());
    }
    return error;
}

static void print_real_time(void)
{
    int error = real_time_error();

    if (error == 0) {
        print_row("real-time priority", "yes");
    } else {
        print_row("real-time priority",
                  "no (%s): messages may wait some "
                  "milliseconds for a busy processor; see ulimit -r",
                  strerror(error));
    }
}

static void print_randomisation(void)
{
    int error = image_fixing_error();

    if (error == 0) {
        print_row("fixed addresses", "yes");
    } else {
        print_row("fixed addresses",
                  "no: address randomisation cannot be "
                  "turned off here (%s)",
                  strerror(error));
    }
}

static void print_resource(const char *name, int resource, unsigned unit)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) != 0) {
        print_row(name, "unknown: %s", strerror(errno));
    } else if (limit.rlim_cur == RLIM_INFINITY) {
        print_row(name, "unlimited");
    } else {
        print_row(name, "%" PRIu64, (uint64_t)limit.rlim_cur / unit);
    }
}

static void print_limits(void)
{
    char count[32];

    text_file_read("/proc/sys/vm/max_map_count", count, sizeof count);
    count[strcspn(count, "\n")] = '\0';
    print_row("vm.max_map_count", "%s", count[0] != '\0' ? count : "unknown");
    print_resource("processes (ulimit -u)", RLIMIT_NPROC, 1);
    print_resource("files (ulimit -n)", RLIMIT_NOFILE, 1);
    print_resource("stack KiB (-s)", RLIMIT_STACK, 1024);
    print_resource("core file KiB (-c)", RLIMIT_CORE, 1024);
}

// ---- as a node: measured by the functions that a run measures with at its start ----

static void print_power(const struct options *options)
{
    struct power power;

    if (power_measure(&power) != TM_OK) {
        print_row("power", "not measured");
    } else {
        print_row("power",
                  "%.0f Mflop/s a processor, measured: best of %u runs, the "
                  "median is %.1f %% slower",
                  power.mflops, power.n_runs, power.spread * 100);
    }
    if (options->share < 1) {
        print_row("  emulated", "%.4f of a processor for a worker",
                  options->share);
    }
    if (options->speed != 0) {
        print_row("  declared", "speed %g; counts if all nodes declare one",
                  options->speed);
    }
}

static void print_workers(const struct options *options)
{
    if (options->workers > 0) {
        print_row("workers", "%u, by --workers", options->workers);
    } else {
        print_row("workers", "%ld divided by the nodes of a run, at least 1",
                  sysconf(_SC_NPROCESSORS_ONLN));
    }
}

static double us(uint64_t ns)
{
    return (double)ns * 1e-3;
}

static void print_transfer(const char *name, const struct quartiles *ns,
                           unsigned n)
{
    print_row(name, "%.1f us; half of %u took %.1f to %.1f us", us(ns->median),
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
        print_row("swap files", "none: %s", reason);
        return;
    }
    print_row("swap files", "in %s, %s", folder, ways[cost.kind]);
    print_transfer("  page out", &cost.out_ns, cost.n_out);
    print_transfer("  page in", &cost.in_ns, cost.n_in);
}

static void print_messages(void)
{
    struct node_costs costs;
    tm_status status = neighbour_measure(&costs);

    if (status != TM_OK) {
        print_row("page fetched", "not measured: %s", tm_strerror(status));
        return;
    }
    print_row("page fetched",
              "%.1f us, from another process of this machine; a run measures "
              "it between its nodes",
              us(costs.fetch_ns));
    print_row("packet",
              "%.2f us for %u bytes in a long message, latency %.1f us",
              us(costs.packet_ns), costs.packet_bytes, us(costs.latency_ns));
}

static void print_node(const struct options *options)
{
    char host[256] = "";

    gethostname(host, sizeof host - 1);
    print_row("node", "%s", host);
    print_power(options);
    print_processors(sysconf(_SC_NPROCESSORS_ONLN));
    print_workers(options);
    print_memory(options, 1);
    print_swapping(options);
    print_messages();
    print_row("service thread", "%s",
              real_time_error() == 0 ? "real-time priority"
                                     : "ordinary priority; see ulimit -r");
    print_row("fault source", "%s", fault_source(options, "none works here"));
}

// ---- the command ----

/** @param[out] is_node  --node was given
 * @return 0 to go on, 1 if help was printed, -1 on a wrong option */
static int parse(int argc, char **argv, int *is_node)
{
    static const struct option names[] = {{"help", no_argument, NULL, 'h'},
                                          {"node", no_argument, NULL, 'n'},
                                          {0}};
    static char name[] = "teamster info";
    int option;

    *is_node = 0;
    argv[0] = name;
    optind = 1;
    while ((option = getopt_long(argc, argv, "h", names, NULL)) != -1) {
        switch (option) {
        case 'n':
            *is_node = 1;
            break;
        case 'h':
            info_print_help();
            return 1;
        default:
            return -1;
        }
    }
    if (optind == argc) {
        return 0;
    }
    fprintf(stderr,
            "teamster info: '%s' is not expected; see \"teamster "
            "info --help\"\n",
            argv[optind]);
    return -1;
}

static void print_machine(const struct options *options)
{
    struct node_card card;

    node_card_set_version(&card);
    print_row("Teamster", "%s", card.version);
    print_fault_sources(options);
    print_transport();
    print_encryption();
    print_compression();
    print_pmix();
    print_slurm();
    print_uring();
    print_live_page();
    print_system();
    print_speed(options);
    print_memory(options, 0);
    print_real_time();
    print_randomisation();
    print_limits();
}

int command_info(int argc, char **argv)
{
    struct options options;
    char error[256];
    int is_node;
    int parsed = parse(argc, argv, &is_node);

    if (parsed != 0) {
        return parsed > 0 ? 0 : EXIT_USAGE;
    }
    if (options_read(&options, error, sizeof error) != TM_OK) {
        fprintf(stderr, "teamster info: %s\n", error);
        return EXIT_CONFIG;
    }
    if (is_node) {
        print_node(&options);
    } else {
        print_machine(&options);
    }
    return 0;
}
