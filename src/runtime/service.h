// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_SERVICE_H
#define RUNTIME_SERVICE_H

#include "base/status.h"

tm_status service_start(void);
/** Have it look at once. */
void service_wake(void);
void service_join(void);
/** What a worker does when it has nothing to run. */
int service_idle(void *owner, unsigned worker);

#endif
