// SPDX-License-Identifier: BSD-3-Clause
//
// eager-release (protocols.md, section 3): several nodes write a page at once,
// each against its twin; at a release the differing bytes go to all copies. How
// the release collects them is in release.c; what a fault, a fetch, and an update that
// arrives do to a page is in pushes.c. Here: whoever asks for a page is pushed to.
#include "protocol/protocol_rows.h"
#include "protocol/pushes.h"

static const struct sharing_rule rule = {
    .read_moves = 1,
    .write_moves = 3,
    .subscribes = SUBSCRIBES_ALL,
};

static enum serve_result serve(struct engine *engine, page_no page,
                               const struct fetch_request *request)
{
    if (request->requester == engine->port->self) {
        return REFUSED; // it has the page already
    }
    if (!pushes_move(engine, page, request, &rule)) {
        fetch_send_copy(engine, page, request->requester, 1);
    }
    return SERVED;
}

static const struct update_rules rules = {
    .pushed = pushes_receive,
    .to_owner = pushes_to_owner,
    .may_hand = pushes_may_hand,
};

const struct protocol protocol_eager_release = {
    .name = "eager-release",
    .id = TM_EAGER_RELEASE,
    .base = &updates_base,
    .updates = &rules,
    .local_fault = pushes_local_fault,
    .serve = serve,
    .arrived = pushes_arrived,
    .state_alone = pushes_state_alone,
    .evicted = pushes_evicted,
    .advised = pushes_advised,
};
