/* Model + table -> scores. */
#include <math.h>

#include "base/error.h"
#include "model/model.h"
#include "solve/solver.h"

karma_status karma_predict(double *scores, const karma_model *model, const karma_table *table, size_t threads,
                           const karma_hooks *hooks, karma_error *err) {
    size_t n_outputs = karma_model_n_outputs(model);
    karma_i_rows *rows = NULL;
    KARMA_TRY(karma_i_encoder_apply(&rows, &model->encoder, table, hooks, err));
    karma_status st =
        karma_i_kernel_scores(scores, &model->kernel, karma_i_rows_all(rows), karma_i_rows_all(model->support),
                              model->coefficients, n_outputs, karma_i_threads((int64_t)threads), err);
    karma_i_rows_free(rows);
    if (st == KARMA_OK && model->labels.task == KARMA_TASK_REGRESS)
        for (size_t i = 0; i < karma_table_n_rows(table); i++)
            scores[i] = scores[i] / model->labels.factor + model->labels.shift;
    return st;
}

/* Only the logistic loss fits probabilities: σ(z) for two classes; for more, the classes' own σ(z_k) made to sum
 * to 1. */
int karma_model_probabilities(const karma_model *model, const double *scores, double *probabilities) {
    size_t n = model->labels.n_classes;
    if (model->loss != KARMA_LOSS_LOGISTIC) return 0;
    if (n == 2) {
        probabilities[1] = 1.0 / (1.0 + exp(-scores[0]));
        probabilities[0] = 1.0 / (1.0 + exp(scores[0]));
        return 1;
    }
    double sum = 0.0;
    for (size_t k = 0; k < n; k++) sum += probabilities[k] = 1.0 / (1.0 + exp(-scores[k]));
    for (size_t k = 0; k < n; k++) probabilities[k] = sum > 0.0 ? probabilities[k] / sum : 1.0 / (double)n;
    return 1;
}
