// SPDX-License-Identifier: BSD-3-Clause
//
// std::set_terminate(): each node has a C++ library of its own, so what is told to one is kept in
// shared memory, and all of them call what is kept. Only programs that set it are linked with this.
#include "front.h"

typedef void handler(void);

extern handler *set_native(handler *to) __asm__("_ZSt13set_terminatePFvvE");

static TM_SHARED handler *program_handler;
static handler *native_handler; // the same for all nodes

static void call_handler(void)
{
    handler *handle = program_handler;

    (handle != NULL ? handle : native_handler)();
}

__attribute__((constructor)) static void take_place(void)
{
    native_handler = set_native(call_handler);
}

handler *set_terminate(handler *to) NAMED("tmf__ZSt13set_terminatePFvvE");
handler *set_terminate(handler *to)
{
    handler *before = program_handler;

    program_handler = to;
    return before != NULL ? before : native_handler;
}

handler *get_terminate(void) NAMED("tmf__ZSt13get_terminatev");
handler *get_terminate(void)
{
    return program_handler != NULL ? program_handler : native_handler;
}
