/* The weights of two models in a mean of their scores, chosen on rows that neither has seen. */
#ifndef KARMA_I_BLEND_H
#define KARMA_I_BLEND_H

#include "search/goal.h"

/* The mean of two models' scores. */
typedef struct karma_i_blend {
    double first, second; /* their weights, which sum to 1; one of them is 0 if the other model is as good alone */
} karma_i_blend;

/* `table` has the rows, with their labels. Classes are judged by the logistic loss after a line is fitted to
 * the mean: it is more precise than accuracy, which depends on few rows. Numbers are judged by the goal.
 * Cost: some passes over the rows. */
karma_status karma_i_blend_weigh(karma_i_blend *out, const karma_i_judge *judge, const karma_i_task *task,
                                 const karma_table *table, const double *first, const double *second, karma_error *err);

/* scores = first · weight + second · weight; n numbers. May be in place of either. */
void karma_i_blend_scores(double *scores, const karma_i_blend *blend, const double *first, const double *second,
                          size_t n);

#endif
