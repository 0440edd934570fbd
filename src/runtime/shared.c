// SPDX-License-Identifier: BSD-3-Clause
//
// Shared memory for the program: blocks (chapter 4) and atomic operations
// (chapter 8).
//
// Every block is zero when it is given out. A small block's cell may have been
// used before: the thread that allocates prepares it (cell.c). A large block ends
// inside a fresh, zero page. Who frees a block looks whether what lies behind it is as it
// was left, and of a small one whether it is one: only if it is not, or the block is a
// large one, another node is asked.
#include "base/log.h"
#include "mem/slabs.h"
#include "protocol/protocol_calls.h"
#include "runtime/cell.h"
#include "runtime/error_report.h"
#include "runtime/node.h"
#include "runtime/unchanged.h"

#include <string.h>

static int is_small(uint64_t capacity)
{
    return capacity % TM_PAGE_SIZE != 0;
}

// The same of a block with a grain.
static const char *find_grain_mistake(const struct node *node, size_t size,
                                      const tm_alloc_attr *attr)
{
    if (slabs_grain_kind(attr->grain) == 0) {
        return "attr.grain is not a power of two from 64 to 2048";
    }
    if (size > attr->grain) {
        return "the block is larger than its attr.grain: without one, and with "
               "an attr.protocol, it has pages of its own";
    }
    if (engine_grain_protocol(node->engine, attr->protocol) ==
        TM_PROTOCOL_DEFAULT) {
        return "attr.grain is for sequential blocks, not for another "
               "attr.protocol";
    }
    if (attr->placement != TM_FIRST_TOUCH ||
        attr->sharing != TM_SHARING_DEFAULT) {
        return "attr.grain goes with no attr.placement and no attr.sharing";
    }
    if (attr->alignment > attr->grain) {
        return "attr.alignment is above attr.grain, which blocks are aligned "
               "to";
    }
    return NULL;
}

// What is wrong with what tm_alloc() is asked for, NULL if nothing is.
static const char *find_mistake(struct node *node, size_t size,
                                const tm_alloc_attr *attr)
{
    if (size == 0) {
        return "0 bytes";
    }
    if (attr != NULL && attr->placement == TM_ON_NODE &&
        attr->node >= prepared_n_nodes(&node->prepared, node->n_nodes)) {
        return "attr.node is not a node";
    }
    if (attr != NULL && (unsigned)attr->sharing > TM_REDUCTION) {
        return "attr.sharing is none that there is";
    }
    if (attr != NULL && (attr->alignment > TM_PAGE_SIZE ||
                         (attr->alignment & (attr->alignment - 1)) != 0)) {
        return "attr.alignment is not a power of two up to TM_PAGE_SIZE";
    }
    return attr != NULL && attr->grain > 0
               ? find_grain_mistake(node, size, attr)
               : NULL;
}

static void *allocate(struct node *node, size_t size, const tm_alloc_attr *attr,
                      const char *file, int line)
{
    tm_alloc_attr wanted = {0};
    struct wait wait;
    char *block;

    if (attr != NULL) {
        wanted = *attr;
        wanted.node =
            prepared_node(&node->prepared, node->n_nodes, wanted.node);
        attr = &wanted;
    }
    wait_begin(node, &wait);
    engine_alloc(node->engine, size, attr, file, line, &wait.waiter);
    if (wait_end(node, &wait) != TM_OK) {
        return NULL; // said by the root
    }
    if (thread_self()->number == 0) {
        prepared_note_result(&node->prepared, wait.waiter.result);
    }
    block = (char *)(uintptr_t)wait.waiter.result;
    if (is_small(wait.waiter.result2)) {
        cell_prepare(block, size, wait.waiter.result2);
    }
    return block;
}

void *tm_alloc_at(size_t size, const tm_alloc_attr *attr, const char *file,
                  int line)
{
    struct node *const node = &this_node;
    const char *mistake;

    if (CHECK_CALL("tm_alloc") != TM_OK) {
        return NULL;
    }
    mistake = find_mistake(node, size, attr);
    if (mistake != NULL) {
        log_error("tm_alloc() at %s:%d: %s", file, line, mistake);
        return NULL;
    }
    return allocate(node, size, attr, file, line);
}

// The first byte behind the block that is not as it was left; 0: none.
static uint64_t find_overrun(const struct heap_block *block)
{
    const char *bytes = (const char *)(uintptr_t)block->address;

    if (is_small(block->capacity)) {
        return cell_overrun(bytes, block->size, block->capacity);
    }
    for (uint64_t i = block->size; i < block->capacity; i++) {
        if (bytes[i] != 0) {
            return i;
        }
    }
    return 0;
}

// Ask for the block that starts at an address. @return TM_OK, TM_ENOBLOCK
static tm_status find_block(struct node *node, void *address,
                            struct heap_block *block)
{
    struct wait wait;
    tm_status status;

    wait_begin(node, &wait);
    engine_block(node->engine, (uint64_t)(uintptr_t)address, block,
                 &wait.waiter);
    status = wait_end(node, &wait);
    return status == TM_OK && block->address != (uint64_t)(uintptr_t)address
               ? TM_ENOBLOCK
               : status;
}

static int may_read(struct node *node, const struct heap_block *block)
{
    page_no page;
    int needs_lock;

    if (!space_find(&node->space, (void *)(uintptr_t)block->address, &page)) {
        return 0;
    }
    node_enter(node);
    needs_lock = engine_needs_lock(node->engine, page);
    node_leave(node);
    return !needs_lock;
}

// The same, and look at what is behind it.
static uint64_t look_behind(struct node *node, void *address,
                            struct heap_block *block)
{
    return find_block(node, address, block) == TM_OK && may_read(node, block)
               ? find_overrun(block)
               : 0;
}

/** A tm_free() under way. */
struct freeing {
    char *block;
    struct heap_origin place;
    uint64_t cell;      ///< that it lies in
    uint32_t cell_size; ///< 0: it is no small block
};

static tm_status release_block(struct node *node, const struct freeing *freeing)
{
    struct wait wait;

    wait_begin(node, &wait);
    engine_release_block(node->engine, (uint64_t)(uintptr_t)freeing->block,
                         &freeing->place, &wait.waiter);
    return wait_end(node, &wait);
}

static tm_status release_freed(struct node *node, const struct freeing *freeing,
                               node_id freed_by)
{
    struct wait wait;

    wait_begin(node, &wait);
    engine_release_freed(node->engine, (uint64_t)(uintptr_t)freeing->block,
                         freed_by, &freeing->place, &wait.waiter);
    return wait_end(node, &wait);
}

// A large block, or what is no small one that is as it was left.
static tm_status free_with_questions(struct node *node,
                                     const struct freeing *freeing)
{
    struct heap_block found;
    const uint64_t overrun = look_behind(node, freeing->block, &found);
    const tm_status status = freeing->cell_size == 0
                                 ? release_block(node, freeing)
                                 : release_freed(node, freeing, node->self);

    if (overrun != 0 && status == TM_OK) {
        report_overrun(node, &found, overrun, freeing->place.file,
                       (int)freeing->place.line);
        return TM_EOVERRUN;
    }
    return status;
}

static tm_status free_block(struct node *node, const struct freeing *freeing)
{
    enum cell_state state = CELL_DAMAGED;
    node_id freed_by;

    if (freeing->cell == (uint64_t)(uintptr_t)freeing->block) {
        state = cell_read(freeing->block, freeing->cell_size, &freed_by);
    }
    switch (state) {
    case CELL_LIVE:
        cell_free(freeing->block, freeing->cell_size, node->self);
        return release_block(node, freeing);
    case CELL_FREED:
        return release_freed(node, freeing, freed_by);
    default:
        return free_with_questions(node, freeing);
    }
}

tm_status tm_free_at(void *block, const char *file, int line)
{
    struct node *const node = &this_node;
    const tm_status status = CHECK_CALL("tm_free");
    struct freeing freeing = {
        .block = block,
        .place = {.file = file, .line = (uint32_t)line},
    };

    if (status != TM_OK || block == NULL) {
        return status;
    }
    node_enter(node);
    if (!engine_cell(node->engine, (uint64_t)(uintptr_t)block, &freeing.cell,
                     &freeing.cell_size)) {
        freeing.cell = 0;
        freeing.cell_size = 0;
    }
    node_leave(node);
    return free_block(node, &freeing);
}

// What no longer has room in the grain keeps the protocol all the same.
static void keep_grain(size_t size, size_t grain, tm_protocol protocol,
                       tm_alloc_attr *attr)
{
    attr->grain = size <= grain ? grain : 0;
    attr->protocol = protocol;
}

// The attributes that a block of the heap was allocated with, for one of another size.
// @return attr
static const tm_alloc_attr *attributes_of(struct node *node,
                                          const struct heap_block *block,
                                          size_t size, tm_alloc_attr *attr)
{
    const struct extent *extent = NULL;
    page_no page;

    *attr = (tm_alloc_attr){.name = block->name};
    if (!space_find(&node->space, (void *)(uintptr_t)block->address, &page)) {
        return attr;
    }
    node_enter(node);
    extent = engine_extent(node->engine, page);
    if (extent != NULL && extent->cell_kind & CELL_GRAIN) {
        keep_grain(size, block->capacity, extent->protocol, attr);
    } else if (extent != NULL && extent->cell_kind == 0) {
        attr->placement = extent->placement;
        attr->node = extent->on_node;
        attr->sharing = extent->sharing;
        attr->protocol = extent->protocol == node->options.protocol
                             ? TM_PROTOCOL_DEFAULT
                             : extent->protocol;
    }
    node_leave(node);
    return attr;
}

void *tm_realloc_at(void *block, size_t size, const char *file, int line)
{
    struct node *const node = &this_node;
    struct heap_block old;
    tm_alloc_attr attr;
    tm_status status;
    void *moved;

    if (block == NULL) {
        return tm_alloc_at(size, NULL, file, line);
    }
    if (CHECK_CALL("tm_realloc") != TM_OK) {
        return NULL;
    }
    status = size == 0 ? TM_EINVAL : find_block(node, block, &old);
    if (status != TM_OK) {
        log_error("tm_realloc(%p) at %s:%d: %s", block, file, line,
                  size == 0 ? "0 bytes" : tm_strerror(status));
        return NULL;
    }
    if (size == old.size) {
        return block;
    }
    moved = allocate(node, size, attributes_of(node, &old, size, &attr), file,
                     line);
    if (moved != NULL) {
        memcpy(moved, block, size < old.size ? size : old.size);
        (void)!tm_free_at(block, file, line); // an overrun is said there
    }
    return moved;
}

// ---- atomic operations

// On sequential pages the processor's own operations do. Those that are one instruction are one
// access, to write: what reads first takes the page twice.
#define OPERATE_HERE(type)                                                     \
    static uint64_t operate_on_##type(type *word, const struct atomic *atomic) \
    {                                                                          \
        const type operand = (type)atomic->operand;                            \
        type expected = (type)atomic->expected;                                \
                                                                               \
        switch (atomic->op) {                                                  \
        case ATOMIC_ADD:                                                       \
            return __atomic_fetch_add(word, operand, __ATOMIC_SEQ_CST);        \
        case ATOMIC_AND:                                                       \
            return __atomic_fetch_and(word, operand, __ATOMIC_SEQ_CST);        \
        case ATOMIC_OR:                                                        \
            return __atomic_fetch_or(word, operand, __ATOMIC_SEQ_CST);         \
        case ATOMIC_XOR:                                                       \
            return __atomic_fetch_xor(word, operand, __ATOMIC_SEQ_CST);        \
        case ATOMIC_EXCHANGE:                                                  \
            return __atomic_exchange_n(word, operand, __ATOMIC_SEQ_CST);       \
        case ATOMIC_COMPARE:                                                   \
            __atomic_compare_exchange_n(word, &expected, operand, 0,           \
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);   \
            return expected;                                                   \
        default:                                                               \
            return __atomic_load_n(word, __ATOMIC_SEQ_CST);                    \
        }                                                                      \
    }

OPERATE_HERE(uint8_t)
OPERATE_HERE(uint16_t)
OPERATE_HERE(uint32_t)
OPERATE_HERE(uint64_t)

static uint64_t operate_here(void *word, const struct atomic *atomic)
{
    switch (atomic->size) {
    case 1:
        return operate_on_uint8_t(word, atomic);
    case 2:
        return operate_on_uint16_t(word, atomic);
    case 4:
        return operate_on_uint32_t(word, atomic);
    default:
        return operate_on_uint64_t(word, atomic);
    }
}

static int is_coherent_page(const struct node *node, page_no page)
{
    return engine_extent(node->engine, page) == NULL ||
           engine_is_coherent(node->engine, page);
}

// @param orders  what this node has written before comes before it; else that is so for the word
static int must_release(const struct node *node, page_no page,
                        const struct atomic *atomic, int orders)
{
    if (atomic->op == ATOMIC_LOAD) {
        return 0;
    }
    return orders ? !engine_has_released(node->engine)
                  : !is_coherent_page(node, page) &&
                        !engine_atomic_follows(node->engine, page);
}

static uint64_t perform(struct node *node, void *word, page_no page,
                        const struct atomic *atomic, int orders)
{
    struct wait wait;
    int is_coherent;
    int releases;

    wait_begin(node, &wait);
    is_coherent = is_coherent_page(node, page);
    releases = must_release(node, page, atomic, orders);
    if (is_coherent || releases) {
        node_leave(node);
        if (releases) {
            wait_for_release(node);
        }
        if (is_coherent) {
            return operate_here(word, atomic);
        }
        wait_begin(node, &wait);
    }
    engine_atomic(node->engine, page,
                  (unsigned)((uintptr_t)word % TM_PAGE_SIZE), atomic,
                  &wait.waiter);
    wait_end(node, &wait);
    return wait.waiter.result;
}

static inline __attribute__((always_inline)) int64_t operate(
    int64_t *word, enum atomic_op op, int64_t operand, int64_t expected,
    const char *function)
{
    struct node *const node = &this_node;
    const struct atomic atomic = {op, sizeof *word, (uint64_t)operand,
                                  (uint64_t)expected};
    page_no page;

    if (CHECK_CALL(function) != TM_OK) {
        log_fatal(EXIT_INTERNAL, "%s() cannot go on", function);
    }
    if (!space_find(&node->space, word, &page) ||
        (uintptr_t)word % sizeof *word != 0) {
        log_fatal(EXIT_INTERNAL, "%s(%p): not an aligned word of shared memory",
                  function, (void *)word);
    }
    return (int64_t)perform(node, word, page, &atomic, 1);
}

int64_t tm_fetch_add(int64_t *word, int64_t addend)
{
    return operate(word, ATOMIC_ADD, addend, 0, "tm_fetch_add");
}

int64_t tm_exchange(int64_t *word, int64_t value)
{
    return operate(word, ATOMIC_EXCHANGE, value, 0, "tm_exchange");
}

int64_t tm_compare_exchange(int64_t *word, int64_t expected, int64_t value)
{
    return operate(word, ATOMIC_COMPARE, value, expected,
                   "tm_compare_exchange");
}

int64_t tm_atomic_load(const int64_t *word)
{
    return operate((int64_t *)(uintptr_t)word, ATOMIC_LOAD, 0, 0,
                   "tm_atomic_load");
}

void tm_atomic_store(int64_t *word, int64_t value)
{
    operate(word, ATOMIC_EXCHANGE, value, 0, "tm_atomic_store");
}

static struct atomic atomic_of(unsigned size, enum teamster_update_op op,
                               uint64_t operand, uint64_t expected)
{
    static const enum atomic_op ops[TEAMSTER_UPDATES] = {
        [TEAMSTER_ADD] = ATOMIC_ADD,
        [TEAMSTER_AND] = ATOMIC_AND,
        [TEAMSTER_OR] = ATOMIC_OR,
        [TEAMSTER_XOR] = ATOMIC_XOR,
        [TEAMSTER_EXCHANGE] = ATOMIC_EXCHANGE,
        [TEAMSTER_COMPARE] = ATOMIC_COMPARE,
    };

    return (struct atomic){ops[op], size, operand, expected};
}

uint64_t teamster_update(void *word, unsigned size, enum teamster_update_op op,
                         uint64_t operand, uint64_t expected)
{
    const struct atomic atomic = atomic_of(size, op, operand, expected);
    struct node *const node = &this_node;
    page_no page;

    return space_find(&node->space, word, &page)
               ? perform(node, word, page, &atomic, 0)
               : operate_here(word, &atomic);
}

uint64_t teamster_update_result(unsigned size, enum teamster_update_op op,
                                uint64_t operand, uint64_t expected,
                                uint64_t before)
{
    const struct atomic atomic = atomic_of(size, op, operand, expected);

    return atomic_result(&atomic, before);
}
