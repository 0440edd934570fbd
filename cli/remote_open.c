// SPDX-License-Identifier: BSD-3-Clause
//
// Other hosts, before nodes run there. All are reached at once, each by an ssh that
// starts an agent (agent.c); when all agents have answered, each gets the list of its
// nodes; when all nodes have started, the run begins (launch.c), and with it nodes of
// this machine. Whatever is wrong is told of all hosts together.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/vector.h"
#include "job.h"
#include "net/message.h"
#include "os/secret.h"
#include "remote_start.h"

#define SECOND_NS 1000000000.0

extern char **environ;

// ---- the list of hosts ----

static struct remote_host *find_host(struct remote *remote,
                                     const struct host *host)
{
    for (unsigned i = 0; i < remote->n; i++) {
        if (strcmp(remote->hosts[i].name, host->name) == 0) {
            return &remote->hosts[i];
        }
    }
    return remote_add_host(remote, host);
}

struct remote_host *remote_add_host(struct remote *remote,
                                    const struct host *host)
{
    vector_reserve(remote->hosts, remote->n_room, remote->n + 1);
    remote->hosts[remote->n] =
        (struct remote_host){.name = host->name,
                             .address = host->address,
                             .words_fd = -1,
                             .mux = {.in = -1, .out_fd = -1}};
    return &remote->hosts[remote->n++];
}

void remote_add_node(struct remote_host *host, unsigned node,
                     const struct host *given)
{
    vector_reserve(host->nodes, host->n_room, host->n_nodes + 1);
    host->nodes[host->n_nodes++] =
        (struct remote_node){.node = node,
                             .given = given,
                             .ends = {.out = -1, .err = -1, .link = -1}};
}

static void list_hosts(struct job *job, const struct launch_plan *plan)
{
    for (unsigned i = 0; i < plan->n_nodes; i++) {
        struct remote_host *host;

        if (host_is_local(plan->hosts[i].name)) {
            continue;
        }
        host = find_host(&job->remote, &plan->hosts[i]);
        remote_add_node(host, i, &plan->hosts[i]);
        job->nodes[i].host = (uint16_t)(host - job->remote.hosts + 1);
        job->nodes[i].index = (uint16_t)(host->n_nodes - 1);
    }
}

/** Hosts that have stayed, and are not needed any more. */
static void retire_idle(struct remote *remote)
{
    for (unsigned i = 0; i < remote->n; i++) {
        if (remote->hosts[i].n_nodes == 0) {
            remote_retire(&remote->hosts[i]);
        }
    }
}

// ---- answers ----

static void take_hello(struct remote_host *host, const struct beat *beat,
                       const struct mux_frame *frame)
{
    static struct node_card own;
    struct wire_reader reader = wire_read(frame->body, frame->size);
    const struct wire_agent_hello hello = wire_get_agent_hello(&reader);

    node_card_set_version(&own);
    host->has_hello = 1;
    beat_expect(beat, &host->life);
    snprintf(host->launcher, sizeof host->launcher, "%s", hello.launcher);
    if (strcmp(own.version, hello.version) != 0) {
        snprintf(host->why, sizeof host->why,
                 "its teamster has version \"%.64s\", here it is \"%s\"",
                 hello.version, own.version);
    }
}

static int has_answered(const struct remote_node *node)
{
    return node->pid != 0 || node->what[0] != '\0';
}

// What is waited for: first HELLO, then all nodes.
static int has_greeted(const struct remote_host *host)
{
    return host->why[0] != '\0' || host->has_hello;
}

static int has_started(const struct remote_host *host)
{
    if (host->why[0] != '\0') {
        return 1;
    }
    for (unsigned i = 0; i < host->n_nodes; i++) {
        if (!has_answered(&host->nodes[i])) {
            return 0;
        }
    }
    return host->has_hello;
}

void remote_hear(const struct remote *remote, struct remote_host *host)
{
    struct mux_frame frame;

    remote_hear_words(host);
    while (mux_next(&host->mux, &frame)) {
        if (frame.kind == MUX_HELLO && !host->has_hello) {
            take_hello(host, &remote->beat, &frame);
        } else if (!host->has_hello) {
            host->mux.is_broken = 1;
        } else {
            remote_take(host, &frame);
        }
    }
    if ((host->mux.is_broken || host->mux.in < 0) && host->why[0] == '\0' &&
        !host->is_over) {
        remote_hear_words(host);
        remote_last_words(host, host->why, sizeof host->why);
        if (host->why[0] == '\0') {
            snprintf(host->why, sizeof host->why, "%s",
                     host->mux.is_broken ? "it does not answer as teamster does"
                                         : "the connection has ended");
        }
    }
}

/** @return a signal's number if one asks to end, 0 */
static int asked_to_end(struct job *job)
{
    struct signalfd_siginfo info;

    while (read(job->signal_fd, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo != SIGCHLD && info.ssi_signo != SIGUSR1 &&
            info.ssi_signo != SIGUSR2 && info.ssi_signo != SIGTSTP) {
            return (int)info.ssi_signo;
        }
    }
    return 0;
}

static int all_are_settled(const struct remote *remote,
                           int (*is_settled)(const struct remote_host *))
{
    for (unsigned i = 0; i < remote->n; i++) {
        if (!is_settled(&remote->hosts[i])) {
            return 0;
        }
    }
    return 1;
}

static void fill_and_poll(struct job *job, struct pollfd *set, size_t n_remote)
{
    set[0] = (struct pollfd){.fd = job->signal_fd, .events = POLLIN};
    remote_fill(&job->remote, &set[1]);
    for (unsigned i = 0; i < job->remote.n; i++) {
        set[1 + n_remote + i] = (struct pollfd){
            .fd = job->remote.hosts[i].words_fd, .events = POLLIN};
    }
    poll(set, 1 + n_remote + job->remote.n, 100);
}

/** Give signs of life, and listen for them: while one host is slow to log in, others may
 * die, and are not to think that the launcher has. */
static void look_for_life(struct remote *remote, uint64_t now_ns)
{
    int is_due = beat_is_due(&remote->beat, now_ns);

    beat_poll(&remote->beat, now_ns);
    for (unsigned i = 0; i < remote->n; i++) {
        struct remote_host *host = &remote->hosts[i];

        if (!host->is_over && // one that has stayed, and was let go
            remote_listen(remote, host, is_due) == BEAT_LOST) {
            remote_give_up(remote, host);
        }
    }
}

// ---- what is wrong ----

void remote_explain_unreachable(const struct job *job,
                                const struct remote_host *host, char *text,
                                size_t size)
{
    const char *ssh = job->plan->ssh;
    char why[300];
    char bytes[600];
    struct text name = {bytes, sizeof bytes, 0};

    text_add_word(&name, host->name);
    snprintf(why, sizeof why, "%s", host->why);
    if (why[0] == '\0') {
        snprintf(why, sizeof why, "no answer within %.0f s",
                 REMOTE_REACH_S * job->slowdown);
    }
    snprintf(text, size,
             "cannot reach host %s: %s; try: %s %s%s teamster --version",
             host->name, why, ssh, remote_host_option(ssh), bytes);
}

void remote_explain_not_started(const struct job *job,
                                const struct remote_host *host, char *text,
                                size_t size)
{
    for (unsigned i = 0; i < host->n_nodes; i++) {
        const struct remote_node *node = &host->nodes[i];

        if (node->what[0] == '\0') {
            continue;
        }
        if (strcmp(node->what, "start the program") == 0) {
            snprintf(text, size,
                     "host %s cannot start '%s': %s; the program must be "
                     "there under the same name on all hosts",
                     host->name, job->plan->argv[0], strerror(node->error));
        } else {
            snprintf(text, size, "host %s cannot %s: %s", host->name,
                     node->what, strerror(node->error));
        }
        return; // the same for its other nodes
    }
    snprintf(text, size, "host %s: %s", host->name,
             host->why[0] != '\0' ? host->why : "its nodes do not start");
}

static int is_reached(const struct remote_host *host)
{
    return host->why[0] == '\0' && host->has_hello;
}

static int is_started(const struct remote_host *host)
{
    for (unsigned i = 0; i < host->n_nodes; i++) {
        if (host->nodes[i].pid == 0) {
            return 0;
        }
    }
    return host->why[0] == '\0';
}

/** Tell of all that are no use. @return 0, an exit code */
static int check_hosts(struct job *job, int starts_nodes)
{
    int exit_code = 0;

    for (unsigned i = 0; i < job->remote.n; i++) {
        const struct remote_host *host = &job->remote.hosts[i];
        char text[EXPLAINED_MAX];

        // One without nodes may be needed for its files: stored_bring() finds out.
        if (host->n_nodes == 0 ||
            (starts_nodes ? is_started(host) : is_reached(host))) {
            continue;
        }
        if (starts_nodes) {
            remote_explain_not_started(job, host, text, sizeof text);
        } else {
            remote_explain_unreachable(job, host, text, sizeof text);
        }
        job_say(job, "%s", text);
        exit_code = EXIT_UNREACHABLE;
    }
    return exit_code;
}

// ---- waiting ----

static void say_slow(struct job *job,
                     int (*is_settled)(const struct remote_host *),
                     const char *what)
{
    for (unsigned i = 0; i < job->remote.n; i++) {
        const struct remote_host *host = &job->remote.hosts[i];

        if (!is_settled(host)) {
            job_say(job, "host %s is slow: waiting for %s", host->name, what);
        }
    }
}

/** What has come, and the time. @param set  for fill_and_poll() */
static void listen_to_all(struct job *job, struct pollfd *set, size_t n_remote)
{
    struct remote *remote = &job->remote;
    uint64_t now_ns;

    fill_and_poll(job, set, n_remote);
    now_ns = clock_now_ns();
    remote_move(remote, &set[1], now_ns);
    for (unsigned i = 0; i < remote->n; i++) {
        remote_hear(remote, &remote->hosts[i]);
    }
    look_for_life(remote, now_ns);
}

int remote_wait(struct job *job, int (*is_settled)(const struct remote_host *),
                const char *what, double seconds)
{
    const size_t n_remote = remote_n_polled(&job->remote);
    struct pollfd *set = calloc(1 + n_remote + job->remote.n, sizeof *set);
    uint64_t waited_ns = 0;
    uint64_t last_ns = clock_now_ns();
    int is_said = what == NULL;
    int number = 0;

    while (set != NULL && number == 0 &&
           !all_are_settled(&job->remote, is_settled) &&
           (double)waited_ns < seconds * job->slowdown * SECOND_NS) {
        uint64_t now_ns;

        listen_to_all(job, set, n_remote);
        now_ns = clock_now_ns();
        number = asked_to_end(job);
        if (!is_said &&
            (double)waited_ns > REMOTE_SLOW_S * job->slowdown * SECOND_NS) {
            is_said = 1;
            say_slow(job, is_settled, what);
        }
        // Time in which this process was stopped does not count.
        waited_ns += now_ns - last_ns < 500000000u ? now_ns - last_ns : 0;
        last_ns = now_ns;
    }
    free(set);
    return set == NULL ? EXIT_MEMORY : number != 0 ? 128 + number : 0;
}

/** Wait until all hosts have said what they are to say, or the time is over.
 * @return 0, or an exit code: a signal ends it, or a host is no use (told) */
static int wait_for_hosts(struct job *job, int starts_nodes, double seconds)
{
    const int exit_code = remote_wait(
        job, starts_nodes ? has_started : has_greeted,
        starts_nodes ? "its nodes to start" : "its answer", seconds);

    return exit_code != 0 ? exit_code : check_hosts(job, starts_nodes);
}

// ---- starting nodes ----

/** Variables that nodes on other hosts get too. */
static int travels(const char *variable)
{
    static const char *const prefixes[] = {"TEAMSTER_", "UCX_",   "TM_TEST_",
                                           "ASAN_",     "UBSAN_", "TSAN_"};
    static const char *const not_these[] = {
        "TEAMSTER_SSH=", "TEAMSTER_HOSTFILE=", "TEAMSTER_HOSTS="};

    for (unsigned i = 0; i < sizeof not_these / sizeof not_these[0]; i++) {
        if (strncmp(variable, not_these[i], strlen(not_these[i])) == 0) {
            return 0;
        }
    }
    for (unsigned i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0) {
            return 1;
        }
    }
    return 0;
}

static char **variables_that_travel(void)
{
    size_t n = 0;
    char **list;

    while (environ[n] != NULL) {
        n++;
    }
    list = calloc(n + 1, sizeof *list);
    for (size_t i = 0, used = 0; i < n && list != NULL; i++) {
        if (travels(environ[i])) {
            list[used++] = environ[i];
        }
    }
    return list;
}

/** @return the run's end of a node's output, -1 */
static int open_output(struct remote_host *host, unsigned index,
                       enum mux_channel which)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    mux_attach(&host->mux, index, which, ends[1]);
    return ends[0];
}

/** Make files that look like those of a node here. Before the node starts: what
 * comes from a channel that has no file is lost. */
static int open_channels(struct remote_host *host)
{
    int failed = mux_make_channels(&host->mux, host->n_nodes) != 0;

    for (unsigned i = 0; i < host->n_nodes && !failed; i++) {
        struct spawned *spawned = &host->nodes[i].ends;
        int ends[2];

        failed = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0;
        if (!failed) {
            mux_attach(&host->mux, i, MUX_LINK, ends[1]);
            spawned->link = ends[0];
            spawned->out = open_output(host, i, MUX_OUT);
            spawned->err = open_output(host, i, MUX_ERR);
            failed = spawned->out < 0 || spawned->err < 0;
        }
    }
    return failed ? -1 : 0;
}

static int start_host(struct remote_host *host, struct remote_start *start)
{
    struct buffer body = {0};

    start->address = host->address;
    start->n_here = host->n_nodes;
    start->nodes = calloc(host->n_nodes, sizeof *start->nodes);
    if (start->nodes == NULL || open_channels(host) != 0) {
        free(start->nodes);
        return -1;
    }
    for (unsigned i = 0; i < host->n_nodes; i++) {
        start->nodes[i].node = host->nodes[i].node;
        start->nodes[i].host = *host->nodes[i].given;
    }
    remote_start_put(start, &body);
    mux_send(&host->mux, MUX_START, 0, buffer_front(&body), body.used);
    buffer_release(&body);
    free(start->nodes);
    return 0;
}

int remote_send_start(const struct job *job, struct remote_host *hosts,
                      unsigned n, struct remote_start *start)
{
    char folder[4096];
    int failed;

    start->folder = getcwd(folder, sizeof folder);
    start->argv = job->plan->argv;
    start->variables = variables_that_travel();
    failed = start->folder == NULL || start->variables == NULL;
    for (unsigned i = 0; i < n && !failed; i++) {
        failed = hosts[i].n_nodes > 0 && start_host(&hosts[i], start) != 0;
    }
    free(start->variables);
    return failed ? -1 : 0;
}

// ---- this machine among the others ----

int remote_find_device(struct job *job, const char *address, char *why,
                       size_t size)
{
    struct remote *remote = &job->remote;

    for (unsigned i = 0; i < remote->n && address[0] == '\0'; i++) {
        address = remote->hosts[i].launcher;
    }
    if (find_device(address, remote->device, sizeof remote->device)) {
        return 0;
    }
    snprintf(why, size,
             "no network card here has the address '%s'; give this host one of "
             "its own with addr= in a hostfile",
             address);
    return -1;
}

/** @return 0, an exit code (told) */
static int choose_own_device(struct job *job, const struct launch_plan *plan)
{
    const char *given = "";
    char why[256];
    int is_needed = 0;

    for (unsigned i = 0; i < plan->n_nodes; i++) {
        if (job->nodes[i].host == 0) {
            is_needed = 1;
            given = plan->hosts[i].address;
        }
    }
    if (!is_needed || remote_find_device(job, given, why, sizeof why) == 0) {
        return 0;
    }
    job_say(job, "%s", why);
    return EXIT_CONFIG;
}

void remote_place(const struct job *job, struct spawn_request *request)
{
    if (job->remote.device[0] == '\0') { // all nodes are here
        return;
    }
    request->device = job->remote.device;
    request->n_here = 0;
    for (unsigned i = 0; i < job->n_nodes; i++) {
        request->n_here += job->nodes[i].host == 0;
    }
}

int remote_make_key(struct job *job)
{
    if (job->key != NULL) {
        return 0;
    }
    job->key = secret_new(BOOT_KEY_SIZE);
    spawn_keep_cores_away();
    return job->key != NULL &&
                   getrandom(job->key, BOOT_KEY_SIZE, 0) == BOOT_KEY_SIZE
               ? 0
               : -1;
}

// ---- together ----

static int reach_hosts(struct job *job, const char *ssh)
{
    for (unsigned i = 0; i < job->remote.n; i++) {
        struct remote_host *host = &job->remote.hosts[i];

        if (!host->is_clear && remote_start_ssh(job, host, ssh) != 0) {
            job_say(job, "cannot start ssh: %s", strerror(errno));
            return EXIT_MEMORY;
        }
    }
    return wait_for_hosts(job, 0, REMOTE_REACH_S);
}

static int has_several_hosts(const struct job *job)
{
    for (unsigned i = 1; i < job->n_nodes; i++) {
        if (job->nodes[i].host != job->nodes[0].host) {
            return 1;
        }
    }
    return 0;
}

int remote_open(struct job *job, const struct launch_plan *plan)
{
    struct remote_start start = {.n_nodes = plan->n_nodes};
    int exit_code;

    if (!plan->is_spread) {
        exit_code = stored_bring(job);
        retire_idle(&job->remote);
        return exit_code;
    }
    if (job->remote.n == 0) { // else some have stayed, and are listened to
        beat_start(&job->remote.beat);
    }
    list_hosts(job, plan);
    exit_code = remote_make_key(job) == 0 ? 0 : EXIT_MEMORY;
    if (exit_code == 0) {
        exit_code = reach_hosts(job, plan->ssh);
    }
    if (exit_code == 0) {
        exit_code = choose_own_device(job, plan);
    }
    if (exit_code == 0) {
        exit_code = stored_bring(job);
    }
    retire_idle(&job->remote); // they have had files
    if (exit_code == 0) {
        exit_code = remote_send_start(job, job->remote.hosts, job->remote.n,
                                      &start) == 0
                        ? 0
                        : EXIT_MEMORY;
    }
    if (exit_code == 0) {
        exit_code = wait_for_hosts(job, 1, REMOTE_START_S);
    }
    job->remote.beat.is_watched = has_several_hosts(job);
    return exit_code;
}

void remote_adopt(struct job *job, unsigned node, int input,
                  struct spawned *spawned)
{
    unsigned index = job->nodes[node].index;
    struct remote_host *host = &job->remote.hosts[job->nodes[node].host - 1];

    if (input >= 0) {
        mux_attach(&host->mux, index, MUX_INPUT, input);
    }
    *spawned = host->nodes[index].ends;
    spawned->pid = host->nodes[index].pid;
}
