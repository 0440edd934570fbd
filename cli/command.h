// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

/*
 * The subcommands. Each is given its own name as argv[0] and returns the exit
 * code.
 */
int command_run(int argc, char **argv);
int command_cc(int argc, char **argv);
int command_cxx(int argc, char **argv);
int command_fc(int argc, char **argv);
int command_plan(int argc, char **argv);
int command_simulate(int argc, char **argv);
int command_report(int argc, char **argv);
int command_ckpt(int argc, char **argv);
int command_info(int argc, char **argv);
int command_demo(int argc, char **argv);
int command_ps(int argc, char **argv);
int command_top(int argc, char **argv);
int command_attach(int argc, char **argv);
int command_add(int argc, char **argv);
int command_remove(int argc, char **argv);
int command_checkpoint(int argc, char **argv);
int command_agent(int argc, char **argv);  ///< for the launcher's own use
int command_tables(int argc, char **argv); ///< for the build's

void run_print_help(void);
void cc_print_help(void);
void plan_print_help(void);
void simulate_print_help(void);
void report_print_help(void);
void ckpt_print_help(void);
void info_print_help(void);
void demo_print_help(void);
void ps_print_help(void);
void top_print_help(void);
void attach_print_help(void);
void add_print_help(void);
void remove_print_help(void);
void checkpoint_print_help(void);

#endif
