// SPDX-License-Identifier: BSD-3-Clause
#include "planner/node_classes.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

#define ALIKE 0.02

static int are_near(double a, double b)
{
    return fabs(a - b) <= ALIKE * fmax(a, b);
}

static int are_alike(const struct node_view *a, const struct node_view *b)
{
    return a->n_processors == b->n_processors && are_near(a->power, b->power) &&
           are_near((double)a->memory_pages, (double)b->memory_pages);
}

void node_classes_make(struct node_classes *classes,
                       const struct cluster_view *view)
{
    *classes = (struct node_classes){
        .classes = memory_new(view->n_nodes, sizeof *classes->classes),
        .class_of = memory_new(view->n_nodes, sizeof *classes->class_of),
    };
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        uint32_t c = 0;

        while (c < classes->n &&
               !are_alike(&view->nodes[classes->classes[c].first],
                          &view->nodes[x])) {
            c++;
        }
        if (c == classes->n) {
            classes->classes[classes->n++].first = x;
        }
        classes->classes[c].n_nodes++;
        classes->class_of[x] = c;
    }
}

void node_classes_release(struct node_classes *classes)
{
    free(classes->classes);
    free(classes->class_of);
    *classes = (struct node_classes){0};
}
