#include "eval/metric_table.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "eval/reliability.h"
#include "model/answers.h"

/* --- classes: from the confusion matrix ---------------------------------------------------------------- */

/* The weight of rows of class k; of rows predicted as class k. */
static double weight_of_class(const karma_i_judged *j, size_t k) {
    size_t K = j->head->labels.n_classes;
    double sum = 0.0;
    for (size_t said = 0; said < K; said++) sum += j->confusion[k * K + said];
    return sum;
}

static double weight_of_answer(const karma_i_judged *j, size_t k) {
    size_t K = j->head->labels.n_classes;
    double sum = 0.0;
    for (size_t truth = 0; truth <= K; truth++) sum += j->confusion[truth * K + k];
    return sum;
}

static double weight_of_hits(const karma_i_judged *j, size_t k) {
    return j->confusion[k * j->head->labels.n_classes + k];
}

static double weight_of_all(const karma_i_judged *j) {
    size_t K = j->head->labels.n_classes;
    double sum = 0.0;
    for (size_t cell = 0; cell < (K + 1) * K; cell++) sum += j->confusion[cell];
    return sum;
}

static double accuracy(const karma_i_judged *j) {
    double right = 0.0;
    for (size_t k = 0; k < j->head->labels.n_classes; k++) right += weight_of_hits(j, k);
    return right / weight_of_all(j);
}

/* Always predicting the most common class of the training rows. */
static double majority(const karma_i_judged *j) {
    const karma_i_labels *labels = &j->head->labels;
    size_t best = 0;
    for (size_t k = 1; k < labels->n_classes; k++)
        if (labels->class_count[k] > labels->class_count[best]) best = k;
    return weight_of_class(j, best) / weight_of_all(j);
}

static double is_wrong(const karma_i_head *head, size_t truth, double label, const double *scores) {
    (void)label;
    return karma_i_head_decide(head, scores) != truth;
}

/* The mean recall over the classes that occur. */
static double balanced_accuracy(const karma_i_judged *j) {
    double sum = 0.0, n = 0.0;
    for (size_t k = 0; k < j->head->labels.n_classes; k++) {
        double truths = weight_of_class(j, k);
        if (truths > 0.0) sum += weight_of_hits(j, k) / truths, n += 1.0;
    }
    return n > 0.0 ? sum / n : NAN;
}

static double one_class_right(const karma_i_judged *j) {
    return 1.0 / (double)j->head->labels.n_classes;
}

/* The mean over the classes that occur or are predicted. */
static double f1(const karma_i_judged *j) {
    double sum = 0.0, n = 0.0;
    for (size_t k = 0; k < j->head->labels.n_classes; k++) {
        double both = weight_of_class(j, k) + weight_of_answer(j, k);
        if (both > 0.0) sum += 2.0 * weight_of_hits(j, k) / both, n += 1.0;
    }
    return n > 0.0 ? sum / n : NAN;
}

/* --- classes: from ranks ------------------------------------------------------------------------------- */

static int by_score(const void *a, const void *b) {
    double x = ((const karma_i_ranked_row *)a)->score, y = ((const karma_i_ranked_row *)b)->score;
    return (x > y) - (x < y);
}

/* The share of (positive, negative) pairs in the right order, ties counting half. NaN when one side is empty. Sorts its
 * input. */
static double auc_of(karma_i_ranked_row *rows, size_t n) {
    double positive = 0.0, negative = 0.0, right = 0.0;
    if (n > 1) qsort(rows, n, sizeof *rows, by_score);
    for (size_t first = 0, end = 0; first < n; first = end) {
        double tied_positive = 0.0, tied_negative = 0.0;
        for (; end < n && rows[end].score == rows[first].score; end++)
            *(rows[end].is_positive ? &tied_positive : &tied_negative) += rows[end].weight;
        right += tied_positive * (negative + 0.5 * tied_negative);
        positive += tied_positive;
        negative += tied_negative;
    }
    return positive > 0.0 && negative > 0.0 ? right / (positive * negative) : NAN;
}

/* One output against the rest, over the rows whose class the task knows. */
static double auc_of_output(const karma_i_judged *j, size_t output, size_t positive) {
    size_t n = 0;
    for (size_t i = 0; i < j->n_rows; i++)
        if (j->truth[i] < j->head->labels.n_classes)
            j->ranked[n++] = (karma_i_ranked_row){karma_i_judged_scores(j, i)[j->head->first_output + output],
                                                  j->weights[i], j->truth[i] == positive};
    return auc_of(j->ranked, n);
}

/* Two classes: of the second one. More: the mean over one-against-rest. */
static double auc(const karma_i_judged *j) {
    if (j->head->n_outputs == 1) return auc_of_output(j, 0, 1);
    double sum = 0.0, n = 0.0;
    for (size_t k = 0; k < j->head->n_outputs; k++) {
        double value = auc_of_output(j, k, k);
        if (!isnan(value)) sum += value, n += 1.0;
    }
    return n > 0.0 ? sum / n : NAN;
}

static double half(const karma_i_judged *j) {
    (void)j;
    return 0.5;
}

/* --- classes: from probabilities ----------------------------------------------------------------------- */

/* The mean of -ln p(truth). Unknown classes count with the smallest probability. */
static double log_loss(const karma_i_judged *j) {
    size_t K = j->head->labels.n_classes;
    double sum = 0.0;
    if (!j->probabilities) return NAN;
    for (size_t i = 0; i < j->n_rows; i++) {
        double p = j->truth[i] < K ? j->probabilities[i * K + j->truth[i]] : 0.0;
        if (j->weights[i] > 0.0) sum -= j->weights[i] * log(fmax(p, KARMA_I_LEAST_PROBABILITY));
    }
    return sum / j->total;
}

static double surprise(const karma_i_head *head, size_t truth, double label, const double *scores) {
    size_t K = head->labels.n_classes;
    double *p = karma_i_alloc(K, sizeof *p), loss = 0.0;
    (void)label;
    if (p && truth < K && karma_i_head_probabilities(p, head, scores))
        loss = -log(fmax(p[truth], KARMA_I_LEAST_PROBABILITY));
    karma_i_free(p);
    return loss;
}

static double brier(const karma_i_judged *j) {
    if (!j->probabilities) return NAN;
    return karma_i_brier_score(j->probabilities, j->truth, j->weights, j->n_rows, j->head->labels.n_classes);
}

static double calibration_error(const karma_i_judged *j) {
    karma_i_reliability_bin bins[KARMA_I_RELIABILITY_BINS];
    if (!j->probabilities) return NAN;
    karma_i_reliability(bins, j->probabilities, j->truth, j->weights, j->n_rows, j->head->labels.n_classes);
    return karma_i_expected_calibration_error(bins);
}

/* --- numbers ------------------------------------------------------------------------------------------- */

static double error_of(const karma_i_judged *j, size_t row) {
    return karma_i_head_number(j->head, karma_i_judged_scores(j, row)) - j->labels[row];
}

/* The error of the mean of the training rows. */
static double error_of_mean(const karma_i_judged *j, size_t row) {
    return j->head->mean - j->labels[row];
}

typedef double error_fn(const karma_i_judged *j, size_t row);

static double mean_absolute(const karma_i_judged *j, error_fn *error) {
    double sum = 0.0;
    for (size_t i = 0; i < j->n_rows; i++) {
        double share = j->weights[i] / j->total;
        if (share > 0.0) sum += share * fabs(error(j, i));
    }
    return sum;
}

static double mean_squared(const karma_i_judged *j, error_fn *error) {
    double sum = 0.0;
    for (size_t i = 0; i < j->n_rows; i++) {
        double share = j->weights[i] / j->total;
        if (!(share > 0.0)) continue;
        double e = error(j, i);
        sum += share * e * e;
    }
    return sum;
}

static double mae(const karma_i_judged *j) {
    return mean_absolute(j, error_of);
}

static double mae_of_mean(const karma_i_judged *j) {
    return mean_absolute(j, error_of_mean);
}

static double rmse(const karma_i_judged *j) {
    return sqrt(mean_squared(j, error_of));
}

static double rmse_of_mean(const karma_i_judged *j) {
    return sqrt(mean_squared(j, error_of_mean));
}

/* NaN if the labels do not differ: the rounding error of a constant is not variance. */
static double r2(const karma_i_judged *j) {
    double mean = 0.0, spread = 0.0;
    for (size_t i = 0; i < j->n_rows; i++)
        if (j->weights[i] > 0.0) mean += j->weights[i] / j->total * j->labels[i];
    for (size_t i = 0; i < j->n_rows; i++) {
        double share = j->weights[i] / j->total;
        if (share > 0.0) spread += share * (j->labels[i] - mean) * (j->labels[i] - mean);
    }
    return sqrt(spread) > 1e-12 * fabs(mean) ? 1.0 - mean_squared(j, error_of) / spread : NAN;
}

/* 1 - r2 = rmse²/spread, so the spread follows from both. */
static double r2_of_mean(const karma_i_judged *j) {
    double own = rmse(j), constant = rmse_of_mean(j);
    return 1.0 - constant * constant * (1.0 - r2(j)) / (own * own);
}

/* In standard deviations of the training labels, so that targets can be summed. */
static double scaled_error(const karma_i_head *head, double label, const double *scores) {
    return head->labels.factor * (karma_i_head_number(head, scores) - label);
}

static double absolute_error(const karma_i_head *head, size_t truth, double label, const double *scores) {
    (void)truth;
    return fabs(scaled_error(head, label, scores));
}

static double squared_error(const karma_i_head *head, size_t truth, double label, const double *scores) {
    double error = scaled_error(head, label, scores);
    (void)truth;
    return error * error;
}

/* --- quantiles ----------------------------------------------------------------------------------------- */

/* The mean over the quantiles. */
static double pinball(const karma_i_judged *j) {
    size_t n = j->n_rows, Q = j->head->n_quantiles;
    double sum = 0.0;
    for (size_t q = 0; q < Q; q++)
        sum += karma_i_pinball_loss(j->quantiles + q * n, j->labels, j->weights, n, j->head->quantiles[q]);
    return Q ? sum / (double)Q : NAN;
}

static double pinball_error(const karma_i_head *head, size_t truth, double label, const double *scores) {
    double sum = 0.0;
    (void)truth;
    for (size_t q = 0; q < head->n_quantiles; q++) {
        double over = head->labels.factor * (label - scores[head->first_output + q]), share = head->quantiles[q];
        sum += fmax(share * over, (share - 1.0) * over) / (double)head->n_quantiles;
    }
    return sum;
}

/* --- the table ----------------------------------------------------------------------------------------- */

#define CLASSES         .task = KARMA_TASK_CLASSIFY
#define NUMBERS         .task = KARMA_TASK_REGRESS
#define ALWAYS_THE_MEAN .constant_title = "always predicting the training mean", .constant_remark = ""

/* In the order of reports. */
static const karma_i_metric metrics[] = {
    {.about = {"accuracy", "accuracy", "accuracy", "", CLASSES, .unit = KARMA_METRIC_SHARE, .constant_key = "majority",
               .constant_title = "majority rate",
               .constant_remark = "always predicting the most common class of the training rows"},
     .goal = KARMA_GOAL_ACCURACY,
     .is_share_of_rows = 1,
     .value = accuracy,
     .constant = majority,
     .row_loss = is_wrong},
    {.about = {"balanced_accuracy", "balanced accuracy", "balanced accuracy", "mean recall of the classes", CLASSES,
               .unit = KARMA_METRIC_SHARE},
     .goal = KARMA_GOAL_BALANCED_ACCURACY,
     .value = balanced_accuracy,
     .constant = one_class_right},
    {.about = {"f1", "F1", "F1", "mean over the classes", CLASSES, .unit = KARMA_METRIC_SHARE},
     .goal = KARMA_GOAL_F1,
     .value = f1},
    {.about = {"auc", "AUC", "AUC", "mean, each class against the rest", .remark_from = 3, CLASSES,
               .unit = KARMA_METRIC_PLAIN},
     .goal = KARMA_GOAL_AUC,
     .fallback = 0.5,
     .value = auc,
     .constant = half},
    {.about = {"log_loss", "log loss", "log loss", "", CLASSES, .less_is_better = 1, .unit = KARMA_METRIC_PLAIN},
     .goal = KARMA_GOAL_LOG_LOSS,
     .loss = KARMA_LOSS_LOGISTIC,
     .needs = KARMA_I_NEEDS_PROBABILITIES,
     .value = log_loss,
     .row_loss = surprise},
    {.about = {"brier", "Brier score", "Brier score", "mean squared error of the probabilities", CLASSES,
               .less_is_better = 1, .unit = KARMA_METRIC_PLAIN},
     .needs = KARMA_I_NEEDS_PROBABILITIES,
     .value = brier},
    {.about = {"calibration_error", "calibration error", "calibration error",
               "expected: mean |confidence - accuracy| over ten bins", CLASSES, .less_is_better = 1,
               .unit = KARMA_METRIC_PLAIN},
     .needs = KARMA_I_NEEDS_PROBABILITIES,
     .value = calibration_error},
    {.about = {"mae", "MAE", "mean absolute error", "", NUMBERS, .less_is_better = 1, .unit = KARMA_METRIC_TARGET,
               .constant_key = "baseline_mae", ALWAYS_THE_MEAN},
     .goal = KARMA_GOAL_MAE,
     .loss = KARMA_LOSS_ABSOLUTE,
     .value = mae,
     .constant = mae_of_mean,
     .row_loss = absolute_error},
    {.about = {"rmse", "RMSE", "RMS error", "", NUMBERS, .less_is_better = 1, .unit = KARMA_METRIC_TARGET,
               .constant_key = "baseline_rmse", ALWAYS_THE_MEAN},
     .goal = KARMA_GOAL_RMSE,
     .value = rmse,
     .constant = rmse_of_mean,
     .row_loss = squared_error},
    {.about = {"r2", "R2", "R2", "0: as good as the mean of these rows", NUMBERS, .unit = KARMA_METRIC_PLAIN},
     .goal = KARMA_GOAL_R2,
     .value = r2,
     .constant = r2_of_mean,
     .row_loss = squared_error},
    /* reports list the loss of every quantile */
    {.about = {"pinball", "pinball loss", NULL, "", NUMBERS, .less_is_better = 1, .unit = KARMA_METRIC_TARGET},
     .goal = KARMA_GOAL_PINBALL,
     .loss = KARMA_LOSS_PINBALL,
     .needs = KARMA_I_NEEDS_QUANTILES,
     .value = pinball,
     .row_loss = pinball_error},
};

size_t karma_n_metrics(void) {
    return sizeof metrics / sizeof metrics[0];
}

const karma_metric *karma_metric_at(size_t index) {
    return &metrics[index].about;
}

const karma_i_metric *karma_i_metric_at(size_t index) {
    return &metrics[index];
}

const karma_i_metric *karma_i_metric_of_goal(karma_goal goal) {
    for (size_t i = 0; goal != KARMA_GOAL_AUTO && i < karma_n_metrics(); i++)
        if (metrics[i].goal == goal) return &metrics[i];
    return NULL;
}

size_t karma_i_metric_index(const karma_i_metric *metric) {
    return (size_t)(metric - metrics);
}

karma_status karma_i_metric_value(double *out, const karma_i_metric *metric, const karma_i_task *task, size_t target,
                                  const karma_table *table, const double *scores, karma_error *err) {
    karma_i_judged judged;
    karma_status st = karma_i_judged_init(&judged, task, target, table, scores, err);
    if (st != KARMA_OK) return st;
    *out = metric->about.task == judged.head->labels.task ? metric->value(&judged) : NAN;
    karma_i_judged_clear(&judged);
    return KARMA_OK;
}
