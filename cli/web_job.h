// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_WEB_JOB_H
#define CLI_WEB_JOB_H

#include <jansson.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "top.h"

/* What the page's process knows of the job: the latest line, an hour of what a second was
 * like, and all decisions. Guarded by a mutex: one thread hears, the library's asks. */

enum {
    WEB_HISTORY = 3600,   ///< seconds
    WEB_NODES_KEPT = 16,  ///< whose history is kept, by their place in the line
    WEB_DECISIONS = 1000, ///< that are kept; of more, the latest
};

/** A second. */
struct web_row {
    double seconds;     ///< since the start
    double iteration_s; ///< mean of those that have ended in it; 0: none has
    double
        measured_s; ///< as the model sees it, of the slowest node; 0: not known
    double predicted_s;            ///< likewise
    double page_ins;               ///< a second
    double sent;                   ///< bytes a second
    double resident;               ///< bytes
    uint64_t n_moved;              ///< threads, in it
    float compute[WEB_NODES_KEPT]; ///< share of its threads' time
};

/** Text that several may send at the same time; each releases it. */
struct web_text {
    unsigned n_users;
    uint64_t number;
    size_t size;
    char bytes[];
};

struct web_job {
    pthread_mutex_t mutex;
    struct top top;
    json_t *line;         ///< the latest; NULL: none yet
    struct web_text *now; ///< of it; NULL: none yet
    struct web_row
        rows[WEB_HISTORY]; ///< the latest at (n_rows - 1) modulo that
    uint64_t n_rows;
    json_t *decisions[WEB_DECISIONS]; ///< by number modulo that
    uint64_t n_decisions;
    int has_ended;
};

struct web_job *web_job_new(long number);
void web_job_free(struct web_job *job);

/** Take a line of the launcher's. Takes the mutex.
 * @return 1, 0: it is none that tells of a job */
int web_job_take(struct web_job *job, const char *line);

/** There will be no more. Takes the mutex. */
void web_job_end(struct web_job *job);

/* Under the mutex: */

/** JSON: `number` of the event, `job` (the line), `row`, `rates` of each node. NULL: nothing
 * has been heard yet. Taken, to be released. */
struct web_text *web_job_now(struct web_job *job);

/** The text is not needed any more; NULL may be given. */
void web_text_release(struct web_text *text);

/** JSON: columns, rows, decisions. @return NULL without memory; the caller's */
struct web_text *web_job_history(const struct web_job *job);

/** In the format of OpenMetrics 1.0, or of Prometheus 0.0.4. The same. */
struct web_text *web_job_metrics(const struct web_job *job, int is_open,
                                 unsigned n_viewers);

/** A text out of what has been written to a stream of open_memstream(), which is freed. */
struct web_text *web_text_of(char *bytes, size_t size);

#endif
