/* Which plan is learned at last: the choice, the contender, or a mean of both. */
#ifndef KARMA_I_VERDICT_H
#define KARMA_I_VERDICT_H

#include "search/choice_fit.h"
#include "search/fit_check.h"

/* A model and its plan, with their values on the sample's rows. */
typedef struct karma_i_tried {
    karma_model *model; /* NULL: it was refused */
    karma_i_fit_settings how;
    karma_i_fit_check check;
    double row_seconds; /* that it took for each row it was learned from */
} karma_i_tried;

/* The verdict: the plan to learn, its check, and the better of the models tried. */
typedef struct karma_i_verdict {
    const karma_i_plan *plan;
    karma_i_plan joined;  /* the plan for the mean of both */
    karma_i_plan shorter; /* the plan if there is no time for all machines */
    karma_i_tried *best;  /* NULL: both were refused; the model until the plan is learned */
    int is_learned;       /* the plan was learned, and `check` is its check; until then that of `best` counts */
    karma_i_fit_settings how;
    karma_i_fit_check check;           /* its scores are owned */
    double row_seconds, grown_seconds; /* for each row, and how much of it was for the trees */
    size_t n_first;                    /* rows that machines were learned from in this time */
} karma_i_verdict;

void karma_i_tried_clear(karma_i_tried *t);
void karma_i_verdict_clear(karma_i_verdict *v);

/* The rows for the first models: all but the sample (out->train), or *some of these if there are very many. */
karma_status karma_i_verdict_split(karma_i_fold *out, karma_table **some, const karma_i_last_fit *f, karma_error *err);
/* The choice is tried on `some` of the rows without the sample, the contender on the `rest`, all of them. */
karma_status karma_i_verdict_try(karma_i_tried *first, karma_i_tried *second, karma_i_last_fit *f,
                                 const karma_table *some, const karma_table *rest, karma_error *err);
/* Decides between the choice, the contender, and a mean of both, which is learned only afterwards. `v` is zero. */
karma_status karma_i_verdict_decide(karma_i_verdict *v, const karma_i_last_fit *f, karma_i_tried *first,
                                    karma_i_tried *second, karma_error *err);
/* Learns it from more rows if that is due and there is time. *out: the best model that there is. */
karma_status karma_i_verdict_learn(karma_model **out, karma_i_verdict *v, const karma_i_last_fit *f,
                                   const karma_table *rest, const karma_table *some, karma_error *err);
/* The check of the model that there is. Its probabilities come from these scores. */
const karma_i_fit_check *karma_i_verdict_check(const karma_i_verdict *v);

#endif
