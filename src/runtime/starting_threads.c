// SPDX-License-Identifier: BSD-3-Clause
//
// Where threads start (place/first_mapping.h): declared or measured power, workers, and,
// for policies that look at memory, what the nodes have of it and the program has allocated.
// Without a policy that goes on from there all nodes get as many threads.
#include "runtime/starting_threads.h"
#include "base/ensure.h"
#include "place/first_mapping.h"
#include "place/policy.h"
#include "runtime/cluster_capacity.h"
#include "runtime/node.h"

#include <stdlib.h>
#include <string.h>

// The policy that goes on from there, or NULL.
static const struct policy *policy_of(const struct node *node)
{
    const struct options *options = &node->options;

    return options->first_mapping == FIRST_EQUAL || options->shuffle != 0 ||
                   options->counts.n > 0 ||
                   strcmp(options->policy, "none") == 0 ||
                   strcmp(options->policy, "initial") == 0
               ? NULL
               : policy_find(options->policy);
}

// Nodes of one machine have the same processors, and were measured beside each other: the
// best of them tells what these are.
static void take_the_best_of_a_machine(struct node_capacity *capacity,
                                       unsigned n_nodes)
{
    for (unsigned i = 0; i < n_nodes; i++) {
        double best = 0;

        for (unsigned k = 0; k < n_nodes; k++) {
            const double own = capacity[k].mflops / capacity[k].share;

            if (capacity[k].machine == capacity[i].machine && own > best) {
                best = own;
            }
        }
        capacity[i].mflops = best * capacity[i].share;
    }
}

static void describe(struct node *node, const struct policy *policy,
                     const node_id *ids, unsigned n_nodes, const uint32_t *load,
                     struct first_node *nodes)
{
    struct node_capacity *capacity = calloc(n_nodes, sizeof *capacity);
    double power[TM_MAX_NODES];

    ensure_memory(capacity != NULL);
    for (unsigned i = 0; i < n_nodes; i++) {
        capacity[i] = *capacity_of(node, ids[i]);
    }
    for (unsigned i = 0; i < n_nodes; i++) {
        nodes[i] = (struct first_node){
            .n_processors = capacity[i].n_workers,
            .n_threads = load[ids[i]],
            .memory_pages =
                policy->uses_memory
                    ? capacity_memory(capacity, n_nodes, i) / TM_PAGE_SIZE
                    : UINT64_MAX,
        };
    }
    take_the_best_of_a_machine(capacity, n_nodes);
    capacity_powers(capacity, n_nodes, power);
    for (unsigned i = 0; i < n_nodes; i++) {
        nodes[i].power = policy->ignores_power ? 1 : power[i];
    }
    free(capacity);
    first_mapping_level(nodes, n_nodes);
}

void starting_powers(struct node *node, const node_id *ids, unsigned n_nodes,
                     double *power, uint32_t *n_workers)
{
    struct node_capacity *capacity = calloc(n_nodes, sizeof *capacity);

    ensure_memory(capacity != NULL);
    for (unsigned i = 0; i < n_nodes; i++) {
        capacity[i] = *capacity_of(node, ids[i]);
        n_workers[i] = capacity[i].n_workers;
    }
    take_the_best_of_a_machine(capacity, n_nodes);
    capacity_powers(capacity, n_nodes, power);
    free(capacity);
}

int starting_shares(void *owner, const node_id *ids, unsigned n_nodes,
                    const uint32_t *load, uint32_t n, uint32_t *counts)
{
    struct node *node = owner;
    const struct policy *policy = policy_of(node);
    struct first_node nodes[TM_MAX_NODES];
    uint32_t n_all = n;

    if (policy == NULL || n == 0) {
        return 0;
    }
    for (unsigned i = 0; i < n_nodes; i++) {
        n_all += load[ids[i]];
    }
    describe(node, policy, ids, n_nodes, load, nodes);
    first_mapping_share_out(nodes, n_nodes, n,
                            (double)engine_n_pages(node->engine) / n_all,
                            counts);
    return 1;
}
