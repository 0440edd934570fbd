// SPDX-License-Identifier: BSD-3-Clause
//
// Which of a few values of a parameter makes iterations shortest: successive halving
// ([Karnin13]), for values that need not be in any order, with what chance does to single
// iterations kept out by medians.
//
//   a sample   the mean of as many iterations as take 10 ms together, 64 at most, by what the
//              sample before has taken; of another value not more than 8 at first
//   a try      of a value: one sample that does not count, for caches and pages to follow,
//              then 3, of which the median counts; in later rounds 6, then 12, and 12 in
//              the last one
//   a round    a try of each value that is left; the better half of them stays
//   the end    one is left, beside the value that was in force before, which is in all
//              rounds. It is taken if it is better by 2 % and by more than chance
//              (trigger_is_sure()); else the value of before is, as nothing was won
//
// So 8 values take some 100 samples. Then it rests, and watches: the median of the first
// seven samples is usual, and follows slow changes. If samples are off that by 15 %, all to
// the same side, five in a row, times have changed for good, and it begins again from the
// value in force; after each such time twice as many are asked for, up to 80, since a
// program whose times change again and again is not to be tuned again and again.
//
// T1  The value of before is in each round.
// T2  When it is over another value is in force only if it was shorter in the last round,
//     by WORTH and by more than chance.
//
// Source: parameters tuned while the program runs, [Harmony]; the search is another one.
#include "place/tune_search.h"

#include <math.h>
#include <stdlib.h>

#include "base/ensure.h"
#include "base/robust.h"
#include "place/trigger.h"

#define SAMPLE_S 0.01  ///< that a sample takes at least
#define SAMPLE_MAX 64u ///< iterations of one
#define FIRST_MAX 8u ///< of the first one with a value that may take far longer
#define FEW_SAMPLES 3u  ///< of a try in the first round
#define WORTH 0.02      ///< part by which another value must be better
#define OFF 0.15        ///< part by which a sample is off what is usual
#define ENOUGH_USUAL 7u ///< samples whose median is usual
#define FOLLOW 0.1      ///< of what a sample differs goes to what is usual
#define PATIENCE 5      ///< samples in a row
#define PATIENCE_MAX 80
#define REST_SPANS 4u ///< samples are as much longer when nothing is searched

// ---- beginning ----

static void begin_try(struct tune_search *search)
{
    search->index = search->left[search->at];
    search->is_warm = 0;
    search->n_samples = 0;
    if (search->n_iterations > FIRST_MAX) {
        search->n_iterations = FIRST_MAX;
    }
}

static void rest(struct tune_search *search, uint32_t index)
{
    search->index = index;
    search->is_over = 1;
    tune_search_forget(search);
}

static void begin_again(struct tune_search *search)
{
    search->before = search->index;
    search->is_over = 0;
    search->round = 0;
    search->n_left = search->n_values;
    search->at = 0;
    search->n_searches++;
    for (uint32_t i = 0; i < search->n_values; i++) {
        search->left[i] = i;
    }
    begin_try(search);
}

void tune_search_know(struct tune_search *search, uint32_t n_values,
                      uint32_t index)
{
    ensure(n_values >= 1 && n_values <= TUNE_VALUES_MAX && index < n_values);
    *search = (struct tune_search){.n_values = n_values, .patience = PATIENCE};
    search->before = index;
    rest(search, index);
}

void tune_search_begin(struct tune_search *search, uint32_t n_values,
                       uint32_t before)
{
    tune_search_know(search, n_values, before);
    if (n_values > 1) {
        begin_again(search);
    }
}

// ---- samples ----

/** Only `before` and one other are left, or one alone. */
static int is_last_round(const struct tune_search *search)
{
    return search->n_left <= 2 && (search->left[0] == search->before ||
                                   search->left[1] == search->before);
}

static uint32_t samples_of_a_try(const struct tune_search *search)
{
    return search->round >= 2 || is_last_round(search)
               ? TUNE_SAMPLES_MAX
               : FEW_SAMPLES << search->round;
}

uint32_t tune_search_span(const struct tune_search *search)
{
    const uint32_t n = search->n_iterations > 0 ? search->n_iterations : 1;

    return search->is_over ? REST_SPANS * n : n;
}

/** How many iterations a sample is to have, if one takes so long. */
static uint32_t iterations_of_a_sample(double iteration_s)
{
    return iteration_s * SAMPLE_MAX <= SAMPLE_S
               ? SAMPLE_MAX
               : (uint32_t)ceil(SAMPLE_S / iteration_s);
}

/** The try is over: what it tells of the value. */
static void conclude_try(struct tune_search *search)
{
    struct tune_value *value = &search->values[search->index];
    const uint32_t n = search->n_samples;

    value->median_s = robust_median(search->samples_s, n);
    value->error_s = ROBUST_OF_MEDIAN * ROBUST_OF_DEVIATION *
                     robust_deviation(search->samples_s, n) / sqrt(n);
}

// ---- rounds ----

static uint32_t find_best(const struct tune_search *search)
{
    uint32_t best = search->left[0];

    for (uint32_t k = 1; k < search->n_left; k++) {
        if (search->values[search->left[k]].median_s <
            search->values[best].median_s) {
            best = search->left[k];
        }
    }
    return best;
}

/** How many values of the round are better than this one. */
static uint32_t place_of(const struct tune_search *search, uint32_t index)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < search->n_left; k++) {
        const uint32_t other = search->left[k];
        const double less_s =
            search->values[index].median_s - search->values[other].median_s;

        n += less_s > 0 || (less_s >= 0 && other < index);
    }
    return n;
}

static enum tune_event conclude(struct tune_search *search)
{
    const uint32_t best = find_best(search);
    const struct tune_value *found = &search->values[best];
    const struct tune_value *before = &search->values[search->before];
    const double gain_s = before->median_s - found->median_s;
    // Of few samples the deviation may seem small by chance: the larger one counts.
    const double error_s = M_SQRT2 * fmax(found->error_s, before->error_s);

    if (best != search->before && gain_s > WORTH * before->median_s &&
        trigger_is_sure(gain_s, error_s)) { // T2
        rest(search, best);
        return TUNE_FOUND;
    }
    rest(search, search->before);
    return TUNE_KEPT;
}

static enum tune_event end_round(struct tune_search *search)
{
    const uint32_t n_stay = search->n_left > 3 ? search->n_left / 2 : 1;
    uint32_t left[TUNE_VALUES_MAX];
    uint32_t n = 0;

    if (is_last_round(search)) {
        return conclude(search);
    }
    for (uint32_t k = 0; k < search->n_left; k++) {
        const uint32_t index = search->left[k];

        if (place_of(search, index) < n_stay || index == search->before) { // T1
            left[n++] = index;
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        search->left[k] = left[k];
    }
    search->n_left = n;
    search->round++;
    search->at = 0;
    begin_try(search);
    return n == 1 ? conclude(search) : TUNE_ROUND;
}

static enum tune_event try_on(struct tune_search *search, double iteration_s,
                              uint32_t n_iterations)
{
    search->n_tried += n_iterations;
    if (!search->is_warm) {
        search->is_warm = 1;
        return TUNE_GOES_ON;
    }
    search->samples_s[search->n_samples++] = iteration_s;
    if (search->n_samples < samples_of_a_try(search)) {
        return TUNE_GOES_ON;
    }
    conclude_try(search);
    if (++search->at == search->n_left) {
        return end_round(search);
    }
    begin_try(search);
    return TUNE_GOES_ON;
}

// ---- watching ----

/** Samples in a row to one side of what is usual. */
static void count_off(struct tune_search *search, double iteration_s)
{
    const double off = iteration_s / search->usual_s - 1;

    if (off > OFF) {
        search->n_off = search->n_off > 0 ? search->n_off + 1 : 1;
    } else if (off < -OFF) {
        search->n_off = search->n_off < 0 ? search->n_off - 1 : -1;
    } else {
        search->n_off = 0;
        search->usual_s += FOLLOW * (iteration_s - search->usual_s);
    }
}

static enum tune_event watch(struct tune_search *search, double iteration_s)
{
    if (!search->is_warm) {
        search->is_warm = 1;
        return TUNE_GOES_ON;
    }
    if (search->n_samples < ENOUGH_USUAL) {
        search->samples_s[search->n_samples++] = iteration_s;
        if (search->n_samples == ENOUGH_USUAL) {
            search->usual_s = robust_median(search->samples_s, ENOUGH_USUAL);
        }
        return TUNE_GOES_ON;
    }
    count_off(search, iteration_s);
    if (abs(search->n_off) < search->patience || search->n_values == 1) {
        return TUNE_GOES_ON;
    }
    search->patience =
        search->patience < PATIENCE_MAX ? 2 * search->patience : PATIENCE_MAX;
    begin_again(search);
    return TUNE_AGAIN;
}

enum tune_event tune_search_take(struct tune_search *search, double iteration_s,
                                 uint32_t n_iterations)
{
    search->n_iterations = iterations_of_a_sample(iteration_s);
    return search->is_over ? watch(search, iteration_s)
                           : try_on(search, iteration_s, n_iterations);
}

void tune_search_again(struct tune_search *search)
{
    if (!search->is_over) {
        search->at = 0;
        begin_try(search);
    }
}

void tune_search_forget(struct tune_search *search)
{
    search->is_warm = 0;
    search->n_samples = 0;
    search->usual_s = 0;
    search->n_off = 0;
}
