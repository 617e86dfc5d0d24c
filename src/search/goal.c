#include "search/goal.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"

typedef struct goal_record {
    const char *name;
    karma_task task;
    double sign;
    karma_loss_kind loss;
} goal_record;

static const goal_record records[KARMA_N_GOALS] = {
    [KARMA_GOAL_AUTO] = {"accuracy and R2", KARMA_TASK_AUTO, 1.0, KARMA_LOSS_AUTO},
    [KARMA_GOAL_ACCURACY] = {"accuracy", KARMA_TASK_CLASSIFY, 1.0, KARMA_LOSS_AUTO},
    [KARMA_GOAL_BALANCED_ACCURACY] = {"balanced accuracy", KARMA_TASK_CLASSIFY, 1.0, KARMA_LOSS_AUTO},
    [KARMA_GOAL_AUC] = {"AUC", KARMA_TASK_CLASSIFY, 1.0, KARMA_LOSS_AUTO},
    [KARMA_GOAL_LOG_LOSS] = {"log loss", KARMA_TASK_CLASSIFY, -1.0, KARMA_LOSS_LOGISTIC},
    [KARMA_GOAL_F1] = {"F1", KARMA_TASK_CLASSIFY, 1.0, KARMA_LOSS_AUTO},
    [KARMA_GOAL_MAE] = {"MAE", KARMA_TASK_REGRESS, -1.0, KARMA_LOSS_ABSOLUTE},
    [KARMA_GOAL_RMSE] = {"RMSE", KARMA_TASK_REGRESS, -1.0, KARMA_LOSS_AUTO},
    [KARMA_GOAL_R2] = {"R2", KARMA_TASK_REGRESS, 1.0, KARMA_LOSS_AUTO},
    [KARMA_GOAL_PINBALL] = {"pinball loss", KARMA_TASK_REGRESS, -1.0, KARMA_LOSS_PINBALL},
};

const char *karma_i_goal_name(karma_goal goal) {
    return records[goal].name;
}
double karma_i_goal_sign(karma_goal goal) {
    return records[goal].sign;
}
karma_loss_kind karma_i_goal_loss(karma_goal goal) {
    return records[goal].loss;
}

karma_status karma_i_goal_resolve(karma_goal *out, karma_goal goal, const karma_model *like, karma_error *err) {
    int is_auto = goal == KARMA_GOAL_AUTO;
    if (is_auto) goal = karma_i_goal_of_target(goal, like, 0);
    for (size_t t = 1; t < like->n_heads && is_auto; t++)
        if (karma_i_goal_of_target(KARMA_GOAL_AUTO, like, t) != goal) goal = KARMA_GOAL_AUTO;
    for (size_t t = 0; t < like->n_heads && goal != KARMA_GOAL_AUTO; t++)
        if (like->heads[t].labels.task != records[goal].task)
            return karma_i_fail(err, KARMA_ERR_OPTION,
                                "the goal %s is not one of '%s', which is %s: take another --goal", records[goal].name,
                                like->heads[t].name,
                                like->heads[t].labels.task == KARMA_TASK_CLASSIFY ? "classes" : "a number");
    *out = goal;
    return KARMA_OK;
}

karma_goal karma_i_goal_of_target(karma_goal goal, const karma_model *like, size_t target) {
    const karma_i_head *head = &like->heads[target];
    if (goal != KARMA_GOAL_AUTO) return goal;
    if (head->labels.task == KARMA_TASK_CLASSIFY) return KARMA_GOAL_ACCURACY;
    return head->n_quantiles ? KARMA_GOAL_PINBALL : KARMA_GOAL_R2;
}

karma_status karma_i_goal_check(karma_goal goal, const karma_model *like, karma_error *err) {
    for (size_t t = 0; t < like->n_heads; t++)
        if ((goal == KARMA_GOAL_LOG_LOSS && like->heads[t].loss != KARMA_LOSS_LOGISTIC) ||
            (goal == KARMA_GOAL_PINBALL && like->heads[t].n_quantiles == 0))
            return karma_i_fail(err, KARMA_ERR_OPTION,
                                "models are not chosen by the goal %s with the loss %s: --loss %s", records[goal].name,
                                karma_i_loss_name(like->heads[t].loss), karma_i_loss_name(records[goal].loss));
    return KARMA_OK;
}

static double mean_pinball(const karma_metrics *m) {
    double sum = 0.0;
    for (size_t q = 0; q < m->n_quantiles; q++) sum += m->pinball[q];
    return m->n_quantiles ? sum / (double)m->n_quantiles : NAN;
}

double karma_i_goal_of(const karma_metrics *m, karma_goal goal) {
    switch (goal) {
    case KARMA_GOAL_ACCURACY:
        return m->accuracy;
    case KARMA_GOAL_BALANCED_ACCURACY:
        return m->balanced_accuracy;
    case KARMA_GOAL_AUC:
        return m->auc;
    case KARMA_GOAL_LOG_LOSS:
        return m->log_loss;
    case KARMA_GOAL_F1:
        return m->f1;
    case KARMA_GOAL_MAE:
        return m->mae;
    case KARMA_GOAL_RMSE:
        return m->rmse;
    case KARMA_GOAL_R2:
        return m->r2;
    case KARMA_GOAL_PINBALL:
        return mean_pinball(m);
    case KARMA_GOAL_AUTO:
    case KARMA_N_GOALS:
        break;
    }
    return NAN;
}

karma_status karma_i_judge_init(karma_i_judge *out, karma_goal goal, const karma_model *like, const karma_table *table,
                                karma_error *err) {
    size_t n = table->n_rows;
    karma_i_judge judge = {goal, karma_i_zalloc(like->n_heads, n * sizeof *judge.truth)};
    karma_status st = judge.truth ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t t = 0; st == KARMA_OK && t < like->n_heads; t++)
        if (like->heads[t].labels.task == KARMA_TASK_CLASSIFY)
            st = karma_i_labels_classes(judge.truth + t * n, &like->heads[t].labels, &table->targets[t], n, err);
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

karma_status karma_i_goal_value(double *out, const void *payload, const karma_model *like, const karma_table *table,
                                const double *scores, karma_error *err) {
    const karma_i_judge *judge = payload;
    double sum = 0.0, n = 0.0;
    for (size_t t = 0; t < like->n_heads; t++) {
        karma_goal goal = karma_i_goal_of_target(judge->goal, like, t);
        if (!karma_i_goal_has_labels(table, t)) continue;
        karma_metrics metrics;
        KARMA_TRY(karma_evaluate(&metrics, like, t, table, scores, err));
        double value = karma_i_goal_of(&metrics, goal);
        karma_metrics_clear(&metrics);
        if (isnan(value)) value = goal == KARMA_GOAL_AUC ? 0.5 : 0.0;
        sum += records[goal].sign * value;
        n += 1.0;
    }
    *out = n > 0.0 ? sum / n : 0.0;
    return KARMA_OK;
}

int karma_i_goal_is_mean(karma_goal goal) {
    return goal == KARMA_GOAL_AUTO || goal == KARMA_GOAL_ACCURACY || goal == KARMA_GOAL_LOG_LOSS ||
           goal == KARMA_GOAL_MAE || goal == KARMA_GOAL_RMSE || goal == KARMA_GOAL_R2 || goal == KARMA_GOAL_PINBALL;
}

/* -ln of the probability of the row's class, K of them. */
static double surprise(const karma_model *like, size_t target, size_t truth, const double *scores) {
    size_t K = like->heads[target].labels.n_classes;
    double *p = karma_i_alloc(K, sizeof *p), loss = 0.0;
    if (p && truth < K && karma_model_probabilities(like, target, scores, p)) loss = -log(fmax(p[truth], 1e-15));
    karma_i_free(p);
    return loss;
}

static double number_loss(const karma_model *like, size_t target, karma_goal goal, double y, const double *scores) {
    const karma_i_head *head = &like->heads[target];
    double factor = head->labels.factor, error = factor * (karma_model_number(like, target, scores) - y), sum = 0.0;
    if (goal == KARMA_GOAL_MAE) return fabs(error);
    if (goal != KARMA_GOAL_PINBALL) return error * error;
    for (size_t q = 0; q < head->n_quantiles; q++) {
        double over = factor * (y - scores[head->first_output + q]), share = head->quantiles[q];
        sum += fmax(share * over, (share - 1.0) * over) / (double)head->n_quantiles;
    }
    return sum;
}

double karma_i_goal_row_loss(const void *payload, const karma_model *like, const karma_table *table, size_t row,
                             const double *scores) {
    const karma_i_judge *judge = payload;
    karma_goal goal = judge->goal;
    double sum = 0.0, weight = karma_table_row_weight(table, row);
    for (size_t t = 0; t < like->n_heads; t++) {
        const karma_i_target *target = &table->targets[t];
        if (isnan(target->value[row])) continue;
        if (like->heads[t].labels.task == KARMA_TASK_REGRESS) {
            sum += number_loss(like, t, goal, target->value[row], scores);
            continue;
        }
        size_t truth = judge->truth[t * table->n_rows + row];
        sum += goal == KARMA_GOAL_LOG_LOSS ? surprise(like, t, truth, scores)
                                           : (double)(karma_model_decide(like, t, scores) != truth);
    }
    return weight * sum;
}

static int by_number(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* answer[q]: the label that a share of quantiles[q] does not pass. */
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

/* The log odds of a class, kept finite for one that never is. */
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

karma_status karma_i_constant_scores(double *scores, const karma_model *like, const karma_table *table,
                                     karma_error *err) {
    size_t K = like->n_outputs;
    double *answer = karma_i_alloc(K, sizeof *answer);
    karma_status st = answer ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t t = 0; st == KARMA_OK && t < like->n_heads; t++)
        st = constant_answer(answer + like->heads[t].first_output, &like->heads[t], &table->targets[t], table->n_rows,
                             err);
    for (size_t i = 0; st == KARMA_OK && i < table->n_rows * K; i++) scores[i] = answer[i % K];
    karma_i_free(answer);
    return st;
}
