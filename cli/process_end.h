// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_PROCESS_END_H
#define CLI_PROCESS_END_H

#include <stddef.h>

/** How the end of a node's process is told, and what it makes of the run. */

/** The launcher's exit code if a signal ends a node: 128 + n for what a program
 * does to itself (SIGSEGV, SIGABRT, ...), EXIT_NODE_LOST for what is done to it
 * (SIGKILL, SIGTERM, ...). */
int process_end_code(int signal);

/** "SIGKILL"; "signal 40" if it has no name. @param[out] name  [size] */
void process_end_signal_name(int signal, char *name, size_t size);

/** "killed by SIGKILL" or "exit code 3" of a waitid() result.
 * @param[out] text  [size] */
void process_end_describe(int code, int status, char *text, size_t size);

/** The exit code if the program cannot be started, as shells have it. */
int process_end_code_of_exec(int error);

#endif
