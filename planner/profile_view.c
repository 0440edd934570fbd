// SPDX-License-Identifier: BSD-3-Clause
// The part of a profile that says what is known of cluster and program.
#include "base/memory.h"
#include "planner/profile_read_priv.h"

static int read_nodes(const struct spot *array, struct cluster_view *view)
{
    struct spot element;

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        struct node_view *node = &view->nodes[x];

        if (!spot_element(array, x, JSON_OBJECT, &element) ||
            !member_text(&element, "name", node->name, sizeof node->name) ||
            !record_read(&element, &profile_node, node)) {
            return 0;
        }
    }
    return 1;
}

static int read_use(const struct spot *uses, size_t index, uint32_t n_groups,
                    struct use *use)
{
    struct spot element;
    uint32_t numbers[3];

    if (!spot_element(uses, index, JSON_ARRAY, &element)) {
        return 0;
    }
    if (json_array_size(element.value) != 3) {
        return spot_refuse(&element,
                           "has %zu elements; must be [group, flags, diff]",
                           json_array_size(element.value));
    }
    if (!spot_counts(&element, 0, UINT32_MAX, numbers)) {
        return 0;
    }
    if (numbers[0] >= n_groups) {
        return spot_refuse(&element, "is of group %u; there are %u", numbers[0],
                           n_groups);
    }
    if (numbers[1] < 1 || numbers[1] > (USE_READ | USE_WRITE)) {
        return spot_refuse(&element,
                           "has the flags %u; allowed: 1 read, 2 write, 3 both",
                           numbers[1]);
    }
    if (numbers[2] > TM_PAGE_SIZE ||
        (numbers[2] > 0 && !(numbers[1] & USE_WRITE))) {
        return spot_refuse(&element,
                           "has a diff of %u bytes; allowed: 0 to %u, and 0 "
                           "without writing",
                           numbers[2], TM_PAGE_SIZE);
    }
    *use = (struct use){numbers[0], (uint16_t)numbers[1], (uint16_t)numbers[2]};
    return 1;
}

/** A thread but for its uses. @param[out] uses  where they are */
static int read_thread(const struct spot *element, struct thread_view *thread,
                       struct spot *uses)
{
    if (json_object_get(element->value, "is_pinned") != NULL &&
        !member_bool(element, "is_pinned", &thread->is_pinned)) {
        return 0;
    }
    return spot_has_only(element, "computation_s is_pinned uses") &&
           member_number(element, "computation_s", 0, PROFILE_NUMBER_MAX,
                         &thread->computation_s) &&
           spot_member(element, "uses", JSON_ARRAY, uses);
}

/** All threads, and how many uses they have. */
static int read_threads(const struct spot *array, struct cluster_view *view)
{
    struct spot element;
    struct spot uses;
    uint64_t n_uses = 0;

    for (uint32_t i = 0; i < view->n_threads; i++) {
        struct thread_view *thread = &view->threads[i];
        size_t n;

        if (!spot_element(array, i, JSON_OBJECT, &element) ||
            !read_thread(&element, thread, &uses)) {
            return 0;
        }
        n = json_array_size(uses.value);
        if (n_uses + n >= UINT32_MAX) {
            return spot_refuse(&uses, "more than 2^32 uses in all");
        }
        thread->first_use = (uint32_t)n_uses;
        thread->n_uses = (uint32_t)n;
        n_uses += n;
    }
    view->n_uses = (uint32_t)n_uses;
    return 1;
}

static int read_uses(const struct spot *array, struct cluster_view *view)
{
    struct spot element;
    struct spot uses;

    for (uint32_t i = 0; i < view->n_threads; i++) {
        const struct thread_view *thread = &view->threads[i];

        if (!spot_element(array, i, JSON_OBJECT, &element) ||
            !spot_member(&element, "uses", JSON_ARRAY, &uses)) {
            return 0;
        }
        for (uint32_t u = 0; u < thread->n_uses; u++) {
            if (!read_use(&uses, u, view->n_groups,
                          &view->uses[thread->first_use + u])) {
                return 0;
            }
        }
    }
    return 1;
}

static int read_groups(const struct spot *document, struct cluster_view *view)
{
    struct spot groups;

    if (!spot_member(document, "group_pages", JSON_ARRAY, &groups)) {
        return 0;
    }
    if (json_array_size(groups.value) >= UINT32_MAX) {
        return spot_refuse(&groups, "more than 2^32 groups");
    }
    view->n_groups = (uint32_t)json_array_size(groups.value);
    view->group_pages = memory_new(view->n_groups, sizeof *view->group_pages);
    return spot_counts(&groups, 1, UINT32_MAX, view->group_pages);
}

static int check_size(const struct spot *array)
{
    const size_t n = json_array_size(array->value);

    if (n == 0) {
        return spot_refuse(array, "is empty");
    }
    return n < UINT32_MAX || spot_refuse(array, "has too many elements");
}

int read_view(struct profile *profile, const struct spot *document)
{
    struct cluster_view *view = &profile->view;
    struct spot nodes;
    struct spot threads;

    if (!spot_member(document, "nodes", JSON_ARRAY, &nodes) ||
        !check_size(&nodes) ||
        !spot_member(document, "threads", JSON_ARRAY, &threads) ||
        !check_size(&threads)) {
        return 0;
    }
    ensure(cluster_view_init(view, (uint32_t)json_array_size(nodes.value),
                             (uint32_t)json_array_size(threads.value)) ==
           TM_OK);
    if (!read_nodes(&nodes, view) || !read_groups(document, view) ||
        !read_threads(&threads, view)) {
        return 0;
    }
    view->uses = memory_new(view->n_uses, sizeof *view->uses);
    return read_uses(&threads, view);
}
