// SPDX-License-Identifier: BSD-3-Clause
//
// A bad cable: what comes in at one network card leaves at the other, later, twice, out
// of order, or never. For kernels without netem.
//
//   wire CARD CARD DELAY_MS LOSS% DUPLICATE% REORDER% SEED
//
// Frames under way are in a heap by the time at which they leave, and by number where
// times are equal, so they keep their order; one that is to overtake leaves at once.
// Cards give and take frames with what the kernel still has to do to them
// (PACKET_VNET_HDR): checksums, segments.
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ROOM 65536u // frames under way; more are lost, as on a real wire
#define FRAME_MAX 70000u
#define BATCH 64

struct frame {
    uint64_t due_ns;
    uint64_t number;
    int to; // card
    size_t size;
    uint8_t *bytes;
};

static struct frame heap[ROOM];
static unsigned n_frames;
static uint64_t n_seen;
static uint64_t random_state;
static int cards[2];
static uint64_t delay_ns;
static double loss;
static double duplicate;
static double reorder;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/** A number in [0, 1). */
static double draw(void)
{
    uint64_t x = (random_state += 0x9e3779b97f4a7c15u); // splitmix64

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

static int is_before(const struct frame *a, const struct frame *b)
{
    return a->due_ns < b->due_ns ||
           (a->due_ns == b->due_ns && a->number < b->number);
}

static void swap_frames(struct frame *a, struct frame *b)
{
    struct frame other = *a;

    *a = *b;
    *b = other;
}

static void push(struct frame frame)
{
    unsigned at = n_frames++;

    heap[at] = frame;
    while (at > 0 && is_before(&heap[at], &heap[(at - 1) / 2])) {
        swap_frames(&heap[at], &heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static struct frame pop(void)
{
    struct frame first = heap[0];
    unsigned at = 0;

    heap[0] = heap[--n_frames];
    for (;;) {
        unsigned child = 2 * at + 1;

        if (child + 1 < n_frames && is_before(&heap[child + 1], &heap[child])) {
            child++;
        }
        if (child >= n_frames || !is_before(&heap[child], &heap[at])) {
            return first;
        }
        swap_frames(&heap[child], &heap[at]);
        at = child;
    }
}

static int open_card(const char *name)
{
    const int yes = 1;
    const int room = 8 << 20;
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETH_P_ALL),
        .sll_ifindex = (int)if_nametoindex(name),
    };
    struct packet_mreq all = {.mr_ifindex = address.sll_ifindex,
                              .mr_type = PACKET_MR_PROMISC};
    int card = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));

    if (card < 0 ||
        setsockopt(card, SOL_PACKET, PACKET_VNET_HDR, &yes, sizeof yes) != 0 ||
        bind(card, (struct sockaddr *)(void *)&address, sizeof address) != 0 ||
        setsockopt(card, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) !=
            0 ||
        setsockopt(card, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) != 0) {
        fprintf(stderr, "wire: %s: %s\n", name, strerror(errno));
        exit(1);
    }
    return card;
}

static void send_later(int to, const uint8_t *bytes, size_t size)
{
    struct frame frame = {.number = n_seen++, .to = to, .size = size};

    if (n_frames == ROOM) {
        return;
    }
    frame.due_ns = now_ns() + (draw() < reorder ? 0 : delay_ns);
    frame.bytes = malloc(size);
    if (frame.bytes == NULL) {
        return;
    }
    memcpy(frame.bytes, bytes, size);
    push(frame);
}

static void take_frames(int from)
{
    static uint8_t bytes[FRAME_MAX];

    for (int i = 0; i < BATCH; i++) {
        struct sockaddr_ll address;
        socklen_t length = sizeof address;
        ssize_t size = recvfrom(cards[from], bytes, sizeof bytes, MSG_DONTWAIT,
                                (struct sockaddr *)(void *)&address, &length);

        if (size <= 0) {
            return;
        }
        if (address.sll_pkttype == PACKET_OUTGOING || draw() < loss) {
            continue; // our own, or lost
        }
        send_later(1 - from, bytes, (size_t)size);
        if (draw() < duplicate) {
            send_later(1 - from, bytes, (size_t)size);
        }
    }
}

static void send_due(void)
{
    while (n_frames > 0 && heap[0].due_ns <= now_ns()) {
        struct frame frame = pop();

        (void)!send(cards[frame.to], frame.bytes, frame.size, 0);
        free(frame.bytes);
    }
}

static void sleep_until_due(void)
{
    struct pollfd set[2] = {{.fd = cards[0], .events = POLLIN},
                            {.fd = cards[1], .events = POLLIN}};
    uint64_t at_ns = now_ns();
    uint64_t left_ns = n_frames == 0            ? 1000000000u
                       : heap[0].due_ns > at_ns ? heap[0].due_ns - at_ns
                                                : 0;
    struct timespec left = {.tv_sec = (time_t)(left_ns / 1000000000u),
                            .tv_nsec = (long)(left_ns % 1000000000u)};

    ppoll(set, 2, &left, NULL);
}

int main(int argc, char **argv)
{
    if (argc != 8) {
        fprintf(stderr, "wire CARD CARD DELAY_MS LOSS%% DUPLICATE%% REORDER%% "
                        "SEED\n");
        return 64;
    }
    cards[0] = open_card(argv[1]);
    cards[1] = open_card(argv[2]);
    delay_ns = (uint64_t)(atof(argv[3]) * 1e6);
    loss = atof(argv[4]) / 100;
    duplicate = atof(argv[5]) / 100;
    reorder = atof(argv[6]) / 100;
    random_state = strtoull(argv[7], NULL, 10);
    printf("up\n");
    fflush(stdout);
    for (;;) {
        sleep_until_due();
        take_frames(0);
        take_frames(1);
        send_due();
    }
}
