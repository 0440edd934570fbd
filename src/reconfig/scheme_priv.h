// SPDX-License-Identifier: BSD-3-Clause
#ifndef RECONFIG_SCHEME_PRIV_H
#define RECONFIG_SCHEME_PRIV_H

#include "reconfig/period.h"
#include "reconfig/scheme.h"

/*
 * What the scheme's files share: its states in scheme.c, plans in scheme_plan.c, what
 * it sees and says in scheme_assess.c, reports in scheme_reports.c, where iterations end in
 * scheme_search.c.
 */

enum state {
    SEARCHING,
    UNKNOWN,
    WATCHING,
    TRACKING,
    THINKING,
    MOVING,
    SETTLING,
    OFF,
};

/** How far a measurement, a median of several iterations, is believed. */
#define SCHEME_GAIN 1.0

/** What is known of conditions since the latest plan. */
enum change {
    CHANGE_NONE,
    CHANGE_SEEN, ///< times of a node have shifted
    CHANGE_TOLD, ///< a node has other memory, as it says
};

/** An iteration's time: what goes with the threads' work, and what does not. */
struct time_parts {
    double work_s;
    double rest_s;
    double ideal_s; ///< scheme_ideal_s() then; 0: not known
};

/** What a node said of its memory, pages; 0: as at the start. */
struct told_memory {
    uint64_t now;
    uint64_t noted; ///< when it was another one than before
};

/** Where iterations end, if the program does not say so. */
struct search {
    struct period period; ///< of the leader's barriers
    uint32_t n_fed;       ///< to `period` and to those that were dropped
    uint32_t n;           ///< the period that was found, barriers
    uint64_t leader;      ///< a thread
    uint64_t led_at;      ///< its number of the barrier that it came to last
    uint32_t end_place;   ///< of its barriers that end an iteration
    uint32_t other_place; ///< where it was at the latest end
    unsigned n_other;   ///< ends in a row that were there and not at end_place
    uint16_t elsewhere; ///< a bit for each of the latest ends: not at end_place
    uint64_t found_at;  ///< iterations that were closed when it was found
    unsigned n_hasty;   ///< periods in a row that were soon lost again
    int is_marked;      ///< the program says where
};

/** One row of a report's body: a thread that has arrived. */
struct row {
    uint64_t thread;
    double comp_s;
    uint64_t
        n_barriers; ///< its own, or iterations where the program marks them
    uint32_t place; ///< in the program, of the barrier
};

struct scheme {
    struct scheme_config config;
    struct scheme_ops ops;
    struct node_view *nodes;             ///< [n_nodes]
    struct told_memory *memory;          ///< [n_nodes]
    struct correction *corrections;      ///< [n_nodes] of `plan`
    struct correction *next_corrections; ///< [n_nodes] of `next`
    struct correction *learned;          ///< [n_nodes] for the plan after it
    uint32_t *counts;                    ///< [n_nodes] by hand, or NULL
    enum state state;
    struct history *history;
    struct trigger trigger;
    struct search search;
    unsigned countdown; ///< SETTLING, MOVING: samples left
    unsigned n_wanted;  ///< samples that a plan is made of
    enum change change;
    unsigned patience;    ///< samples by which a shift of times is seen
    uint64_t shifted_at;  ///< sample of the latest one
    uint64_t rough_at;    ///< or of one that was off for once
    uint64_t not_before;  ///< iteration before which no plan is made
    uint64_t tracked_at;  ///< sample; 0: never
    int is_tracked;       ///< there are tracked pages that still tell something
    unsigned n_trackings; ///< since all threads were known
    int is_undoing;
    struct time_parts predicted; ///< of the mapping in force; 0: nothing yet
    double *predicted_s;         ///< [n_nodes] likewise, each by itself
    int is_kept;                 ///< a change, and nothing was planned since
    int is_again;                ///< the plan is made without an imbalance
    double usual_s;              ///< iteration time while nothing is done
    double extra_s;              ///< beyond it, since something is
    int extra_is_tracking;       ///< which of the next two it is
    double tracking_cost_s;      ///< of the latest; 0: none yet
    double moving_cost_s;        ///< likewise
    struct time_parts before;    ///< the iteration before the latest change
    double before_error_s;       ///< its standard error
    double planned_ideal_s;      ///< ideal_s when the latest plan was begun
    unsigned n_looks;  ///< plans that may still be made without an imbalance
    struct remap plan; ///< the latest that was made, if has_plan; or imposed
    int has_plan;
    struct remap next; ///< that is being made
    tm_status plan_status;
    struct scheme_stats stats;
    struct history_peer *peers;       ///< [n_nodes] of a report
    struct history_arrival *arrivals; ///< [n_room] likewise
    uint32_t n_room;
};

/** A line for who wants to know why. */
__attribute__((format(printf, 2, 3))) void scheme_say(
    const struct scheme *scheme, const char *format, ...);
/** The same, with the number of the iteration in front. */
#define scheme_say_now(scheme, format, ...)                                    \
    scheme_say(scheme, "iteration %llu: " format,                              \
               (unsigned long long)history_n_closed((scheme)->history),        \
               ##__VA_ARGS__)

/** The plan: terms, times before and after, moves. */
void scheme_explain_plan(const struct scheme *scheme);

/** A change is kept or taken back: the times. */
void scheme_say_verdict(const struct scheme *scheme, const char *verdict);

/** What the mapping in force was predicted to be like, and what it is like. */
void scheme_explain_result(const struct scheme *scheme);

/** What was seen and decided so far tells nothing of what comes: rest, and begin as at
 * the start. */
void scheme_begin_anew(struct scheme *scheme);

/** The rows of a report that is good, and the next of them. */
struct wire_reader scheme_rows(const struct message *report);
struct row scheme_row(struct wire_reader *reader);

/** Does this report, which is good, end an iteration? If not, or if it is not known,
 * look what can be learned of it. */
int scheme_look_for_end(struct scheme *scheme, const struct message *report);

/** The parts together. */
double scheme_time_s(const struct time_parts *parts);

/** All work over all power, seconds: no mapping is faster. */
double scheme_ideal_s(const struct scheme *scheme);

/** Are these, of pages, two memories, or one of which a little comes and goes? */
static inline int scheme_is_other_memory(uint64_t now, uint64_t before)
{
    return (now > before ? now - before : before - now) > before / 4;
}

/** Of how many threads it is not known what they use, if the policy wants to know: some
 * may have come since it was tracked. @param[out] n  of how many that take part */
uint32_t scheme_count_unknown(const struct scheme *scheme, uint32_t *n);

/** Must an iteration be tracked before a plan is made? */
int scheme_needs_tracking(const struct scheme *scheme);

/** Is what was tracked so old that a plan made of it, which finds nothing, need not be
 * right? */
int scheme_is_tracking_old(const struct scheme *scheme);

/** Did so many samples take long enough for what they say to be no chance? */
int scheme_has_evidence(const struct scheme *scheme, unsigned n);

/** What the trigger gets to see of the latest iteration. */
void scheme_sample(const struct scheme *scheme, struct trigger_sample *sample);

/** What is said of the mapping in force, or that threads have just moved to. */
void scheme_note_predicted(struct scheme *scheme,
                           const struct prediction *in_force);

/** Hold the prediction for the mapping in force against what it is. */
void scheme_judge(struct scheme *scheme);

/** Have an iteration tracked. */
void scheme_track(struct scheme *scheme);

/** Begin a plan, which scheme_think() makes. */
void scheme_ask(struct scheme *scheme);

/** Tell all threads of `plan` that are elsewhere where they should be. */
void scheme_move_all(struct scheme *scheme);

/** Conditions are others than they were: the latest n samples, if any, are all that
 * tells of them. */
void scheme_see_change(struct scheme *scheme, enum change change, unsigned n);

/** A sample has been closed. */
void scheme_step(struct scheme *scheme);

#endif
