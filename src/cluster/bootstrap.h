// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLUSTER_BOOTSTRAP_H
#define CLUSTER_BOOTSTRAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "cluster/host_ring.h"
#include "cluster/node_capacity.h"
#include "net/wire.h"

/*
 * How a node and the launcher talk: one stream socket a node, inherited, its
 * number in TEAMSTER_BOOT_FD; TEAMSTER_NODE and TEAMSTER_NODES say which node of
 * how many, TEAMSTER_FOLDER a folder in memory that goes with the run (net/ucx.c
 * takes it; it may not be set), and TEAMSTER_PLACE, if not all nodes are on one host,
 * how many are on its host, and the network card that leads to the others: "2 eth0"
 * (or "-": there are none). TEAMSTER_NAME is what the user calls it, if there is such a
 * name. TEAMSTER_JOINS is set for a node that comes while the
 * program runs, to the roster epoch that it will be in.
 * TEAMSTER_LIFE_FD is the number of a socket to the agent of the host, if an agent has
 * started the node: it sends there what LIFE, or another node, has told of the launcher,
 * u32.
 * Frames: length u32, which counts what is behind it, kind u8, then what boot_frames.def
 * says, which has them all.
 *
 * A node gives its CARD and gets all CARDS, or is REFUSED. When it is connected to the
 * others it is READY, and GOes when all are. While the program runs, nodes may come and go.
 * A node that comes gets CARDS in which those who have left have host 65535 and no card;
 * the others get NEWCOMER and say when they have PEERED; then the root is to ADMIT it, as it
 * is to REMOVE one that leaves, and REPORTs how far that is.
 *
 * The launcher keeps its end open: end of file on it means that the launcher is
 * gone, and the node ends itself. The other way round, end of file before DONE
 * means that the node is lost.
 *
 * A node that mpirun or srun has started has no launcher: boot_pmix.c.
 */

/** Raised with every change of net/messages.def or boot_frames.def, of whose rows the checksum
 * behind it is: tools/check_wire_version.py says the next line. */
#define WIRE_VERSION 51u // rows 332942f6d048

/** In CARDS and NEWCOMER texts are empty: the launcher has compared them. */
struct node_card {
    char version[32];     ///< from node_card_set_version()
    char build_id[64];    ///< of the program
    uint64_t layout_hash; ///< of its mappings
    uint64_t canary;      ///< the stack protector's; the root's is used by all
    uint32_t page_size;
    uint32_t pid;
    char options[128];             ///< protocol, stack size: what must be equal
    struct node_capacity capacity; ///< what it has to offer
    uint32_t address_size;
    uint8_t address[4096]; ///< of the transport
    char layout[16384];    ///< image_layout()'s text, or "": for the launcher's
                           ///< message if nodes differ
};

#define BOOT_KEY_SIZE 32u

/** Descriptors that a launcher, an agent or a node may need in a run of n nodes. */
#define BOOT_DESCRIPTORS(n) (64u + 8u * (n))

struct boot_pmix;

struct bootstrap {
    struct boot_pmix *pmix;    ///< until bootstrap_ready(), if that is PMIx
    int fd;                    ///< of the launcher; -1: there is none
    int life_fd;               ///< of the agent; -1: there is none
    int is_to_show;            ///< more, as SHOW has told last
    uint32_t n_launcher_beats; ///< the highest number that LIFE has told
    node_id self;
    unsigned n_nodes;
    unsigned n_here; ///< nodes on this host, self included
    uint32_t joins;  ///< 0; the run is going on already: the roster epoch then
    char device[32]; ///< the card that leads to other hosts; "": all nodes
                     ///< are on this host
    char name[64];   ///< what the user calls this node; "": just its number
};

/** What a node keeps of another one's card: a card has room for 20 KB, and there are as many as
 * pairs of nodes. */
struct boot_member {
    struct node_capacity capacity;
    uint64_t canary;
    uint32_t pid;
    uint32_t address_size;
    uint8_t *address; ///< [address_size]; free() it
};

/** What all nodes learn of all, and nobody else. */
struct boot_roster {
    uint8_t *job_key;            ///< [BOOT_KEY_SIZE], secret; zeros on one host
    struct boot_member *members; ///< [n_nodes]  zeros of those who have left
    uint16_t *host_of; ///< [n_nodes]  equal for nodes that share memory
};

/** Was this process started to be a node, but by no launcher of ours? Reads
 * variables only. */
int bootstrap_is_by_others(void);

/** Is it node 0 then? Reads variables only. */
int bootstrap_is_root_by_others(void);

/** Set a variable, TEAMSTER_STACK, that does nothing but be long: the kernel lays
 * variables above the stack of main(), so that one begins lower. For who is about to
 * become the root, see os/main_stack.h. */
void bootstrap_lower_stack(void);

/** Read the variables and take the socket, or, if mpirun or srun has started this
 * process, meet the other nodes through PMIx. Without either: node 0 of 1. Unsets
 * the variables and sets close-on-exec, so that children know nothing of it.
 * @return TM_OK, TM_ECONFIG (logged)
 * @return TM_EMISMATCH, TM_EPEER  PMIx only (told) */
TM_CHECKED tm_status bootstrap_open(struct bootstrap *bootstrap);

/** Give the own card, get all.
 * @param roster  its arrays are the caller's, zeros, and filled in
 * @return TM_OK
 * @return TM_ENOMEM, TM_EWIRE (logged)
 * @return TM_EMISMATCH, TM_EPEER  nodes differ, or one is lost (the user was told)
 * Blocks until all nodes have done the same; the launcher has a deadline. */
TM_CHECKED tm_status bootstrap_exchange(struct bootstrap *bootstrap,
                                        const struct node_card *card,
                                        const struct boot_roster *roster);

/** The host of a node that has left. */
#define BOOT_NO_HOST 65535u

/** Say that this node is connected, wait until all are. */
TM_CHECKED tm_status bootstrap_ready(struct bootstrap *bootstrap);

/** Will somebody end the other nodes if this one fails? */
int bootstrap_has_launcher(const struct bootstrap *bootstrap);

/** Tell the launcher that the program has ended, or that it fails here. Does
 * nothing without a launcher. Async-signal-safe. */
void bootstrap_done(const struct bootstrap *bootstrap, int exit_code);
void bootstrap_failed(const struct bootstrap *bootstrap, int exit_code);

enum boot_kind {
#define FRAME(number, name, way, meaning, body) BOOT_##name = (number),
#include "cluster/boot_frames.def"
};

#define RECORDS "cluster/boot_frames.def"
#include "net/records.h"

/** Tell the launcher how far this node is. May be lost if the launcher does not
 * read. Does nothing without a launcher, as the next. */
void bootstrap_tell_progress(const struct bootstrap *bootstrap,
                             const struct wire_boot_progress *progress);

/** The most that bootstrap_tell_findings() takes: less than the kernel cuts. */
#define BOOT_FINDINGS_MAX 4096u

/** On the root: tell the launcher a part of what the run's report is made of. Waits until the
 * launcher takes it. @param size  at most BOOT_FINDINGS_MAX; 0: that was all */
void bootstrap_tell_findings(const struct bootstrap *bootstrap,
                             const char *text, size_t size);

/** Tell the launcher something else, which may be lost if it does not read. Does nothing
 * without one.
 * @param size  at most BOOT_FINDINGS_MAX */
void bootstrap_tell(const struct bootstrap *bootstrap, enum boot_kind kind,
                    const void *body, size_t size);

/** What a node hears of another one. */
enum boot_peer {
    BOOT_PEER_SUSPECT = 1, ///< nothing, for some seconds
    BOOT_PEER_BACK = 2,    ///< something again
    BOOT_PEER_LOST = 3,    ///< nothing for too long: the sender ends
};

#define BOOT_WHY_MAX 128u

/** Tell the launcher that the program changes what no checkpoint has. Context: a handler of a signal, too, on a
 * small stack. @param why  at most BOOT_WHY_MAX bytes */
void bootstrap_tell_outside(const struct bootstrap *bootstrap, const char *why);

/** Tell the launcher of another node. @param seconds  of silence */
void bootstrap_tell_peer(const struct bootstrap *bootstrap, node_id peer,
                         enum boot_peer what, unsigned seconds);

#define BOOT_HEARD_MAX HOST_RING_REACH

/** Tell the launcher how long ago others were heard. @param heard  [n] n <= BOOT_HEARD_MAX */
void bootstrap_tell_heard(const struct bootstrap *bootstrap,
                          const struct wire_boot_heard *heard, unsigned n);

/** Tell the agent, if there is one, which beat of the launcher's is known here. */
void bootstrap_tell_life(const struct bootstrap *bootstrap, uint32_t number);

enum bootstrap_event {
    BOOTSTRAP_NOTHING, ///< no whole frame yet
    BOOTSTRAP_GONE,    ///< the launcher has gone
    BOOTSTRAP_STOP,    ///< end now: something has gone wrong
    BOOTSTRAP_END,     ///< end in order: so has the run
    BOOTSTRAP_STATUS,
    BOOTSTRAP_SAVE,   ///< make a checkpoint
    BOOTSTRAP_HEARD,  ///< the launcher knows of BOOT_OUTSIDE
    BOOTSTRAP_SHOW,   ///< is_to_show has changed
    BOOTSTRAP_LIFE,   ///< n_launcher_beats may have become more
    BOOTSTRAP_CHANGE, ///< a node comes or goes: bootstrap_take_change()
};

/** What the launcher wants of a node when another comes or goes. */
struct boot_change {
    enum boot_kind kind; ///< BOOT_NEWCOMER, BOOT_ADMIT or BOOT_REMOVE
    node_id node;
    uint16_t host; ///< of BOOT_NEWCOMER, as the next two
    struct node_card card;
    uint8_t key[BOOT_KEY_SIZE]; ///< zeros if all are on one host
};

/** Take what BOOTSTRAP_CHANGE has announced. Reads to the end of the frame.
 * @param[out] change  set on success; has the job's key
 * @return TM_OK, TM_EPEER (the launcher has gone), TM_EWIRE, TM_ENOMEM */
TM_CHECKED tm_status bootstrap_take_change(struct bootstrap *bootstrap,
                                           struct boot_change *change);

/** This node is connected with another, or cannot be.
 * @param why  in a few words; "": it is */
void bootstrap_peered(const struct bootstrap *bootstrap, node_id node,
                      const char *why);

/** On the root: how far a change is. */
void bootstrap_report(const struct bootstrap *bootstrap, node_id node,
                      int comes, unsigned report, const char *text);

/** What the launcher has said since; does not block. Poll bootstrap->fd. */
enum bootstrap_event bootstrap_poll(struct bootstrap *bootstrap);

/** Does the launcher end this node, now or within a time? Blocks until it does,
 * at most so long.
 * @return 1 it does, or is gone; 0 the time has passed */
int bootstrap_is_ended(struct bootstrap *bootstrap, unsigned within_ms);

/* The launcher's side (cli/) uses these. */

#define BOOT_FRAME_MAX (8u * 1024u * 1024u)

/** Bytes of length and kind. */
#define BOOT_HEADER 5u

/** Room that any encoded card fits in. */
#define NODE_CARD_MAX (sizeof(struct node_card) + 64u)

/** @return 1 if a frame consists of what boot_frames.def says */
int boot_frame_is_good(enum boot_kind kind, const void *body, size_t size);

/** Write length and kind of a frame. @param[out] header  [BOOT_HEADER] */
void boot_header(uint8_t *header, enum boot_kind kind, size_t body_size);

/** Fill in this library's version and wire number: "0.1.0 wire 1". */
void node_card_set_version(struct node_card *card);

/** Encode and decode a card; decoding accepts any bytes.
 * @return the bytes written, 0 if there is not enough room
 * @return TM_OK, TM_EWIRE; then what is in the card means nothing */
size_t node_card_encode(const struct node_card *card, void *bytes, size_t room);
TM_CHECKED tm_status node_card_decode(const void *bytes, size_t size,
                                      struct node_card *card, size_t *used);

/** Compare two cards.
 * @param[out] text  [size] one line: what differs, both values, what to do; set
 *                   on failure only
 * @return TM_OK, TM_EMISMATCH */
TM_CHECKED tm_status node_card_compare(const struct node_card *a,
                                       const struct node_card *b,
                                       node_id node_a, node_id node_b,
                                       char *text, size_t size);

#endif
