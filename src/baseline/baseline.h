/* Baselines: other ways to learn from rows with missing cells, all under one interface and judged by the same scores.
 *
 * The task (model/task.h) has one target. It is made once, from all rows, and given to every baseline with every fold,
 * so that scores mean the same everywhere. Scores are those of karma_predict: one output for two classes or a number,
 * one per class for more. They are not calibrated.
 *
 * Every baseline has one strength of the loss against its regulariser, as a multiple of what it would choose itself: C
 * for those that end in karma_fit and for geom, 1/μ for the joint completions. So all can be tuned in the same way. */
#ifndef KARMA_I_BASELINE_H
#define KARMA_I_BASELINE_H

#include "model/model.h"
#include "baseline/imputer.h"

typedef struct karma_i_baseline_options {
    double strength;
    karma_i_impute_options impute;
} karma_i_baseline_options;
void karma_i_baseline_options_init(karma_i_baseline_options *options);

typedef struct karma_i_learner karma_i_learner;

/* One method. A new one is a file with its record, and its name in KARMA_I_BASELINE_LIST; an imputer is a baseline by
 * being in KARMA_I_IMPUTER_LIST. */
typedef struct karma_i_baseline {
    const char *name, *help;
    int is_transductive; /* transductive: it learns when it sees the rows to be scored, and from these too */
    int only_classes;    /* it cannot learn numbers */
    karma_status (*learn)(void **state, const karma_i_learner *learner, const karma_hooks *hooks, karma_error *err);
    karma_status (*score)(double *scores, const karma_i_learner *learner, const karma_table *test,
                          const karma_hooks *hooks, karma_error *err);
    void (*forget)(void *state);
    const karma_i_imputer_kind *imputer; /* of those that fill in missing cells first; otherwise NULL */
    int lacks_probabilities;             /* its scores are margins whatever the loss, so log loss is undefined */
} karma_i_baseline;

/* A baseline that has learned. It borrows the task and the training rows, which must live as long. */
struct karma_i_learner {
    karma_i_baseline baseline;
    karma_i_baseline_options options;
    const karma_i_task *task;
    const karma_table *train; /* rows with a label */
    karma_table *labelled;    /* owned: those rows, where some have none; otherwise NULL */
    void *state;
};

#define KARMA_I_BASELINE_LIST(X)                                                                                       \
    X(karma)                                                                                                           \
    X(zero)                                                                                                            \
    X(polar)                                                                                                           \
    X(complete_case)                                                                                                   \
    X(horvitz_thompson)                                                                                                \
    X(geom)                                                                                                            \
    X(mc_1)                                                                                                            \
    X(mc_b)
#define KARMA_I_DECLARE_BASELINE(name) extern const karma_i_baseline karma_i_baseline_##name;
KARMA_I_BASELINE_LIST(KARMA_I_DECLARE_BASELINE)
#undef KARMA_I_DECLARE_BASELINE

/* All baselines; those that impute come last. */
size_t karma_i_n_baselines(void);
karma_i_baseline karma_i_baseline_at(size_t index);
/* False if there is none of this name. */
int karma_i_baseline_find(karma_i_baseline *out, const char *name);

/* The task of a table that has one target. Clear it with karma_i_task_clear. */
karma_status karma_i_baseline_task(karma_i_task *out, const karma_table *table, const karma_fit_options *options,
                                   const karma_hooks *hooks, karma_error *err);

/* Rows without a label are left out of training, as in karma_fit. Fails with KARMA_ERR_DATA where the method has
 * no model: no complete row, a target of numbers. */
karma_status karma_i_learner_fit(karma_i_learner **out, const karma_i_baseline *baseline, const karma_i_task *task,
                                 const karma_table *train, const karma_i_baseline_options *options,
                                 const karma_hooks *hooks, karma_error *err);
/* scores[row * n_outputs + output]. Labels of `test` are not looked at. */
karma_status karma_i_learner_score(double *scores, const karma_i_learner *learner, const karma_table *test,
                                   const karma_hooks *hooks, karma_error *err);
void karma_i_learner_free(karma_i_learner *learner);

/* For baselines: the task fitted as by karma_fit to `rows` with these options, C multiplied by the strength. */
karma_status karma_i_baseline_fit(karma_model **out, const karma_i_learner *learner, const karma_table *rows,
                                  const karma_fit_options *options, const karma_hooks *hooks, karma_error *err);
/* What the solver would be given for the training rows: targets[row * n_outputs + output], -1 or 1 for classes, and the
 * weights of rows and classes. Two new arrays. */
karma_status karma_i_baseline_targets(double **targets, double **weights, const karma_i_learner *learner,
                                      karma_error *err);

#endif
