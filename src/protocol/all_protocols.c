// SPDX-License-Identifier: BSD-3-Clause
// All protocols there are, for who makes an engine; base/protocols.def has the rows.
#include "protocol/protocol_rows.h"

static const struct protocol *const protocols[] = {
#define PROTOCOL(symbol, id, name, no_diffs) &protocol_##symbol,
#include "base/protocols.def"
};

const struct protocols all_protocols = {protocols,
                                        sizeof protocols / sizeof protocols[0]};
