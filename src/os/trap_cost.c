// SPDX-License-Identifier: BSD-3-Clause
//
// What a trap costs: an instruction reads where it may not, and the handler has it go on
// behind that. Nobody's access is changed, so what is measured is the trap alone. The
// least of some counts: the others were interrupted.
#include "os/trap_cost.h"

#include <signal.h>
#include <ucontext.h>

#include "base/clock.h"
#include "os/range.h"
#include "os/trap.h"

enum { ROUNDS = 64, PROBED_BYTES = 4096 };

void trap_cost_read(const volatile char *address);
void trap_cost_go_on(void);

__asm__(".text\n"
        ".hidden trap_cost_read\n"
        ".hidden trap_cost_go_on\n"
        ".globl trap_cost_read, trap_cost_go_on\n"
        ".type trap_cost_read, @function\n"
        "trap_cost_read:\n"
        "movb (%rdi), %al\n"
        "trap_cost_go_on:\n"
        "ret\n"
        ".size trap_cost_read, .-trap_cost_read\n");

static int leave_out(void *owner, const struct trap *trap)
{
    ucontext_t *state = trap->ucontext;

    (void)owner;
    if (trap->pc != (uintptr_t)trap_cost_read) {
        return 0;
    }
    state->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)trap_cost_go_on;
    return 1;
}

static uint64_t least_of_rounds(const char *denied)
{
    uint64_t least_ns = UINT64_MAX;

    for (unsigned i = 0; i < ROUNDS; i++) {
        const uint64_t began_ns = clock_now_ns();
        uint64_t ns;

        trap_cost_read(denied);
        ns = clock_now_ns() - began_ns;
        least_ns = ns < least_ns ? ns : least_ns;
    }
    return least_ns;
}

tm_status trap_cost_measure(uint64_t *cost_ns)
{
    char *denied = range_new(PROBED_BYTES);
    tm_status status;

    if (denied == NULL) {
        return TM_ENOMEM;
    }
    status = trap_install(SIGSEGV, leave_out, NULL);
    if (status == TM_OK) {
        range_deny(denied, PROBED_BYTES);
        *cost_ns = least_of_rounds(denied);
        *cost_ns += *cost_ns == 0;
    }
    range_free(denied, PROBED_BYTES);
    return status;
}
