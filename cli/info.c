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
#include "command.h"
#include "os/fault.h"
#include "os/memory.h"

void info_print_help(void)
{
    puts("Usage: teamster info\n"
         "\n"
         "Show the version, how accesses to shared memory are caught here, "
         "what\n"
         "carries messages, and the limits that a run may meet. Run as the\n"
         "program of \"teamster run\", each node shows what it was given.\n"
         "\n"
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

static void print_fault_sources(const struct options *options)
{
    static const struct fault_source *const sources[] = {&fault_userfaultfd,
                                                         &fault_mprotect};
    const char *chosen = NULL;
    char reason[2][256];
    int works[2];

    for (unsigned i = 0; i < 2; i++) {
        int is_asked = strcmp(options->fault_source, "auto") == 0 ||
                       strcmp(options->fault_source, sources[i]->name) == 0;

        works[i] = sources[i]->is_available(reason[i], sizeof reason[i]);
        if (works[i] && is_asked && chosen == NULL) {
            chosen = sources[i]->name;
        }
    }
    print_row("fault source", "%s (asked for: %s)",
              chosen != NULL ? chosen : "none", options->fault_source);
    for (unsigned i = 0; i < 2; i++) {
        char name[32];

        snprintf(name, sizeof name, "  %s", sources[i]->name);
        print_row(name, "%s%s", works[i] ? "available" : "not available: ",
                  works[i] ? "" : reason[i]);
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

static void print_system(void)
{
    struct utsname name;
    cpu_set_t cpus;

    uname(&name);
    print_row("kernel", "%s %s %s", name.sysname, name.release, name.machine);
    print_row("C library", "glibc %s", gnu_get_libc_version());
    print_row("page size", "%ld", sysconf(_SC_PAGESIZE));
    CPU_ZERO(&cpus);
    sched_getaffinity(0, sizeof cpus, &cpus);
    print_row("processors", "%d of %ld may be used", CPU_COUNT(&cpus),
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

static void print_memory(const struct options *options)
{
    struct memory_watch watch;
    struct memory_state state;

    if (memory_open(&watch, "") != TM_OK) {
        print_row("memory", "unknown");
        return;
    }
    memory_read(&watch, &state);
    if (options->memory != 0) {
        print_row("memory", "%" PRIu64 " MiB, by --memory",
                  options->memory >> 20);
    } else {
        print_bound("memory", &state.total);
    }
    print_bound("  available", &state.available);
    print_row("  swap", "%" PRIu64 " MiB, %" PRIu64 " MiB of it free",
              state.swap_total >> 20, state.swap_free >> 20);
}

/** Ask for real-time priority, and give it back. */
static void print_real_time(void)
{
    struct sched_param param = {.sched_priority = 1};

    if (sched_setscheduler(0, SCHED_RR, &param) != 0) {
        print_row("real-time priority",
                  "no (%s): messages may wait some "
                  "milliseconds for a busy processor; see ulimit -r",
                  strerror(errno));
        return;
    }
    param.sched_priority = 0;
    sched_setscheduler(0, SCHED_OTHER, &param);
    print_row("real-time priority", "yes");
}

static void print_randomisation(void)
{
    int before = personality(0xffffffff);

    if (before < 0 ||
        personality((unsigned long)before | ADDR_NO_RANDOMIZE) < 0) {
        print_row("fixed addresses",
                  "no: address randomisation cannot be "
                  "turned off here (%s)",
                  strerror(errno));
        return;
    }
    personality((unsigned long)before);
    print_row("fixed addresses", "yes");
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
    FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
    unsigned long count = 0;

    if (file != NULL && fscanf(file, "%lu", &count) == 1) {
        print_row("vm.max_map_count", "%lu", count);
    } else {
        print_row("vm.max_map_count", "unknown");
    }
    if (file != NULL) {
        fclose(file);
    }
    print_resource("processes (ulimit -u)", RLIMIT_NPROC, 1);
    print_resource("files (ulimit -n)", RLIMIT_NOFILE, 1);
    print_resource("stack KiB (-s)", RLIMIT_STACK, 1024);
    print_resource("core file KiB (-c)", RLIMIT_CORE, 1024);
}

/** @return 0 to go on, 1 if help was printed, -1 on a wrong option */
static int parse(int argc, char **argv)
{
    static const struct option names[] = {{"help", no_argument, NULL, 'h'},
                                          {0}};
    static char name[] = "teamster info";

    argv[0] = name;
    optind = 1;
    switch (getopt_long(argc, argv, "h", names, NULL)) {
    case -1:
        if (optind == argc) {
            return 0;
        }
        fprintf(stderr,
                "teamster info: '%s' is not expected; see \"teamster "
                "info --help\"\n",
                argv[optind]);
        return -1;
    case 'h':
        info_print_help();
        return 1;
    default:
        return -1;
    }
}

int command_info(int argc, char **argv)
{
    struct options options;
    struct node_card card;
    char error[256];
    int parsed = parse(argc, argv);

    if (parsed != 0) {
        return parsed > 0 ? 0 : EXIT_USAGE;
    }
    if (options_read(&options, error, sizeof error) != TM_OK) {
        fprintf(stderr, "teamster info: %s\n", error);
        return EXIT_CONFIG;
    }
    node_card_set_version(&card);
    print_row("Teamster", "%s", card.version);
    print_fault_sources(&options);
    print_transport();
    print_system();
    print_speed(&options);
    print_memory(&options);
    print_real_time();
    print_randomisation();
    print_limits();
    return 0;
}
