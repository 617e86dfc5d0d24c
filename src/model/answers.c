#include "model/answers.h"

#include <math.h>
#include <stdlib.h>

#include "solve/solver.h"

/* --- numbers ------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Converts numbers back to the target's units. Quantiles that cross are put in order, which never makes them
 * worse (Chernozhukov, Fernández-Val and Galichon, Quantile and probability curves without crossing,
 * 2010). */
static void finish_numbers(double *scores, const karma_i_head *head) {
    for (size_t o = 0; o < head->n_outputs; o++) scores[o] = scores[o] / head->labels.factor + head->labels.shift;
    if (head->n_outputs > 1) qsort(scores, head->n_outputs, sizeof *scores, by_value);
}

void karma_i_finish_scores(double *scores, const karma_i_task *task, size_t n_rows) {
    for (size_t t = 0; t < task->n_heads; t++) {
        const karma_i_head *head = &task->heads[t];
        if (head->labels.task != KARMA_TASK_REGRESS) continue;
        for (size_t i = 0; i < n_rows; i++) finish_numbers(scores + i * task->n_outputs + head->first_output, head);
    }
}

double karma_i_head_number(const karma_i_head *head, const double *scores) {
    size_t middle = 0;
    for (size_t q = 1; q < head->n_quantiles; q++)
        if (fabs(head->quantiles[q] - 0.5) < fabs(head->quantiles[middle] - 0.5)) middle = q;
    return scores[head->first_output + middle];
}

/* --- classes ------------------------------------------------------------------------------------------- */

size_t karma_i_head_decide(const karma_i_head *head, const double *scores) {
    if (head->calibration.kind != KARMA_CALIBRATE_OFF)
        return karma_i_calibration_decide(&head->calibration, scores + head->first_output);
    return karma_i_decide(scores + head->first_output, head->n_outputs);
}

/* Without calibration only the logistic loss fits probabilities: σ(z) for two classes; for more, the classes' own
 * σ(z_k) made to sum to 1. */
static void logistic_probabilities(double *probabilities, const double *scores, size_t n) {
    double sum = 0.0;
    if (n == 2) {
        probabilities[1] = 1.0 / (1.0 + exp(-scores[0]));
        probabilities[0] = 1.0 / (1.0 + exp(scores[0]));
        return;
    }
    for (size_t k = 0; k < n; k++) sum += probabilities[k] = 1.0 / (1.0 + exp(-scores[k]));
    for (size_t k = 0; k < n; k++) probabilities[k] = sum > 0.0 ? probabilities[k] / sum : 1.0 / (double)n;
}

int karma_i_head_has_probabilities(const karma_i_head *head) {
    return head->calibration.kind != KARMA_CALIBRATE_OFF || head->loss == KARMA_LOSS_LOGISTIC;
}

int karma_i_head_probabilities(double *probabilities, const karma_i_head *head, const double *scores) {
    if (head->calibration.kind != KARMA_CALIBRATE_OFF)
        karma_i_calibration_apply(&head->calibration, scores + head->first_output, probabilities);
    else if (head->loss == KARMA_LOSS_LOGISTIC)
        logistic_probabilities(probabilities, scores + head->first_output, head->labels.n_classes);
    else
        return 0;
    return 1;
}
