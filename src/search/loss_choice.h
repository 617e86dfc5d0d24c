/* The loss of the machines of more than two classes, chosen by held-out rows before candidates are tried. */
#ifndef KARMA_I_LOSS_CHOICE_H
#define KARMA_I_LOSS_CHOICE_H

#include "search/race.h"

/* Gives heads with more than two classes the squared hinge where the hinge would leave most rows without a class:
 * `race` has candidates and no judged fold. `task` is that of the race, and has the hinge. */
karma_status karma_i_choose_class_losses(karma_i_task *task, const karma_i_race *race, karma_error *err);

/* The share of the rows with a label that left-out scores give to no class: all scores of the head are negative.
 * rows[0..n): the rows of `table` to look at; scores[row * stride + output] has those of all its rows. */
double karma_i_share_without_class(const karma_i_head *head, const karma_i_target *target, const float *scores,
                                   size_t stride, const size_t *rows, size_t n);

#endif
