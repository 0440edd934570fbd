// SPDX-License-Identifier: BSD-3-Clause
//
// `teamster agent`: the launcher's hands on another host. ssh starts it; nobody
// else has a use for it. Its standard input and output are the connection to the
// launcher (mux.h), so nothing listens, and ssh has made sure of both sides.
//
//   HELLO   to the launcher: who is here
//   START   from it: the nodes, which are started as the launcher itself starts
//           nodes; STARTED or FAILED for each
//   then    bytes of channels, signals, NOTE when a node has come to tm_init(), EXIT
//           when it has ended
//   AGAIN   from the launcher: all nodes are ended, and there may be another START
//   BYE     from the launcher: it is over
//
// Checkpoints in the memory of this host are listed, read and written for it: agent_memory.c.
//
// The nodes end with the agent, whatever ends it: BYE, the end of its input (the
// launcher, or ssh, has ended), a signal, or a launcher that has been silent for
// too long, by ssh and by what nodes have heard of it (beat.c). Should it be killed itself, its keeper ends them (keeper.c).
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent_memory.h"
#include "base/clock.h"
#include "base/log.h"
#include "beat.h"
#include "cluster/bootstrap.h"
#include "command.h"
#include "keeper.h"
#include "mux.h"
#include "net/message.h"
#include "oom.h"
#include "os/descriptor.h"
#include "remote_start.h"
#include "spawn.h"

/** For a signal descriptor, and the most nodes that a run has. */
#define POLLED_MAX (1 + 2 + TM_MAX_NODES * MUX_CHANNELS)

extern char **environ;

struct agent_node {
    pid_t pid; ///< 0: it was not started
    int is_alive;
    struct oom_watch oom;
};

struct agent {
    struct mux mux;
    struct beat beat;
    struct beat_peer launcher;
    int life[2]; ///< nodes say at [1] which beat of the launcher's they know
    uint32_t n_known_beats; ///< the highest
    struct keeper keeper;
    int signal_fd;
    sigset_t old_signals;
    unsigned n_nodes; ///< of this host; 0 before START
    struct agent_node *nodes;
    int is_over;
    int exit_code;
    char **environment; ///< as it was before START
};

static void end(struct agent *agent, int exit_code)
{
    agent->is_over = 1;
    agent->exit_code = exit_code;
}

// ---- starting nodes ----

static void tell_failure(struct agent *agent, unsigned index, int error,
                         const char *what)
{
    uint8_t body[600];
    struct wire_writer writer = {.at = body, .end = body + sizeof body};

    wire_put_agent_failure(&writer,
                           &(struct wire_agent_failure){(uint32_t)error, what});
    if (!writer.failed) {
        mux_send(&agent->mux, MUX_FAILED, index, body,
                 (size_t)(writer.at - body));
    }
}

static int open_input(struct agent *agent, unsigned index, unsigned node)
{
    int ends[2];

    if (node != 0 || pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    mux_attach(&agent->mux, index, MUX_INPUT, ends[1]);
    return ends[0];
}

static void start_node(struct agent *agent, const struct remote_start *start,
                       unsigned index, const char *device)
{
    struct spawn_request request = {
        .node = start->nodes[index].node,
        .n_nodes = start->n_nodes,
        .host = &start->nodes[index].host,
        .device = device,
        .n_here = start->n_before + start->n_here,
        .joins = (int)start->joins,
        .argv = start->argv,
        .folder = agent->keeper.folder,
        .signals = &agent->old_signals,
        .input = open_input(agent, index, start->nodes[index].node),
        .life = agent->life[1],
    };
    struct spawned spawned;
    const char *what;
    int error;

    error = spawn_node(&request, &spawned, &what);
    descriptor_close(request.input);
    if (error != 0) {
        tell_failure(agent, index, error, what);
        return;
    }
    agent->nodes[index] =
        (struct agent_node){.pid = spawned.pid, .is_alive = 1};
    keeper_add(&agent->keeper, spawned.pid);
    mux_attach(&agent->mux, index, MUX_LINK, spawned.link);
    mux_attach(&agent->mux, index, MUX_OUT, spawned.out);
    mux_attach(&agent->mux, index, MUX_ERR, spawned.err);
    mux_send_number(&agent->mux, MUX_STARTED, index, (uint32_t)spawned.pid);
}

/** @param n  of nodes that all fail for this */
static void tell_failures(struct agent *agent, unsigned n, int error,
                          const char *what)
{
    for (unsigned i = 0; i < n; i++) {
        tell_failure(agent, i, error, what);
    }
}

/** An address of the connection that the agent was started by, as ssh or Slurm tells.
 * @param is_own  1: the one that this host was reached by, 0: the launcher's */
static void connection_address(int is_own, char *address, size_t size)
{
    const char *text = getenv("SSH_CONNECTION");
    const char *launcher = getenv("SLURM_LAUNCH_NODE_IPADDR");
    char words[2][64] = {""};

    if (text != NULL) {
        sscanf(text, "%63s %*s %63s", words[0], words[1]);
        snprintf(address, size, "%s", words[is_own]);
    } else if (launcher == NULL) {
        address[0] = '\0';
    } else if (is_own) {
        find_own_address(launcher, address, size);
    } else {
        snprintf(address, size, "%s", launcher);
    }
}

/** @return 0 if there is no card with the address; told */
static int choose_device(struct agent *agent, const struct remote_start *start,
                         char *device, size_t size)
{
    char address[64];
    char what[256];

    if (start->address[0] != '\0') {
        snprintf(address, sizeof address, "%s", start->address);
    } else {
        connection_address(1, address, sizeof address);
    }
    if (find_device(address, device, size)) {
        return 1;
    }
    snprintf(
        what, sizeof what,
        "find a network card with the address '%s'; give it one of its own "
        "with addr= in a hostfile",
        address);
    tell_failures(agent, start->n_here, ENODEV, what);
    return 0;
}

static int enter_folder(struct agent *agent, const struct remote_start *start)
{
    char what[512];
    int error;

    if (chdir(start->folder) == 0) {
        return 1;
    }
    error = errno;
    snprintf(what, sizeof what, "enter the directory %.400s", start->folder);
    tell_failures(agent, start->n_here, error, what);
    return 0;
}

static void say_alive(struct agent *agent, uint64_t now_ns)
{
    if (beat_is_due(&agent->beat, now_ns)) {
        mux_send(&agent->mux, MUX_BEAT, 0, NULL, 0);
    }
}

static int start_nodes(struct agent *agent, const struct remote_start *start)
{
    char device[32];

    agent->nodes = calloc(start->n_here, sizeof *agent->nodes);
    if (agent->nodes == NULL ||
        mux_make_channels(&agent->mux, start->n_here) != 0) {
        return 0;
    }
    agent->n_nodes = start->n_here;
    agent->beat.is_watched = start->n_here < start->n_nodes;
    for (char **variable = start->variables; *variable != NULL; variable++) {
        char *equals = strchr(*variable, '=');

        if (equals != NULL && equals != *variable) {
            *equals = '\0';
            setenv(*variable, equals + 1, 1);
        }
    }
    if (!enter_folder(agent, start) ||
        !choose_device(agent, start, device, sizeof device)) {
        return 1;
    }
    for (unsigned i = 0; i < start->n_here; i++) {
        start_node(agent, start, i, device);
        say_alive(agent, clock_now_ns()); // it is not in run_loop() for long
    }
    return 1;
}

/** @return 0 if it makes no sense */
static int take_start(struct agent *agent, const struct mux_frame *frame)
{
    struct remote_start start;
    char *bytes = malloc(frame->size);
    int done = 0;

    if (bytes == NULL || agent->n_nodes != 0) {
        free(bytes);
        return 0;
    }
    memcpy(bytes, frame->body, frame->size); // it is written to
    if (remote_start_get(bytes, frame->size, &start) == TM_OK) {
        done = start_nodes(agent, &start);
        remote_start_release(&start);
    }
    free(bytes);
    return done;
}

// ---- what the launcher says ----

static int take_signal(struct agent *agent, const struct mux_frame *frame)
{
    struct wire_reader reader = wire_read(frame->body, frame->size);
    int number = (int)wire_get_agent_number(&reader).number;

    if (frame->node >= agent->n_nodes) {
        return 0;
    }
    if (agent->nodes[frame->node].pid > 0) {
        kill(-agent->nodes[frame->node].pid, number);
    }
    // A launcher that is stopped is silent.
    if (number == SIGSTOP || number == SIGCONT) {
        agent->beat.is_paused = number == SIGSTOP;
    }
    return 1;
}

static int take_note(struct agent *agent, const struct mux_frame *frame)
{
    struct agent_node *node;

    if (frame->node >= agent->n_nodes) {
        return 0;
    }
    node = &agent->nodes[frame->node];
    if (node->is_alive) {
        oom_note(&node->oom, node->pid);
    }
    return 1;
}

static void kill_nodes(struct agent *agent)
{
    for (unsigned i = 0; i < agent->n_nodes; i++) {
        if (agent->nodes[i].pid > 0) {
            kill(-agent->nodes[i].pid, SIGKILL);
        }
    }
}

static char **copy_environment(void)
{
    size_t n = 0;
    char **copy;

    while (environ[n] != NULL) {
        n++;
    }
    copy = calloc(n + 1, sizeof *copy);
    for (size_t i = 0; copy != NULL && i < n; i++) {
        copy[i] = strdup(environ[i]);
    }
    return copy;
}

/** What START has set for nodes of before is not for others. */
static void restore_environment(const struct agent *agent)
{
    clearenv();
    for (char **variable = agent->environment;
         variable != NULL && *variable != NULL; variable++) {
        putenv(*variable);
    }
}

/** What nodes of before have heard is no news of now. */
static void forget_beats(struct agent *agent)
{
    uint8_t bytes[WIRE_SIZE_boot_number];

    while (recv(agent->life[0], bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
    }
}

/** The run goes back, and will have other nodes. */
static int take_again(struct agent *agent)
{
    kill_nodes(agent);
    keeper_clear(&agent->keeper, NULL, 0);
    forget_beats(agent);
    restore_environment(agent);
    mux_forget(&agent->mux);
    free(agent->nodes);
    agent->nodes = NULL;
    agent->n_nodes = 0;
    agent->beat.is_paused = 0;
    mux_send(&agent->mux, MUX_CLEAR, 0, NULL, 0);
    return 1;
}

static int obey(struct agent *agent, const struct mux_frame *frame)
{
    switch (frame->kind) {
    case MUX_START:
        return take_start(agent, frame);
    case MUX_SIGNAL:
        return take_signal(agent, frame);
    case MUX_NOTE:
        return take_note(agent, frame);
    case MUX_BYE:
        end(agent, 0);
        return 1;
    case MUX_BEAT:
        return 1;
    case MUX_AGAIN:
        return take_again(agent);
    default:
        return agent_memory_obey(&agent->mux, agent->keeper.folder, frame);
    }
}

static void hear(struct agent *agent)
{
    struct mux_frame frame;

    while (!agent->is_over && mux_next(&agent->mux, &frame)) {
        if (!obey(agent, &frame)) {
            agent->mux.is_broken = 1;
        }
    }
    if (agent->mux.is_broken || agent->mux.in < 0) {
        end(agent, EXIT_NODE_LOST);
    }
}

// ---- nodes that end, signals, time ----

static void look_for_deaths(struct agent *agent)
{
    for (unsigned i = 0; i < agent->n_nodes; i++) {
        struct agent_node *node = &agent->nodes[i];
        siginfo_t info = {0};
        uint8_t body[800];
        char oom_kill[700] = "";
        struct wire_writer writer = {.at = body, .end = body + sizeof body};

        if (!node->is_alive ||
            waitid(P_PID, (id_t)node->pid, &info,
                   WEXITED | WNOHANG | WNOWAIT) != 0 ||
            info.si_pid != node->pid) {
            continue;
        }
        node->is_alive = 0;
        mux_drain(&agent->mux, i); // its last words come before its end
        oom_explain(&node->oom, oom_kill, sizeof oom_kill);
        wire_put_agent_exit(&writer, &(struct wire_agent_exit){
                                         .code = (uint32_t)info.si_code,
                                         .status = (uint32_t)info.si_status,
                                         .oom_kill = oom_kill,
                                     });
        mux_send(&agent->mux, MUX_EXIT, i, body, (size_t)(writer.at - body));
    }
}

static void take_signals(struct agent *agent)
{
    struct signalfd_siginfo info;

    while (read(agent->signal_fd, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGCHLD) {
            look_for_deaths(agent);
        } else {
            end(agent, 128 + (int)info.ssi_signo);
        }
    }
}

/** What nodes here have heard of the launcher. Only what is news to all counts: I2 of
 * beat.c. */
static void hear_nodes(struct agent *agent)
{
    uint8_t bytes[WIRE_SIZE_boot_number];

    while (recv(agent->life[0], bytes, sizeof bytes, MSG_DONTWAIT) ==
           sizeof bytes) {
        struct wire_reader reader = wire_read(bytes, sizeof bytes);
        uint32_t number = wire_get_boot_number(&reader).number;

        if (number > agent->n_known_beats) {
            agent->n_known_beats = number;
            beat_hear_by_nodes(&agent->beat, &agent->launcher, 0);
        }
    }
}

static void look_at_clock(struct agent *agent, uint64_t now_ns)
{
    say_alive(agent, now_ns);
    beat_poll(&agent->beat, now_ns);
    beat_hear(&agent->beat, &agent->launcher, agent->mux.heard_ns);
    hear_nodes(agent);
    if (beat_of(&agent->beat, &agent->launcher) == BEAT_LOST) {
        log_error("the launcher has been silent for %.0f s: the nodes on this "
                  "host end",
                  beat_lost_s(&agent->beat));
        end(agent, EXIT_NODE_LOST);
    }
}

static void run_loop(struct agent *agent)
{
    struct pollfd *set = calloc(POLLED_MAX, sizeof *set);

    if (set == NULL) {
        end(agent, EXIT_MEMORY);
    }
    while (!agent->is_over) {
        size_t n_set = 1 + mux_n_polled(&agent->mux);
        uint64_t now_ns;

        set[0] = (struct pollfd){.fd = agent->signal_fd, .events = POLLIN};
        mux_fill(&agent->mux, &set[1]);
        if (poll(set, n_set, BEAT_POLL_MS) < 0) {
            continue; // EINTR
        }
        now_ns = clock_now_ns();
        mux_move(&agent->mux, &set[1], now_ns);
        take_signals(agent);
        hear(agent);
        look_at_clock(agent, now_ns);
    }
    free(set);
}

// ---- beginning and end ----

static int open_signals(struct agent *agent)
{
    static const int wanted[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    sigset_t set;

    sigemptyset(&set);
    for (unsigned i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        sigaddset(&set, wanted[i]);
    }
    agent->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    sigaddset(&set,
              SIGUSR1); // a batch system may send them to whole job steps:
    sigaddset(&set, SIGUSR2); // they are meant for the launcher
    sigprocmask(SIG_BLOCK, &set, &agent->old_signals);
    signal(SIGPIPE, SIG_IGN);
    return agent->signal_fd < 0 ? -1 : 0;
}

/** The connection gets numbers of its own: nobody else is to write there. */
static int open_connection(struct agent *agent)
{
    int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    int nothing = descriptor_open_null();

    if (in < 0 || out < 0 || nothing < 0) {
        return -1;
    }
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    close(nothing);
    mux_open(&agent->mux, in, out);
    return socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, agent->life);
}

static void say_hello(struct agent *agent)
{
    static struct node_card card;
    char launcher[64];
    uint8_t body[sizeof card.version + sizeof launcher];
    struct wire_writer writer = {.at = body, .end = body + sizeof body};

    node_card_set_version(&card);
    connection_address(0, launcher, sizeof launcher);
    wire_put_agent_hello(&writer,
                         &(struct wire_agent_hello){card.version, launcher});
    mux_send(&agent->mux, MUX_HELLO, 0, body, (size_t)(writer.at - body));
}

static void finish(struct agent *agent)
{
    kill_nodes(agent);
    keeper_finish(&agent->keeper);
    mux_close(&agent->mux);
    free(agent->nodes);
}

int command_agent(int argc, char **argv)
{
    struct agent agent = {.life = {-1, -1}};

    (void)argv;
    if (argc != 1 || isatty(STDIN_FILENO)) {
        fprintf(stderr, "teamster agent: \"teamster run\" starts it on other "
                        "hosts, for its own use\n");
        return EXIT_USAGE;
    }
    spawn_keep_cores_away();
    agent.environment = copy_environment();
    if (open_signals(&agent) != 0 || open_connection(&agent) != 0 ||
        keeper_start(&agent.keeper, 0, "") != 0) {
        log_error("the agent cannot start: %m");
        return EXIT_MEMORY;
    }
    log_set_speaker("agent");
    beat_start(&agent.beat);
    beat_expect(&agent.beat, &agent.launcher);
    say_hello(&agent);
    run_loop(&agent);
    finish(&agent);
    return agent.exit_code;
}
