// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_RESTART_H
#define CLI_RESTART_H

/**
 * A run is to go on from a checkpoint (--restart): see that there is one, and have what must
 * be as it was then be so, unless somebody has said otherwise.
 *
 * @param folder        of checkpoints
 * @param[in,out] argv  the program and its words; those of the checkpoint if there are none
 * @return 0, or an exit code (told)
 */
int restart_prepare(const char *folder, char ***argv);

#endif
