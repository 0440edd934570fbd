// SPDX-License-Identifier: BSD-3-Clause
//
// Changes in words. A change is parsed as a whole before anything is touched, so
// that one that is refused leaves the scenario as it was; several are made in the
// order in which they are given, each on what the ones before have left.
#include "planner/what_if.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/reading.h"
#include "base/text.h"
#include "planner/property.h"
#include "planner/replicate.h"

#define TEXT_MAX 512 ///< bytes of a change
#define MIB_PER_PAGE (TM_PAGE_SIZE / 1048576.0)

/** A change that is being made. */
struct change {
    struct scenario *scenario;
    const char *text;
    char *error;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static tm_status refuse(
    const struct change *change, const char *format, ...)
{
    struct text error = {change->error, change->size, 0};
    va_list arguments;

    text_add(&error, "'%s': ", change->text);
    va_start(arguments, format);
    text_add_list(&error, format, arguments);
    va_end(arguments);
    return TM_EINVAL;
}

// ---- finding nodes ----

static void list_names(const struct cluster_view *view, char *text, size_t size)
{
    const uint32_t n = view->n_nodes < 8 ? view->n_nodes : 8;
    struct text names = {text, size, 0};

    for (uint32_t x = 0; x < n; x++) {
        text_add(&names, "%s%s", x == 0 ? "" : ", ", view->nodes[x].name);
    }
    if (view->n_nodes > n) {
        text_add(&names, " and %u more", view->n_nodes - n);
    }
}

/** @return the number in "@3", NO_NODE if it is none of a node */
static uint32_t numbered_node(const struct cluster_view *view, const char *name)
{
    char *end;
    unsigned long number;

    if (name[0] != '@' || !isdigit((unsigned char)name[1])) {
        return NO_NODE;
    }
    number = strtoul(name + 1, &end, 10);
    return *end == '\0' && number < view->n_nodes ? (uint32_t)number : NO_NODE;
}

static tm_status find_node(const struct change *change, const char *name,
                           uint32_t *node)
{
    const struct cluster_view *view = &change->scenario->view;
    uint32_t n_found = 0;
    uint32_t other = 0;
    char names[256];

    for (uint32_t x = view->n_nodes; x-- > 0;) {
        if (strcmp(view->nodes[x].name, name) == 0) {
            other = n_found++ > 0 ? *node : 0;
            *node = x;
        }
    }
    if (n_found > 1) {
        return refuse(change,
                      "%u nodes are called %s; write @%u for the first, @%u "
                      "for the second",
                      n_found, name, *node, other);
    }
    if (n_found == 0) {
        *node = numbered_node(view, name);
    }
    if (*node == NO_NODE) {
        list_names(view, names, sizeof names);
        return refuse(change, "there is no node %s; there are %s", name, names);
    }
    return TM_OK;
}

// ---- changing a node ----

/** property_alter(), its reason told. */
static tm_status alter(const struct change *change,
                       const struct property *property, const char *amount,
                       struct node_view *node)
{
    char reason[256];
    const tm_status status = property_alter(change->scenario, property, amount,
                                            node, reason, sizeof reason);

    return status == TM_OK ? TM_OK : refuse(change, "%s", reason);
}

/** All nodes or none: a refusal of one leaves the others as they were. */
static tm_status change_all(const struct change *change,
                            const struct property *property, const char *value)
{
    struct cluster_view *view = &change->scenario->view;
    struct node_view *nodes = memory_new(view->n_nodes, sizeof *nodes);
    tm_status status = TM_OK;

    for (uint32_t x = 0; status == TM_OK && x < view->n_nodes; x++) {
        nodes[x] = view->nodes[x];
        status = alter(change, property, value, &nodes[x]);
    }
    if (status == TM_OK) {
        memcpy(view->nodes, nodes, view->n_nodes * sizeof *nodes);
        scenario_note(change->scenario, "all nodes: %s=%s", property->name,
                      value);
    }
    free(nodes);
    return status;
}

static tm_status change_node(const struct change *change, const char *name,
                             const struct property *property, const char *value)
{
    struct node_view *nodes = change->scenario->view.nodes;
    struct node_view after;
    struct node_view before;
    char from[64];
    char to[64];
    uint32_t x = NO_NODE;
    tm_status status = find_node(change, name, &x);

    if (status != TM_OK && strcmp(name, "all") == 0) {
        return change_all(change, property, value);
    }
    if (status != TM_OK) {
        return status;
    }
    before = after = nodes[x];
    status = alter(change, property, value, &after);
    if (status != TM_OK) {
        return status;
    }
    nodes[x] = after;
    property_show(change->scenario, property, &before, from, sizeof from);
    property_show(change->scenario, property, &after, to, sizeof to);
    scenario_note(change->scenario, "%s: %s -> %s", name, from,
                  strchr(to, ' ') + 1);
    return TM_OK;
}

// ---- adding and removing ----

static int is_name_taken(const struct cluster_view *view, const char *name)
{
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        if (strcmp(view->nodes[x].name, name) == 0) {
            return 1;
        }
    }
    return 0;
}

/** What a new node has been told to be. */
enum { GIVEN_MAX = 8 };

struct newcomer {
    struct node_view node;
    int has_speed;
    int has_memory;
    const struct property *given[GIVEN_MAX]; ///< [n_given] NULL: like=
    unsigned n_given;
};

/** Has the same been said of it before? A speed is a power in another unit. */
static int is_given(const struct newcomer *newcomer,
                    const struct property *property)
{
    for (unsigned i = 0; i < newcomer->n_given; i++) {
        const struct property *other = newcomer->given[i];

        if (other == property ||
            (other != NULL && other->is_of_speed && property->is_of_speed)) {
            return 1;
        }
    }
    return 0;
}

static tm_status take_like(const struct change *change, const char *name,
                           struct newcomer *newcomer)
{
    uint32_t x = NO_NODE;
    tm_status status = find_node(change, name, &x);

    if (newcomer->n_given > 0) {
        return refuse(change, "like= comes first, for it says everything");
    }
    if (status == TM_OK) {
        char own_name[VIEW_NAME_MAX];

        newcomer->given[newcomer->n_given++] = NULL;

        memcpy(own_name, newcomer->node.name, sizeof own_name);
        newcomer->node = change->scenario->view.nodes[x];
        memcpy(newcomer->node.name, own_name, sizeof own_name);
        newcomer->has_speed = newcomer->has_memory = 1;
    }
    return status;
}

/** One "key=value" of a new node. */
static tm_status take_pair(const struct change *change, char *pair,
                           struct newcomer *newcomer)
{
    const struct property *property;
    char *value = strchr(pair, '=');

    if (value != NULL) {
        *value++ = '\0';
        property = property_find(pair);
        if (strcmp(pair, "like") == 0) {
            return take_like(change, value, newcomer);
        }
        if (property != NULL && is_given(newcomer, property)) {
            return refuse(change, "%s= is there twice", pair);
        }
        if (property != NULL) {
            newcomer->given[newcomer->n_given++] = property;
            newcomer->has_memory |= strcmp(pair, "memory") == 0;
            newcomer->has_speed |= property->is_of_speed;
            return alter(change, property, value, &newcomer->node);
        }
    }
    return refuse(change,
                  "'%s' is not known; a new node is "
                  "add:NAME,speed=400,memory=64M[,workers=2]"
                  "[,power=1.2][,like=NODE]",
                  pair);
}

static tm_status add_node(const struct change *change, char *text)
{
    struct newcomer newcomer = {0};
    struct node_view *node = &newcomer.node;
    const char *name = strsep(&text, ",");
    tm_status status = TM_OK;
    char *pair;

    if (name[0] == '\0' || strlen(name) >= sizeof node->name ||
        strpbrk(name, "=@") != NULL) {
        return refuse(change,
                      "'%s' is no name; try add:n5,speed=400,memory=64M", name);
    }
    if (is_name_taken(&change->scenario->view, name)) {
        return refuse(change, "there is a node %s already", name);
    }
    scenario_usual_node(change->scenario, node);
    memcpy(node->name, name, strlen(name) + 1);
    while (status == TM_OK && (pair = strsep(&text, ",")) != NULL) {
        status = take_pair(change, pair, &newcomer);
    }
    if (status == TM_OK && (!newcomer.has_speed || !newcomer.has_memory)) {
        return refuse(change, "a new node needs %s; or say like=NODE",
                      newcomer.has_memory ? "speed=" : "memory=");
    }
    if (status != TM_OK) {
        return status;
    }
    scenario_add_node(change->scenario, node);
    scenario_note(change->scenario,
                  "%s: added, power %g, %u worker%s, %.1f MiB", node->name,
                  node->power, node->n_processors,
                  node->n_processors == 1 ? "" : "s",
                  (double)node->memory_pages * MIB_PER_PAGE);
    return TM_OK;
}

static tm_status remove_node(const struct change *change, const char *name)
{
    struct scenario *scenario = change->scenario;
    char gone[VIEW_NAME_MAX];
    uint32_t x = NO_NODE;
    uint32_t pinned;
    tm_status status = find_node(change, name, &x);

    if (status != TM_OK) {
        return status;
    }
    if (scenario->view.n_nodes == 1) {
        return refuse(change, "it is the last node");
    }
    pinned = scenario_pinned_to(scenario, x);
    if (pinned != NO_NODE) {
        return refuse(change, "thread %u is pinned to it", pinned);
    }
    memcpy(gone, scenario->view.nodes[x].name, sizeof gone);
    scenario_remove_node(scenario, x);
    scenario_note(scenario, "%s: removed", gone);
    return TM_OK;
}

static tm_status change_threads(const struct change *change, const char *value)
{
    char reason[128];
    double number;
    tm_status status = parse_decimal(value, &number);

    if (status != TM_OK || number < 1 || number > UINT32_MAX - 1.0 ||
        strchr(value, '.') != NULL) {
        return refuse(change, "'%s' is no number of threads; try threads=64",
                      value);
    }
    status = replicate_threads(change->scenario, (uint64_t)number, reason,
                               sizeof reason);
    if (status == TM_ELIMIT) {
        return refuse(change, "%s", reason);
    }
    return status;
}

// ---- all of it ----

/** "NODE.property=value", the dot being the last one before the sign. */
static tm_status change_property(const struct change *change, char *text)
{
    char *value = strchr(text, '=');
    const struct property *property;
    char *dot;

    if (value != NULL) {
        *value++ = '\0';
    }
    dot = strrchr(text, '.');
    if (value == NULL || dot == NULL || dot == text) {
        return refuse(change,
                      "is no change; try n4.memory=+32M, n4.speed=2x, "
                      "add:n5,speed=400,memory=64M, remove:n2 or threads=64");
    }
    *dot = '\0';
    property = property_find(dot + 1);
    if (property == NULL) {
        return refuse(change,
                      "a node has no '%s'; what can be changed is memory, "
                      "speed, power and workers",
                      dot + 1);
    }
    return change_node(change, text, property, value);
}

tm_status scenario_change(struct scenario *scenario, const char *text,
                          char *error, size_t size)
{
    const struct change change = {scenario, text, error, size};
    char copy[TEXT_MAX];

    if (strlen(text) >= sizeof copy) {
        return refuse(&change, "is longer than %zu bytes", sizeof copy - 1);
    }
    memcpy(copy, text, strlen(text) + 1);
    if (strncmp(copy, "add:", 4) == 0) {
        return add_node(&change, copy + 4);
    }
    if (strncmp(copy, "remove:", 7) == 0) {
        return remove_node(&change, copy + 7);
    }
    if (strncmp(copy, "threads=", 8) == 0) {
        return change_threads(&change, copy + 8);
    }
    return change_property(&change, copy);
}
