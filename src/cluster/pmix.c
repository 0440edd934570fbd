// SPDX-License-Identifier: BSD-3-Clause
//
// libpmix is loaded with dlopen() when a process finds that mpirun or srun has
// started it, and connected while the nodes meet: after pmix_close() nothing of it
// runs any more. Its code stays in the process, as unloading libraries that have had
// threads is not safe.
//
// PMIx counts those who have it open in a process, so MPI, which uses it too, may have
// it open already. Open MPI cannot have it later: a server forgets who has closed it.
#include "cluster/pmix.h"

#include <errno.h>
#include <pmix.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/library.h"
#include "base/log.h"

#define PMIX_LIBRARY "libpmix.so.2"
#define FENCE_S 60
#define GET_S 10

#define PMIX_FUNCTIONS(F)                                                      \
    F(PMIx_Commit)                                                             \
    F(PMIx_Error_string)                                                       \
    F(PMIx_Fence_nb)                                                           \
    F(PMIx_Finalize)                                                           \
    F(PMIx_Get)                                                                \
    F(PMIx_Get_version)                                                        \
    F(PMIx_Init)                                                               \
    F(PMIx_Put)

struct functions {
    PMIX_FUNCTIONS(LIBRARY_MEMBER)
};

struct pmix {
    struct functions call;
    pmix_proc_t self;
    sem_t fence_is_over;
    _Atomic pmix_status_t fence_result; ///< before fence_is_over
};

int pmix_is_offered(char *name, size_t size)
{
    const char *space = getenv("PMIX_NAMESPACE");
    const char *rank = getenv("PMIX_RANK");
    const char *joined = getenv("TEAMSTER_JOINED");

    if (space == NULL || rank == NULL) {
        return 0;
    }
    snprintf(name, size, "%s.%s", space, rank);
    return joined == NULL || strcmp(joined, name) != 0;
}

/** @return 1, 0 if it cannot be. @param[out] why  [size] */
static int load(struct functions *functions, char *why, size_t size)
{
    // The library's interface is part of its name.
    static const char *const names[] = {PMIX_FUNCTIONS(LIBRARY_NAME)};

    return library_load(PMIX_LIBRARY, names, sizeof names / sizeof names[0],
                        functions, why, size);
}

const char *pmix_version(char *why, size_t size)
{
    struct functions functions;

    return load(&functions, why, size) ? functions.PMIx_Get_version() : NULL;
}

static tm_status refuse(const struct pmix *pmix, const char *what,
                        pmix_status_t result)
{
    log_error("PMIx cannot %s: %s", what, pmix->call.PMIx_Error_string(result));
    return TM_EPEER;
}

/** Its kernel thread inherits the mask: signals are the program's. */
static pmix_status_t connect_quietly(struct pmix *pmix)
{
    sigset_t all;
    sigset_t before;
    pmix_status_t result;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    result = pmix->call.PMIx_Init(&pmix->self, NULL, 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

static pmix_status_t get_value(struct pmix *pmix, pmix_rank_t rank,
                               const char *key, pmix_value_t **value)
{
    pmix_info_t patience = {.value = {.type = PMIX_INT}};
    pmix_proc_t whose = pmix->self;

    snprintf(patience.key, sizeof patience.key, "%s", PMIX_TIMEOUT);
    patience.value.data.integer = GET_S;
    whose.rank = rank;
    return pmix->call.PMIx_Get(&whose, key, &patience, 1, value);
}

static pmix_status_t count_ranks(struct pmix *pmix, unsigned *n_ranks)
{
    pmix_value_t *value = NULL;
    pmix_status_t result =
        get_value(pmix, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, &value);

    if (result != PMIX_SUCCESS) {
        return result;
    }
    if (value->type != PMIX_UINT32 || value->data.uint32 <= pmix->self.rank) {
        result = PMIX_ERR_BAD_PARAM;
    } else {
        *n_ranks = value->data.uint32;
    }
    free(value);
    return result;
}

tm_status pmix_open(struct pmix **pmix, unsigned *rank, unsigned *n_ranks)
{
    struct pmix *made = calloc(1, sizeof *made);
    pmix_status_t result;
    char why[256] = "no memory";

    if (made == NULL || !load(&made->call, why, sizeof why)) {
        log_error("this process was started by mpirun or srun with PMIx, and "
                  "cannot load PMIx: %s; on Debian: apt-get install libpmix2",
                  why);
        free(made);
        return TM_ECONFIG;
    }
    sem_init(&made->fence_is_over, 0, 0);
    result = connect_quietly(made);
    if (result == PMIX_SUCCESS) {
        result = count_ranks(made, n_ranks);
    }
    if (result != PMIX_SUCCESS) {
        (void)refuse(made, "reach who has started this process", result);
        free(made);
        return TM_ECONFIG;
    }
    *rank = made->self.rank;
    *pmix = made;
    return TM_OK;
}

void pmix_close(struct pmix *pmix)
{
    if (pmix != NULL) {
        pmix->call.PMIx_Finalize(NULL, 0);
        sem_destroy(&pmix->fence_is_over);
        free(pmix);
    }
}

tm_status pmix_put(struct pmix *pmix, const char *key, const void *bytes,
                   size_t size)
{
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT};
    pmix_status_t result;

    value.data.bo.bytes = (char *)bytes; // copied
    value.data.bo.size = size;
    result = pmix->call.PMIx_Put(PMIX_GLOBAL, key, &value);
    return result == PMIX_SUCCESS ? TM_OK : refuse(pmix, "put", result);
}

/** PMIx's own kernel thread calls it. */
static void note_fence(pmix_status_t result, void *argument)
{
    struct pmix *pmix = argument;

    atomic_store_explicit(&pmix->fence_result, result, memory_order_release);
    sem_post(&pmix->fence_is_over);
}

static int wait_for_fence(struct pmix *pmix)
{
    struct timespec end;
    int result;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += FENCE_S;
    do {
        result = sem_clockwait(&pmix->fence_is_over, CLOCK_MONOTONIC, &end);
    } while (result != 0 && errno == EINTR);
    return result;
}

tm_status pmix_fence(struct pmix *pmix)
{
    pmix_info_t collect = {.value = {.type = PMIX_BOOL}};
    pmix_status_t result = pmix->call.PMIx_Commit();

    snprintf(collect.key, sizeof collect.key, "%s", PMIX_COLLECT_DATA);
    collect.value.data.flag = true;
    if (result == PMIX_SUCCESS) {
        result =
            pmix->call.PMIx_Fence_nb(NULL, 0, &collect, 1, note_fence, pmix);
    }
    if (result == PMIX_OPERATION_SUCCEEDED) {
        return TM_OK;
    }
    if (result != PMIX_SUCCESS) {
        return refuse(pmix, "wait for the other processes", result);
    }
    if (wait_for_fence(pmix) != 0) {
        log_error("after %d s not all processes of this job have come to "
                  "tm_init(); every one must be the same program",
                  FENCE_S);
        return TM_EPEER;
    }
    // Pairs with note_fence(), as the semaphore does: ThreadSanitizer does not
    // know sem_clockwait().
    result = atomic_load_explicit(&pmix->fence_result, memory_order_acquire);
    return result == PMIX_SUCCESS
               ? TM_OK
               : refuse(pmix, "wait for the other processes", result);
}

tm_status pmix_get(struct pmix *pmix, unsigned rank, const char *key,
                   void **bytes, size_t *size)
{
    pmix_value_t *value = NULL;

    if (get_value(pmix, rank, key, &value) != PMIX_SUCCESS) {
        return TM_EPEER;
    }
    if (value->type != PMIX_BYTE_OBJECT) {
        free(value);
        return TM_EPEER;
    }
    *bytes = value->data.bo.bytes;
    *size = value->data.bo.size;
    free(value);
    return TM_OK;
}
