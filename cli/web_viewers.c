// SPDX-License-Identifier: BSD-3-Clause
//
// A viewer has no queue: when its connection takes more it is given the latest event, as a
// text that all share. So one that stalls keeps one text, and misses what was between; the page
// sees that by the number and asks for the history. While there is nothing new its connection
// is suspended, which costs nothing.
//
//   READY     --its event is sent, there is no newer one: give_more()--> SUSPENDED
//   SUSPENDED --web_viewers_wake()--> READY
//   any       --its connection ends: forget()--> free
//
// All under the job's mutex.
#include "web_viewers.h"

#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"

/** Before and behind an event's text. */
static const char before[] = "data: ";
static const char after[] = "\n\n";
static const char end_event[] = "event: end\ndata: {}\n\n";

struct viewer {
    struct web_viewers *all; ///< NULL: there is none
    struct MHD_Connection *connection;
    int is_suspended;
    struct web_text *text; ///< that is being sent; NULL: none
    size_t sent;           ///< of before, text, after
    uint64_t seen;         ///< number of the last one that was begun
    size_t end_sent;       ///< of end_event
};

struct web_viewers {
    struct web_job *job;
    uint64_t n_taken; ///< bytes
    struct viewer viewers[WEB_VIEWERS];
};

struct web_viewers *web_viewers_new(struct web_job *job)
{
    struct web_viewers *viewers = calloc(1, sizeof *viewers);

    ensure_memory(viewers != NULL);
    viewers->job = job;
    return viewers;
}

void web_viewers_free(struct web_viewers *viewers)
{
    free(viewers);
}

uint64_t web_viewers_taken(const struct web_viewers *viewers)
{
    return viewers->n_taken;
}

unsigned web_viewers_count(const struct web_viewers *viewers)
{
    unsigned n = 0;

    for (unsigned i = 0; i < WEB_VIEWERS; i++) {
        n += viewers->viewers[i].all != NULL;
    }
    return n;
}

// Of a part that begins at `begin` of the event: what was not sent yet, as far as there is room.
static size_t copy_part(struct viewer *viewer, const char *part, size_t size,
                        size_t begin, char *to, size_t room)
{
    const size_t done = viewer->sent - begin;
    const size_t n = size - done < room ? size - done : room;

    memcpy(to, part + done, n);
    viewer->sent += n;
    return n;
}

static size_t copy_event(struct viewer *viewer, char *to, size_t room)
{
    const struct {
        const char *bytes;
        size_t size;
    } parts[] = {{before, sizeof before - 1},
                 {viewer->text->bytes, viewer->text->size},
                 {after, sizeof after - 1}};
    size_t begin = 0;
    size_t used = 0;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (viewer->sent < begin + parts[i].size) {
            used += copy_part(viewer, parts[i].bytes, parts[i].size, begin,
                              to + used, room - used);
        }
        begin += parts[i].size;
    }
    if (viewer->sent == begin) {
        web_text_release(viewer->text);
        viewer->text = NULL;
    }
    return used;
}

static ssize_t copy_end(struct viewer *viewer, char *to, size_t room)
{
    const size_t rest = sizeof end_event - 1 - viewer->end_sent;
    const size_t n = rest < room ? rest : room;

    if (n == 0) {
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    memcpy(to, end_event + viewer->end_sent, n);
    viewer->end_sent += n;
    return (ssize_t)n;
}

static void take_latest(struct viewer *viewer, struct web_job *job)
{
    if (viewer->text == NULL && job->now != NULL &&
        job->now->number > viewer->seen) {
        viewer->text = web_job_now(job);
        viewer->seen = viewer->text->number;
        viewer->sent = 0;
    }
}

// The library's thread, when the connection takes more.
static ssize_t give_more(void *owner, uint64_t at, char *to, size_t room)
{
    struct viewer *viewer = owner;
    struct web_job *job = viewer->all->job;
    ssize_t n = 0;

    (void)at;
    pthread_mutex_lock(&job->mutex);
    take_latest(viewer, job);
    if (viewer->text != NULL) {
        n = (ssize_t)copy_event(viewer, to, room);
    } else if (job->has_ended) {
        n = copy_end(viewer, to, room);
    } else {
        viewer->is_suspended = 1;
        MHD_suspend_connection(viewer->connection);
    }
    viewer->all->n_taken += n > 0 ? (uint64_t)n : 0;
    pthread_mutex_unlock(&job->mutex);
    return n;
}

static void forget(void *owner)
{
    struct viewer *viewer = owner;
    pthread_mutex_t *mutex = &viewer->all->job->mutex;

    pthread_mutex_lock(mutex);
    web_text_release(viewer->text);
    *viewer = (struct viewer){0};
    pthread_mutex_unlock(mutex);
}

static struct viewer *find_free(struct web_viewers *viewers)
{
    for (unsigned i = 0; i < WEB_VIEWERS; i++) {
        if (viewers->viewers[i].all == NULL) {
            return &viewers->viewers[i];
        }
    }
    return NULL;
}

struct MHD_Response *web_viewers_add(struct web_viewers *viewers,
                                     struct MHD_Connection *connection)
{
    struct viewer *viewer;

    pthread_mutex_lock(&viewers->job->mutex);
    viewer = find_free(viewers);
    if (viewer != NULL) {
        *viewer = (struct viewer){.all = viewers, .connection = connection};
    }
    pthread_mutex_unlock(&viewers->job->mutex);
    return viewer == NULL
               ? NULL
               : MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16384,
                                                   give_more, viewer, forget);
}

void web_viewers_wake(struct web_viewers *viewers)
{
    pthread_mutex_lock(&viewers->job->mutex);
    for (unsigned i = 0; i < WEB_VIEWERS; i++) {
        struct viewer *viewer = &viewers->viewers[i];

        if (viewer->all != NULL && viewer->is_suspended) {
            viewer->is_suspended = 0;
            MHD_resume_connection(viewer->connection);
        }
    }
    pthread_mutex_unlock(&viewers->job->mutex);
}
