/* Predictions for a target from the scores of a row. `scores` are all outputs of the row, of every head. */
#ifndef KARMA_I_ANSWERS_H
#define KARMA_I_ANSWERS_H

#include "model/task.h"

/* The class that the scores decide for. */
size_t karma_i_head_decide(const karma_i_head *head, const double *scores);
/* The predicted number; of several quantiles the one nearest to the median. */
double karma_i_head_number(const karma_i_head *head, const double *scores);

/* Whether scores are calibrated, or those of a loss that fits probabilities. */
int karma_i_head_has_probabilities(const karma_i_head *head);
/* probabilities[0..n_classes). False, and nothing is written, if there are none. */
int karma_i_head_probabilities(double *probabilities, const karma_i_head *head, const double *scores);

/* Scores of numbers become numbers in the targets' units, and quantiles are put in ascending order. */
void karma_i_finish_scores(double *scores, const karma_i_task *task, size_t n_rows);

#endif
