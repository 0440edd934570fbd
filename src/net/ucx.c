// SPDX-License-Identifier: BSD-3-Clause
//
// UCX is loaded with dlopen() for two reasons: a cluster of one works without
// it, and it reads its settings in constructors, which have run before main()
// if a program is linked against it. As a guest in the user's process it must
// not do most of what it does by default: catch signals, replace mmap() and
// malloc(), start a thread that watches /tmp, write to standard output, listen
// on all network interfaces. All of that is turned off by environment variables,
// where the user has not set them, and these are taken back when UCX has read
// them, so that programs that the user's program starts do not inherit them.
//
// In a run on several hosts only shared memory leads to the worker of a node for its own,
// and what comes by it was written by a process of this user on this host. UCX was not
// written to stand strangers: other hosts have a wire of our own (net/tcp.h), unless the
// user says that there are none and wants a second worker for them (net/fabric.c). That
// one has settings of its own, but for those that the library reads when it is loaded:
// where it looks for drivers, among others.
//
// What UCX leaves in the process: one thread (all signals blocked), a few
// descriptors (close-on-exec).
#include "net/ucx.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/ensure.h"
#include "base/log.h"
#include "net/address.h"
#include "net/frame.h"
#include "os/descriptor.h"
#include "os/rdma.h"

/** The number of our active messages. */
#define WIRE_AM 1

// ---- settings ----

static const struct setting {
    const char *name;
    const char *value;
} settings[] = {
    // Signals are the user's and the fault source's.
    {"UCX_HANDLE_ERRORS", "none"},
    {"UCX_ERROR_SIGNALS", ""},
    {"UCX_DEBUG_SIGNO", "0"},
    // No hooks in mmap(), munmap(), malloc() and their like.
    {"UCX_MEM_EVENTS", "n"},
    {"UCX_MEM_MMAP_HOOK_MODE", "none"},
    {"UCX_MEM_MALLOC_HOOKS", "n"},
    {"UCX_MEM_MALLOC_RELOC", "n"},
    {"UCX_MEM_CUDA_HOOK_MODE", "none"},
    {"UCX_MEM_DYNAMIC_MMAP_THRESH", "n"},
    {"UCX_MEMTYPE_CACHE", "n"},
    // No thread that shows UCX's objects as files.
    {"UCX_VFS_ENABLE", "n"},
    {"UCX_WARN_UNUSED_ENV_VARS", "n"},
    // It complains when a node is lost; that is told elsewhere, and once.
    {"UCX_LOG_FILE", "stderr"},
    {"UCX_LOG_LEVEL", "fatal"},
    // Messages are eager: no connections for rendezvous transfers. UCX 1.13 aborts
    // the process if a node is lost while such a one, over TCP beside shared
    // memory, is being made.
    {"UCX_MAX_RNDV_RAILS", "0"},
    // Segments have no name once they are made: nothing outlives a kill -9.
    {"UCX_POSIX_USE_PROC_LINK", "y"},
    // Eight pages in one piece, and no more pieces than the queue has room for:
    // 2.7 MB a node instead of 4.2, and long messages take half the time.
    {"UCX_POSIX_SEG_SIZE", "33792"},
    {"UCX_POSIX_RX_BUFS_GROW", "80"},
};

// If the user has not chosen transports: the nodes are on one host, and shared
// memory alone will do. Nothing listens, and no driver needs to be loaded.
static const struct setting local_settings[] = {
    {"UCX_TLS", "posix"},
};

static const struct setting without_drivers[] = {
    {"UCX_MODULES", "none"},
};

// Whatever UCX has for networks, RDMA first. To connect holds up nobody, and how long a
// node may be silent is not UCX's affair.
static const struct setting network_settings[] = {
    {"UCX_TLS", "^shm,self"},
    {"UCX_TCP_CONN_NB", "y"},
    {"UCX_TCP_KEEPIDLE", "inf"},
    {"UCX_KEEPALIVE_INTERVAL", "inf"},
};

#define N_OF(table) (sizeof(table) / sizeof(table)[0])
#define MADE_MAX 32

/** Settings that were made here, and what was there before. */
struct made_settings {
    unsigned n;
    struct {
        const char *name;
        char *before; ///< NULL: nothing
    } made[MADE_MAX];
};

static void make_setting(struct made_settings *made, const char *name,
                         const char *value)
{
    const char *before = getenv(name);

    ensure(made->n < MADE_MAX);
    made->made[made->n].name = name;
    made->made[made->n].before = before != NULL ? strdup(before) : NULL;
    made->n++;
    setenv(name, value, 1);
}

/** Those that the user has not made. */
static void make_settings(struct made_settings *made,
                          const struct setting *table, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (getenv(table[i].name) == NULL) {
            make_setting(made, table[i].name, table[i].value);
        }
    }
}

/** Whatever the user has made. */
static void force_settings(struct made_settings *made,
                           const struct setting *table, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        make_setting(made, table[i].name, table[i].value);
    }
}

/** While a segment is made it has a name, and a node may be killed then. The
 * launcher's folder goes with the run, and so do such names. */
static void enter_folder(struct made_settings *made)
{
    const char *folder = getenv("TEAMSTER_FOLDER");

    if (folder != NULL && getenv("UCX_POSIX_DIR") == NULL) {
        make_setting(made, "UCX_POSIX_DIR", folder);
    }
    unsetenv("TEAMSTER_FOLDER");
}

int ucx_is_local(enum ucx_reach reach)
{
    return reach == UCX_WITHIN_HOST ||
           (reach == UCX_ONE_HOST && getenv("UCX_TLS") == NULL);
}

/** The card that leads to other hosts, and the RDMA devices that are the same card. */
static void enter_device(struct made_settings *made, const char *card)
{
    char devices[256];

    if (getenv("UCX_NET_DEVICES") == NULL && card != NULL) {
        rdma_devices_of(card, devices, sizeof devices);
        make_setting(made, "UCX_NET_DEVICES", devices);
    }
}

static void enter_ports(struct made_settings *made,
                        const struct ucx_request *request)
{
    char range[32];

    if (request->first_port != 0) {
        snprintf(range, sizeof range, "%u-%u", request->first_port,
                 request->last_port);
        make_setting(made, "UCX_TCP_PORT_RANGE", range);
    }
}

static void enter_network(struct made_settings *made,
                          const struct ucx_request *request)
{
    make_settings(made, network_settings, N_OF(network_settings));
    enter_device(made, request->device);
    enter_ports(made, request);
}

static void enter_local(struct made_settings *made,
                        const struct ucx_request *request)
{
    void (*enter)(struct made_settings *, const struct setting *, size_t) =
        request->reach == UCX_WITHIN_HOST ? force_settings : make_settings;

    enter(made, local_settings, N_OF(local_settings));
    if (!request->has_drivers) {
        enter(made, without_drivers, N_OF(without_drivers));
    }
}

static void enter_settings(const struct ucx_request *request,
                           struct made_settings *made)
{
    made->n = 0;
    enter_folder(made);
    if (request->reach == UCX_BETWEEN_HOSTS) {
        enter_network(made, request);
    } else if (ucx_is_local(request->reach)) {
        enter_local(made, request);
    }
    make_settings(made, settings, N_OF(settings));
}

static void leave_settings(const struct made_settings *made)
{
    for (unsigned i = 0; i < made->n; i++) {
        if (made->made[i].before != NULL) {
            setenv(made->made[i].name, made->made[i].before, 1);
            free(made->made[i].before);
        } else {
            unsetenv(made->made[i].name);
        }
    }
}

// ---- descriptors ----

static void note_open(void *owner, int fd)
{
    struct ucx_descriptors *before = owner;

    if (fd < UCX_N_DESCRIPTORS) {
        before->is_open[fd] = 1;
    }
}

void ucx_note_descriptors(struct ucx_descriptors *before)
{
    memset(before, 0, sizeof *before);
    before->n = descriptor_each(note_open, before);
}

/** Descriptors that are gone through again. */
struct settling {
    const struct ucx_descriptors *before;
    void (*settle)(int fd, unsigned number);
    unsigned number;
};

static void settle_new(void *owner, int fd)
{
    const struct settling *settling = owner;

    if (fd < UCX_N_DESCRIPTORS && !settling->before->is_open[fd] &&
        fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && settling->settle != NULL) {
        settling->settle(fd, settling->number);
    }
}

void ucx_settle_new_descriptors(const struct ucx_descriptors *before,
                                void (*settle)(int fd, unsigned number),
                                unsigned number)
{
    struct settling settling = {before, settle, number};

    if (before->n > 0) {
        descriptor_each(settle_new, &settling);
    }
}

// ---- loading and opening ----

static tm_status load(struct ucx *ucx)
{
    // The major version of the library is part of its name.
    void *library = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);

    if (library == NULL) {
        log_error("cannot load UCX, which moves the messages between nodes: %s",
                  dlerror());
        return TM_ESYSTEM;
    }
#define UCX_FUNCTION(name)                                                     \
    ucx->name = (__typeof__(name) *)dlsym(library, #name);                     \
    if (ucx->name == NULL) {                                                   \
        log_error("UCX has no function " #name "(): it is too old");           \
        return TM_ESYSTEM;                                                     \
    }
    UCX_FUNCTIONS(UCX_FUNCTION)
#undef UCX_FUNCTION
    return TM_OK;
}

/** The shared memory of a node's transport, roughly. */
#define NODE_MIB 3u

#define HINT_SIZE 80

/** What may keep nodes from reaching each other: those of one host from sharing memory.
 * @param text  [HINT_SIZE] is used for it */
static const char *hint(const struct ucx_request *request, char *text)
{
    const unsigned n_nodes = request->n_nodes;
    struct statvfs state;
    double free_mib;

    if (request->reach == UCX_BETWEEN_HOSTS) {
        return "does this host have what UCX_TLS and UCX_NET_DEVICES name? "
               "UCX_LOG_LEVEL=info says more";
    }
    if (statvfs("/dev/shm", &state) != 0) {
        return "there is no /dev/shm";
    }
    if (state.f_flag & ST_RDONLY) {
        return "/dev/shm is mounted read-only";
    }
    if (access("/dev/shm", W_OK | X_OK) != 0) {
        return "/dev/shm may not be written to";
    }
    free_mib = (double)state.f_bavail * (double)state.f_frsize / (1 << 20);
    if (state.f_bavail == 0) {
        return "/dev/shm is full";
    }
    if (free_mib < (double)n_nodes * NODE_MIB) {
        snprintf(text, HINT_SIZE,
                 "/dev/shm has only %.1f MiB free, and each node needs %u",
                 free_mib, NODE_MIB);
        return text;
    }
    return "UCX_LOG_LEVEL=info says more";
}

static tm_status open_context(const struct ucx *ucx,
                              const struct ucx_request *request,
                              ucp_context_h *context)
{
    const ucp_params_t params = {
        .field_mask =
            UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS,
        .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP,
        .estimated_num_eps = request->n_nodes,
    };
    char text[HINT_SIZE];
    ucp_config_t *config;
    ucs_status_t result = ucx->ucp_config_read(NULL, NULL, &config);

    if (result == UCS_OK) {
        result = ucx->ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params,
                                       config, context);
        ucx->ucp_config_release(config);
    }
    if (result != UCS_OK) {
        log_error("cannot start UCX: %s; %s", ucx->ucs_status_string(result),
                  hint(request, text));
        return TM_ESYSTEM;
    }
    return TM_OK;
}

static tm_status open_worker(const struct ucx *ucx,
                             const struct ucx_request *request,
                             ucp_context_h context, ucp_worker_h *worker)
{
    const ucp_worker_params_t params = {
        .field_mask =
            UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_FLAGS,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED,
        // A node may end while frames for a lost one are still queued.
        .flags = UCP_WORKER_FLAG_IGNORE_REQUEST_LEAK,
    };
    ucs_status_t result = ucx->ucp_worker_create(context, &params, worker);
    char text[HINT_SIZE];

    if (result != UCS_OK) {
        log_error("UCX cannot open its transports: %s; %s",
                  ucx->ucs_status_string(result), hint(request, text));
        return TM_ESYSTEM;
    }
    return TM_OK;
}

static tm_status load_and_open(struct ucx *ucx,
                               const struct ucx_request *request,
                               ucp_context_h *context, ucp_worker_h *worker)
{
    tm_status status = load(ucx);

    if (status == TM_OK) {
        status = open_context(ucx, request, context);
    }
    if (status != TM_OK) {
        return status;
    }
    status = open_worker(ucx, request, *context, worker);
    if (status != TM_OK) {
        ucx->ucp_cleanup(*context);
    }
    return status;
}

static tm_status open_quietly(struct wire *wire,
                              const struct ucx_request *request)
{
    struct made_settings made;
    struct ucx_descriptors before;
    sigset_t all;
    sigset_t previous;
    tm_status status;

    // UCX's thread inherits the mask.
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    ucx_note_descriptors(&before);
    enter_settings(request, &made);
    status = load_and_open(&wire->ucx, request, &wire->context, &wire->worker);
    leave_settings(&made);
    ucx_settle_new_descriptors(&before, NULL, 0);
    pthread_sigmask(SIG_SETMASK, &previous, NULL);
    return status;
}

// ---- the wire ----

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

tm_status wire_open(struct wire *wire, const struct ucx_request *request,
                    ucp_am_recv_callback_t receive)
{
    tm_status status = open_quietly(wire, request);

    if (status != TM_OK) {
        return status;
    }
    wire->reach = request->reach;
    status = listen_for_frames(wire, receive);
    if (status == TM_OK) {
        status = make_address(wire);
    }
    if (status != TM_OK) {
        wire_close(wire);
    }
    return status;
}

void *wire_send(const struct wire *wire, ucp_ep_h endpoint, struct frame *frame,
                ucp_send_nbx_callback_t is_sent)
{
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA,
        .flags = UCP_AM_SEND_FLAG_EAGER,
        .cb.send = is_sent,
        .user_data = frame,
    };

    return wire->ucx.ucp_am_send_nbx(endpoint, WIRE_AM, NULL, 0, frame->bytes,
                                     frame->size, &param);
}

void wire_close(struct wire *wire)
{
    wire->ucx.ucp_worker_destroy(wire->worker);
    wire->ucx.ucp_cleanup(wire->context);
    free(wire->address);
}

int wire_fd(const struct wire *wire)
{
    int fd = -1;

    return wire->ucx.ucp_worker_get_efd(wire->worker, &fd) == UCS_OK ? fd : -1;
}

/** Append a transport that is not there yet. */
static void append_name(const char *name, size_t length, char *text,
                        size_t size)
{
    size_t used = strlen(text);

    if (strstr(text, name) == NULL && used + length + 3 <= size) {
        snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", name);
    }
}

void wire_transports(const struct wire *wire, ucp_ep_h endpoint, char *text,
                     size_t size)
{
    char *told = NULL;
    size_t told_size = 0;
    FILE *stream = open_memstream(&told, &told_size);
    char *rest = NULL;
    char name[64];

    text[0] = '\0';
    if (stream == NULL) {
        return;
    }
    wire->ucx.ucp_ep_print_info(endpoint, stream);
    fclose(stream);
    for (char *line = strtok_r(told, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (sscanf(line, "# lane[%*u]: %*[^:]:%63[^. ]", name) == 1) {
            append_name(name, strlen(name), text, size);
        }
    }
    free(told);
}

int wire_is_address(const void *bytes, size_t size)
{
    return size >= address_wrapped_size(DOORBELL_BYTES) &&
           address_unwrap(bytes, size) != NULL;
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
        .err_mode = wire->reach == UCX_BETWEEN_HOSTS
                        ? UCP_ERR_HANDLING_MODE_PEER
                        : UCP_ERR_HANDLING_MODE_NONE,
        .err_handler = *failed,
    };

    *endpoint = NULL;
    if (!wire_is_address(address, size)) {
        return TM_EWIRE;
    }
    *result = wire->ucx.ucp_ep_create(wire->worker, &params, endpoint);
    if (*result != UCS_OK) {
        *endpoint = NULL;
        return TM_EPEER;
    }
    return TM_OK;
}
