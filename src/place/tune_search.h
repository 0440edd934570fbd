// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLACE_TUNE_SEARCH_H
#define PLACE_TUNE_SEARCH_H

#include <stdint.h>

/*
 * The best of a few values of a parameter of the program, by trying them: what tm_tune()
 * asks. The caller says how long iterations took with the value in force, and is told
 * which value is next. No clock; the same times give the same values.
 */

#define TUNE_VALUES_MAX 64u
#define TUNE_SAMPLES_MAX 12u ///< of one value in one round

enum tune_event {
    TUNE_GOES_ON, ///< the value in force stays, or the next one is tried
    TUNE_ROUND, ///< a round is over, and the better half of the values goes on
    TUNE_FOUND, ///< the search is over: another value than before is better
    TUNE_KEPT, ///< it is over: none is, for sure; that of before is in force again
    TUNE_AGAIN, ///< times have changed for good: it begins again
};

/** What is known of a value. */
struct tune_value {
    double median_s; ///< of an iteration, in the latest round that it was in
    double error_s;  ///< standard error of that
};

/** All fields are the search's; readable for reports. */
struct tune_search {
    uint32_t n_values;
    uint32_t before; ///< the value that was in force when the search began
    uint32_t index;  ///< the value in force
    int is_over;
    uint32_t round;                 ///< 0, 1, ...
    uint32_t n_left;                ///< values of this round
    uint32_t left[TUNE_VALUES_MAX]; ///< [n_left], rising
    uint32_t at;                    ///< in `left`: which is tried
    uint32_t n_iterations;          ///< of one sample; 0: not known yet
    int is_warm;                    ///< a sample of this try has passed
    uint32_t n_samples; ///< of this try, or since the search is over
    double samples_s[TUNE_SAMPLES_MAX];        ///< [n_samples]
    struct tune_value values[TUNE_VALUES_MAX]; ///< [n_values]
    double
        usual_s;  ///< S: of an iteration since the search is over; 0: not known
    int n_off;    ///< samples in a row above it, or below: < 0
    int patience; ///< so many in a row are a change for good
    uint64_t n_tried; ///< iterations of all searches
    uint32_t n_searches;
};

/**
 * Begin to search.
 *
 * @param n_values  1 to TUNE_VALUES_MAX; of one there is nothing to search
 * @param before    the value to begin from, and to go back to
 *
 * Context: any thread; pure, as all below.
 */
void tune_search_begin(struct tune_search *search, uint32_t n_values,
                       uint32_t before);

/** Begin with a value that an earlier run has found: nothing is searched until times
 * change. */
void tune_search_know(struct tune_search *search, uint32_t n_values,
                      uint32_t index);

/** How many iterations the value in force is to stay, until the next sample. */
uint32_t tune_search_span(const struct tune_search *search);

/**
 * So long an iteration took with the value in force, in the mean of tune_search_span() or
 * more of them.
 *
 * @param n_iterations  how many, at least 1
 * @return what has come of it; `index` is the value for the next ones
 */
enum tune_event tune_search_take(struct tune_search *search, double iteration_s,
                                 uint32_t n_iterations);

/** Something else has changed how long iterations take: the round that runs begins again.
 * Nothing if the search is over. */
void tune_search_again(struct tune_search *search);

/** Something else has changed how long iterations take: what is usual is not known any
 * more, nor what the value in force takes. */
void tune_search_forget(struct tune_search *search);

#endif
