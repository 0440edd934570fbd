// SPDX-License-Identifier: BSD-3-Clause
// pages/ and protocol/: messages of pages and blocks with any fields and bodies, from other nodes, to
// the root or to another node, for pages of both protocols, with and without a swap
// file, and where data races are looked for; between them what threads of this node do, its own messages to itself, time, and
// a node that leaves. What is refused changes nothing; whatever comes, the engine's
// invariants hold after each step, nothing is sent to who is not there, and its messages
// to itself come to an end.
//
// One file, though long: the messages that are made up are such as the world here can
// have, and neither half says anything without the other.
//
// Others may lie: of contents, owners and copies, and by silence. What follows from a lie
// is a page with wrong bytes, or a thread that waits.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "mem/diff.h"
#include "mem/pager.h"
#include "pages/engine.h"
#include "protocol/protocol_calls.h"
#include "runtime/registry.h"

enum {
    N_NODES = 3,
    STEPS = 64,
    WAITERS = 2 + 3 * STEPS,
    N_THREADS = 2,
    HEAP_PAGES = 2 * SPACE_BLOCK,
    MAX_PAGES = 3 * SPACE_BLOCK,
    USUAL_PAGES = 64,  ///< of a block of the directory
    OWN_MOST = 100000, ///< messages to itself
};

/** A message of the node to itself that has not come yet. */
struct own {
    struct own *next;
    struct message message;
    uint8_t body[];
};

struct world {
    struct port port;
    struct space space;
    struct engine *engine;
    struct swap_file *swap;
    struct pager *pager; ///< or NULL
    struct own *first_own;
    struct own *last_own;
    uint64_t now_ns;
    uint64_t n_sent;
    uint64_t n_own;
    int is_frozen;
    int has_left; ///< somebody
    int looks_for_races;
    struct fault_history histories[N_THREADS];
    struct pager_claims claims[N_THREADS];
    struct waiter waiters[WAITERS];
    struct heap_block blocks[WAITERS];
    unsigned n_waiters;
};

// ---- what the engine needs of others ----

static void send(void *owner, node_id to, const struct message *message)
{
    struct world *world = owner;
    uint8_t header[MESSAGE_HEADER_MAX];
    struct own *own;

    FUZZ_CHECK(to == world->port.self || roster_has(&world->port.roster, to));
    FUZZ_CHECK(message->body_size <= MESSAGE_BODY_MAX);
    message_encode_header(message, header);
    own = malloc(sizeof *own + message->body_size);
    FUZZ_CHECK(own != NULL);
    if (message->body_size > 0) {
        memcpy(own->body, message->body, message->body_size);
    }
    world->n_sent++;
    if (to != world->port.self) {
        free(own);
        return;
    }
    own->next = NULL;
    own->message = *message;
    own->message.body = own->body;
    if (world->first_own == NULL) {
        world->first_own = own;
    } else {
        world->last_own->next = own;
    }
    world->last_own = own;
}

static uint64_t now(void *owner)
{
    return ((struct world *)owner)->now_ns;
}

static void woken(struct waiter *waiter)
{
    (void)waiter;
}

static struct waiter *new_waiter(struct world *world)
{
    struct waiter *waiter = &world->waiters[world->n_waiters++];

    FUZZ_CHECK(world->n_waiters <= WAITERS);
    *waiter = (struct waiter){.wake = woken};
    return waiter;
}

// ---- what holds after each step ----

static void check_page(const struct world *world, page_no at)
{
    const struct page *page = &world->space.pages[at];

    FUZZ_CHECK(engine_page_is_valid(world->engine, at));
    FUZZ_CHECK(engine_extent(world->engine, at) != NULL ||
               (page->state == PAGE_ABSENT && page->hint == 0 &&
                !page->fetching && page->waiters == NULL));
}

/** The engine, and the first n pages of each directory block. */
static void check(const struct world *world, page_no n)
{
    FUZZ_CHECK(engine_is_valid(world->engine));
    for (page_no at = 0; at < world->space.n_pages; at++) {
        if (at % SPACE_BLOCK < n) {
            check_page(world, at);
        } else {
            at += SPACE_BLOCK - n - 1;
        }
    }
}

/** A message comes. If it is refused, it has changed nothing. */
static tm_status receive(struct world *world, node_id from,
                         const struct message *message)
{
    static struct page before[MAX_PAGES];
    const struct space *space = &world->space;
    size_t size = space->n_pages * sizeof *before;
    uint64_t n_sent = world->n_sent;
    tm_status status;

    memcpy(before, space->pages, size);
    status = message_body_is_good(message)
                 ? engine_receive(world->engine, from, message)
                 : TM_EWIRE;
    if (status != TM_OK) {
        FUZZ_CHECK(status == TM_EWIRE);
        FUZZ_CHECK(memcmp(before, space->pages, size) == 0);
        FUZZ_CHECK(world->n_sent == n_sent ||
                   message->type == MESSAGE_alloc_ask); // "none" is said
    }
    return status;
}

/** The next message of the node to itself comes. @return 0 there is none */
static int receive_own(struct world *world)
{
    struct own *own = world->first_own;

    if (own == NULL) {
        return 0;
    }
    FUZZ_CHECK(world->n_own++ < OWN_MOST);
    world->first_own = own->next;
    (void)receive(world, world->port.self, &own->message);
    free(own);
    return 1;
}

// ---- messages of others ----

static page_no page_of(struct wire_reader *input)
{
    uint8_t what = wire_get_u8(input);

    return what / USUAL_PAGES * SPACE_BLOCK + what % USUAL_PAGES; // or outside
}

static uint64_t address_of(const struct world *world, struct wire_reader *input)
{
    page_no page = page_of(input);

    return (uint64_t)(uintptr_t)SPACE_HEAP_BASE +
           (page - world->space.heap_page) * TM_PAGE_SIZE;
}

static int is_one_of(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(name, *names) != 0) {
        names++;
    }
    return *names != NULL;
}

/** A value for a field that makes sense often. */
static uint64_t field(const struct world *world, struct wire_reader *input,
                      const char *name)
{
    static const char *const nodes[] = {
        "requester", "owner", "origin", "on_node", "node1", "node2", NULL};

    if (strcmp(name, "page") == 0) {
        return page_of(input);
    }
    if (strcmp(name, "address") == 0) {
        return address_of(world, input);
    }
    if (strcmp(name, "token") == 0 || strcmp(name, "hops") == 0) {
        return wire_get_u16(input);
    }
    if (strcmp(name, "size") == 0 || strcmp(name, "capacity") == 0) {
        uint64_t n = wire_get_u8(input);

        return n < 252 ? n * 1024 : UINT64_MAX - (n - 252) * 2048;
    }
    if (strcmp(name, "batch") == 0) {
        uint64_t generation = wire_get_u8(input);

        return generation << 32 | wire_get_u8(input);
    }
    if (is_one_of(name, nodes)) {
        uint8_t node = wire_get_u8(input);

        return node < 4 * N_NODES ? node % N_NODES : node * (uint64_t)257;
    }
    return wire_get_u8(input);
}

// NOLINTBEGIN(bugprone-macro-parentheses): fields are lists

static void put_fields(const struct world *world, struct wire_reader *input,
                       struct message *message)
{
    switch ((unsigned)message->type) {
#define FIELD(width, name) to->name = (wire_##width)field(world, input, #name);
#define MESSAGE(number, owner, name, meaning, fields, body)                    \
    case number: {                                                             \
        struct message_##name *to = &message->u.name;                          \
        fields(void) to;                                                       \
        return;                                                                \
    }
#include "net/messages.def"
    default:
        return;
    }
}

// NOLINTEND(bugprone-macro-parentheses)

static void put_clock(struct wire_reader *input, struct wire_writer *writer)
{
    uint8_t nodes = wire_get_u8(input);

    for (unsigned i = 0; i < 8; i++) {
        if (nodes >> i & 1) {
            wire_put_u16(writer,
                         (uint16_t)(i < 6 ? i : 6u + wire_get_u8(input)));
            wire_put_u32(writer, wire_get_u8(input));
        }
    }
}

static void put_race_writer(struct wire_reader *input,
                            struct wire_writer *writer)
{
    uint8_t bytes[48];
    struct wire_writer clock = {bytes, bytes + sizeof bytes, 0};

    put_clock(input, &clock);
    clock.at -= clock.at > bytes && wire_get_u8(input) == 0; // cut off
    wire_put_u64(writer, wire_get_u8(input));
    wire_put_u32(writer, 0);
    wire_put_u32(writer, 0);
    wire_put_u8(writer, 2);
    wire_put_u16(writer, (uint16_t)(clock.at - bytes));
    wire_put_bytes(writer, bytes, (size_t)(clock.at - bytes));
}

static void put_update_item(struct wire_reader *input,
                            struct wire_writer *writer, int looks_for_races)
{
    uint8_t diff[DIFF_MAX];
    uint64_t bytes;
    size_t size;

    if (looks_for_races && wire_get_u8(input) % 8 > 0) {
        put_race_writer(input, writer);
    }
    wire_put_u64(writer, page_of(input));
    wire_put_u32(writer, wire_get_u8(input));
    wire_put_u32(writer, wire_get_u8(input));
    wire_put_u8(writer, wire_get_u8(input) % 3);
    bytes = wire_get_u8(input) * (uint64_t)0x010203;
    size = diff_of_range(&bytes, 8 * (size_t)(bytes % 512), 8, diff);
    wire_put_u16(writer, (uint16_t)size);
    wire_put_bytes(writer, diff, size);
}

static void put_nodes(struct wire_reader *input, struct wire_writer *writer)
{
    const unsigned n = wire_get_u8(input) % 4;

    wire_put_u16(writer, (uint16_t)n);
    for (unsigned i = 0; i < n; i++) {
        wire_put_u8(writer, wire_get_u8(input));
    }
}

static void put_ack_item(struct wire_reader *input, struct wire_writer *writer)
{
    uint8_t what;

    wire_put_u64(writer, page_of(input));
    what = wire_get_u8(input) % 3;
    wire_put_u8(writer, what);
    if (what == 0) {
        return;
    }
    wire_put_u32(writer, wire_get_u8(input));
    wire_put_u32(writer, wire_get_u8(input));
    wire_put_u8(writer, wire_get_u8(input));
    put_nodes(input, writer);
}

static void put_owner_update(struct wire_reader *input,
                             struct wire_writer *writer)
{
    wire_put_u64(writer, page_of(input));
    wire_put_u32(writer, wire_get_u8(input));
    wire_put_u32(writer, wire_get_u8(input) % 8);
}

static void put_body(const struct world *world, struct wire_reader *input,
                     enum message_type type, struct wire_writer *writer)
{
    static const uint8_t page[TM_PAGE_SIZE] = {1, 2, 3};
    const uint8_t *start = writer->at;
    uint8_t n = wire_get_u8(input);

    if (type == MESSAGE_page_given) {
        put_nodes(input, writer);
    }
    if (type == MESSAGE_page || type == MESSAGE_page_given) {
        wire_put_bytes(writer, page, n > 1 ? TM_PAGE_SIZE : n);
        return;
    }
    if (type >= MESSAGE_alloc_ask) {
        wire_put_bytes(writer, "name\0file", n > 9 ? 10 : n);
        return;
    }
    if (type == MESSAGE_clock) {
        put_clock(input, writer);
    }
    for (unsigned i = 0; i < n % 8; i++) {
        if (type == MESSAGE_update) {
            put_update_item(input, writer, world->looks_for_races);
        } else if (type == MESSAGE_update_ack) {
            put_ack_item(input, writer);
        } else if (type == MESSAGE_owner_is) {
            put_owner_update(input, writer);
        }
    }
    writer->at -= n > 128 && writer->at > start; // cut off
}

/** A message comes from another node, if that is there. What reads behind its body is
 * found. */
static void deliver(struct world *world, node_id from, struct message *message)
{
    uint8_t *body = malloc(message->body_size + (message->body_size == 0));

    FUZZ_CHECK(body != NULL);
    if (message->body_size > 0) {
        memcpy(body, message->body, message->body_size);
    }
    message->body = message->body_size > 0 ? body : NULL;
    if (from != world->port.self && roster_has(&world->port.roster, from)) {
        (void)receive(world, from, message);
    }
    free(body);
}

/** from u8, type u8, fields, body. */
static void take_shaped(struct world *world, struct wire_reader *input)
{
    static uint8_t body[TM_PAGE_SIZE + 1];
    struct wire_writer writer = {body, body + sizeof body, 0};
    node_id from = wire_get_u8(input) % N_NODES;
    struct message message = {
        .type = (enum message_type)(wire_get_u8(input) % 40),
    };

    if (message_name(message.type)[0] == '?') {
        return;
    }
    put_fields(world, input, &message);
    put_body(world, input, message.type, &writer);
    message.body = body;
    message.body_size = (uint32_t)(writer.at - body);
    deliver(world, from, &message);
}

/** from u8, length u8, the message. */
static void take_raw(struct world *world, struct wire_reader *input)
{
    node_id from = wire_get_u8(input) % N_NODES;
    size_t length = wire_get_u8(input);
    struct message message;

    if (length > fuzz_left(input)) {
        length = fuzz_left(input);
    }
    if (message_decode(wire_get_bytes(input, length), (uint32_t)length,
                       &message) == TM_OK &&
        message.type < 40) {
        deliver(world, from, &message);
    }
}

// ---- this node ----

/** As a thread does: it asks the pager first, and once more when that has had time. */
static int is_admitted(struct world *world, page_no page, int is_write,
                       unsigned thread)
{
    struct pager_toucher toucher = {
        .thread = thread, .worker = thread, .claims = &world->claims[thread]};

    if (world->pager == NULL ||
        pager_fault(world->pager, page, is_write, &toucher,
                    new_waiter(world)) == PAGER_GO_ON) {
        return 1;
    }
    pager_poll(world->pager);
    toucher.is_let_in = 1;
    return pager_fault(world->pager, page, is_write, &toucher,
                       new_waiter(world)) == PAGER_GO_ON;
}

static void access_page(struct world *world, struct wire_reader *input,
                        int is_write)
{
    uint8_t thread = wire_get_u8(input) % N_THREADS;
    page_no page = page_of(input);

    if (page < world->space.n_pages && !world->is_frozen &&
        is_admitted(world, page, is_write, thread) &&
        engine_fault(world->engine, page, is_write, &world->histories[thread],
                     new_waiter(world)) == FAULT_ALLOWED &&
        world->space.pages[page].access == ACCESS_WRITE) {
        space_bytes_to_change(&world->space, page)[thread]++;
    }
}

static void operate(struct world *world, struct wire_reader *input)
{
    page_no page = page_of(input);
    uint8_t what = wire_get_u8(input);
    const struct extent *extent = engine_extent(world->engine, page);

    if (extent != NULL && extent->protocol == TM_EAGER_RELEASE) {
        const unsigned size = 1u << what / 64;

        engine_atomic(world->engine, page, what % 64 * size,
                      &(struct atomic){what % ATOMIC_OPS, size, 1, 0},
                      new_waiter(world));
    }
}

static void allocate(struct world *world, struct wire_reader *input)
{
    uint64_t size = wire_get_u8(input) * (uint64_t)1024;
    uint8_t how = wire_get_u8(input);
    const tm_alloc_attr attr = {
        .protocol = (tm_protocol)(how % 3),
        .placement = (tm_placement)(how / 4 % 4),
        .node = how / 16 % N_NODES,
    };

    engine_alloc(world->engine, size, how & 128 ? NULL : &attr, "f", 1,
                 new_waiter(world));
}

static void advise(struct world *world, struct wire_reader *input)
{
    uint8_t what = wire_get_u8(input);
    page_no page = page_of(input);
    page_no n = what / 4;

    switch (what % 4) {
    case 0:
        engine_fetch_ahead(world->engine, page, n, what & 64);
        return;
    case 1:
        engine_leaving(world->engine, page, n);
        return;
    case 2:
        engine_unused(world->engine, page, n);
        return;
    default:
        if (page < world->space.n_pages) {
            engine_note_missed(world->engine, page, 1, &world->histories[0]);
            engine_resumed(world->engine, page, &world->histories[0]);
        }
        return;
    }
}

/** The roster changes, once, when all stands still: as membership.c has it. */
static void change(struct world *world, struct wire_reader *input)
{
    node_id leaves = 1 + wire_get_u8(input) % (N_NODES - 1);
    struct roster before = world->port.roster;

    if (!world->is_frozen || world->has_left) {
        world->is_frozen = !world->is_frozen;
        world->port.roster.leaving = world->is_frozen ? leaves : NODE_NONE;
        engine_freeze(world->engine, world->is_frozen);
        return;
    }
    if (engine_is_still(world->engine) && world->first_own == NULL) {
        world->has_left = 1;
        roster_remove(&world->port.roster, leaves);
        engine_roster_changed(world->engine, &before);
        engine_spread(world->engine);
    }
}

static void call(struct world *world, struct wire_reader *input)
{
    static const struct heap_origin place = {.file = "f", .line = 1};

    switch (wire_get_u8(input) % 10) {
    case 0:
    case 1:
        access_page(world, input, 0);
        return;
    case 2:
    case 3:
        access_page(world, input, 1);
        return;
    case 4:
        engine_release(world->engine, wire_get_u8(input) % N_NODES,
                       new_waiter(world));
        return;
    case 5:
        allocate(world, input);
        return;
    case 6:
        engine_release_block(world->engine, address_of(world, input), &place,
                             new_waiter(world));
        return;
    case 7:
        engine_block(world->engine, address_of(world, input),
                     &world->blocks[world->n_waiters], new_waiter(world));
        return;
    case 8:
        operate(world, input);
        return;
    default:
        advise(world, input);
        return;
    }
}

static void pass_time(struct world *world, struct wire_reader *input)
{
    world->now_ns += wire_get_u8(input) * (uint64_t)20000;
    engine_finish_batch(world->engine);
    engine_tick(world->engine);
    if (world->pager != NULL) {
        pager_settle(world->pager);
        pager_poll(world->pager);
    }
}

static void step(struct world *world, struct wire_reader *input)
{
    int is_in = roster_has(&world->port.roster, world->port.self);

    switch (wire_get_u8(input) % 8) {
    case 0:
        take_raw(world, input);
        return;
    case 1:
    case 2:
    case 3:
        take_shaped(world, input);
        return;
    case 4:
        receive_own(world);
        return;
    case 5:
        pass_time(world, input);
        return;
    case 6:
        if (is_in) {
            change(world, input);
        }
        return;
    default:
        if (is_in) {
            call(world, input);
        }
        return;
    }
}

// ---- the beginning and the end ----

static void open_pager(struct world *world, unsigned what)
{
    const struct swap_settings settings = {.folder = "/dev/shm",
                                           .engine = "at once"};
    const struct pager_host host = engine_pager_host(world->engine);

    FUZZ_CHECK(swap_file_open(&world->swap, &settings) == TM_OK);
    world->pager = pager_new(&world->space, world->swap, 2 + what % 8, &host);
    FUZZ_CHECK(world->pager != NULL);
    engine_keep_copies(world->engine, what & 1);
}

/** As the root would: a block of n pages of each protocol. */
static void add_blocks(struct world *world, page_no page, uint32_t token)
{
    for (unsigned protocol = 1; protocol <= 2; protocol++) {
        struct message message = {
            .type = MESSAGE_extent_new,
            .u.extent_new = {.token = token + protocol,
                             .page = page + 16 * (protocol - 1),
                             .n_pages = 8,
                             .size = 8 * TM_PAGE_SIZE,
                             .protocol = (uint8_t)protocol},
            .body = "n\0f",
            .body_size = 4,
        };
        const struct message open = {
            .type = MESSAGE_extent_open,
            .u.extent_open = {.serial = token + protocol,
                              .page = message.u.extent_new.page}};

        FUZZ_CHECK(receive(world, 0, &message) == TM_OK);
        FUZZ_CHECK(receive(world, 0, &open) == TM_OK);
    }
}

/** The root's: asked for, and acknowledged by all. */
static void allocate_blocks(struct world *world)
{
    for (uint32_t serial = 1; serial <= 2; serial++) {
        const tm_alloc_attr attr = {.protocol = (tm_protocol)serial};
        const struct message message = {.type = MESSAGE_extent_ack,
                                        .u.extent_ack = {.token = serial}};

        engine_alloc(world->engine, 8 * TM_PAGE_SIZE, &attr, "f", 1,
                     new_waiter(world));
        while (receive_own(world)) {
        }
        FUZZ_CHECK(receive(world, 1, &message) == TM_OK);
        FUZZ_CHECK(receive(world, 2, &message) == TM_OK);
        while (receive_own(world)) {
        }
    }
}

static void note_race(void *owner, const struct race_found *found)
{
    const struct world *world = owner;

    FUZZ_CHECK(engine_extent(world->engine, found->page) != NULL &&
               found->offset + found->length <= TM_PAGE_SIZE);
}

static void open_world(struct world *world, uint8_t what)
{
    static char globals[2 * TM_PAGE_SIZE];

    memset(world, 0, sizeof *world);
    world->port = (struct port){
        .self = what % N_NODES, .owner = world, .send = send, .now_ns = now};
    roster_init(&world->port.roster, N_NODES);
    world->now_ns = 1;
    FUZZ_CHECK(space_open(&world->space, NULL, what & 4 ? globals : NULL,
                          what & 4 ? sizeof globals : 0,
                          HEAP_PAGES * TM_PAGE_SIZE) == TM_OK);
    FUZZ_CHECK(world->space.n_pages <= MAX_PAGES);
    world->engine = engine_new(&world->port, &world->space, &all_protocols,
                               what & 8 ? TM_SEQUENTIAL : TM_EAGER_RELEASE);
    FUZZ_CHECK(world->engine != NULL);
    world->looks_for_races = (what & 48) == 32; // without a pager
    FUZZ_CHECK(!world->looks_for_races ||
               engine_look_for_races(world->engine, note_race, world) == TM_OK);
    engine_add_globals(world->engine, 0);
    if (what & 16) {
        open_pager(world, what / 32);
    }
    if (world->port.self == 0) {
        allocate_blocks(world);
        return;
    }
    add_blocks(world, world->space.heap_page, 0);
    add_blocks(world, world->space.heap_page + SPACE_BLOCK, 2);
}

static void close_world(struct world *world)
{
    while (world->first_own != NULL) {
        struct own *next = world->first_own->next;

        free(world->first_own);
        world->first_own = next;
    }
    if (world->pager != NULL) {
        swap_file_close(world->swap);
        pager_free(world->pager);
    }
    engine_free(world->engine);
    space_close(&world->space);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world world;
    struct wire_reader input = wire_read(data, size);

    open_world(&world, wire_get_u8(&input));
    for (unsigned i = 0; i < STEPS && fuzz_left(&input) > 0; i++) {
        step(&world, &input);
        check(&world, USUAL_PAGES);
    }
    while (receive_own(&world)) {
    }
    check(&world, SPACE_BLOCK);
    FUZZ_CHECK(world.pager == NULL || pager_is_valid(world.pager));
    close_world(&world);
    return 0;
}
