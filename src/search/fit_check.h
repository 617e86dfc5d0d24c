/* How a model that was learned without the search's rows does on these rows. */
#ifndef KARMA_I_FIT_CHECK_H
#define KARMA_I_FIT_CHECK_H

#include "search/last_fit.h"

/* How the first model does on the search's rows, compared with the choice as judged by the search. */
typedef struct karma_i_fit_check {
    double *scores; /* of these rows */
    double value, error;
    double lead, lead_error;     /* over the choice, in the unit of the goal */
    double behind, behind_error; /* mean loss per row of the choice; 0 if the goal is not a mean over rows */
    double constant;
    size_t n_learned; /* rows that the model was learned from */
} karma_i_fit_check;

/* Predicts the search's rows, and compares; `passed`: not worse than the models of the search by more than noise. */
karma_status karma_i_fit_check_model(int *passed, karma_i_fit_check *c, const karma_model *model,
                                     const karma_i_last_fit *f, karma_error *err);
/* Fills all but the scores, from the scores. */
karma_status karma_i_fit_check_compare(karma_i_fit_check *c, const karma_i_last_fit *f, karma_error *err);
void karma_i_fit_check_record(karma_search_info *info, const karma_i_fit_check *c, const karma_i_last_fit *f);

#endif
