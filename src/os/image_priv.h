// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_IMAGE_PRIV_H
#define OS_IMAGE_PRIV_H

#include <link.h>

/** The kernel's own object, whose place is not the program's matter. */
int image_is_vdso(const struct dl_phdr_info *object);

#endif
