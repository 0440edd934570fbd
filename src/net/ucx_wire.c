// SPDX-License-Identifier: BSD-3-Clause
#include "net/ucx_wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "net/address.h"

static void wrap(struct wire *wire, const void *address, size_t size)
{
    uint8_t *bytes = malloc(size + DOORBELL_BYTES);

    wire->address_size = address_wrapped_size(size + DOORBELL_BYTES);
    wire->address = malloc(wire->address_size);
    if (bytes == NULL || wire->address == NULL) {
        log_error("no memory for the transport's address");
        free(wire->address);
        wire->address = NULL;
    } else {
        memcpy(bytes, address, size);
        doorbell_describe(wire->doorbell, bytes + size);
        address_wrap(bytes, size + DOORBELL_BYTES, wire->address);
    }
    free(bytes);
}

static tm_status make_address(struct wire *wire)
{
    ucp_address_t *address;
    size_t size;
    ucs_status_t result =
        wire->ucx.ucp_worker_get_address(wire->worker, &address, &size);

    if (result != UCS_OK) {
        log_error("cannot get an address from UCX: %s",
                  wire->ucx.ucs_status_string(result));
        return TM_ESYSTEM;
    }
    wrap(wire, address, size);
    wire->ucx.ucp_worker_release_address(wire->worker, address);
    return wire->address != NULL ? TM_OK : TM_ENOMEM;
}

static tm_status listen_for_frames(struct wire *wire,
                                   ucp_am_recv_callback_t receive)
{
    const ucp_am_handler_param_t param = {
        .field_mask =
            UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
            UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = WIRE_AM,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = receive,
        .arg = wire,
    };
    ucs_status_t result =
        wire->ucx.ucp_worker_set_am_recv_handler(wire->worker, &param);

    if (result != UCS_OK) {
        log_error("UCX takes no handler for messages: %s",
                  wire->ucx.ucs_status_string(result));
        return TM_ESYSTEM;
    }
    return TM_OK;
}

tm_status wire_open(struct wire *wire, enum ucx_reach reach, unsigned n_nodes,
                    ucp_am_recv_callback_t receive)
{
    tm_status status = ucx_open_worker(&wire->ucx, reach, n_nodes,
                                       &wire->context, &wire->worker);

    if (status != TM_OK) {
        return status;
    }
    status = listen_for_frames(wire, receive);
    if (status == TM_OK) {
        status = make_address(wire);
    }
    if (status != TM_OK) {
        wire_close(wire);
    }
    return status;
}

void wire_close(struct wire *wire)
{
    wire->ucx.ucp_worker_destroy(wire->worker);
    wire->ucx.ucp_cleanup(wire->context);
    free(wire->address);
}

tm_status wire_connect(struct wire *wire, const void *address, size_t size,
                       const ucp_err_handler_t *failed, ucp_ep_h *endpoint,
                       ucs_status_t *result)
{
    const ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = address_unwrap(address, size),
        .err_mode = UCP_ERR_HANDLING_MODE_NONE,
        .err_handler = *failed,
    };

    *endpoint = NULL;
    if (params.address == NULL || size < address_wrapped_size(DOORBELL_BYTES)) {
        return TM_EWIRE;
    }
    *result = wire->ucx.ucp_ep_create(wire->worker, &params, endpoint);
    if (*result != UCS_OK) {
        *endpoint = NULL;
        return TM_EPEER;
    }
    return TM_OK;
}
