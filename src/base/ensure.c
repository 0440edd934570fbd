// SPDX-License-Identifier: BSD-3-Clause
#include "base/ensure.h"

#include "base/log.h"

void ensure_failed(const char *expression, const char *file, int line,
                   const char *function)
{
    log_fatal(EXIT_INTERNAL,
              "internal error: %s does not hold in %s(), %s:%d; please report "
              "this line",
              expression, function, file, line);
}
