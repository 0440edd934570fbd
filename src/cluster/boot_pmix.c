// SPDX-License-Identifier: BSD-3-Clause
//
// Nodes that mpirun or srun has started meet in three fences of PMIx:
//
//   boot_pmix_open      each gives its HELLO: version, public key, facts of its host,
//                       settings. All take node 0's settings, and know who is on
//                       which host and which network card leads to the others.
//   boot_pmix_exchange  each gives its CARD; node 0 the job's key, if there are
//                       several hosts, in an envelope for each other node
//                       (net/envelope.h).
//   boot_pmix_ready     all are connected; nobody needs PMIx any more.
//
// I1  All nodes judge the same HELLOs and CARDs by the same rules, so all come to the
//     same result. Node 0 tells the user, and there is one more fence behind that,
//     since mpirun ends all processes when the first one fails.
// I2  PMIx says who is there at the start, never who is alive.
#include "cluster/boot_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "cluster/host_facts.h"
#include "cluster/pmix.h"
#include "cluster/settings.h"
#include "net/envelope.h"
#include "net/message.h"

#define HELLO_KEY "teamster.hello"
#define CARD_KEY "teamster.card"
#define ENVELOPES_KEY "teamster.envelopes"

#define HELLO_MAX (64u + ENVELOPE_PUBLIC_SIZE + HOST_FACTS_MAX + SETTINGS_MAX)

struct boot_pmix {
    struct pmix *pmix;
    struct envelope_keys *keys; ///< NULL: all nodes are on one host
    unsigned n_hosts;
    uint16_t *host_of;                       ///< [n_nodes]
    uint8_t (*public)[ENVELOPE_PUBLIC_SIZE]; ///< [n_nodes]
};

static void release(struct boot_pmix *state)
{
    if (state != NULL) {
        pmix_close(state->pmix);
        envelope_keys_free(state->keys);
        free(state->host_of);
        free(state->public);
        free(state);
    }
}

static tm_status get(struct bootstrap *bootstrap, unsigned node,
                     const char *key, void **bytes, size_t *size)
{
    tm_status status = pmix_get(bootstrap->pmix->pmix, node, key, bytes, size);

    if (status != TM_OK) {
        log_error("node %u does not say who it is; all processes of the job "
                  "must be programs with this version of Teamster",
                  node);
    }
    return status;
}

/** I1: node 0 has told. */
static tm_status refuse(struct bootstrap *bootstrap, const char *text)
{
    if (bootstrap->self == 0) {
        log_error("%s", text);
    }
    return pmix_fence(bootstrap->pmix->pmix) == TM_OK ? TM_EMISMATCH : TM_EPEER;
}

// ---- HELLO ----

/** What the HELLOs say. */
struct hello {
    char version[32];
    struct host_facts facts;
};

static tm_status say_hello(struct bootstrap *bootstrap,
                           const struct node_card *own)
{
    struct boot_pmix *state = bootstrap->pmix;
    struct host_facts *facts = calloc(1, sizeof *facts);
    uint8_t *bytes = malloc(HELLO_MAX);
    struct wire_writer writer = {.at = bytes, .end = bytes + HELLO_MAX};
    uint8_t packed[HOST_FACTS_MAX];
    char settings[SETTINGS_MAX];
    size_t size = settings_encode(settings);
    tm_status status = size > 0 ? TM_ENOMEM : TM_ECONFIG;

    if (facts != NULL && bytes != NULL && size > 0) {
        host_facts_collect(facts);
        wire_put_string(&writer, own->version);
        wire_put_bytes(&writer, envelope_public(state->keys),
                       ENVELOPE_PUBLIC_SIZE);
        wire_put_u16(&writer, (uint16_t)size);
        wire_put_bytes(&writer, settings, size);
        size = host_facts_encode(facts, packed);
        wire_put_bytes(&writer, packed, size);
        status = pmix_put(state->pmix, HELLO_KEY, bytes,
                          (size_t)(writer.at - bytes));
    }
    free(facts);
    free(bytes);
    return status;
}

static tm_status take_hello(struct bootstrap *bootstrap, unsigned node,
                            struct hello *hello)
{
    struct wire_reader reader = {0};
    void *bytes;
    size_t size;
    const char *version;
    const void *public;
    const char *settings;
    tm_status status = get(bootstrap, node, HELLO_KEY, &bytes, &size);

    if (status != TM_OK) {
        return status;
    }
    reader = (struct wire_reader){.at = bytes, .end = (uint8_t *)bytes + size};
    version = wire_get_string(&reader);
    snprintf(hello->version, sizeof hello->version, "%s",
             version != NULL ? version : "");
    public = wire_get_bytes(&reader, ENVELOPE_PUBLIC_SIZE);
    size = wire_get_u16(&reader);
    settings = wire_get_bytes(&reader, size);
    status = TM_EWIRE;
    // Another version may have other fields; it is refused in any case.
    if (!reader.failed) {
        memcpy(bootstrap->pmix->public[node], public, ENVELOPE_PUBLIC_SIZE);
        status = host_facts_decode(reader.at, (size_t)(reader.end - reader.at),
                                   &hello->facts);
    }
    if (status == TM_OK && node == 0 && bootstrap->self != 0) {
        status = settings_adopt(settings, size);
    }
    free(bytes);
    return version != NULL ? TM_OK : status;
}

static tm_status compare_versions(struct bootstrap *bootstrap,
                                  const struct hello *hellos)
{
    char text[512];

    for (unsigned i = 1; i < bootstrap->n_nodes; i++) {
        if (strcmp(hellos[0].version, hellos[i].version) != 0) {
            snprintf(text, sizeof text,
                     "the version of Teamster differs: node 0 on %s has "
                     "\"%s\", node %u on %s has \"%s\"; link all nodes' "
                     "programs with the same one",
                     hellos[0].facts.name, hellos[0].version, i,
                     hellos[i].facts.name, hellos[i].version);
            return refuse(bootstrap, text);
        }
    }
    return TM_OK;
}

static tm_status find_place(struct bootstrap *bootstrap,
                            const struct host_facts *facts)
{
    const struct boot_pmix *state = bootstrap->pmix;
    unsigned self = bootstrap->self;
    const char *device;

    bootstrap->n_here = 0;
    for (unsigned i = 0; i < bootstrap->n_nodes; i++) {
        bootstrap->n_here += state->host_of[i] == state->host_of[self];
    }
    if (state->n_hosts == 1) {
        return TM_OK;
    }
    device = host_facts_device(facts, bootstrap->n_nodes, self);
    if (device == NULL) {
        log_error("no network card of this host (%s) leads to the others",
                  facts[self].name);
        return TM_ECONFIG;
    }
    snprintf(bootstrap->device, sizeof bootstrap->device, "%s", device);
    return TM_OK;
}

static tm_status judge_hellos(struct bootstrap *bootstrap,
                              const struct hello *hellos)
{
    struct host_facts *facts = calloc(bootstrap->n_nodes, sizeof *facts);
    tm_status status = compare_versions(bootstrap, hellos);

    if (facts == NULL) {
        return TM_ENOMEM;
    }
    for (unsigned i = 0; i < bootstrap->n_nodes; i++) {
        facts[i] = hellos[i].facts;
    }
    bootstrap->pmix->n_hosts =
        host_facts_number(facts, bootstrap->n_nodes, bootstrap->pmix->host_of);
    if (status == TM_OK) {
        status = find_place(bootstrap, facts);
    }
    free(facts);
    return status;
}

static tm_status exchange_hellos(struct bootstrap *bootstrap)
{
    static struct node_card own;
    struct hello *hellos = calloc(bootstrap->n_nodes, sizeof *hellos);
    tm_status status = TM_ENOMEM;

    node_card_set_version(&own);
    if (hellos != NULL) {
        status = say_hello(bootstrap, &own);
    }
    if (status == TM_OK) {
        status = pmix_fence(bootstrap->pmix->pmix);
    }
    for (unsigned i = 0; i < bootstrap->n_nodes && status == TM_OK; i++) {
        status = take_hello(bootstrap, i, &hellos[i]);
    }
    if (status == TM_OK) {
        status = judge_hellos(bootstrap, hellos);
    }
    free(hellos);
    return status;
}

/** Whatever this process starts is no node of this job. */
static void take_name(void)
{
    char name[512];

    if (pmix_is_offered(name, sizeof name)) {
        setenv("TEAMSTER_JOINED", name, 1);
    }
    unsetenv("TEAMSTER_FOLDER");
}

static tm_status prepare(struct bootstrap *bootstrap, struct boot_pmix *state)
{
    state->host_of = calloc(bootstrap->n_nodes, sizeof *state->host_of);
    state->public = calloc(bootstrap->n_nodes, sizeof *state->public);
    return state->host_of != NULL && state->public != NULL
               ? envelope_keys_new(&state->keys)
               : TM_ENOMEM;
}

tm_status boot_pmix_open(struct bootstrap *bootstrap)
{
    struct boot_pmix *state = calloc(1, sizeof *state);
    unsigned self = 0;
    tm_status status = state != NULL
                           ? pmix_open(&state->pmix, &self, &bootstrap->n_nodes)
                           : TM_ENOMEM;

    if (status != TM_OK) {
        free(state);
        return status;
    }
    take_name();
    bootstrap->self = (node_id)self;
    if (bootstrap->n_nodes > TM_MAX_NODES) {
        log_error("this job has %u processes; Teamster has up to %u nodes",
                  bootstrap->n_nodes, TM_MAX_NODES);
        status = TM_ECONFIG;
    } else if (bootstrap->n_nodes > 1) {
        bootstrap->pmix = state;
        status = prepare(bootstrap, state);
        return status == TM_OK ? exchange_hellos(bootstrap) : status;
    }
    release(state);
    return status;
}

void boot_pmix_miss(void)
{
    static const struct {
        const char *n_variable, *rank_variable, *who;
    } rows[] = {
        {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun"},
        {"PMI_SIZE", "PMI_RANK", "mpiexec"},
    };

    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *n = getenv(rows[i].n_variable);
        const char *rank = getenv(rows[i].rank_variable);

        if (n != NULL && atoi(n) > 1 && rank != NULL &&
            strcmp(rank, "0") == 0 && getenv("PMIX_RANK") == NULL &&
            getenv("TEAMSTER_JOINED") == NULL) {
            log_warning("%s has started %s processes without PMIx: each is a "
                        "run of its own with one node; for one run with all: "
                        "srun --mpi=pmix, or Open MPI's mpirun",
                        rows[i].who, n);
        }
    }
}

// ---- CARD ----

static tm_status give_card(struct boot_pmix *state,
                           const struct node_card *card)
{
    uint8_t *bytes = malloc(NODE_CARD_MAX);
    tm_status status = TM_ENOMEM;

    if (bytes != NULL) {
        size_t size = node_card_encode(card, bytes, NODE_CARD_MAX);

        status = pmix_put(state->pmix, CARD_KEY, bytes, size);
    }
    free(bytes);
    return status;
}

static tm_status take_card(struct bootstrap *bootstrap, unsigned node,
                           struct node_card *card)
{
    void *bytes;
    size_t size;
    size_t used;
    tm_status status = get(bootstrap, node, CARD_KEY, &bytes, &size);

    if (status == TM_OK) {
        status = node_card_decode(bytes, size, card, &used);
        if (status != TM_OK) {
            log_error("the card of node %u is malformed", node);
        }
        free(bytes);
    }
    return status;
}

/** @param first  node 0's, as all must be. @param card  room for one */
static tm_status take_and_compare(struct bootstrap *bootstrap, unsigned node,
                                  const struct node_card *first,
                                  struct node_card *card)
{
    static char text[1024];
    tm_status status = take_card(bootstrap, node, card);

    if (status == TM_OK && node_card_compare(first, card, 0, (node_id)node,
                                             text, sizeof text) != TM_OK) {
        status = refuse(bootstrap, text);
    }
    return status;
}

static tm_status take_cards(struct bootstrap *bootstrap,
                            const struct boot_roster *roster)
{
    struct node_card *cards = calloc(2, sizeof *cards); // the first, another
    tm_status status = TM_ENOMEM;

    if (cards != NULL) {
        status = take_card(bootstrap, 0, &cards[0]);
    }
    for (unsigned i = 0; i < bootstrap->n_nodes && status == TM_OK; i++) {
        struct node_card *card = &cards[i > 0];

        if (i > 0) {
            status = take_and_compare(bootstrap, i, &cards[0], card);
        }
        if (status == TM_OK) {
            status = boot_keep(&roster->members[i], card);
        }
    }
    free(cards);
    return status;
}

// ---- the job's key ----

/** Node 0: make it, and put it into an envelope for each other node. */
static tm_status give_key(struct bootstrap *bootstrap, uint8_t *job_key)
{
    const struct boot_pmix *state = bootstrap->pmix;
    unsigned n = bootstrap->n_nodes;
    uint8_t *envelopes = malloc(n * (size_t)ENVELOPE_SIZE);
    tm_status status = TM_OK;

    if (envelopes == NULL ||
        getrandom(job_key, BOOT_KEY_SIZE, 0) != BOOT_KEY_SIZE) {
        free(envelopes);
        return TM_ENOMEM;
    }
    for (unsigned i = 0; i < n && status == TM_OK; i++) {
        status = envelope_close(state->keys, job_key, state->public[i],
                                &envelopes[i * ENVELOPE_SIZE]);
    }
    if (status == TM_OK) {
        status = pmix_put(state->pmix, ENVELOPES_KEY, envelopes,
                          n * (size_t)ENVELOPE_SIZE);
    }
    free(envelopes);
    return status;
}

static tm_status take_key(struct bootstrap *bootstrap, uint8_t *job_key)
{
    const struct boot_pmix *state = bootstrap->pmix;
    void *envelopes;
    size_t size;
    tm_status status = get(bootstrap, 0, ENVELOPES_KEY, &envelopes, &size);

    if (status != TM_OK) {
        return status;
    }
    status = TM_EWIRE;
    if (size == bootstrap->n_nodes * (size_t)ENVELOPE_SIZE) {
        status = envelope_open(state->keys,
                               (const uint8_t *)envelopes +
                                   bootstrap->self * (size_t)ENVELOPE_SIZE,
                               job_key);
    }
    if (status != TM_OK) {
        log_error("node 0's envelope with the job's key cannot be opened");
    }
    free(envelopes);
    return status;
}

static tm_status take_all(struct bootstrap *bootstrap,
                          const struct boot_roster *roster)
{
    const struct boot_pmix *state = bootstrap->pmix;
    tm_status status = take_cards(bootstrap, roster);

    memcpy(roster->host_of, state->host_of,
           bootstrap->n_nodes * sizeof *roster->host_of);
    if (status == TM_OK && state->n_hosts > 1 && bootstrap->self != 0) {
        status = take_key(bootstrap, roster->job_key);
    }
    return status;
}

tm_status boot_pmix_exchange(struct bootstrap *bootstrap,
                             const struct node_card *card,
                             const struct boot_roster *roster)
{
    struct boot_pmix *state = bootstrap->pmix;
    tm_status status = give_card(state, card);

    if (status == TM_OK && state->n_hosts > 1 && bootstrap->self == 0) {
        status = give_key(bootstrap, roster->job_key);
    }
    if (status == TM_OK) {
        status = pmix_fence(state->pmix);
    }
    return status == TM_OK ? take_all(bootstrap, roster) : status;
}

tm_status boot_pmix_ready(struct bootstrap *bootstrap)
{
    tm_status status = pmix_fence(bootstrap->pmix->pmix);

    release(bootstrap->pmix);
    bootstrap->pmix = NULL;
    return status;
}
