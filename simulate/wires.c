// SPDX-License-Identifier: BSD-3-Clause
//
// A message leaves when those that its node sent before have left, takes as long as its
// bytes do, then the latency, and is there when those that its receiver got before are.
// It goes over a real wire: encoded, and decoded where it arrives.
#include "simulate/wires.h"

#include <string.h>

#include "base/ensure.h"
#include "base/memory.h"

// A message under way.
struct letter {
    struct wires *wires;
    struct letter *next;
    struct letter **link; // to it
    uint32_t size;
    node_id from;
    node_id to;
    uint8_t bytes[]; // [size]
};

struct link {
    struct wire_speed speed;
    uint64_t out_ns; // when what it has sent has left
    uint64_t in_ns;  // when what is for it is there
};

struct wires {
    struct events *events;
    unsigned n_nodes;
    double jitter;
    wires_receive_fn *receive;
    void *owner;
    struct letter *letters;
    struct wire_count counts[MESSAGES_END];
    struct link links[]; // [n_nodes]
};

static uint64_t nanoseconds(double seconds)
{
    return (uint64_t)(seconds * 1e9);
}

static uint64_t later(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

// The longer latency of the two ends, and some more by chance.
static uint64_t latency_ns(struct wires *wires, const struct link *from,
                           const struct link *to)
{
    const double most_s = from->speed.latency_s > to->speed.latency_s
                              ? from->speed.latency_s
                              : to->speed.latency_s;
    const uint64_t spread_ns = nanoseconds(most_s * wires->jitter);

    return nanoseconds(most_s) + events_random(wires->events, spread_ns + 1);
}

// A message that nothing holds up takes as long as the slower of the two links needs: bytes
// come in while others go out. What arrives later was sent later, so that the order of two
// nodes' messages stays.
static uint64_t arrival_ns(struct wires *wires, node_id from, node_id to,
                           uint32_t size)
{
    struct link *sender = &wires->links[from];
    struct link *receiver = &wires->links[to];
    const uint64_t out_ns = nanoseconds(size / sender->speed.bytes_per_s);
    const uint64_t in_ns = nanoseconds(size / receiver->speed.bytes_per_s);

    sender->out_ns = later(sender->out_ns, wires->events->now_ns) + out_ns;
    receiver->in_ns =
        later(receiver->in_ns + in_ns,
              sender->out_ns + latency_ns(wires, sender, receiver) +
                  (in_ns > out_ns ? in_ns - out_ns : 0));
    return receiver->in_ns;
}

static void forget_letter(struct letter *letter)
{
    *letter->link = letter->next;
    if (letter->next != NULL) {
        letter->next->link = letter->link;
    }
    free(letter);
}

static void arrive(void *owner, uint64_t argument)
{
    struct letter *letter = owner;
    struct wires *wires = letter->wires;
    struct message message;

    (void)argument;
    ensure(message_decode(letter->bytes, letter->size, &message) == TM_OK);
    wires->receive(wires->owner, letter->to, letter->from, &message);
    forget_letter(letter);
}

static struct letter *new_letter(struct wires *wires,
                                 const struct message *message)
{
    uint8_t header[MESSAGE_HEADER_MAX];
    const uint32_t head = message_encode_header(message, header);
    struct letter *letter = malloc(sizeof *letter + head + message->body_size);

    ensure_memory(letter != NULL);
    letter->wires = wires;
    letter->size = head + message->body_size;
    memcpy(letter->bytes, header, head);
    if (message->body_size > 0) {
        memcpy(letter->bytes + head, message->body, message->body_size);
    }
    letter->next = wires->letters;
    letter->link = &wires->letters;
    if (letter->next != NULL) {
        letter->next->link = &letter->next;
    }
    wires->letters = letter;
    return letter;
}

uint32_t wires_send(struct wires *wires, node_id from, node_id to,
                    const struct message *message)
{
    struct letter *letter = new_letter(wires, message);
    struct wire_count *count = &wires->counts[message->type];

    ensure(from != to && from < wires->n_nodes && to < wires->n_nodes);
    letter->from = from;
    letter->to = to;
    count->n++;
    count->bytes += letter->size;
    events_at(wires->events, arrival_ns(wires, from, to, letter->size), arrive,
              letter, 0);
    return letter->size;
}

struct wires *wires_new(struct events *events, unsigned n_nodes,
                        const struct wire_speed *speeds, double jitter,
                        wires_receive_fn *receive, void *owner)
{
    struct wires *wires =
        memory_new(1, sizeof *wires + n_nodes * sizeof(struct link));

    wires->events = events;
    wires->n_nodes = n_nodes;
    wires->jitter = jitter;
    wires->receive = receive;
    wires->owner = owner;
    for (unsigned i = 0; i < n_nodes; i++) {
        wires->links[i].speed = speeds[i];
    }
    return wires;
}

void wires_free(struct wires *wires)
{
    while (wires != NULL && wires->letters != NULL) {
        forget_letter(wires->letters);
    }
    free(wires);
}

const struct wire_count *wires_counts(const struct wires *wires)
{
    return wires->counts;
}
