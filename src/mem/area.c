// SPDX-License-Identifier: BSD-3-Clause
/*
 * The map of a range of pages: a treap of areas, ordered by page, in which each
 * node also knows the largest free area of its subtree. So the first area that
 * is large enough is found in one walk down; neighbours are found by looking up
 * the page before and the page behind. Priorities come from a generator with a
 * fixed start: the same calls give the same tree. Recursion is as deep as the
 * tree, some 40 levels for 100,000 areas.
 *
 * Invariants
 * I1  Areas do not overlap and leave no gap.
 * I2  No two areas side by side are free.
 * I3  A parent's priority is at least its children's.
 * I4  largest_free is right in every node.
 *
 * Source: R. Seidel, C. R. Aragon, "Randomized search trees", Algorithmica 16
 * (1996).
 */
#include "mem/area.h"

#include <stdlib.h>

#include "base/ensure.h"
#include "base/random.h"

static uint64_t largest_in(const struct area *node)
{
    return node == NULL ? 0 : node->largest_free;
}

static uint64_t free_pages(const struct area *area)
{
    return area->state == AREA_FREE ? area->n_pages : 0;
}

static uint64_t largest_of(const struct area *node)
{
    uint64_t largest = free_pages(node);

    if (largest_in(node->left) > largest) {
        largest = largest_in(node->left);
    }
    if (largest_in(node->right) > largest) {
        largest = largest_in(node->right);
    }
    return largest;
}

static void update(struct area *node)
{
    node->largest_free = largest_of(node);
}

/** Cut a tree into the areas below a page and the others. */
static void split(struct area *node, page_no page, struct area **below,
                  struct area **others)
{
    if (node == NULL) {
        *below = NULL;
        *others = NULL;
        return;
    }
    if (node->page < page) {
        split(node->right, page, &node->right, others);
        *below = node;
    } else {
        split(node->left, page, below, &node->left);
        *others = node;
    }
    update(node);
}

/** Make one tree of two, all areas of the first below those of the second. */
static struct area *join(struct area *below, struct area *above)
{
    if (below == NULL || above == NULL) {
        return below == NULL ? above : below;
    }
    if (below->priority >= above->priority) {
        below->right = join(below->right, above);
        update(below);
        return below;
    }
    above->left = join(below, above->left);
    update(above);
    return above;
}

static struct area *insert(struct area *node, struct area *area)
{
    if (node == NULL || area->priority > node->priority) {
        split(node, area->page, &area->left, &area->right);
        update(area);
        return area;
    }
    if (area->page < node->page) {
        node->left = insert(node->left, area);
    } else {
        node->right = insert(node->right, area);
    }
    update(node);
    return node;
}

static struct area *without(struct area *node, const struct area *area)
{
    if (node == area) {
        return join(node->left, node->right);
    }
    if (area->page < node->page) {
        node->left = without(node->left, area);
    } else {
        node->right = without(node->right, area);
    }
    update(node);
    return node;
}

/** Put I4 right after an area's size or state has changed. */
static void refresh(struct area *node, const struct area *area)
{
    if (node != area) {
        refresh(area->page < node->page ? node->left : node->right, area);
    }
    update(node);
}

static struct area *new_area(struct area_map *map, page_no page,
                             uint64_t n_pages)
{
    struct area *area = calloc(1, sizeof(*area));

    if (area == NULL) {
        return NULL;
    }
    area->page = page;
    area->n_pages = n_pages;
    area->state = AREA_FREE;
    area->priority = (uint32_t)random_next(&map->random);
    return area;
}

static void absorb(struct area_map *map, struct area *area, struct area *next)
{
    map->root = without(map->root, next);
    area->n_pages += next->n_pages;
    free(next);
}

/** The lowest free area of at least n_pages; there is one. */
static struct area *first_fit(struct area *node, uint64_t n_pages)
{
    for (;;) {
        if (largest_in(node->left) >= n_pages) {
            node = node->left;
        } else if (free_pages(node) >= n_pages) {
            return node;
        } else {
            node = node->right;
        }
    }
}

static void free_tree(struct area *node)
{
    if (node != NULL) {
        free_tree(node->left);
        free_tree(node->right);
        free(node);
    }
}

static int subtree_is_valid(const struct area *node)
{
    if (node == NULL) {
        return 1;
    }
    if ((node->left != NULL && node->left->priority > node->priority) ||
        (node->right != NULL && node->right->priority > node->priority) ||
        node->n_pages == 0 || node->largest_free != largest_of(node)) {
        return 0;
    }
    return subtree_is_valid(node->left) && subtree_is_valid(node->right);
}

/** I1 and I2; `before` is the last area that was looked at. */
static int areas_adjoin(const struct area *node, const struct area **before)
{
    if (node == NULL) {
        return 1;
    }
    if (!areas_adjoin(node->left, before)) {
        return 0;
    }
    if (*before != NULL &&
        ((*before)->page + (*before)->n_pages != node->page ||
         ((*before)->state == AREA_FREE && node->state == AREA_FREE))) {
        return 0;
    }
    *before = node;
    return areas_adjoin(node->right, before);
}

tm_status area_map_init(struct area_map *map, page_no page, uint64_t n_pages)
{
    map->random = 0;
    map->root = new_area(map, page, n_pages);
    if (map->root == NULL) {
        return TM_ENOMEM;
    }
    update(map->root);
    return TM_OK;
}

void area_map_release(struct area_map *map)
{
    free_tree(map->root);
    map->root = NULL;
}

/** Leave a free area its first pages; the others are one of its own, free. @return 0 if
 * memory is short */
static int cut(struct area_map *map, struct area *area, uint64_t n_pages)
{
    struct area *rest;

    if (area->n_pages == n_pages) {
        return 1;
    }
    rest = new_area(map, area->page + n_pages, area->n_pages - n_pages);
    if (rest == NULL) {
        return 0;
    }
    area->n_pages = n_pages;
    refresh(map->root, area);
    map->root = insert(map->root, rest);
    return 1;
}

static struct area *use(struct area_map *map, struct area *area)
{
    area->state = AREA_USED;
    area->content = NULL;
    refresh(map->root, area);
    return area;
}

struct area *area_take(struct area_map *map, uint64_t n_pages)
{
    struct area *area;

    if (n_pages == 0 || largest_in(map->root) < n_pages) {
        return NULL;
    }
    area = first_fit(map->root, n_pages);
    return cut(map, area, n_pages) ? use(map, area) : NULL;
}

struct area *area_take_at(struct area_map *map, page_no page, uint64_t n_pages)
{
    struct area *area = area_find(map, page);

    if (n_pages == 0 || area == NULL || area->state != AREA_FREE ||
        n_pages > area->n_pages - (page - area->page)) {
        return NULL;
    }
    if (page > area->page) {
        if (!cut(map, area, page - area->page)) {
            return NULL;
        }
        area = area_find(map, page);
    }
    if (!cut(map, area, n_pages)) {
        area_give(map, use(map, area)); // with the one in front again
        return NULL;
    }
    return use(map, area);
}

// NOLINTBEGIN(clang-analyzer-unix.Malloc): absorb() frees only what it has taken
// out of the tree.
void area_give(struct area_map *map, struct area *area)
{
    struct area *next = area_next(map, area);
    struct area *previous =
        area->page == 0 ? NULL : area_find(map, area->page - 1);

    ensure(area->state != AREA_FREE);
    area->state = AREA_FREE;
    area->content = NULL;
    if (next != NULL && next->state == AREA_FREE) {
        absorb(map, area, next);
    }
    if (previous != NULL && previous->state == AREA_FREE) {
        absorb(map, previous, area);
        area = previous;
    }
    refresh(map->root, area);
}
// NOLINTEND(clang-analyzer-unix.Malloc)

struct area *area_find(const struct area_map *map, page_no page)
{
    struct area *node = map->root;

    while (node != NULL) {
        if (page < node->page) {
            node = node->left;
        } else if (page - node->page < node->n_pages) {
            return node;
        } else {
            node = node->right;
        }
    }
    return NULL;
}

struct area *area_next(const struct area_map *map, const struct area *area)
{
    return area_find(map, area->page + area->n_pages);
}

uint64_t area_largest_free(const struct area_map *map)
{
    return largest_in(map->root);
}

int area_map_is_valid(const struct area_map *map)
{
    const struct area *last = NULL;

    return map->root != NULL && subtree_is_valid(map->root) &&
           areas_adjoin(map->root, &last);
}
