// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_DESCRIPTOR_H
#define OS_DESCRIPTOR_H

/** Close a descriptor, if it is one. @param fd  -1: there is none
 * Context: any kernel thread. */
void descriptor_close(int fd);

#endif
