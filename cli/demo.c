// SPDX-License-Identifier: BSD-3-Clause
//
// teamster demo: a program (apps/plate.c, installed beside) on four nodes that are not
// alike, one of them short of memory, emulated on this machine; under three policies, one
// after the other. Shown while it runs, then the factor, and a picture.
//
// Each run is `teamster run`, as a user types it, in a process of its own: its output is
// what plate.c promises, and is read here. The times together stay below a minute: what
// one run takes longer, the next ones have less.
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"
#include "base/reading.h"
#include "command.h"
#include "demo.h"
#include "os/new_file.h"

#define RUN_S 14
#define ALL_S                                                                  \
    56.0 ///< for the runs; what is left of the minute is to start and end
#define START_S 2.5 ///< that a run takes besides
#define FEW 30 ///< iterations: policies have not had time, or times say little
#define PATIENCE_S 120          ///< of a run that does not come to its end
#define DISK "--swap-rate=256M" ///< the same on every machine

const struct demo_node demo_nodes[DEMO_N_NODES] = {
    {"n1", 500, 64, 0},
    {"n2", 400, 64, 0},
    {"n3", 400, 10, 1},
    {"n4", 300, 64, 0},
};

/** All of it. */
struct demo {
    double run_s;
    const char *picture;
    struct new_file file; ///< of the picture, until it is whole
    char program[1100];
    char hosts[1100]; ///< the hostfile
    uint64_t start_ns;
    struct demo_view view;
    struct demo_run runs[DEMO_N_RUNS];
};

/** A run that is under way. */
struct under_way {
    struct demo_run *run;
    pid_t pid;
    int out;
    FILE *complaints; ///< what it writes to stderr
    uint64_t told_ns; ///< when the nodes were told last
    char line[4096];
    size_t used;
};

static volatile sig_atomic_t is_interrupted;

static void note_interrupt(int signal)
{
    is_interrupted = signal;
}

void demo_print_help(void)
{
    puts("Usage: teamster demo [OPTION]...\n"
         "\n"
         "See it at work, in less than a minute: one program with 32 threads "
         "on four nodes\n"
         "of this machine that are made unequal, one of them short of memory. "
         "Three\n"
         "policies decide in turn which thread runs where: initial, as many on "
         "each node;\n"
         "cpu, in proportion to what processors do; cpu-mem, with memory in "
         "mind. Shown\n"
         "are threads and paging of each node while it runs, then how long an "
         "iteration\n"
         "takes under each, and a picture is drawn.\n"
         "\n"
         "  teamster demo\n"
         "\n"
         "  -o, --output=FILE  the picture, SVG [teamster-demo.svg]\n"
         "  -s, --seconds=S    of each policy, 2 to 600; more is a better look "
         "[14]\n"
         "  -h, --help         print this\n"
         "\n"
         "Exit codes: 0 it went well; 69 its program is not installed; 73 the "
         "picture cannot\n"
         "be written; 78 there is no place for files (TMPDIR); others: a run's "
         "own.");
}

double demo_run_ms(const struct demo_run *run)
{
    const unsigned n = (run->n + 2) / 3;
    const double *last = run->ms + run->n - n;
    double sorted[n + 1];

    for (unsigned i = 0; i < n; i++) {
        unsigned at = i;

        for (; at > 0 && sorted[at - 1] > last[i]; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = last[i];
    }
    return n > 0 ? sorted[n / 2] : 0;
}

// ---- the command line

static int refuse(const char *what, const char *value, const char *allowed)
{
    fprintf(stderr, "teamster demo: %s '%s'; %s\n", what, value, allowed);
    return EXIT_USAGE;
}

static int take_seconds(const char *text, double *seconds)
{
    if (parse_decimal(text, seconds) == TM_OK && *seconds >= 2 &&
        *seconds <= 600) {
        return 0;
    }
    return refuse("--seconds is", text, "allowed: 2 to 600");
}

/** @return 0 to go on, 1 if help was printed, -1 on a wrong option (told) */
static int parse(int argc, char **argv, struct demo *demo)
{
    static char name[] = "teamster demo";
    static const struct option names[] = {
        {"output", required_argument, NULL, 'o'},
        {"seconds", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {0}};
    int letter;

    argv[0] = name;
    optind = 1;
    while ((letter = getopt_long(argc, argv, "o:s:h", names, NULL)) != -1) {
        if (letter == 'h') {
            demo_print_help();
            return 1;
        }
        if (letter == 'o') {
            demo->picture = optarg;
        } else if (letter != 's' || take_seconds(optarg, &demo->run_s) != 0) {
            return -1;
        }
    }
    if (optind < argc) {
        refuse("what is", argv[optind], "see \"teamster demo --help\"");
        return -1;
    }
    return 0;
}

// ---- what has to be there before anything runs

/** The program lies beside the command, in the build's tree as where it is installed. */
static int find_program(struct demo *demo)
{
    char folder[512] = "";
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    char *slash = length > 0 ? strrchr(folder, '/') : NULL;

    if (slash != NULL) {
        *slash = '\0';
    }
    snprintf(demo->program, sizeof demo->program,
             "%s/../libexec/teamster/plate", folder);
    if (access(demo->program, X_OK) == 0) {
        return 0;
    }
    fprintf(stderr,
            "teamster demo: its program is not there: %s: %s; \"make install\" "
            "or the package teamster bring it\n",
            demo->program, strerror(errno));
    return EXIT_UNREACHABLE;
}

static int begin_picture(struct demo *demo)
{
    const char *why = new_file_begin(&demo->file, demo->picture);

    if (why == NULL) {
        return 0;
    }
    fprintf(stderr,
            "teamster demo: cannot write the picture %s: %s; --output=FILE "
            "writes it elsewhere\n",
            demo->picture, why);
    return EXIT_OUTPUT;
}

/** Also shows whether swap files will find a place. */
static int write_hosts(struct demo *demo)
{
    const char *folder = getenv("TMPDIR");
    FILE *file = NULL;
    int fd;

    if (folder == NULL || folder[0] == '\0') {
        folder = "/tmp";
    }
    snprintf(demo->hosts, sizeof demo->hosts, "%s/teamster-demo-XXXXXX",
             folder);
    fd = folder[0] == '/' ? mkostemp(demo->hosts, O_CLOEXEC) : -1;
    file = fd >= 0 ? fdopen(fd, "w") : NULL;
    for (unsigned i = 0; file != NULL && i < DEMO_N_NODES; i++) {
        fprintf(file, "%s speed=%u workers=1 memory=%uM\n", demo_nodes[i].name,
                demo_nodes[i].speed, demo_nodes[i].memory_mib);
    }
    if (file != NULL && fclose(file) == 0) {
        return 0;
    }
    fprintf(stderr,
            "teamster demo: cannot write files in %s: %s; TMPDIR=DIR names "
            "another folder\n",
            folder,
            folder[0] == '/' ? strerror(errno) : "it does not begin with /");
    demo->hosts[0] = '\0';
    return EXIT_CONFIG;
}

// ---- a run

/** Become `teamster run`. */
static _Noreturn void exec_run(const struct demo *demo,
                               const struct demo_run *run, int out, int err)
{
    char seconds[32];
    char policy[64];

    for (unsigned i = 0; i < n_option_rows; i++) {
        unsetenv(option_rows[i].variable);
    }
    // All begin alike: what speeds and memories are declared to be places no thread.
    setenv("TEAMSTER_FIRST_MAPPING", "equal", 1);
    snprintf(seconds, sizeof seconds, "%.1f", run->seconds);
    snprintf(policy, sizeof policy, "--policy=%s", run->policy);
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execl("/proc/self/exe", "teamster", "run", "--hostfile", demo->hosts,
          "--emulate", policy, DISK, demo->program, seconds, (char *)NULL);
    fprintf(stderr, "cannot run teamster: %s\n", strerror(errno));
    _exit(EXIT_INTERNAL);
}

/** @return 0, -1 (told) */
static int start_run(const struct demo *demo, struct under_way *way)
{
    int pipe_ends[2];

    way->complaints = tmpfile();
    if (way->complaints == NULL || pipe2(pipe_ends, O_CLOEXEC) != 0) {
        fprintf(stderr, "teamster demo: cannot start a run: %s\n",
                strerror(errno));
        return -1;
    }
    fflush(stdout);
    way->pid = fork();
    if (way->pid == 0) {
        exec_run(demo, way->run, pipe_ends[1], fileno(way->complaints));
    }
    close(pipe_ends[1]);
    way->out = pipe_ends[0];
    return way->pid > 0 ? 0 : -1;
}

static void take_iteration(struct demo_run *run, double ms)
{
    if (run->n == run->room) {
        const unsigned room = run->room == 0 ? 256 : 2 * run->room;
        double *at_s = realloc(run->at_s, room * sizeof *at_s);
        double *all_ms;

        if (at_s == NULL) {
            return;
        }
        run->at_s = at_s;
        all_ms = realloc(run->ms, room * sizeof *all_ms);
        if (all_ms == NULL) {
            return;
        }
        run->ms = all_ms;
        run->room = room;
    }
    run->at_s[run->n] = (run->n > 0 ? run->at_s[run->n - 1] : 0) + ms * 1e-3;
    run->ms[run->n++] = ms;
}

/** " T:P T:P ...", of all nodes. */
static void take_nodes(struct under_way *way, const char *text)
{
    struct demo_run *run = way->run;
    const uint64_t now_ns = clock_now_ns();
    const double passed_s = (double)(now_ns - way->told_ns) * 1e-9;

    for (unsigned i = 0; i < DEMO_N_NODES; i++) {
        unsigned threads;
        unsigned long long pages;
        int length = 0;

        if (sscanf(text, " %u:%llu%n", &threads, &pages, &length) != 2) {
            return;
        }
        if (way->told_ns != 0) {
            run->page_rate[i] = (double)(pages - run->page_ins[i]) / passed_s;
        }
        run->threads[i] = threads;
        run->page_ins[i] = pages;
        text += length;
    }
    way->told_ns = now_ns;
}

static void take_line(struct under_way *way, const char *line)
{
    struct demo_run *run = way->run;
    double ms;

    if (sscanf(line, "i %*u %lf", &ms) == 1) {
        take_iteration(run, ms);
    } else if (strncmp(line, "nodes", 5) == 0) {
        take_nodes(way, line + 5);
    } else {
        sscanf(line, "checksum %23s", run->checksum);
    }
}

/** @return 1, 0 at the end of what it writes */
static int take_output(struct under_way *way)
{
    const size_t room = sizeof way->line - 1 - way->used;
    ssize_t got = read(way->out, way->line + way->used, room);
    char *start = way->line;
    char *end;

    if (got <= 0) {
        return got < 0 && (errno == EINTR || errno == EAGAIN);
    }
    way->used += (size_t)got;
    way->line[way->used] = '\0';
    while ((end = strchr(start, '\n')) != NULL) {
        *end = '\0';
        take_line(way, start);
        start = end + 1;
    }
    way->used -= (size_t)(start - way->line);
    if (start == way->line && (size_t)got == room) {
        way->used = 0; // a line of nobody's
    }
    memmove(way->line, start, way->used);
    return 1;
}

/** Until it ends. @return what waitpid() says */
static int follow_run(struct demo *demo, struct under_way *way)
{
    const uint64_t late_ns =
        clock_now_ns() + (uint64_t)((way->run->seconds + PATIENCE_S) * 1e9);
    struct pollfd set = {.fd = way->out, .events = POLLIN};
    int is_told = 0;
    int status = 0;

    for (;;) {
        if (!is_told && (is_interrupted || clock_now_ns() > late_ns)) {
            kill(way->pid, SIGTERM); // it ends its nodes
            is_told = 1;
        }
        if (poll(&set, 1, 200) > 0 && !take_output(way)) {
            break;
        }
        demo_view_update(&demo->view, way->run);
    }
    close(way->out);
    while (waitpid(way->pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

/** A run has failed: pass on what it has said. */
static int tell_failure(const struct under_way *way, int status)
{
    char line[1024];
    const int exit_code = WIFEXITED(status)     ? WEXITSTATUS(status)
                          : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                                : EXIT_INTERNAL;

    if (is_interrupted) {
        return 128 + is_interrupted;
    }
    rewind(way->complaints);
    while (fgets(line, sizeof line, way->complaints) != NULL) {
        fputs(line, stderr);
    }
    fprintf(stderr, "teamster demo: the run with policy %s ended with %d\n",
            way->run->policy, exit_code);
    return exit_code != 0 ? exit_code : EXIT_INTERNAL;
}

/** How long it may take, beside those to come. */
static double seconds_for(const struct demo *demo, unsigned n_left)
{
    const double passed_s = (double)(clock_now_ns() - demo->start_ns) * 1e-9;
    const double share_s = (ALL_S - passed_s) / n_left - START_S;

    if (demo->run_s != RUN_S || share_s > demo->run_s) {
        return demo->run_s;
    }
    return share_s > 2 ? share_s : 2;
}

/** @return 0 or an exit code (told) */
static int do_run(struct demo *demo, unsigned i)
{
    struct under_way way = {.run = &demo->runs[i]};
    int exit_code = 0;
    int status;

    way.run->seconds = seconds_for(demo, DEMO_N_RUNS - i);
    if (start_run(demo, &way) != 0) {
        return EXIT_MEMORY;
    }
    status = follow_run(demo, &way);
    if (status != 0 || is_interrupted || way.run->n == 0) {
        exit_code = tell_failure(&way, status);
    } else {
        demo_view_end(&demo->view, way.run);
    }
    fclose(way.complaints);
    return exit_code;
}

// ---- what came out

static int compare_results(const struct demo *demo)
{
    for (unsigned i = 1; i < DEMO_N_RUNS; i++) {
        if (strcmp(demo->runs[i].checksum, demo->runs[0].checksum) != 0 ||
            demo->runs[0].checksum[0] == '\0') {
            fprintf(stderr,
                    "teamster demo: the results of %s and %s differ: '%s', "
                    "'%s'; please report it\n",
                    demo->runs[0].policy, demo->runs[i].policy,
                    demo->runs[0].checksum, demo->runs[i].checksum);
            return EXIT_INTERNAL;
        }
    }
    return 0;
}

static void tell_factor(const struct demo *demo)
{
    const double ms = demo_run_ms(&demo->runs[DEMO_N_RUNS - 1]);

    printf("\nIterations with %s are %.1f times as fast as with %s, and %.1f "
           "times as fast as with %s.\n",
           demo->runs[2].policy, demo_run_ms(&demo->runs[0]) / ms,
           demo->runs[0].policy, demo_run_ms(&demo->runs[1]) / ms,
           demo->runs[1].policy);
    printf("All three have computed the same bits.\n");
    if (demo->runs[0].n < FEW || demo->runs[2].n < FEW) {
        printf(
            "That was after %u and %u iterations, which are few: a machine "
            "that has other work, or a slow one; --seconds=60 gives a better "
            "look.\n",
            demo->runs[0].n, demo->runs[2].n);
    }
}

static int end_picture(struct demo *demo)
{
    const char *why;

    demo_picture_write(demo->file.file, demo->runs);
    why = new_file_end(&demo->file);
    demo->file.file = NULL;
    if (why == NULL) {
        printf("Picture: %s\n", demo->picture);
        return 0;
    }
    fprintf(stderr, "teamster demo: cannot write the picture %s: %s\n",
            demo->picture, why);
    return EXIT_OUTPUT;
}

static int do_all(struct demo *demo)
{
    int exit_code = 0;

    printf("Heat in a plate: %d threads on four nodes of this machine, made "
           "unequal.\n%s has %u MiB of memory, and an equal share of the data "
           "is 16.\n\n",
           DEMO_N_THREADS, demo_nodes[2].name, demo_nodes[2].memory_mib);
    for (unsigned i = 0; exit_code == 0 && i < DEMO_N_RUNS; i++) {
        exit_code = do_run(demo, i);
    }
    if (exit_code == 0) {
        exit_code = compare_results(demo);
    }
    if (exit_code == 0) {
        tell_factor(demo);
        exit_code = end_picture(demo);
    }
    return exit_code;
}

static void catch_interrupts(void)
{
    const struct sigaction action = {.sa_handler = note_interrupt};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

static void clean_up(struct demo *demo)
{
    if (demo->hosts[0] != '\0') {
        unlink(demo->hosts);
    }
    if (demo->file.file != NULL) {
        new_file_drop(&demo->file);
    }
    for (unsigned i = 0; i < DEMO_N_RUNS; i++) {
        free(demo->runs[i].at_s);
        free(demo->runs[i].ms);
    }
}

int command_demo(int argc, char **argv)
{
    static struct demo demo = {
        .run_s = RUN_S,
        .picture = "teamster-demo.svg",
        .runs = {{.policy = "initial", .about = "as many threads on each node"},
                 {.policy = "cpu", .about = "as processors can take them"},
                 {.policy = "cpu-mem",
                  .about = "as processors and memory can"}},
    };
    int parsed = parse(argc, argv, &demo);
    int exit_code;

    if (parsed != 0) {
        return parsed > 0 ? 0 : EXIT_USAGE;
    }
    exit_code = find_program(&demo);
    if (exit_code == 0) {
        exit_code = write_hosts(&demo);
    }
    if (exit_code == 0) {
        exit_code = begin_picture(&demo);
    }
    if (exit_code == 0) {
        catch_interrupts();
        demo.start_ns = clock_now_ns();
        demo_view_open(&demo.view);
        exit_code = do_all(&demo);
    }
    clean_up(&demo);
    return exit_code;
}
