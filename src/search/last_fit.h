/* The end of a search: the choice is learned from all rows, and checked. */
#ifndef KARMA_I_LAST_FIT_H
#define KARMA_I_LAST_FIT_H

#include "search/choose.h"
#include "search/goal.h"

typedef struct karma_i_last_fit {
    karma_i_task *task; /* its options are set for the fit */
    const karma_i_race *race;
    const karma_i_judge *judge;
    karma_rule rule; /* how the choice was made, and its most machines */
    size_t most_machines;
    const karma_i_choice *choice;
    const karma_i_plan *plan;
    const karma_i_plan *contender; /* compared with the first model on the sample's rows; NULL: none */
    const karma_table *rows;       /* all */
    const karma_i_folds *samples;  /* their fold 0 is the sample that candidates were tried on; NULL: all rows were */
    const karma_hooks *hooks;
    double deadline;     /* infinite without a limit */
    double tolerance;    /* for a single machine */
    int is_interrupted;  /* the user has stopped the race: learning goes on */
    int passes_are_ours; /* the user did not set them */
} karma_i_last_fit;

/* A model of the choice, with probabilities if the options ask for them; `info` records the check.
 *
 * The check covers rows that candidates were not tried on. A first model is learned without the sample and
 * judged on the sample's rows against the cross-validated models of the search: it has seen more rows, so it
 * must not be worse. If it passes, its scores are used to fit the probabilities, and the final model is
 * learned from all rows, up to 3.4 times as many; if the sample is a small share of all rows or time is short, the
 * first model is final. If it is worse, or far from its optimum, landmarks are tried instead of an exact solver, and
 * then the sample instead of all rows, with a warning.
 *
 * A sample favours kernels that need few rows. The contender is learned from and judged on the same rows as
 * the first model: if it does better, it becomes the model, and *contender_won is set. */
karma_status karma_i_last_fit_run(karma_model **out, int *contender_won, karma_search_info *info,
                                  const karma_i_last_fit *fit, karma_error *err);

/* If a choice was tried on a sample, its first model is learned from one of this many parts of the n_rows
 * other rows.
 */
size_t karma_i_first_fit_parts(size_t n_rows);

#endif
