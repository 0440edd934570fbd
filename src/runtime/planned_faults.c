// SPDX-License-Identifier: BSD-3-Clause
//
// Faults that tests of whole runs ask for, in debug builds:
//   TEAMSTER_TEST_DIE_AT=NODE:N[,NODE:N]...  a node kills itself at the Nth message that comes to
//                                  it, or that it sends itself; the second pair is for when the run
//                                  has gone back once, and so on
//   TEAMSTER_TEST_LOSE_PAGE=NODE:N the Nth page that comes to a node is lost
//   TEAMSTER_TEST_HOLD_CLERK=NODE:MS  the clerk of a node's checkpoints ends so much later
//                                  than it has told what it wrote
//   TEAMSTER_TEST_SLOW_FILES=NODE:MS  files of checkpoints are written so much later
//   TEAMSTER_TEST_SLOW_LOADS=NODE:MS  a node reads its part of a checkpoint so much later
//   TEAMSTER_TEST_REFUSE_COPIES=NODE:N  files of another host find no room, from their Nth
//                                  part on
//   TEAMSTER_TEST_REFUSE_MANIFESTS=NODE:N  nor do manifests, from the Nth on
//   TEAMSTER_TEST_EVERY=NODE:MS    the root makes checkpoints so often
//   TEAMSTER_TEST_LOSE_RUN=NODE:N   the pages that it saves cannot be read from the Nth run of them on
//   TEAMSTER_TEST_SPARE=NODE:BYTES  there is so much memory for checkpoints, from the third on
#include "runtime/planned_faults.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "os/kthread.h"
#include "ult/ult.h"

#ifdef TM_DEBUG

// What a list says of a node, 0: nothing.
// @param index  of the pair in it
static uint64_t number_in(const char *text, unsigned index, node_id self)
{
    unsigned node;
    unsigned long n;

    for (; text != NULL && index > 0; index--) {
        text = strchr(text, ',');
        text += text != NULL;
    }
    return text != NULL && sscanf(text, "%u:%lu", &node, &n) == 2 &&
                   node == self
               ? n
               : 0;
}

static uint64_t number_for(node_id self, const char *name)
{
    return number_in(getenv(name), 0, self);
}

void planned_faults_open(struct planned_faults *planned, node_id self,
                         unsigned n_back)
{
    planned->die_in = number_in(getenv("TEAMSTER_TEST_DIE_AT"), n_back, self);
    planned->lose_in = number_for(self, "TEAMSTER_TEST_LOSE_PAGE");
    planned->clerk_ms = number_for(self, "TEAMSTER_TEST_HOLD_CLERK");
    planned->file_ms = number_for(self, "TEAMSTER_TEST_SLOW_FILES");
    planned->load_ms = number_for(self, "TEAMSTER_TEST_SLOW_LOADS");
    planned->refuse_in = number_for(self, "TEAMSTER_TEST_REFUSE_COPIES");
    planned->refuse_manifests_in =
        number_for(self, "TEAMSTER_TEST_REFUSE_MANIFESTS");
    planned->every_ms = number_for(self, "TEAMSTER_TEST_EVERY");
    planned->runs_in = number_for(self, "TEAMSTER_TEST_LOSE_RUN");
    planned->spare = number_for(self, "TEAMSTER_TEST_SPARE");
}

static int is_from_now_on(uint64_t *n_left)
{
    *n_left -= *n_left > 1;
    return *n_left == 1;
}

int planned_faults_refuse_copy(struct planned_faults *planned)
{
    return is_from_now_on(&planned->refuse_in);
}

int planned_faults_refuse_manifest(struct planned_faults *planned)
{
    return is_from_now_on(&planned->refuse_manifests_in);
}

int planned_faults_lose_run(struct planned_faults *planned)
{
    return is_from_now_on(&planned->runs_in);
}

uint64_t planned_faults_period_ns(const struct planned_faults *planned,
                                  uint64_t ns)
{
    return planned->every_ms > 0 ? planned->every_ms * 1000000 : ns;
}

uint64_t planned_faults_spare(const struct planned_faults *planned,
                              uint64_t generation, uint64_t n_bytes)
{
    return planned->spare > 0 && generation > 2 ? planned->spare : n_bytes;
}

void planned_faults_delay_file(const struct planned_faults *planned)
{
    kthread_sleep_until(clock_now_ns() + planned->file_ms * 1000000);
}

static void yield_for_ms(uint64_t ms)
{
    const uint64_t end_ns = clock_now_ns() + ms * 1000000;

    while (clock_now_ns() < end_ns) {
        ult_yield(); // others go on
    }
}

void planned_faults_delay_load(const struct planned_faults *planned)
{
    yield_for_ms(planned->load_ms);
}

void planned_faults_hold_clerk(const struct planned_faults *planned)
{
    yield_for_ms(planned->clerk_ms);
}

int planned_faults_take(struct planned_faults *planned,
                        const struct message *message)
{
    if (planned->die_in > 0 && --planned->die_in == 0) {
        raise(SIGKILL);
    }
    return message->type == MESSAGE_page && planned->lose_in > 0 &&
           --planned->lose_in == 0;
}

#else

void planned_faults_open(struct planned_faults *planned, node_id self,
                         unsigned n_back)
{
    (void)n_back;
    (void)planned;
    (void)self;
}

int planned_faults_take(struct planned_faults *planned,
                        const struct message *message)
{
    (void)planned;
    (void)message;
    return 0;
}

void planned_faults_hold_clerk(const struct planned_faults *planned)
{
    (void)planned;
}

void planned_faults_delay_file(const struct planned_faults *planned)
{
    (void)planned;
}

void planned_faults_delay_load(const struct planned_faults *planned)
{
    (void)planned;
}

int planned_faults_refuse_copy(struct planned_faults *planned)
{
    (void)planned;
    return 0;
}

int planned_faults_refuse_manifest(struct planned_faults *planned)
{
    (void)planned;
    return 0;
}

int planned_faults_lose_run(struct planned_faults *planned)
{
    (void)planned;
    return 0;
}

uint64_t planned_faults_period_ns(const struct planned_faults *planned,
                                  uint64_t ns)
{
    (void)planned;
    return ns;
}

uint64_t planned_faults_spare(const struct planned_faults *planned,
                              uint64_t generation, uint64_t n_bytes)
{
    (void)planned;
    (void)generation;
    return n_bytes;
}

#endif
