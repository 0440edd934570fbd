// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_ROWS_H
#define PROTOCOL_ROWS_H

#include "pages/protocol.h"

/* The protocols there are, each in the file of its name; runtime/registry.c lists them. */
extern const struct protocol protocol_eager_release;
extern const struct protocol protocol_implicit;
extern const struct protocol protocol_sequential;

#endif
