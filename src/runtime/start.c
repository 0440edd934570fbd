// SPDX-License-Identifier: BSD-3-Clause
//
// tm_init(): from main() to a node of a cluster.
//
//   options, bootstrap socket       who am I, of how many
//   trap handlers, space            shared memory at its addresses
//   transport, engine, sync, ult    everything that can receive messages
//   cards exchanged and compared    by the launcher; the canary becomes the root's
//   connected, all ready            from here on messages arrive
//   service thread, workers, observer  the node lives
//
// The root's main() goes on as thread 0; every other node becomes worker 0 and
// stays in finish_serving().
#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "net/seal.h"
#include "os/image.h"
#include "os/secret.h"
#include "os/trap_cost.h"
#include "pages/causality.h"
#include "protocol/protocol_calls.h"
#include "runtime/balancing.h"
#include "runtime/cluster_capacity.h"
#include "runtime/connect.h"
#include "runtime/error_report.h"
#include "runtime/event_trace.h"
#include "runtime/finish.h"
#include "runtime/iteration.h"
#include "runtime/liveness.h"
#include "runtime/node.h"
#include "runtime/observer.h"
#include "runtime/parts.h"
#include "runtime/registry.h"
#include "runtime/service.h"
#include "runtime/starting_threads.h"
#include "runtime/threads.h"
#include "runtime/tracking.h"
#include "runtime/unchanged.h"
#include "ult/slice.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

// More than a node of a debug build can handle: a node is taken for dead before a thread
// has waited for it for so many messages.
#define PAGE_MESSAGES_A_SECOND 200000u

static _Noreturn void refuse(int exit_code, const char *what, tm_status status)
{
    log_fatal_unless_told(exit_code, "cannot start: %s: %s", what,
                          tm_strerror(status));
}

static void must(tm_status status, const char *what)
{
    switch (status) {
    case TM_OK:
        return;
    case TM_ENOMEM:
    case TM_ELIMIT:
        refuse(EXIT_MEMORY, what, status);
    case TM_EMISMATCH:
        refuse(EXIT_MISMATCH, what, status);
    case TM_EPEER:
        refuse(EXIT_NODE_LOST, what, status);
    default:
        refuse(EXIT_CONFIG, what, status);
    }
}

// Meeting the other nodes has failed. The user was told why, or the launcher is
// gone, which is in the log; more lines would only hide that one.
static void must_meet(tm_status status)
{
    if (status == TM_EPEER || status == TM_EMISMATCH) {
        _exit(status == TM_EPEER ? EXIT_NODE_LOST : EXIT_MISMATCH);
    }
    must(status, "meeting the other nodes");
}

// mpirun and srun may give each process processors of its own.
// @param n_nodes  of this host
static unsigned workers_of(const struct options *options, unsigned n_nodes)
{
    long share = sysconf(_SC_NPROCESSORS_ONLN) / (long)n_nodes;
    cpu_set_t own;

    if (options->workers > 0) {
        return options->workers;
    }
    if (sched_getaffinity(0, sizeof own, &own) == 0 &&
        CPU_COUNT(&own) < share) {
        share = CPU_COUNT(&own);
    }
    return share < 1 ? 1 : (unsigned)share;
}

static void say_who_speaks(struct node *node)
{
    char number[16];

    snprintf(number, sizeof number, "n%u", node->self);
    log_set_speaker(node->bootstrap.name[0] != '\0' ? node->bootstrap.name
                                                    : number);
}

static void read_settings(struct node *node)
{
    char text[256];

    must_meet(bootstrap_open(&node->bootstrap)); // may change variables
    if (options_read(&node->options, text, sizeof text) != TM_OK) {
        log_fatal(EXIT_CONFIG, "%s", text);
    }
    if (options_contradict(&node->options, text, sizeof text)) {
        log_fatal(EXIT_CONFIG, "%s", text);
    }
    node->self = node->bootstrap.self;
    node->n_nodes = node->bootstrap.n_nodes;
    node->n_workers = workers_of(&node->options, node->bootstrap.n_here);
    node->shuffle_state = node->options.shuffle + node->self * 7919u;
    if (node->n_nodes > 1) {
        say_who_speaks(node);
        setvbuf(stdout, NULL, _IOLBF, 0); // lines come as they are written
    }
    log_set_fatal_hook(finish_fatal);
    profile_check(node);
    trace_check(node);
    story_check(node);
}

// Only those of the object that calls tm_init() are shared.
static void check_globals(const struct tm_program *program, size_t size)
{
    char object[256];

    if (((uintptr_t)program->shared_start | size) % TM_PAGE_SIZE != 0) {
        log_fatal(EXIT_CONFIG,
                  "the TM_SHARED variables do not fill whole pages: link the "
                  "program without -flto, and put TM_SHARED neither before "
                  "inline variables nor into inline functions");
    }
    if (image_has_section("tm_shared", program->shared_start, object,
                          sizeof object)) {
        log_fatal(EXIT_CONFIG,
                  "%s has TM_SHARED variables, but tm_init() is called from "
                  "elsewhere: a shared library and who uses it cannot both "
                  "have them; use tm_alloc() there",
                  object);
    }
}

static void open_memory(struct node *node, const struct tm_program *program)
{
    size_t globals_size = (size_t)(program->shared_end - program->shared_start);
    char reason[160];

    check_globals(program, globals_size);
    must(image_init(), "the program's image");
    node->fault_source =
        fault_source_choose(node->options.fault_source, reason, sizeof reason);
    if (node->fault_source == NULL) {
        log_fatal(EXIT_CONFIG, "fault source %s cannot be used: %s",
                  node->options.fault_source, reason);
    }
    must(trap_cost_measure(&node->meter.trap_ns), "the cost of a trap");
    must(trap_install(node->fault_source->signal, access_trap, node),
         "signal handlers");
    must(space_open(&node->space, node->fault_source,
                    globals_size > 0 ? program->shared_start : NULL,
                    globals_size, node->options.space),
         "shared memory");
}

static void sync_release(void *owner, node_id next, struct waiter *done)
{
    struct node *node = owner;

    engine_release(node->engine, next, done);
}

static unsigned n_active(void *owner)
{
    struct node *node = owner;
    unsigned n_threads;
    unsigned n_parked;

    ult_census(node->ult, &n_threads, &n_parked);
    return n_threads - n_parked;
}

static unsigned n_threads_here(void *owner)
{
    struct node *node = owner;

    return ult_count(node->ult);
}

static void describe_place(void *owner, uint64_t place, char *text, size_t size)
{
    (void)owner;
    image_describe((uintptr_t)place - 1, text, size);
}

static void program_error(void *owner, const char *text)
{
    struct node *node = owner;

    report_program_error(node, text);
}

static const enum order_way order_ways[] = {
    [SYNC_GIVES] = ORDER_GIVES,  [SYNC_TAKES] = ORDER_TAKES,
    [SYNC_PASSES] = ORDER_MOVES, [SYNC_RELAYS] = ORDER_PASSES,
    [SYNC_COMES] = ORDER_COMES,
};

static void sync_order(void *owner, uint64_t object, node_id to,
                       enum sync_order order)
{
    struct node *node = owner;

    engine_order(node->engine, object, to, order_ways[order]);
}

static void sync_order_mutex(void *owner, uint64_t key, node_id to,
                             enum sync_order order)
{
    struct node *node = owner;

    engine_order_mutex(node->engine, key, to, order_ways[order]);
}

static void sync_held(void *owner, uint64_t key, int is_held)
{
    struct node *node = owner;

    engine_held(node->engine, key, is_held);
}

static const enum lock_way lock_ways[] = {
    [CARRY_MOVES] = LOCK_MOVES,
    [CARRY_LENT] = LOCK_LENT,
    [CARRY_LENT_TO_WRITE] = LOCK_LENT_TO_WRITE,
    [CARRY_BACK] = LOCK_BACK,
};

static const void *lock_leaves(void *owner, uint64_t key, node_id to,
                               enum sync_carry carry, uint32_t *size)
{
    struct node *node = owner;

    return engine_lock_leaves(node->engine, key, to, lock_ways[carry], size);
}

static tm_status lock_comes(void *owner, uint64_t key, node_id from,
                            enum sync_carry carry, const void *bytes,
                            uint32_t size)
{
    struct node *node = owner;

    return engine_lock_comes(node->engine, key, from, lock_ways[carry], bytes,
                             size);
}

static int has_data(void *owner, uint64_t key)
{
    struct node *node = owner;

    return engine_lock_has_data(node->engine, key);
}

static int holds_lock(void *owner, uint64_t key, uint64_t thread, int is_write)
{
    struct node *node = owner;

    return sync_holds(node->sync, key, thread, is_write);
}

// Of an unchanged program: those that are small.
static page_no count_flag_pages(const struct node *node)
{
    const struct tm_unchanged *program = node->unchanged;

    return program == NULL ? 0
                           : (page_no)(program->flags_end -
                                       program->variables.shared_start) /
                                 TM_PAGE_SIZE;
}

static void open_machines(struct node *node)
{
    struct sync_ops ops = {
        .owner = node,
        .release = sync_release,
        .start = threads_start,
        .set_target = threads_set_target,
        .n_active = n_active,
        .n_threads = n_threads_here,
        .at_barrier = iteration_at_barrier,
        .describe_place = describe_place,
        .order = sync_order,
        .order_mutex = sync_order_mutex,
        .held = sync_held,
        .lock_leaves = lock_leaves,
        .lock_comes = lock_comes,
        .has_data = has_data,
        .share_out = starting_shares,
        .program_error = program_error,
    };
    const struct lock_ops lock_ops = {
        .owner = node,
        .holds = holds_lock,
        .program_error = program_error,
    };
    struct ult_config config = {
        .n_workers = node->n_workers,
        .stack_size = node->options.stack_size,
        .arena_size =
            ult_arena_size(node->options.stack_size, node_n_slots(node)),
        .n_slots = node_n_slots(node),
        .n_beside = RUNNERS_MAX,
        .has_alternate_stacks = trap_is_off_stacks(),
        .share = node->options.share,
        .is_slow_by_kernel = node->options.emulate_by == EMULATE_BY_CGROUP,
        .owner = node,
        .idle = service_idle,
        .turn = tracking_turn,
    };

    mutex_init(&node->lock, RANK_NODE);
    tokens_init(&node->calls);
    must(node_open_port(node), "the port");
    node->engine = engine_new(&node->port, &node->space, &all_protocols,
                              node->options.protocol);
    node->sync = sync_new(&node->port, &ops, node->options.max_threads);
    node->migration = migration_new(&node->port, threads_arrived, node);
    node->pages = migration_pages_new(&node->port, node->engine);
    node->threads = calloc(node_n_slots(node), sizeof(struct thread *));
    if (node->engine == NULL || node->sync == NULL || node->migration == NULL ||
        node->pages == NULL || node->threads == NULL) {
        refuse(EXIT_MEMORY, "the node's records", TM_ENOMEM);
    }
    engine_use_locks(node->engine, &lock_ops);
    engine_set_patience(node->engine, (uint64_t)PAGE_MESSAGES_A_SECOND *
                                          node->options.peer_timeout);
    parts_open(node);
    engine_add_globals(node->engine, count_flag_pages(node));
    must(ult_open(&node->ult, &config), "threads");
    if (node->unchanged != NULL) {
        sync_let_anyone_unlock(node->sync);
        ult_follow_switches(node->ult, node->unchanged->leave,
                            node->unchanged->arrive);
    }
}

// Before anything is loaded (PMIx, the transport): that lies where it likes, no
// thread of the program points there.
static struct node_card *new_card(void)
{
    struct node_card *card = calloc(1, sizeof *card);

    ensure_memory(card != NULL);
    must(image_layout(&card->layout_hash, card->layout, sizeof card->layout),
         "the program's mappings");
    return card;
}

static void fill_card(struct node *node, struct node_card *card)
{
    const struct options *options = &node->options;

    node_card_set_version(card);
    must(image_build_id(card->build_id), "the program's build-id");
    card->canary = node->checkpoint.restored != NULL
                       ? node->checkpoint.restored->canary
                       : image_canary();
    card->page_size = TM_PAGE_SIZE;
    card->pid = (uint32_t)getpid();
    snprintf(card->options, sizeof card->options,
             "protocol %d stack %zu threads %u space %zu encrypted %d races "
             "%d fabric %d",
             (int)options->protocol, options->stack_size, options->max_threads,
             options->space, !options->trust_network, options->race_check,
             (int)options->fabric);
}

static void add_address(struct node *node, struct node_card *card)
{
    const void *address;
    size_t size;

    node->transport->address(node->net, &address, &size);
    if (size > sizeof card->address) {
        refuse(EXIT_INTERNAL, "the transport's address is too long", TM_ELIMIT);
    }
    card->address_size = (uint32_t)size;
    memcpy(card->address, address, size);
}

_Static_assert(BOOT_KEY_SIZE == SEAL_KEY_SIZE,
               "the launcher's key is what frames are sealed with");

static struct boot_roster new_roster(struct node *node)
{
    struct boot_roster roster = {
        .job_key = secret_new(BOOT_KEY_SIZE),
        .members = calloc(node->n_nodes, sizeof *roster.members),
        .host_of = calloc(node->n_nodes, sizeof *roster.host_of),
    };

    if (roster.job_key == NULL || roster.members == NULL ||
        roster.host_of == NULL) {
        refuse(EXIT_MEMORY, "the list of nodes", TM_ENOMEM);
    }
    return roster;
}

static void free_roster(struct boot_roster *roster, unsigned n_nodes)
{
    for (unsigned i = 0; i < n_nodes; i++) {
        free(roster->members[i].address);
    }
    secret_free(roster->job_key, BOOT_KEY_SIZE);
    free(roster->members);
    free(roster->host_of);
}

static _Noreturn void refuse_random_addresses(void)
{
    int error = image_fixing_error();

    if (error != 0) {
        log_fatal(EXIT_CONFIG,
                  "address randomisation is on in this process, and "
                  "personality(), which turns it off, is refused: %s; allow it "
                  "in the container (docker run --security-opt "
                  "seccomp=unconfined), or set kernel.randomize_va_space=0",
                  strerror(error));
    }
    log_fatal(EXIT_CONFIG, "address randomisation is on in this process; "
                           "start the program with `teamster run`, or by "
                           "`setarch -R`");
}

// @param own  with the layout; freed
// @return the root's canary
static uint64_t join_cluster(struct node *node, struct node_card *own)
{
    struct boot_roster roster;
    uint64_t canary;

    fill_card(node, own);
    must(connect_open(node), "the transport");
    if (!node_may_have_others(node)) {
        free(own);
        return image_canary();
    }
    if (node->n_nodes > 1 && !image_is_fixed()) {
        refuse_random_addresses();
    }
    capacity_measure_own(node, &own->capacity);
    add_address(node, own);
    roster = new_roster(node);
    must_meet(bootstrap_exchange(&node->bootstrap, own, &roster));
    free(own);
    connect_to_all(node, &roster);
    must_meet(bootstrap_ready(&node->bootstrap));
    capacity_take(node, roster.members);
    process_watch_begin(node, &roster);
    members_note_hosts(node, roster.host_of);
    node->members.is_spread = node->bootstrap.device[0] != '\0';
    canary = roster.members[0].canary;
    free_roster(&roster, node->n_nodes);
    return canary;
}

static void warn_of_trust(struct node *node)
{
    if (node->self != 0 || node->bootstrap.device[0] == '\0') {
        return; // another one says it, or nothing leaves this host
    }
    if (node->options.fabric == FABRIC_BY_UCX) {
        log_warning(
            "--fabric=ucx: whoever is on the network between the hosts "
            "can read and change what nodes send (--verbose names UCX's "
            "transports)");
    } else if (node->options.trust_network) {
        log_warning("--trust-network: whoever is on the network between the "
                    "hosts can read what nodes send");
    }
}

// The program's own code, on its own stack: what the front end does for it is on the
// other one.
static int may_switch_at(void *owner, uintptr_t pc, uintptr_t sp)
{
    const struct node *node = owner;

    return image_is_program_text(pc) &&
           sp >= (uintptr_t)node->unchanged->blocks_low &&
           sp < (uintptr_t)node->unchanged->blocks_high;
}

static void go(struct node *node)
{
    // One that joins sends nothing that counts before it is a member: should it
    // not become one, its counts would be missing for ever (membership.c, N5). What
    // comes when the service thread runs may change both.
    int has_others = node->n_nodes > 1 && !node->members.is_new;

    child_prepare();
    warn_of_trust(node);
    node->start_ns = clock_now_ns();
    node_set_step(node, RUNTIME_RUNNING);
    on_exit(finish_at_exit, node);
    parts_start(node);
    polling_start(node);
    must(service_start(node, finish_now), "the service thread");
    must(ult_start_workers(node->ult), "workers");
    if (node->unchanged != NULL) {
        must(slice_start(node->ult, may_switch_at, node), "slices");
    }
    node_enter(node);
    if (has_others) {
        must(capacity_begin_costs(node), "the observer");
    } else if (node->paging.part > 0) { // see budget.c
        must(observer_start(node), "the observer");
    }
    node_leave(node);
}

static void serve(void)
{
    struct node *const node = &this_node;

    // If that fails, mistakes are not found: the program may have none.
    (void)!main_stack_deny(&node->main_stack);
    go(node);
    finish_serving(node);
}

// Never returns, so that no frame made under the old canary is left. Where the root has
// its main() this node has nothing, so that a thread that was given the address of a
// local variable of main() does not read and write what lies there by chance.
static _Noreturn void become_server(struct node *node, uint64_t canary)
{
    image_set_canary(canary);
    must(ult_leave_stack(node->ult, serve), "the stack of a worker");
    abort();
}

// If threads come from a checkpoint, they bring the canary of that run, and kernel threads
// begin with it that run them; main()'s frames have been made with this process's.
__attribute__((no_stack_protector)) static void go_beside_others(
    struct node *node)
{
    const uint64_t own = image_canary();

    ult_use_canary(node->ult, node->checkpoint.restored->canary);
    image_set_canary(node->checkpoint.restored->canary);
    go(node);
    image_set_canary(own);
}

static void become_main(struct node *node)
{
    struct thread *thread;

    thread = thread_new(node, 0, "main");
    must(ult_adopt(node->ult, &thread->ult), "main()");
    ult_set_user(thread->ult, thread);
    if (node->checkpoint.restored != NULL) {
        go_beside_others(node);
    } else {
        go(node);
    }
}

// Nodes that `teamster run` starts have no address randomisation. One that mpirun or
// srun starts runs itself again without it, before main(), so that nothing of the
// program is done twice. Its process and variables, by which PMIx knows it, stay.
// A program with rights of its own would get randomisation back each time.
__attribute__((constructor)) static void fix_addresses(int argc, char **argv)
{
    (void)argc;
    this_node.argv = argv;
    if (bootstrap_is_by_others() && !image_is_fixed() &&
        getauxval(AT_SECURE) == 0) {
        if (bootstrap_is_root_by_others()) {
            bootstrap_lower_stack();
        }
        // If it fails, which is told, the program may run alone nevertheless.
        (void)!image_reexec_fixed(argv);
    }
}

static void note_blocks(struct node *node, struct tm_unchanged *unchanged)
{
    if (unchanged != NULL) {
        unchanged->blocks_low =
            space_address(&node->space, node->space.heap_page);
        unchanged->blocks_high =
            space_address(&node->space, node->space.n_pages);
    }
    node->unchanged = unchanged;
}

// @param unchanged  NULL: it was written for Teamster
static tm_status start_node(const struct tm_program *program,
                            struct tm_unchanged *unchanged)
{
    struct node *const node = &this_node;
    struct node_card *own;
    uint64_t canary;

    if (node_step(node) != RUNTIME_NONE) {
        log_error("tm_init() for the second time");
        return TM_ESTATE;
    }
    node_set_step(node, RUNTIME_STARTING);
    parts_use(node, all_parts);
    node->pid = getpid();
    main_stack_find(&node->main_stack, node->argv);
    own = new_card();
    read_settings(node);
    node->layout_hash = own->layout_hash ^ image_objects(); // as new_card()
    checkpoint_fix_folders(&node->options);
    cut_marks_read(node);
    buddies_use_memory(node);
    restore_choose(node);
    open_memory(node, program);
    note_blocks(node, unchanged);
    open_machines(node);
    if (node_may_have_others(node)) {
        argument_open(&node->arguments, &node->space, node->ult,
                      &node->main_stack);
    }
    canary = join_cluster(node, own);
    if (node->self != 0) {
        cut_marks_prepared(node);
        become_server(node, canary);
    }
    become_main(node);
    return TM_OK;
}

tm_status tm_init_program(int *argc, char ***argv,
                          const struct tm_program *program)
{
    (void)argc;
    (void)argv;
    return start_node(program, NULL);
}

// Its threads run on shared memory, so signals have stacks of their own.
tm_status teamster_begin_unchanged(struct tm_unchanged *program)
{
    trap_keep_off_stacks();
    return start_node(&program->variables, program);
}

tm_status teamster_init_unchanged(const void *program)
{
    (void)program;
    log_fatal(EXIT_MISMATCH, "this program was made by an earlier `teamster "
                             "cc`: compile it again");
}

int teamster_memory_protection(void)
{
    return image_memory_protection();
}
