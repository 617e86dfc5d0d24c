#include "karma/array.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"

karma_status karma_fit_array(karma_model **out, const double *cells, size_t n_rows, size_t n_columns,
                             const double *labels, const karma_fit_options *fit, const karma_search_options *search,
                             karma_error *err) {
    karma_table *table = NULL;
    KARMA_TRY(karma_table_from_array(&table, cells, n_rows, n_columns, NULL, err));
    karma_status st = karma_table_add_target_numbers(table, "target", labels, err);
    if (st == KARMA_OK)
        st = fit && !search ? karma_fit(out, table, fit, NULL, err) : karma_search(out, table, fit, search, NULL, err);
    karma_table_free(table);
    return st;
}

static karma_status class_labels(double *labels, const karma_model *model, karma_error *err) {
    for (size_t k = 0; k < karma_model_n_classes(model, 0); k++) {
        const char *name = karma_model_class(model, 0, k);
        if (!karma_i_number_parse(&labels[k], name, strlen(name)))
            return karma_i_fail(err, KARMA_ERR_DATA, "class '%.60s' is not a number: use karma_predict", name);
    }
    return KARMA_OK;
}

static karma_status predict_table(double *predictions, const karma_model *model, const karma_table *table,
                                  karma_error *err) {
    size_t n = karma_table_n_rows(table), K = karma_model_n_outputs(model), n_classes = karma_model_n_classes(model, 0);
    double *scores = karma_i_alloc(n, K * sizeof *scores), *labels = karma_i_alloc(n_classes, sizeof *labels);
    karma_status st = scores && labels ? class_labels(labels, model, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = karma_predict(scores, model, table, 0, NULL, err);
    for (size_t i = 0; st == KARMA_OK && i < n; i++)
        predictions[i] = n_classes ? labels[karma_model_decide(model, 0, scores + i * K)]
                                   : karma_model_number(model, 0, scores + i * K);
    karma_i_free(scores);
    karma_i_free(labels);
    return st;
}

karma_status karma_predict_array(double *predictions, const karma_model *model, const double *cells, size_t n_rows,
                                 size_t n_columns, karma_error *err) {
    if (karma_model_n_targets(model) != 1)
        return karma_i_fail(err, KARMA_ERR_DATA, "the model has %zu targets: use karma_predict",
                            karma_model_n_targets(model));
    karma_table *table = NULL;
    KARMA_TRY(karma_table_from_array(&table, cells, n_rows, n_columns, NULL, err));
    karma_status st = predict_table(predictions, model, table, err);
    karma_table_free(table);
    return st;
}
