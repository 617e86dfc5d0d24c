/* Metrics of scores that need not come from a model: baselines and candidates of a search have a task and scores. */
#ifndef KARMA_I_METRICS_H
#define KARMA_I_METRICS_H

#include "karma/evaluate.h"
#include "model/task.h"

/* As karma_evaluate, for any scores of a task. */
karma_status karma_i_evaluate(karma_metrics *out, const karma_i_task *task, size_t target, const karma_table *table,
                              const double *scores, karma_error *err);

#endif
