// SPDX-License-Identifier: BSD-3-Clause
//
// The launcher's end of the control socket; control.h says what is said there.
//
// C1 Only the user, or root, is listened to: the folder is the user's alone, and the
//    kernel tells who is at the other end (SO_PEERCRED).
// C2 Nothing here blocks. A client that does not read loses what does not fit; who watches
//    closely has at most one line unread, and the last one.
// C3 The socket goes with the run: the launcher takes it away, or the keeper if the
//    launcher was killed; who finds one that nobody listens at takes it away too.
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sockios.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/descriptor.h"

/** Room for two of the longest lines, of hundreds of nodes; the system may allow less. */
#define LINES_ROOM (4 << 20)

static int is_private(const char *folder)
{
    struct stat info;

    return lstat(folder, &info) == 0 && S_ISDIR(info.st_mode) &&
           info.st_uid == geteuid() && (info.st_mode & 077) == 0;
}

static int try_folder(const char *folder, int make)
{
    if (make && mkdir(folder, 0700) != 0 && errno != EEXIST) {
        return 0;
    }
    return is_private(folder);
}

int control_folder(char *folder, size_t size, int make)
{
    const char *runtime_dir = getenv("XDG_RUNTIME_DIR");
    const char *temporary = getenv("TMPDIR");
    char in_tmp[64];

    if (runtime_dir != NULL && runtime_dir[0] == '/' &&
        is_private(runtime_dir)) {
        int n = snprintf(folder, size, "%s/teamster", runtime_dir);

        if (n > 0 && (size_t)n < size && try_folder(folder, make)) {
            return 1;
        }
    }
    snprintf(in_tmp, sizeof in_tmp, "/teamster-%u", (unsigned)geteuid());
    if (temporary == NULL || temporary[0] != '/' ||
        strlen(temporary) + strlen(in_tmp) + 24 > CONTROL_PATH_MAX) {
        temporary = "/tmp";
    }
    snprintf(folder, size, "%s%s", temporary, in_tmp);
    return try_folder(folder, make);
}

void control_name(long job, char *path)
{
    char folder[CONTROL_PATH_MAX];
    int n = -1;

    if (control_folder(folder, sizeof folder, 1)) {
        n = snprintf(path, CONTROL_PATH_MAX, "%s/%ld", folder, job);
    }
    if (n < 0 || (size_t)n >= CONTROL_PATH_MAX) {
        path[0] = '\0';
    }
}

void control_remove(const char *path)
{
    char folder[CONTROL_PATH_MAX];
    char *slash;

    if (path[0] == '\0') {
        return;
    }
    unlink(path);
    snprintf(folder, sizeof folder, "%s", path);
    slash = strrchr(folder, '/');
    if (slash != NULL) {
        *slash = '\0';
        rmdir(folder); // not if other jobs have theirs in it
    }
}

// The name of a socket until it listens. @return 0 if there is no room for it
static int name_before(char *name, size_t size, const char *path)
{
    const char *last = strrchr(path, '/');

    return last != NULL &&
           (size_t)snprintf(name, size, "%.*s/.%s", (int)(last - path), path,
                            last + 1) < size;
}

// It gets its name when it listens: who finds one that does not takes it away (C3).
static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t mask;
    int is_done;

    if (fd < 0 ||
        !name_before(address.sun_path, sizeof address.sun_path, path)) {
        descriptor_close(fd);
        return -1;
    }
    unlink(address.sun_path); // of a process that had this number before
    mask = umask(0177);
    is_done = bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
              listen(fd, 8) == 0 && rename(address.sun_path, path) == 0;
    umask(mask);
    if (!is_done) {
        int error = errno;

        unlink(address.sun_path);
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

void control_open(struct control *control, const char *path)
{
    char again[CONTROL_PATH_MAX];

    *control = (struct control){.fd = -1};
    for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
        control->clients[i].fd = -1;
    }
    if (path[0] == '\0') {
        return;
    }
    snprintf(control->path, sizeof control->path, "%s", path);
    control->fd = listen_at(path);
    if (control->fd < 0 && errno == ENOENT) { // its folder has gone with a job
        control_name((long)getpid(), again);
        control->fd = listen_at(path);
    }
}

static void drop(struct control_client *client)
{
    descriptor_close(client->fd);
    *client = (struct control_client){.fd = -1};
}

void control_close(struct control *control)
{
    for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
        if (control->clients[i].watches) {
            control_answer(&control->clients[i], 0, "the job has ended");
        } else if (control->clients[i].fd >= 0 &&
                   control->clients[i].has_asked) {
            control_answer(&control->clients[i], 75,
                           "the job has ended before that");
        }
        drop(&control->clients[i]);
    }
    if (control->fd >= 0) {
        close(control->fd);
        control_remove(control->path);
    }
    control->fd = -1;
}

void control_fill(const struct control *control, struct pollfd *set)
{
    set[0] = (struct pollfd){.fd = control->fd, .events = POLLIN};
    for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
        set[1 + i] =
            (struct pollfd){.fd = control->clients[i].fd, .events = POLLIN};
    }
}

// C1
static int is_users(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

static void make_room(int fd)
{
    const int size = LINES_ROOM;

    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
}

static void take_client(struct control *control)
{
    int fd = accept4(control->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    make_room(fd);
    for (unsigned i = 0; fd >= 0 && i < CONTROL_CLIENTS_MAX; i++) {
        if (control->clients[i].fd < 0 && is_users(fd)) {
            control->clients[i] = (struct control_client){.fd = fd};
            return;
        }
    }
    descriptor_close(fd);
}

int control_adopt(struct control *control, int fd)
{
    make_room(fd);
    for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
        if (control->clients[i].fd < 0) {
            control->clients[i] =
                (struct control_client){.fd = fd,
                                        .has_asked = 1,
                                        .node = UINT_MAX,
                                        .watches = WATCHES_CLOSELY};
            return 1;
        }
    }
    close(fd);
    return 0;
}

static void hear(struct control_client *client, control_request_fn *request,
                 void *owner)
{
    ssize_t n = recv(client->fd, client->line + client->used,
                     sizeof client->line - 1 - client->used, MSG_DONTWAIT);
    char *end;

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0) { // it has gone, or its line is too long
        drop(client);
        return;
    }
    client->used += (size_t)n;
    client->line[client->used] = '\0';
    end = strchr(client->line, '\n');
    if (end != NULL && !client->has_asked) {
        *end = '\0';
        client->has_asked = 1;
        request(owner, client, client->line);
    }
}

void control_move(struct control *control, const struct pollfd *set,
                  control_request_fn *request, void *owner)
{
    for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
        if (set[1 + i].fd >= 0 && set[1 + i].revents != 0 &&
            control->clients[i].fd == set[1 + i].fd) {
            hear(&control->clients[i], request, owner);
        }
    }
    if (control->fd >= 0 && set[0].revents != 0) {
        take_client(control);
    }
}

static void write_line(struct control_client *client, const char *text)
{
    ssize_t sent =
        send(client->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);

    (void)sent; // C2
}

void control_say(struct control_client *client, const char *format, ...)
{
    char text[512];
    va_list arguments;
    int n;

    if (client == NULL || client->fd < 0) {
        return;
    }
    va_start(arguments, format);
    n = vsnprintf(text, sizeof text - 1, format, arguments);
    va_end(arguments);
    n = n < (int)sizeof text - 2 ? n : (int)sizeof text - 2;
    text[n] = '\n';
    text[n + 1] = '\0';
    write_line(client, text);
}

int control_is_watched(const struct control *control, enum watching how)
{
    for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
        if (control->clients[i].fd >= 0 && control->clients[i].watches == how) {
            return 1;
        }
    }
    return 0;
}

// It has not read the line before. The next one says as much, so this one can be spared.
static int is_behind(const struct control_client *client)
{
    int n_unread = 0;

    return client->watches == WATCHES_CLOSELY &&
           ioctl(client->fd, SIOCOUTQ, &n_unread) == 0 && n_unread > 0;
}

void control_tell_watchers(struct control *control, enum watching how,
                           int is_last, const char *text, size_t size)
{
    for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
        struct control_client *client = &control->clients[i];

        if (client->fd >= 0 && client->watches == how &&
            (is_last || !is_behind(client)) &&
            send(client->fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL) !=
                (ssize_t)size) {
            drop(client); // half a line would be none: C2
        }
    }
}

void control_answer(struct control_client *client, int exit_code,
                    const char *format, ...)
{
    char text[480];
    va_list arguments;

    if (client == NULL || client->fd < 0) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    control_say(client, "= %d %s", exit_code, text);
    drop(client);
}

void control_answer_askers(struct control *control, unsigned but_node,
                           int exit_code, const char *text)
{
    for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
        struct control_client *client = &control->clients[i];

        if (client->fd >= 0 && client->has_asked && client->node != but_node &&
            client->watches == WATCHES_NOTHING) {
            control_answer(client, exit_code, "%s", text);
        }
    }
}

struct control_client *control_asker(struct control *control, unsigned node)
{
    return control_asker_until(control, node, UINT32_MAX);
}

struct control_client *control_asker_until(struct control *control,
                                           unsigned node, uint32_t request)
{
    for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
        struct control_client *client = &control->clients[i];

        if (client->fd >= 0 && client->has_asked && client->node == node &&
            client->request <= request) {
            return client;
        }
    }
    return NULL;
}
