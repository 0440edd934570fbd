// SPDX-License-Identifier: BSD-3-Clause
#include "emulate.h"

#include "base/options.h"

/** What the nodes may use of the machine; the rest is for service threads. */
#define USABLE 0.4

static void set_workers(struct hosts *hosts, unsigned n_processors)
{
    for (unsigned i = 0; i < hosts->n; i++) {
        struct host *host = &hosts->all[i];

        if (host->workers == 0) {
            host->workers =
                n_processors > hosts->n ? n_processors / hosts->n : 1;
        }
    }
}

static double top_speed(const struct hosts *hosts)
{
    double top = 0;

    for (unsigned i = 0; i < hosts->n; i++) {
        top = hosts->all[i].speed > top ? hosts->all[i].speed : top;
    }
    return top;
}

tm_status emulate_speeds(struct hosts *hosts, unsigned n_processors,
                         char *error, size_t size)
{
    const double top = top_speed(hosts);
    double wanted = 0;
    double factor;

    set_workers(hosts, n_processors);
    if (top == 0) {
        return TM_OK;
    }
    for (unsigned i = 0; i < hosts->n; i++) {
        wanted += hosts->all[i].speed / top * hosts->all[i].workers;
    }
    factor = USABLE * n_processors / wanted;
    factor = factor > 1 ? 1 : factor;
    for (unsigned i = 0; i < hosts->n; i++) {
        struct host *host = &hosts->all[i];

        host->share = host->speed / top * factor;
        if (host->share < SHARE_MIN) {
            snprintf(error, size,
                     "line %u: '%s' with speed %g would get %g of a processor; "
                     "at least %g can be emulated",
                     host->line, host->name, host->speed, host->share,
                     SHARE_MIN);
            return TM_ECONFIG;
        }
    }
    return TM_OK;
}
