// SPDX-License-Identifier: BSD-3-Clause
#ifndef STEPS_H
#define STEPS_H

#include "world.h"

/** Judge what pages do on a node, from now on. */
void steps_watch_node(struct world *world, unsigned node);

/** All that has changed of the page there has been told. */
void steps_check_page(const struct world *world, unsigned node, page_no page);

/** If the environment asks for it (TELL_STEPS): how often each step was made. */
void steps_tell(tm_protocol protocol);

#endif
