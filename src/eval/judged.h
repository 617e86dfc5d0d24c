/* The labels and scores of one target, from which every metric is computed. */
#ifndef KARMA_I_JUDGED_H
#define KARMA_I_JUDGED_H

#include "model/task.h"

/* Room for sorting rows by a score. */
typedef struct karma_i_ranked_row {
    double score, weight;
    int is_positive;
} karma_i_ranked_row;

typedef struct karma_i_judged {
    const karma_i_head *head;
    size_t n_rows, n_labelled;
    const double *labels; /* NaN if there is none; borrowed */
    double *weights;      /* of the rows; 0 where there is not a label */
    double total;         /* sum of the weights, above 0 */
    const double *scores; /* row-major, `stride` per row; borrowed */
    size_t stride;
    /* of classes; otherwise NULL */
    size_t *truth;              /* class of every row; n_classes: one that the task does not know, or no label */
    size_t *counts;             /* row-major: truth, decision; the last row is that of unknown classes */
    double *confusion;          /* the same in weights of rows */
    double *probabilities;      /* n_classes per row; NULL: the scores are not probabilities */
    karma_i_ranked_row *ranked; /* one per row */
    /* of quantiles; otherwise NULL */
    double *quantiles; /* quantile by quantile: the predicted numbers of all rows */
} karma_i_judged;

/* `scores` are those of karma_predict, for the rows of `table`. The labels are those of the table's target of the
 * head's name, or of its only target if the task has only one. Fails if no row has a label and a weight. Borrows
 * everything it is given. */
karma_status karma_i_judged_init(karma_i_judged *out, const karma_i_task *task, size_t target, const karma_table *table,
                                 const double *scores, karma_error *err);
void karma_i_judged_clear(karma_i_judged *judged);

/* The scores of a row. */
static inline const double *karma_i_judged_scores(const karma_i_judged *judged, size_t row) {
    return judged->scores + row * judged->stride;
}

#endif
