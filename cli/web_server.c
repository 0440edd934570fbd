// SPDX-License-Identifier: BSD-3-Clause
//
// The process that serves the live page, by libmicrohttpd: its thread answers, this one reads
// the launcher's lines. Nothing that a browser does reaches the launcher, still less a node.
//
// X1 Without the token nothing is answered that is of the job: 403, in one line. The files of
//    the page are the same for all, and hold nothing.
// X2 Every answer carries the headers below: no script and no style but our own files, nobody
//    else's page around ours, no trace of the token at other servers.
#include "web.h"

#ifdef TM_HAS_MICROHTTPD

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "job_lines.h"
#include "os/descriptor.h"
#include "web_files.h"
#include "web_viewers.h"

#define END_NS UINT64_C(700000000) // for who looks to hear of the job's end
#define QUIET_NS                                                               \
    UINT64_C(500000000) // nobody takes any of it for so long: all stall
#define STALLED_S 60u   // then a viewer that takes nothing is closed
#define IDLE_S 5u // and any other connection, so that there is room for viewers

static const struct {
    const char *name;
    const char *value;
} headers[] = {
    // X2
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src "
     "'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
     "frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
};

struct server {
    const struct web *web;
    struct web_job *job;
    struct web_viewers *viewers;
    struct MHD_Daemon *daemon;
};

/** Who asks for something of the job. */
struct asked {
    struct server *server;
    struct MHD_Connection *connection;
};

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned code,
                             const char *type, struct MHD_Response *response)
{
    enum MHD_Result result;

    if (response == NULL) {
        return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type", type);
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        MHD_add_response_header(response, headers[i].name, headers[i].value);
    }
    if (code == MHD_HTTP_METHOD_NOT_ALLOWED) {
        MHD_add_response_header(response, "Allow", "GET, HEAD");
    }
    result = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned code,
                              const char *why)
{
    return reply(connection, code, "text/plain; charset=utf-8",
                 MHD_create_response_from_buffer(strlen(why),
                                                 (void *)(uintptr_t)why,
                                                 MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result reply_text(struct MHD_Connection *connection,
                                  const char *type, struct web_text *text)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        text->size, text->bytes, MHD_RESPMEM_MUST_COPY);

    return reply(connection, MHD_HTTP_OK, type, response);
}

// ---- the job

static const char of_json[] = "application/json";

static enum MHD_Result tell_now(const struct asked *asked)
{
    struct web_job *job = asked->server->job;
    struct web_text *text;
    enum MHD_Result result;

    pthread_mutex_lock(&job->mutex);
    text = web_job_now(job);
    result = text == NULL
                 ? refuse(asked->connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                          "nothing is known of the job yet\n")
                 : reply_text(asked->connection, of_json, text);
    web_text_release(text);
    pthread_mutex_unlock(&job->mutex);
    return result;
}

static enum MHD_Result tell_history(const struct asked *asked)
{
    struct web_job *job = asked->server->job;
    struct web_text *text;
    enum MHD_Result result;

    pthread_mutex_lock(&job->mutex);
    text = web_job_history(job);
    result = reply_text(asked->connection, of_json, text);
    web_text_release(text);
    pthread_mutex_unlock(&job->mutex);
    return result;
}

// The older format only for who does not take the other.
static int wants_open_metrics(struct MHD_Connection *connection)
{
    const char *accepted =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept");

    return accepted == NULL || strstr(accepted, "text/plain") == NULL ||
           strstr(accepted, "openmetrics") != NULL;
}

static enum MHD_Result tell_metrics(const struct asked *asked)
{
    struct web_job *job = asked->server->job;
    const int is_open = wants_open_metrics(asked->connection);
    struct web_text *text;
    enum MHD_Result result;

    pthread_mutex_lock(&job->mutex);
    text = web_job_metrics(job, is_open,
                           web_viewers_count(asked->server->viewers));
    result = reply_text(
        asked->connection,
        is_open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                : "text/plain; version=0.0.4; charset=utf-8",
        text);
    web_text_release(text);
    pthread_mutex_unlock(&job->mutex);
    return result;
}

static enum MHD_Result tell_events(const struct asked *asked)
{
    struct MHD_Response *response =
        web_viewers_add(asked->server->viewers, asked->connection);

    if (response == NULL) {
        return refuse(asked->connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                      "too many look at this job already\n");
    }
    MHD_set_connection_option(asked->connection, MHD_CONNECTION_OPTION_TIMEOUT,
                              STALLED_S);
    return reply(asked->connection, MHD_HTTP_OK, "text/event-stream", response);
}

/** What is of the job, and so wants the token: X1. */
static const struct {
    const char *path;
    enum MHD_Result (*tell)(const struct asked *asked);
} routes[] = {
    {"/api/now", tell_now},
    {"/api/history", tell_history},
    {"/api/events", tell_events},
    {"/metrics", tell_metrics},
};

// ---- who asks

// Takes as long whatever is given.
static int is_token(const char *given, const char *token)
{
    unsigned char differs = 0;

    if (given == NULL || strlen(given) != WEB_TOKEN_SIZE - 1) {
        return 0;
    }
    for (size_t i = 0; i < WEB_TOKEN_SIZE - 1; i++) {
        differs |= (unsigned char)(given[i] ^ token[i]);
    }
    return differs == 0;
}

static int may_ask(struct MHD_Connection *connection, const char *token)
{
    static const char bearer[] = "Bearer ";
    const char *given = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                                    "Authorization");

    if (given != NULL && strncmp(given, bearer, sizeof bearer - 1) == 0 &&
        is_token(given + sizeof bearer - 1, token)) {
        return 1;
    }
    return is_token(
        MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token"),
        token);
}

static const struct web_file *find_file(const char *path)
{
    for (const struct web_file *file = web_files; file->path != NULL; file++) {
        if (strcmp(file->path, path) == 0) {
            return file;
        }
    }
    return NULL;
}

static enum MHD_Result send_file(struct MHD_Connection *connection,
                                 const struct web_file *file)
{
    return reply(connection, MHD_HTTP_OK, file->type,
                 MHD_create_response_from_buffer(file->size,
                                                 (void *)(uintptr_t)file->bytes,
                                                 MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result answer_path(const struct asked *asked, const char *path)
{
    const struct web_file *file = find_file(path);
    const int is_page = strcmp(path, "/") == 0;

    if (file != NULL && !is_page) {
        return send_file(asked->connection, file);
    }
    if (!may_ask(asked->connection, asked->server->web->token)) { // X1
        return refuse(asked->connection, MHD_HTTP_FORBIDDEN,
                      "the token is missing or wrong: use the whole address "
                      "that Teamster has printed\n");
    }
    if (file != NULL) {
        return send_file(asked->connection, file);
    }
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        if (strcmp(routes[i].path, path) == 0) {
            return routes[i].tell(asked);
        }
    }
    return refuse(asked->connection, MHD_HTTP_NOT_FOUND,
                  "there is nothing of that name here\n");
}

// As the library wants it.
static enum MHD_Result answer(void *owner, // NOLINT(readability-function-size)
                              struct MHD_Connection *connection,
                              const char *path, const char *method,
                              const char *version, const char *upload,
                              size_t *upload_size, void **state)
{
    const struct asked asked = {owner, connection};

    (void)version;
    (void)upload;
    (void)state;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        *upload_size = 0;
        return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
                      "only GET and HEAD are understood\n");
    }
    return answer_path(&asked, path);
}

// ---- the process

static void be_quiet(void *owner, const char *format, va_list arguments)
{
    (void)owner;
    (void)format;
    (void)arguments; // broken connections are the browser's affair
}

static struct MHD_Daemon *start_daemon(struct server *server)
{
    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
            MHD_USE_ERROR_LOG,
        0, NULL, NULL, answer, server, MHD_OPTION_EXTERNAL_LOGGER, be_quiet,
        NULL, MHD_OPTION_LISTEN_SOCKET, server->web->fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)(2 * WEB_VIEWERS),
        MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_END);
}

static int take_line(void *owner, const char *line)
{
    return web_job_take(owner, line);
}

static volatile sig_atomic_t is_asked_to_end;

static void ask_to_end(int signal)
{
    (void)signal;
    is_asked_to_end = 1;
}

// A signal interrupts ppoll() only, so that none is missed between looking and waiting.
static void follow(struct server *server, struct job_lines *lines,
                   const sigset_t *outside)
{
    struct pollfd fd = {.fd = lines->fd, .events = POLLIN};

    while (!is_asked_to_end) {
        if (ppoll(&fd, 1, NULL, outside) < 0) {
            continue;
        }
        if (!job_lines_read(lines)) {
            return;
        }
        if (job_lines_take(lines, take_line, server->job)) {
            web_viewers_wake(server->viewers);
        }
    }
}

// @param[out] taken  bytes, by all of them. @return how many look
static unsigned look_at_viewers(struct server *server, uint64_t *taken)
{
    unsigned n;

    pthread_mutex_lock(&server->job->mutex);
    n = web_viewers_count(server->viewers);
    *taken = web_viewers_taken(server->viewers);
    pthread_mutex_unlock(&server->job->mutex);
    return n;
}

// Who looks is told; who takes nothing is not waited for.
static void tell_end(struct server *server)
{
    const uint64_t began_ns = clock_now_ns();
    uint64_t taken_ns = began_ns;
    uint64_t before = 0;
    uint64_t taken = 0;

    web_job_end(server->job);
    do {
        web_viewers_wake(server->viewers);
        poll(NULL, 0, 10);
        taken_ns = taken == before ? taken_ns : clock_now_ns();
        before = taken;
    } while (look_at_viewers(server, &taken) > 0 &&
             clock_now_ns() < began_ns + END_NS &&
             clock_now_ns() < taken_ns + QUIET_NS);
    web_viewers_wake(server->viewers); // none may be suspended when it stops
}

static void block_signals(sigset_t *outside)
{
    struct sigaction action = {.sa_handler = ask_to_end};
    sigset_t ends;

    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, outside);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static void announce(const struct web *web, FILE *told)
{
    if (told != NULL) {
        fprintf(told, "live page: %s\n", web->url);
        fflush(told);
    }
}

int web_serve(const char *command, const struct web *web, int job_fd, long job,
              FILE *told)
{
    struct job_lines lines = {.fd = job_fd};
    struct server server = {.web = web, .job = web_job_new(job)};
    sigset_t outside;
    int exit_code = 0;

    server.viewers = web_viewers_new(server.job);
    block_signals(&outside);
    server.daemon = start_daemon(&server);
    if (server.daemon == NULL) {
        fprintf(stderr, "%s: cannot show a live page: %s\n", command,
                strerror(errno));
        exit_code = EXIT_MEMORY;
    } else {
        announce(web, told);
        follow(&server, &lines, &outside);
        tell_end(&server);
        MHD_stop_daemon(server.daemon); // closes web->fd
    }
    job_lines_close(&lines);
    web_viewers_free(server.viewers);
    web_job_free(server.job);
    return exit_code;
}

const char *web_lacks(void)
{
    return NULL;
}

const char *web_version(void)
{
    return MHD_get_version();
}

int web_has_charts(void)
{
    return find_file("/uplot.txt") != NULL;
}

#else

int web_serve(const char *command, const struct web *web, int job_fd, long job,
              FILE *told)
{
    (void)command;
    (void)web;
    (void)job_fd;
    (void)job;
    (void)told;
    return 0;
}

const char *web_lacks(void)
{
    return "this teamster was built without libmicrohttpd (on Debian: apt-get "
           "install libmicrohttpd-dev, and build again)";
}

const char *web_version(void)
{
    return "";
}

int web_has_charts(void)
{
    return 0;
}

#endif
