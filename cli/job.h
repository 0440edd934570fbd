// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "cluster/bootstrap.h"
#include "control.h"
#include "held.h"
#include "hostfile.h"
#include "input.h"
#include "keeper.h"
#include "link.h"
#include "net/message.h"
#include "oom.h"
#include "output.h"
#include "progress.h"
#include "recovery.h"
#include "remote.h"
#include "remote_start.h"
#include "report_file.h"
#include "saving.h"
#include "shown.h"
#include "spawn.h"
#include "web.h"

/** What a run is doing; launch.c draws the transitions. */
enum job_phase {
    JOB_JOINING,    ///< cards are awaited; a plain program never sends one
    JOB_CONNECTING, ///< all have their cards, READY is awaited
    JOB_RUNNING,    ///< all are connected
    JOB_CLOSING,    ///< the program has ended in order: nodes but the root go
    JOB_STOPPING,   ///< all nodes must go
};

struct node {
    node_id id;
    uint16_t host;      ///< 0: the launcher's own, else remote.hosts[host - 1]
    uint16_t index;     ///< among the nodes of remote.hosts[host - 1]
    uint16_t group;     ///< of nodes that share memory
    int has_neighbours; ///< it was started to share memory with others
    const char *host_name; ///< as the user has given it; NULL: not at all
    char name[320];        ///< for messages: "node 2 (pid 17)", "n3 (node 2)"
    pid_t pid; ///< and its process group; not reaped before the run's end
    int is_alive;
    int has_card;
    int is_ready;
    int has_left;    ///< it has said DONE
    int is_leaving;  ///< it is no member any more: change.c
    int is_guest;    ///< not a member yet; its end is not the run's: change.c
    int owes_peered; ///< it is not connected with the guest yet
    uint64_t cut_ns; ///< when its link closed; 0: it has not
    struct wire_boot_progress told; ///< what it said lately
    struct shown_node shown;        ///< and to who looks closely
    int code; ///< of its end: waitid()'s, 0: there was none
    int status;
    struct oom_watch oom;  ///< of a process of this machine
    char oom_kill[700];    ///< how the kernel has killed it for memory, or ""
    int is_suspect;        ///< it is silent, and that has been said
    uint64_t suspected_ns; ///< when it was said
    int is_lost;           ///< another node has given it up
    int is_silent;         ///< because nothing was heard of it
    int is_put_down; ///< signalled by the launcher: its death tells nothing
    struct link link;
    struct node_card card;
    struct stream out;
    struct stream err;
};

/** A run, from the first fork() to the exit code. */
struct job {
    enum job_phase phase;
    int exit_code;
    int is_consequence; ///< exit_code tells of another node's death, which
                        ///< may be seen only later
    struct node *nodes; ///< [TM_MAX_NODES]
    unsigned n_nodes;   ///< that were asked for, with those that have joined
    const struct launch_plan *plan;
    struct control control;
    int uses_tcp;          ///< some nodes share no memory, or a guest did not
    int has_guest;         ///< the node that was started last is one
    uint64_t guest_due_ns; ///< when it is given up; 0: it is not
    unsigned n_changes;    ///< nodes that have joined or left
    unsigned n_started;
    unsigned n_alive;
    unsigned n_cards;
    unsigned n_ready;

    uint64_t start_ns;
    uint64_t deadline_ns; ///< of joining or connecting; 0: none
    uint64_t stop_ns;     ///< when closing or stopping began
    int stop_step;        ///< signals sent since: 0 none, 1 SIGTERM, 2 SIGKILL
    double polled_s;   ///< the last round of the loop, by a clock that goes on
                       ///< while the machine sleeps
    double away_s;     ///< for so long there was no round; 0: never for long
    double back_s;     ///< when that was over
    uint64_t ended_ns; ///< when the last node ended; 0: some live
    uint64_t lost_ns;  ///< when a node was lost, in a run that goes back
    double slowdown;   ///< TM_TEST_SLOWDOWN

    struct remote remote; ///< the other hosts
    uint8_t *key; ///< [BOOT_KEY_SIZE] for what travels between hosts, secret;
                  ///< NULL: all nodes are on one
    struct sink out;
    struct sink err_apart; ///< if stderr is not the same file
    struct sink *err;
    struct held held; ///< --output=held
    struct input input;
    struct keeper keeper;
    struct progress progress;
    struct shown shown;
    pid_t web_pid;         ///< serves the live page; 0: there is none
    uint64_t watch_due_ns; ///< when who watches is told next
    int signal_fd;
    sigset_t old_signals;
    unsigned n_threads_lost; ///< as losses_describe() has told
    struct buffer said;      ///< by job_say(), with a '\0' behind each line
    struct report_findings findings; ///< of the root
    struct recovery recovery;        ///< --recover
    struct saving saving;
};

/** The root, node 0. */
static inline int node_is_root(const struct node *node)
{
    return node->id == 0;
}

/** What is asked for. */
struct launch_plan {
    unsigned n_nodes;
    char **argv;    ///< program and arguments, NULL at the end
    char **options; ///< words that stood before them, NULL at the end
    const struct host
        *hosts;            ///< [n_nodes] of --hosts or the hostfile; NULL: none
    int is_slow_by_kernel; ///< nodes with a share of a processor get that by a
                           ///< control group
    int is_spread;         ///< hosts that are not this machine are others
    const char *ssh;       ///< words that reach them
    const char *status_file; ///< how it ended goes there; "none": nowhere
    const struct web *web;   ///< a live page that can be served; NULL: none
    const char *report;      ///< where the time went, likewise
    enum progress_when progress;
    int is_tagged;
    int is_verbose;
    int hosts_are_others;    ///< not emulated here
    const char *checkpoints; ///< their folder; "": there is none
    int is_in_memory;        ///< they are in that of hosts
    int is_tried; ///< nobody has asked for these: what is not there is not missed
    unsigned save_before_s;     ///< of --checkpoint-before; 0: none
    const char *restart;        ///< the folder of --restart; "none": none
    unsigned n_recoveries;      ///< of --recover; 0: none
    int is_output_held;         ///< until a checkpoint is behind it
    const struct hosts *spares; ///< that take the place of lost ones, in order
};

/* job.c: what may be asked of a run */

/** TM_TEST_SLOWDOWN, 1 without. */
double job_slowdown(void);

/** Send a signal to all of a node's processes. */
void job_signal(struct job *job, const struct node *node, int signal);

/** A line on stderr, behind all that nodes have written so far. */
__attribute__((format(printf, 2, 3))) void job_say(struct job *job,
                                                   const char *format, ...);

/** What a node is called in tables: as hostfiles call it, else by its number. */
#define NODE_NAME_MAX 64u
void job_name_node(const struct job *job, unsigned node, char *name,
                   size_t size);

/** Seconds since the start. */
double job_seconds(const struct job *job);

/** The time, of clock_now_ns(), in so many seconds; more on slow machines. */
uint64_t job_in_ns(const struct job *job, double seconds);

/** Does somebody else's end make a difference still? */
int job_is_open(const struct job *job);

/** End all nodes: STOP now, SIGTERM and SIGKILL later. The first call counts. */
void job_stop(struct job *job, int signal, int exit_code);

/** The same, with a reason for the nodes that wait to join; says it too. */
void job_refuse(struct job *job, int exit_code, const char *text);

/** The root has ended the program in order: the other nodes may go. */
void job_close(struct job *job);

/** Nodes have ended: take what they have written still, and close what leads to them.
 * @param end  stream_close() or stream_forget(): with half a line, or without */
void job_end_streams(struct job *job, void (*end)(struct stream *stream));

/** Say why to a node that waits to join. */
void job_send_refusal(struct node *node, int exit_code, const char *text);

/* cards.c: what nodes get to know of each other */

/** Write down the job's key; zeros if all nodes share memory. */
void cards_put_key(const struct job *job, struct wire_writer *writer);

/** Write down a node's card as nodes get it: without its texts, which are the launcher's affair.
 * @param at  [room] @return bytes */
size_t cards_encode(struct node *node, uint8_t *at, size_t room);

/** Give nodes `first` to n_nodes - 1 the cards of n_nodes.
 * @return 0; -1 without memory (told, the run ends) */
int cards_send(struct job *job, unsigned first, unsigned n_nodes);

/* start_nodes.c: the beginning */

/** Prepare all but the nodes. @return 0, or an exit code on failure (told) */
int job_open(struct job *job, const struct launch_plan *plan);

/** Start the nodes. If one cannot be started the job stops at once (told). */
void job_start_nodes(struct job *job, const struct launch_plan *plan);

/** A node has started. @param host  as the user has said it; NULL: not at all */
struct node *job_adopt(struct job *job, const struct spawned *spawned,
                       const struct host *host);

/* guest.c: a node that is to join is started */

/** How long a guest may take from its start until it is connected. */
#define GUEST_JOIN_S 30

/** Start one for who has asked, who is answered if that cannot be. What comes of it
 * is told to change.c.
 * @param host  a name; "": this machine */
void guest_start(struct job *job, struct control_client *client,
                 const char *host);

/** The agent of a guest's host may have said something. */
void guest_poll(struct job *job);

/** The host of a guest has had its time. */
void guest_time_out(struct job *job);

/* change.c: nodes come and go */

/** A guest has not said what it is to say in time. */
void change_time_out(struct job *job);

/** What a user asks for: the control_request_fn. */
void change_request(void *owner, struct control_client *client,
                    const char *line);

/** A guest has given its card, is connected. */
void change_take_card(struct job *job, struct node *guest);
void change_take_ready(struct job *job, struct node *guest);

/** Another node is connected with the guest; the root says how far a change is. */
tm_status change_take_peered(struct job *job, struct node *node,
                             const struct link_frame *frame);
tm_status change_take_report(struct job *job, const struct link_frame *frame);

/** The process of a guest, or of a node that has said DONE, has ended.
 * @param why  in a few words */
void change_guest_ended(struct job *job, struct node *guest, const char *why);
void change_left(struct job *job, struct node *node);

/* rendezvous.c: what nodes say over their links */

/** Take and obey what a node has said. */
void rendezvous_hear(struct job *job, struct node *node);

/** A node has ended before it joined: is this a plain program on all nodes, or
 * do some wait for it? */
void rendezvous_check_mixture(struct job *job);

/** Joining or connecting has taken too long. */
void rendezvous_time_out(struct job *job);

/** The run is over: say so if it was none, for no node has come to tm_init(). */
void rendezvous_tell_strangers(struct job *job);

/* losses.c: what is said of nodes that are silent or lost */

/** PROGRESS and PEER have come from a node. */
tm_status losses_take_progress(struct node *node,
                               const struct link_frame *frame);
tm_status losses_take_peer(struct job *job, const struct node *node,
                           const struct link_frame *frame);

/** A host has not been heard for so many seconds; 0: it is heard again. */
void losses_suspect_host(struct job *job, unsigned host, double seconds);

/** A round of the launcher's loop: has it been stopped since the last one? */
void losses_poll(struct job *job);

/** Has it been stopped, a short time ago? */
int losses_was_away(const struct job *job);

/** Is the launcher's own absence the cause of what has just been seen? Then it is told,
 * and the run ends. */
int losses_are_own(struct job *job);

/** Iterations that have ended, as far as it is known. */
uint64_t losses_n_iterations(const struct job *job);

/** "after 41.2 s, iteration 17", as far as it is known. */
void losses_describe_time(const struct job *job, char *text, size_t size);

/** "after 41.2 s, iteration 17. 8 of 32 threads lost.", as far as it is known.
 * @param n_threads  that were on what is lost */
void losses_describe(struct job *job, unsigned n_threads, char *text,
                     size_t size);

/* run_end.c: what ends a run */

/** A host with nodes of the run is lost; says so, once. */
void job_lose_host(struct job *job, unsigned host, const char *why);

/** Send SIGKILL to all at once. */
void job_kill(struct job *job);

/** A node's process has ended; code and status are waitid()'s. */
void job_judge(struct job *job, struct node *node, int code, int status);

/** Do what is due. */
void job_advance(struct job *job, uint64_t now_ns);

/** When something will be due next; UINT64_MAX: never. */
uint64_t job_due_ns(const struct job *job);

/* remote_open.c: other hosts, before nodes run */

/** Reach all other hosts of the plan and start their nodes.
 * @return 0, or an exit code (told) */
int remote_open(struct job *job, const struct launch_plan *plan);

/** What spawn_node() would tell of a node of another host.
 * @param input  its standard input, which becomes remote.c's; -1: none */
void remote_adopt(struct job *job, unsigned node, int input,
                  struct spawned *spawned);

/** Say to a node of this machine where it is. */
void remote_place(const struct job *job, struct spawn_request *request);

/** Make the key of the job, if there is none. @return 0, -1 */
int remote_make_key(struct job *job);

/** Find the card by which the other hosts reach this one.
 * @param address  one that this machine has; "": as an agent has seen it
 * @return 0, -1 with the address in `why` that no card has */
int remote_find_device(struct job *job, const char *address, char *why,
                       size_t size);

/** One more host: of a plan, or of a guest. It may be there already.
 * @param host  outlives it */
struct remote_host *remote_add_host(struct remote *remote,
                                    const struct host *host);

/** A node is to be on a host. @param given  outlives it */
void remote_add_node(struct remote_host *host, unsigned node,
                     const struct host *given);

/** Take what ssh and the agent have said, up to STARTED and FAILED. */
void remote_hear(const struct remote *remote, struct remote_host *host);

/** Wait until all hosts are settled, and listen to them meanwhile, or until the time is over.
 * @param what  that is waited for, to be said of hosts that are slow; NULL: it is not
 * @return 0; or an exit code: a signal ends it */
int remote_wait(struct job *job, int (*is_settled)(const struct remote_host *),
                const char *what, double seconds);

/** Have agents that have said HELLO start their nodes.
 * @param hosts  [n]
 * @param start  what is said of all of them; the rest is filled in
 * @return 0, -1 without memory or descriptors */
int remote_send_start(const struct job *job, struct remote_host *hosts,
                      unsigned n, struct remote_start *start);

/** Room for why a host is no use. */
#define EXPLAINED_MAX 900

/** Why a host is no use. @param[out] text  [size] */
void remote_explain_unreachable(const struct job *job,
                                const struct remote_host *host, char *text,
                                size_t size);
void remote_explain_not_started(const struct job *job,
                                const struct remote_host *host, char *text,
                                size_t size);

/* remote_ssh.c: how they are reached */

/** Start the agent of a host through ssh, the words of a command.
 * @return 0, -1 with errno set */
int remote_start_ssh(struct job *job, struct remote_host *host,
                     const char *ssh);

/** What is written before a host's name for that command: "", or an option. */
const char *remote_host_option(const char *command);

/** Take what ssh and the agent have written to stderr. */
void remote_hear_words(struct remote_host *host);

/** The last line of it; "" if there is none. @param[out] line  [size] */
void remote_last_words(struct remote_host *host, char *line, size_t size);

/* remote.c: the connections to other hosts */

size_t remote_n_polled(const struct remote *remote);
void remote_fill(const struct remote *remote, struct pollfd *set);
void remote_move(struct remote *remote, const struct pollfd *set,
                 uint64_t now_ns);

/** A host has been silent for too long before its nodes run: says so in `why`. */
void remote_give_up(const struct remote *remote, struct remote_host *host);

/** What ssh and the agent complain about goes where our own words go. */
void remote_pass_words_on(struct job *job, struct remote_host *host);

/** Nobody is needed on that host any more, whatever it answers. */
void remote_retire(struct remote_host *host);

/** A node of another host has given its card. */
void remote_note(struct job *job, const struct node *node);

/** A node has told how long ago it has heard others (HEARD). */
tm_status remote_take_heard(struct job *job, const struct link_frame *frame);

/** When remote_poll() is due; UINT64_MAX: never. */
uint64_t remote_due_ns(const struct remote *remote);

/** End what is left on the other hosts. Waits for them, but not for long: those that do not
 * answer are lost. */
void remote_finish(struct job *job);

/** The run goes back: agents end what is left on their hosts, and stay. As remote_finish() for
 * those that are of no use, or do not answer. @param is_of_no_use  [hosts] */
void remote_clear(struct job *job, const uint8_t *is_of_no_use);

/** Then: forget the others. Hosts have other numbers, and no nodes. */
void remote_keep_clear(struct remote *remote);

/** Who leads to those that stay. @param[out] pids  [hosts] @return how many */
unsigned remote_list_reachers(const struct remote *remote, pid_t *pids);

/** Forget them, with their names. */
void remote_release(struct job *job);

/* remote_poll.c: other hosts, while nodes run */

/** Obey what has come from the agents; look for hosts that are lost. */
void remote_poll(struct job *job, uint64_t now_ns);

/* status_file.c: the end in machine form */

/** With --status-file, write it. What cannot be written is told. */
void status_file_write(struct job *job);

/* run_report.c: where the time went */

/** A part of what the root has found has come. */
tm_status run_report_take(struct job *job, const struct link_frame *frame);

/** With --report, write it. What cannot be written is told. */
void run_report_write(struct job *job);

/* launch.c */

/** Run it. @return the exit code */
int launch(const struct launch_plan *plan);

#endif
