// SPDX-License-Identifier: BSD-3-Clause
//
// OpenMP's `atomic`, `flush` and reductions, which are instructions with `lock`. In memory of which
// several nodes write copies at once these would change one copy. So `teamster cc` has put a
// call into the place of each (cli/cc_updates.c): here it is done by the instruction where that
// is right, and by the page's owner elsewhere. Nobody reads such a variable without a call
// that orders it: a program in which somebody may has sequential memory, where all instructions
// are right.
//
// At the place of `lock addq SOURCE, PLACE` there is
//
//     pushq %r11; pushq SOURCE; leaq PLACE, %r11; call front_locked_addq; SOURCE and %r11 as before
//
// and no register or flag is changed but by the instruction: SOURCE by xadd and xchg, %rax by
// cmpxchg, flags by all but xchg and fences.
#include <cpuid.h>
#include <stdint.h>
#include <string.h>

#include "front.h"
#include "runtime/unchanged.h"

/** What a call hands over: an op and a size (KIND), and where registers of the program are. */
struct frame {
    uint64_t kind;
    uint64_t flags;
    uint64_t r10;
    uint64_t back;
    uint64_t source;
};

#define KIND(op, size) ((op)*16 + (size))

/** Memory in which the instruction may be wrong: from an address, so many bytes. */
uint64_t front_far[2];

/** Bytes of XSAVE. */
uint64_t front_state_size;

#define TEXT(x) #x
#define VALUE(x) TEXT(x)

// One for each instruction. %r11: the place. The source is above the way back, %r10 and the
// flags, which `ends` leaves as the instruction does: SETS or KEEPS.
#define SETS "leaq 8(%rsp), %rsp"
#define KEEPS "popfq"
#define UPDATE(name, instruction, source, after, ends, op, size)               \
    __asm__(".text\n"                                                          \
            ".p2align 4\n"                                                     \
            ".globl front_locked_" name "\n"                                   \
            ".type front_locked_" name ", @function\n"                         \
            "front_locked_" name ":\n"                                         \
            "  pushq %r10\n"                                                   \
            "  pushfq\n"                                                       \
            "  movq %r11, %r10\n"                                              \
            "  subq front_far(%rip), %r10\n"                                   \
            "  cmpq front_far+8(%rip), %r10\n"                                 \
            "  jb 1f\n"                                                        \
            "  movq 24(%rsp), %r10\n"                                          \
            "  " instruction " " source ", (%r11)\n"                           \
            "  " after "\n"                                                    \
            "  " ends "\n"                                                     \
            "  popq %r10\n"                                                    \
            "  retq\n"                                                         \
            "1: pushq $" VALUE(KIND(op, size)) "\n"                            \
                                               "  jmp front_update_far\n"      \
                                               ".size front_locked_" name      \
                                               ", .-front_locked_" name "\n")

#define UPDATES(name, instruction, after, ends, op)                            \
    UPDATE(name "b", instruction "b", "%r10b", after, ends, op, 1);            \
    UPDATE(name "w", instruction "w", "%r10w", after, ends, op, 2);            \
    UPDATE(name "l", instruction "l", "%r10d", after, ends, op, 4);            \
    UPDATE(name "q", instruction "q", "%r10", after, ends, op, 8)

// enum does not reach the assembler.
#define ADD 0
#define AND 1
#define OR 2
#define XOR 3
#define COMPARE 5
#define SUBTRACT 6
#define GET_AND_ADD 7
#define GET_AND_EXCHANGE 8
#define FENCE 9

UPDATES("add", "lock add", "", SETS, ADD);
UPDATES("sub", "lock sub", "", SETS, SUBTRACT);
UPDATES("and", "lock and", "", SETS, AND);
UPDATES("or", "lock or", "", SETS, OR);
UPDATES("xor", "lock xor", "", SETS, XOR);
UPDATES("xadd", "lock xadd", "movq %r10, 24(%rsp)", SETS, GET_AND_ADD);
UPDATES("xchg", "xchg", "movq %r10, 24(%rsp)", KEEPS, GET_AND_EXCHANGE);
UPDATES("cmpxchg", "lock cmpxchg", "", SETS, COMPARE);

__asm__(".text\n"
        ".p2align 4\n"
        ".globl front_locked_fence\n"
        ".type front_locked_fence, @function\n"
        "front_locked_fence:\n"
        "  pushq %r10\n"
        "  pushfq\n"
        "  lock orq $0, (%rsp)\n"
        "  cmpq $0, front_far+8(%rip)\n"
        "  jne 1f\n"
        "  popfq\n"
        "  popq %r10\n"
        "  retq\n"
        "1: pushq $" VALUE(
            KIND(FENCE, 0)) "\n"
                            "  jmp front_update_far\n"
                            ".size front_locked_fence, .-front_locked_fence\n");

// All registers that C code may change are kept: the program's code does not call here.
__asm__(".text\n"
        ".type front_update_far, @function\n"
        "front_update_far:\n"
        "  pushq %rbp\n"
        "  movq %rsp, %rbp\n"
        "  pushq %rax\n"
        "  pushq %rcx\n"
        "  pushq %rdx\n"
        "  pushq %rsi\n"
        "  pushq %rdi\n"
        "  pushq %r8\n"
        "  pushq %r9\n"
        "  subq front_state_size(%rip), %rsp\n"
        "  andq $-64, %rsp\n"
        "  xorl %eax, %eax\n"
        "  leaq 512(%rsp), %rdi\n" // the header of what is kept
        "  movl $8, %ecx\n"
        "  rep stosq\n"
        "  movl $0xe7, %eax\n" // x87, SSE, AVX, AVX-512
        "  xorl %edx, %edx\n"
        "  xsave64 (%rsp)\n"
        "  movq %r11, %rdi\n"
        "  leaq 8(%rbp), %rsi\n"
        "  leaq -8(%rbp), %rdx\n"
        "  call front_update\n"
        "  movl $0xe7, %eax\n"
        "  xorl %edx, %edx\n"
        "  xrstor64 (%rsp)\n"
        "  leaq -56(%rbp), %rsp\n"
        "  popq %r9\n"
        "  popq %r8\n"
        "  popq %rdi\n"
        "  popq %rsi\n"
        "  popq %rdx\n"
        "  popq %rcx\n"
        "  popq %rax\n"
        "  popq %rbp\n"
        "  leaq 8(%rsp), %rsp\n"
        "  popfq\n"
        "  popq %r10\n"
        "  retq\n"
        ".size front_update_far, .-front_update_far\n");

struct update {
    void *place;
    unsigned size;
    enum teamster_update_op op;
    uint64_t operand;
    uint64_t expected;
};

static long perform(const struct update *update)
{
    const struct update copy = *update;

    return (long)teamster_update(copy.place, copy.size, copy.op, copy.operand,
                                 copy.expected);
}

// As the processor puts a result of so many bytes into a register.
static uint64_t put(uint64_t is, uint64_t bytes, unsigned size)
{
    if (size >= 4) {
        return bytes;
    }
    memcpy(&is, &bytes, size);
    return is;
}

// Flags of an instruction on values in the highest bytes of a word: that is where its size counts.
// (This file has no red zone.)
#define FLAGS(instruction, to, from)                                           \
    ({                                                                         \
        uint64_t first = (to);                                                 \
        uint64_t flags;                                                        \
                                                                               \
        __asm__ volatile(instruction " %2, %1\n\tpushfq\n\tpopq %0"            \
                         : "=r"(flags), "+r"(first)                            \
                         : "r"((uint64_t)(from))                               \
                         : "cc");                                              \
        flags;                                                                 \
    })

static uint64_t flags_after(unsigned kind, uint64_t before, uint64_t source,
                            uint64_t rax)
{
    switch (kind) {
    case SUBTRACT:
        return FLAGS("subq", before, source);
    case AND:
        return FLAGS("andq", before, source);
    case OR:
        return FLAGS("orq", before, source);
    case XOR:
        return FLAGS("xorq", before, source);
    case COMPARE:
        return FLAGS("subq", rax, before);
    default:
        return FLAGS("addq", before, source);
    }
}

// What is not aligned is changed by nobody else meanwhile: it always lies so.
static uint64_t perform_unaligned(const struct update *update)
{
    static tm_mutex mutex;
    uint64_t before = 0;
    uint64_t after;

    front_lock(&mutex);
    memcpy(&before, update->place, update->size);
    after = teamster_update_result(update->size, update->op, update->operand,
                                   update->expected, before);
    memcpy(update->place, &after, update->size);
    front_unlock(&mutex);
    return before;
}

/** What `lock` does to a place. @param rax  the program's register */
static void update(void *place, struct frame *frame, uint64_t *rax)
{
    static const enum teamster_update_op ops[] = {
        [ADD] = TEAMSTER_ADD,         [SUBTRACT] = TEAMSTER_ADD,
        [AND] = TEAMSTER_AND,         [OR] = TEAMSTER_OR,
        [XOR] = TEAMSTER_XOR,         [COMPARE] = TEAMSTER_COMPARE,
        [GET_AND_ADD] = TEAMSTER_ADD, [GET_AND_EXCHANGE] = TEAMSTER_EXCHANGE,
    };
    const unsigned kind = (unsigned)frame->kind / 16;
    const unsigned size = frame->kind % 16;
    const unsigned shift = 64 - 8 * size;
    const struct update what = {
        .place = place,
        .size = size,
        .op = ops[kind],
        .operand = kind == SUBTRACT ? -frame->source : frame->source,
        .expected = *rax,
    };
    const uint64_t before = (uintptr_t)place % size == 0
                                ? (uint64_t)FRONT_1(perform, &what)
                                : perform_unaligned(&what);

    if (kind != GET_AND_EXCHANGE) {
        frame->flags = flags_after(kind, before << shift,
                                   frame->source << shift, *rax << shift);
    }
    if (kind == GET_AND_ADD || kind == GET_AND_EXCHANGE) {
        frame->source = put(frame->source, before, size);
    } else if (kind == COMPARE && memcmp(&before, rax, size) != 0) {
        *rax = put(*rax, before, size);
    }
}

void front_update(void *place, struct frame *frame, uint64_t *rax);
void front_update(void *place, struct frame *frame, uint64_t *rax)
{
    static tm_mutex flushes;

    if (frame->kind == KIND(FENCE, 0)) {
        front_lock(&flushes); // what is before one flush comes before the next
        front_unlock(&flushes);
    } else {
        update(place, frame, rax);
    }
}

void front_begin_updates(void)
{
    unsigned most;
    unsigned unused;

    __cpuid_count(0xd, 0, unused, most, unused, unused);
    front_state_size = most + 64;
    front_far[0] = (uint64_t)front_program.flags_end;
    front_far[1] = UINT64_MAX - front_far[0]; // blocks are above the variables
}

void front_end_updates(void)
{
    front_far[1] = 0;
}
