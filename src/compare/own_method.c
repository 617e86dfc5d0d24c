/* Methods of the caller: their inputs, and checks of their scores. */
#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "compare/method.h"

/* The data that a contest borrows. */
typedef struct contest_arrays {
    karma_i_head head; /* the task's, as the training rows have it */
    size_t *classes;
    double *labels, *weights, *class_weights, *scores;
} contest_arrays;

static void clear_arrays(contest_arrays *a) {
    karma_i_head_clear(&a->head);
    karma_i_free(a->classes);
    karma_i_free(a->labels);
    karma_i_free(a->weights);
    karma_i_free(a->class_weights);
    karma_i_free(a->scores);
}

static karma_status fill_arrays(contest_arrays *a, const karma_i_task *task, const karma_i_outer_fold *outer,
                                karma_error *err) {
    const karma_table *train = outer->train;
    const karma_i_target *target = &train->targets[0];
    size_t n = train->n_rows;
    karma_i_partition split = karma_i_partition_whole(n);
    KARMA_TRY(karma_i_head_copy(&a->head, &task->heads[0], err));
    KARMA_TRY(karma_i_head_relearn(&a->head, target, &split, &task->options, err));
    size_t K = a->head.labels.n_classes;
    a->classes = karma_i_alloc(n, sizeof *a->classes);
    a->labels = karma_i_alloc(n, sizeof *a->labels);
    a->weights = karma_i_alloc(n, sizeof *a->weights);
    a->class_weights = karma_i_alloc(K + 1, sizeof *a->class_weights);
    a->scores = karma_i_alloc(outer->test->n_rows, task->n_outputs * sizeof *a->scores);
    if (!a->classes || !a->labels || !a->weights || !a->class_weights || !a->scores) return karma_i_fail_memory(err);
    if (K) {
        KARMA_TRY(karma_i_labels_classes(a->classes, &a->head.labels, target, n, err));
        KARMA_TRY(karma_i_head_class_weights(a->class_weights, &a->head, &task->options, err));
    }
    for (size_t i = 0; i < n; i++) {
        a->labels[i] = K ? (double)a->classes[i] : target->value[i];
        a->weights[i] = karma_table_row_weight(train, i) * (K ? a->class_weights[a->classes[i]] : 1.0);
    }
    return KARMA_OK;
}

/* Scores come from outside. */
static karma_status check_scores(const double *scores, size_t n, karma_error *err) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(scores[i])) return karma_i_fail(err, KARMA_ERR_DATA, "a score is not a finite number");
    return KARMA_OK;
}

static karma_status run_method(karma_contest_result *result, contest_arrays *a, const karma_own_method *method,
                               const karma_i_contest *contest, const karma_i_outer_fold *outer,
                               const karma_hooks *hooks, karma_error *err) {
    const karma_i_task *task = contest->task;
    karma_contest own = {.train = outer->train,
                         .test = outer->test,
                         .goal = contest->goal,
                         .n_classes = a->head.labels.n_classes,
                         .quantiles = a->head.quantiles,
                         .n_quantiles = a->head.n_quantiles,
                         .n_outputs = task->n_outputs,
                         .labels = a->labels,
                         .weights = a->weights,
                         .inner = outer->inner->fold,
                         .n_inner = outer->inner->n_folds,
                         .seed = contest->fit->seed,
                         .threads = contest->fit->threads};
    KARMA_TRY(method->run(method->payload, a->scores, result, &own, hooks, err));
    result->choice[sizeof result->choice - 1] = '\0';
    return check_scores(a->scores, outer->test->n_rows * task->n_outputs, err);
}

karma_status karma_i_own_method_score(double **scores, karma_contest_result *result, const karma_own_method *method,
                                      const karma_i_contest *contest, const karma_i_outer_fold *outer,
                                      const karma_hooks *hooks, karma_error *err) {
    contest_arrays a = {0};
    *result = (karma_contest_result){.choice = ""};
    karma_status st = fill_arrays(&a, contest->task, outer, err);
    if (st == KARMA_OK) st = run_method(result, &a, method, contest, outer, hooks, err);
    if (st == KARMA_OK) {
        *scores = a.scores;
        a.scores = NULL;
    }
    clear_arrays(&a);
    return st;
}
