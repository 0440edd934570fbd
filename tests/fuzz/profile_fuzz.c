// SPDX-License-Identifier: BSD-3-Clause
// planner/profile_read.c: what `teamster plan` reads. A file that is taken is a cluster and
// a program that the model can predict and every change can be made to.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "model/predict.h"
#include "planner/profile_read.h"
#include "planner/scenario.h"

enum { MOST_USES = 4096 };

static void use(const struct profile *profile)
{
    const struct cluster_view *view = &profile->view;
    struct scenario scenario;
    struct prediction prediction = {0};

    FUZZ_CHECK(view->n_nodes >= 1 && view->n_threads >= 1);
    if (view->n_uses > MOST_USES) {
        return; // it would take long
    }
    scenario_init(&scenario, profile);
    scenario_settle(&scenario);
    prediction.nodes = calloc(view->n_nodes, sizeof *prediction.nodes);
    FUZZ_CHECK(prediction.nodes != NULL);
    if (predict(&scenario.view, &scenario.model, scenario.node_of,
                &prediction) == TM_OK) {
        FUZZ_CHECK(!isnan(prediction.iteration_s));
        FUZZ_CHECK(prediction.iteration_s >= 0);
    }
    free(prediction.nodes);
    scenario_release(&scenario);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FILE *file = fuzz_file(data, size);
    struct profile profile;
    char error[256] = "";

    if (profile_parse(file, "profile", &profile, error, sizeof error) ==
        TM_OK) {
        use(&profile);
        profile_release(&profile);
    } else {
        size_t length = strnlen(error, sizeof error);

        FUZZ_CHECK(length > 0 && length < sizeof error);
        FUZZ_CHECK(strchr(error, '\n') == NULL);
    }
    fclose(file);
    return 0;
}
