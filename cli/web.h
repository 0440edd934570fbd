// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_WEB_H
#define CLI_WEB_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/web_address.h"

struct job;

/*
 * The live page (docs/web.md): a process that reads the lines of who watches closely
 * (watchers.h) and knows nothing else of the job. `teamster attach` is that process, `run
 * --web` starts one.
 */

#define WEB_TOKEN_SIZE 33u ///< hexadecimal digits, and the 0 at the end

/** A page that can be served. */
struct web {
    int fd;                     ///< listens; -1: there is no page
    char token[WEB_TOKEN_SIZE]; ///< who does not know it sees nothing
    char url[160];              ///< with the token
};

// ---- web_listen.c

/** Listen there, and make a token.
 * @param command  whose messages begin so: "teamster run"
 * @return 0, or an exit code (told, in one line) */
int web_listen(const char *command, const struct web_address *at,
               struct web *web);

// ---- web_server.c

/** @return NULL, or why there is never a page */
const char *web_lacks(void);

/** @return the version of the library that serves, "" without */
const char *web_version(void);

/** Was uPlot there when this was built? */
int web_has_charts(void);

/**
 * Serve until the job ends, or the process is asked to end (SIGINT, SIGTERM).
 * @param job_fd  connected with the launcher, which knows that it is watched closely; closed
 * @param job     the job's number
 * @param told    the address is written there as soon as there is a page; NULL: nowhere
 * @return 0, or an exit code (told, as of `command`)
 */
int web_serve(const char *command, const struct web *web, int job_fd, long job,
              FILE *told);

// ---- web_child.c: for the launcher

/** Start the process that serves, and say where. A run goes on without. */
void web_start(struct job *job);

/** The run is over, and those who look have been told: wait until the process has ended,
 * but not for long. */
void web_finish(struct job *job);

#endif
