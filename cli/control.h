// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_CONTROL_H
#define CLI_CONTROL_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The control socket of a running job: how `teamster ps`, `add` and `remove` talk to
 * its launcher. A socket of the user's (mode 0600) in a folder of the user's (0700):
 * $XDG_RUNTIME_DIR/teamster, or teamster-UID in $TMPDIR or /tmp. Its name is the
 * job's number, which is the launcher's process.
 *
 * Who connects writes one line:    ps | remove NODE | add [HOST] | checkpoint | watch |
 *                                  watch closely
 * and reads lines until the end:   text of what goes on, for the user
 *                                  "{...}": how the job stands, to who watches (watchers.h)
 *                                  "= CODE TEXT": how it has ended; the last one
 */

#define CONTROL_PATH_MAX 108u ///< as in struct sockaddr_un
#define CONTROL_LINE_MAX 256u
#define CONTROL_CLIENTS_MAX 8u

/** Somebody who has connected. */
struct control_client {
    int fd; ///< -1: nobody
    char line[CONTROL_LINE_MAX];
    size_t used;
    int has_asked; ///< its line has been taken; it waits for an answer
    unsigned node; ///< about which node
    uint32_t
        request; ///< which of several about it, if these are answered one by one
    enum watching {
        WATCHES_NOTHING,
        WATCHES, ///< it is told each second how the job stands, until it ends
        WATCHES_CLOSELY, ///< and what nodes tell then only
    } watches;
};

struct control {
    int fd; ///< -1: there is none
    char path[CONTROL_PATH_MAX];
    struct control_client clients[CONTROL_CLIENTS_MAX];
};

/** The folder of the user's control sockets.
 * @param[out] folder  [size]
 * @return 1, 0 if there is none that is the user's alone
 */
int control_folder(char *folder, size_t size, int make);

/** The path of a job's socket, "" if there is no folder for it.
 * @param[out] path  [CONTROL_PATH_MAX] */
void control_name(long job, char *path);

/** Someone is connected who watches closely, without having come by the socket.
 * @param fd  the control's then. @return 0: there is no room; it is closed */
int control_adopt(struct control *control, int fd);

/** Listen under a path. Without one, or if that cannot be, fd is -1: the run goes
 * on, but nobody can ask for changes. */
void control_open(struct control *control, const char *path);

/** Take the socket away, and its folder if it is empty. Answers nobody. */
void control_close(struct control *control);

/** For the keeper, too. */
void control_remove(const char *path);

// ---- jobs.c: the other end

/** @return a socket that is connected with a launcher, -1: nobody is there any more */
int job_connect(const char *path);

/** Connect with a job of the user's. @param job  its number, as it was given
 * @return a socket; -1: there is none, which is said */
int job_find(const char *command, const char *job);

/** The same; without one it is the only job of the user's on this machine.
 * @param job          NULL: the only one
 * @param[out] number  its number */
int job_find_or_only(const char *command, const char *job, long *number);

/** Of each job of the user's: its number as text, and a socket, which is the function's now. */
typedef void job_fn(void *owner, const char *job, int fd);
void jobs_each(job_fn *take, void *owner);

/** Send a request. @return 0 if that could not be done */
int job_ask(int fd, const char *request);

// ---- the launcher's end

/** Descriptors that control_fill() fills in. */
#define CONTROL_N_POLLED (1u + CONTROL_CLIENTS_MAX)
void control_fill(const struct control *control, struct pollfd *set);

/** What a client has asked for. */
typedef void control_request_fn(void *owner, struct control_client *client,
                                const char *line);

/** Take who comes and what they ask. @param set  as poll() left it */
void control_move(struct control *control, const struct pollfd *set,
                  control_request_fn *request, void *owner);

/** Write a line to a client, who may be gone. */
__attribute__((format(printf, 2, 3))) void control_say(
    struct control_client *client, const char *format, ...);

/** Does anybody watch in this way? */
int control_is_watched(const struct control *control, enum watching how);

/** Tell all who watch in this way. Who watches closely and has not read the line before is
 * not told this one, if it is not the last; who else has no room for it is dropped.
 * @param text  a line, with its newline */
void control_tell_watchers(struct control *control, enum watching how,
                           int is_last, const char *text, size_t size);

/** The last line; the client is gone then. */
__attribute__((format(printf, 3, 4))) void control_answer(
    struct control_client *client, int exit_code, const char *format, ...);

/** Give the same last line to all who wait for something about a node, but to those who
 * wait for one of them. */
void control_answer_askers(struct control *control, unsigned but_node,
                           int exit_code, const char *text);

/** The client that waits for something about a node, NULL if nobody does. */
struct control_client *control_asker(struct control *control, unsigned node);

/** One whose request is this one, or one before. */
struct control_client *control_asker_until(struct control *control,
                                           unsigned node, uint32_t request);

#endif
