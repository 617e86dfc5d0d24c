#include "search/goal.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "eval/metric_table.h"

const char *karma_i_goal_name(karma_goal goal) {
    const karma_i_metric *metric = karma_i_metric_of_goal(goal);
    return metric ? metric->about.name : "accuracy and R2";
}

double karma_i_goal_sign(karma_goal goal) {
    const karma_i_metric *metric = karma_i_metric_of_goal(goal);
    return metric && metric->about.less_is_better ? -1.0 : 1.0;
}

karma_loss_kind karma_i_goal_loss(karma_goal goal) {
    const karma_i_metric *metric = karma_i_metric_of_goal(goal);
    return metric ? metric->loss : KARMA_LOSS_AUTO;
}

karma_status karma_i_goal_resolve(karma_goal *out, karma_goal goal, const karma_i_task *task, karma_error *err) {
    int is_auto = goal == KARMA_GOAL_AUTO;
    if (is_auto) goal = karma_i_goal_of_target(goal, task, 0);
    for (size_t t = 1; t < task->n_heads && is_auto; t++)
        if (karma_i_goal_of_target(KARMA_GOAL_AUTO, task, t) != goal) goal = KARMA_GOAL_AUTO;
    const karma_i_metric *metric = karma_i_metric_of_goal(goal);
    for (size_t t = 0; metric && t < task->n_heads; t++)
        if (task->heads[t].labels.task != metric->about.task)
            return karma_i_fail(err, KARMA_ERR_OPTION,
                                "the goal %s does not apply to '%s', which is %s: set another option 'goal'",
                                metric->about.name, task->heads[t].name,
                                task->heads[t].labels.task == KARMA_TASK_CLASSIFY ? "classes" : "a number");
    *out = goal;
    return KARMA_OK;
}

karma_goal karma_i_goal_of_target(karma_goal goal, const karma_i_task *task, size_t target) {
    const karma_i_head *head = &task->heads[target];
    if (goal != KARMA_GOAL_AUTO) return goal;
    if (head->labels.task == KARMA_TASK_CLASSIFY) return KARMA_GOAL_ACCURACY;
    return head->n_quantiles ? KARMA_GOAL_PINBALL : KARMA_GOAL_R2;
}

static const karma_i_metric *metric_of_target(karma_goal goal, const karma_i_task *task, size_t target) {
    return karma_i_metric_of_goal(karma_i_goal_of_target(goal, task, target));
}

karma_status karma_i_goal_check(karma_goal goal, const karma_i_task *task, karma_error *err) {
    const karma_i_metric *metric = karma_i_metric_of_goal(goal);
    for (size_t t = 0; metric && t < task->n_heads; t++)
        if ((metric->needs == KARMA_I_NEEDS_PROBABILITIES && task->heads[t].loss != KARMA_LOSS_LOGISTIC) ||
            (metric->needs == KARMA_I_NEEDS_QUANTILES && task->heads[t].n_quantiles == 0))
            return karma_i_fail(err, KARMA_ERR_OPTION, "the goal %s does not go with the loss %s: set option 'loss=%s'",
                                metric->about.name, karma_i_loss_name(task->heads[t].loss),
                                karma_i_loss_name(metric->loss));
    return KARMA_OK;
}

karma_status karma_i_judge_init(karma_i_judge *out, karma_goal goal, const karma_i_task *task, const karma_table *table,
                                karma_error *err) {
    size_t n = table->n_rows;
    karma_i_judge judge = {goal, karma_i_zalloc(task->n_heads, n * sizeof *judge.truth), 0};
    karma_status st = judge.truth ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t t = 0; st == KARMA_OK && t < task->n_heads; t++)
        if (task->heads[t].labels.task == KARMA_TASK_CLASSIFY)
            st = karma_i_labels_classes(judge.truth + t * n, &task->heads[t].labels, &table->targets[t], n, err);
    if (st == KARMA_OK)
        *out = judge;
    else
        karma_i_judge_clear(&judge);
    return st;
}

void karma_i_judge_clear(karma_i_judge *judge) {
    karma_i_free(judge->truth);
    *judge = (karma_i_judge){0};
}

int karma_i_goal_has_labels(const karma_table *table, size_t target) {
    for (size_t i = 0; i < table->n_rows; i++)
        if (!isnan(table->targets[target].value[i]) && karma_table_row_weight(table, i) > 0.0) return 1;
    return 0;
}

karma_status karma_i_goal_value(double *out, const void *payload, const karma_i_task *task, const karma_table *table,
                                const double *scores, karma_error *err) {
    const karma_i_judge *judge = payload;
    double sum = 0.0, n = 0.0;
    for (size_t t = 0; t < task->n_heads; t++) {
        const karma_i_metric *metric = metric_of_target(judge->goal, task, t);
        double value;
        if ((judge->only && t + 1 != judge->only) || !karma_i_goal_has_labels(table, t)) continue;
        KARMA_TRY(karma_i_metric_value(&value, metric, task, t, table, scores, err));
        if (isnan(value)) value = metric->fallback;
        sum += metric->about.less_is_better ? -value : value;
        n += 1.0;
    }
    *out = n > 0.0 ? sum / n : 0.0;
    return KARMA_OK;
}

int karma_i_goal_is_mean(karma_goal goal) {
    const karma_i_metric *metric = karma_i_metric_of_goal(goal);
    return !metric || metric->row_loss; /* the metrics that auto stands for are */
}

int karma_i_goal_is_squared(karma_goal goal, const karma_i_task *task) {
    for (size_t t = 0; t < task->n_heads; t++) {
        karma_goal own = karma_i_goal_of_target(goal, task, t);
        if (own != KARMA_GOAL_R2 && own != KARMA_GOAL_RMSE) return 0;
    }
    return 1;
}

karma_i_row_loss_fn karma_i_judge_row_loss(const karma_i_judge *judge) {
    return karma_i_goal_is_mean(judge->goal) ? karma_i_goal_row_loss : NULL;
}

double karma_i_goal_row_loss(const void *payload, const karma_i_task *task, const karma_table *table, size_t row,
                             const double *scores) {
    const karma_i_judge *judge = payload;
    double sum = 0.0, weight = karma_table_row_weight(table, row);
    for (size_t t = 0; t < task->n_heads; t++) {
        double label = table->targets[t].value[row];
        if (isnan(label)) continue;
        sum += metric_of_target(judge->goal, task, t)
                   ->row_loss(&task->heads[t], judge->truth[t * table->n_rows + row], label, scores);
    }
    return weight * sum;
}

static int by_number(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* answer[q] becomes the quantile quantiles[q] of the labels. */
static karma_status constant_quantiles(double *answer, const karma_i_head *head, const karma_i_target *target,
                                       size_t n_rows, karma_error *err) {
    double *labels = karma_i_alloc(n_rows, sizeof *labels);
    if (!labels) return karma_i_fail_memory(err);
    size_t n = 0;
    for (size_t i = 0; i < n_rows; i++)
        if (!isnan(target->value[i])) labels[n++] = target->value[i];
    if (n > 1) qsort(labels, n, sizeof *labels, by_number);
    for (size_t q = 0; q < head->n_quantiles; q++) {
        double at = ceil(head->quantiles[q] * (double)n) - 1.0;
        answer[q] = n ? labels[at > 0.0 ? (size_t)at : 0] : 0.0;
    }
    karma_i_free(labels);
    return KARMA_OK;
}

/* The log odds of a class, kept finite for a class that never occurs. */
static double log_odds(const karma_i_labels *labels, size_t k) {
    double total = 0.0, count = (double)labels->class_count[k] + 1e-9;
    for (size_t j = 0; j < labels->n_classes; j++) total += (double)labels->class_count[j] + 1e-9;
    return log(count / (total - count));
}

static karma_status constant_answer(double *answer, const karma_i_head *head, const karma_i_target *target,
                                    size_t n_rows, karma_error *err) {
    if (head->n_quantiles) return constant_quantiles(answer, head, target, n_rows, err);
    for (size_t k = 0; k < head->n_outputs; k++)
        answer[k] = head->labels.task == KARMA_TASK_REGRESS ? head->mean
                                                            : log_odds(&head->labels, head->n_outputs == 1 ? 1 : k);
    return KARMA_OK;
}

karma_status karma_i_constant_scores(double *scores, const karma_i_task *task, const karma_table *table,
                                     karma_error *err) {
    size_t K = task->n_outputs;
    double *answer = karma_i_alloc(K, sizeof *answer);
    karma_status st = answer ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t t = 0; st == KARMA_OK && t < task->n_heads; t++)
        st = constant_answer(answer + task->heads[t].first_output, &task->heads[t], &table->targets[t], table->n_rows,
                             err);
    for (size_t i = 0; st == KARMA_OK && i < table->n_rows * K; i++) scores[i] = answer[i % K];
    karma_i_free(answer);
    return st;
}
