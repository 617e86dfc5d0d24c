/* Rivals: other ways to learn from rows with holes, all under one interface and judged by the same scores.
 *
 * A task is a model that has learned nothing but what is asked: its options and its one head, the labels with their
 * classes. It is made once, from all rows, and given to every rival with every fold, so that scores mean the same
 * everywhere: karma_model_decide and karma_evaluate take the task in the place of a model. Scores are those of
 * karma_predict: one output for two classes or a number, one a class for more. They are not calibrated.
 *
 * Every rival has one strength of the loss against its regulariser, as a multiple of what it would choose itself: C for
 * those that end in karma_fit and for geom, 1/μ for the joint completions. So all can be tuned alike. */
#ifndef KARMA_I_RIVAL_H
#define KARMA_I_RIVAL_H

#include "model/model.h"
#include "rival/imputer.h"

typedef struct karma_i_rival_options {
    double strength;
    karma_i_impute_options impute;
} karma_i_rival_options;
void karma_i_rival_options_init(karma_i_rival_options *options);

typedef struct karma_i_learner karma_i_learner;

/* One method. A new one is a file with its record, and its name in KARMA_I_RIVAL_LIST; an imputer is a rival by being
 * in KARMA_I_IMPUTER_LIST. */
typedef struct karma_i_rival {
    const char *name, *help;
    int is_transductive; /* it learns nothing before it sees the rows to be scored, and learns from these too */
    int only_classes;    /* it cannot learn numbers */
    karma_status (*learn)(void **state, const karma_i_learner *learner, const karma_hooks *hooks, karma_error *err);
    karma_status (*score)(double *scores, const karma_i_learner *learner, const karma_table *test,
                          const karma_hooks *hooks, karma_error *err);
    void (*forget)(void *state);
    const karma_i_imputer_kind *imputer; /* of those that fill holes first; otherwise NULL */
    int tells_no_odds; /* whatever the loss: its scores are margins, and no log loss can be told of them */
} karma_i_rival;

/* A rival that has learned. It borrows the task and the training rows, which must live as long. */
struct karma_i_learner {
    karma_i_rival rival;
    karma_i_rival_options options;
    const karma_model *task;
    const karma_table *train; /* rows with a label */
    karma_table *labelled;    /* owned: those rows, where some have none; otherwise NULL */
    void *state;
};

#define KARMA_I_RIVAL_LIST(X)                                                                                          \
    X(karma)                                                                                                           \
    X(zero)                                                                                                            \
    X(polar)                                                                                                           \
    X(complete_case)                                                                                                   \
    X(horvitz_thompson)                                                                                                \
    X(geom)                                                                                                            \
    X(mc_1)                                                                                                            \
    X(mc_b)
#define KARMA_I_DECLARE_RIVAL(name) extern const karma_i_rival karma_i_rival_##name;
KARMA_I_RIVAL_LIST(KARMA_I_DECLARE_RIVAL)
#undef KARMA_I_DECLARE_RIVAL

/* All of them, those that fill holes at the end. */
size_t karma_i_n_rivals(void);
karma_i_rival karma_i_rival_at(size_t index);
/* False: there is none of this name. */
int karma_i_rival_find(karma_i_rival *out, const char *name);

/* The task that a table with one target and the options set. Free with karma_model_free. */
karma_status karma_i_rival_task(karma_model **out, const karma_table *table, const karma_fit_options *options,
                                const karma_hooks *hooks, karma_error *err);

/* Rows without a label are left out of training, as in karma_fit. Fails with KARMA_ERR_DATA where the method has
 * nothing to say: no complete row, a target of numbers. */
karma_status karma_i_learner_fit(karma_i_learner **out, const karma_i_rival *rival, const karma_model *task,
                                 const karma_table *train, const karma_i_rival_options *options,
                                 const karma_hooks *hooks, karma_error *err);
/* scores[row * n_outputs + output]. Labels of `test` are not looked at. */
karma_status karma_i_learner_score(double *scores, const karma_i_learner *learner, const karma_table *test,
                                   const karma_hooks *hooks, karma_error *err);
void karma_i_learner_free(karma_i_learner *learner);

/* For rivals. The task learned by karma_fit's way from `rows`, with these options, their C times the strength. */
karma_status karma_i_rival_fit(karma_model **out, const karma_i_learner *learner, const karma_table *rows,
                               const karma_fit_options *options, const karma_hooks *hooks, karma_error *err);
/* What the solver would be given for the training rows: targets[row * n_outputs + output], -1 or 1 for classes, and the
 * weights of rows and classes. Two new arrays. */
karma_status karma_i_rival_targets(double **targets, double **weights, const karma_i_learner *learner,
                                   karma_error *err);

#endif
