// SPDX-License-Identifier: BSD-3-Clause
#ifndef PARCELS_H
#define PARCELS_H

#include "world.h"

/** Do something with a parcel now and then. @return 1 if so; the thread goes on later */
int parcels_play(struct thread *thread);

/** The access to its parcel that a thread has begun: its page may be used. */
void parcels_perform(const struct thread *thread);

/** The page that it needs. */
page_no parcels_page(const struct thread *thread);

/** No thread runs any more: free what is left, on any node. */
void parcels_free_all(struct world *world,
                      void (*release)(struct world *world, unsigned node,
                                      uint64_t address));

#endif
