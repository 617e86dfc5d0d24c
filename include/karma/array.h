/* The shortest program: learn from one array, predict for another. Cells are row-major, NaN is missing.
 *
 *     karma_model *model = NULL;
 *     if (karma_fit_array(&model, cells, n_rows, n_columns, labels, NULL, NULL, &err) == KARMA_OK)
 *         karma_predict_array(predictions, model, new_cells, n_new, n_columns, &err);
 *     karma_model_free(model); */
#ifndef KARMA_ARRAY_H
#define KARMA_ARRAY_H

#include "karma/learn.h"
#include "karma/search.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Learns from n_rows rows of n_columns cells and one label per row (NaN: the row has none). Without options the kernel
 * and its settings are chosen by the default search (karma_search); with `fit` alone there is no search; with both,
 * karma_search is called with both. Labels with few distinct values are classes, others are numbers, unless fit->task
 * is set. Errors: those of karma_search and karma_fit, and KARMA_ERR_DATA for an infinite cell. Cost: that of these
 * functions. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_fit_array(karma_model **out, const double *cells, size_t n_rows, size_t n_columns,
                                       const double *labels, const karma_fit_options *fit,
                                       const karma_search_options *search, karma_error *err);

/* One prediction per row, in the same terms as the labels: the number, or the number that is the class's label. Errors:
 * KARMA_ERR_DATA for an infinite cell, if n_columns is not the model's, if the model has several targets, or if its
 * classes are texts; KARMA_ERR_MEMORY. Cost: one kernel evaluation per row and support row. Threads: safe; inputs are
 * only read. */
KARMA_API karma_status karma_predict_array(double *predictions, const karma_model *model, const double *cells,
                                           size_t n_rows, size_t n_columns, karma_error *err);

#ifdef __cplusplus
}
#endif
#endif
