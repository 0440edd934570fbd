// SPDX-License-Identifier: BSD-3-Clause
// TEMPORARY until branch model has it.
#include "place/trigger.h"
#include <string.h>
void trigger_config_init(struct trigger_config *c)
{
    *c = (struct trigger_config){4, 0.9, 0.1, 0.02, 1024};
}
static void restart(struct trigger *t)
{
    t->n_samples = 0; t->area_s = 0; t->max_sum_s = 0; t->mean_sum_s = 0; t->n_drifting = 0;
}
void trigger_init(struct trigger *t, const struct trigger_config *c)
{
    memset(t, 0, sizeof *t); t->config = *c; t->backoff = 8;
}
static int drifts(struct trigger *t, const struct trigger_sample *s)
{
    double off = t->level_s > 0 ? s->max_s / t->level_s - 1 : 0;
    if (t->level_s > 0 && (off > t->config.change || off < -t->config.change)) t->n_drifting++;
    else t->n_drifting = 0;
    return t->n_drifting >= t->config.min_samples;
}
enum trigger_advice trigger_feed(struct trigger *t, const struct trigger_sample *s)
{
    double attainable = s->attainable_s > 0 ? s->attainable_s : s->mean_s;
    if (t->state == TRIGGER_COLLECTING) return TRIGGER_REST;
    if (t->state == TRIGGER_DECIDING) return TRIGGER_REMAP;
    t->n_samples++; t->max_sum_s += s->max_s; t->mean_sum_s += s->mean_s;
    if (t->state == TRIGGER_WATCHING) {
        if (t->n_samples < t->config.min_samples) return TRIGGER_REST;
        double now = t->max_sum_s / t->n_samples;
        t->state = TRIGGER_RESTING; t->level_s = now; restart(t);
        if (now > t->before_s * (1 + t->config.worse)) return TRIGGER_UNDO;
        return TRIGGER_REST;
    }
    if (drifts(t, s)) { t->rest_left = 0; t->backoff = 8; t->floor_s = 0; t->level_s = 0; }
    if (t->rest_left > 0) { t->rest_left--; return TRIGGER_REST; }
    if (t->floor_s > attainable) attainable = t->floor_s;
    if (s->max_s > attainable) t->area_s += s->max_s - attainable;
    if (t->n_samples >= t->config.min_samples && t->mean_sum_s < t->config.max_utilisation * t->max_sum_s && t->area_s > s->cost_s) {
        t->state = TRIGGER_COLLECTING; return TRIGGER_COLLECT;
    }
    return TRIGGER_REST;
}
void trigger_collected(struct trigger *t) { t->state = TRIGGER_DECIDING; }
void trigger_changed(struct trigger *t, double before_s) { t->state = TRIGGER_WATCHING; t->before_s = before_s; restart(t); }
void trigger_refused(struct trigger *t, double a)
{
    t->level_s = t->n_samples ? t->max_sum_s / t->n_samples : 0;
    t->state = TRIGGER_RESTING; t->floor_s = a; t->rest_left = t->backoff;
    if (t->backoff < t->config.max_backoff) t->backoff *= 2;
    restart(t);
}
void trigger_undone(struct trigger *t) { trigger_refused(t, 0); }
int trigger_accepts(double now_s, double predicted_s, uint64_t left, double bytes, double rate, double warm)
{
    return (now_s - predicted_s) * (double)left > bytes / rate + warm;
}
