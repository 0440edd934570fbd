// SPDX-License-Identifier: BSD-3-Clause
#include "process_end.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/log.h"

int process_end_code(int signal)
{
    static const int own[] = {SIGSEGV, SIGBUS,  SIGABRT, SIGFPE,   SIGILL,
                              SIGTRAP, SIGSYS,  SIGPIPE, SIGALRM,  SIGVTALRM,
                              SIGPROF, SIGXCPU, SIGXFSZ, SIGSTKFLT};

    for (unsigned i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (own[i] == signal) {
            return 128 + signal;
        }
    }
    return EXIT_NODE_LOST;
}

void process_end_signal_name(int signal, char *name, size_t size)
{
    const char *known = sigabbrev_np(signal);

    if (known != NULL) {
        snprintf(name, size, "SIG%s", known);
    } else {
        snprintf(name, size, "signal %d", signal);
    }
}

void process_end_describe(int code, int status, char *text, size_t size)
{
    char name[32];

    if (code == CLD_EXITED) {
        snprintf(text, size, "exit code %d", status);
        return;
    }
    process_end_signal_name(status, name, sizeof name);
    snprintf(text, size, "killed by %s%s", name,
             code == CLD_DUMPED ? " (core file written)" : "");
}

int process_end_code_of_exec(int error)
{
    return error == ENOENT || error == ENOTDIR ? 127 : 126;
}
