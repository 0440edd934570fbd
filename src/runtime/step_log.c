// SPDX-License-Identifier: BSD-3-Clause
//
// In debug builds, for tests of whole runs: TEAMSTER_TEST_STEPS=FOLDER has each node write
// the steps of its pages (pages/page_steps.h) into a file of its own there, as they are in
// memory. tests/steps/steps_check.c judges them afterwards.
#include "runtime/node.h"

#ifdef TM_DEBUG

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "os/unseen.h"
#include "pages/page_steps.h"

// A trace that cannot be written is one that ends here: who reads it sees that.
static void write_step(void *owner, const struct page_step *step)
{
    (void)fwrite(step, sizeof *step, 1, owner);
}

static void open_log(struct node *node)
{
    const char *folder = getenv("TEAMSTER_TEST_STEPS");
    char path[4096];

    if (folder == NULL || node->options.race_check) {
        return; // pages make other steps then
    }
    snprintf(path, sizeof path, "%s/%u-%d.steps", folder, node->self,
             (int)getpid());
    node->step_log = unseen_file(path, "w");
    if (node->step_log == NULL ||
        engine_watch_steps(node->engine, write_step, node->step_log) != TM_OK) {
        log_fatal(EXIT_USAGE, "%s: steps cannot be written: %m", path);
    }
}

static void close_log(struct node *node)
{
    if (node->step_log != NULL) {
        (void)fflush(node->step_log); // stdio closes it
    }
}

const struct part part_step_log = {
    .open = open_log,
    .save = parts_save_nothing,
    .close = close_log,
};

#else

const struct part part_step_log = {.save = parts_save_nothing};

#endif
