// SPDX-License-Identifier: BSD-3-Clause
#include "os/descriptor.h"

#include <unistd.h>

void descriptor_close(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}
