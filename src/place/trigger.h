// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLACE_TRIGGER_H
#define PLACE_TRIGGER_H

#include "place/profile.h"

/*
 * When to look closer, when to re-map, when to take a re-map back: the trigger
 * manager of [Liu06] 4.1 as arithmetic. The caller feeds it each iteration; it
 * answers what to do. The rule is that of [MetaLB]: see trigger.c.
 */

enum trigger_advice {
    TRIGGER_REST,    ///< go on
    TRIGGER_COLLECT, ///< track one iteration, then call trigger_collected()
    TRIGGER_REMAP,   ///< predict and place; then trigger_changed() or
                     ///< trigger_refused()
    TRIGGER_UNDO,    ///< the last change made it worse: take it back, then
                     ///< trigger_undone()
};

/** Samples that decide on a change. */
#define TRIGGER_WATCHED 9u

/** Samples of rest at most. */
#define TRIGGER_REST_MOST 1024u

/** What one iteration was like, or, if they are short, several in the mean. */
struct trigger_sample {
    uint32_t n_iterations; ///< how many; 0: one
    double length_s;     ///< how long these took together; 0: not known, short
    double max_s;        ///< time of the slowest node, barrier excluded
    double usual_s;      ///< the same as it is usually since the last change,
                         ///< taken like trigger_changed()'s before_s; 0: max_s
    double mean_s;       ///< of all nodes
    double attainable_s; ///< what a good mapping would take, as far as known:
                         ///< a lower bound or a prediction; 0: take mean_s
    double cost_s;       ///< what tracking and one change would cost
    double n_left;       ///< iterations that may still come; 0: not known
    double before_s; ///< what the mapping before the last change would take,
                     ///< if that is known to be others than it took; else 0
    double
        error_s; ///< standard error of max_s; after a change, of usual_s less
                 ///< before_s; 0: not known
};

enum trigger_state {
    TRIGGER_RESTING,
    TRIGGER_COLLECTING,
    TRIGGER_DECIDING,
    TRIGGER_WATCHING,
};

/** All fields are the trigger's; readable for reports. */
struct trigger {
    int keeps; ///< a change is never taken back
    enum trigger_state state;
    uint32_t n_samples;    ///< in the sums below
    uint32_t n_unbalanced; ///< samples in a row with too low a utilisation
    double area_s;         ///< lost so far: sum of max - attainable
    double max_sum_s;
    double mean_sum_s;
    double level_max_s;  ///< what max and mean were when it was last decided;
    double level_mean_s; ///< 0: never
    uint32_t n_drifting; ///< samples in a row that are off these
    double floor_s;      ///< nothing below it can be had, as a refusal found
    double before_s;     ///< iteration time before the last change
    uint32_t backoff;    ///< samples of rest after the last refusal
    uint32_t rest_left;  ///< of them, still to come
};

/**
 * How many samples are enough, where `most` are of short ones: fewer, if they take more
 * than some seconds together, but a quarter, and two.
 *
 * @param length_s  of one
 */
uint32_t trigger_enough(uint32_t most, double length_s);

/** Is a difference of two times more than chance, which they are off by? */
int trigger_is_sure(double difference_s, double error_s);

/** The same where samples are few, and it is asked with each: chance has many turns. */
int trigger_is_sure_soon(double difference_s, double error_s);

/** Begin, resting. @param keeps  1: a change is never taken back */
void trigger_init(struct trigger *trigger, int keeps);

/**
 * Feed a sample.
 * @return what to do before the next one; TRIGGER_REMAP comes only after
 *         trigger_collected(), TRIGGER_UNDO only after trigger_changed()
 */
enum trigger_advice trigger_feed(struct trigger *trigger,
                                 const struct trigger_sample *sample);

/** Is this an iteration in which threads waited for nothing? If not, the trigger does
 * not look at attainable_s. */
int trigger_sees_imbalance(const struct trigger_sample *sample);

/** Tracking is done; from now on trigger_feed() says TRIGGER_REMAP, until one of
 * the next two. */
void trigger_collected(struct trigger *trigger);

/** A new mapping was carried out.
 * @param before_s  time of the slowest node before it, as it was usually */
void trigger_changed(struct trigger *trigger, double before_s);

/** Nothing can be won by placing, or not enough: rest, twice as long as the last
 * time, unless conditions change. */
void trigger_refused(struct trigger *trigger);

/** Something may be won, but less than what times differ by anyway: rest as after a
 * refusal, and ask again. */
void trigger_undecided(struct trigger *trigger);

/** Conditions have changed, whether times show it yet or not: what was decided before
 * counts no more, if it rests. */
void trigger_wake(struct trigger *trigger);

/** A change was taken back: rest, longer than after a refusal. Something may be
 * had all the same, by another change. */
void trigger_undone(struct trigger *trigger);

/** Is a change worth its cost?  (now - predicted) * iterations left > cost, of moved
 * bytes, which stacks and pages are, and of the warm-up, all else. */
int trigger_accepts(const struct profile_acceptance *it);

#endif
