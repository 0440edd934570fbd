// SPDX-License-Identifier: BSD-3-Clause
// The command line of `teamster simulate`. What it asks is answered in simulate/.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/reading.h"
#include "base/thread_counts.h"
#include "command.h"
#include "command_options.h"
#include "planner/guess_script.h"
#include "planner/profile_read.h"
#include "question.h"
#include "simulate/simulate.h"
#include "simulate_report.h"

static const char command[] = "teamster simulate";

enum { ITERATIONS_MAX = 1000000 };

/** Of a link and a disk of which neither the profile nor the cluster file says enough. */
#define USUAL_BYTES_PER_S 1.25e9
#define NO_TIME_S 1e-9

/** What the command line asks for. */
struct question {
    const char *profile;
    const char *cluster;         ///< a hostfile; NULL: the profile's own
    const char *policy;          ///< NULL: the one that decided in the run
    const char *model;           ///< that it predicts by
    const char *protocol;        ///< NULL: the run's
    struct thread_counts counts; ///< a mapping by hand
    uint32_t n_iterations;
    uint64_t seed;
    double noise;
    int begins_equal;
    int is_json;
    int is_verbose;
    int wants_help;
};

// ---- help ----

void simulate_print_help(void)
{
    puts(
        "Usage: teamster simulate PROFILE [OPTION]...\n"
        "\n"
        "Run a program's profile again, in virtual time, in this one process: "
        "with the\n"
        "real protocols, barriers, pager and policies, on a cluster whose "
        "processors,\n"
        "links and disks are simulated. What comes out is the same for the "
        "same seed,\n"
        "on any machine, whatever else it does. PROFILE is a file that a run "
        "saved;\n"
        "\"-\" is standard input.\n"
        "\n"
        "  teamster run --hostfile F --save-profile=p.json ./jacobi\n"
        "  teamster simulate p.json                 the same cluster again\n"
        "  teamster simulate p.json --cluster=G     another cluster\n"
        "  teamster simulate p.json --policy=none   and if nobody moved?\n"
        "  teamster simulate p.json --seed=2         another draw of chance\n"
        "\n"
        "  -c, --cluster=FILE    a hostfile, one node a line: NAME "
        "[slots=N]\n"
        "                        [workers=W] [speed=S] [memory=SIZE], and "
        "besides\n"
        "                          net-rate=SIZE    bytes a second of its "
        "link\n"
        "                          net-us=T         a message's way, "
        "microseconds\n"
        "                          disk-rate=SIZE   bytes a second\n"
        "                          disk-ms=T        a seek, milliseconds\n"
        "                          load=FROM:SHARE,...   from these seconds on "
        "others\n"
        "                                           leave this share of its "
        "processors\n"
        "  -p, --policy=NAME     who decides which thread runs where; none: "
        "threads stay\n"
        "                        [the one that decided in the run]\n"
        "  -m, --model=NAME      what it predicts by: measured, lru, liu06 or "
        "cliff [measured]\n"
        "  -n, --counts=N,N,...  instead of a policy: so many threads for "
        "each node\n"
        "  -P, --protocol=NAME   of all memory [the run's]\n"
        "  -f, --first-mapping=HOW\n"
        "                        where threads start: known or equal [known]\n"
        "  -i, --iterations=N    how many, 1 to 1000000 [100]\n"
        "  -s, --seed=S          of what is left to chance [1]\n"
        "  -e, --noise=F         part by which times differ by chance, 0 to 1 "
        "[0.01]\n"
        "  -j, --json            for programs; all digits\n"
        "  -v, --verbose         a line for each iteration\n"
        "  -h, --help            print this\n"
        "\n"
        "What is real and what is a model, and how close it comes, is in "
        "docs/simulate.md.\n"
        "\n"
        "Exit codes: 64 a wrong option, 70 an internal error, 71 no memory, "
        "78 a wrong\n"
        "file.");
}

// ---- the command line ----

static int take_number(const char *name, const char *text, uint64_t low,
                       uint64_t high, uint64_t *value)
{
    struct reading reading = {.text = text};

    if (reading_number(&reading, low, high, value)) {
        return 0;
    }
    fprintf(stderr, "%s: %s is '%s'; allowed: %s\n", command, name, text,
            reading.allowed);
    return EXIT_USAGE;
}

static int take_iterations(const char *text, struct question *question)
{
    uint64_t n = 0;
    const int exit_code =
        take_number("--iterations", text, 1, ITERATIONS_MAX, &n);

    question->n_iterations = (uint32_t)n;
    return exit_code;
}

static int take_noise(const char *text, double *noise)
{
    if (parse_decimal(text, noise) != TM_OK || *noise < 0 || *noise > 1) {
        return question_refuse(command, "--noise is", text,
                               "; allowed: 0 to 1");
    }
    return 0;
}

static int take_first(const char *text, int *begins_equal)
{
    *begins_equal = strcmp(text, "equal") == 0;
    return *begins_equal || strcmp(text, "known") == 0
               ? 0
               : question_refuse(command, "--first-mapping is", text,
                                 "; allowed: known, equal");
}

// One that has a value.
static int take_value(int letter, struct question *question)
{
    switch (letter) {
    case 'c':
        question->cluster = optarg;
        return 0;
    case 'p':
        question->policy = optarg;
        return 0;
    case 'm':
        question->model = optarg;
        return 0;
    case 'P':
        question->protocol = optarg;
        return 0;
    case 'n':
        return question_take_counts(command, optarg, &question->counts);
    case 'f':
        return take_first(optarg, &question->begins_equal);
    case 'i':
        return take_iterations(optarg, question);
    case 's':
        return take_number("--seed", optarg, 0, UINT64_MAX, &question->seed);
    case 'e':
        return take_noise(optarg, &question->noise);
    default:
        return OPTION_UNKNOWN;
    }
}

static int take_option(void *owner, int letter)
{
    struct question *question = owner;

    switch (letter) {
    case 'j':
        question->is_json = 1;
        return 0;
    case 'v':
        question->is_verbose = 1;
        return 0;
    case 'h':
        question->wants_help = 1;
        return 0;
    default:
        return take_value(letter, question);
    }
}

static int parse(int argc, char **argv, struct question *question)
{
    static const struct option names[] = {
        {"cluster", required_argument, NULL, 'c'},
        {"policy", required_argument, NULL, 'p'},
        {"model", required_argument, NULL, 'm'},
        {"counts", required_argument, NULL, 'n'},
        {"protocol", required_argument, NULL, 'P'},
        {"first-mapping", required_argument, NULL, 'f'},
        {"iterations", required_argument, NULL, 'i'},
        {"seed", required_argument, NULL, 's'},
        {"noise", required_argument, NULL, 'e'},
        {"json", no_argument, NULL, 'j'},
        {"verbose", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    static const struct command_options options = {
        command, "c:p:m:n:P:f:i:s:e:jvh", names, take_option};
    const int exit_code = command_options_take(&options, question, argc, argv);

    return exit_code != 0 || question->wants_help
               ? exit_code
               : question_take_profile(command, argc, argv, &question->profile);
}

// ---- policy, protocol ----

/** @param[out] policy  NULL: threads stay. @return 0 or an exit code */
static int choose_policy(const struct question *question,
                         const struct profile *profile,
                         const struct policy **policy)
{
    const char *decided =
        profile->decision.policy[0] != '\0' ? profile->decision.policy : NULL;
    const char *name = question->policy != NULL ? question->policy : decided;

    *policy = NULL;
    if (question->counts.n > 0 ||
        (name != NULL &&
         (strcmp(name, "none") == 0 || strcmp(name, "initial") == 0))) {
        return 0;
    }
    *policy = policy_find(name);
    if (*policy != NULL) {
        return 0;
    }
    question_refuse_policy(command, name, "none");
    return question->policy != NULL ? EXIT_USAGE : EXIT_CONFIG;
}

static const char *protocol_name(const struct question *question,
                                 const struct profile *profile)
{
    if (question->protocol != NULL) {
        return question->protocol;
    }
    return profile->script.protocol[0] != '\0' ? profile->script.protocol
                                               : simulated_protocol_usual();
}

static int choose_protocol(const struct question *question,
                           const struct profile *profile, tm_protocol *protocol)
{
    const char *name = protocol_name(question, profile);

    if (simulated_protocol(name, protocol)) {
        return 0;
    }
    fprintf(stderr,
            "%s: there is no protocol '%s' for all memory; "
            "\"teamster run --help\" lists them\n",
            command, name);
    return question->protocol != NULL ? EXIT_USAGE : EXIT_CONFIG;
}

// ---- nodes ----

static uint64_t pages_of(const struct profile_script *script)
{
    uint64_t n = 0;

    for (uint32_t b = 0; b < script->n_blocks; b++) {
        n += script->blocks[b].n_pages;
    }
    return n;
}

// What a node's costs say of its link and its disk, where the cluster file is silent.
static void set_usual(struct simulated_node *node)
{
    const struct node_view *view = &node->view;

    node->wire = (struct wire_speed){view->fetch_s / 2, USUAL_BYTES_PER_S};
    node->disk = (struct disk_speed){
        0, TM_PAGE_SIZE / (view->swap_in_s > 0 ? view->swap_in_s : NO_TIME_S)};
}

/** @param[out] loads  of the node, which stay with the caller */
static void set_by_file(struct simulated_node *node, const struct host *host,
                        struct simulated_load *loads)
{
    const struct host_lab *lab = &host->lab;

    node->wire.latency_s =
        lab->net_us >= 0 ? lab->net_us * 1e-6 : node->wire.latency_s;
    node->wire.bytes_per_s = lab->net_bytes_per_s > 0 ? lab->net_bytes_per_s
                                                      : node->wire.bytes_per_s;
    node->disk.seek_s =
        lab->disk_ms >= 0 ? lab->disk_ms * 1e-3 : node->disk.seek_s;
    node->disk.bytes_per_s = lab->disk_bytes_per_s > 0 ? lab->disk_bytes_per_s
                                                       : node->disk.bytes_per_s;
    if (lab->disk_ms >= 0 || lab->disk_bytes_per_s > 0) {
        node->view.swap_in_s =
            node->disk.seek_s + TM_PAGE_SIZE / node->disk.bytes_per_s;
        node->view.swap_out_s = node->view.swap_in_s;
    }
    if (lab->net_us >= 0 || lab->net_bytes_per_s > 0) {
        node->view.packet_s = node->wire.latency_s;
        node->view.fetch_s =
            2 * node->wire.latency_s + TM_PAGE_SIZE / node->wire.bytes_per_s;
    }
    for (unsigned i = 0; i < lab->n_loads; i++) {
        loads[i] =
            (struct simulated_load){lab->loads[i].from_s, lab->loads[i].share};
    }
    node->loads = loads;
    node->n_loads = lab->n_loads;
}

/** @param hosts  of the cluster file; n 0: there is none
 *  @param[out] loads  [n_nodes * HOST_LOADS_MAX] */
static void set_nodes(struct simulated_node *nodes,
                      const struct cluster_view *view,
                      const struct hosts *hosts, uint64_t n_pages,
                      struct simulated_load *loads)
{
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        nodes[x].view = view->nodes[x];
        // Where twice the program fits, nothing ever goes.
        nodes[x].has_budget = view->nodes[x].memory_pages < 2 * n_pages;
        set_usual(&nodes[x]);
        if (hosts->n > 0) {
            set_by_file(&nodes[x], &hosts->all[x],
                        &loads[(size_t)x * HOST_LOADS_MAX]);
        }
    }
}

// ---- asking and answering ----

static int tell(tm_status status, const char *reason)
{
    fprintf(stderr, "%s: %s\n", command, reason);
    return status == TM_ENOMEM   ? EXIT_MEMORY
           : status == TM_ESTATE ? EXIT_INTERNAL
                                 : EXIT_CONFIG;
}

static int run(const struct question *question, const struct profile *profile,
               const struct simulation *simulation, const char *note)
{
    struct simulation_result result;
    char error[512];
    const tm_status status = simulate(simulation, &result, error, sizeof error);
    const struct simulate_report report = {
        .profile = question->profile,
        .program = profile->program,
        .policy = simulation->counts != NULL   ? "by hand"
                  : simulation->policy != NULL ? simulation->policy->name
                                               : "none",
        .protocol = protocol_name(question, profile),
        .note = note,
        .simulation = simulation,
        .result = &result,
        .is_verbose = question->is_verbose,
    };

    if (status != TM_OK) {
        return tell(status, error);
    }
    if (question->is_json) {
        simulate_report_json(&report, stdout);
    } else {
        simulate_report_print(&report, stdout);
    }
    simulation_release(&result);
    return 0;
}

static int answer_on(const struct question *question,
                     const struct profile *profile,
                     const struct scenario *scenario, const struct hosts *hosts,
                     const char *note)
{
    const struct cluster_view *view = &scenario->view;
    struct simulated_node *nodes = memory_new(view->n_nodes, sizeof *nodes);
    struct simulated_load *loads =
        memory_new((size_t)view->n_nodes * HOST_LOADS_MAX, sizeof *loads);
    struct simulation simulation = {
        .n_nodes = view->n_nodes,
        .nodes = nodes,
        .n_threads = view->n_threads,
        .threads = view->threads,
        .script = &profile->script,
        .counts = question->counts.n > 0 ? question->counts.of_node : NULL,
        .begins_equal = question->begins_equal,
        .n_iterations = question->n_iterations,
        .seed = question->seed,
        .noise = question->noise,
    };
    int exit_code = choose_policy(question, profile, &simulation.policy);

    if (exit_code == 0 && !simulation_use_model(&simulation, question->model)) {
        exit_code = question_refuse(command, "--model is", question->model,
                                    "; allowed: measured, lru, liu06, cliff");
    }
    if (exit_code == 0) {
        exit_code = choose_protocol(question, profile, &simulation.protocol);
    }
    if (exit_code == 0) {
        exit_code = question_check_counts(command, &question->counts, view);
    }
    if (exit_code == 0) {
        set_nodes(nodes, view, hosts, pages_of(&profile->script), loads);
        exit_code = run(question, profile, &simulation, note);
    }
    free(nodes);
    free(loads);
    return exit_code;
}

static int answer(const struct question *question, struct profile *profile,
                  const char *note)
{
    struct scenario scenario;
    struct hosts hosts = {0};
    char error[512];
    tm_status status = TM_OK;
    int exit_code;

    scenario_init(&scenario, profile);
    if (question->cluster != NULL) {
        status = question_use_cluster(question->cluster, TM_MAX_NODES, &hosts,
                                      &scenario, error, sizeof error);
    }
    exit_code = status != TM_OK
                    ? tell(status, error)
                    : answer_on(question, profile, &scenario, &hosts, note);
    hosts_release(&hosts);
    scenario_release(&scenario);
    return exit_code;
}

static int read_and_answer(const struct question *question)
{
    static const char guessed[] =
        "the profile has no script: iterations are taken to be alike, with one "
        "barrier, and pages to lie group by group";
    struct profile profile;
    const char *note = NULL;
    char error[512];
    tm_status status =
        profile_read(question->profile, &profile, error, sizeof error);
    int exit_code;

    if (status != TM_OK) {
        return tell(status, error);
    }
    if (profile.script.n_rounds == 0) {
        note = guessed;
        status = profile_guess_script(&profile);
    }
    if (status != TM_OK) {
        snprintf(error, sizeof error,
                 "%s: nobody knows who uses which pages: a run of more "
                 "iterations finds out",
                 question->profile);
        exit_code = tell(TM_ECONFIG, error);
    } else {
        exit_code = answer(question, &profile, note);
    }
    profile_release(&profile);
    return exit_code;
}

int command_simulate(int argc, char **argv)
{
    struct question question = {
        .model = "measured", .n_iterations = 100, .seed = 1, .noise = 0.01};
    int exit_code = parse(argc, argv, &question);

    if (exit_code != 0 || question.wants_help) {
        if (exit_code == 0) {
            simulate_print_help();
        }
        return exit_code;
    }
    return read_and_answer(&question);
}
