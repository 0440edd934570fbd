// SPDX-License-Identifier: BSD-3-Clause
//
// Reading ahead. Two patterns are known by the pages that a thread fetches:
//
//   streams   it goes on behind a page that it has fetched, whatever it does in between: up to
//             N_STREAMS at a time
//   strides   an instruction fetches pages that lie equally far apart, upwards or downwards (a
//             column of a matrix): one for each instruction, as processors' caches have it
//             ([Baer91]); known when three distances in a row are the same
//
// Both ask for 1, 2, 4, ... pages as long as they go on where they were expected to, and begin
// anew where they do not.
#include "pages/read_ahead.h"

#include "pages/pages.h"

// A stride is known when so many fetches in a row were where it had them expected.
#define STRIDE_KNOWN 2u

static unsigned doubled(unsigned group)
{
    return 2 * group > FETCH_GROUP_MAX ? FETCH_GROUP_MAX : 2 * group;
}

static int find_stream(const struct fault_history *history, page_no page,
                       unsigned *stream)
{
    for (unsigned i = 0; i < N_STREAMS && page != 0; i++) {
        if (history->streams[i].next == page) {
            *stream = i;
            return 1;
        }
    }
    return 0;
}

// The record of the instruction that faults; one of another's is emptied.
static unsigned find_stride(struct fault_history *history)
{
    unsigned i = 0;

    while (i < N_STRIDES &&
           (history->strides[i].instruction != history->instruction ||
            history->strides[i].group == 0)) {
        i++;
    }
    if (i == N_STRIDES) {
        i = history->oldest_stride;
        history->oldest_stride = (i + 1) % N_STRIDES;
        history->strides[i] =
            (struct fault_stride){.instruction = history->instruction};
    }
    return i;
}

static int32_t distance(page_no from, page_no to)
{
    const int64_t pages = (int64_t)(to - from);

    return pages >= -STRIDE_MAX && pages <= STRIDE_MAX ? (int32_t)pages : 0;
}

static struct ahead follow_stride(struct fault_history *history, page_no page)
{
    const unsigned record = find_stride(history);
    struct fault_stride *it = &history->strides[record];

    if (it->stride != 0 && page == it->next) {
        it->n_alike += it->n_alike < STRIDE_KNOWN;
    } else {
        it->stride = it->group == 0 ? 0 : distance(it->last, page);
        it->n_alike = 0;
        it->group = 1;
    }
    return (struct ahead){
        .n = it->n_alike == STRIDE_KNOWN ? doubled(it->group) : 1,
        .stride = it->n_alike == STRIDE_KNOWN ? it->stride : 1,
        .record = record,
    };
}

struct ahead read_ahead(struct fault_history *history, page_no page)
{
    struct ahead ahead = {.stride = 1, .is_stream = 1};

    if (find_stream(history, page, &ahead.record)) {
        ahead.n = doubled(history->streams[ahead.record].group);
        return ahead;
    }
    return follow_stride(history, page);
}

static void note_stream(struct fault_history *history, unsigned stream,
                        page_no page, unsigned n)
{
    history->streams[stream].next = page + n;
    history->streams[stream].group = (uint16_t)n;
}

static void note_stride(struct fault_stride *it, page_no page, unsigned n)
{
    it->last = page;
    it->next = stride_page(page, it->stride, n);
    it->group = (uint16_t)n;
}

void read_ahead_asked(struct fault_history *history, page_no page,
                      const struct ahead *ahead, unsigned n)
{
    if (ahead->is_stream) {
        note_stream(history, ahead->record, page, n);
        return;
    }
    note_stride(&history->strides[ahead->record], page, n);
    if (ahead->n == 1) { // a stream may begin here
        note_stream(history, history->oldest, page, n);
        history->oldest = (history->oldest + 1) % N_STREAMS;
    }
}
