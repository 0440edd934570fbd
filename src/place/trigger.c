// SPDX-License-Identifier: BSD-3-Clause
//
// The trigger manager. It is fed with samples: an iteration each, or if they are short
// the mean of some. Where one takes seconds, fewer of them are enough.
//
//     resting --area > cost--> collecting --collected()--> deciding
//        ^                                                  |    |
//        |<--------------- refused(): back off -------------+    | changed()
//        |                                                       v
//        +<----- kept, or undone() after a change for worse -- watching
//
// *Resting.* Utilisation is mean / max of the nodes' times. While it is below
// 0.9 in 4 samples in a row, threads wait at the barrier for nothing; but
// tracking and moving cost something too. [MetaLB]'s rule weighs the two: the
// area between the longest time and the attainable one, summed up since the
// last change, is what has been lost so far; when that exceeds what a change
// costs, it is time. So a large imbalance is answered soon, a small one later,
// and one that lasts only for a moment never: each sample in balance halves
// the area.
//
// *Watching.* After a change the first sample does not count: pages come to
// their new nodes. After nine others it is decided: longer than before, and the
// change is undone. What is compared are usual times, which the caller knows: one
// iteration in which the machine did something else must not take back a good
// change. Nor must times that are uncertain: if it is longer by less than twice the
// standard error, nine more are waited for, and if that is still so, it is kept.
//
// *Back-off.* If nothing can be won, or a change was undone, asking again soon
// would only cost. The rest doubles with each refusal, from 8 samples, and with
// each change undone, from 32. What the iteration takes at a refusal is the floor:
// only what is lost above it counts.
//
// *Errors.* What is measured differs from time to time. A difference counts as much as
// it exceeds what the caller says that this may be.
//
// *Conditions.* If the longest or the mean time is off by a tenth from what it
// was at the last decision, in 4 samples in a row, all of that is forgotten,
// and counting begins anew.
//
// *Soon.* An imbalance that is no chance need not last for long before it is answered: if
// what it loses, in as many iterations as may still come, is more than a change costs.
//
// I1  area_s >= 0; floor_s, level_max_s, level_mean_s are 0 or set together
//     with a decision.
// I2  rest_left <= backoff <= TRIGGER_REST_MOST.
#include "place/trigger.h"

#include <math.h>

#define FIRST_BACKOFF 8u
#define FIRST_UNDONE 32u
#define MIN_SAMPLES 4u      ///< before anything is concluded
#define MAX_UTILISATION 0.9 ///< mean / max below this is an imbalance
#define CHANGE 0.1          ///< a change of conditions is one by this part
#define WORSE 0.05          ///< undo if slower than before by this part
#define SAMPLES_MAX 64u     ///< older ones count half
#define LEAST_SAMPLES 2u
#define ENOUGH_S 2.0  ///< samples that take so long together say enough
#define SURE 2.0      ///< standard errors
#define SURE_SOON 3.0 ///< likewise, if it is asked each time

void trigger_init(struct trigger *trigger, int keeps)
{
    *trigger = (struct trigger){.keeps = keeps, .state = TRIGGER_RESTING};
}

uint32_t trigger_enough(uint32_t most, double length_s)
{
    uint32_t least = (most + 3) / 4;

    if (length_s * most <= ENOUGH_S) {
        return most;
    }
    least = least < LEAST_SAMPLES ? LEAST_SAMPLES : least;
    return length_s * least >= ENOUGH_S ? least
                                        : (uint32_t)ceil(ENOUGH_S / length_s);
}

int trigger_is_sure(double difference_s, double error_s)
{
    return difference_s > SURE * error_s;
}

int trigger_is_sure_soon(double difference_s, double error_s)
{
    return difference_s > SURE_SOON * error_s;
}

// ---- windows ----

static void clear_window(struct trigger *trigger)
{
    trigger->n_samples = 0;
    trigger->n_unbalanced = 0;
    trigger->area_s = 0;
    trigger->max_sum_s = 0;
    trigger->mean_sum_s = 0;
    trigger->n_drifting = 0;
}

int trigger_sees_imbalance(const struct trigger_sample *sample)
{
    return sample->mean_s < MAX_UTILISATION * sample->max_s - sample->error_s;
}

static uint32_t n_iterations(const struct trigger_sample *sample)
{
    return sample->n_iterations > 0 ? sample->n_iterations : 1;
}

// In an iteration; below 0 if times are shorter than was thought attainable.
static double lost_s(const struct trigger *trigger,
                     const struct trigger_sample *sample)
{
    const double attainable_s =
        sample->attainable_s > 0 ? sample->attainable_s : sample->mean_s;

    return sample->max_s - fmax(attainable_s, trigger->floor_s);
}

static void add_sample(struct trigger *trigger,
                       const struct trigger_sample *sample)
{
    trigger->area_s = fmax(0, trigger->area_s + lost_s(trigger, sample) *
                                                    n_iterations(sample));
    if (trigger_sees_imbalance(sample)) {
        trigger->n_unbalanced++;
    } else {
        trigger->n_unbalanced = 0;
        trigger->area_s /= 2;
    }
    if (trigger->n_samples == SAMPLES_MAX) {
        trigger->n_samples /= 2;
        trigger->max_sum_s /= 2;
        trigger->mean_sum_s /= 2;
    }
    trigger->n_samples++;
    trigger->max_sum_s += sample->max_s;
    trigger->mean_sum_s += sample->mean_s;
}

/** Remember what the times are now that it is decided. */
static void set_level(struct trigger *trigger)
{
    if (trigger->n_samples > 0) {
        trigger->level_max_s = trigger->max_sum_s / trigger->n_samples;
        trigger->level_mean_s = trigger->mean_sum_s / trigger->n_samples;
    }
}

static int is_off(double time_s, double level_s, double error_s)
{
    return level_s > 0 &&
           trigger_is_sure(fabs(time_s - level_s) - CHANGE * level_s, error_s);
}

/** @return whether conditions are others than at the last decision */
static int have_changed(struct trigger *trigger,
                        const struct trigger_sample *sample)
{
    if (is_off(sample->max_s, trigger->level_max_s, sample->error_s) ||
        is_off(sample->mean_s, trigger->level_mean_s, sample->error_s)) {
        trigger->n_drifting++;
    } else {
        trigger->n_drifting = 0;
    }
    return trigger->n_drifting >= trigger_enough(MIN_SAMPLES, sample->length_s);
}

// ---- states ----

static void rest(struct trigger *trigger)
{
    trigger->state = TRIGGER_RESTING;
    set_level(trigger);
    clear_window(trigger);
}

static void back_off(struct trigger *trigger, uint32_t first)
{
    trigger->backoff = 2 * trigger->backoff;
    if (trigger->backoff < first) {
        trigger->backoff = first;
    }
    if (trigger->backoff > TRIGGER_REST_MOST) {
        trigger->backoff = TRIGGER_REST_MOST;
    }
    trigger->rest_left = trigger->backoff;
}

void trigger_wake(struct trigger *trigger)
{
    if (trigger->state != TRIGGER_RESTING) {
        return;
    }
    clear_window(trigger);
    trigger->level_max_s = 0;
    trigger->level_mean_s = 0;
    trigger->floor_s = 0;
    trigger->backoff = 0;
    trigger->rest_left = 0;
}

static int has_cost_enough(const struct trigger *trigger,
                           const struct trigger_sample *sample)
{
    return trigger->n_unbalanced >=
               trigger_enough(MIN_SAMPLES, sample->length_s) &&
           trigger->area_s > sample->cost_s;
}

static int will_cost_enough(const struct trigger *trigger,
                            const struct trigger_sample *sample)
{
    return trigger_is_sure_soon(MAX_UTILISATION * sample->max_s -
                                    sample->mean_s,
                                sample->error_s) &&
           lost_s(trigger, sample) * sample->n_left > sample->cost_s;
}

static enum trigger_advice feed_resting(struct trigger *trigger,
                                        const struct trigger_sample *sample)
{
    if (have_changed(trigger, sample)) {
        trigger_wake(trigger);
    }
    if (trigger->rest_left > 0) {
        trigger->rest_left--;
        return TRIGGER_REST;
    }
    add_sample(trigger, sample);
    if (!has_cost_enough(trigger, sample) &&
        !will_cost_enough(trigger, sample)) {
        return TRIGGER_REST;
    }
    trigger->state = TRIGGER_COLLECTING;
    return TRIGGER_COLLECT;
}

static enum trigger_advice feed_watching(struct trigger *trigger,
                                         const struct trigger_sample *sample)
{
    const double before_s =
        sample->before_s > 0 ? sample->before_s : trigger->before_s;
    const double now_s = sample->usual_s > 0 ? sample->usual_s : sample->max_s;
    const uint32_t enough = trigger_enough(TRIGGER_WATCHED, sample->length_s);

    if (trigger->rest_left > 0) { // pages are still coming
        trigger->rest_left--;
        return TRIGGER_REST;
    }
    add_sample(trigger, sample);
    if (trigger->n_samples < enough) {
        return TRIGGER_REST;
    }
    if (!trigger->keeps && now_s > before_s * (1 + WORSE)) {
        if (trigger_is_sure(now_s - before_s, sample->error_s)) {
            return TRIGGER_UNDO;
        }
        if (trigger->n_samples < 2 * enough) {
            return TRIGGER_REST;
        }
    }
    trigger->backoff = 0;
    rest(trigger);
    return TRIGGER_REST;
}

enum trigger_advice trigger_feed(struct trigger *trigger,
                                 const struct trigger_sample *sample)
{
    switch (trigger->state) {
    case TRIGGER_RESTING:
        return feed_resting(trigger, sample);
    case TRIGGER_DECIDING:
        return TRIGGER_REMAP;
    case TRIGGER_WATCHING:
        return feed_watching(trigger, sample);
    case TRIGGER_COLLECTING:
    default:
        return TRIGGER_REST;
    }
}

void trigger_collected(struct trigger *trigger)
{
    trigger->state = TRIGGER_DECIDING;
}

void trigger_changed(struct trigger *trigger, double before_s)
{
    trigger->state = TRIGGER_WATCHING;
    clear_window(trigger);
    trigger->floor_s = 0;
    trigger->before_s = before_s;
    trigger->rest_left = 1;
}

void trigger_refused(struct trigger *trigger)
{
    rest(trigger);
    trigger->floor_s = trigger->level_max_s;
    back_off(trigger, FIRST_BACKOFF);
}

void trigger_undecided(struct trigger *trigger)
{
    rest(trigger);
    trigger->floor_s = 0;
    back_off(trigger, FIRST_BACKOFF);
}

void trigger_undone(struct trigger *trigger)
{
    clear_window(trigger); // of the mapping that was undone
    trigger->state = TRIGGER_RESTING;
    trigger->level_max_s = 0;
    trigger->level_mean_s = 0;
    trigger->floor_s = 0;
    back_off(trigger, FIRST_UNDONE);
}

int trigger_accepts(const struct profile_acceptance *it)
{
    return (it->now_s - it->predicted_s) * (double)it->iterations_left >
           it->moved_bytes / it->bytes_per_s + it->warm_up_s;
}
