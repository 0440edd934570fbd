// SPDX-License-Identifier: BSD-3-Clause
//
// Node a has connected to node b:
//
//   hello    a -> b   mark, a, b, roster epoch, a number drawn, MAC
//   answer   b -> a   mark, fenced or not, roster epoch, a number drawn, MAC
//   confirm  a -> b   the first sealed frame (net/tcp.c)
//
// The numbers drawn are X25519 keys for this connection only; the MACs are made with
// the job's key, the answer's of hello and answer. The keys of the connection are
// made of what X25519 gives, of the job's key, and of all of hello and answer.
//
// H1  b says nothing before it has a hello with a good MAC: who has not the job's
//     key learns nothing, not even that a node is there.
// H2  A hello may be a recording. So b takes a for whom it says only when it has
//     the confirm, which needs the number that b has drawn just now; and a takes b
//     for whom it says by the answer, whose MAC covers the number that a has drawn.
// H3  Who reads a recording later needs a number that was drawn and is gone, even
//     with the job's key.
// H4  Hello and answer have different marks, and name who speaks to whom: neither
//     can be sent back as the other, or to somebody else.
#include "net/handshake.h"

#include <string.h>

#include "net/message.h"

#define HELLO_MARK 0x31484d54u  // "TMH1"
#define ANSWER_MARK 0x31414d54u // "TMA1"
#define HELLO_TEXT (HELLO_SIZE - SEAL_MAC_SIZE)
#define ANSWER_TEXT (ANSWER_SIZE - SEAL_MAC_SIZE)
#define HELLO_SHOWN (HELLO_TEXT - SEAL_KEY_SIZE)
#define ANSWER_SHOWN (ANSWER_TEXT - SEAL_KEY_SIZE)

void handshake_hello(const struct seals *seals, const struct hello *hello,
                     struct handshake *handshake)
{
    uint8_t *said = handshake->said;
    struct wire_writer writer = {.at = said, .end = said + HELLO_SHOWN};

    wire_put_u32(&writer, HELLO_MARK);
    wire_put_u16(&writer, hello->from);
    wire_put_u16(&writer, hello->to);
    wire_put_u32(&writer, hello->epoch);
    seals_make_pair(seals, handshake->secret, said + HELLO_SHOWN);
    seals_mac(seals, said, HELLO_TEXT, NULL, 0, said + HELLO_TEXT);
}

int handshake_is_hello(const uint8_t *bytes, size_t size)
{
    static const uint8_t mark[] = {'T', 'M', 'H', '1'};

    return memcmp(bytes, mark, size < sizeof mark ? size : sizeof mark) == 0;
}

tm_status handshake_read_hello(const struct seals *seals, const uint8_t *bytes,
                               struct hello *hello)
{
    struct wire_reader reader = {.at = bytes, .end = bytes + HELLO_SHOWN};
    uint8_t mac[SEAL_MAC_SIZE];

    seals_mac(seals, bytes, HELLO_TEXT, NULL, 0, mac);
    if (!handshake_is_hello(bytes, HELLO_SIZE) ||
        !seals_is_same(seals, mac, bytes + HELLO_TEXT)) {
        return TM_EWIRE;
    }
    (void)wire_get_u32(&reader); // the mark
    hello->from = wire_get_u16(&reader);
    hello->to = wire_get_u16(&reader);
    hello->epoch = wire_get_u32(&reader);
    return TM_OK;
}

/** @param is_first  this end has connected */
static tm_status make_lanes(const struct seals *seals,
                            const struct handshake *handshake, int is_first,
                            struct seal_lanes *lanes)
{
    const uint8_t *shown = is_first
                               ? handshake->said + HELLO_SIZE + ANSWER_SHOWN
                               : handshake->said + HELLO_SHOWN;
    uint8_t keys[2 * SEAL_KEY_SIZE];
    tm_status status =
        seals_agree(seals, handshake->secret, shown, handshake->said,
                    sizeof handshake->said, keys);

    if (status == TM_OK) {
        *lanes = (struct seal_lanes){0};
        memcpy(lanes->out.key, keys + (is_first ? 0 : SEAL_KEY_SIZE),
               SEAL_KEY_SIZE);
        memcpy(lanes->in.key, keys + (is_first ? SEAL_KEY_SIZE : 0),
               SEAL_KEY_SIZE);
    }
    explicit_bzero(keys, sizeof keys);
    return status;
}

tm_status handshake_answer(const struct seals *seals, const uint8_t *bytes,
                           const struct answer *answer,
                           struct handshake *handshake,
                           struct seal_lanes *lanes)
{
    uint8_t *said = handshake->said + HELLO_SIZE;
    struct wire_writer writer = {.at = said, .end = said + ANSWER_SHOWN};

    memcpy(handshake->said, bytes, HELLO_SIZE);
    wire_put_u32(&writer, ANSWER_MARK);
    wire_put_u8(&writer, answer->is_fenced != 0);
    wire_put_u32(&writer, answer->epoch);
    seals_make_pair(seals, handshake->secret, said + ANSWER_SHOWN);
    seals_mac(seals, bytes, HELLO_SIZE, said, ANSWER_TEXT, said + ANSWER_TEXT);
    return make_lanes(seals, handshake, 0, lanes);
}

tm_status handshake_read_answer(const struct seals *seals,
                                const struct handshake *handshake,
                                struct answer *answer, struct seal_lanes *lanes)
{
    const uint8_t *said = handshake->said + HELLO_SIZE;
    struct wire_reader reader = {.at = said, .end = said + ANSWER_SHOWN};
    uint8_t mac[SEAL_MAC_SIZE];

    seals_mac(seals, handshake->said, HELLO_SIZE, said, ANSWER_TEXT, mac);
    if (wire_get_u32(&reader) != ANSWER_MARK ||
        !seals_is_same(seals, mac, said + ANSWER_TEXT)) {
        return TM_EWIRE;
    }
    answer->is_fenced = wire_get_u8(&reader) != 0;
    answer->epoch = wire_get_u32(&reader);
    return make_lanes(seals, handshake, 1, lanes);
}
