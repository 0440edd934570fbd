// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_WEB_VIEWERS_H
#define CLI_WEB_VIEWERS_H

#include <microhttpd.h>

#include "web_job.h"

/* Browsers that are told each second: text/event-stream. */

enum { WEB_VIEWERS = 64 };

struct web_viewers;

struct web_viewers *web_viewers_new(struct web_job *job);
void web_viewers_free(struct web_viewers *viewers);

/** A stream of events for one more. The library's thread.
 * @return NULL: there are WEB_VIEWERS */
struct MHD_Response *web_viewers_add(struct web_viewers *viewers,
                                     struct MHD_Connection *connection);

/** There is something new, or the end: go on with all that wait for it. */
void web_viewers_wake(struct web_viewers *viewers);

/** How many there are. Under the job's mutex. */
unsigned web_viewers_count(const struct web_viewers *viewers);

/** Bytes that all of them have taken so far. Under the job's mutex. */
uint64_t web_viewers_taken(const struct web_viewers *viewers);

#endif
