// SPDX-License-Identifier: BSD-3-Clause
#include "net/inbox.h"

#include "base/list.h"
#include "base/log.h"

void inbox_init(struct inbox *inbox, node_id self, net_receive_fn *receive,
                void *owner)
{
    *inbox = (struct inbox){
        .self = self,
        .receive = receive,
        .owner = owner,
    };
}

void inbox_refuse(struct inbox *inbox, unsigned from, size_t size,
                  const char *why)
{
    if (inbox->counters.bad_frames++ < LOG_REFUSED_MAX) {
        log_error("a message of %zu bytes from node %u is refused: %s", size,
                  from, why);
    }
}

void inbox_deliver(struct inbox *inbox, node_id from, const void *frame,
                   uint32_t size)
{
    struct message message;

    if (message_decode(frame, size, &message) != TM_OK) {
        inbox_refuse(inbox, from, size, "it is malformed");
        return;
    }
    if (from != inbox->self) {
        inbox->counters.messages_received++;
        inbox->counters.bytes_received += size;
    }
    inbox->n_delivered++;
    inbox->receive(inbox->owner, from, &message);
}

void inbox_send_to_self(struct inbox *inbox, struct frame *frame)
{
    list_append(&inbox->to_self, frame);
}

void inbox_deliver_to_self(struct inbox *inbox)
{
    struct frame *frames = inbox->to_self.first;

    inbox->to_self.first = NULL;
    list_take_each (frame, frames) {
        inbox_deliver(inbox, inbox->self, frame->bytes, frame->size);
        frame_put(frame);
    }
}
