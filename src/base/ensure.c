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

void ensure_memory_failed(const char *file, int line, const char *function)
{
    log_fatal(EXIT_MEMORY,
              "out of memory in %s(), %s:%d; see ulimit -v and what else runs "
              "on this machine",
              function, file, line);
}
