// SPDX-License-Identifier: BSD-3-Clause
// What Teamster finds on this machine. Everything is tried, not guessed from
// versions: a container may forbid what its kernel can do.
#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options.h"
#include "cluster/bootstrap.h"
#include "cluster/pmix.h"
#include "command.h"
#include "info_node.h"
#include "os/fault.h"

void info_print_help(void)
{
    puts("Usage: teamster info [--node]\n"
         "\n"
         "Show the version, how accesses to shared memory are caught here, "
         "what\n"
         "carries messages, and the limits that a run may meet. Run as the\n"
         "program of \"teamster run\", each node shows what it was given.\n"
         "\n"
         "      --node  measure instead what this machine has to offer as a "
         "node:\n"
         "              its power and memory, and what pages and messages "
         "cost\n"
         "  -h, --help  print this");
}

void info_row(const char *name, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    printf("%-22s", name);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

static const struct fault_source *const sources[] = {&fault_userfaultfd,
                                                     &fault_mprotect};

#define N_SOURCES (sizeof sources / sizeof sources[0])

const char *info_fault_source(const struct options *options)
{
    char reason[256];

    for (unsigned i = 0; i < N_SOURCES; i++) {
        if ((strcmp(options->fault_source, "auto") == 0 ||
             strcmp(options->fault_source, sources[i]->name) == 0) &&
            sources[i]->is_available(reason, sizeof reason)) {
            return sources[i]->name;
        }
    }
    return NULL;
}

static void print_fault_sources(const struct options *options)
{
    const char *chosen = info_fault_source(options);

    info_row("fault source", "%s (asked for: %s)",
             chosen != NULL ? chosen : "none", options->fault_source);
    for (unsigned i = 0; i < N_SOURCES; i++) {
        char name[32];
        char reason[256];
        int works = sources[i]->is_available(reason, sizeof reason);

        snprintf(name, sizeof name, "  %s", sources[i]->name);
        info_row(name, "%s%s",
                 works ? "available" : "not available: ", works ? "" : reason);
    }
}

static void print_transport(void)
{
    void *ucx = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
    const char *(*version)(void) = NULL;

    if (ucx == NULL) {
        info_row("transport", "none: UCX cannot be loaded: %s", dlerror());
        return;
    }
    *(void **)&version = dlsym(ucx, "ucp_get_version_string");
    info_row("transport", "UCX %s", version != NULL ? version() : "(unknown)");
}

static void print_pmix(void)
{
    char why[256];
    const char *version = pmix_version(why, sizeof why);

    if (version == NULL) {
        info_row("mpirun, srun", "no: %s", why);
    } else {
        info_row("mpirun, srun", "by %.*s", (int)strcspn(version, "("),
                 version);
    }
}

static void print_system(void)
{
    struct utsname name;
    cpu_set_t cpus;

    uname(&name);
    info_row("kernel", "%s %s %s", name.sysname, name.release, name.machine);
    info_row("C library", "glibc %s", gnu_get_libc_version());
    info_row("page size", "%ld", sysconf(_SC_PAGESIZE));
    CPU_ZERO(&cpus);
    sched_getaffinity(0, sizeof cpus, &cpus);
    info_row("processors", "%d of %ld may be used", CPU_COUNT(&cpus),
             sysconf(_SC_NPROCESSORS_CONF));
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
        info_row("speed", "%g, declared%s", options->speed, share);
    } else {
        info_row("speed", "not declared%s", share);
    }
}

void info_bound_row(const char *name, const struct memory_bound *bound)
{
    char by[800];

    memory_bound_describe(bound, by, sizeof by);
    info_row(name, "%" PRIu64 " MiB, by %s", bound->bytes >> 20, by);
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
    if (options->memory != 0) {
        info_row("memory", "%" PRIu64 " MiB, by --memory",
                 options->memory >> 20);
    } else {
        info_bound_row("memory", &state.total);
    }
    info_bound_row("  available", &state.available);
    info_row("  swap", "%" PRIu64 " MiB, %" PRIu64 " MiB of it free",
             state.swap_total >> 20, state.swap_free >> 20);
}

int info_has_real_time(void)
{
    struct sched_param param = {.sched_priority = 1};

    if (sched_setscheduler(0, SCHED_RR, &param) != 0) {
        return 0;
    }
    param.sched_priority = 0;
    sched_setscheduler(0, SCHED_OTHER, &param);
    return 1;
}

static void print_real_time(void)
{
    if (info_has_real_time()) {
        info_row("real-time priority", "yes");
    } else {
        info_row("real-time priority",
                 "no (%s): messages may wait some "
                 "milliseconds for a busy processor; see ulimit -r",
                 strerror(errno));
    }
}

static void print_randomisation(void)
{
    int before = personality(0xffffffff);

    if (before < 0 ||
        personality((unsigned long)before | ADDR_NO_RANDOMIZE) < 0) {
        info_row("fixed addresses",
                 "no: address randomisation cannot be "
                 "turned off here (%s)",
                 strerror(errno));
        return;
    }
    personality((unsigned long)before);
    info_row("fixed addresses", "yes");
}

static void print_resource(const char *name, int resource, unsigned unit)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) != 0) {
        info_row(name, "unknown: %s", strerror(errno));
    } else if (limit.rlim_cur == RLIM_INFINITY) {
        info_row(name, "unlimited");
    } else {
        info_row(name, "%" PRIu64, (uint64_t)limit.rlim_cur / unit);
    }
}

static void print_limits(void)
{
    FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
    unsigned long count = 0;

    if (file != NULL && fscanf(file, "%lu", &count) == 1) {
        info_row("vm.max_map_count", "%lu", count);
    } else {
        info_row("vm.max_map_count", "unknown");
    }
    if (file != NULL) {
        fclose(file);
    }
    print_resource("processes (ulimit -u)", RLIMIT_NPROC, 1);
    print_resource("files (ulimit -n)", RLIMIT_NOFILE, 1);
    print_resource("stack KiB (-s)", RLIMIT_STACK, 1024);
    print_resource("core file KiB (-c)", RLIMIT_CORE, 1024);
}

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
    info_row("Teamster", "%s", card.version);
    print_fault_sources(options);
    print_transport();
    print_pmix();
    print_system();
    print_speed(options);
    print_memory(options);
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
        info_print_node(&options);
    } else {
        print_machine(&options);
    }
    return 0;
}
