// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that only the caller's node has (thread-local variables, what the C library answers,
// constants), given to a call that is done on the root: a block of shared memory takes its
// place for the time of the call.
#include "front.h"

#include <string.h>

#include "runtime/unchanged.h"

static long ask_node(void)
{
    return (long)tm_node_self();
}

int front_is_on_root(void)
{
    return FRONT_1(ask_node, 0) == 0;
}

static int is_variable(const void *address)
{
    const char *at = address;

    return at >= front_program.variables.shared_start &&
           at < front_program.variables.shared_end;
}

int front_reaches_root(const void *address)
{
    return address == NULL || front_is_shared(address) ||
           is_variable(address) || front_is_on_root();
}

struct front_loan front_borrow(void *own, size_t size)
{
    struct front_loan loan = {.at = own, .own = own};

    if (!front_reaches_root(own)) {
        loan.at = front_allocate(size);
        if (loan.at == NULL) {
            front_fatal("no memory for a call on the root, of %zu bytes", size);
        }
    }
    return loan;
}

struct front_loan front_lend(const void *own, size_t size)
{
    struct front_loan loan = front_borrow((void *)(uintptr_t)own, size);

    if (loan.at != own) {
        memcpy(loan.at, own, size);
    }
    return loan;
}

void front_end_loan(struct front_loan loan, size_t size)
{
    if (loan.at != loan.own) {
        memcpy(loan.own, loan.at, size);
        front_free(loan.at);
    }
}

const char *front_lend_text(const char *own)
{
    return front_reaches_root(own) ? own : front_lend(own, strlen(own) + 1).at;
}

void front_end_text(const char *own, const char *lent)
{
    if (lent != own) {
        front_free((void *)(uintptr_t)lent);
    }
}
