// SPDX-License-Identifier: BSD-3-Clause
//
// Lists of write notices.
//
// N3 Of a page (and writer) a list has one entry that counts, the latest; those that it has replaced
//    stay until half of the list is such.
// N4 A notice of a block that is no more means nothing: it names the extent by its serial
//    number, and these rise.
#include "protocol/notice_list.h"

#include "base/vector.h"

#define WRITER_BITS 13u

_Static_assert(TM_MAX_NODES < 1u << WRITER_BITS, "a writer fits in");

static uint64_t key_of(page_no page, unsigned writer)
{
    return page << WRITER_BITS | writer;
}

const struct notice *notice_list_find(const struct notice_list *list,
                                      page_no page, unsigned writer)
{
    const uint32_t index = map_find_index(&list->by_page, key_of(page, writer));

    return index == MAP_NONE ? NULL : &list->at[index];
}

static void make_past(struct notice_list *list, uint32_t index)
{
    list->at[index].is_past = 1;
    list->n_past++;
}

// What is there for good is as long as it has to be: a node of many has heard of most pages.
static void shrink_list(struct notice_list *list)
{
    struct notice *at;

    if (list->room > list->n + list->n / 2 + 64) {
        at = realloc(list->at, (list->n + 64) * sizeof *list->at);
        ensure_memory(at != NULL);
        list->at = at;
        list->room = list->n + 64;
    }
}

// N3
static void compact_list(struct notice_list *list)
{
    uint32_t *counts; // [n + 1]: those before each place that count

    if (list->n_past <= list->n / 2 || list->n_past < 64) {
        return;
    }
    counts = malloc((list->n + 1) * sizeof *counts);
    ensure_memory(counts != NULL);
    counts[0] = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        counts[i + 1] = counts[i];
        if (!list->at[i].is_past) {
            map_set_index(map_reach(&list->by_page, key_of(list->at[i].page,
                                                           list->at[i].writer)),
                          counts[i]);
            list->at[counts[i + 1]++] = list->at[i];
        }
    }
    for (unsigned k = 0; k < list->n_told; k++) {
        list->told[k].scoped = counts[list->told[k].scoped];
        list->told[k].others = counts[list->told[k].others];
    }
    list->n = counts[list->n];
    list->n_past = 0;
    free(counts);
    shrink_list(list);
}

// Versions wrap; stamps, which are of 64 bits, do not.
static int is_newer(const struct notice *notice, const struct notice *than)
{
    return notice->writer != 0 ? notice->version > than->version
                               : version_is_newer((uint32_t)notice->version,
                                                  (uint32_t)than->version);
}

int notice_list_add(struct notice_list *list, const struct notice *notice)
{
    struct map_entry *entry =
        map_reach(&list->by_page, key_of(notice->page, notice->writer));
    const uint32_t index = map_index_in(entry);

    if (index != MAP_NONE) {
        const struct notice *known = &list->at[index];

        if (notice->serial < known->serial ||
            (notice->serial == known->serial && !is_newer(notice, known))) {
            return 0;
        }
        make_past(list, index);
    }
    map_set_index(entry, list->n);
    vector_reserve(list->at, list->room, list->n + 1);
    list->at[list->n++] = *notice;
    compact_list(list);
    return 1;
}

// ---- telling

static struct told *told_of(struct notice_list *list, node_id node)
{
    if (node >= list->n_told) {
        list->told = realloc(list->told, (node + 1u) * sizeof *list->told);
        ensure_memory(list->told != NULL);
        while (list->n_told <= node) {
            list->told[list->n_told++] = (struct told){0};
        }
    }
    return &list->told[node];
}

static void send_some(const struct port *port, node_id to, uint64_t mutex,
                      const uint8_t *body, const struct wire_writer *writer,
                      int more)
{
    struct message message = {
        .type = MESSAGE_notices,
        .body = body,
        .body_size = (uint32_t)(writer->at - body),
    };

    message.u.notices.mutex = mutex;
    message.u.notices.more = (uint8_t)more;
    message.u.notices.count =
        (uint16_t)(message.body_size / WIRE_SIZE_notice_entry);
    message.goes_along = 1; // what lets a thread there go on is next
    if (message.body_size > 0) {
        port_send(port, to, &message);
    }
}

static void put(struct wire_writer *writer, const struct notice *notice)
{
    struct wire_notice_entry entry = {notice->page, (uint32_t)notice->version,
                                      notice->serial, notice->owner,
                                      notice->epoch};

    if (notice->writer != 0) {
        entry.owner = NOTICE_OF_WRITER | notice->writer;
        entry.epoch = (uint32_t)(notice->version >> 32);
    }
    wire_put_notice_entry(writer, &entry);
}

static int is_to_tell(const struct notice_list *list, uint32_t index,
                      const struct told *told, int but_scoped)
{
    const struct notice *notice = &list->at[index];

    if (notice->is_scoped) {
        return !notice->is_past && !but_scoped && index >= told->scoped;
    }
    return !notice->is_past && index >= told->others;
}

void notice_list_send(const struct port *port, struct notice_list *list,
                      node_id to, uint64_t mutex, int but_scoped, unsigned most)
{
    struct told *told = told_of(list, to);
    uint8_t body[NOTICES_MOST * WIRE_SIZE_notice_entry];
    const size_t room =
        most == 0 ? sizeof body : most * (size_t)WIRE_SIZE_notice_entry;
    struct wire_writer writer = {body, body + room, 0};
    uint32_t i = told->others;

    if (!but_scoped && told->scoped < i) {
        i = told->scoped;
    }
    for (; i < list->n; i++) {
        const struct notice *it = &list->at[i];

        if (it->from == to || !is_to_tell(list, i, told, but_scoped)) {
            continue;
        }
        if (writer.at == writer.end) {
            send_some(port, to, mutex, body, &writer, 1); // N5
            writer.at = body;
        }
        put(&writer, it);
    }
    send_some(port, to, mutex, body, &writer, 0);
    told->others = list->n;
    if (!but_scoped) {
        told->scoped = list->n;
    }
}

// ---- forgetting

void notice_list_forget(struct notice_list *list, const struct extent *extent)
{
    for (uint32_t i = 0; i < list->n; i++) {
        const page_no page = list->at[i].page;

        if (!list->at[i].is_past && page >= extent->page &&
            page < extent->page + extent->n_pages &&
            list->at[i].serial <= extent->serial) {
            (void)map_take(&list->by_page, key_of(page, list->at[i].writer));
            make_past(list, i);
        }
    }
}

void notice_list_release(struct notice_list *list)
{
    free(list->at);
    free(list->told);
    map_release(&list->by_page);
}
