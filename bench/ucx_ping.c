// SPDX-License-Identifier: BSD-3-Clause
/*
 * A request of 64 bytes and an answer of 4 KiB, by UCX active messages between
 * two processes: what the fetch of a page is compared with.
 *
 *     ucx_ping poll|event [ROUNDS]
 *
 * `poll` spins for the answer, `event` sleeps on the worker's descriptor when
 * nothing is there. UCX_TLS chooses the way, as always. Prints one line, see
 * samples.h.
 */
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "samples.h"

enum { REQUEST_SIZE = 64, ANSWER_SIZE = 4096, AM_ID = 1 };

static ucp_worker_h worker;
static ucp_ep_h peer;
static int event_fd;
static int is_sleeping;
static int n_received;

static void check(int is_good, const char *what)
{
    if (!is_good) {
        fprintf(stderr, "ucx_ping: %s failed\n", what);
        _exit(EXIT_FAILURE);
    }
}

static ucs_status_t message_arrived(void *arg, const void *header,
                                    size_t header_size, void *data, size_t size,
                                    const ucp_am_recv_param_t *param)
{
    (void)arg, (void)header, (void)header_size, (void)data, (void)size;
    (void)param;
    n_received++;
    return UCS_OK;
}

static void worker_open(void)
{
    const ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES,
        .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP,
    };
    const ucp_worker_params_t worker_params = {0};
    const ucp_am_handler_param_t handler = {
        .field_mask =
            UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB,
        .id = AM_ID,
        .cb = message_arrived,
    };
    ucp_context_h context;

    check(ucp_init(&params, NULL, &context) == UCS_OK, "ucp_init");
    check(ucp_worker_create(context, &worker_params, &worker) == UCS_OK,
          "ucp_worker_create");
    check(ucp_worker_set_am_recv_handler(worker, &handler) == UCS_OK,
          "ucp_worker_set_am_recv_handler");
    check(ucp_worker_get_efd(worker, &event_fd) == UCS_OK,
          "ucp_worker_get_efd");
}

// Tell the other process our address over the socket, and connect to its.
static void peer_connect(int socket)
{
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
    ucp_address_t *address;
    size_t size;
    char theirs[4096];

    check(ucp_worker_get_address(worker, &address, &size) == UCS_OK,
          "ucp_worker_get_address");
    check(send(socket, address, size, 0) == (ssize_t)size, "send");
    check(recv(socket, theirs, sizeof theirs, 0) > 0, "recv");
    ucp_worker_release_address(worker, address);
    params.address = (const ucp_address_t *)theirs;
    check(ucp_ep_create(worker, &params, &peer) == UCS_OK, "ucp_ep_create");
}

static void message_send(const void *data, size_t size)
{
    const ucp_request_param_t param = {0};
    void *request = ucp_am_send_nbx(peer, AM_ID, NULL, 0, data, size, &param);

    check(!UCS_PTR_IS_ERR(request), "ucp_am_send_nbx");
    if (request != NULL) {
        while (ucp_request_check_status(request) == UCS_INPROGRESS) {
            ucp_worker_progress(worker);
        }
        ucp_request_free(request);
    }
}

static void message_wait(int n)
{
    while (n_received < n) {
        if (ucp_worker_progress(worker) != 0 || !is_sleeping) {
            continue;
        }
        if (ucp_worker_arm(worker) == UCS_OK) {
            struct pollfd fd = {.fd = event_fd, .events = POLLIN};

            check(poll(&fd, 1, 10000) == 1, "waiting for a message");
        }
    }
}

static void answer(int n_rounds)
{
    static char page[ANSWER_SIZE];

    for (int i = 1; i <= n_rounds; i++) {
        message_wait(i);
        message_send(page, sizeof page);
    }
}

static void ask(int n_rounds, const char *mode)
{
    static char request[REQUEST_SIZE];
    const int n_warm = n_rounds / 10 + 1;
    double *us = calloc((size_t)n_rounds, sizeof *us);

    check(us != NULL, "calloc");
    for (int i = 1; i <= n_rounds; i++) {
        const double start_us = now_us();

        message_send(request, sizeof request);
        message_wait(i);
        us[i - 1] = now_us() - start_us;
    }
    if (n_rounds > n_warm) {
        samples_print(mode, us + n_warm, (size_t)(n_rounds - n_warm));
    }
    free(us);
}

int main(int argc, char **argv)
{
    const int n_rounds = argc == 3 ? atoi(argv[2]) : 5000;
    int sockets[2];
    pid_t child;

    if (argc < 2 || argc > 3 || n_rounds < 1 ||
        (strcmp(argv[1], "poll") != 0 && strcmp(argv[1], "event") != 0)) {
        fprintf(stderr, "usage: ucx_ping poll|event [ROUNDS]\n");
        return 64;
    }
    is_sleeping = argv[1][0] == 'e';
    check(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) == 0, "socketpair");
    child = fork();
    check(child >= 0, "fork");
    worker_open();
    peer_connect(sockets[child == 0]);
    if (child == 0) {
        char end;

        answer(n_rounds);
        // The last answer may need our help until the other has it.
        while (recv(sockets[1], &end, 1, MSG_DONTWAIT) < 0) {
            ucp_worker_progress(worker);
        }
        _exit(EXIT_SUCCESS);
    }
    ask(n_rounds, argv[1]);
    check(send(sockets[0], "", 1, 0) == 1, "send");
    waitpid(child, NULL, 0);
    return 0;
}
