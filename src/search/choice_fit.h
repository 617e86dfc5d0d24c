/* One fit of a choice: the conditions under which it is learned from a table. */
#ifndef KARMA_I_CHOICE_FIT_H
#define KARMA_I_CHOICE_FIT_H

#include "search/last_fit.h"

/* From this many rows on, landmarks are learned much faster than an exact machine. */
enum { MOST_HURRIED_ROWS = 4000 };

/* The conditions of a fit: the solver, the deadline, and whether the user gets its notices. */
typedef struct karma_i_fit_settings {
    int solver;
    double deadline;
    int is_quiet;
    const karma_i_forest *grown; /* trees of a model that was learned from the same rows, or NULL */
} karma_i_fit_settings;

/* A model of f->plan, learned from `table`. */
karma_status karma_i_choice_fit(karma_model **out, const karma_i_last_fit *f, const karma_table *table,
                                const karma_i_fit_settings *how, karma_error *err);
/* Whether it converged, or came near enough. */
int karma_i_choice_fit_is_usable(const karma_model *model);

#endif
