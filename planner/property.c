// SPDX-License-Identifier: BSD-3-Clause
#include "planner/property.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "base/reading.h"

#define MIB_PER_PAGE (TM_PAGE_SIZE / 1048576.0)

// ---- amounts ----

struct amount {
    enum { AMOUNT_SET, AMOUNT_ADD, AMOUNT_TAKE, AMOUNT_TIMES } how;
    double value;
};

static tm_status parse_memory(const char *text, double *pages)
{
    uint64_t bytes;
    tm_status status = parse_size(text, &bytes);

    if (status == TM_OK) {
        bytes /= TM_PAGE_SIZE;
        *pages = (double)bytes;
    }
    return status;
}

static int parse_amount(const char *text, const struct property *property,
                        struct amount *amount)
{
    char factor[64];
    const size_t length = strlen(text);

    if (length > 1 && length < sizeof factor &&
        tolower((unsigned char)text[length - 1]) == 'x') {
        memcpy(factor, text, length - 1);
        factor[length - 1] = '\0';
        amount->how = AMOUNT_TIMES;
        return parse_decimal(factor, &amount->value) == TM_OK;
    }
    amount->how = text[0] == '+'   ? AMOUNT_ADD
                  : text[0] == '-' ? AMOUNT_TAKE
                                   : AMOUNT_SET;
    text += amount->how != AMOUNT_SET;
    return property->parse(text, &amount->value) == TM_OK;
}

static double amount_of(const struct amount *amount, double before)
{
    switch (amount->how) {
    case AMOUNT_ADD:
        return before + amount->value;
    case AMOUNT_TAKE:
        return before - amount->value;
    case AMOUNT_TIMES:
        return before * amount->value;
    default:
        return amount->value;
    }
}

// ---- the properties ----

static double get_memory(const struct scenario *scenario,
                         const struct node_view *node)
{
    (void)scenario;
    return (double)node->memory_pages;
}

static void set_memory(const struct scenario *scenario, struct node_view *node,
                       double pages)
{
    (void)scenario;
    node_set_memory(node, (uint64_t)pages);
}

static int show_memory(char *text, size_t size, double pages)
{
    return snprintf(text, size, "%.1f MiB", pages * MIB_PER_PAGE);
}

static double get_speed(const struct scenario *scenario,
                        const struct node_view *node)
{
    return node->power * scenario->unit_speed;
}

static void set_speed(const struct scenario *scenario, struct node_view *node,
                      double speed)
{
    node->power = speed / scenario->unit_speed;
}

static double get_power(const struct scenario *scenario,
                        const struct node_view *node)
{
    (void)scenario;
    return node->power;
}

static void set_power(const struct scenario *scenario, struct node_view *node,
                      double power)
{
    (void)scenario;
    node->power = power;
}

static double get_workers(const struct scenario *scenario,
                          const struct node_view *node)
{
    (void)scenario;
    return node->n_processors;
}

static void set_workers(const struct scenario *scenario, struct node_view *node,
                        double workers)
{
    (void)scenario;
    node->n_processors = (uint32_t)workers;
}

static int show_plain(char *text, size_t size, double value)
{
    return snprintf(text, size, "%g", value);
}

static const struct property properties[] = {
    {"memory", parse_memory, "64M, +32M, -32M or 2x", 1,
     (double)PROFILE_PAGES_MAX, 1, 0, get_memory, set_memory, show_memory},
    {"speed", parse_decimal, "500, +100, -100 or 2x", SPEED_MIN, SPEED_MAX, 0,
     1, get_speed, set_speed, show_plain},
    {"power", parse_decimal, "1.2, +0.1, -0.1 or 2x", 1e-9, 1e9, 0, 1,
     get_power, set_power, show_plain},
    {"workers", parse_decimal, "4, +1, -1 or 2x", 1, WORKERS_MAX, 1, 0,
     get_workers, set_workers, show_plain},
};

#define N_PROPERTIES (sizeof properties / sizeof *properties)

const struct property *property_find(const char *name)
{
    for (size_t p = 0; p < N_PROPERTIES; p++) {
        if (strcmp(properties[p].name, name) == 0) {
            return &properties[p];
        }
    }
    return NULL;
}

/** Without a unit, a speed is nothing but a power. */
static const struct property *in_known_unit(const struct scenario *scenario,
                                            const struct property *property)
{
    return property->get == get_speed && scenario->unit_speed == 0
               ? property_find("power")
               : property;
}

tm_status property_alter(const struct scenario *scenario,
                         const struct property *property, const char *amount,
                         struct node_view *node, char *reason, size_t size)
{
    const struct property *known = in_known_unit(scenario, property);
    struct amount parsed;
    char shown[64];
    double result;

    if (!parse_amount(amount, property, &parsed)) {
        snprintf(reason, size, "'%s' is no %s; try %s", amount, property->name,
                 property->hint);
        return TM_EINVAL;
    }
    if (known != property && parsed.how != AMOUNT_TIMES) {
        snprintf(reason, size,
                 "the run was given no speeds, so %s is of no known unit; try "
                 "speed=2x, or power=1.2",
                 amount);
        return TM_EINVAL;
    }
    result = amount_of(&parsed, known->get(scenario, node));
    if (known->is_whole) {
        result = floor(result);
    }
    if (!(result >= known->least && result <= known->most)) {
        known->show(shown, sizeof shown, result);
        snprintf(reason, size, "%s would be %s", property->name, shown);
        return TM_EINVAL;
    }
    known->set(scenario, node, result);
    return TM_OK;
}

int property_show(const struct scenario *scenario,
                  const struct property *property, const struct node_view *node,
                  char *text, size_t size)
{
    const struct property *known = in_known_unit(scenario, property);
    const int length = snprintf(text, size, "%s ", known->name);

    if (length < 0 || (size_t)length >= size) {
        return length;
    }
    return length + known->show(text + length, size - (size_t)length,
                                known->get(scenario, node));
}
