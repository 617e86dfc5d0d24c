/* From the results of candidates to the model that is learned. With few rows the lead of the best candidate is partly
 * luck; docs/search.md compares the rules. */
#ifndef KARMA_I_CHOOSE_H
#define KARMA_I_CHOOSE_H

#include "model/outputs.h"
#include "search/goal.h"
#include "search/race.h"

typedef struct karma_i_choice {
    size_t n;
    size_t *runs;    /* of the race, the best first */
    double *weights; /* sum to 1 */
} karma_i_choice;

/* Chooses at most `most` of the runs for which `allowed` is not 0 (NULL: all) and which were judged on all
 * folds so far. `row_loss` is the loss of a row's scores, or NULL if the goal is not a mean over rows: errors
 * of means are then computed from the folds. Fails if there is no such run. */
karma_status karma_i_choose(karma_i_choice *out, karma_rule rule, const karma_i_race *race,
                            const unsigned char *allowed, karma_i_row_loss_fn row_loss, const void *payload,
                            size_t most, karma_error *err);
void karma_i_choice_clear(karma_i_choice *choice);
/* Drops runs with at most this share of the weight, but not all; the other weights sum to 1 again. */
void karma_i_choice_drop_light(karma_i_choice *choice, double least);

/* The mean over the judged folds. */
double karma_i_run_value(const karma_i_race *race, size_t run);
/* Drops entries whose losses are significantly larger than those of the best. Returns how many remain. */
karma_status karma_i_eliminate(size_t *n_left, karma_i_race *race, karma_i_row_loss_fn row_loss, const void *payload,
                               karma_error *err);

/* Scores of all rows by the choice, of one repeat. */
void karma_i_choice_scores(double *scores, const karma_i_choice *choice, const karma_i_race *race, size_t repeat);
/* Scores of all rows, each by the choice that karma_i_choose would make without the rows of its fold. Every
 * fold of the first repeat must have been judged. (The errors of the choice itself on these rows are too
 * small, because the rows were used to make it.) */
karma_status karma_i_scores_by_other_folds(double *scores, karma_rule rule, const karma_i_race *race,
                                           karma_i_row_loss_fn row_loss, const void *payload, size_t most,
                                           karma_error *err);
/* The goal of these scores on every judged fold. */
karma_status karma_i_choice_values(double *values, const karma_i_choice *choice, const karma_i_race *race,
                                   karma_error *err);
/* The committee: one member per kernel, in the order of the choice. Clear it even if this fails. */
karma_status karma_i_choice_plan(karma_i_plan *out, const karma_i_choice *choice, const karma_i_race *race,
                                 karma_error *err);

#endif
