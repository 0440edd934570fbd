// SPDX-License-Identifier: BSD-3-Clause
// The command line of `teamster plan`. What it asks is answered in planner/.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/reading.h"
#include "base/thread_counts.h"
#include "command.h"
#include "command_options.h"
#include "place/profile_fields.h"
#include "planner/plan.h"
#include "planner/profile_read.h"
#include "planner/repeat.h"
#include "planner/replicate.h"
#include "planner/report.h"
#include "planner/report_advice.h"
#include "planner/what_if.h"
#include "question.h"

static const char command[] = "teamster plan";

#define DIFFERENCES_MAX 4096

enum { SCALE_MAX = 1000000 };

/** What the command line asks for. */
struct question {
    const char *profile;
    const char *cluster;         ///< a hostfile; NULL: the profile's own
    const char *policy;          ///< NULL: the one that decided in the run
    const char *model;           ///< NULL: the profile's
    struct thread_counts counts; ///< a mapping by hand
    uint32_t scale;
    char **what_ifs; ///< [n_what_ifs], in order
    unsigned n_what_ifs;
    double gain; ///< of --advise; 0: is not asked
    struct prices prices;
    int is_json;
    int is_verbose;
    int wants_help;
};

// ---- help ----

static void print_policies(void)
{
    puts("Policies:");
    for (unsigned i = 0; i < n_policies; i++) {
        printf("  %-10s  %s%s\n", policies[i]->name, policies[i]->summary,
               policies[i] == policy_find(NULL) ? " (default)" : "");
    }
}

void plan_print_help(void)
{
    puts("Usage: teamster plan PROFILE [OPTION]...\n"
         "\n"
         "Repeat a decision of a run, or ask what another cluster, another "
         "policy or\n"
         "another number of threads would lead to. PROFILE is a file that a "
         "run saved;\n"
         "\"-\" is standard input.\n"
         "\n"
         "  teamster run --hostfile F --save-profile=p.json ./jacobi\n"
         "  teamster plan p.json                     what did the run decide, "
         "and why?\n"
         "  teamster plan p.json --policy=all        how do all policies "
         "compare?\n"
         "  teamster plan p.json --what-if n4.memory=+32M\n"
         "                                           is memory worth buying?\n"
         "  teamster plan p.json --what-if add:n5,speed=400,memory=64M\n"
         "  teamster plan p.json --what-if remove:n2 --what-if "
         "n1.speed=2x\n"
         "  teamster plan p.json --scale=1024        a thousand times as "
         "large\n"
         "  teamster plan p.json --counts=10,8,8,6   what would this have "
         "taken?\n"
         "  teamster plan p.json --advise=30         what has to be bought to "
         "be 30 %\n"
         "                                           faster?\n"
         "\n"
         "  -p, --policy=NAME     the policy to ask, or \"all\", best first\n"
         "                        [the one that decided in the run]\n"
         "  -n, --counts=N,N,...  a mapping by hand: how many threads each "
         "node gets,\n"
         "                        in order of their numbers; instead of a "
         "policy, or\n"
         "                        with --policy beside it\n"
         "  -m, --model=NAME      predict by another model than the "
         "profile's: measured,\n"
         "                        liu06 or cliff; as published, without what "
         "the run\n"
         "                        had learned for its own\n"
         "  -c, --cluster=FILE    another cluster: a hostfile, one node a "
         "line:\n"
         "                        NAME [slots=N] [workers=W] [speed=S] "
         "[memory=SIZE]\n"
         "  -s, --scale=N         N copies of cluster and program; copies "
         "share no\n"
         "                        pages but those that all threads only read\n"
         "  -w, --what-if=CHANGE  may be given several times:\n"
         "                          NODE.memory=64M, =+32M, =-32M or =2x\n"
         "                          NODE.speed=500, =+100, =-100 or =2x\n"
         "                          NODE.power=1.2   NODE.workers=2\n"
         "                          add:NAME,speed=400,memory=64M[,workers=2]\n"
         "                          add:NAME,like=NODE[,memory=2x]\n"
         "                          remove:NODE      threads=64\n"
         "                        NODE is a name, @3 for the fourth, or all\n"
         "  -a, --advise=PERCENT  the smallest changes that make iterations "
         "so much\n"
         "                        shorter than with the mapping in force: "
         "memory, speed,\n"
         "                        more nodes\n"
         "  -r, --prices=LIST     with --advise: memory=M,speed=S,node=N, what "
         "a GiB, a\n"
         "                        processor of power 1.0 and a node cost, in "
         "any money\n"
         "  -j, --json            for programs; all digits\n"
         "  -v, --verbose         all terms, all moves, the threads of each "
         "node\n"
         "  -h, --help            print this\n"
         "\n"
         "The cluster is read first, then scaled, then changed in the order "
         "given.\n"
         "Times are predictions of the model that is named; the lower "
         "bound\n"
         "is a time that no mapping can beat under it. docs/plan.md explains "
         "the\n"
         "output, docs/profile.md the file.\n");
    print_policies();
    puts("\n"
         "Exit codes: 64 a wrong option or change, 71 no memory, 73 no output, "
         "78 a\n"
         "wrong file.");
}

// ---- the command line ----

static int take_scale(const char *text, uint32_t *scale)
{
    char *end;
    unsigned long number;

    errno = 0;
    number = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 ||
        number < 1 || number > SCALE_MAX) {
        return question_refuse(command, "--scale is", text,
                               "; allowed: 1 to 1000000");
    }
    *scale = (uint32_t)number;
    return 0;
}

static int take_gain(const char *text, double *gain)
{
    const size_t length = strlen(text);
    char number[32];
    double percent;

    snprintf(number, sizeof number, "%.*s",
             (int)(length > 0 && text[length - 1] == '%' ? length - 1 : length),
             text);
    if (length >= sizeof number || parse_decimal(number, &percent) != TM_OK ||
        percent <= 0 || percent >= 100) {
        return question_refuse(command, "--advise is", text,
                               "; it is a percentage, as 30, above 0 and below "
                               "100");
    }
    *gain = percent / 100;
    return 0;
}

/** One price of a list. @return whether it is one */
static int take_price(char *pair, struct prices *prices)
{
    char *value = strchr(pair, '=');
    double *price;

    if (value == NULL) {
        return 0;
    }
    *value++ = '\0';
    price = strcmp(pair, "memory") == 0  ? &prices->memory
            : strcmp(pair, "speed") == 0 ? &prices->speed
            : strcmp(pair, "node") == 0  ? &prices->node
                                         : NULL;
    return price != NULL && parse_decimal(value, price) == TM_OK && *price > 0;
}

static int take_prices(const char *text, struct prices *prices)
{
    char copy[128];
    char *rest = copy;
    char *pair;

    *prices = (struct prices){0};
    snprintf(copy, sizeof copy, "%s", text);
    while ((pair = strsep(&rest, ",")) != NULL) {
        if (!take_price(pair, prices)) {
            break;
        }
    }
    if (pair != NULL || prices->memory <= 0 || prices->speed <= 0 ||
        prices->node <= 0) {
        return question_refuse(command, "--prices is", text,
                               "; it has all three, as "
                               "memory=4,speed=80,node=300");
    }
    return 0;
}

static int take_option(void *owner, int letter)
{
    struct question *question = owner;

    switch (letter) {
    case 'p':
        question->policy = optarg;
        return 0;
    case 'n':
        return question_take_counts(command, optarg, &question->counts);
    case 'm':
        question->model = optarg;
        return 0;
    case 'c':
        question->cluster = optarg;
        return 0;
    case 's':
        return take_scale(optarg, &question->scale);
    case 'w':
        question->what_ifs[question->n_what_ifs++] = optarg;
        return 0;
    case 'a':
        return take_gain(optarg, &question->gain);
    case 'r':
        return take_prices(optarg, &question->prices);
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
        return OPTION_UNKNOWN;
    }
}

/** @param[out] question  what_ifs [argc] is the caller's */
static int parse(int argc, char **argv, struct question *question)
{
    static const struct option names[] = {
        {"policy", required_argument, NULL, 'p'},
        {"counts", required_argument, NULL, 'n'},
        {"model", required_argument, NULL, 'm'},
        {"cluster", required_argument, NULL, 'c'},
        {"scale", required_argument, NULL, 's'},
        {"what-if", required_argument, NULL, 'w'},
        {"advise", required_argument, NULL, 'a'},
        {"prices", required_argument, NULL, 'r'},
        {"json", no_argument, NULL, 'j'},
        {"verbose", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    static const struct command_options options = {
        command, "p:n:m:c:s:w:a:r:jvh", names, take_option};
    const int exit_code = command_options_take(&options, question, argc, argv);

    return exit_code != 0 || question->wants_help
               ? exit_code
               : question_take_profile(command, argc, argv, &question->profile);
}

// ---- policies ----

/** The policies that are asked. @param[out] asked  [n_policies]
 * @return 0 or an exit code */
static int choose_policies(const struct question *question,
                           const struct profile *profile,
                           const struct policy **asked, unsigned *n_asked)
{
    const char *decided =
        profile->decision.policy[0] != '\0' ? profile->decision.policy : NULL;
    const char *name = question->policy != NULL ? question->policy : decided;

    *n_asked = 0;
    if (question->policy == NULL && question->counts.n > 0) {
        return 0; // by hand, instead
    }
    if (question->policy != NULL && strcmp(question->policy, "all") == 0) {
        memcpy(asked, policies, n_policies * sizeof(struct policy *));
        *n_asked = n_policies;
        return 0;
    }
    asked[0] = policy_find(name);
    *n_asked = 1;
    if (asked[0] != NULL) {
        return 0;
    }
    if (question->policy == NULL) {
        fprintf(stderr,
                "%s: %s: decision.policy: there is no '%s' here; "
                "choose one with --policy\n",
                command, question->profile, decided);
        return EXIT_CONFIG;
    }
    return question_refuse_policy(command, question->policy, "all");
}

// ---- the model ----

static int out_of_memory(void)
{
    fprintf(stderr, "%s: out of memory\n", command);
    return EXIT_MEMORY;
}

/** Tell why a step was refused. @param what  before the reason, or "" */
static int tell(tm_status status, int exit_code, const char *what,
                const char *reason)
{
    fprintf(stderr, "%s: %s%s\n", command, what, reason);
    return status == TM_ENOMEM ? EXIT_MEMORY : exit_code;
}

static int refuse_model(const char *name)
{
    fprintf(stderr, "%s: --model is '%s'; allowed: ", command, name);
    for (unsigned i = 0; i < profile_kinds.n; i++) {
        fprintf(stderr, "%s%s", i == 0 ? "" : ", ", profile_kinds.all[i]);
    }
    putc('\n', stderr);
    return EXIT_USAGE;
}

static int use_model(const struct question *question, struct scenario *scenario)
{
    unsigned kind = 0;

    if (question->model == NULL) {
        return 0;
    }
    while (kind < profile_kinds.n &&
           strcmp(profile_kinds.all[kind], question->model) != 0) {
        kind++;
    }
    if (kind == profile_kinds.n) {
        return refuse_model(question->model);
    }
    if (scenario_use_model(scenario, (enum cost_kind)kind) != TM_OK) {
        fprintf(stderr,
                "%s: %s: model.reference: power is 0; --model=%s "
                "needs a reference processor\n",
                command, question->profile, question->model);
        return EXIT_CONFIG;
    }
    return 0;
}

// ---- the scenario ----

/** Make all changes. @return 0 or an exit code */
static int change(const struct question *question, struct scenario *scenario)
{
    char error[512];
    tm_status status;

    if (question->cluster != NULL) {
        status = question_use_cluster(question->cluster, PLAN_NODES_MOST, NULL,
                                      scenario, error, sizeof error);
        if (status != TM_OK) {
            return tell(status, EXIT_CONFIG, "", error);
        }
    }
    if (question->scale > 1) {
        status = replicate_all(scenario, question->scale, error, sizeof error);
        if (status != TM_OK) {
            return tell(status, EXIT_USAGE, "--scale: ", error);
        }
    }
    for (unsigned i = 0; i < question->n_what_ifs; i++) {
        status = scenario_change(scenario, question->what_ifs[i], error,
                                 sizeof error);
        if (status != TM_OK) {
            return tell(status, EXIT_USAGE, "--what-if ", error);
        }
    }
    scenario_settle(scenario);
    return 0;
}

// ---- asking and answering ----

static int print_report(const struct question *question,
                        const struct profile *profile, const struct plan *now,
                        const struct plan *then)
{
    const struct policy *decided = policy_find(profile->decision.policy);
    char differences[DIFFERENCES_MAX] = "";
    struct report report = {
        .name = question->profile,
        .profile = profile,
        .now = now,
        .then = then,
        .differences = differences,
        .is_verbose = question->is_verbose,
    };

    if (decided != NULL && then == NULL &&
        now->scenario->model.kind == profile->model.kind) {
        report.repeated = plan_answer_of(now, decided);
    }
    if (report.repeated != NULL) {
        repeat_compare(profile, now, report.repeated, differences,
                       sizeof differences);
    }
    if (question->is_json) {
        return report_print_json(&report, stdout) == TM_OK ? 0
                                                           : out_of_memory();
    }
    report_print(&report, stdout);
    return 0;
}

static void make(struct plan *plan, const struct question *question,
                 const struct scenario *scenario,
                 const struct policy *const *asked, unsigned n_asked)
{
    const struct plan_question all = {
        .policies = asked,
        .n_policies = n_asked,
        .counts =
            question->counts.n > 0 &&
                    question_counts_fit(&question->counts, &scenario->view)
                ? question->counts.of_node
                : NULL,
    };

    plan_make(plan, scenario, &all);
}

/** --advise goes with one policy, and without a mapping by hand. @return 0 or an exit code */
static int check_advise(const struct question *question, unsigned n_asked)
{
    if (question->gain <= 0) {
        return question->prices.node > 0
                   ? question_refuse(command, "--prices is given, but",
                                     "--advise", " is not")
                   : 0;
    }
    return n_asked == 1 && question->counts.n == 0
               ? 0
               : question_refuse(command, "--advise asks one policy, not",
                                 question->counts.n > 0 ? "--counts" : "all",
                                 "");
}

static int advise(const struct question *question,
                  const struct profile *profile, const struct plan *now,
                  const struct plan *base)
{
    const struct wish wish = {question->gain, base->answers[0].policy,
                              question->prices};
    struct cheapest advice;
    const struct report_advice report = {
        question->profile, profile, now, base, &wish, &advice};
    int exit_code = 0;

    cheapest_find(&advice, base->scenario, base, &wish);
    if (!question->is_json) {
        report_advice_print(&report, stdout);
    } else if (report_advice_print_json(&report, stdout) != TM_OK) {
        exit_code = out_of_memory();
    }
    cheapest_release(&advice);
    return exit_code;
}

/** Ask about the profile, and about the changed scenario if there is one. */
static int ask(const struct question *question, const struct profile *profile,
               const struct scenario *now, const struct scenario *then)
{
    const struct policy *asked[n_policies];
    unsigned n_asked;
    struct plan plan_now = {0};
    struct plan plan_then = {0};
    int exit_code = choose_policies(question, profile, asked, &n_asked);

    if (exit_code == 0) {
        exit_code =
            question_check_counts(command, &question->counts,
                                  then->is_changed ? &then->view : &now->view);
    }
    if (exit_code == 0) {
        exit_code = check_advise(question, n_asked);
    }
    if (exit_code != 0) {
        return exit_code;
    }
    make(&plan_now, question, now, asked, n_asked);
    if (then->is_changed) {
        make(&plan_then, question, then, asked, n_asked);
    }
    exit_code = question->gain > 0
                    ? advise(question, profile, &plan_now,
                             then->is_changed ? &plan_then : &plan_now)
                    : print_report(question, profile, &plan_now,
                                   then->is_changed ? &plan_then : NULL);
    plan_release(&plan_now);
    plan_release(&plan_then);
    return exit_code;
}

static int answer(const struct question *question,
                  const struct profile *profile)
{
    struct scenario now;
    struct scenario then;
    int exit_code;

    scenario_init(&now, profile);
    scenario_init(&then, profile);
    exit_code = use_model(question, &now);
    if (exit_code == 0) {
        exit_code = use_model(question, &then);
    }
    if (exit_code == 0) {
        exit_code = change(question, &then);
    }
    if (exit_code == 0) {
        exit_code = ask(question, profile, &now, &then);
    }
    scenario_release(&now);
    scenario_release(&then);
    return exit_code;
}

int command_plan(int argc, char **argv)
{
    struct question question = {.scale = 1};
    struct profile profile;
    char error[512];
    tm_status status;
    int exit_code;

    question.what_ifs = calloc((size_t)argc + 1, sizeof *question.what_ifs);
    if (question.what_ifs == NULL) {
        return out_of_memory();
    }
    exit_code = parse(argc, argv, &question);
    if (exit_code != 0 || question.wants_help) {
        if (exit_code == 0) {
            plan_print_help();
        }
        free(question.what_ifs);
        return exit_code;
    }
    status = profile_read(question.profile, &profile, error, sizeof error);
    if (status != TM_OK) {
        free(question.what_ifs);
        return tell(status, EXIT_CONFIG, "", error);
    }
    exit_code = answer(&question, &profile);
    profile_release(&profile);
    free(question.what_ifs);
    return exit_code;
}
