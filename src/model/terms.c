// SPDX-License-Identifier: BSD-3-Clause
#include "model/terms.h"

#include <stddef.h>

#include "base/ensure.h"

/*
 * [Liu06]'s T_spo is scaled by M_total / (M_free C): a page scanner that looks
 * for a victim longer the less memory is free. With M_free near 0 it grows
 * without limit, and a node that is as good as full would cost years. The whole
 * factor is kept within these bounds.
 */
#define SCAN_MAX 16.0

// ---- rates ----

static double ratio(double a, double b)
{
    return a / (b > 0 ? b : 1);
}

static double scan_factor(const struct node_view *node,
                          const struct reference *reference)
{
    const double factor =
        ratio((double)node->total_pages, (double)reference->total_pages) *
        ratio((double)reference->free_pages, (double)node->free_pages) *
        ratio(reference->power, node->power);

    if (factor > SCAN_MAX) {
        return SCAN_MAX;
    }
    return factor > 1 / SCAN_MAX ? factor : 1 / SCAN_MAX;
}

static void scale_from_reference(const struct node_view *node,
                                 const struct reference *reference,
                                 struct node_rates *rates)
{
    const double lack =
        reference->lack_pages > 0 ? (double)reference->lack_pages : 1;

    ensure(reference->power > 0);
    rates->in_s = reference->swap_in_s / lack;
    rates->out_s = reference->swap_out_s / lack * scan_factor(node, reference);
}

void rates_compute(const struct cluster_view *view,
                   const struct cost_model *model, uint32_t node,
                   struct node_rates *rates)
{
    const struct node_view *it = &view->nodes[node];
    const struct correction none = {1, 1, 1, 1, 0, 0};
    const struct correction *correction =
        model->corrections != NULL ? &model->corrections[node] : &none;

    *rates = (struct node_rates){
        .kind = model->kind,
        .replacement = model->replacement,
        .overlap = model->overlap,
        .comp = correction->comp / it->power,
        .memory_pages = correction->memory * (double)it->memory_pages,
        .in_s = it->swap_in_s,
        .out_s = it->swap_out_s,
        .fetch_s = it->fetch_s * correction->mem,
        .packet_s = it->packet_s * correction->comm,
        .update_s = it->update_s * correction->comm,
        .rest_s = correction->rest_s,
    };
    if (cost_kind_needs_reference(model->kind)) {
        scale_from_reference(it, &model->reference, rates);
    }
    rates->in_s *= correction->mem;
    rates->out_s *= correction->mem;
}

double rates_cheapest_page(const struct node_rates *rates)
{
    if (rates->kind != COST_MEASURED) {
        return rates->in_s + rates->out_s;
    }
    return rates->in_s < rates->fetch_s ? rates->in_s : rates->fetch_s;
}

// ---- terms ----

static double lack_of(const struct node_rates *rates, double demand)
{
    return demand > rates->memory_pages ? demand - rates->memory_pages : 0;
}

static struct replacements replace(const struct node_rates *rates,
                                   const struct node_load *load, double demand,
                                   double lack)
{
    // Exact for a kept set; for LRU if no two threads share pages (see lru.h).
    const double share = lack <= 0 ? 0
                         : rates->replacement == REPLACEMENT_LRU
                             ? 1
                             : lack / demand;

    if (rates->kind == COST_LIU06) {
        return (struct replacements){lack, lack, 0};
    }
    if (rates->kind == COST_CLIFF) {
        const double all = lack > 0 ? load->thread_pages : 0;

        return (struct replacements){all, all, 0};
    }
    return (struct replacements){
        .in = share * (load->written_pages + load->own_pages),
        .out = share * load->written_pages,
        .fetched = share * load->foreign_pages,
    };
}

static double together(const struct node_rates *rates, double comp_s,
                       double mem_s, double comm_s)
{
    if (rates->overlap == OVERLAP_NONE) {
        return comp_s + mem_s + comm_s;
    }
    return (comp_s > comm_s ? comp_s : comm_s) + mem_s;
}

static double communication(const struct node_rates *rates,
                            const struct node_load *load)
{
    return load->packets * rates->packet_s + load->updates * rates->update_s +
           (load->n_threads > 0 ? rates->rest_s : 0);
}

void terms_compute(const struct node_rates *rates, const struct node_load *load,
                   const struct replacements *replaced,
                   struct node_prediction *terms)
{
    const double demand = node_demand(load);
    const double lack = lack_of(rates, demand);
    const struct replacements r =
        replaced != NULL ? *replaced : replace(rates, load, demand, lack);
    const double comp_s = load->comp_s * rates->comp;
    const double comm_s = communication(rates, load);
    const double mem_in_s = r.in * rates->in_s;
    const double mem_out_s = r.out * rates->out_s;
    const double mem_fetch_s = r.fetched * rates->fetch_s;
    const double mem_s = mem_in_s + mem_out_s + mem_fetch_s;

    *terms = (struct node_prediction){
        .n_threads = load->n_threads,
        .comp_s = comp_s,
        .mem_s = mem_s,
        .mem_in_s = mem_in_s,
        .mem_out_s = mem_out_s,
        .mem_fetch_s = mem_fetch_s,
        .comm_s = comm_s,
        .sum_s = comp_s + mem_s + comm_s,
        .overlapped_s = (comp_s > comm_s ? comp_s : comm_s) + mem_s,
        .time_s = together(rates, comp_s, mem_s, comm_s),
        .demand_pages = (uint64_t)demand,
        .lack_pages = lack,
        .pages_in = r.in,
        .pages_out = r.out,
        .pages_fetched = r.fetched,
        .packets = load->packets,
    };
}

double terms_time(const struct node_rates *rates, const struct node_load *load)
{
    struct node_prediction terms;

    terms_compute(rates, load, NULL, &terms);
    return terms.time_s;
}
